/*
 * names.c - tests of pfu/names.h: a set of strings.
 */
#include "unit.h"
#include <pfu/names.h>

static int add(struct pfu_names *set, const char *name)
{
	return pfu_names_add(set, name, strlen(name));
}

static void assert_directory(const char *path, const char *directory)
{
	char *got = pfu_name_directory(path);

	assert_string_equal(got, directory);
	assert_int_equal(pfu_name_directory_length(path), strcmp(directory, ".") ? strlen(directory) : 0);
	free(got);
}

static void directories(void **state)
{
	(void)state;
	assert_directory("a", ".");
	assert_directory("a/", ".");
	assert_directory("a/b", "a/");
	assert_directory("a//b//", "a//");
	assert_directory("/a", "/");
	assert_directory("/", "/");
	assert_directory("", ".");
}

static void says_what_is_new(void **state)
{
	struct pfu_names set = { 0 };

	(void)state;
	assert_int_equal(add(&set, "a"), 1);
	assert_int_equal(add(&set, "b"), 1);
	assert_int_equal(add(&set, "a"), 0);
	assert_int_equal(add(&set, "ab"), 1);
	assert_int_equal(add(&set, ""), 1);
	assert_int_equal(add(&set, ""), 0);
	assert_int_equal(add(&set, "\xff\xfe\n"), 1);
	assert_int_equal(add(&set, "\xff\xfe\n"), 0);
	pfu_names_clear(&set);
}

static void tells_what_is_there(void **state)
{
	struct pfu_names set = { 0 };

	(void)state;
	assert_false(pfu_names_has(&set, "a", 1));
	assert_int_equal(add(&set, "a"), 1);
	assert_int_equal(add(&set, "bc"), 1);
	assert_true(pfu_names_has(&set, "a", 1));
	assert_true(pfu_names_has(&set, "ab", 1));
	assert_true(pfu_names_has(&set, "bc", 2));
	assert_false(pfu_names_has(&set, "bc", 1));
	assert_false(pfu_names_has(&set, "b", 1));
	pfu_names_clear(&set);
	assert_false(pfu_names_has(&set, "a", 1));
}

static void takes_the_given_length_only(void **state)
{
	struct pfu_names set = { 0 };

	(void)state;
	assert_int_equal(pfu_names_add(&set, "dir///", 3), 1);
	assert_int_equal(add(&set, "dir"), 0);
	assert_int_equal(pfu_names_add(&set, "director", 3), 0);
	assert_int_equal(add(&set, "di"), 1);
	assert_int_equal(add(&set, "dirt"), 1);
	pfu_names_clear(&set);
}

/* The set holds copies: what it was given may go. */
static void keeps_copies(void **state)
{
	struct pfu_names set = { 0 };
	char buf[] = "one";

	(void)state;
	assert_int_equal(add(&set, buf), 1);
	memcpy(buf, "two", 3);
	assert_int_equal(add(&set, "two"), 1);
	assert_int_equal(add(&set, "one"), 0);
	pfu_names_clear(&set);
}

static void is_empty_once_cleared(void **state)
{
	struct pfu_names set = { 0 };

	(void)state;
	pfu_names_clear(&set);
	assert_int_equal(add(&set, "a"), 1);
	pfu_names_clear(&set);
	assert_int_equal(set.used, 0);
	assert_int_equal(add(&set, "a"), 1);
	pfu_names_clear(&set);
}

static void grows(void **state)
{
	enum { N = 200000 };
	struct pfu_names set = { 0 };
	char name[32];
	int round, i;

	(void)state;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "name-%d", i);
			assert_int_equal(add(&set, name), round == 0);
		}
	}
	assert_int_equal(set.used, N);
	pfu_names_clear(&set);
}

static void how_they_end(void **state)
{
	static const struct {
		const char *path;
		size_t length;
		bool dots;
	} table[] = {
		{ "", 0, false },      { "/", 1, false },     { "//", 1, false },
		{ "a", 1, false },     { "a/", 1, false },    { "a///", 1, false },
		{ "a/b//", 3, false }, { ".", 1, true },      { "..", 2, true },
		{ "./", 1, true },     { "../", 2, true },    { "a/.", 3, true },
		{ "a/..//", 4, true }, { "...", 3, false },   { "a.", 2, false },
		{ "a/..b", 5, false }, { "/.", 2, true },     { ".a", 2, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(pfu_name_length(table[i].path), table[i].length);
		assert_int_equal(pfu_name_is_dots(table[i].path, table[i].length), table[i].dots);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories),
		cmocka_unit_test(says_what_is_new),
		cmocka_unit_test(tells_what_is_there),
		cmocka_unit_test(takes_the_given_length_only),
		cmocka_unit_test(keeps_copies),
		cmocka_unit_test(is_empty_once_cleared),
		cmocka_unit_test(grows),
		cmocka_unit_test(how_they_end),
	};

	unit_start();
	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
