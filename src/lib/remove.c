/*
 * remove.c - a tree removal: what rm does with an operand, with an entry, and
 * with a directory that has become empty.
 *
 * The common path, when nobody is to be asked, is one unlinkat() for each entry
 * of a listing, whatever its type; what turns out to be a directory is descended
 * into.  When questions are to be asked there is one worker, in the order of the
 * listing.  Where questions are only about write-protected files, all workers look
 * first whether there is any; if not, all of them remove.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pfu/dryrun.h>
#include <pfu/fstype.h>
#include <pfu/names.h>
#include <pfu/rate.h>
#include <pfu/remove.h>
#include <pfu/walk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A directory in which names keep turning up is listed so often at most. */
#define PASSES_MAX 200
/* So many operands are looked at to find one that tells what kind of file system it is. */
#define KIND_TRIES 8
/* So few operands are worked on in turn, where that costs nothing or is seen. */
#define FEW_OPERANDS 16

/* One run; shared by all workers, constant but for what says otherwise. */
struct removal {
	const struct pfu_remove_options *options;
	const struct pfu_fsys *fs;
	struct pfu_fsys dry_fs; /* with --dry-run it is this one */
	atomic_ulong listed;	/* with --dry-run: entries that would be removed */
	const struct pfu_report *report;
	char *const *operands;
	size_t count;
	bool asking;  /* questions may come up: one worker, in order */
	bool in_turn; /* each operand is complete before the next begins */
	bool network; /* a system call whose reply was lost may have been sent twice */
	bool looking; /* for what would bring up a question: nothing is removed, nothing said */
	atomic_bool question; /* such a thing has been found */
	bool has_root;
	struct stat root; /* the directory / */
	struct pfu_limits limits; /* of those only that of files */
	atomic_bool failed;

	/* Of the task that hands out operands, which only runs in one worker at a time: */
	struct pfu_task task;
	size_t next;
	struct pfu_names names; /* of operands since the last barrier */
	const char *prefix;	/* their common directory part */
	size_t prefix_len;
	bool barrier; /* the next operand has waited for those before it */
};

/* A directory being removed. */
struct rm_node {
	struct pfu_node node;
	const char *shown; /* what follows the path in messages about it: "" makes a slash */
	dev_t dev;	  /* with --one-file-system: the operand's */
	unsigned int pass;
	bool protected;	  /* write-protected, when that matters */
	bool settled;	  /* nothing is left to be done about it */
	bool gone;	  /* for it was removed */
	atomic_bool complained; /* something was reported of it */
	atomic_bool progress; /* something in it has gone in this pass */
	atomic_uint workers;  /* at its entries just now */
};

static struct removal *removal_of(const struct pfu_local *l)
{
	return pfu_walk_ctx(l->walk);
}

/* ---- reporting ---- */

/* Reports "cannot <what> '<path>': <reason>" or the like about a directory or an entry of it. */
static void complain(struct removal *r, const struct pfu_dir *dir, const char *name, int err,
		     const char *format)
{
	char *path;

	atomic_store(&r->failed, true);
	/* What a signal interrupted has not failed for any other reason. */
	if (err == EINTR && r->options->cancel && atomic_load(r->options->cancel))
		return;
	path = pfu_dir_path(dir, name);
	pfu_message(r->report, PFU_ERROR, err, format,
		    path ? path : name && *name ? name : dir->name);
	free(path);
}

static void say_removed(struct removal *r, const struct pfu_dir *dir, const char *name,
			const char *format)
{
	char *path;

	if (!r->options->verbose)
		return;
	if (r->options->dry_run)
		atomic_fetch_add(&r->listed, 1);
	path = pfu_dir_path(dir, name);
	pfu_output(r->report, format, path ? path : name && *name ? name : dir->name);
	free(path);
}

/* Whether a failure is none because -f asked for no more than that the name be gone. */
static bool ignorable(const struct removal *r, int err)
{
	return r->options->force && (err == ENOENT || err == ENOTDIR);
}

static bool is_top(const struct rm_node *rn)
{
	return !rn->node.dir->parent;
}

/*
 * The same for a directory in the tree and what is in it, which others may remove
 * meanwhile.  ESTALE is what a server says then, and what is said of another
 * directory that has taken its place; that one's parent will tell, when it turns
 * out not to be empty.
 */
static bool vanished(const struct removal *r, const struct rm_node *rn, int err)
{
	return ignorable(r, err) || (r->options->force && err == ESTALE && !is_top(rn));
}

/* A read-only file system says so even of a name that does not exist. */
static int reason(struct removal *r, int dirfd, const char *name, int err)
{
	struct stat st;

	if (err == EROFS && r->fs->fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	    errno == ENOENT)
		return ENOENT;
	return err;
}

/* Marks that something stays in a directory, so that it stays too, without a word. */
static void keep(struct pfu_node *node)
{
	if (node)
		atomic_store(&node->kept, true);
}

/* The node's directory stays. */
static void keep_in_parent(struct rm_node *rn)
{
	if (!is_top(rn))
		keep((struct pfu_node *)rn->node.group.parent);
}

static void note_progress(struct pfu_node *node)
{
	struct rm_node *rn = (struct rm_node *)node;

	if (!atomic_load_explicit(&rn->progress, memory_order_relaxed))
		atomic_store_explicit(&rn->progress, true, memory_order_relaxed);
}

/* An entry of a node could not be removed. */
static void entry_failed(struct pfu_local *l, struct pfu_node *node, int dirfd, const char *name,
			 int err)
{
	struct removal *r = removal_of(l);
	bool failed;

	err = reason(r, dirfd, name, err);
	failed = !vanished(r, (struct rm_node *)node, err);
	pfu_count(l->counter, failed ? PFU_COUNT_FAILED : PFU_COUNT_SKIPPED, 1);
	if (!failed)
		return;
	keep(node);
	complain(r, node->dir, name, err, "cannot remove %q");
}

/* ---- questions ---- */

static const char *type_name(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return st->st_size == 0 ? "regular empty file" : "regular file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block special file";
	case S_IFCHR:
		return "character special file";
	default:
		return "weird file";
	}
}

/* Whether the file is write-protected; -1 with errno when that cannot be found out. */
static int write_protected(struct removal *r, int dirfd, const char *name)
{
	if (r->options->privileged || r->fs->faccessat(dirfd, name, W_OK, AT_EACCESS) == 0)
		return 0;
	return errno == EACCES ? 1 : -1;
}

/* The same of an open directory, which may be one that cannot be searched. */
static int dir_write_protected(struct removal *r, int fd)
{
	if (r->options->privileged || r->fs->faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0)
		return 0;
	return errno == EACCES ? 1 : errno == EINVAL ? write_protected(r, fd, ".") : -1;
}

enum answer { YES, NO, FAILED };

static enum answer ask(struct removal *r, const struct pfu_dir *dir, const char *name,
		       const char *format, const char *type)
{
	char *path = pfu_dir_path(dir, name);
	const char *shown = path ? path : name && *name ? name : dir->name;
	bool yes = type ? pfu_ask(r->report, format, type, shown) :
			  pfu_ask(r->report, format, shown);

	free(path);
	return yes ? YES : NO;
}

/* Asks whether to remove what is not a directory.  FAILED: errno says why it cannot be told. */
static enum answer may_remove(struct removal *r, int dirfd, const struct pfu_dir *dir,
			      const char *name)
{
	struct stat st;
	int protected = 0;

	if (!r->options->ask_always && !r->options->ask_protected)
		return YES;
	if (r->fs->fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return FAILED;
	/* A link has no permissions of its own, and the file that it leads to does not matter. */
	if (!S_ISLNK(st.st_mode))
		protected = write_protected(r, dirfd, name);
	if (protected < 0)
		return FAILED;
	if (!protected && !r->options->ask_always)
		return YES;
	return ask(r, dir, name,
		   protected ? "remove write-protected %s %q? " : "remove %s %q? ", type_name(&st));
}

/* ---- entries ---- */

static void list_failed(struct pfu_local *l, struct pfu_node *node, int errnum)
{
	struct removal *r = removal_of(l);
	struct rm_node *rn = (struct rm_node *)node;

	if (errnum != ESTALE && vanished(r, rn, errnum))
		return; /* leave() will find out the same */
	keep(node);
	atomic_store(&rn->complained, true);
	complain(r, node->dir, rn->shown, errnum, "cannot remove %q");
}

static bool begin(struct pfu_local *l, struct pfu_node *node)
{
	l->at[0] = pfu_dirfds_get(l->dirfds, node->dir);
	if (!l->at[0]) {
		list_failed(l, node, errno);
		return false;
	}
	atomic_fetch_add_explicit(&((struct rm_node *)node)->workers, 1, memory_order_relaxed);
	return true;
}

static void end(struct pfu_local *l, struct pfu_node *node)
{
	atomic_fetch_sub_explicit(&((struct rm_node *)node)->workers, 1, memory_order_relaxed);
	pfu_dirfds_put(l->dirfds, l->at[0]);
}

/*
 * Makes the kernel look a name up.  To unlink a name that it does not know it asks
 * the server while it holds the directory's lock; here it does not, so that what
 * would be a round trip more for all who wait for the lock is one for us alone.
 */
static void look_up(struct removal *r, struct pfu_node *node, int dirfd, const char *name)
{
	struct stat st;

	if (r->network &&
	    atomic_load_explicit(&((struct rm_node *)node)->workers, memory_order_relaxed) > 1)
		(void)r->fs->fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW);
}

/* Whether the entry is to stay: the answer was no. */
static bool stays(struct pfu_local *l, struct pfu_node *node, int dirfd, const struct pfu_entry *e)
{
	struct removal *r = removal_of(l);
	enum answer answer = may_remove(r, dirfd, node->dir, e->name);
	bool failed = answer == FAILED && !ignorable(r, errno);

	/* As rm does, which then goes on to the directory and fails there too. */
	if (failed)
		complain(r, node->dir, e->name, errno, "cannot remove %q");
	if (answer != YES)
		pfu_count(l->counter, failed ? PFU_COUNT_FAILED : PFU_COUNT_SKIPPED, 1);
	return answer != YES;
}

static void left_out(struct pfu_local *l, struct pfu_node *node, const struct pfu_entry *e)
{
	(void)l;
	(void)e;
	keep(node);
}

/* Something would bring up a question: there is no need to look any further. */
static void note_question(struct pfu_local *l)
{
	atomic_store(&removal_of(l)->question, true);
	pfu_pool_cancel(pfu_walk_pool(l->walk));
}

static bool is_directory(struct removal *r, int dirfd, const struct pfu_entry *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type == DT_DIR;
	return r->fs->fstatat(dirfd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* What an entry counts as; where the listing did not tell its type, as a file. */
static enum pfu_count count_of(const struct pfu_entry *e)
{
	return e->type == DT_UNKNOWN ? PFU_COUNT_FILES : pfu_count_of(DTTOIF(e->type));
}

static enum pfu_did entry(struct pfu_local *l, struct pfu_node *node, const struct pfu_entry *e)
{
	struct removal *r = removal_of(l);
	int fd = l->at[0]->fd, err;

	if ((r->asking || r->looking) && is_directory(r, fd, e))
		return PFU_DESCEND;
	if (r->looking) {
		if (e->type != DT_LNK && write_protected(r, fd, e->name))
			note_question(l);
		return PFU_DONE;
	}
	if (r->asking && stays(l, node, fd, e))
		return PFU_DONE;
	if (!pfu_rate_wait(&r->limits.files, 1))
		return PFU_DONE; /* cancelled: the directory stays */
	look_up(r, node, fd, e->name);
	if (r->fs->unlinkat(fd, e->name, 0) == 0) {
		pfu_count(l->counter, count_of(e), 1);
		note_progress(node);
		say_removed(r, node->dir, e->name, "removed %q");
		return PFU_DONE;
	}
	err = errno;
	/* A directory counts when it goes itself. */
	if (err == EISDIR) {
		pfu_rate_return(&r->limits.files, 1);
		return PFU_DESCEND;
	}
	/* Where nothing may be unlinked, unlink() does not say what it is. */
	if (err != ENOENT && e->type == DT_UNKNOWN && is_directory(r, fd, e))
		return PFU_DESCEND;
	/* Over a network: the listing had it, so the reply to a first attempt was lost. */
	if (err != ENOENT || !r->network)
		entry_failed(l, node, fd, e->name, err);
	else
		pfu_count(l->counter, count_of(e), 1);
	return PFU_DONE;
}

/* ---- directories ---- */

static struct rm_node *new_node(struct removal *r, struct pfu_walk *walk, struct rm_node *parent,
				const char *name)
{
	struct rm_node *rn = calloc(1, sizeof(*rn));
	struct pfu_dir *dir = pfu_dir_new(parent ? parent->node.dir : NULL, name, 0);

	if (!rn || !dir) {
		keep(parent ? &parent->node : NULL);
		complain(r, parent ? parent->node.dir : NULL, name, ENOMEM, "cannot remove %q");
		free(rn);
		pfu_dir_unref(dir);
		return NULL;
	}
	rn->dev = parent ? parent->dev : 0;
	pfu_node_init(walk, &rn->node, parent ? &parent->node : NULL, dir);
	return rn;
}

static struct pfu_node *descend(struct pfu_local *l, struct pfu_node *parent,
				const struct pfu_entry *e)
{
	struct rm_node *up = (struct rm_node *)parent;
	struct rm_node *rn = new_node(removal_of(l), l->walk, up, e->name);

	if (!rn)
		pfu_count(l->counter, PFU_COUNT_FAILED, 1);
	return rn ? &rn->node : NULL;
}

/*
 * The descriptor of the directory that has the node's name: AT_FDCWD, or *parent's,
 * to be put back.  -1 with errno.
 */
static int fd_above(struct pfu_local *l, struct rm_node *rn, struct pfu_dirfd **parent)
{
	*parent = NULL;
	if (is_top(rn))
		return AT_FDCWD;
	*parent = pfu_dirfds_get_parent(l->dirfds, rn->node.dir);
	return *parent ? (*parent)->fd : -1;
}

/* As look_up(), for a directory: its attributes, which have changed, are not asked for. */
static void look_up_directory(struct removal *r, int dirfd, const char *name)
{
	int fd = r->fs->openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);

	if (fd >= 0)
		r->fs->close(fd);
}

/* Calls unlinkat() on the node's own name. */
static int unlink_node(struct pfu_local *l, struct rm_node *rn, int flags)
{
	struct removal *r = removal_of(l);
	struct pfu_dir *dir = rn->node.dir;
	struct pfu_dirfd *parent;
	int fd = fd_above(l, rn, &parent), rc, err;

	if (!parent)
		return fd == -1 ? -1 : r->fs->unlinkat(fd, dir->name, flags);
	/*
	 * Some servers (SMB) keep a name for as long as anyone has the directory
	 * open.  Should it have to be opened again, it must be the same one.
	 */
	if (!l->own_table) {
		struct pfu_dirfd *d = pfu_dirfds_get(l->dirfds, dir);

		if (d) {
			(void)pfu_dirfds_identify(l->dirfds, d);
			pfu_dirfds_put(l->dirfds, d);
			pfu_dirfds_drop(l->dirfds, dir);
		}
	}
	if (r->network)
		look_up_directory(r, fd, dir->name);
	rc = r->fs->unlinkat(fd, dir->name, flags);
	err = rc == 0 ? 0 : reason(r, fd, dir->name, errno);
	pfu_dirfds_put(l->dirfds, parent);
	errno = err;
	return rc;
}

/* The node's directory is gone. */
static void node_removed(struct pfu_local *l, struct rm_node *rn, const char *format)
{
	struct removal *r = removal_of(l);

	rn->settled = rn->gone = true;
	say_removed(r, rn->node.dir, rn->shown, format);
	if (!is_top(rn))
		note_progress((struct pfu_node *)rn->node.group.parent);
}

/* The node's directory has gone without our doing, and that is no error. */
static void node_vanished(struct rm_node *rn)
{
	rn->settled = true;
}

/* The node's directory stays, for a reason to be told (unless format is NULL). */
static void node_stays(struct removal *r, struct rm_node *rn, int err, const char *format)
{
	rn->settled = true;
	keep_in_parent(rn);
	if (!format)
		return;
	atomic_store(&rn->complained, true);
	complain(r, rn->node.dir, rn->shown, err, format);
}

/* Whether rmdir() only says that the directory is not empty, or nothing to the point. */
static bool says_little(int err)
{
	return err == ENOTEMPTY || err == EEXIST || err == EISDIR || err == ENOTDIR;
}

/* Whether an empty directory may go; settles the node if not. */
static bool may_leave(struct removal *r, struct rm_node *rn)
{
	if (!r->asking || !(r->options->ask_always || rn->protected))
		return true;
	if (ask(r, rn->node.dir, rn->shown,
		rn->protected ? "remove write-protected %s %q? " : "remove %s %q? ",
		"directory") == YES)
		return true;
	/* Unlike one that is not even entered: rm goes on to ask about those above. */
	rn->settled = true;
	return false;
}

/*
 * Where questions are asked, a directory that cannot be opened is removed only
 * if there is none to be asked about it, or with -d.  Settles the node if it is
 * not to be.
 */
static bool may_try_unopened(struct pfu_local *l, struct rm_node *rn, int err)
{
	struct removal *r = removal_of(l);
	struct pfu_dirfd *parent;
	struct stat st;
	int fd = fd_above(l, rn, &parent), protected = -1;

	if (fd == -1 || r->fs->fstatat(fd, rn->node.dir->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		/* As rm does, which then goes on to the directory above and fails there too. */
		err = errno;
		rn->settled = true;
		atomic_store(&rn->complained, true);
		complain(r, rn->node.dir, rn->shown, err, "cannot remove %q");
	} else {
		protected = write_protected(r, fd, rn->node.dir->name);
	}
	if (parent)
		pfu_dirfds_put(l->dirfds, parent);
	if (protected == 0 && !r->options->ask_always)
		return true;
	if (protected < 0 || !r->options->empty_dirs) {
		if (!rn->settled)
			node_stays(r, rn, err, "cannot remove %q");
		return false;
	}
	rn->protected = protected;
	return may_leave(r, rn);
}

/* A directory that cannot be opened may still be empty, or no directory any more. */
static void remove_unopened(struct pfu_local *l, struct rm_node *rn, int err)
{
	struct removal *r = removal_of(l);
	bool changed = err == ENOTDIR || err == ELOOP;

	if (r->looking) {
		rn->settled = true;
		note_question(l);
		return;
	}
	if (changed ? !r->asking : err != ENOENT && err != ESTALE) {
		if (r->asking && !may_try_unopened(l, rn, err))
			return;
		if (unlink_node(l, rn, changed ? 0 : AT_REMOVEDIR) == 0) {
			node_removed(l, rn, changed ? "removed %q" : "removed directory %q");
			return;
		}
		if (changed ? errno == ENOENT : !says_little(errno))
			err = errno;
	}
	if (vanished(r, rn, err))
		node_vanished(rn);
	else
		node_stays(r, rn, err, "cannot remove %q");
}

static bool is_root(struct removal *r, const struct stat *st)
{
	return r->has_root && st->st_dev == r->root.st_dev && st->st_ino == r->root.st_ino;
}

/*
 * --preserve-root=all: whether an operand is on the device of the directory that it is
 * in.  Reports it if not, or if that cannot be told; it stays then.  `fd`: the operand,
 * open; or AT_FDCWD.
 */
static bool is_on_same_device(struct removal *r, int fd, const char *name)
{
	struct stat st, above;
	char *up = NULL;
	bool same = false;

	/* Where it is open it is asked itself, and not what may have its name by now. */
	if (asprintf(&up, "%.*s/..", (int)pfu_name_length(name), name) < 0 ||
	    r->fs->fstatat(fd, fd == AT_FDCWD ? up : "..", &above, 0) != 0) {
		atomic_store(&r->failed, true);
		pfu_message(r->report, PFU_ERROR, 0, "failed to stat %q: skipping %q",
			    up ? up : "..", name);
	} else {
		same = (fd == AT_FDCWD ? r->fs->fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) :
					 r->fs->fstat(fd, &st)) == 0 &&
		       st.st_dev == above.st_dev;
		if (!same) {
			complain(r, NULL, name, 0, "skipping %q, since it's on a different device");
			pfu_message(r->report, PFU_ERROR, 0,
				    "and --preserve-root=all is in effect");
		}
	}
	free(up);
	return same;
}

/* The same of a directory to be entered, which is settled if it stays. */
static bool is_node_on_same_device(struct removal *r, struct rm_node *rn, int fd)
{
	char *path = pfu_dir_path(rn->node.dir, rn->shown);
	bool same = is_on_same_device(r, fd, path ? path : rn->node.dir->name);

	free(path);
	if (!same) {
		node_stays(r, rn, 0, NULL);
		atomic_store(&rn->complained, true);
	}
	return same;
}

/* Whether a directory may be entered where rm refuses some.  Reports it if not. */
static bool is_allowed(struct pfu_local *l, struct rm_node *rn, int fd)
{
	struct removal *r = removal_of(l);
	bool top = is_top(rn);
	struct stat st;

	if (!r->options->one_file_system && !(top && r->options->preserve_root))
		return true;
	if (r->fs->fstat(fd, &st) != 0) {
		node_stays(r, rn, errno, "cannot remove %q");
		return false;
	}
	pfu_dir_identify(rn->node.dir, &st);
	if (top) {
		rn->dev = st.st_dev;
		if (r->options->preserve_root && is_root(r, &st)) {
			bool plain = strcmp(rn->node.dir->name, "/") == 0;

			node_stays(r, rn, 0,
				   plain ? "it is dangerous to operate recursively on %q" :
					   "it is dangerous to operate recursively on %q (same as '/')");
			pfu_message(r->report, PFU_ERROR, 0,
				    "use --no-preserve-root to override this failsafe");
			return false;
		}
		if (r->options->preserve_root == PFU_PRESERVE_ROOT_ALL &&
		    !is_node_on_same_device(r, rn, fd))
			return false;
	} else if (r->options->one_file_system && st.st_dev != rn->dev) {
		node_stays(r, rn, 0, "skipping %q, since it's on a different device");
		return false;
	}
	return true;
}

/* The question before a directory is entered.  Settles the node if it is not to be. */
static bool may_enter(struct pfu_local *l, struct rm_node *rn, int fd)
{
	struct removal *r = removal_of(l);
	int protected, empty;

	/* The directory itself, not what its name may lead to by now. */
	protected = dir_write_protected(r, fd);
	if (protected < 0) {
		node_stays(r, rn, errno, "cannot remove %q");
		return false;
	}
	rn->protected = protected;
	if (r->looking) {
		if (protected)
			note_question(l);
		return !protected;
	}
	if (!protected && !r->options->ask_always)
		return true;
	empty = pfu_dir_is_empty(l->fs, fd);
	if (empty == 1) {
		if (ask(r, rn->node.dir, rn->shown,
			protected ? "remove write-protected %s %q? " : "remove %s %q? ",
			"directory") == NO)
			node_stays(r, rn, 0, NULL);
		else if (unlink_node(l, rn, AT_REMOVEDIR) == 0)
			node_removed(l, rn, "removed directory %q");
		else
			node_stays(r, rn, errno, "cannot remove %q");
		return false;
	}
	if (ask(r, rn->node.dir, rn->shown,
		protected ? "descend into write-protected directory %q? " :
			    "descend into directory %q? ",
		NULL) == NO) {
		node_stays(r, rn, 0, NULL);
		return false;
	}
	return true;
}

/* --preserve-root=all, of an operand that cannot be read. */
static bool is_node_in_place(struct removal *r, struct rm_node *rn)
{
	return r->options->preserve_root != PFU_PRESERVE_ROOT_ALL ||
	       is_node_on_same_device(r, rn, AT_FDCWD);
}

/* --one-file-system, of a directory that cannot be read: whether it is on another one, and so stays. */
static bool is_skipped(struct pfu_local *l, struct rm_node *rn)
{
	struct removal *r = removal_of(l);
	struct pfu_dirfd *parent;
	int fd = fd_above(l, rn, &parent);
	struct stat st;
	bool skipped;

	if (!parent)
		return false;
	skipped = r->options->one_file_system &&
		  r->fs->fstatat(fd, rn->node.dir->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		  st.st_dev != rn->dev;
	pfu_dirfds_put(l->dirfds, parent);
	if (skipped)
		node_stays(r, rn, 0, "skipping %q, since it's on a different device");
	return skipped;
}

static bool enter(struct pfu_local *l, struct pfu_node *node)
{
	struct rm_node *rn = (struct rm_node *)node;
	struct removal *r = removal_of(l);
	struct pfu_dirfd *d = pfu_dirfds_get(l->dirfds, node->dir);
	int err = errno;
	bool go;

	if (!d) {
		if (err != EACCES || (is_top(rn) ? is_node_in_place(r, rn) : !is_skipped(l, rn)))
			remove_unopened(l, rn, err);
		return false;
	}
	/* rm asks of a directory that it then skips, but of no operand that it refuses. */
	if (r->asking && !is_top(rn))
		go = may_enter(l, rn, d->fd) && is_allowed(l, rn, d->fd);
	else
		go = is_allowed(l, rn, d->fd) &&
		     (!(r->asking || r->looking) || may_enter(l, rn, d->fd));
	pfu_dirfds_put(l->dirfds, d);
	return go;
}

static void share(struct pfu_local *l, struct pfu_node *node)
{
	struct pfu_dirfd *d = pfu_dirfds_get(l->dirfds, node->dir);

	if (d) {
		/* Unidentified it can still be reopened, only not verified; that is an error there. */
		(void)pfu_dirfds_identify(l->dirfds, d);
		pfu_dirfds_put(l->dirfds, d);
	}
}

/* Removes a directory that has been emptied; false: it is to be listed again. */
static bool remove_emptied(struct pfu_local *l, struct pfu_node *node)
{
	struct rm_node *rn = (struct rm_node *)node;
	struct removal *r = removal_of(l);

	if (rn->settled || r->looking)
		return true;
	if (atomic_load(&node->kept) || !pfu_rate_wait(&r->limits.files, 1) ||
	    pfu_local_cancelled(l)) {
		keep_in_parent(rn);
		return true;
	}
	if (rn->pass == 0 && !may_leave(r, rn))
		return true;
	if (unlink_node(l, rn, AT_REMOVEDIR) == 0) {
		node_removed(l, rn, "removed directory %q");
		return true;
	}
	/* Over a network: the reply to a first attempt was lost. */
	if (vanished(r, rn, errno) || (errno == ENOENT && r->network)) {
		node_vanished(rn);
		return true;
	}
	/*
	 * Names that the listing did not show: of a file system that skips some
	 * when others are unlinked meanwhile, or new ones.  As long as each pass
	 * gets somewhere, try again.
	 */
	if ((errno == ENOTEMPTY || errno == EEXIST) && !r->asking &&
	    (atomic_exchange(&rn->progress, false) || node->guessed) && ++rn->pass < PASSES_MAX)
		return false;
	node_stays(r, rn, errno, "cannot remove %q");
	return true;
}

/* What has become of a directory: it is gone, failed, or stays for what stays in it. */
static void count_node(struct pfu_local *l, struct rm_node *rn)
{
	if (rn->gone)
		pfu_count(l->counter, PFU_COUNT_DIRECTORIES, 1);
	else if (atomic_load(&rn->complained))
		pfu_count(l->counter, PFU_COUNT_FAILED, 1);
	else if (rn->settled || !pfu_local_cancelled(l))
		pfu_count(l->counter, PFU_COUNT_SKIPPED, 1);
}

static bool leave(struct pfu_local *l, struct pfu_node *node)
{
	if (!remove_emptied(l, node))
		return false;
	count_node(l, (struct rm_node *)node);
	return true;
}

static const struct pfu_walk_ops ops = {
	.descend = descend,
	.enter = enter,
	.share = share,
	.begin = begin,
	.entry = entry,
	.end = end,
	.left_out = left_out,
	.list_failed = list_failed,
	.leave = leave,
};

/* ---- operands ---- */

static void operand_failed(struct pfu_local *l, const char *name, int err)
{
	struct removal *r = removal_of(l);

	err = reason(r, AT_FDCWD, name, err);
	pfu_count(l->counter, ignorable(r, err) ? PFU_COUNT_SKIPPED : PFU_COUNT_FAILED, 1);
	if (!ignorable(r, err))
		complain(r, NULL, name, err, "cannot remove %q");
}

static void operand_removed(struct pfu_local *l, const char *name, enum pfu_count what,
			    const char *format)
{
	pfu_count(l->counter, what, 1);
	say_removed(removal_of(l), NULL, name, format);
}

/* Of a path of which the first `len` bytes count. */
static void refuse_dots(struct pfu_local *l, const char *name)
{
	struct removal *r = removal_of(l);

	pfu_count(l->counter, PFU_COUNT_FAILED, 1);
	complain(r, NULL, name, 0, "refusing to remove '.' or '..' directory: skipping %q");
}

/* The question about a directory to be removed with -d.  May say that it has failed. */
static enum answer may_remove_empty(struct removal *r, const char *name, bool inaccessible)
{
	int protected;

	if (!r->asking)
		return YES;
	protected = write_protected(r, AT_FDCWD, name);
	if (protected < 0)
		return FAILED;
	if (!protected && !r->options->ask_always)
		return YES;
	if (inaccessible)
		return ask(r, NULL, name, "attempt removal of inaccessible directory %q? ", NULL);
	return ask(r, NULL, name,
		   protected ? "remove write-protected %s %q? " : "remove %s %q? ", "directory");
}

/* -d without -r: the directory if it is empty. */
static void remove_empty(struct pfu_local *l, const char *name)
{
	struct removal *r = removal_of(l);
	/* A slash at the end of its name leads through a link; but rmdir() does not take that. */
	int fd = r->fs->openat(AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	int err = errno, empty = fd >= 0 ? pfu_dir_is_empty(l->fs, fd) : -1;
	enum answer answer;

	if (fd >= 0)
		pfu_closer_add(&l->closer, fd);
	if (empty == 0) {
		operand_failed(l, name, ENOTEMPTY);
		return;
	}
	if (pfu_name_is_dots(name, pfu_name_length(name))) {
		refuse_dots(l, name);
		return;
	}
	if (r->options->preserve_root == PFU_PRESERVE_ROOT_ALL && !is_on_same_device(r, AT_FDCWD, name)) {
		pfu_count(l->counter, PFU_COUNT_FAILED, 1);
		return;
	}
	answer = may_remove_empty(r, name, fd < 0);
	if (answer == FAILED)
		operand_failed(l, name, errno);
	else if (answer == NO)
		pfu_count(l->counter, PFU_COUNT_SKIPPED, 1);
	else if (r->fs->unlinkat(AT_FDCWD, name, AT_REMOVEDIR) == 0)
		operand_removed(l, name, PFU_COUNT_DIRECTORIES, "removed directory %q");
	else
		operand_failed(l, name, fd < 0 && says_little(errno) ? err : errno);
}

/*
 * A link with a slash behind it: it cannot be removed by this name, and what it
 * leads to is not to be emptied.  With -f too, since the name is there.
 */
static void refuse_link(struct pfu_local *l, const char *name)
{
	struct removal *r = removal_of(l);
	struct stat st;

	pfu_count(l->counter, PFU_COUNT_FAILED, 1);
	if (r->fs->fstatat(AT_FDCWD, name, &st, 0) == 0 && is_root(r, &st)) {
		complain(r, NULL, name, 0,
			 "it is dangerous to operate recursively on %q (same as '/')");
		pfu_message(r->report, PFU_ERROR, 0,
			    "use --no-preserve-root to override this failsafe");
	} else {
		complain(r, NULL, name, ENOTDIR, "cannot remove %q");
	}
}

/* The operand, with at most one slash at its end, is a directory or a link to one and a slash. */
static void remove_directory(struct pfu_local *l, const char *name)
{
	struct removal *r = removal_of(l);
	size_t len = pfu_name_length(name);
	struct rm_node *rn;
	struct stat st;
	char *bare;

	if (!r->options->recursive) {
		if (r->options->empty_dirs)
			remove_empty(l, name);
		else
			operand_failed(l, name, EISDIR);
		return;
	}
	pfu_rate_return(&r->limits.files, 1); /* it counts when it goes */
	if (pfu_name_is_dots(name, len)) {
		refuse_dots(l, name);
		return;
	}
	bare = strndup(name, len);
	if (!bare) {
		operand_failed(l, name, ENOMEM);
	} else if (name[len] == '/' &&
		   r->fs->fstatat(AT_FDCWD, bare, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		   S_ISLNK(st.st_mode)) {
		refuse_link(l, name);
	} else {
		rn = new_node(r, l->walk, NULL, bare);
		if (rn) {
			rn->shown = name[len] == '/' ? "" : NULL;
			pfu_walk_submit(l->walk, &rn->node);
		} else {
			pfu_count(l->counter, PFU_COUNT_FAILED, 1);
		}
	}
	free(bare);
}

static bool is_directory_by_name(struct removal *r, const char *name)
{
	struct stat st;

	return r->fs->fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Whether a name that unlink() did not take is that of a directory: it says so
 * only where it would otherwise be allowed, and not of a link's name and a slash.
 * Keeps errno.
 */
static bool leads_to_directory(struct removal *r, const char *name)
{
	int err = errno;
	bool yes = err == EISDIR || (err != ENOENT && is_directory_by_name(r, name));

	errno = err;
	return yes;
}

/*
 * Whether an operand, by its looks, may be / or another directory that is not to be
 * removed whatever is asked for: not even a call that is bound to fail is made on it.
 */
static bool is_delicate(const char *name)
{
	size_t len = pfu_name_length(name);

	return name[len] == '/' || pfu_name_is_dots(name, len) || strcmp(name, "/") == 0;
}

/* Whether to look at an operand only to count it as what it is. */
static bool is_exact(const struct removal *r)
{
	return r->options->tally && r->options->tally->exact;
}

static void remove_named(struct pfu_local *l, const char *name)
{
	struct removal *r = removal_of(l);
	enum pfu_count what = PFU_COUNT_FILES;
	enum answer answer = YES;
	struct stat st;

	if (!pfu_rate_wait(&r->limits.files, 1)) {
		atomic_store(&r->failed, true);
		return;
	}
	if (r->asking) {
		if (r->fs->fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
			operand_failed(l, name, errno);
			return;
		}
		if (S_ISDIR(st.st_mode)) {
			remove_directory(l, name);
			return;
		}
		what = pfu_count_of(st.st_mode);
		answer = may_remove(r, AT_FDCWD, NULL, name);
	} else if (is_exact(r) && r->fs->fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		what = pfu_count_of(st.st_mode);
	}
	if (answer == FAILED)
		operand_failed(l, name, errno);
	else if (answer == NO)
		pfu_count(l->counter, PFU_COUNT_SKIPPED, 1);
	else if (r->options->recursive && is_delicate(name) && is_directory_by_name(r, name))
		remove_directory(l, name);
	else if (r->fs->unlinkat(AT_FDCWD, name, 0) == 0)
		operand_removed(l, name, what, "removed %q");
	else if (leads_to_directory(r, name))
		remove_directory(l, name);
	else
		operand_failed(l, name, errno);
}

/* Whether an operand would bring up a question; of a directory that is found out below it. */
static void look_at_named(struct pfu_local *l, const char *name)
{
	struct removal *r = removal_of(l);
	struct stat st;

	if (r->fs->fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(st.st_mode))
		return;
	if (S_ISDIR(st.st_mode) && r->options->recursive)
		remove_directory(l, name);
	else if ((!S_ISDIR(st.st_mode) || r->options->empty_dirs) &&
		 write_protected(r, AT_FDCWD, name))
		note_question(l);
}

/* Of several slashes at its end a name keeps one. */
static void remove_operand(struct pfu_local *l, size_t i)
{
	const char *name = removal_of(l)->operands[i];
	size_t len = pfu_name_length(name);
	void (*work_on)(struct pfu_local *l, const char *name) =
		removal_of(l)->looking ? look_at_named : remove_named;
	const struct pfu_filter *filter = removal_of(l)->options->filter;
	char *shorter;

	if (filter && pfu_filter_leaves_out(filter, l->fs, name, false)) {
		if (l->counter)
			pfu_tally_operands(removal_of(l)->options->tally, -1);
		return;
	}
	if (name[len] == '\0' || name[len + 1] == '\0') {
		work_on(l, name);
		return;
	}
	shorter = strndup(name, len + 1);
	if (shorter)
		work_on(l, shorter);
	else
		operand_failed(l, name, ENOMEM);
	free(shorter);
}

/*
 * Whether the operand may be worked on while those since the last barrier still
 * are: when all are different names in one directory.  Others could be one
 * within the other.
 */
static bool is_apart(struct removal *r, const char *name)
{
	size_t len = pfu_name_length(name), prefix = len;
	int added;

	while (prefix > 0 && name[prefix - 1] != '/')
		prefix--;
	if (r->barrier || !r->prefix || prefix != r->prefix_len ||
	    memcmp(name, r->prefix, prefix) != 0) {
		bool first = r->barrier || !r->prefix;

		pfu_names_clear(&r->names);
		r->prefix = name;
		r->prefix_len = prefix;
		if (!first)
			return false;
	}
	if (pfu_name_is_dots(name, len))
		return r->barrier;
	added = pfu_names_add(&r->names, name + prefix, len - prefix);
	return added == 1 || r->barrier;
}

/* Whether the operand is to wait until those before it are complete. */
static bool must_wait(struct removal *r, const char *name)
{
	if (r->count == 1 || r->barrier)
		return false;
	if (r->in_turn)
		return r->next > 0;
	return (r->options->recursive || r->options->empty_dirs) && !is_apart(r, name);
}

/* The task that hands out operands: takes one, puts itself back for the next, and works on it. */
static void run_operands(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_local *l = pfu_local(worker);
	struct removal *r = removal_of(l);
	bool last;
	size_t i;

	if (pfu_local_cancelled(l)) {
		atomic_store(&r->failed, true);
		return;
	}
	i = r->next;
	if (must_wait(r, r->operands[i])) {
		r->barrier = true;
		pfu_pool_submit_alone(worker->pool, task);
		return;
	}
	r->barrier = false;
	r->next++;
	last = r->next == r->count;
	if (!last) {
		task->next = NULL;
		/* Directories are put off, so that operands could fill all memory. */
		if (pfu_pool_full(worker->pool))
			pfu_pool_submit_later(worker->pool, task);
		else
			pfu_pool_submit(worker->pool, task);
	}
	remove_operand(l, i);
	pfu_count_tick(l->counter);
	if (last && l->counter)
		pfu_tally_listing(r->options->tally, r->options->recursive ? -1 : 0);
}

/* What kind of file system the operands are on, by the first of them that is there. */
static unsigned int kind(struct removal *r)
{
	unsigned int flags = PFU_FS_NETWORK;
	int fd = -1;
	size_t i;

	for (i = 0; i < r->count && i < KIND_TRIES && fd < 0; i++)
		fd = r->fs->openat(AT_FDCWD, r->operands[i], O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd >= 0) {
		flags = pfu_fstype_of(r->fs, fd);
		r->fs->close(fd);
	}
	return flags;
}

static bool run(struct removal *r)
{
	const struct pfu_remove_options *o = r->options;
	unsigned int flags = kind(r);
	struct pfu_walk_options wo = {
		.fs = r->fs,
		.ops = &ops,
		.filter = o->filter,
		.workers = o->workers,
		.chunk = o->chunk,
		.network = flags & PFU_FS_NETWORK,
		.leave_above = !r->looking,
		.list_ahead = !r->looking,
		.short_is_end = !(flags & PFU_FS_NETWORK) && !r->asking && !r->looking,
		.cancel = o->cancel,
		.limits = &r->limits,
		.tally = r->looking ? NULL : o->tally,
		.ctx = r,
	};
	struct pfu_walk *walk;
	bool ok;

	if (r->asking)
		wo.workers = 1;
	r->network = wo.network;
	r->in_turn = r->count <= FEW_OPERANDS && (o->verbose || !wo.network);
	walk = pfu_walk_new(&wo);
	if (!walk) {
		pfu_message(r->report, PFU_ERROR, ENOMEM, "cannot start");
		return false;
	}
	/* Operands may be directories, of which nobody knows yet what is in them. */
	pfu_tally_operands(wo.tally, (int64_t)r->count);
	pfu_tally_listing(wo.tally, o->recursive);
	r->task = (struct pfu_task){ .run = run_operands, .group = pfu_walk_root(walk), .work = 1 };
	r->next = 0;
	r->prefix = NULL;
	r->barrier = false;
	ok = pfu_walk_run(walk, &r->task) == 0;
	if (!ok)
		pfu_message(r->report, PFU_ERROR, errno, "cannot finish");
	pfu_names_clear(&r->names);
	pfu_walk_free(walk);
	return ok;
}

static void say_nothing(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	(void)ctx;
	(void)severity;
	(void)errnum;
	(void)text;
}

/*
 * Whether a question about something write-protected would come up.  To find that out
 * first, with all workers, and remove with all of them if there is none, is fast where
 * one after the other is not; and nothing has gone when the first question is asked.
 */
static bool would_ask(struct removal *r)
{
	static const struct pfu_report silent = { .message = say_nothing };
	const struct pfu_report *report = r->report;
	bool failed = atomic_load(&r->failed), ok;

	atomic_store(&r->question, false);
	r->report = &silent;
	r->looking = true;
	ok = run(r);
	r->looking = false;
	r->report = report;
	atomic_store(&r->failed, failed);
	return !ok || atomic_load(&r->question);
}

/* Removes a batch of the operands. */
static void remove_batch(struct removal *r)
{
	const struct pfu_remove_options *o = r->options;

	r->asking = o->ask_always;
	if (o->ask_protected && !r->asking && !o->force && !o->privileged)
		r->asking = would_ask(r);
	if (!run(r))
		atomic_store(&r->failed, true);
}

/* What all batches have in common, and the batches. */
static bool remove_batches(const struct pfu_remove_options *options,
			   const struct pfu_report *report, const struct pfu_remove_list *list)
{
	struct removal r = {
		.options = options,
		.fs = options->dry_run ? &r.dry_fs : options->fs ? options->fs : &pfu_fsys_posix,
		.report = report,
	};

	if (options->dry_run)
		pfu_dryrun_table(&r.dry_fs);
	if (options->recursive && options->preserve_root)
		r.has_root = r.fs->fstatat(AT_FDCWD, "/", &r.root, AT_SYMLINK_NOFOLLOW) == 0;
	pfu_rate_init(&r.limits.files, options->max_rate, options->cancel);
	while (list->next(list->ctx, &r.operands, &r.count))
		remove_batch(&r);
	if (options->dry_run)
		pfu_dryrun_end(report, "removed", atomic_load(&r.listed));
	return !atomic_load(&r.failed);
}

bool pfu_remove_list(const struct pfu_remove_options *options, const struct pfu_report *report,
		     const struct pfu_remove_list *list)
{
	bool ok;

	/* As long as there may be another batch, nobody knows how much there is. */
	pfu_tally_listing(options->tally, 1);
	ok = remove_batches(options, report, list);
	pfu_tally_listing(options->tally, -1);
	return ok;
}

/* The one batch of operands that are all there. */
struct whole {
	char *const *operands;
	size_t count;
};

static bool take_whole(void *ctx, char *const **operands, size_t *count)
{
	struct whole *whole = ctx;

	*operands = whole->operands;
	*count = whole->count;
	whole->count = 0;
	return *count > 0;
}

bool pfu_remove(const struct pfu_remove_options *options, const struct pfu_report *report,
		char *const *operands, size_t count)
{
	struct whole whole = { operands, count };

	return count == 0 ||
	       remove_batches(options, report, &(struct pfu_remove_list){ take_whole, &whole });
}
