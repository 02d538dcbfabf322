/*
 * suggest.c - the option that somebody may have meant: the one with the fewest slips of
 * the keyboard (a letter too many, missing, wrong, or two exchanged) from what was typed.
 */
#include "suggest.h"

#include <getopt.h>
#include <string.h>

/* No option's name is as long; what is longer was not meant to be one. */
#define NAME_LIMIT 64
/* One slip for so many letters is likely; more, and it is another word. */
#define LETTERS_PER_SLIP 3

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The Damerau-Levenshtein distance (optimal string alignment) of two words, each of at
 * most NAME_LIMIT bytes.  Three rows of the table are enough: an exchange looks back two.
 */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NAME_LIMIT + 1];
	size_t i, j;

	for (j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3];

		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

const char *suggest_option(const struct option *options, const char *typed, size_t len)
{
	size_t best = len / LETTERS_PER_SLIP + 1;
	const char *found = NULL;

	if (len > NAME_LIMIT)
		return NULL;
	for (; options->name; options++) {
		size_t name_len = strlen(options->name), d;

		if (strncmp(options->name, typed, len) == 0)
			return NULL;
		if (name_len > NAME_LIMIT)
			continue;
		d = distance(typed, len, options->name, name_len);
		if (d < best) {
			best = d;
			found = options->name;
		}
	}
	return found;
}
