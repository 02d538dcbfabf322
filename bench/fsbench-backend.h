/*
 * fsbench-backend.h - the file system that fsbench measures, as the few calls that it
 * makes of it.
 *
 * A back end is one such table: posix is whatever the kernel has mounted, cephfs is
 * CephFS through libcephfs, past the kernel.  A mount is one client of it, and its
 * paths are relative to --root-path.  All calls may be made by any thread, also on one
 * mount at once, save unmount(), and all return a negative errno on failure.
 */
#ifndef FSBENCH_BACKEND_H
#define FSBENCH_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is to be mounted, and as whom.  A NULL or -1 leaves it to the back end. */
struct fsb_target {
	const char *root;
	const char *conf;
	const char *id;
	const char *keyring;
	const char *filesystem;
	const char *client_oc;
	const char *client_oc_size;
	int64_t uid;
	int64_t gid;
	bool counters; /* counters() is going to be called */
};

/* One client; each back end has its own. */
struct fsb_mount;

/* How much of what a client remembers could be dropped. */
enum fsb_dropped {
	FSB_ALL_DROPPED,
	FSB_KERNEL_DROPPED, /* not what a FUSE file system's own process remembers */
	FSB_DROP_BY_FILE,   /* the data of each file, by drop_file(); not names and attributes */
	FSB_ALL_KEPT,       /* there is nothing below that it could be fetched from again */
};

struct fsb_backend {
	const char *name;
	/*
	 * A new client; alone says that it is for the calling thread and ends with it.
	 * On failure *what is the step that failed.
	 */
	int (*mount)(const struct fsb_target *target, bool alone, struct fsb_mount **mount,
		const char **what);
	/* Everything written is on the servers when it returns. */
	int (*unmount)(struct fsb_mount *mount);
	/* NULL where a new mount remembers nothing of the one before. */
	enum fsb_dropped (*drop)(struct fsb_mount *mount);
	int (*drop_file)(struct fsb_mount *mount, const char *path);

	/* A new file, to write; one that is there, to read. */
	int (*create)(struct fsb_mount *mount, const char *path);
	int (*open)(struct fsb_mount *mount, const char *path);
	ssize_t (*write)(struct fsb_mount *mount, int fd, const void *data, size_t size, off_t at);
	ssize_t (*read)(struct fsb_mount *mount, int fd, void *data, size_t size, off_t at);
	int (*fsync)(struct fsb_mount *mount, int fd);
	int (*close)(struct fsb_mount *mount, int fd);
	int (*stat)(struct fsb_mount *mount, const char *path);
	int (*unlink)(struct fsb_mount *mount, const char *path);
	int (*mkdir)(struct fsb_mount *mount, const char *path);
	int (*rmdir)(struct fsb_mount *mount, const char *path);

	/* Sets *json to the client's own counters, malloc'ed.  NULL where it has none. */
	int (*counters)(struct fsb_mount *mount, char **json);
};

extern const struct fsb_backend fsb_posix;
#ifdef HAVE_LIBCEPHFS
extern const struct fsb_backend fsb_cephfs;
#endif

#endif
