/*
 * copyitem.c - one item that is being copied, an entry of a directory or an operand:
 * its names and what is said of it, and how it is put aside until another copy is
 * complete.
 */
#include "copying.h"

#include <fcntl.h>
#include <stdlib.h>

char *pfu_item_source(const struct item *it)
{
	return pfu_dir_path(it->sdir, it->sname);
}

char *pfu_item_target(const struct item *it)
{
	return pfu_dir_path(it->ddir, it->dname);
}

/* ---- what is said of it ---- */

static void fail(struct item *it, int err, const char *format, char *path, const char *name)
{
	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, err, format, path ? path : name);
	free(path);
}

void pfu_fail_target(struct item *it, int err, const char *format)
{
	fail(it, err, format, pfu_item_target(it), it->dname);
}

void pfu_fail_source(struct item *it, int err, const char *format)
{
	fail(it, err, format, pfu_item_source(it), it->sname);
}

void pfu_fail_both(struct item *it, int err, const char *format)
{
	char *source = pfu_item_source(it), *target = pfu_item_target(it);

	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, err, format, target ? target : it->dname,
		source ? source : it->sname);
	free(source);
	free(target);
}

void pfu_fail_source_first(struct item *it, int err, const char *format)
{
	char *source = pfu_item_source(it), *target = pfu_item_target(it);

	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, err, format, source ? source : it->sname,
		target ? target : it->dname);
	free(source);
	free(target);
}

/* Prints a line of -v about the target. */
void pfu_say_target(struct item *it, const char *format)
{
	char *target = pfu_item_target(it);

	pfu_output(it->c->report, format, target ? target : it->dname);
	free(target);
}

/* The path of a file beside the target. */
char *pfu_item_beside(const struct item *it, const char *name)
{
	return pfu_dir_path(it->ddir, name);
}

void pfu_say_copied(struct item *it, const char *backup)
{
	char *source, *target, *old;

	if (!it->c->options->verbose)
		return;
	if (it->c->options->dry_run)
		atomic_fetch_add(&it->c->listed, 1);
	source = pfu_item_source(it);
	target = pfu_item_target(it);
	old = backup ? pfu_item_beside(it, backup) : NULL;
	if (old)
		pfu_output(it->c->report, "%q -> %q (backup: %q)", source ? source : it->sname,
			target ? target : it->dname, old);
	else
		pfu_output(it->c->report, "%q -> %q", source ? source : it->sname,
			target ? target : it->dname);
	free(source);
	free(target);
	free(old);
}

void pfu_say_removed(struct item *it)
{
	if (it->c->options->verbose)
		pfu_say_target(it, "removed %q");
}

void pfu_count_item(struct item *it, enum pfu_count what)
{
	/* What is broken off when a run is cancelled has not failed: it is not done. */
	if (!it->counted && !(what == PFU_COUNT_FAILED && pfu_local_cancelled(it->l)))
		pfu_count(it->l->counter, what, 1);
	it->counted = true;
}

/* ---- its source and target ---- */

bool pfu_item_follows(const struct item *it)
{
	return it->c->follow_all || (!it->node && it->c->follow_operands);
}

int pfu_stat_source(const struct item *it, struct stat *st)
{
	return it->c->fs->fstatat(
		it->sfd, it->sname, st, pfu_item_follows(it) ? 0 : AT_SYMLINK_NOFOLLOW);
}

bool pfu_may_be_unheard(const struct item *it)
{
	return it->node ? it->node->network : it->c->target_network;
}

struct pfu_attrs pfu_item_attrs(
	const struct item *it, const struct stat *st, struct pfu_fspair *pair)
{
	const struct copying *c = it->c;
	const struct cp_node *cn = it->node;
	/* With --parents the target is in some directory below. */
	bool known = c->directory && !c->options->parents;
	gid_t gid = cn ? cn->target_gid : known ? c->directory_st.st_gid : (gid_t)-1;

	return (struct pfu_attrs){
		.fs = c->fs,
		.report = c->report,
		.options = c->options,
		.pair = pair,
		.privileged = c->privileged,
		.source = st,
		.source_dir = it->sdir,
		.source_name = it->sname,
		.source_dirfd = it->sfd,
		.in = -1,
		.target_dir = it->ddir,
		.target_name = it->dname,
		.target_dirfd = it->dfd,
		.out = -1,
		/*
		 * A new file gets our user, and our group or its directory's. Not over a
		 * network, where the server may see us as somebody else.
		 */
		.owner_is_right = !(cn ? cn->network : c->target_network) && st->st_uid == c->euid &&
				  st->st_gid == c->egid && gid == c->egid,
		.default_acl = cn ? cn->default_acl : c->default_acl,
	};
}

/* ---- operands ---- */

char *pfu_operand_target(const struct copying *c, size_t operand)
{
	return pfu_dir_path(c->directory, c->operands[operand].target);
}

void pfu_note_created(struct item *it)
{
	struct copying *c = it->c;

	if (c->count == 1)
		return;
	pthread_mutex_lock(&c->lock);
	/* Without memory a later operand may overwrite this one's target. */
	(void)pfu_names_add(&c->created, it->dname, pfu_name_length(it->dname));
	pthread_mutex_unlock(&c->lock);
}

bool pfu_was_created(struct item *it)
{
	struct copying *c = it->c;
	bool was;

	if (c->count == 1)
		return false;
	pthread_mutex_lock(&c->lock);
	was = pfu_names_has(&c->created, it->dname, pfu_name_length(it->dname));
	pthread_mutex_unlock(&c->lock);
	return was;
}

/* ---- waiting for another copy ---- */

/* An operand that waits for another copy. */
struct parked_operand {
	struct pfu_task task;
	size_t operand;
};

static void run_parked_operand(struct pfu_worker *worker, struct pfu_task *task)
{
	struct parked_operand *p = (struct parked_operand *)task;
	struct pfu_local *l = pfu_local(worker);

	if (!pfu_local_cancelled(l))
		copying_of(l)->copy_operand(l, p->operand, true);
	free(p);
}

struct pfu_task *pfu_item_park(struct item *it)
{
	struct pfu_entry e = {it->sname, it->ino, it->type};
	struct parked_operand *p;

	if (it->node)
		return pfu_walk_park(it->l, &it->node->node, &e);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->task = (struct pfu_task){
		.run = run_parked_operand,
		.group = pfu_walk_root(it->c->walk),
		.bytes = sizeof(*p),
		.work = 1,
	};
	p->operand = it->operand;
	pfu_pool_hold(pfu_walk_pool(it->c->walk), p->task.group);
	return &p->task;
}
