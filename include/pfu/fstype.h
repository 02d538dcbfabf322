/*
 * pfu/fstype.h - what kind of file system this is.
 */
#ifndef PFU_FSTYPE_H
#define PFU_FSTYPE_H

#include <pfu/fsys.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_fstype {
	PFU_FS_NETWORK = 1,   /* calls take round trips; close(2) may report an error of writing */
	PFU_FS_HONEST_SIZE = 2, /* a regular file of size 0 is empty (not so in /proc) */
	PFU_FS_TOTALS = 4,	/* a directory's attributes tell what is in it in all (CephFS) */
};

/* The PFU_FS_* flags for an f_type of statfs(2).  What is unknown is taken for a network. */
unsigned int pfu_fstype_flags(long f_type);

/* The flags for the file system that holds the open file; those of an unknown one on error. */
unsigned int pfu_fstype_of(const struct pfu_fsys *fs, int fd);

/*
 * What there is at a path, in all: entries, itself included, and bytes of regular
 * files.  false: only counting would tell, for most file systems do not know of a
 * directory; or it is a symbolic link.  From any thread.
 */
bool pfu_fstype_total(const struct pfu_fsys *fs, const char *path, uint64_t *entries, uint64_t *bytes);

/*
 * How many workers to begin with when nobody said: by the number of processors for
 * local file systems, and enough to keep round trips in flight for others.  *most is
 * set to how many there may be should more prove useful.
 */
unsigned int pfu_fstype_workers(unsigned int flags, unsigned int *most);

#ifdef __cplusplus
}
#endif

#endif
