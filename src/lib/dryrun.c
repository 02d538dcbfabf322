/*
 * dryrun.c - the table of file system operations of --dry-run.
 *
 * So that copying and removing decide by the same code whether or not they do anything:
 * each operation here finds out what the kernel's own would say.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/dryrun.h>
#include <pfu/names.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What this thread has removed or renamed last, in pretence: a target that makes room
 * is gone when its successor is made, which is what the thread does next.
 */
static _Thread_local struct {
	bool set;
	dev_t dev;
	ino_t ino;
} vacated;

static void vacate(const struct stat *st)
{
	vacated.set = true;
	vacated.dev = st->st_dev;
	vacated.ino = st->st_ino;
}

static int fail(int err)
{
	errno = err;
	return -1;
}

static bool is_vacated(const struct stat *st)
{
	return vacated.set && st->st_dev == vacated.dev && st->st_ino == vacated.ino;
}

static int look(int dirfd, const char *name, struct stat *st)
{
	return pfu_fsys_posix.fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW);
}

/* The same of the name without slashes at its end. */
static int look_at_bare(int dirfd, const char *name, struct stat *st)
{
	char *bare = strndup(name, pfu_name_length(name));
	int rc = bare ? look(dirfd, bare, st) : -1, err = errno;

	free(bare);
	errno = err;
	return rc;
}

static bool ends_with_slash(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && name[len - 1] == '/';
}

/* ---- may it be done? ---- */

/* What a sticky directory only lets the owner of an entry do. */
static bool is_restricted(const struct stat *dir, const struct stat *st)
{
	uid_t uid = geteuid();

	return (dir->st_mode & S_ISVTX) && uid != 0 && uid != dir->st_uid && uid != st->st_uid;
}

/* Whether a name may be made (st is NULL), or that of st removed: 0, or -1 with errno. */
static int may_change(int dirfd, const char *name, const struct stat *st)
{
	char *dir = pfu_name_directory(name);
	struct stat dst;
	int rc = dir ? 0 : -1, err;

	if (rc == 0)
		rc = pfu_fsys_posix.faccessat(dirfd, dir, W_OK | X_OK, AT_EACCESS);
	if (rc == 0 && st) {
		rc = pfu_fsys_posix.fstatat(dirfd, dir, &dst, 0);
		if (rc == 0 && is_restricted(&dst, st))
			rc = fail(EPERM);
	}
	err = errno;
	/* Below a directory a name of several components only comes up when those are made first. */
	if (rc != 0 && err == ENOENT && dirfd != AT_FDCWD && dir && strcmp(dir, ".") != 0)
		rc = 0;
	free(dir);
	errno = err;
	return rc;
}

static int may_make(int dirfd, const char *name, bool directory)
{
	struct stat st;

	if (dirfd == PFU_UNMADE)
		return 0;
	if (look_at_bare(dirfd, name, &st) == 0) {
		if (!is_vacated(&st))
			return fail(EEXIST);
	} else if (errno != ENOENT) {
		return -1;
	}
	if (!directory && ends_with_slash(name))
		return fail(ENOENT);
	return may_change(dirfd, name, NULL);
}

/* Whether another file system is mounted at a directory, or another directory of this one. */
static bool is_mounted(int dirfd, const char *name)
{
	struct statx stx;

	return statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* ---- names ---- */

static int dry_unlinkat(int dirfd, const char *name, int flags)
{
	struct stat st;

	if (dirfd == PFU_UNMADE)
		return 0;
	if (look(dirfd, name, &st) != 0 || may_change(dirfd, name, &st) != 0)
		return -1;
	if (!(flags & AT_REMOVEDIR)) {
		if (S_ISDIR(st.st_mode))
			return fail(EISDIR);
	} else {
		if (!S_ISDIR(st.st_mode))
			return fail(ENOTDIR);
		if (is_mounted(dirfd, name))
			return fail(EBUSY);
		/* Whoever removes a directory has dealt with all in it, unless it cannot be read. */
		if (pfu_fsys_posix.faccessat(dirfd, name, R_OK, AT_EACCESS) != 0)
			return -1;
	}
	vacate(&st);
	return 0;
}

static int dry_renameat(int olddirfd, const char *oldname, int newdirfd, const char *newname,
			unsigned int flags)
{
	struct stat st;

	if (olddirfd == PFU_UNMADE || newdirfd == PFU_UNMADE)
		return 0;
	if ((flags & RENAME_NOREPLACE) && look(newdirfd, newname, &st) == 0 && !is_vacated(&st))
		return fail(EEXIST);
	/* What is not there has been made, in pretence, to be renamed. */
	if (look(olddirfd, oldname, &st) == 0) {
		if (may_change(olddirfd, oldname, &st) != 0)
			return -1;
		vacate(&st);
	}
	return may_change(newdirfd, newname, NULL);
}

static int dry_mkdirat(int dirfd, const char *name, mode_t mode)
{
	(void)mode;
	return may_make(dirfd, name, true);
}

static int dry_mknodat(int dirfd, const char *name, mode_t mode, dev_t dev)
{
	(void)dev;
	if (may_make(dirfd, name, false) != 0)
		return -1;
	return (S_ISCHR(mode) || S_ISBLK(mode)) && geteuid() != 0 ? fail(EPERM) : 0;
}

static int dry_symlinkat(const char *target, int dirfd, const char *name)
{
	(void)target;
	return may_make(dirfd, name, false);
}

static int dry_linkat(int olddirfd, const char *oldname, int newdirfd, const char *newname, int flags)
{
	struct stat st, dst;
	char *dir;
	bool other = false;

	if (may_make(newdirfd, newname, false) != 0)
		return -1;
	if (olddirfd == PFU_UNMADE || newdirfd == PFU_UNMADE)
		return 0;
	dir = pfu_name_directory(newname);
	if (dir && pfu_fsys_posix.fstatat(newdirfd, dir, &dst, 0) == 0 &&
	    pfu_fsys_posix.fstatat(olddirfd, oldname, &st,
				   flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
		other = st.st_dev != dst.st_dev;
	free(dir);
	return other ? fail(EXDEV) : 0;
}

/* ---- files ---- */

/* Whether a file that is there may be opened for writing. */
static int may_write(int dirfd, const char *name, int flags)
{
	struct stat st;

	if (pfu_fsys_posix.fstatat(dirfd, name, &st,
				   flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) != 0)
		return -1;
	if (S_ISLNK(st.st_mode))
		return fail(ELOOP);
	if (S_ISDIR(st.st_mode))
		return fail(EISDIR);
	if (S_ISSOCK(st.st_mode))
		return fail(ENXIO);
	return pfu_fsys_posix.faccessat(dirfd, name, (flags & O_ACCMODE) == O_RDWR ? R_OK | W_OK : W_OK,
					AT_EACCESS);
}

static int dry_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	int rc = 0;

	if ((flags & O_PATH) ||
	    ((flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC))))
		return pfu_fsys_posix.openat(dirfd, name, flags, mode);
	if (!(flags & O_CREAT))
		rc = may_write(dirfd, name, flags);
	else if (ends_with_slash(name))
		rc = fail(EISDIR);
	else if (flags & O_EXCL)
		rc = may_make(dirfd, name, false);
	return rc == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
}

static ssize_t dry_write(int fd, const void *buf, size_t size)
{
	(void)fd;
	(void)buf;
	(void)size;
	return fail(EROFS);
}

static ssize_t dry_pwrite(int fd, const void *buf, size_t size, off_t offset)
{
	(void)offset;
	return dry_write(fd, buf, size);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the kernel's call does change them */
static ssize_t dry_copy_file_range(int in, off_t *in_off, int out, off_t *out_off, size_t len,
				   unsigned int flags)
{
	(void)in;
	(void)in_off;
	(void)out_off;
	(void)flags;
	return dry_write(out, NULL, len);
}

static int dry_clone(int out, int in)
{
	(void)out;
	(void)in;
	return fail(EROFS);
}

static int dry_ftruncate(int fd, off_t size)
{
	(void)fd;
	(void)size;
	return fail(EROFS);
}

static int dry_fallocate(int fd, int mode, off_t offset, off_t len)
{
	(void)fd;
	(void)mode;
	(void)offset;
	(void)len;
	return fail(EROFS);
}

/* ---- attributes: of copies that are not there ---- */

static int dry_fchmod(int fd, mode_t mode)
{
	(void)fd;
	(void)mode;
	return 0;
}

static int dry_fchmodat(int dirfd, const char *name, mode_t mode, int flags)
{
	(void)dirfd;
	(void)name;
	(void)mode;
	(void)flags;
	return 0;
}

static int dry_fchown(int fd, uid_t uid, gid_t gid)
{
	(void)fd;
	(void)uid;
	(void)gid;
	return 0;
}

static int dry_fchownat(int dirfd, const char *name, uid_t uid, gid_t gid, int flags)
{
	(void)dirfd;
	(void)name;
	(void)uid;
	(void)gid;
	(void)flags;
	return 0;
}

static int dry_futimens(int fd, const struct timespec times[2])
{
	(void)fd;
	(void)times;
	return 0;
}

static int dry_utimensat(int dirfd, const char *name, const struct timespec times[2], int flags)
{
	(void)dirfd;
	(void)name;
	(void)times;
	(void)flags;
	return 0;
}

static int dry_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	(void)fd;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	return 0;
}

static int dry_fremovexattr(int fd, const char *name)
{
	(void)fd;
	(void)name;
	return 0;
}

static int dry_lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
	(void)path;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	return 0;
}

static int dry_sync(int fd)
{
	(void)fd;
	return 0;
}

void pfu_dryrun_table(struct pfu_fsys *table)
{
	*table = pfu_fsys_posix;
	table->openat = dry_openat;
	table->write = dry_write;
	table->pwrite = dry_pwrite;
	table->copy_file_range = dry_copy_file_range;
	table->clone = dry_clone;
	table->ftruncate = dry_ftruncate;
	table->fallocate = dry_fallocate;
	table->unlinkat = dry_unlinkat;
	table->mkdirat = dry_mkdirat;
	table->mknodat = dry_mknodat;
	table->symlinkat = dry_symlinkat;
	table->linkat = dry_linkat;
	table->renameat = dry_renameat;
	table->fchmod = dry_fchmod;
	table->fchmodat = dry_fchmodat;
	table->fchown = dry_fchown;
	table->fchownat = dry_fchownat;
	table->futimens = dry_futimens;
	table->utimensat = dry_utimensat;
	table->fsetxattr = dry_fsetxattr;
	table->fremovexattr = dry_fremovexattr;
	table->lsetxattr = dry_lsetxattr;
	table->fdatasync = dry_sync;
	table->syncfs = dry_sync;
}

void pfu_dryrun_end(const struct pfu_report *report, const char *done, unsigned long entries)
{
	char number[32];

	snprintf(number, sizeof(number), "%lu", entries);
	pfu_message(report, PFU_WARNING, 0, "dry run: %s %s would be %s; nothing was", number,
		    entries == 1 ? "entry" : "entries", done);
}
