/*
 * options.h - runs a program's main() on a command line made of an input, again and again
 * in one process.  Nothing is done on the file system.
 *
 * An input is a byte (bit 0: POSIXLY_CORRECT is set, bit 1: the locale is UTF-8) and
 * strings that zero bytes end: VERSION_CONTROL and SIMPLE_BACKUP_SUFFIX (empty: not set),
 * what is in every file that is read, and the arguments.
 *
 * The linker has exit(), atexit(), fopen(), fclose() and pfu_filter_new() lead to the
 * functions here (--wrap in the Makefile), also from src/cli.c and its like.  The includer
 * renames main() and what works on files with macros: those calls are its own only.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "fuzz.h"

#include <errno.h>
#include <getopt.h>
#include <pfu/filter.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#define ARGS_MAX 64

/* (The names are the linker's.) */
_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);
int __real_atexit(void (*function)(void));
int __wrap_atexit(void (*function)(void));
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);
struct pfu_filter *__real_pfu_filter_new(void);
struct pfu_filter *__wrap_pfu_filter_new(void);

/* Of the command line at hand. */
static struct {
	bool inside; /* main() runs */
	jmp_buf end;
	char *file; /* what is in files */
	/* To be closed and freed, if main() does not come to it. */
	FILE *opened;
	struct pfu_filter *filter;
} run;

_Noreturn void __wrap_exit(int status)
{
	if (!run.inside)
		__real_exit(status);
	FUZZ_CHECK(status == EXIT_SUCCESS || status == EXIT_FAILURE);
	longjmp(run.end, 1);
}

int __wrap_atexit(void (*function)(void))
{
	return run.inside ? 0 : __real_atexit(function);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	if (!run.inside)
		return __real_fopen64(path, mode);
	if (*path == '\0' || !run.file || *run.file == '\0' || run.opened) {
		errno = ENOENT;
		return NULL;
	}
	run.opened = fmemopen(run.file, strlen(run.file), "r");
	return run.opened;
}

int __wrap_fclose(FILE *f)
{
	if (f == run.opened)
		run.opened = NULL;
	return __real_fclose(f);
}

struct pfu_filter *__wrap_pfu_filter_new(void)
{
	return run.filter = __real_pfu_filter_new();
}

/* What stands for stat(): names that begin with a d are those of directories, with an f of files. */
static inline int fuzz_stat(const char *path, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = *path == 'd' ? S_IFDIR | 0755 : S_IFREG | 0644;
	errno = ENOENT;
	return *path == 'd' || *path == 'f' ? 0 : -1;
}

static void set_variable(const char *name, char *value)
{
	if (value && *value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	free(value);
}

static void start(void)
{
	static bool started;

	if (started)
		return;
	started = true;
	FUZZ_CHECK(freopen("/dev/null", "r", stdin));
	FUZZ_CHECK(freopen("/dev/null", "w", stdout));
}

/* (No variable of its own: a jump could spoil it.) */
static void run_program(int (*program)(int, char **), int argc, char **argv)
{
	run.inside = true;
	if (setjmp(run.end) == 0) {
		FUZZ_CHECK((unsigned int)program(argc, argv) <= EXIT_FAILURE);
		run.filter = NULL; /* freed there */
	}
	run.inside = false;
	pfu_filter_free(run.filter);
	run.filter = NULL;
	if (run.opened)
		fclose(run.opened);
}

static void fuzz_main(int (*program)(int, char **), const char *name, const uint8_t *data,
		      size_t size)
{
	/* (argv is permuted; whole, so that the strings can be freed.) */
	static char *args[ARGS_MAX], *argv[ARGS_MAX + 1];
	struct fuzz_input in = { data + 1, size - 1 };
	int argc = 1, i;

	start();
	set_variable("VERSION_CONTROL", fuzz_string(&in, '\0'));
	set_variable("SIMPLE_BACKUP_SUFFIX", fuzz_string(&in, '\0'));
	set_variable("POSIXLY_CORRECT", data[0] & 1 ? strdup("1") : NULL);
	set_variable("LC_ALL", strdup(data[0] & 2 ? "C.UTF-8" : "C"));
	run.file = fuzz_string(&in, '\0');
	args[0] = strdup(name);
	while (argc < ARGS_MAX && (args[argc] = fuzz_string(&in, '\0')))
		argc++;
	memcpy(argv, args, (size_t)argc * sizeof(args[0]));
	argv[argc] = NULL;
	optind = 0; /* (getopt_long() begins anew) */
	run_program(program, argc, argv);
	free(run.file);
	run.file = NULL;
	for (i = 0; i < (int)ARGS_MAX && args[i]; i++) {
		free(args[i]);
		args[i] = NULL;
	}
}

#endif
