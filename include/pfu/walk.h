/*
 * pfu/walk.h - the directory walker: turns directories into work.
 *
 * A directory that is being worked on is a `struct pfu_node`: a group of the
 * pool with one task that lists it and tasks for chunks of its entries.  Listing
 * is suspendable: when the queue is full the node puts itself back with its
 * position and its worker runs chunks instead.  When the listing, all chunks and
 * all directories below are done, the node is left, and its parent counted down.
 *
 * What an entry means is for the user of the walker (a copy, a removal) to say,
 * in a table of functions.  The user's own data embeds the node as its first
 * member.  The functions are called by any worker, each with that worker's
 * `struct pfu_local`.
 *
 * With one worker the walk is strictly in order: entries in the order of the
 * listing, each directory when it is met, completed before what follows it.
 */
#ifndef PFU_WALK_H
#define PFU_WALK_H

#include <pfu/closer.h>
#include <pfu/dir.h>
#include <pfu/filter.h>
#include <pfu/fsys.h>
#include <pfu/pool.h>
#include <pfu/rate.h>
#include <pfu/tally.h>
#include <pfu/atomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_walk;

/* What one worker keeps for itself; nobody else touches it. */
struct pfu_local {
	struct pfu_worker *worker;
	struct pfu_walk *walk;
	const struct pfu_fsys *fs;
	struct pfu_dirfds *dirfds; /* its own, or the one that all share */
	struct pfu_closer closer;
	bool own_table; /* this thread's descriptors are its own */
	struct pfu_dirfd *at[2]; /* the user's: directories in use between begin() and end() */
	struct pfu_counter *counter; /* of the walk's tally, or NULL */
	uint64_t moved; /* bytes that the user of the walk has moved; tells what an entry costs */
	char *dirbuf;	/* for listing; made when first needed */
	char *iobuf;	/* see pfu_local_iobuf() */
};

/* An entry of a directory as its listing has it. */
struct pfu_entry {
	const char *name;
	uint64_t ino;
	unsigned char type; /* DT_* */
};

/* A directory being worked on. */
struct pfu_node {
	struct pfu_group group;
	struct pfu_task listing;
	struct pfu_walk *walk;
	struct pfu_dir *dir;	/* the one to list; holds a reference */
	struct pfu_scope *scope; /* with a filter: set when the node is first listed; holds a reference */
	int64_t position;	/* where the listing goes on */
	bool entered;	/* enter() has been called */
	bool refused;	/* and said no */
	bool listed;	/* part of it has been listed before: seek first */
	bool guessed;	/* that the listing was complete is a guess (short_is_end) */
	bool sure;	/* no guess for this one any more */
	bool shared;	/* share() has been called */
	bool counted;	/* the tally knows that its listing is to come */
	/* The user's: set when the directory cannot go; a guess is then made sure. */
	atomic_bool kept;
};

enum pfu_did {
	PFU_DONE,    /* the entry is dealt with */
	PFU_DESCEND, /* it is a directory: descend() into it */
};

struct pfu_walk_ops {
	/*
	 * Makes the node for a directory found in `parent`; its user part is the
	 * user's to fill.  NULL: leave it out (what went wrong has been reported).
	 * Ends with pfu_node_init().
	 */
	struct pfu_node *(*descend)(struct pfu_local *l, struct pfu_node *parent,
				    const struct pfu_entry *entry);
	/* Called before a node is listed.  false: it is not to be listed. */
	bool (*enter)(struct pfu_local *l, struct pfu_node *node);
	/*
	 * Called before other workers, with descriptor tables of their own, may
	 * come to open what the node works in: it should be identified.
	 */
	void (*share)(struct pfu_local *l, struct pfu_node *node);
	/*
	 * Called before and after a run of entries of one node, by one worker.
	 * false from begin(): the entries are passed over.
	 */
	bool (*begin)(struct pfu_local *l, struct pfu_node *node);
	enum pfu_did (*entry)(struct pfu_local *l, struct pfu_node *node,
			      const struct pfu_entry *entry);
	void (*end)(struct pfu_local *l, struct pfu_node *node);
	/*
	 * Called for an entry that the filter leaves out; neither descend() nor entry()
	 * will be.  May be NULL.
	 */
	void (*left_out)(struct pfu_local *l, struct pfu_node *node, const struct pfu_entry *entry);
	/* Called when a listing fails, with the errno; what was listed before is worked on. */
	void (*list_failed)(struct pfu_local *l, struct pfu_node *node, int errnum);
	/*
	 * Called when nothing of the node is pending, also when the run was
	 * cancelled.  true: it is done; the user part has been given up, and the
	 * walker frees the node.  false: list it once more from its start.
	 */
	bool (*leave)(struct pfu_local *l, struct pfu_node *node);
};

struct pfu_walk_options {
	const struct pfu_fsys *fs;
	const struct pfu_walk_ops *ops;
	const struct pfu_filter *filter; /* what is left out; NULL: nothing */
	bool filter_follows; /* a symbolic link to a directory is one to the filter */
	unsigned int workers; /* 0: by the number of processors or, over a network, what proves useful */
	unsigned int chunk;   /* entries a work item; 0: chosen by the walker */
	bool network;	      /* a system call may take a round trip */
	/*
	 * Over a network, where a worker that waits for a directory's lock waits for
	 * round trips: enter() (mkdir) or leave() (rmdir) takes the lock of the
	 * directory above, and so is work in that one; groups are served in turn.
	 */
	bool enter_above, leave_above, in_turn;
	bool one_table;	      /* all workers share one descriptor table */
	bool list_ahead;      /* list all (as far as memory is allowed) before any entry is worked on */
	bool short_is_end;    /* a listing that leaves room in its buffer is taken for complete */
	bool sort;	      /* with one worker: entries in the order of their inodes */
	size_t bound;	      /* bytes of entries and directories that may wait to be worked on; 0: 12 MiB */
	size_t iobuf_size;    /* bytes of each worker's pfu_local_iobuf() */
	const atomic_bool *cancel; /* set from outside to end the run soon; or NULL */
	const struct pfu_limits *limits; /* that the user of the walk keeps to; or NULL */
	struct pfu_tally *tally; /* what is found is counted there; or NULL */
	void *ctx;	      /* for the user; pfu_walk_ctx() */
};

/* Makes a walk; NULL with errno ENOMEM. */
struct pfu_walk *pfu_walk_new(const struct pfu_walk_options *options);
void pfu_walk_free(struct pfu_walk *walk);
void *pfu_walk_ctx(const struct pfu_walk *walk);
struct pfu_pool *pfu_walk_pool(const struct pfu_walk *walk);

/* The group of the operands: tasks that start the walk belong to it, and their nodes are its children. */
struct pfu_group *pfu_walk_root(struct pfu_walk *walk);

/* Runs task, which belongs to the root, and all that comes of it.  0, or -1
 * with errno ENOMEM and nothing run, or EDEADLK if a parked task was never handed in. */
int pfu_walk_run(struct pfu_walk *walk, struct pfu_task *task);

/* How a walk has been, or will be, run. */
struct pfu_walk_manner {
	bool network;
	bool chosen;	      /* the number of workers, by the walker */
	unsigned int first, most; /* workers to begin with, and at most */
	unsigned int threads; /* that were started, the caller's included */
	unsigned int chunk;   /* entries a work item; 0: by the walker */
};

void pfu_walk_manner(struct pfu_walk *walk, struct pfu_walk_manner *manner);

/*
 * Fills in the walker's part of a node for the directory `dir` (whose reference
 * goes to the node), child of `parent` or, NULL, of the root.
 */
void pfu_node_init(struct pfu_walk *walk, struct pfu_node *node, struct pfu_node *parent,
		   struct pfu_dir *dir);

/* Submits a node that descend() did not return (an operand). */
void pfu_walk_submit(struct pfu_walk *walk, struct pfu_node *node);

/*
 * To be called before a task that works in the node is submitted by its user: so
 * that workers with descriptor tables of their own can open what it works in.
 */
void pfu_walk_share(struct pfu_local *l, struct pfu_node *node);

/*
 * Puts an entry aside, to be worked on again when the returned task is handed to
 * pfu_pool_submit_held(); until then its node stays pending.  NULL with errno
 * ENOMEM.
 */
struct pfu_task *pfu_walk_park(struct pfu_local *l, struct pfu_node *node,
			       const struct pfu_entry *entry);

/* The worker's local part. */
static inline struct pfu_local *pfu_local(struct pfu_worker *worker)
{
	return (struct pfu_local *)worker->local;
}

/*
 * Says that this worker has moved so many bytes of an entry that it works on, where
 * that is not the whole of its work on it; see pfu_pool_did().
 */
void pfu_local_did(struct pfu_local *l, uint64_t bytes);

/* A buffer of iobuf_size bytes that is this worker's own, page aligned; NULL with ENOMEM. */
char *pfu_local_iobuf(struct pfu_local *l);

/* Whether the run was cancelled. */
bool pfu_local_cancelled(const struct pfu_local *l);

#ifdef __cplusplus
}
#endif

#endif
