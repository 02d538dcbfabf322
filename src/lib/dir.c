/*
 * dir.c - directories by descriptor: who they are, and which are open.
 *
 * The table is a hash from directory to descriptor, chained through a list in
 * order of use.  A shared table is locked for look-ups only, never across a
 * system call that may take a round trip: two threads may then open one
 * directory at the same time, and the second finds that out and closes its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/dir.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pfu_dirfds {
	const struct pfu_fsys *fs;
	size_t budget;
	bool shared;
	struct pfu_closer *closer;
	pthread_mutex_t lock; /* of a shared table: guards all below and every pfu_dirfd */
	struct pfu_dirfd **bucket;
	size_t buckets; /* a power of two */
	size_t open;
	struct pfu_dirfd *newest, *oldest;
};

struct pfu_dir *pfu_dir_new(struct pfu_dir *parent, const char *name, unsigned int flags)
{
	size_t len = strlen(name) + 1;
	struct pfu_dir *dir = malloc(sizeof(*dir) + len);

	if (!dir)
		return NULL;
	dir->parent = parent ? pfu_dir_ref(parent) : NULL;
	dir->flags = flags;
	dir->dev = 0;
	dir->ino = 0;
	atomic_init(&dir->refs, 1);
	atomic_init(&dir->identified, 0);
	memcpy(dir->name, name, len);
	return dir;
}

struct pfu_dir *pfu_dir_ref(struct pfu_dir *dir)
{
	atomic_fetch_add_explicit(&dir->refs, 1, memory_order_relaxed);
	return dir;
}

void pfu_dir_unref(struct pfu_dir *dir)
{
	/* A loop, since the last reference to a deep directory may be the last to all above it. */
	while (dir && atomic_fetch_sub_explicit(&dir->refs, 1, memory_order_acq_rel) == 1) {
		struct pfu_dir *parent = dir->parent;

		free(dir);
		dir = parent;
	}
}

void pfu_dir_identify(struct pfu_dir *dir, const struct stat *st)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&dir->identified, &none, 1))
		return;
	dir->dev = st->st_dev;
	dir->ino = st->st_ino;
	atomic_store_explicit(&dir->identified, 2, memory_order_release);
}

static bool is_identified(const struct pfu_dir *dir)
{
	return atomic_load_explicit(&dir->identified, memory_order_acquire) == 2;
}

bool pfu_dir_is(const struct pfu_dir *dir, const struct stat *st)
{
	return is_identified(dir) && dir->dev == st->st_dev && dir->ino == st->st_ino;
}

/* Puts a name in front of what has been put before `at`; with one slash between if asked. */
static char *prepend(char *at, const char *name, bool slash)
{
	size_t len = strlen(name);

	while (slash && len && name[len - 1] == '/')
		len--;
	if (slash)
		*--at = '/';
	at -= len;
	memcpy(at, name, len);
	return at;
}

char *pfu_dir_path(const struct pfu_dir *dir, const char *name)
{
	const struct pfu_dir *d;
	size_t len = 1;
	char *path, *at;

	for (d = dir; d; d = d->parent)
		len += strlen(d->name) + 1;
	if (name)
		len += strlen(name);
	path = malloc(len);
	if (!path)
		return NULL;
	at = path + len;
	*--at = '\0';
	if (name)
		at = prepend(at, name, false);
	for (d = dir; d; d = d->parent)
		at = prepend(at, d->name, name || d != dir);
	memmove(path, at, (size_t)(path + len - at));
	return path;
}

struct pfu_dirfds *pfu_dirfds_new(const struct pfu_fsys *fs, size_t budget,
				  struct pfu_closer *closer)
{
	struct pfu_dirfds *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fs = fs;
	t->budget = budget ? budget : 1;
	t->closer = closer;
	t->shared = !closer;
	for (t->buckets = 16; t->buckets < t->budget; t->buckets *= 2)
		;
	t->bucket = calloc(t->buckets, sizeof(*t->bucket));
	if (!t->bucket) {
		free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

static void lock(struct pfu_dirfds *t)
{
	if (t->shared)
		pthread_mutex_lock(&t->lock);
}

static void unlock(struct pfu_dirfds *t)
{
	if (t->shared)
		pthread_mutex_unlock(&t->lock);
}

static struct pfu_dirfd **bucket_of(struct pfu_dirfds *t, const struct pfu_dir *dir)
{
	uintptr_t h = (uintptr_t)dir >> 4;

	return &t->bucket[(h ^ (h >> 9)) & (t->buckets - 1)];
}

static struct pfu_dirfd *find(struct pfu_dirfds *t, const struct pfu_dir *dir)
{
	struct pfu_dirfd *d;

	for (d = *bucket_of(t, dir); d && d->dir != dir; d = d->chain)
		;
	return d;
}

static void list_remove(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	*(d->newer ? &d->newer->older : &t->newest) = d->older;
	*(d->older ? &d->older->newer : &t->oldest) = d->newer;
}

static void list_add_newest(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	d->newer = NULL;
	d->older = t->newest;
	*(d->older ? &d->older->newer : &t->oldest) = d;
	t->newest = d;
}

/* Takes an open directory out of the table. */
static void take_out(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	struct pfu_dirfd **at = bucket_of(t, d->dir);

	while (*at != d)
		at = &(*at)->chain;
	*at = d->chain;
	list_remove(t, d);
	t->open--;
}

static void release(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	if (t->closer)
		pfu_closer_add(t->closer, d->fd);
	else
		t->fs->close(d->fd); /* opened for reading: there is nothing to lose */
	pfu_dir_unref(d->dir);
	free(d);
}

/*
 * Takes the oldest directory that is not in use out of the table if more than
 * `most` are open, for the caller to evict without the lock.
 */
static struct pfu_dirfd *make_room(struct pfu_dirfds *t, size_t most)
{
	struct pfu_dirfd *d;

	if (t->open <= most)
		return NULL;
	for (d = t->oldest; d && d->pins; d = d->newer)
		;
	if (d)
		take_out(t, d);
	return d;
}

int pfu_dirfds_identify(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	struct stat st;

	if (is_identified(d->dir))
		return 0;
	if (t->fs->identify(d->fd, &st) != 0)
		return -1;
	pfu_dir_identify(d->dir, &st);
	return 0;
}

/* Closes what make_room() took out, so that it can be found again. */
static void evict(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	if (!d)
		return;
	/* If fstat() fails the reopening will, for want of a proof of identity. */
	(void)pfu_dirfds_identify(t, d);
	release(t, d);
}

void pfu_dirfds_free(struct pfu_dirfds *t)
{
	struct pfu_dirfd *d;

	if (!t)
		return;
	while ((d = t->newest)) {
		take_out(t, d);
		release(t, d);
	}
	pthread_mutex_destroy(&t->lock);
	free(t->bucket);
	free(t);
}

/* The directory if it is open here, in use. */
static struct pfu_dirfd *pin(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	struct pfu_dirfd *d;

	lock(t);
	d = find(t, dir);
	if (d) {
		d->pins++;
		list_remove(t, d);
		list_add_newest(t, d);
	}
	unlock(t);
	return d;
}

struct pfu_dirfd *pfu_dirfds_adopt(struct pfu_dirfds *t, struct pfu_dir *dir, int fd)
{
	struct pfu_dirfd *d, *mine, *old = NULL;

	mine = malloc(sizeof(*mine));
	if (!mine) {
		t->fs->close(fd);
		errno = ENOMEM;
		return NULL;
	}
	lock(t);
	d = find(t, dir);
	if (!d) {
		struct pfu_dirfd **at = bucket_of(t, dir);

		old = make_room(t, t->budget - 1);
		*mine = (struct pfu_dirfd){ .fd = fd, .dir = pfu_dir_ref(dir), .chain = *at };
		*at = mine;
		list_add_newest(t, mine);
		t->open++;
		d = mine;
	}
	d->pins++;
	unlock(t);
	if (d != mine) {
		t->fs->close(fd);
		free(mine);
	}
	evict(t, old);
	return d;
}

void pfu_dirfds_put(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	int err = errno; /* callers let go of a directory before they tell why something failed */

	lock(t);
	d->pins--;
	/* Where more than the budget were in use at once, this may be one too many. */
	d = make_room(t, t->budget);
	unlock(t);
	evict(t, d);
	errno = err;
}

/* Checks that fd is the directory that it is to be; closes it if not. */
static int verify(struct pfu_dirfds *t, const struct pfu_dir *dir, int fd)
{
	struct stat st;
	int err;

	if (fd < 0 || !is_identified(dir))
		return fd;
	if (t->fs->identify(fd, &st) != 0)
		err = errno;
	else if (pfu_dir_is(dir, &st))
		return fd;
	else
		err = ESTALE;
	t->fs->close(fd);
	errno = err;
	return -1;
}

static int open_at(struct pfu_dirfds *t, int parentfd, const struct pfu_dir *dir, int mode)
{
	int flags = O_DIRECTORY | O_CLOEXEC | mode;

	if (!(dir->flags & PFU_DIR_FOLLOW))
		flags |= O_NOFOLLOW;
	return verify(t, dir, t->fs->openat(parentfd, dir->name, flags, 0));
}

static int access_mode(const struct pfu_dir *dir)
{
	return dir->flags & PFU_DIR_PATH ? O_PATH : O_RDONLY;
}

/* Puts the directories from just below the nearest open ancestor down to dir on a list. */
static struct pfu_dir **way_down(struct pfu_dirfds *t, struct pfu_dir *dir, size_t *steps,
				 struct pfu_dirfd **from)
{
	struct pfu_dir *d, **way;
	size_t n = 1, i;

	*from = NULL;
	for (d = dir->parent; d; d = d->parent) {
		if ((*from = pin(t, d)))
			break;
		n++;
	}
	way = malloc(n * sizeof(struct pfu_dir *));
	if (!way) {
		if (*from)
			pfu_dirfds_put(t, *from);
		errno = ENOMEM;
		return NULL;
	}
	for (i = n, d = dir; i > 0; d = d->parent)
		way[--i] = d;
	*steps = n;
	return way;
}

struct pfu_dirfd *pfu_dirfds_get(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	struct pfu_dirfd *d = pin(t, dir), *from;
	struct pfu_dir **way;
	size_t steps, i;
	int fd, next, err = 0;

	if (d)
		return d;
	way = way_down(t, dir, &steps, &from);
	if (!way)
		return NULL;
	fd = from ? from->fd : AT_FDCWD;
	for (i = 0; i < steps; i++) {
		/* Directories on the way are only passed through. */
		next = open_at(t, fd, way[i], i + 1 < steps ? O_PATH : access_mode(dir));
		err = errno;
		if (i > 0)
			t->fs->close(fd);
		fd = next;
		if (fd < 0)
			break;
	}
	if (from)
		pfu_dirfds_put(t, from);
	free(way);
	if (fd < 0) {
		errno = err;
		return NULL;
	}
	return pfu_dirfds_adopt(t, dir, fd);
}

/* The parent of an open directory, in use; through ".." where that saves the way from above. */
static struct pfu_dirfd *get_parent(struct pfu_dirfds *t, struct pfu_dirfd *d)
{
	struct pfu_dir *parent = d->dir->parent;
	struct pfu_dirfd *p = pin(t, parent);
	int fd;

	if (p || !is_identified(parent))
		return p;
	fd = t->fs->openat(d->fd, "..", O_DIRECTORY | O_CLOEXEC | access_mode(parent), 0);
	fd = verify(t, parent, fd);
	return fd < 0 ? NULL : pfu_dirfds_adopt(t, parent, fd);
}

struct pfu_dirfd *pfu_dirfds_get_parent(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	struct pfu_dirfd *d = pin(t, dir), *p = NULL;

	if (d) {
		p = get_parent(t, d);
		pfu_dirfds_put(t, d);
	}
	return p ? p : pfu_dirfds_get(t, dir->parent);
}

void pfu_dirfds_drop(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	struct pfu_dirfd *d = pin(t, dir), *p = NULL;
	bool last;

	if (!d)
		return;
	if (dir->parent)
		p = get_parent(t, d);
	if (p)
		pfu_dirfds_put(t, p);
	lock(t);
	last = --d->pins == 0; /* NOLINT(clang-analyzer-unix.Malloc): d is in use, so it is not freed */
	if (last)
		take_out(t, d);
	unlock(t);
	if (last)
		release(t, d);
}

int pfu_dir_is_empty(const struct pfu_fsys *fs, int fd)
{
	bool empty = true;
	char buf[4096] __attribute__((aligned(8)));
	ssize_t n;

	while (empty && (n = fs->getdents(fd, buf, sizeof(buf))) > 0) {
		struct pfu_dirent *e;
		ssize_t at;

		for (at = 0; at < n; at += e->d_reclen) {
			e = (struct pfu_dirent *)(void *)(buf + at);
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				empty = false;
		}
	}
	/* (A directory that has been removed meanwhile has no entries.) */
	if ((empty && n < 0 && errno != ENOENT) || fs->lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return empty;
}
