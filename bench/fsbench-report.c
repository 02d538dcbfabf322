/*
 * fsbench-report.c - what came out of a benchmark: as text, laid out as cephfs-tool's, and as JSON.
 */
#include "fsbench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1024 * 1024, NS_PER_US = 1000 };

static const double percentiles[] = {50, 90, 99, 99.9};

enum { PERCENTILES = sizeof(percentiles) / sizeof(percentiles[0]) };

static const char *const phase_names[FSB_PHASES] = {"write", "read", "stat", "unlink"};

/* The series that the final report is made of. */
static const struct series {
	const char *title;
	const char *key;
	const char *unit;
	enum fsb_phase phase;
	double (*value)(const struct fsb_figures *figures);
} series[] = {
	{"Write Throughput", "write_throughput", "MiB/s", FSB_WRITE, fsb_mib_per_second},
	{"Read Throughput", "read_throughput", "MiB/s", FSB_READ, fsb_mib_per_second},
	{"File Creates", "file_creates", "files/s", FSB_WRITE, fsb_files_per_second},
	{"File Reads (Opens)", "file_reads", "files/s", FSB_READ, fsb_files_per_second},
	{"File Stats", "file_stats", "files/s", FSB_STAT, fsb_files_per_second},
	{"File Unlinks", "file_unlinks", "files/s", FSB_UNLINK, fsb_files_per_second},
};

enum { SERIES = sizeof(series) / sizeof(series[0]) };

double fsb_mib_per_second(const struct fsb_figures *figures)
{
	return figures->seconds > 0 ? (double)figures->bytes / MIB / figures->seconds : 0;
}

double fsb_files_per_second(const struct fsb_figures *figures)
{
	return figures->seconds > 0 ? (double)figures->files / figures->seconds : 0;
}

/* Whether a series says anything about this plan. */
static bool applies(const struct series *s, const struct fsb_plan *plan)
{
	if (s->phase == FSB_UNLINK && !plan->cleanup)
		return false;
	return s->value != fsb_mib_per_second || plan->size > 0;
}

static bool summarize(
	const struct series *s, const struct fsb_results *results, struct fsb_summary *summary)
{
	double *values;

	if (results->iterations == 0)
		return false;
	values = calloc(results->iterations, sizeof(*values));
	if (!values)
		return false;
	for (unsigned int i = 0; i < results->iterations; i++)
		values[i] = s->value(&results->figures[i][s->phase]);
	*summary = fsb_summarize(values, results->iterations);
	free(values);
	return true;
}

/* ---- Text ---- */

void fsb_report_plan(const struct fsb_plan *plan, const char *subdir)
{
	printf("Benchmark Configuration:\n"
	       "  Threads: %u | Iterations: %u\n"
	       "  Files: %" PRIu64 " | Size: %" PRIu64 "\n"
	       "  Directories: %u | Block Size: %" PRIu64 " | Fsync Every: %" PRIu64 "\n"
	       "  Backend: %s%s\n",
		plan->threads, plan->iterations, plan->files, plan->size, plan->dirs, plan->block,
		plan->fsync_every, plan->backend->name,
		plan->mount_per_thread ? ", a mount for each thread" : "");
	if (plan->target.filesystem)
		printf("  Filesystem: %s\n", plan->target.filesystem);
	printf("  Root: %s\n"
	       "  Subdirectory: %s\n"
	       "  UID: %" PRId64 "\n"
	       "  GID: %" PRId64 "\n",
		plan->target.root, subdir, plan->target.uid, plan->target.gid);
}

void fsb_report_phase(
	const struct fsb_plan *plan, enum fsb_phase phase, const struct fsb_figures *figures)
{
	static const char *const titles[FSB_PHASES] = {"Write: ", "Read:  ", "Stat:  ", "Unlink:"};

	printf("  %s ", titles[phase]);
	if (plan->size > 0 && (phase == FSB_WRITE || phase == FSB_READ))
		printf("%.2f MiB/s, ", fsb_mib_per_second(figures));
	printf("%.2f files/s (%.3fs)\n", fsb_files_per_second(figures), figures->seconds);
	fflush(stdout);
}

static void report_series(const struct series *s, const struct fsb_results *results)
{
	struct fsb_summary summary;

	if (!summarize(s, results, &summary))
		return;
	printf("\n%s Statistics (%u run%s):\n"
	       "  Mean:    %.2f %s\n"
	       "  Std Dev: %.2f %s\n"
	       "  Min:     %.2f %s\n"
	       "  Max:     %.2f %s\n",
		s->title, results->iterations, results->iterations == 1 ? "" : "s", summary.mean,
		s->unit, summary.deviation, s->unit, summary.min, s->unit, summary.max, s->unit);
}

static void report_latencies(const struct fsb_results *results)
{
	printf("\nLatency (microseconds):\n  %-8s %10s", "Call", "Count");
	for (int p = 0; p < PERCENTILES; p++)
		printf(" %9g%%", percentiles[p]);
	printf(" %10s\n", "Max");
	for (int call = 0; call < FSB_CALLS; call++) {
		const struct fsb_latencies *latencies = &results->latencies[call];

		if (latencies->count == 0)
			continue;
		printf("  %-8s %10" PRIu64, fsb_call_names[call], latencies->count);
		for (int p = 0; p < PERCENTILES; p++)
			printf(" %10.1f",
				(double)fsb_latency_percentile(latencies, percentiles[p]) /
					NS_PER_US);
		printf(" %10.1f\n", (double)latencies->max / NS_PER_US);
	}
}

void fsb_report_results(const struct fsb_plan *plan, const struct fsb_results *results)
{
	printf("\n*** Final Report ***\n");
	for (int i = 0; i < SERIES; i++) {
		if (applies(&series[i], plan))
			report_series(&series[i], results);
	}
	report_latencies(results);
}

/* ---- JSON ---- */

/* The length of the UTF-8 character at s, 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
	size_t length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates and what is beyond the last plane. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/* A string, or null; bytes that are no text become the replacement character. */
static void put_string(FILE *to, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;
	size_t length;

	if (!s) {
		fputs("null", to);
		return;
	}
	fputc('"', to);
	for (; *s; s += length) {
		length = 1;
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (*s < 0x20)
			fprintf(to, "\\u%04x", (unsigned int)*s);
		else if (*s < 0x80)
			fputc(*s, to);
		else if ((length = utf8_length(s)) > 0)
			fwrite(s, 1, length, to);
		else
			length = (size_t)fprintf(to, "\\ufffd") / 6;
	}
	fputc('"', to);
}

static void put_plan(FILE *to, const struct fsb_plan *plan, const char *subdir)
{
	fprintf(to,
		"  \"config\": {\n"
		"    \"backend\": \"%s\",\n"
		"    \"threads\": %u,\n"
		"    \"iterations\": %u,\n"
		"    \"files\": %" PRIu64 ",\n"
		"    \"size\": %" PRIu64 ",\n"
		"    \"block_size\": %" PRIu64 ",\n"
		"    \"fsync_every\": %" PRIu64 ",\n"
		"    \"dirs\": %u,\n"
		"    \"duration\": %" PRIu64 ",\n"
		"    \"per_thread_mount\": %s,\n"
		"    \"cleanup\": %s,\n"
		"    \"uid\": %" PRId64 ",\n"
		"    \"gid\": %" PRId64 ",\n"
		"    \"filesystem\": ",
		plan->backend->name, plan->threads, plan->iterations, plan->files, plan->size,
		plan->block, plan->fsync_every, plan->dirs, plan->duration,
		plan->mount_per_thread ? "true" : "false", plan->cleanup ? "true" : "false",
		plan->target.uid, plan->target.gid);
	put_string(to, plan->target.filesystem);
	fputs(",\n    \"root_path\": ", to);
	put_string(to, plan->target.root);
	fputs(",\n    \"prefix\": ", to);
	put_string(to, plan->prefix);
	fputs(",\n    \"subdirectory\": ", to);
	put_string(to, subdir);
	fputs("\n  },\n", to);
}

static void put_iteration(
	FILE *to, const struct fsb_plan *plan, const struct fsb_figures figures[FSB_PHASES])
{
	fputc('{', to);
	for (int phase = 0; phase < FSB_PHASES; phase++) {
		const struct fsb_figures *f = &figures[phase];

		if (phase == FSB_UNLINK && !plan->cleanup)
			continue;
		fprintf(to,
			"%s\n      \"%s\": { \"files\": %" PRIu64 ", \"bytes\": %" PRIu64
			", \"seconds\": %.6f, \"mib_per_second\": %.3f, \"files_per_second\": %.3f "
			"}",
			phase ? "," : "", phase_names[phase], f->files, f->bytes, f->seconds,
			fsb_mib_per_second(f), fsb_files_per_second(f));
	}
	fputs("\n    }", to);
}

static void put_series(FILE *to, const struct fsb_plan *plan, const struct fsb_results *results)
{
	const char *separator = "";
	struct fsb_summary s;

	fputs("  \"statistics\": {", to);
	for (int i = 0; i < SERIES; i++) {
		if (!applies(&series[i], plan) || !summarize(&series[i], results, &s))
			continue;
		fprintf(to,
			"%s\n    \"%s\": { \"unit\": \"%s\", \"mean\": %.3f, \"std_dev\": %.3f, "
			"\"min\": %.3f, "
			"\"max\": %.3f }",
			separator, series[i].key, series[i].unit, s.mean, s.deviation, s.min,
			s.max);
		separator = ",";
	}
	fputs("\n  },\n", to);
}

static void put_latencies(FILE *to, const struct fsb_results *results)
{
	const char *separator = "";

	fputs("  \"latency_us\": {", to);
	for (int call = 0; call < FSB_CALLS; call++) {
		const struct fsb_latencies *latencies = &results->latencies[call];

		if (latencies->count == 0)
			continue;
		fprintf(to, "%s\n    \"%s\": { \"count\": %" PRIu64, separator,
			fsb_call_names[call], latencies->count);
		for (int p = 0; p < PERCENTILES; p++)
			fprintf(to, ", \"p%g\": %.3f", percentiles[p],
				(double)fsb_latency_percentile(latencies, percentiles[p]) /
					NS_PER_US);
		fprintf(to, ", \"max\": %.3f }", (double)latencies->max / NS_PER_US);
		separator = ",";
	}
	fputs("\n  }\n", to);
}

void fsb_report_json(
	const struct fsb_plan *plan, const struct fsb_results *results, bool complete, FILE *to)
{
	fprintf(to, "{\n  \"version\": \"" PFU_VERSION "\",\n  \"complete\": %s,\n",
		complete ? "true" : "false");
	put_plan(to, plan, results->subdir);
	fputs("  \"caches\": ", to);
	put_string(to, results->caches);
	fputs(",\n  \"iterations\": [", to);
	for (unsigned int i = 0; i < results->iterations; i++) {
		fputs(i ? ", " : "", to);
		put_iteration(to, plan, results->figures[i]);
	}
	fputs("],\n", to);
	put_series(to, plan, results);
	put_latencies(to, results);
	fputs("}\n", to);
}
