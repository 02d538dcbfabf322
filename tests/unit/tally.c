/*
 * tally.c - tests of pfu/tally.h, and of what copies and removals count there.
 */
#include "unit.h"
#include <pfu/copy.h>
#include <pfu/remove.h>
#include <pfu/tally.h>
#include <pthread.h>

static void say_nothing(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	(void)ctx;
	(void)severity;
	(void)errnum;
	(void)text;
}

static void print_nothing(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

static const struct pfu_report silent = { .message = say_nothing, .output = print_nothing };

/* ---- the cells ---- */

static void nothing_without_a_tally(void **state)
{
	struct pfu_landed landed;

	(void)state;
	assert_null(pfu_tally_join(NULL));
	pfu_count(NULL, PFU_COUNT_FILES, 1);
	pfu_count_busy(NULL, true);
	pfu_count_tick(NULL);
	pfu_tally_operands(NULL, 1);
	pfu_tally_listing(NULL, 1);
	landed = pfu_count_landed(NULL);
	pfu_landed_add(&landed, NULL, &landed);
	pfu_count_take_back(NULL, &landed);
}

static void sums(void **state)
{
	struct pfu_tally t = { NULL };
	struct pfu_counts c;
	struct pfu_counter *a, *b;

	(void)state;
	pfu_tally_read(&t, &c);
	assert_int_equal(c.workers, 0);
	assert_false(c.listing);
	a = pfu_tally_join(&t);
	b = pfu_tally_join(&t);
	assert_non_null(a);
	assert_non_null(b);
	pfu_tally_operands(&t, 3);
	pfu_tally_operands(&t, -1);
	pfu_tally_listing(&t, 1);
	pfu_count(a, PFU_COUNT_FOUND, 10);
	pfu_count(a, PFU_COUNT_FILES, 4);
	pfu_count(b, PFU_COUNT_FILES, 1);
	pfu_count(b, PFU_COUNT_LINKS, 2);
	pfu_count(b, PFU_COUNT_SKIPPED, 1);
	pfu_count(b, PFU_COUNT_FAILED, 1);
	pfu_count_busy(b, false);
	pfu_tally_read(&t, &c);
	assert_int_equal(c.n[PFU_COUNT_FOUND], 12);
	assert_int_equal(c.n[PFU_COUNT_FILES], 5);
	assert_int_equal(pfu_counts_done(&c), 7);
	assert_int_equal(pfu_counts_settled(&c), 9);
	assert_true(c.listing);
	assert_int_equal(c.workers, 2);
	assert_int_equal(c.busy, 1);
	pfu_tally_listing(&t, -1);
	pfu_tally_read(&t, &c);
	assert_false(c.listing);
	pfu_tally_free(&t);
}

/* The bytes of a file that two workers worked on are taken back by one of them. */
static void taken_back(void **state)
{
	struct pfu_landed before, landed = { { 0 } }, other = { { 0 } };
	struct pfu_counter *a, *b;
	struct pfu_tally t = { NULL };
	struct pfu_counts c;

	(void)state;
	a = pfu_tally_join(&t);
	b = pfu_tally_join(&t);
	pfu_count(a, PFU_COUNT_BYTES, 5);
	before = pfu_count_landed(a);
	pfu_count(a, PFU_COUNT_BYTES, 1000);
	pfu_count(a, PFU_COUNT_HOLES, 100);
	pfu_landed_add(&landed, a, &before);
	before = pfu_count_landed(b);
	pfu_count(b, PFU_COUNT_BYTES, 300);
	pfu_count(b, PFU_COUNT_OFFLOADED, 300);
	pfu_landed_add(&other, b, &before);
	pfu_landed_join(&landed, &other);
	pfu_tally_read(&t, &c);
	assert_int_equal(c.n[PFU_COUNT_BYTES], 1305);
	pfu_count_take_back(b, &landed);
	pfu_tally_read(&t, &c);
	assert_int_equal(c.n[PFU_COUNT_BYTES], 5);
	assert_int_equal(c.n[PFU_COUNT_HOLES], 0);
	assert_int_equal(c.n[PFU_COUNT_OFFLOADED], 0);
	pfu_count_take_back(b, &landed); /* it has been cleared */
	pfu_tally_read(&t, &c);
	assert_int_equal(c.n[PFU_COUNT_BYTES], 5);
	pfu_tally_free(&t);
}

static void types(void **state)
{
	(void)state;
	assert_int_equal(pfu_count_of(S_IFREG | 0644), PFU_COUNT_FILES);
	assert_int_equal(pfu_count_of(S_IFDIR | 0755), PFU_COUNT_DIRECTORIES);
	assert_int_equal(pfu_count_of(S_IFLNK), PFU_COUNT_LINKS);
	assert_int_equal(pfu_count_of(S_IFIFO), PFU_COUNT_SPECIAL);
	assert_int_equal(pfu_count_of(S_IFSOCK), PFU_COUNT_SPECIAL);
	assert_int_equal(pfu_count_of(S_IFCHR), PFU_COUNT_SPECIAL);
}

/* ---- read while others count ---- */

#define WORKERS 8
#define EACH 20000

static struct {
	struct pfu_tally tally;
	atomic_uint rung;
	atomic_bool stop;
} crowd;

static void *count_many(void *arg)
{
	struct pfu_counter *c = pfu_tally_join(&crowd.tally);
	int i;

	(void)arg;
	CHECK(c);
	for (i = 0; c && i < EACH; i++) {
		pfu_count(c, PFU_COUNT_FOUND, 1);
		pfu_count(c, PFU_COUNT_FILES, 1);
		pfu_count(c, PFU_COUNT_BYTES, 10);
		pfu_count_tick(c);
	}
	return NULL;
}

static void ring(void *ctx)
{
	CHECK(ctx == &crowd);
	atomic_fetch_add(&crowd.rung, 1);
}

static void *read_on(void *arg)
{
	uint64_t last = 0;
	struct pfu_counts c;

	(void)arg;
	while (!atomic_load(&crowd.stop)) {
		pfu_tally_read(&crowd.tally, &c);
		CHECK(pfu_counts_settled(&c) <= c.n[PFU_COUNT_FOUND]);
		CHECK(c.n[PFU_COUNT_FILES] >= last);
		last = c.n[PFU_COUNT_FILES];
	}
	return NULL;
}

static void read_meanwhile(void **state)
{
	pthread_t reader, worker[WORKERS];
	struct pfu_counts c;
	int i;

	(void)state;
	/* Due at once: it rings all the same only once. */
	pfu_tally_set_alarm(&crowd.tally, 0, ring, &crowd);
	assert_int_equal(pthread_create(&reader, NULL, read_on, NULL), 0);
	for (i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&worker[i], NULL, count_many, NULL), 0);
	for (i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	atomic_store(&crowd.stop, true);
	pthread_join(reader, NULL);
	pfu_tally_read(&crowd.tally, &c);
	assert_int_equal(c.n[PFU_COUNT_FILES], WORKERS * EACH);
	assert_int_equal(c.n[PFU_COUNT_BYTES], WORKERS * EACH * 10);
	assert_int_equal(c.workers, WORKERS);
	assert_int_equal(atomic_load(&crowd.rung), 1);
	pfu_tally_free(&crowd.tally);
	assert_checks();
}

static void not_due(void **state)
{
	struct pfu_counter *c;
	struct pfu_tally t = { NULL };

	(void)state;
	atomic_store(&crowd.rung, 0);
	pfu_tally_set_alarm(&t, (uint64_t)3600 * 1000000000, ring, &crowd);
	c = pfu_tally_join(&t);
	pfu_count_tick(c);
	assert_int_equal(atomic_load(&crowd.rung), 0);
	pfu_tally_free(&t);
}

/* ---- what runs count ---- */

#define LARGE (100 << 20)

static void write_file(const char *path, size_t size, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	char *buf = malloc(size);

	memset(buf, 'x', size);
	if (fd < 0 || pwrite(fd, buf, size, at) != (ssize_t)size)
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
	free(buf);
}

/* 4 directories, 5 files, 1 symbolic link, 1 hard link, 1 fifo: 12 entries. */
static void make_tree(void)
{
	make_dir("s");
	make_dir("s/a");
	make_dir("s/a/b");
	make_dir("s/c");
	make_file("s/empty");
	write_file("s/small", 1000, 0);
	write_file("s/a/hole", 5000, 1 << 20);
	write_file("s/a/b/f", 70000, 0);
	write_file("s/large", LARGE, 0);
	assert_int_equal(link("s/small", "s/c/small"), 0);
	assert_int_equal(symlink("nowhere", "s/a/l"), 0);
	assert_int_equal(mkfifo("s/a/p", 0666), 0);
}

static bool copy(struct pfu_copy_options *o, struct pfu_counts *c)
{
	struct pfu_copy_operand operand = { "s", "d" };
	struct pfu_tally t = { NULL };
	bool ok;

	o->recursive = true;
	o->umask = 022;
	o->tally = &t;
	ok = pfu_copy(o, &silent, NULL, &operand, 1);
	pfu_tally_read(&t, c);
	assert_false(c->listing);
	assert_int_equal(c->busy, 0);
	assert_int_equal(pfu_counts_settled(c), c->n[PFU_COUNT_FOUND]);
	pfu_tally_free(&t);
	return ok;
}

static bool remove_it(const char *name, struct pfu_remove_options *o, struct pfu_counts *c)
{
	char *operand = (char *)(uintptr_t)name;
	struct pfu_tally t = { NULL };
	bool ok;

	t.exact = true;
	o->recursive = true;
	o->privileged = true;
	o->tally = &t;
	ok = pfu_remove(o, &silent, &operand, 1);
	pfu_tally_read(&t, c);
	assert_false(c->listing);
	assert_int_equal(pfu_counts_settled(c), c->n[PFU_COUNT_FOUND]);
	pfu_tally_free(&t);
	return ok;
}

static void a_copy(void **state)
{
	static const unsigned int workers[] = { 1, 2, 8 };
	struct pfu_counts c;
	size_t i;

	(void)state;
	make_tree();
	for (i = 0; i < COUNT(workers); i++) {
		struct pfu_copy_options o = { .workers = workers[i], .preserve = PFU_ATTR_LINKS };
		struct pfu_remove_options r = { .workers = workers[i] };

		assert_true(copy(&o, &c));
		assert_int_equal(c.n[PFU_COUNT_FOUND], 12);
		assert_int_equal(c.n[PFU_COUNT_FILES], 5);
		assert_int_equal(c.n[PFU_COUNT_DIRECTORIES], 4);
		assert_int_equal(c.n[PFU_COUNT_LINKS], 2);
		assert_int_equal(c.n[PFU_COUNT_SPECIAL], 1);
		assert_int_equal(c.n[PFU_COUNT_BYTES], 1000 + (1 << 20) + 5000 + 70000 + LARGE);
		assert_int_equal(c.n[PFU_COUNT_FOUND_BYTES], c.n[PFU_COUNT_BYTES]);
		if (c.n[PFU_COUNT_CLONED] == 0) {
			assert_int_equal(c.n[PFU_COUNT_HOLES] / 4096, (1 << 20) / 4096);
			assert_int_equal(c.n[PFU_COUNT_OFFLOADED], c.n[PFU_COUNT_BYTES] - c.n[PFU_COUNT_HOLES]);
		}

		/* Again, and nothing is replaced. */
		o.interactive = PFU_INTERACTIVE_SKIP;
		assert_true(copy(&o, &c));
		assert_int_equal(c.n[PFU_COUNT_SKIPPED], 8);
		assert_int_equal(c.n[PFU_COUNT_DIRECTORIES], 4);
		assert_int_equal(c.n[PFU_COUNT_BYTES], 0);

		assert_true(remove_it("d", &r, &c));
		assert_int_equal(c.n[PFU_COUNT_FOUND], 12);
		assert_int_equal(c.n[PFU_COUNT_FILES], 6);
		assert_int_equal(c.n[PFU_COUNT_DIRECTORIES], 4);
		assert_int_equal(c.n[PFU_COUNT_LINKS], 1);
		assert_int_equal(c.n[PFU_COUNT_SPECIAL], 1);
	}
	unit_remove("s");
}

/* Fails for the large file, after some of it has been written. */
static atomic_int pieces;

static ssize_t full(int in, off_t *in_off, int out, off_t *out_off, size_t len, unsigned int flags)
{
	if (len > 100000 && atomic_fetch_add(&pieces, 1) > 0) {
		errno = ENOSPC;
		return -1;
	}
	return copy_file_range(in, in_off, out, out_off, len, flags);
}

static void a_copy_that_fails(void **state)
{
	static const unsigned int workers[] = { 1, 2, 8 };
	struct pfu_fsys fs = pfu_fsys_posix;
	struct pfu_counts c;
	size_t i;

	(void)state;
	fs.copy_file_range = full;
	make_tree();
	for (i = 0; i < COUNT(workers); i++) {
		struct pfu_copy_options o = { .fs = &fs, .workers = workers[i], .reflink = PFU_REFLINK_NEVER };

		atomic_store(&pieces, 0);
		assert_false(copy(&o, &c));
		assert_int_equal(c.n[PFU_COUNT_FAILED], 1);
		assert_int_equal(c.n[PFU_COUNT_FILES], 5);
		assert_int_equal(c.n[PFU_COUNT_BYTES], 1000 + 1000 + (1 << 20) + 5000 + 70000);
		assert_int_equal(c.n[PFU_COUNT_FOUND_BYTES], c.n[PFU_COUNT_BYTES]);
		unit_remove("d");
	}
	unit_remove("s");
}

static int refuse(int dirfd, const char *name, int flags)
{
	if (strcmp(name, "f") == 0) {
		errno = EPERM;
		return -1;
	}
	return unlinkat(dirfd, name, flags);
}

static void a_removal_that_fails(void **state)
{
	static const unsigned int workers[] = { 1, 2, 8 };
	struct pfu_fsys fs = pfu_fsys_posix;
	struct pfu_counts c;
	size_t i;

	(void)state;
	fs.unlinkat = refuse;
	for (i = 0; i < COUNT(workers); i++) {
		struct pfu_remove_options o = { .fs = &fs, .workers = workers[i] };

		make_tree();
		assert_false(remove_it("s", &o, &c));
		assert_int_equal(c.n[PFU_COUNT_FAILED], 1);  /* f */
		assert_int_equal(c.n[PFU_COUNT_SKIPPED], 3); /* b, a and s, for what is in them */
		assert_int_equal(c.n[PFU_COUNT_DIRECTORIES], 1);
		assert_int_equal(c.n[PFU_COUNT_FILES], 5);
		unit_remove("s");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_a_tally),
		cmocka_unit_test(sums),
		cmocka_unit_test(taken_back),
		cmocka_unit_test(types),
		cmocka_unit_test(read_meanwhile),
		cmocka_unit_test(not_due),
		cmocka_unit_test(a_copy),
		cmocka_unit_test(a_copy_that_fails),
		cmocka_unit_test(a_removal_that_fails),
	};

	unit_start();
	return cmocka_run_group_tests(tests, unit_scratch_make, unit_scratch_remove);
}
