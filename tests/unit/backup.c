/*
 * backup.c - tests of pfu/backup.h: names of backups.
 */
#include "unit.h"
#include <pfu/backup.h>
#include <pthread.h>

static const struct pfu_fsys *const fs = &pfu_fsys_posix;

static void assert_backup(const char *name, enum pfu_backup kind, const char *suffix,
			  const char *want)
{
	char *planned = pfu_backup_name(fs, AT_FDCWD, name, kind, suffix);
	char *made = pfu_backup_make(fs, AT_FDCWD, name, kind, suffix);

	assert_non_null(planned);
	assert_string_equal(planned, want);
	assert_non_null(made);
	assert_string_equal(made, want);
	assert_int_equal(access(want, F_OK), 0);
	assert_int_equal(access(name, F_OK), -1);
	free(planned);
	free(made);
}

static int clean(void **state)
{
	static const char *const argv[] = { "sh", "-c", "rm -rf -- * .[!.]*", NULL };

	(void)state;
	unit_run(argv);
	return 0;
}

static void simple(void **state)
{
	(void)state;
	make_file("a");
	assert_backup("a", PFU_BACKUP_SIMPLE, "~", "a~");
	make_file("a");
	assert_backup("a", PFU_BACKUP_SIMPLE, "~", "a~"); /* the older one is replaced */
	make_file("a");
	make_file("a.~3~");
	assert_backup("a", PFU_BACKUP_SIMPLE, ".bak", "a.bak");
}

static void numbered(void **state)
{
	(void)state;
	make_file("a");
	assert_backup("a", PFU_BACKUP_NUMBERED, "~", "a.~1~");
	make_file("a");
	assert_backup("a", PFU_BACKUP_NUMBERED, "~", "a.~2~");
	make_file("a");
	make_file("a.~9~");
	assert_backup("a", PFU_BACKUP_NUMBERED, "~", "a.~10~");
	make_file("a");
	make_file("a.~99~");
	assert_backup("a", PFU_BACKUP_NUMBERED, "~", "a.~100~");
}

/* Not every name that looks like a backup is one, nor one of this file. */
static void names_that_are_no_backups(void **state)
{
	static const char *const others[] = {
		"b.~7~", "aa.~7~", "a.~7", "a.~~", "a.~07~", "a.~7x~", "a.~-7~", "a.~7~~", "a~7~",
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(others); i++)
		make_file(others[i]);
	make_file("a");
	assert_backup("a", PFU_BACKUP_EXISTING, "~", "a~");
	make_file("a");
	assert_backup("a", PFU_BACKUP_NUMBERED, "~", "a.~1~");
	make_file("a");
	assert_backup("a", PFU_BACKUP_EXISTING, "~", "a.~2~");
}

static void in_other_directories(void **state)
{
	(void)state;
	make_dir("d");
	make_file("d/a");
	make_file("d/a.~4~");
	make_file("a.~8~");
	assert_backup("d/a", PFU_BACKUP_EXISTING, "~", "d/a.~5~");
	make_dir("d/s");
	make_file("d/s/f");
	assert_backup("d/s", PFU_BACKUP_EXISTING, "~", "d/s~");
	assert_int_equal(access("d/s~/f", F_OK), 0);
}

/* As with cp: simple backups have the name that they were asked to have, or none is made. */
static void long_names(void **state)
{
	char name[256], wanted[256];

	(void)state;
	memset(name, 'x', 255);
	name[255] = 0;
	make_file(name);
	errno = 0;
	assert_null(pfu_backup_make(fs, AT_FDCWD, name, PFU_BACKUP_SIMPLE, "~"));
	assert_int_equal(errno, ENAMETOOLONG);
	memset(wanted, 'x', 253);
	strcpy(wanted + 253, "~");
	assert_backup(name, PFU_BACKUP_EXISTING, "~", wanted);
	name[254] = 0;
	make_file(name);
	memset(wanted, 'x', 254);
	strcpy(wanted + 254, "~");
	assert_backup(name, PFU_BACKUP_SIMPLE, "~", wanted);
}

static void nothing_to_back_up(void **state)
{
	static const enum pfu_backup kinds[] = { PFU_BACKUP_SIMPLE, PFU_BACKUP_EXISTING,
						 PFU_BACKUP_NUMBERED };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(kinds); i++) {
		errno = 0;
		assert_null(pfu_backup_make(fs, AT_FDCWD, "missing", kinds[i], "~"));
		assert_int_equal(errno, ENOENT);
	}
}

/* ---- a race for a number, and file systems that know no flags of rename ---- */

static int renames;
static bool knows_flags;

/* Just before the first rename somebody else takes the number. */
static int racing_renameat(int olddirfd, const char *old, int newdirfd, const char *new,
			   unsigned int flags)
{
	if (renames++ == 0)
		make_file(new);
	if (flags && !knows_flags) {
		errno = EINVAL;
		return -1;
	}
	return pfu_fsys_posix.renameat(olddirfd, old, newdirfd, new, flags);
}

static void numbers_are_never_taken_twice(void **state)
{
	struct pfu_fsys table = pfu_fsys_posix;
	int round;

	table.renameat = racing_renameat;
	for (round = 0; round < 2; round++) {
		char *made;

		knows_flags = round;
		renames = 0;
		make_file("a");
		made = pfu_backup_make(&table, AT_FDCWD, "a", PFU_BACKUP_NUMBERED, "~");
		assert_non_null(made);
		assert_string_equal(made, "a.~2~");
		assert_int_equal(access("a.~1~", F_OK), 0);
		free(made);
		clean(state);
	}
}

enum { THREADS = 8, EACH = 20 };

static void *back_up_often(void *arg)
{
	char name[16];
	int i;

	for (i = 0; i < EACH; i++) {
		char *made;
		int fd;

		snprintf(name, sizeof(name), "t%d", *(int *)arg);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		CHECK(fd >= 0);
		close(fd);
		made = pfu_backup_make(fs, AT_FDCWD, name, PFU_BACKUP_NUMBERED, "~");
		CHECK(made != NULL);
		free(made);
	}
	return NULL;
}

static void different_names_from_threads(void **state)
{
	pthread_t threads[THREADS];
	int number[THREADS], i;
	char name[32];

	(void)state;
	for (i = 0; i < THREADS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, back_up_often, &number[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_checks();
	for (i = 0; i < THREADS; i++) {
		snprintf(name, sizeof(name), "t%d.~%d~", i, EACH);
		assert_int_equal(access(name, F_OK), 0);
	}
}

static void undone_but_not_over_another(void **state)
{
	char *backup;

	(void)state;
	make_file("u");
	backup = pfu_backup_make(fs, AT_FDCWD, "u", PFU_BACKUP_SIMPLE, "~");
	assert_string_equal(backup, "u~");
	assert_int_equal(pfu_backup_undo(fs, AT_FDCWD, backup, "u", false), 0);
	assert_int_equal(access("u~", F_OK), -1);
	free(backup);
	backup = pfu_backup_make(fs, AT_FDCWD, "u", PFU_BACKUP_SIMPLE, "~");
	make_file("u");
	assert_int_equal(pfu_backup_undo(fs, AT_FDCWD, backup, "u", false), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(access("u~", F_OK), 0);
	assert_int_equal(pfu_backup_undo(fs, AT_FDCWD, backup, "u", true), 0);
	assert_int_equal(access("u~", F_OK), -1);
	free(backup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, clean)
		TEST(simple),
		TEST(long_names),
		TEST(numbered),
		TEST(names_that_are_no_backups),
		TEST(in_other_directories),
		TEST(nothing_to_back_up),
		TEST(undone_but_not_over_another),
		TEST(numbers_are_never_taken_twice),
		TEST(different_names_from_threads),
	};

	unit_start();
	return cmocka_run_group_tests_name("backup", tests, unit_scratch_make, unit_scratch_remove);
}
