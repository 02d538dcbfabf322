/*
 * choose.h - --exclude, --include and their kin, which pcp and prm have in common.
 *
 * What cannot be is a diagnostic, and exit status 1: a pattern that were passed over
 * would have prm remove what it should keep.
 */
#ifndef CHOOSE_H
#define CHOOSE_H

#include <pfu/filter.h>
#include <stdbool.h>

/* --exclude and --include: adds a rule to the filter, which is made with the first. */
void choose_pattern(struct pfu_filter **filter, const char *pattern, bool include);

/* --exclude-from: adds a rule for each line of a file, or of standard input ("-"). */
void choose_from(struct pfu_filter **filter, const char *file);

/* --exclude-snapshots: leaves out the directories in which file systems show snapshots. */
void choose_no_snapshots(struct pfu_filter **filter);

/* The lines on them in --help. */
void choose_help(void);

#endif
