/*
 * tally.c - what a run has done so far, counted by each worker for itself.
 *
 * A cell has one writer, so that counting is a load and a store; they are atomic only
 * for those who read meanwhile.
 */
#include <errno.h>
#include <pfu/tally.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct pfu_counter {
	_Atomic(uint64_t) n[PFU_COUNTS];
	atomic_bool busy;
	struct pfu_tally *tally;
	struct pfu_counter *next;
} __attribute__((aligned(64))); /* each worker writes in cache lines of its own */

static uint64_t now_ns(void)
{
	struct timespec ts;

	/* Asked for once a file: the coarse clock is read in no time, and good to some milliseconds. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void pfu_tally_free(struct pfu_tally *tally)
{
	struct pfu_counter *c, *next;

	for (c = atomic_load(&tally->counters); c; c = next) {
		next = c->next;
		free(c);
	}
	atomic_store(&tally->counters, NULL);
}

void pfu_tally_set_alarm(struct pfu_tally *tally, uint64_t after, void (*alarm)(void *ctx), void *ctx)
{
	tally->alarm = alarm;
	tally->ctx = ctx;
	atomic_store(&tally->alarm_at, now_ns() + after);
}

struct pfu_counter *pfu_tally_join(struct pfu_tally *tally)
{
	struct pfu_counter *c;
	unsigned int i;

	if (!tally)
		return NULL;
	c = aligned_alloc(_Alignof(struct pfu_counter), sizeof(*c));
	if (!c) {
		errno = ENOMEM;
		return NULL;
	}
	for (i = 0; i < PFU_COUNTS; i++)
		atomic_init(&c->n[i], 0);
	atomic_init(&c->busy, true);
	c->tally = tally;
	c->next = atomic_load(&tally->counters);
	while (!atomic_compare_exchange_weak(&tally->counters, &c->next, c))
		;
	return c;
}

/* ---- counting ---- */

static uint64_t cell(const struct pfu_counter *counter, enum pfu_count which)
{
	return atomic_load_explicit(&counter->n[which], memory_order_relaxed);
}

void pfu_count(struct pfu_counter *counter, enum pfu_count which, int64_t n)
{
	/* Whoever sees something done sees also that it had been found before. */
	if (counter)
		atomic_store_explicit(&counter->n[which], cell(counter, which) + (uint64_t)n,
				      memory_order_release);
}

void pfu_count_busy(struct pfu_counter *counter, bool busy)
{
	if (counter)
		atomic_store_explicit(&counter->busy, busy, memory_order_relaxed);
}

void pfu_count_tick(struct pfu_counter *counter)
{
	struct pfu_tally *tally;
	uint64_t at;

	if (!counter)
		return;
	tally = counter->tally;
	at = atomic_load_explicit(&tally->alarm_at, memory_order_relaxed);
	if (at != 0 && now_ns() >= at && atomic_compare_exchange_strong(&tally->alarm_at, &at, 0))
		tally->alarm(tally->ctx);
}

void pfu_tally_operands(struct pfu_tally *tally, int64_t n)
{
	if (tally)
		atomic_fetch_add(&tally->operands, (uint64_t)n);
}

void pfu_tally_listing(struct pfu_tally *tally, int n)
{
	if (tally)
		atomic_fetch_add(&tally->listing, (uint64_t)(int64_t)n);
}

struct pfu_landed pfu_count_landed(const struct pfu_counter *counter)
{
	struct pfu_landed landed = { { 0 } };
	unsigned int i;

	for (i = 0; counter && i < sizeof(landed.n) / sizeof(landed.n[0]); i++)
		landed.n[i] = (int64_t)cell(counter, PFU_COUNT_BYTES + i);
	return landed;
}

void pfu_landed_add(struct pfu_landed *landed, const struct pfu_counter *counter,
		    const struct pfu_landed *since)
{
	struct pfu_landed now = pfu_count_landed(counter);
	unsigned int i;

	for (i = 0; i < sizeof(now.n) / sizeof(now.n[0]); i++)
		landed->n[i] += now.n[i] - since->n[i];
}

void pfu_landed_join(struct pfu_landed *landed, const struct pfu_landed *more)
{
	unsigned int i;

	for (i = 0; i < sizeof(more->n) / sizeof(more->n[0]); i++)
		landed->n[i] += more->n[i];
}

void pfu_count_take_back(struct pfu_counter *counter, struct pfu_landed *landed)
{
	unsigned int i;

	for (i = 0; i < sizeof(landed->n) / sizeof(landed->n[0]); i++)
		pfu_count(counter, PFU_COUNT_BYTES + i, -landed->n[i]);
	*landed = (struct pfu_landed){ { 0 } };
}

enum pfu_count pfu_count_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return PFU_COUNT_FILES;
	case S_IFDIR:
		return PFU_COUNT_DIRECTORIES;
	case S_IFLNK:
		return PFU_COUNT_LINKS;
	default:
		return PFU_COUNT_SPECIAL;
	}
}

/* ---- reading ---- */

void pfu_tally_read(const struct pfu_tally *tally, struct pfu_counts *counts)
{
	const struct pfu_counter *first = atomic_load(&tally->counters), *c;
	unsigned int i;

	memset(counts, 0, sizeof(*counts));
	counts->listing = atomic_load(&tally->listing) > 0;
	/* One kind after the other, what has been found at the end: so it is never less than what is done. */
	for (i = 0; i < PFU_COUNTS; i++) {
		for (c = first; c; c = c->next)
			counts->n[i] += atomic_load_explicit(&c->n[i], memory_order_acquire);
		/* What one worker counted and another has taken back, between two of these. */
		if ((int64_t)counts->n[i] < 0)
			counts->n[i] = 0;
	}
	counts->n[PFU_COUNT_FOUND] += atomic_load(&tally->operands);
	for (c = first; c; c = c->next) {
		counts->workers++;
		counts->busy += atomic_load_explicit(&c->busy, memory_order_relaxed);
	}
}

uint64_t pfu_counts_done(const struct pfu_counts *counts)
{
	return counts->n[PFU_COUNT_FILES] + counts->n[PFU_COUNT_DIRECTORIES] + counts->n[PFU_COUNT_LINKS] +
	       counts->n[PFU_COUNT_SPECIAL];
}

uint64_t pfu_counts_settled(const struct pfu_counts *counts)
{
	return pfu_counts_done(counts) + counts->n[PFU_COUNT_SKIPPED] + counts->n[PFU_COUNT_FAILED];
}
