/*
 * copying.h - what the parts of the tree copy share; private to the library.
 *
 * copy.c        the whole: what is known from the start, its beginning and its end
 * copyoperand.c operands, and in which order
 * copyparents.c --parents: the directories on the way to a target
 * copydir.c     directories: before, between and after what they contain
 * copyknown.c   directories that must not be copied again
 * copyentry.c   one entry that is no directory, or an operand
 * copytarget.c  what is at its target already, and what becomes of that
 * copychanged.c --update=changed: whether that is the copy already
 * copyfile.c    one regular file: opening, data (by one worker or several), attributes, closing
 * copyverify.c  --verify and --checksum-file: what is summed, and what is done with the sums
 * copylink.c    links that are made
 * samefile.c    whether source and target are one file, and whether that matters
 * copyitem.c    what all of these have in hand: one item, its names, what is said of it
 */
#ifndef COPYING_H
#define COPYING_H

#include <pfu/attrs.h>
#include <pfu/copy.h>
#include <pfu/copydata.h>
#include <pfu/links.h>
#include <pfu/names.h>
#include <pfu/rate.h>
#include <pfu/walk.h>
#include <pthread.h>

/* See copyknown.c. */
struct known {
	struct known_dir **bucket;
	size_t buckets, count;
	bool *forgotten; /* operands; NULL: none */
};

/* One run; shared by all workers.  Constant but for what says otherwise. */
struct copying {
	const struct pfu_copy_options *options;
	const struct pfu_fsys *fs;
	struct pfu_fsys dry_fs; /* with --dry-run it is this one */
	atomic_ulong listed;	/* with --dry-run: items that would be copied */
	const struct pfu_report *report; /* `filter`, which passes on to `outer` */
	struct pfu_report filter;
	const struct pfu_report *outer;
	atomic_ulong no_space; /* diagnostics about a full file system or quota */
	const struct pfu_copy_operand *operands;
	size_t count;
	/* How an operand that was put aside is copied: copyitem.c lies below copyoperand.c. */
	void (*copy_operand)(struct pfu_local *l, size_t i, bool again);
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
	struct pfu_limits limits;
	atomic_bool failed;
	atomic_bool told_no_link; /* that a link became a copy is told once */

	pthread_mutex_t many_names; /* held by who overwrites a file that other targets may be, too */
	pthread_mutex_t lock; /* guards the five below */
	struct synced *synced; /* --sync: the file systems that were written to */
	struct known known;
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
	bool linked;  /* reached through a link below the operand: it may be one of those above it */
	bool fresh;   /* the target was made in this run: nothing is in it but what we put there */
	bool unmade;  /* --dry-run: it would have been made, and cannot be opened */
	atomic_bool failed; /* not all of it could be listed, or some entries not be reached */
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
	bool counted; /* what has become of it, in the tally; or somebody else will */
};

/* What is at an item's target. */
struct target {
	bool is_new;    /* nothing (any more) */
	struct stat st; /* if not is_new: of the file, or of the link itself if `lstat` */
	bool lstat;
	bool ours;    /* what is there now is what we have made */
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

/* ---- copyitem.c ---- */

/* Reports an error about the item's target or source; %q in the format. */
void pfu_fail_target(struct item *it, int err, const char *format);
void pfu_fail_source(struct item *it, int err, const char *format);
/* The same with two names: the target's, then the source's; and the other way round. */
void pfu_fail_both(struct item *it, int err, const char *format);
void pfu_fail_source_first(struct item *it, int err, const char *format);

/* Paths as a user would type them, malloc'ed; of a name beside the target. */
char *pfu_item_source(const struct item *it);
char *pfu_item_target(const struct item *it);
char *pfu_item_beside(const struct item *it, const char *name);

/* stat(2) of the source, or of the link itself. */
int pfu_stat_source(const struct item *it, struct stat *st);

/* Whether a symbolic link that is the item's source is followed. */
bool pfu_item_follows(const struct item *it);

/* Counts what has become of an item: PFU_COUNT_FILES, PFU_COUNT_FAILED, and so on.  Once. */
void pfu_count_item(struct item *it, enum pfu_count what);

/* Fills in what is common of the attributes of an item's copy. */
struct pfu_attrs pfu_item_attrs(
	const struct item *it, const struct stat *st, struct pfu_fspair *pair);

/*
 * Whether the server of the item's target may have done what it was asked for
 * without our having heard of it: when a reply is lost the request is sent again,
 * and fails because what it should make is there (RFC 1813, 4.5: Duplicate request cache).
 */
bool pfu_may_be_unheard(const struct item *it);

/* Prints a line about the target; %q in the format. */
void pfu_say_target(struct item *it, const char *format);

/* Prints the line of -v about a target that has been removed. */
void pfu_say_removed(struct item *it);

/* Prints the line of -v, and counts it for the end of --dry-run. */
void pfu_say_copied(struct item *it, const char *backup);

/* Parks an item until pfu_item_links_done(); NULL without memory. */
struct pfu_task *pfu_item_park(struct item *it);

/* The path of an operand's target, malloc'ed. */
char *pfu_operand_target(const struct copying *c, size_t operand);

/* Records that the target of an operand has been made. */
void pfu_note_created(struct item *it);
bool pfu_was_created(struct item *it);

/* ---- copyknown.c ---- */

/*
 * Records a directory that an operand brings up, or that it is, with the path of its
 * copy (malloc'ed, and now the record's).
 */
void pfu_known_add(struct copying *c, const struct stat *st, size_t operand, char *target,
	bool existing);

/* Takes back what was recorded for an operand, of which nothing has come. */
void pfu_known_forget(struct copying *c, size_t operand);

/*
 * The path of the copy of a directory that this operand or an earlier one has brought
 * up, malloc'ed; or NULL.  An operand itself (top) is not asked for what it brings up.
 */
char *pfu_known_find(struct copying *c, const struct stat *st, size_t operand, bool top);

void pfu_known_clear(struct copying *c);

/* ---- copyatomic.c ---- */

/*
 * The name that a target has in the end, where links at it have been followed: malloc'ed,
 * relative to it->dfd as the target's is.  NULL with errno.
 */
char *pfu_atomic_place(const struct item *it);

/* Makes a file with a temporary name beside its place, and holds it.  Its descriptor, or -1 with errno. */
int pfu_atomic_open(const struct item *it, const char *place, int flags, mode_t mode, char **name);

/* Says that this descriptor, too, is of a file that is being written.  -1: it has been taken for left behind. */
int pfu_atomic_hold(const struct pfu_fsys *fs, int fd);

/* Has the data written out and gives the file its name, in place of what has it if that is meant.  0, or -1 with errno. */
int pfu_atomic_place_file(
	const struct item *it, int fd, const char *name, const char *place, bool replace);

/* Removes what runs that were killed have left in a directory. */
void pfu_atomic_clean(const struct pfu_fsys *fs, int dirfd, const char *path);

/* ---- copysync.c ---- */

/* With --sync: remembers the file system that the item's target is on (dev; 0: not known) before it is written to. */
void pfu_sync_note(const struct item *it, dev_t dev);

/* Syncs all of them. */
void pfu_sync_all(struct copying *c);

/* ---- samefile.c ---- */

/* Whether source and target may be worked on as two; *done: they are one, and that is just right. */
bool pfu_may_be_same(struct item *it, const struct stat *st, const struct target *t, bool *done);

/* Whether two names are one entry of one directory. */
bool pfu_same_entry(
	const struct pfu_fsys *fs, int fd1, const char *name1, int fd2, const char *name2);

/* ---- copylink.c ---- */

/*
 * With hard links preserved: finds out whether the file has been copied already.
 * GO_ON: it is to be copied; *first: tell pfu_item_links_done() when that has ended.
 */
enum outcome pfu_link_to_copy(
	struct item *it, const struct stat *st, const struct target *t, bool *first);
void pfu_item_links_done(struct item *it, const struct stat *st, bool complete);

/* Whether the target, a symbolic link, has the text of the source, another. */
bool pfu_same_link_text(struct item *it, const struct stat *st);

/* The copy of a symbolic link; with -s and -l a link to the source.  false: reported. */
bool pfu_make_symlink_copy(struct item *it, const struct stat *st, const struct target *t);
bool pfu_make_symbolic(struct item *it, const struct target *t);
bool pfu_make_hard(struct item *it, const struct stat *st, const struct target *t);

/* ---- copyfile.c ---- */

/*
 * Copies a regular file (or, with a `known` that is none, what can be read from
 * it).  Without `known` nothing is at the target, and the type is from a listing.
 */
enum outcome pfu_copy_file(struct item *it, const struct stat *known, struct target *t, bool first);

/* ---- copyverify.c ---- */

/* Whether what is copied is to be summed. */
bool pfu_wants_sums(const struct copying *c);

/*
 * Reads a copy again and compares it with its sums; the source, if st is given, must also
 * be what it was then.  `buf_size`: of the worker's buffer, how much to use.  false: reported.
 */
bool pfu_verify_copy(struct item *it, const struct stat *st, int in, int out, struct pfu_sums *sums,
	size_t buf_size);

/* Hands the digest of a file that has been copied to whoever wants it. */
void pfu_note_checksum(struct item *it, const struct pfu_sums *sums);

/* ---- copytarget.c ---- */

/*
 * Finds out what is at the target of an item whose source is st, and deals with
 * it as the options say.  GO_ON: with *t set.  COPIED: nothing more is to be done.
 */
enum outcome pfu_check_target(struct item *it, const struct stat *st, struct target *t);

/* Puts a backup back, since its place was not taken after all, or (quietly) not yet. */
void pfu_undo_backup(struct item *it, const struct target *t, bool quietly);

/* ---- copychanged.c ---- */

/* -u: whether the target is at least as new as the source. */
bool pfu_is_current(const struct item *it, const struct stat *st, const struct stat *target);

/* Whether the target is what a complete copy of a source that is no directory looks like. */
bool pfu_is_unchanged(struct item *it, const struct stat *st, const struct target *t);

/* Whether the target lacks attributes that are to be kept, by what stat(2) tells. */
bool pfu_attributes_differ(const struct item *it, const struct stat *st, const struct stat *target);

/* Gives an unchanged target the attributes that it lacks; false: reported. */
bool pfu_refresh_attributes(struct item *it, const struct stat *st, const struct target *t);

/* ---- copyentry.c ---- */

/* Copies an item; DIRECTORY if it is one. */
enum outcome pfu_copy_entry(struct item *it);

/* ---- copydir.c ---- */

/* What a walk does with directories and their entries. */
extern const struct pfu_walk_ops pfu_copy_walk_ops;

/* Submits an operand that is a directory. */
void pfu_copy_directory(struct item *it);

/* ---- copyparents.c ---- */

/* Makes the directories on the way to an operand's target; false: reported. */
bool pfu_make_parents(struct copying *c, int dirfd, const struct pfu_copy_operand *op);

/* Gives them all their attributes. */
void pfu_finish_parents(struct copying *c);

/* ---- copyorder.c ---- */

/*
 * Whether operands must be copied one after the other: so that copying into itself
 * meets the same obstacles whatever the number of workers.  Records those that are
 * directories.
 */
bool pfu_must_take_turns(struct copying *c);

/* Whether operands are names in one directory, each another, so that none is below another. */
bool pfu_are_siblings(const struct copying *c);

/*
 * Whether a directory's copy, that is not there, would be somewhere below the directory
 * itself.  *dev is set to the device that it would be on, if that can be told.
 */
bool pfu_leads_into_itself(
	const struct copying *c, const char *target, const struct stat *st, dev_t *dev);

/* ---- copyoperand.c ---- */

/* Copies an operand; `again`: after it was put aside. */
void pfu_copy_operand(struct pfu_local *l, size_t i, bool again);

/* The task that hands out operands, c->task. */
void pfu_run_operands(struct pfu_worker *worker, struct pfu_task *task);

#endif
