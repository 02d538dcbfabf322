/*
 * fsbench.c - tests of bench/fsbench-stats.h: sizes, numbers, summaries, latencies.
 */
#include "unit.h"
#include "../../bench/fsbench-stats.h"

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} table[] = {
		{"0", 0},
		{"1", 1},
		{"4096", 4096},
		{"12B", 12},
		{"1K", 1024},
		{"1k", 1024},
		{"1KiB", 1024},
		{"1KB", 1000},
		{"1kb", 1000},
		{"4MB", 4000000},
		{"4MiB", 4194304},
		{"4M", 4194304},
		{"4mib", 4194304},
		{"3G", 3ull << 30},
		{"3GB", 3000000000},
		{"2T", 2ull << 40},
		{"2TB", 2000000000000},
		{"007", 7},
		{"9223372036854775807", INT64_MAX},
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		bytes = 99;
		assert_true(fsb_parse_size(table[i].text, &bytes));
		assert_int_equal(bytes, table[i].bytes);
	}
}

static void no_sizes(void **state)
{
	static const char *const table[] = {"", "K", "MB", "-1", "+1", " 1", "1 ", "1 K", "1X",
		"1KK", "1KiBs", "1iB", "1Ki", "1.5M", "0x10", "4P", "9223372036854775808",
		"18446744073709551616", "99999999999999999999999", "8388608T", "9223373TB"};
	uint64_t bytes = 99;

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		if (fsb_parse_size(table[i], &bytes))
			fail_msg("'%s' was taken for a size", table[i]);
		assert_int_equal(bytes, 99);
	}
}

static void numbers(void **state)
{
	uint64_t n = 99;

	(void)state;
	assert_true(fsb_parse_number("1", 1, 10, &n));
	assert_int_equal(n, 1);
	assert_true(fsb_parse_number("10", 1, 10, &n));
	assert_int_equal(n, 10);
	assert_true(fsb_parse_number("18446744073709551615", 0, UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
	n = 99;
	assert_false(fsb_parse_number("0", 1, 10, &n));
	assert_false(fsb_parse_number("11", 1, 10, &n));
	assert_false(fsb_parse_number("", 0, 10, &n));
	assert_false(fsb_parse_number("-1", 0, 10, &n));
	assert_false(fsb_parse_number("1K", 0, 10000, &n));
	assert_false(fsb_parse_number("18446744073709551616", 0, UINT64_MAX, &n));
	assert_int_equal(n, 99);
}

static void summaries(void **state)
{
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct fsb_summary s = fsb_summarize(values, COUNT(values));

	(void)state;
	assert_float_equal(s.mean, 5, 1e-9);
	assert_float_equal(s.deviation, 2, 1e-9);
	assert_float_equal(s.min, 2, 0);
	assert_float_equal(s.max, 9, 0);

	s = fsb_summarize(values, 1);
	assert_float_equal(s.mean, 2, 0);
	assert_float_equal(s.deviation, 0, 0);
	assert_float_equal(s.min, 2, 0);
	assert_float_equal(s.max, 2, 0);

	s = fsb_summarize(values, 0);
	assert_float_equal(s.mean + s.deviation + s.min + s.max, 0, 0);
}

static void percentiles_of_nothing(void **state)
{
	static struct fsb_latencies l;

	(void)state;
	assert_int_equal(fsb_latency_percentile(&l, 50), 0);
	assert_int_equal(fsb_latency_percentile(&l, 100), 0);
}

/* Up to 63 ns a bucket is one nanosecond, so the answers are exact. */
static void exact_percentiles(void **state)
{
	static struct fsb_latencies l;

	(void)state;
	for (uint64_t ns = 1; ns <= 50; ns++) {
		fsb_latency_add(&l, ns);
		fsb_latency_add(&l, ns);
	}
	assert_int_equal(l.count, 100);
	assert_int_equal(l.max, 50);
	assert_int_equal(fsb_latency_percentile(&l, 0), 1);
	assert_int_equal(fsb_latency_percentile(&l, 2), 1);
	assert_int_equal(fsb_latency_percentile(&l, 3), 2);
	assert_int_equal(fsb_latency_percentile(&l, 50), 25);
	assert_int_equal(fsb_latency_percentile(&l, 90), 45);
	assert_int_equal(fsb_latency_percentile(&l, 99), 50);
	assert_int_equal(fsb_latency_percentile(&l, 99.9), 50);
	assert_int_equal(fsb_latency_percentile(&l, 100), 50);
}

/* Of any latency in range, what is read back is not smaller, and at most 1/32 larger. */
static void precision(void **state)
{
	static struct fsb_latencies l;
	uint64_t rng = 7;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		uint64_t ns = rnd(&rng) >> (24 + round % 40);
		uint64_t got;

		memset(&l, 0, sizeof(l));
		fsb_latency_add(&l, ns);
		fsb_latency_add(&l, UINT64_MAX);
		got = fsb_latency_percentile(&l, 50);
		assert_true(got >= ns);
		assert_true(got - ns <= ns / 32);
	}
}

/* What is longer than the last bucket counts, and is told as the longest that was seen. */
static void beyond_the_last(void **state)
{
	static struct fsb_latencies l;

	(void)state;
	fsb_latency_add(&l, 10);
	fsb_latency_add(&l, 1ull << 41);
	fsb_latency_add(&l, 1ull << 50);
	assert_int_equal(fsb_latency_percentile(&l, 30), 10);
	assert_int_equal(fsb_latency_percentile(&l, 50), 1ull << 50);
	assert_int_equal(fsb_latency_percentile(&l, 99.9), 1ull << 50);
}

static void merging(void **state)
{
	static struct fsb_latencies a, b;

	(void)state;
	fsb_latency_add(&a, 5);
	fsb_latency_add(&b, 7);
	fsb_latency_add(&b, 9);
	fsb_latency_merge(&a, &b);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.max, 9);
	assert_int_equal(fsb_latency_percentile(&a, 50), 7);
	assert_int_equal(b.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(no_sizes),
		cmocka_unit_test(numbers),
		cmocka_unit_test(summaries),
		cmocka_unit_test(percentiles_of_nothing),
		cmocka_unit_test(exact_percentiles),
		cmocka_unit_test(precision),
		cmocka_unit_test(beyond_the_last),
		cmocka_unit_test(merging),
	};

	unit_start();
	return cmocka_run_group_tests_name("fsbench", tests, NULL, NULL);
}
