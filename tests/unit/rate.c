/*
 * rate.c - tests of pfu/rate.h.  What is asserted holds on a busy machine, too: a
 * limit is never exceeded, whoever comes late; only "not much slower" is a guess, and
 * a generous one.
 */
#include "unit.h"
#include <pfu/pool.h>
#include <pfu/rate.h>
#include <pthread.h>
#include <time.h>

#define MS ((uint64_t)1000000)
#define SECOND (1000 * MS)
/* What the implementation allows itself: to go so early, and to make up for so much. */
#define EARLY (1 * MS)
#define LATE (50 * MS)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void none_is_none(void **state)
{
	struct pfu_rate rate;
	atomic_bool cancel = true;
	int i;

	(void)state;
	pfu_rate_init(&rate, 0, &cancel);
	for (i = 0; i < 100000; i++)
		assert_true(pfu_rate_wait(&rate, 1 << 20));
	pfu_rate_return(&rate, 5);
	assert_int_equal(atomic_load(&rate.next), 0);
	assert_int_equal(pfu_rate_piece(&rate, 12345), 12345);
}

static void pieces(void **state)
{
	struct pfu_rate rate;

	(void)state;
	pfu_rate_init(&rate, 6400, NULL);
	assert_int_equal(pfu_rate_piece(&rate, 1 << 20), 100);
	assert_int_equal(pfu_rate_piece(&rate, 100), 100);
	assert_int_equal(pfu_rate_piece(&rate, 99), 99);
	assert_int_equal(pfu_rate_piece(&rate, 0), 0);
	/* However slow, something is moved at a time. */
	pfu_rate_init(&rate, 3, NULL);
	assert_int_equal(pfu_rate_piece(&rate, 10), 1);
	assert_int_equal(pfu_rate_piece(&rate, 0), 0);
	/* However fast, a number that can be. */
	pfu_rate_init(&rate, UINT64_MAX, NULL);
	assert_int_equal(pfu_rate_piece(&rate, 1 << 30), 1 << 30);
	assert_true(pfu_rate_wait(&rate, 1 << 30));
}

/* ---- many threads ---- */

#define THREADS 20
#define PLACES 30 /* of each */

static struct {
	struct pfu_rate rate;
	uint64_t at[THREADS][PLACES]; /* when each place was reached */
} crowd;

static void *take_places(void *arg)
{
	uint64_t *at = arg;
	int i;

	for (i = 0; i < PLACES; i++) {
		CHECK(pfu_rate_wait(&crowd.rate, 1));
		at[i] = now_ns();
	}
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void holds_from_the_start(void **state)
{
	uint64_t start, all[THREADS * PLACES], cost = SECOND / 1000;
	pthread_t thread[THREADS];
	size_t i;

	(void)state;
	start = now_ns();
	pfu_rate_init(&crowd.rate, 1000, NULL);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_places, crowd.at[i]), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	memcpy(all, crowd.at, sizeof(all));
	qsort(all, COUNT(all), sizeof(all[0]), by_time);
	/* At no time had more places been reached than the limit allows. */
	for (i = 0; i < COUNT(all); i++)
		assert_true(all[i] + EARLY >= start + i * cost);
	/* And it was made use of. */
	assert_true(all[COUNT(all) - 1] < start + 10 * COUNT(all) * cost);
	assert_int_equal(atomic_load(&crowd.rate.asleep), 0);
	assert_checks();
}

static void nothing_is_saved_up(void **state)
{
	struct timespec pause = { .tv_nsec = (long)(300 * MS) };
	struct pfu_rate rate;
	uint64_t start;
	int i;

	(void)state;
	pfu_rate_init(&rate, 1000, NULL);
	nanosleep(&pause, NULL);
	start = now_ns();
	for (i = 0; i < 200; i++)
		assert_true(pfu_rate_wait(&rate, 1));
	assert_true(now_ns() + EARLY + LATE >= start + 199 * MS);
}

static void lots_cost_as_much_as_singles(void **state)
{
	struct pfu_rate rate;
	uint64_t start = now_ns();

	(void)state;
	pfu_rate_init(&rate, 1000, NULL);
	assert_true(pfu_rate_wait(&rate, 150));
	assert_true(pfu_rate_wait(&rate, 0)); /* takes no place */
	assert_true(pfu_rate_wait(&rate, 1));
	assert_true(now_ns() + EARLY >= start + 150 * MS);
}

static void what_was_not_used_is_given_back(void **state)
{
	struct pfu_rate rate;
	uint64_t start = now_ns();
	int i;

	(void)state;
	pfu_rate_init(&rate, 10, NULL);
	for (i = 0; i < 1000; i++) {
		assert_true(pfu_rate_wait(&rate, 100));
		pfu_rate_return(&rate, 100);
	}
	/* (It would have been 10,000 seconds.) */
	assert_true(now_ns() < start + 60 * SECOND);
	assert_true(pfu_rate_wait(&rate, 1));
	assert_true(pfu_rate_wait(&rate, 1));
	assert_true(now_ns() + EARLY + LATE >= start + 100 * MS);
}

/* ---- ending early ---- */

static struct {
	struct pfu_limits limits;
	atomic_bool cancel;
} sleeper;

static void *sleep_long(void *arg)
{
	(void)arg;
	CHECK(!pfu_rate_wait(&sleeper.limits.bytes, 1));
	return NULL;
}

static void the_cancelled_do_not_sleep_on(void **state)
{
	struct timespec tick = { .tv_nsec = (long)MS };
	pthread_t thread[2];

	(void)state;
	pfu_rate_init(&sleeper.limits.files, 0, &sleeper.cancel);
	pfu_rate_init(&sleeper.limits.bytes, 1, &sleeper.cancel);
	assert_true(pfu_rate_wait(&sleeper.limits.bytes, 100000)); /* more than a day until the next */
	assert_int_equal(pfu_limits_asleep(&sleeper.limits), 0);
	pthread_create(&thread[0], NULL, sleep_long, NULL);
	pthread_create(&thread[1], NULL, sleep_long, NULL);

	while (pfu_limits_asleep(&sleeper.limits) < 2)
		nanosleep(&tick, NULL);
	atomic_store(&sleeper.cancel, true);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);

	assert_int_equal(pfu_limits_asleep(&sleeper.limits), 0);
	assert_false(pfu_rate_wait(&sleeper.limits.bytes, 1));
	assert_checks();
}

/* ---- the number of workers ---- */

static struct pfu_limits tuned;

static void run_limited(struct pfu_worker *worker, struct pfu_task *task)
{
	(void)task;
	pfu_rate_wait(&tuned.files, 1);
	pfu_pool_did(worker, 1);
}

/* A pool that looks for the best number of workers does not try more for what a limit does. */
static void a_limit_needs_no_more_workers(void **state)
{
	struct pfu_pool_options options = {
		.workers = 64, .adapt_from = 4, .bound = 1 << 20, .start_work = 1, .limits = &tuned
	};
	struct pfu_pool *pool = pfu_pool_create(&options);
	static struct pfu_task task[400];
	struct pfu_group group = { 0 };
	size_t i;

	(void)state;
	assert_non_null(pool);
	pfu_rate_init(&tuned.files, 400, NULL);
	pfu_rate_init(&tuned.bytes, 0, NULL);
	for (i = 0; i < COUNT(task); i++) {
		task[i] = (struct pfu_task){ .run = run_limited, .group = &group, .work = 1 };
		task[i].next = i + 1 < COUNT(task) ? &task[i + 1] : NULL;
	}
	pfu_pool_submit(pool, task);
	assert_int_equal(pfu_pool_run(pool), 0);
	assert_in_range(pfu_pool_threads(pool), 1, 4);
	pfu_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_none),
		cmocka_unit_test(pieces),
		cmocka_unit_test(holds_from_the_start),
		cmocka_unit_test(nothing_is_saved_up),
		cmocka_unit_test(lots_cost_as_much_as_singles),
		cmocka_unit_test(what_was_not_used_is_given_back),
		cmocka_unit_test(the_cancelled_do_not_sleep_on),
		cmocka_unit_test(a_limit_needs_no_more_workers),
	};

	unit_start();
	return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
