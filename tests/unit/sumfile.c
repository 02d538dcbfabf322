/*
 * sumfile.c - tests of pfu/sumfile.h: what a line looks like, that lines are whole
 * whoever writes them, and that a failure is told.
 */
#include "unit.h"
#include <pfu/sumfile.h>
#include <pthread.h>

static void lines(void **state)
{
	static const char *const known[][2] = {
		{ "a", "00ff  a" },
		{ " a  b ", "00ff   a  b " },
		{ "a\\b", "00ff  a\\b" },
		{ "a\nb", "\\00ff  a\\nb" },
		{ "\r\\\n", "\\00ff  \\r\\\\\\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(known); i++) {
		char *line = pfu_sumfile_line("00ff", known[i][0]);

		assert_string_equal(line, known[i][1]);
		free(line);
	}
}

#define THREADS 4
#define LINES 3000

static struct pfu_sumfile *file;

static void *add_lines(void *arg)
{
	char digest[33], name[400];
	int i;

	for (i = 0; i < LINES; i++) {
		int n = (int)(uintptr_t)arg * LINES + i;

		snprintf(digest, sizeof(digest), "%032d", n);
		snprintf(name, sizeof(name), "%0*d", 1 + i % 390, n);
		pfu_sumfile_add(file, digest, name);
	}
	return NULL;
}

static void whole_lines(void **state)
{
	static bool seen[THREADS * LINES];
	pthread_t thread[THREADS];
	char *line = NULL;
	size_t size = 0, count = 0;
	uintptr_t i;
	FILE *in;

	(void)state;
	file = pfu_sumfile_open("sums");
	assert_non_null(file);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add_lines, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(pfu_sumfile_close(file), 0);
	in = fopen("sums", "re");
	assert_non_null(in);
	for (; getline(&line, &size, in) > 0; count++) {
		int n = atoi(line), m = atoi(line + 34);

		assert_int_equal(line[33], ' ');
		assert_true(n == m && n < THREADS * LINES && !seen[n]);
		seen[n] = true;
	}
	assert_int_equal(count, THREADS * LINES);
	fclose(in);
	free(line);
}

/* Longer than the buffer: after what is in it. */
static void long_line(void **state)
{
	static char name[200001];
	struct stat st;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	file = pfu_sumfile_open("sums");
	pfu_sumfile_add(file, "1", "first");
	pfu_sumfile_add(file, "2", name);
	pfu_sumfile_add(file, "3", "last");
	assert_int_equal(pfu_sumfile_close(file), 0);
	assert_int_equal(stat("sums", &st), 0);
	assert_int_equal(st.st_size, 9 + 200004 + 8);
}

static void failures(void **state)
{
	int i;

	(void)state;
	assert_null(pfu_sumfile_open("none/sums"));
	assert_int_equal(errno, ENOENT);
	file = pfu_sumfile_open("/dev/full");
	assert_non_null(file);
	for (i = 0; i < 10000; i++)
		pfu_sumfile_add(file, "1", "something to be written");
	assert_int_equal(pfu_sumfile_close(file), -1);
	assert_int_equal(errno, ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(whole_lines),
		cmocka_unit_test(long_line),
		cmocka_unit_test(failures),
	};

	unit_start();
	return cmocka_run_group_tests(tests, unit_scratch_make, unit_scratch_remove);
}
