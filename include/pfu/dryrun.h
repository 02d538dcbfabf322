/*
 * pfu/dryrun.h - a table of operations that changes nothing: for --dry-run.
 *
 * Calls that only look go to the kernel.  One that would make, change or remove
 * something looks whether it could: it fails as the kernel's would where that can be
 * told (permissions, what is in the way), else it succeeds and has done nothing.
 * What only shows in the doing (a full disk, a file being executed) does not show here.
 *
 * What has been "removed" or "renamed" last is taken for gone when the same thread goes
 * on to make something in its place.  In a directory that would have been made, which
 * nobody can open, PFU_UNMADE is the descriptor for names to be made.
 */
#ifndef PFU_DRYRUN_H
#define PFU_DRYRUN_H

#include <pfu/fsys.h>
#include <pfu/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor of a directory that would have been made: anything can be made in it. */
#define PFU_UNMADE (-2)

/*
 * Fills in the table: the kernel's calls that look, and others for those that change.
 * A descriptor that its openat() returns for writing is of an empty file that cannot
 * be written to; calls that would write data fail with EROFS.  The operations may be
 * called from any thread.
 */
void pfu_dryrun_table(struct pfu_fsys *table);

/* Hands in the summary at the end: how many entries would have been copied, or removed. */
void pfu_dryrun_end(const struct pfu_report *report, const char *done, unsigned long entries);

#ifdef __cplusplus
}
#endif

#endif
