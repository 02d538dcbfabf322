/*
 * timing.h - how long calls on a file system take: a table of operations that passes
 * on to another and looks at the clock before and after.
 *
 * Each thread takes down its own times, in buckets whose width grows with them, so
 * that neither is a lock taken nor is anything lost but the last digits.
 */
#ifndef TIMING_H
#define TIMING_H

#include <pfu/fsys.h>
#include <stdbool.h>
#include <stdint.h>

/* What operations are for. */
enum timing_class {
	TIMING_LISTING,
	TIMING_LOOKING,	  /* attributes read, and what a link says */
	TIMING_OPENING,	  /* of what is there */
	TIMING_CREATING,  /* files, directories, links; and renaming */
	TIMING_DATA,
	TIMING_ATTRIBUTES, /* set; extended ones also read */
	TIMING_CLOSING,
	TIMING_REMOVING,
	TIMING_SYNCING,
	TIMING_CLASSES,
};

/* Times of one class, in nanoseconds. */
struct timing {
	uint64_t count, total, longest;
	uint64_t p99; /* no more than one of a hundred calls took longer; up to an eighth too much */
};

/* The name of a class, as in "listing". */
const char *timing_name(enum timing_class which);

/* Begins to take times: the table to be used, which passes on to `inner`.  Once in a process. */
const struct pfu_fsys *timing_begin(const struct pfu_fsys *inner);

/*
 * Sums up, when no other thread uses the table any more: the times of each class, and
 * the greatest number of calls that were under way at one time.
 */
unsigned int timing_end(struct timing times[TIMING_CLASSES]);

/* ---- the buckets ---- */

#define TIMING_BUCKETS 512

/* The bucket of a time, and the longest time in it. */
unsigned int timing_bucket(uint64_t ns);
uint64_t timing_bucket_end(unsigned int bucket);

/* The bucket in which the time is that `permille` of a thousand do not exceed; `count` in all. */
unsigned int timing_quantile(const uint64_t *buckets, uint64_t count, unsigned int permille);

#endif
