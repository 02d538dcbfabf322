/*
 * pfu/names.h - operands' names: how they end, and a set of them.
 *
 * The set tells whether two of them would meet in one place; it is for one thread
 * at a time.
 */
#ifndef PFU_NAMES_H
#define PFU_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The length of a path without the slashes at its end; of "/" it is 1. */
size_t pfu_name_length(const char *path);

/*
 * The length of the part of a path that names the directory its last component is in, with
 * the slash that ends it; 0: the working directory.  Slashes at the path's end do not count.
 */
size_t pfu_name_directory_length(const char *path);

/* That directory ("." for the working directory), malloc'ed; NULL with errno ENOMEM. */
char *pfu_name_directory(const char *path);

/* Whether the last component of the first len bytes of a path is "." or "..". */
bool pfu_name_is_dots(const char *path, size_t len);

/* Zero-initialised it is empty. */
struct pfu_names {
	char **slot;
	size_t slots; /* a power of two */
	size_t used;
};

/* Adds the first len bytes at name.  1: new; 0: it was there; -1: errno is ENOMEM. */
int pfu_names_add(struct pfu_names *set, const char *name, size_t len);

bool pfu_names_has(const struct pfu_names *set, const char *name, size_t len);

/* Empties the set and frees what it took. */
void pfu_names_clear(struct pfu_names *set);

#ifdef __cplusplus
}
#endif

#endif
