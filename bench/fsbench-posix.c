/*
 * fsbench-posix.c - the back end for what the kernel has mounted: a directory, and the
 * system calls.
 */
#include "fsbench-backend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

struct fsb_mount {
	int root;
};

static int result(int value)
{
	return value < 0 ? -errno : value;
}

static int posix_mount(
	const struct fsb_target *target, bool alone, struct fsb_mount **mount, const char **what)
{
	struct fsb_mount *m;
	int error;

	/* A descriptor table of its own: opening and closing then waits for no other thread. */
	*what = "unshare the descriptor table";
	if (alone && unshare(CLONE_FILES) < 0)
		return -errno;
	*what = "open the root path";
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->root = open(target->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->root < 0) {
		error = errno;
		free(m);
		return -error;
	}
	*mount = m;
	return 0;
}

static int posix_unmount(struct fsb_mount *mount)
{
	int r = result(close(mount->root));

	free(mount);
	return r;
}

/* 0 if that cannot be had, which is no file system's. */
static long fs_type(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 ? (long)fs.f_type : 0;
}

/* Writes to what drops the caches of the whole machine. */
static bool drop_all(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, "3", 1) == 1;
	return close(fd) == 0 && done;
}

static enum fsb_dropped posix_drop(struct fsb_mount *mount)
{
	long type = fs_type(mount->root);

	/* These are the page cache: what is dropped there is lost, so nothing is. */
	if (type == TMPFS_MAGIC || type == RAMFS_MAGIC)
		return FSB_ALL_KEPT;
	/* Only what is on the disk already is dropped. */
	(void)syncfs(mount->root);
	if (!drop_all())
		return FSB_DROP_BY_FILE;
	return type == FUSE_SUPER_MAGIC ? FSB_KERNEL_DROPPED : FSB_ALL_DROPPED;
}

static int posix_open(struct fsb_mount *mount, const char *path)
{
	return result(openat(mount->root, path, O_RDONLY | O_CLOEXEC));
}

static int posix_close(struct fsb_mount *mount, int fd)
{
	(void)mount;
	return result(close(fd));
}

static int posix_drop_file(struct fsb_mount *mount, const char *path)
{
	int fd = posix_open(mount, path), error;

	if (fd < 0)
		return fd;
	error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd); /* nothing was written */
	return -error;
}

static int posix_create(struct fsb_mount *mount, const char *path)
{
	return result(openat(mount->root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

static ssize_t posix_write(struct fsb_mount *mount, int fd, const void *data, size_t size, off_t at)
{
	ssize_t n = pwrite(fd, data, size, at);

	(void)mount;
	return n < 0 ? -errno : n;
}

static ssize_t posix_read(struct fsb_mount *mount, int fd, void *data, size_t size, off_t at)
{
	ssize_t n = pread(fd, data, size, at);

	(void)mount;
	return n < 0 ? -errno : n;
}

static int posix_fsync(struct fsb_mount *mount, int fd)
{
	(void)mount;
	return result(fsync(fd));
}

static int posix_stat(struct fsb_mount *mount, const char *path)
{
	struct stat st;

	return result(fstatat(mount->root, path, &st, AT_SYMLINK_NOFOLLOW));
}

static int posix_unlink(struct fsb_mount *mount, const char *path)
{
	return result(unlinkat(mount->root, path, 0));
}

static int posix_mkdir(struct fsb_mount *mount, const char *path)
{
	return result(mkdirat(mount->root, path, 0777));
}

static int posix_rmdir(struct fsb_mount *mount, const char *path)
{
	return result(unlinkat(mount->root, path, AT_REMOVEDIR));
}

const struct fsb_backend fsb_posix = {
	.name = "posix",
	.mount = posix_mount,
	.unmount = posix_unmount,
	.drop = posix_drop,
	.drop_file = posix_drop_file,
	.create = posix_create,
	.open = posix_open,
	.write = posix_write,
	.read = posix_read,
	.fsync = posix_fsync,
	.close = posix_close,
	.stat = posix_stat,
	.unlink = posix_unlink,
	.mkdir = posix_mkdir,
	.rmdir = posix_rmdir,
};
