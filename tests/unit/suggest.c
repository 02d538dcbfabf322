/*
 * suggest.c - tests of src/suggest.h: which option was meant.
 */
#include "unit.h"
#include "suggest.h"
#include <getopt.h>
#include <string.h>

static const struct option options[] = {
	{ .name = "recursive" }, { .name = "force" }, { .name = "update" },
	{ .name = "no-clobber" }, { .name = "one-file-system" }, { 0 },
};

static const char *meant(const char *typed)
{
	return suggest_option(options, typed, strlen(typed));
}

static void slips(void **state)
{
	(void)state;
	assert_string_equal(meant("recusive"), "recursive");   /* missing */
	assert_string_equal(meant("recurrsive"), "recursive"); /* too many */
	assert_string_equal(meant("recorsive"), "recursive");  /* wrong */
	assert_string_equal(meant("ercursive"), "recursive");  /* exchanged, at the beginning */
	assert_string_equal(meant("recursiev"), "recursive");  /* and at the end */
	assert_string_equal(meant("noclobber"), "no-clobber");
	assert_string_equal(meant("one-filesystem"), "one-file-system");
}

static void an_exchange_is_one_slip(void **state)
{
	(void)state;
	/* Of four letters one may be wrong; as two wrong letters this would be too far. */
	assert_string_equal(suggest_option((struct option[]){ { .name = "link" }, { 0 } }, "lnik", 4),
			    "link");
}

static void nothing_alike(void **state)
{
	char longest[200];

	(void)state;
	memset(longest, 'r', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(meant("nosuch"));
	assert_null(meant("x"));
	assert_null(meant(longest));
}

static void what_was_understood(void **state)
{
	(void)state;
	assert_null(meant("recur"));
	assert_null(meant(""));
}

static void the_argument_is_left_out(void **state)
{
	(void)state;
	assert_string_equal(suggest_option(options, "updaet=none", 6), "update");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips),
		cmocka_unit_test(an_exchange_is_one_slip),
		cmocka_unit_test(nothing_alike),
		cmocka_unit_test(what_was_understood),
		cmocka_unit_test(the_argument_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
