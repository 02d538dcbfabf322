/*
 * copy.c - a tree copy: operands, and directories before and after what they
 * contain.
 *
 * A directory is made when its listing begins, with enough permissions to fill
 * it, and gets its attributes when all below it is done.  Into a directory that
 * was made in this run entries go without a look at what is there.
 *
 * Operands are worked on side by side as long as their targets are different
 * names; one that could meet an earlier one waits until that is complete, so
 * that the last one wins whatever the number of workers.
 */
#include "copying.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pfu/fstype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Bytes of names and directories that wait.  Over a network, where it is good to
 * have many directories to choose from, some ten thousands of names.
 */
#define WAITING_LOCAL ((size_t)1 << 20)
#define WAITING_NETWORK ((size_t)2 << 20)
/* So many operands are looked at to find one that tells what kind of file system it is. */
#define KIND_TRIES 8
/* So many diagnostics about a full file system are shown, the others counted. */
#define NO_SPACE_TOLD 20

/* What directories on the way of --parents have of their sources, if that is to be preserved. */
#define PARENT_ATTRIBUTES (PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP | PFU_ATTR_TIMESTAMPS)

/* --parents: a directory on the way to a target, to be given its source's attributes at the end. */
struct parent {
	struct parent *next;
	char *source, *target; /* the target's relative to the target directory */
	struct stat st;
	bool made, restore;
	mode_t restore_mode, omitted;
};

/* An operand that waits for another copy. */
struct parked_operand {
	struct pfu_task task;
	size_t operand;
};

static bool is_top(const struct cp_node *cn)
{
	return cn->node.group.parent == pfu_walk_root(cn->node.walk);
}

/* The node as an item of the directory that it is in; its directories in use until release(). */
static bool item_of_node(struct pfu_local *l, struct cp_node *cn, struct item *it)
{
	struct cp_node *up = is_top(cn) ? NULL : (struct cp_node *)cn->node.group.parent;
	struct pfu_dir *sdir = cn->node.dir->parent, *ddir = cn->target->parent;

	/* On the way up from a deep tree they are reached through "..". */
	l->at[0] = sdir ? pfu_dirfds_get_parent(l->dirfds, cn->node.dir) : NULL;
	l->at[1] = ddir ? pfu_dirfds_get_parent(l->dirfds, cn->target) : NULL;
	*it = (struct item){
		.c = copying_of(l),
		.l = l,
		.node = up,
		.operand = cn->operand,
		.sdir = sdir,
		.sfd = l->at[0] ? l->at[0]->fd : AT_FDCWD,
		.sname = cn->node.dir->name,
		.ddir = ddir,
		.dfd = l->at[1] ? l->at[1]->fd : AT_FDCWD,
		.dname = cn->target->name,
		.type = DT_UNKNOWN,
		.fresh = up && up->fresh,
	};
	return (l->at[0] || !sdir) && (l->at[1] || !ddir);
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

/* ---- directories that must not be copied again ---- */

static void remember(
	struct copying *c, const struct stat *st, size_t operand, char *target, bool existing)
{
	struct known_dir *k = target ? malloc(sizeof(*k)) : NULL;

	if (!k) {
		free(target);
		return; /* then the target's own depth will end it */
	}
	*k = (struct known_dir){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.operand = operand,
		.existing = existing,
		.target = target,
	};
	pthread_mutex_lock(&c->lock);
	k->next = c->known;
	c->known = k;
	pthread_mutex_unlock(&c->lock);
}

/* Takes back what was remembered for an operand, of which nothing has come. */
static void forget(struct copying *c, size_t operand)
{
	struct known_dir *k;

	pthread_mutex_lock(&c->lock);
	for (k = c->known; k; k = k->next) {
		if (k->operand == operand)
			k->operand = SIZE_MAX;
	}
	pthread_mutex_unlock(&c->lock);
}

/*
 * The path of the copy of a directory that this operand or an earlier one has brought
 * up; or NULL.  An operand itself (top) is not asked for what it brings up.
 */
static char *recall(struct copying *c, const struct stat *st, size_t operand, bool top)
{
	struct known_dir *k;
	char *target = NULL;

	pthread_mutex_lock(&c->lock);
	for (k = c->known; k && !target; k = k->next) {
		if (k->dev == st->st_dev && k->ino == st->st_ino &&
			(top ? k->operand < operand : k->operand <= operand) &&
			(!k->existing || k->operand == operand))
			target = strdup(k->target);
	}
	pthread_mutex_unlock(&c->lock);
	return target;
}

static bool is_same_path(struct copying *c, const char *path, const struct stat *st)
{
	struct stat there;

	return c->fs->fstatat(AT_FDCWD, path, &there, 0) == 0 && there.st_dev == st->st_dev &&
	       there.st_ino == st->st_ino;
}

/* The paths of an operand and its target, as they are shown; to be freed. */
static char *operand_target(struct copying *c, size_t operand)
{
	return pfu_dir_path(c->directory, c->operands[operand].target);
}

/* Said once of an operand, however many of the directories made for it are met below it. */
static void tell_into_itself(struct copying *c, size_t operand)
{
	char *target = operand_target(c, operand);
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
	char *earlier = recall(c, &cn->st, cn->operand, is_top(cn));
	char *target = pfu_item_target(it);
	bool is_new = false;

	if (!earlier || !target) {
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

/* ---- before what a directory contains ---- */

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
	/* Below a link that stands for a directory, what is made may be in the source. */
	bool known = is_top(cn) || (o->keep_directory_symlink && !it->fresh);
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
		remember(it->c, &st, cn->operand, pfu_item_target(it), false);
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
	if (is_top(cn))
		remember(it->c, &t->st, cn->operand, pfu_item_target(it), true);
	cn->default_acl = (it->c->options->preserve & PFU_ATTR_MODE) &&
			  pfu_attrs_has_default_acl(it->c->fs, d->fd);
	pfu_dirfds_put(it->l->dirfds, d);
	return true;
}

/* Brings the target directory about.  false: the directory is not to be entered. */
static bool prepare_target(struct item *it, struct cp_node *cn)
{
	struct target t = { .is_new = true };
	bool ok = false;

	if ((!it->fresh && pfu_check_target(it, &cn->st, &t) != GO_ON) || !is_new_directory(it, cn))
		goto out;
	if ((it->c->follow_all || (cn->node.dir->flags & PFU_DIR_FOLLOW)) && is_cyclic(cn))
		pfu_fail_source(it, 0, "cannot copy cyclic symbolic link %q");
	else if (t.is_new || !S_ISDIR(t.st.st_mode))
		ok = make_directory(it, cn);
	else
		ok = use_directory(it, cn, &t);
out:
	if (!ok && is_top(cn))
		forget(it->c, cn->operand);
	if (!ok && t.backup)
		pfu_undo_backup(it, &t);
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
		remember(it->c, &cn->st, cn->operand, pfu_item_target(it), false);
	if (!prepare_target(it, cn))
		return false;
	cn->dropped = false;
	if (is_other_file_system(it, cn))
		return false;
	if (open_errno) {
		pfu_fail_source(it, open_errno, "cannot access %q");
		return false;
	}
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

	return cn ? &cn->node : NULL;
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
	identify(l, cn->target);
}

/* ---- what a directory contains ---- */

static bool begin(struct pfu_local *l, struct pfu_node *node)
{
	struct cp_node *cn = (struct cp_node *)node;
	struct copying *c = copying_of(l);
	struct pfu_dir *failed = node->dir;
	char *path;
	int err;

	l->at[0] = pfu_dirfds_get(l->dirfds, node->dir);
	l->at[1] = l->at[0] ? pfu_dirfds_get(l->dirfds, cn->target) : NULL;
	if (l->at[1])
		return true;
	err = errno;
	if (l->at[0])
		failed = cn->target;
	release(l);
	path = pfu_dir_path(failed, NULL);
	atomic_store(&c->failed, true);
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
		.dfd = l->at[1]->fd,
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
	pfu_message(
		c->report, PFU_ERROR, errnum, "cannot access %q", path ? path : node->dir->name);
	free(path);
}

/* ---- after what a directory contains ---- */

/* Whether there is anything to set on a directory at all. */
static bool wants_attributes(const struct copying *c, const struct cp_node *cn)
{
	const struct pfu_copy_options *o = c->options;

	if (!cn->fresh && cn->before.st_dev == cn->st.st_dev && cn->before.st_ino == cn->st.st_ino)
		return false; /* with -n a directory may be copied to itself */
	return (o->preserve & ~(unsigned int)PFU_ATTR_LINKS) ||
	       (cn->fresh && (cn->restore || o->no_preserve_mode || (cn->omitted & ~o->umask)));
}

static void set_attributes(struct pfu_local *l, struct cp_node *cn)
{
	struct copying *c = copying_of(l);
	struct pfu_dirfd *in = pfu_dirfds_get(l->dirfds, cn->node.dir);
	struct pfu_dirfd *to = pfu_dirfds_get(l->dirfds, cn->target);
	struct pfu_fspair *pair = pfu_fspairs_get(&c->pairs, cn->st.st_dev, cn->target_dev);
	struct pfu_attrs a;
	struct item it;

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
		if (!pfu_attrs_apply(&a))
			atomic_store(&c->failed, true);
		if (a.out >= 0)
			pfu_closer_add(&l->closer, a.out);
	}
	release(l);
	if (in)
		pfu_dirfds_put(l->dirfds, in);
	if (to)
		pfu_dirfds_put(l->dirfds, to);
}

static bool leave(struct pfu_local *l, struct pfu_node *node)
{
	struct cp_node *cn = (struct cp_node *)node;

	if (!cn->dropped && !pfu_local_cancelled(l) && wants_attributes(copying_of(l), cn))
		set_attributes(l, cn);
	pfu_dirfds_drop(l->dirfds, cn->target);
	pfu_dir_unref(cn->target);
	return true;
}

static const struct pfu_walk_ops ops = {
	.descend = descend,
	.enter = enter,
	.share = share,
	.begin = begin,
	.entry = entry,
	.end = end,
	.list_failed = list_failed,
	.leave = leave,
};

/* ---- --parents ---- */

static void complain_parent(struct copying *c, int err, const char *format, const char *target)
{
	char *path = pfu_dir_path(c->directory, target);

	atomic_store(&c->failed, true);
	pfu_message(c->report, PFU_ERROR, err, format, path ? path : target);
	free(path);
}

static struct parent *find_parent(struct copying *c, const char *target)
{
	struct parent *p;

	for (p = c->parents; p && strcmp(p->target, target) != 0; p = p->next)
		;
	return p;
}

static void free_parent(struct parent *p)
{
	if (!p)
		return;
	free(p->source);
	free(p->target);
	free(p);
}

/* What is to be known of a directory on the way: its source's attributes. */
static struct parent *new_parent(struct copying *c, const char *source, const char *target)
{
	struct parent *p = calloc(1, sizeof(*p));

	if (p) {
		p->source = strdup(source);
		p->target = strdup(target);
	}
	if (!p || !p->source || !p->target) {
		complain_parent(c, ENOMEM, "cannot make directory %q", target);
	} else {
		int err = c->fs->fstatat(AT_FDCWD, source, &p->st, 0) != 0 ? errno : 0;

		if (!err && S_ISDIR(p->st.st_mode))
			return p;
		atomic_store(&c->failed, true);
		pfu_message(c->report, PFU_ERROR, err ? err : ENOTDIR,
			"failed to get attributes of %q", source);
	}
	free_parent(p);
	return NULL;
}

/* Makes a directory on the way, with enough permissions to fill it. */
static bool make_missing_parent(struct copying *c, int dirfd, struct parent *p)
{
	struct stat st;
	char *path;

	p->made = true;
	/* Without -p it has at once the mode that it keeps. */
	if (c->options->preserve & (PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP))
		p->omitted = pfu_attrs_omit(c->options, p->st.st_mode);
	if (c->options->no_preserve_mode)
		p->st.st_mode |= 0777;
	if (c->fs->mkdirat(dirfd, p->target, p->st.st_mode & 07777 & ~p->omitted) != 0) {
		complain_parent(c, errno, "cannot make directory %q", p->target);
		return false;
	}
	if (c->options->verbose && (path = pfu_dir_path(c->directory, p->target))) {
		pfu_output(c->report, "%s -> %s", p->source, path);
		free(path);
	}
	if (c->fs->fstatat(dirfd, p->target, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		complain_parent(c, errno, "failed to get attributes of %q", p->target);
		return false;
	}
	if ((st.st_mode & S_IRWXU) == S_IRWXU)
		return true;
	p->restore = true;
	p->restore_mode = st.st_mode & 07777;
	if (c->fs->fchmodat(dirfd, p->target, p->restore_mode | S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	complain_parent(c, errno, "setting permissions for %q", p->target);
	return false;
}

/* Whether what is there can be on the way to something; complains if not. */
static bool is_parent(struct copying *c, const char *target, const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		complain_parent(c, 0, "%q exists but is not a directory", target);
	return S_ISDIR(st->st_mode);
}

/* Makes one directory on the way to an operand's target, or finds it there. */
static bool make_parent(struct copying *c, int dirfd, const char *source, const char *target)
{
	struct parent *p;
	struct stat st;

	/* Once for all operands below it; without -p one that exists needs nothing. */
	if (find_parent(c, target))
		return true;
	if (c->fs->fstatat(dirfd, target, &st, 0) != 0) {
		p = new_parent(c, source, target);
		if (!p || !make_missing_parent(c, dirfd, p))
			goto fail;
	} else if (c->options->preserve & PARENT_ATTRIBUTES) {
		p = new_parent(c, source, target);
		if (!p || !is_parent(c, target, &st))
			goto fail;
	} else {
		return is_parent(c, target, &st);
	}
	p->next = c->parents;
	c->parents = p;
	return true;
fail:
	free_parent(p);
	return false;
}

/* Makes the directories on the way to an operand's target. */
static bool make_parents(struct copying *c, int dirfd, const struct pfu_copy_operand *op)
{
	char *target = strdup(op->target), *source = strdup(op->source), *slash = target;
	size_t lead;
	struct stat st;
	bool ok = target && source;

	/* Where all of them are there none is touched. */
	if (ok && (slash = strrchr(target, '/'))) {
		*slash = '\0';
		if (c->fs->fstatat(dirfd, target, &st, 0) == 0) {
			ok = is_parent(c, target, &st);
			goto out;
		}
		*slash = '/';
	}
	slash = target;
	/* The target is the source without leading slashes. */
	for (lead = 0; ok && source[lead] == '/'; lead++)
		;
	while (ok && (slash = strchr(slash, '/'))) {
		size_t at = (size_t)(slash - target);

		*slash = '\0';
		if (lead + at < strlen(op->source)) {
			char was = source[lead + at];

			source[lead + at] = '\0';
			ok = make_parent(c, dirfd, source, target);
			source[lead + at] = was;
		}
		*slash++ = '/';
		while (*slash == '/')
			slash++;
	}
out:
	free(target);
	free(source);
	return ok;
}

/* At the end: gives the directories on the way their attributes, the deepest first. */
static void finish_parents(struct copying *c)
{
	struct pfu_copy_options options = *c->options;
	int dirfd = -1;
	struct parent *p;

	/* They are no copies: without -p their mode is what mkdir() made of it. */
	options.no_preserve_mode = false;
	options.preserve &= PARENT_ATTRIBUTES;
	if (c->parents)
		dirfd = c->fs->openat(
			AT_FDCWD, c->directory->name, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	while ((p = c->parents)) {
		struct pfu_fspair *pair =
			pfu_fspairs_get(&c->pairs, p->st.st_dev, c->directory_st.st_dev);
		struct stat before;
		struct pfu_attrs a = {
			.fs = c->fs,
			.report = c->report,
			.options = &options,
			.pair = pair,
			.privileged = c->privileged,
			.source = &p->st,
			.source_name = p->source,
			.source_dirfd = AT_FDCWD,
			.target_dir = c->directory,
			.target_name = p->target,
			.target_dirfd = dirfd,
			.default_acl = p->made,
			.omitted = p->omitted,
			.restore = p->restore,
			.restore_mode = p->restore_mode,
		};

		if (!p->made && c->fs->fstatat(dirfd, p->target, &before, 0) == 0)
			a.before = &before;
		a.in = c->fs->openat(AT_FDCWD, p->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		a.out = c->fs->openat(dirfd, p->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		if (pair && (p->made || a.before) && !pfu_attrs_apply(&a))
			atomic_store(&c->failed, true);
		if (a.in >= 0)
			c->fs->close(a.in);
		if (a.out >= 0)
			c->fs->close(a.out);
		c->parents = p->next;
		free_parent(p);
	}
	if (dirfd >= 0)
		c->fs->close(dirfd);
}

/* ---- operands ---- */

void pfu_note_created(struct item *it)
{
	struct copying *c = it->c;

	if (c->count == 1)
		return;
	pthread_mutex_lock(&c->lock);
	/* Without memory a later operand may overwrite this one's target. */
	(void)pfu_names_add(&c->created, it->dname, pfu_name_length(it->dname));
	pthread_mutex_unlock(&c->lock);
}

bool pfu_was_created(struct item *it)
{
	struct copying *c = it->c;
	bool was;

	if (c->count == 1)
		return false;
	pthread_mutex_lock(&c->lock);
	was = pfu_names_has(&c->created, it->dname, pfu_name_length(it->dname));
	pthread_mutex_unlock(&c->lock);
	return was;
}

static void run_parked_operand(struct pfu_worker *worker, struct pfu_task *task);

struct pfu_task *pfu_item_park(struct item *it)
{
	struct pfu_entry e = {it->sname, it->ino, it->type};
	struct parked_operand *p;

	if (it->node)
		return pfu_walk_park(it->l, &it->node->node, &e);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->task = (struct pfu_task){
		.run = run_parked_operand,
		.group = pfu_walk_root(it->c->walk),
		.bytes = sizeof(*p),
		.work = 1,
	};
	p->operand = it->operand;
	pfu_pool_hold(pfu_walk_pool(it->c->walk), p->task.group);
	return &p->task;
}

static void start_directory(struct item *it)
{
	struct copying *c = it->c;
	unsigned int flags = pfu_item_follows(it) ? PFU_DIR_FOLLOW : 0;
	struct cp_node *cn = new_node(c, NULL, it->sname, flags, it->dname, it->operand);

	if (cn)
		pfu_walk_submit(c->walk, &cn->node);
}

/* Whether an operand before this one has had its base name. */
static bool is_name_repeated(struct copying *c, const char *source)
{
	size_t len = pfu_name_length(source), at = len;
	bool repeated;

	while (at > 0 && source[at - 1] != '/')
		at--;
	pthread_mutex_lock(&c->lock);
	repeated = pfu_names_add(&c->sources, source + at, len - at) == 0;
	pthread_mutex_unlock(&c->lock);
	return repeated;
}

/*
 * Whether an operand is a file that has been an operand before: a slip, which is told
 * and does no harm.
 */
static bool is_repeated(struct item *it)
{
	struct copying *c = it->c;
	struct item before = *it;
	struct stat st, other;

	if (c->options->backup || c->count == 1 || !is_name_repeated(c, it->sname) ||
	    pfu_stat_source(it, &st) != 0 || S_ISDIR(st.st_mode))
		return false;
	while (before.operand-- > 0) {
		before.sname = c->operands[before.operand].source;
		if (pfu_same_entry(c->fs, AT_FDCWD, before.sname, AT_FDCWD, it->sname) &&
			pfu_stat_source(&before, &other) == 0) {
			pfu_message(c->report, PFU_WARNING, 0,
				    "warning: source file %q specified more than once", it->sname);
			return true;
		}
	}
	return false;
}

static void copy_operand(struct pfu_local *l, size_t i, bool again)
{
	struct copying *c = copying_of(l);
	const struct pfu_copy_operand *op = &c->operands[i];
	struct pfu_dirfd *d = c->directory ? pfu_dirfds_get(l->dirfds, c->directory) : NULL;
	struct item it = {
		.c = c,
		.l = l,
		.operand = i,
		.sfd = AT_FDCWD,
		.sname = op->source,
		.ddir = c->directory,
		.dfd = d ? d->fd : AT_FDCWD,
		.dname = op->target,
		.type = DT_UNKNOWN,
	};

	if (c->directory && !d) {
		pfu_fail_target(&it, errno, "cannot access %q");
		return;
	}
	if (c->options->parents && !make_parents(c, it.dfd, op))
		forget(c, i);
	else if ((again || !is_repeated(&it)) && pfu_copy_entry(&it) == DIRECTORY)
		start_directory(&it);
	if (d)
		pfu_dirfds_put(l->dirfds, d);
}

static void run_parked_operand(struct pfu_worker *worker, struct pfu_task *task)
{
	struct parked_operand *p = (struct parked_operand *)task;

	if (!pfu_local_cancelled(pfu_local(worker)))
		copy_operand(pfu_local(worker), p->operand, true);
	free(p);
}

/* Whether the operand's target is another than those since the last barrier. */
static bool is_apart(struct copying *c, const char *target)
{
	return !c->in_turn && pfu_names_add(&c->targets, target, pfu_name_length(target)) == 1;
}

/* The task that hands out operands: takes one, puts itself back for the next, and works on it. */
static void run_operands(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_local *l = pfu_local(worker);
	struct copying *c = copying_of(l);
	size_t i = c->next;

	if (pfu_local_cancelled(l)) {
		atomic_store(&c->failed, true);
		return;
	}
	if (i > 0 && !c->barrier && !is_apart(c, c->operands[i].target)) {
		c->barrier = true;
		pfu_pool_submit_alone(worker->pool, task);
		return;
	}
	if (i == 0 || c->barrier) {
		pfu_names_clear(&c->targets);
		if (c->count > 1)
			(void)is_apart(c, c->operands[i].target);
	}
	c->barrier = false;
	c->next++;
	if (c->next < c->count) {
		task->next = NULL;
		pfu_pool_submit(worker->pool, task);
	}
	copy_operand(l, i, false);
}

/* ---- a run ---- */

/* The PFU_FS_* flags of a file's file system as *flags; false if it cannot be had. */
static bool kind_of(struct copying *c, const char *path, unsigned int *flags)
{
	int fd = c->fs->openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	*flags = pfu_fstype_of(c->fs, fd);
	c->fs->close(fd);
	return true;
}

/* What kind of file system the sources are on, by the first of them that is there. */
static unsigned int kind_of_sources(struct copying *c)
{
	unsigned int flags = PFU_FS_NETWORK;
	size_t i;

	for (i = 0; i < c->count && i < KIND_TRIES && !kind_of(c, c->operands[i].source, &flags);
	     i++)
		;
	return flags;
}

/* What kind of file system a target that need not exist is on. */
static unsigned int kind_of_target(struct copying *c, const char *target)
{
	const char *slash = strrchr(target, '/');
	char *dir = slash ? strndup(target, (size_t)(slash - target) + 1) : strdup(".");
	unsigned int flags = PFU_FS_NETWORK;

	if (dir)
		(void)kind_of(c, dir, &flags);
	free(dir);
	return flags;
}

/*
 * The directories that the target directory is in, itself included: *n of them,
 * malloc'ed; NULL when they cannot be had.
 */
static struct stat *directories_above(struct copying *c, size_t *n)
{
	int fd = c->fs->openat(AT_FDCWD, c->directory->name, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	struct stat *list = NULL, *larger;
	int next;

	for (*n = 0; fd >= 0; ++*n) {
		larger = realloc(list, (*n + 1) * sizeof(*list));
		if (!larger || c->fs->fstat(fd, &larger[*n]) != 0) {
			free(larger ? larger : list);
			c->fs->close(fd);
			return NULL;
		}
		list = larger;
		next = c->fs->openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		c->fs->close(fd);
		fd = next;
		if (*n > 0 && list[*n].st_dev == list[*n - 1].st_dev &&
			list[*n].st_ino == list[*n - 1].st_ino)
			break; /* the root is in itself */
	}
	if (fd >= 0)
		c->fs->close(fd);
	return list;
}

/* The name of a directory as a file, in a form that two spellings of its path share. */
static int note_directory(struct pfu_names *set, const struct stat *st)
{
	char id[64];
	int len = snprintf(id, sizeof(id), "%llx:%llx", (unsigned long long)st->st_dev,
			   (unsigned long long)st->st_ino);

	return pfu_names_add(set, id, (size_t)len);
}

/*
 * Remembers all directories among the operands, for the earlier ones to be known when
 * they are met below a later one, though that may be first.  Returns whether they meet:
 * the target directory is, or is in, one of them, or two are the same; true if that
 * cannot be told.
 */
static bool remember_operands(struct copying *c)
{
	size_t above, i, k;
	struct stat *list = directories_above(c, &above), st;
	struct pfu_names seen = { 0 };
	bool meet = !list;
	int flags = c->follow_operands ? 0 : AT_SYMLINK_NOFOLLOW;

	for (i = 0; i < c->count; i++) {
		if (c->fs->fstatat(AT_FDCWD, c->operands[i].source, &st, flags) != 0 ||
			!S_ISDIR(st.st_mode))
			continue;
		remember(c, &st, i, operand_target(c, i), false);
		meet = meet || note_directory(&seen, &st) != 1;
		for (k = 0; k < above && !meet; k++)
			meet = st.st_dev == list[k].st_dev && st.st_ino == list[k].st_ino;
	}
	pfu_names_clear(&seen);
	free(list);
	return meet;
}

/*
 * Whether the operands are different entries of one directory, as those of "dir/" and a star are:
 * then no file is met below two of them by the same name.
 */
static bool are_siblings(const struct copying *c)
{
	const char *first = c->operands[0].source;
	const char *slash = strrchr(first, '/');
	size_t dir = slash ? (size_t)(slash - first) + 1 : 0, i;
	struct pfu_names seen = { 0 };
	bool siblings = true;

	for (i = 0; i < c->count && siblings; i++) {
		const char *source = c->operands[i].source, *name;

		siblings = strncmp(source, first, dir) == 0;
		name = source + (siblings ? dir : 0);
		siblings = siblings && *name && !strchr(name, '/') &&
			   !pfu_name_is_dots(name, strlen(name)) &&
			   pfu_names_add(&seen, name, strlen(name)) == 1;
	}
	pfu_names_clear(&seen);
	return siblings;
}

/* Passes diagnostics on; but when a target is full, not one for each of a million files. */
static void filter_message(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	struct copying *c = ctx;

	if ((errnum == ENOSPC || errnum == EDQUOT) &&
		atomic_fetch_add(&c->no_space, 1) >= NO_SPACE_TOLD)
		return;
	c->outer->message(c->outer->ctx, severity, errnum, text);
}

static void filter_output(void *ctx, const char *text)
{
	struct copying *c = ctx;

	c->outer->output(c->outer->ctx, text);
}

static bool filter_ask(void *ctx, const char *question)
{
	struct copying *c = ctx;

	return c->outer->ask(c->outer->ctx, question);
}

static void tell_no_space(struct copying *c)
{
	unsigned long n = atomic_load(&c->no_space);
	char number[32];

	if (n <= NO_SPACE_TOLD)
		return;
	snprintf(number, sizeof(number), "%lu", n - NO_SPACE_TOLD);
	pfu_message(
		c->outer, PFU_ERROR, 0, "%s more failures for want of space are not shown", number);
}

/* Whether an operand's target is the target directory itself, which others' targets are in. */
static bool has_dot_target(const struct copying *c)
{
	size_t i;

	for (i = 0; c->count > 1 && i < c->count; i++) {
		if (c->operands[i].target[0] == '\0' || strcmp(c->operands[i].target, ".") == 0)
			return true;
	}
	return false;
}

/* Whether what operands are copied to may inherit an ACL from its directory. */
static bool may_inherit_acl(struct copying *c)
{
	const char *target, *slash;

	if (!(c->options->preserve & PFU_ATTR_MODE))
		return false; /* then that is as it should be */
	if (c->options->parents || c->count == 0)
		return true;
	if (c->directory)
		return pfu_attrs_has_default_acl_at(
			c->fs, c->directory->name, strlen(c->directory->name));
	target = c->operands[0].target;
	slash = strrchr(target, '/');
	return slash ? pfu_attrs_has_default_acl_at(c->fs, target, (size_t)(slash - target)) :
		       pfu_attrs_has_default_acl_at(c->fs, ".", 1);
}

static bool prepare(struct copying *c, const char *directory)
{
	const struct pfu_copy_options *o = c->options;

	c->euid = geteuid();
	c->egid = getegid();
	c->privileged = c->euid == 0;
	c->follow_all = o->dereference == PFU_DEREF_ALWAYS ||
			(o->dereference == PFU_DEREF_DEFAULT && (!o->recursive || o->hard_link));
	c->follow_operands = c->follow_all || o->dereference == PFU_DEREF_OPERANDS;
	if (directory) {
		c->directory = pfu_dir_new(NULL, directory, PFU_DIR_FOLLOW | PFU_DIR_PATH);
		if (!c->directory ||
			c->fs->fstatat(AT_FDCWD, directory, &c->directory_st, 0) != 0) {
			pfu_message(c->report, PFU_ERROR, errno, "cannot access %q", directory);
			return false;
		}
		pfu_dir_identify(c->directory, &c->directory_st);
	}
	c->default_acl = may_inherit_acl(c);
	if (o->preserve & PFU_ATTR_LINKS) {
		c->links = pfu_links_new(!c->follow_operands && (c->count == 1 || are_siblings(c)));
		if (!c->links) {
			pfu_message(c->report, PFU_ERROR, ENOMEM, "cannot start");
			return false;
		}
	}
	/* Copying into itself must meet the same obstacles whatever the number of workers. */
	c->in_turn = (o->recursive && c->count > 1 && remember_operands(c)) || o->parents ||
		     has_dot_target(c);
	return true;
}

/* The line of --debug on the workers: how many there were, and why. */
static void say_manner(struct copying *c)
{
	struct pfu_walk_manner m;
	char workers[96], chunk[32] = "automatic";

	pfu_walk_manner(c->walk, &m);
	if (m.first < m.most)
		snprintf(workers, sizeof(workers), "%u to begin with, at most %u", m.first, m.most);
	else
		snprintf(workers, sizeof(workers), "at most %u", m.most);
	if (m.chunk)
		snprintf(chunk, sizeof(chunk), "%u", m.chunk);
	snprintf(workers + strlen(workers), sizeof(workers) - strlen(workers), ", %u used", m.threads);
	pfu_message(c->report, PFU_WARNING, 0, "workers: %s (%s, %s file system), files per work item: %s",
		workers, m.chosen ? "automatic" : "as asked for", m.network ? "network" : "local", chunk);
}

static bool run(struct copying *c)
{
	const struct pfu_copy_options *o = c->options;
	unsigned int target_flags = PFU_FS_NETWORK;
	struct pfu_walk_options wo = {
		.fs = c->fs,
		.ops = &ops,
		.chunk = o->chunk,
		.enter_above = true,
		.in_turn = true,
		.sort = true,
		.iobuf_size = PFU_COPY_BUFFER_NETWORK, /* touched only as far as a file needs it */
		.cancel = o->cancel,
		.ctx = c,
	};
	bool ok;

	if (!c->directory)
		target_flags = kind_of_target(c, c->operands[0].target);
	else
		(void)kind_of(c, c->directory->name, &target_flags);
	c->target_network = target_flags & PFU_FS_NETWORK;
	wo.network = (kind_of_sources(c) | target_flags) & PFU_FS_NETWORK;
	wo.bound = wo.network ? WAITING_NETWORK : WAITING_LOCAL;
	wo.workers = o->workers;
	if (o->interactive == PFU_INTERACTIVE_ASK)
		wo.workers = 1; /* questions come one at a time and in order */
	c->walk = pfu_walk_new(&wo);
	if (!c->walk) {
		pfu_message(c->report, PFU_ERROR, ENOMEM, "cannot start");
		return false;
	}
	c->task =
		(struct pfu_task){.run = run_operands, .group = pfu_walk_root(c->walk), .work = 1};
	ok = pfu_walk_run(c->walk, &c->task) == 0;
	if (!ok)
		pfu_message(c->report, PFU_ERROR, errno, "cannot finish");
	if (o->debug)
		say_manner(c);
	pfu_walk_free(c->walk);
	finish_parents(c);
	return ok;
}

bool pfu_copy(const struct pfu_copy_options *options, const struct pfu_report *report,
	const char *directory, const struct pfu_copy_operand *operands, size_t count)
{
	struct copying c = {
		.options = options,
		.fs = options->fs ? options->fs : &pfu_fsys_posix,
		.report = &c.filter,
		.filter = {&c, filter_message, filter_output, filter_ask},
		.outer = report,
		.operands = operands,
		.count = count,
	};
	struct known_dir *k;
	bool ok;

	if (count == 0)
		return true;
	pthread_mutex_init(&c.lock, NULL);
	pthread_mutex_init(&c.many_names, NULL);
	ok = prepare(&c, directory) && run(&c);
	tell_no_space(&c);
	pfu_names_clear(&c.targets);
	pfu_names_clear(&c.created);
	pfu_names_clear(&c.sources);
	pfu_links_free(c.links);
	pfu_fspairs_free(&c.pairs);
	pfu_dir_unref(c.directory);
	while ((k = c.known)) {
		c.known = k->next;
		free(k->target);
		free(k);
	}
	pthread_mutex_destroy(&c.lock);
	pthread_mutex_destroy(&c.many_names);
	return ok && !atomic_load(&c.failed);
}
