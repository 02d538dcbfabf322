/*
 * copyoperand.c - operands of a tree copy.
 *
 * They are worked on side by side as long as their targets are different names; one
 * that could meet an earlier one waits until that is complete, so that the last one
 * wins whatever the number of workers.
 */
#include "copying.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- in which order ---- */

/*
 * The directories that a directory is in, itself included and first: *n of them,
 * malloc'ed; NULL when they cannot be had.
 */
static struct stat *directories_above(const struct copying *c, const char *path, size_t *n)
{
	int fd = c->fs->openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	struct stat *list = NULL, *larger;
	int next;

	for (*n = 0; fd >= 0; ++*n) {
		larger = realloc(list, (*n + 1) * sizeof(*list));
		if (!larger || c->fs->fstat(fd, &larger[*n]) != 0) {
			free(larger ? larger : list);
			c->fs->close(fd);
			*n = 0;
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

/* What two spellings of a directory's path have in common. */
struct identity {
	char text[64];
	size_t len;
};

static struct identity identity_of(const struct stat *st)
{
	struct identity id;

	id.len = (size_t)snprintf(id.text, sizeof(id.text), "%llx:%llx",
				  (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
	return id;
}

/* The part of a path that names the directory it is in, malloc'ed. */
static char *directory_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

/* Whether an operand is below one of a set of directories; true if that cannot be told. */
static bool is_below(const struct copying *c, const char *path, struct pfu_names *set)
{
	char *dir = directory_part(path);
	size_t n = 0, i;
	struct stat *list = dir ? directories_above(c, dir, &n) : NULL;
	bool below = !list && errno != ENOENT;

	for (i = 0; list && i < n && !below; i++) {
		struct identity id = identity_of(&list[i]);

		below = pfu_names_has(set, id.text, id.len);
	}
	free(list);
	free(dir);
	return below;
}

/* Whether two paths name entries of one directory, as far as their letters tell. */
static bool are_neighbours(const char *a, const char *b)
{
	const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
	size_t len_a = end_a ? (size_t)(end_a - a) : 0, len_b = end_b ? (size_t)(end_b - b) : 0;

	return !end_a == !end_b && len_a == len_b && strncmp(a, b, len_a) == 0;
}

static bool is_among(const struct stat *list, size_t n, const struct stat *st)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (st->st_dev == list[i].st_dev && st->st_ino == list[i].st_ino)
			return true;
	}
	return false;
}

/*
 * Whether operands that are siblings have nothing to do with the target directory and
 * those above it (the list): without a look at each of them, which may be a round trip
 * for each of ten thousand.
 */
static bool are_elsewhere(const struct copying *c, const struct stat *list, size_t n)
{
	char *dir = directory_part(c->operands[0].source);
	struct stat st;
	bool elsewhere = dir && c->fs->fstatat(AT_FDCWD, dir, &st, 0) == 0 && !is_among(list, n, &st);

	free(dir);
	return elsewhere;
}

/*
 * Remembers all directories among the operands, for the earlier ones to be known when
 * they are met below a later one, though that may be first.  Returns whether they meet:
 * the target directory, or another of them, is one or is in one; true if that cannot be
 * told.
 */
static bool remember_operands(struct copying *c)
{
	size_t above, i, last = SIZE_MAX;
	struct stat *list = directories_above(c, c->directory->name, &above), st;
	struct pfu_names seen = { 0 };
	struct identity id;
	bool meet = !list;
	int flags = c->follow_operands ? 0 : AT_SYMLINK_NOFOLLOW;

	if (list && !c->follow_operands && pfu_are_siblings(c) && are_elsewhere(c, list, above)) {
		free(list);
		return false;
	}
	for (i = 0; i < c->count; i++) {
		if (c->fs->fstatat(AT_FDCWD, c->operands[i].source, &st, flags) != 0 ||
			!S_ISDIR(st.st_mode))
			continue;
		id = identity_of(&st);
		pfu_known_add(c, &st, i, pfu_operand_target(c, i), false);
		meet = meet || is_among(list, above, &st) || pfu_names_add(&seen, id.text, id.len) != 1;
	}
	for (i = 0; i < c->count && !meet; i++) {
		/* Neighbours are below the same: one of them will do. */
		if (last != SIZE_MAX && are_neighbours(c->operands[last].source, c->operands[i].source))
			continue;
		last = i;
		meet = is_below(c, c->operands[i].source, &seen);
	}
	pfu_names_clear(&seen);
	free(list);
	return meet;
}

/*
 * Whether the operands are different entries of one directory, as those of "dir/" and a star are:
 * then no file is met below two of them by the same name.
 */
bool pfu_are_siblings(const struct copying *c)
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

/* Whether the operand's target is another than those since the last barrier. */
static bool is_apart(struct copying *c, const char *target)
{
	return !c->in_turn && pfu_names_add(&c->targets, target, pfu_name_length(target)) == 1;
}

bool pfu_leads_into_itself(
	const struct copying *c, const char *target, const struct stat *st, dev_t *dev)
{
	char *path = strdup(target), *dir;
	struct stat *list = NULL;
	bool into;
	size_t n;

	/* Directories on the way may not be there either (--parents): the nearest that is. */
	do {
		if (path)
			path[pfu_name_length(path)] = '\0';
		dir = path ? directory_part(path) : NULL;
		free(path);
		path = dir;
		list = path ? directories_above(c, path, &n) : NULL;
	} while (path && !list && errno == ENOENT && strcmp(path, ".") != 0 && strcmp(path, "/") != 0);
	into = list && is_among(list, n, st);
	if (list)
		*dev = list[0].st_dev;
	free(list);
	free(path);
	return into;
}

bool pfu_must_take_turns(struct copying *c)
{
	return (c->options->recursive && c->count > 1 && remember_operands(c)) ||
	       c->options->parents || has_dot_target(c);
}

/* ---- one after the other ---- */

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

void pfu_copy_operand(struct pfu_local *l, size_t i, bool again)
{
	struct copying *c = copying_of(l);
	const struct pfu_copy_operand *op = &c->operands[i];
	const struct pfu_filter *filter = c->options->filter;
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
		pfu_count_item(&it, PFU_COUNT_FAILED);
		return;
	}
	if (filter && pfu_filter_leaves_out(filter, c->fs, op->source, c->follow_operands)) {
		pfu_known_forget(c, i);
		pfu_tally_operands(c->options->tally, -1);
	} else if (c->options->parents && !pfu_make_parents(c, it.dfd, op)) {
		pfu_known_forget(c, i);
		pfu_count_item(&it, PFU_COUNT_FAILED);
	} else if (!again && is_repeated(&it)) {
		pfu_count_item(&it, PFU_COUNT_SKIPPED);
	} else if (pfu_copy_entry(&it) == DIRECTORY) {
		pfu_copy_directory(&it);
	}
	pfu_count_tick(l->counter);
	if (d)
		pfu_dirfds_put(l->dirfds, d);
}

/* The task that hands out operands: takes one, puts itself back for the next, and works on it. */
void pfu_run_operands(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_local *l = pfu_local(worker);
	struct copying *c = copying_of(l);
	size_t i = c->next;
	bool last;

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
	last = c->next == c->count;
	if (!last) {
		task->next = NULL;
		/* Directories are put off, so that operands could fill all memory. */
		if (pfu_pool_full(worker->pool))
			pfu_pool_submit_later(worker->pool, task);
		else
			pfu_pool_submit(worker->pool, task);
	}
	pfu_copy_operand(l, i, false);
	if (last && c->options->recursive)
		pfu_tally_listing(c->options->tally, -1);
}
