/*
 * sums.c - tests of pfu/sums.h: that sums tell files apart, block by block, however their
 * bytes are cut into pieces, and that a digest is that of the whole.
 */
#include "unit.h"
#include <pfu/sums.h>
#include <pthread.h>

#define BLOCK ((size_t)1 << 20)
#define SIZE (3 * BLOCK + 12345)

static char data[SIZE];

static int fill(void **state)
{
	uint64_t seed = 7;
	size_t i;

	(void)state;
	for (i = 0; i < SIZE; i++)
		data[i] = (char)rnd(&seed);
	return 0;
}

static struct pfu_sums *sums_of(const char *buf, size_t size, bool digest)
{
	struct pfu_sums *s = pfu_sums_new((off_t)size, digest);
	struct pfu_summer *p;

	assert_non_null(s);
	p = pfu_summer_new(s, 0, PFU_PASS_ALL);
	assert_non_null(p);
	pfu_summer_add(p, buf, size, -1);
	assert_int_equal(pfu_summer_end(p, NULL), 0);
	assert_int_equal(pfu_sums_length(s), size);
	return s;
}

/* Where a buffer differs from the sums; -1: nowhere. */
static off_t compare(struct pfu_sums *s, const char *buf, size_t size)
{
	struct pfu_summer *p = pfu_summer_new(s, 0, PFU_PASS_COMPARE);
	off_t at = -2;
	int rc;

	pfu_summer_add(p, buf, size, -1);
	rc = pfu_summer_end(p, &at);
	assert_int_equal(rc, at < 0 ? 0 : -1);
	if (rc != 0)
		assert_int_equal(errno, EILSEQ);
	return at;
}

static void finds_the_block(void **state)
{
	static const size_t places[] = { 0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 77, SIZE - 1 };
	struct pfu_sums *s = sums_of(data, SIZE, false);
	size_t i;

	(void)state;
	assert_int_equal(compare(s, data, SIZE), -1);
	for (i = 0; i < COUNT(places); i++) {
		data[places[i]] ^= 1;
		assert_int_equal(compare(s, data, SIZE), places[i] - places[i] % BLOCK);
		data[places[i]] ^= 1;
	}
	assert_int_equal(compare(s, data, SIZE - 1), 3 * BLOCK);
	pfu_sums_free(s);
}

/* Digests as `xxhsum -H128` prints them. */
static void digests(void **state)
{
	static const struct {
		const char *text, *digest;
	} known[] = {
		{ "", "99aa06d3014798d86001c324468d497f" },
		{ "x", "5c7401c0ec22eeeeeaf06c6480b2cd11" },
	};
	char digest[PFU_DIGEST_SIZE], whole[PFU_DIGEST_SIZE];
	struct pfu_sums *s;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(known); i++) {
		s = sums_of(known[i].text, strlen(known[i].text), true);
		assert_true(pfu_sums_digest(s, digest));
		assert_string_equal(digest, known[i].digest);
		pfu_sums_free(s);
	}
	/* In pieces or at once, by blocks or by the pass that compares: the same. */
	s = sums_of(data, SIZE, true);
	assert_true(pfu_sums_digest(s, whole));
	pfu_sums_free(s);
	s = pfu_sums_new(SIZE, true);
	for (i = 0; i < SIZE; i += BLOCK) {
		struct pfu_summer *p = pfu_summer_new(s, (off_t)i, PFU_PASS_RANGE);

		pfu_summer_add(p, data + i, SIZE - i < BLOCK ? SIZE - i : BLOCK, (off_t)i);
		assert_int_equal(pfu_summer_end(p, NULL), 0);
		assert_false(pfu_sums_digest(s, digest));
	}
	assert_int_equal(compare(s, data, SIZE), -1);
	assert_true(pfu_sums_digest(s, digest));
	assert_string_equal(digest, whole);
	pfu_sums_free(s);
}

static void in_pieces(void **state)
{
	char digest[PFU_DIGEST_SIZE], whole[PFU_DIGEST_SIZE];
	struct pfu_sums *s = sums_of(data, SIZE, true), *t;
	uint64_t seed = 3;
	int round;

	(void)state;
	assert_true(pfu_sums_digest(s, whole));
	for (round = 0; round < 20; round++) {
		struct pfu_summer *p, *q;
		size_t at, n;

		/* (It turns out to be larger than it said.) */
		t = pfu_sums_new(round % 2 ? 0 : SIZE, true);
		p = pfu_summer_new(t, 0, PFU_PASS_ALL);
		q = pfu_summer_new(s, 0, PFU_PASS_COMPARE);
		for (at = 0; at < SIZE; at += n) {
			n = 1 + rnd_below(&seed, 700000);
			n = n < SIZE - at ? n : SIZE - at;
			pfu_summer_add(p, data + at, n, rnd_below(&seed, 2) ? (off_t)at : -1);
			pfu_summer_add(q, data + at, n, -1);
		}
		assert_int_equal(pfu_summer_end(p, NULL), 0);
		assert_int_equal(pfu_summer_end(q, NULL), 0);
		assert_true(pfu_sums_digest(t, digest));
		assert_string_equal(digest, whole);
		assert_int_equal(compare(t, data, SIZE), -1);
		pfu_sums_free(t);
	}
	pfu_sums_free(s);
}

/* Holes are zeros, and of blocks that are nothing else it is known. */
static void holes(void **state)
{
	static char sparse[SIZE];
	char digest[PFU_DIGEST_SIZE], whole[PFU_DIGEST_SIZE];
	struct pfu_sums *s;
	struct pfu_summer *p;
	bool wanted;
	int i;

	(void)state;
	memset(sparse, 0, SIZE);
	memcpy(sparse + 100, data, 1000);
	memcpy(sparse + 2 * BLOCK + 5000, data, 3000);
	s = sums_of(sparse, SIZE, true);
	assert_true(pfu_sums_digest(s, whole));
	pfu_sums_free(s);
	for (i = 0; i < 2; i++) {
		wanted = i == 1;
		s = pfu_sums_new(SIZE, wanted);
		p = pfu_summer_new(s, 0, PFU_PASS_ALL);
		pfu_summer_add(p, data, 1000, 100);
		pfu_summer_add(p, data, 3000, 2 * BLOCK + 5000);
		pfu_summer_hole(p, SIZE);
		assert_int_equal(pfu_summer_end(p, NULL), 0);
		assert_int_equal(pfu_sums_length(s), SIZE);
		assert_false(pfu_sums_is_hole(s, 0));
		assert_int_equal(pfu_sums_is_hole(s, BLOCK), !wanted);
		assert_int_equal(pfu_sums_is_hole(s, 3 * BLOCK), !wanted);
		assert_int_equal(compare(s, sparse, SIZE), -1);
		sparse[BLOCK + 17] = 1;
		assert_int_equal(compare(s, sparse, SIZE), BLOCK);
		sparse[BLOCK + 17] = 0;
		sparse[SIZE - 1] = 1;
		assert_int_equal(compare(s, sparse, SIZE), 3 * BLOCK);
		sparse[SIZE - 1] = 0;
		/* A target that has the same holes is not read there. */
		p = pfu_summer_new(s, 0, PFU_PASS_COMPARE);
		pfu_summer_add(p, sparse, BLOCK, 0);
		pfu_summer_add(p, sparse + 2 * BLOCK, BLOCK, 2 * BLOCK);
		pfu_summer_hole(p, SIZE);
		assert_int_equal(pfu_summer_end(p, NULL), 0);
		assert_int_equal(pfu_sums_digest(s, digest), wanted);
		if (wanted)
			assert_string_equal(digest, whole);
		pfu_sums_reset(s);
		assert_int_equal(pfu_sums_length(s), 0);
		assert_true(pfu_sums_is_hole(s, 0));
		assert_false(pfu_sums_digest(s, digest));
		pfu_sums_free(s);
	}
}

/* However large a file is, its sums take 1 MiB at most. */
static void blocks_grow(void **state)
{
	off_t size;

	(void)state;
	for (size = 1; size < (off_t)1 << 60; size *= 4) {
		struct pfu_sums *s = pfu_sums_new(size, false);

		assert_non_null(s);
		assert_true(size / pfu_sums_block(s) <= 65536);
		assert_true(pfu_sums_block(s) == (off_t)BLOCK || size / pfu_sums_block(s) >= 16384);
		pfu_sums_free(s);
	}
}

static struct pfu_sums *shared;

static void *sum_range(void *arg)
{
	size_t from = (size_t)(uintptr_t)arg * BLOCK;
	struct pfu_summer *p = pfu_summer_new(shared, (off_t)from, PFU_PASS_RANGE);

	pfu_summer_add(p, data + from, SIZE - from < BLOCK ? SIZE - from : BLOCK, (off_t)from);
	CHECK(pfu_summer_end(p, NULL) == 0);
	return NULL;
}

static void several_threads(void **state)
{
	pthread_t thread[4];
	uintptr_t i;

	(void)state;
	shared = pfu_sums_new(SIZE, false);
	for (i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sum_range, (void *)i), 0);
	for (i = 0; i < COUNT(thread); i++)
		pthread_join(thread[i], NULL);
	assert_checks();
	assert_int_equal(pfu_sums_length(shared), SIZE);
	assert_int_equal(compare(shared, data, SIZE), -1);
	pfu_sums_free(shared);
}

static void unsupported(void **state)
{
	(void)state;
	assert_null(pfu_sums_new(1, false));
	assert_int_equal(errno, ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_block), cmocka_unit_test(digests),
		cmocka_unit_test(in_pieces),	   cmocka_unit_test(holes),
		cmocka_unit_test(blocks_grow),	   cmocka_unit_test(several_threads),
	};
	const struct CMUnitTest without[] = { cmocka_unit_test(unsupported) };

	unit_start();
	if (!pfu_sums_supported())
		return cmocka_run_group_tests(without, NULL, NULL);
	return cmocka_run_group_tests(tests, fill, NULL);
}
