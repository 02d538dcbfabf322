/*
 * cli.h - what the command lines of pcp and prm have in common: diagnostics as
 * GNU's programs print them, -j and -c, --version, standard output.
 */
#ifndef CLI_H
#define CLI_H

#include <pfu/report.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Long options without a letter have values from here on. */
#define CLI_LONG_OPTION 256

struct option;

/*
 * To be called first: remembers the name that the program was called by, which
 * every diagnostic begins with; sets the locale; sees that standard output is
 * flushed and checked at exit; raises the limit of open descriptors.
 */
void cli_start(const char *argv0);

const char *cli_program(void);

/* Prints a diagnostic: the program's name, the text, and, unless errnum is 0, its meaning. */
void cli_error(int errnum, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes standard output out.  That it could not be is told at exit. */
void cli_flush(void);

/* Points at --help and exits with status 1. */
_Noreturn void cli_try_help(void);

/*
 * To be called when getopt_long() has refused an option: if it was a long one that nobody
 * knows, and much like one of options, says so, after getopt's own message.
 */
void cli_did_you_mean(char *const *argv, const struct option *options);

/* The version in GNU's layout. */
void cli_version(const char *name);

/* The lines on -j and -c in --help. */
void cli_help_workers(void);

/* The lines on --max-rate in --help. */
void cli_help_max_rate(void);

/*
 * The value of -j or -c: a decimal number, 0 for automatic.  What cannot be is
 * a diagnostic that says `what` is invalid, and exit status 1.
 */
unsigned int cli_number(const char *arg, const char *what);

/*
 * The number that a size stands for: digits, a multiplier, or both, as GNU's programs
 * take them (manual, node "Block size"): b is 512; K, M, G, T, P, E, and KiB and so on,
 * are powers of 1024; KB, MB and so on of 1000.  false with errno EINVAL, or EOVERFLOW
 * if the number is too large.
 */
bool cli_parse_size(const char *arg, uint64_t *size);

/* The same; what cannot be is a diagnostic like cli_number()'s, and exit status 1. */
uint64_t cli_size(const char *arg, const char *what);

/*
 * The index of the word that arg is, or abbreviates without doubt, in a list
 * ended by NULL; words with equal values[] are the same.  A diagnostic and exit
 * with status 1 if there is none, as GNU's programs do for the arguments of long
 * options.
 */
size_t cli_word(const char *option, const char *arg, const char *const *words, const int *values);

/* Prints to standard error, reads an answer from standard input; true for yes. */
bool cli_ask(const char *question);

/*
 * Shows a line on standard error, a terminal, in place of the one shown before: ASCII,
 * shorter than the terminal is wide.  It goes when anything else is written, and is not
 * shown while an answer is waited for.  Without `escapes` no escape sequence is used.
 */
void cli_meter_show(const char *line, bool escapes);
void cli_meter_erase(void);

/* What the library reports to. */
extern const struct pfu_report cli_report;

#endif
