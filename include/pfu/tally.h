/*
 * pfu/tally.h - what a run has done so far, counted.
 *
 * Each worker counts in cells of its own, so that none waits for another's cache
 * line, and anybody may read the sums at any time: a meter, a summary at the end, a
 * signal's last word.  What is counted as done has landed: a file when its data and
 * attributes are there and it has been closed without an error, its bytes as they are
 * written; those of a file that then fails are taken back.
 *
 * A tally also knows when to wake somebody who wants to look at it after a while: the
 * workers themselves notice, so that a short run has no thread or timer for it.
 */
#ifndef PFU_TALLY_H
#define PFU_TALLY_H

#include <pfu/atomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_count {
	PFU_COUNT_FOUND_BYTES, /* of regular files, as their sizes become known when they are opened */
	PFU_COUNT_FILES,       /* regular files copied (or what was read as one), or removed */
	PFU_COUNT_DIRECTORIES, /* made or merged into; or removed */
	PFU_COUNT_LINKS,       /* hard and symbolic links made; or symbolic links removed */
	PFU_COUNT_SPECIAL,     /* fifos, sockets, devices */
	PFU_COUNT_SKIPPED, /* left alone: -n, -u, a question declined, a directory that keeps something */
	PFU_COUNT_FAILED,  /* entries of which an error was reported */
	PFU_COUNT_BYTES,     /* of data that is at its target; and of these: */
	PFU_COUNT_OFFLOADED, /* copied by copy_file_range(2): within the kernel, or on the server */
	PFU_COUNT_CLONED,    /* shared with the source (reflink) */
	PFU_COUNT_HOLES,     /* not there: holes of the source, or zeros made into some */
	PFU_COUNT_FOUND,     /* entries listed, and operands; the last, see pfu_tally_read() */
	PFU_COUNTS,
};

/* The cells of one worker. */
struct pfu_counter;

/* All workers'.  Zero-initialised it is empty. */
struct pfu_tally {
	_Atomic(struct pfu_counter *) counters; /* only ever added to, at the front */
	_Atomic(uint64_t) operands;		/* found */
	_Atomic(uint64_t) listing;  /* directories and lists of operands of which more may come */
	_Atomic(uint64_t) alarm_at; /* nanoseconds of CLOCK_MONOTONIC; 0: no more */
	void (*alarm)(void *ctx);
	void *ctx;
	bool exact; /* types are wanted of what is removed by name, for a call more; set before the run */
};

/* Sums, read at some moment. */
struct pfu_counts {
	uint64_t n[PFU_COUNTS];
	bool listing;	      /* more may be found */
	unsigned int workers; /* that have taken part so far */
	unsigned int busy;    /* of these, with work in hand just now */
};

/* Frees all counters; their owners must have ended. */
void pfu_tally_free(struct pfu_tally *tally);

/*
 * Has alarm(ctx) called once by some worker, soon after `after` nanoseconds from now,
 * if the run lasts that long.  It must not take long.  Before the run.
 */
void pfu_tally_set_alarm(struct pfu_tally *tally, uint64_t after, void (*alarm)(void *ctx), void *ctx);

/*
 * The sums as of now.  From any thread, at any time.  What is counted as done has been
 * found in the same sums, but no more is promised of what different workers do meanwhile.
 */
void pfu_tally_read(const struct pfu_tally *tally, struct pfu_counts *counts);

/* Entries that are dealt with: done, skipped or failed. */
uint64_t pfu_counts_settled(const struct pfu_counts *counts);

/* Entries that are done: files, directories, links, special files. */
uint64_t pfu_counts_done(const struct pfu_counts *counts);

/* ---- for those who count; all do nothing where there is no tally or counter (NULL) ---- */

/* A worker's own cells, which belong to the tally; NULL with errno ENOMEM.  From any thread. */
struct pfu_counter *pfu_tally_join(struct pfu_tally *tally);

/* Adds n (or, with a negative number, takes back); by the counter's own worker only. */
void pfu_count(struct pfu_counter *counter, enum pfu_count which, int64_t n);

/* Says whether the counter's worker has work in hand. */
void pfu_count_busy(struct pfu_counter *counter, bool busy);

/* To be called by workers now and then: sets off the alarm if it is due. */
void pfu_count_tick(struct pfu_counter *counter);

/* Operands that are to be worked on, or (negative) are not after all.  From any thread. */
void pfu_tally_operands(struct pfu_tally *tally, int64_t n);

/* A listing of which more may come has begun (1) or ended (-1).  From any thread. */
void pfu_tally_listing(struct pfu_tally *tally, int n);

/* The kinds of bytes that a counter has: PFU_COUNT_BYTES, PFU_COUNT_OFFLOADED, PFU_COUNT_CLONED, PFU_COUNT_HOLES. */
struct pfu_landed {
	int64_t n[PFU_COUNT_HOLES - PFU_COUNT_BYTES + 1];
};

/* Adds to *landed what the counter's worker has landed since it had `since` (of pfu_count_landed()). */
struct pfu_landed pfu_count_landed(const struct pfu_counter *counter);
void pfu_landed_add(struct pfu_landed *landed, const struct pfu_counter *counter,
		    const struct pfu_landed *since);

/* Adds what another worker has landed. */
void pfu_landed_join(struct pfu_landed *landed, const struct pfu_landed *more);

/* Takes back what has landed, whoever has counted it, and clears *landed. */
void pfu_count_take_back(struct pfu_counter *counter, struct pfu_landed *landed);

/* What an entry with such a mode (or type, the S_IFMT part) counts as: PFU_COUNT_FILES and so on. */
enum pfu_count pfu_count_of(mode_t mode);

#ifdef __cplusplus
}
#endif

#endif
