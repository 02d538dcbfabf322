/*
 * pfu/attrs.h - mode, owner, times, access control lists and extended
 * attributes of a copy.
 *
 * The order is that of GNU cp: times, owner, extended attributes, mode and ACL
 * (chown(2) clears set-user-ID bits and capabilities, so these come after it); with
 * options->update_changed the times come last of all.
 * No file is open to more people, at any moment, than it is in the end.
 */
#ifndef PFU_ATTRS_H
#define PFU_ATTRS_H

#include <pfu/copy.h>
#include <pfu/copydata.h>
#include <pfu/dir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One copy whose data is complete. */
struct pfu_attrs {
	const struct pfu_fsys *fs;
	const struct pfu_report *report;
	const struct pfu_copy_options *options;
	struct pfu_fspair *pair;
	bool privileged; /* the process may change owners; then a refusal is worth telling */

	const struct stat *source;
	const struct pfu_dir *source_dir; /* NULL: the name is a path; likewise below */
	const char *source_name;
	int source_dirfd;
	int in; /* the source, open; or -1: by its name, links not followed */

	const struct pfu_dir *target_dir;
	const char *target_name;
	int target_dirfd;
	int out;		   /* the target, open; or -1 */
	const struct stat *before; /* the target as it was if it is not new; else NULL */
	bool owner_is_right;	   /* a new target is known to have the source's owner and group */
	bool default_acl;	   /* a new target may have inherited an ACL */
	mode_t omitted;		   /* permissions that a new target was made without */
	bool restore;		   /* a new directory was given more than its mode; put that back: */
	mode_t restore_mode;
	bool on_the_way;	   /* a directory of --parents: keeps its special bits whoever owns it */
};

/* Applies what options->preserve asks for.  false if a required one failed, which has been reported. */
bool pfu_attrs_apply(struct pfu_attrs *a);

/* The permissions to leave out at first when a file or directory of this mode is made. */
mode_t pfu_attrs_omit(const struct pfu_copy_options *options, mode_t mode);

/* Whether the directory gives new entries an access control list of its own. */
bool pfu_attrs_has_default_acl(const struct pfu_fsys *fs, int dirfd);

/* The same by its path, of which the first `len` bytes count.  In doubt: true. */
bool pfu_attrs_has_default_acl_at(const struct pfu_fsys *fs, const char *dir, size_t len);

#ifdef __cplusplus
}
#endif

#endif
