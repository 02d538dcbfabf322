/*
 * sumfile.c - lines of a file of checksums: one line each, and the name can be had back.
 */
#include "fuzz.h"

#include <pfu/sumfile.h>

#define DIGEST "0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char *name = fuzz_string(&in, '\0'), *line, *from, *to;

	if (!name)
		return 0;
	line = pfu_sumfile_line(DIGEST, name);
	FUZZ_CHECK(line && !strpbrk(line, "\n\r"));
	from = to = line + (*line == '\\');
	FUZZ_CHECK(strncmp(from, DIGEST "  ", sizeof(DIGEST "  ") - 1) == 0);
	from += sizeof(DIGEST "  ") - 1;
	/* What reads it has it back like this. */
	for (to = from; *line == '\\' && *from; from++, to++) {
		FUZZ_CHECK(*from != '\\' || (from[1] && strchr("nr\\", from[1])));
		if (*from == '\\')
			*to = *++from == 'n' ? '\n' : *from == 'r' ? '\r' : '\\';
		else
			*to = *from;
	}
	if (*line == '\\')
		*to = '\0';
	FUZZ_CHECK(strcmp(line + (*line == '\\') + sizeof(DIGEST "  ") - 1, name) == 0);
	free(line);
	free(name);
	return 0;
}
