/*
 * pool.c - tests of pfu/pool.h: that every task runs once, every group completes
 * once and after all that is in it, and threads start only for work.
 *
 * What tasks and groups note about themselves is mostly in plain variables: the
 * pool promises an order, and ThreadSanitizer sees whether it keeps it.
 */
#include "unit.h"
#include <dlfcn.h>
#include <pfu/pool.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* ---- threads that cannot be had ---- */

static atomic_int threads_left = INT_MAX; /* how many more pthread_create() makes */

/* In the place of the C library's: a limit on threads does not bind root. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
		   void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (atomic_fetch_sub(&threads_left, 1) <= 0)
		return EAGAIN;
	return real(thread, attr, start, arg);
}

/* ---- a pool with nothing special ---- */

static struct pfu_pool *pool_of(unsigned int workers)
{
	struct pfu_pool_options o = {
		.workers = workers,
		.bound = 1 << 20,
		.resume = 1 << 19,
		.start_work = 1,
	};
	struct pfu_pool *pool = pfu_pool_create(&o);

	assert_non_null(pool);
	return pool;
}

/* Waits until another thread has set the flag. */
static void wait_for(const atomic_bool *flag)
{
	while (!atomic_load(flag))
		sched_yield();
}

/* ---- random task trees ---- */

/*
 * A task stands for `quota` tasks, itself included, which it makes in every way
 * that there is: in its group or a new one below, at once or later, or as one
 * that is held until a third one hands it in.  Their number is the same however
 * the tasks are scheduled.
 */
struct tree_task {
	struct pfu_task task;
	struct tree_task *sibling; /* in the list of its group's */
	unsigned int quota;
	uint64_t seed;
	unsigned int ran;
	struct tree_task *held;	  /* to hand in */
	struct tree_group *leaves; /* a group whose end was put off until this task */
};

struct tree_group {
	struct pfu_group group;
	struct tree *tree;
	_Atomic(struct tree_task *) tasks; /* all that were ever made for it */
	atomic_uint children, children_complete;
	unsigned int again; /* quota of what complete() submits when first called */
	bool put_off;	    /* its end is a task of the parent */
	uint64_t seed;
	bool complete;
};

struct tree {
	struct tree_group root;
	atomic_uint made, freed, runs, groups, groups_complete;
	unsigned int cancel_after; /* runs; 0: never */
	atomic_bool *flag;	   /* how to cancel: set it, or NULL: by the pool */
};

static void run_tree_task(struct pfu_worker *worker, struct pfu_task *task);
static bool complete_tree_group(struct pfu_worker *worker, struct pfu_group *group);

static void *allocate(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static struct tree_task *tree_task(struct tree_group *g, unsigned int quota, uint64_t *seed)
{
	struct tree_task *t = allocate(sizeof(*t));

	t->task = (struct pfu_task){
		.run = run_tree_task,
		.group = &g->group,
		.bytes = sizeof(*t),
		.work = 1 + rnd_below(seed, 3),
	};
	t->quota = quota;
	t->seed = rnd(seed);
	t->sibling = atomic_load(&g->tasks);
	while (!atomic_compare_exchange_weak(&g->tasks, &t->sibling, t))
		;
	atomic_fetch_add(&g->tree->made, 1);
	return t;
}

static struct tree_group *tree_group(struct pfu_pool *pool, struct tree_group *parent)
{
	struct tree_group *g = allocate(sizeof(*g));

	g->group = (struct pfu_group){ .parent = &parent->group, .complete = complete_tree_group };
	g->tree = parent->tree;
	atomic_fetch_add(&parent->children, 1);
	atomic_fetch_add(&g->tree->groups, 1);
	pfu_pool_adopt(pool, &g->group);
	return g;
}

/* Several tasks of one group, handed in as one list. */
static void submit_list(struct pfu_pool *pool, struct tree_group *g, unsigned int quota,
			uint64_t *seed)
{
	struct pfu_task *first = NULL, **end = &first;
	unsigned int n = 1 + rnd_below(seed, 6), share;

	for (; quota > 0; quota -= share, n--) {
		struct tree_task *t;

		share = n <= 1 ? quota : 1 + rnd_below(seed, quota);
		t = tree_task(g, share, seed);
		*end = &t->task;
		end = &t->task.next;
	}
	*end = NULL;
	pfu_pool_submit(pool, first);
}

static void submit_child(struct pfu_pool *pool, struct tree_group *g, unsigned int quota,
			 uint64_t *seed)
{
	struct tree_group *child = tree_group(pool, g);

	if (quota > 3 && rnd_below(seed, 3) == 0) {
		child->again = quota / 3;
		quota -= child->again;
	}
	if (quota > 1 && rnd_below(seed, 3) == 0) {
		child->put_off = true;
		quota--;
	}
	child->seed = rnd(seed);
	submit_list(pool, child, quota, seed);
}

/* A task that waits for another, which runs in a group of its own. */
static void submit_held(struct pfu_pool *pool, struct tree_group *g, unsigned int quota,
			uint64_t *seed)
{
	struct tree_task *held = tree_task(g, quota - 1, seed);
	struct tree_group *child;
	struct tree_task *t;

	pfu_pool_hold(pool, &g->group);
	child = tree_group(pool, g);
	t = tree_task(child, 1, seed);
	t->held = held;
	t->task.next = NULL;
	pfu_pool_submit(pool, &t->task);
}

static void spawn(struct pfu_pool *pool, struct tree_group *g, unsigned int quota, uint64_t *seed)
{
	unsigned int share;

	for (; quota > 0; quota -= share) {
		share = 1 + rnd_below(seed, quota);
		switch (rnd_below(seed, 6)) {
		case 0:
		case 1:
			submit_list(pool, g, share, seed);
			break;
		case 2:
			pfu_pool_submit_later(pool, &tree_task(g, share, seed)->task);
			break;
		case 3:
			if (share > 1) {
				submit_held(pool, g, share, seed);
				break;
			}
			/* fall through */
		default:
			submit_child(pool, g, share, seed);
		}
	}
}

/* The end of a group that is complete. */
static void finish_group(struct tree_group *g)
{
	struct tree_group *parent = (struct tree_group *)g->group.parent;

	CHECK(!g->complete);
	g->complete = true;
	atomic_fetch_add(&g->tree->groups_complete, 1);
	if (parent) {
		CHECK(!parent->complete);
		atomic_fetch_add(&parent->children_complete, 1);
		free(g);
	}
}

static void run_tree_task(struct pfu_worker *worker, struct pfu_task *task)
{
	struct tree_task *t = (struct tree_task *)task;
	struct tree_group *g = (struct tree_group *)task->group;
	struct tree *tree = g->tree;

	t->ran++;
	CHECK(!g->complete);
	if (atomic_fetch_add(&tree->runs, 1) + 1 == tree->cancel_after) {
		if (tree->flag)
			atomic_store(tree->flag, true);
		else
			pfu_pool_cancel(worker->pool);
		CHECK(pfu_pool_cancelled(worker->pool));
	}
	if (t->held)
		pfu_pool_submit_held(worker->pool, &t->held->task);
	if (t->leaves) {
		finish_group(t->leaves);
		pfu_pool_release(worker->pool, task->group);
	}
	if (!pfu_pool_cancelled(worker->pool))
		spawn(worker->pool, g, t->quota - 1, &t->seed);
}

static bool complete_tree_group(struct pfu_worker *worker, struct pfu_group *group)
{
	struct tree_group *g = (struct tree_group *)group;
	struct tree *tree = g->tree;
	struct tree_task *t, *next;
	unsigned int again = g->again;

	CHECK(!g->complete);
	CHECK(atomic_load(&g->children) == atomic_load(&g->children_complete));
	for (t = atomic_load(&g->tasks); t; t = next) {
		next = t->sibling;
		CHECK(t->ran == 1);
		free(t);
		atomic_fetch_add(&tree->freed, 1);
	}
	atomic_store(&g->tasks, NULL);
	if (again && !pfu_pool_cancelled(worker->pool)) {
		g->again = 0;
		submit_list(worker->pool, g, again, &g->seed);
		return false;
	}
	if (g->put_off) {
		t = tree_task((struct tree_group *)group->parent, 1, &g->seed);
		t->leaves = g;
		t->task.next = NULL;
		pfu_pool_submit(worker->pool, &t->task);
		return false;
	}
	finish_group(g);
	return true;
}

static void grow(struct tree *tree, struct pfu_pool *pool, unsigned int quota, uint64_t seed)
{
	tree->root.group = (struct pfu_group){ .complete = complete_tree_group };
	tree->root.tree = tree;
	atomic_store(&tree->groups, 1);
	submit_list(pool, &tree->root, quota, &seed);
	assert_int_equal(pfu_pool_run(pool), 0);
	assert_checks();
	assert_true(tree->root.complete);
	assert_int_equal(tree->groups, tree->groups_complete);
	assert_int_equal(tree->made, tree->runs);
	assert_int_equal(tree->made, tree->freed);
}

static const unsigned int worker_counts[] = { 1, 2, 7, 20, 64 };

static void random_trees(void **state)
{
	enum { N = 100000 };
	struct pfu_pool *pool;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(worker_counts); i++) {
		struct tree tree = { 0 };

		pool = pool_of(worker_counts[i]);
		grow(&tree, pool, N, i + 1);
		assert_int_equal(tree.runs, N);
		assert_true(pfu_pool_threads(pool) <= worker_counts[i]);
		assert_false(pfu_pool_cancelled(pool));
		pfu_pool_destroy(pool);
	}
}

/* Few tasks, many times: it is the ends that are delicate. */
static void small_trees_many_times(void **state)
{
	enum { ROUNDS = 1500 / UNIT_SLOW };
	uint64_t seed = 3;
	unsigned int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		unsigned int n = 1 + rnd_below(&seed, 40);
		struct pfu_pool_options o = {
			.workers = 1 + rnd_below(&seed, 8),
			.bound = 1000,
			.resume = rnd_below(&seed, 1000),
			.start_work = 1 + rnd_below(&seed, 12),
			.adapt_from = round % 3 ? 0 : 1,
			.order = round % 2 ? PFU_QUEUE_IN_TURN : PFU_QUEUE_NEWEST,
		};
		struct pfu_pool *pool = pfu_pool_create(&o);
		struct tree tree = { 0 };

		assert_non_null(pool);
		grow(&tree, pool, n, rnd(&seed));
		assert_int_equal(tree.runs, n);
		pfu_pool_destroy(pool);
	}
}

static void in_order_trees(void **state)
{
	struct pfu_pool_options o = { .workers = 1, .bound = 1, .order = PFU_QUEUE_IN_ORDER };
	struct pfu_pool *pool = pfu_pool_create(&o);
	struct tree tree = { 0 };

	(void)state;
	assert_non_null(pool);
	grow(&tree, pool, 20000, 11);
	assert_int_equal(tree.runs, 20000);
	pfu_pool_destroy(pool);
}

/* A pool can run again once it has run. */
static void one_pool_several_runs(void **state)
{
	struct pfu_pool *pool = pool_of(4);
	int round;

	(void)state;
	for (round = 0; round < 5; round++) {
		struct tree tree = { 0 };

		grow(&tree, pool, 2000, (uint64_t)round);
		assert_int_equal(tree.runs, 2000);
	}
	pfu_pool_destroy(pool);
}

static void a_run_without_tasks_ends(void **state)
{
	struct pfu_pool *pool = pool_of(4);

	(void)state;
	pfu_pool_run(pool);
	assert_int_equal(pfu_pool_threads(pool), 1);
	pfu_pool_destroy(pool);
	pfu_pool_destroy(NULL);
}

static void options_that_make_no_sense(void **state)
{
	struct pfu_pool_options o = { .workers = 0 };

	(void)state;
	errno = 0;
	assert_null(pfu_pool_create(&o));
	assert_int_equal(errno, EINVAL);
	o = (struct pfu_pool_options){ .workers = 2, .order = PFU_QUEUE_IN_ORDER };
	errno = 0;
	assert_null(pfu_pool_create(&o));
	assert_int_equal(errno, EINVAL);
}

/* ---- cancellation ---- */

static void cancelled_in_the_middle(void **state)
{
	enum { N = 30000 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(worker_counts); i++) {
		struct pfu_pool *pool = pool_of(worker_counts[i]);
		struct tree tree = { .cancel_after = 1000 };

		grow(&tree, pool, N, i);
		assert_true(pfu_pool_cancelled(pool));
		assert_in_range(tree.runs, 1000, N - 1);
		pfu_pool_destroy(pool);
	}
}

static void cancelled_from_outside(void **state)
{
	enum { N = 30000 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(worker_counts); i++) {
		atomic_bool flag = false;
		struct pfu_pool_options o = {
			.workers = worker_counts[i],
			.bound = 1 << 20,
			.resume = 1 << 19,
			.start_work = 1,
			.cancel = &flag,
		};
		struct pfu_pool *pool = pfu_pool_create(&o);
		struct tree tree = { .cancel_after = 1000, .flag = &flag };

		assert_non_null(pool);
		assert_false(pfu_pool_cancelled(pool));
		grow(&tree, pool, N, i);
		assert_in_range(tree.runs, 1000, N - 1);
		pfu_pool_destroy(pool);
	}
}

static struct pfu_pool *pool_to_cancel;

static void cancel_by_signal(int sig)
{
	(void)sig;
	pfu_pool_cancel(pool_to_cancel);
}

static void run_raise(struct pfu_worker *worker, struct pfu_task *task)
{
	(void)task;
	CHECK(!pfu_pool_cancelled(worker->pool));
	raise(SIGUSR1);
	CHECK(pfu_pool_cancelled(worker->pool));
}

static void cancelled_by_a_signal(void **state)
{
	struct pfu_group group = { 0 };
	struct pfu_task task = { .run = run_raise, .group = &group };

	(void)state;
	pool_to_cancel = pool_of(1);
	assert_true(signal(SIGUSR1, cancel_by_signal) != SIG_ERR);
	pfu_pool_submit(pool_to_cancel, &task);
	pfu_pool_run(pool_to_cancel);
	assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
	assert_checks();
	pfu_pool_destroy(pool_to_cancel);
}

/* ---- tasks that must be alone ---- */

/*
 * A group in which rounds of tasks alternate with one task that must be alone;
 * beside it a second one, so that its workers have something else to do.
 */
struct lonely {
	struct pfu_group group;
	struct pfu_task alone;
	struct pfu_task tasks[16];
	unsigned int left; /* rounds; only touched by the task that is alone */
	atomic_uint running, runs;
	unsigned int expected; /* runs */
	unsigned int completions;
};

static void run_together(struct pfu_worker *worker, struct pfu_task *task)
{
	struct lonely *s = (struct lonely *)task->group;

	(void)worker;
	atomic_fetch_add(&s->running, 1);
	sched_yield();
	atomic_fetch_add(&s->runs, 1);
	atomic_fetch_sub(&s->running, 1);
}

static void run_alone(struct pfu_worker *worker, struct pfu_task *task)
{
	struct lonely *s = (struct lonely *)task->group;
	size_t i;

	CHECK(atomic_load(&s->running) == 0);
	CHECK(atomic_load(&s->runs) == s->expected);
	if (s->left-- == 0)
		return;
	/* Submitted before, after or amid the others, it comes when they are done. */
	for (i = 0; i < COUNT(s->tasks); i++) {
		s->expected++;
		s->tasks[i] = (struct pfu_task){ .run = run_together, .group = task->group };
		if (i == s->left % COUNT(s->tasks))
			pfu_pool_submit_alone(worker->pool, task);
		pfu_pool_submit(worker->pool, &s->tasks[i]);
	}
}

static bool complete_lonely(struct pfu_worker *worker, struct pfu_group *group)
{
	(void)worker;
	((struct lonely *)group)->completions++;
	return true;
}

static void alone_means_alone(void **state)
{
	enum { ROUNDS = 800 / UNIT_SLOW };
	size_t i, j;

	(void)state;
	for (i = 0; i < COUNT(worker_counts); i++) {
		static struct lonely s[2];
		struct pfu_pool *pool = pool_of(worker_counts[i]);

		for (j = 0; j < 2; j++) {
			s[j] = (struct lonely){
				.group.complete = complete_lonely,
				.alone = { .run = run_alone, .group = &s[j].group },
				.left = ROUNDS,
			};
			pfu_pool_submit_alone(pool, &s[j].alone);
		}
		pfu_pool_run(pool);
		assert_checks();
		for (j = 0; j < 2; j++) {
			assert_int_equal(s[j].runs, ROUNDS * COUNT(s[j].tasks));
			assert_int_equal(s[j].completions, 1);
		}
		pfu_pool_destroy(pool);
	}
}

/* A child group that is not complete, and a hold, are pending too. */
struct shy {
	struct pfu_group group, child;
	struct pfu_task first, alone, held, in_child;
	atomic_bool waited;
	bool child_complete, held_ran, alone_ran;
};

static void run_held(struct pfu_worker *worker, struct pfu_task *task)
{
	struct shy *s = (struct shy *)task->group;

	(void)worker;
	CHECK(!s->alone_ran);
	s->held_ran = true;
}

static void run_in_child(struct pfu_worker *worker, struct pfu_task *task)
{
	struct shy *s = (struct shy *)((char *)task->group - offsetof(struct shy, child));

	CHECK(!s->alone_ran);
	wait_for(&s->waited);
	pfu_pool_submit_held(worker->pool, &s->held);
}

static bool complete_child(struct pfu_worker *worker, struct pfu_group *group)
{
	(void)worker;
	((struct shy *)((char *)group - offsetof(struct shy, child)))->child_complete = true;
	return true;
}

static void run_shy(struct pfu_worker *worker, struct pfu_task *task)
{
	struct shy *s = (struct shy *)task->group;

	(void)worker;
	CHECK(s->held_ran);
	CHECK(s->child_complete);
	s->alone_ran = true;
}

static void run_first(struct pfu_worker *worker, struct pfu_task *task)
{
	struct shy *s = (struct shy *)task->group;

	pfu_pool_hold(worker->pool, &s->group);
	pfu_pool_adopt(worker->pool, &s->child);
	pfu_pool_submit_alone(worker->pool, &s->alone);
	pfu_pool_submit(worker->pool, &s->in_child);
	atomic_store(&s->waited, true);
}

static void alone_waits_for_children_and_holds(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(worker_counts); i++) {
		struct pfu_pool *pool = pool_of(worker_counts[i]);
		struct shy s = {
			.child = { .parent = &s.group, .complete = complete_child },
			.first = { .run = run_first, .group = &s.group },
			.alone = { .run = run_shy, .group = &s.group },
			.held = { .run = run_held, .group = &s.group },
			.in_child = { .run = run_in_child, .group = &s.child },
		};

		pfu_pool_submit(pool, &s.first);
		pfu_pool_run(pool);
		assert_checks();
		assert_true(s.alone_ran);
		pfu_pool_destroy(pool);
	}
}

/* ---- threads ---- */

struct crowd {
	struct pfu_group group;
	struct pfu_task tasks[64];
	unsigned int size;
	atomic_uint inside, most, runs;
};

/* Waits until all tasks run at once: there must be a thread for each. */
static void run_meet(struct pfu_worker *worker, struct pfu_task *task)
{
	struct crowd *c = (struct crowd *)task->group;

	(void)worker;
	atomic_fetch_add(&c->inside, 1);
	while (atomic_load(&c->inside) < c->size)
		sched_yield();
	atomic_fetch_add(&c->runs, 1);
}

static void run_count(struct pfu_worker *worker, struct pfu_task *task)
{
	struct crowd *c = (struct crowd *)task->group;
	unsigned int now = atomic_fetch_add(&c->inside, 1) + 1, most = atomic_load(&c->most);

	CHECK(worker->pool != NULL);
	while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now))
		;
	sched_yield();
	atomic_fetch_sub(&c->inside, 1);
	atomic_fetch_add(&c->runs, 1);
}

static void submit_crowd(struct pfu_pool *pool, struct crowd *c, unsigned int size,
			 void (*run)(struct pfu_worker *, struct pfu_task *))
{
	unsigned int i;

	*c = (struct crowd){ .size = size };
	for (i = 0; i < size; i++) {
		c->tasks[i] = (struct pfu_task){
			.run = run,
			.group = &c->group,
			.work = 1,
			.next = i + 1 < size ? &c->tasks[i + 1] : NULL,
		};
	}
	pfu_pool_submit(pool, c->tasks);
}

static void threads_start_while_work_waits(void **state)
{
	struct crowd c;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(worker_counts); i++) {
		struct pfu_pool *pool = pool_of(worker_counts[i]);

		submit_crowd(pool, &c, worker_counts[i], run_meet);
		pfu_pool_run(pool);
		assert_int_equal(c.runs, worker_counts[i]);
		assert_int_equal(pfu_pool_threads(pool), worker_counts[i]);
		pfu_pool_destroy(pool);
	}
}

static void never_more_workers_than_asked_for(void **state)
{
	struct pfu_pool *pool = pool_of(3);
	struct crowd c;

	(void)state;
	submit_crowd(pool, &c, 64, run_count);
	pfu_pool_run(pool);
	assert_checks();
	assert_int_equal(c.runs, 64);
	assert_in_range(c.most, 1, 3);
	assert_in_range(pfu_pool_threads(pool), 1, 3);
	pfu_pool_destroy(pool);
}

static void no_thread_for_one_task(void **state)
{
	struct pfu_pool *pool = pool_of(20);
	struct crowd c;

	(void)state;
	submit_crowd(pool, &c, 1, run_count);
	pfu_pool_run(pool);
	assert_int_equal(c.runs, 1);
	assert_int_equal(pfu_pool_threads(pool), 1);
	pfu_pool_destroy(pool);
}

/* Less work than a thread is worth is left to the caller. */
static void no_thread_for_little_work(void **state)
{
	struct pfu_pool_options o = { .workers = 20, .bound = 1000, .start_work = 32 };
	struct pfu_pool *pool = pfu_pool_create(&o);
	struct crowd c;

	(void)state;
	assert_non_null(pool);
	submit_crowd(pool, &c, 31, run_count);
	pfu_pool_run(pool);
	assert_int_equal(c.runs, 31);
	assert_int_equal(pfu_pool_threads(pool), 1);
	pfu_pool_destroy(pool);
}

static void without_any_thread(void **state)
{
	struct pfu_pool *pool = pool_of(8);
	struct tree tree = { 0 };

	(void)state;
	atomic_store(&threads_left, 0);
	grow(&tree, pool, 5000, 5);
	assert_int_equal(threads_left, -1); /* it tried once */
	atomic_store(&threads_left, INT_MAX);
	assert_int_equal(tree.runs, 5000);
	assert_int_equal(pfu_pool_threads(pool), 1);
	pfu_pool_destroy(pool);
}

static void with_fewer_threads_than_asked_for(void **state)
{
	struct pfu_pool *pool = pool_of(8);
	struct tree tree = { 0 };
	struct crowd c;

	(void)state;
	atomic_store(&threads_left, 2);
	submit_crowd(pool, &c, 3, run_meet);
	pfu_pool_run(pool);
	assert_int_equal(pfu_pool_threads(pool), 3);
	grow(&tree, pool, 5000, 5);
	atomic_store(&threads_left, INT_MAX);
	assert_int_equal(tree.runs, 5000);
	pfu_pool_destroy(pool);
}

static void run_mask(struct pfu_worker *worker, struct pfu_task *task)
{
	sigset_t mask;

	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
	CHECK(sigismember(&mask, SIGINT) == (worker->id > 0));
	CHECK(sigismember(&mask, SIGTERM) == (worker->id > 0));
	run_meet(worker, task);
}

static void signals_are_for_the_caller(void **state)
{
	struct pfu_pool *pool = pool_of(4);
	struct crowd c;

	(void)state;
	submit_crowd(pool, &c, 4, run_mask);
	pfu_pool_run(pool);
	assert_checks();
	assert_int_equal(c.runs, 4);
	pfu_pool_destroy(pool);
}

/* ---- what is called in each thread ---- */

struct hooks {
	unsigned int refused; /* bits: workers whose start fails */
	atomic_uint started, stopped; /* bits */
	atomic_uint stops;
	atomic_bool idle;
};

static int hook_start(struct pfu_worker *worker, void *ctx)
{
	struct hooks *h = ctx;

	CHECK(!worker->local);
	CHECK(!(atomic_fetch_or(&h->started, 1U << worker->id) & 1U << worker->id));
	if (h->refused & 1U << worker->id)
		return -1;
	worker->local = h;
	return 0;
}

static void hook_idle(struct pfu_worker *worker, void *ctx)
{
	CHECK(worker->local == ctx);
	atomic_store(&((struct hooks *)ctx)->idle, true);
}

static void hook_stop(struct pfu_worker *worker, void *ctx)
{
	struct hooks *h = ctx;

	CHECK(worker->local == ctx);
	CHECK(!(atomic_fetch_or(&h->stopped, 1U << worker->id) & 1U << worker->id));
	atomic_fetch_add(&h->stops, 1);
}

static struct pfu_pool *pool_with_hooks(struct hooks *h, unsigned int workers)
{
	struct pfu_pool_options o = {
		.workers = workers,
		.bound = 1 << 20,
		.resume = 1 << 19,
		.start_work = 1,
		.ctx = h,
		.worker_start = hook_start,
		.worker_idle = hook_idle,
		.worker_stop = hook_stop,
	};
	struct pfu_pool *pool = pfu_pool_create(&o);

	assert_non_null(pool);
	return pool;
}

static void hooks_are_called_once_in_each_thread(void **state)
{
	struct hooks h = { 0 };
	struct pfu_pool *pool = pool_with_hooks(&h, 6);
	struct crowd c;

	(void)state;
	submit_crowd(pool, &c, 6, run_meet);
	pfu_pool_run(pool);
	assert_checks();
	assert_int_equal(h.started, (1U << 6) - 1);
	assert_int_equal(h.stopped, (1U << 6) - 1);
	assert_int_equal(h.stops, 6);
	pfu_pool_destroy(pool);
}

static void run_local(struct pfu_worker *worker, struct pfu_task *task)
{
	CHECK(worker->local != NULL);
	run_count(worker, task);
}

static void threads_that_cannot_start_are_done_without(void **state)
{
	static const unsigned int refused[] = { 0x2a, 0x3e, 0x02, 0x20 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(refused); i++) {
		struct hooks h = { .refused = refused[i] };
		struct pfu_pool *pool = pool_with_hooks(&h, 6);
		struct tree tree = { 0 };
		struct crowd c;

		submit_crowd(pool, &c, 64, run_local);
		grow(&tree, pool, 3000, i);
		assert_int_equal(c.runs, 64);
		assert_int_equal(tree.runs, 3000);
		assert_int_equal(h.stopped, h.started & ~h.refused);
		pfu_pool_destroy(pool);
	}
}

static void a_caller_that_cannot_start(void **state)
{
	struct hooks h = { .refused = 1 };
	struct pfu_pool *pool = pool_with_hooks(&h, 6);
	struct crowd c;

	(void)state;
	submit_crowd(pool, &c, 6, run_local);
	assert_int_equal(pfu_pool_run(pool), -1);
	assert_int_equal(c.runs, 0);
	assert_int_equal(h.started, 1);
	assert_int_equal(h.stops, 0);
	h = (struct hooks){ 0 };
	assert_int_equal(pfu_pool_run(pool), 0); /* it is all still there */
	assert_checks();
	assert_int_equal(c.runs, 6);
	pfu_pool_destroy(pool);
}

/* A worker that waits is woken by the next task. */
struct nap {
	struct pfu_group group;
	struct pfu_task long_task, first, second;
	struct hooks hooks;
	atomic_bool first_ran, second_ran;
};

static void run_flag(struct pfu_worker *worker, struct pfu_task *task)
{
	struct nap *n = (struct nap *)task->group;

	CHECK(worker->id == 1);
	atomic_store(task == &n->first ? &n->first_ran : &n->second_ran, true);
}

static void run_long(struct pfu_worker *worker, struct pfu_task *task)
{
	struct nap *n = (struct nap *)task->group;

	CHECK(pfu_pool_hungry(worker->pool) == 1);
	pfu_pool_submit(worker->pool, &n->first);
	wait_for(&n->first_ran);
	wait_for(&n->hooks.idle);
	pfu_pool_submit(worker->pool, &n->second);
	wait_for(&n->second_ran);
}

static void who_waits_is_woken(void **state)
{
	enum { ROUNDS = 200 / UNIT_SLOW };
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct nap n = {
			.long_task = { .run = run_long, .group = &n.group },
			.first = { .run = run_flag, .group = &n.group, .work = 1 },
			.second = { .run = run_flag, .group = &n.group, .work = 1 },
		};
		struct pfu_pool *pool = pool_with_hooks(&n.hooks, 2);

		pfu_pool_submit(pool, &n.long_task);
		pfu_pool_run(pool);
		assert_checks();
		pfu_pool_destroy(pool);
	}
}

/* ---- the bound ---- */

/*
 * Producers that make tasks until the pool is full and then hand themselves in
 * for later: what waits never takes much more memory than the bound.
 */
struct factory {
	struct pfu_group group;
	struct producer {
		struct pfu_task task;
		unsigned int left;
	} producers[6];
	atomic_long waiting, most; /* bytes */
	atomic_uint consumed, suspended;
};

enum { PRODUCT = 100, BATCH = 10, PRODUCTS = 20000, BOUND = 50000, LEVEL = 20000 };

static void run_product(struct pfu_worker *worker, struct pfu_task *task)
{
	struct factory *f = (struct factory *)task->group;

	(void)worker;
	atomic_fetch_sub(&f->waiting, PRODUCT);
	atomic_fetch_add(&f->consumed, 1);
	free(task);
}

static void produce(struct pfu_pool *pool, struct factory *f)
{
	struct pfu_task *first = NULL;
	long now, most = atomic_load(&f->most);
	int i;

	for (i = 0; i < BATCH; i++) {
		struct pfu_task *t = allocate(sizeof(*t));

		*t = (struct pfu_task){
			.run = run_product,
			.group = &f->group,
			.bytes = PRODUCT,
			.work = 1,
			.next = first,
		};
		first = t;
	}
	now = atomic_fetch_add(&f->waiting, PRODUCT * BATCH) + PRODUCT * BATCH;
	while (now > most && !atomic_compare_exchange_weak(&f->most, &most, now))
		;
	pfu_pool_submit(pool, first);
}

static void run_producer(struct pfu_worker *worker, struct pfu_task *task)
{
	struct factory *f = (struct factory *)task->group;
	struct producer *p = (struct producer *)task;

	for (; p->left > 0; p->left -= BATCH) {
		if (pfu_pool_full(worker->pool)) {
			atomic_fetch_add(&f->suspended, 1);
			pfu_pool_submit_later(worker->pool, task);
			return;
		}
		produce(worker->pool, f);
	}
}

static void what_waits_is_bounded(void **state)
{
	static const unsigned int counts[] = { 1, 2, 7, 20 };
	size_t i, j;

	(void)state;
	for (i = 0; i < COUNT(counts); i++) {
		struct pfu_pool_options o = {
			.workers = counts[i],
			.bound = BOUND,
			.resume = LEVEL,
			.start_work = 1,
		};
		struct pfu_pool *pool = pfu_pool_create(&o);
		struct factory f = { 0 };

		assert_non_null(pool);
		for (j = 0; j < COUNT(f.producers); j++) {
			f.producers[j].left = PRODUCTS;
			f.producers[j].task =
				(struct pfu_task){ .run = run_producer, .group = &f.group };
			pfu_pool_submit(pool, &f.producers[j].task);
		}
		pfu_pool_run(pool);
		assert_int_equal(f.consumed, COUNT(f.producers) * PRODUCTS);
		assert_int_equal(f.waiting, 0);
		assert_true(f.suspended > 0);
		/* Each worker may have asked just before the queue was full, and run one. */
		assert_in_range(f.most, 1, BOUND + (long)counts[i] * (BATCH + 1) * PRODUCT);
		pfu_pool_destroy(pool);
	}
}

static void run_nothing(struct pfu_worker *worker, struct pfu_task *task)
{
	(void)worker;
	(void)task;
}

static void full_means_that_many_bytes(void **state)
{
	struct pfu_pool_options o = { .workers = 1, .bound = 100 };
	struct pfu_pool *pool = pfu_pool_create(&o);
	struct pfu_group group = { 0 };
	struct pfu_task a = { .run = run_nothing, .group = &group, .bytes = 60 };
	struct pfu_task b = { .run = run_nothing, .group = &group, .bytes = 40 };

	(void)state;
	assert_non_null(pool);
	assert_false(pfu_pool_full(pool));
	pfu_pool_submit(pool, &a);
	assert_false(pfu_pool_full(pool));
	pfu_pool_charge(pool, 39);
	assert_false(pfu_pool_full(pool));
	pfu_pool_charge(pool, 1);
	assert_true(pfu_pool_full(pool));
	pfu_pool_charge(pool, -40);
	assert_false(pfu_pool_full(pool));
	pfu_pool_submit(pool, &b);
	assert_true(pfu_pool_full(pool));
	pfu_pool_run(pool);
	assert_false(pfu_pool_full(pool));
	pfu_pool_destroy(pool);
}

static void run_hungry(struct pfu_worker *worker, struct pfu_task *task)
{
	(void)task;
	CHECK(pfu_pool_hungry(worker->pool) == 4);
}

/* Workers that are not there yet count: they would start. */
static void hungry_are_those_without_work(void **state)
{
	struct pfu_pool *pool = pool_of(5);
	struct pfu_group group = { 0 };
	struct pfu_task task = { .run = run_hungry, .group = &group };

	(void)state;
	pfu_pool_submit(pool, &task);
	pfu_pool_run(pool);
	assert_checks();
	pfu_pool_destroy(pool);
}

/* ---- as many as prove useful ---- */

struct doze {
	struct pfu_task task;
	pthread_mutex_t *lock; /* NULL: naps do not wait for each other */
};

static void run_doze(struct pfu_worker *worker, struct pfu_task *task)
{
	struct doze *doze = (struct doze *)task;

	if (doze->lock)
		pthread_mutex_lock(doze->lock);
	usleep(2000);
	if (doze->lock)
		pthread_mutex_unlock(doze->lock);
	pfu_pool_did(worker, 1);
}

/* Runs so many naps, with 2 to 32 workers; the number of threads that it took. */
static unsigned int doze_all(unsigned int n, pthread_mutex_t *lock)
{
	struct pfu_pool_options o = {
		.workers = 32,
		.adapt_from = 2,
		.bound = 1 << 20,
		.start_work = 1,
	};
	struct pfu_pool *pool = pfu_pool_create(&o);
	struct doze *dozes = allocate(n * sizeof(*dozes));
	struct pfu_group group = { 0 };
	unsigned int i, threads;

	assert_non_null(pool);
	assert_int_equal(pfu_pool_wanted(pool), 2);
	for (i = 0; i < n; i++) {
		dozes[i].task = (struct pfu_task){ .run = run_doze, .group = &group, .work = 1 };
		dozes[i].task.next = i + 1 < n ? &dozes[i + 1].task : NULL;
		dozes[i].lock = lock;
	}
	pfu_pool_submit(pool, &dozes[0].task);
	assert_int_equal(pfu_pool_run(pool), 0);
	threads = pfu_pool_threads(pool);
	pfu_pool_destroy(pool);
	free(dozes);
	return threads;
}

static void more_workers_where_that_helps(void **state)
{
	(void)state;
	assert_in_range(doze_all(3000, NULL), 9, 32);
}

static void not_more_where_it_does_not(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)state;
	assert_in_range(doze_all(300, &lock), 2, 8);
	pthread_mutex_destroy(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_trees),
		cmocka_unit_test(small_trees_many_times),
		cmocka_unit_test(in_order_trees),
		cmocka_unit_test(one_pool_several_runs),
		cmocka_unit_test(a_run_without_tasks_ends),
		cmocka_unit_test(options_that_make_no_sense),
		cmocka_unit_test(cancelled_in_the_middle),
		cmocka_unit_test(cancelled_from_outside),
		cmocka_unit_test(cancelled_by_a_signal),
		cmocka_unit_test(alone_means_alone),
		cmocka_unit_test(alone_waits_for_children_and_holds),
		cmocka_unit_test(threads_start_while_work_waits),
		cmocka_unit_test(never_more_workers_than_asked_for),
		cmocka_unit_test(no_thread_for_one_task),
		cmocka_unit_test(no_thread_for_little_work),
		cmocka_unit_test(without_any_thread),
		cmocka_unit_test(with_fewer_threads_than_asked_for),
		cmocka_unit_test(signals_are_for_the_caller),
		cmocka_unit_test(hooks_are_called_once_in_each_thread),
		cmocka_unit_test(threads_that_cannot_start_are_done_without),
		cmocka_unit_test(a_caller_that_cannot_start),
		cmocka_unit_test(who_waits_is_woken),
		cmocka_unit_test(what_waits_is_bounded),
		cmocka_unit_test(full_means_that_many_bytes),
		cmocka_unit_test(hungry_are_those_without_work),
		cmocka_unit_test(more_workers_where_that_helps),
		cmocka_unit_test(not_more_where_it_does_not),
	};

	unit_start();
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
