/*
 * pfu/glob.h - does a name match a pattern of the shell's kind?
 *
 * Of one name, without slashes: what a path is to a pattern is for pfu/filter.h.
 * Names are bytes, whatever the locale: `*` matches any of them, also none, `?` one
 * byte.  [abc], [a-z], [!a-z] (or [^a-z]) and [[:alpha:]] match one byte that is in
 * the set, or is not; the classes are those of the C locale.  A backslash takes what
 * follows it for itself, in a set too.  Several stars in a row are one.
 *
 * Unlike fnmatch(3), which depends on the locale and takes exponential time for some
 * patterns: here it is the length of the name times that of the pattern at most.
 */
#ifndef PFU_GLOB_H
#define PFU_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_glob;

/* What a pattern's shape allows instead of matching it. */
enum pfu_glob_kind {
	PFU_GLOB_EXACT,	 /* no wildcard: the text is the name */
	PFU_GLOB_PREFIX, /* text and a star: the name begins with the text */
	PFU_GLOB_SUFFIX, /* a star and text: the name ends with the text */
	PFU_GLOB_OTHER,
};

/*
 * Takes apart the first len bytes of a pattern.  NULL with errno ENOMEM, or EINVAL for
 * a pattern that means nothing, with *why set to a text that says so (a constant).
 */
struct pfu_glob *pfu_glob_new(const char *pattern, size_t len, const char **why);
void pfu_glob_free(struct pfu_glob *glob);

/* Whether the first len bytes at name match.  May be called from any thread. */
bool pfu_glob_match(const struct pfu_glob *glob, const char *name, size_t len);

/*
 * The shape of the pattern.  Unless it is OTHER, *text is malloc'ed and its *len bytes
 * (not ended by a zero) are the text of the shape; NULL there when memory is short.
 */
enum pfu_glob_kind pfu_glob_shape(const struct pfu_glob *glob, char **text, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
