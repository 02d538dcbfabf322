/*
 * names.c - operands' names: how they end, and a set of them, by open addressing.
 */
#include <errno.h>
#include <pfu/names.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t pfu_name_length(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

size_t pfu_name_directory_length(const char *path)
{
	size_t len = pfu_name_length(path);

	while (len > 0 && path[len - 1] != '/')
		len--;
	return len;
}

char *pfu_name_directory(const char *path)
{
	size_t len = pfu_name_directory_length(path);

	return len ? strndup(path, len) : strdup(".");
}

bool pfu_name_is_dots(const char *path, size_t len)
{
	size_t at = len;

	while (at > 0 && path[at - 1] != '/')
		at--;
	return (len - at == 1 && path[at] == '.') ||
	       (len - at == 2 && path[at] == '.' && path[at + 1] == '.');
}

static size_t hash(const char *name, size_t len)
{
	uint64_t h = 14695981039346656037ULL; /* FNV-1a */

	for (; len > 0; len--)
		h = (h ^ (unsigned char)*name++) * 1099511628211ULL;
	return (size_t)(h ^ h >> 32);
}

/* The slot that holds the name, or the empty one where it goes. */
static char **find(const struct pfu_names *set, const char *name, size_t len)
{
	size_t i = hash(name, len);

	for (;; i++) {
		char **slot = &set->slot[i & (set->slots - 1)];

		if (!*slot || (strncmp(*slot, name, len) == 0 && (*slot)[len] == '\0'))
			return slot;
	}
}

static int grow(struct pfu_names *set)
{
	struct pfu_names larger = { .slots = set->slots ? set->slots * 2 : 64, .used = set->used };
	size_t i;

	larger.slot = calloc(larger.slots, sizeof(char *));
	if (!larger.slot)
		return -1;
	for (i = 0; i < set->slots; i++) {
		if (set->slot[i])
			*find(&larger, set->slot[i], strlen(set->slot[i])) = set->slot[i];
	}
	free(set->slot);
	*set = larger;
	return 0;
}

int pfu_names_add(struct pfu_names *set, const char *name, size_t len)
{
	char **slot;

	if (set->used * 2 >= set->slots && grow(set) != 0) {
		errno = ENOMEM;
		return -1;
	}
	slot = find(set, name, len);
	if (*slot)
		return 0;
	*slot = strndup(name, len);
	if (!*slot)
		return -1;
	set->used++;
	return 1;
}

bool pfu_names_has(const struct pfu_names *set, const char *name, size_t len)
{
	return set->slots && *find(set, name, len);
}

void pfu_names_clear(struct pfu_names *set)
{
	size_t i;

	for (i = 0; i < set->slots; i++)
		free(set->slot[i]);
	free(set->slot);
	*set = (struct pfu_names){ 0 };
}
