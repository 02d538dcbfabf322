/*
 * pfu/sums.h - checksums of a file's bytes, taken while they pass by.
 *
 * A file is summed block by block, so that several workers can sum ranges of one file
 * at the same time, and so that a difference can be told to be in one block; what is
 * kept is 16 bytes a block.  A block has 1 MiB, or of large files as much as makes
 * 65,536 blocks of them: a file's sums never take more than 1 MiB.  Holes count as
 * zeros and, where only blocks are summed, cost nothing.
 *
 * When the bytes pass in order, the digest of the whole file can be had, too.
 *
 * The sums are those of XXH3 with 128 bits (xxHash, https://github.com/Cyan4973/xxHash,
 * doc/xxhash_spec.md): made for finding accidents, not forgeries.  It is a choice of the build:
 * see pfu_sums_supported().
 */
#ifndef PFU_SUMS_H
#define PFU_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a digest as text, with the final zero byte. */
#define PFU_DIGEST_SIZE 33

struct pfu_sums;   /* of one file */
struct pfu_summer; /* one pass over it, or over a range of it */

/* What a pass is for. */
enum pfu_pass {
	PFU_PASS_ALL,	  /* sums the whole file, in order */
	PFU_PASS_RANGE,	  /* sums a range that begins at a block; others do the rest */
	PFU_PASS_COMPARE, /* compares the whole file, in order, with its sums */
};

/* Whether this build has xxHash.  If not, pfu_sums_new() fails with ENOSYS. */
bool pfu_sums_supported(void);

/*
 * Sums for a file of about `size` bytes; more is taken by PFU_PASS_ALL, not by ranges.
 * `digest`: the digest of the whole file is wanted.  NULL with errno.
 */
struct pfu_sums *pfu_sums_new(off_t size, bool digest);
void pfu_sums_free(struct pfu_sums *s);

/* Forgets what was summed.  No pass may be going on. */
void pfu_sums_reset(struct pfu_sums *s);

/* Bytes of a block, a power of two. */
off_t pfu_sums_block(const struct pfu_sums *s);

/* The end of what was summed, in bytes. */
off_t pfu_sums_length(const struct pfu_sums *s);

/* Whether the block that begins at `at` was all hole. */
bool pfu_sums_is_hole(const struct pfu_sums *s, off_t at);

/*
 * The digest of the whole file as `xxhsum -H128` prints it.  false: no pass over all of
 * it, in order, has ended well.
 */
bool pfu_sums_digest(const struct pfu_sums *s, char text[PFU_DIGEST_SIZE]);

/*
 * Begins a pass at offset `from`, which for PFU_PASS_RANGE is where a block begins and
 * else 0.  Ranges of one file may be summed by several threads, a pass by one of them
 * at a time.  NULL with errno ENOMEM.
 */
struct pfu_summer *pfu_summer_new(struct pfu_sums *s, off_t from, enum pfu_pass pass);

/* Takes the next bytes.  Those at offset `at`: what lies before them is a hole.  -1: those that follow. */
void pfu_summer_add(struct pfu_summer *p, const char *buf, size_t size, off_t at);

/* Takes a hole up to offset `to`. */
void pfu_summer_hole(struct pfu_summer *p, off_t to);

/* PFU_PASS_COMPARE: where the first block begins that differs, of those that are complete; else -1. */
off_t pfu_summer_differs(const struct pfu_summer *p);

/*
 * Ends a pass, and frees it.  Returns 0, or -1 with errno ENOMEM (the sums cannot be
 * used) or, of PFU_PASS_COMPARE, EILSEQ (something differs; *differs is where its block begins).
 */
int pfu_summer_end(struct pfu_summer *p, off_t *differs);

#ifdef __cplusplus
}
#endif

#endif
