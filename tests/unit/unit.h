/*
 * unit.h - what the unit tests share: cmocka, checks that any thread may make,
 * random numbers that are the same in each run, and a scratch directory.
 */
#ifndef UNIT_H
#define UNIT_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Sanitizers slow a test down so much that some do a part of their rounds only. */
#if defined(__SANITIZE_THREAD__)
#define UNIT_SLOW 8
#elif defined(__SANITIZE_ADDRESS__)
#define UNIT_SLOW 3
#else
#define UNIT_SLOW 1
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- checks from any thread ---- */

static atomic_uint unit_failures;

/*
 * cmocka's own assertions jump out of the test and keep their state in plain
 * variables, so they are for the main thread.  This one counts and goes on; the
 * test ends with assert_checks().
 */
#define CHECK(condition) unit_check((condition), #condition, __FILE__, __LINE__)

static inline bool unit_check(bool good, const char *what, const char *file, int line)
{
	if (!good && atomic_fetch_add(&unit_failures, 1) < 20)
		fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
	return good;
}

#define assert_checks() assert_int_equal(atomic_exchange(&unit_failures, 0), 0)

/* Called first in each program.  UNIT_TEST='NAME' (with * and ?) selects tests. */
static inline void unit_start(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	cmocka_set_test_filter(getenv("UNIT_TEST"));
	/* A test that hangs ends the program: whoever runs it need not wait for ever. */
	alarm(600);
}

/* ---- random numbers ---- */

/* splitmix64 */
static inline uint64_t rnd(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* One of 0 to n - 1. */
static inline unsigned int rnd_below(uint64_t *state, unsigned int n)
{
	return (unsigned int)(rnd(state) >> 33) % n;
}

/* ---- the scratch directory ---- */

static char unit_scratch[PATH_MAX];

static inline void unit_run(const char *const argv[])
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		fail_msg("%s failed", argv[0]);
}

static inline void unit_remove(const char *path)
{
	const char *const argv[] = { "rm", "-rf", "--", path, NULL };

	unit_run(argv);
}

/* Group setup: makes a directory and works in it, in memory if the machine allows. */
static inline int unit_scratch_make(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	if (!base)
		base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(unit_scratch, sizeof(unit_scratch), "%s/unit-XXXXXX", base);
	return mkdtemp(unit_scratch) && chdir(unit_scratch) == 0 ? 0 : -1;
}

static inline int unit_scratch_remove(void **state)
{
	(void)state;
	if (chdir("/") != 0)
		return -1;
	unit_remove(unit_scratch);
	return 0;
}

static inline void make_dir(const char *path)
{
	if (mkdir(path, 0777) != 0)
		fail_msg("mkdir %s: %s", path, strerror(errno));
}

static inline void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		fail_msg("open %s: %s", path, strerror(errno));
	close(fd);
}

/* The number of descriptors that this process has open. */
static inline unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	if (!dir)
		abort();
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 3; /* not "." and "..", nor the directory's own */
}

#endif
