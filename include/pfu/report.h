/*
 * pfu/report.h - diagnostics, verbose lines and questions, from any thread.
 *
 * The library prints nothing.  It composes texts, quoted as GNU's programs
 * quote them, and hands them to its caller's functions.
 */
#ifndef PFU_REPORT_H
#define PFU_REPORT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_severity {
	PFU_ERROR,   /* something asked for was not done: exit status 1 */
	PFU_WARNING, /* worth knowing */
};

/* What the caller of the library provides.  Called from any worker, also several at once. */
struct pfu_report {
	void *ctx;
	/* A diagnostic; errnum is 0 or the reason, not yet part of the text. */
	void (*message)(void *ctx, enum pfu_severity severity, int errnum, const char *text);
	/* A line for standard output (-v and the like), without the newline. */
	void (*output)(void *ctx, const char *text);
	/* A question; true for yes.  Only ever called by one worker at a time. */
	bool (*ask)(void *ctx, const char *question);
};

/*
 * Composes and hands in a diagnostic, a line or a question.  In the format, %s
 * is a string as it is, %q a name in quotes as pfu_quote_name() makes them, %f the
 * same only if pfu_quote_needed(), %w as pfu_quote_word() does, and %% a percent sign;
 * nothing else.  When memory is short, names are left unquoted; a message is never lost.
 */
void pfu_message(const struct pfu_report *r, enum pfu_severity severity, int errnum,
		 const char *format, ...);
void pfu_output(const struct pfu_report *r, const char *format, ...);
bool pfu_ask(const struct pfu_report *r, const char *format, ...);

/*
 * The name in the quotes of GNU's diagnostics about files ("shell-escape-always"
 * in the terms of ls --quoting-style): always in single quotes, or double ones
 * when that saves an escape, what is not printable in the current locale as
 * $'\n'.  malloc'ed; NULL with errno ENOMEM.  See the GNU coreutils manual,
 * node "Formatting the file names".
 */
char *pfu_quote_name(const char *name);

/* Whether a name that is followed by a colon would be misread by a shell or a person without quotes. */
bool pfu_quote_needed(const char *name);

/*
 * A word in the quotes of the current locale, as GNU's diagnostics about
 * arguments have them: 'word' in the C locale, the curved ones in UTF-8.
 */
char *pfu_quote_word(const char *word);

#ifdef __cplusplus
}
#endif

#endif
