/*
 * copysync.c - --sync: at the end, what has been written is on stable storage.
 *
 * One syncfs(2) for each file system that was written to.  It tells of errors that have
 * come up since its descriptor was opened (Linux 5.8), so that is opened before the
 * first write there.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct synced {
	struct synced *next;
	dev_t dev;
	int fd; /* -1: there was none to be had */
	char *path;
};

/* Opens the directory that a target is in or, if that is on another file system (dev not 0), the target. */
static int open_there(const struct item *it, dev_t dev)
{
	const struct pfu_fsys *fs = it->c->fs;
	char *dir = pfu_name_directory(it->dname);
	struct stat st;
	int fd;

	fd = dir ? fs->openat(it->dfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
	free(dir);
	if (fd >= 0 && (fs->fstat(fd, &st) != 0 || (dev && st.st_dev != dev))) {
		fs->close(fd);
		fd = -1;
	}
	return fd >= 0 ? fd : fs->openat(it->dfd, it->dname, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
}

static bool is_noted(const struct copying *c, dev_t dev)
{
	const struct synced *s;

	for (s = c->synced; s && s->dev != dev; s = s->next)
		;
	return s;
}

static void note(const struct item *it, dev_t dev, int fd)
{
	struct copying *c = it->c;
	struct synced *s = is_noted(c, dev) ? NULL : calloc(1, sizeof(*s));

	if (!s) {
		if (fd >= 0)
			c->fs->close(fd);
		return;
	}
	s->dev = dev;
	s->fd = fd >= 0 ? fd : open_there(it, dev);
	s->path = pfu_item_target(it);
	s->next = c->synced;
	c->synced = s;
}

void pfu_sync_note(const struct item *it, dev_t dev)
{
	struct copying *c = it->c;
	struct stat st;
	int fd = -1;

	if (!c->options->sync || c->options->dry_run)
		return;
	if (dev == 0) {
		fd = open_there(it, 0);
		if (fd >= 0 && c->fs->fstat(fd, &st) == 0)
			dev = st.st_dev;
	}
	pthread_mutex_lock(&c->lock);
	note(it, dev, fd);
	pthread_mutex_unlock(&c->lock);
}

void pfu_sync_all(struct copying *c)
{
	struct synced *s;
	bool wanted = !c->options->cancel || !atomic_load(c->options->cancel);

	while ((s = c->synced)) {
		if (wanted && s->fd < 0) {
			sync(); /* (of which no errors are heard) */
		} else if (wanted && c->fs->syncfs(s->fd) != 0) {
			atomic_store(&c->failed, true);
			pfu_message(c->report, PFU_ERROR, errno,
				"error syncing the file system of %q", s->path ? s->path : "");
		}
		if (s->fd >= 0)
			c->fs->close(s->fd);
		c->synced = s->next;
		free(s->path);
		free(s);
	}
}
