/*
 * pool.c - the pool of threads that runs tasks until none is left.
 *
 * One lock guards the queue and all counters; it is taken once per task (the
 * end of one and the choice of the next are one critical section).  Tasks are
 * chunks of files, so the lock is far from being busy.
 */
#include <errno.h>
#include <pfu/pool.h>
#include <pfu/tune.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Deep enough for our own frames; small, for address space may be limited. */
#define STACK_SIZE ((size_t)512 << 10)

struct thread {
	pthread_t id;
	struct pfu_worker worker;
} __attribute__((aligned(64))); /* each writes in its own cache line only */

struct pfu_pool {
	struct pfu_pool_options options;
	atomic_bool cancelled;

	pthread_mutex_t lock; /* guards all below, and the pool's part of every group and task */
	pthread_cond_t wake;
	struct pfu_queue queue;
	struct thread *threads; /* options.workers of them */
	unsigned int limit;	/* threads to start at most; lowered when starting fails */
	unsigned int started;
	unsigned int idle;    /* waiting on `wake` */
	unsigned int running; /* in a task or in complete() */
	bool open;	      /* pfu_pool_run() is under way */
	struct pfu_tune tune; /* .workers: how many may be running; options.workers unless it adapts */
	bool starved;	      /* since the last look some worker had nothing to do */

	/* For those who ask without the lock: */
	atomic_size_t bytes; /* a copy of queue.bytes */
	atomic_size_t charged;
	atomic_uint hungry;
	atomic_uint wanted; /* a copy of tune.workers */
};

static void *thread_main(void *arg);

struct pfu_pool *pfu_pool_create(const struct pfu_pool_options *options)
{
	struct pfu_pool *pool;

	if (options->workers == 0 || (options->order == PFU_QUEUE_IN_ORDER && options->workers != 1)) {
		errno = EINVAL;
		return NULL;
	}
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->options = *options;
	pool->limit = options->workers;
	pfu_tune_init(&pool->tune,
		      options->adapt_from ? options->adapt_from : options->workers, options->workers);
	atomic_init(&pool->wanted, pool->tune.workers);
	pool->threads = aligned_alloc(_Alignof(struct thread), options->workers * sizeof(*pool->threads));
	if (!pool->threads)
		goto no_threads;
	if (pfu_queue_init(&pool->queue, options->workers, options->resume, options->order) != 0)
		goto no_queue;
	pool->queue.crowded = options->bound / 2;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	return pool;

no_queue:
	free(pool->threads);
no_threads:
	free(pool);
	errno = ENOMEM;
	return NULL;
}

void pfu_pool_destroy(struct pfu_pool *pool)
{
	if (!pool)
		return;
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	pfu_queue_destroy(&pool->queue);
	free(pool->threads);
	free(pool);
}

/* Keeps the unlocked copies in step.  Under the lock. */
static void publish(struct pfu_pool *pool)
{
	unsigned int most = pool->tune.workers < pool->limit ? pool->tune.workers : pool->limit;
	unsigned int busy = pool->started - pool->idle;
	unsigned int spare = most > busy ? most - busy : 0;

	atomic_store_explicit(&pool->bytes, pool->queue.bytes, memory_order_relaxed);
	atomic_store_explicit(&pool->hungry,
			      pool->queue.waiting >= spare ? 0 :
							     spare - (unsigned int)pool->queue.waiting,
			      memory_order_relaxed);
}

static void init_worker(struct pfu_pool *pool, unsigned int id)
{
	struct pfu_worker *w = &pool->threads[id].worker;

	w->pool = pool;
	w->id = id;
	w->local = NULL;
	atomic_init(&w->done, 0);
}

/* Starts thread number pool->started.  Under the lock, which it keeps. */
static void start_thread(struct pfu_pool *pool)
{
	struct thread *t = &pool->threads[pool->started];
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	init_worker(pool, pool->started);
	/*
	 * Signals are for the program's own thread: it alone knows what they mean.  But what a
	 * thread's own write brings about comes to it as it would come to that one; and by
	 * SIGURG, which means nothing by itself, the program can interrupt what a thread waits for.
	 */
	sigfillset(&all);
	sigdelset(&all, SIGPIPE);
	sigdelset(&all, SIGXFSZ);
	sigdelset(&all, SIGURG);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_create(&t->id, &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		pool->limit = pool->started; /* go on with those that there are */
	else
		pool->started++;
}

/* Whether as many workers as are wanted are at work or about to be.  Under the lock. */
static bool is_enough(const struct pfu_pool *pool)
{
	return pool->started - pool->idle >= pool->tune.workers;
}

/*
 * Gets one more worker going if waiting work is worth it.  Each worker that
 * takes a task calls this too, so that one submission of many tasks wakes
 * workers in a chain, not one submitter all of them.  Under the lock.
 */
static void summon(struct pfu_pool *pool)
{
	if (!pool->open || pool->queue.waiting == 0 || is_enough(pool))
		return;
	if (pool->idle > 0)
		pthread_cond_signal(&pool->wake);
	else if (pool->started < pool->limit &&
		 (pool->queue.work >= pool->options.start_work || pool->queue.later))
		start_thread(pool);
}

static void count_up(struct pfu_group *group)
{
	group->pending++;
}

void pfu_pool_submit(struct pfu_pool *pool, struct pfu_task *tasks)
{
	struct pfu_task *next;

	pthread_mutex_lock(&pool->lock);
	for (; tasks; tasks = next) {
		next = tasks->next;
		count_up(tasks->group);
		pfu_queue_push(&pool->queue, tasks);
	}
	publish(pool);
	/* Where starting threads costs something, the submitter is left to take one of them. */
	if (pool->queue.waiting > 1 || pool->options.start_work <= 1)
		summon(pool);
	pthread_mutex_unlock(&pool->lock);
}

void pfu_pool_submit_later(struct pfu_pool *pool, struct pfu_task *task)
{
	pthread_mutex_lock(&pool->lock);
	count_up(task->group);
	pfu_queue_push_later(&pool->queue, task);
	publish(pool);
	pthread_mutex_unlock(&pool->lock);
}

/* Runs the group's task that waits to be alone, once it is.  Under the lock. */
static void check_alone(struct pfu_pool *pool, struct pfu_group *group)
{
	struct pfu_task *task = group->alone;

	if (task && group->pending == 1) {
		group->alone = NULL;
		pfu_queue_push(&pool->queue, task);
	}
}

void pfu_pool_submit_alone(struct pfu_pool *pool, struct pfu_task *task)
{
	pthread_mutex_lock(&pool->lock);
	count_up(task->group);
	task->group->alone = task;
	check_alone(pool, task->group);
	pthread_mutex_unlock(&pool->lock);
}

void pfu_pool_adopt(struct pfu_pool *pool, struct pfu_group *group)
{
	pthread_mutex_lock(&pool->lock);
	count_up(group->parent);
	pthread_mutex_unlock(&pool->lock);
}

void pfu_pool_release(struct pfu_pool *pool, struct pfu_group *parent)
{
	/* Never the last: the task that calls this is pending there too. */
	pthread_mutex_lock(&pool->lock);
	parent->pending--;
	pthread_mutex_unlock(&pool->lock);
}

void pfu_pool_hold(struct pfu_pool *pool, struct pfu_group *group)
{
	pthread_mutex_lock(&pool->lock);
	count_up(group);
	pthread_mutex_unlock(&pool->lock);
}

void pfu_pool_submit_held(struct pfu_pool *pool, struct pfu_task *task)
{
	pthread_mutex_lock(&pool->lock);
	pfu_queue_push(&pool->queue, task);
	publish(pool);
	summon(pool);
	pthread_mutex_unlock(&pool->lock);
}

bool pfu_pool_full(struct pfu_pool *pool)
{
	return atomic_load_explicit(&pool->bytes, memory_order_relaxed) +
		       atomic_load_explicit(&pool->charged, memory_order_relaxed) >=
	       pool->options.bound;
}

void pfu_pool_charge(struct pfu_pool *pool, ptrdiff_t bytes)
{
	atomic_fetch_add_explicit(&pool->charged, (size_t)bytes, memory_order_relaxed);
}

unsigned int pfu_pool_hungry(struct pfu_pool *pool)
{
	return atomic_load_explicit(&pool->hungry, memory_order_relaxed);
}

void pfu_pool_cancel(struct pfu_pool *pool)
{
	atomic_store_explicit(&pool->cancelled, true, memory_order_relaxed);
}

bool pfu_pool_cancelled(const struct pfu_pool *pool)
{
	const atomic_bool *outside = pool->options.cancel;

	return atomic_load_explicit(&pool->cancelled, memory_order_relaxed) ||
	       (outside && atomic_load_explicit(outside, memory_order_relaxed));
}

unsigned int pfu_pool_threads(struct pfu_pool *pool)
{
	unsigned int n;

	pthread_mutex_lock(&pool->lock);
	n = pool->started;
	pthread_mutex_unlock(&pool->lock);
	return n;
}

void pfu_pool_did(struct pfu_worker *worker, unsigned long n)
{
	unsigned long done = atomic_load_explicit(&worker->done, memory_order_relaxed);

	atomic_store_explicit(&worker->done, done + n, memory_order_relaxed);
}

unsigned int pfu_pool_wanted(struct pfu_pool *pool)
{
	return atomic_load_explicit(&pool->wanted, memory_order_relaxed);
}

/*
 * Counts down a group by what has just ended in it; completes it, and its
 * parents in turn, as far as that goes.  Called and returns with the lock held;
 * lets go of it around each complete().
 */
static void count_down(struct pfu_worker *worker, struct pfu_group *group)
{
	struct pfu_pool *pool = worker->pool;

	while (group) {
		struct pfu_group *parent = group->parent;
		bool done;

		if (--group->pending > 0) {
			check_alone(pool, group);
			return;
		}
		if (group->complete) {
			pthread_mutex_unlock(&pool->lock);
			done = group->complete(worker, group);
			pthread_mutex_lock(&pool->lock);
			if (!done)
				return;
		}
		group = parent;
	}
}

/* Waits until there may be a task.  False when there will be none any more.  Under the lock. */
static bool wait_for_work(struct pfu_worker *worker)
{
	struct pfu_pool *pool = worker->pool;

	if (pool->running == 0) {
		/* Nobody is left who could submit. */
		pthread_cond_broadcast(&pool->wake);
		return false;
	}
	pool->starved = pool->starved || pool->queue.waiting == 0;
	pool->idle++;
	publish(pool);
	if (pool->options.worker_idle) {
		pthread_mutex_unlock(&pool->lock);
		pool->options.worker_idle(worker, pool->options.ctx);
		pthread_mutex_lock(&pool->lock);
	}
	while ((pool->queue.waiting == 0 || is_enough(pool)) && pool->running > 0)
		pthread_cond_wait(&pool->wake, &pool->lock);
	pool->idle--;
	if (pool->options.worker_busy)
		pool->options.worker_busy(worker, pool->options.ctx);
	return true;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/*
 * Whether it is a limit that holds the workers back.  What is done then says nothing
 * of what another number of them would do.  Under the lock.
 */
static bool is_limited(const struct pfu_pool *pool)
{
	return pool->options.limits &&
	       pfu_limits_asleep(pool->options.limits) > pool->tune.workers / 2;
}

/* Reconsiders the number of workers.  Under the lock. */
static void adapt(struct pfu_pool *pool)
{
	bool busy = !pool->starved && pool->running == pool->tune.workers && !is_limited(pool);
	uint64_t done = 0;
	unsigned int i;

	for (i = 0; i < pool->started; i++)
		done += atomic_load_explicit(&pool->threads[i].worker.done, memory_order_relaxed);
	pool->starved = pool->idle > 0 && pool->queue.waiting == 0;
	if (pfu_tune_look(&pool->tune, now_us(), done, busy)) {
		atomic_store_explicit(&pool->wanted, pool->tune.workers, memory_order_relaxed);
		publish(pool);
	}
}

/* Whether this worker, which is about to take a task, is one more than wanted.  Under the lock. */
static bool surplus(const struct pfu_pool *pool)
{
	return pool->running >= pool->tune.workers;
}

static void work(struct pfu_worker *worker)
{
	struct pfu_pool *pool = worker->pool;
	struct pfu_task *task;
	struct pfu_group *group;
	bool beside;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		task = surplus(pool) ? NULL : pfu_queue_pop(&pool->queue);
		if (!task) {
			if (!wait_for_work(worker))
				break;
			continue;
		}
		pool->running++;
		publish(pool);
		summon(pool);
		pthread_mutex_unlock(&pool->lock);

		group = task->group;
		beside = task->beside;
		task->run(worker, task);

		pthread_mutex_lock(&pool->lock);
		pfu_queue_done(&pool->queue, group, beside);
		count_down(worker, group);
		if (pool->options.adapt_from)
			adapt(pool);
		pool->running--;
	}
	pthread_mutex_unlock(&pool->lock);
}

static int start_worker(struct pfu_worker *worker)
{
	struct pfu_pool_options *o = &worker->pool->options;

	return o->worker_start ? o->worker_start(worker, o->ctx) : 0;
}

static void stop_worker(struct pfu_worker *worker)
{
	struct pfu_pool_options *o = &worker->pool->options;

	if (o->worker_stop)
		o->worker_stop(worker, o->ctx);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	if (start_worker(&t->worker) == 0) {
		work(&t->worker);
		stop_worker(&t->worker);
	}
	return NULL;
}

int pfu_pool_run(struct pfu_pool *pool)
{
	struct pfu_worker *self = &pool->threads[0].worker;
	unsigned int i;
	int rc = -1;

	pthread_mutex_lock(&pool->lock);
	init_worker(pool, 0);
	pool->started = 1;
	pool->open = true;
	pthread_mutex_unlock(&pool->lock);

	if (start_worker(self) == 0) {
		work(self);
		/* All has run: no thread starts another any more, and `started` stands. */
		for (i = 1; i < pool->started; i++)
			pthread_join(pool->threads[i].id, NULL);
		stop_worker(self);
		rc = 0;
	}
	pool->open = false;
	return rc;
}
