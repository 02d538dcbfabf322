/*
 * copydir.c - directories of a tree copy: before, between and after what they
 * contain.
 *
 * A directory is made when its listing begins, with enough permissions to fill
 * it, and gets its attributes when all below it is done.  Into a directory that
 * was made in this run entries go without a look at what is there.
 */
#include "copying.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pfu/dryrun.h>
#include <pfu/fstype.h>
#include <stdlib.h>
#include <string.h>

static bool is_top(const struct cp_node *cn)
{
	return cn->node.group.parent == pfu_walk_root(cn->node.walk);
}

/* The node as an item of the directory that it is in; its directories in use until release(). */
static bool item_of_node(struct pfu_local *l, struct cp_node *cn, struct item *it)
{
	struct cp_node *up = is_top(cn) ? NULL : (struct cp_node *)cn->node.group.parent;
	struct pfu_dir *sdir = cn->node.dir->parent, *ddir = cn->target->parent;
	bool unmade = up && up->unmade;

	/* On the way up from a deep tree they are reached through "..". */
	l->at[0] = sdir ? pfu_dirfds_get_parent(l->dirfds, cn->node.dir) : NULL;
	l->at[1] = ddir && !unmade ? pfu_dirfds_get_parent(l->dirfds, cn->target) : NULL;
	*it = (struct item){
		.c = copying_of(l),
		.l = l,
		.node = up,
		.operand = cn->operand,
		.sdir = sdir,
		.sfd = l->at[0] ? l->at[0]->fd : AT_FDCWD,
		.sname = cn->node.dir->name,
		.ddir = ddir,
		.dfd = l->at[1] ? l->at[1]->fd : unmade ? PFU_UNMADE : AT_FDCWD,
		.dname = cn->target->name,
		.type = DT_UNKNOWN,
		.fresh = up && up->fresh,
	};
	return (l->at[0] || !sdir) && (l->at[1] || !ddir || unmade);
}

static void release(struct pfu_local *l)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (l->at[i])
			pfu_dirfds_put(l->dirfds, l->at[i]);
		l->at[i] = NULL;
	}
}

/* ---- directories that must not be copied (again) ---- */

static bool is_same_path(struct copying *c, const char *path, const struct stat *st)
{
	struct stat there;

	return c->fs->fstatat(AT_FDCWD, path, &there, 0) == 0 && there.st_dev == st->st_dev &&
	       there.st_ino == st->st_ino;
}

/* Said once of an operand, however many of the directories made for it are met below it. */
static void tell_into_itself(struct copying *c, size_t operand)
{
	char *target = pfu_operand_target(c, operand);
	bool told;

	pthread_mutex_lock(&c->lock);
	told = c->into_itself == operand + 1;
	c->into_itself = operand + 1;
	pthread_mutex_unlock(&c->lock);
	atomic_store(&c->failed, true);
	if (!told)
		pfu_message(c->report, PFU_ERROR, 0, "cannot copy a directory, %q, into itself, %q",
			c->operands[operand].source, target ? target : c->operands[operand].target);
	free(target);
}

/* -x: whether the directory is made, but not entered. */
static bool is_other_file_system(const struct item *it, const struct cp_node *cn)
{
	return it->c->options->one_file_system && it->node &&
	       cn->st.st_dev != it->node->st.st_dev;
}

/* Whether a directory may be copied as far as others are concerned.  Reports it if not. */
static bool is_new_directory(struct item *it, struct cp_node *cn)
{
	struct copying *c = it->c;
	char *earlier = pfu_known_find(c, &cn->st, cn->operand, is_top(cn));
	char *target = earlier ? pfu_item_target(it) : NULL; /* in deep trees paths are long */
	bool is_new = false;

	if (!target) {
		is_new = true;
	} else if (is_top(cn) ? pfu_same_entry(c->fs, AT_FDCWD, it->sname, AT_FDCWD, earlier)
			      : is_same_path(c, earlier, &cn->st)) {
		is_new = is_other_file_system(it, cn);
		if (!is_new)
			tell_into_itself(c, cn->operand);
	} else if (strcmp(earlier, target) == 0 ||
		   pfu_same_entry(c->fs, AT_FDCWD, earlier, AT_FDCWD, target)) {
		pfu_message(c->report, PFU_WARNING, 0,
			"warning: source directory %q specified more than once",
			c->operands[cn->operand].source);
		pfu_count_item(it, PFU_COUNT_SKIPPED);
	} else if (c->follow_all || (is_top(cn) && c->follow_operands)) {
		is_new = true;
	} else {
		atomic_store(&c->failed, true);
		pfu_message(c->report, PFU_ERROR, 0, "will not create hard link %q to directory %q",
			    target, earlier);
	}
	free(earlier);
	free(target);
	return is_new;
}

/* With links followed: whether the directory is one of those that it was reached through. */
static bool is_cyclic(const struct cp_node *cn)
{
	const struct cp_node *up = cn;

	while (!is_top(up)) {
		up = (const struct cp_node *)up->node.group.parent;
		if (up->st.st_dev == cn->st.st_dev && up->st.st_ino == cn->st.st_ino)
			return true;
	}
	return false;
}

/* ---- before its contents ---- */

/* What is to be known of an existing target, or of a new one by looking at it. */
static void note_target(struct copying *c, struct cp_node *cn, int fd, const struct stat *st)
{
	pfu_dir_identify(cn->target, st);
	if (st->st_dev != cn->target_dev)
		cn->network = pfu_fstype_of(c->fs, fd) & PFU_FS_NETWORK;
	cn->target_dev = st->st_dev;
	cn->target_gid = st->st_gid;
}

/* Makes sure that a directory just made can be filled. */
static bool make_usable(struct item *it, struct cp_node *cn, int fd)
{
	const struct pfu_copy_options *o = it->c->options;
	mode_t asked = cn->st.st_mode & ~cn->omitted & ~o->umask;
	/*
	 * What is made in a directory that was there may be in the source: that may be mounted
	 * there, or be what a link leads to that stands for a directory.
	 */
	bool known = is_top(cn) || !it->fresh;
	struct stat st;

	cn->default_acl = (o->preserve & PFU_ATTR_MODE) &&
			  (it->node ? it->node->default_acl : true) &&
			  pfu_attrs_has_default_acl(it->c->fs, fd);
	if ((asked & S_IRWXU) == S_IRWXU && !known && !(o->preserve & PFU_ATTR_OWNERSHIP))
		return true;
	if (it->c->fs->fstat(fd, &st) != 0) {
		pfu_fail_target(it, errno, "cannot stat %q");
		return false;
	}
	note_target(it->c, cn, fd, &st);
	if (known)
		pfu_known_add(it->c, &st, cn->operand, pfu_item_target(it), false);
	if ((st.st_mode & S_IRWXU) == S_IRWXU)
		return true;
	cn->restore = true;
	cn->restore_mode = st.st_mode & 07777;
	if (it->c->fs->fchmodat(
		    it->dfd, it->dname, (st.st_mode & 07777) | S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	pfu_fail_target(it, errno, "setting permissions for %q");
	return false;
}

/* Whether there is an empty directory at the target; where there was nothing, we have made it. */
static bool is_empty_target(struct item *it)
{
	const struct pfu_fsys *fs = it->c->fs;
	int fd = fs->openat(it->dfd, it->dname, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	bool empty = fd >= 0 && pfu_dir_is_empty(fs, fd) == 1;

	if (fd >= 0)
		fs->close(fd);
	errno = EEXIST;
	return empty;
}

static bool make_directory(struct item *it, struct cp_node *cn)
{
	struct pfu_dirfd *d;
	bool ok;

	cn->omitted = pfu_attrs_omit(it->c->options, cn->st.st_mode);
	if (it->c->fs->mkdirat(it->dfd, it->dname, cn->st.st_mode & 07777 & ~cn->omitted) != 0 &&
		!(errno == EEXIST && pfu_may_be_unheard(it) && is_empty_target(it))) {
		pfu_fail_target(it, errno, "cannot create directory %q");
		return false;
	}
	cn->fresh = true;
	pfu_say_copied(it, NULL);
	cn->unmade = it->c->options->dry_run;
	if (cn->unmade)
		return true;
	d = pfu_dirfds_get(it->l->dirfds, cn->target);
	if (!d) {
		pfu_fail_target(it, errno, "cannot access %q");
		return false;
	}
	ok = make_usable(it, cn, d->fd);
	pfu_dirfds_put(it->l->dirfds, d);
	return ok;
}

static bool use_directory(struct item *it, struct cp_node *cn, const struct target *t)
{
	struct pfu_dirfd *d;

	cn->before = t->st;
	if (!t->lstat)
		cn->target->flags |= PFU_DIR_FOLLOW;
	d = pfu_dirfds_get(it->l->dirfds, cn->target);
	if (!d) {
		pfu_fail_target(it, errno, "cannot access %q");
		return false;
	}
	note_target(it->c, cn, d->fd, &t->st);
	if (it->c->options->atomic && !it->c->options->dry_run)
		pfu_atomic_clean(it->c->fs, d->fd, ".");
	if (is_top(cn))
		pfu_known_add(it->c, &t->st, cn->operand, pfu_item_target(it), true);
	cn->default_acl = (it->c->options->preserve & PFU_ATTR_MODE) &&
			  pfu_attrs_has_default_acl(it->c->fs, d->fd);
	pfu_dirfds_put(it->l->dirfds, d);
	return true;
}

/* Brings the target directory about.  false: the directory is not to be entered. */
static bool prepare_target(struct item *it, struct cp_node *cn)
{
	struct target t = { .is_new = true };
	enum outcome outcome = GO_ON;
	bool ok = false;

	/* (If that was cancelled nothing is entered any more.) */
	if (!pfu_rate_wait(&it->c->limits.files, 1))
		goto out;
	if (!it->fresh)
		outcome = pfu_check_target(it, &cn->st, &t);
	if (outcome == COPIED)
		pfu_count_item(it, PFU_COUNT_SKIPPED);
	if (outcome != GO_ON || !is_new_directory(it, cn))
		goto out;
	if (cn->linked && is_cyclic(cn))
		pfu_fail_source(it, 0, "cannot copy cyclic symbolic link %q");
	else if (t.is_new || !S_ISDIR(t.st.st_mode))
		ok = make_directory(it, cn);
	else
		ok = use_directory(it, cn, &t);
	if (ok)
		pfu_sync_note(it, cn->target_dev);
out:
	if (!ok && is_top(cn))
		pfu_known_forget(it->c, cn->operand);
	if (!ok && t.backup)
		pfu_undo_backup(it, &t, false);
	free(t.backup);
	return ok;
}

/*
 * What the source is, opened if that can be; its error, if not, is for later.
 * An operand has been looked at already.
 */
static bool look_at_source(struct item *it, struct cp_node *cn, int *open_errno)
{
	struct pfu_dirfd *d = pfu_dirfds_get(it->l->dirfds, cn->node.dir);
	int rc;

	*open_errno = d ? 0 : errno;
	if (d) {
		rc = it->c->fs->fstat(d->fd, &cn->st);
		if (rc == 0)
			pfu_dir_identify(cn->node.dir, &cn->st);
		else
			pfu_fail_source(it, errno, "cannot stat %q");
		pfu_dirfds_put(it->l->dirfds, d);
		return rc == 0;
	}
	if (pfu_stat_source(it, &cn->st) != 0) {
		pfu_fail_source(it, errno, "cannot stat %q");
		return false;
	}
	return true;
}

/* --dry-run: the copy would be met below the directory if it were there. */
static void look_for_copy(struct item *it, struct cp_node *cn)
{
	char *target = pfu_item_target(it);

	if (target && pfu_leads_into_itself(it->c, target, &cn->st, &cn->target_dev))
		tell_into_itself(it->c, cn->operand);
	free(target);
}

static bool enter_item(struct item *it, struct cp_node *cn)
{
	int open_errno;

	if (!look_at_source(it, cn, &open_errno))
		return false;
	if (!S_ISDIR(cn->st.st_mode)) {
		/* It was a directory a moment ago. */
		(void)pfu_copy_entry(it);
		return false;
	}
	if (is_top(cn) && it->c->count == 1)
		pfu_known_add(it->c, &cn->st, cn->operand, pfu_item_target(it), false);
	if (!prepare_target(it, cn))
		return false;
	cn->dropped = false;
	if (is_other_file_system(it, cn))
		return false;
	if (open_errno) {
		pfu_fail_source(it, open_errno, "cannot access %q");
		atomic_store(&cn->failed, true);
		return false;
	}
	if (cn->unmade && is_top(cn))
		look_for_copy(it, cn);
	return true;
}

static bool enter(struct pfu_local *l, struct pfu_node *node)
{
	struct cp_node *cn = (struct cp_node *)node;
	struct item it;
	bool go;

	if (!item_of_node(l, cn, &it)) {
		if (!l->at[0] && it.sdir)
			pfu_fail_source(&it, errno, "cannot stat %q");
		else
			pfu_fail_target(&it, errno, "cannot stat %q");
		go = false;
	} else {
		go = enter_item(&it, cn);
	}
	/* (Unless it was something else, which has been counted.) */
	pfu_count_item(&it, cn->dropped ? PFU_COUNT_FAILED : PFU_COUNT_DIRECTORIES);
	release(l);
	return go;
}

static struct cp_node *new_node(struct copying *c, struct cp_node *up, const char *source,
	unsigned int source_flags, const char *target, size_t operand)
{
	struct cp_node *cn = calloc(1, sizeof(*cn));
	struct pfu_dir *dir = pfu_dir_new(up ? up->node.dir : NULL, source, source_flags);
	struct pfu_dir *to;

	if (!up && target[0] == '\0')
		to = pfu_dir_ref(
			c->directory); /* of "dir/..": its contents go to the directory itself */
	else
		to = pfu_dir_new(up ? up->target : c->directory, target, PFU_DIR_PATH);
	if (!cn || !dir || !to) {
		atomic_store(&c->failed, true);
		pfu_message(c->report, PFU_ERROR, ENOMEM, "cannot stat %q", source);
		free(cn);
		pfu_dir_unref(dir);
		pfu_dir_unref(to);
		return NULL;
	}
	cn->operand = operand;
	cn->target = to;
	cn->dropped = true;
	cn->target_dev = up ? up->target_dev : c->directory_st.st_dev;
	cn->target_gid = (gid_t)-1;
	cn->network = up ? up->network : c->target_network;
	pfu_node_init(c->walk, &cn->node, up ? &up->node : NULL, dir);
	return cn;
}

static struct pfu_node *descend(
	struct pfu_local *l, struct pfu_node *parent, const struct pfu_entry *entry)
{
	struct copying *c = copying_of(l);
	struct cp_node *up = (struct cp_node *)parent;
	/* What a listing calls a directory is opened as one; only else there is a link to follow. */
	unsigned int flags = c->follow_all && entry->type != DT_DIR ? PFU_DIR_FOLLOW : 0;
	struct cp_node *cn = new_node(c, up, entry->name, flags, entry->name, up->operand);

	if (!cn) {
		pfu_count(l->counter, PFU_COUNT_FAILED, 1);
		return NULL;
	}
	cn->linked = up->linked || flags;
	return &cn->node;
}

void pfu_copy_directory(struct item *it)
{
	struct copying *c = it->c;
	unsigned int flags = pfu_item_follows(it) ? PFU_DIR_FOLLOW : 0;
	struct cp_node *cn;

	/* Within a directory it is that itself; alone it is no name (POSIX.1-2017, 4.13). */
	if (it->dname[0] == '\0' && !c->directory) {
		pfu_fail_target(it, ENOENT, "cannot create directory %q");
		pfu_count_item(it, PFU_COUNT_FAILED);
		return;
	}
	cn = new_node(c, NULL, it->sname, flags, it->dname, it->operand);
	if (cn)
		pfu_walk_submit(c->walk, &cn->node);
	else
		pfu_count_item(it, PFU_COUNT_FAILED);
}

static void identify(struct pfu_local *l, struct pfu_dir *dir)
{
	struct pfu_dirfd *d = pfu_dirfds_get(l->dirfds, dir);

	if (d) {
		(void)pfu_dirfds_identify(l->dirfds, d);
		pfu_dirfds_put(l->dirfds, d);
	}
}

static void share(struct pfu_local *l, struct pfu_node *node)
{
	struct cp_node *cn = (struct cp_node *)node;

	identify(l, cn->node.dir);
	if (!cn->unmade)
		identify(l, cn->target);
}

/* ---- its contents ---- */

static bool begin(struct pfu_local *l, struct pfu_node *node)
{
	struct cp_node *cn = (struct cp_node *)node;
	struct copying *c = copying_of(l);
	struct pfu_dir *failed = node->dir;
	char *path;
	int err;

	l->at[0] = pfu_dirfds_get(l->dirfds, node->dir);
	l->at[1] = l->at[0] && !cn->unmade ? pfu_dirfds_get(l->dirfds, cn->target) : NULL;
	if (l->at[1] || (l->at[0] && cn->unmade))
		return true;
	err = errno;
	if (l->at[0])
		failed = cn->target;
	release(l);
	path = pfu_dir_path(failed, NULL);
	atomic_store(&c->failed, true);
	atomic_store(&cn->failed, true);
	pfu_message(c->report, PFU_ERROR, err, "cannot access %q", path ? path : failed->name);
	free(path);
	return false;
}

static void end(struct pfu_local *l, struct pfu_node *node)
{
	(void)node;
	release(l);
}

static enum pfu_did entry(struct pfu_local *l, struct pfu_node *node, const struct pfu_entry *e)
{
	struct cp_node *cn = (struct cp_node *)node;
	struct item it = {
		.c = copying_of(l),
		.l = l,
		.node = cn,
		.operand = cn->operand,
		.sdir = node->dir,
		.sfd = l->at[0]->fd,
		.sname = e->name,
		.ddir = cn->target,
		.dfd = l->at[1] ? l->at[1]->fd : PFU_UNMADE,
		.dname = e->name,
		.type = e->type,
		.ino = e->ino,
		.fresh = cn->fresh,
	};

	return pfu_copy_entry(&it) == DIRECTORY ? PFU_DESCEND : PFU_DONE;
}

static void list_failed(struct pfu_local *l, struct pfu_node *node, int errnum)
{
	struct copying *c = copying_of(l);
	char *path = pfu_dir_path(node->dir, NULL);

	atomic_store(&c->failed, true);
	atomic_store(&((struct cp_node *)node)->failed, true);
	pfu_message(
		c->report, PFU_ERROR, errnum, "cannot access %q", path ? path : node->dir->name);
	free(path);
}

/* ---- after its contents ---- */

/* Whether there is anything to set on a directory at all. */
static bool wants_attributes(const struct copying *c, const struct cp_node *cn)
{
	const struct pfu_copy_options *o = c->options;

	if (!cn->fresh && cn->before.st_dev == cn->st.st_dev && cn->before.st_ino == cn->st.st_ino)
		return false; /* with -n a directory may be copied to itself */
	return (o->preserve & ~(unsigned int)PFU_ATTR_LINKS) ||
	       (cn->fresh && (cn->restore || o->no_preserve_mode || (cn->omitted & ~o->umask)));
}

static bool set_attributes(struct pfu_local *l, struct cp_node *cn)
{
	struct copying *c = copying_of(l);
	struct pfu_dirfd *in = pfu_dirfds_get(l->dirfds, cn->node.dir);
	struct pfu_dirfd *to = pfu_dirfds_get(l->dirfds, cn->target);
	struct pfu_fspair *pair = pfu_fspairs_get(&c->pairs, cn->st.st_dev, cn->target_dev);
	struct pfu_attrs a;
	struct item it;
	bool ok = false;

	if (!item_of_node(l, cn, &it) || !to || !pair) {
		pfu_fail_target(&it, errno, "cannot access %q");
	} else {
		a = pfu_item_attrs(&it, &cn->st, pair);
		a.owner_is_right = a.owner_is_right && cn->target_gid == c->egid;
		a.in = in ? in->fd : -1;
		/* A target without read permission can still be reached by its name. */
		a.out = c->fs->openat(to->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		a.before = cn->fresh ? NULL : &cn->before;
		a.default_acl = cn->default_acl || a.default_acl;
		a.omitted = cn->omitted;
		a.restore = cn->restore;
		a.restore_mode = cn->restore_mode;
		ok = pfu_attrs_apply(&a);
		if (!ok)
			atomic_store(&c->failed, true);
		if (a.out >= 0)
			pfu_closer_add(&l->closer, a.out);
	}
	release(l);
	if (in)
		pfu_dirfds_put(l->dirfds, in);
	if (to)
		pfu_dirfds_put(l->dirfds, to);
	return ok;
}

/* --update=changed: whether a directory that was there has all its attributes still. */
static bool is_as_it_was(struct pfu_local *l, const struct cp_node *cn)
{
	struct item it = {.c = copying_of(l), .l = l, .dfd = AT_FDCWD};
	struct pfu_dirfd *to;
	struct stat st;
	bool is;

	if (!it.c->options->update_changed || cn->fresh)
		return false;
	to = pfu_dirfds_get(l->dirfds, cn->target);
	is = to && it.c->fs->fstat(to->fd, &st) == 0 && !pfu_attributes_differ(&it, &cn->st, &st);
	if (to)
		pfu_dirfds_put(l->dirfds, to);
	return is;
}

static bool leave(struct pfu_local *l, struct pfu_node *node)
{
	struct cp_node *cn = (struct cp_node *)node;
	bool ok = !atomic_load(&cn->failed), complete = !cn->dropped && !pfu_local_cancelled(l);

	if (complete && !cn->unmade && wants_attributes(copying_of(l), cn) && !is_as_it_was(l, cn))
		ok = set_attributes(l, cn) && ok;
	if (complete && !ok) {
		pfu_count(l->counter, PFU_COUNT_DIRECTORIES, -1);
		pfu_count(l->counter, PFU_COUNT_FAILED, 1);
	}
	pfu_dirfds_drop(l->dirfds, cn->target);
	pfu_dir_unref(cn->target);
	return true;
}

const struct pfu_walk_ops pfu_copy_walk_ops = {
	.descend = descend,
	.enter = enter,
	.share = share,
	.begin = begin,
	.entry = entry,
	.end = end,
	.list_failed = list_failed,
	.leave = leave,
};
