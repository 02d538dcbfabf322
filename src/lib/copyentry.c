/*
 * copyentry.c - one entry that is no directory: what is at its target, and what
 * to make there.
 */
#include "copying.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pfu/backup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reporting ---- */

char *pfu_item_source(const struct item *it)
{
	return pfu_dir_path(it->sdir, it->sname);
}

char *pfu_item_target(const struct item *it)
{
	return pfu_dir_path(it->ddir, it->dname);
}

static void fail(struct item *it, int err, const char *format, char *path, const char *name)
{
	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, err, format, path ? path : name);
	free(path);
}

void pfu_fail_target(struct item *it, int err, const char *format)
{
	fail(it, err, format, pfu_item_target(it), it->dname);
}

void pfu_fail_source(struct item *it, int err, const char *format)
{
	fail(it, err, format, pfu_item_source(it), it->sname);
}

void pfu_fail_both(struct item *it, int err, const char *format)
{
	char *source = pfu_item_source(it), *target = pfu_item_target(it);

	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, err, format, target ? target : it->dname,
		source ? source : it->sname);
	free(source);
	free(target);
}

void pfu_fail_source_first(struct item *it, int err, const char *format)
{
	char *source = pfu_item_source(it), *target = pfu_item_target(it);

	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, err, format, source ? source : it->sname,
		target ? target : it->dname);
	free(source);
	free(target);
}

/* Prints a line of -v about the target. */
static void say_target(struct item *it, const char *format)
{
	char *target = pfu_item_target(it);

	pfu_output(it->c->report, format, target ? target : it->dname);
	free(target);
}

/* The path of a file beside the target. */
static char *beside_target(const struct item *it, const char *name)
{
	return pfu_dir_path(it->ddir, name);
}

void pfu_say_copied(struct item *it, const char *backup)
{
	char *source, *target, *old;

	if (!it->c->options->verbose)
		return;
	source = pfu_item_source(it);
	target = pfu_item_target(it);
	old = backup ? beside_target(it, backup) : NULL;
	if (source && target && old)
		pfu_output(it->c->report, "%q -> %q (backup: %q)", source, target, old);
	else if (source && target)
		pfu_output(it->c->report, "%q -> %q", source, target);
	free(source);
	free(target);
	free(old);
}

static void say_skipped(struct item *it)
{
	if (it->c->options->debug)
		say_target(it, "skipped %q");
}

void pfu_say_removed(struct item *it)
{
	if (it->c->options->verbose)
		say_target(it, "removed %q");
}

/* ---- the source ---- */

bool pfu_item_follows(const struct item *it)
{
	return it->c->follow_all || (!it->node && it->c->follow_operands);
}

int pfu_stat_source(const struct item *it, struct stat *st)
{
	return it->c->fs->fstatat(
		it->sfd, it->sname, st, pfu_item_follows(it) ? 0 : AT_SYMLINK_NOFOLLOW);
}

/* ---- the target ---- */

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

	if (writable) {
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

static bool are_times_cut_to(long unit, const struct stat *st)
{
	return st->st_atim.tv_nsec % unit == 0 && st->st_mtim.tv_nsec % unit == 0 &&
	       st->st_ctim.tv_nsec % unit == 0;
}

/*
 * The coarsest unit that the file system could have cut the target's times to, in
 * nanoseconds.  There is none between 1 and 100, and the target's directory is asked
 * too: what a single file shows may be chance.
 */
static long resolution(const struct item *it, const struct stat *st)
{
	struct stat dir;
	long unit = 1, next;

	if (!are_times_cut_to(100, st))
		return 1;
	if (it->dfd == AT_FDCWD || it->c->fs->fstat(it->dfd, &dir) != 0 ||
		dir.st_dev != st->st_dev)
		dir = *st;
	for (next = 100; next <= 1000000000L && are_times_cut_to(next, st) &&
			 are_times_cut_to(next, &dir);
		next *= 10)
		unit = next;
	return unit;
}

/* -u: whether the target is at least as new as the source. */
static bool is_current(const struct item *it, const struct stat *st, const struct target *t)
{
	struct timespec s = st->st_mtim, d = t->st.st_mtim;

	/* A time that was preserved may have lost its last digits on the way. */
	if (it->c->options->preserve & PFU_ATTR_TIMESTAMPS)
		s.tv_nsec -= s.tv_nsec % resolution(it, &t->st);
	return d.tv_sec > s.tv_sec || (d.tv_sec == s.tv_sec && d.tv_nsec >= s.tv_nsec);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_directory(const struct stat *st)
{
	return S_ISDIR(st->st_mode);
}

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

/* -u and -i: whether what exists is left alone. */
static enum outcome leave_alone(struct item *it, const struct stat *st, struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	bool first;

	if (is_directory(st))
		return GO_ON;
	if (o->update && is_current(it, st, t)) {
		/* Other names of the source become links to what is there. */
		enum outcome linked = pfu_link_to_copy(it, st, t, &first);

		if (linked == COPIED)
			say_skipped(it);
		if (linked != GO_ON)
			return linked;
		if (first)
			pfu_item_links_done(it, st, true);
		say_skipped(it);
		return COPIED;
	}
	if (o->interactive != PFU_INTERACTIVE_ASK || may_overwrite(it, t))
		return GO_ON;
	say_skipped(it);
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
		if (!is_directory(st))
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
	if (!is_directory(st) != !is_directory(&t->st) && !backed_up) {
		pfu_fail_both(it, 0,
			is_directory(st) ? "cannot overwrite non-directory %q with directory %q"
					 : "cannot overwrite directory %q with non-directory %q");
		return FAILED;
	}
	if (!is_directory(&t->st) && !it->node && o->backup != PFU_BACKUP_NUMBERED &&
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
	if (backed_up && !is_directory(&t->st))
		return make_backup(it, st, t);
	if (!is_directory(&t->st) && !is_directory(st) &&
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
			   (!as_regular || (is_directory(st) && !o->keep_directory_symlink) ||
				   S_ISLNK(st->st_mode))) ||
		   o->symbolic_link || o->hard_link || o->backup || o->remove_destination;
	if (it->c->fs->fstatat(it->dfd, it->dname, &t->st, t->lstat ? AT_SYMLINK_NOFOLLOW : 0) == 0)
		return check_existing(it, st, t);
	if (errno == ENOENT) {
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

bool pfu_may_be_unheard(const struct item *it)
{
	return it->node ? it->node->network : it->c->target_network;
}

/* ---- hard links ---- */

void pfu_item_links_done(struct item *it, const struct stat *st, bool complete)
{
	struct pfu_task *task = pfu_links_done(it->c->links, st, complete), *next;

	for (; task; task = next) {
		next = task->next;
		task->next = NULL;
		pfu_pool_submit_held(pfu_walk_pool(it->c->walk), task);
	}
}

/* A name in the target's directory that nothing has yet, most likely. */
static void temporary_name(const struct item *it, char *name, size_t size)
{
	size_t dir_len = 0, i;

	for (i = 0; it->dname[i]; i++) {
		if (it->dname[i] == '/')
			dir_len = i + 1;
	}
	snprintf(name, size, "%.*s.pcp-%d-%llx", (int)dir_len, it->dname, (int)getpid(),
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

/*
 * Puts a link in place of what is at the target: under another name first, so that
 * the target is never missing.
 */
static int replace_by_link(struct item *it, const struct maker *m)
{
	char name[PATH_MAX];
	int rc, err;

	temporary_name(it, name, sizeof(name));
	if (make_link(it, m, name) != 0)
		return -1;
	rc = it->c->fs->renameat(it->dfd, name, it->dfd, it->dname, 0);
	err = errno;
	/* Renaming one name of a file to another does nothing. */
	(void)it->c->fs->unlinkat(it->dfd, name, 0);
	errno = err;
	return rc;
}

/* Whether the target is the very link that is to be made. */
static bool is_that_link(const struct item *it, const char *text)
{
	size_t len = strlen(text);
	char *there = malloc(len + 2);
	bool is = there &&
		  it->c->fs->readlinkat(it->dfd, it->dname, there, len + 1) == (ssize_t)len &&
		  memcmp(there, text, len) == 0;

	free(there);
	return is;
}

/* Whether the link that was to be made is there. */
static bool is_link_made(const struct item *it, const struct maker *m)
{
	struct stat ours, theirs;

	if (!m->hard)
		return is_that_link(it, m->name);
	return it->c->fs->fstatat(it->dfd, it->dname, &ours, AT_SYMLINK_NOFOLLOW) == 0 &&
	       it->c->fs->fstatat(m->fd, m->name, &theirs,
				  m->flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* Makes a link at the target; with `replace` over what is there. */
static int place_link(struct item *it, const struct maker *m, bool replace)
{
	if (make_link(it, m, it->dname) == 0)
		return 0;
	if (errno != EEXIST)
		return -1;
	if (m->vacant && pfu_may_be_unheard(it) && is_link_made(it, m))
		return 0;
	errno = EEXIST;
	return replace ? replace_by_link(it, m) : -1;
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
	if (!it->c->links || o->hard_link || is_directory(st) ||
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
	if (dir) {
		d = pfu_dirfds_get(it->l->dirfds, dir);
		err = d ? 0 : errno;
	}
	if (!err) {
		/* With links followed the copy may have gone to where one at its place leads. */
		struct maker m = {
			.fd = d ? d->fd : AT_FDCWD,
			.name = name,
			.flags = pfu_item_follows(it) ? AT_SYMLINK_FOLLOW : 0,
			.hard = true,
			.vacant = !t || t->is_new,
		};

		if (place_link(it, &m, true) != 0)
			err = errno;
		else if (t && !t->is_new)
			pfu_say_removed(it);
	}
	path = pfu_dir_path(dir, name);
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

/* ---- making what is no regular file ---- */

struct pfu_attrs pfu_item_attrs(
	const struct item *it, const struct stat *st, struct pfu_fspair *pair)
{
	const struct copying *c = it->c;
	const struct cp_node *cn = it->node;
	gid_t gid = cn ? cn->target_gid : c->directory ? c->directory_st.st_gid : (gid_t)-1;

	return (struct pfu_attrs){
		.fs = c->fs,
		.report = c->report,
		.options = c->options,
		.pair = pair,
		.privileged = c->privileged,
		.source = st,
		.source_dir = it->sdir,
		.source_name = it->sname,
		.source_dirfd = it->sfd,
		.in = -1,
		.target_dir = it->ddir,
		.target_name = it->dname,
		.target_dirfd = it->dfd,
		.out = -1,
		/*
		 * A new file gets our user, and our group or its directory's. Not over a
		 * network, where the server may see us as somebody else.
		 */
		.owner_is_right = !(cn ? cn->network : c->target_network) && st->st_uid == c->euid &&
				  st->st_gid == c->egid && gid == c->egid,
		.default_acl = cn ? cn->default_acl : c->default_acl,
	};
}

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

static bool make_symlink_copy(struct item *it, const struct stat *st, const struct target *t)
{
	char *text = read_link(it, st);
	struct maker m = {.name = text, .vacant = t->is_new};
	bool ok = true;

	if (!text) {
		pfu_fail_source(it, errno, "cannot read symbolic link %q");
		return false;
	}
	if (place_link(it, &m, it->c->options->force) != 0) {
		int err = errno;

		ok = it->c->options->update && !t->is_new && S_ISLNK(t->st.st_mode) &&
		     is_that_link(it, text);
		if (!ok)
			pfu_fail_target(it, err, "cannot create symbolic link %q");
	}
	free(text);
	return ok;
}

/* -s: a relative link only means the same in the directory that the source's name starts from. */
static bool is_in_working_directory(const struct item *it)
{
	char *target = pfu_item_target(it);
	struct stat here, there;
	char *slash;
	bool is = false;

	if (target) {
		target[pfu_name_length(target)] = '\0';
		slash = strrchr(target, '/');
		if (slash)
			slash[1] = '\0';
		/* Of a directory that is not there, making the link will tell. */
		is = !slash || it->c->fs->fstatat(AT_FDCWD, ".", &here, 0) != 0 ||
		     it->c->fs->fstatat(AT_FDCWD, target, &there, 0) != 0 ||
		     (here.st_dev == there.st_dev && here.st_ino == there.st_ino);
	}
	free(target);
	return is;
}

static bool make_symbolic(struct item *it, const struct target *t)
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
	} else if (place_link(it, &m, it->c->options->force) != 0) {
		pfu_fail_both(it, errno, "cannot create symbolic link %q to %q");
	} else {
		ok = true;
	}
	free(source);
	return ok;
}

static bool make_hard(struct item *it, const struct stat *st, const struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	struct maker m = {
		.fd = it->sfd,
		.name = it->sname,
		.flags = pfu_item_follows(it) && !S_ISLNK(st->st_mode) ? AT_SYMLINK_FOLLOW : 0,
		.hard = true,
		.vacant = t->is_new,
	};

	if (place_link(it, &m, o->force || o->interactive == PFU_INTERACTIVE_ASK) == 0)
		return true;
	pfu_fail_both(it, errno, "cannot create hard link %q to %q");
	return false;
}

/* Whether the special file that was to be made is there. */
static bool is_node_made(const struct item *it, mode_t mode, dev_t rdev)
{
	struct stat st;

	return it->c->fs->fstatat(it->dfd, it->dname, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ((st.st_mode ^ mode) & S_IFMT) == 0 && st.st_rdev == rdev;
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
	a.before = t->is_new ? NULL : &t->st;
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
		ok = make_symbolic(it, t) && set_link_times(it, st);
	} else if (o->hard_link) {
		ok = make_hard(it, st, t);
	} else if (S_ISREG(st->st_mode) || ((o->copy_contents || !o->recursive) && !is_link)) {
		return pfu_copy_file(it, st, t, first);
	} else {
		switch (st->st_mode & S_IFMT) {
		case S_IFLNK:
			ok = make_symlink_copy(it, st, t);
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
		ok = ok && apply_attributes(it, st, t);
	}
	if (first)
		pfu_item_links_done(it, st, ok);
	return ok ? COPIED : FAILED;
}

/* Puts a backup back, since its place was not taken after all. */
void pfu_undo_backup(struct item *it, const struct target *t)
{
	if (it->c->fs->renameat(it->dfd, t->backup, it->dfd, it->dname, 0) != 0) {
		pfu_fail_target(it, errno, "cannot un-backup %q");
	} else if (it->c->options->verbose) {
		char *old = beside_target(it, t->backup), *target = pfu_item_target(it);

		if (old && target)
			pfu_output(it->c->report, "%q -> %q (unbackup)", old, target);
		free(old);
		free(target);
	}
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
	outcome = pfu_check_target(it, &st, &t);
	if (outcome != GO_ON)
		return outcome;
	outcome = pfu_link_to_copy(it, &st, &t, &first);
	if (outcome != PARKED)
		pfu_say_copied(it, t.backup);
	if (outcome == GO_ON)
		outcome = make(it, &st, &t, first);
	if (outcome == FAILED && t.backup)
		pfu_undo_backup(it, &t);
	if (outcome == COPIED && !it->node)
		pfu_note_created(it);
	free(t.backup);
	return outcome;
}

enum outcome pfu_copy_entry(struct item *it)
{
	const struct pfu_copy_options *o = it->c->options;
	enum outcome outcome = CHANGED;

	/* Into a directory that we made a file goes without a look at either side. */
	if (it->fresh && it->type == DT_REG && !o->symbolic_link && !o->hard_link)
		outcome = pfu_copy_file(it, NULL, NULL, false);
	if (outcome == CHANGED)
		outcome = copy_carefully(it);
	return outcome;
}
