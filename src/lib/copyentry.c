/*
 * copyentry.c - one entry that is no directory, or an operand: finds out what it is
 * and what is at its target, and makes the copy.
 */
#include "copying.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* Whether the special file that was to be made is there. */
static bool is_node_made(const struct item *it, mode_t mode, dev_t rdev)
{
	struct stat st;
	int err = errno; /* of making it: what is to be told if it is not */
	bool made = it->c->fs->fstatat(it->dfd, it->dname, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    ((st.st_mode ^ mode) & S_IFMT) == 0 && st.st_rdev == rdev;

	errno = err;
	return made;
}

static bool make_node(struct item *it, const struct stat *st, const struct target *t)
{
	mode_t mode = st->st_mode & ~pfu_attrs_omit(it->c->options, st->st_mode);
	dev_t rdev = S_ISCHR(mode) || S_ISBLK(mode) ? st->st_rdev : 0;

	if (it->c->fs->mknodat(it->dfd, it->dname, mode, rdev) == 0)
		return true;
	if (errno == EEXIST && t->is_new && pfu_may_be_unheard(it) && is_node_made(it, mode, rdev))
		return true;
	pfu_fail_target(it, errno,
		S_ISFIFO(mode) ? "cannot create fifo %q" : "cannot create special file %q");
	return false;
}

static bool apply_attributes(struct item *it, const struct stat *st, const struct target *t)
{
	struct pfu_fspair *pair;
	struct pfu_attrs a;

	if (!it->c->options->preserve && !it->c->options->no_preserve_mode)
		return true;
	pair = pfu_fspairs_get(&it->c->pairs, st->st_dev, it->node ? it->node->target_dev : 0);
	if (!pair) {
		pfu_fail_target(it, ENOMEM, "preserving permissions for %q");
		return false;
	}
	a = pfu_item_attrs(it, st, pair);
	a.before = t->is_new || S_ISLNK(st->st_mode) ? NULL : &t->st;
	/* A link may have replaced what was there, or not: its owner is anybody. */
	a.owner_is_right = a.owner_is_right && (t->is_new || !S_ISLNK(st->st_mode));
	a.omitted = pfu_attrs_omit(it->c->options, st->st_mode);
	if (pfu_attrs_apply(&a))
		return true;
	atomic_store(&it->c->failed, true);
	return false;
}

/* -s with -p: a link that stands for the source has its times. */
static bool set_link_times(struct item *it, const struct stat *st)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (!(it->c->options->preserve & PFU_ATTR_TIMESTAMPS) ||
	    it->c->fs->utimensat(it->dfd, it->dname, times, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	pfu_fail_target(it, errno, "preserving times for %q");
	return !(it->c->options->require & PFU_ATTR_TIMESTAMPS);
}

/* Makes the copy of an item whose target has been dealt with. */
static enum outcome make(struct item *it, const struct stat *st, struct target *t, bool first)
{
	const struct pfu_copy_options *o = it->c->options;
	bool is_link = S_ISLNK(st->st_mode), ok;

	if (o->symbolic_link) {
		ok = pfu_make_symbolic(it, t) && set_link_times(it, st);
	} else if (o->hard_link) {
		ok = pfu_make_hard(it, st, t);
	} else if (S_ISREG(st->st_mode) || ((o->copy_contents || !o->recursive) && !is_link)) {
		return pfu_copy_file(it, st, t, first);
	} else {
		switch (st->st_mode & S_IFMT) {
		case S_IFLNK:
			ok = pfu_make_symlink_copy(it, st, t);
			break;
		case S_IFIFO:
		case S_IFCHR:
		case S_IFBLK:
		case S_IFSOCK:
			ok = make_node(it, st, t);
			break;
		default:
			pfu_fail_source(it, 0, "%q has unknown file type");
			ok = false;
		}
		t->ours = ok;
		ok = ok && apply_attributes(it, st, t);
	}
	if (ok)
		pfu_count_item(it, is_link || o->symbolic_link || o->hard_link ? PFU_COUNT_LINKS : PFU_COUNT_SPECIAL);
	if (first)
		pfu_item_links_done(it, st, ok);
	return ok ? COPIED : FAILED;
}

/* Waits until one more entry may be worked on.  false: the run was cancelled. */
static bool may_go_on(struct item *it)
{
	if (pfu_rate_wait(&it->c->limits.files, 1))
		return true;
	atomic_store(&it->c->failed, true);
	return false;
}

/* Copies an item by all the rules: its source is looked at first, then its target. */
static enum outcome copy_carefully(struct item *it)
{
	enum outcome outcome;
	struct target t;
	struct stat st;
	bool first;

	if (pfu_stat_source(it, &st) != 0) {
		pfu_fail_source(it, errno, "cannot stat %q");
		return FAILED;
	}
	if (S_ISDIR(st.st_mode)) {
		if (it->c->options->recursive)
			return DIRECTORY;
		pfu_fail_source(it, 0, "-r not specified; omitting directory %q");
		return FAILED;
	}
	if (!may_go_on(it))
		return FAILED;
	outcome = pfu_check_target(it, &st, &t);
	if (outcome == COPIED)
		pfu_count_item(it, PFU_COUNT_SKIPPED);
	if (outcome != GO_ON)
		return outcome;
	outcome = pfu_link_to_copy(it, &st, &t, &first);
	if (outcome == COPIED)
		pfu_count_item(it, PFU_COUNT_LINKS);
	if (outcome != PARKED)
		pfu_say_copied(it, t.backup);
	if (outcome == GO_ON)
		outcome = make(it, &st, &t, first);
	/* One that was put aside comes here again, and may fail then. */
	if ((outcome == FAILED || outcome == PARKED) && t.backup)
		pfu_undo_backup(it, &t, outcome == PARKED);
	if (outcome == COPIED && !it->node)
		pfu_note_created(it);
	free(t.backup);
	return outcome;
}

enum outcome pfu_copy_entry(struct item *it)
{
	const struct pfu_copy_options *o = it->c->options;
	enum outcome outcome = CHANGED;

	/* (What is in a directory is on that one's file system, which has been noted.) */
	if (!it->node)
		pfu_sync_note(it, it->c->directory ? it->c->directory_st.st_dev : 0);
	/* Into a directory that we made a file goes without a look at either side. */
	if (it->fresh && it->type == DT_REG && !o->symbolic_link && !o->hard_link)
		outcome = may_go_on(it) ? pfu_copy_file(it, NULL, NULL, false) : FAILED;
	if (outcome == CHANGED)
		outcome = copy_carefully(it);
	if (outcome == FAILED)
		pfu_count_item(it, PFU_COUNT_FAILED);
	return outcome;
}
