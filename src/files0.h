/*
 * files0.h - --files0-from: operands that come from a file or a pipe, in batches.
 */
#ifndef FILES0_H
#define FILES0_H

#include <pfu/atomic.h>
#include <stdbool.h>
#include <stddef.h>

struct files0;

/*
 * Opens the list; "-" is standard input.  `cancel` ends a wait for names.  What cannot be
 * opened is a diagnostic and exit status 1.
 */
struct files0 *files0_open(const char *name, const atomic_bool *cancel);

/*
 * The next names, which are valid until the next call.  Waits for the first of them, but not
 * for more than have come by then.  false at the end of the list, after an error in it that
 * has been told, or when cancelled.  A pfu_remove_list's `next`; ctx is the struct files0.
 */
bool files0_next(void *ctx, char *const **names, size_t *count);

/* Closes the list.  false if anything was wrong with it, which has been told. */
bool files0_close(struct files0 *list);

/* Refuses operands beside the list: a diagnostic, and exit status 1. */
_Noreturn void files0_extra_operand(const char *operand);

#endif
