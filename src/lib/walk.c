/*
 * walk.c - the directory walker: turns directories into work.
 *
 * A chunk holds entries just as getdents64() laid them out, copied from the
 * listing's buffer in one piece; entries that need no work (".", "..", and
 * directories that became nodes) have been blanked out there.
 *
 * Two orders of working.  With several workers a directory becomes a task of its
 * own as soon as its listing shows it, and chunks hold what is not a directory.
 * With one worker ("in order") a chunk holds everything, and the pool is a
 * stack: a chunk that meets a directory puts its rest on the stack, then the
 * directory, and so is resumed once that is complete.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pfu/fstype.h>
#include <pfu/walk.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Larger buffers gain nothing: the kernel's work per entry dominates from here on. */
#define DIRBUF_SIZE ((size_t)64 << 10)
/* No entry is larger than this: NAME_MAX and what is before the name, rounded up. */
#define DIRENT_MAX ((size_t)512)
/* Some 200,000 names. */
#define BOUND ((size_t)12 << 20)
/* What a waiting directory costs, with what its user adds, besides its name. */
#define NODE_BYTES ((size_t)1024)
/* A directory of unknown size is taken for this many files, for deciding on threads. */
#define NODE_WORK 8
/* Waiting files that make up for the start of a thread where nothing takes a round trip. */
#define START_WORK 32
#define CHUNK_LOCAL 64
#define CHUNK_NETWORK 32
/* Entries or bytes left in a chunk that are worth giving to a worker without work. */
#define SPLIT_ENTRIES 16
#define SPLIT_BYTES ((uint64_t)1 << 20)
/* A listing that is interrupted so often will be for ever. */
#define INTERRUPTED_MAX 1000
/* So many bytes are taken to cost as much as a file, where that matters. */
#define THING_BYTES ((uint64_t)128 << 10)
/* Descriptors besides those of directories: standard streams, and what others have open. */
#define FD_RESERVE 8
/* Descriptors that a worker has in hand: two files, and two directories on the way. */
#define FD_IN_HAND 4
/*
 * In a table of one's own, together with what waits to be closed, fewer than the
 * 64 that the kernel has room for at first: to enlarge a table that is shared,
 * as it is while a thread starts, it waits for all processors (fs/file.c,
 * expand_fdtable()).
 */
#define DIRFDS_OWN 20
#define CLOSER_OWN 24
#define DIRFDS_SHARED 4096

struct pfu_walk {
	struct pfu_walk_options options;
	struct pfu_pool *pool;
	struct pfu_group root;
	struct pfu_scope *scope; /* of operands; NULL: there is no filter */
	struct pfu_dirfds *dirfds; /* shared by all; NULL when each worker has its own */
	size_t own_dirfds;	   /* the budget of each worker's own */
	unsigned int own_closer;
	unsigned int adapt_from; /* see pfu/pool.h */
	bool chosen; /* the number of workers, here */
	bool in_order;
	bool enter_above, leave_above; /* as asked for, where that matters */
};

struct chunk {
	struct pfu_task task;
	struct pfu_node *node;
	size_t size; /* of entries, in bytes */
	size_t at;   /* where work goes on */
	unsigned int count;
	char entries[] __attribute__((aligned(8)));
};

static void run_chunk(struct pfu_worker *worker, struct pfu_task *task);
static void run_listing(struct pfu_worker *worker, struct pfu_task *task);

/* ---- workers ---- */

static int worker_start(struct pfu_worker *worker, void *ctx)
{
	struct pfu_walk *w = ctx;
	struct pfu_local *l = calloc(1, sizeof(*l));

	if (!l)
		return -1;
	l->worker = worker;
	l->walk = w;
	l->fs = w->options.fs;
	worker->local = l;
	pfu_closer_init(&l->closer, l->fs, w->own_closer);
	l->counter = pfu_tally_join(w->options.tally);
	if (w->options.tally && !l->counter)
		goto fail;
	if (w->dirfds) {
		l->dirfds = w->dirfds;
		return 0;
	}
	/*
	 * Threads that share a descriptor table pay for it on each open, close and
	 * look-up; and only in a table of one's own are one's descriptors
	 * consecutive.  Nothing above the standard streams is needed here.
	 */
	if (worker->id > 0 && l->fs->close_range(3, ~0U, CLOSE_RANGE_UNSHARE) != 0)
		goto fail;
	l->own_table = true;
	l->dirfds = pfu_dirfds_new(l->fs, w->own_dirfds, &l->closer);
	if (l->dirfds)
		return 0;
fail:
	free(l);
	return -1;
}

static void worker_idle(struct pfu_worker *worker, void *ctx)
{
	(void)ctx;
	pfu_closer_flush(&pfu_local(worker)->closer);
	pfu_count_busy(pfu_local(worker)->counter, false);
}

static void worker_busy(struct pfu_worker *worker, void *ctx)
{
	(void)ctx;
	pfu_count_busy(pfu_local(worker)->counter, true);
}

static void worker_stop(struct pfu_worker *worker, void *ctx)
{
	struct pfu_local *l = worker->local;

	(void)ctx;
	pfu_count_busy(l->counter, false);
	if (l->own_table)
		pfu_dirfds_free(l->dirfds);
	pfu_closer_flush(&l->closer);
	free(l->dirbuf);
	free(l->iobuf);
	free(l);
}

char *pfu_local_iobuf(struct pfu_local *l)
{
	if (!l->iobuf) {
		l->iobuf = aligned_alloc((size_t)sysconf(_SC_PAGESIZE),
					 l->walk->options.iobuf_size);
	}
	return l->iobuf;
}

void pfu_local_did(struct pfu_local *l, uint64_t bytes)
{
	pfu_pool_did(l->worker, bytes / THING_BYTES);
}

bool pfu_local_cancelled(const struct pfu_local *l)
{
	return pfu_pool_cancelled(l->walk->pool);
}

/* ---- the walk ---- */

/* Whether threads may have descriptor tables of their own: not in every sandbox. */
static bool can_unshare(const struct pfu_fsys *fs)
{
	/* A range where nothing is open: tells whether the call is there, and changes nothing. */
	return fs->close_range(~0U - 1, ~0U, 0) == 0;
}

static size_t at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

/*
 * Divides the descriptors that the process may have.  Workers share one table
 * over a network, where opening a directory once more is a round trip; else,
 * and where one table is too small for all of them, each has its own.  Where
 * that cannot be, there are no more workers than one table can serve.
 */
static int divide_descriptors(struct pfu_walk *w)
{
	struct pfu_walk_options *o = &w->options;
	size_t each = FD_IN_HAND + 2, limit;
	struct rlimit rl;

	limit = getrlimit(RLIMIT_NOFILE, &rl) == 0 ? at_most((size_t)rl.rlim_cur, 65536) : 256;
	limit = limit > FD_RESERVE + each ? limit - FD_RESERVE : each;
	if ((!o->network || (w->adapt_from ? w->adapt_from : o->workers) * each > limit) &&
	    (o->workers == 1 || (!o->one_table && can_unshare(o->fs)))) {
		w->own_dirfds = at_most((limit - FD_IN_HAND) / 2, DIRFDS_OWN);
		/* Source and target, and the one above each: fewer would push each other out. */
		if (w->own_dirfds < 4 && limit >= 4 + FD_IN_HAND)
			w->own_dirfds = 4;
		w->own_closer = o->network ? 0 : (unsigned int)at_most(limit / 3, CLOSER_OWN);
		return 0;
	}
	o->workers = (unsigned int)at_most(o->workers, limit / each);
	w->adapt_from = (unsigned int)at_most(w->adapt_from, o->workers);
	w->dirfds = pfu_dirfds_new(o->fs, at_most(limit - o->workers * FD_IN_HAND, DIRFDS_SHARED),
				   NULL);
	return w->dirfds ? 0 : -1;
}

/* Decides on the number of workers when nobody has. */
static void choose_workers(struct pfu_walk *w)
{
	unsigned int flags = w->options.network ? PFU_FS_NETWORK : 0;
	unsigned int first = pfu_fstype_workers(flags, &w->options.workers);

	w->chosen = true;
	if (first < w->options.workers)
		w->adapt_from = first;
}

struct pfu_walk *pfu_walk_new(const struct pfu_walk_options *options)
{
	struct pfu_walk *w = calloc(1, sizeof(*w));
	struct pfu_pool_options po;

	if (!w)
		return NULL;
	w->options = *options;
	if (w->options.bound == 0)
		w->options.bound = BOUND;
	options = &w->options;
	if (options->workers == 0)
		choose_workers(w);
	if (divide_descriptors(w) != 0)
		goto fail;
	w->in_order = w->options.workers == 1;
	w->enter_above = options->enter_above && options->network && !w->in_order;
	w->leave_above = options->leave_above && options->network && !w->in_order;
	po = (struct pfu_pool_options){
		.workers = w->options.workers,
		.adapt_from = w->adapt_from,
		.bound = options->bound,
		.resume = options->list_ahead ? 0 : options->bound / 2,
		.start_work = options->network ? 1 : START_WORK,
		.order = w->in_order	  ? PFU_QUEUE_IN_ORDER :
			 options->network && options->in_turn ? PFU_QUEUE_IN_TURN :
					    PFU_QUEUE_NEWEST,
		.cancel = options->cancel,
		.limits = options->limits,
		.ctx = w,
		.worker_start = worker_start,
		.worker_idle = worker_idle,
		.worker_busy = worker_busy,
		.worker_stop = worker_stop,
	};
	w->scope = options->filter ? pfu_filter_top(options->filter) : NULL;
	if (options->filter && !w->scope)
		goto fail;
	w->pool = pfu_pool_create(&po);
	if (w->pool)
		return w;
fail:
	pfu_scope_drop(w->scope);
	pfu_dirfds_free(w->dirfds);
	free(w);
	errno = ENOMEM;
	return NULL;
}

void pfu_walk_free(struct pfu_walk *walk)
{
	if (!walk)
		return;
	pfu_pool_destroy(walk->pool);
	pfu_dirfds_free(walk->dirfds);
	pfu_scope_drop(walk->scope);
	free(walk);
}

void *pfu_walk_ctx(const struct pfu_walk *walk)
{
	return walk->options.ctx;
}

struct pfu_pool *pfu_walk_pool(const struct pfu_walk *walk)
{
	return walk->pool;
}

struct pfu_group *pfu_walk_root(struct pfu_walk *walk)
{
	return &walk->root;
}

int pfu_walk_run(struct pfu_walk *walk, struct pfu_task *task)
{
	task->next = NULL;
	pfu_pool_submit(walk->pool, task);
	if (pfu_pool_run(walk->pool) != 0) {
		errno = ENOMEM;
		return -1;
	}
	if (walk->root.pending != 0) {
		errno = EDEADLK; /* something was put aside and forgotten: better said than lost */
		return -1;
	}
	return 0;
}

void pfu_walk_manner(struct pfu_walk *walk, struct pfu_walk_manner *manner)
{
	const struct pfu_walk_options *o = &walk->options;

	*manner = (struct pfu_walk_manner){
		.network = o->network,
		.chosen = walk->chosen,
		.first = walk->adapt_from ? walk->adapt_from : o->workers,
		.most = o->workers,
		.threads = pfu_pool_threads(walk->pool),
		.chunk = o->chunk,
	};
}

/* ---- nodes ---- */

void pfu_walk_share(struct pfu_local *l, struct pfu_node *node)
{
	/* Until it is shared only one worker is in the node; afterwards this is only read. */
	if (node->shared)
		return;
	if (l->own_table && !l->walk->in_order)
		l->walk->options.ops->share(l, node);
	node->shared = true;
}

/* Tells the tally whether more of the node's entries are to be found. */
static void count_listing(struct pfu_node *node, bool open)
{
	if (node->counted != open)
		pfu_tally_listing(node->walk->options.tally, open ? 1 : -1);
	node->counted = open;
}

/* Hands in the listing of a node as work in the node itself. */
static void submit_listing(struct pfu_local *l, struct pfu_node *node)
{
	node->listing.run = run_listing;
	node->listing.group = &node->group;
	node->listing.beside = false;
	node->listing.next = NULL; /* what was behind it when it waited last */
	if (!node->refused)
		pfu_walk_share(l, node);
	count_listing(node, true);
	pfu_pool_submit(l->walk->pool, &node->listing);
}

/* Leaves a node and frees it; false: it is listed once more instead. */
static bool leave_node(struct pfu_local *l, struct pfu_node *node)
{
	struct pfu_dir *dir = node->dir;

	pfu_pool_did(l->worker, 1);
	if (!l->walk->options.ops->leave(l, node)) {
		node->position = 0;
		node->guessed = false;
		node->sure = true;
		submit_listing(l, node);
		return false;
	}
	pfu_dirfds_drop(l->dirfds, dir);
	pfu_dir_unref(dir);
	pfu_scope_drop(node->scope);
	free(node);
	return true;
}

static struct pfu_node *node_of(struct pfu_task *listing)
{
	return (struct pfu_node *)((char *)listing - offsetof(struct pfu_node, listing));
}

/* The leaving of a node as work in the one above. */
static void run_leave(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_group *above = task->group;

	if (leave_node(pfu_local(worker), node_of(task)))
		pfu_pool_release(worker->pool, above);
}

/* The entering of a node as work in the one above. */
static void run_enter(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_node *node = node_of(task);
	struct pfu_local *l = pfu_local(worker);

	node->entered = true;
	node->refused = pfu_local_cancelled(l) || !l->walk->options.ops->enter(l, node);
	pfu_pool_did(worker, 1);
	submit_listing(l, node);
}

/* The pool's complete(): nothing of the node is pending. */
static bool complete_node(struct pfu_worker *worker, struct pfu_group *group)
{
	struct pfu_node *node = (struct pfu_node *)group;
	struct pfu_local *l = pfu_local(worker);
	struct pfu_walk *w = node->walk;

	if (node->guessed && atomic_load(&node->kept)) {
		/*
		 * That the listing was complete was a guess, which leave() would find
		 * out; but not when the directory stays anyway.
		 */
		node->guessed = false;
		node->sure = true;
		submit_listing(l, node);
		return false;
	}
	if (w->leave_above) {
		node->listing.run = run_leave;
		node->listing.group = group->parent;
		node->listing.beside = true; /* leave() may look the name up first */
		node->listing.next = NULL;
		pfu_pool_submit(w->pool, &node->listing);
		return false;
	}
	return leave_node(l, node);
}

void pfu_node_init(struct pfu_walk *walk, struct pfu_node *node, struct pfu_node *parent,
		   struct pfu_dir *dir)
{
	node->group = (struct pfu_group){
		.parent = parent ? &parent->group : &walk->root,
		.complete = complete_node,
	};
	node->listing = (struct pfu_task){
		.run = walk->enter_above ? run_enter : run_listing,
		.group = walk->enter_above ? node->group.parent : &node->group,
		.bytes = NODE_BYTES + strlen(dir->name),
		.work = NODE_WORK,
	};
	node->walk = walk;
	node->dir = dir;
	node->scope = NULL;
	node->position = 0;
	node->entered = node->refused = node->listed = node->guessed = node->sure = node->shared = false;
	node->counted = false;
	atomic_init(&node->kept, false);
	count_listing(node, true);
}

void pfu_walk_submit(struct pfu_walk *walk, struct pfu_node *node)
{
	pfu_pool_adopt(walk->pool, &node->group);
	pfu_pool_submit(walk->pool, &node->listing);
}

/* ---- what is left out ---- */

/* Finds out what of the filter's patterns the node's path has matched; false: no memory. */
static bool find_scope(struct pfu_node *node)
{
	struct pfu_walk *w = node->walk;
	struct pfu_node *up = (struct pfu_node *)node->group.parent;

	if (!w->scope || node->scope)
		return true;
	node->scope = node->group.parent == &w->root ? pfu_scope_hold(w->scope) :
						       pfu_scope_enter(up->scope, node->dir->name);
	return node->scope;
}

/* Whether only a look at the entry tells if it is a directory, as far as the filter goes. */
static bool is_type_open(const struct pfu_walk *w, unsigned char type)
{
	return type == DT_UNKNOWN || (type == DT_LNK && w->options.filter_follows);
}

/* Whether such an entry is a directory; one that cannot be looked at is none. */
static bool is_directory(struct pfu_local *l, struct pfu_node *node, const char *name)
{
	struct pfu_dirfd *d = pfu_dirfds_get(l->dirfds, node->dir);
	int flags = l->walk->options.filter_follows ? 0 : AT_SYMLINK_NOFOLLOW;
	struct stat st;
	bool is;

	if (!d)
		return false;
	is = l->fs->fstatat(d->fd, name, &st, flags) == 0 && S_ISDIR(st.st_mode);
	pfu_dirfds_put(l->dirfds, d);
	return is;
}

/*
 * Whether an entry is left out.  While a directory is listed (`look` is false) one for
 * which that takes a look at it is not: it is asked for again when it is worked on.
 */
static bool is_left_out(struct pfu_local *l, struct pfu_node *node, const struct pfu_dirent *e,
			bool look)
{
	const struct pfu_walk *w = l->walk;
	struct pfu_entry entry = { e->d_name, e->d_ino, e->d_type };
	enum pfu_verdict judged = pfu_scope_judge(node->scope, e->d_name);
	bool out = judged == PFU_LEFT_OUT;

	if (judged == PFU_LEFT_OUT_AS_DIR || judged == PFU_LEFT_OUT_UNLESS_DIR) {
		bool dir = e->d_type == DT_DIR;

		if (is_type_open(w, e->d_type)) {
			if (!look)
				return false;
			dir = is_directory(l, node, e->d_name);
		}
		out = dir == (judged == PFU_LEFT_OUT_AS_DIR);
	}
	if (out && w->options.ops->left_out)
		w->options.ops->left_out(l, node, &entry);
	return out;
}

/* The same of an entry that is about to be worked on, if that was not settled before. */
static bool is_left_out_late(struct pfu_local *l, struct pfu_node *node, const struct pfu_dirent *e)
{
	return node->scope && is_type_open(l->walk, e->d_type) && is_left_out(l, node, e, true);
}

/* ---- chunks ---- */

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static struct chunk *chunk_new(struct pfu_node *node, const void *entries, size_t size,
			       unsigned int count)
{
	struct chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		return NULL;
	c->task = (struct pfu_task){
		.run = run_chunk,
		.group = &node->group,
		.bytes = sizeof(*c) + size,
		.work = count,
	};
	c->node = node;
	c->size = size;
	c->at = 0;
	c->count = count;
	memcpy(c->entries, entries, size);
	return c;
}

struct pfu_task *pfu_walk_park(struct pfu_local *l, struct pfu_node *node,
			       const struct pfu_entry *entry)
{
	size_t len = strlen(entry->name) + 1;
	size_t size = (offsetof(struct pfu_dirent, d_name) + len + 7) & ~(size_t)7;
	struct pfu_dirent *e = calloc(1, size);
	struct chunk *c = NULL;

	if (e) {
		e->d_ino = entry->ino;
		e->d_reclen = (unsigned short)size;
		e->d_type = entry->type;
		memcpy(e->d_name, entry->name, len);
		pfu_walk_share(l, node);
		c = chunk_new(node, e, size, 1);
		free(e);
	}
	if (!c) {
		errno = ENOMEM;
		return NULL;
	}
	pfu_pool_hold(l->walk->pool, &node->group);
	return &c->task;
}

/* Hands the rest of a chunk to workers that have nothing to do. */
static void split(struct pfu_local *l, struct chunk *c, unsigned int left)
{
	struct chunk *rest;
	unsigned int give = left / 2, n = left - give;
	size_t at = c->at;

	while (n > 0) {
		struct pfu_dirent *e = (struct pfu_dirent *)(void *)(c->entries + at);

		at += e->d_reclen;
		n -= e->d_name[0] != '\0'; /* those that need no work are not counted */
	}
	rest = chunk_new(c->node, c->entries + at, c->size - at, give);
	if (!rest)
		return; /* then this worker does it */
	rest->task.work = give > START_WORK ? give : START_WORK;
	rest->task.next = NULL;
	c->size = at;
	c->count -= give;
	pfu_walk_share(l, c->node);
	pfu_pool_submit(l->walk->pool, &rest->task);
}

/*
 * Submits the directory that an entry turned out to be.  In order it comes before
 * the rest of its chunk.  True: that has been handed in again.
 */
static bool descend(struct pfu_local *l, struct chunk *c, const struct pfu_entry *entry)
{
	struct pfu_walk *w = l->walk;
	struct pfu_node *child = w->options.ops->descend(l, c->node, entry);
	bool put_back = w->in_order && c->at < c->size;

	if (!child)
		return false;
	pfu_walk_share(l, c->node);
	pfu_pool_adopt(w->pool, &child->group);
	if (put_back) {
		c->task.next = NULL;
		pfu_pool_submit(w->pool, &c->task);
	}
	pfu_pool_submit(w->pool, &child->listing);
	return put_back;
}

static bool worth_splitting(struct pfu_local *l, unsigned int left, uint64_t moved)
{
	if (l->walk->options.chunk || l->walk->in_order || left < 2 ||
	    pfu_pool_hungry(l->walk->pool) == 0)
		return false;
	return l->walk->options.network || left >= SPLIT_ENTRIES || moved >= SPLIT_BYTES;
}

/* Works on the entries of a chunk.  false: it has been handed in again. */
static bool work_on(struct pfu_local *l, struct chunk *c)
{
	const struct pfu_walk_ops *ops = l->walk->options.ops;
	struct pfu_node *node = c->node;
	uint64_t moved = l->moved, before;
	unsigned int done = 0;
	bool in_order = l->walk->in_order;

	if (!ops->begin(l, node))
		return true;
	while (c->at < c->size && !pfu_local_cancelled(l)) {
		struct pfu_dirent *e = (struct pfu_dirent *)(void *)(c->entries + c->at);
		struct pfu_entry entry = { e->d_name, e->d_ino, e->d_type };

		c->at += e->d_reclen;
		if (e->d_name[0] == '\0')
			continue;
		before = l->moved;
		if (is_left_out_late(l, node, e))
			pfu_count(l->counter, PFU_COUNT_FOUND, -1);
		else if (((in_order && e->d_type == DT_DIR) ||
			  ops->entry(l, node, &entry) == PFU_DESCEND) &&
			 descend(l, c, &entry)) {
			ops->end(l, node);
			return false;
		}
		done++;
		pfu_pool_did(l->worker, 1 + (l->moved - before) / THING_BYTES);
		pfu_count_tick(l->counter);
		if (c->count > done && worth_splitting(l, c->count - done, l->moved - moved))
			split(l, c, c->count - done);
	}
	ops->end(l, node);
	return true;
}

static void run_chunk(struct pfu_worker *worker, struct pfu_task *task)
{
	struct chunk *c = (struct chunk *)task;

	if (work_on(pfu_local(worker), c))
		free(c);
}

/* ---- listings ---- */

/* A listing under way in one worker. */
struct lister {
	struct pfu_local *l;
	struct pfu_node *node;
	struct pfu_task *first, **end; /* not yet submitted */
	ptrdiff_t charged;	       /* bytes of them */
	struct chunk *last; /* the last chunk: run by this worker itself if the listing ends here */
	size_t room;	    /* in order: bytes that the chunk has room for */
};

static void add_task(struct lister *li, struct pfu_task *task)
{
	task->next = NULL;
	*li->end = task;
	li->end = &task->next;
	li->charged += (ptrdiff_t)task->bytes;
	pfu_pool_charge(li->l->walk->pool, (ptrdiff_t)task->bytes);
}

/* Adds a chunk; the one before is then no more the last. */
static void add_chunk(struct lister *li, struct chunk *c)
{
	if (li->last)
		add_task(li, &li->last->task);
	li->last = c;
}

static void submit_tasks(struct lister *li)
{
	if (!li->first)
		return;
	pfu_walk_share(li->l, li->node);
	pfu_pool_submit(li->l->walk->pool, li->first);
	pfu_pool_charge(li->l->walk->pool, -li->charged);
	li->first = NULL;
	li->end = &li->first;
	li->charged = 0;
}

static void report_nomem(struct lister *li)
{
	li->l->walk->options.ops->list_failed(li->l, li->node, ENOMEM);
}

/* Whether an entry needs no work. */
static bool is_passed_over(struct lister *li, const struct pfu_dirent *e)
{
	return is_dot(e->d_name) || (li->node->scope && is_left_out(li->l, li->node, e, false));
}

/* Turns one buffer of a listing into directories and chunks. */
static void cut(struct lister *li, char *buf, size_t size)
{
	struct pfu_walk *w = li->l->walk;
	unsigned int most = w->options.chunk, count = 0, files = 0, dirs = 0;
	size_t at, start = 0;

	for (at = 0; at < size; at += ((struct pfu_dirent *)(void *)(buf + at))->d_reclen) {
		struct pfu_dirent *e = (struct pfu_dirent *)(void *)(buf + at);

		if (is_passed_over(li, e)) {
			e->d_name[0] = '\0';
		} else if (e->d_type == DT_DIR) {
			struct pfu_entry entry = { e->d_name, e->d_ino, e->d_type };
			struct pfu_node *child = w->options.ops->descend(li->l, li->node, &entry);

			e->d_name[0] = '\0';
			dirs++;
			if (child) {
				pfu_pool_adopt(w->pool, &child->group);
				add_task(li, &child->listing);
			}
		} else {
			files++;
		}
	}
	pfu_count(li->l->counter, PFU_COUNT_FOUND, files + dirs);
	if (most == 0 && w->options.network) {
		most = files / (2 * pfu_pool_wanted(w->pool));
		most = most < 1 ? 1 : most > CHUNK_NETWORK ? CHUNK_NETWORK : most;
	} else if (most == 0) {
		most = CHUNK_LOCAL;
	}
	for (at = 0; at < size && files > 0;) {
		struct pfu_dirent *e = (struct pfu_dirent *)(void *)(buf + at);

		at += e->d_reclen;
		if (e->d_name[0] == '\0')
			continue;
		count++;
		files--;
		if (count == most || files == 0) {
			struct chunk *c = chunk_new(li->node, buf + start, at - start, count);

			if (c)
				add_chunk(li, c);
			else
				report_nomem(li);
			start = at;
			count = 0;
		}
	}
}

static int by_inode(const void *a, const void *b)
{
	const struct pfu_dirent *const *x = a, *const *y = b;

	return ((*x)->d_ino > (*y)->d_ino) - ((*x)->d_ino < (*y)->d_ino);
}

/* The chunk with its entries in the order of their inodes; the chunk itself if memory is short. */
static struct chunk *sorted(struct chunk *c)
{
	struct pfu_dirent **list = malloc(sizeof(struct pfu_dirent *) * c->count);
	struct chunk *s = chunk_new(c->node, c->entries, c->size, c->count);
	unsigned int i = 0;
	size_t at;

	if (!list || !s)
		goto out;
	for (at = 0; at < c->size; at += list[i++]->d_reclen)
		list[i] = (struct pfu_dirent *)(void *)(c->entries + at);
	qsort(list, c->count, sizeof(struct pfu_dirent *), by_inode);
	for (at = i = 0; i < c->count; at += list[i++]->d_reclen)
		memcpy(s->entries + at, list[i], list[i]->d_reclen);
	free(c);
	c = s;
	s = NULL;
out:
	free(s);
	free(list);
	return c;
}

/* In order: adds one buffer of a listing to the one chunk that takes it all. */
static void append(struct lister *li, char *buf, size_t size)
{
	struct chunk *c = li->last, *grown;
	size_t old = c ? c->size : 0, at;
	unsigned int before;

	if (old + size > li->room) {
		size_t room = 2 * old + size;

		grown = realloc(c, sizeof(*c) + room);
		if (!grown) {
			report_nomem(li);
			return;
		}
		if (!c)
			*grown = (struct chunk){ .node = li->node };
		c = li->last = grown;
		li->room = room;
	}
	before = c->count;
	for (at = 0; at < size; at += ((struct pfu_dirent *)(void *)(buf + at))->d_reclen) {
		struct pfu_dirent *e = (struct pfu_dirent *)(void *)(buf + at);

		if (is_passed_over(li, e))
			continue;
		memcpy(c->entries + c->size, e, e->d_reclen);
		c->size += e->d_reclen;
		c->count++;
	}
	pfu_count(li->l->counter, PFU_COUNT_FOUND, c->count - before);
}

/* In order: makes a task of what has been listed. */
static void submit_in_order(struct lister *li)
{
	struct chunk *c = li->last, *shrunk;

	li->last = NULL;
	if (!c)
		return;
	if (c->count == 0) {
		free(c);
		return;
	}
	/* What it had room for is not needed for as long as the directory waits. */
	shrunk = realloc(c, sizeof(*c) + c->size);
	if (shrunk)
		c = shrunk;
	if (li->l->walk->options.sort)
		c = sorted(c);
	c->task = (struct pfu_task){
		.run = run_chunk,
		.group = &li->node->group,
		.bytes = sizeof(*c) + c->size,
		.work = c->count,
	};
	pfu_pool_submit(li->l->walk->pool, &c->task);
}

/* Reads on until the directory ends (true) or the queue is full (false). */
static bool read_listing(struct lister *li, int fd)
{
	struct pfu_local *l = li->l;
	struct pfu_walk *w = l->walk;
	struct pfu_node *node = li->node;
	unsigned int interrupted = 0;
	size_t held = 0;

	if (node->listed && l->fs->lseek(fd, node->position, SEEK_SET) < 0)
		goto failed;
	node->listed = true;
	while (!pfu_local_cancelled(l)) {
		ssize_t n = l->fs->getdents(fd, l->dirbuf, DIRBUF_SIZE);
		struct pfu_dirent *e = NULL;
		ssize_t at;

		if (n < 0 && errno == EINTR && ++interrupted < INTERRUPTED_MAX)
			continue;
		/* A directory that has been removed meanwhile has no entries. */
		if (n == 0 || (n < 0 && errno == ENOENT))
			return true;
		if (n < 0)
			goto failed;
		for (at = 0; at < n; at += e->d_reclen)
			e = (struct pfu_dirent *)(void *)(l->dirbuf + at);
		node->position = e->d_off;
		if (w->in_order) {
			append(li, l->dirbuf, (size_t)n);
			held += (size_t)n;
			if (held >= w->options.bound)
				return false;
		} else {
			cut(li, l->dirbuf, (size_t)n);
			if (pfu_pool_full(w->pool))
				return false;
			if (!w->options.list_ahead)
				submit_tasks(li);
		}
		if (w->options.short_is_end && !node->sure &&
		    (size_t)n + DIRENT_MAX < DIRBUF_SIZE) {
			node->guessed = true;
			return true;
		}
	}
	return true;
failed:
	w->options.ops->list_failed(l, node, errno);
	return true;
}

static bool prepare_listing(struct pfu_local *l, struct pfu_node *node)
{
	if (pfu_local_cancelled(l))
		return false;
	if (!l->dirbuf)
		l->dirbuf = malloc(DIRBUF_SIZE);
	if (!l->dirbuf) {
		l->walk->options.ops->list_failed(l, node, ENOMEM);
		return false;
	}
	if (!find_scope(node)) {
		l->walk->options.ops->list_failed(l, node, ENOMEM);
		return false;
	}
	if (!node->entered) {
		node->entered = true;
		node->refused = !l->walk->options.ops->enter(l, node);
	}
	return !node->refused;
}

static void run_listing(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_node *node = node_of(task);
	struct pfu_local *l = pfu_local(worker);
	struct lister li = { .l = l, .node = node };
	struct pfu_dirfd *d;
	bool ended;

	li.end = &li.first;
	if (!prepare_listing(l, node)) {
		count_listing(node, false);
		return;
	}
	d = pfu_dirfds_get(l->dirfds, node->dir);
	if (!d) {
		l->walk->options.ops->list_failed(l, node, errno);
		count_listing(node, false);
		return;
	}
	ended = read_listing(&li, d->fd);
	if (ended)
		count_listing(node, false);
	pfu_pool_did(worker, 1);
	if (!ended && !l->walk->in_order && li.last) {
		add_task(&li, &li.last->task);
		li.last = NULL;
	}
	submit_tasks(&li);
	pfu_dirfds_put(l->dirfds, d);
	if (!ended) {
		pfu_walk_share(l, node);
		pfu_pool_submit_later(l->walk->pool, &node->listing);
	}
	if (l->walk->in_order)
		submit_in_order(&li);
	else if (li.last)
		run_chunk(worker, &li.last->task);
}
