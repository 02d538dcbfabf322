/*
 * signals.h - how the programs end when a signal asks them to.
 *
 * The first SIGHUP, SIGINT or SIGTERM cancels the run: no new work starts, the
 * files in hand are dealt with, and the process ends by that same signal, so that
 * a shell sees what it would see of cp and rm.  A second one ends it at once.
 * SIGPIPE and SIGXFSZ, which one's own write brings about, cancel in the same way.
 * A signal that was ignored from the start stays so (nohup).
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <pfu/tally.h>
#include <stdbool.h>

/* Set by the first signal; what the library's options take as `cancel`. */
extern atomic_bool signals_cancel;

/* To be called before the work begins. */
void signals_start(void);

/*
 * After the work: if a signal has come, says how much was done (in the words of
 * `done`, such as "copied"), and ends the process by that signal.
 */
void signals_end(const struct pfu_tally *tally, const char *done);

#endif
