/*
 * links.c - tests of pfu/links.h: each file is copied once, and whoever meets
 * another name of it gets the first copy, or waits for it.
 */
#include "unit.h"
#include <pfu/links.h>
#include <pthread.h>
#include <sched.h>

static struct stat file(dev_t dev, ino_t ino, nlink_t names)
{
	return (struct stat){ .st_dev = dev, .st_ino = ino, .st_nlink = names };
}

static enum pfu_link claim(struct pfu_links *t, struct stat st, struct pfu_dir *dir,
			   const char *name)
{
	struct pfu_dir *there_dir = NULL;
	char *there_name = NULL;
	enum pfu_link result = pfu_links_claim(t, &st, dir, name, &there_dir, &there_name);

	assert_int_not_equal(result, PFU_LINK_THERE);
	return result;
}

/* Claims a name, and checks where the copy is. */
static void assert_there(struct pfu_links *t, struct stat st, const struct pfu_dir *dir,
			 const char *name)
{
	struct pfu_dir *there_dir = NULL;
	char *there_name = NULL;

	assert_int_equal(pfu_links_claim(t, &st, NULL, "another", &there_dir, &there_name),
			 PFU_LINK_THERE);
	assert_ptr_equal(there_dir, dir);
	assert_string_equal(there_name, name);
	pfu_dir_unref(there_dir);
	free(there_name);
}

static struct pfu_links *new_table(bool forget)
{
	struct pfu_links *t = pfu_links_new(forget);

	assert_non_null(t);
	return t;
}

static void the_first_name_copies(void **state)
{
	struct pfu_links *t = new_table(true);
	struct pfu_dir *dir = pfu_dir_new(NULL, "d", 0);
	struct stat a = file(1, 10, 3), b = file(1, 11, 2);

	(void)state;
	assert_non_null(dir);
	assert_int_equal(claim(t, a, dir, "a1"), PFU_LINK_FIRST);
	assert_int_equal(claim(t, a, dir, "a2"), PFU_LINK_BUSY);
	assert_int_equal(claim(t, b, NULL, "x/b1"), PFU_LINK_FIRST);
	assert_null(pfu_links_done(t, &a, true));
	assert_there(t, a, dir, "a1");
	assert_int_equal(claim(t, b, dir, "b2"), PFU_LINK_BUSY);
	assert_null(pfu_links_done(t, &b, true));
	assert_there(t, b, NULL, "x/b1");
	assert_there(t, a, dir, "a1");
	pfu_links_free(t);
	pfu_dir_unref(dir);
}

/* The same inode number on another device is another file. */
static void devices_differ(void **state)
{
	struct pfu_links *t = new_table(true);

	(void)state;
	assert_int_equal(claim(t, file(1, 10, 2), NULL, "a"), PFU_LINK_FIRST);
	assert_int_equal(claim(t, file(2, 10, 2), NULL, "b"), PFU_LINK_FIRST);
	assert_int_equal(claim(t, file(1, 10, 2), NULL, "c"), PFU_LINK_BUSY);
	pfu_links_free(t);
	pfu_links_free(NULL);
}

/* What is forgotten is copied anew: once all names have been met, nobody asks. */
static void forgotten_when_all_names_were_met(void **state)
{
	struct pfu_links *t = new_table(true);
	struct stat a = file(1, 10, 3);

	(void)state;
	assert_int_equal(claim(t, a, NULL, "a1"), PFU_LINK_FIRST);
	assert_null(pfu_links_done(t, &a, true));
	assert_there(t, a, NULL, "a1");
	assert_there(t, a, NULL, "a1");
	assert_int_equal(claim(t, a, NULL, "new"), PFU_LINK_FIRST);
	pfu_links_free(t);
}

static void kept_where_links_are_followed(void **state)
{
	struct pfu_links *t = new_table(false);
	struct stat a = file(1, 10, 1);
	int i;

	(void)state;
	assert_int_equal(claim(t, a, NULL, "a1"), PFU_LINK_FIRST);
	assert_null(pfu_links_done(t, &a, true));
	for (i = 0; i < 10; i++)
		assert_there(t, a, NULL, "a1");
	pfu_links_free(t);
}

/* The copy failed: the next name is the first. */
static void given_up(void **state)
{
	struct pfu_links *t = new_table(true);
	struct stat a = file(1, 10, 3);

	(void)state;
	assert_int_equal(claim(t, a, NULL, "a1"), PFU_LINK_FIRST);
	assert_null(pfu_links_done(t, &a, false));
	assert_int_equal(claim(t, a, NULL, "a2"), PFU_LINK_FIRST);
	assert_null(pfu_links_done(t, &a, true));
	assert_there(t, a, NULL, "a2");
	pfu_links_free(t);
}

static void who_waits_is_handed_back(void **state)
{
	struct pfu_links *t = new_table(true);
	struct stat a = file(1, 10, 4);
	struct pfu_task task[3] = { 0 }, *list;
	unsigned int seen = 0, round;
	size_t i;

	(void)state;
	for (round = 0; round < 2; round++, seen = 0) {
		/* Nothing is under way: no reason to wait. */
		assert_false(pfu_links_wait(t, &a, &task[0]));
		assert_int_equal(claim(t, a, NULL, "a"), PFU_LINK_FIRST);
		for (i = 0; i < COUNT(task); i++)
			assert_true(pfu_links_wait(t, &a, &task[i]));
		for (list = pfu_links_done(t, &a, round); list; list = list->next)
			seen |= 1U << (list - task);
		assert_int_equal(seen, 7);
	}
	assert_false(pfu_links_wait(t, &a, &task[0]));
	pfu_links_free(t);
}

static void many_files(void **state)
{
	enum { FILES = 100000 };
	struct pfu_links *t = new_table(true);
	char name[16];
	unsigned int i;

	(void)state;
	for (i = 0; i < FILES; i++) {
		struct stat st = file(i % 3, i, 2);

		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(claim(t, st, NULL, name), PFU_LINK_FIRST);
		assert_null(pfu_links_done(t, &st, true));
	}
	for (i = FILES; i-- > 0;) {
		snprintf(name, sizeof(name), "%u", i);
		assert_there(t, file(i % 3, i, 2), NULL, name);
	}
	pfu_links_free(t);
}

/* ---- many threads ---- */

enum { THREADS = 8, INODES = 2000 / UNIT_SLOW };

static struct {
	struct pfu_links *t;
	atomic_uint copies[INODES], links[INODES];
} all;

/* Meets one name of the file; done with it when it was copied or linked to. */
static void meet(unsigned int ino)
{
	struct stat st = file(7, ino, THREADS);
	struct pfu_dir *dir = NULL;
	char *name = NULL;

	for (;;) {
		switch (pfu_links_claim(all.t, &st, NULL, "x", &dir, &name)) {
		case PFU_LINK_FIRST:
			/* Some copies fail at first. */
			if (atomic_fetch_add(&all.copies[ino], 1) == 0 && ino % 5 == 0) {
				CHECK(pfu_links_done(all.t, &st, false) == NULL);
				continue;
			}
			sched_yield();
			CHECK(pfu_links_done(all.t, &st, true) == NULL);
			return;
		case PFU_LINK_THERE:
			CHECK(strcmp(name, "x") == 0);
			free(name);
			atomic_fetch_add(&all.links[ino], 1);
			return;
		case PFU_LINK_BUSY:
			sched_yield();
			break;
		case PFU_LINK_ERROR:
			CHECK(false);
			return;
		}
	}
}

static void *meet_all(void *arg)
{
	unsigned int i, from = *(unsigned int *)arg;

	for (i = 0; i < INODES; i++)
		meet((i + from) % INODES);
	return NULL;
}

static void from_many_threads(void **state)
{
	pthread_t threads[THREADS];
	unsigned int from[THREADS], i;

	(void)state;
	all.t = new_table(true);
	for (i = 0; i < THREADS; i++) {
		from[i] = i / 2 * INODES / THREADS;
		assert_int_equal(pthread_create(&threads[i], NULL, meet_all, &from[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_checks();
	for (i = 0; i < INODES; i++) {
		assert_int_equal(all.copies[i], i % 5 ? 1 : 2);
		assert_int_equal(all.links[i], THREADS - 1);
	}
	pfu_links_free(all.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_name_copies),
		cmocka_unit_test(devices_differ),
		cmocka_unit_test(forgotten_when_all_names_were_met),
		cmocka_unit_test(kept_where_links_are_followed),
		cmocka_unit_test(given_up),
		cmocka_unit_test(who_waits_is_handed_back),
		cmocka_unit_test(many_files),
		cmocka_unit_test(from_many_threads),
	};

	unit_start();
	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
