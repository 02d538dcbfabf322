/*
 * copylink.c - the links that are made at targets: hard links between copies of
 * files that were hard links, copies of symbolic links, and with -l and -s links in
 * place of copies.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pfu/dryrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name in the target's directory that nothing has yet, most likely. */
static void temporary_name(const struct item *it, char *name, size_t size)
{
	/* Beside the entry itself, also where its name ends in a slash. */
	int dir_len = (int)pfu_name_directory_length(it->dname);

	snprintf(name, size, "%.*s.pcp-%d-%llx", dir_len, it->dname, (int)getpid(),
		(unsigned long long)(uintptr_t)it->l ^ (unsigned long long)random());
}

/* A link that is to be made. */
struct maker {
	int fd;           /* of a hard link: what to link to; */
	const char *name; /* of a symbolic one: its text */
	int flags;
	bool hard;
	bool vacant; /* nothing was at the target a moment ago */
};

static int make_link(const struct item *it, const struct maker *m, const char *name)
{
	const struct pfu_fsys *fs = it->c->fs;

	return m->hard ? fs->linkat(m->fd, m->name, it->dfd, name, m->flags)
		       : fs->symlinkat(m->name, it->dfd, name);
}

/* Whether a name beside the target is a symbolic link with that text. */
static bool is_that_link(const struct item *it, const char *name, const char *text)
{
	size_t len = strlen(text);
	char *there = malloc(len + 2);
	bool is = there &&
		  it->c->fs->readlinkat(it->dfd, name, there, len + 1) == (ssize_t)len &&
		  memcmp(there, text, len) == 0;

	free(there);
	return is;
}

/* Whether the link that was to be made is there, under that name. */
static bool is_link_made(const struct item *it, const struct maker *m, const char *name)
{
	struct stat ours, theirs;

	if (!m->hard)
		return is_that_link(it, name, m->name);
	return it->c->fs->fstatat(it->dfd, name, &ours, AT_SYMLINK_NOFOLLOW) == 0 &&
	       it->c->fs->fstatat(m->fd, m->name, &theirs,
				  m->flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/*
 * Puts a link in place of what is at the target: under another name first, so that
 * the target is never missing.
 */
static int replace_by_link(struct item *it, const struct maker *m)
{
	char name[PATH_MAX];
	int rc, err;

	temporary_name(it, name, sizeof(name));
	if (make_link(it, m, name) != 0) {
		/* It may be there all the same, and must not stay under this name. */
		err = errno;
		if (!is_link_made(it, m, name)) {
			errno = err;
			return -1;
		}
	}
	rc = it->c->fs->renameat(it->dfd, name, it->dfd, it->dname, 0);
	err = errno;
	/* Renaming one name of a file to another does nothing. */
	(void)it->c->fs->unlinkat(it->dfd, name, 0);
	errno = err;
	return rc;
}

enum placed { NOT_PLACED, PLACED, REPLACED };

/* Makes a link at the target; with `replace` over what is there.  NOT_PLACED: with errno. */
static enum placed place_link(struct item *it, const struct maker *m, bool replace)
{
	if (make_link(it, m, it->dname) == 0)
		return PLACED;
	if (errno != EEXIST)
		return NOT_PLACED;
	if (m->vacant && pfu_may_be_unheard(it) && is_link_made(it, m, it->dname))
		return PLACED;
	errno = EEXIST;
	return replace && replace_by_link(it, m) == 0 ? REPLACED : NOT_PLACED;
}

/* ---- hard links between copies ---- */

void pfu_item_links_done(struct item *it, const struct stat *st, bool complete)
{
	struct pfu_task *task = pfu_links_done(it->c->links, st, complete), *next;

	for (; task; task = next) {
		next = task->next;
		task->next = NULL;
		pfu_pool_submit_held(pfu_walk_pool(it->c->walk), task);
	}
}

enum outcome pfu_link_to_copy(
	struct item *it, const struct stat *st, const struct target *t, bool *first)
{
	const struct pfu_copy_options *o = it->c->options;
	struct pfu_dir *dir = NULL;
	struct pfu_dirfd *d = NULL;
	struct pfu_task *task;
	char *name = NULL, *path;
	enum outcome outcome = COPIED;
	int err;

	*first = false;
	if (!it->c->links || o->hard_link || S_ISDIR(st->st_mode) ||
		(st->st_nlink <= 1 && !it->c->follow_all && !(!it->node && it->c->follow_operands)))
		return GO_ON;
	switch (pfu_links_claim(it->c->links, st, it->ddir, it->dname, &dir, &name)) {
	case PFU_LINK_FIRST:
		*first = true;
		return GO_ON;
	case PFU_LINK_ERROR:
		pfu_fail_target(it, errno, "cannot create hard link %q");
		return FAILED;
	case PFU_LINK_BUSY:
		task = pfu_item_park(it);
		if (!task) {
			pfu_fail_target(it, ENOMEM, "cannot create hard link %q");
			return FAILED;
		}
		if (!pfu_links_wait(it->c->links, st, task))
			pfu_pool_submit_held(pfu_walk_pool(it->c->walk), task);
		return PARKED;
	case PFU_LINK_THERE:
		break;
	}
	err = 0;
	/* (The first copy's directory may be one that would have been made.) */
	if (dir && !o->dry_run) {
		d = pfu_dirfds_get(it->l->dirfds, dir);
		err = d ? 0 : errno;
	}
	if (!err) {
		/* With links followed the copy may have gone to where one at its place leads. */
		struct maker m = {
			.fd = d ? d->fd : o->dry_run ? PFU_UNMADE : AT_FDCWD,
			.name = name,
			.flags = pfu_item_follows(it) ? AT_SYMLINK_FOLLOW : 0,
			.hard = true,
			.vacant = !t || t->is_new,
		};

		/* With -u it may be that link already. */
		enum placed placed = t && !t->is_new && t->st.st_nlink > 1 && is_link_made(it, &m, it->dname)
					     ? PLACED
					     : place_link(it, &m, true);

		if (placed == NOT_PLACED)
			err = errno;
		else if (placed == REPLACED)
			pfu_say_removed(it);
	}
	path = err ? pfu_dir_path(dir, name) : NULL;
	if (err == EMLINK || err == EPERM || err == EOPNOTSUPP) {
		/* The target cannot have (that many) links: better a copy than nothing. */
		if (!atomic_exchange(&it->c->told_no_link, true)) {
			char *target = pfu_item_target(it);

			pfu_message(it->c->report, PFU_WARNING, err,
				"cannot create hard link %q to %q (copying instead)",
				target ? target : it->dname, path ? path : name);
			free(target);
		}
		outcome = GO_ON;
	} else if (err) {
		char *target = pfu_item_target(it);

		atomic_store(&it->c->failed, true);
		pfu_message(it->c->report, PFU_ERROR, err, "cannot create hard link %q to %q",
			target ? target : it->dname, path ? path : name);
		free(target);
		outcome = FAILED;
	}
	free(path);
	free(name);
	if (d)
		pfu_dirfds_put(it->l->dirfds, d);
	pfu_dir_unref(dir);
	return outcome;
}

/* ---- symbolic links; links in place of copies ---- */

static char *read_link(struct item *it, const struct stat *st)
{
	size_t size = st->st_size > 0 ? (size_t)st->st_size + 1 : 128;
	char *buf = NULL, *larger;
	ssize_t n;

	for (;; size *= 2) {
		larger = realloc(buf, size);
		if (!larger) {
			free(buf);
			errno = ENOMEM;
			return NULL;
		}
		buf = larger;
		n = it->c->fs->readlinkat(it->sfd, it->sname, buf, size);
		if (n < 0) {
			int err = errno;

			free(buf);
			errno = err;
			return NULL;
		}
		if ((size_t)n < size) {
			buf[n] = '\0';
			return buf;
		}
	}
}

bool pfu_same_link_text(struct item *it, const struct stat *st)
{
	char *text = read_link(it, st);
	bool same = text && is_that_link(it, it->dname, text);

	free(text);
	return same;
}

bool pfu_make_symlink_copy(struct item *it, const struct stat *st, const struct target *t)
{
	char *text = read_link(it, st);
	struct maker m = {.name = text, .vacant = t->is_new};
	bool ok = true;

	if (!text) {
		pfu_fail_source(it, errno, "cannot read symbolic link %q");
		return false;
	}
	if (place_link(it, &m, it->c->options->force) == NOT_PLACED) {
		int err = errno;

		ok = it->c->options->update && !t->is_new && S_ISLNK(t->st.st_mode) &&
		     is_that_link(it, it->dname, text);
		if (!ok)
			pfu_fail_target(it, err, "cannot create symbolic link %q");
	}
	free(text);
	return ok;
}

/* Whether a directory is the one that relative paths start from. */
static bool is_working_directory(const struct copying *c, const char *path)
{
	struct stat here, there;

	if (c->fs->fstatat(AT_FDCWD, ".", &here, 0) != 0)
		return true;
	/* If it is not there, making the link will tell; but --dry-run would have made parents. */
	if (c->fs->fstatat(AT_FDCWD, path, &there, 0) != 0)
		return !(c->options->dry_run && c->options->parents);
	return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* -s: a relative link only means the same in the directory that the source's name starts from. */
static bool is_in_working_directory(const struct item *it)
{
	/* One that was made in this run is another. */
	char *target = it->fresh ? NULL : pfu_item_target(it);
	char *slash;
	bool is = false;

	if (target) {
		target[pfu_name_length(target)] = '\0';
		slash = strrchr(target, '/');
		if (slash)
			slash[1] = '\0';
		is = !slash || is_working_directory(it->c, target);
	}
	free(target);
	return is;
}

bool pfu_make_symbolic(struct item *it, const struct target *t)
{
	char *source = pfu_item_source(it);
	struct maker m = {.name = source, .vacant = t->is_new};
	bool ok = false;

	if (!source) {
		pfu_fail_target(it, ENOMEM, "cannot create symbolic link %q");
	} else if (source[0] != '/' && !is_in_working_directory(it)) {
		char *target = pfu_item_target(it);

		atomic_store(&it->c->failed, true);
		pfu_message(it->c->report, PFU_ERROR, 0,
			"%f: can make relative symbolic links only in current directory",
			target ? target : it->dname);
		free(target);
	} else if (place_link(it, &m, it->c->options->force) == NOT_PLACED) {
		pfu_fail_both(it, errno, "cannot create symbolic link %q to %q");
	} else {
		ok = true;
	}
	free(source);
	return ok;
}

bool pfu_make_hard(struct item *it, const struct stat *st, const struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	struct maker m = {
		.fd = it->sfd,
		.name = it->sname,
		.flags = pfu_item_follows(it) && !S_ISLNK(st->st_mode) ? AT_SYMLINK_FOLLOW : 0,
		.hard = true,
		.vacant = t->is_new,
	};

	/* In a directory that would have been made nothing else tells. */
	bool elsewhere = it->node && it->node->unmade && st->st_dev != it->node->target_dev;

	if (!elsewhere &&
	    place_link(it, &m, o->force || o->interactive == PFU_INTERACTIVE_ASK) != NOT_PLACED)
		return true;
	if (elsewhere)
		errno = EXDEV;
	pfu_fail_both(it, errno, "cannot create hard link %q to %q");
	return false;
}
