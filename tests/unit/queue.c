/*
 * queue.c - tests of pfu/queue.h: which task runs next, and what is counted.
 */
#include "unit.h"
#include <pfu/queue.h>

static struct pfu_task task_of(struct pfu_group *group)
{
	return (struct pfu_task){ .group = group };
}

static void start(struct pfu_queue *q, unsigned int workers, size_t resume,
		  enum pfu_queue_order order)
{
	assert_int_equal(pfu_queue_init(q, workers, resume, order), 0);
	assert_null(pfu_queue_pop(q));
}

static void finish(struct pfu_queue *q)
{
	assert_null(pfu_queue_pop(q));
	assert_int_equal(q->waiting, 0);
	assert_int_equal(q->later, 0);
	assert_int_equal(q->bytes, 0);
	assert_int_equal(q->work, 0);
	pfu_queue_destroy(q);
}

static void first_in_first_out_within_a_group(void **state)
{
	struct pfu_queue q;
	struct pfu_group g = { 0 };
	struct pfu_task t[5];
	size_t i;

	(void)state;
	start(&q, 8, 0, PFU_QUEUE_NEWEST);
	for (i = 0; i < 3; i++) {
		t[i] = task_of(&g);
		pfu_queue_push(&q, &t[i]);
	}
	assert_ptr_equal(pfu_queue_pop(&q), &t[0]);
	for (; i < COUNT(t); i++) {
		t[i] = task_of(&g);
		pfu_queue_push(&q, &t[i]);
	}
	for (i = 1; i < COUNT(t); i++)
		assert_ptr_equal(pfu_queue_pop(&q), &t[i]);
	for (i = 0; i < COUNT(t); i++)
		pfu_queue_done(&q, &g, false);
	assert_int_equal(g.running, 0);
	finish(&q);
}

static void one_beside_does_not_count(void **state)
{
	struct pfu_queue q;
	struct pfu_group g[2] = { 0 };
	struct pfu_task t[4], u = task_of(&g[0]);
	size_t i;

	(void)state;
	start(&q, 8, 0, PFU_QUEUE_NEWEST);
	pfu_queue_push(&q, &u);
	for (i = 0; i < COUNT(t); i++) {
		t[i] = task_of(&g[1]);
		t[i].beside = true;
		pfu_queue_push(&q, &t[i]);
	}
	/* The first is beside, the second counts, and then the other group has its turn. */
	assert_ptr_equal(pfu_queue_pop(&q), &t[0]);
	assert_true(t[0].beside);
	assert_int_equal(g[1].running, 0);
	assert_ptr_equal(pfu_queue_pop(&q), &t[1]);
	assert_false(t[1].beside);
	assert_int_equal(g[1].running, 1);
	assert_ptr_equal(pfu_queue_pop(&q), &u);
	/* Whichever of the two is done first, its place is free again. */
	pfu_queue_done(&q, &g[1], false);
	assert_ptr_equal(pfu_queue_pop(&q), &t[2]);
	assert_false(t[2].beside);
	pfu_queue_done(&q, &g[1], true);
	assert_ptr_equal(pfu_queue_pop(&q), &t[3]);
	assert_true(t[3].beside);
	pfu_queue_done(&q, &g[1], true);
	pfu_queue_done(&q, &g[1], false);
	pfu_queue_done(&q, &g[0], false);
	assert_int_equal(g[1].running, 0);
	assert_false(g[1].beside);
	finish(&q);
}

static void newest_group_first(void **state)
{
	struct pfu_queue q;
	struct pfu_group g[3] = { 0 };
	struct pfu_task t[3];
	size_t i;

	(void)state;
	start(&q, 4, 0, PFU_QUEUE_NEWEST);
	for (i = 0; i < 3; i++) {
		t[i] = task_of(&g[i]);
		pfu_queue_push(&q, &t[i]);
	}
	for (i = 3; i-- > 0;) {
		assert_ptr_equal(pfu_queue_pop(&q), &t[i]);
		pfu_queue_done(&q, &g[i], false);
	}
	finish(&q);
}

/* However new the other is, the group with fewer workers in it is served. */
static void fewest_workers_first(void **state)
{
	struct pfu_queue q;
	struct pfu_group a = { 0 }, b = { 0 };
	struct pfu_task ta[4], tb[4];
	size_t i;

	(void)state;
	start(&q, 8, 0, PFU_QUEUE_NEWEST);
	for (i = 0; i < 4; i++) {
		ta[i] = task_of(&a);
		pfu_queue_push(&q, &ta[i]);
	}
	assert_ptr_equal(pfu_queue_pop(&q), &ta[0]); /* a: 1 worker */
	assert_ptr_equal(pfu_queue_pop(&q), &ta[1]); /* a: 2 */
	for (i = 0; i < 4; i++) {
		tb[i] = task_of(&b);
		pfu_queue_push(&q, &tb[i]);
	}
	assert_ptr_equal(pfu_queue_pop(&q), &tb[0]); /* b: 1 */
	assert_ptr_equal(pfu_queue_pop(&q), &tb[1]); /* b: 2, touched last */
	assert_ptr_equal(pfu_queue_pop(&q), &tb[2]); /* b: 3 */
	assert_ptr_equal(pfu_queue_pop(&q), &ta[2]); /* a: 3, touched last */
	pfu_queue_done(&q, &b, false);			     /* b: 2 */
	assert_ptr_equal(pfu_queue_pop(&q), &tb[3]);
	assert_ptr_equal(pfu_queue_pop(&q), &ta[3]);
	assert_int_equal(a.running, 4);
	assert_int_equal(b.running, 3);
	for (i = 0; i < 4; i++)
		pfu_queue_done(&q, &a, false);
	for (i = 0; i < 3; i++)
		pfu_queue_done(&q, &b, false);
	finish(&q);
}

static void later_tasks_wait_for_the_queue_to_drain(void **state)
{
	struct pfu_queue q;
	struct pfu_group g = { 0 }, h = { 0 };
	struct pfu_task t[4], later[2];
	size_t i;

	(void)state;
	start(&q, 4, 100, PFU_QUEUE_NEWEST);
	for (i = 0; i < 2; i++) {
		later[i] = task_of(&h);
		later[i].bytes = 1000;
		later[i].work = 1000;
		pfu_queue_push_later(&q, &later[i]);
	}
	for (i = 0; i < 4; i++) {
		t[i] = task_of(&g);
		t[i].bytes = 50;
		t[i].work = 3;
		pfu_queue_push(&q, &t[i]);
	}
	assert_int_equal(q.waiting, 6);
	assert_int_equal(q.later, 2);
	assert_int_equal(q.bytes, 200);
	assert_int_equal(q.work, 12);
	for (i = 0; i < 3; i++) /* 200, 150 and 100 bytes wait: not below the level */
		assert_ptr_equal(pfu_queue_pop(&q), &t[i]);
	assert_int_equal(q.bytes, 50);
	assert_ptr_equal(pfu_queue_pop(&q), &later[1]);
	assert_ptr_equal(pfu_queue_pop(&q), &later[0]);
	assert_int_equal(q.later, 0);
	assert_ptr_equal(pfu_queue_pop(&q), &t[3]);
	for (i = 0; i < 4; i++)
		pfu_queue_done(&q, &g, false);
	pfu_queue_done(&q, &h, false);
	pfu_queue_done(&q, &h, false);
	finish(&q);
}

/* With a level of 0 they run when nothing else waits. */
static void later_tasks_run_last(void **state)
{
	struct pfu_queue q;
	struct pfu_group g = { 0 };
	struct pfu_task t = task_of(&g), later = task_of(&g);

	(void)state;
	start(&q, 1, 0, PFU_QUEUE_NEWEST);
	pfu_queue_push_later(&q, &later);
	pfu_queue_push(&q, &t); /* of no bytes at all */
	assert_ptr_equal(pfu_queue_pop(&q), &t);
	pfu_queue_done(&q, &g, false);
	assert_ptr_equal(pfu_queue_pop(&q), &later);
	pfu_queue_done(&q, &g, false);
	finish(&q);
}

/* New groups first, in turn after that; those that were served, once memory is short. */
static void in_turn_groups_end_together(void **state)
{
	struct pfu_queue q;
	struct pfu_group a = { 0 }, b = { 0 }, c = { 0 };
	struct pfu_task ta[4], tb[4], tc[2];
	size_t i;

	(void)state;
	start(&q, 4, 0, PFU_QUEUE_IN_TURN);
	q.crowded = 1000;
	for (i = 0; i < 4; i++) {
		ta[i] = task_of(&a);
		pfu_queue_push(&q, &ta[i]);
		tb[i] = task_of(&b);
		pfu_queue_push(&q, &tb[i]);
	}
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(pfu_queue_pop(&q), &tb[i]);
		pfu_queue_done(&q, &b, false);
		assert_ptr_equal(pfu_queue_pop(&q), &ta[i]);
		pfu_queue_done(&q, &a, false);
	}
	for (i = 0; i < 2; i++) {
		tc[i] = task_of(&c);
		tc[i].bytes = 1000;
		pfu_queue_push(&q, &tc[i]);
	}
	assert_ptr_equal(pfu_queue_pop(&q), &ta[3]); /* rather than a new one */
	pfu_queue_done(&q, &a, false);
	assert_ptr_equal(pfu_queue_pop(&q), &tb[3]);
	pfu_queue_done(&q, &b, false);
	assert_ptr_equal(pfu_queue_pop(&q), &tc[0]); /* there is no other */
	assert_ptr_equal(pfu_queue_pop(&q), &tc[1]);
	pfu_queue_done(&q, &c, false);
	pfu_queue_done(&q, &c, false);
	finish(&q);
}

static void in_order_it_is_a_stack(void **state)
{
	struct pfu_queue q;
	struct pfu_group g[2] = { 0 };
	struct pfu_task t[6];
	size_t i;

	(void)state;
	start(&q, 1, 0, PFU_QUEUE_IN_ORDER);
	for (i = 0; i < 6; i++) {
		t[i] = task_of(&g[i % 2]);
		t[i].bytes = 10;
		t[i].work = 1;
		if (i == 2)
			pfu_queue_push_later(&q, &t[i]);
		else
			pfu_queue_push(&q, &t[i]);
		assert_int_equal(q.waiting, i + 1);
	}
	for (i = 6; i-- > 0;) {
		assert_ptr_equal(pfu_queue_pop(&q), &t[i]);
		assert_int_equal(t[i].group->running, 1);
		assert_int_equal(q.waiting, i);
		pfu_queue_done(&q, t[i].group, false);
	}
	finish(&q);
}

/* ---- random operations against a model that searches for what it should find ---- */

enum { GROUPS = 12, WORKERS = 7, TASKS = 400, ROUNDS = 150000 / UNIT_SLOW };

/* Bytes that wait: below the one, later tasks run; from the other on, new groups come last. */
enum { RESUME = 700, CROWDED = 1500 };

struct model {
	struct pfu_group group[GROUPS];
	unsigned int running[GROUPS];
	long rank[GROUPS]; /* in its bucket; the highest comes first */
	bool served[GROUPS];
	struct pfu_task task[TASKS];
	enum { IDLE, WAITS, LATER, RUNS } is[TASKS];
	unsigned long since[TASKS]; /* when it began to wait */
	unsigned long now;
	long first, last; /* ranks */
	bool in_turn;
	unsigned int busy; /* workers in tasks */
	size_t bytes, work, waiting, later;
};

static bool has_waiting(const struct model *m, size_t group)
{
	size_t i;

	for (i = 0; i < TASKS; i++) {
		if (m->is[i] == WAITS && m->task[i].group == &m->group[group])
			return true;
	}
	return false;
}

/* In turn, when memory is short: the last group of a bucket if it has been served. */
static size_t served_before(const struct model *m)
{
	size_t last, i;
	unsigned int n;

	for (n = 0; n <= WORKERS; n++) {
		last = GROUPS;
		for (i = 0; i < GROUPS; i++) {
			if (m->running[i] == n && has_waiting(m, i) &&
			    (last == GROUPS || m->rank[i] < m->rank[last]))
				last = i;
		}
		if (last < GROUPS && m->served[last])
			return last;
	}
	return GROUPS;
}

static size_t expected_group(const struct model *m)
{
	size_t best = GROUPS, i;

	if (m->in_turn && m->bytes >= CROWDED)
		best = served_before(m);
	if (best < GROUPS)
		return best;
	for (i = 0; i < GROUPS; i++) {
		if (!has_waiting(m, i))
			continue;
		if (best == GROUPS || m->running[i] < m->running[best] ||
		    (m->running[i] == m->running[best] && m->rank[i] > m->rank[best]))
			best = i;
	}
	return best;
}

/* The number of the task that should come next; TASKS: none. */
static size_t expected(const struct model *m)
{
	size_t group, found = TASKS, i;

	if (m->later && (m->later == m->waiting || m->bytes < RESUME)) {
		for (i = 0; i < TASKS; i++) {
			if (m->is[i] == LATER && (found == TASKS || m->since[i] > m->since[found]))
				found = i;
		}
		return found;
	}
	group = expected_group(m);
	for (i = 0; i < TASKS; i++) {
		if (m->is[i] == WAITS && m->task[i].group == &m->group[group] &&
		    (found == TASKS || m->since[i] < m->since[found]))
			found = i;
	}
	return found;
}

static void model_served(struct model *m, size_t group)
{
	m->served[group] = true;
	m->rank[group] = m->in_turn ? --m->last : ++m->first;
}

static void model_push(struct model *m, struct pfu_queue *q, uint64_t *seed)
{
	size_t i = rnd_below(seed, TASKS), g = rnd_below(seed, GROUPS);
	struct pfu_task *t = &m->task[i];

	if (m->is[i] != IDLE)
		return;
	*t = (struct pfu_task){
		.group = &m->group[g],
		.bytes = rnd_below(seed, 30),
		.work = rnd_below(seed, 4),
	};
	m->since[i] = ++m->now;
	m->waiting++;
	if (rnd_below(seed, 8) == 0) {
		m->is[i] = LATER;
		m->later++;
		pfu_queue_push_later(q, t);
		return;
	}
	if (!has_waiting(m, g))
		m->rank[g] = ++m->first;
	m->is[i] = WAITS;
	m->bytes += t->bytes;
	m->work += t->work;
	pfu_queue_push(q, t);
}

static void model_pop(struct model *m, struct pfu_queue *q)
{
	size_t i = expected(m), g;
	struct pfu_task *t = pfu_queue_pop(q);

	if (i == TASKS) {
		assert_null(t);
		return;
	}
	assert_ptr_equal(t, &m->task[i]);
	g = (size_t)(t->group - m->group);
	m->waiting--;
	if (m->is[i] == LATER) {
		m->later--;
	} else {
		m->bytes -= t->bytes;
		m->work -= t->work;
	}
	m->is[i] = RUNS;
	m->running[g]++;
	model_served(m, g);
	m->busy++;
}

static void model_done(struct model *m, struct pfu_queue *q, size_t i)
{
	size_t g = (size_t)(m->task[i].group - m->group);

	m->is[i] = IDLE;
	m->running[g]--;
	model_served(m, g);
	m->busy--;
	pfu_queue_done(q, &m->group[g], false);
}

static void model_done_any(struct model *m, struct pfu_queue *q, uint64_t *seed)
{
	size_t i, skip;

	if (m->busy == 0)
		return;
	skip = rnd_below(seed, m->busy);
	for (i = 0; m->is[i] != RUNS || skip-- > 0; i++)
		;
	model_done(m, q, i);
}

static void assert_as_the_model_says(struct model *m, uint64_t seed)
{
	struct pfu_queue q;
	unsigned int i, what, filling = 0;

	start(&q, WORKERS, RESUME, m->in_turn ? PFU_QUEUE_IN_TURN : PFU_QUEUE_NEWEST);
	q.crowded = CROWDED;
	for (i = 0; i < ROUNDS; i++) {
		/* Long times of filling and of draining, so that all levels are reached. */
		if (i % 2000 == 0)
			filling = 1 + rnd_below(&seed, 3);
		what = rnd_below(&seed, 6);
		if (what < filling)
			model_push(m, &q, &seed);
		else if (what % 2 == 0 || m->busy == WORKERS)
			model_done_any(m, &q, &seed);
		else
			model_pop(m, &q);
		assert_int_equal(q.waiting, m->waiting);
		assert_int_equal(q.later, m->later);
		assert_int_equal(q.bytes, m->bytes);
		assert_int_equal(q.work, m->work);
	}
	while (m->waiting || m->busy) {
		model_done_any(m, &q, &seed);
		model_pop(m, &q);
	}
	for (i = 0; i < GROUPS; i++)
		assert_int_equal(m->group[i].running, 0);
	finish(&q);
}

static void random_operations(void **state)
{
	static struct model m;

	(void)state;
	assert_as_the_model_says(&m, 1);
}

static void random_operations_in_turn(void **state)
{
	static struct model m = { .in_turn = true };

	(void)state;
	assert_as_the_model_says(&m, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_first_out_within_a_group),
		cmocka_unit_test(one_beside_does_not_count),
		cmocka_unit_test(newest_group_first),
		cmocka_unit_test(fewest_workers_first),
		cmocka_unit_test(later_tasks_wait_for_the_queue_to_drain),
		cmocka_unit_test(later_tasks_run_last),
		cmocka_unit_test(in_turn_groups_end_together),
		cmocka_unit_test(in_order_it_is_a_stack),
		cmocka_unit_test(random_operations),
		cmocka_unit_test(random_operations_in_turn),
	};

	unit_start();
	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
