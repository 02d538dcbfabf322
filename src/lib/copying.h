/*
 * copying.h - what the parts of the tree copy share; private to the library.
 *
 * copy.c      operands, and directories: before and after what they contain
 * copyentry.c one entry that is no directory: what is at its target, and what to make there
 * copyfile.c  one regular file: opening, data (by one worker or several), attributes, closing
 * samefile.c  whether source and target are one file, and whether that matters
 */
#ifndef COPYING_H
#define COPYING_H

#include <pfu/attrs.h>
#include <pfu/copy.h>
#include <pfu/copydata.h>
#include <pfu/links.h>
#include <pfu/names.h>
#include <pfu/walk.h>
#include <pthread.h>

/* A directory that must not be copied (again) when it is met below an operand. */
struct known_dir {
	struct known_dir *next;
	dev_t dev;
	ino_t ino;
	size_t operand; /* concerns this operand and those after it */
	bool existing;  /* not made in this run: only this operand must not be led into it */
	char *target;   /* path of the copy */
};

/* One run; shared by all workers.  Constant but for what says otherwise. */
struct copying {
	const struct pfu_copy_options *options;
	const struct pfu_fsys *fs;
	const struct pfu_report *report; /* `filter`, which passes on to `outer` */
	struct pfu_report filter;
	const struct pfu_report *outer;
	atomic_ulong no_space; /* diagnostics about a full file system or quota */
	const struct pfu_copy_operand *operands;
	size_t count;
	struct pfu_walk *walk;
	struct pfu_dir *directory; /* the target directory, or NULL */
	struct stat directory_st;
	bool default_acl; /* new targets of operands may inherit an ACL, and should not */
	bool target_network;       /* the first target is on a network file system */
	bool privileged;
	uid_t euid;
	gid_t egid;
	bool follow_all, follow_operands; /* symbolic links of the source */

	struct pfu_links *links; /* with PFU_ATTR_LINKS */
	struct pfu_fspairs pairs;
	atomic_bool failed;
	atomic_bool told_no_link; /* that a link became a copy is told once */

	pthread_mutex_t many_names; /* held by who overwrites a file that other targets may be, too */
	pthread_mutex_t lock; /* guards the four below */
	struct known_dir *known;
	size_t into_itself;       /* 1 + the operand last told to be copied into itself */
	struct pfu_names created; /* targets of operands that are not directories */
	struct pfu_names sources; /* base names of the operands that have been looked at */

	/* Of the task that hands out operands, which runs in one worker at a time: */
	struct pfu_task task;
	size_t next;
	bool barrier, in_turn;
	struct pfu_names targets; /* of operands since the last barrier */
	struct parent *parents;   /* --parents: directories on the way, newest first */
};

/* A directory being copied: dir is the source's. */
struct cp_node {
	struct pfu_node node;
	struct pfu_dir *target; /* holds a reference */
	size_t operand;
	struct stat st; /* the source's */
	bool fresh;   /* the target was made in this run: nothing is in it but what we put there */
	bool dropped; /* no attributes are to be set: it was not made, or is not ours to change */
	bool restore; /* it was given more than its mode: */
	mode_t restore_mode;
	mode_t omitted;
	struct stat before; /* the target's if it is not fresh */
	bool default_acl;   /* it gives new entries an ACL */
	dev_t target_dev;
	gid_t target_gid; /* -1: not known */
	bool network;     /* the target is on a network file system */
};

/* One entry or operand being copied, by one worker. */
struct item {
	struct copying *c;
	struct pfu_local *l;
	struct cp_node *node; /* NULL: an operand */
	size_t operand;
	struct pfu_dir *sdir; /* NULL: sname is a path; likewise below */
	int sfd;
	const char *sname;
	struct pfu_dir *ddir;
	int dfd;
	const char *dname;
	unsigned char type; /* DT_* */
	uint64_t ino;
	bool fresh; /* nothing can be at the target */
};

/* What is at an item's target. */
struct target {
	bool is_new;    /* nothing (any more) */
	struct stat st; /* if not is_new: of the file, or of the link itself if `lstat` */
	bool lstat;
	char *backup; /* what was there has this name now; malloc'ed */
};

enum outcome {
	COPIED,
	FAILED,    /* reported */
	GO_ON,     /* nothing yet: the next step is due */
	PARKED,    /* put aside until another copy is complete */
	DIRECTORY, /* it is one */
	CHANGED,   /* it is not what the listing said: look again */
};

static inline struct copying *copying_of(const struct pfu_local *l)
{
	return (struct copying *)pfu_walk_ctx(l->walk);
}

/* ---- copyentry.c ---- */

/* Reports an error about the item's target or source; %q in the format. */
void pfu_fail_target(struct item *it, int err, const char *format);
void pfu_fail_source(struct item *it, int err, const char *format);
/* The same with two names: the target's, then the source's; and the other way round. */
void pfu_fail_both(struct item *it, int err, const char *format);
void pfu_fail_source_first(struct item *it, int err, const char *format);

char *pfu_item_source(const struct item *it);
char *pfu_item_target(const struct item *it);

/* stat(2) of the source, or of the link itself. */
int pfu_stat_source(const struct item *it, struct stat *st);

/* Whether a symbolic link that is the item's source is followed. */
bool pfu_item_follows(const struct item *it);

/* Prints the line of -v about a target that has been removed. */
void pfu_say_removed(struct item *it);

/* Prints the line of -v. */
void pfu_say_copied(struct item *it, const char *backup);

/*
 * Finds out what is at the target of an item whose source is st, and deals with
 * it as the options say.  GO_ON: with *t set.  COPIED: nothing more is to be done.
 */
enum outcome pfu_check_target(struct item *it, const struct stat *st, struct target *t);

/*
 * Whether the server of the item's target may have done what it was asked for
 * without our having heard of it: when a reply is lost the request is sent again,
 * and fails because what it should make is there (RFC 1813, 4.5: Duplicate request cache).
 */
bool pfu_may_be_unheard(const struct item *it);

/* Puts a backup back, since its place was not taken after all. */
void pfu_undo_backup(struct item *it, const struct target *t);

/* Copies an item; DIRECTORY if it is one. */
enum outcome pfu_copy_entry(struct item *it);

/*
 * With hard links preserved: finds out whether the file has been copied already.
 * GO_ON: it is to be copied; *first: tell pfu_item_links_done() when that has ended.
 */
enum outcome pfu_link_to_copy(
	struct item *it, const struct stat *st, const struct target *t, bool *first);
void pfu_item_links_done(struct item *it, const struct stat *st, bool complete);

/* ---- copyfile.c ---- */

/*
 * Copies a regular file (or, with a `known` that is none, what can be read from
 * it).  Without `known` nothing is at the target, and the type is from a listing.
 */
enum outcome pfu_copy_file(struct item *it, const struct stat *known, struct target *t, bool first);

/* Fills in what is common of the attributes of an item's copy. */
struct pfu_attrs pfu_item_attrs(
	const struct item *it, const struct stat *st, struct pfu_fspair *pair);

/* ---- samefile.c ---- */

/* Whether source and target may be worked on as two; *done: they are one, and that is just right. */
bool pfu_may_be_same(struct item *it, const struct stat *st, const struct target *t, bool *done);

/* Whether two names are one entry of one directory. */
bool pfu_same_entry(
	const struct pfu_fsys *fs, int fd1, const char *name1, int fd2, const char *name2);

/* ---- copy.c ---- */

/* Parks an item until pfu_item_links_done(); NULL without memory. */
struct pfu_task *pfu_item_park(struct item *it);

/* Records that the target of an operand has been made. */
void pfu_note_created(struct item *it);
bool pfu_was_created(struct item *it);

#endif
