/*
 * samefile.c - whether source and target are one file, and whether that matters.
 *
 * Copying a file onto itself, by whatever name, would empty it.  GNU cp allows
 * some of these cases, since the target is removed or renamed first or nothing
 * is to be done; the rules below are its rules.
 */
#include "copying.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* stat(2) of the directory that a name is in. */
static int stat_parent(
	const struct pfu_fsys *fs, int fd, const char *name, size_t len, struct stat *st)
{
	char *dir;
	int rc;

	while (len > 0 && name[len - 1] != '/')
		len--;
	if (len == 0)
		return fd == AT_FDCWD ? fs->fstatat(fd, ".", st, 0) : fs->fstat(fd, st);
	dir = strndup(name, len);
	if (!dir)
		return -1;
	rc = fs->fstatat(fd, dir, st, 0);
	free(dir);
	return rc;
}

bool pfu_same_entry(
	const struct pfu_fsys *fs, int fd1, const char *name1, int fd2, const char *name2)
{
	size_t len1 = pfu_name_length(name1), len2 = pfu_name_length(name2), n = 0;
	struct stat st1, st2;

	while (n < len1 && n < len2 && name1[len1 - 1 - n] == name2[len2 - 1 - n] &&
		name1[len1 - 1 - n] != '/')
		n++;
	if ((n < len1 && name1[len1 - 1 - n] != '/') || (n < len2 && name2[len2 - 1 - n] != '/'))
		return false;
	return stat_parent(fs, fd1, name1, len1, &st1) == 0 &&
	       stat_parent(fs, fd2, name2, len2, &st2) == 0 && same_inode(&st1, &st2);
}

static bool same_name(const struct item *it)
{
	return pfu_same_entry(it->c->fs, it->sfd, it->sname, it->dfd, it->dname);
}

/* The rules for links that are copied as links. */
static bool links_may_be_same(struct item *it, bool same, bool *done)
{
	if (same_name(it))
		return false;
	if (!it->c->options->backup && same)
		*done = true; /* two names of one link */
	return true;
}

/* What both lead to, when links are copied as links. */
static bool same_referent(const struct item *it, const struct stat *src, const struct stat *dst)
{
	const struct pfu_fsys *fs = it->c->fs;
	struct stat s = *src, d = *dst;

	if (S_ISLNK(src->st_mode) && fs->fstatat(it->sfd, it->sname, &s, 0) != 0)
		return false;
	if (S_ISLNK(dst->st_mode) && fs->fstatat(it->dfd, it->dname, &d, 0) != 0)
		return false;
	return same_inode(&s, &d);
}

bool pfu_may_be_same(struct item *it, const struct stat *st, const struct target *t, bool *done)
{
	const struct pfu_copy_options *o = it->c->options;
	const struct pfu_fsys *fs = it->c->fs;
	bool same = same_inode(st, &t->st), never = !pfu_item_follows(it), same_link;
	struct stat src = *st, dst = t->st;

	*done = false;
	if (same && o->hard_link) {
		*done = true;
		return true;
	}
	if (never) {
		if (S_ISLNK(src.st_mode) && S_ISLNK(dst.st_mode))
			return links_may_be_same(it, same, done);
		same_link = same;
	} else {
		if (!same || fs->fstatat(it->dfd, it->dname, &dst, AT_SYMLINK_NOFOLLOW) != 0 ||
			fs->fstatat(it->sfd, it->sname, &src, AT_SYMLINK_NOFOLLOW) != 0)
			return true;
		same_link = same_inode(&src, &dst);
		if (S_ISLNK(src.st_mode) && S_ISLNK(dst.st_mode) && o->remove_destination)
			return true;
	}
	if (o->backup) {
		if (same_link)
			return !same_name(it);
		/* The target moved aside, the source would lead nowhere. */
		return never || !S_ISLNK(src.st_mode) || S_ISLNK(dst.st_mode);
	}
	if (o->remove_destination &&
		(S_ISLNK(dst.st_mode) || (same_link && dst.st_nlink > 1 && !same_name(it))))
		return true;
	if (!S_ISLNK(src.st_mode) && !S_ISLNK(dst.st_mode)) {
		if (!same_link)
			return true;
		if (o->hard_link) {
			*done = true;
			return true;
		}
	}
	if (o->symbolic_link && S_ISLNK(dst.st_mode))
		return true;
	if (never) {
		if (!same_referent(it, &src, &dst))
			return true;
		if (o->hard_link) {
			*done = !S_ISLNK(dst.st_mode);
			return true;
		}
	}
	return false;
}
