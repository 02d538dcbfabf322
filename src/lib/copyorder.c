/*
 * copyorder.c - what the operands of a tree copy have to do with one another and with the
 * target directory: whether they may be copied side by side.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
