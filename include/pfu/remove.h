/*
 * pfu/remove.h - removing files and trees.
 *
 * What GNU rm does, in parallel.  Every decision is rm's, see the GNU coreutils
 * manual, node "rm invocation", and POSIX.1-2017, "rm"; so are the texts of the
 * diagnostics.
 */
#ifndef PFU_REMOVE_H
#define PFU_REMOVE_H

#include <pfu/filter.h>
#include <pfu/fsys.h>
#include <pfu/report.h>
#include <pfu/tally.h>
#include <pfu/atomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_preserve_root {
	PFU_PRESERVE_ROOT_NO,
	PFU_PRESERVE_ROOT, /* refuse to remove / recursively */
	PFU_PRESERVE_ROOT_ALL, /* and what is a mount point in its parent */
};

struct pfu_remove_options {
	const struct pfu_fsys *fs; /* NULL: the kernel's */
	bool recursive;		   /* -r */
	bool empty_dirs;	   /* -d */
	bool force;		   /* -f: what does not exist is no error; never ask */
	bool ask_always;	   /* -i */
	bool ask_protected;	   /* ask about write-protected files: standard input is a terminal */
	bool privileged;	   /* the superuser, to whom nothing is write-protected */
	bool one_file_system;
	const struct pfu_filter *filter; /* what stays, silently, with the directories it is in; or NULL */
	bool verbose;
	bool dry_run; /* nothing is removed: `verbose` tells what would be; `fs` must be the kernel's */
	enum pfu_preserve_root preserve_root;
	const atomic_bool *cancel; /* set from outside to end soon; or NULL */
	struct pfu_tally *tally; /* what is done is counted there; or NULL */
	unsigned int workers; /* 0: chosen by the file systems' kind */
	unsigned int chunk;   /* 0: chosen by the walker */
	uint64_t max_rate;    /* entries removed a second; 0: no limit */
};

/*
 * Removes the operands.  Returns true if all are gone (or were declined), false
 * if something was reported.  Blocks until done; may be called from several
 * threads for different operands.
 */
bool pfu_remove(const struct pfu_remove_options *options, const struct pfu_report *report,
		char *const *operands, size_t count);

/*
 * Operands that come in batches.  next() hands out the next one, and may wait for it: true
 * with at least one name, which stay valid until it is called again; false at the end.  It
 * is called from the thread that called pfu_remove_list(), while nothing is being removed.
 */
struct pfu_remove_list {
	bool (*next)(void *ctx, char *const **operands, size_t *count);
	void *ctx;
};

/*
 * The same as pfu_remove() for all operands of the batches, one batch after the other: limits,
 * counts and the result are those of the whole.  A question about a write-protected file is
 * looked for in each batch by itself.
 */
bool pfu_remove_list(const struct pfu_remove_options *options, const struct pfu_report *report,
		     const struct pfu_remove_list *list);

#ifdef __cplusplus
}
#endif

#endif
