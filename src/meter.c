/*
 * meter.c - the line that says how far a run has come.
 */
#include "meter.h"

#include "show.h"

#include <stdio.h>
#include <string.h>

/* The rate "now" is that of so many seconds; for the time left, of all samples there are. */
#define NOW 3.0
/* After less than this a rate means nothing. */
#define RATE_LEAST 0.4

/* ---- what is seen ---- */

void meter_note(struct meter *m, double at, const struct pfu_counts *counts)
{
	m->sample[m->taken++ % METER_SAMPLES] = (struct meter_sample){
		at, pfu_counts_settled(counts), counts->n[PFU_COUNT_BYTES]
	};
}

static const struct meter_sample *sample_back(const struct meter *m, unsigned int n)
{
	return &m->sample[(m->taken - 1 - n) % METER_SAMPLES];
}

struct rates {
	double entries, bytes; /* a second; negative: not known */
};

/* The rates of the last so many seconds, or of as many as are known. */
static struct rates rates_of(const struct meter *m, double seconds)
{
	unsigned int known = m->taken < METER_SAMPLES ? m->taken : METER_SAMPLES, n;
	const struct meter_sample *last, *first;
	double took;

	if (known < 2)
		return (struct rates){ -1, -1 };
	last = sample_back(m, 0);
	for (n = 1; n + 1 < known && last->at - sample_back(m, n)->at < seconds; n++)
		;
	first = sample_back(m, n);
	took = last->at - first->at;
	if (took < RATE_LEAST)
		return (struct rates){ -1, -1 };
	return (struct rates){
		/* Bytes of a file that failed are taken back. */
		(double)(last->settled - first->settled) / took,
		last->bytes > first->bytes ? (double)(last->bytes - first->bytes) / took : 0,
	};
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* How long so much will take; negative if that cannot be told. */
static double wait_for(uint64_t n, double rate)
{
	return n == 0 ? 0 : rate > 0 ? (double)n / rate : -1;
}

/*
 * The time left.  What is to come of files that are not open yet is only known as a
 * number of files; when all are, their bytes are what counts.
 */
static double time_left(const struct meter *m, const struct pfu_counts *counts,
			const struct meter_view *v, uint64_t settled)
{
	struct rates r = rates_of(m, 1e9);
	uint64_t entries = less(v->found, settled), bytes;
	double by_entries = wait_for(entries, r.entries), by_bytes;

	if (v->more || m->taken < 2)
		return -1;
	bytes = less(v->all_bytes ? v->all_bytes : counts->n[PFU_COUNT_FOUND_BYTES], v->bytes);
	by_bytes = wait_for(bytes, r.bytes);
	/* Some that were left alone: their bytes will not come. */
	if (!m->copies || (m->total && counts->n[PFU_COUNT_SKIPPED]))
		return by_entries;
	if (entries <= counts->busy && counts->n[PFU_COUNT_FOUND_BYTES])
		return by_bytes;
	if (by_entries < 0 || by_bytes < 0)
		return -1;
	return by_entries > by_bytes ? by_entries : by_bytes;
}

struct meter_view meter_look(const struct meter *m, const struct pfu_counts *counts)
{
	uint64_t settled = pfu_counts_settled(counts), found = counts->n[PFU_COUNT_FOUND];
	struct rates now = rates_of(m, NOW);
	struct meter_view v = {
		.copies = m->copies,
		.done = settled - counts->n[PFU_COUNT_FAILED],
		.found = m->total && m->total_entries > found ? m->total_entries : found,
		.more = counts->listing && !m->total,
		.bytes = counts->n[PFU_COUNT_BYTES],
		.entry_rate = now.entries,
		.byte_rate = now.bytes,
		.busy = counts->busy,
	};

	if (m->total)
		v.all_bytes = m->total_bytes;
	else if (!v.more && found - settled <= counts->busy)
		v.all_bytes = counts->n[PFU_COUNT_FOUND_BYTES];
	v.left = time_left(m, counts, &v, settled);
	return v;
}

/* ---- the line ---- */

enum { FILES, FILE_RATE, BYTES, BYTE_RATE, LEFT, BUSY, FIELDS };

/* With what is in front of it. */
struct field {
	char text[3 * SHOW_MAX];
	size_t len; /* 0: there is none, or no room for it */
};

static void set(struct field *f, const char *before, int width, const char *text, const char *after)
{
	int len = snprintf(f->text, sizeof(f->text), "%s%*s%s", before, width, text, after);

	f->len = len > 0 ? (size_t)len : 0;
}

static void set_files(struct field *f, const struct meter_view *v)
{
	char done[SHOW_MAX], found[SHOW_MAX], both[2 * SHOW_MAX + 8];

	snprintf(both, sizeof(both), "%s/%s%s", show_count(done, v->done), show_count(found, v->found),
		 v->more ? "+" : "");
	set(f, "", 0, both, " files");
}

static void set_bytes(struct field *f, const struct meter_view *v, int width)
{
	char bytes[SHOW_MAX], all[SHOW_MAX], after[SHOW_MAX + 8] = "";

	if (v->all_bytes > v->bytes)
		snprintf(after, sizeof(after), "/%s", show_size(all, v->all_bytes));
	set(f, "  ", width, show_size(bytes, v->bytes), after);
}

size_t meter_line(char *buf, size_t width, bool steady, const struct meter_view *view)
{
	/* What has room first. */
	static const int order[] = { FILES, BYTES, LEFT, FILE_RATE, BYTE_RATE, BUSY };
	struct field field[FIELDS] = { { "", 0 } };
	char text[SHOW_MAX];
	size_t len = 0, i;

	set_files(&field[FILES], view);
	if (view->entry_rate >= 0)
		set(&field[FILE_RATE], ", ", steady ? 5 : 0, show_rate(text, view->entry_rate), "/s");
	if (view->copies)
		set_bytes(&field[BYTES], view, steady ? 8 : 0);
	if (view->copies && view->byte_rate >= 0)
		set(&field[BYTE_RATE], ", ", steady ? 8 : 0, show_size(text, (uint64_t)view->byte_rate),
		    "/s");
	if (view->left >= 0)
		set(&field[LEFT], "  ", steady ? 4 : 0, show_wait(text, view->left), " left");
	snprintf(text, sizeof(text), "%u", view->busy);
	set(&field[BUSY], "  ", steady ? 2 : 0, text, " busy");

	if (width > METER_MAX - 1)
		width = METER_MAX - 1;
	for (i = 0; i < FIELDS; i++) {
		struct field *f = &field[order[i]];

		if (len + f->len > width)
			f->len = i == 0 ? width : 0; /* the first is cut rather than left out */
		len += f->len;
	}
	for (i = len = 0; i < FIELDS; len += field[i++].len)
		memcpy(buf + len, field[i].text, field[i].len);
	buf[len] = '\0';
	return len;
}
