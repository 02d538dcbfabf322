/*
 * queue.c - the bounded work queue: which task runs next.
 *
 * Groups with waiting tasks hang in buckets by the number of workers in them,
 * newest first, so that push, pop and done are all O(1) but for the search of
 * the lowest bucket, which is at most the number of workers.
 */
#include <pfu/queue.h>
#include <stdlib.h>

int pfu_queue_init(struct pfu_queue *q, unsigned int workers, size_t resume, bool in_order)
{
	*q = (struct pfu_queue){ .buckets = workers + 1, .resume = resume, .in_order = in_order };
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

static void bucket_insert(struct pfu_queue *q, struct pfu_group *g)
{
	unsigned int i = bucket_of(q, g);

	g->prev = NULL;
	g->following = q->bucket[i];
	if (g->following)
		g->following->prev = g;
	q->bucket[i] = g;
	if (i < q->lowest)
		q->lowest = i;
}

static void bucket_remove(struct pfu_queue *q, struct pfu_group *g)
{
	if (g->prev)
		g->prev->following = g->following;
	else
		q->bucket[bucket_of(q, g)] = g->following;
	if (g->following)
		g->following->prev = g->prev;
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
		bucket_insert(q, g);
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

/* Takes the first task of the newest group with the fewest workers. */
static struct pfu_task *pop_ready(struct pfu_queue *q)
{
	struct pfu_task *task;
	struct pfu_group *g;

	while (!q->bucket[q->lowest])
		q->lowest++;
	g = q->bucket[q->lowest];
	bucket_remove(q, g);
	task = g->first;
	g->first = task->next;
	g->running++;
	if (g->first)
		bucket_insert(q, g);
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
		task->group->running++;
	} else if (q->later && (q->waiting == q->later || q->bytes < q->resume)) {
		task = stack_pop(q);
		q->later--;
		if (task->group->first)
			bucket_remove(q, task->group);
		task->group->running++;
		if (task->group->first)
			bucket_insert(q, task->group);
		return task;
	} else {
		task = pop_ready(q);
	}
	q->bytes -= task->bytes;
	q->work -= task->work;
	return task;
}

void pfu_queue_done(struct pfu_queue *q, struct pfu_group *group)
{
	if (group->first)
		bucket_remove(q, group);
	group->running--;
	if (group->first)
		bucket_insert(q, group);
}
