/*
 * copytarget.c - what is at the target of an item already, and what becomes of it:
 * left alone, asked about, backed up, removed, or written over.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <pfu/backup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void say_skipped(struct item *it)
{
	if (it->c->options->debug)
		pfu_say_target(it, "skipped %q");
}

/* ---- may it go? ---- */

/* The mode in ls's letters, without the type. */
static void mode_letters(mode_t mode, char *s)
{
	static const char letters[] = "rwxrwxrwx";
	int i;

	for (i = 0; i < 9; i++)
		s[i] = mode & (0400U >> i) ? letters[i] : '-';
	if (mode & S_ISUID)
		s[2] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		s[5] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		s[8] = mode & S_IXOTH ? 't' : 'T';
	s[9] = '\0';
}

static bool may_overwrite(struct item *it, const struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	bool writable = S_ISLNK(t->st.st_mode) || it->c->euid == 0 ||
			it->c->fs->faccessat(it->dfd, it->dname, W_OK, AT_EACCESS) == 0;
	char *target = pfu_item_target(it), octal[8], letters[10];
	const char *shown = target ? target : it->dname;
	bool yes;

	if (o->dry_run) {
		yes = true;
	} else if (writable) {
		yes = pfu_ask(it->c->report, "overwrite %q? ", shown);
	} else {
		snprintf(octal, sizeof(octal), "%04o", (unsigned int)(t->st.st_mode & 07777));
		mode_letters(t->st.st_mode, letters);
		yes = pfu_ask(it->c->report,
			o->remove_destination || o->force
				? "replace %q, overriding mode %s (%s)? "
				: "unwritable %q (mode %s, %s); try anyway? ",
			shown, octal, letters);
	}
	free(target);
	return yes;
}

/* ---- backups, and making room ---- */

/*
 * Whether the source is what the target's backup is going to be written over.  Another
 * name of the same file is not: the source keeps its own.
 */
static bool is_target_backup(const struct item *it, const struct stat *st)
{
	const struct pfu_copy_options *o = it->c->options;
	struct stat old;
	char *name;
	bool is;

	if (o->backup == PFU_BACKUP_NUMBERED || asprintf(&name, "%s%s", it->dname, o->suffix) < 0)
		return false;
	is = strcmp(base_name(it->sname), base_name(name)) == 0 &&
	     it->c->fs->fstatat(it->dfd, name, &old, 0) == 0 && old.st_dev == st->st_dev &&
	     old.st_ino == st->st_ino;
	free(name);
	return is;
}

static enum outcome make_backup(struct item *it, const struct stat *st, struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;

	if (is_target_backup(it, st)) {
		pfu_fail_both(it, 0, "backing up %q might destroy source;  %q not copied");
		return FAILED;
	}
	t->backup = pfu_backup_make(it->c->fs, it->dfd, it->dname, o->backup, o->suffix);
	if (!t->backup && errno != ENOENT) {
		pfu_fail_target(it, errno, "cannot backup %q");
		return FAILED;
	}
	t->is_new = true;
	return GO_ON;
}

/* Puts a backup back, since its place was not taken after all; but not over what another process put there. */
void pfu_undo_backup(struct item *it, const struct target *t, bool quietly)
{
	if (pfu_backup_undo(it->c->fs, it->dfd, t->backup, it->dname, t->ours) != 0) {
		if (errno == EEXIST)
			return;
		pfu_fail_target(it, errno, "cannot un-backup %q");
	} else if (it->c->options->verbose && !quietly) {
		char *old = pfu_item_beside(it, t->backup), *target = pfu_item_target(it);

		if (old && target)
			pfu_output(it->c->report, "%q -> %q (unbackup)", old, target);
		free(old);
		free(target);
	}
}

static enum outcome remove_target(struct item *it, struct target *t)
{
	if (it->c->fs->unlinkat(it->dfd, it->dname, 0) == 0)
		pfu_say_removed(it);
	else if (errno != ENOENT) {
		pfu_fail_target(it, errno, "cannot remove %q");
		return FAILED;
	}
	t->is_new = true;
	return GO_ON;
}

/* ---- all that can be there ---- */

/* -u and -i: whether what exists is left alone. */
static enum outcome leave_alone(struct item *it, const struct stat *st, struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	bool first, ok = true;

	if (S_ISDIR(st->st_mode))
		return GO_ON;
	if ((o->update && pfu_is_current(it, st, &t->st)) ||
		(o->update_changed && pfu_is_unchanged(it, st, t))) {
		/* Other names of the source become links to what is there. */
		enum outcome linked = pfu_link_to_copy(it, st, t, &first);

		if (linked == COPIED)
			say_skipped(it);
		if (linked != GO_ON)
			return linked;
		if (o->update_changed)
			ok = pfu_refresh_attributes(it, st, t);
		if (first)
			pfu_item_links_done(it, st, true);
		say_skipped(it);
		return ok ? COPIED : FAILED;
	}
	if (o->interactive != PFU_INTERACTIVE_ASK || may_overwrite(it, t))
		return GO_ON;
	say_skipped(it);
	pfu_count_item(it, PFU_COUNT_SKIPPED);
	atomic_store(&it->c->failed, true);
	return FAILED;
}

/* -n and its kin, which do not look any further. */
static enum outcome never_replace(struct item *it)
{
	if (it->c->options->interactive == PFU_INTERACTIVE_SKIP) {
		say_skipped(it);
		return COPIED;
	}
	pfu_fail_target(it, 0, "not replacing %q");
	return FAILED;
}

/* What to do about a target that exists. */
static enum outcome check_existing(struct item *it, const struct stat *st, struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	bool backed_up = o->backup && !pfu_name_is_dots(it->sname, pfu_name_length(it->sname));
	enum outcome verdict;
	bool done;

	if (o->interactive == PFU_INTERACTIVE_SKIP || o->interactive == PFU_INTERACTIVE_FAIL) {
		if (!S_ISDIR(st->st_mode))
			return never_replace(it);
		done = false;
	} else if (!pfu_may_be_same(it, st, t, &done)) {
		pfu_fail_source_first(it, 0, "%q and %q are the same file");
		return FAILED;
	}
	verdict = leave_alone(it, st, t);
	if (verdict != GO_ON)
		return verdict;
	if (done)
		return COPIED;
	if (!S_ISDIR(st->st_mode) != !S_ISDIR(t->st.st_mode) && !backed_up) {
		pfu_fail_both(it, 0,
			S_ISDIR(st->st_mode) ? "cannot overwrite non-directory %q with directory %q"
					 : "cannot overwrite directory %q with non-directory %q");
		return FAILED;
	}
	if (!S_ISDIR(t->st.st_mode) && !it->node && o->backup != PFU_BACKUP_NUMBERED &&
		pfu_was_created(it)) {
		struct stat link = t->st;

		if (!t->lstat)
			(void)it->c->fs->fstatat(it->dfd, it->dname, &link, AT_SYMLINK_NOFOLLOW);
		if (S_ISLNK(link.st_mode) && !t->lstat && !o->backup)
			pfu_fail_source_first(
				it, 0, "will not copy %q through just-created symlink %q");
		else
			pfu_fail_both(it, 0, "will not overwrite just-created %q with %q");
		return FAILED;
	}
	if (backed_up && !S_ISDIR(t->st.st_mode))
		return make_backup(it, st, t);
	if (!S_ISDIR(t->st.st_mode) && !S_ISDIR(st->st_mode) &&
		(o->remove_destination ||
			(!o->attributes_only &&
				(((o->preserve & PFU_ATTR_LINKS) && t->st.st_nlink > 1) ||
					(!pfu_item_follows(it) &&
						!S_ISREG(st->st_mode))))))
		return remove_target(it, t);
	return GO_ON;
}

enum outcome pfu_check_target(struct item *it, const struct stat *st, struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	bool as_regular = o->copy_contents || !o->recursive;
	struct stat link;

	*t = (struct target){.is_new = it->fresh};
	if (it->fresh)
		return GO_ON;
	t->lstat = (!S_ISREG(st->st_mode) &&
			   (!as_regular || (S_ISDIR(st->st_mode) && !o->keep_directory_symlink) ||
				   S_ISLNK(st->st_mode))) ||
		   o->symbolic_link || o->hard_link || o->backup || o->remove_destination;
	if (it->c->fs->fstatat(it->dfd, it->dname, &t->st, t->lstat ? AT_SYMLINK_NOFOLLOW : 0) == 0)
		return check_existing(it, st, t);
	if (errno == ENOENT && o->dry_run && !it->node && pfu_was_created(it)) {
		/* It would be there, made for an earlier operand. */
		t->st = (struct stat){ .st_mode = S_IFREG, .st_nlink = 1 };
		return check_existing(it, st, t);
	} else if (errno == ENOENT) {
		t->is_new = true;
	} else if (errno == ELOOP && !t->lstat && o->force) {
		t->st.st_mode = S_IFLNK; /* opening will fail, and then it is removed */
	} else {
		pfu_fail_target(it, errno, "cannot stat %q");
		return FAILED;
	}
	if (!it->node && !o->backup && !t->lstat && pfu_was_created(it) &&
		it->c->fs->fstatat(it->dfd, it->dname, &link, AT_SYMLINK_NOFOLLOW) == 0) {
		pfu_fail_source_first(it, 0, "will not copy %q through just-created symlink %q");
		return FAILED;
	}
	return GO_ON;
}
