/*
 * timing.c - tests of src/timing.h.
 */
#include "unit.h"
#include <pthread.h>
#include <time.h>
#include <timing.h>

static void buckets(void **state)
{
	unsigned int i, last = 0;
	uint64_t ns;

	(void)state;
	for (ns = 0; ns < 16; ns++) {
		assert_int_equal(timing_bucket(ns), ns);
		assert_int_equal(timing_bucket_end((unsigned int)ns), ns);
	}
	assert_true(timing_bucket(UINT64_MAX) < TIMING_BUCKETS);
	assert_true(timing_bucket_end(timing_bucket(UINT64_MAX)) == UINT64_MAX);
	/* No time is lost between two, and each is known to an eighth. */
	for (ns = 1; ns < UINT64_MAX / 2; ns += ns / 37 + 1) {
		i = timing_bucket(ns);
		assert_in_range(i, last, TIMING_BUCKETS - 1);
		assert_true(timing_bucket_end(i) >= ns);
		assert_true(i == 0 || timing_bucket_end(i - 1) < ns);
		assert_true(timing_bucket_end(i) - ns <= ns / 8);
		last = i;
	}
}

static void quantiles(void **state)
{
	uint64_t b[TIMING_BUCKETS] = { 0 };

	(void)state;
	b[7] = 1;
	assert_int_equal(timing_quantile(b, 1, 990), 7);
	/* One of a hundred may be longer. */
	b[7] = 99;
	b[50] = 1;
	assert_int_equal(timing_quantile(b, 100, 990), 7);
	b[7] = 98;
	assert_int_equal(timing_quantile(b, 99, 990), 50);
	b[7] = 980;
	b[50] = 11;
	b[60] = 9;
	assert_int_equal(timing_quantile(b, 1000, 990), 50);
	assert_int_equal(timing_quantile(b, 1000, 500), 7);
	b[TIMING_BUCKETS - 1] = 1000000;
	assert_int_equal(timing_quantile(b, 1001000, 990), TIMING_BUCKETS - 1);
}

/* ---- the table ---- */

#define THREADS 4
#define EACH 50

static const struct pfu_fsys *fs;
static pthread_barrier_t barrier;

static int slow_fstat(int fd, struct stat *st)
{
	struct timespec ts = { 0, 2000000 };

	(void)fd;
	(void)st;
	nanosleep(&ts, NULL);
	errno = ESTALE;
	return -1;
}

static int together(int fd)
{
	(void)fd;
	pthread_barrier_wait(&barrier);
	return 0;
}

static void *call(void *arg)
{
	struct stat st;
	int i;

	(void)arg;
	for (i = 0; i < EACH; i++) {
		errno = 0;
		CHECK(fs->fstat(0, &st) == -1 && errno == ESTALE);
	}
	CHECK(fs->syncfs(0) == 0);
	return NULL;
}

static void times_of_calls(void **state)
{
	struct pfu_fsys inner = pfu_fsys_posix;
	struct timing t[TIMING_CLASSES];
	pthread_t thread[THREADS];
	int i, fd;

	(void)state;
	inner.fstat = slow_fstat;
	inner.syncfs = together;
	fs = timing_begin(&inner);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, call, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	fd = fs->openat(AT_FDCWD, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs->write(fd, "abc", 3), 3);
	assert_int_equal(fs->close(fd), 0);
	fd = fs->openat(AT_FDCWD, "f", O_RDONLY | O_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(fs->close(fd), 0);
	assert_int_equal(fs->unlinkat(AT_FDCWD, "f", 0), 0);
	assert_int_equal(fs->unlinkat(AT_FDCWD, "f", 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(timing_end(t), THREADS);
	assert_int_equal(t[TIMING_LOOKING].count, THREADS * EACH);
	assert_true(t[TIMING_LOOKING].total >= (uint64_t)THREADS * EACH * 2000000);
	assert_true(t[TIMING_LOOKING].p99 >= 2000000);
	assert_true(t[TIMING_LOOKING].longest >= t[TIMING_LOOKING].p99);
	assert_int_equal(t[TIMING_SYNCING].count, THREADS);
	assert_int_equal(t[TIMING_CREATING].count, 1);
	assert_int_equal(t[TIMING_OPENING].count, 1);
	assert_int_equal(t[TIMING_CLOSING].count, 2);
	assert_int_equal(t[TIMING_DATA].count, 1);
	assert_int_equal(t[TIMING_REMOVING].count, 2);
	assert_int_equal(t[TIMING_LISTING].count, 0);
	assert_int_equal(t[TIMING_LISTING].p99, 0);
	assert_checks();
}

/* A table that lacks a call would crash where it is needed. */
static void is_complete(void **state)
{
	const struct pfu_fsys *table = timing_begin(&pfu_fsys_posix);
	void (*const *call_of)(void) = (void (*const *)(void))(const void *)table;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(*table) / sizeof(call_of[0]); i++)
		assert_true(call_of[i] != NULL);
}

static void names(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < TIMING_CLASSES; i++)
		assert_non_null(timing_name((enum timing_class)i));
	assert_string_equal(timing_name(TIMING_SYNCING), "syncing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(times_of_calls),
		cmocka_unit_test(is_complete),
		cmocka_unit_test(names),
	};

	unit_start();
	return cmocka_run_group_tests(tests, unit_scratch_make, unit_scratch_remove);
}
