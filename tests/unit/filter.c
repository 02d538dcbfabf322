/*
 * filter.c - tests of pfu/filter.h: which files are left out.
 */
#include "unit.h"
#include <errno.h>
#include <pfu/filter.h>

/* "+PATTERN" and "-PATTERN" */
static struct pfu_filter *filter_of(const char *const *rules)
{
	struct pfu_filter *f = pfu_filter_new();
	const char *why;

	assert_non_null(f);
	for (; *rules; rules++)
		assert_int_equal(pfu_filter_add(f, *rules + 1, **rules == '+', &why), 0);
	return f;
}

/* What becomes of a path below an operand (a slash at its end: of a directory), walking down to it. */
static bool is_out(const struct pfu_filter *f, const char *path)
{
	struct pfu_scope *scope = pfu_filter_top(f), *below;
	char name[300];
	bool out = false;

	assert_non_null(scope);
	for (;;) {
		size_t len = strcspn(path, "/");
		bool dir = path[len] == '/';
		enum pfu_verdict v;

		memcpy(name, path, len);
		name[len] = '\0';
		v = pfu_scope_judge(scope, name);
		out = v == PFU_LEFT_OUT || v == (dir ? PFU_LEFT_OUT_AS_DIR : PFU_LEFT_OUT_UNLESS_DIR);
		path += len + dir;
		if (out || *path == '\0')
			break;
		below = pfu_scope_enter(scope, name);
		assert_non_null(below);
		pfu_scope_drop(scope);
		scope = below;
	}
	pfu_scope_drop(scope);
	return out;
}

static void patterns_are_anchored(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool out;
	} table[] = {
		{ "foo", "foo", true }, { "foo", "foo/", true }, { "foo", "a/foo", true },
		{ "foo", "a/b/c/foo", true }, { "foo", "foo/x", true }, { "foo", "a/foo/x/y", true },
		{ "foo", "foo1", false }, { "foo", "a/xfoo", false },
		{ "/foo", "foo", true }, { "/foo", "a/foo", false }, { "//foo", "foo", true },
		{ "/a/foo", "a/foo", true }, { "/a/foo", "b/a/foo", false }, { "/a/foo", "a", false },
		{ "a/foo", "a/foo", true }, { "a/foo", "b/a/foo", false }, { "a//foo", "a/foo", true },
		{ "foo/", "foo", false }, { "foo/", "foo/", true }, { "foo/", "a/foo/", true },
		{ "foo/", "a/foo/b", true }, { "foo//", "foo/", true }, { "/foo/", "foo/", true },
		{ "/foo/", "foo", false }, { "/foo/", "a/foo/", false }, { "a/foo/", "a/foo/", true },
		{ "a/foo/", "a/foo", false },
		{ "*.o", "x.o", true }, { "*.o", "a/x.o", true }, { "/*.o", "x.o", true }, { "/*.o", "a/x.o", false },
		{ "a/*.o", "a/x.o", true }, { "a/*.o", "a/b/x.o", false }, { "*/x", "a/x", true },
		{ "*/x", "x", false }, { "*/x", "a/b/x", false }, { "a*b", "axb", true }, { "a*b", "ax/xb", false },
		{ "a?b", "a/b", false }, { "/*/*", "a/b", true }, { "/*/*", "a", false },
		{ "**/foo", "foo", true }, { "**/foo", "a/b/foo", true }, { "/**/foo", "foo", true },
		{ "/**/foo", "a/foo", true }, { "a/**/b", "a/b", true }, { "a/**/b", "a/x/b", true },
		{ "a/**/b", "a/x/y/b", true }, { "a/**/b", "c/a/b", false }, { "a/**/b", "b", false },
		{ "a/**", "a/x", true }, { "a/**", "a/x/y", true }, { "a/**", "a", false }, { "a/**", "a/", false },
		{ "a/**/", "a/x/", true }, { "a/**/", "a/x", false }, { "**", "x", true }, { "**/", "x", false },
		{ "**/", "x/", true }, { "/**", "x", true }, { "/**", "a/x", true },
		{ "**/a/**/b", "x/a/y/b", true }, { "**/a/**/b", "a/b", true }, { "**/a/**/b", "b/a", false },
		{ "**/a/b", "x/a/a/b", true }, { "**/a/b", "a/x/b", false }, { "a/**/**/b", "a/b", true },
		{ "a**b", "axyb", true }, { "a**b", "a/b", false },
		{ "[ab]/c", "b/c", true }, { "\\*", "*", true }, { "\\*", "x", false }, { "\\#x", "#x", true },
		{ "\xff*", "a/\xff\xfe", true }, { "*\n*", "a\nb", true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char rule[32];
		const char *rules[2] = { rule, NULL };
		struct pfu_filter *f;

		snprintf(rule, sizeof(rule), "-%s", table[i].pattern);
		f = filter_of(rules);
		if (is_out(f, table[i].path) != table[i].out)
			fail_msg("'%s' and '%s'", table[i].pattern, table[i].path);
		pfu_filter_free(f);
	}
}

static void check(const char *const *rules, const char *path, bool out)
{
	struct pfu_filter *f = filter_of(rules);

	if (is_out(f, path) != out)
		fail_msg("'%s' after '%s'", path, *rules);
	pfu_filter_free(f);
}

static void first_match_decides(void **state)
{
	static const char *const one_c[] = { "+a.c", "-*.c", NULL };
	static const char *const reversed[] = { "-*.c", "+a.c", NULL };
	static const char *const only_c[] = { "+*/", "+*.c", "-*", NULL };
	static const char *const twice[] = { "+x", "-x", NULL };
	static const char *const by_type[] = { "-x/", "+x", "-*", NULL };
	static const char *const below[] = { "-a/", "+a/keep", NULL };
	static const char *const inside[] = { "+/a/keep", "-/a/*", NULL };

	(void)state;
	check(one_c, "a.c", false);
	check(one_c, "d/b.c", true);
	check(reversed, "a.c", true);
	check(only_c, "d/e/f.c", false);
	check(only_c, "d/e/f.h", true);
	check(only_c, "d/", false);
	check(twice, "x", false);
	check(by_type, "x", false);
	check(by_type, "x/", true);
	check(by_type, "y", true);
	check(below, "a/keep", true); /* what is not entered cannot be kept */
	check(inside, "a/keep", false);
	check(inside, "a/other", true);
	check(inside, "b/other", false);
}

static void refuses_what_matches_nothing(void **state)
{
	static const char *const table[] = { "", "/", "//", ".", "..", "./a", "a/../b", "a/.", "[", "a/[b/c]",
					     "a\\", "a\\/b", "[z-a]" };
	struct pfu_filter *f = pfu_filter_new();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *why = NULL;

		errno = 0;
		if (pfu_filter_add(f, table[i], false, &why) == 0)
			fail_msg("'%s' was taken", table[i]);
		assert_int_equal(errno, EINVAL);
		assert_non_null(why);
	}
	assert_false(is_out(f, "a"));
	pfu_filter_free(f);
}

static void operands_by_their_name(void **state)
{
	static const char *const rules[] = { "-foo", "-*.log", "-/bar", "-a/b", "-dir/", "-**/deep", NULL };
	static const struct {
		const char *operand;
		bool out;
	} table[] = {
		{ "foo", true }, { "foo/", true }, { "x/foo//", true }, { "/x/foo", true }, { "a.log", true },
		{ "bar", false }, { "/bar", false }, { "a/b", false }, { ".", false }, { "..", false },
		{ "foo/.", false }, { "/", false }, { "", false }, { "foo/x", false }, { "deep", false },
		{ "dir", true }, { "sub/dir", false }, { "to-dir", false }, { "missing/dir", false },
	};
	struct pfu_filter *f = filter_of(rules);
	size_t i;

	(void)state;
	make_dir("dir");
	make_dir("sub");
	make_file("sub/dir");
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (pfu_filter_leaves_out(f, &pfu_fsys_posix, table[i].operand, false) != table[i].out)
			fail_msg("'%s'", table[i].operand);
	}
	assert_int_equal(unlink("sub/dir"), 0);
	assert_int_equal(symlink("../dir", "sub/dir"), 0);
	assert_false(pfu_filter_leaves_out(f, &pfu_fsys_posix, "sub/dir", false));
	assert_true(pfu_filter_leaves_out(f, &pfu_fsys_posix, "sub/dir", true));
	unit_remove("dir");
	unit_remove("sub");
	pfu_filter_free(f);
}

static void a_name_of_all_is_a_star(void **state)
{
	static const char *const names[] = { "-*", NULL }, *const paths[] = { "-/*", NULL };
	struct pfu_filter *f = filter_of(names), *g = filter_of(paths);

	(void)state;
	assert_true(pfu_filter_leaves_out(f, &pfu_fsys_posix, "operand", false));
	assert_false(pfu_filter_leaves_out(g, &pfu_fsys_posix, "operand", false));
	pfu_filter_free(f);
	pfu_filter_free(g);
}

/* ---- against the definition ---- */

static bool component_matches(const char *p, size_t plen, const char *n, size_t nlen)
{
	if (plen == 0)
		return nlen == 0;
	if (*p == '*')
		return component_matches(p + 1, plen - 1, n, nlen) ||
		       (nlen && component_matches(p, plen, n + 1, nlen - 1));
	return nlen && *p == *n && component_matches(p + 1, plen - 1, n + 1, nlen - 1);
}

static const char *behind(const char *path, size_t len)
{
	return path[len] ? path + len + 1 : path + len;
}

/* A path against a pattern, both without slashes at their ends. */
static bool path_matches(const char *p, const char *path)
{
	size_t plen = strcspn(p, "/"), nlen = strcspn(path, "/");

	if (*p == '\0' || *path == '\0')
		return *p == *path;
	if (plen == 2 && memcmp(p, "**", 2) == 0) {
		if (p[plen] == '\0')
			return true;
		return path_matches(behind(p, plen), path) || path_matches(p, behind(path, nlen));
	}
	return component_matches(p, plen, path, nlen) &&
	       path_matches(behind(p, plen), behind(path, nlen));
}

/* One entry, by all rules, each on its whole path. */
static bool out_by_definition(const char *const *rules, const char *path, bool dir)
{
	for (; *rules; rules++) {
		const char *pattern = *rules + 1, *base = strrchr(path, '/');
		char p[64];
		size_t len = strlen(pattern);
		bool dir_only = pattern[len - 1] == '/', hit;

		snprintf(p, sizeof(p), "%.*s", (int)(len - dir_only), pattern);
		if (strchr(p, '/'))
			hit = path_matches(p + (*p == '/'), path);
		else
			hit = component_matches(p, strlen(p), base ? base + 1 : path,
						strlen(base ? base + 1 : path));
		if (hit && (dir || !dir_only))
			return **rules == '-';
	}
	return false;
}

/* All that a path leads through. */
static bool path_out_by_definition(const char *const *rules, const char *path)
{
	char part[64];
	size_t i;

	for (i = 1; path[i - 1]; i++) {
		if ((path[i] != '/' && path[i] != '\0') || path[i - 1] == '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (out_by_definition(rules, part, path[i] == '/'))
			return true;
	}
	return false;
}

static void agrees_with_the_definition(void **state)
{
	static const char *const parts[] = { "a", "b", "ab", "*", "a*", "*b", "**", "a*b", "c" };
	uint64_t seed = 3;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		char text[6][64], path[64];
		const char *rules[7] = { NULL };
		unsigned int n = 1 + rnd_below(&seed, 6), i, k;
		struct pfu_filter *f;

		for (i = 0; i < n; i++) {
			unsigned int depth = 1 + rnd_below(&seed, 4);

			snprintf(text[i], 64, "%c%s", rnd_below(&seed, 3) ? '-' : '+',
				 rnd_below(&seed, 3) ? "" : "/");
			for (k = 0; k < depth; k++) {
				strcat(text[i], k ? "/" : "");
				strcat(text[i], parts[rnd_below(&seed, 9)]);
			}
			strcat(text[i], rnd_below(&seed, 4) ? "" : "/");
			rules[i] = text[i];
		}
		f = filter_of(rules);
		for (i = 0; i < 20; i++) {
			unsigned int depth = 1 + rnd_below(&seed, 5);

			path[0] = '\0';
			for (k = 0; k < depth; k++) {
				strcat(path, k ? "/" : "");
				strcat(path, parts[rnd_below(&seed, 3)]);
			}
			strcat(path, rnd_below(&seed, 2) ? "/" : "");
			if (is_out(f, path) != path_out_by_definition(rules, path))
				fail_msg("'%s' by %s %s %s %s %s %s", path, rules[0],
					 rules[1] ? rules[1] : "", rules[2] ? rules[2] : "",
					 rules[3] ? rules[3] : "", rules[4] ? rules[4] : "",
					 rules[5] ? rules[5] : "");
		}
		pfu_filter_free(f);
	}
}

/* ---- many ---- */

/* Of each kind 20,000; all of them tried on each name would be 4e9 comparisons. */
static void thousands_are_looked_up(void **state)
{
	enum { N = 20000 };
	struct pfu_filter *f = pfu_filter_new();
	struct pfu_scope *top, *in;
	char text[64];
	const char *why;
	int i;

	(void)state;
	for (i = 0; i < 4 * N; i++) {
		static const char *const before[] = { "name-", "*.suffix-", "prefix-", "/top/path-" };

		snprintf(text, sizeof(text), "%s%d%s", before[i % 4], i / 4, i % 4 == 2 ? "-*" : "");
		assert_int_equal(pfu_filter_add(f, text, false, &why), 0);
	}
	top = pfu_filter_top(f);
	in = pfu_scope_enter(top, "top");
	assert_non_null(in);
	for (i = 0; i < 10 * N; i++) {
		snprintf(text, sizeof(text), "%s%d", i % 2 ? "name-" : "file.suffix-", i);
		assert_int_equal(pfu_scope_judge(in, text), i < N ? PFU_LEFT_OUT : PFU_KEPT);
		snprintf(text, sizeof(text), "%s%d%s", i % 2 ? "path-" : "prefix-", i, i % 2 ? "" : "-x");
		assert_int_equal(pfu_scope_judge(in, text), i < N ? PFU_LEFT_OUT : PFU_KEPT);
	}
	pfu_scope_drop(in);
	pfu_scope_drop(top);
	pfu_filter_free(f);
}

/* However deep a directory is, what its path has matched is not more than what there is to match. */
static void scopes_stay_small(void **state)
{
	static const char *const rules[] = { "-**/a/**/a/**/b", "-x/y/z", "-*.o", NULL };
	struct pfu_filter *f = filter_of(rules);
	struct pfu_scope *scope = pfu_filter_top(f), *below;
	unsigned int same = 0;
	int i;

	(void)state;
	for (i = 0; i < 30000; i++) {
		below = pfu_scope_enter(scope, "a");
		assert_non_null(below);
		same += below == scope;
		pfu_scope_drop(scope);
		scope = below;
	}
	assert_true(same > 29990);
	assert_int_equal(pfu_scope_judge(scope, "b"), PFU_LEFT_OUT);
	assert_int_equal(pfu_scope_judge(scope, "c"), PFU_KEPT);
	pfu_scope_drop(scope);
	pfu_filter_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_anchored),
		cmocka_unit_test(first_match_decides),
		cmocka_unit_test(refuses_what_matches_nothing),
		cmocka_unit_test(operands_by_their_name),
		cmocka_unit_test(a_name_of_all_is_a_star),
		cmocka_unit_test(agrees_with_the_definition),
		cmocka_unit_test(thousands_are_looked_up),
		cmocka_unit_test(scopes_stay_small),
	};

	unit_start();
	return cmocka_run_group_tests_name("filter", tests, unit_scratch_make, unit_scratch_remove);
}
