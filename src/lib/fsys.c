/*
 * fsys.c - the table of file system operations that goes to the kernel.
 *
 * Thin on purpose: what a call means, and what to do when it fails, is decided
 * by the callers.  Only what a kernel or a C library may lack is made up for
 * here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pfu/fsys.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <sys/file.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/*
 * A server says ESTALE when a name has come to mean another file since the client
 * looked it up.  The kernel looks it up anew once; on a busy tree that may be too few.
 */
#define STALE_TRIES 3

static int posix_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	int tries = 0, fd;

	do
		fd = openat(dirfd, name, flags, mode);
	while (fd < 0 && errno == ESTALE && ++tries < STALE_TRIES);
	return fd;
}

static int posix_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
	int tries = 0, rc;

	do
		rc = fstatat(dirfd, name, st, flags);
	while (rc < 0 && errno == ESTALE && ++tries < STALE_TRIES);
	return rc;
}

static int posix_unlinkat(int dirfd, const char *name, int flags)
{
	int tries = 0, rc;

	do
		rc = unlinkat(dirfd, name, flags);
	while (rc < 0 && errno == ESTALE && ++tries < STALE_TRIES);
	return rc;
}

static int posix_close_range(unsigned int first, unsigned int last, unsigned int flags)
{
#ifdef SYS_close_range
	return (int)syscall(SYS_close_range, first, last, flags);
#else
	errno = ENOSYS;
	return -1;
#endif
}

static ssize_t posix_getdents(int fd, void *buf, size_t size)
{
	return syscall(SYS_getdents64, fd, buf, size);
}

static int posix_identify(int fd, struct stat *st)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &stx) != 0)
		return fstat(fd, st); /* an old kernel, or a sandbox that refuses statx() */
	st->st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	st->st_ino = stx.stx_ino;
	st->st_mode = stx.stx_mode;
	return 0;
}

static int posix_clone(int out, int in)
{
	return ioctl(out, FICLONE, in);
}

/* 0 or -1 with errno, not an error number as posix_fadvise(3) returns it. */
static int posix_fadvise_errno(int fd, off_t offset, off_t len, int advice)
{
	int err = posix_fadvise(fd, offset, len, advice);

	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

static int posix_renameat(int olddirfd, const char *oldname, int newdirfd, const char *newname,
			  unsigned int flags)
{
	if (flags == 0)
		return renameat(olddirfd, oldname, newdirfd, newname);
	return renameat2(olddirfd, oldname, newdirfd, newname, flags);
}

/*
 * Before Linux 6.6 the kernel has no chmod(2) that does not follow links.  The C
 * library makes one up by way of /proc/self/fd, which is the descriptor table of
 * the process, not that of a thread that has its own: it could change any file.
 */
static int chmod_by_descriptor(int dirfd, const char *name, mode_t mode)
{
	int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = -1, err;
	char path[64];
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
		errno = EOPNOTSUPP;
	} else {
		snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
		rc = chmod(path, mode);
		if (rc != 0 && errno == ENOENT)
			errno = EOPNOTSUPP; /* no /proc */
	}
	err = errno;
	close(fd);
	errno = err;
	return rc;
}

static int posix_fchmodat(int dirfd, const char *name, mode_t mode, int flags)
{
	int rc;

	if (!(flags & AT_SYMLINK_NOFOLLOW))
		return fchmodat(dirfd, name, mode, flags);
	rc = (int)syscall(SYS_fchmodat2, dirfd, name, mode, flags);
	if (rc == 0 || (errno != ENOSYS && errno != EPERM))
		return rc;
	return chmod_by_descriptor(dirfd, name, mode);
}

static int posix_fstatfs_type(int fd, long *type)
{
	struct statfs sfs;

	if (fstatfs(fd, &sfs) != 0)
		return -1;
	*type = (long)sfs.f_type;
	return 0;
}

const struct pfu_fsys pfu_fsys_posix = {
	.openat = posix_openat,
	.close = close,
	.close_range = posix_close_range,
	.fstat = fstat,
	.identify = posix_identify,
	.fstatat = posix_fstatat,
	.getdents = posix_getdents,
	.lseek = lseek,
	.read = read,
	.pread = pread,
	.write = write,
	.pwrite = pwrite,
	.copy_file_range = copy_file_range,
	.clone = posix_clone,
	.ftruncate = ftruncate,
	.fallocate = fallocate,
	.fadvise = posix_fadvise_errno,
	.unlinkat = posix_unlinkat,
	.mkdirat = mkdirat,
	.mknodat = mknodat,
	.symlinkat = symlinkat,
	.readlinkat = readlinkat,
	.linkat = linkat,
	.renameat = posix_renameat,
	.faccessat = faccessat,
	.fchmod = fchmod,
	.fchmodat = posix_fchmodat,
	.fchown = fchown,
	.fchownat = fchownat,
	.futimens = futimens,
	.utimensat = utimensat,
	.flistxattr = flistxattr,
	.fgetxattr = fgetxattr,
	.fsetxattr = fsetxattr,
	.fremovexattr = fremovexattr,
	.llistxattr = llistxattr,
	.lgetxattr = lgetxattr,
	.lsetxattr = lsetxattr,
	.fstatfs_type = posix_fstatfs_type,
	.fdatasync = fdatasync,
	.syncfs = syncfs,
	.flock = flock,
};
