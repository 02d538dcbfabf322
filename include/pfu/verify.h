/*
 * pfu/verify.h - reads a copy again, and compares it with what was read of its source.
 *
 * What is read is to come from where the copy is kept and not from this machine's
 * memory: the bytes are brought to storage, fdatasync(2), and the kernel is asked to
 * forget them, posix_fadvise(2) with POSIX_FADV_DONTNEED.  That is as much as can be
 * done: caches of the storage itself, or of a server, are beyond reach, a file system
 * in memory has nothing else, and the kernel may keep what somebody else has in use.
 */
#ifndef PFU_VERIFY_H
#define PFU_VERIFY_H

#include <pfu/atomic.h>
#include <pfu/fsys.h>
#include <pfu/sums.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_verified {
	PFU_VERIFY_SAME,
	PFU_VERIFY_CANCELLED,
	PFU_VERIFY_DIFFERS, /* at .offset */
	PFU_VERIFY_WRITE,   /* the bytes could not be brought to storage; errno */
	PFU_VERIFY_READ,    /* they could not be read; errno */
};

struct pfu_verify {
	const struct pfu_fsys *fs;
	int source;		   /* open for reading */
	int target;		   /* open for reading and writing */
	struct pfu_sums *sums;	   /* of what was read of the source, complete */
	char *buf;		   /* of buf_size bytes, at least 2 */
	size_t buf_size;
	const atomic_bool *cancel; /* or NULL */
	off_t offset;		   /* set to where they differ */
};

/*
 * Compares the target, from its first byte to its end, with the sums.  Where a digest
 * is wanted (pfu_sums_new()) and not known yet, it is of what is read here.
 *
 * The offset of a difference is that of the first byte in which source and target
 * differ, or, when the source meanwhile is no longer what was read, of the block.
 * Interrupted and short calls are continued.  Of one file by one thread at a time.
 */
enum pfu_verified pfu_verify(struct pfu_verify *v);

#ifdef __cplusplus
}
#endif

#endif
