/*
 * progress.h - how far a run has come, for whoever looks on: a line on the terminal,
 * lines in a log, or one line for SIGUSR1.
 *
 * There is no thread for it, and nothing is asked of the system, before a run has
 * lasted a second.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <pfu/tally.h>
#include <stdbool.h>
#include <stddef.h>

/* To be called first of all: from here on SIGUSR1 does not end the program. */
void progress_prepare(void);

/* The value of --progress, or NULL; what cannot be ends the program as cli_word() does. */
void progress_option(const char *arg);

/* The lines on --progress in --help. */
void progress_help(void);

/* Before the run whose workers count in tally, which may have no alarm yet. */
void progress_begin(struct pfu_tally *tally, bool copies);

/*
 * May follow, where all that is in the operands is to be worked on: some file systems
 * (CephFS) can tell what that comes to.  The first of `count` pointers to paths, and the
 * bytes from one to the next.
 */
void progress_operands(const void *first, size_t stride, size_t count);

/* After the run: nothing is left on the terminal. */
void progress_end(void);

#endif
