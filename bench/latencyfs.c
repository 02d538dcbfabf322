/*
 * latencyfs: a directory, seen through a network that isn't there.
 *
 * A FUSE pass-through of a directory that makes every operation take a set time, as a file server
 * some way off would, counts what is asked of it, and records how many requests were in flight at
 * each moment. It can also misbehave in the ways that file servers do (an errno on the n-th
 * operation of a kind, short copies, directory entries that move while they are listed, errors at
 * close), so that tests can stage them. bench/README.md is its manual.
 *
 * How it works:
 *
 * - An operation is carried out on the mirrored directory as soon as it arrives; only its *reply*
 *   is held back until the delay is over, in a heap ordered by due time. So a request in service
 *   costs a few hundred bytes, not a thread, and 512 of them are as cheap as one.
 * - An inode that the kernel knows is a `struct node`. It is remembered by its file handle
 *   (name_to_handle_at), and descriptors are a cache, so that a million known inodes fit under any
 *   RLIMIT_NOFILE. Where the mirrored file system has no handles (or we aren't root), the
 *   descriptor is kept instead.
 * - Requests for which the kernel waits for no answer (forget, release) are counted apart and never
 *   delayed: they are not round trips.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 312

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fuse_lowlevel.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define unused __attribute__((unused))

enum {
	MAX_SERVICE = 512,		/* requests in service at once: the most, and default */
	REPLIERS = 2,			/* threads that send replies when they are due */
	READER_IDLE_THREADS = 32,	/* idle request readers that are kept */
	DIR_BUFFER = 32 * 1024,
	FD_RESERVE = 1024,		/* descriptors that the cache of nodes leaves alone */
	MAX_FAULTS = 32,
	MAX_LATE_NS = 250 * 1000,	/* who overslept by more was preempted: no habit */
	BIG_REPLY = 64 * 1024,		/* bytes of data that take a while to hand over */
};

/* What can be asked of us. From K_FIRST_ASYNC on, nobody waits for the answer. */
enum kind {
	K_LOOKUP, K_GETATTR, K_SETATTR, K_READLINK, K_MKNOD, K_MKDIR, K_UNLINK, K_RMDIR, K_SYMLINK,
	K_RENAME, K_LINK, K_OPEN, K_CREATE, K_READ, K_WRITE, K_COPY_FILE_RANGE, K_FLUSH, K_FSYNC,
	K_FALLOCATE, K_LSEEK, K_FLOCK, K_OPENDIR, K_READDIR, K_READDIRPLUS, K_FSYNCDIR, K_STATFS,
	K_GETXATTR, K_SETXATTR, K_LISTXATTR, K_REMOVEXATTR,
	K_RELEASE, K_RELEASEDIR, K_FORGET,
	KINDS, K_FIRST_ASYNC = K_RELEASE,
};

static const char *const kind_names[KINDS] = {
	"lookup", "getattr", "setattr", "readlink", "mknod", "mkdir", "unlink", "rmdir", "symlink",
	"rename", "link", "open", "create", "read", "write", "copy_file_range", "flush", "fsync",
	"fallocate", "lseek", "flock", "opendir", "readdir", "readdirplus", "fsyncdir", "statfs",
	"getxattr", "setxattr", "listxattr", "removexattr",
	"release", "releasedir", "forget",
};

/* --fault=OP:ERRNO:N[+][!][:PATTERN] */
struct fault {
	enum kind kind;
	int error;
	uint64_t nth;
	bool and_on;		/* + : also every one after the n-th */
	bool done_first;	/* ! : do the work, then say that it failed (a lost reply) */
	char *pattern;		/* only names that match are counted and fail; NULL: all */
	uint64_t seen;		/* atomic */
};

enum plus_mode { PLUS_OFF, PLUS_AUTO, PLUS_ALWAYS };

static struct {
	char *source;
	char *mountpoint;
	char *report;
	char *pidfile;
	bool foreground;
	bool clone_fd;
	bool xattr;
	bool acl;
	bool noflush_readers;
	bool no_permissions;
	bool serial_dirops;
	enum plus_mode plus;
	double entry_timeout;
	double attr_timeout;
	double negative_timeout;
	uint64_t meta_ns;
	uint64_t data_ns_per_mib;
	int64_t kind_ns[KINDS];		/* --op-us; -1: meta_ns */
	unsigned jitter_percent;
	uint64_t seed;
	unsigned max_service;
	uint64_t short_copy;
	bool skip_after_unlink;
	bool dtype_unknown;
	int close_error;
	char *close_error_pattern;
	int readdir_error;		/* 0: none */
	uint64_t readdir_error_after;
	char *readdir_error_pattern;
	struct fault faults[MAX_FAULTS];
	unsigned fault_count;
	bool names_wanted;		/* some pattern needs the names of open files */
} conf = {
	.entry_timeout = 1.0,
	.attr_timeout = 1.0,
	.max_service = MAX_SERVICE,
	.seed = 1,
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *need(void *p)
{
	if (!p)
		errx(1, "out of memory");
	return p;
}

/* ---- Nodes: the inodes that the kernel knows of ---------------------------------------------- */

struct node {
	struct node *next;		/* in its hash chain */
	struct node *lru_prev, *lru_next;
	dev_t dev;
	ino_t ino;
	uint64_t nlookup;		/* references that the kernel holds */
	unsigned users;			/* operations that are using fd */
	int fd;				/* O_PATH, or -1: to be opened by handle */
	char *name;			/* last name it was looked up by, if names_wanted */
	int handle_type;
	unsigned handle_bytes;		/* 0: no handle, fd is kept for good */
	unsigned char handle[];
};

static struct {
	pthread_mutex_t lock;
	struct node **buckets;
	size_t bucket_count;		/* a power of two */
	size_t node_count;
	struct node lru;		/* idle nodes whose fd may be closed; oldest first */
	size_t open_fds;
	size_t max_fds;
	bool handles;			/* the mirrored file system has handles that we may open */
	int source_fd;
	dev_t source_dev;
	struct node *root;
} nodes = { .lock = PTHREAD_MUTEX_INITIALIZER };

union handle {
	struct file_handle h;
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static size_t node_hash(dev_t dev, ino_t ino)
{
	uint64_t x = ((uint64_t)ino ^ ((uint64_t)dev << 40)) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(x >> 20);
}

static struct node *to_node(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? nodes.root : (struct node *)(uintptr_t)ino;
}

static void lru_remove(struct node *n)
{
	n->lru_prev->lru_next = n->lru_next;
	n->lru_next->lru_prev = n->lru_prev;
	n->lru_prev = n->lru_next = NULL;
}

static void lru_append(struct node *n)
{
	n->lru_next = &nodes.lru;
	n->lru_prev = nodes.lru.lru_prev;
	n->lru_prev->lru_next = n;
	nodes.lru.lru_prev = n;
}

static void node_free(struct node *n)
{
	if (n->fd >= 0) {
		close(n->fd);
		nodes.open_fds--;
	}
	free(n->name);
	free(n);
}

static void hash_remove(struct node *n)
{
	struct node **p = &nodes.buckets[node_hash(n->dev, n->ino) & (nodes.bucket_count - 1)];

	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	nodes.node_count--;
}

static void hash_grow(void)
{
	size_t count = nodes.bucket_count ? nodes.bucket_count * 2 : 4096;
	struct node **buckets = need(calloc(count, sizeof(*buckets)));

	for (size_t i = 0; i < nodes.bucket_count; i++) {
		struct node *n, *next;

		for (n = nodes.buckets[i]; n; n = next) {
			size_t b = node_hash(n->dev, n->ino) & (count - 1);

			next = n->next;
			n->next = buckets[b];
			buckets[b] = n;
		}
	}
	free(nodes.buckets);
	nodes.buckets = buckets;
	nodes.bucket_count = count;
}

static void hash_insert(struct node *n)
{
	size_t b;

	if (nodes.node_count >= nodes.bucket_count)
		hash_grow();
	b = node_hash(n->dev, n->ino) & (nodes.bucket_count - 1);
	n->next = nodes.buckets[b];
	nodes.buckets[b] = n;
	nodes.node_count++;
}

/* Nobody uses n any more: it goes, or its descriptor becomes one that may be closed. Locked. */
static void node_idle(struct node *n)
{
	if (n->nlookup == 0) {
		node_free(n);
		return;
	}
	if (n->fd >= 0 && n->handle_bytes)
		lru_append(n);
	while (nodes.open_fds > nodes.max_fds && nodes.lru.lru_next != &nodes.lru) {
		struct node *old = nodes.lru.lru_next;

		lru_remove(old);
		close(old->fd);
		old->fd = -1;
		nodes.open_fds--;
	}
}

/* A descriptor (O_PATH) of n, good until node_put(); or -errno, and then nothing is to be put. */
static int node_get(struct node *n)
{
	union handle u;
	int fd, error;

	pthread_mutex_lock(&nodes.lock);
	if (n->lru_next)
		lru_remove(n);
	n->users++;
	fd = n->fd;
	pthread_mutex_unlock(&nodes.lock);
	if (fd >= 0)
		return fd;

	u.h.handle_type = n->handle_type;
	u.h.handle_bytes = n->handle_bytes;
	memcpy(u.h.f_handle, n->handle, n->handle_bytes);
	fd = open_by_handle_at(nodes.source_fd, &u.h, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	error = errno;

	pthread_mutex_lock(&nodes.lock);
	if (fd < 0) {
		if (n->fd < 0) {
			if (--n->users == 0)
				node_idle(n);
			pthread_mutex_unlock(&nodes.lock);
			return -error;
		}
		fd = n->fd;
	} else if (n->fd >= 0) {
		close(fd);
		fd = n->fd;
	} else {
		n->fd = fd;
		nodes.open_fds++;
	}
	pthread_mutex_unlock(&nodes.lock);
	return fd;
}

static void node_put(struct node *n)
{
	pthread_mutex_lock(&nodes.lock);
	if (--n->users == 0)
		node_idle(n);
	pthread_mutex_unlock(&nodes.lock);
}

static void node_forget(struct node *n, uint64_t count)
{
	if (n == nodes.root)
		return;
	pthread_mutex_lock(&nodes.lock);
	n->nlookup -= count;
	if (n->nlookup == 0) {
		hash_remove(n);
		if (n->lru_next)
			lru_remove(n);
		if (n->users == 0)
			node_free(n);
	}
	pthread_mutex_unlock(&nodes.lock);
}

static bool node_is(const struct node *n, const struct stat *st, const struct file_handle *h)
{
	/* The handle holds the generation: an inode number that was used anew is another node. */
	return n->ino == st->st_ino && n->dev == st->st_dev && n->handle_bytes == h->handle_bytes &&
	       (h->handle_bytes == 0 || (n->handle_type == h->handle_type &&
					 memcmp(n->handle, h->f_handle, h->handle_bytes) == 0));
}

/*
 * The node of the file that fd (O_PATH, ours from now on) refers to, with one reference more for
 * the kernel, described in *e. Returns an errno.
 */
static int node_intern(int fd, const char *name, struct fuse_entry_param *e)
{
	union handle u;
	struct node *n;
	int mount_id;

	memset(e, 0, sizeof(*e));
	e->entry_timeout = conf.entry_timeout;
	e->attr_timeout = conf.attr_timeout;
	if (fstatat(fd, "", &e->attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0) {
		int error = errno;

		close(fd);
		return error;
	}
	u.h.handle_bytes = MAX_HANDLE_SZ;
	if (!nodes.handles || e->attr.st_dev != nodes.source_dev ||
	    name_to_handle_at(fd, "", &u.h, &mount_id, AT_EMPTY_PATH) < 0)
		u.h.handle_bytes = 0;

	pthread_mutex_lock(&nodes.lock);
	n = nodes.bucket_count == 0 ? NULL :
	    nodes.buckets[node_hash(e->attr.st_dev, e->attr.st_ino) & (nodes.bucket_count - 1)];
	while (n && !node_is(n, &e->attr, &u.h))
		n = n->next;
	if (n && n->fd >= 0) {
		close(fd);
	} else if (n) {
		n->fd = fd;
		nodes.open_fds++;
	} else {
		n = need(calloc(1, sizeof(*n) + u.h.handle_bytes));
		n->dev = e->attr.st_dev;
		n->ino = e->attr.st_ino;
		n->fd = fd;
		n->handle_bytes = u.h.handle_bytes;
		n->handle_type = u.h.handle_type;
		memcpy(n->handle, u.h.f_handle, u.h.handle_bytes);
		nodes.open_fds++;
		hash_insert(n);
	}
	if (conf.names_wanted && name) {
		free(n->name);
		n->name = need(strdup(name));
	}
	n->nlookup++;
	if (n->lru_next)
		lru_remove(n);
	if (n->users == 0)
		node_idle(n);
	pthread_mutex_unlock(&nodes.lock);
	e->ino = (fuse_ino_t)(uintptr_t)n;
	return 0;
}

/* Does the file system that fd is on give handles, and may we open them? */
static bool handles_work(int fd)
{
	union handle u;
	int mount_id, opened;

	u.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &u.h, &mount_id, AT_EMPTY_PATH) < 0)
		return false;
	opened = open_by_handle_at(fd, &u.h, O_PATH | O_CLOEXEC);
	if (opened < 0)
		return false;
	close(opened);
	return true;
}

static void nodes_init(void)
{
	struct rlimit rl;
	struct fuse_entry_param e;
	int fd, error;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		err(1, "getrlimit");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		err(1, "setrlimit");
	nodes.max_fds = rl.rlim_cur > 2 * FD_RESERVE ? (rl.rlim_cur - FD_RESERVE) / 2 : 64;
	nodes.lru.lru_next = nodes.lru.lru_prev = &nodes.lru;

	nodes.source_fd = open(conf.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (nodes.source_fd < 0)
		err(1, "%s", conf.source);
	fd = open(conf.source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", conf.source);
	error = node_intern(fd, "/", &e);	/* no handle: its descriptor stays */
	if (error)
		errx(1, "%s: %s", conf.source, strerror(error));
	nodes.root = (struct node *)(uintptr_t)e.ino;
	nodes.source_dev = nodes.root->dev;
	nodes.handles = handles_work(nodes.source_fd);
}

/* The name through which the kernel lets us open, chmod or setxattr what an O_PATH fd refers to. */
struct fd_path {
	char s[32];
};

static struct fd_path fd_path(int fd)
{
	struct fd_path p;

	snprintf(p.s, sizeof(p.s), "/proc/self/fd/%d", fd);
	return p;
}

/* ---- Operations: counted, delayed, answered -------------------------------------------------- */

enum reply {
	R_ERR, R_ENTRY, R_ATTR, R_CREATE, R_OPEN, R_BUF, R_READLINK, R_WRITE, R_STATFS, R_XATTR,
	R_LSEEK,
};

struct op {
	fuse_req_t req;
	enum kind kind;
	enum reply reply;
	int error;
	int lost_error;			/* what to say once the work is done, see struct fault */
	uint64_t start, due;
	uint64_t bytes;			/* of data that were moved */
	struct fuse_file_info fi;
	char *buf;
	union {
		struct fuse_entry_param entry;
		struct stat attr;
		struct statvfs statvfs;
		size_t count;
		off_t off;
	} u;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t room;		/* in service fell below the most allowed */
	pthread_cond_t sooner;		/* to the replier who waits for the clock */
	pthread_cond_t backlog;		/* to the repliers who don't */
	bool timed_waiter;
	bool stop;
	unsigned in_service;
	unsigned max_seen;
	uint64_t changed_ns;		/* when in_service changed last */
	uint64_t first_ns, last_ns;	/* the first operation began, the last ended; 0: none */
	uint64_t level_ns[MAX_SERVICE + 1];	/* time spent with so many in service */
	uint64_t counts[KINDS];
	uint64_t answered;
	uint64_t errors;
	uint64_t bytes_read, bytes_written, bytes_copied;
	struct op *heap[MAX_SERVICE];	/* replies that wait, the one due first on top */
	unsigned heap_len;
} service = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.room = PTHREAD_COND_INITIALIZER,
	.backlog = PTHREAD_COND_INITIALIZER,
};

/* Book the time since the last change, then change. Locked. */
static void service_change(uint64_t now, int by)
{
	if (service.first_ns == 0)
		service.first_ns = now;
	else if (now > service.changed_ns)
		service.level_ns[service.in_service] += now - service.changed_ns;
	if (now > service.changed_ns)
		service.changed_ns = now;
	service.in_service = (unsigned)((int)service.in_service + by);
	if (service.in_service > service.max_seen)
		service.max_seen = service.in_service;
}

static void heap_push(struct op *op)
{
	unsigned i = service.heap_len++;

	while (i > 0 && service.heap[(i - 1) / 2]->due > op->due) {
		service.heap[i] = service.heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	service.heap[i] = op;
}

static struct op *heap_pop(void)
{
	struct op *top = service.heap[0];
	struct op *last = service.heap[--service.heap_len];
	unsigned i = 0;

	for (;;) {
		unsigned c = 2 * i + 1;

		if (c >= service.heap_len)
			break;
		if (c + 1 < service.heap_len && service.heap[c + 1]->due < service.heap[c]->due)
			c++;
		if (service.heap[c]->due >= last->due)
			break;
		service.heap[i] = service.heap[c];
		i = c;
	}
	service.heap[i] = last;
	return top;
}

static bool pattern_matches(const char *pattern, const char *name)
{
	return !pattern || (name && fnmatch(pattern, name, 0) == 0);
}

/* What is to go wrong with this operation, if anything. */
static void apply_faults(struct op *op, const char *name)
{
	for (unsigned i = 0; i < conf.fault_count; i++) {
		struct fault *f = &conf.faults[i];
		uint64_t n;

		if (f->kind != op->kind || !pattern_matches(f->pattern, name))
			continue;
		n = __atomic_add_fetch(&f->seen, 1, __ATOMIC_RELAXED);
		if (n != f->nth && !(f->and_on && n > f->nth))
			continue;
		if (f->done_first)
			op->lost_error = f->error;
		else
			op->error = f->error;
	}
}

/* An operation arrived; `name` is the name it is about, for the patterns of faults. */
static struct op *op_begin(fuse_req_t req, enum kind kind, const char *name)
{
	struct op *op = need(calloc(1, sizeof(*op)));

	op->req = req;
	op->kind = kind;
	pthread_mutex_lock(&service.lock);
	while (service.in_service >= conf.max_service)
		pthread_cond_wait(&service.room, &service.lock);
	op->start = now_ns();
	service_change(op->start, 1);
	service.counts[kind]++;
	pthread_mutex_unlock(&service.lock);
	apply_faults(op, name);
	return op;
}

/* A request whose answer nobody waits for. */
static void count_async(enum kind kind, uint64_t n)
{
	pthread_mutex_lock(&service.lock);
	service.counts[kind] += n;
	pthread_mutex_unlock(&service.lock);
}

static int send_reply(struct op *op)
{
	if (op->error)
		return fuse_reply_err(op->req, op->error);
	switch (op->reply) {
	case R_ERR:
		return fuse_reply_err(op->req, 0);
	case R_ENTRY:
		return fuse_reply_entry(op->req, &op->u.entry);
	case R_ATTR:
		return fuse_reply_attr(op->req, &op->u.attr, conf.attr_timeout);
	case R_CREATE:
		return fuse_reply_create(op->req, &op->u.entry, &op->fi);
	case R_OPEN:
		return fuse_reply_open(op->req, &op->fi);
	case R_BUF:
		return fuse_reply_buf(op->req, op->buf, op->u.count);
	case R_READLINK:
		return fuse_reply_readlink(op->req, op->buf);
	case R_WRITE:
		return fuse_reply_write(op->req, op->u.count);
	case R_STATFS:
		return fuse_reply_statfs(op->req, &op->u.statvfs);
	case R_XATTR:
		return fuse_reply_xattr(op->req, op->u.count);
	case R_LSEEK:
		return fuse_reply_lseek(op->req, op->u.off);
	}
	return fuse_reply_err(op->req, ENOSYS);
}

static void dir_close(uint64_t fh);

/* The reply didn't reach anyone who will give back what it handed out: take it back. */
static void undo_reply(const struct op *op)
{
	if ((op->reply == R_ENTRY || op->reply == R_CREATE) && op->u.entry.ino)
		node_forget(to_node(op->u.entry.ino), 1);
	if (op->reply == R_CREATE || (op->reply == R_OPEN && op->kind == K_OPEN))
		close((int)op->fi.fh);
	else if (op->reply == R_OPEN)
		dir_close(op->fi.fh);
}

static void op_answer(struct op *op)
{
	uint64_t now = now_ns();

	pthread_mutex_lock(&service.lock);
	service_change(now, -1);
	if (now > service.last_ns)
		service.last_ns = now;
	service.answered++;
	if (op->error)
		service.errors++;
	else if (op->kind == K_READ)
		service.bytes_read += op->bytes;
	else if (op->kind == K_WRITE)
		service.bytes_written += op->bytes;
	else if (op->kind == K_COPY_FILE_RANGE)
		service.bytes_copied += op->bytes;
	pthread_cond_signal(&service.room);
	pthread_mutex_unlock(&service.lock);

	if (send_reply(op) == -ENOENT && !op->error)
		undo_reply(op);
	free(op->buf);
	free(op);
}

/* A number that is as good as random and depends on the seed and the position alone. */
static uint64_t next_random(void)
{
	static uint64_t counter;
	uint64_t n = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
	uint64_t x = conf.seed * UINT64_C(0x632be59bd9b4e019) + n * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t op_delay(const struct op *op)
{
	uint64_t ns = conf.kind_ns[op->kind] >= 0 ? (uint64_t)conf.kind_ns[op->kind] : conf.meta_ns;

	ns += (uint64_t)((double)op->bytes / (1024 * 1024) * (double)conf.data_ns_per_mib);
	if (conf.jitter_percent) {
		double unit = (double)(next_random() >> 11) / (double)(UINT64_C(1) << 53);

		ns = (uint64_t)((double)ns * (1 + (2 * unit - 1) * conf.jitter_percent / 100));
	}
	return ns;
}

/* The work of an operation is done: answer, when its time has come. */
static void op_end(struct op *op, enum reply reply)
{
	uint64_t delay = op_delay(op);

	op->reply = reply;
	if (op->lost_error && !op->error) {
		undo_reply(op);
		op->error = op->lost_error;
	}
	if (delay == 0) {
		op_answer(op);
		return;
	}
	op->due = op->start + delay;
	pthread_mutex_lock(&service.lock);
	heap_push(op);
	if (service.heap[0] == op)
		pthread_cond_signal(service.timed_waiter ? &service.sooner : &service.backlog);
	pthread_mutex_unlock(&service.lock);
}

/*
 * Sleep until shortly before `due`, with the lock given back meanwhile, or until something that is
 * due sooner arrives. A virtual machine wakes a sleeper 100 us late or more when it was idle, a
 * fifth of the delays that matter here, and hardly late when it was busy. So how late it was lately
 * is learnt, and the rest of the wait is spent awake. A wait spent awake teaches nothing and costs
 * a processor, so each one makes the next less likely.
 */
static void wait_for_clock(uint64_t due)
{
	static double late_ns;
	uint64_t now = now_ns(), wake = due - (uint64_t)late_ns;

	service.timed_waiter = true;
	if (wake > now) {
		struct timespec ts = { (time_t)(wake / 1000000000u), (long)(wake % 1000000000u) };

		if (pthread_cond_timedwait(&service.sooner, &service.lock, &ts) == ETIMEDOUT) {
			uint64_t late = now_ns() - wake;

			if (late > MAX_LATE_NS)
				late = MAX_LATE_NS;
			late_ns += ((double)late - late_ns) / 16;
		}
	} else {
		late_ns -= late_ns / 64;
		pthread_mutex_unlock(&service.lock);
		while (now_ns() < due)
			sched_yield();
		pthread_mutex_lock(&service.lock);
	}
	service.timed_waiter = false;
}

/*
 * One replier at a time waits for the clock. It calls another only if there is more to do at once:
 * waking a thread for every reply would cost more than the replies.
 */
static void *replier(void *arg unused)
{
	const struct sched_param first = { .sched_priority = 1 };

	/* A server doesn't wait for its clients' processors. Where this is refused, delays vary. */
	pthread_setschedparam(pthread_self(), SCHED_RR, &first);
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	pthread_mutex_lock(&service.lock);
	while (!service.stop) {
		struct op *op;

		if (service.heap_len == 0 || service.timed_waiter) {
			pthread_cond_wait(&service.backlog, &service.lock);
			continue;
		}
		if (service.heap[0]->due > now_ns()) {
			wait_for_clock(service.heap[0]->due);
			continue;
		}
		op = heap_pop();
		if (service.heap_len > 0 &&
		    (op->bytes >= BIG_REPLY || service.heap[0]->due <= now_ns()))
			pthread_cond_signal(&service.backlog);
		pthread_mutex_unlock(&service.lock);
		op_answer(op);
		pthread_mutex_lock(&service.lock);
	}
	pthread_mutex_unlock(&service.lock);
	return NULL;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void report_in_flight(FILE *f, double seconds)
{
	double area = 0, busy = 0;

	for (unsigned i = 1; i <= MAX_SERVICE; i++) {
		area += (double)service.level_ns[i] / 1e9 * i;
		busy += (double)service.level_ns[i] / 1e9;
	}
	fprintf(f, "seconds %.6f\n", seconds);
	fprintf(f, "seconds_busy %.6f\n", busy);
	fprintf(f, "service_us_mean %.1f\n",
		service.answered ? area * 1e6 / (double)service.answered : 0.0);
	fprintf(f, "in_flight_mean %.3f\n", seconds > 0 ? area / seconds : 0.0);
	fprintf(f, "in_flight_max %u\n", service.max_seen);
	for (unsigned i = 0; i <= service.max_seen; i++)
		fprintf(f, "in_flight_seconds.%u %.6f\n", i, (double)service.level_ns[i] / 1e9);
}

static void report_write(FILE *f)
{
	uint64_t total = 0, end;

	pthread_mutex_lock(&service.lock);
	if (service.in_service > 0)
		service_change(now_ns(), 0);
	end = service.in_service > 0 ? service.changed_ns : service.last_ns;
	for (int k = 0; k < K_FIRST_ASYNC; k++)
		total += service.counts[k];
	fprintf(f, "latencyfs 1\n");
	fprintf(f, "delay_meta_us %" PRIu64 "\n", conf.meta_ns / 1000);
	fprintf(f, "delay_data_us_per_mib %" PRIu64 "\n", conf.data_ns_per_mib / 1000);
	fprintf(f, "ops_total %" PRIu64 "\n", total);
	fprintf(f, "errors %" PRIu64 "\n", service.errors);
	for (int k = 0; k < KINDS; k++)
		fprintf(f, "%s.%s %" PRIu64 "\n", k < K_FIRST_ASYNC ? "ops" : "async",
			kind_names[k], service.counts[k]);
	fprintf(f, "bytes_read %" PRIu64 "\n", service.bytes_read);
	fprintf(f, "bytes_written %" PRIu64 "\n", service.bytes_written);
	fprintf(f, "bytes_copied %" PRIu64 "\n", service.bytes_copied);
	report_in_flight(f, end > service.first_ns ? (double)(end - service.first_ns) / 1e9 : 0);
	pthread_mutex_unlock(&service.lock);
}

/* Written aside and renamed, so that whoever waits for the file finds all of it. */
static void report(void)
{
	char *aside;
	FILE *f;

	if (!conf.report)
		return;
	if (asprintf(&aside, "%s.tmp", conf.report) < 0)
		errx(1, "out of memory");
	f = fopen(aside, "w");
	if (!f) {
		warn("%s", aside);
	} else {
		report_write(f);
		if (fclose(f) != 0 || rename(aside, conf.report) < 0)
			warn("%s", conf.report);
	}
	free(aside);
}

static bool session_over;

static void counters_reset(void)
{
	pthread_mutex_lock(&service.lock);
	memset(service.level_ns, 0, sizeof(service.level_ns));
	memset(service.counts, 0, sizeof(service.counts));
	service.answered = 0;
	service.errors = service.bytes_read = service.bytes_written = service.bytes_copied = 0;
	service.max_seen = service.in_service;
	service.last_ns = 0;
	service.first_ns = 0;
	service.changed_ns = now_ns();
	if (service.in_service > 0)
		service.first_ns = service.changed_ns;
	pthread_mutex_unlock(&service.lock);
}

/*
 * SIGUSR1: write the report. SIGUSR2: begin counting anew, then write it, as a receipt. Any, once
 * the session is over: end.
 */
static void *signal_reader(void *arg)
{
	const sigset_t *set = arg;
	int sig;

	while (sigwait(set, &sig) == 0 && !__atomic_load_n(&session_over, __ATOMIC_ACQUIRE)) {
		if (sig == SIGUSR2)
			counters_reset();
		report();
	}
	return NULL;
}

/* ---- Handlers: names and attributes ---------------------------------------------------------- */

static const char *node_name(fuse_ino_t ino)
{
	return conf.names_wanted ? to_node(ino)->name : NULL;
}

static int look_up(fuse_ino_t parent, const char *name, struct fuse_entry_param *e)
{
	struct node *p = to_node(parent);
	int dirfd = node_get(p);
	int fd, error;

	if (dirfd < 0)
		return -dirfd;
	fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	node_put(p);
	return fd < 0 ? error : node_intern(fd, name, e);
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct op *op = op_begin(req, K_LOOKUP, name);

	if (!op->error)
		op->error = look_up(parent, name, &op->u.entry);
	if (op->error == ENOENT && conf.negative_timeout > 0) {
		memset(&op->u.entry, 0, sizeof(op->u.entry));
		op->u.entry.entry_timeout = conf.negative_timeout;
		op->error = 0;
	}
	op_end(op, R_ENTRY);
}

static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	count_async(K_FORGET, 1);
	node_forget(to_node(ino), nlookup);
	fuse_reply_none(req);
}

static void do_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	count_async(K_FORGET, count);
	for (size_t i = 0; i < count; i++)
		node_forget(to_node(forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}

static int stat_node(fuse_ino_t ino, struct stat *st)
{
	struct node *n = to_node(ino);
	int fd = node_get(n);
	int error = 0;

	if (fd < 0)
		return -fd;
	if (fstatat(fd, "", st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		error = errno;
	node_put(n);
	return error;
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi unused)
{
	struct op *op = op_begin(req, K_GETATTR, node_name(ino));

	if (!op->error)
		op->error = stat_node(ino, &op->u.attr);
	op_end(op, R_ATTR);
}

static struct timespec wanted_time(bool set, bool set_now, struct timespec value)
{
	if (set_now)
		return (struct timespec){ 0, UTIME_NOW };
	return set ? value : (struct timespec){ 0, UTIME_OMIT };
}

/* Owner first: chown takes away set-user-ID bits that the mode may ask for. */
static int set_attributes(int fd, const struct stat *attr, int to_set)
{
	struct fd_path path = fd_path(fd);

	if (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
		uid_t uid = to_set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1;
		gid_t gid = to_set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1;

		if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
			return errno;
	}
	if ((to_set & FUSE_SET_ATTR_MODE) && chmod(path.s, attr->st_mode & 07777) < 0)
		return errno;
	if ((to_set & FUSE_SET_ATTR_SIZE) && truncate(path.s, attr->st_size) < 0)
		return errno;
	if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
		      FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)) {
		struct timespec ts[2] = {
			wanted_time(to_set & FUSE_SET_ATTR_ATIME, to_set & FUSE_SET_ATTR_ATIME_NOW,
				    attr->st_atim),
			wanted_time(to_set & FUSE_SET_ATTR_MTIME, to_set & FUSE_SET_ATTR_MTIME_NOW,
				    attr->st_mtim),
		};

		if (utimensat(fd, "", ts, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
			return errno;
	}
	return 0;
}

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	struct node *n = to_node(ino);
	struct op *op = op_begin(req, K_SETATTR, node_name(ino));
	int fd;

	if (op->error)
		goto end;
	fd = node_get(n);
	if (fd < 0) {
		op->error = -fd;
		goto end;
	}
	if (fi && (to_set & FUSE_SET_ATTR_SIZE)) {
		/* ftruncate: allowed by the open, whatever the mode says by now. */
		if (ftruncate((int)fi->fh, attr->st_size) < 0)
			op->error = errno;
		to_set &= ~FUSE_SET_ATTR_SIZE;
	}
	if (!op->error)
		op->error = set_attributes(fd, attr, to_set);
	if (!op->error && fstatat(fd, "", &op->u.attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		op->error = errno;
	node_put(n);
end:
	op_end(op, R_ATTR);
}

static void do_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct node *n = to_node(ino);
	struct op *op = op_begin(req, K_READLINK, node_name(ino));
	int fd;
	ssize_t len;

	if (op->error)
		goto end;
	fd = node_get(n);
	if (fd < 0) {
		op->error = -fd;
		goto end;
	}
	op->buf = need(malloc(PATH_MAX + 1));
	len = readlinkat(fd, "", op->buf, PATH_MAX);
	if (len < 0)
		op->error = errno;
	else
		op->buf[len] = '\0';
	node_put(n);
end:
	op_end(op, R_READLINK);
}

/* ---- Handlers: making and removing names ----------------------------------------------------- */

/*
 * With --acl the caller's umask counts only where there is no default ACL, and the file system
 * below decides that: so it must be this thread's umask.
 */
static void take_umask(fuse_req_t req)
{
	static __thread bool own_umask;

	if (!conf.acl)
		return;
	if (!own_umask) {
		if (unshare(CLONE_FS) < 0)
			err(1, "unshare");
		own_umask = true;
	}
	umask(fuse_req_ctx(req)->umask);
}

/* Something that we made as ourselves belongs to the caller; the group maybe to the directory. */
static int give_away(fuse_req_t req, int dirfd, int fd)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct stat st, dir;
	gid_t gid = ctx->gid;

	if (ctx->uid == geteuid() && ctx->gid == getegid())
		return 0;
	if (fstatat(fd, "", &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(dirfd, "", &dir, AT_EMPTY_PATH) < 0)
		return errno;
	if (dir.st_mode & S_ISGID)
		gid = dir.st_gid;
	if (fchownat(fd, "", ctx->uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		return errno;
	if (S_ISREG(st.st_mode) && (st.st_mode & (S_ISUID | S_ISGID)) &&
	    chmod(fd_path(fd).s, st.st_mode & 07777) < 0)
		return errno;
	return 0;
}

/* The entry of a name that was just made in dirfd. */
static int new_entry(fuse_req_t req, int dirfd, const char *name, struct fuse_entry_param *e)
{
	int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int error;

	if (fd < 0)
		return errno;
	error = give_away(req, dirfd, fd);
	if (error) {
		close(fd);
		return error;
	}
	return node_intern(fd, name, e);
}

/* mknod, mkdir and symlink, which differ in one call. */
static void make_node(fuse_req_t req, enum kind kind, fuse_ino_t parent, const char *name,
		      mode_t mode, dev_t rdev, const char *target)
{
	struct node *p = to_node(parent);
	struct op *op = op_begin(req, kind, name);
	int dirfd, r;

	if (op->error)
		goto end;
	dirfd = node_get(p);
	if (dirfd < 0) {
		op->error = -dirfd;
		goto end;
	}
	take_umask(req);
	if (kind == K_MKDIR)
		r = mkdirat(dirfd, name, mode);
	else if (kind == K_SYMLINK)
		r = symlinkat(target, dirfd, name);
	else
		r = mknodat(dirfd, name, mode, rdev);
	op->error = r < 0 ? errno : new_entry(req, dirfd, name, &op->u.entry);
	node_put(p);
end:
	op_end(op, R_ENTRY);
}

static void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	make_node(req, K_MKNOD, parent, name, mode, rdev, NULL);
}

static void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	make_node(req, K_MKDIR, parent, name, mode, 0, NULL);
}

static void do_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	make_node(req, K_SYMLINK, parent, name, 0, 0, target);
}

static void remove_name(fuse_req_t req, enum kind kind, fuse_ino_t parent, const char *name,
			int flags)
{
	struct node *p = to_node(parent);
	struct op *op = op_begin(req, kind, name);
	int dirfd;

	if (op->error)
		goto end;
	dirfd = node_get(p);
	if (dirfd < 0) {
		op->error = -dirfd;
		goto end;
	}
	if (unlinkat(dirfd, name, flags) < 0)
		op->error = errno;
	node_put(p);
end:
	op_end(op, R_ERR);
}

static void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, K_UNLINK, parent, name, 0);
}

static void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, K_RMDIR, parent, name, AT_REMOVEDIR);
}

static void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
		      const char *newname, unsigned flags)
{
	struct op *op = op_begin(req, K_RENAME, name);
	int from, to;

	if (op->error)
		goto end;
	from = node_get(to_node(parent));
	if (from < 0) {
		op->error = -from;
		goto end;
	}
	to = node_get(to_node(newparent));
	if (to < 0) {
		op->error = -to;
	} else {
		if (renameat2(from, name, to, newname, flags) < 0)
			op->error = errno;
		node_put(to_node(newparent));
	}
	node_put(to_node(parent));
end:
	op_end(op, R_ERR);
}

static int link_node(fuse_ino_t ino, fuse_ino_t newparent, const char *newname,
		     struct fuse_entry_param *e)
{
	struct node *n = to_node(ino), *p = to_node(newparent);
	int fd, dirfd, newfd, error = 0;

	fd = node_get(n);
	if (fd < 0)
		return -fd;
	dirfd = node_get(p);
	if (dirfd < 0) {
		node_put(n);
		return -dirfd;
	}
	if (linkat(AT_FDCWD, fd_path(fd).s, dirfd, newname, AT_SYMLINK_FOLLOW) < 0) {
		error = errno;
	} else {
		newfd = openat(dirfd, newname, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		error = newfd < 0 ? errno : node_intern(newfd, newname, e);
	}
	node_put(p);
	node_put(n);
	return error;
}

static void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	struct op *op = op_begin(req, K_LINK, newname);

	if (!op->error)
		op->error = link_node(ino, newparent, newname, &op->u.entry);
	op_end(op, R_ENTRY);
}

/* ---- Handlers: files ------------------------------------------------------------------------- */

/*
 * Flags that only make sense in the caller's process: the kernel already did what O_APPEND and
 * O_NOFOLLOW ask, and O_DIRECT would ask alignment of our buffers.
 */
static int backing_flags(int flags)
{
	return (flags & ~(O_APPEND | O_DIRECT | O_NOFOLLOW)) | O_CLOEXEC;
}

static void open_reply(struct op *op, const struct fuse_file_info *fi, int fd)
{
	op->fi = *fi;
	op->fi.fh = (uint64_t)fd;
	op->fi.noflush = conf.noflush_readers && (fi->flags & O_ACCMODE) == O_RDONLY;
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = to_node(ino);
	struct op *op = op_begin(req, K_OPEN, node_name(ino));
	int pathfd, fd;

	if (op->error)
		goto end;
	pathfd = node_get(n);
	if (pathfd < 0) {
		op->error = -pathfd;
		goto end;
	}
	fd = open(fd_path(pathfd).s, backing_flags(fi->flags));
	if (fd < 0)
		op->error = errno;
	else
		open_reply(op, fi, fd);
	node_put(n);
end:
	op_end(op, R_OPEN);
}

static int create_file(fuse_req_t req, int dirfd, const char *name, mode_t mode, int flags,
		       struct fuse_entry_param *e, int *fd_out)
{
	int fd, pathfd, error;

	take_umask(req);
	fd = openat(dirfd, name, backing_flags(flags) | O_CREAT | O_NOFOLLOW, mode);
	if (fd < 0)
		return errno;
	pathfd = open(fd_path(fd).s, O_PATH | O_CLOEXEC);
	if (pathfd < 0) {
		error = errno;
	} else {
		error = give_away(req, dirfd, pathfd);
		if (error)
			close(pathfd);
		else
			error = node_intern(pathfd, name, e);
	}
	if (error)
		close(fd);
	*fd_out = fd;
	return error;
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	struct node *p = to_node(parent);
	struct op *op = op_begin(req, K_CREATE, name);
	int dirfd, fd = -1;

	if (op->error)
		goto end;
	dirfd = node_get(p);
	if (dirfd < 0) {
		op->error = -dirfd;
		goto end;
	}
	op->error = create_file(req, dirfd, name, mode, fi->flags, &op->u.entry, &fd);
	if (!op->error)
		open_reply(op, fi, fd);
	node_put(p);
end:
	op_end(op, R_CREATE);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_READ, node_name(ino));

	if (!op->error) {
		ssize_t n;

		op->buf = need(malloc(size ? size : 1));
		n = pread((int)fi->fh, op->buf, size, off);
		if (n < 0)
			op->error = errno;
		else
			op->bytes = op->u.count = (size_t)n;
	}
	op_end(op, R_BUF);
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_WRITE, node_name(ino));

	if (!op->error) {
		ssize_t n = pwrite((int)fi->fh, buf, size, off);

		if (n < 0)
			op->error = errno;
		else
			op->bytes = op->u.count = (size_t)n;
	}
	op_end(op, R_WRITE);
}

static void do_copy_file_range(fuse_req_t req, fuse_ino_t ino_in unused, off_t off_in,
			       struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
			       struct fuse_file_info *fi_out, size_t len, int flags)
{
	struct op *op = op_begin(req, K_COPY_FILE_RANGE, node_name(ino_out));

	if (!op->error) {
		ssize_t n;

		if (conf.short_copy && len > conf.short_copy)
			len = conf.short_copy;
		n = copy_file_range((int)fi_in->fh, &off_in, (int)fi_out->fh, &off_out, len,
				    (unsigned)flags);
		if (n < 0)
			op->error = errno;
		else
			op->bytes = op->u.count = (size_t)n;
	}
	op_end(op, R_WRITE);
}

static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_FLUSH, node_name(ino));

	if (!op->error && conf.close_error) {
		int flags = fcntl((int)fi->fh, F_GETFL);

		if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
		    pattern_matches(conf.close_error_pattern, node_name(ino)))
			op->error = conf.close_error;
	}
	op_end(op, R_ERR);
}

static void do_release(fuse_req_t req, fuse_ino_t ino unused, struct fuse_file_info *fi)
{
	count_async(K_RELEASE, 1);
	close((int)fi->fh);
	fuse_reply_err(req, 0);
}

static void do_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_FSYNC, node_name(ino));

	if (!op->error && (datasync ? fdatasync((int)fi->fh) : fsync((int)fi->fh)) < 0)
		op->error = errno;
	op_end(op, R_ERR);
}

static void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
			 struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_FALLOCATE, node_name(ino));

	if (!op->error && fallocate((int)fi->fh, mode, off, len) < 0)
		op->error = errno;
	op_end(op, R_ERR);
}

/* Only SEEK_DATA and SEEK_HOLE get here; nobody uses the position that this moves. */
static void do_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_LSEEK, node_name(ino));

	if (!op->error) {
		op->u.off = lseek((int)fi->fh, off, whence);
		if (op->u.off < 0)
			op->error = errno;
	}
	op_end(op, R_LSEEK);
}

/* May block for as long as another holds the lock; there are threads enough for that. */
static void do_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int how)
{
	struct op *op = op_begin(req, K_FLOCK, node_name(ino));

	if (!op->error && flock((int)fi->fh, how) < 0)
		op->error = errno;
	op_end(op, R_ERR);
}

static void do_statfs(fuse_req_t req, fuse_ino_t ino unused)
{
	struct op *op = op_begin(req, K_STATFS, NULL);

	if (!op->error && fstatvfs(nodes.source_fd, &op->u.statvfs) < 0)
		op->error = errno;
	op_end(op, R_STATFS);
}

/* ---- Handlers: directories ------------------------------------------------------------------- */

struct dir {
	int fd;
	pthread_mutex_t lock;
	off_t next;			/* offset of the first entry that was not given out */
	size_t at, have;		/* where in buf it is, and the end of what buf holds */
	uint64_t names;			/* given out since the start, "." and ".." apart */
	bool error_after;		/* --readdir-error-after is for this directory */
	char buf[DIR_BUFFER] __attribute__((aligned(8)));
};

static struct dir *to_dir(uint64_t fh)
{
	return (struct dir *)(uintptr_t)fh;
}

static void dir_close(uint64_t fh)
{
	struct dir *d = to_dir(fh);

	close(d->fd);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = to_node(ino);
	struct op *op = op_begin(req, K_OPENDIR, node_name(ino));
	int pathfd, fd;

	if (op->error)
		goto end;
	pathfd = node_get(n);
	if (pathfd < 0) {
		op->error = -pathfd;
		goto end;
	}
	fd = openat(pathfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		op->error = errno;
	} else {
		struct dir *d = need(malloc(sizeof(*d)));

		d->fd = fd;
		pthread_mutex_init(&d->lock, NULL);
		d->next = 0;
		d->at = d->have = 0;
		d->names = 0;
		d->error_after = conf.readdir_error &&
				 pattern_matches(conf.readdir_error_pattern, node_name(ino));
		op->fi = *fi;
		op->fi.fh = (uint64_t)(uintptr_t)d;
	}
	node_put(n);
end:
	op_end(op, R_OPEN);
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino unused, struct fuse_file_info *fi)
{
	count_async(K_RELEASEDIR, 1);
	dir_close(fi->fh);
	fuse_reply_err(req, 0);
}

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* The next entry (NULL at the end), which stays the next one until dir_step(); or an errno. */
static int dir_peek(struct dir *d, struct dirent64 **entry)
{
	if (d->at >= d->have) {
		ssize_t n = getdents64(d->fd, d->buf, sizeof(d->buf));

		if (n < 0)
			return errno;
		d->at = 0;
		d->have = (size_t)n;
	}
	*entry = d->at < d->have ? (struct dirent64 *)(void *)(d->buf + d->at) : NULL;
	return 0;
}

static void dir_step(struct dir *d, const struct dirent64 *entry)
{
	d->at += entry->d_reclen;
	d->next = conf.skip_after_unlink ? d->next + 1 : entry->d_off;
	if (!is_dot(entry->d_name))
		d->names++;
}

/*
 * Go to where the caller left off. With --skip-after-unlink an offset is the number of entries that
 * come before it in the directory as it is *now*, so that whatever was removed meanwhile moves
 * others past the reader.
 */
static int dir_seek(struct dir *d, off_t off)
{
	if (off == 0)
		d->names = 0;
	if (off == d->next && off != 0 && !conf.skip_after_unlink)
		return 0;
	d->at = d->have = 0;
	d->next = off;
	if (!conf.skip_after_unlink)
		return lseek(d->fd, off, SEEK_SET) < 0 ? errno : 0;
	if (lseek(d->fd, 0, SEEK_SET) < 0)
		return errno;
	for (off_t i = 0; i < off; i++) {
		struct dirent64 *entry;
		int error = dir_peek(d, &entry);

		if (error || !entry)
			return error;
		d->at += entry->d_reclen;
	}
	return 0;
}

/* Append one entry to the reply; the size it takes, or more than `room` if it doesn't fit. */
static size_t add_entry(struct op *op, fuse_ino_t ino, const struct dirent64 *entry, size_t used,
			size_t room, off_t next)
{
	unsigned type = conf.dtype_unknown ? DT_UNKNOWN : entry->d_type;
	struct fuse_entry_param e;
	size_t size;

	if (op->kind == K_READDIR) {
		struct stat st = { .st_ino = entry->d_ino, .st_mode = (mode_t)type << 12 };

		return fuse_add_direntry(op->req, op->buf + used, room, entry->d_name, &st, next);
	}
	/* A name that can't be looked up is given without attributes: the kernel will ask. */
	if (is_dot(entry->d_name) || look_up(ino, entry->d_name, &e) != 0) {
		memset(&e, 0, sizeof(e));
		e.attr.st_ino = entry->d_ino;
		e.attr.st_mode = (mode_t)type << 12;
	}
	size = fuse_add_direntry_plus(op->req, op->buf + used, room, entry->d_name, &e, next);
	if (size > room && e.ino)
		node_forget(to_node(e.ino), 1);
	return size;
}

static int fill_dir(struct op *op, struct dir *d, fuse_ino_t ino, size_t size, off_t off)
{
	size_t used = 0;
	int error = dir_seek(d, off);

	while (!error) {
		struct dirent64 *entry;
		size_t len;

		if (d->error_after && d->names >= conf.readdir_error_after) {
			error = conf.readdir_error;
			break;
		}
		error = dir_peek(d, &entry);
		if (error || !entry)
			break;
		len = add_entry(op, ino, entry, used, size - used,
				conf.skip_after_unlink ? d->next + 1 : entry->d_off);
		if (len > size - used)
			break;
		used += len;
		dir_step(d, entry);
	}
	op->u.count = used;
	/* What was read before the error is given first; the error comes with the next call. */
	return used > 0 ? 0 : error;
}

static void read_dir(fuse_req_t req, enum kind kind, fuse_ino_t ino, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, kind, node_name(ino));

	if (!op->error) {
		struct dir *d = to_dir(fi->fh);

		op->buf = need(malloc(size ? size : 1));
		pthread_mutex_lock(&d->lock);
		op->error = fill_dir(op, d, ino, size, off);
		pthread_mutex_unlock(&d->lock);
	}
	op_end(op, R_BUF);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	read_dir(req, K_READDIR, ino, size, off, fi);
}

static void do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	read_dir(req, K_READDIRPLUS, ino, size, off, fi);
}

static void do_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct op *op = op_begin(req, K_FSYNCDIR, node_name(ino));
	int fd = to_dir(fi->fh)->fd;

	if (!op->error && (datasync ? fdatasync(fd) : fsync(fd)) < 0)
		op->error = errno;
	op_end(op, R_ERR);
}

/* ---- Handlers: extended attributes ----------------------------------------------------------- */

/* getxattr (name given) and listxattr: a size of 0 asks how much there is. */
static void read_xattr(fuse_req_t req, enum kind kind, fuse_ino_t ino, const char *name,
		       size_t size)
{
	struct node *n = to_node(ino);
	struct op *op = op_begin(req, kind, node_name(ino));
	int fd;
	ssize_t r;

	if (op->error)
		goto end;
	fd = node_get(n);
	if (fd < 0) {
		op->error = -fd;
		goto end;
	}
	op->buf = need(malloc(size ? size : 1));
	r = name ? getxattr(fd_path(fd).s, name, op->buf, size) :
		   listxattr(fd_path(fd).s, op->buf, size);
	if (r < 0)
		op->error = errno;
	else
		op->u.count = (size_t)r;
	node_put(n);
end:
	op_end(op, size ? R_BUF : R_XATTR);
}

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	read_xattr(req, K_GETXATTR, ino, name, size);
}

static void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	read_xattr(req, K_LISTXATTR, ino, NULL, size);
}

/* setxattr, and removexattr (no value). */
static void change_xattr(fuse_req_t req, enum kind kind, fuse_ino_t ino, const char *name,
			 const char *value, size_t size, int flags)
{
	struct node *n = to_node(ino);
	struct op *op = op_begin(req, kind, node_name(ino));
	int fd, r;

	if (op->error)
		goto end;
	fd = node_get(n);
	if (fd < 0) {
		op->error = -fd;
		goto end;
	}
	r = value ? setxattr(fd_path(fd).s, name, value, size, flags) :
		    removexattr(fd_path(fd).s, name);
	if (r < 0)
		op->error = errno;
	node_put(n);
end:
	op_end(op, R_ERR);
}

static void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			size_t size, int flags)
{
	change_xattr(req, K_SETXATTR, ino, name, value, size, flags);
}

static void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	change_xattr(req, K_REMOVEXATTR, ino, name, NULL, 0, 0);
}

/* ---- Session --------------------------------------------------------------------------------- */

static void want(struct fuse_conn_info *conn, unsigned cap, bool yes)
{
	if (yes)
		conn->want |= conn->capable & cap;
	else
		conn->want &= ~cap;
}

static void do_init(void *userdata unused, struct fuse_conn_info *conn)
{
	want(conn, FUSE_CAP_READDIRPLUS, conf.plus != PLUS_OFF);
	want(conn, FUSE_CAP_READDIRPLUS_AUTO, conf.plus == PLUS_AUTO);
	want(conn, FUSE_CAP_WRITEBACK_CACHE, false);
	want(conn, FUSE_CAP_PARALLEL_DIROPS, !conf.serial_dirops);
	want(conn, FUSE_CAP_ASYNC_READ, true);
	want(conn, FUSE_CAP_ASYNC_DIO, true);
	want(conn, FUSE_CAP_FLOCK_LOCKS, true);
	/* The kernel takes away set-user-ID bits; we write as root and wouldn't. */
	want(conn, FUSE_CAP_HANDLE_KILLPRIV, false);
	want(conn, FUSE_CAP_POSIX_ACL, conf.acl);
	want(conn, FUSE_CAP_DONT_MASK, conf.acl);
	/* Requests must be in memory of their own: splicing saves nothing here. */
	want(conn, FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
	conn->max_background = conf.max_service;
	conn->congestion_threshold = conf.max_service;
}

static struct fuse_lowlevel_ops handlers = {
	.init = do_init,
	.lookup = do_lookup,
	.forget = do_forget,
	.forget_multi = do_forget_multi,
	.getattr = do_getattr,
	.setattr = do_setattr,
	.readlink = do_readlink,
	.mknod = do_mknod,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.symlink = do_symlink,
	.rename = do_rename,
	.link = do_link,
	.open = do_open,
	.create = do_create,
	.read = do_read,
	.write = do_write,
	.copy_file_range = do_copy_file_range,
	.flush = do_flush,
	.release = do_release,
	.fsync = do_fsync,
	.fallocate = do_fallocate,
	.lseek = do_lseek,
	.flock = do_flock,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.readdirplus = do_readdirplus,
	.releasedir = do_releasedir,
	.fsyncdir = do_fsyncdir,
	.statfs = do_statfs,
};

/*
 * libfuse before 3.17 doesn't pass FUSE_CAP_PARALLEL_DIROPS on to the kernel, whatever conn->want
 * says, and then the kernel makes one lookup at a time in a directory, which no network file system
 * does. So the answer to INIT, the first of all, is completed on its way out.
 */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata unused)
{
	static bool init_answered;	/* (Nothing is asked before the first reply.) */

	if (!init_answered) {
		init_answered = true;
		if (!conf.serial_dirops && count == 2 &&
		    iov[1].iov_len >= offsetof(struct fuse_init_out, max_background)) {
			struct fuse_init_out *init = iov[1].iov_base;

			init->flags |= FUSE_PARALLEL_DIROPS;
		}
	}
	return writev(fd, iov, count);
}

static ssize_t read_request(int fd, void *buf, size_t len, void *userdata unused)
{
	return read(fd, buf, len);
}

static const struct fuse_custom_io device_io = {
	.writev = write_reply,
	.read = read_request,
};

static void serve(struct fuse_session *se)
{
	struct fuse_loop_config *loop = fuse_loop_cfg_create();

	if (!loop)
		errx(1, "out of memory");
	/* One more than can be in service, so that a request that waits for room isn't the last. */
	fuse_loop_cfg_set_max_threads(loop, conf.max_service + 1);
	fuse_loop_cfg_set_idle_threads(loop, READER_IDLE_THREADS);
	fuse_loop_cfg_set_clone_fd(loop, conf.clone_fd);
	fuse_session_loop_mt(se, loop);
	fuse_loop_cfg_destroy(loop);
}

static void start_thread(pthread_t *id, void *(*body)(void *), void *arg)
{
	int error = pthread_create(id, NULL, body, arg);

	if (error)
		errx(1, "pthread_create: %s", strerror(error));
}

/* Let the replies that are still waiting out before the session goes away. */
static void stop_repliers(pthread_t *threads)
{
	pthread_mutex_lock(&service.lock);
	while (service.heap_len > 0) {
		pthread_mutex_unlock(&service.lock);
		usleep(1000);
		pthread_mutex_lock(&service.lock);
	}
	service.stop = true;
	pthread_cond_broadcast(&service.backlog);
	pthread_mutex_unlock(&service.lock);
	for (int i = 0; i < REPLIERS; i++)
		pthread_join(threads[i], NULL);
}

static void write_pidfile(void)
{
	FILE *f;

	if (!conf.pidfile)
		return;
	f = fopen(conf.pidfile, "w");
	if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f) != 0)
		err(1, "%s", conf.pidfile);
}

static void init_clocks(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&service.sooner, &attr);
	pthread_condattr_destroy(&attr);
}

static int run(void)
{
	static sigset_t report_signals;
	char options[128];
	char name[] = "latencyfs", o[] = "-o";
	char *argv[] = { name, o, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *se;
	pthread_t threads[REPLIERS], signal_thread;

	snprintf(options, sizeof(options), "%s%ssubtype=latencyfs,fsname=latencyfs",
		 geteuid() == 0 ? "allow_other," : "",
		 conf.no_permissions ? "" : "default_permissions,");
	se = fuse_session_new(&args, &handlers, sizeof(handlers), NULL);
	if (!se || fuse_set_signal_handlers(se) != 0)
		return 1;
	if (fuse_session_mount(se, conf.mountpoint) != 0 ||
	    fuse_session_custom_io(se, &device_io, fuse_session_fd(se)) != 0)
		return 1;
	if (fuse_daemonize(conf.foreground) != 0)
		err(1, "daemonize");

	/* Blocked in every thread, read by one. */
	sigemptyset(&report_signals);
	sigaddset(&report_signals, SIGUSR1);
	sigaddset(&report_signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &report_signals, NULL);
	start_thread(&signal_thread, signal_reader, &report_signals);
	for (int i = 0; i < REPLIERS; i++)
		start_thread(&threads[i], replier, NULL);
	write_pidfile();

	serve(se);

	stop_repliers(threads);
	fuse_session_unmount(se);
	fuse_remove_signal_handlers(se);
	fuse_session_destroy(se);
	fuse_opt_free_args(&args);
	__atomic_store_n(&session_over, true, __ATOMIC_RELEASE);
	pthread_kill(signal_thread, SIGUSR1);
	pthread_join(signal_thread, NULL);
	report();
	return 0;
}

/* ---- Options --------------------------------------------------------------------------------- */

enum {
	OPT_META = 256, OPT_DATA, OPT_OP, OPT_JITTER, OPT_SEED, OPT_REPORT, OPT_PIDFILE, OPT_ENTRY,
	OPT_ATTR, OPT_NEGATIVE, OPT_PLUS, OPT_XATTR, OPT_ACL, OPT_NOFLUSH, OPT_NOPERM, OPT_SERIAL,
	OPT_CLONE, OPT_SERVICE, OPT_FAULT, OPT_SHORT, OPT_SKIP, OPT_CLOSE, OPT_DTYPE, OPT_READDIR,
	OPT_HELP,
};

static const struct option long_options[] = {
	{ "meta-us", required_argument, NULL, OPT_META },
	{ "data-us-per-mib", required_argument, NULL, OPT_DATA },
	{ "op-us", required_argument, NULL, OPT_OP },
	{ "jitter", required_argument, NULL, OPT_JITTER },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "pidfile", required_argument, NULL, OPT_PIDFILE },
	{ "entry-timeout", required_argument, NULL, OPT_ENTRY },
	{ "attr-timeout", required_argument, NULL, OPT_ATTR },
	{ "negative-timeout", required_argument, NULL, OPT_NEGATIVE },
	{ "readdirplus", optional_argument, NULL, OPT_PLUS },
	{ "xattr", no_argument, NULL, OPT_XATTR },
	{ "acl", no_argument, NULL, OPT_ACL },
	{ "noflush-readers", no_argument, NULL, OPT_NOFLUSH },
	{ "no-permissions", no_argument, NULL, OPT_NOPERM },
	{ "serial-dirops", no_argument, NULL, OPT_SERIAL },
	{ "clone-fd", no_argument, NULL, OPT_CLONE },
	{ "max-in-service", required_argument, NULL, OPT_SERVICE },
	{ "fault", required_argument, NULL, OPT_FAULT },
	{ "short-copy", required_argument, NULL, OPT_SHORT },
	{ "skip-after-unlink", no_argument, NULL, OPT_SKIP },
	{ "close-error", required_argument, NULL, OPT_CLOSE },
	{ "dtype-unknown", no_argument, NULL, OPT_DTYPE },
	{ "readdir-error-after", required_argument, NULL, OPT_READDIR },
	{ "foreground", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *f)
{
	fputs("Usage: latencyfs [options] SOURCE MOUNTPOINT\n"
	      "Show the directory SOURCE at MOUNTPOINT as a slow network would. Options:\n"
	      "  --meta-us=N             each operation takes N microseconds (default 0)\n"
	      "  --data-us-per-mib=N     and N more for each MiB read, written or copied\n"
	      "  --op-us=OP:N            operations of this kind take N microseconds instead\n"
	      "  --jitter=PCT            each delay varies by up to PCT per cent, up or down\n"
	      "  --seed=N                seed of the jitter\n"
	      "  --report=FILE           write the counters there at unmount and on SIGUSR1;\n"
	      "                          SIGUSR2 sets them to zero first\n"
	      "  --pidfile=FILE          write the process number there\n"
	      "  --entry-timeout=SEC, --attr-timeout=SEC, --negative-timeout=SEC\n"
	      "                          for how long the kernel may remember names (1), attributes (1)\n"
	      "                          and that a name does not exist (0)\n"
	      "  --readdirplus[=auto]    let listings carry attributes\n"
	      "  --xattr, --acl          let extended attributes, and POSIX ACLs, through\n"
	      "  --noflush-readers       closing a file that was only read is no operation\n"
	      "  --no-permissions        the kernel checks none, and so needs no fresh attributes of a\n"
	      "                          directory after each change in it\n"
	      "  --serial-dirops         the kernel makes one lookup or listing at a time in a directory\n"
	      "  --max-in-service=N      at most N requests at once (default and most: 512)\n"
	      "  --clone-fd              a /dev/fuse descriptor for each thread\n"
	      "  -f, --foreground        stay in the foreground\n"
	      "Faults:\n"
	      "  --fault=OP:ERRNO:N[+][!][:PATTERN]\n"
	      "                          the N-th OP (of a name that matches PATTERN) fails with ERRNO;\n"
	      "                          + every one from the N-th; ! fails after having been done\n"
	      "  --short-copy=BYTES      copy_file_range copies at most so much at a time\n"
	      "  --skip-after-unlink     removing names moves the others past whoever lists\n"
	      "  --close-error=ERRNO[:PATTERN]\n"
	      "                          closing a file that was open for writing fails\n"
	      "  --dtype-unknown         listings don't tell types\n"
	      "  --readdir-error-after=N[:ERRNO[:PATTERN]]\n"
	      "                          a listing fails after N names (with EIO)\n"
	      "OP is one of: ", f);
	for (int k = 0; k < K_FIRST_ASYNC; k++)
		fprintf(f, "%s%s", kind_names[k], k + 1 < K_FIRST_ASYNC ? " " : "\n");
}

static uint64_t parse_number(const char *option, const char *s, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || n > max)
		errx(2, "--%s: not a number from 0 to %" PRIu64 ": %s", option, max, s);
	return n;
}

/* Microseconds, as nanoseconds. */
static uint64_t parse_us(const char *option, const char *s)
{
	return parse_number(option, s, 1000000000) * 1000;
}

static double parse_seconds(const char *option, const char *s)
{
	char *end;
	double d = strtod(s, &end);

	if (end == s || *end || !(d >= 0))
		errx(2, "--%s: not a number of seconds: %s", option, s);
	return d;
}

static int parse_errno(const char *option, const char *s)
{
	for (int i = 1; i < 200; i++) {
		const char *name = strerrorname_np(i);

		if (name && strcmp(name, s) == 0)
			return i;
	}
	errx(2, "--%s: no such error: %s", option, s);
}

static enum kind parse_kind(const char *option, const char *s)
{
	for (int k = 0; k < K_FIRST_ASYNC; k++)
		if (strcmp(kind_names[k], s) == 0)
			return (enum kind)k;
	errx(2, "--%s: no such operation: %s", option, s);
}

/* Cut the field before the next colon off *s; NULL if nothing is left. The last takes all. */
static char *next_field(char **s, bool last)
{
	char *field = *s, *colon = field && !last ? strchr(field, ':') : NULL;

	if (colon)
		*colon++ = '\0';
	*s = colon;
	return field;
}

static void parse_fault(char *s)
{
	struct fault *f = &conf.faults[conf.fault_count];
	char *kind = next_field(&s, false);
	char *error = next_field(&s, false);
	char *nth = next_field(&s, false);
	char *pattern = next_field(&s, true);
	size_t len;

	if (conf.fault_count == MAX_FAULTS)
		errx(2, "--fault: too many");
	if (!error || !nth)
		errx(2, "--fault: OP:ERRNO:N[+][!][:PATTERN] is wanted");
	f->kind = parse_kind("fault", kind);
	f->error = parse_errno("fault", error);
	for (len = strlen(nth); len > 0 && strchr("+!", nth[len - 1]); nth[--len] = '\0') {
		if (nth[len - 1] == '+')
			f->and_on = true;
		else
			f->done_first = true;
	}
	f->nth = parse_number("fault", nth, UINT64_MAX);
	f->pattern = pattern;
	if (pattern)
		conf.names_wanted = true;
	conf.fault_count++;
}

static void parse_op_us(char *s)
{
	enum kind kind = parse_kind("op-us", next_field(&s, false));

	if (!s)
		errx(2, "--op-us: OP:N is wanted");
	conf.kind_ns[kind] = (int64_t)parse_us("op-us", s);
}

static void parse_close_error(char *s)
{
	conf.close_error = parse_errno("close-error", next_field(&s, false));
	conf.close_error_pattern = next_field(&s, true);
	if (conf.close_error_pattern)
		conf.names_wanted = true;
}

static void parse_readdir_error(char *s)
{
	char *after = next_field(&s, false);
	char *error = next_field(&s, false);

	conf.readdir_error_after = parse_number("readdir-error-after", after, UINT64_MAX);
	conf.readdir_error = error ? parse_errno("readdir-error-after", error) : EIO;
	conf.readdir_error_pattern = next_field(&s, true);
	if (conf.readdir_error_pattern)
		conf.names_wanted = true;
}

static char *absolute(const char *path)
{
	char *cwd, *result;

	if (path[0] == '/')
		return need(strdup(path));
	cwd = getcwd(NULL, 0);
	if (!cwd)
		err(1, "getcwd");
	if (asprintf(&result, "%s/%s", cwd, path) < 0)
		errx(1, "out of memory");
	free(cwd);
	return result;
}

static void parse_options(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "f", long_options, NULL)) != -1) {
		switch (c) {
		case 'f': conf.foreground = true; break;
		case OPT_META: conf.meta_ns = parse_us("meta-us", optarg); break;
		case OPT_DATA: conf.data_ns_per_mib = parse_us("data-us-per-mib", optarg); break;
		case OPT_OP: parse_op_us(optarg); break;
		case OPT_JITTER:
			conf.jitter_percent = (unsigned)parse_number("jitter", optarg, 100);
			break;
		case OPT_SEED: conf.seed = parse_number("seed", optarg, UINT64_MAX); break;
		case OPT_REPORT: conf.report = absolute(optarg); break;
		case OPT_PIDFILE: conf.pidfile = absolute(optarg); break;
		case OPT_ENTRY: conf.entry_timeout = parse_seconds("entry-timeout", optarg); break;
		case OPT_ATTR: conf.attr_timeout = parse_seconds("attr-timeout", optarg); break;
		case OPT_NEGATIVE:
			conf.negative_timeout = parse_seconds("negative-timeout", optarg);
			break;
		case OPT_PLUS:
			if (optarg && strcmp(optarg, "auto") != 0)
				errx(2, "--readdirplus: not auto: %s", optarg);
			conf.plus = optarg ? PLUS_AUTO : PLUS_ALWAYS;
			break;
		case OPT_ACL: conf.acl = true; /* fall through */
		case OPT_XATTR: conf.xattr = true; break;
		case OPT_NOFLUSH: conf.noflush_readers = true; break;
		case OPT_NOPERM: conf.no_permissions = true; break;
		case OPT_SERIAL: conf.serial_dirops = true; break;
		case OPT_CLONE: conf.clone_fd = true; break;
		case OPT_SERVICE:
			conf.max_service = (unsigned)parse_number("max-in-service", optarg,
								  MAX_SERVICE);
			if (conf.max_service == 0)
				errx(2, "--max-in-service: at least 1");
			break;
		case OPT_FAULT: parse_fault(optarg); break;
		case OPT_SHORT:
			conf.short_copy = parse_number("short-copy", optarg, UINT64_MAX);
			break;
		case OPT_SKIP: conf.skip_after_unlink = true; break;
		case OPT_CLOSE: parse_close_error(optarg); break;
		case OPT_DTYPE: conf.dtype_unknown = true; break;
		case OPT_READDIR: parse_readdir_error(optarg); break;
		case OPT_HELP: usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (argc - optind != 2) {
		usage(stderr);
		exit(2);
	}
	conf.source = absolute(argv[optind]);
	conf.mountpoint = absolute(argv[optind + 1]);
}

int main(int argc, char **argv)
{
	for (int k = 0; k < KINDS; k++)
		conf.kind_ns[k] = -1;
	parse_options(argc, argv);
	if (conf.xattr) {
		/* Without these the kernel learns that there are none, and asks only once. */
		handlers.getxattr = do_getxattr;
		handlers.setxattr = do_setxattr;
		handlers.listxattr = do_listxattr;
		handlers.removexattr = do_removexattr;
	}
	umask(0);
	init_clocks();
	nodes_init();
	return run();
}
