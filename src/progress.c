/*
 * progress.c - how far a run has come, for whoever looks on.
 *
 * A thread of its own, which a worker starts when it notices that the run has lasted
 * a second (pfu/tally.h).  It sleeps waiting for SIGUSR1, which is blocked everywhere
 * else: so neither the signal nor a timer interrupts what a worker waits for.
 */
#include "progress.h"

#include "cli.h"
#include "meter.h"

#include <errno.h>
#include <linux/close_range.h>
#include <pfu/fstype.h>
#include <pfu/fsys.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000000)
/* How often the line on a terminal changes, and how often a line is added to a log. */
#define STEP 0.5
#define LOG_STEP 3.0
/* Of a terminal that does not say. */
#define WIDTH_USUAL 80
/* So many operands are asked for what is in them, one by one and for at most so long: workers are faster at it. */
#define OPERANDS_MOST 4096
#define TOTAL_TIME 1.0
/* There is not much on it, but what the C library needs. */
#define STACK_SIZE ((size_t)128 << 10)

enum mode { AUTO, ALWAYS, NEVER };

/* How the state is shown: not unless asked for by a signal, as a line that changes, as lines of a log. */
enum manner { SILENT, LINE, LOG };

static enum mode mode;

/* Set before the run, then constant. */
static struct {
	struct pfu_tally *tally;
	bool copies;
	const char *operands; /* the first of pointers to paths, `stride` bytes apart */
	size_t stride, count;
	double begun;
} run;

/* Written by the one worker that starts the thread; read when all workers have ended. */
static pthread_t thread;
static bool started;

static atomic_bool ending;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void progress_option(const char *arg)
{
	static const char *const words[] = { "auto", "always", "never", NULL };
	static const int values[] = { AUTO, ALWAYS, NEVER };

	mode = arg ? (enum mode)values[cli_word("--progress", arg, words, values)] : ALWAYS;
}

void progress_help(void)
{
	fputs("      --progress[=WHEN]        show how far the work is: auto (on a terminal;\n"
	      "                                 default), always (also if no WHEN; elsewhere a\n"
	      "                                 line now and then), never\n",
	      stdout);
}

/* ---- the thread ---- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* A terminal that can do no more than print, or nobody knows what. */
static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || strcmp(term, "dumb") == 0;
}

static enum manner manner(void)
{
	if (mode == NEVER)
		return SILENT;
	if (isatty(STDERR_FILENO) && !is_dumb())
		return LINE;
	return mode == ALWAYS ? LOG : SILENT;
}

/* Columns that can be written to without going on to the next line. */
static size_t width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return WIDTH_USUAL - 1;
	return size.ws_col - 1U;
}

/* Who works in the background leaves the line to whoever is in front. */
static bool is_in_front(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front < 0 || front == getpgrp();
}

/* Finds out what there is in all, if the file system knows. */
static void find_total(struct meter *m)
{
	uint64_t entries = 0, bytes = 0, e, b;
	double late = now() + TOTAL_TIME;
	const char *path;
	size_t i;

	if (run.count > OPERANDS_MOST)
		return;
	for (i = 0; i < run.count; i++) {
		memcpy(&path, run.operands + i * run.stride, sizeof(path));
		if (atomic_load(&ending) || now() > late)
			return;
		if (!pfu_fstype_total(&pfu_fsys_posix, path, &e, &b))
			return;
		entries += e;
		bytes += b;
	}
	m->total = run.count > 0;
	m->total_entries = entries;
	m->total_bytes = bytes;
}

static void show(const struct meter *m, const struct pfu_counts *counts, enum manner how)
{
	struct meter_view v = meter_look(m, counts);
	char line[METER_MAX];

	if (how == LINE) {
		(void)meter_line(line, width(), true, &v);
		cli_meter_show(line, !is_set("NO_COLOR"));
	} else {
		(void)meter_line(line, METER_MAX, false, &v);
		cli_error(0, "%s", line);
	}
}

/* Sleeps until then, or until SIGUSR1 has come (true). */
static bool wait_for_signal(bool until_then, double until)
{
	struct timespec ts = { 0, 0 };
	double left = until - now();
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (left > 0) {
		ts.tv_sec = (time_t)left;
		ts.tv_nsec = (long)((left - (double)ts.tv_sec) * 1e9);
	}
	return sigtimedwait(&usr1, NULL, until_then ? &ts : NULL) == SIGUSR1;
}

static void watch(void)
{
	enum manner how = manner();
	double step = how == LOG ? LOG_STEP : STEP, next = now();
	struct meter m = { .copies = run.copies };
	struct pfu_counts counts = { .workers = 0 };

	if (how == LOG)
		next = run.begun + LOG_STEP;
	meter_note(&m, run.begun, &counts);
	if (how != SILENT)
		find_total(&m);
	for (;;) {
		bool asked = wait_for_signal(how != SILENT, next);

		if (atomic_load(&ending))
			return;
		if (!asked && (how == SILENT || now() < next))
			continue;
		pfu_tally_read(run.tally, &counts);
		if (asked) {
			struct meter then = m;

			meter_note(&then, now(), &counts);
			show(&then, &counts, LOG);
			continue;
		}
		meter_note(&m, now(), &counts);
		if (how == LOG || is_in_front())
			show(&m, &counts, how);
		next += step;
		if (next < now())
			next = now() + step; /* after a stop (SIGTSTP) nothing is made up for */
	}
}

static void *thread_main(void *arg)
{
	(void)arg;
	/*
	 * Workers may have descriptor tables of their own, and one that is shared costs them
	 * something on each call: nothing above the standard streams is needed here.
	 */
	(void)pfu_fsys_posix.close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
	watch();
	return NULL;
}

/* The alarm of the tally: called by a worker. */
static void start(void *ctx)
{
	pthread_attr_t attr;
	sigset_t all, old;

	(void)ctx;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* Where there can be no more threads nobody sees how far the work is. */
	started = pthread_create(&thread, &attr, thread_main, NULL) == 0;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- for the program ---- */

void progress_prepare(void)
{
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
}

void progress_begin(struct pfu_tally *tally, bool copies)
{
	run.tally = tally;
	run.copies = copies;
	run.begun = now();
	pfu_tally_set_alarm(tally, SECOND, start, NULL);
}

void progress_operands(const void *first, size_t stride, size_t count)
{
	run.operands = first;
	run.stride = stride;
	run.count = count;
}

void progress_end(void)
{
	if (started) {
		atomic_store(&ending, true);
		pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
		started = false;
	}
	cli_meter_erase();
}
