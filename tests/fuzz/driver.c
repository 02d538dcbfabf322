/*
 * driver.c - runs a fuzz target on the files that it is given, where there is no
 * libFuzzer: what was found once is a regression test with every compiler.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#define INPUT_MAX ((size_t)1 << 20)

static int run_file(const char *path)
{
	uint8_t *buf = malloc(INPUT_MAX), *input;
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!buf || !f) {
		perror(path);
		free(buf);
		return -1;
	}
	size = fread(buf, 1, INPUT_MAX, f);
	/* Exactly as large as it is, so that reading past its end is seen. */
	input = size > 0 ? realloc(buf, size) : buf;
	if (ferror(f) || !input) {
		perror(path);
		fclose(f);
		free(buf);
		return -1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(input, size);
	free(input);
	return 0;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	for (i = 1; i < argc; i++)
		failed |= run_file(argv[i]);
	/* (Targets may have made something else of standard output.) */
	fprintf(stderr, "\n%d inputs\n", argc - 1);
	return failed || argc < 2 ? 1 : 0;
}
