/*
 * signals.c - how the programs end when a signal asks them to.
 */
#include "signals.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pfu/fsys.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Microseconds from one round to the next, see rouse(). */
#define ROUSE_INTERVAL 50000

atomic_bool signals_cancel;

/* Set by a handler, once. */
static atomic_int caught;

static const int asking[] = { SIGHUP, SIGINT, SIGTERM };
static const int broken[] = { SIGPIPE, SIGXFSZ };

static void set_handler(int sig, void (*handler)(int))
{
	/* No SA_RESTART: who waits for an answer, or for a server, is to wake up. */
	struct sigaction sa = { .sa_handler = handler };

	sigemptyset(&sa.sa_mask);
	(void)sigaction(sig, &sa, NULL);
}

static void do_nothing(int sig)
{
	(void)sig;
}

/*
 * Interrupts what other threads are waiting for: opening a fifo, a server that does
 * not answer.  (Only one of them gets the signal itself.)  Async-signal-safe, and so
 * without opendir().
 */
static void rouse_threads(int fd)
{
	_Alignas(8) char buf[2048];
	pid_t self = (pid_t)syscall(SYS_gettid);
	long n, at;

	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; at += ((struct pfu_dirent *)(void *)(buf + at))->d_reclen) {
			const char *s = ((struct pfu_dirent *)(void *)(buf + at))->d_name;
			pid_t tid = 0;

			for (; *s >= '0' && *s <= '9'; s++)
				tid = tid * 10 + (*s - '0');
			if (tid != 0 && tid != self)
				(void)syscall(SYS_tgkill, getpid(), tid, SIGURG);
		}
	}
}

static void rouse(int sig)
{
	int err = errno, fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)sig;
	if (fd >= 0) {
		rouse_threads(fd);
		close(fd);
	}
	errno = err;
}

/* Has rouse() called until the end: a thread may be about to wait just now. */
static void keep_rousing(void)
{
	struct itimerval timer = { { 0, ROUSE_INTERVAL }, { 0, ROUSE_INTERVAL } };

	set_handler(SIGURG, do_nothing);
	set_handler(SIGALRM, rouse);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void end_soon(int sig)
{
	int none = 0, err = errno;
	size_t i;

	if (!atomic_compare_exchange_strong(&caught, &none, sig))
		return;
	atomic_store(&signals_cancel, true);
	for (i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		struct sigaction sa;

		if (sigaction(asking[i], NULL, &sa) == 0 && sa.sa_handler == end_soon)
			set_handler(asking[i], SIG_DFL);
	}
	keep_rousing();
	errno = err;
}

static void start(int sig)
{
	struct sigaction sa;

	if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
		set_handler(sig, end_soon);
}

void signals_start(void)
{
	size_t i;

	for (i = 0; i < sizeof(asking) / sizeof(asking[0]); i++)
		start(asking[i]);
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		start(broken[i]);
}

static void say_how_far(const struct pfu_tally *tally, const char *done)
{
	unsigned long long files, directories;
	struct pfu_counts counts;

	pfu_tally_read(tally, &counts);
	directories = counts.n[PFU_COUNT_DIRECTORIES];
	files = pfu_counts_done(&counts) - directories;

	cli_error(0, "interrupted: %llu %s and %llu %s %s, the rest not", files,
		  files == 1 ? "file" : "files", directories,
		  directories == 1 ? "directory" : "directories", done);
}

void signals_end(const struct pfu_tally *tally, const char *done)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	int sig;

	cli_flush(); /* (That may bring about one.) */
	sig = atomic_load(&caught);
	if (!sig)
		return;
	(void)setitimer(ITIMER_REAL, &never, NULL);
	if (sig != SIGPIPE)
		say_how_far(tally, done);
	set_handler(sig, SIG_DFL);
	raise(sig);
	_exit(128 + sig); /* (It was blocked.) */
}
