/*
 * closer.c - tests of pfu/closer.h: that what was handed in is closed, in as few
 * calls as can be, and nothing else is.
 */
#include "unit.h"
#include <pfu/closer.h>

enum { FDS = 400 };

/* What a table of operations that only counts has seen. */
static unsigned int closed[FDS]; /* how often each descriptor was closed */
static unsigned int close_calls, range_calls;
static int range_error;

static int count_close(int fd)
{
	close_calls++;
	closed[fd]++;
	return 0;
}

static int count_close_range(unsigned int first, unsigned int last, unsigned int flags)
{
	CHECK(first <= last);
	CHECK(flags == 0);
	range_calls++;
	if (range_error) {
		errno = range_error;
		return -1;
	}
	for (; first <= last; first++)
		closed[first]++;
	return 0;
}

static const struct pfu_fsys counting = {
	.close = count_close,
	.close_range = count_close_range,
};

static int reset(void **state)
{
	(void)state;
	memset(closed, 0, sizeof(closed));
	close_calls = range_calls = 0;
	range_error = 0;
	return 0;
}

static void add_all(struct pfu_closer *c, const int *fd, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		pfu_closer_add(c, fd[i]);
}

/* Fails unless exactly the n descriptors have been closed, once each. */
static void assert_closed(const int *fd, size_t n)
{
	unsigned int total = 0;
	size_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(closed[fd[i]], 1);
	for (i = 0; i < FDS; i++)
		total += closed[i];
	assert_int_equal(total, n);
	assert_checks();
}

static void runs_are_closed_in_one_call(void **state)
{
	static const int fd[] = { 12, 7, 5, 30, 6, 11, 9, 13, 8 };
	struct pfu_closer c;

	(void)state;
	pfu_closer_init(&c, &counting, 100);
	add_all(&c, fd, COUNT(fd));
	assert_int_equal(close_calls + range_calls, 0);
	pfu_closer_flush(&c);
	assert_closed(fd, COUNT(fd));
	assert_int_equal(range_calls, 2); /* 5 to 9, 11 to 13 */
	assert_int_equal(close_calls, 1); /* 30 */
	pfu_closer_flush(&c);
	assert_int_equal(close_calls + range_calls, 3);
}

static void without_a_limit_it_closes_at_once(void **state)
{
	static const int fd[] = { 4, 5, 6 };
	struct pfu_closer c;
	size_t i;

	(void)state;
	pfu_closer_init(&c, &counting, 0);
	for (i = 0; i < COUNT(fd); i++) {
		pfu_closer_add(&c, fd[i]);
		assert_int_equal(close_calls, i + 1);
	}
	pfu_closer_flush(&c);
	assert_closed(fd, COUNT(fd));
	assert_int_equal(range_calls, 0);
}

static void no_more_than_the_limit_are_kept(void **state)
{
	static const int fd[] = { 10, 11, 12, 13, 14 };
	struct pfu_closer c;

	(void)state;
	pfu_closer_init(&c, &counting, 4);
	add_all(&c, fd, 3);
	assert_closed(fd, 0);
	add_all(&c, fd + 3, 2);
	assert_closed(fd, 4);
	assert_int_equal(range_calls, 1);
	pfu_closer_flush(&c);
	assert_closed(fd, 5);
}

static void the_limit_has_a_limit(void **state)
{
	struct pfu_closer c;
	int i;

	(void)state;
	pfu_closer_init(&c, &counting, 1000000);
	for (i = 0; i < FDS; i++)
		pfu_closer_add(&c, i);
	pfu_closer_flush(&c);
	for (i = 0; i < FDS; i++)
		assert_int_equal(closed[i], 1);
	assert_int_equal(range_calls, (FDS + PFU_CLOSER_MAX - 1) / PFU_CLOSER_MAX);
}

/* Where close_range() is not to be had, close() does it. */
static void each_is_closed_where_runs_cannot_be(void **state)
{
	static const int fd[] = { 3, 4, 5, 8, 9 };
	struct pfu_closer c;

	(void)state;
	range_error = ENOSYS;
	pfu_closer_init(&c, &counting, 8);
	add_all(&c, fd, COUNT(fd));
	pfu_closer_flush(&c);
	assert_closed(fd, COUNT(fd));
	assert_int_equal(close_calls, COUNT(fd));
}

static void random_sets(void **state)
{
	uint64_t seed = 7;
	unsigned int round, n, i, j, runs;
	struct pfu_closer c;
	int fd[FDS], swap;

	for (round = 0; round < 3000; round++) {
		reset(state);
		range_error = round % 5 == 0 ? EPERM : 0;
		/* Some of the descriptors, in any order. */
		for (i = n = 0; i < FDS; i++) {
			if (rnd_below(&seed, 4) > round % 4)
				fd[n++] = (int)i;
		}
		for (i = 1, runs = n > 0; i < n; i++)
			runs += fd[i] != fd[i - 1] + 1;
		for (i = n; i > 1; i--) {
			j = rnd_below(&seed, i);
			swap = fd[i - 1];
			fd[i - 1] = fd[j];
			fd[j] = swap;
		}
		pfu_closer_init(&c, &counting, 1 + rnd_below(&seed, PFU_CLOSER_MAX));
		add_all(&c, fd, n);
		pfu_closer_flush(&c);
		assert_closed(fd, n);
		if (n <= c.limit && !range_error)
			assert_int_equal(close_calls + range_calls, runs);
	}
}

/* With the kernel's own calls, among descriptors of others. */
static void others_stay_open(void **state)
{
	unsigned int before = open_fds();
	struct pfu_closer c;
	int fd[60];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(fd); i++)
		assert_true((fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
	pfu_closer_init(&c, &pfu_fsys_posix, 16);
	for (i = 0; i < COUNT(fd); i++) {
		if (i % 7 != 3)
			pfu_closer_add(&c, fd[i]);
	}
	pfu_closer_flush(&c);
	for (i = 0; i < COUNT(fd); i++)
		assert_int_equal(fcntl(fd[i], F_GETFD) >= 0, i % 7 == 3);
	for (i = 3; i < COUNT(fd); i += 7)
		close(fd[i]);
	assert_int_equal(open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(runs_are_closed_in_one_call, reset),
		cmocka_unit_test_setup(without_a_limit_it_closes_at_once, reset),
		cmocka_unit_test_setup(no_more_than_the_limit_are_kept, reset),
		cmocka_unit_test_setup(the_limit_has_a_limit, reset),
		cmocka_unit_test_setup(each_is_closed_where_runs_cannot_be, reset),
		cmocka_unit_test_setup(random_sets, reset),
		cmocka_unit_test(others_stay_open),
	};

	unit_start();
	return cmocka_run_group_tests_name("closer", tests, NULL, NULL);
}
