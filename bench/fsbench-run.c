/*
 * fsbench-run.c - the benchmark: threads and phases, and what must be removed again.
 *
 * File number i is made, read, stat'ed and unlinked by thread i % threads, in directory
 * i % dirs: with as many directories as threads, or a multiple, each thread has
 * directories of its own.  All threads of a phase begin together, once each is ready (and
 * has its own mount, if it is to have one); a phase lasts from the first begin to the
 * last end.
 *
 * A thread that meets an error, or a signal, makes all of them stop.  Whoever made a
 * file counts it, so what has to be cleaned up is known at every moment.
 */
#include "fsbench.h"

#include <errno.h>
#include <inttypes.h>
#include <pfu/report.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATH_SIZE = 1024, NS_PER_SECOND = 1000000000, DATA_STEP = sizeof(uint64_t) };

const char *const fsb_call_names[FSB_CALLS] = {
	[FSB_CALL_CREATE] = "create",
	[FSB_CALL_WRITE] = "write",
	[FSB_CALL_FSYNC] = "fsync",
	[FSB_CALL_CLOSE] = "close",
	[FSB_CALL_OPEN] = "open",
	[FSB_CALL_READ] = "read",
	[FSB_CALL_STAT] = "stat",
	[FSB_CALL_UNLINK] = "unlink",
};

struct run;

/* One thread of the benchmark.  That thread's in a phase, the main thread's between phases. */
struct worker {
	struct run *run;
	unsigned int number;
	pthread_t thread;
	struct fsb_mount *mount;
	unsigned char *buffer; /* of one block */
	/* Of this thread's files in this iteration: how many it made and removed, and wrote to the end. */
	uint64_t made;
	uint64_t removed;
	uint64_t written;
	/* Of the current phase. */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t files;
	uint64_t bytes;
	struct fsb_latencies latencies[FSB_CALLS];
};

/* What a thread does in a phase; false: it has said why not. */
typedef bool phase_body(struct worker *worker);

struct run {
	const struct fsb_plan *plan;
	const struct fsb_backend *backend;
	struct fsb_results *results;
	struct fsb_mount *mount; /* the main thread's, and all threads' unless each has its own */
	struct worker *workers;
	phase_body *body;
	unsigned int iteration;
	unsigned int dirs_made;
	bool subdir_made;
	bool cleaning; /* what has to be done whatever happened: don't stop */
	atomic_bool failed;
	/* The start of a phase: threads wait until the main thread opens the gate.  Under lock. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int ready;
	bool open;
	FILE *perf_dump; /* under lock */
	bool perf_dumped;
	const char *phase_name;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SECOND + (uint64_t)ts.tv_nsec;
}

static bool stopping(struct run *run)
{
	return !run->cleaning && (atomic_load(&run->failed) || fsb_interrupted());
}

/* ---- Errors ---- */

/* Says what failed, where and, if it was one of the threads, in which; all stop. */
static bool fail(struct run *run, const struct worker *worker, const char *what, const char *path,
	ssize_t error)
{
	const char *root = run->plan->target.root;
	bool slash = *path && *root && root[strlen(root) - 1] != '/';
	char full[2 * PATH_SIZE], thread[32] = "";
	char *quoted;

	atomic_store(&run->failed, true);
	snprintf(full, sizeof(full), "%s%s%s", root, slash ? "/" : "", path);
	if (worker)
		snprintf(thread, sizeof(thread), "thread %u: ", worker->number);
	quoted = pfu_quote_name(full);
	fsb_error((int)-error, "%scannot %s %s", thread, what, quoted ? quoted : full);
	free(quoted);
	return false;
}

static bool worker_fail(
	const struct worker *worker, const char *what, const char *path, ssize_t error)
{
	return fail(worker->run, worker, what, path, error);
}

/* ---- What is done with one file ---- */

/* The path of the n-th file of a thread, relative to the root path. */
static void file_path(const struct worker *worker, uint64_t n, char path[PATH_SIZE])
{
	const struct run *run = worker->run;
	const struct fsb_plan *plan = run->plan;
	uint64_t index = n * plan->threads + worker->number;
	char dir[32] = "";

	if (plan->dirs > 1)
		snprintf(dir, sizeof(dir), "/dir_%" PRIu64, index % plan->dirs);
	snprintf(path, PATH_SIZE, "%s%s/%s%u_%" PRIu64, run->results->subdir, dir, plan->prefix,
		run->iteration, index);
}

/* How many files are a thread's to make. */
static uint64_t share(const struct worker *worker)
{
	const struct fsb_plan *plan = worker->run->plan;

	return (plan->files + plan->threads - 1 - worker->number) / plan->threads;
}

/* Notes the end of a call that began at *since, where the next one begins. */
static void timed(struct worker *worker, enum fsb_call call, uint64_t *since)
{
	uint64_t now = now_ns();

	fsb_latency_add(&worker->latencies[call], now - *since);
	*since = now;
}

static bool write_data(struct worker *worker, int fd, const char *path, uint64_t *since)
{
	const struct fsb_plan *plan = worker->run->plan;
	const struct fsb_backend *backend = plan->backend;
	uint64_t at = 0, synced = 0;
	ssize_t n;

	while (at < plan->size && !stopping(worker->run)) {
		uint64_t block = plan->size - at < plan->block ? plan->size - at : plan->block;

		n = backend->write(worker->mount, fd, worker->buffer, block, (off_t)at);
		if (n <= 0)
			return worker_fail(worker, "write", path, n ? n : -EIO);
		timed(worker, FSB_CALL_WRITE, since);
		at += (uint64_t)n;
		worker->bytes += (uint64_t)n;
		if (plan->fsync_every && at - synced >= plan->fsync_every) {
			n = backend->fsync(worker->mount, fd);
			if (n < 0)
				return worker_fail(worker, "fsync", path, n);
			timed(worker, FSB_CALL_FSYNC, since);
			synced = at;
		}
	}
	return true;
}

static bool read_data(struct worker *worker, int fd, const char *path, uint64_t *since)
{
	const struct fsb_plan *plan = worker->run->plan;
	uint64_t at = 0;
	ssize_t n;

	while (at < plan->size && !stopping(worker->run)) {
		uint64_t block = plan->size - at < plan->block ? plan->size - at : plan->block;

		n = plan->backend->read(worker->mount, fd, worker->buffer, block, (off_t)at);
		if (n < 0)
			return worker_fail(worker, "read", path, n);
		if (n == 0)
			return worker_fail(worker, "read the whole of", path, -ENODATA);
		timed(worker, FSB_CALL_READ, since);
		at += (uint64_t)n;
		worker->bytes += (uint64_t)n;
	}
	return true;
}

/* Closes it whatever happened before. */
static bool close_file(struct worker *worker, int fd, const char *path, bool good, uint64_t *since)
{
	int error = worker->run->backend->close(worker->mount, fd);

	if (!good)
		return false;
	if (error < 0)
		return worker_fail(worker, "close", path, error);
	timed(worker, FSB_CALL_CLOSE, since);
	return true;
}

static bool write_file(struct worker *worker, const char *path, uint64_t *since)
{
	int fd = worker->run->backend->create(worker->mount, path);

	if (fd < 0)
		return worker_fail(worker, "create", path, fd);
	worker->made++;
	timed(worker, FSB_CALL_CREATE, since);
	return close_file(worker, fd, path, write_data(worker, fd, path, since), since);
}

static bool read_file(struct worker *worker, const char *path, uint64_t *since)
{
	int fd = worker->run->backend->open(worker->mount, path);

	if (fd < 0)
		return worker_fail(worker, "open", path, fd);
	timed(worker, FSB_CALL_OPEN, since);
	return close_file(worker, fd, path, read_data(worker, fd, path, since), since);
}

static bool stat_file(struct worker *worker, const char *path, uint64_t *since)
{
	int error = worker->run->backend->stat(worker->mount, path);

	if (error < 0)
		return worker_fail(worker, "stat", path, error);
	timed(worker, FSB_CALL_STAT, since);
	return true;
}

static bool unlink_file(struct worker *worker, const char *path, uint64_t *since)
{
	int error = worker->run->backend->unlink(worker->mount, path);

	if (error < 0)
		return worker_fail(worker, "unlink", path, error);
	worker->removed++;
	timed(worker, FSB_CALL_UNLINK, since);
	return true;
}

static bool drop_file(struct worker *worker, const char *path, uint64_t *since)
{
	int error = worker->run->backend->drop_file(worker->mount, path);

	if (error < 0)
		return worker_fail(worker, "drop the cached data of", path, error);
	*since = now_ns();
	return true;
}

/* ---- Phases: the same for each of a thread's files ---- */

/* From the first-th file to before the end-th, or to a signal, an error or the end of the time. */
static bool for_files(struct worker *worker, uint64_t first, uint64_t end, bool limited,
	bool (*action)(struct worker *, const char *, uint64_t *))
{
	uint64_t limit = limited ? worker->run->plan->duration * NS_PER_SECOND : 0;
	uint64_t since = worker->begin_ns;
	char path[PATH_SIZE];

	for (uint64_t n = first; n < end && !stopping(worker->run); n++) {
		if (limit && since - worker->begin_ns >= limit)
			break;
		file_path(worker, n, path);
		if (!action(worker, path, &since))
			return false;
		worker->files++;
	}
	return true;
}

static bool write_phase(struct worker *worker)
{
	bool good = for_files(worker, 0, share(worker), true, write_file);

	worker->written = worker->files;
	return good;
}

static bool read_phase(struct worker *worker)
{
	return for_files(worker, 0, worker->written, true, read_file);
}

static bool stat_phase(struct worker *worker)
{
	return for_files(worker, 0, worker->written, true, stat_file);
}

static bool unlink_phase(struct worker *worker)
{
	return for_files(worker, worker->removed, worker->made, false, unlink_file);
}

static bool drop_phase(struct worker *worker)
{
	return for_files(worker, 0, worker->written, false, drop_file);
}

/* ---- Mounts ---- */

/* Adds the counters of a mount to the perf dump, before it ends. */
static bool dump_counters(struct run *run, const struct worker *worker, struct fsb_mount *mount)
{
	char *json, thread[16] = "null";
	int error;

	if (!run->perf_dump)
		return true;
	error = run->backend->counters(mount, &json);
	if (error < 0)
		return fail(run, worker, "get the counters of", "", error);
	if (worker)
		snprintf(thread, sizeof(thread), "%u", worker->number);
	pthread_mutex_lock(&run->lock);
	fprintf(run->perf_dump,
		"%s\n{\"iteration\": %u, \"after\": \"%s\", \"thread\": %s, \"counters\": %s}",
		run->perf_dumped ? "," : "[", run->iteration, run->phase_name, thread, json);
	run->perf_dumped = true;
	pthread_mutex_unlock(&run->lock);
	free(json);
	return true;
}

static bool mount_main(struct run *run)
{
	const char *what = "mount";
	int error = run->backend->mount(&run->plan->target, false, &run->mount, &what);

	if (error == 0)
		return true;
	run->mount = NULL;
	return fail(run, NULL, what, "", error);
}

static bool unmount_main(struct run *run)
{
	bool good = dump_counters(run, NULL, run->mount);
	int error = run->backend->unmount(run->mount);

	run->mount = NULL;
	if (error < 0)
		return fail(run, NULL, "unmount", "", error);
	return good;
}

static bool worker_mount(struct worker *worker)
{
	struct run *run = worker->run;
	const char *what = "mount";
	int error;

	worker->mount = run->mount;
	if (!run->plan->mount_per_thread)
		return true;
	error = run->backend->mount(&run->plan->target, true, &worker->mount, &what);
	return error == 0 || worker_fail(worker, what, "", error);
}

static void worker_unmount(struct worker *worker)
{
	struct run *run = worker->run;
	int error;

	if (!run->plan->mount_per_thread)
		return;
	dump_counters(run, worker, worker->mount);
	error = run->backend->unmount(worker->mount);
	if (error < 0)
		worker_fail(worker, "unmount", "", error);
}

/* ---- Threads ---- */

static void wait_at_gate(struct run *run)
{
	pthread_mutex_lock(&run->lock);
	run->ready++;
	pthread_cond_broadcast(&run->changed);
	while (!run->open)
		pthread_cond_wait(&run->changed, &run->lock);
	pthread_mutex_unlock(&run->lock);
}

static void open_gate(struct run *run, unsigned int threads)
{
	pthread_mutex_lock(&run->lock);
	while (run->ready < threads)
		pthread_cond_wait(&run->changed, &run->lock);
	run->open = true;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	bool mounted = worker_mount(worker);

	wait_at_gate(worker->run);
	worker->begin_ns = now_ns();
	if (mounted)
		worker->run->body(worker);
	worker->end_ns = now_ns();
	if (mounted)
		worker_unmount(worker);
	return NULL;
}

/* Runs a phase in all threads, until they have ended. */
static bool run_threads(struct run *run, phase_body *body)
{
	unsigned int started;
	int error = 0;

	run->body = body;
	run->ready = 0;
	run->open = false;
	for (started = 0; started < run->plan->threads; started++) {
		struct worker *worker = &run->workers[started];

		worker->files = worker->bytes = 0;
		error = pthread_create(&worker->thread, NULL, worker_main, worker);
		if (error) {
			fail(run, worker, "start a thread for", run->results->subdir, -error);
			break;
		}
	}
	open_gate(run, started);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(run->workers[i].thread, NULL);
	return error == 0 && !stopping(run);
}

static struct fsb_figures phase_figures(const struct run *run)
{
	struct fsb_figures figures = {0};
	uint64_t begin = UINT64_MAX, end = 0;

	for (unsigned int i = 0; i < run->plan->threads; i++) {
		const struct worker *worker = &run->workers[i];

		figures.files += worker->files;
		figures.bytes += worker->bytes;
		if (worker->begin_ns < begin)
			begin = worker->begin_ns;
		if (worker->end_ns > end)
			end = worker->end_ns;
	}
	figures.seconds = (double)(end - begin) / NS_PER_SECOND;
	return figures;
}

/* ---- An iteration ---- */

static bool measure(struct run *run, enum fsb_phase phase)
{
	static const struct {
		const char *name;
		const char *title;
		phase_body *body;
	} phases[FSB_PHASES] = {
		[FSB_WRITE] = {"write", "Write", write_phase},
		[FSB_READ] = {"read", "Read", read_phase},
		[FSB_STAT] = {"stat", "Stat", stat_phase},
		[FSB_UNLINK] = {"unlink", "Unlink", unlink_phase},
	};
	struct fsb_figures *figures = &run->results->figures[run->iteration - 1][phase];

	printf("Starting %s Phase...\n", phases[phase].title);
	fflush(stdout);
	run->phase_name = phases[phase].name;
	if (!run_threads(run, phases[phase].body))
		return false;
	*figures = phase_figures(run);
	fsb_report_phase(run->plan, phase, figures);
	return true;
}

/* What was written and looked up is to come from the file system again, as far as can be. */
static bool drop_caches(struct run *run)
{
	if (!run->backend->drop) {
		printf("Remounting...\n");
		run->results->caches = "remounted";
		return unmount_main(run) && mount_main(run);
	}
	printf("Dropping Caches...\n");
	fflush(stdout);
	switch (run->backend->drop(run->mount)) {
	case FSB_ALL_DROPPED:
		run->results->caches = "dropped";
		return true;
	case FSB_KERNEL_DROPPED:
		run->results->caches = "kernel's dropped";
		printf("  The kernel's only: the file system's own process may remember more\n");
		return true;
	case FSB_ALL_KEPT:
		run->results->caches = "kept";
		printf("  Kept: these files are in memory and nowhere else\n");
		return true;
	default:
		run->results->caches = "data dropped";
		printf("  Data only: no permission to drop names and attributes\n");
		return run_threads(run, drop_phase);
	}
}

static bool iterate(struct run *run)
{
	printf("\n--- Iteration %u of %u ---\n", run->iteration, run->plan->iterations);
	for (unsigned int i = 0; i < run->plan->threads; i++)
		run->workers[i].made = run->workers[i].removed = 0;
	if (!measure(run, FSB_WRITE) || !drop_caches(run) || !measure(run, FSB_READ) ||
		!drop_caches(run) || !measure(run, FSB_STAT))
		return false;
	return !run->plan->cleanup || measure(run, FSB_UNLINK);
}

/* ---- Before and after ---- */

static bool make_dirs(struct run *run)
{
	struct fsb_results *results = run->results;
	char path[PATH_SIZE];
	int error = -EEXIST;

	/* Numbers that others may have taken; so many at once nobody has. */
	for (unsigned int tries = 0; error == -EEXIST && tries < 1000; tries++) {
		snprintf(results->subdir, sizeof(results->subdir), "%s%04x", run->plan->dir_prefix,
			(unsigned int)(now_ns() >> 4) & 0xffff);
		error = run->backend->mkdir(run->mount, results->subdir);
	}
	if (error < 0)
		return fail(run, NULL, "make the directory", results->subdir, error);
	run->subdir_made = true;
	for (; run->plan->dirs > 1 && run->dirs_made < run->plan->dirs; run->dirs_made++) {
		snprintf(path, sizeof(path), "%s/dir_%u", results->subdir, run->dirs_made);
		error = stopping(run) ? -EINTR : run->backend->mkdir(run->mount, path);
		if (error < 0 && !fsb_interrupted())
			return fail(run, NULL, "make the directory", path, error);
		if (error < 0)
			return false;
	}
	return true;
}

static bool remove_dir(struct run *run, const char *path)
{
	int error = run->backend->rmdir(run->mount, path);

	return error == 0 || fail(run, NULL, "remove the directory", path, error);
}

/* Removes the files that are still there, and the directories. */
static bool clean_up(struct run *run)
{
	char path[PATH_SIZE];

	if (!run->plan->cleanup || !run->subdir_made)
		return true;
	printf("\nCleaning up...\n");
	fflush(stdout);
	run->cleaning = true;
	run->phase_name = "clean-up";
	if (!run->mount && !mount_main(run))
		return false;
	if (run->workers)
		run_threads(run, unlink_phase);
	while (run->dirs_made > 0) {
		snprintf(path, sizeof(path), "%s/dir_%u", run->results->subdir, --run->dirs_made);
		if (!remove_dir(run, path))
			return false;
	}
	return remove_dir(run, run->results->subdir);
}

/* Bytes that no file system can compress or find twice in a block. */
static void fill(unsigned char *buffer, size_t size, uint64_t state)
{
	for (size_t i = 0; i < size; i += DATA_STEP) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memcpy(buffer + i, &state, size - i < DATA_STEP ? size - i : DATA_STEP);
	}
}

static bool make_workers(struct run *run)
{
	const struct fsb_plan *plan = run->plan;
	uint64_t size = plan->size < plan->block ? plan->size : plan->block;

	run->workers = calloc(plan->threads, sizeof(*run->workers));
	if (!run->workers)
		return fail(run, NULL, "get memory for the threads on", "", -ENOMEM);
	/* All of them know who they are before anything can fail: cleaning up starts them. */
	for (unsigned int i = 0; i < plan->threads; i++) {
		run->workers[i].run = run;
		run->workers[i].number = i;
	}
	for (unsigned int i = 0; i < plan->threads; i++) {
		struct worker *worker = &run->workers[i];

		worker->buffer = malloc(size ? size : 1);
		if (!worker->buffer)
			return fail(run, worker, "get memory for a block of", "", -ENOMEM);
		fill(worker->buffer, size, i + 1);
	}
	return true;
}

/* Hands on what the workers measured, and frees them. */
static void free_workers(struct run *run)
{
	for (unsigned int i = 0; run->workers && i < run->plan->threads; i++) {
		for (int call = 0; call < FSB_CALLS; call++)
			fsb_latency_merge(
				&run->results->latencies[call], &run->workers[i].latencies[call]);
		free(run->workers[i].buffer);
	}
	free(run->workers);
}

static bool run_iterations(struct run *run)
{
	for (unsigned int i = 1; i <= run->plan->iterations; i++) {
		run->iteration = i;
		/* Each begins as the first did. */
		if ((i > 1 && !drop_caches(run)) || !iterate(run))
			return false;
		run->results->iterations = i;
	}
	return true;
}

bool fsb_run(const struct fsb_plan *plan, FILE *perf_dump, struct fsb_results *results)
{
	struct run run = {
		.plan = plan,
		.backend = plan->backend,
		.results = results,
		.perf_dump = perf_dump,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.phase_name = "mount",
	};
	bool good;

	results->figures = calloc(plan->iterations, sizeof(*results->figures));
	if (!results->figures)
		return fail(&run, NULL, "get memory for the results on", "", -ENOMEM);
	good = mount_main(&run) && make_dirs(&run);
	if (good) {
		fsb_report_plan(plan, results->subdir);
		good = make_workers(&run) && run_iterations(&run);
	}
	good = clean_up(&run) && good;
	if (run.mount)
		good = unmount_main(&run) && good;
	if (perf_dump)
		fputs(run.perf_dumped ? "\n]\n" : "[]\n", perf_dump);
	free_workers(&run);
	return good && !atomic_load(&run.failed);
}
