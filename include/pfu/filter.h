/*
 * pfu/filter.h - which files are left out: --exclude, --include and their kin.
 *
 * A filter is a list of rules, each with a pattern, of which the first that matches
 * decides; what none matches is worked on.  A pattern is:
 *
 *	NAME		the name of an entry at any depth below an operand, or of the operand
 *	/A/B, A/B	with a slash that is not at its end: the path of an entry below an
 *			operand, counted from there; it never is the operand itself
 *	.../		with a slash at its end: directories only
 *
 * Wildcards are those of pfu/glob.h, and match no slash.  A component ** matches any
 * number of directories, also none; at the end, all that is below.
 *
 * All patterns are one automaton, whose input is a path, component by component: each
 * directory has the set of states that it leads to (struct pfu_scope), so that no path
 * is ever put together, and of thousands of names and suffixes those that an entry has
 * are found by look-up in tables.
 *
 * A filter is put together by one thread; then it does not change, and all functions
 * on it may be called from any thread.
 */
#ifndef PFU_FILTER_H
#define PFU_FILTER_H

#include <pfu/fsys.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_filter;

/* A directory as a filter sees it: what of the patterns its path has matched. */
struct pfu_scope;

/* Makes a filter without rules; NULL with errno ENOMEM. */
struct pfu_filter *pfu_filter_new(void);
void pfu_filter_free(struct pfu_filter *filter);

/*
 * Adds a rule behind the others: what matches is left out, or (include) is not.  0; or
 * -1 with errno ENOMEM, or EINVAL for a pattern that could match nothing, with *why set
 * to a text that says so (a constant).
 */
int pfu_filter_add(struct pfu_filter *filter, const char *pattern, bool include, const char **why);

enum pfu_verdict {
	PFU_KEPT,
	PFU_LEFT_OUT,
	PFU_LEFT_OUT_AS_DIR,	/* only if it is a directory */
	PFU_LEFT_OUT_UNLESS_DIR, /* only if it is none */
};

/*
 * The scope of an operand that is a directory, with a reference, to be dropped before
 * the filter is freed.  NULL with errno ENOMEM.
 */
struct pfu_scope *pfu_filter_top(const struct pfu_filter *filter);

/* What becomes of an entry of a directory. */
enum pfu_verdict pfu_scope_judge(const struct pfu_scope *scope, const char *name);

/*
 * The scope of a directory found by this name in another one, often the same again:
 * with a reference, to be dropped.  NULL with errno ENOMEM.
 */
struct pfu_scope *pfu_scope_enter(struct pfu_scope *scope, const char *name);

/* Take and drop references; dropping NULL is nothing. */
struct pfu_scope *pfu_scope_hold(struct pfu_scope *scope);
void pfu_scope_drop(struct pfu_scope *scope);

/*
 * Whether an operand is left out: by its last component, which must be a name.  A call
 * on the file system is made only where that depends on its being a directory, and
 * one that cannot be looked at is none.  `follow`: a link to a directory is one.
 */
bool pfu_filter_leaves_out(const struct pfu_filter *filter, const struct pfu_fsys *fs,
			   const char *path, bool follow);

#ifdef __cplusplus
}
#endif

#endif
