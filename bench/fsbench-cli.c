/*
 * fsbench-cli.c - what the commands of fsbench share: messages, help, arguments, signals.
 */
#include "fsbench.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void fsb_error(int errnum, const char *format, ...)
{
	va_list args;

	flockfile(stderr);
	fputs("fsbench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (errnum)
		fprintf(stderr, ": %s", strerror(errnum));
	fputc('\n', stderr);
	funlockfile(stderr);
}

void fsb_usage_error(const char *format, ...)
{
	va_list args;

	fputs("fsbench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fsb_try_help();
}

void fsb_try_help(void)
{
	fputs("Try 'fsbench --help' for more information.\n", stderr);
	exit(FSB_EXIT_USAGE);
}

uint64_t fsb_size_argument(const char *option, const char *text)
{
	uint64_t size;

	if (!fsb_parse_size(text, &size))
		fsb_usage_error("--%s: not a size such as 4096, 64K or 4MB: '%s'", option, text);
	return size;
}

uint64_t fsb_number_argument(const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t number;

	if (!fsb_parse_number(text, min, max, &number))
		fsb_usage_error("--%s: not a number from %llu to %llu: '%s'", option,
			(unsigned long long)min, (unsigned long long)max, text);
	return number;
}

void fsb_help(void)
{
	fputs("Usage: fsbench [GENERAL-OPTION]... bench [OPTION]...\n"
	      "       fsbench dataset [OPTION]... DIR\n"
	      "Measure a file system by many threads that create, write, read, stat and unlink\n"
	      "files; or make a tree of files at DIR for other benchmarks.\n"
	      "\n"
	      "General options (all but the first for CephFS):\n"
	      "  -h, --help               show this help and exit\n"
	      "  -c, --conf=FILE          configuration of the cluster\n"
	      "  -i, --id=ID              client to connect as (admin)\n"
	      "  -k, --keyring=FILE       where its key is\n"
	      "      --filesystem=NAME    which file system of the cluster\n"
	      "      --uid=N, --gid=N     user and group to act as (-1: one's own)\n"
	      "      --client-oc=0|1      let the client cache data or not\n"
	      "      --client-oc-size=SIZE  for how much data\n"
	      "\n"
	      "Options of bench:\n"
	      "      --backend=WHICH      posix: what is mounted (default); cephfs: libcephfs\n"
	      "      --threads=N          threads at work (1)\n"
	      "      --iterations=N       how often all is done (1)\n"
	      "      --files=N            files in all (100)\n"
	      "      --size=SIZE          of each file (4MB; 0: creates only)\n"
	      "      --block-size=SIZE    of each read and write (4MB)\n"
	      "      --fsync-every=SIZE   fsync after so many bytes (0: never)\n"
	      "      --dirs=N             spread the files over N directories (1)\n"
	      "      --prefix=TEXT        what their names begin with (benchmark_)\n"
	      "      --dir-prefix=TEXT    and that of the directory for them (bench_run_)\n"
	      "      --root-path=DIR      where that is made (/)\n"
	      "      --per-thread-mount   a client of its own for each thread\n"
	      "      --duration=SECONDS   end each phase but the clean-up after so long\n"
	      "      --no-cleanup         leave the files there\n"
	      "      --json=FILE          write the results there too (-: standard output)\n"
	      "      --perf-dump=FILE     write the counters of libcephfs there\n"
	      "\n",
		stdout);
	fputs("Options of dataset:\n"
	      "      --shape=WHICH        imagenet (default), flat, deep, node_modules, mixed,\n"
	      "                             links or holes; it sets what follows\n"
	      "      --dirs=N             directories side by side\n"
	      "      --files=N            files in all\n"
	      "      --size=SIZE          mean size of a file\n"
	      "      --jitter=PERCENT     by how much sizes differ from it\n"
	      "      --depth=N            directories below one another\n"
	      "      --seed=N             other seeds give other bytes and sizes (1)\n"
	      "      --threads=N          threads at work (twice the processors)\n"
	      "\n"
	      "SIZE: 4MB, or MB and the like, are powers of 1000; 4M and 4MiB of 1024.\n",
		stdout);
	exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* The signal that came, if one did.  Only the handler writes it; readers can do with late news. */
static volatile sig_atomic_t signal_seen;

int fsb_interrupted(void)
{
	return signal_seen;
}

static void note_signal(int number)
{
	signal_seen = number;
}

/*
 * A signal makes the threads stop and clean up.  So does the same signal again: timeout(1) sends
 * each twice, to the process and to its group.
 */
void fsb_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* Who started it with a signal ignored (nohup) means that. */
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	/* A reader of the report that goes away must not leave the files lying. */
	signal(SIGPIPE, SIG_IGN);
}
