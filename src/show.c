/*
 * show.c - numbers as a person reads them.
 */
#include "show.h"

#include <stdio.h>
#include <string.h>

char *show_count(char *buf, uint64_t n)
{
	char digits[SHOW_MAX];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), i;
	char *to = buf;

	for (i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

/* Three digits, or as many as there are before the point. */
static void three_digits(char *buf, double x, const char *unit)
{
	/* Lest rounding should make "10.00" of 9.996. */
	int places = x < 9.995 ? 2 : x < 99.95 ? 1 : 0;

	snprintf(buf, SHOW_MAX, "%.*f %s", places, x, unit);
}

char *show_size(char *buf, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double x = (double)bytes / 1024;
	unsigned int i = 0;

	if (bytes < 1024) {
		snprintf(buf, SHOW_MAX, "%llu B", (unsigned long long)bytes);
		return buf;
	}
	while (x >= 1023.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
		x /= 1024;
		i++;
	}
	three_digits(buf, x, units[i]);
	return buf;
}

char *show_rate(char *buf, double per_second)
{
	if (per_second < 9.95)
		snprintf(buf, SHOW_MAX, "%.1f", per_second);
	else
		show_count(buf, per_second < 1e18 ? (uint64_t)(per_second + 0.5) : (uint64_t)1e18);
	return buf;
}

char *show_time(char *buf, double seconds)
{
	if (seconds < 999.5e-9)
		snprintf(buf, SHOW_MAX, "%.0f ns", seconds * 1e9);
	else if (seconds < 999.5e-6)
		three_digits(buf, seconds * 1e6, "us");
	else if (seconds < 999.5e-3)
		three_digits(buf, seconds * 1e3, "ms");
	else
		three_digits(buf, seconds, "s");
	return buf;
}

char *show_wait(char *buf, double seconds)
{
	unsigned long s;

	if (!(seconds < 1000 * 86400.0)) {
		snprintf(buf, SHOW_MAX, "ages");
		return buf;
	}
	s = (unsigned long)(seconds + 0.999); /* as long as anything is left it is not nothing */
	if (s < 3600)
		snprintf(buf, SHOW_MAX, "%lu:%02lu", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, SHOW_MAX, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(buf, SHOW_MAX, "%lud %02luh", s / 86400, s / 3600 % 24);
	return buf;
}
