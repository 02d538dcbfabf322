/*
 * copychanged.c - --update: whether what is at a target is new enough, or the copy already,
 * so that a run that was interrupted is gone on with, and a tree that is complete is
 * not written to at all.
 *
 * That a target of the right size and modification time is whole rests on this: a
 * file gets the source's time when all else of it is there, also when several workers
 * share it (copyfile.c), and with this option also after its other attributes
 * (attrs.c).  Until then its time is that of writing.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#define PERMISSIONS ((mode_t)07777)
#define SPECIAL_BITS ((mode_t)(S_ISUID | S_ISGID | S_ISVTX))

/* ---- times ---- */

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

bool pfu_is_current(const struct item *it, const struct stat *st, const struct stat *target)
{
	struct timespec s = st->st_mtim, d = target->st_mtim;

	/* A time that was preserved may have lost its last digits on the way. */
	if (it->c->options->preserve & PFU_ATTR_TIMESTAMPS)
		s.tv_nsec -= s.tv_nsec % resolution(it, target);
	return d.tv_sec > s.tv_sec || (d.tv_sec == s.tv_sec && d.tv_nsec >= s.tv_nsec);
}

/* Whether the target has the source's modification time, as far as its file system can keep it. */
static bool is_same_time(const struct item *it, const struct stat *st, const struct stat *target)
{
	struct timespec s = st->st_mtim, d = target->st_mtim;

	if (s.tv_sec != d.tv_sec)
		return false;
	return s.tv_nsec == d.tv_nsec || s.tv_nsec - s.tv_nsec % resolution(it, target) == d.tv_nsec;
}

/* ---- is it the copy? ---- */

/* Whether this process could make the target's owner or group the source's, and has to. */
static bool wants_owner(const struct item *it, const struct stat *st, const struct stat *target)
{
	if (!(it->c->options->preserve & PFU_ATTR_OWNERSHIP))
		return false;
	if (it->c->privileged)
		return st->st_uid != target->st_uid || st->st_gid != target->st_gid;
	return st->st_gid != target->st_gid && st->st_uid == target->st_uid &&
	       (st->st_gid == it->c->egid || group_member(st->st_gid));
}

static bool wants_mode(const struct item *it, const struct stat *st, const struct stat *target)
{
	mode_t differ = (st->st_mode ^ target->st_mode) & PERMISSIONS;

	if (!(it->c->options->preserve & PFU_ATTR_MODE) || S_ISLNK(st->st_mode))
		return false;
	/* Who is not the owner does not get what the owner had. */
	if (st->st_uid != target->st_uid || st->st_gid != target->st_gid)
		differ &= ~SPECIAL_BITS;
	return differ != 0;
}

bool pfu_attributes_differ(const struct item *it, const struct stat *st, const struct stat *target)
{
	return wants_owner(it, st, target) || wants_mode(it, st, target) ||
	       ((it->c->options->preserve & PFU_ATTR_TIMESTAMPS) &&
		       !is_same_time(it, st, target));
}

/* Whether the item is read as a regular file is, whatever it is. */
static bool is_read(const struct item *it, const struct stat *st)
{
	const struct pfu_copy_options *o = it->c->options;

	return !S_ISLNK(st->st_mode) && (o->copy_contents || !o->recursive);
}

bool pfu_is_unchanged(struct item *it, const struct stat *st, const struct target *t)
{
	if ((st->st_mode ^ t->st.st_mode) & S_IFMT)
		return false;
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return st->st_size == t->st.st_size && is_same_time(it, st, &t->st);
	case S_IFLNK:
		return pfu_same_link_text(it, st);
	case S_IFCHR:
	case S_IFBLK:
		return !is_read(it, st) && st->st_rdev == t->st.st_rdev;
	case S_IFIFO:
	case S_IFSOCK:
		return !is_read(it, st);
	default:
		return false;
	}
}

/* Opens the target, if it is still the one that was looked at; reading is enough to set attributes. */
static int open_known(struct item *it, const struct target *t)
{
	const struct pfu_fsys *fs = it->c->fs;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (t->lstat ? O_NOFOLLOW : 0);
	int fd = fs->openat(it->dfd, it->dname, flags, 0);
	struct stat st;

	if (fd < 0 || (fs->fstat(fd, &st) == 0 && st.st_dev == t->st.st_dev &&
			      st.st_ino == t->st.st_ino))
		return fd;
	fs->close(fd);
	errno = ESTALE;
	return -1;
}

bool pfu_refresh_attributes(struct item *it, const struct stat *st, const struct target *t)
{
	struct pfu_fspair *pair;
	struct pfu_attrs a;
	bool ok;

	if (!pfu_attributes_differ(it, st, &t->st))
		return true;
	pair = pfu_fspairs_get(&it->c->pairs, st->st_dev, t->st.st_dev);
	if (!pair) {
		pfu_fail_target(it, ENOMEM, "preserving permissions for %q");
		return false;
	}
	a = pfu_item_attrs(it, st, pair);
	a.before = &t->st;
	if (S_ISREG(st->st_mode)) {
		a.out = open_known(it, t);
		/* One that we may not read is reached by its name, but then never through a link. */
		if (a.out < 0 && (errno != EACCES || !t->lstat)) {
			pfu_fail_target(it, errno, "cannot access %q");
			return false;
		}
	}
	ok = pfu_attrs_apply(&a);
	if (a.out >= 0)
		pfu_closer_add(&it->l->closer, a.out);
	if (!ok)
		atomic_store(&it->c->failed, true);
	return ok;
}
