/*
 * timing.c - how long calls on a file system take.
 *
 * There are eight buckets for each power of two: a time is known to an eighth of itself.
 */
#include "timing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUB_BITS 3
#define SUBS (1U << SUB_BITS)

/* What one thread has taken down; nobody else touches it until timing_end(). */
struct record {
	struct record *next;
	struct {
		uint64_t count, total, longest;
		uint64_t bucket[TIMING_BUCKETS];
	} of[TIMING_CLASSES];
};

static const struct pfu_fsys *inner;
static _Atomic(struct record *) records; /* only ever added to, at the front */
static _Thread_local struct record *mine;
static atomic_uint in_flight, peak;

/* ---- the buckets ---- */

unsigned int timing_bucket(uint64_t ns)
{
	unsigned int power;

	if (ns < SUBS)
		return (unsigned int)ns;
	power = 63U - (unsigned int)__builtin_clzll(ns);
	return ((power - SUB_BITS + 1) << SUB_BITS) + (unsigned int)(ns >> (power - SUB_BITS)) - SUBS;
}

uint64_t timing_bucket_end(unsigned int bucket)
{
	unsigned int shift = bucket >> SUB_BITS;

	if (shift <= 1)
		return bucket;
	/* (Of the last one this wraps around to the greatest number, as it should.) */
	return ((uint64_t)(SUBS + (bucket & (SUBS - 1)) + 1) << (shift - 1)) - 1;
}

unsigned int timing_quantile(const uint64_t *buckets, uint64_t count, unsigned int permille)
{
	unsigned int rest = 1000 - permille, i;
	uint64_t beyond = count / 1000 * rest + count % 1000 * rest / 1000, seen = 0;

	/* As many as may be longer are counted from the top. */
	for (i = TIMING_BUCKETS - 1; i > 0; i--) {
		seen += buckets[i];
		if (seen > beyond)
			break;
	}
	return i;
}

/* ---- taking down ---- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct record *join(void)
{
	int err = errno;

	mine = calloc(1, sizeof(*mine));
	if (mine) {
		mine->next = atomic_load(&records);
		while (!atomic_compare_exchange_weak(&records, &mine->next, mine))
			;
	}
	errno = err;
	return mine;
}

static uint64_t begin(void)
{
	unsigned int n = atomic_fetch_add_explicit(&in_flight, 1, memory_order_relaxed) + 1;
	unsigned int most = atomic_load_explicit(&peak, memory_order_relaxed);

	while (n > most && !atomic_compare_exchange_weak_explicit(&peak, &most, n, memory_order_relaxed,
								  memory_order_relaxed))
		;
	return now_ns();
}

/* Keeps errno.  A thread that has no memory for its times takes none. */
static void end(enum timing_class which, uint64_t begun)
{
	uint64_t took = now_ns() - begun;
	struct record *r = mine ? mine : join();

	atomic_fetch_sub_explicit(&in_flight, 1, memory_order_relaxed);
	if (!r)
		return;
	r->of[which].count++;
	r->of[which].total += took;
	if (took > r->of[which].longest)
		r->of[which].longest = took;
	r->of[which].bucket[timing_bucket(took)]++;
}

/* Defines timed_NAME(), which makes the call of that name and takes down its time. */
#define TIMED(which, type, name, parameters, arguments)    \
	static type timed_##name parameters                \
	{                                                  \
		uint64_t begun = begin();                  \
		type result = inner->name arguments;       \
                                                           \
		end(which, begun);                         \
		return result;                             \
	}

static int timed_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	uint64_t begun = begin();
	int result = inner->openat(dirfd, name, flags, mode);

	end(flags & O_CREAT ? TIMING_CREATING : TIMING_OPENING, begun);
	return result;
}

TIMED(TIMING_CLOSING, int, close, (int fd), (fd))
TIMED(TIMING_CLOSING, int, close_range, (unsigned int first, unsigned int last, unsigned int flags),
      (first, last, flags))
TIMED(TIMING_LOOKING, int, fstat, (int fd, struct stat *st), (fd, st))
TIMED(TIMING_LOOKING, int, identify, (int fd, struct stat *st), (fd, st))
TIMED(TIMING_LOOKING, int, fstatat, (int dirfd, const char *name, struct stat *st, int flags),
      (dirfd, name, st, flags))
TIMED(TIMING_LISTING, ssize_t, getdents, (int fd, void *buf, size_t size), (fd, buf, size))
TIMED(TIMING_DATA, off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
TIMED(TIMING_DATA, ssize_t, read, (int fd, void *buf, size_t size), (fd, buf, size))
TIMED(TIMING_DATA, ssize_t, pread, (int fd, void *buf, size_t size, off_t offset),
      (fd, buf, size, offset))
TIMED(TIMING_DATA, ssize_t, write, (int fd, const void *buf, size_t size), (fd, buf, size))
TIMED(TIMING_DATA, ssize_t, pwrite, (int fd, const void *buf, size_t size, off_t offset),
      (fd, buf, size, offset))
TIMED(TIMING_DATA, ssize_t, copy_file_range,
      (int in, off_t *in_off, int out, off_t *out_off, size_t len, unsigned int flags),
      (in, in_off, out, out_off, len, flags))
TIMED(TIMING_DATA, int, clone, (int out, int in), (out, in))
TIMED(TIMING_DATA, int, ftruncate, (int fd, off_t size), (fd, size))
TIMED(TIMING_DATA, int, fallocate, (int fd, int mode, off_t offset, off_t len), (fd, mode, offset, len))
TIMED(TIMING_DATA, int, fadvise, (int fd, off_t offset, off_t len, int advice), (fd, offset, len, advice))
TIMED(TIMING_REMOVING, int, unlinkat, (int dirfd, const char *name, int flags), (dirfd, name, flags))
TIMED(TIMING_CREATING, int, mkdirat, (int dirfd, const char *name, mode_t mode), (dirfd, name, mode))
TIMED(TIMING_CREATING, int, mknodat, (int dirfd, const char *name, mode_t mode, dev_t dev),
      (dirfd, name, mode, dev))
TIMED(TIMING_CREATING, int, symlinkat, (const char *target, int dirfd, const char *name),
      (target, dirfd, name))
TIMED(TIMING_LOOKING, ssize_t, readlinkat, (int dirfd, const char *name, char *buf, size_t size),
      (dirfd, name, buf, size))
TIMED(TIMING_CREATING, int, linkat,
      (int olddirfd, const char *oldname, int newdirfd, const char *newname, int flags),
      (olddirfd, oldname, newdirfd, newname, flags))
TIMED(TIMING_CREATING, int, renameat,
      (int olddirfd, const char *oldname, int newdirfd, const char *newname, unsigned int flags),
      (olddirfd, oldname, newdirfd, newname, flags))
TIMED(TIMING_LOOKING, int, faccessat, (int dirfd, const char *name, int mode, int flags),
      (dirfd, name, mode, flags))
TIMED(TIMING_ATTRIBUTES, int, fchmod, (int fd, mode_t mode), (fd, mode))
TIMED(TIMING_ATTRIBUTES, int, fchmodat, (int dirfd, const char *name, mode_t mode, int flags),
      (dirfd, name, mode, flags))
TIMED(TIMING_ATTRIBUTES, int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
TIMED(TIMING_ATTRIBUTES, int, fchownat, (int dirfd, const char *name, uid_t uid, gid_t gid, int flags),
      (dirfd, name, uid, gid, flags))
TIMED(TIMING_ATTRIBUTES, int, futimens, (int fd, const struct timespec times[2]), (fd, times))
TIMED(TIMING_ATTRIBUTES, int, utimensat,
      (int dirfd, const char *name, const struct timespec times[2], int flags),
      (dirfd, name, times, flags))
TIMED(TIMING_ATTRIBUTES, ssize_t, flistxattr, (int fd, char *list, size_t size), (fd, list, size))
TIMED(TIMING_ATTRIBUTES, ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t size),
      (fd, name, value, size))
TIMED(TIMING_ATTRIBUTES, int, fsetxattr,
      (int fd, const char *name, const void *value, size_t size, int flags),
      (fd, name, value, size, flags))
TIMED(TIMING_ATTRIBUTES, int, fremovexattr, (int fd, const char *name), (fd, name))
TIMED(TIMING_ATTRIBUTES, ssize_t, llistxattr, (const char *path, char *list, size_t size),
      (path, list, size))
TIMED(TIMING_ATTRIBUTES, ssize_t, lgetxattr,
      (const char *path, const char *name, void *value, size_t size), (path, name, value, size))
TIMED(TIMING_ATTRIBUTES, int, lsetxattr,
      (const char *path, const char *name, const void *value, size_t size, int flags),
      (path, name, value, size, flags))
TIMED(TIMING_LOOKING, int, fstatfs_type, (int fd, long *type), (fd, type))
TIMED(TIMING_LOOKING, int, flock, (int fd, int operation), (fd, operation))
TIMED(TIMING_SYNCING, int, fdatasync, (int fd), (fd))
TIMED(TIMING_SYNCING, int, syncfs, (int fd), (fd))

static const struct pfu_fsys table = {
	.openat = timed_openat,
	.close = timed_close,
	.close_range = timed_close_range,
	.fstat = timed_fstat,
	.identify = timed_identify,
	.fstatat = timed_fstatat,
	.getdents = timed_getdents,
	.lseek = timed_lseek,
	.read = timed_read,
	.pread = timed_pread,
	.write = timed_write,
	.pwrite = timed_pwrite,
	.copy_file_range = timed_copy_file_range,
	.clone = timed_clone,
	.ftruncate = timed_ftruncate,
	.fallocate = timed_fallocate,
	.fadvise = timed_fadvise,
	.unlinkat = timed_unlinkat,
	.mkdirat = timed_mkdirat,
	.mknodat = timed_mknodat,
	.symlinkat = timed_symlinkat,
	.readlinkat = timed_readlinkat,
	.linkat = timed_linkat,
	.renameat = timed_renameat,
	.faccessat = timed_faccessat,
	.fchmod = timed_fchmod,
	.fchmodat = timed_fchmodat,
	.fchown = timed_fchown,
	.fchownat = timed_fchownat,
	.futimens = timed_futimens,
	.utimensat = timed_utimensat,
	.flistxattr = timed_flistxattr,
	.fgetxattr = timed_fgetxattr,
	.fsetxattr = timed_fsetxattr,
	.fremovexattr = timed_fremovexattr,
	.llistxattr = timed_llistxattr,
	.lgetxattr = timed_lgetxattr,
	.lsetxattr = timed_lsetxattr,
	.fstatfs_type = timed_fstatfs_type,
	.fdatasync = timed_fdatasync,
	.syncfs = timed_syncfs,
	.flock = timed_flock,
};

/* ---- the whole ---- */

const char *timing_name(enum timing_class which)
{
	static const char *const names[TIMING_CLASSES] = {
		"listing", "looking", "opening", "creating", "data",
		"attributes", "closing", "removing", "syncing",
	};

	return names[which];
}

const struct pfu_fsys *timing_begin(const struct pfu_fsys *fs)
{
	inner = fs;
	return &table;
}

static struct timing sum_up(unsigned int which)
{
	struct timing t = { .count = 0 };
	uint64_t bucket[TIMING_BUCKETS] = { 0 };
	const struct record *r;
	unsigned int i;

	for (r = atomic_load(&records); r; r = r->next) {
		t.count += r->of[which].count;
		t.total += r->of[which].total;
		if (r->of[which].longest > t.longest)
			t.longest = r->of[which].longest;
		for (i = 0; i < TIMING_BUCKETS; i++)
			bucket[i] += r->of[which].bucket[i];
	}
	if (t.count) {
		t.p99 = timing_bucket_end(timing_quantile(bucket, t.count, 990));
		if (t.p99 > t.longest)
			t.p99 = t.longest;
	}
	return t;
}

unsigned int timing_end(struct timing times[TIMING_CLASSES])
{
	struct record *r, *next;
	unsigned int i;

	for (i = 0; i < TIMING_CLASSES; i++)
		times[i] = sum_up(i);
	for (r = atomic_exchange(&records, NULL); r; r = next) {
		next = r->next;
		free(r);
	}
	mine = NULL;
	return atomic_load(&peak);
}
