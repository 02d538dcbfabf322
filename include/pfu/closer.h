/*
 * pfu/closer.h - descriptors that can be closed later, many at a time.
 *
 * Where closing cannot fail (files open for reading, local file systems), one
 * close_range(2) for a run of descriptors takes the place of a close(2) each:
 * one system call in six of a small file's copy.  Only descriptors that were
 * handed in are ever closed, whoever else opens some in the same process.
 *
 * A closer belongs to one thread.
 */
#ifndef PFU_CLOSER_H
#define PFU_CLOSER_H

#include <pfu/fsys.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFU_CLOSER_MAX 64

struct pfu_closer {
	const struct pfu_fsys *fs;
	unsigned int limit; /* how many to keep open at most; 0: close at once */
	unsigned int n;
	int fd[PFU_CLOSER_MAX];
};

/* Makes an empty closer that keeps up to `limit` descriptors, PFU_CLOSER_MAX at most. */
void pfu_closer_init(struct pfu_closer *c, const struct pfu_fsys *fs, unsigned int limit);

/* Takes a descriptor to be closed.  The error of closing it does not matter to anyone. */
void pfu_closer_add(struct pfu_closer *c, int fd);

/* Closes all that are kept. */
void pfu_closer_flush(struct pfu_closer *c);

#ifdef __cplusplus
}
#endif

#endif
