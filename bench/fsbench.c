/*
 * fsbench: what a file system gives at best to many threads that create, write, read, stat and
 * unlink files; and trees of files for other benchmarks.  man/fsbench.1 is its manual.
 *
 *	fsbench.c		this: general options, and which command
 *	fsbench-cli.c		help, messages, arguments, signals
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
#include <stdlib.h>
#include <string.h>

enum { OPT_FILESYSTEM = FSB_LONG_OPTION, OPT_UID, OPT_GID, OPT_CLIENT_OC, OPT_CLIENT_OC_SIZE };

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
