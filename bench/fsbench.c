/*
 * fsbench: what a file system gives at best to many threads that create, write, read, stat and
 * unlink files; and trees of files for other benchmarks.  man/fsbench.1 is its manual.
 *
 *	fsbench.c		this: general options, help, messages
 *	fsbench-bench.c		`fsbench bench`: its options, signals and files
 *	fsbench-run.c		the benchmark: threads, phases, cleaning up
 *	fsbench-report.c	its figures, for people and as JSON
 *	fsbench-stats.c		sizes, means, percentiles
 *	fsbench-backend.h	the calls that are made of a file system, and who answers them:
 *	fsbench-posix.c		the kernel
 *	fsbench-cephfs.c	libcephfs, if there was one when this was built
 *	fsbench-dataset.c	`fsbench dataset`: trees in various shapes
 */
#include "fsbench.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_FILESYSTEM = FSB_LONG_OPTION, OPT_UID, OPT_GID, OPT_CLIENT_OC, OPT_CLIENT_OC_SIZE };

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

/* -1 is the caller's own. */
static int64_t id_argument(const char *option, const char *text)
{
	if (strcmp(text, "-1") == 0)
		return -1;
	return (int64_t)fsb_number_argument(option, text, 0, UINT32_MAX - 1);
}

/* The options before the command. */
static void parse_general(int argc, char **argv, struct fsb_target *target)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"conf", required_argument, NULL, 'c'},
		{"id", required_argument, NULL, 'i'},
		{"keyring", required_argument, NULL, 'k'},
		{"filesystem", required_argument, NULL, OPT_FILESYSTEM},
		{"uid", required_argument, NULL, OPT_UID},
		{"gid", required_argument, NULL, OPT_GID},
		{"client-oc", required_argument, NULL, OPT_CLIENT_OC},
		{"client-oc-size", required_argument, NULL, OPT_CLIENT_OC_SIZE},
		{NULL, 0, NULL, 0},
	};
	int option;

	/* The + makes it end at the command. */
	while ((option = getopt_long(argc, argv, "+hc:i:k:", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fsb_help();
		case 'c':
			target->conf = optarg;
			break;
		case 'i':
			target->id = optarg;
			break;
		case 'k':
			target->keyring = optarg;
			break;
		case OPT_FILESYSTEM:
			target->filesystem = optarg;
			break;
		case OPT_UID:
			target->uid = id_argument("uid", optarg);
			break;
		case OPT_GID:
			target->gid = id_argument("gid", optarg);
			break;
		case OPT_CLIENT_OC:
			target->client_oc = optarg;
			break;
		case OPT_CLIENT_OC_SIZE:
			target->client_oc_size = optarg;
			break;
		default:
			fsb_try_help();
		}
	}
}

int main(int argc, char **argv)
{
	struct fsb_target target = {.root = "/", .uid = -1, .gid = -1};
	const char *command;

	parse_general(argc, argv, &target);
	if (optind == argc)
		fsb_usage_error("a command is wanted: bench or dataset");
	command = argv[optind];
	argc -= optind;
	argv += optind;
	/* For getopt_long(), which is to start anew and to begin its messages with the program's name. */
	argv[0] = program_invocation_short_name;
	optind = 0;
	if (strcmp(command, "bench") == 0)
		return fsb_bench(&target, argc, argv);
	if (strcmp(command, "dataset") == 0)
		return fsb_dataset(argc, argv);
	fsb_usage_error("no such command: '%s'", command);
}
