/*
 * queue.c - the bounded work queue: which task runs next.
 *
 * Groups with waiting tasks hang in buckets by the number of workers in them, each
 * a ring that begins with the one to be served next, so that push, pop and done
 * are all O(1) but for the search of a bucket, which is at most the number of
 * workers.
 */
#include <pfu/queue.h>
#include <stdlib.h>

int pfu_queue_init(struct pfu_queue *q, unsigned int workers, size_t resume,
		   enum pfu_queue_order order)
{
	*q = (struct pfu_queue){
		.buckets = workers + 1,
		.resume = resume,
		.in_order = order == PFU_QUEUE_IN_ORDER,
		.in_turn = order == PFU_QUEUE_IN_TURN,
	};
	q->bucket = calloc(q->buckets, sizeof(*q->bucket));
	return q->bucket ? 0 : -1;
}

void pfu_queue_destroy(struct pfu_queue *q)
{
	free(q->bucket);
	q->bucket = NULL;
}

static unsigned int bucket_of(const struct pfu_queue *q, const struct pfu_group *g)
{
	return g->running < q->buckets ? g->running : q->buckets - 1;
}

/* Puts a group into its ring: to be served next, or last of all. */
static void bucket_insert(struct pfu_queue *q, struct pfu_group *g, bool last)
{
	unsigned int i = bucket_of(q, g);
	struct pfu_group *first = q->bucket[i];

	if (first) {
		g->following = first;
		g->prev = first->prev;
		g->prev->following = g;
		first->prev = g;
	} else {
		g->following = g->prev = g;
	}
	if (!first || !last)
		q->bucket[i] = g;
	if (i < q->lowest)
		q->lowest = i;
}

static void bucket_remove(struct pfu_queue *q, struct pfu_group *g)
{
	struct pfu_group **first = &q->bucket[bucket_of(q, g)];

	if (g->following == g) {
		*first = NULL;
		return;
	}
	if (*first == g)
		*first = g->following;
	g->prev->following = g->following;
	g->following->prev = g->prev;
}

/* Puts a group that has been served back, if it has more tasks. */
static void put_back(struct pfu_queue *q, struct pfu_group *g)
{
	g->served = true;
	if (g->first)
		bucket_insert(q, g, q->in_turn);
}

static void stack_push(struct pfu_queue *q, struct pfu_task *task)
{
	task->next = q->stack;
	q->stack = task;
	q->waiting++;
}

static struct pfu_task *stack_pop(struct pfu_queue *q)
{
	struct pfu_task *task = q->stack;

	q->stack = task->next;
	q->waiting--;
	return task;
}

void pfu_queue_push(struct pfu_queue *q, struct pfu_task *task)
{
	struct pfu_group *g = task->group;

	q->bytes += task->bytes;
	q->work += task->work;
	if (q->in_order) {
		stack_push(q, task);
		return;
	}
	task->next = NULL;
	if (g->first) {
		g->last->next = task;
	} else {
		g->first = task;
		bucket_insert(q, g, false);
	}
	g->last = task;
	q->waiting++;
}

void pfu_queue_push_later(struct pfu_queue *q, struct pfu_task *task)
{
	if (q->in_order) {
		pfu_queue_push(q, task);
		return;
	}
	stack_push(q, task);
	q->later++;
}

/*
 * The group to serve.  In turn, new groups come first as long as there is room
 * for what they bring; then those that have been served already, from the end of
 * the rings, as far as there are any.
 */
static struct pfu_group *choose(struct pfu_queue *q)
{
	unsigned int i;

	while (!q->bucket[q->lowest])
		q->lowest++;
	if (q->in_turn && q->bytes >= q->crowded) {
		for (i = q->lowest; i < q->buckets; i++) {
			if (q->bucket[i] && q->bucket[i]->prev->served)
				return q->bucket[i]->prev;
		}
	}
	return q->bucket[q->lowest];
}

/* Counts the worker that takes a task. */
static void count_in(struct pfu_group *g, struct pfu_task *task)
{
	task->beside = task->beside && !g->beside;
	if (task->beside)
		g->beside = true;
	else
		g->running++;
}

static struct pfu_task *pop_ready(struct pfu_queue *q)
{
	struct pfu_group *g = choose(q);
	struct pfu_task *task = g->first;

	bucket_remove(q, g);
	g->first = task->next;
	count_in(g, task);
	put_back(q, g);
	q->waiting--;
	return task;
}

struct pfu_task *pfu_queue_pop(struct pfu_queue *q)
{
	struct pfu_task *task;

	if (q->waiting == 0)
		return NULL;
	if (q->in_order) {
		task = stack_pop(q);
		count_in(task->group, task);
	} else if (q->later && (q->waiting == q->later || q->bytes < q->resume)) {
		task = stack_pop(q);
		q->later--;
		if (task->group->first)
			bucket_remove(q, task->group);
		count_in(task->group, task);
		put_back(q, task->group);
		return task;
	} else {
		task = pop_ready(q);
	}
	q->bytes -= task->bytes;
	q->work -= task->work;
	return task;
}

void pfu_queue_done(struct pfu_queue *q, struct pfu_group *group, bool beside)
{
	if (beside) {
		group->beside = false;
		return;
	}
	if (group->first)
		bucket_remove(q, group);
	group->running--;
	put_back(q, group);
}
