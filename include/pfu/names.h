/*
 * pfu/names.h - a set of strings.
 *
 * For operands: whether two of them would meet in one place.  One thread at a
 * time.
 */
#ifndef PFU_NAMES_H
#define PFU_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

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
