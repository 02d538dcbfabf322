/*
 * pfu/tune.h - how many workers: found by trial while they work.
 *
 * What one more round trip in flight gains depends on the file system, on what
 * others do there just now, and on the directories at hand; nobody can tell
 * beforehand.  So the number is doubled as long as that makes things clearly
 * faster, and taken back when it does not; where more workers gain nothing,
 * fewer are tried.  A number that has stood the test is tested again after a
 * while, at ever longer intervals.
 *
 * It only computes: it has no clock, no threads and no locks.  The pool, which
 * owns it, feeds it under its own lock.
 */
#ifndef PFU_TUNE_H
#define PFU_TUNE_H

#include <pfu/atomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_tune_trial {
	PFU_TUNE_NONE, /* measuring what there is */
	PFU_TUNE_MORE,
	PFU_TUNE_FEWER,
};

struct pfu_tune {
	unsigned int workers; /* the answer */
	unsigned int most;    /* never more than this */
	enum pfu_tune_trial trial; /* under way */
	enum pfu_tune_trial next;
	unsigned int before;	/* workers before the trial */
	double rate_before;	/* done per microsecond by then */
	bool fewer_tried;	/* once at least */
	bool settling;		/* the measurement has not begun: newcomers must get going first */
	uint64_t start, done;	/* when the measurement began (microseconds), and what was done then */
	unsigned int rest, resting; /* measurements to pass over until the next trial; and from now */
};

/* Begins with so many workers, and never answers more than `most` (which is at least that). */
void pfu_tune_init(struct pfu_tune *t, unsigned int workers, unsigned int most);

/*
 * Takes a look at time `now` (microseconds of a clock that only goes forward),
 * when `done` things have been done since the start.  `busy`: all t->workers have
 * been at work since the last look; else the measurement begins anew, since its
 * result would say nothing about the number.  Returns true if t->workers changed.
 */
bool pfu_tune_look(struct pfu_tune *t, uint64_t now, uint64_t done, bool busy);

#ifdef __cplusplus
}
#endif

#endif
