/*
 * size.c - sizes as GNU's programs read them: 5M, 512KiB, 3GB.
 */
#include "cli.h"

#include <errno.h>
#include <string.h>

/* A letter stands for this power; Z and those after it are more than any size can be. */
static const char letters[] = "KMGTPEZYRQ";

/* Multiplies by base to the power.  false: it is too large. */
static bool scale(uint64_t *n, unsigned int base, size_t power)
{
	for (; power > 0; power--) {
		if (__builtin_mul_overflow(*n, base, n))
			return false;
	}
	return true;
}

/* Applies the multiplier.  false with errno: there is none such, or what it makes is too large. */
static bool multiply(uint64_t *n, const char *multiplier)
{
	/* As everywhere in GNU, two letters may also be small. */
	char first = multiplier[0] == 'k' ? 'K' : multiplier[0] == 'm' ? 'M' : multiplier[0];
	const char *letter = first ? strchr(letters, first) : NULL;
	size_t power = letter ? (size_t)(letter - letters) + 1 : 0;
	unsigned int base = 1024;
	bool fits;

	if (first == '\0')
		return true;
	errno = EINVAL;
	if (first == 'b' && multiplier[1] == '\0') {
		fits = scale(n, 512, 1);
	} else if (!letter) {
		return false;
	} else {
		if (strcmp(multiplier + 1, "B") == 0)
			base = 1000;
		else if (multiplier[1] && strcmp(multiplier + 1, "iB") != 0)
			return false;
		fits = scale(n, base, power);
	}
	if (!fits)
		errno = EOVERFLOW;
	return fits;
}

bool cli_parse_size(const char *arg, uint64_t *size)
{
	const char *s = arg;
	bool fits = true;
	uint64_t n = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		fits = fits && !__builtin_mul_overflow(n, 10, &n) &&
		       !__builtin_add_overflow(n, (uint64_t)(*s - '0'), &n);
	errno = EINVAL;
	if (*arg == '\0')
		return false;
	if (s == arg)
		n = 1; /* a multiplier alone */
	if (!multiply(&n, s))
		return false;
	*size = n;
	errno = EOVERFLOW;
	return fits;
}
