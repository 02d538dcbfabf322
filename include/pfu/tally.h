/*
 * pfu/tally.h - how much has been done so far: each worker counts for itself.
 *
 * A count is only ever changed by the worker that owns it, in a cache line of
 * its own, and may be read by everybody at any time.  What is counted has
 * landed; what is under way is not.
 */
#ifndef PFU_TALLY_H
#define PFU_TALLY_H

#include <pfu/atomic.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_count {
	PFU_COUNT_FILES, /* regular files copied, or entries removed that are no directories */
	PFU_COUNT_DIRECTORIES,
	PFU_COUNT_LINKS, /* symbolic and hard ones made */
	PFU_COUNT_SPECIAL,
	PFU_COUNT_BYTES,   /* of the files copied */
	PFU_COUNT_SKIPPED, /* left alone as the options say */
	PFU_COUNT_FAILED,
	PFU_COUNTS,
};

/* One worker's. */
struct pfu_counts {
	atomic_ullong n[PFU_COUNTS];
	struct pfu_counts *next;
} __attribute__((aligned(64)));

/* All workers'.  Zero-initialised it is empty. */
struct pfu_tally {
	_Atomic(struct pfu_counts *) first; /* only ever added to, at the front */
};

/* Counts for one more worker, which stay with the tally; NULL with errno ENOMEM.  From any thread. */
struct pfu_counts *pfu_tally_join(struct pfu_tally *tally);

/* Counts n things; without counts, nothing.  By their owner only. */
static inline void pfu_count(struct pfu_counts *counts, enum pfu_count what, uint64_t n)
{
	if (counts)
		atomic_store_explicit(&counts->n[what],
				      atomic_load_explicit(&counts->n[what], memory_order_relaxed) + n,
				      memory_order_relaxed);
}

/* What all workers have counted of something.  From any thread. */
uint64_t pfu_tally_sum(const struct pfu_tally *tally, enum pfu_count what);

/* Frees all counts; their owners must have ended. */
void pfu_tally_free(struct pfu_tally *tally);

#ifdef __cplusplus
}
#endif

#endif
