/*
 * fsbench.h - what the parts of fsbench share.  bench/fsbench.c has the map.
 */
#ifndef FSBENCH_H
#define FSBENCH_H

#include "fsbench-backend.h"
#include "fsbench-stats.h"

#include <stdio.h>

/* ---- Messages and options (fsbench-cli.c) ---- */

enum {
	FSB_EXIT_USAGE = 2,
	FSB_LONG_OPTION = 256, /* long options without a letter have values from here on */
	FSB_THREADS_MAX = 4096,
};

/* Prints a line: the name of the program, the text and, unless errnum is 0, the reason. */
void fsb_error(int errnum, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a mistake on the command line; then exits with FSB_EXIT_USAGE. */
_Noreturn void fsb_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The argument of an option; what cannot be is a mistake on the command line. */
uint64_t fsb_size_argument(const char *option, const char *text);
uint64_t fsb_number_argument(const char *option, const char *text, uint64_t min, uint64_t max);

/* Points at --help and exits with FSB_EXIT_USAGE. */
_Noreturn void fsb_try_help(void);

/* Prints all options and exits. */
_Noreturn void fsb_help(void);

/* From here on SIGINT, SIGTERM and SIGHUP are only noted; which came, or 0. */
void fsb_catch_signals(void);
int fsb_interrupted(void);

/* The commands: argv[0] is the name of the program.  They return the exit status. */
int fsb_bench(struct fsb_target *target, int argc, char **argv);
int fsb_dataset(int argc, char **argv);

/* ---- A benchmark: what is asked, and what came out (fsbench-run.c) ---- */

struct fsb_plan {
	const struct fsb_backend *backend;
	struct fsb_target target;
	unsigned int threads;
	unsigned int iterations;
	unsigned int dirs;
	uint64_t files;
	uint64_t size;
	uint64_t block;
	uint64_t fsync_every;
	uint64_t duration; /* seconds that a phase may last; 0: until it is done */
	const char *prefix;
	const char *dir_prefix;
	bool mount_per_thread;
	bool cleanup;
};

enum fsb_phase { FSB_WRITE, FSB_READ, FSB_STAT, FSB_UNLINK, FSB_PHASES };

/* Calls that are timed one by one. */
enum fsb_call {
	FSB_CALL_CREATE,
	FSB_CALL_WRITE,
	FSB_CALL_FSYNC,
	FSB_CALL_CLOSE,
	FSB_CALL_OPEN,
	FSB_CALL_READ,
	FSB_CALL_STAT,
	FSB_CALL_UNLINK,
	FSB_CALLS,
};

extern const char *const fsb_call_names[FSB_CALLS];

/* What one phase of one iteration did. */
struct fsb_figures {
	uint64_t files;
	uint64_t bytes;
	double seconds;
};

struct fsb_results {
	char subdir[256];
	unsigned int iterations; /* that are complete */
	struct fsb_figures (*figures)[FSB_PHASES];
	struct fsb_latencies latencies[FSB_CALLS]; /* of all of them */
	const char *caches;                        /* what was dropped before reading */
};

/*
 * Runs the whole benchmark, telling on standard output how it goes, and cleans up.
 * perf_dump, unless NULL, gets the client's counters.  False if anything failed (then
 * it has been said) or a signal came.  results->figures is to be freed.
 */
bool fsb_run(const struct fsb_plan *plan, FILE *perf_dump, struct fsb_results *results);

/* ---- Reports (fsbench-report.c) ---- */

double fsb_mib_per_second(const struct fsb_figures *figures);
double fsb_files_per_second(const struct fsb_figures *figures);

void fsb_report_plan(const struct fsb_plan *plan, const char *subdir);
void fsb_report_phase(
	const struct fsb_plan *plan, enum fsb_phase phase, const struct fsb_figures *figures);
void fsb_report_results(const struct fsb_plan *plan, const struct fsb_results *results);
void fsb_report_json(
	const struct fsb_plan *plan, const struct fsb_results *results, bool complete, FILE *to);

#endif
