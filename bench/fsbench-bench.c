/*
 * fsbench-bench.c - `fsbench bench`: options to struct fsb_plan, the files that results go to,
 * signals, and the exit status.
 */
#include "fsbench.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PREFIX_MAX = 128, DIRS_MAX = 1000000 };

enum {
	OPT_BACKEND = FSB_LONG_OPTION,
	OPT_THREADS,
	OPT_ITERATIONS,
	OPT_FILES,
	OPT_SIZE,
	OPT_BLOCK_SIZE,
	OPT_FSYNC_EVERY,
	OPT_DIRS,
	OPT_PREFIX,
	OPT_DIR_PREFIX,
	OPT_ROOT_PATH,
	OPT_PER_THREAD_MOUNT,
	OPT_DURATION,
	OPT_NO_CLEANUP,
	OPT_JSON,
	OPT_PERF_DUMP,
};

/* Where results go besides the report. */
struct outputs {
	const char *json;
	const char *perf_dump;
	FILE *json_file;
	FILE *perf_file;
};

static const struct fsb_backend *backend_argument(const char *name)
{
	if (strcmp(name, "posix") == 0)
		return &fsb_posix;
	if (strcmp(name, "cephfs") != 0)
		fsb_usage_error("--backend: neither posix nor cephfs: '%s'", name);
#ifdef HAVE_LIBCEPHFS
	return &fsb_cephfs;
#else
	fsb_usage_error("--backend=cephfs: this fsbench was built without libcephfs");
#endif
}

static const char *prefix_argument(const char *option, const char *text)
{
	if (strchr(text, '/') || strlen(text) > PREFIX_MAX)
		fsb_usage_error("--%s: has a slash in it or is too long: '%s'", option, text);
	return text;
}

static void parse(int argc, char **argv, struct fsb_plan *plan, struct outputs *outputs)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"backend", required_argument, NULL, OPT_BACKEND},
		{"threads", required_argument, NULL, OPT_THREADS},
		{"iterations", required_argument, NULL, OPT_ITERATIONS},
		{"files", required_argument, NULL, OPT_FILES},
		{"size", required_argument, NULL, OPT_SIZE},
		{"block-size", required_argument, NULL, OPT_BLOCK_SIZE},
		{"fsync-every", required_argument, NULL, OPT_FSYNC_EVERY},
		{"dirs", required_argument, NULL, OPT_DIRS},
		{"prefix", required_argument, NULL, OPT_PREFIX},
		{"dir-prefix", required_argument, NULL, OPT_DIR_PREFIX},
		{"root-path", required_argument, NULL, OPT_ROOT_PATH},
		{"per-thread-mount", no_argument, NULL, OPT_PER_THREAD_MOUNT},
		{"duration", required_argument, NULL, OPT_DURATION},
		{"no-cleanup", no_argument, NULL, OPT_NO_CLEANUP},
		{"json", required_argument, NULL, OPT_JSON},
		{"perf-dump", required_argument, NULL, OPT_PERF_DUMP},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fsb_help();
		case OPT_BACKEND:
			plan->backend = backend_argument(optarg);
			break;
		case OPT_THREADS:
			plan->threads = (unsigned int)fsb_number_argument(
				"threads", optarg, 1, FSB_THREADS_MAX);
			break;
		case OPT_ITERATIONS:
			plan->iterations =
				(unsigned int)fsb_number_argument("iterations", optarg, 1, 1000000);
			break;
		case OPT_FILES:
			plan->files = fsb_number_argument("files", optarg, 1, INT64_MAX);
			break;
		case OPT_SIZE:
			plan->size = fsb_size_argument("size", optarg);
			break;
		case OPT_BLOCK_SIZE:
			plan->block = fsb_size_argument("block-size", optarg);
			break;
		case OPT_FSYNC_EVERY:
			plan->fsync_every = fsb_size_argument("fsync-every", optarg);
			break;
		case OPT_DIRS:
			plan->dirs = (unsigned int)fsb_number_argument("dirs", optarg, 1, DIRS_MAX);
			break;
		case OPT_PREFIX:
			plan->prefix = prefix_argument("prefix", optarg);
			break;
		case OPT_DIR_PREFIX:
			plan->dir_prefix = prefix_argument("dir-prefix", optarg);
			break;
		case OPT_ROOT_PATH:
			plan->target.root = optarg;
			break;
		case OPT_PER_THREAD_MOUNT:
			plan->mount_per_thread = true;
			break;
		case OPT_DURATION:
			plan->duration = fsb_number_argument("duration", optarg, 0, UINT32_MAX);
			break;
		case OPT_NO_CLEANUP:
			plan->cleanup = false;
			break;
		case OPT_JSON:
			outputs->json = optarg;
			break;
		case OPT_PERF_DUMP:
			outputs->perf_dump = optarg;
			break;
		default:
			fsb_try_help();
		}
	}
	if (optind < argc)
		fsb_usage_error("extra operand '%s'", argv[optind]);
}

/* What makes no sense together. */
static void check(const struct fsb_plan *plan, const struct outputs *outputs)
{
	const struct fsb_target *t = &plan->target;

	if (plan->block == 0)
		fsb_usage_error("--block-size: must be more than 0");
	if (plan->backend != &fsb_posix)
		return;
	if (t->conf || t->id || t->keyring || t->filesystem || t->client_oc || t->client_oc_size)
		fsb_usage_error("options for a Ceph cluster need --backend=cephfs");
	if (t->uid != -1 || t->gid != -1)
		fsb_usage_error(
			"--uid, --gid: need --backend=cephfs; else run fsbench as that user");
	if (outputs->perf_dump)
		fsb_usage_error(
			"--perf-dump: needs --backend=cephfs; the kernel keeps no such counters");
}

/* Opened before the benchmark, which may take hours. */
static FILE *open_output(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file) {
		fsb_error(errno, "cannot open '%s' for writing", path);
		exit(EXIT_FAILURE);
	}
	return file;
}

static bool close_output(const char *path, FILE *file)
{
	bool failed = ferror(file);

	errno = 0;
	if (fclose(file) == 0 && !failed)
		return true;
	fsb_error(errno, "cannot write '%s'", path);
	return false;
}

/*
 * Opens what results go to.  If JSON is to go to standard output, that is all that goes
 * there, and the report goes to standard error.
 */
static void open_outputs(struct outputs *outputs)
{
	int fd;

	if (outputs->json && strcmp(outputs->json, "-") != 0) {
		outputs->json_file = open_output(outputs->json);
	} else if (outputs->json) {
		fd = dup(STDOUT_FILENO);
		outputs->json_file = fd < 0 ? NULL : fdopen(fd, "w");
		if (!outputs->json_file || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
			fsb_error(errno, "cannot write to standard output");
			exit(EXIT_FAILURE);
		}
	}
	if (outputs->perf_dump)
		outputs->perf_file = open_output(outputs->perf_dump);
}

/* Ends as the signal would have ended it, so that the caller sees that. */
static _Noreturn void end_by_signal(int number)
{
	signal(number, SIG_DFL);
	raise(number);
	_exit(128 + number);
}

int fsb_bench(struct fsb_target *target, int argc, char **argv)
{
	struct fsb_plan plan = {
		.backend = &fsb_posix,
		.target = *target,
		.threads = 1,
		.iterations = 1,
		.dirs = 1,
		.files = 100,
		.size = 4000000,
		.block = 4000000,
		.prefix = "benchmark_",
		.dir_prefix = "bench_run_",
		.cleanup = true,
	};
	struct outputs outputs = {0};
	struct fsb_results results = {0};
	bool good;

	parse(argc, argv, &plan, &outputs);
	check(&plan, &outputs);
	plan.target.counters = outputs.perf_dump != NULL;
	open_outputs(&outputs);
	fsb_catch_signals();
	good = fsb_run(&plan, outputs.perf_file, &results);
	if (good)
		fsb_report_results(&plan, &results);
	if (outputs.json_file) {
		fsb_report_json(&plan, &results, good && !fsb_interrupted(), outputs.json_file);
		good = close_output(outputs.json, outputs.json_file) && good;
	}
	if (outputs.perf_file)
		good = close_output(outputs.perf_dump, outputs.perf_file) && good;
	free(results.figures);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fsb_error(errno, "cannot write the report");
		good = false;
	}
	if (fsb_interrupted())
		end_by_signal(fsb_interrupted());
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
