/*
 * size.c - sizes with a multiplier, against a second reading of the grammar.
 */
#include "cli.h"
#include "fuzz.h"

#include <errno.h>

/* More than any size; products stay far below what a __int128 holds. */
#define TOO_LARGE ((unsigned __int128)1 << 64)

static unsigned __int128 times(unsigned __int128 n, unsigned int factor)
{
	n *= factor;
	return n < TOO_LARGE ? n : TOO_LARGE;
}

/* 0, or the errno that is expected. */
static int read_size(const char *s, uint64_t *size)
{
	static const char powers[] = "KMGTPEZYRQ";
	size_t digits = strspn(s, "0123456789"), i;
	unsigned __int128 n = digits ? 0 : 1;
	const char *suffix = s + digits, *power;
	char first = *suffix == 'k' ? 'K' : *suffix == 'm' ? 'M' : *suffix;
	unsigned int base;

	if (!*s)
		return EINVAL;
	for (i = 0; i < digits; i++) {
		n = times(n, 10) + (unsigned int)(s[i] - '0');
		n = n < TOO_LARGE ? n : TOO_LARGE;
	}
	if (first == 'b' && !suffix[1]) {
		n = times(n, 512);
	} else if (first) {
		power = strchr(powers, first);
		base = !suffix[1] || strcmp(suffix + 1, "iB") == 0 ? 1024 : 1000;
		if (!power || (base == 1000 && strcmp(suffix + 1, "B") != 0))
			return EINVAL;
		for (; power >= powers; power--)
			n = times(n, base);
	}
	if (n >= TOO_LARGE)
		return EOVERFLOW;
	*size = (uint64_t)n;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char *s = fuzz_string(&in, '\0');
	uint64_t got = 0, wanted = 0;
	int err;

	if (!s)
		return 0;
	err = read_size(s, &wanted);
	if (cli_parse_size(s, &got))
		FUZZ_CHECK(err == 0 && got == wanted);
	else
		FUZZ_CHECK(err != 0 && err == errno);
	free(s);
	return 0;
}
