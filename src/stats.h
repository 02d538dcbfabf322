/*
 * stats.h - --stats: what was done, how fast, and where the time went.
 */
#ifndef STATS_H
#define STATS_H

#include <pfu/fsys.h>
#include <pfu/tally.h>
#include <stdbool.h>

/* The value of --stats, or NULL; what cannot be ends the program as cli_word() does. */
void stats_option(const char *arg);

/* The lines on --stats in --help. */
void stats_help(void);

/*
 * Before the run that counts in tally.  Returns the table of operations that it is to
 * use: NULL (the kernel's) without --stats.
 */
const struct pfu_fsys *stats_begin(struct pfu_tally *tally);

/* What the summary has to know besides. */
struct stats_run {
	const char *program; /* "pcp" or "prm" */
	bool copies;	     /* bytes count */
	bool dry_run;
	bool interrupted;
};

/* After the run: prints the summary to standard error, if it was asked for. */
void stats_end(const struct pfu_tally *tally, const struct stats_run *run);

#endif
