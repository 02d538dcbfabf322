/*
 * pfu/queue.h - the bounded work queue: which task runs next.
 *
 * A task belongs to a group (for the tree programs: a chunk belongs to its
 * directory).  The queue hands out tasks of the group that has the fewest
 * workers in it, and among those of the group that was touched last.  The first
 * rule spreads creates and unlinks over as many directory locks as there are;
 * the second makes the walk depth first, which keeps the number of groups in
 * progress near depth x workers.
 *
 * Where a lock is held for a round trip, finishing group by group would leave a
 * few groups, and so a few locks, for all workers at the end.  "In turn", groups
 * are served one after the other instead, new ones first, so that all of them
 * end at about the same time; as long as memory allows.
 *
 * "Later" tasks (suspended listings) are held back until the queue has drained
 * below a set level: they are what fills it.
 *
 * The queue never blocks and never refuses: its `bytes` tell those who produce
 * when they had better consume.  It is not locked; its owner is the pool, under
 * the pool's lock.
 */
#ifndef PFU_QUEUE_H
#define PFU_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_worker;
struct pfu_group;

/* A piece of work, embedded in what it works on. */
struct pfu_task {
	/* Set by its maker: */
	void (*run)(struct pfu_worker *worker, struct pfu_task *task);
	struct pfu_group *group;
	size_t bytes;	   /* memory that waits with the task; counted in pfu_queue.bytes */
	unsigned int work; /* rough size in files; tells whether a further thread is worth starting */
	/*
	 * One such task at a time does not count as a worker in its group: it has
	 * something to do before it comes to the group's lock, while another has it.
	 * Set to false by the queue where it does count.
	 */
	bool beside;
	/* The queue's: */
	struct pfu_task *next;
};

/* What the tasks of one group have in common, embedded in what they work on. */
struct pfu_group {
	/* Set by its maker: */
	struct pfu_group *parent; /* counted as pending there until this one is complete; or NULL */
	/* Called once nothing of the group is pending; see pfu/pool.h. */
	bool (*complete)(struct pfu_worker *worker, struct pfu_group *group);
	/* The queue's: */
	struct pfu_task *first, *last;	      /* tasks that wait */
	struct pfu_group *prev, *following;   /* neighbours in the bucket */
	unsigned int running;		      /* workers in this group */
	bool served;			      /* a task of it has been taken */
	bool beside;			      /* a worker is in it that does not count */
	/* The pool's: */
	size_t pending;		/* tasks not yet done, children not yet complete, holds */
	struct pfu_task *alone; /* to run when it is the only thing pending */
};

struct pfu_queue {
	struct pfu_group **bucket; /* bucket[n]: groups with tasks waiting and n workers in them */
	unsigned int buckets;
	unsigned int lowest; /* no bucket below this one holds anything */
	struct pfu_task *stack; /* in order: all tasks; else: the "later" ones */
	bool in_order, in_turn;
	size_t crowded; /* in turn: bytes from which on new groups come last */
	size_t resume;	 /* later tasks run once `bytes` is below this */
	size_t bytes;	 /* of all tasks but the later ones */
	size_t work;	 /* of all tasks but the later ones */
	size_t waiting;	 /* number of tasks, the later ones included */
	size_t later;	 /* number of later tasks */
};

enum pfu_queue_order {
	PFU_QUEUE_NEWEST,   /* the group touched last comes first */
	PFU_QUEUE_IN_TURN,  /* groups are served in turn */
	PFU_QUEUE_IN_ORDER, /* a plain stack: the task pushed last runs first, whatever its group;
			       with one worker, the strict order of a recursive walk */
};

/*
 * Makes an empty queue for groups of up to `workers` workers; in turn, the
 * caller also sets q->crowded.  Returns 0, or -1 with errno ENOMEM.
 */
int pfu_queue_init(struct pfu_queue *q, unsigned int workers, size_t resume,
		   enum pfu_queue_order order);

/* Frees what pfu_queue_init() took.  The queue must be empty. */
void pfu_queue_destroy(struct pfu_queue *q);

/* Adds a task; first in, first out within its group. */
void pfu_queue_push(struct pfu_queue *q, struct pfu_task *task);

/* Adds a task that runs only when little else waits; last in, first out. */
void pfu_queue_push_later(struct pfu_queue *q, struct pfu_task *task);

/*
 * Takes the task to run next, or returns NULL when none waits.  Its group
 * counts one worker more, if the task is not ->beside, until pfu_queue_done().
 */
struct pfu_task *pfu_queue_pop(struct pfu_queue *q);

/* Says that a task of this group, taken by pfu_queue_pop() and ->beside or not, has run. */
void pfu_queue_done(struct pfu_queue *q, struct pfu_group *group, bool beside);

#ifdef __cplusplus
}
#endif

#endif
