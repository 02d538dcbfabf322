/*
 * pfu/fsys.h - every call on a file system, as one table of operations.
 *
 * The library makes no file system call but through such a table, so that a
 * test can refuse any call, and so that a file system reached by a library
 * (libcephfs) can take the kernel's place.  A "descriptor" is therefore only
 * what openat() of the same table returned; AT_FDCWD is valid in each.
 *
 * Every operation behaves as the system call of its name: the result, or -1
 * with errno set, and may be called from any thread.  No operation restarts on
 * EINTR by itself.
 */
#ifndef PFU_FSYS_H
#define PFU_FSYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of a directory as getdents64(2) lays it out in its buffer. */
struct pfu_dirent {
	uint64_t d_ino;
	int64_t d_off;		 /* where to lseek() to go on after this entry */
	unsigned short d_reclen; /* bytes from this entry to the next */
	unsigned char d_type;	 /* DT_*; DT_UNKNOWN where the file system does not say */
	char d_name[];
};

struct pfu_fsys {
	int (*openat)(int dirfd, const char *name, int flags, mode_t mode);
	int (*close)(int fd);
	/* close_range(2): closes first..last; only ever used on a descriptor table of one's own. */
	int (*close_range)(unsigned int first, unsigned int last, unsigned int flags);
	int (*fstat)(int fd, struct stat *st);
	/* Sets st_dev, st_ino and the type in st_mode only, from what is cached, without a round trip. */
	int (*identify)(int fd, struct stat *st);
	int (*fstatat)(int dirfd, const char *name, struct stat *st, int flags);
	/* getdents64(2): bytes filled, 0 at the end of the directory. */
	ssize_t (*getdents)(int fd, void *buf, size_t size);
	off_t (*lseek)(int fd, off_t offset, int whence);
	ssize_t (*read)(int fd, void *buf, size_t size);
	ssize_t (*pread)(int fd, void *buf, size_t size, off_t offset);
	ssize_t (*write)(int fd, const void *buf, size_t size);
	ssize_t (*pwrite)(int fd, const void *buf, size_t size, off_t offset);
	ssize_t (*copy_file_range)(int in, off_t *in_off, int out, off_t *out_off, size_t len,
				   unsigned int flags);
	/* ioctl(FICLONE): makes `out` share all blocks of `in`. */
	int (*clone)(int out, int in);
	int (*ftruncate)(int fd, off_t size);
	int (*fallocate)(int fd, int mode, off_t offset, off_t len);
	int (*fadvise)(int fd, off_t offset, off_t len, int advice);
	int (*unlinkat)(int dirfd, const char *name, int flags);
	int (*mkdirat)(int dirfd, const char *name, mode_t mode);
	int (*mknodat)(int dirfd, const char *name, mode_t mode, dev_t dev);
	int (*symlinkat)(const char *target, int dirfd, const char *name);
	ssize_t (*readlinkat)(int dirfd, const char *name, char *buf, size_t size);
	int (*linkat)(int olddirfd, const char *oldname, int newdirfd, const char *newname,
		      int flags);
	/* renameat2(2); flags are RENAME_NOREPLACE and the like, 0 for renameat(2). */
	int (*renameat)(int olddirfd, const char *oldname, int newdirfd, const char *newname,
			unsigned int flags);
	int (*faccessat)(int dirfd, const char *name, int mode, int flags);
	int (*fchmod)(int fd, mode_t mode);
	/* fchmodat(2); with AT_SYMLINK_NOFOLLOW never through a link (EOPNOTSUPP for a link). */
	int (*fchmodat)(int dirfd, const char *name, mode_t mode, int flags);
	int (*fchown)(int fd, uid_t uid, gid_t gid);
	int (*fchownat)(int dirfd, const char *name, uid_t uid, gid_t gid, int flags);
	int (*futimens)(int fd, const struct timespec times[2]);
	int (*utimensat)(int dirfd, const char *name, const struct timespec times[2], int flags);
	ssize_t (*flistxattr)(int fd, char *list, size_t size);
	ssize_t (*fgetxattr)(int fd, const char *name, void *value, size_t size);
	int (*fsetxattr)(int fd, const char *name, const void *value, size_t size, int flags);
	int (*fremovexattr)(int fd, const char *name);
	/* The same by path, never following a link (llistxattr(2) and its kin). */
	ssize_t (*llistxattr)(const char *path, char *list, size_t size);
	ssize_t (*lgetxattr)(const char *path, const char *name, void *value, size_t size);
	int (*lsetxattr)(const char *path, const char *name, const void *value, size_t size,
			 int flags);
	/* The f_type of statfs(2) for the file system that holds fd, as *type. */
	int (*fstatfs_type)(int fd, long *type);
	int (*fdatasync)(int fd);
	int (*syncfs)(int fd);
	int (*flock)(int fd, int operation);
};

/* The kernel's own calls. */
extern const struct pfu_fsys pfu_fsys_posix;

#ifdef __cplusplus
}
#endif

#endif
