/*
 * stats.c - --stats: what was done, how fast, and where the time went.
 *
 * The names of the JSON object are documented in the manual pages and do not change.
 */
#include "stats.h"

#include "cli.h"
#include "show.h"
#include "timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static enum { OFF, TEXT, JSON } form;
static double begun; /* seconds on the clock of now() */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void stats_option(const char *arg)
{
	static const char *const words[] = { "text", "json", NULL };
	static const int values[] = { TEXT, JSON };

	form = TEXT;
	if (arg && values[cli_word("--stats", arg, words, values)] == JSON)
		form = JSON;
}

void stats_help(void)
{
	fputs("      --stats[=FORM]           print at the end what was done and how long it\n"
	      "                                 took; FORM is text (default) or json\n",
	      stdout);
}

const struct pfu_fsys *stats_begin(struct pfu_tally *tally)
{
	if (form == OFF)
		return NULL;
	begun = now();
	tally->exact = true;
	return timing_begin(&pfu_fsys_posix);
}

/* All there is to say. */
struct summary {
	const struct stats_run *run;
	struct pfu_counts counts;
	double seconds;
	unsigned int peak;
	struct timing times[TIMING_CLASSES];
};

static double per_second(const struct summary *s, uint64_t n)
{
	return s->seconds > 0 ? (double)n / s->seconds : 0;
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double mean_of(const struct timing *t)
{
	return t->count ? seconds_of(t->total) / (double)t->count : 0;
}

/* ---- for a person ---- */

static void text_count(FILE *to, const char *name, uint64_t n)
{
	char count[SHOW_MAX];

	fprintf(to, "%-20s %17s\n", name, show_count(count, n));
}

static void text_bytes(FILE *to, const char *name, uint64_t n)
{
	char count[SHOW_MAX], size[SHOW_MAX];

	fprintf(to, "%-20s %17s  %8s\n", name, show_count(count, n), show_size(size, n));
}

static void text_times(FILE *to, const struct summary *s)
{
	char count[SHOW_MAX], total[SHOW_MAX], mean[SHOW_MAX], p99[SHOW_MAX], longest[SHOW_MAX];
	unsigned int i;

	fprintf(to, "\n%-11s %12s %9s %9s %9s %9s\n", "operations", "number", "in all", "mean", "99%",
		"longest");
	for (i = 0; i < TIMING_CLASSES; i++) {
		const struct timing *t = &s->times[i];

		if (t->count == 0)
			continue;
		fprintf(to, "%-11s %12s %9s %9s %9s %9s\n", timing_name(i),
			show_count(count, t->count), show_time(total, seconds_of(t->total)),
			show_time(mean, mean_of(t)), show_time(p99, seconds_of(t->p99)),
			show_time(longest, seconds_of(t->longest)));
	}
}

static void print_text(FILE *to, const struct summary *s)
{
	const uint64_t *n = s->counts.n;
	char text[SHOW_MAX];

	text_count(to, "files", n[PFU_COUNT_FILES]);
	text_count(to, "directories", n[PFU_COUNT_DIRECTORIES]);
	text_count(to, "links", n[PFU_COUNT_LINKS]);
	text_count(to, "special files", n[PFU_COUNT_SPECIAL]);
	text_count(to, "skipped", n[PFU_COUNT_SKIPPED]);
	text_count(to, "failed", n[PFU_COUNT_FAILED]);
	if (s->run->copies) {
		text_bytes(to, "bytes", n[PFU_COUNT_BYTES]);
		text_bytes(to, "  offloaded", n[PFU_COUNT_OFFLOADED]);
		text_bytes(to, "  reflinked", n[PFU_COUNT_CLONED]);
		text_bytes(to, "  holes", n[PFU_COUNT_HOLES]);
	}
	fprintf(to, "%-20s %17s\n", "time", show_time(text, s->seconds));
	fprintf(to, "%-20s %17s\n", "files per second",
		show_rate(text, per_second(s, pfu_counts_done(&s->counts))));
	if (s->run->copies)
		fprintf(to, "%-20s %17s\n", "bytes per second",
			show_size(text, (uint64_t)per_second(s, n[PFU_COUNT_BYTES])));
	text_count(to, "workers", s->counts.workers);
	if (s->run->dry_run)
		return; /* nothing was done that could have taken time */
	text_count(to, "peak in flight", s->peak);
	text_times(to, s);
}

/* ---- for a program ---- */

static void json_number(FILE *to, const char *name, uint64_t n)
{
	fprintf(to, ",\"%s\":%llu", name, (unsigned long long)n);
}

static void json_times(FILE *to, const struct summary *s)
{
	unsigned int i;

	fputs(",\"operations\":{", to);
	for (i = 0; i < TIMING_CLASSES; i++) {
		const struct timing *t = &s->times[i];

		fprintf(to, "%s\"%s\":{\"number\":%llu,\"seconds\":%.9f,\"mean\":%.9f,\"p99\":%.9f,\"longest\":%.9f}",
			i ? "," : "", timing_name(i), (unsigned long long)t->count, seconds_of(t->total),
			mean_of(t), seconds_of(t->p99), seconds_of(t->longest));
	}
	fputc('}', to);
}

static const char *boolean(bool is)
{
	return is ? "true" : "false";
}

static void print_json(FILE *to, const struct summary *s)
{
	const uint64_t *n = s->counts.n;

	fprintf(to, "{\"program\":\"%s\",\"dry_run\":%s,\"interrupted\":%s", s->run->program,
		boolean(s->run->dry_run), boolean(s->run->interrupted));
	json_number(to, "found", n[PFU_COUNT_FOUND]);
	json_number(to, "files", n[PFU_COUNT_FILES]);
	json_number(to, "directories", n[PFU_COUNT_DIRECTORIES]);
	json_number(to, "links", n[PFU_COUNT_LINKS]);
	json_number(to, "special_files", n[PFU_COUNT_SPECIAL]);
	json_number(to, "skipped", n[PFU_COUNT_SKIPPED]);
	json_number(to, "failed", n[PFU_COUNT_FAILED]);
	if (s->run->copies) {
		json_number(to, "bytes", n[PFU_COUNT_BYTES]);
		json_number(to, "bytes_offloaded", n[PFU_COUNT_OFFLOADED]);
		json_number(to, "bytes_reflinked", n[PFU_COUNT_CLONED]);
		json_number(to, "bytes_holes", n[PFU_COUNT_HOLES]);
	}
	fprintf(to, ",\"seconds\":%.6f,\"files_per_second\":%.3f", s->seconds,
		per_second(s, pfu_counts_done(&s->counts)));
	if (s->run->copies)
		fprintf(to, ",\"bytes_per_second\":%.0f", per_second(s, n[PFU_COUNT_BYTES]));
	json_number(to, "workers", s->counts.workers);
	json_number(to, "peak_in_flight", s->peak);
	json_times(to, s);
	fputs("}\n", to);
}

void stats_end(const struct pfu_tally *tally, const struct stats_run *run)
{
	struct summary s = { .run = run };
	char *text = NULL;
	size_t size = 0;
	FILE *to;

	if (form == OFF)
		return;
	s.seconds = now() - begun;
	s.peak = timing_end(s.times);
	pfu_tally_read(tally, &s.counts);
	/* All in one piece: others may write to the same log. */
	to = open_memstream(&text, &size);
	if (!to) {
		cli_error(errno, "cannot print the summary");
		return;
	}
	if (form == JSON)
		print_json(to, &s);
	else
		print_text(to, &s);
	if (fclose(to) == 0) {
		fflush(stdout);
		fwrite(text, 1, size, stderr);
	}
	free(text);
}
