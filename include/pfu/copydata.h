/*
 * pfu/copydata.h - the bytes of one regular file.
 *
 * The fastest way that the two file systems allow is used: sharing blocks, then
 * copy_file_range(2), then read(2) and write(2).  What a pair of file systems
 * cannot do is remembered for the pair.  Holes stay holes.
 */
#ifndef PFU_COPYDATA_H
#define PFU_COPYDATA_H

#include <pfu/copy.h>
#include <pfu/fsys.h>
#include <pfu/rate.h>
#include <pfu/sums.h>
#include <pfu/atomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The size of a buffer that is worth having for read and write: what fits a
 * processor's cache, and where each call is a round trip what one can hold (FUSE,
 * NFS and SMB: 1 MiB).
 */
#define PFU_COPY_BUFFER ((size_t)256 << 10)
#define PFU_COPY_BUFFER_NETWORK ((size_t)1 << 20)

/* The same for what the kernel, or a server, is asked to copy by one call. */
#define PFU_COPY_CALL ((size_t)16 << 20)
#define PFU_COPY_CALL_NETWORK ((size_t)64 << 20)

/* What has been found out about copies from one file system to another. */
struct pfu_fspair {
	dev_t in, out;
	atomic_bool no_clone;
	atomic_bool no_copy_range;
	atomic_bool no_xattrs; /* the source has none on any file */
	atomic_bool no_ranges; /* the target takes the bytes of a file only in their order */
	atomic_int source;     /* 0, or 1 + the PFU_FS_* flags of the source's file system */
	struct pfu_fspair *next;
};

/* All pairs met in a run.  Zero-initialised it is empty. */
struct pfu_fspairs {
	_Atomic(struct pfu_fspair *) first; /* only ever added to, at the front */
};

/* The entry of a pair, made when there is none; NULL with errno ENOMEM.  From any thread. */
struct pfu_fspair *pfu_fspairs_get(struct pfu_fspairs *pairs, dev_t in, dev_t out);
void pfu_fspairs_free(struct pfu_fspairs *pairs);

/* What was being done when copying failed. */
enum pfu_data_failure {
	PFU_DATA_OK,
	PFU_DATA_CANCELLED,
	PFU_DATA_CLONE,	 /* sharing blocks, which had been asked for */
	PFU_DATA_READ,
	PFU_DATA_WRITE,
	PFU_DATA_COPY,	 /* in a call that reads and writes */
	PFU_DATA_SEEK,
	PFU_DATA_EXTEND, /* setting the size of a file that ends in a hole */
};

struct pfu_data {
	const struct pfu_fsys *fs;
	int in, out;		  /* at offset 0; `out` is empty */
	off_t size;		  /* of `in`, by fstat(2) */
	off_t allocated;	  /* bytes of blocks that `in` has, by fstat(2) */
	bool honest_size;	  /* a size of 0 means that there is nothing to read */
	bool read_to_end;	  /* the size says nothing (/proc): read until there is no more */
	enum pfu_sparse sparse;
	enum pfu_reflink reflink;
	struct pfu_fspair *pair;
	size_t call_size;	  /* one copy_file_range(2) moves no more, so that a run can be cancelled in time */
	char *buf;		  /* for read and write */
	size_t buf_size;
	const atomic_bool *cancel; /* or NULL */
	uint64_t *moved;	  /* bytes copied are added here */
	struct pfu_counter *counter; /* and what became of all of them counted there; or NULL */
	struct pfu_rate *rate;	  /* a limit of bytes a second; or NULL */
	struct pfu_summer *summer; /* takes what is read, which then is done by read(2); or NULL */
};

/*
 * Copies all, when pfu_copydata_clone() could not.  Returns PFU_DATA_OK, or what failed, with errno.  Interrupted and
 * short calls are continued.
 */
enum pfu_data_failure pfu_copydata(struct pfu_data *d);

/*
 * Shares all blocks if that can be had: PFU_DATA_OK and *done true.  *done false:
 * it cannot, and the plain way is to be tried (errors as above).
 */
enum pfu_data_failure pfu_copydata_clone(struct pfu_data *d, bool *done);

/*
 * Copies the bytes from offset `from` up to `to`, keeping holes; leaves the
 * size alone if they end in one.  For several workers on one file, each with
 * other ranges.  The offsets of the descriptors may change but do not matter.
 */
enum pfu_data_failure pfu_copydata_range(struct pfu_data *d, off_t from, off_t to);

/* After all ranges of a file with holes: sets its size, in case it ends in one. */
enum pfu_data_failure pfu_copydata_extend(struct pfu_data *d);

/* Whether the file has holes that are to be kept. */
bool pfu_copydata_has_holes(const struct pfu_data *d);

#ifdef __cplusplus
}
#endif

#endif
