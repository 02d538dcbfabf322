/*
 * copyknown.c - directories that must not be copied (again) when they are met below
 * an operand: those that the run has made, and operands that have been copied.
 *
 * A table by device and inode, since each directory that is met is looked for.
 */
#include "copying.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 64

struct known_dir {
	struct known_dir *next;
	dev_t dev;
	ino_t ino;
	size_t operand; /* concerns this operand and those after it */
	bool existing;  /* not made in this run: only this operand must not be led into it */
	char *target;   /* path of the copy */
};

static struct known_dir **bucket_of(struct known_dir **bucket, size_t buckets, dev_t dev, ino_t ino)
{
	uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15u;

	return &bucket[hash >> 32 & (buckets - 1)];
}

static struct known_dir *reversed(struct known_dir *k)
{
	struct known_dir *list = NULL, *next;

	for (; k; k = next) {
		next = k->next;
		k->next = list;
		list = k;
	}
	return list;
}

/* Makes room for one more.  Of one directory, what was added first stays first. */
static bool grow(struct known *known)
{
	size_t buckets = known->buckets ? 2 * known->buckets : BUCKETS_FIRST, i;
	struct known_dir **bucket, **at, *k, *next;

	if (known->count < known->buckets)
		return true;
	bucket = calloc(buckets, sizeof(struct known_dir *));
	if (!bucket)
		return known->buckets > 0;
	for (i = 0; i < known->buckets; i++) {
		for (k = reversed(known->bucket[i]); k; k = next) {
			next = k->next;
			at = bucket_of(bucket, buckets, k->dev, k->ino);
			k->next = *at;
			*at = k;
		}
	}
	free(known->bucket);
	known->bucket = bucket;
	known->buckets = buckets;
	return true;
}

void pfu_known_add(struct copying *c, const struct stat *st, size_t operand, char *target,
	bool existing)
{
	struct known_dir *k = target ? malloc(sizeof(*k)) : NULL, **at;

	pthread_mutex_lock(&c->lock);
	if (!k || !grow(&c->known)) {
		pthread_mutex_unlock(&c->lock);
		free(k);
		free(target);
		return; /* then the target's own depth will end it */
	}
	/* Behind what is there: of several copies of a directory it is the first that counts. */
	at = bucket_of(c->known.bucket, c->known.buckets, st->st_dev, st->st_ino);
	while (*at)
		at = &(*at)->next;
	*k = (struct known_dir){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.operand = operand,
		.existing = existing,
		.target = target,
	};
	*at = k;
	c->known.count++;
	pthread_mutex_unlock(&c->lock);
}

void pfu_known_forget(struct copying *c, size_t operand)
{
	pthread_mutex_lock(&c->lock);
	if (!c->known.forgotten)
		c->known.forgotten = calloc(c->count, sizeof(bool));
	if (c->known.forgotten)
		c->known.forgotten[operand] = true;
	pthread_mutex_unlock(&c->lock);
}

char *pfu_known_find(struct copying *c, const struct stat *st, size_t operand, bool top)
{
	const struct known *known = &c->known;
	struct known_dir *k = NULL;
	char *target = NULL;

	pthread_mutex_lock(&c->lock);
	if (known->buckets)
		k = *bucket_of(known->bucket, known->buckets, st->st_dev, st->st_ino);
	for (; k && !target; k = k->next) {
		if (k->dev == st->st_dev && k->ino == st->st_ino &&
			(top ? k->operand < operand : k->operand <= operand) &&
			(!k->existing || k->operand == operand) &&
			!(known->forgotten && known->forgotten[k->operand]))
			target = strdup(k->target);
	}
	pthread_mutex_unlock(&c->lock);
	return target;
}

void pfu_known_clear(struct copying *c)
{
	struct known_dir *k, *next;
	size_t i;

	for (i = 0; i < c->known.buckets; i++) {
		for (k = c->known.bucket[i]; k; k = next) {
			next = k->next;
			free(k->target);
			free(k);
		}
	}
	free(c->known.bucket);
	free(c->known.forgotten);
	c->known = (struct known){ 0 };
}
