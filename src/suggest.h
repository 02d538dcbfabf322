/*
 * suggest.h - the option that somebody may have meant who mistyped a long one.
 */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <stddef.h>

struct option;

/*
 * The name in options, which a zeroed one ends, that is most like the len bytes of
 * typed (without the dashes and the argument), or NULL if none is like it, or if typed
 * abbreviates one: then it was understood.
 */
const char *suggest_option(const struct option *options, const char *typed, size_t len);

#endif
