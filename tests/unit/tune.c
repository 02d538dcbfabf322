/*
 * tune.c - tests of pfu/tune.h, on made-up file systems: what is done in a second
 * is a function of the number of workers.
 */
#include "unit.h"
#include <pfu/tune.h>

#define STEP 1000 /* microseconds between two looks */

/* Things done per second by so many workers. */
typedef double (*system_fn)(unsigned int workers);

struct run {
	struct pfu_tune tune;
	system_fn system;
	uint64_t now;
	double done;
	unsigned int changes, highest, lowest;
	uint64_t seed, noise; /* per cent that a step is faster or slower */
};

static void start(struct run *r, system_fn system, unsigned int workers, unsigned int most)
{
	*r = (struct run){ .system = system, .seed = 7, .highest = workers, .lowest = workers };
	pfu_tune_init(&r->tune, workers, most);
	assert_int_equal(r->tune.workers, workers);
}

static void pass(struct run *r, unsigned int milliseconds, bool busy)
{
	for (; milliseconds > 0; milliseconds--) {
		double step = r->system(r->tune.workers) * STEP / 1e6;
		unsigned int before = r->tune.workers;
		bool changed;

		r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
		if (r->noise)
			step *= 1 + ((double)((r->seed >> 33) % (2 * r->noise)) - (double)r->noise) / 100;
		r->now += STEP;
		r->done += step;
		changed = pfu_tune_look(&r->tune, r->now, (uint64_t)r->done, busy);
		assert_int_equal(changed, r->tune.workers != before);
		r->changes += r->tune.workers != before;
		assert_in_range(r->tune.workers, 1, r->tune.most);
		if (r->tune.workers > r->highest)
			r->highest = r->tune.workers;
		if (r->tune.workers < r->lowest)
			r->lowest = r->tune.workers;
	}
}

/* Things done per second in the time to come, trials included. */
static double rate(struct run *r, unsigned int milliseconds)
{
	double done = r->done;

	pass(r, milliseconds, true);
	return (r->done - done) * 1000 / milliseconds;
}

/* A network: nothing but round trips, 35 ms a file. */
static double latency(unsigned int workers)
{
	return workers / 0.035;
}

/* The same, but the server does no more than so many. */
static double server(unsigned int workers)
{
	return workers / 0.035 < 1000 ? workers / 0.035 : 1000;
}

/* One directory, one lock. */
static double lock(unsigned int workers)
{
	(void)workers;
	return 150;
}

/* Best with four; each one more makes it worse. */
static double disk(unsigned int workers)
{
	return workers <= 4 ? 100.0 * workers : 1600.0 / workers;
}

static void grows_while_that_gains(void **state)
{
	struct run r;

	(void)state;
	start(&r, latency, 20, 128);
	pass(&r, 1500, true);
	assert_int_equal(r.tune.workers, 128);
	pass(&r, 20000, true);
	/* It looks around from time to time, but stays where it is best. */
	assert_in_range(r.changes, 3, 30);
	assert_in_range(r.lowest, 20, 128);
}

static void no_more_than_the_server_takes(void **state)
{
	struct run r;

	(void)state;
	start(&r, server, 20, 128);
	pass(&r, 5000, true);
	assert_in_range(r.highest, 40, 80);
	assert_true(rate(&r, 10000) >= 0.9 * 1000);
}

static void stays_where_more_gain_nothing(void **state)
{
	struct run r;

	(void)state;
	start(&r, lock, 20, 128);
	pass(&r, 60000, true);
	assert_in_range(r.highest, 20, 40);
	assert_in_range(r.lowest, 10, 20);
	/* Ever more seldom. */
	assert_in_range(r.changes, 2, 40);
}

static void shrinks_where_fewer_are_faster(void **state)
{
	struct run r;

	(void)state;
	start(&r, disk, 20, 128);
	pass(&r, 10000, true);
	assert_in_range(r.lowest, 2, 5);
	assert_true(rate(&r, 10000) >= 0.75 * disk(4));
}

static void noise_does_not_lead_astray(void **state)
{
	struct run r;
	unsigned int i;

	(void)state;
	for (i = 1; i <= 50; i++) {
		start(&r, latency, 20, 128);
		r.noise = 60;
		r.seed = i;
		pass(&r, 3000, true);
		assert_in_range(r.tune.workers, 64, 128);
		start(&r, disk, 20, 128);
		r.noise = 60;
		r.seed = i;
		pass(&r, 10000, true);
		assert_true(rate(&r, 20000) >= 0.7 * disk(4));
	}
}

static void nothing_is_learnt_while_work_is_short(void **state)
{
	struct run r;

	(void)state;
	start(&r, latency, 20, 128);
	pass(&r, 10000, false);
	assert_int_equal(r.changes, 0);
	pass(&r, 1500, true);
	assert_int_equal(r.tune.workers, 128);
}

static void follows_a_system_that_changes(void **state)
{
	struct run r;

	(void)state;
	start(&r, lock, 20, 128);
	pass(&r, 5000, true);
	assert_in_range(r.tune.workers, 10, 40);
	r.system = latency;
	pass(&r, 60000, true);
	assert_int_equal(r.tune.workers, 128);
}

static void one_is_the_least(void **state)
{
	struct run r;

	(void)state;
	start(&r, lock, 1, 1);
	pass(&r, 5000, true);
	assert_int_equal(r.changes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_while_that_gains),
		cmocka_unit_test(no_more_than_the_server_takes),
		cmocka_unit_test(stays_where_more_gain_nothing),
		cmocka_unit_test(shrinks_where_fewer_are_faster),
		cmocka_unit_test(noise_does_not_lead_astray),
		cmocka_unit_test(nothing_is_learnt_while_work_is_short),
		cmocka_unit_test(follows_a_system_that_changes),
		cmocka_unit_test(one_is_the_least),
	};

	return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
