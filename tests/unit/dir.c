/*
 * dir.c - tests of pfu/dir.h: paths, identity, and which directories are open.
 */
#include "unit.h"
#include <pfu/dir.h>
#include <pthread.h>

/* ---- a table of operations that counts, and fails when told to ---- */

enum { FD_MAX = 4096 };

static atomic_uint opens, open_now, most_open;
static atomic_bool is_open[FD_MAX];
static int open_error, identify_error; /* 0: none */

static void reset_counts(void)
{
	atomic_store(&opens, 0);
	atomic_store(&most_open, atomic_load(&open_now));
}

static int count_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	unsigned int now, most;
	int fd;

	atomic_fetch_add(&opens, 1);
	CHECK(flags & O_CLOEXEC);
	CHECK(flags & O_DIRECTORY);
	if (open_error) {
		errno = open_error;
		return -1;
	}
	fd = openat(dirfd, name, flags, mode);
	if (fd < 0)
		return -1;
	CHECK(fd < FD_MAX);
	CHECK(!atomic_exchange(&is_open[fd], true));
	now = atomic_fetch_add(&open_now, 1) + 1;
	most = atomic_load(&most_open);
	while (now > most && !atomic_compare_exchange_weak(&most_open, &most, now))
		;
	return fd;
}

static int count_close(int fd)
{
	CHECK(atomic_exchange(&is_open[fd], false));
	atomic_fetch_sub(&open_now, 1);
	return close(fd);
}

static int maybe_identify(int fd, struct stat *st)
{
	CHECK(atomic_load(&is_open[fd]));
	if (identify_error) {
		errno = identify_error;
		return -1;
	}
	return pfu_fsys_posix.identify(fd, st);
}

static struct pfu_fsys counting;

static int setup(void **state)
{
	counting = pfu_fsys_posix;
	counting.openat = count_openat;
	counting.close = count_close;
	counting.identify = maybe_identify;
	return unit_scratch_make(state);
}

/* ---- helpers ---- */

static struct pfu_dir *new_dir(struct pfu_dir *parent, const char *name)
{
	struct pfu_dir *dir = pfu_dir_new(parent, name, 0);

	assert_non_null(dir);
	return dir;
}

/* A directory that is only referred to by what is below it. */
static struct pfu_dir *below(struct pfu_dir *parent, const char *name)
{
	struct pfu_dir *dir = new_dir(parent, name);

	pfu_dir_unref(parent);
	return dir;
}

static struct pfu_dirfds *new_table(size_t budget)
{
	struct pfu_dirfds *t = pfu_dirfds_new(&counting, budget, NULL);

	assert_non_null(t);
	reset_counts();
	return t;
}

static void free_table(struct pfu_dirfds *t)
{
	pfu_dirfds_free(t);
	assert_int_equal(open_now, 0);
	assert_checks();
}

static struct pfu_dirfd *get(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	struct pfu_dirfd *d = pfu_dirfds_get(t, dir);

	if (!d)
		fail_msg("cannot open %s: %s", dir->name, strerror(errno));
	assert_ptr_equal(d->dir, dir);
	return d;
}

/* Opens the directory once, so that it is known. */
static void visit(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	pfu_dirfds_put(t, get(t, dir));
}

static bool same_file(int fd, const struct stat *st)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

static struct stat stat_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		fail_msg("lstat %s: %s", path, strerror(errno));
	return st;
}

/* ---- paths ---- */

static void assert_path(const struct pfu_dir *dir, const char *name, const char *want)
{
	char *path = pfu_dir_path(dir, name);

	assert_non_null(path);
	assert_string_equal(path, want);
	free(path);
}

static void paths_are_as_a_user_types_them(void **state)
{
	static const struct {
		const char *operand, *itself, *entry, *deep;
	} table[] = {
		{ "d", "d", "d/f", "d/s/f" },
		{ "d/", "d/", "d/f", "d/s/f" },
		{ "d//", "d//", "d/f", "d/s/f" },
		{ "/", "/", "/f", "/s/f" },
		{ "a/b", "a/b", "a/b/f", "a/b/s/f" },
		{ ".", ".", "./f", "./s/f" },
		{ "../x/", "../x/", "../x/f", "../x/s/f" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(table); i++) {
		struct pfu_dir *top = new_dir(NULL, table[i].operand), *sub = new_dir(top, "s");
		char *path = pfu_dir_path(sub, NULL);

		assert_path(top, NULL, table[i].itself);
		assert_path(top, "f", table[i].entry);
		assert_path(sub, "f", table[i].deep);
		assert_int_equal(strlen(path), strlen(table[i].deep) - 2);
		assert_memory_equal(path, table[i].deep, strlen(path));
		free(path);
		pfu_dir_unref(sub);
		pfu_dir_unref(top);
	}
	assert_path(NULL, "some/path", "some/path");
}

/* Freed from the last reference upwards, without a stack frame for each level. */
static void deep_paths(void **state)
{
	enum { LEVELS = 300000 };
	struct pfu_dir *dir = new_dir(NULL, "top");
	char *path;
	int i;

	(void)state;
	for (i = 0; i < LEVELS; i++)
		dir = below(dir, "abc");
	path = pfu_dir_path(dir, "file");
	assert_non_null(path);
	assert_int_equal(strlen(path), 3 + 4 * LEVELS + 5);
	assert_memory_equal(path, "top/abc/abc", 11);
	assert_string_equal(path + strlen(path) - 9, "/abc/file");
	free(path);
	pfu_dir_unref(dir);
	pfu_dir_unref(NULL);
}

/* ---- identity ---- */

static void the_first_identity_stands(void **state)
{
	struct pfu_dir *dir = new_dir(NULL, "d");
	struct stat a = { .st_dev = 1, .st_ino = 2 }, b = { .st_dev = 1, .st_ino = 3 };
	struct stat c = { .st_dev = 2, .st_ino = 2 };

	(void)state;
	assert_false(pfu_dir_is(dir, &a));
	pfu_dir_identify(dir, &a);
	assert_true(pfu_dir_is(dir, &a));
	pfu_dir_identify(dir, &b);
	assert_true(pfu_dir_is(dir, &a));
	assert_false(pfu_dir_is(dir, &b));
	assert_false(pfu_dir_is(dir, &c));
	pfu_dir_unref(dir);
}

static void identified_when_asked(void **state)
{
	struct pfu_dirfds *t = new_table(8);
	struct pfu_dir *dir = new_dir(NULL, ".");
	struct pfu_dirfd *d = get(t, dir);
	struct stat st = stat_of(".");

	(void)state;
	identify_error = EIO;
	errno = 0;
	assert_int_equal(pfu_dirfds_identify(t, d), -1);
	assert_int_equal(errno, EIO);
	identify_error = 0;
	assert_false(pfu_dir_is(dir, &st));
	assert_int_equal(pfu_dirfds_identify(t, d), 0);
	assert_true(pfu_dir_is(dir, &st));
	identify_error = EIO; /* it is known by now */
	assert_int_equal(pfu_dirfds_identify(t, d), 0);
	identify_error = 0;
	pfu_dirfds_put(t, d);
	free_table(t);
	pfu_dir_unref(dir);
}

/* ---- opening ---- */

static void open_once_while_there_is_room(void **state)
{
	struct pfu_dirfds *t = new_table(8);
	struct pfu_dir *top = new_dir(NULL, "top"), *sub;
	struct pfu_dirfd *a, *b;
	struct stat st;

	(void)state;
	make_dir("top");
	make_dir("top/sub");
	sub = new_dir(top, "sub");
	st = stat_of("top/sub");
	visit(t, top);
	a = get(t, sub);
	b = get(t, sub);
	assert_ptr_equal(a, b);
	assert_true(same_file(a->fd, &st));
	assert_int_equal(fcntl(a->fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
	pfu_dirfds_put(t, a);
	pfu_dirfds_put(t, b);
	visit(t, sub);
	assert_int_equal(opens, 2);
	free_table(t);
	pfu_dir_unref(sub);
	pfu_dir_unref(top);
	unit_remove("top");
}

static void errors_of_opening(void **state)
{
	static const int errors[] = { EACCES, EMFILE, EIO, ENOENT };
	struct pfu_dirfds *t = new_table(8);
	struct pfu_dir *dir = new_dir(NULL, "."), *missing = new_dir(dir, "missing");
	struct pfu_dir *in_missing = new_dir(missing, "x");
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(errors); i++) {
		open_error = errors[i];
		errno = 0;
		assert_null(pfu_dirfds_get(t, dir));
		assert_int_equal(errno, errors[i]);
	}
	open_error = 0;
	errno = 0;
	assert_null(pfu_dirfds_get(t, missing));
	assert_int_equal(errno, ENOENT);
	errno = 0;
	assert_null(pfu_dirfds_get(t, in_missing));
	assert_int_equal(errno, ENOENT);
	errno = 0;
	assert_null(pfu_dirfds_get_parent(t, in_missing));
	assert_int_equal(errno, ENOENT);
	pfu_dirfds_drop(t, missing); /* is not open: nothing happens */
	free_table(t);
	pfu_dir_unref(in_missing);
	pfu_dir_unref(missing);
	pfu_dir_unref(dir);
}

static void links_are_followed_only_where_allowed(void **state)
{
	struct pfu_dirfds *t = new_table(8);
	struct pfu_dir *plain, *follow, *inner;
	struct stat st;
	struct pfu_dirfd *d;

	(void)state;
	make_dir("real");
	make_dir("real/sub");
	assert_int_equal(symlink("real", "link"), 0);
	assert_int_equal(symlink("sub", "real/inner"), 0);
	plain = new_dir(NULL, "link");
	follow = pfu_dir_new(NULL, "link", PFU_DIR_FOLLOW);
	assert_non_null(follow);
	inner = new_dir(follow, "inner");
	st = stat_of("real");
	errno = 0;
	assert_null(pfu_dirfds_get(t, plain));
	assert_true(errno == ENOTDIR || errno == ELOOP);
	d = get(t, follow);
	assert_true(same_file(d->fd, &st));
	pfu_dirfds_put(t, d);
	errno = 0;
	assert_null(pfu_dirfds_get(t, inner));
	assert_true(errno == ENOTDIR || errno == ELOOP);
	free_table(t);
	pfu_dir_unref(inner);
	pfu_dir_unref(follow);
	pfu_dir_unref(plain);
	unit_remove("link");
	unit_remove("real");
}

/* A directory that is only passed through or worked in needs no permission to be read. */
static void opened_as_a_path(void **state)
{
	struct pfu_dirfds *t = new_table(8);
	struct pfu_dir *dir = pfu_dir_new(NULL, ".", PFU_DIR_PATH);
	struct pfu_dirfd *d;

	(void)state;
	assert_non_null(dir);
	d = get(t, dir);
	assert_true(fcntl(d->fd, F_GETFL) & O_PATH);
	pfu_dirfds_put(t, d);
	free_table(t);
	pfu_dir_unref(dir);
}

static void adopted(void **state)
{
	struct pfu_dirfds *t = new_table(8);
	struct pfu_dir *dir = new_dir(NULL, ".");
	struct pfu_dirfd *a, *b;
	int fd = count_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int again = count_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	(void)state;
	a = pfu_dirfds_adopt(t, dir, fd);
	assert_non_null(a);
	assert_int_equal(a->fd, fd);
	b = pfu_dirfds_adopt(t, dir, again); /* is open already: this one is closed */
	assert_ptr_equal(a, b);
	assert_false(is_open[again]);
	pfu_dirfds_put(t, a);
	pfu_dirfds_put(t, b);
	visit(t, dir);
	assert_int_equal(opens, 2);
	free_table(t);
	pfu_dir_unref(dir);
}

/* What a table of one thread closes goes through its closer. */
static void closed_by_the_closer(void **state)
{
	struct pfu_closer closer;
	struct pfu_dirfds *t;
	struct pfu_dir *dir = new_dir(NULL, ".");

	(void)state;
	pfu_closer_init(&closer, &counting, 4);
	t = pfu_dirfds_new(&counting, 8, &closer);
	assert_non_null(t);
	visit(t, dir);
	pfu_dirfds_free(t);
	assert_int_equal(open_now, 1);
	assert_int_equal(closer.n, 1);
	pfu_closer_flush(&closer);
	assert_int_equal(open_now, 0);
	assert_checks();
	pfu_dir_unref(dir);
}

/* ---- the budget ---- */

enum { BUDGET = 8, CHAIN = 200, WIDE = 300 };

/* A chain of directories c0/c1/c2..., with what they are. */
struct chain {
	struct pfu_dir *dir[CHAIN];
	struct stat st[CHAIN];
};

static void make_chain(struct chain *c)
{
	int fd = AT_FDCWD, next, i;
	char name[16];

	for (i = 0; i < CHAIN; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		assert_int_equal(mkdirat(fd, name, 0777), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		if (i > 0)
			close(fd);
		fd = next;
		assert_int_equal(fstat(fd, &c->st[i]), 0);
		c->dir[i] = new_dir(i > 0 ? c->dir[i - 1] : NULL, name);
	}
	close(fd);
}

static void remove_chain(struct chain *c)
{
	int i;

	for (i = CHAIN; i-- > 0;)
		pfu_dir_unref(c->dir[i]);
	unit_remove("c0");
}

static void assert_get(struct pfu_dirfds *t, struct pfu_dir *dir, const struct stat *st)
{
	struct pfu_dirfd *d = get(t, dir);

	assert_true(same_file(d->fd, st));
	pfu_dirfds_put(t, d);
	assert_true(open_now <= BUDGET);
}

static void a_chain_within_the_budget(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	static struct chain c;
	uint64_t seed = 1;
	int i;

	(void)state;
	make_chain(&c);
	for (i = 0; i < CHAIN; i++)
		assert_get(t, c.dir[i], &c.st[i]);
	assert_int_equal(opens, CHAIN); /* each from its parent, still open */
	assert_in_range(most_open, 1, BUDGET + 1);
	for (i = 0; i < 300; i++) {
		unsigned int at = rnd_below(&seed, CHAIN);

		assert_get(t, c.dir[at], &c.st[at]);
	}
	/* A directory on the way down is open besides, and the one that takes its place. */
	assert_in_range(most_open, 1, BUDGET + 2);
	free_table(t);
	remove_chain(&c);
}

static void wide_within_the_budget(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	struct pfu_dir *top = new_dir(NULL, "wide"), *sub[WIDE];
	struct stat st[WIDE];
	uint64_t seed = 2;
	char name[32];
	int i;

	(void)state;
	make_dir("wide");
	for (i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "wide/%d", i);
		make_dir(name);
		st[i] = stat_of(name);
		sub[i] = new_dir(top, strchr(name, '/') + 1);
	}
	visit(t, top);
	reset_counts();
	for (i = 0; i < WIDE; i++)
		assert_get(t, sub[i], &st[i]);
	/* The parent, always in use, stays open. */
	assert_int_equal(opens, WIDE);
	for (i = 0; i < 1000; i++) {
		unsigned int at = rnd_below(&seed, WIDE);

		assert_get(t, sub[at], &st[at]);
	}
	assert_in_range(most_open, 1, BUDGET + 1);
	free_table(t);
	for (i = 0; i < WIDE; i++)
		pfu_dir_unref(sub[i]);
	pfu_dir_unref(top);
	unit_remove("wide");
}

/* More are open only while more are in use. */
static void over_the_budget_and_back(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	static struct chain c;
	struct pfu_dirfd *d[3 * BUDGET];
	size_t i;

	(void)state;
	make_chain(&c);
	for (i = 0; i < COUNT(d); i++)
		d[i] = get(t, c.dir[i]);
	assert_int_equal(open_now, COUNT(d));
	for (i = 0; i < COUNT(d); i++) {
		assert_true(same_file(d[i]->fd, &c.st[i])); /* none was closed in use */
		pfu_dirfds_put(t, d[i]);
	}
	visit(t, c.dir[COUNT(d)]);
	assert_true(open_now <= BUDGET);
	for (i = 0; i < COUNT(d); i++)
		assert_get(t, c.dir[i], &c.st[i]);
	free_table(t);
	remove_chain(&c);
}

static void a_budget_of_one(void **state)
{
	struct pfu_dirfds *t = new_table(1);
	static struct chain c;
	int i;

	(void)state;
	make_chain(&c);
	for (i = 0; i < CHAIN; i++)
		assert_get(t, c.dir[i], &c.st[i]);
	for (i = CHAIN; --i > 0;) {
		struct pfu_dirfd *p = pfu_dirfds_get_parent(t, c.dir[i]);

		assert_non_null(p);
		assert_true(same_file(p->fd, &c.st[i - 1]));
		pfu_dirfds_put(t, p);
	}
	assert_in_range(most_open, 1, 3);
	free_table(t);
	remove_chain(&c);
}

/* ---- directories that change meanwhile ---- */

/* Makes the table close whatever is not in use. */
static void evict_all(struct pfu_dirfds *t)
{
	struct pfu_dir *other[BUDGET];
	int i;

	for (i = 0; i < BUDGET; i++) {
		other[i] = new_dir(NULL, "/");
		visit(t, other[i]);
	}
	for (i = 0; i < BUDGET; i++) {
		pfu_dirfds_drop(t, other[i]);
		pfu_dir_unref(other[i]);
	}
	assert_int_equal(open_now, 0);
}

static void assert_stale(struct pfu_dirfds *t, struct pfu_dir *dir)
{
	errno = 0;
	assert_null(pfu_dirfds_get(t, dir));
	assert_int_equal(errno, ESTALE);
	assert_int_equal(open_now, 0);
}

/* The same name leads elsewhere: an error, wherever on the way that is. */
static void swapped_directories_are_noticed(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	struct pfu_dir *a = new_dir(NULL, "a"), *b = new_dir(a, "b"), *c = new_dir(b, "c");
	struct stat st;

	(void)state;
	make_dir("a");
	make_dir("a/b");
	make_dir("a/b/c");
	st = stat_of("a/b/c");
	visit(t, a);
	visit(t, b);
	visit(t, c);
	evict_all(t);
	assert_get(t, c, &st);
	evict_all(t);

	assert_int_equal(rename("a/b/c", "a/b/old"), 0);
	make_dir("a/b/c");
	assert_stale(t, c);
	assert_int_equal(rmdir("a/b/c"), 0);
	errno = 0;
	assert_null(pfu_dirfds_get(t, c));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(symlink("old", "a/b/c"), 0);
	errno = 0;
	assert_null(pfu_dirfds_get(t, c));
	assert_true(errno == ENOTDIR || errno == ELOOP);
	assert_int_equal(unlink("a/b/c"), 0);
	assert_int_equal(rename("a/b/old", "a/b/c"), 0);
	assert_get(t, c, &st);
	evict_all(t);

	assert_int_equal(rename("a", "victim"), 0);
	make_dir("a");
	make_dir("a/b");
	make_dir("a/b/c");
	assert_stale(t, a);
	assert_stale(t, b);
	assert_stale(t, c);
	unit_remove("a");
	assert_int_equal(symlink("victim", "a"), 0);
	errno = 0;
	assert_null(pfu_dirfds_get(t, c));
	assert_true(errno == ENOTDIR || errno == ELOOP);
	free_table(t);
	pfu_dir_unref(c);
	pfu_dir_unref(b);
	pfu_dir_unref(a);
	unit_remove("a");
	unit_remove("victim");
}

/* Who a directory is cannot be found out: then it is not opened again. */
static void identity_that_cannot_be_checked(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	struct pfu_dir *a = new_dir(NULL, "a");

	(void)state;
	make_dir("a");
	visit(t, a);
	evict_all(t);
	identify_error = EIO;
	errno = 0;
	assert_null(pfu_dirfds_get(t, a));
	assert_int_equal(errno, EIO);
	identify_error = 0;
	visit(t, a);
	free_table(t);
	pfu_dir_unref(a);
	unit_remove("a");
}

/* ".." of a directory that was moved away is not its parent. */
static void the_parent_of_a_moved_directory(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	struct pfu_dir *a = new_dir(NULL, "a"), *b = new_dir(a, "b");
	struct pfu_dirfd *d, *p;
	struct stat st;

	(void)state;
	make_dir("a");
	make_dir("a/b");
	make_dir("other");
	st = stat_of("a");
	visit(t, a);
	d = get(t, b);
	pfu_dirfds_drop(t, b); /* in use: stays */
	assert_true(is_open[d->fd]);
	{ /* a is closed, b stays */
		struct pfu_dir *more[BUDGET];
		int i;

		for (i = 0; i < BUDGET; i++)
			visit(t, more[i] = new_dir(NULL, "/"));
		for (i = 0; i < BUDGET; i++)
			pfu_dir_unref(more[i]);
	}
	assert_int_equal(rename("a/b", "other/b"), 0);
	p = pfu_dirfds_get_parent(t, b);
	assert_non_null(p);
	assert_true(same_file(p->fd, &st));
	assert_ptr_equal(p->dir, a);
	pfu_dirfds_put(t, p);
	pfu_dirfds_put(t, d);
	free_table(t);
	pfu_dir_unref(b);
	pfu_dir_unref(a);
	unit_remove("a");
	unit_remove("other");
}

/* ---- the way up ---- */

/* Down as a walk goes, each level once, and up again: every level costs the same. */
static void up_from_a_deep_chain(void **state)
{
	enum { LEVELS = 5000 };
	struct pfu_dirfds *t = new_table(BUDGET);
	struct pfu_dir **dir = calloc(LEVELS, sizeof(*dir));
	ino_t *ino = calloc(LEVELS, sizeof(*ino));
	struct stat st;
	int i;

	(void)state;
	assert_non_null(dir);
	assert_non_null(ino);
	for (i = 0; i < LEVELS; i++) {
		struct pfu_dirfd *p, *d;

		if (i == 0) {
			make_dir("deep");
			dir[0] = new_dir(NULL, "deep");
			d = get(t, dir[0]);
		} else {
			p = get(t, dir[i - 1]);
			assert_int_equal(mkdirat(p->fd, "level", 0777), 0);
			dir[i] = new_dir(dir[i - 1], "level");
			d = get(t, dir[i]);
			pfu_dirfds_put(t, p);
		}
		assert_int_equal(fstat(d->fd, &st), 0);
		ino[i] = st.st_ino;
		pfu_dirfds_put(t, d);
		assert_true(open_now <= BUDGET);
	}
	assert_in_range(opens, LEVELS, LEVELS + 10);

	reset_counts();
	for (i = LEVELS; --i > 0;) {
		struct pfu_dirfd *p = pfu_dirfds_get_parent(t, dir[i]);

		assert_non_null(p);
		assert_ptr_equal(p->dir, dir[i - 1]);
		assert_int_equal(fstat(p->fd, &st), 0);
		assert_int_equal(st.st_ino, ino[i - 1]);
		if (i % 2)
			pfu_dirfds_drop(t, dir[i]);
		assert_int_equal(unlinkat(p->fd, "level", AT_REMOVEDIR), 0);
		pfu_dirfds_put(t, p);
		assert_true(open_now <= BUDGET);
	}
	assert_in_range(opens, LEVELS - 2 * BUDGET, LEVELS + 10);

	free_table(t);
	for (i = LEVELS; i-- > 0;)
		pfu_dir_unref(dir[i]);
	free(ino);
	free(dir);
	unit_remove("deep");
}

/* drop() has the parent at hand before it lets go of the way to it. */
static void drops_keep_the_way_up(void **state)
{
	struct pfu_dirfds *t = new_table(BUDGET);
	static struct chain c;
	int i;

	(void)state;
	make_chain(&c);
	for (i = 0; i < CHAIN; i++)
		visit(t, c.dir[i]);
	reset_counts();
	for (i = CHAIN; --i > 0;) {
		pfu_dirfds_drop(t, c.dir[i]);
		visit(t, c.dir[i - 1]);
	}
	assert_in_range(opens, CHAIN - 2 * BUDGET, CHAIN);
	free_table(t);
	remove_chain(&c);
}

/* ---- many threads ---- */

enum { THREADS = 8, DIRS = 120, STEPS = 3000 / UNIT_SLOW };

struct shared {
	struct pfu_dirfds *t;
	struct pfu_dir *dir[DIRS];
	struct stat st[DIRS];
	int parent[DIRS];
};

struct thread {
	pthread_t id;
	struct shared *s;
	uint64_t seed;
};

static void use_any(struct shared *s, uint64_t *seed)
{
	unsigned int i = rnd_below(seed, DIRS);
	struct pfu_dirfd *d = pfu_dirfds_get(s->t, s->dir[i]), *p;

	if (!CHECK(d != NULL))
		return;
	CHECK(d->dir == s->dir[i]);
	CHECK(same_file(d->fd, &s->st[i]));
	if (i > 0 && rnd_below(seed, 2)) {
		p = pfu_dirfds_get_parent(s->t, s->dir[i]);
		if (CHECK(p != NULL)) {
			CHECK(p->dir == s->dir[s->parent[i]]);
			CHECK(same_file(p->fd, &s->st[s->parent[i]]));
			pfu_dirfds_put(s->t, p);
		}
	}
	if (rnd_below(seed, 4) == 0)
		CHECK(pfu_dirfds_identify(s->t, d) == 0);
	CHECK(same_file(d->fd, &s->st[i]));
	pfu_dirfds_put(s->t, d);
	if (rnd_below(seed, 4) == 0)
		pfu_dirfds_drop(s->t, s->dir[i]);
}

static void *use_many(void *arg)
{
	struct thread *thread = arg;
	int i;

	for (i = 0; i < STEPS; i++)
		use_any(thread->s, &thread->seed);
	return NULL;
}

static void shared_by_threads(void **state)
{
	static struct shared s;
	struct thread threads[THREADS];
	uint64_t seed = 5;
	char name[16];
	int i;

	(void)state;
	s.t = new_table(BUDGET);
	for (i = 0; i < DIRS; i++) {
		char *path;

		s.parent[i] = i > 0 ? (int)rnd_below(&seed, (unsigned int)i) : -1;
		snprintf(name, sizeof(name), "t%d", i);
		s.dir[i] = new_dir(i > 0 ? s.dir[s.parent[i]] : NULL, name);
		path = pfu_dir_path(s.dir[i], NULL);
		assert_non_null(path);
		make_dir(path);
		s.st[i] = stat_of(path);
		free(path);
	}
	for (i = 0; i < THREADS; i++) {
		threads[i].s = &s;
		threads[i].seed = (uint64_t)i;
		assert_int_equal(pthread_create(&threads[i].id, NULL, use_many, &threads[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	assert_checks();
	assert_true(open_now <= BUDGET);
	/* In use by each thread: two directories, and those on the way to a third. */
	assert_in_range(most_open, 1, BUDGET + 5 * THREADS);
	free_table(s.t);
	for (i = DIRS; i-- > 0;)
		pfu_dir_unref(s.dir[i]);
	unit_remove("t0");
}

static void *ref_often(void *arg)
{
	struct pfu_dir *dir = arg;
	int i;

	for (i = 0; i < 20000; i++)
		pfu_dir_unref(pfu_dir_ref(dir));
	pfu_dir_unref(dir);
	return NULL;
}

static void references_from_threads(void **state)
{
	struct pfu_dir *dir = below(new_dir(NULL, "a"), "b");
	pthread_t threads[THREADS];
	int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, ref_often, pfu_dir_ref(dir)), 0);
	pfu_dir_unref(dir);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_as_a_user_types_them),
		cmocka_unit_test(deep_paths),
		cmocka_unit_test(the_first_identity_stands),
		cmocka_unit_test(identified_when_asked),
		cmocka_unit_test(open_once_while_there_is_room),
		cmocka_unit_test(errors_of_opening),
		cmocka_unit_test(links_are_followed_only_where_allowed),
		cmocka_unit_test(opened_as_a_path),
		cmocka_unit_test(adopted),
		cmocka_unit_test(closed_by_the_closer),
		cmocka_unit_test(a_chain_within_the_budget),
		cmocka_unit_test(wide_within_the_budget),
		cmocka_unit_test(over_the_budget_and_back),
		cmocka_unit_test(a_budget_of_one),
		cmocka_unit_test(swapped_directories_are_noticed),
		cmocka_unit_test(identity_that_cannot_be_checked),
		cmocka_unit_test(the_parent_of_a_moved_directory),
		cmocka_unit_test(up_from_a_deep_chain),
		cmocka_unit_test(drops_keep_the_way_up),
		cmocka_unit_test(shared_by_threads),
		cmocka_unit_test(references_from_threads),
	};

	unit_start();
	return cmocka_run_group_tests_name("dir", tests, setup, unit_scratch_remove);
}
