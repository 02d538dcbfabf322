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
#include <stdlib.h>
#include <string.h>

/* ---- one after the other ---- */

/* Whether the operand's target is another than those since the last barrier. */
static bool is_apart(struct copying *c, const char *target)
{
	return !c->in_turn && pfu_names_add(&c->targets, target, pfu_name_length(target)) == 1;
}

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
