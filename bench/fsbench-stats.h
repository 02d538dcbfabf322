/*
 * fsbench-stats.h - the arithmetic of fsbench: sizes and numbers as they are
 * typed, the four figures of a series of runs, and latencies.  No file system, no
 * threads: tests/unit/fsbench.c tests it alone.
 */
#ifndef FSBENCH_STATS_H
#define FSBENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A size in bytes: a decimal number and a unit, whose case does not matter.  KB, MB, GB,
 * TB are powers of 1000; K, M, G, T and KiB, MiB, GiB, TiB powers of 1024; B or nothing
 * is bytes.  False, with *bytes untouched, for anything else and for what exceeds
 * INT64_MAX, the largest offset in a file.
 */
bool fsb_parse_size(const char *text, uint64_t *bytes);

/* A decimal number from min to max; false, with *number untouched, for anything else. */
bool fsb_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);

/* What a series of runs comes to.  The deviation is that of these runs (divided by n). */
struct fsb_summary {
	double mean;
	double deviation;
	double min;
	double max;
};

/* All zero if there are no values. */
struct fsb_summary fsb_summarize(const double *values, size_t count);

/*
 * Buckets of latencies: each power of two from 32 ns to 2^40 ns (18 minutes) in 32 equal steps,
 * and one for what takes longer.
 */
enum {
	FSB_STEP_BITS = 5,
	FSB_STEPS = 1 << FSB_STEP_BITS,
	FSB_BUCKETS = (40 - FSB_STEP_BITS + 1) * FSB_STEPS + 1,
};

/* Latencies in nanoseconds; what is read from it is at most 1/32 too large.  Starts as all zero. */
struct fsb_latencies {
	uint64_t count;
	uint64_t max;
	uint64_t bucket[FSB_BUCKETS];
};

void fsb_latency_add(struct fsb_latencies *to, uint64_t ns);

/* Adds all of one to another. */
void fsb_latency_merge(struct fsb_latencies *to, const struct fsb_latencies *from);

/* The latency that so many per cent of all did not exceed; 0 if there are none. */
uint64_t fsb_latency_percentile(const struct fsb_latencies *from, double percent);

#endif
