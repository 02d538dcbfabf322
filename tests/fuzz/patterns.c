/*
 * patterns.c - patterns for names and for paths: the first line of an input is a path, the
 * others are rules, those with a + in front to include.
 */
#include "fuzz.h"

#include <errno.h>
#include <pfu/filter.h>
#include <pfu/glob.h>
#include <stdio.h>

/* A pattern alone, on a name; and that name, each byte taken for itself, as a pattern. */
static void try_glob(const char *pattern, const char *name)
{
	size_t len = strlen(name), i, text_len = 0;
	const char *why = NULL;
	struct pfu_glob *glob = pfu_glob_new(pattern, strlen(pattern), &why);
	char *literal, *text = NULL;

	if (glob) {
		bool matches = pfu_glob_match(glob, name, len);
		enum pfu_glob_kind kind = pfu_glob_shape(glob, &text, &text_len);

		if (kind == PFU_GLOB_EXACT)
			FUZZ_CHECK(matches == (len == text_len && memcmp(name, text, len) == 0));
		if (kind == PFU_GLOB_PREFIX)
			FUZZ_CHECK(matches == (len >= text_len && memcmp(name, text, text_len) == 0));
		if (kind == PFU_GLOB_SUFFIX)
			FUZZ_CHECK(matches == (len >= text_len &&
					       memcmp(name + len - text_len, text, text_len) == 0));
		if (kind != PFU_GLOB_OTHER)
			free(text);
		pfu_glob_free(glob);
	} else {
		FUZZ_CHECK(errno == ENOMEM || (errno == EINVAL && why));
	}
	literal = malloc(2 * len + 1);
	FUZZ_CHECK(literal);
	for (i = 0; i < len; i++) {
		literal[2 * i] = '\\';
		literal[2 * i + 1] = name[i];
	}
	glob = pfu_glob_new(literal, 2 * len, &why);
	if (glob)
		FUZZ_CHECK(pfu_glob_match(glob, name, len));
	else
		FUZZ_CHECK(len == 0);
	pfu_glob_free(glob);
	free(literal);
}

/* From the operand down, component by component. */
static void walk(const struct pfu_filter *filter, char *path)
{
	struct pfu_scope *scope = pfu_filter_top(filter), *next;
	char *name;

	while (scope && (name = strsep(&path, "/"))) {
		if (!*name)
			continue;
		FUZZ_CHECK(pfu_scope_judge(scope, name) <= PFU_LEFT_OUT_UNLESS_DIR);
		next = pfu_scope_enter(scope, name);
		pfu_scope_drop(scope);
		scope = next;
	}
	pfu_scope_drop(scope);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char *path = fuzz_string(&in, '\n'), *line;
	struct pfu_filter *filter = pfu_filter_new();
	const char *why;

	FUZZ_CHECK(filter);
	while (path && (line = fuzz_string(&in, '\n'))) {
		why = NULL;
		try_glob(line, path);
		if (pfu_filter_add(filter, line + (*line == '+'), *line == '+', &why) != 0)
			FUZZ_CHECK(errno == ENOMEM || (errno == EINVAL && why));
		free(line);
	}
	if (path)
		walk(filter, path);
	pfu_filter_free(filter);
	free(path);
	return 0;
}
