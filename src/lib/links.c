/*
 * links.c - which file has been copied to where: for hard links.
 *
 * A hash from (device, inode) under one lock, held for look-ups only.  A file
 * can be forgotten once as many of its names have been met as it has links, so
 * that the table holds what is still open, not what has been.
 */
#include <errno.h>
#include <pfu/links.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct record {
	struct record *chain;
	dev_t dev;
	ino_t ino;
	nlink_t unseen; /* names not yet met */
	bool complete;
	struct pfu_task *waiting;
	struct pfu_dir *dir;
	char *name;
};

struct pfu_links {
	bool forgets;
	pthread_mutex_t lock; /* guards all below */
	struct record **bucket;
	size_t buckets; /* a power of two */
	size_t records;
};

struct pfu_links *pfu_links_new(bool forget)
{
	struct pfu_links *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->forgets = forget;
	t->buckets = 64;
	t->bucket = calloc(t->buckets, sizeof(struct record *));
	if (!t->bucket) {
		free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

static void free_record(struct record *r)
{
	if (!r)
		return;
	pfu_dir_unref(r->dir);
	free(r->name);
	free(r);
}

void pfu_links_free(struct pfu_links *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->buckets; i++) {
		while (t->bucket[i]) {
			struct record *r = t->bucket[i];

			t->bucket[i] = r->chain;
			free_record(r);
		}
	}
	pthread_mutex_destroy(&t->lock);
	free(t->bucket);
	free(t);
}

/* Where the pointer to the file's record is, or would be. */
static struct record **find(struct pfu_links *t, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 32) * 0x9e3779b97f4a7c15ULL;
	struct record **at = &t->bucket[(h >> 32) & (t->buckets - 1)];

	while (*at && ((*at)->dev != dev || (*at)->ino != ino))
		at = &(*at)->chain;
	return at;
}

/* Doubles the table when it is full; without memory the chains just grow. */
static void make_room(struct pfu_links *t)
{
	struct pfu_links larger = { .buckets = t->buckets * 2 };
	size_t i;

	if (t->records < t->buckets)
		return;
	larger.bucket = calloc(larger.buckets, sizeof(struct record *));
	if (!larger.bucket)
		return;
	for (i = 0; i < t->buckets; i++) {
		while (t->bucket[i]) {
			struct record *r = t->bucket[i], **at;

			t->bucket[i] = r->chain;
			r->chain = NULL;
			at = find(&larger, r->dev, r->ino);
			*at = r;
		}
	}
	free(t->bucket);
	t->bucket = larger.bucket;
	t->buckets = larger.buckets;
}

static void forget(struct pfu_links *t, struct record **at)
{
	struct record *r = *at;

	*at = r->chain;
	t->records--;
	free_record(r);
}

static enum pfu_link add(struct pfu_links *t, const struct stat *st, struct pfu_dir *dir,
			 const char *name)
{
	struct record *r = calloc(1, sizeof(*r)), **at;

	if (r)
		r->name = strdup(name);
	if (!r || !r->name) {
		free_record(r);
		errno = ENOMEM;
		return PFU_LINK_ERROR;
	}
	make_room(t);
	r->dev = st->st_dev;
	r->ino = st->st_ino;
	r->unseen = st->st_nlink - 1;
	r->dir = dir ? pfu_dir_ref(dir) : NULL;
	at = find(t, r->dev, r->ino);
	*at = r;
	t->records++;
	return PFU_LINK_FIRST;
}

enum pfu_link pfu_links_claim(struct pfu_links *t, const struct stat *st, struct pfu_dir *dir,
			      const char *name, struct pfu_dir **there_dir, char **there_name)
{
	enum pfu_link result;
	struct record **at, *r;

	pthread_mutex_lock(&t->lock);
	at = find(t, st->st_dev, st->st_ino);
	r = *at;
	if (!r) {
		result = add(t, st, dir, name);
	} else if (!r->complete) {
		result = PFU_LINK_BUSY;
	} else if (!(*there_name = strdup(r->name))) {
		result = PFU_LINK_ERROR;
	} else {
		*there_dir = r->dir ? pfu_dir_ref(r->dir) : NULL;
		result = PFU_LINK_THERE;
		if (--r->unseen == 0 && t->forgets)
			forget(t, at);
	}
	pthread_mutex_unlock(&t->lock);
	return result;
}

bool pfu_links_wait(struct pfu_links *t, const struct stat *st, struct pfu_task *task)
{
	struct record *r;
	bool wait;

	pthread_mutex_lock(&t->lock);
	r = *find(t, st->st_dev, st->st_ino);
	wait = r && !r->complete;
	if (wait) {
		task->next = r->waiting;
		r->waiting = task;
	}
	pthread_mutex_unlock(&t->lock);
	return wait;
}

struct pfu_task *pfu_links_done(struct pfu_links *t, const struct stat *st, bool complete)
{
	struct pfu_task *waiting = NULL;
	struct record **at;

	pthread_mutex_lock(&t->lock);
	at = find(t, st->st_dev, st->st_ino);
	if (*at) {
		waiting = (*at)->waiting;
		(*at)->waiting = NULL;
		(*at)->complete = complete;
		if (!complete)
			forget(t, at);
	}
	pthread_mutex_unlock(&t->lock);
	return waiting;
}
