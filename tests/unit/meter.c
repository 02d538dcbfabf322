/*
 * meter.c - tests of what the meter says (src/meter.h) and of numbers for a person
 * (src/show.h).
 */
#include "unit.h"
#include <meter.h>
#include <show.h>

static void counts_in_threes(void **state)
{
	char buf[SHOW_MAX];

	(void)state;
	assert_string_equal(show_count(buf, 0), "0");
	assert_string_equal(show_count(buf, 999), "999");
	assert_string_equal(show_count(buf, 1000), "1,000");
	assert_string_equal(show_count(buf, 12345), "12,345");
	assert_string_equal(show_count(buf, 123456), "123,456");
	assert_string_equal(show_count(buf, 1234567), "1,234,567");
	assert_string_equal(show_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void sizes(void **state)
{
	char buf[SHOW_MAX];
	uint64_t n;

	(void)state;
	assert_string_equal(show_size(buf, 0), "0 B");
	assert_string_equal(show_size(buf, 1023), "1023 B");
	assert_string_equal(show_size(buf, 1024), "1.00 KiB");
	assert_string_equal(show_size(buf, 10229), "9.99 KiB");
	assert_string_equal(show_size(buf, 10239), "10.0 KiB");
	assert_string_equal(show_size(buf, 102348), "99.9 KiB");
	assert_string_equal(show_size(buf, 102399), "100 KiB");
	assert_string_equal(show_size(buf, 1023 * 1024), "1023 KiB");
	assert_string_equal(show_size(buf, 1024 * 1024 - 1), "1.00 MiB");
	assert_string_equal(show_size(buf, (uint64_t)5 << 30), "5.00 GiB");
	assert_string_equal(show_size(buf, (uint64_t)7 << 40), "7.00 TiB");
	assert_string_equal(show_size(buf, UINT64_MAX), "16.0 EiB");
	/* Never wider than eight columns, and from 1 KiB on hardly ever narrower. */
	for (n = 1; n < (uint64_t)1 << 62; n += n / 13 + 1)
		assert_in_range(strlen(show_size(buf, n)), 3, 8);
}

static void rates(void **state)
{
	char buf[SHOW_MAX];

	(void)state;
	assert_string_equal(show_rate(buf, 0), "0.0");
	assert_string_equal(show_rate(buf, 0.26), "0.3");
	assert_string_equal(show_rate(buf, 9.94), "9.9");
	assert_string_equal(show_rate(buf, 9.96), "10");
	assert_string_equal(show_rate(buf, 12345.4), "12,345");
	assert_string_equal(show_rate(buf, 1e300), "1,000,000,000,000,000,000");
}

static void times(void **state)
{
	char buf[SHOW_MAX];

	(void)state;
	assert_string_equal(show_time(buf, 0), "0 ns");
	assert_string_equal(show_time(buf, 999e-9), "999 ns");
	assert_string_equal(show_time(buf, 999.7e-9), "1.00 us");
	assert_string_equal(show_time(buf, 12.34e-6), "12.3 us");
	assert_string_equal(show_time(buf, 0.1234), "123 ms");
	assert_string_equal(show_time(buf, 0.9999), "1.00 s");
	assert_string_equal(show_time(buf, 3723.4), "3723 s");
}

static void waits(void **state)
{
	char buf[SHOW_MAX];

	(void)state;
	assert_string_equal(show_wait(buf, 0), "0:00");
	assert_string_equal(show_wait(buf, 0.2), "0:01");
	assert_string_equal(show_wait(buf, 59), "0:59");
	assert_string_equal(show_wait(buf, 61), "1:01");
	assert_string_equal(show_wait(buf, 3599), "59:59");
	assert_string_equal(show_wait(buf, 3600), "1:00:00");
	assert_string_equal(show_wait(buf, 86399), "23:59:59");
	assert_string_equal(show_wait(buf, 86400), "1d 00h");
	assert_string_equal(show_wait(buf, 3 * 86400 + 5 * 3600), "3d 05h");
	assert_string_equal(show_wait(buf, 1e9), "ages");
	assert_string_equal(show_wait(buf, 1e300), "ages");
}

/* ---- what is seen ---- */

static struct pfu_counts counts(uint64_t found, uint64_t done, uint64_t bytes, bool listing)
{
	struct pfu_counts c = { .listing = listing, .workers = 20, .busy = 20 };

	c.n[PFU_COUNT_FOUND] = found;
	c.n[PFU_COUNT_FILES] = done;
	c.n[PFU_COUNT_BYTES] = bytes;
	c.n[PFU_COUNT_FOUND_BYTES] = bytes;
	return c;
}

static void rates_of_the_last_seconds(void **state)
{
	struct meter m = { .copies = true };
	struct pfu_counts c = counts(0, 0, 0, true);
	struct meter_view v;
	int i;

	(void)state;
	meter_note(&m, 100, &c);
	v = meter_look(&m, &c);
	assert_true(v.entry_rate < 0); /* nobody knows */
	assert_true(v.left < 0);
	c = counts(100, 10, 1000, true);
	meter_note(&m, 100.1, &c);
	v = meter_look(&m, &c);
	assert_true(v.entry_rate < 0); /* still too early */
	/* 100 a second for a minute, then 10 a second: that is what counts soon. */
	for (i = 1; i <= 120; i++) {
		c = counts(100000, (uint64_t)i * 50, (uint64_t)i * 50000, true);
		meter_note(&m, 101 + i * 0.5, &c);
	}
	v = meter_look(&m, &c);
	assert_true(v.entry_rate > 99 && v.entry_rate < 101);
	assert_true(v.byte_rate > 99000 && v.byte_rate < 101000);
	assert_true(v.more);
	assert_true(v.left < 0); /* what there is has not been seen to its end */
	for (i = 1; i <= 7; i++) {
		c = counts(100000, 6000 + (uint64_t)i * 5, 6000000, true);
		meter_note(&m, 161 + i * 0.5, &c);
	}
	v = meter_look(&m, &c);
	assert_true(v.entry_rate > 9 && v.entry_rate < 11);
	assert_true(v.byte_rate < 1);
}

static void bytes_taken_back(void **state)
{
	struct meter m = { .copies = true };
	struct pfu_counts c = counts(100, 1, 1000000, true);

	(void)state;
	meter_note(&m, 0, &c);
	c = counts(100, 1, 0, true);
	meter_note(&m, 1, &c);
	assert_true(meter_look(&m, &c).byte_rate == 0);
}

static void time_left(void **state)
{
	struct meter m = { .copies = false };
	struct pfu_counts c = counts(0, 0, 0, true);
	struct meter_view v;

	(void)state;
	meter_note(&m, 0, &c);
	c = counts(1000, 100, 0, false);
	meter_note(&m, 1, &c);
	v = meter_look(&m, &c);
	assert_true(v.left > 8.9 && v.left < 9.1);
	/* What was skipped or failed is not left either; and what failed is not done. */
	c.n[PFU_COUNT_SKIPPED] = 600;
	c.n[PFU_COUNT_FAILED] = 300;
	v = meter_look(&m, &c);
	assert_true(v.left == 0);
	assert_int_equal(v.done, 700);
	/* Nothing has gone on: nobody knows. */
	m.taken = 0;
	c = counts(1000, 100, 0, false);
	meter_note(&m, 0, &c);
	meter_note(&m, 1, &c);
	assert_true(meter_look(&m, &c).left < 0);
}

/* One large file: its bytes are what counts. */
static void time_left_of_a_file(void **state)
{
	struct meter m = { .copies = true };
	struct pfu_counts c = counts(1, 0, 0, false);
	struct meter_view v;

	(void)state;
	c.n[PFU_COUNT_FOUND_BYTES] = 10000;
	meter_note(&m, 0, &c);
	c.n[PFU_COUNT_BYTES] = 1000;
	meter_note(&m, 1, &c);
	v = meter_look(&m, &c);
	assert_int_equal(v.all_bytes, 10000);
	assert_true(v.left > 8.9 && v.left < 9.1);
}

/* The file system has told what there is. */
static void totals(void **state)
{
	struct meter m = { .copies = true, .total = true, .total_entries = 1000, .total_bytes = 100000 };
	struct pfu_counts c = counts(0, 0, 0, true);
	struct meter_view v;

	(void)state;
	meter_note(&m, 0, &c);
	c = counts(200, 100, 5000, true);
	meter_note(&m, 1, &c);
	v = meter_look(&m, &c);
	assert_false(v.more);
	assert_int_equal(v.found, 1000);
	assert_int_equal(v.all_bytes, 100000);
	/* By files it would be 9 s. */
	assert_true(v.left > 18.9 && v.left < 19.1);
	/* More than it knew of: it was told late, or there is more by now. */
	c = counts(2000, 100, 5000, true);
	assert_int_equal(meter_look(&m, &c).found, 2000);
	/* The bytes of what is skipped will not come. */
	c = counts(200, 0, 5000, true);
	c.n[PFU_COUNT_SKIPPED] = 100;
	v = meter_look(&m, &c);
	assert_true(v.left > 8.9 && v.left < 9.1);
}

/* ---- the line ---- */

static const struct meter_view usual = {
	.copies = true,
	.done = 12345,
	.found = 45678,
	.more = false,
	.bytes = 1321205760,
	.entry_rate = 3210,
	.byte_rate = 125829120,
	.left = 195,
	.busy = 20,
};

static const char *line(size_t width, const struct meter_view *v)
{
	static char buf[METER_MAX];
	size_t len = meter_line(buf, width, false, v);

	assert_int_equal(len, strlen(buf));
	assert_true(len <= width);
	return buf;
}

static void what_fits(void **state)
{
	struct meter_view v = usual;
	char buf[METER_MAX];
	size_t width;

	(void)state;
	assert_string_equal(line(79, &v),
			    "12,345/45,678 files, 3,210/s  1.23 GiB, 120 MiB/s  3:15 left  20 busy");
	assert_string_equal(line(68, &v), "12,345/45,678 files, 3,210/s  1.23 GiB, 120 MiB/s  3:15 left");
	assert_string_equal(line(55, &v), "12,345/45,678 files, 3,210/s  1.23 GiB  3:15 left");
	assert_string_equal(line(40, &v), "12,345/45,678 files  1.23 GiB  3:15 left");
	assert_string_equal(line(39, &v), "12,345/45,678 files, 3,210/s  1.23 GiB");
	assert_string_equal(line(30, &v), "12,345/45,678 files  1.23 GiB");
	assert_string_equal(line(19, &v), "12,345/45,678 files");
	assert_string_equal(line(9, &v), "12,345/45");
	assert_string_equal(line(0, &v), "");
	for (width = 0; width < 2 * METER_MAX; width++)
		assert_true(meter_line(buf, width, true, &v) <= width);
}

static void what_is_known(void **state)
{
	struct meter_view v = usual;

	(void)state;
	v.more = true;
	v.left = -1;
	assert_string_equal(line(200, &v),
			    "12,345/45,678+ files, 3,210/s  1.23 GiB, 120 MiB/s  20 busy");
	v.entry_rate = v.byte_rate = -1;
	assert_string_equal(line(200, &v), "12,345/45,678+ files  1.23 GiB  20 busy");
	v.copies = false;
	assert_string_equal(line(200, &v), "12,345/45,678+ files  20 busy");
	v = usual;
	v.all_bytes = 4896262717;
	assert_string_equal(line(200, &v),
			    "12,345/45,678 files, 3,210/s  1.23 GiB/4.56 GiB, 120 MiB/s  3:15 left  20 busy");
}

/* On a terminal the columns stay where they are while numbers change. */
static void keeps_its_columns(void **state)
{
	struct meter_view a = usual, b = usual;
	char one[METER_MAX], other[METER_MAX];

	(void)state;
	b.entry_rate = 9.5;
	b.bytes = 122120576;
	b.byte_rate = 10485760;
	b.left = 5;
	b.busy = 7;
	(void)meter_line(one, 200, true, &a);
	(void)meter_line(other, 200, true, &b);
	assert_int_equal(strlen(one), strlen(other));
	assert_ptr_equal(strchr(one, 'G') - one, strchr(other, 'M') - other);
}

/* As long as it can get. */
static void the_longest(void **state)
{
	struct meter_view v = {
		.copies = true,
		.done = UINT64_MAX,
		.found = UINT64_MAX,
		.more = true,
		.bytes = UINT64_MAX - 1,
		.all_bytes = UINT64_MAX,
		.entry_rate = 1e300,
		.byte_rate = 1e18,
		.left = 1e300,
		.busy = UINT32_MAX,
	};

	(void)state;
	assert_string_equal(line(METER_MAX, &v),
			    "18,446,744,073,709,551,615/18,446,744,073,709,551,615+ files, "
			    "1,000,000,000,000,000,000/s  16.0 EiB/16.0 EiB, 888 PiB/s  ages left  "
			    "4294967295 busy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_in_threes),
		cmocka_unit_test(sizes),
		cmocka_unit_test(rates),
		cmocka_unit_test(times),
		cmocka_unit_test(waits),
		cmocka_unit_test(rates_of_the_last_seconds),
		cmocka_unit_test(bytes_taken_back),
		cmocka_unit_test(time_left),
		cmocka_unit_test(time_left_of_a_file),
		cmocka_unit_test(totals),
		cmocka_unit_test(what_fits),
		cmocka_unit_test(what_is_known),
		cmocka_unit_test(keeps_its_columns),
		cmocka_unit_test(the_longest),
	};

	unit_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
