/*
 * fuzz.h - what a fuzz target is: libFuzzer's (or driver.c's) entrance, and help with
 * taking an input apart.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Works on one input; what is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must be true of every input. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : abort())

/* The rest of an input. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* The string up to the next `end` byte, or to the input's end; malloc'ed, or NULL if nothing is left. */
static inline char *fuzz_string(struct fuzz_input *in, int end)
{
	const uint8_t *found = in->left ? memchr(in->at, end, in->left) : NULL;
	size_t len = found ? (size_t)(found - in->at) : in->left;
	char *s;

	if (in->left == 0)
		return NULL;
	s = malloc(len + 1);
	FUZZ_CHECK(s);
	memcpy(s, in->at, len);
	s[len] = '\0';
	len += found != NULL;
	in->at += len;
	in->left -= len;
	return s;
}

#endif
