/*
 * walk.c - tests of pfu/walk.h, by a user of the walk that only counts.
 *
 * On generated trees it knows what every directory holds; on a table of
 * operations that makes up its listings, directories have a million entries.
 */
#include "unit.h"
#include <pfu/walk.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

/* ---- trees ---- */

/* A tree whose entries are called e0, e1, ... wherever they are; e0 is the top. */
struct tree {
	unsigned int n;
	unsigned int *parent;
	unsigned char *type; /* DT_* */
	unsigned int *entries; /* how many each directory has */
};

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

/* Makes entry number i on disk; all that it takes are paths of a sensible length. */
static void make_entry(const struct tree *t, unsigned int i)
{
	char path[PATH_MAX] = "", part[PATH_MAX + 16];
	unsigned int at;

	for (at = i;; at = t->parent[at]) {
		snprintf(part, sizeof(part), path[0] ? "e%u/%s" : "e%u%s", at, path);
		assert_true(strlen(part) < PATH_MAX);
		strcpy(path, part);
		if (at == 0)
			break;
	}
	switch (t->type[i]) {
	case DT_DIR:
		make_dir(path);
		break;
	case DT_LNK: /* to a directory, where a walk must not go */
		assert_int_equal(symlink(".", path), 0);
		break;
	case DT_FIFO:
		assert_int_equal(mkfifo(path, 0666), 0);
		break;
	default:
		make_file(path);
	}
}

static void add_entry(struct tree *t, unsigned int parent, unsigned char type)
{
	unsigned int i = t->n++;

	t->parent[i] = parent;
	t->type[i] = type;
	if (i > 0)
		t->entries[parent]++;
	make_entry(t, i);
}

static void new_tree(struct tree *t, unsigned int most)
{
	*t = (struct tree){
		.parent = allocate(most, sizeof(*t->parent)),
		.type = allocate(most, sizeof(*t->type)),
		.entries = allocate(most, sizeof(*t->entries)),
	};
	add_entry(t, 0, DT_DIR);
}

static void free_tree(struct tree *t)
{
	free(t->parent);
	free(t->type);
	free(t->entries);
	unit_remove("e0");
}

/* A random tree; of `dirs` in 100 entries are directories. */
static void random_tree(struct tree *t, unsigned int n, unsigned int dirs, uint64_t seed)
{
	static const unsigned char types[] = { DT_REG, DT_REG, DT_REG, DT_REG, DT_LNK, DT_FIFO };
	unsigned int parent;

	new_tree(t, n);
	while (t->n < n) {
		/* Some directories get many entries, and some trees get deep. */
		do
			parent = rnd_below(&seed, rnd_below(&seed, 3) ? t->n : 1 + t->n / 20);
		while (t->type[parent] != DT_DIR);
		add_entry(t, parent,
			  rnd_below(&seed, 100) < dirs ? DT_DIR : types[rnd_below(&seed, 6)]);
	}
}

/* ---- the user of the walk ---- */

/* Bytes of what may wait. */
enum { BOUND = 12 << 20 };

enum event { ENTRY, ENTER, LEAVE };

struct run {
	const struct tree *tree;
	struct pfu_walk *walk;
	struct pfu_walk_options options;
	atomic_uint *seen; /* how often each entry was */
	atomic_uint entries, nodes_made, nodes_left, relisted;
	atomic_uint most_nodes; /* at the same time */
	atomic_int list_error;
	atomic_uint list_errors;
	struct pfu_task task; /* the one that submits the top */
	unsigned int threads; /* that ran */

	/* What is not as usual; numbers of entries or 0: */
	unsigned int cancel_after; /* entries */
	atomic_bool *cancel_flag;  /* how; or NULL: the pool's function */
	bool (*refuse)(unsigned int i); /* descend() leaves these directories out */
	bool (*shun)(unsigned int i);	/* enter() says no to these */
	bool (*pass)(unsigned int i);	/* begin() says no to these */
	bool twice;			/* leave() has everything listed twice */
	/* Called for each entry that is not descended into; false: it has been put aside. */
	bool (*on_entry)(struct run *r, struct pfu_local *l, struct pfu_node *node,
			 const struct pfu_entry *e, unsigned int i);
	/* Set when the run does not come to its end; finish() brings it there. */
	void (*finish)(struct run *r);
	/* Set to keep a protocol, which needs one worker: */
	unsigned int *events; /* number * 4 + enum event */
	size_t event_count;
};

struct counted {
	struct pfu_node node;
	unsigned int i; /* its number */
	struct counted *up;
	atomic_uint entries, children, children_left;
	unsigned int entered_by; /* worker */
	bool entered, shared, left, relisted;
};

static struct run *run_of(const struct pfu_local *l)
{
	return pfu_walk_ctx(l->walk);
}

static unsigned int number_of(const char *name)
{
	return (unsigned int)strtoul(name + 1, NULL, 10);
}

static void note(struct run *r, unsigned int i, enum event event)
{
	if (r->events)
		r->events[r->event_count++] = i * 4 + event;
}

/* Notes how many there are that have come and not gone; what goes meanwhile counts as gone before. */
static void raise_to(atomic_uint *most, unsigned int come, unsigned int gone)
{
	unsigned int n = come > gone ? come - gone : 0, old = atomic_load(most);

	while (n > old && !atomic_compare_exchange_weak(most, &old, n))
		;
}

static struct counted *new_counted(struct run *r, struct pfu_walk *walk, struct counted *up,
				   const char *name)
{
	struct counted *c = allocate(1, sizeof(*c));
	struct pfu_dir *dir = pfu_dir_new(up ? up->node.dir : NULL, name, 0);
	unsigned int made;

	if (!dir)
		abort();
	c->i = number_of(name);
	c->up = up;
	made = atomic_fetch_add(&r->nodes_made, 1) + 1;
	raise_to(&r->most_nodes, made, atomic_load(&r->nodes_left));
	if (up)
		atomic_fetch_add(&up->children, 1);
	pfu_node_init(walk, &c->node, up ? &up->node : NULL, dir);
	return c;
}

static void note_entry(struct run *r, struct counted *in, unsigned int i)
{
	atomic_fetch_add(&r->seen[i], 1);
	atomic_fetch_add(&in->entries, 1);
	CHECK(!in->left);
	if (r->tree && CHECK(i < r->tree->n))
		CHECK(r->tree->parent[i] == in->i);
}

static struct pfu_node *descend(struct pfu_local *l, struct pfu_node *parent,
				const struct pfu_entry *e)
{
	struct run *r = run_of(l);
	struct counted *up = (struct counted *)parent;
	unsigned int i = number_of(e->name);

	note_entry(r, up, i);
	if (r->tree)
		CHECK(r->tree->type[i] == DT_DIR);
	if (r->refuse && r->refuse(i))
		return NULL;
	if (up->relisted)
		return NULL; /* its second time */
	return &new_counted(r, l->walk, up, e->name)->node;
}

static bool enter(struct pfu_local *l, struct pfu_node *node)
{
	struct run *r = run_of(l);
	struct counted *c = (struct counted *)node;

	CHECK(!c->entered);
	c->entered = true;
	c->entered_by = l->worker->id;
	note(r, c->i, ENTER);
	return !(r->shun && r->shun(c->i));
}

static void share(struct pfu_local *l, struct pfu_node *node)
{
	struct counted *c = (struct counted *)node;
	struct pfu_dirfd *d = pfu_dirfds_get(l->dirfds, node->dir);

	CHECK(l->own_table);
	CHECK(!c->shared);
	c->shared = true;
	if (CHECK(d != NULL)) {
		CHECK(pfu_dirfds_identify(l->dirfds, d) == 0);
		pfu_dirfds_put(l->dirfds, d);
	}
}

static bool begin(struct pfu_local *l, struct pfu_node *node)
{
	struct run *r = run_of(l);
	struct counted *c = (struct counted *)node;

	CHECK(c->entered);
	if (l->own_table && l->worker->id != c->entered_by)
		CHECK(c->shared);
	if (r->pass && r->pass(c->i))
		return false;
	l->at[0] = pfu_dirfds_get(l->dirfds, node->dir);
	return CHECK(l->at[0] != NULL);
}

/* Whether it is a directory, when its listing does not say. */
static bool is_dir(struct pfu_local *l, const struct pfu_entry *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type == DT_DIR;
	return CHECK(l->fs->fstatat(l->at[0]->fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0) &&
	       S_ISDIR(st.st_mode);
}

static void count_to_cancel(struct run *r)
{
	if (atomic_fetch_add(&r->entries, 1) + 1 != r->cancel_after)
		return;
	if (r->cancel_flag)
		atomic_store(r->cancel_flag, true);
	else
		pfu_pool_cancel(pfu_walk_pool(r->walk));
}

static enum pfu_did entry(struct pfu_local *l, struct pfu_node *node, const struct pfu_entry *e)
{
	struct run *r = run_of(l);
	unsigned int i = number_of(e->name);

	if (is_dir(l, e))
		return PFU_DESCEND;
	if (r->on_entry && !r->on_entry(r, l, node, e, i))
		return PFU_DONE;
	note_entry(r, (struct counted *)node, i);
	note(r, i, ENTRY);
	count_to_cancel(r);
	if (r->tree && e->type != DT_UNKNOWN)
		CHECK(r->tree->type[i] == e->type);
	return PFU_DONE;
}

static void end(struct pfu_local *l, struct pfu_node *node)
{
	CHECK(l->at[0]->dir == node->dir);
	pfu_dirfds_put(l->dirfds, l->at[0]);
	l->at[0] = NULL;
}

static void list_failed(struct pfu_local *l, struct pfu_node *node, int errnum)
{
	struct run *r = run_of(l);

	(void)node;
	atomic_store(&r->list_error, errnum);
	atomic_fetch_add(&r->list_errors, 1);
}

static bool leave(struct pfu_local *l, struct pfu_node *node)
{
	struct run *r = run_of(l);
	struct counted *c = (struct counted *)node;
	bool usual = !r->cancel_after && !r->refuse && !r->shun && !r->pass && !r->options.filter;

	CHECK(!c->left);
	CHECK(atomic_load(&c->children) == atomic_load(&c->children_left));
	if (r->tree && usual && !r->twice)
		CHECK(atomic_load(&c->entries) == r->tree->entries[c->i]);
	if (r->twice && !c->relisted) {
		c->relisted = true;
		atomic_fetch_add(&r->relisted, 1);
		return false;
	}
	c->left = true;
	note(r, c->i, LEAVE);
	if (c->up) {
		CHECK(!c->up->left);
		atomic_fetch_add(&c->up->children_left, 1);
	}
	atomic_fetch_add(&r->nodes_left, 1);
	return true;
}

static const struct pfu_walk_ops ops = {
	.descend = descend,
	.enter = enter,
	.share = share,
	.begin = begin,
	.entry = entry,
	.end = end,
	.list_failed = list_failed,
	.leave = leave,
};

static void run_top(struct pfu_worker *worker, struct pfu_task *task)
{
	struct pfu_local *l = pfu_local(worker);

	(void)task;
	pfu_walk_submit(l->walk, &new_counted(run_of(l), l->walk, NULL, "e0")->node);
}

/* Walks e0 as set up in *r, all of whose counters it resets. */
static void walk(struct run *r, unsigned int n)
{
	unsigned int before = open_fds();

	r->seen = allocate(n, sizeof(*r->seen));
	r->options.ops = &ops;
	r->options.ctx = r;
	if (!r->options.fs)
		r->options.fs = &pfu_fsys_posix;
	if (!r->options.bound)
		r->options.bound = BOUND;
	r->walk = pfu_walk_new(&r->options);
	if (!CHECK(r->walk != NULL))
		return;
	CHECK(pfu_walk_ctx(r->walk) == r);
	r->task = (struct pfu_task){ .run = run_top, .group = pfu_walk_root(r->walk), .work = 1 };
	CHECK(pfu_walk_run(r->walk, &r->task) == 0 || r->finish);
	if (r->finish)
		r->finish(r);
	r->threads = pfu_pool_threads(pfu_walk_pool(r->walk));
	pfu_walk_free(r->walk);
	CHECK(r->nodes_made == r->nodes_left);
	CHECK(r->nodes_made > 0);
	CHECK(open_fds() == before);
}

/* Checks that each entry of the tree has been seen `times` times, the top not counted. */
static void check_seen(struct run *r, unsigned int times)
{
	unsigned int i, wrong = 0;

	for (i = 1; i < r->tree->n; i++)
		wrong += atomic_load(&r->seen[i]) != times;
	CHECK(wrong == 0);
	CHECK(r->list_errors == 0);
	free(r->seen);
}

static void walk_tree(struct run *r, const struct tree *t)
{
	r->tree = t;
	walk(r, t->n);
}

/* ---- listings that do not say what an entry is, as some file systems make them ---- */

/* Of half of the entries, by their names. */
static ssize_t getdents_unsure(int fd, void *buf, size_t size)
{
	ssize_t n = pfu_fsys_posix.getdents(fd, buf, size), at;
	struct pfu_dirent *e;

	for (at = 0; at < n; at += e->d_reclen) {
		e = (struct pfu_dirent *)(void *)((char *)buf + at);
		if (number_of(e->d_name) % 2)
			e->d_type = DT_UNKNOWN;
	}
	return n;
}

/* A kernel or a sandbox without close_range(2): then all threads share their descriptors. */
static int close_range_missing(unsigned int first, unsigned int last, unsigned int flags)
{
	(void)first;
	(void)last;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

static struct pfu_fsys unsure, no_close_range;

static int setup(void **state)
{
	unsure = pfu_fsys_posix;
	unsure.getdents = getdents_unsure;
	no_close_range = pfu_fsys_posix;
	no_close_range.close_range = close_range_missing;
	return unit_scratch_make(state);
}

/* ---- every entry once ---- */

static const unsigned int worker_counts[] = { 1, 2, 7, 20, 64 };

/* Options as a copy or a removal has them, local (0 and 2) and over a network. */
static struct pfu_walk_options options_of(unsigned int flags)
{
	return (struct pfu_walk_options){
		.network = flags & 1 || flags >= 4,
		.list_ahead = flags & 2 || flags == 5,
		.short_is_end = flags & 2,
		.enter_above = flags == 4,
		.leave_above = flags >= 4,
		.in_turn = flags == 4,
	};
}

static void every_entry_once(void **state)
{
	static const unsigned int chunks[] = { 0, 1, 3, 64 };
	static const struct pfu_fsys *const tables[] = { &pfu_fsys_posix, &unsure,
							 &no_close_range };
	struct tree t;
	size_t w, c, f;
	unsigned int flags;

	(void)state;
	random_tree(&t, 1500 / UNIT_SLOW + 100, 25, 1);
	for (w = 0; w < COUNT(worker_counts); w++)
		for (c = 0; c < COUNT(chunks); c++)
			for (f = 0; f < COUNT(tables); f++)
				for (flags = 0; flags < 6; flags++) {
					struct run r = { .options = options_of(flags) };

					if (UNIT_SLOW > 1 && (w + c + f + flags) % 4)
						continue;
					r.options.fs = tables[f];
					r.options.workers = worker_counts[w];
					r.options.chunk = chunks[c];
					r.options.sort = flags & 1;
					walk_tree(&r, &t);
					check_seen(&r, 1);
					CHECK(r.threads <= worker_counts[w]);
				}
	free_tree(&t);
	assert_checks();
}

/* By the names of an entry and of those above it: 3 at the end, or 7 for a directory. */
static bool is_left_out(const struct tree *t, unsigned int i)
{
	for (; i > 0; i = t->parent[i]) {
		if (i % 10 == 3 || (i % 10 == 7 && t->type[i] == DT_DIR))
			return true;
	}
	return false;
}

static void what_is_left_out_is_not_seen(void **state)
{
	static const struct pfu_fsys *const tables[] = { &pfu_fsys_posix, &unsure };
	struct pfu_filter *filter = pfu_filter_new();
	unsigned int flags, i, wrong = 0;
	const char *why;
	struct tree t;
	size_t w, f;

	(void)state;
	assert_non_null(filter);
	assert_int_equal(pfu_filter_add(filter, "*3", false, &why), 0);
	assert_int_equal(pfu_filter_add(filter, "*7/", false, &why), 0);
	random_tree(&t, 1000, 25, 2);
	for (w = 0; w < COUNT(worker_counts); w++)
		for (f = 0; f < COUNT(tables); f++)
			for (flags = 0; flags < 6; flags++) {
				struct run r = { .options = options_of(flags) };

				r.options.fs = tables[f];
				r.options.workers = worker_counts[w];
				r.options.filter = filter;
				walk_tree(&r, &t);
				for (i = 1; i < t.n; i++)
					wrong += atomic_load(&r.seen[i]) != !is_left_out(&t, i);
				CHECK(r.list_errors == 0);
				free(r.seen);
			}
	assert_int_equal(wrong, 0);
	pfu_filter_free(filter);
	free_tree(&t);
	assert_checks();
}

static void trees_of_other_shapes(void **state)
{
	static const struct {
		unsigned int n, dirs;
	} shapes[] = { { 1, 0 }, { 2, 0 }, { 2, 100 }, { 300, 0 }, { 300, 100 }, { 600, 60 } };
	struct tree t;
	size_t s, w;

	(void)state;
	for (s = 0; s < COUNT(shapes); s++) {
		random_tree(&t, shapes[s].n, shapes[s].dirs, s);
		for (w = 0; w < COUNT(worker_counts); w++) {
			struct run r = { .options = { .workers = worker_counts[w] } };

			walk_tree(&r, &t);
			check_seen(&r, 1);
		}
		free_tree(&t);
	}
	assert_checks();
}

static void listed_twice_if_left_so(void **state)
{
	struct tree t;
	size_t w;
	unsigned int flags;

	(void)state;
	random_tree(&t, 400, 20, 4);
	for (w = 0; w < COUNT(worker_counts); w++)
		for (flags = 0; flags < 6; flags++) {
			struct run r = { .options = options_of(flags), .twice = true };

			r.options.workers = worker_counts[w];
			walk_tree(&r, &t);
			CHECK(r.relisted == r.nodes_made);
			check_seen(&r, 2);
		}
	free_tree(&t);
	assert_checks();
}

static void a_top_that_is_not_there(void **state)
{
	size_t w;

	(void)state;
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = { .options = { .workers = worker_counts[w] } };

		walk(&r, 1);
		CHECK(r.list_errors == 1);
		CHECK(r.list_error == ENOENT);
		CHECK(r.threads == 1);
		free(r.seen);
	}
	assert_checks();
}

/* ---- what the user leaves out ---- */

static bool each_third(unsigned int i)
{
	return i % 3 == 1;
}

/* Whether a directory above the entry is left out. */
static bool is_below(const struct tree *t, unsigned int i)
{
	for (i = t->parent[i]; i != 0; i = t->parent[i]) {
		if (each_third(i))
			return true;
	}
	return false;
}

/* All but what is below the directories left out, in the strict order too. */
static void what_is_refused_only(void **state)
{
	struct tree t;
	unsigned int i, round, wrong;
	size_t w;

	(void)state;
	random_tree(&t, 600, 30, 5);
	for (w = 0; w < COUNT(worker_counts); w++)
		for (round = 0; round < 8; round++) {
			struct run r = {
				.options = options_of(round < 4 ? 0 : 4),
				.refuse = round % 2 ? each_third : NULL,
				.shun = round % 2 ? NULL : each_third,
			};

			r.options.fs = round % 4 < 2 ? &pfu_fsys_posix : &unsure;
			r.options.workers = worker_counts[w];
			walk_tree(&r, &t);
			for (i = 1, wrong = 0; i < t.n; i++)
				wrong += r.seen[i] != !is_below(&t, i);
			CHECK(wrong == 0);
			free(r.seen);
		}
	free_tree(&t);
	assert_checks();
}

/* Runs of entries that are passed over: none of them is seen, and all ends well. */
static void runs_that_do_not_begin(void **state)
{
	struct tree t;
	unsigned int i, wrong;
	size_t w;

	(void)state;
	random_tree(&t, 600, 30, 6);
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = { .options = { .workers = worker_counts[w] }, .pass = each_third };

		walk_tree(&r, &t);
		for (i = 1, wrong = 0; i < t.n; i++) {
			bool in_skipped = each_third(t.parent[i]);

			if (t.type[i] != DT_DIR && in_skipped)
				wrong += r.seen[i] != 0;
			else if (!is_below(&t, i) && !in_skipped)
				wrong += r.seen[i] != 1;
		}
		CHECK(wrong == 0);
		free(r.seen);
	}
	free_tree(&t);
	assert_checks();
}

/* ---- the order of one worker ---- */

struct protocol {
	unsigned int *events;
	size_t count;
	bool sort;
};

static int by_inode(const void *a, const void *b)
{
	const struct dirent *const *x = a, *const *y = b;

	return ((*x)->d_ino > (*y)->d_ino) - ((*x)->d_ino < (*y)->d_ino);
}

/* What a simple recursion over the directory does. */
static void expect_order(struct protocol *p, int at, const char *name)
{
	DIR *dir = fdopendir(openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *e, *list[2000];
	size_t n = 0, i;

	assert_non_null(dir);
	p->events[p->count++] = number_of(name) * 4 + ENTER;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		assert_true(n < COUNT(list));
		list[n] = malloc(sizeof(*e));
		assert_non_null(list[n]);
		memcpy(list[n++], e, e->d_reclen);
	}
	if (p->sort)
		qsort(list, n, sizeof(struct dirent *), by_inode);
	for (i = 0; i < n; i++) {
		if (list[i]->d_type == DT_DIR)
			expect_order(p, dirfd(dir), list[i]->d_name);
		else
			p->events[p->count++] = number_of(list[i]->d_name) * 4 + ENTRY;
		free(list[i]);
	}
	p->events[p->count++] = number_of(name) * 4 + LEAVE;
	closedir(dir);
}

static void one_worker_goes_in_order(void **state)
{
	static const struct pfu_fsys *const tables[] = { &pfu_fsys_posix, &unsure };
	struct tree t;
	size_t f;
	int flags;

	(void)state;
	random_tree(&t, 1500, 25, 7);
	for (f = 0; f < COUNT(tables); f++)
		for (flags = 0; flags < 4; flags++) {
			struct protocol p = {
				.events = allocate(2 * t.n, sizeof(*p.events)),
				.sort = flags & 1,
			};
			struct run r = {
				.options = {
					.fs = tables[f],
					.workers = 1,
					.chunk = flags & 2 ? 5 : 0,
					.sort = flags & 1,
				},
				.events = allocate(2 * t.n, sizeof(*r.events)),
			};

			expect_order(&p, AT_FDCWD, "e0");
			walk_tree(&r, &t);
			check_seen(&r, 1);
			assert_int_equal(r.event_count, p.count);
			assert_memory_equal(r.events, p.events, p.count * sizeof(*p.events));
			assert_int_equal(r.threads, 1);
			free(r.events);
			free(p.events);
		}
	free_tree(&t);
	assert_checks();
}

/* ---- directories that are made up ---- */

/*
 * One huge directory e0, of which there is an empty one on disk.  Where its
 * listing goes on is kept for each descriptor, and where threads have tables of
 * their own, for each thread.
 */
static struct made_up {
	unsigned int n;		/* entries: e1, e2, ... */
	unsigned char type;	/* of all */
	bool own_tables;
	unsigned int fail_at;	/* the listing fails before this entry; 0: never */
	int error;		/* so */
	int seek_error;
	unsigned int at_most;	/* entries in a buffer; 0: as many as have room */
	atomic_uint listed, seeks, calls;
	atomic_bool ended;
} huge;

enum { FD_MAX = 1 << 16, OWN_FD_MAX = 1 << 10 };

static atomic_uint shared_position[FD_MAX];
static _Thread_local atomic_uint own_position[OWN_FD_MAX];
static atomic_bool shared_is_huge[FD_MAX];
static _Thread_local atomic_bool own_is_huge[OWN_FD_MAX];

static int checked(int fd)
{
	return CHECK(fd >= 0 && fd < (huge.own_tables ? OWN_FD_MAX : FD_MAX)) ? fd : 0;
}

static atomic_uint *position(int fd)
{
	fd = checked(fd);
	return huge.own_tables ? &own_position[fd] : &shared_position[fd];
}

static atomic_bool *is_huge(int fd)
{
	fd = checked(fd);
	return huge.own_tables ? &own_is_huge[fd] : &shared_is_huge[fd];
}

static int huge_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	bool itself = strcmp(name, "e0") == 0;
	/* What is in it are directories that all are the same empty one. */
	int fd = openat(itself ? dirfd : AT_FDCWD, itself ? name : "empty", flags, mode);

	if (fd >= 0) {
		atomic_store(position(fd), 0);
		atomic_store(is_huge(fd), itself);
	}
	return fd;
}

static off_t huge_lseek(int fd, off_t offset, int whence)
{
	if (!atomic_load(is_huge(fd)))
		return lseek(fd, offset, whence);
	CHECK(whence == SEEK_SET);
	atomic_fetch_add(&huge.seeks, 1);
	if (huge.seek_error) {
		errno = huge.seek_error;
		return -1;
	}
	atomic_store(position(fd), (unsigned int)offset);
	return offset;
}

static unsigned short put_entry(char *to, unsigned int i)
{
	struct pfu_dirent *e = (struct pfu_dirent *)(void *)to;
	int len;

	e->d_ino = i + 1;
	e->d_off = i + 1;
	e->d_type = i == 0 ? DT_DIR : huge.type;
	len = i == 0 ? snprintf(e->d_name, 3, "..") : snprintf(e->d_name, 16, "e%u", i);
	e->d_reclen = (unsigned short)((offsetof(struct pfu_dirent, d_name) + (size_t)len + 8) &
				       ~(size_t)7);
	return e->d_reclen;
}

static ssize_t huge_getdents(int fd, void *buf, size_t size)
{
	unsigned int at, count = 0;
	size_t filled = 0;

	if (!atomic_load(is_huge(fd)))
		return pfu_fsys_posix.getdents(fd, buf, size);
	if (atomic_fetch_add(&huge.calls, 1) % 7 == 3) {
		errno = EINTR;
		return -1;
	}
	for (at = atomic_load(position(fd)); at <= huge.n && filled + 40 <= size; at++, count++) {
		if (huge.fail_at && at >= huge.fail_at)
			break;
		if (huge.at_most && count == huge.at_most)
			break;
		filled += put_entry((char *)buf + filled, at);
	}
	atomic_store(position(fd), at);
	if (count == 0 && huge.fail_at && at >= huge.fail_at) {
		errno = huge.error;
		return -1;
	}
	if (count == 0)
		atomic_store(&huge.ended, true);
	atomic_fetch_add(&huge.listed, count);
	return (ssize_t)filled;
}

static const struct pfu_fsys *huge_table(unsigned int n, unsigned char type, bool own_tables)
{
	static struct pfu_fsys table;

	table = pfu_fsys_posix;
	table.openat = huge_openat;
	table.lseek = huge_lseek;
	table.getdents = huge_getdents;
	if (!own_tables)
		table.close_range = close_range_missing;
	memset(&huge, 0, sizeof(huge));
	huge.n = n;
	huge.type = type;
	huge.own_tables = own_tables;
	return &table;
}

static int make_huge(void **state)
{
	(void)state;
	make_dir("e0");
	make_dir("empty");
	return 0;
}

static int remove_huge(void **state)
{
	(void)state;
	return rmdir("e0") == 0 && rmdir("empty") == 0 ? 0 : -1;
}

static void check_all_seen(struct run *r, unsigned int n)
{
	unsigned int i, wrong = 0;

	for (i = 1; i <= n; i++)
		wrong += r->seen[i] != 1;
	CHECK(wrong == 0);
	free(r->seen);
}

/* What has been listed and not yet been worked on. */
static atomic_uint most_waiting;

static bool note_waiting(struct run *r, struct pfu_local *l, struct pfu_node *node,
			 const struct pfu_entry *e, unsigned int i)
{
	unsigned int now;

	(void)l;
	(void)node;
	(void)e;
	(void)i;
	now = atomic_load(&huge.listed);
	raise_to(&most_waiting, now, atomic_load(&r->entries));
	return true;
}

/* The listing is put back while what it found is worked on: memory is bounded. */
static void a_listing_larger_than_the_queue(void **state)
{
	enum { N = UNIT_SLOW > 1 ? 500000 : 1000000 };
	static const unsigned int counts[] = { 1, 2, 20 };
	size_t w;
	unsigned int flags;

	(void)state;
	for (w = 0; w < COUNT(counts); w++)
		for (flags = 0; flags < 4; flags++) {
			struct run r = {
				.options = {
					.fs = huge_table(N, DT_REG, flags & 1),
					.workers = counts[w],
					.list_ahead = flags & 2,
					.network = flags == 0,
					.in_turn = true,
				},
				.on_entry = note_waiting,
			};

			if (UNIT_SLOW > 1 && flags % 3) /* and the time is */
				continue;
			atomic_store(&most_waiting, 0);
			walk(&r, N + 1);
			CHECK(r.list_errors == 0);
			check_all_seen(&r, N);
			/* An entry waits in 32 bytes; and there are buffers that were just read. */
			CHECK(most_waiting <= BOUND / 32 + 2 * 2048);
			if (counts[w] == 1 || flags & 2)
				CHECK(huge.seeks > 0);
		}
	assert_checks();
}

/* Directories that wait weigh more than names. */
static void more_directories_than_the_queue_takes(void **state)
{
	enum { N = 30000 };
	static const unsigned int counts[] = { 1, 2, 20 };
	size_t w;
	unsigned int flags;

	(void)state;
	for (w = 0; w < COUNT(counts); w++)
		for (flags = 0; flags < 4; flags++) {
			struct run r = { .options = {
				.fs = huge_table(N, DT_DIR, flags & 1),
				.workers = counts[w],
				.list_ahead = flags & 2,
				.network = flags == 0,
				.enter_above = true,
				.leave_above = true,
				.in_turn = true,
			} };

			if (flags % 3 && (UNIT_SLOW > 1 || counts[w] == 1))
				continue;
			walk(&r, N + 1);
			CHECK(r.list_errors == 0);
			check_all_seen(&r, N);
			CHECK(r.nodes_made == N + 1);
			CHECK(r.most_nodes <= BOUND / 512 + 2 * 2048);
			/* In order they are names in a chunk until their turn comes. */
			if (counts[w] == 1)
				CHECK(r.most_nodes == 2);
			else if (flags & 2)
				CHECK(huge.seeks > 0);
		}
	assert_checks();
}

static void huge_and_in_order(void **state)
{
	enum { N = 500000 };
	unsigned int i, wrong = 0;
	struct run r = {
		.options = { .fs = huge_table(N, DT_REG, false), .workers = 1 },
		.events = allocate(N + 3, sizeof(*r.events)),
	};

	(void)state;
	walk(&r, N + 1);
	free(r.seen);
	assert_int_equal(r.event_count, N + 2);
	for (i = 1; i <= N; i++)
		wrong += r.events[i] != i * 4 + ENTRY;
	assert_int_equal(wrong, 0);
	assert_true(huge.seeks > 0);
	free(r.events);
	assert_checks();
}

/* A listing that fails in its middle: what came before is worked on. */
static void a_listing_that_fails(void **state)
{
	static const unsigned int fail_at[] = { 1, 2, 3000, 450000 };
	size_t w, f;

	(void)state;
	for (w = 0; w < COUNT(worker_counts); w++)
		for (f = 0; f < COUNT(fail_at); f++) {
			struct run r = { .options = {
				.fs = huge_table(500000, DT_REG, w % 2),
				.workers = worker_counts[w],
				.list_ahead = f % 2,
			} };

			if (UNIT_SLOW > 1 && (w % 2 || (w > 2 && f > 2)))
				continue;
			huge.fail_at = fail_at[f];
			huge.error = EIO;
			walk(&r, 500001);
			CHECK(r.list_errors == 1);
			CHECK(r.list_error == EIO);
			CHECK(r.entries == fail_at[f] - 1);
			check_all_seen(&r, fail_at[f] - 1);
		}
	assert_checks();
}

/* A directory that was removed while it was listed has no more entries; that is no error. */
static void a_directory_that_goes(void **state)
{
	struct run r = { .options = { .fs = huge_table(9000, DT_REG, true), .workers = 2 } };

	(void)state;
	huge.fail_at = 5001;
	huge.error = ENOENT;
	walk(&r, 9001);
	CHECK(r.list_errors == 0);
	CHECK(r.entries == 5000);
	check_all_seen(&r, 5000);
	assert_checks();
}

static void a_listing_that_cannot_go_on(void **state)
{
	struct run r = { .options = { .fs = huge_table(1000000, DT_REG, true), .workers = 1 } };

	(void)state;
	huge.seek_error = EINVAL;
	walk(&r, 1000001);
	CHECK(r.list_errors == 1);
	CHECK(r.list_error == EINVAL);
	CHECK(r.entries == huge.listed - 1); /* all but ".." */
	check_all_seen(&r, r.entries);
	assert_checks();
}

static bool check_listed_ahead(struct run *r, struct pfu_local *l, struct pfu_node *node,
			       const struct pfu_entry *e, unsigned int i)
{
	(void)r;
	(void)l;
	(void)node;
	(void)e;
	(void)i;
	CHECK(atomic_load(&huge.ended));
	return true;
}

/* No entry is touched before the listing has ended, if memory allows. */
static void listed_ahead(void **state)
{
	size_t w;

	(void)state;
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = {
			.options = {
				.fs = huge_table(50000, DT_REG, false),
				.workers = worker_counts[w],
				.list_ahead = true,
				.network = true,
			},
			.on_entry = check_listed_ahead,
		};

		walk(&r, 50001);
		check_all_seen(&r, 50000);
	}
	assert_checks();
}

/* ---- listings that are taken for complete ---- */

/* Says that the directory cannot go (as rm does of one with an entry that stays). */
static bool keep(struct run *r, struct pfu_local *l, struct pfu_node *node,
		 const struct pfu_entry *e, unsigned int i)
{
	(void)r;
	(void)l;
	(void)e;
	(void)i;
	atomic_store(&node->kept, true);
	return true;
}

static void a_wrong_guess_is_made_good(void **state)
{
	enum { N = 100 };
	unsigned int i, wrong;
	size_t w;

	(void)state;
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = {
			.options = {
				.fs = huge_table(N, DT_REG, true),
				.workers = worker_counts[w],
				.list_ahead = true,
				.short_is_end = true,
			},
			.twice = true, /* leave() finds out that there is more */
		};

		huge.at_most = 30; /* a short buffer, and not the end */
		walk(&r, N + 1);
		CHECK(r.relisted == 1);
		for (i = 1, wrong = 0; i <= N; i++)
			wrong += r.seen[i] != (i < 30 ? 2 : 1);
		CHECK(wrong == 0);
		free(r.seen);
	}
	assert_checks();
}

/* Where the directory stays anyway nobody would find out: the listing goes on by itself. */
static void a_guess_is_made_sure_of_what_stays(void **state)
{
	enum { N = 100 };
	size_t w;

	(void)state;
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = {
			.options = {
				.fs = huge_table(N, DT_REG, true),
				.workers = worker_counts[w],
				.list_ahead = true,
				.short_is_end = true,
			},
			.on_entry = keep,
		};

		huge.at_most = 30;
		walk(&r, N + 1);
		CHECK(huge.ended);
		check_all_seen(&r, N);
	}
	assert_checks();
}

/* ---- cancellation ---- */

static void cancelled_in_the_middle(void **state)
{
	struct tree t;
	size_t w;
	unsigned int flags;

	(void)state;
	random_tree(&t, 2000, 20, 8);
	for (w = 0; w < COUNT(worker_counts); w++)
		for (flags = 0; flags < 6; flags++) {
			atomic_bool flag = false;
			struct run r = {
				.options = options_of(flags),
				.cancel_after = 100,
				.cancel_flag = flags % 3 ? &flag : NULL,
			};

			r.options.workers = worker_counts[w];
			r.options.chunk = 4;
			r.options.cancel = &flag;
			walk_tree(&r, &t);
			/* Each other worker may be at an entry. */
			CHECK(r.entries >= 100);
			CHECK(r.entries <= 100 + worker_counts[w]);
			free(r.seen);
		}
	free_tree(&t);
	assert_checks();
}

static void cancelled_while_listing(void **state)
{
	enum { N = 800000 };
	size_t w;

	(void)state;
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = {
			.options = {
				.fs = huge_table(N, DT_REG, true),
				.workers = worker_counts[w],
			},
			.cancel_after = 1000,
		};

		walk(&r, N + 1);
		CHECK(r.entries >= 1000);
		CHECK(r.entries <= 1000 + worker_counts[w]);
		CHECK(huge.listed < N);
		free(r.seen);
	}
	assert_checks();
}

static void cancelled_from_the_start(void **state)
{
	struct tree t;
	size_t w;

	(void)state;
	random_tree(&t, 50, 20, 9);
	for (w = 0; w < COUNT(worker_counts); w++) {
		atomic_bool flag = true;
		struct run r = {
			.options = { .workers = worker_counts[w], .cancel = &flag },
			.cancel_after = UINT_MAX,
		};

		walk_tree(&r, &t);
		CHECK(r.entries == 0);
		CHECK(r.nodes_made == 1);
		free(r.seen);
	}
	free_tree(&t);
	assert_checks();
}

/* ---- entries put aside ---- */

/* Of two files, e(2k) waits until e(2k + 1) is done, if there are both. */
static struct {
	pthread_mutex_t lock;
	struct pfu_task **waiting; /* by k */
	bool *done;
	atomic_uint parked;
} pairs = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool wait_for_twin(struct run *r, struct pfu_local *l, struct pfu_node *node,
			  const struct pfu_entry *e, unsigned int i)
{
	const struct tree *t = r->tree;
	unsigned int twin = i ^ 1;
	struct pfu_task *release = NULL;
	bool go = true;

	if (twin >= t->n || t->type[twin] == DT_DIR)
		return true;
	pthread_mutex_lock(&pairs.lock);
	if (i % 2) {
		pairs.done[i / 2] = true;
		release = pairs.waiting[i / 2];
		pairs.waiting[i / 2] = NULL;
	} else if (!pairs.done[i / 2]) {
		pairs.waiting[i / 2] = pfu_walk_park(l, node, e);
		CHECK(pairs.waiting[i / 2] != NULL);
		atomic_fetch_add(&pairs.parked, 1);
		go = false;
	}
	pthread_mutex_unlock(&pairs.lock);
	if (release)
		pfu_pool_submit_held(l->worker->pool, release);
	return go;
}

static void entries_put_aside_come_back(void **state)
{
	struct tree t;
	unsigned int parked = 0;
	size_t w;
	unsigned int flags;

	(void)state;
	random_tree(&t, 1000, 20, 10);
	for (w = 0; w < COUNT(worker_counts); w++)
		for (flags = 0; flags < 6; flags++) {
			struct run r = { .options = options_of(flags), .on_entry = wait_for_twin };

			r.options.fs = flags & 2 ? &unsure : &pfu_fsys_posix;
			r.options.workers = worker_counts[w];
			pairs.waiting = allocate(t.n, sizeof(struct pfu_task *));
			pairs.done = allocate(t.n, sizeof(*pairs.done));
			walk_tree(&r, &t);
			check_seen(&r, 1);
			parked += atomic_exchange(&pairs.parked, 0);
			free(pairs.waiting);
			free(pairs.done);
		}
	assert_true(parked > 0);
	free_tree(&t);
	assert_checks();
}

static struct pfu_task *forgotten;

static bool put_aside_once(struct run *r, struct pfu_local *l, struct pfu_node *node,
			   const struct pfu_entry *e, unsigned int i)
{
	(void)r;
	if (i != 2 || forgotten)
		return true;
	forgotten = pfu_walk_park(l, node, e);
	CHECK(forgotten != NULL);
	return false;
}

static void remember(struct run *r)
{
	CHECK(errno == EDEADLK);
	CHECK(r->nodes_left == 0);
	pfu_pool_submit_held(pfu_walk_pool(r->walk), forgotten);
	CHECK(pfu_pool_run(pfu_walk_pool(r->walk)) == 0);
}

/* An entry that never comes back is an error, not a silence. */
static void an_entry_that_is_forgotten(void **state)
{
	struct tree t;
	size_t w;

	(void)state;
	new_tree(&t, 8);
	add_entry(&t, 0, DT_DIR);
	add_entry(&t, 1, DT_REG);
	add_entry(&t, 1, DT_REG);
	for (w = 0; w < COUNT(worker_counts); w++) {
		struct run r = {
			.options = { .workers = worker_counts[w] },
			.on_entry = put_aside_once,
			.finish = remember,
		};

		forgotten = NULL;
		walk_tree(&r, &t);
		check_seen(&r, 1);
	}
	free_tree(&t);
	assert_checks();
}

/* ---- threads ---- */

static void no_thread_for_a_small_tree(void **state)
{
	struct run r = { .options = { .workers = 20 } };
	struct tree t;

	(void)state;
	new_tree(&t, 16);
	add_entry(&t, 0, DT_REG);
	add_entry(&t, 0, DT_REG);
	add_entry(&t, 0, DT_DIR);
	add_entry(&t, 3, DT_REG);
	walk_tree(&r, &t);
	check_seen(&r, 1);
	assert_int_equal(r.threads, 1);
	free_tree(&t);
	assert_checks();
}

static atomic_uint inside;

static bool meet(struct run *r, struct pfu_local *l, struct pfu_node *node,
		 const struct pfu_entry *e, unsigned int i)
{
	(void)l;
	(void)node;
	(void)e;
	(void)i;
	atomic_fetch_add(&inside, 1);
	while (atomic_load(&inside) < r->options.workers)
		sched_yield();
	return true;
}

/* Where a call takes a round trip, the files of one directory are for all workers at once. */
static void one_directory_for_all_workers(void **state)
{
	static const unsigned int files[] = { 8, 20, 500 };
	struct tree t;
	size_t f;
	unsigned int i;

	(void)state;
	for (f = 0; f < COUNT(files); f++) {
		struct run r = {
			.options = { .workers = 8, .network = true },
			.on_entry = meet,
		};

		new_tree(&t, 512);
		for (i = 0; i < files[f]; i++)
			add_entry(&t, 0, DT_REG);
		atomic_store(&inside, 0);
		walk_tree(&r, &t);
		check_seen(&r, 1);
		assert_int_equal(r.threads, 8);
		free_tree(&t);
	}
	assert_checks();
}

/* Worker 0 is slow: it goes on only when others have nothing to do (or soon). */
static bool wait_for_the_hungry(struct run *r, struct pfu_local *l, struct pfu_node *node,
				const struct pfu_entry *e, unsigned int i)
{
	int tries;

	(void)node;
	(void)e;
	(void)i;
	for (tries = 0; l->worker->id == 0 && tries < 2000; tries++) {
		if (pfu_pool_hungry(l->worker->pool) == r->options.workers - 1)
			break;
		sched_yield();
	}
	return true;
}

/* Chunks are divided again and again, with directories among their entries. */
static void divided_among_the_hungry(void **state)
{
	enum { ROUNDS = 24 };
	struct tree t;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct run r = {
			.options = {
				.workers = 2 + round % 3,
				.network = round % 4 != 3,
				.list_ahead = round % 2,
			},
			.on_entry = wait_for_the_hungry,
		};
		uint64_t seed = (uint64_t)round;

		new_tree(&t, 1000);
		while (t.n < 100 + 20 * (unsigned int)round)
			add_entry(&t, 0, rnd_below(&seed, 2) ? DT_DIR : DT_REG);
		walk_tree(&r, &t);
		check_seen(&r, 1);
		free_tree(&t);
	}
	assert_checks();
}

/* ---- few descriptors ---- */

/* Runs in a process of its own, with no descriptors but the standard ones and `limit` in all. */
static void walk_with_few_descriptors(const struct tree *t, rlim_t limit)
{
	static const struct pfu_fsys *const tables[] = { &pfu_fsys_posix, &no_close_range };
	static const unsigned int counts[] = { 1, 4, 20 };
	struct rlimit rl = { .rlim_cur = limit, .rlim_max = limit };
	size_t w, f;
	unsigned int flags;

	for (f = 3; f < 4096; f++)
		close((int)f);
	CHECK(setrlimit(RLIMIT_NOFILE, &rl) == 0);
	for (w = 0; w < COUNT(counts); w++)
		for (f = 0; f < COUNT(tables); f++)
			for (flags = 0; flags < 6; flags++) {
				struct run r = { .options = options_of(flags) };

				if (UNIT_SLOW > 1 && (w + f + flags) % 3)
					continue;
				r.options.fs = tables[f];
				r.options.workers = counts[w];
				walk_tree(&r, t);
				check_seen(&r, 1);
			}
}

static void assert_walks_with(const struct tree *t, rlim_t limit)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		walk_with_few_descriptors(t, limit);
		_exit(atomic_load(&unit_failures) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void deep_with_eight_descriptors(void **state)
{
	struct tree t;
	unsigned int i;

	(void)state;
	new_tree(&t, 1000);
	for (i = 0; i < 200; i++) { /* a chain, and a file beside each link of it */
		unsigned int in = i == 0 ? 0 : t.n - 2;

		add_entry(&t, in, DT_DIR);
		add_entry(&t, in, DT_REG);
	}
	assert_walks_with(&t, 8);
	assert_walks_with(&t, 32);
	free_tree(&t);
}

static void wide_with_eight_descriptors(void **state)
{
	struct tree t;
	unsigned int i, dir;

	(void)state;
	new_tree(&t, 2000);
	for (i = 0; i < 300; i++) {
		dir = t.n;
		add_entry(&t, 0, DT_DIR);
		add_entry(&t, dir, DT_REG);
		add_entry(&t, dir, DT_DIR);
	}
	assert_walks_with(&t, 8);
	assert_walks_with(&t, 32);
	free_tree(&t);
}

/* ---- a worker's own ---- */

static bool check_iobuf(struct run *r, struct pfu_local *l, struct pfu_node *node,
			const struct pfu_entry *e, unsigned int i)
{
	char *buf = pfu_local_iobuf(l);

	(void)node;
	(void)e;
	if (!CHECK(buf != NULL))
		return true;
	CHECK(((uintptr_t)buf & ((uintptr_t)sysconf(_SC_PAGESIZE) - 1)) == 0);
	CHECK(pfu_local_iobuf(l) == buf);
	memset(buf, (int)i, r->options.iobuf_size); /* nobody else does so meanwhile */
	CHECK(pfu_local(l->worker) == l);
	return true;
}

static void buffers_of_their_own(void **state)
{
	struct run r = {
		.options = { .workers = 4, .network = true, .iobuf_size = 65536 },
		.on_entry = check_iobuf,
	};
	struct tree t;

	(void)state;
	random_tree(&t, 200, 10, 11);
	walk_tree(&r, &t);
	check_seen(&r, 1);
	free_tree(&t);
	assert_checks();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_once),
		cmocka_unit_test(what_is_left_out_is_not_seen),
		cmocka_unit_test(trees_of_other_shapes),
		cmocka_unit_test(listed_twice_if_left_so),
		cmocka_unit_test(a_top_that_is_not_there),
		cmocka_unit_test(what_is_refused_only),
		cmocka_unit_test(runs_that_do_not_begin),
		cmocka_unit_test(one_worker_goes_in_order),
#define WITH_HUGE(test) cmocka_unit_test_setup_teardown(test, make_huge, remove_huge)
		WITH_HUGE(a_listing_larger_than_the_queue),
		WITH_HUGE(more_directories_than_the_queue_takes),
		WITH_HUGE(huge_and_in_order),
		WITH_HUGE(a_listing_that_fails),
		WITH_HUGE(a_directory_that_goes),
		WITH_HUGE(a_listing_that_cannot_go_on),
		WITH_HUGE(listed_ahead),
		WITH_HUGE(a_wrong_guess_is_made_good),
		WITH_HUGE(a_guess_is_made_sure_of_what_stays),
		cmocka_unit_test(cancelled_in_the_middle),
		WITH_HUGE(cancelled_while_listing),
		cmocka_unit_test(cancelled_from_the_start),
		cmocka_unit_test(entries_put_aside_come_back),
		cmocka_unit_test(an_entry_that_is_forgotten),
		cmocka_unit_test(no_thread_for_a_small_tree),
		cmocka_unit_test(one_directory_for_all_workers),
		cmocka_unit_test(divided_among_the_hungry),
		cmocka_unit_test(deep_with_eight_descriptors),
		cmocka_unit_test(wide_with_eight_descriptors),
		cmocka_unit_test(buffers_of_their_own),
	};

	unit_start();
	return cmocka_run_group_tests_name("walk", tests, setup, unit_scratch_remove);
}
