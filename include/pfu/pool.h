/*
 * pfu/pool.h - the pool of threads that runs tasks until none is left.
 *
 * The caller of pfu_pool_run() is worker 0; further threads start one by one
 * while more work waits than the running ones will get to soon, so that a job
 * of one small file starts none.  Nothing ever blocks on a full queue, and a
 * task never waits for another: it parks itself (pfu_pool_hold(),
 * pfu_pool_submit_alone()) and its worker goes on with something else.
 *
 * Completion is by counting: a group is complete when none of its tasks, holds
 * and child groups is pending.  The worker that brought the count to zero calls
 * group->complete(), then counts down the parent, and so on upwards in a loop:
 * post-order without recursion.
 *
 * The pool knows nothing of files.
 */
#ifndef PFU_POOL_H
#define PFU_POOL_H

#include <pfu/atomic.h>
#include <pfu/queue.h>
#include <pfu/rate.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_pool;

/* One thread of the pool, as its tasks see it. */
struct pfu_worker {
	struct pfu_pool *pool;
	unsigned int id; /* 0 is the caller of pfu_pool_run() */
	void *local;	 /* whatever worker_start() left here */
	atomic_ulong done; /* written by this worker only: see pfu_pool_did() */
};

struct pfu_pool_options {
	unsigned int workers; /* at most so many threads, the caller's included; at least 1 */
	unsigned int adapt_from; /* not 0: as many as prove useful (pfu/tune.h), at first so many */
	size_t bound;	      /* bytes in waiting tasks beyond which pfu_pool_full() is true */
	size_t resume;	      /* bytes in waiting tasks below which later tasks run again */
	unsigned int start_work; /* waiting work (in files) that justifies one more thread */
	enum pfu_queue_order order; /* IN_ORDER: one worker only */
	const atomic_bool *cancel; /* set from outside: the same as pfu_pool_cancel(); or NULL */
	const struct pfu_limits *limits; /* that tasks keep to, and more workers do not raise; or NULL */
	void *ctx;		 /* for the functions below, which may be NULL */
	/*
	 * Called in each thread before its first task.  -1: this thread ends
	 * again and the others go on without it; for worker 0: the run fails.
	 */
	int (*worker_start)(struct pfu_worker *worker, void *ctx);
	/* Called in each thread before it waits for work. */
	void (*worker_idle)(struct pfu_worker *worker, void *ctx);
	/* Called when it has done so and goes on; it must not call the pool. */
	void (*worker_busy)(struct pfu_worker *worker, void *ctx);
	/* Called in each thread after its last task. */
	void (*worker_stop)(struct pfu_worker *worker, void *ctx);
};

/* Makes a pool; nothing runs yet.  NULL with errno ENOMEM or EINVAL. */
struct pfu_pool *pfu_pool_create(const struct pfu_pool_options *options);

/* Frees a pool in which nothing runs. */
void pfu_pool_destroy(struct pfu_pool *pool);

/*
 * Runs all tasks submitted so far and all that they submit; returns when none
 * is left.  Threads started meanwhile have ended by then.  Call from one thread
 * at a time.  Signals are blocked in the threads that it starts.  Returns 0, or -1
 * with nothing run if worker_start() failed in the calling thread.
 */
int pfu_pool_run(struct pfu_pool *pool);

/*
 * Hands in a list of n tasks, linked by ->next and ended by NULL.  Each counts
 * as pending in its group until it has run.  Safe from every thread and before
 * pfu_pool_run().
 */
void pfu_pool_submit(struct pfu_pool *pool, struct pfu_task *tasks);

/*
 * The same for one task that should wait until the queue has drained: a
 * producer that found pfu_pool_full() hands itself in and returns.
 */
void pfu_pool_submit_later(struct pfu_pool *pool, struct pfu_task *task);

/*
 * The same for one task that must run when nothing else of its group is pending.
 * There may be one such task in a group at a time.
 */
void pfu_pool_submit_alone(struct pfu_pool *pool, struct pfu_task *task);

/* Makes a group count as pending in its parent.  Once, before its first task. */
void pfu_pool_adopt(struct pfu_pool *pool, struct pfu_group *group);

/*
 * Counts down the parent of a group that complete() had put off (see below).  To
 * be called by a task of the parent.
 */
void pfu_pool_release(struct pfu_pool *pool, struct pfu_group *parent);

/*
 * Keeps a group from completing until pfu_pool_submit_held() hands in the task
 * for which the hold was taken.  Safe from every thread.  It does not keep
 * pfu_pool_run() from returning when no task is left that could hand it in.
 */
void pfu_pool_hold(struct pfu_pool *pool, struct pfu_group *group);
void pfu_pool_submit_held(struct pfu_pool *pool, struct pfu_task *task);

/* Whether producers should stop producing (a hint; taken without the lock). */
bool pfu_pool_full(struct pfu_pool *pool);

/*
 * Counts memory that a producer holds back and has not submitted yet (or, with
 * a negative number, no longer holds) against the bound.
 */
void pfu_pool_charge(struct pfu_pool *pool, ptrdiff_t bytes);

/* The number of workers that would find nothing to do just now (a hint). */
unsigned int pfu_pool_hungry(struct pfu_pool *pool);

/*
 * Asks that the run end soon.  Tasks still run, so that what they own is freed,
 * but see pfu_pool_cancelled() true.  Async-signal-safe, safe from every thread.
 */
void pfu_pool_cancel(struct pfu_pool *pool);
bool pfu_pool_cancelled(const struct pfu_pool *pool);

/* The number of threads that have run so far, worker 0 included. */
unsigned int pfu_pool_threads(struct pfu_pool *pool);

/* The number of workers that are wanted just now: options.workers, or fewer where it adapts (a hint). */
unsigned int pfu_pool_wanted(struct pfu_pool *pool);

/*
 * Says that a worker has done n things of about the same cost.  By what is done in
 * all of them together the pool judges how many workers are useful.
 */
void pfu_pool_did(struct pfu_worker *worker, unsigned long n);

/*
 * The contract of group->complete(worker, group): called by one worker, without
 * locks, when nothing of the group is pending.  true: the group is done, is not
 * touched again by the pool (so complete() may free it) and its parent is
 * counted down.  false: it has submitted more work to its group (and will be called
 * again), or to the parent (which is to call pfu_pool_release()); the parent goes on
 * waiting, and complete() must not touch the group after that submission.
 */

#ifdef __cplusplus
}
#endif

#endif
