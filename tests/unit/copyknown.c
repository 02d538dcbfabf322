/*
 * copyknown.c - tests of src/lib/copyknown.c: directories that must not be copied again.
 */
#include "unit.h"
#include "../../src/lib/copying.h"

static struct stat dir_of(dev_t dev, ino_t ino)
{
	return (struct stat){ .st_dev = dev, .st_ino = ino };
}

static void start(struct copying *c, size_t operands)
{
	*c = (struct copying){ .count = operands };
	pthread_mutex_init(&c->lock, NULL);
}

static void finish(struct copying *c)
{
	pfu_known_clear(c);
	assert_int_equal(c->known.count, 0);
	pthread_mutex_destroy(&c->lock);
}

/* What is found, compared with WANTED, or NULL for nothing. */
static void finds(struct copying *c, dev_t dev, ino_t ino, size_t operand, bool top,
		  const char *wanted)
{
	struct stat st = dir_of(dev, ino);
	char *found = pfu_known_find(c, &st, operand, top);

	if (wanted) {
		assert_non_null(found);
		assert_string_equal(found, wanted);
	} else {
		assert_null(found);
	}
	free(found);
}

static void add(struct copying *c, dev_t dev, ino_t ino, size_t operand, const char *target,
		bool existing)
{
	struct stat st = dir_of(dev, ino);

	pfu_known_add(c, &st, operand, strdup(target), existing);
}

static void whom_it_concerns(void **state)
{
	struct copying c;

	(void)state;
	start(&c, 5);
	finds(&c, 1, 1, 0, false, NULL);
	add(&c, 1, 7, 2, "made", false);
	add(&c, 1, 8, 2, "there", true);
	/* This operand and those after it; */
	finds(&c, 1, 7, 1, false, NULL);
	finds(&c, 1, 7, 2, false, "made");
	finds(&c, 1, 7, 4, false, "made");
	/* an operand itself only what came before it; */
	finds(&c, 1, 7, 2, true, NULL);
	finds(&c, 1, 7, 3, true, "made");
	/* one that was there before: this operand only. */
	finds(&c, 1, 8, 2, false, "there");
	finds(&c, 1, 8, 3, false, NULL);
	finds(&c, 2, 7, 2, false, NULL);
	pfu_known_forget(&c, 2);
	finds(&c, 1, 7, 2, false, NULL);
	finds(&c, 1, 7, 4, false, NULL);
	finish(&c);
}

static void many_and_the_first_of_each(void **state)
{
	enum { N = 5000 };
	struct copying c;
	char name[32];
	ino_t i;

	(void)state;
	start(&c, 1);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "first%u", (unsigned int)i);
		add(&c, 3, i, 0, name, false);
		snprintf(name, sizeof(name), "later%u", (unsigned int)i);
		add(&c, 3, i, 0, name, false);
	}
	assert_int_equal(c.known.count, 2 * N);
	assert_true(c.known.buckets >= N);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "first%u", (unsigned int)i);
		finds(&c, 3, i, 0, false, name);
		finds(&c, 4, i, 0, false, NULL);
	}
	finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_it_concerns),
		cmocka_unit_test(many_and_the_first_of_each),
	};

	return cmocka_run_group_tests_name("copyknown", tests, NULL, NULL);
}
