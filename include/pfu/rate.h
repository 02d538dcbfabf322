/*
 * pfu/rate.h - limits on how fast a run goes: files or bytes a second, for all
 * workers together.
 *
 * A limit is a timetable that all workers share: what is next done may begin at
 * `next`, and moves that on by the time which it takes at the limit.  A worker
 * takes its place in the timetable in one atomic step and then sleeps until it is
 * due, so that nobody holds a lock while he waits, the workers proceed one after
 * the other, evenly, and the first second is like any other.  A place that nobody
 * has taken is lost but for some hundredths of a second, so that whoever comes
 * late through no fault of his own makes up for it, and nobody saves up for a rush.
 */
#ifndef PFU_RATE_H
#define PFU_RATE_H

#include <pfu/atomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_rate {
	uint64_t per_second;	/* the limit; 0: none.  Constant during a run */
	_Atomic(uint64_t) next;	/* when the next place is due: nanoseconds of CLOCK_MONOTONIC */
	atomic_uint asleep;	/* workers that wait for their place just now */
	const atomic_bool *cancel; /* set from outside: nobody sleeps on; or NULL */
};

/*
 * Sets a limit of `per_second` things a second from now on; 0: none.  `cancel` may
 * be NULL.  Before other threads use it.
 */
void pfu_rate_init(struct pfu_rate *rate, uint64_t per_second, const atomic_bool *cancel);

/*
 * How many of n things should be asked for at a time, lest they come in lumps: what
 * the limit allows in a short while, at least 1; without a limit n.
 */
size_t pfu_rate_piece(const struct pfu_rate *rate, size_t n);

/*
 * Takes the place of n things and waits until it is due.  Returns true, at once
 * if there is no limit or n is 0; false if the run was cancelled (seen within a
 * tenth of a second) or had been.  From any thread.
 */
bool pfu_rate_wait(struct pfu_rate *rate, size_t n);

/* Gives back what has been waited for and was not done after all.  From any thread. */
void pfu_rate_return(struct pfu_rate *rate, size_t n);

/* The limits of a run. */
struct pfu_limits {
	struct pfu_rate files; /* each entry that is made, overwritten, looked at or removed */
	struct pfu_rate bytes; /* of file data that is moved */
};

/* The number of workers that wait for either limit just now (a hint).  From any thread. */
unsigned int pfu_limits_asleep(const struct pfu_limits *limits);

#ifdef __cplusplus
}
#endif

#endif
