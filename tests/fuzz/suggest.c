/*
 * suggest.c - the option that was meant: each line but the last is an option's name, the
 * last what was typed.
 */
#include "suggest.h"

#include "fuzz.h"

#include <getopt.h>

#define OPTIONS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct option options[OPTIONS_MAX + 1] = { 0 };
	char *names[OPTIONS_MAX] = { NULL }, *typed;
	struct fuzz_input in = { data, size };
	size_t count = 0, i, len;
	const char *found;

	while (count < OPTIONS_MAX && (names[count] = fuzz_string(&in, '\n')))
		count++;
	if (count == 0)
		return 0;
	typed = names[--count];
	for (i = 0; i < count; i++)
		options[i].name = names[i];
	len = strlen(typed);
	found = suggest_option(options, typed, len);
	for (i = 0; i < count; i++) {
		if (found == names[i])
			break;
	}
	FUZZ_CHECK(!found || i < count);
	FUZZ_CHECK(!found || strncmp(found, typed, len) != 0);
	for (i = 0; i <= count; i++)
		free(names[i]);
	return 0;
}
