/*
 * fsbench-stats.c - sizes, summaries and latencies for fsbench.
 */
#include "fsbench-stats.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Reads digits; false if there are none, or too large a number. */
static bool read_digits(const char **text, uint64_t *number)
{
	const char *s = *text;
	uint64_t n = 0;

	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return false;
	}
	if (s == *text)
		return false;
	*text = s;
	*number = n;
	return true;
}

/* What a unit multiplies by; 0 if there is no such unit. */
static uint64_t unit_factor(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *letter;
	uint64_t base, factor = 1;

	if (*unit == '\0' || strcasecmp(unit, "B") == 0)
		return 1;
	letter = strchr(letters, toupper((unsigned char)unit[0]));
	if (!letter)
		return 0;
	if (unit[1] == '\0' || strcasecmp(unit + 1, "iB") == 0)
		base = 1024;
	else if (strcasecmp(unit + 1, "B") == 0)
		base = 1000;
	else
		return 0;
	for (const char *l = letters; l <= letter; l++)
		factor *= base;
	return factor;
}

bool fsb_parse_size(const char *text, uint64_t *bytes)
{
	uint64_t n, factor;

	if (!read_digits(&text, &n))
		return false;
	factor = unit_factor(text);
	if (factor == 0 || __builtin_mul_overflow(n, factor, &n) || n > INT64_MAX)
		return false;
	*bytes = n;
	return true;
}

bool fsb_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t n;

	if (!read_digits(&text, &n) || *text || n < min || n > max)
		return false;
	*number = n;
	return true;
}

struct fsb_summary fsb_summarize(const double *values, size_t count)
{
	struct fsb_summary s = {0};
	double squares = 0;

	if (count == 0)
		return s;
	s.min = s.max = values[0];
	for (size_t i = 0; i < count; i++) {
		s.mean += values[i] / (double)count;
		s.min = fmin(s.min, values[i]);
		s.max = fmax(s.max, values[i]);
	}
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	s.deviation = sqrt(squares / (double)count);
	return s;
}

/*
 * Up to 32 ns a bucket a nanosecond; above, the highest bits say the power of two and
 * the next five which of its steps.
 */
static size_t bucket_of(uint64_t ns)
{
	size_t power;

	if (ns < FSB_STEPS)
		return (size_t)ns;
	power = 63 - (size_t)__builtin_clzll(ns) - FSB_STEP_BITS;
	if (power + 2 > FSB_BUCKETS / FSB_STEPS)
		return FSB_BUCKETS - 1;
	return (power + 1) * FSB_STEPS + (size_t)(ns >> power) - FSB_STEPS;
}

/* The largest latency that goes into a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	size_t power = bucket / FSB_STEPS;

	if (power <= 1)
		return bucket;
	power--;
	return ((uint64_t)(bucket % FSB_STEPS + FSB_STEPS + 1) << power) - 1;
}

void fsb_latency_add(struct fsb_latencies *to, uint64_t ns)
{
	to->bucket[bucket_of(ns)]++;
	to->count++;
	if (ns > to->max)
		to->max = ns;
}

void fsb_latency_merge(struct fsb_latencies *to, const struct fsb_latencies *from)
{
	for (size_t i = 0; i < FSB_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->count += from->count;
	if (from->max > to->max)
		to->max = from->max;
}

uint64_t fsb_latency_percentile(const struct fsb_latencies *from, double percent)
{
	uint64_t seen = 0, wanted = (uint64_t)ceil(percent / 100 * (double)from->count);

	for (size_t i = 0; i < FSB_BUCKETS; i++) {
		seen += from->bucket[i];
		/* The last bucket has no end. */
		if (seen >= wanted && seen > 0)
			return i + 1 < FSB_BUCKETS && bucket_end(i) < from->max ? bucket_end(i)
										: from->max;
	}
	return from->max;
}
