/*
 * fstype.c - what kind of file system this is.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <pfu/fstype.h>
#include <sched.h>
#include <stdlib.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#ifndef ZFS_SUPER_MAGIC
#define ZFS_SUPER_MAGIC 0x2fc12fc1
#endif
#ifndef BCACHEFS_SUPER_MAGIC
#define BCACHEFS_SUPER_MAGIC 0xca451a4e
#endif
#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00c36400
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Twenty round trips in flight: what a metadata server of one client is glad to take. */
#define WORKERS_NETWORK 20
/* More gained nothing wherever it was tried; each may need a buffer and a few descriptors. */
#define WORKERS_NETWORK_MOST 128
#define WORKERS_LOCAL_MAX 16

unsigned int pfu_fstype_flags(long f_type)
{
	switch (f_type) {
	case EXT4_SUPER_MAGIC: /* ext2 and ext3 too */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case F2FS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case ZFS_SUPER_MAGIC:
	case BCACHEFS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case ISOFS_SUPER_MAGIC:
		return PFU_FS_HONEST_SIZE;
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case DEVPTS_SUPER_MAGIC:
		return 0;
	case CEPH_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC: /* ceph-fuse, maybe; others say that there is no such attribute */
		return PFU_FS_NETWORK | PFU_FS_TOTALS;
	default: /* NFS, SMB, Lustre, 9p and whatever we do not know */
		return PFU_FS_NETWORK;
	}
}

unsigned int pfu_fstype_of(const struct pfu_fsys *fs, int fd)
{
	long f_type;

	return fs->fstatfs_type(fd, &f_type) == 0 ? pfu_fstype_flags(f_type) : PFU_FS_NETWORK;
}

/* A number that a directory has as an attribute. */
static bool number_of(const struct pfu_fsys *fs, const char *path, const char *attribute, uint64_t *number)
{
	char value[32], *end;
	ssize_t n = fs->lgetxattr(path, attribute, value, sizeof(value) - 1);

	if (n <= 0)
		return false;
	value[n] = '\0';
	*number = strtoull(value, &end, 10);
	return end != value && *end == '\0';
}

bool pfu_fstype_total(const struct pfu_fsys *fs, const char *path, uint64_t *entries, uint64_t *bytes)
{
	int fd = fs->openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	uint64_t files = 0, directories = 0;
	unsigned int flags;
	struct stat st;
	bool ok;

	if (fd < 0)
		return false;
	flags = pfu_fstype_of(fs, fd);
	ok = fs->fstat(fd, &st) == 0;
	(void)fs->close(fd);
	if (!ok)
		return false;
	*entries = 1;
	*bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	if (!S_ISDIR(st.st_mode))
		return !S_ISLNK(st.st_mode); /* who knows whether it is followed */
	/* (rfiles is what is no directory; rsubdirs the directories, the one itself included.) */
	ok = (flags & PFU_FS_TOTALS) && number_of(fs, path, "ceph.dir.rfiles", &files) &&
	     number_of(fs, path, "ceph.dir.rsubdirs", &directories) &&
	     number_of(fs, path, "ceph.dir.rbytes", bytes);
	*entries = files + directories;
	return ok;
}

unsigned int pfu_fstype_workers(unsigned int flags, unsigned int *most)
{
	cpu_set_t set;
	int n;

	if (flags & PFU_FS_NETWORK) {
		*most = WORKERS_NETWORK_MOST;
		return WORKERS_NETWORK;
	}
	n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 2;
	*most = n < 1 ? 1 : n > WORKERS_LOCAL_MAX ? WORKERS_LOCAL_MAX : (unsigned int)n;
	return *most;
}
