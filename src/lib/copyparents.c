/*
 * copyparents.c - --parents: the directories on the way to a target, which are made
 * like the source's and get their attributes when everything is copied.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* What directories on the way have of their sources, if that is to be preserved. */
#define PARENT_ATTRIBUTES (PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP | PFU_ATTR_TIMESTAMPS)

/* --parents: a directory on the way to a target, to be given its source's attributes at the end. */
struct parent {
	struct parent *next;
	char *source, *target; /* the target's relative to the target directory */
	struct stat st;
	bool made, restore;
	mode_t restore_mode, omitted;
};

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
	(void)pfu_rate_wait(&c->limits.files, 1);
	if (c->fs->mkdirat(dirfd, p->target, p->st.st_mode & 07777 & ~p->omitted) != 0) {
		complain_parent(c, errno, "cannot make directory %q", p->target);
		return false;
	}
	if (c->options->verbose && (path = pfu_dir_path(c->directory, p->target))) {
		pfu_output(c->report, "%s -> %s", p->source, path);
		free(path);
	}
	if (c->options->dry_run)
		return true;
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

/*
 * The way of an operand ends somewhere: directories that it was the first to find there
 * (those before `since` were known) are left alone.
 */
static void forget_found(struct copying *c, const struct parent *since)
{
	struct parent **link = &c->parents, *p;

	while ((p = *link) != since) {
		if (p->made) {
			link = &p->next;
		} else {
			*link = p->next;
			free_parent(p);
		}
	}
}

/* Makes the directories on the way to an operand's target. */
bool pfu_make_parents(struct copying *c, int dirfd, const struct pfu_copy_operand *op)
{
	char *target = strdup(op->target), *source = strdup(op->source), *slash;
	const struct parent *known = c->parents;
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
	if (!ok)
		forget_found(c, known);
out:
	free(target);
	free(source);
	return ok;
}

/* At the end: gives the directories on the way their attributes, the deepest first. */
void pfu_finish_parents(struct copying *c)
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
			.on_the_way = true,
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
