/*
 * rate.c - limits on how fast a run goes.
 */
#include <pfu/rate.h>
#include <stdatomic.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)
/* A worker that comes late may make up for so much: schedulers and slow calls are no fault of his. */
#define LATE_MOST (SECOND / 20)
/* Who is due so soon goes at once: to sleep and to be woken takes about as long. */
#define EARLY_MOST (SECOND / 1000)
/* Nobody sleeps longer without a look at whether the run was cancelled. */
#define NAP_MOST (SECOND / 20)
/* Pieces a second into which large things are cut. */
#define PIECES 64

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* How long n things take at the limit.  (n is a piece at most, so the product fits.) */
static uint64_t duration(const struct pfu_rate *rate, size_t n)
{
	return (uint64_t)((double)n * (double)SECOND / (double)rate->per_second);
}

static bool is_cancelled(const struct pfu_rate *rate)
{
	return rate->cancel && atomic_load_explicit(rate->cancel, memory_order_relaxed);
}

void pfu_rate_init(struct pfu_rate *rate, uint64_t per_second, const atomic_bool *cancel)
{
	rate->per_second = per_second;
	rate->cancel = cancel;
	atomic_init(&rate->next, per_second ? now_ns() : 0);
	atomic_init(&rate->asleep, 0);
}

size_t pfu_rate_piece(const struct pfu_rate *rate, size_t n)
{
	uint64_t piece = rate->per_second / PIECES;

	if (rate->per_second == 0 || n <= piece)
		return n;
	return piece ? (size_t)piece : n ? 1 : 0;
}

/* Takes a place in the timetable; returns when it is due. */
static uint64_t take_place(struct pfu_rate *rate, uint64_t now, size_t n)
{
	uint64_t earliest = now > LATE_MOST ? now - LATE_MOST : 0, took = duration(rate, n);
	uint64_t next = atomic_load_explicit(&rate->next, memory_order_relaxed), due;

	do
		due = next > earliest ? next : earliest;
	while (!atomic_compare_exchange_weak_explicit(&rate->next, &next, due + took,
						      memory_order_relaxed, memory_order_relaxed));
	return due;
}

/* Sleeps until then, in naps.  false: the run was cancelled. */
static bool sleep_until(struct pfu_rate *rate, uint64_t due)
{
	struct timespec ts;
	uint64_t now, until;

	while (!is_cancelled(rate)) {
		now = now_ns();
		if (due <= now + EARLY_MOST)
			return true;
		until = due - now > NAP_MOST ? now + NAP_MOST : due;
		ts.tv_sec = (time_t)(until / SECOND);
		ts.tv_nsec = (long)(until % SECOND);
		/* Should a signal end it early, the loop looks why. */
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
	return false;
}

bool pfu_rate_wait(struct pfu_rate *rate, size_t n)
{
	uint64_t now, due;
	bool ok;

	if (rate->per_second == 0 || n == 0)
		return true;
	now = now_ns();
	due = take_place(rate, now, n);
	if (due <= now + EARLY_MOST)
		return !is_cancelled(rate);
	atomic_fetch_add_explicit(&rate->asleep, 1, memory_order_relaxed);
	ok = sleep_until(rate, due);
	atomic_fetch_sub_explicit(&rate->asleep, 1, memory_order_relaxed);
	return ok;
}

void pfu_rate_return(struct pfu_rate *rate, size_t n)
{
	if (rate->per_second != 0)
		atomic_fetch_sub_explicit(&rate->next, duration(rate, n), memory_order_relaxed);
}

unsigned int pfu_limits_asleep(const struct pfu_limits *limits)
{
	return atomic_load_explicit(&limits->files.asleep, memory_order_relaxed) +
	       atomic_load_explicit(&limits->bytes.asleep, memory_order_relaxed);
}
