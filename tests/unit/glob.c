/*
 * glob.c - tests of pfu/glob.h: patterns for one name.
 */
#include "unit.h"
#include <errno.h>
#include <pfu/glob.h>

static bool match(const char *pattern, const char *name)
{
	const char *why = NULL;
	struct pfu_glob *g = pfu_glob_new(pattern, strlen(pattern), &why);
	bool is;

	if (!g)
		fail_msg("%s: %s", pattern, why);
	is = pfu_glob_match(g, name, strlen(name));
	pfu_glob_free(g);
	return is;
}

static void matches(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool match;
	} table[] = {
		{ "a", "a", true }, { "a", "b", false }, { "a", "ab", false }, { "ab", "a", false },
		{ "*", "", true }, { "*", "abc", true }, { "*", ".a", true }, { "**", "x", true },
		{ "a*", "a", true }, { "a*", "ba", false }, { "*a", "ba", true }, { "*a", "ab", false },
		{ "a*b", "ab", true }, { "a*b", "axxb", true }, { "a*b", "axxbc", false },
		{ "*a*b*", "xaxbx", true }, { "*a*b*", "xbxax", false }, { "*ab*cd", "abcabcd", true },
		{ "?", "", false }, { "?", "a", true }, { "?", "ab", false }, { "??", "\xc3\xa9", true },
		{ "?*", "", false }, { "?*", "x", true }, { "*?", "x", true }, { "a?c", "abc", true },
		{ "[abc]", "b", true }, { "[abc]", "d", false }, { "[a-c]x", "bx", true },
		{ "[a-c]", "-", false }, { "[a-]", "-", true }, { "[-a]", "-", true }, { "[-a]", "a", true },
		{ "[!abc]", "b", false }, { "[!abc]", "d", true }, { "[^abc]", "b", false },
		{ "[!abc]", "", false }, { "[]]", "]", true }, { "[]a]", "a", true }, { "[!]]", "]", false },
		{ "[!]]", "x", true }, { "[!a]", "\xff", true }, { "[a!]", "!", true }, { "[a^]", "^", true },
		{ "[\\]]", "]", true }, { "[\\a]", "a", true }, { "[\\a]", "\\", false }, { "[\\-x]", "-", true },
		{ "[[]", "[", true }, { "[[a]", "a", true }, { "a]", "a]", true }, { "]", "]", true },
		{ "[[:alpha:]]", "a", true }, { "[[:alpha:]]", "1", false }, { "[[:alpha:]]", "\xe9", false },
		{ "[[:digit:]a-c]", "b", true }, { "[[:digit:]a-c]", "7", true }, { "[[:digit:]a-c]", "d", false },
		{ "[![:digit:]]", "7", false }, { "[![:digit:]]", "x", true }, { "[[:space:]]", "\n", true },
		{ "[\x80-\xff]", "\xfe", true }, { "[\x80-\xff]", "a", false },
		{ "\\*", "*", true }, { "\\*", "x", false }, { "\\a", "a", true }, { "\\\\", "\\", true },
		{ "\\[a]", "[a]", true }, { "\\?", "?", true }, { "\\?", "x", false }, { "*\\**", "a*b", true },
		{ "*\\**", "ab", false }, { "*", "\xff\xfe\n", true }, { "\xff*", "\xff\xfe", true },
		{ "*.o", "a.o", true }, { "*.o", ".o", true }, { "*.o", "a.oo", false }, { "{a,b}", "a", false },
		{ "!a", "!a", true }, { "a\nb", "a\nb", true }, { "[a-z]*[0-9]", "file9", true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (match(table[i].pattern, table[i].name) != table[i].match)
			fail_msg("'%s' and '%s'", table[i].pattern, table[i].name);
	}
}

static void refuses(void **state)
{
	static const char *const table[] = { "[", "[a", "a[", "[]", "[!]", "[!", "[a-", "x\\", "\\",
					     "[\\", "[[:alpha:]", "[[:nothing:]]", "[[:]]", "[[:alpha]]",
					     "[[::]]", "[[.a.]]", "[[=a=]]", "[z-a]", "[[:", "a[[:alpha" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *why = NULL;

		errno = 0;
		if (pfu_glob_new(table[i], strlen(table[i]), &why))
			fail_msg("'%s' was taken", table[i]);
		assert_int_equal(errno, EINVAL);
		assert_non_null(why);
	}
}

static void shape_is(const char *pattern, enum pfu_glob_kind kind, const char *text)
{
	const char *why;
	struct pfu_glob *g = pfu_glob_new(pattern, strlen(pattern), &why);
	char *got = NULL;
	size_t len;

	assert_non_null(g);
	assert_int_equal(pfu_glob_shape(g, &got, &len), kind);
	if (text) {
		assert_int_equal(len, strlen(text));
		assert_memory_equal(got, text, len);
	}
	free(got);
	pfu_glob_free(g);
}

static void tells_shapes(void **state)
{
	(void)state;
	shape_is("name", PFU_GLOB_EXACT, "name");
	shape_is("a\\*b", PFU_GLOB_EXACT, "a*b");
	shape_is("a*", PFU_GLOB_PREFIX, "a");
	shape_is("*", PFU_GLOB_PREFIX, "");
	shape_is("***", PFU_GLOB_PREFIX, "");
	shape_is("*.o", PFU_GLOB_SUFFIX, ".o");
	shape_is("*\\*", PFU_GLOB_SUFFIX, "*");
	shape_is("*a*", PFU_GLOB_OTHER, NULL);
	shape_is("a*b", PFU_GLOB_OTHER, NULL);
	shape_is("a?", PFU_GLOB_OTHER, NULL);
	shape_is("*[a]", PFU_GLOB_OTHER, NULL);
}

/* By the definition, and in exponential time. */
static bool by_definition(const char *p, const char *n)
{
	if (*p == '\0')
		return *n == '\0';
	if (*p == '*')
		return by_definition(p + 1, n) || (*n && by_definition(p, n + 1));
	return *n && (*p == '?' || *p == *n) && by_definition(p + 1, n + 1);
}

static void agrees_with_the_definition(void **state)
{
	static const char letters[] = "ab*?*";
	uint64_t seed = 7;
	char pattern[9], name[11];
	int round;
	size_t i, n;

	(void)state;
	for (round = 0; round < 200000; round++) {
		n = rnd_below(&seed, 9);
		for (i = 0; i < n; i++)
			pattern[i] = letters[rnd_below(&seed, 5)];
		pattern[n] = '\0';
		n = rnd_below(&seed, 11);
		for (i = 0; i < n; i++)
			name[i] = letters[rnd_below(&seed, 2)];
		name[n] = '\0';
		if (match(pattern, name) != by_definition(pattern, name))
			fail_msg("'%s' and '%s'", pattern, name);
	}
}

/* Whatever a pattern is made of: it is taken or refused, and matching it ends. */
static void takes_any_bytes(void **state)
{
	static const char bytes[] = "[[[]]]!^-:a*?\\.=alph\xff\n";
	uint64_t seed = 11;
	char pattern[24], name[24];
	const char *why;
	size_t i, len, taken = 0;
	int round;

	(void)state;
	for (round = 0; round < 100000; round++) {
		struct pfu_glob *g;
		char *exact;

		len = rnd_below(&seed, sizeof(pattern));
		for (i = 0; i < len; i++)
			pattern[i] = bytes[rnd_below(&seed, sizeof(bytes) - 1)];
		for (i = 0; i < sizeof(name); i++)
			name[i] = bytes[rnd_below(&seed, sizeof(bytes) - 1)];
		/* Of just that size, so that a sanitizer sees a byte too many being read. */
		exact = malloc(len ? len : 1);
		assert_non_null(exact);
		memcpy(exact, pattern, len);
		g = pfu_glob_new(exact, len, &why);
		free(exact);
		if (g)
			taken += pfu_glob_match(g, name, rnd_below(&seed, sizeof(name)));
		pfu_glob_free(g);
	}
	assert_true(taken > 0);
}

/* 127 stars: with a matcher that tries all ways this test does not end. */
static void is_never_exponential(void **state)
{
	char pattern[256], name[256];
	int i;

	(void)state;
	for (i = 0; i < 254; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + 254, "b", 2);
	memset(name, 'a', 255);
	name[255] = '\0';
	for (i = 0; i < 1000; i++)
		assert_false(match(pattern, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches),
		cmocka_unit_test(refuses),
		cmocka_unit_test(tells_shapes),
		cmocka_unit_test(agrees_with_the_definition),
		cmocka_unit_test(takes_any_bytes),
		cmocka_unit_test(is_never_exponential),
	};

	unit_start();
	return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
