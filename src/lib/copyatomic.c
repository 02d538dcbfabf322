/*
 * copyatomic.c - --atomic: a file is written under a temporary name in its target's
 * directory and takes its own name when it is complete.
 *
 * Whoever writes such a file holds a shared lock on it (flock(2)), so that a later run
 * can tell what was left behind by one that was killed, on this machine or another, and
 * remove that.  Where a file system has no locks nothing is removed.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pfu/fsys.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define PREFIX ".pcp-atomic-"
#define DIGITS 24 /* hexadecimal ones, after the prefix */
/* Names that are taken, or that somebody took for left behind, are passed over so often. */
#define TRIES 100
/* Links to follow, as the kernel does. */
#define LINKS_MAX 40

char *pfu_atomic_place(const struct item *it)
{
	char *name = strdup(it->dname), *next, text[PATH_MAX];
	ssize_t len;
	int i;

	for (i = 0; name && i < LINKS_MAX; i++) {
		len = it->c->fs->readlinkat(it->dfd, name, text, sizeof(text) - 1);
		if (len < 0)
			return name;
		text[len] = '\0';
		if (text[0] == '/')
			next = strdup(text);
		else if (asprintf(&next, "%.*s%s", (int)pfu_name_directory_length(name), name, text) < 0)
			next = NULL;
		free(name);
		name = next;
	}
	errno = name ? ELOOP : ENOMEM;
	free(name);
	return NULL;
}

static char *temporary_name(const struct item *it, const char *place)
{
	struct timespec now;
	char *name;

	clock_gettime(CLOCK_REALTIME, &now);
	if (asprintf(&name, "%.*s" PREFIX "%08x%08x%08x", (int)pfu_name_directory_length(place), place,
		    (unsigned int)now.tv_nsec ^ (unsigned int)now.tv_sec << 12,
		    (unsigned int)getpid(),
		    (unsigned int)random() ^ (unsigned int)((uintptr_t)it->l >> 4)) < 0)
		return NULL;
	return name;
}

/* Whether the file that was just opened is ours, under its name, whatever others do. */
static bool is_secured(const struct item *it, int fd)
{
	struct stat st;

	if (pfu_atomic_hold(it->c->fs, fd) != 0)
		return false;
	return it->c->fs->fstat(fd, &st) == 0 && st.st_nlink > 0;
}

int pfu_atomic_hold(const struct pfu_fsys *fs, int fd)
{
	/* Where there are no locks nobody removes what is not locked. */
	return fs->flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK ? 0 : -1;
}

int pfu_atomic_open(const struct item *it, const char *place, int flags, mode_t mode, char **name)
{
	int fd = -1, i;

	for (i = 0; i < TRIES; i++) {
		*name = temporary_name(it, place);
		if (!*name) {
			errno = ENOMEM;
			return -1;
		}
		fd = it->c->fs->openat(it->dfd, *name, flags | O_CREAT | O_EXCL, mode);
		if (fd >= 0 && is_secured(it, fd))
			return fd;
		if (fd >= 0) {
			(void)it->c->fs->unlinkat(it->dfd, *name, 0);
			it->c->fs->close(fd);
		} else if (errno != EEXIST) {
			break;
		}
		free(*name);
		*name = NULL;
	}
	if (fd >= 0)
		errno = EEXIST;
	free(*name);
	*name = NULL;
	return -1;
}

int pfu_atomic_place_file(
	const struct item *it, int fd, const char *name, const char *place, bool replace)
{
	const struct pfu_fsys *fs = it->c->fs;
	struct stat st;

	/* Else a machine that is lost might come back with the name, but not what it stands for. */
	while (fs->fdatasync(fd) != 0) {
		if (errno != EINTR || pfu_local_cancelled(it->l))
			return -1;
	}
	if (replace)
		return fs->renameat(it->dfd, name, it->dfd, place, 0);
	if (fs->renameat(it->dfd, name, it->dfd, place, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -1;
	if (fs->fstatat(it->dfd, place, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return fs->renameat(it->dfd, name, it->dfd, place, 0);
}

/* ---- what was left behind ---- */

static bool is_temporary_name(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       strspn(name + strlen(PREFIX), "0123456789abcdef") == DIGITS &&
	       name[strlen(PREFIX) + DIGITS] == '\0';
}

/* Removes a file of such a name unless somebody is writing it. */
static void remove_left(const struct pfu_fsys *fs, int dirfd, const char *name)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = fs->openat(dirfd, name, O_RDWR | flags, 0);
	struct stat st;

	if (fd < 0)
		fd = fs->openat(dirfd, name, O_RDONLY | flags, 0);
	if (fd < 0)
		return;
	if (fs->fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fs->flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)fs->unlinkat(dirfd, name, 0);
	fs->close(fd);
}

void pfu_atomic_clean(const struct pfu_fsys *fs, int dirfd, const char *path)
{
	_Alignas(8) char buf[32768];
	int fd = fs->openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	ssize_t n, at;

	while (fd >= 0 && (n = fs->getdents(fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; at += ((struct pfu_dirent *)(void *)(buf + at))->d_reclen) {
			const struct pfu_dirent *e = (struct pfu_dirent *)(void *)(buf + at);

			if (is_temporary_name(e->d_name))
				remove_left(fs, fd, e->d_name);
		}
	}
	if (fd >= 0)
		fs->close(fd);
}
