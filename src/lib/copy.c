/*
 * copy.c - a tree copy: what all of it is done with, and its beginning and end.
 * copying.h tells what its parts are.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <pfu/dryrun.h>
#include <pfu/fstype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Bytes of names and directories that wait.  Over a network, where it is good to
 * have many directories to choose from, some ten thousands of names.
 */
#define WAITING_LOCAL ((size_t)1 << 20)
#define WAITING_NETWORK ((size_t)2 << 20)
/* So many operands are looked at to find one that tells what kind of file system it is. */
#define KIND_TRIES 8
/* So many diagnostics about a full file system are shown, the others counted. */
#define NO_SPACE_TOLD 20

/* ---- which file systems ---- */

/* The PFU_FS_* flags of a file's file system as *flags; false if it cannot be had. */
static bool kind_of(struct copying *c, const char *path, unsigned int *flags)
{
	int fd = c->fs->openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	*flags = pfu_fstype_of(c->fs, fd);
	c->fs->close(fd);
	return true;
}

/* What kind of file system the sources are on, by the first of them that is there. */
static unsigned int kind_of_sources(struct copying *c)
{
	unsigned int flags = PFU_FS_NETWORK;
	size_t i;

	for (i = 0; i < c->count && i < KIND_TRIES && !kind_of(c, c->operands[i].source, &flags);
	     i++)
		;
	return flags;
}

/* What kind of file system a target that need not exist is on. */
static unsigned int kind_of_target(struct copying *c, const char *target)
{
	const char *slash = strrchr(target, '/');
	char *dir = slash ? strndup(target, (size_t)(slash - target) + 1) : strdup(".");
	unsigned int flags = PFU_FS_NETWORK;

	if (dir)
		(void)kind_of(c, dir, &flags);
	free(dir);
	return flags;
}

/* Whether what operands are copied to may inherit an ACL from its directory. */
static bool may_inherit_acl(struct copying *c)
{
	const char *target, *slash;

	if (!(c->options->preserve & PFU_ATTR_MODE))
		return false; /* then that is as it should be */
	if (c->options->parents || c->count == 0)
		return true;
	if (c->directory)
		return pfu_attrs_has_default_acl_at(
			c->fs, c->directory->name, strlen(c->directory->name));
	target = c->operands[0].target;
	slash = strrchr(target, '/');
	return slash ? pfu_attrs_has_default_acl_at(c->fs, target, (size_t)(slash - target)) :
		       pfu_attrs_has_default_acl_at(c->fs, ".", 1);
}

/* ---- what is said ---- */

/* Passes diagnostics on; but when a target is full, not one for each of a million files. */
static void filter_message(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	struct copying *c = ctx;

	/* What a signal interrupted has not failed for any other reason. */
	if (errnum == EINTR && c->options->cancel && atomic_load(c->options->cancel))
		return;
	if ((errnum == ENOSPC || errnum == EDQUOT) &&
		atomic_fetch_add(&c->no_space, 1) >= NO_SPACE_TOLD)
		return;
	c->outer->message(c->outer->ctx, severity, errnum, text);
}

static void filter_output(void *ctx, const char *text)
{
	struct copying *c = ctx;

	c->outer->output(c->outer->ctx, text);
}

static bool filter_ask(void *ctx, const char *question)
{
	struct copying *c = ctx;

	return c->outer->ask(c->outer->ctx, question);
}

static void tell_no_space(struct copying *c)
{
	unsigned long n = atomic_load(&c->no_space);
	char number[32];

	if (n <= NO_SPACE_TOLD)
		return;
	snprintf(number, sizeof(number), "%lu", n - NO_SPACE_TOLD);
	pfu_message(
		c->outer, PFU_ERROR, 0, "%s more failures for want of space are not shown", number);
}

/* The line of --debug on the workers: how many there were, and why. */
static void say_manner(struct copying *c)
{
	struct pfu_walk_manner m;
	char workers[96], chunk[32] = "automatic";

	pfu_walk_manner(c->walk, &m);
	if (m.first < m.most)
		snprintf(workers, sizeof(workers), "%u to begin with, at most %u", m.first, m.most);
	else
		snprintf(workers, sizeof(workers), "at most %u", m.most);
	if (m.chunk)
		snprintf(chunk, sizeof(chunk), "%u", m.chunk);
	snprintf(workers + strlen(workers), sizeof(workers) - strlen(workers), ", %u used", m.threads);
	pfu_message(c->report, PFU_WARNING, 0, "workers: %s (%s, %s file system), files per work item: %s",
		workers, m.chosen ? "automatic" : "as asked for", m.network ? "network" : "local", chunk);
}

/* ---- a run ---- */

/* --atomic: removes what runs that were killed have left where operands are copied to. */
static void clean_target(struct copying *c)
{
	char *dir = c->directory ? NULL : pfu_name_directory(c->operands[0].target);

	if (c->directory || dir)
		pfu_atomic_clean(c->fs, AT_FDCWD, dir ? dir : c->directory->name);
	free(dir);
}

static bool prepare(struct copying *c, const char *directory)
{
	const struct pfu_copy_options *o = c->options;

	c->euid = geteuid();
	c->egid = getegid();
	c->privileged = c->euid == 0;
	c->follow_all = o->dereference == PFU_DEREF_ALWAYS ||
			(o->dereference == PFU_DEREF_DEFAULT && (!o->recursive || o->hard_link));
	c->follow_operands = c->follow_all || o->dereference == PFU_DEREF_OPERANDS;
	if (directory) {
		c->directory = pfu_dir_new(NULL, directory, PFU_DIR_FOLLOW | PFU_DIR_PATH);
		if (!c->directory ||
			c->fs->fstatat(AT_FDCWD, directory, &c->directory_st, 0) != 0) {
			pfu_message(c->report, PFU_ERROR, errno, "cannot access %q", directory);
			return false;
		}
		pfu_dir_identify(c->directory, &c->directory_st);
	}
	c->default_acl = may_inherit_acl(c);
	if (o->atomic && !o->dry_run)
		clean_target(c);
	if (o->preserve & PFU_ATTR_LINKS) {
		c->links = pfu_links_new(!c->follow_operands && (c->count == 1 || pfu_are_siblings(c)));
		if (!c->links) {
			pfu_message(c->report, PFU_ERROR, ENOMEM, "cannot start");
			return false;
		}
	}
	c->in_turn = pfu_must_take_turns(c);
	return true;
}

static bool run(struct copying *c)
{
	const struct pfu_copy_options *o = c->options;
	unsigned int target_flags = PFU_FS_NETWORK;
	struct pfu_walk_options wo = {
		.fs = c->fs,
		.ops = &pfu_copy_walk_ops,
		.filter = o->filter,
		.filter_follows = c->follow_all,
		.chunk = o->chunk,
		.enter_above = true,
		.in_turn = true,
		.sort = true,
		.iobuf_size = PFU_COPY_BUFFER_NETWORK, /* touched only as far as a file needs it */
		.cancel = o->cancel,
		.tally = o->tally,
		.one_table = o->sync,
		.limits = &c->limits,
		.ctx = c,
	};
	bool ok;

	pfu_rate_init(&c->limits.files, o->max_rate, o->cancel);
	pfu_rate_init(&c->limits.bytes, o->bwlimit, o->cancel);
	if (!c->directory)
		target_flags = kind_of_target(c, c->operands[0].target);
	else
		(void)kind_of(c, c->directory->name, &target_flags);
	c->target_network = target_flags & PFU_FS_NETWORK;
	wo.network = (kind_of_sources(c) | target_flags) & PFU_FS_NETWORK;
	wo.bound = wo.network ? WAITING_NETWORK : WAITING_LOCAL;
	wo.workers = o->workers;
	if (o->interactive == PFU_INTERACTIVE_ASK)
		wo.workers = 1; /* questions come one at a time and in order */
	c->walk = pfu_walk_new(&wo);
	if (!c->walk) {
		pfu_message(c->report, PFU_ERROR, ENOMEM, "cannot start");
		return false;
	}
	/* Operands may be directories, of which nobody knows yet what is in them. */
	pfu_tally_operands(o->tally, (int64_t)c->count);
	pfu_tally_listing(o->tally, o->recursive);
	c->task =
		(struct pfu_task){.run = pfu_run_operands, .group = pfu_walk_root(c->walk), .work = 1};
	ok = pfu_walk_run(c->walk, &c->task) == 0;
	if (!ok)
		pfu_message(c->report, PFU_ERROR, errno, "cannot finish");
	if (o->debug)
		say_manner(c);
	pfu_walk_free(c->walk);
	pfu_finish_parents(c);
	pfu_sync_all(c);
	return ok;
}

bool pfu_copy(const struct pfu_copy_options *options, const struct pfu_report *report,
	const char *directory, const struct pfu_copy_operand *operands, size_t count)
{
	struct copying c = {
		.options = options,
		.fs = options->dry_run ? &c.dry_fs : options->fs ? options->fs : &pfu_fsys_posix,
		.report = &c.filter,
		.filter = {&c, filter_message, filter_output, filter_ask},
		.outer = report,
		.operands = operands,
		.copy_operand = pfu_copy_operand,
		.count = count,
	};
	bool ok;

	if (count == 0)
		return true;
	if (options->dry_run)
		pfu_dryrun_table(&c.dry_fs);
	pthread_mutex_init(&c.lock, NULL);
	pthread_mutex_init(&c.many_names, NULL);
	ok = prepare(&c, directory) && run(&c);
	tell_no_space(&c);
	if (options->dry_run)
		pfu_dryrun_end(report, "copied", atomic_load(&c.listed));
	pfu_names_clear(&c.targets);
	pfu_names_clear(&c.created);
	pfu_names_clear(&c.sources);
	pfu_links_free(c.links);
	pfu_fspairs_free(&c.pairs);
	pfu_dir_unref(c.directory);
	pfu_known_clear(&c);
	pthread_mutex_destroy(&c.lock);
	pthread_mutex_destroy(&c.many_names);
	return ok && !atomic_load(&c.failed);
}
