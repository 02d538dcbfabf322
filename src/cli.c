/*
 * cli.c - what the command lines of pcp and prm have in common.
 */
#include "cli.h"
#include "meter.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* More workers than this is a slip of the keyboard. */
#define NUMBER_MAX 65535

static const char *program = "pcp";
/* Keeps diagnostics and output lines whole and apart. */
static pthread_mutex_t terminal = PTHREAD_MUTEX_INITIALIZER;

/* Why the last cli_flush() failed; 0: it did not. */
static int flush_errno;

void cli_flush(void)
{
	flush_errno = fflush(stdout) == 0 ? 0 : errno;
}

/* The line of cli_meter_show() that is on the terminal.  Under that lock, too. */
static struct {
	size_t len; /* 0: none */
	bool escapes;
	bool over_output; /* standard output is a terminal, most likely the same */
	bool away; /* a question waits for its answer */
} meter;

/* Output that could not be written is a failure, even at the very end. */
static void check_streams(void)
{
	bool written = __fpending(stdout) != 0, failed = ferror(stdout);
	int err;

	errno = flush_errno;
	/* That it was closed from the start matters to those only who had something to say. */
	if (fclose(stdout) != 0 && (written || errno != EBADF))
		failed = true;
	err = errno;
	if (failed) {
		cli_error(err, "write error");
		_exit(EXIT_FAILURE);
	}
	/* A diagnostic or a question that nobody could read. */
	if (ferror(stderr))
		_exit(EXIT_FAILURE);
}

/*
 * Sees that the standard streams are open, lest a file to be written should get
 * one of their numbers, and our messages.  What is opened instead fails when it
 * is used, as a closed one would.
 */
static void open_standard_streams(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			_exit(EXIT_FAILURE); /* nobody could be told */
	}
}

void cli_start(const char *argv0)
{
	struct rlimit rl;

	open_standard_streams();
	if (argv0)
		program = argv0;
	/* What names and answers are made of; the other categories are files to read for nothing. */
	setlocale(LC_CTYPE, "");
	setlocale(LC_MESSAGES, "");
	/*
	 * One heap for all threads: whoever lists a directory allocates what waits, and
	 * of several heaps each would come to keep as much as all may.  What is allocated
	 * is for many files at a time, so nobody waits for it.  And where memory is
	 * limited so that a thread can't have a heap, each allocation is a page or more.
	 */
	mallopt(M_ARENA_MAX, 1);
	atexit(check_streams);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl); /* else the library makes do */
	}
}

const char *cli_program(void)
{
	return program;
}

/* GNU's diagnostics, as of 9.7, leave out the directory; hints and questions do not. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- the meter ---- */

static void write_meter(const char *text, size_t len)
{
	if (write(STDERR_FILENO, text, len) < 0)
		return; /* The terminal may be gone: that is no failure of the run. */
}

/* Leaves the cursor where the line began.  Under the lock. */
static void erase_meter(void)
{
	static const char erase[] = "\r\033[K";
	char blanks[METER_MAX + 2];
	size_t len = meter.len;

	if (len == 0)
		return;
	meter.len = 0;
	if (meter.escapes) {
		write_meter(erase, sizeof(erase) - 1);
		return;
	}
	memset(blanks, ' ', sizeof(blanks));
	blanks[0] = blanks[len + 1] = '\r';
	write_meter(blanks, len + 2);
}

void cli_meter_erase(void)
{
	pthread_mutex_lock(&terminal);
	erase_meter();
	pthread_mutex_unlock(&terminal);
}

void cli_meter_show(const char *line, bool escapes)
{
	char text[2 * METER_MAX];
	size_t len = strnlen(line, METER_MAX - 1), old;
	int n;

	pthread_mutex_lock(&terminal);
	if (!meter.away) {
		/* All at once: nobody sees half a line.  What is left of a longer one goes. */
		old = escapes || meter.len <= len ? 0 : meter.len - len;
		n = snprintf(text, sizeof(text), "\r%.*s%*s%s", (int)len, line, (int)old, "",
			     escapes ? "\033[K" : "");
		meter.len = len + old;
		meter.escapes = escapes;
		meter.over_output = isatty(STDOUT_FILENO);
		write_meter(text, (size_t)n);
	}
	pthread_mutex_unlock(&terminal);
}

/* ---- diagnostics ---- */

/* One diagnostic is one write, so that those of several processes stay apart too. */
static void print_error(int errnum, const char *text)
{
	char reason[256] = "";

	if (errnum)
		snprintf(reason, sizeof(reason), ": %s", strerror(errnum));
	pthread_mutex_lock(&terminal);
	erase_meter();
	fflush(stdout);
	fprintf(stderr, "%s: %s%s\n", base_name(program), text, reason);
	pthread_mutex_unlock(&terminal);
}

void cli_error(int errnum, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	print_error(errnum, text ? text : format);
	free(text);
}

_Noreturn void cli_try_help(void)
{
	fprintf(stderr, "Try '%s --help' for more information.\n", program);
	exit(EXIT_FAILURE);
}

void cli_did_you_mean(char *const *argv, const struct option *options)
{
	const char *typed = argv[optind - 1], *name;

	/* optopt is the letter, or the value of a long option that was used wrongly. */
	if (optopt != 0 || strncmp(typed, "--", 2) != 0)
		return;
	typed += 2;
	name = suggest_option(options, typed, strcspn(typed, "="));
	if (name)
		fprintf(stderr, "Did you mean '--%s'?\n", name);
}

void cli_version(const char *name)
{
	printf("%s (pcp and prm) %s\n"
	       "License: MIT.  There is NO WARRANTY, to the extent permitted by law.\n",
	       name, PFU_VERSION);
}

void cli_help_workers(void)
{
	fputs("  -c, --chunk=N                N files per work item (0, default: automatic)\n"
	      "  -j, --jobs=N                 N workers at most (0, default: automatic)\n",
	      stdout);
}

void cli_help_max_rate(void)
{
	fputs("      --max-rate=N             N files a second at most (0, default: no limit);\n"
	      "                                 N may end in K, M, G as in a size\n",
	      stdout);
}

static _Noreturn void invalid_number(int errnum, const char *arg, const char *what)
{
	char *quoted = pfu_quote_word(arg);

	cli_error(errnum, "invalid number of %s: %s", what, quoted ? quoted : arg);
	free(quoted);
	exit(EXIT_FAILURE);
}

unsigned int cli_number(const char *arg, const char *what)
{
	unsigned long n = 0;
	const char *s = arg;

	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (unsigned long)(*s - '0');
		if (n > NUMBER_MAX)
			break;
	}
	if (s != arg && *s == '\0')
		return (unsigned int)n;
	invalid_number(n > NUMBER_MAX ? EOVERFLOW : 0, arg, what);
}

uint64_t cli_size(const char *arg, const char *what)
{
	uint64_t size;

	if (!cli_parse_size(arg, &size))
		invalid_number(errno == EOVERFLOW ? EOVERFLOW : 0, arg, what);
	return size;
}

static void print_words(const char *const *words, const int *values)
{
	size_t i;

	fputs("Valid arguments are:", stderr);
	for (i = 0; words[i]; i++) {
		char *quoted = pfu_quote_word(words[i]);

		fprintf(stderr, "%s%s", i && values[i] == values[i - 1] ? ", " : "\n  - ",
			quoted ? quoted : words[i]);
		free(quoted);
	}
	fputc('\n', stderr);
}

size_t cli_word(const char *option, const char *arg, const char *const *words, const int *values)
{
	size_t len = strlen(arg), i, found = SIZE_MAX;
	bool ambiguous = false;
	char *a, *o;

	for (i = 0; words[i]; i++) {
		if (strncmp(words[i], arg, len) != 0)
			continue;
		if (words[i][len] == '\0')
			return i;
		if (found == SIZE_MAX)
			found = i;
		else if (values[found] != values[i])
			ambiguous = true;
	}
	if (found != SIZE_MAX && !ambiguous)
		return found;
	a = pfu_quote_word(arg);
	o = pfu_quote_word(option);
	cli_error(0, "%s argument %s for %s", ambiguous ? "ambiguous" : "invalid", a ? a : arg,
		  o ? o : option);
	free(a);
	free(o);
	print_words(words, values);
	cli_try_help();
}

bool cli_ask(const char *question)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	bool yes;

	pthread_mutex_lock(&terminal);
	erase_meter();
	meter.away = true;
	fflush(stdout);
	fprintf(stderr, "%s: %s", program, question);
	fflush(stderr);
	pthread_mutex_unlock(&terminal);
	len = getline(&line, &size, stdin);
	if (len > 0 && line[len - 1] == '\n')
		line[len - 1] = '\0';
	yes = len > 0 && rpmatch(line) > 0;
	free(line);
	pthread_mutex_lock(&terminal);
	meter.away = false;
	pthread_mutex_unlock(&terminal);
	return yes;
}

static void report_message(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	(void)ctx;
	(void)severity;
	print_error(errnum, text);
}

static void report_output(void *ctx, const char *text)
{
	(void)ctx;
	pthread_mutex_lock(&terminal);
	if (meter.over_output)
		erase_meter();
	puts(text);
	pthread_mutex_unlock(&terminal);
}

static bool report_ask(void *ctx, const char *question)
{
	(void)ctx;
	return cli_ask(question);
}

const struct pfu_report cli_report = {
	.message = report_message,
	.output = report_output,
	.ask = report_ask,
};
