/*
 * remove.c - tests of pfu/remove.h: what is removed, asked and reported, with
 * calls that fail when told to.
 */
#include "unit.h"
#include <pfu/remove.h>
#include <pthread.h>

/* ---- calls that fail ---- */

/*
 * While rules last, the call on the name fails.  A listing is known by its
 * directory's inode.  What is to "vanish" does so just before it is opened or
 * removed.
 */
static struct rule {
	const char *call, *name;
	int error;
	atomic_int times;
	ino_t ino;
} rules[4];

static bool fails(const char *call, const char *name, ino_t ino)
{
	const char *slash = strrchr(name, '/');
	size_t i;

	name = slash && slash[1] ? slash + 1 : name;
	for (i = 0; i < COUNT(rules); i++) {
		if (!rules[i].call || strcmp(rules[i].call, call) != 0 ||
		    (ino ? ino != rules[i].ino : strcmp(rules[i].name, name) != 0))
			continue;
		if (atomic_fetch_sub(&rules[i].times, 1) <= 0)
			continue;
		errno = rules[i].error;
		return true;
	}
	return false;
}

static int rule_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	if (fails("vanish", name, 0))
		unlinkat(dirfd, name, AT_REMOVEDIR);
	return fails("open", name, 0) ? -1 : openat(dirfd, name, flags, mode);
}

static int rule_unlinkat(int dirfd, const char *name, int flags)
{
	if (fails("vanish", name, 0))
		unlinkat(dirfd, name, flags);
	if (fails(flags & AT_REMOVEDIR ? "rmdir" : "unlink", name, 0))
		return -1;
	return unlinkat(dirfd, name, flags);
}

static int rule_faccessat(int dirfd, const char *name, int mode, int flags)
{
	return fails("access", name, 0) ? -1 : faccessat(dirfd, name, mode, flags);
}

static ssize_t rule_getdents(int fd, void *buf, size_t size)
{
	struct stat st;

	CHECK(fstat(fd, &st) == 0);
	return fails("getdents", "", st.st_ino) ? -1 : pfu_fsys_posix.getdents(fd, buf, size);
}

/* A directory of this inode is on another device; and this one is the root of the file system. */
static ino_t other_device;
static const char *root_directory;

static int rule_fstat(int fd, struct stat *st)
{
	if (fstat(fd, st) != 0)
		return -1;
	if (st->st_ino == other_device)
		st->st_dev++;
	return 0;
}

static int rule_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
	if (fails("stat", name, 0))
		return -1;
	if (root_directory && strcmp(name, "/") == 0)
		name = root_directory;
	return fstatat(dirfd, name, st, flags);
}

static struct pfu_fsys table;

static int setup(void **state)
{
	table = pfu_fsys_posix;
	table.openat = rule_openat;
	table.unlinkat = rule_unlinkat;
	table.faccessat = rule_faccessat;
	table.getdents = rule_getdents;
	table.fstat = rule_fstat;
	table.fstatat = rule_fstatat;
	return unit_scratch_make(state);
}

static void fail_call(const char *call, const char *name, int error, int times)
{
	size_t i;

	for (i = 0; rules[i].call; i++)
		assert_true(i + 1 < COUNT(rules));
	rules[i].name = name;
	rules[i].error = error;
	rules[i].call = call;
	atomic_store(&rules[i].times, times);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_ino;
}

static void fail_listing(const char *path, int error, int times)
{
	size_t i;

	fail_call("getdents", "", error, times);
	for (i = 0; i + 1 < COUNT(rules) && rules[i + 1].call; i++)
		;
	rules[i].ino = inode_of(path);
}

/* ---- what is said ---- */

enum { SAID_MAX = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *said[SAID_MAX];
static size_t said_count;
static const char *answers; /* to the questions, one letter each; after the last: yes */

static void say(const char *prefix, const char *text, int errnum)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s%s%s%s", prefix, text, errnum ? ": " : "",
		 errnum ? strerror(errnum) : "");
	pthread_mutex_lock(&lock);
	if (CHECK(said_count < SAID_MAX))
		said[said_count++] = strdup(line);
	pthread_mutex_unlock(&lock);
}

static void on_message(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	(void)ctx;
	CHECK(severity == PFU_ERROR);
	say("", text, errnum);
}

static void on_output(void *ctx, const char *text)
{
	(void)ctx;
	say("> ", text, 0);
}

static bool on_ask(void *ctx, const char *question)
{
	(void)ctx;
	say("? ", question, 0);
	return !*answers || *answers++ == 'y';
}

static const struct pfu_report report = {
	.message = on_message,
	.output = on_output,
	.ask = on_ask,
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Checks what was said since the last time; in any order if there may be several workers. */
static void assert_said_lines(unsigned int workers, const char *const *want)
{
	const char *list[SAID_MAX];
	size_t n, i;

	for (n = 0; want[n]; n++)
		list[n] = want[n];
	if (workers != 1) {
		qsort(said, said_count, sizeof(said[0]), by_text);
		qsort(list, n, sizeof(list[0]), by_text);
	}
	for (i = 0; i < n || i < said_count; i++) {
		if (i >= n || i >= said_count || strcmp(list[i], said[i]) != 0)
			fail_msg("expected \"%s\", was told \"%s\"", i < n ? list[i] : "",
				 i < said_count ? said[i] : "");
		free(said[i]);
		said[i] = NULL;
	}
	said_count = 0;
}

#define assert_said(workers, ...)                                                                  \
	assert_said_lines(workers, (const char *const[]){ __VA_ARGS__, NULL })
#define assert_silent() assert_said_lines(1, (const char *const[]){ NULL })

/* ---- runs ---- */

/* Removes operands, separated by spaces; then lets all rules go. */
static bool run(const struct pfu_remove_options *options, const char *operands)
{
	struct pfu_remove_options o = *options;
	char text[256], *list[16], *at;
	unsigned int before = open_fds();
	size_t n = 0;
	bool ok;

	assert_true(strlen(operands) < sizeof(text));
	strcpy(text, operands);
	for (at = strtok(text, " "); at; at = strtok(NULL, " "))
		list[n++] = at;
	o.fs = &table;
	ok = pfu_remove(&o, &report, list, n);
	memset(rules, 0, sizeof(rules));
	assert_int_equal(open_fds(), before);
	assert_checks();
	return ok;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static const unsigned int worker_counts[] = { 1, 4, 20 };
#define FOR_WORKERS(w)                                                                             \
	for (w = worker_counts; w < worker_counts + COUNT(worker_counts); w++)

/* d, with d/f, d/e (empty), d/s with d/s/g and d/s/l (a link to d). */
static void make_tree(void)
{
	make_dir("d");
	make_file("d/f");
	make_dir("d/e");
	make_dir("d/s");
	make_file("d/s/g");
	assert_int_equal(symlink("..", "d/s/l"), 0);
}

static void trees(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .workers = *w };

		make_tree();
		make_file("file");
		assert_true(run(&o, "d file"));
		assert_silent();
		assert_false(exists("d"));
		assert_false(exists("file"));
	}
}

static void operands_that_cannot_be_removed(void **state)
{
	const unsigned int *w;

	(void)state;
	make_tree();
	make_file("file");
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .workers = *w };
		struct pfu_remove_options force = { .workers = *w, .force = true };

		assert_false(run(&o, "missing d d/f/x file"));
		assert_said(*w, "cannot remove 'missing': No such file or directory",
			    "cannot remove 'd': Is a directory",
			    "cannot remove 'd/f/x': Not a directory");
		assert_false(exists("file"));
		assert_true(exists("d/s/g"));
		make_file("file");
		assert_true(run(&force, "missing d/f/x"));
		assert_silent();
		assert_false(run(&force, "d"));
		assert_said(*w, "cannot remove 'd': Is a directory");
	}
}

static void dots_are_refused(void **state)
{
	struct pfu_remove_options o = { .recursive = true, .force = true, .workers = 1 };

	(void)state;
	make_tree();
	assert_false(run(&o, "d/. d/s/.. d/s/../ ."));
	assert_said(1, "refusing to remove '.' or '..' directory: skipping 'd/.'",
		    "refusing to remove '.' or '..' directory: skipping 'd/s/..'",
		    "refusing to remove '.' or '..' directory: skipping 'd/s/../'",
		    "refusing to remove '.' or '..' directory: skipping '.'");
	assert_true(exists("d/f"));
	unit_remove("d");
}

/* What cannot go is named, and only that; the rest goes. */
static void an_entry_that_cannot_be_removed(void **state)
{
	static const int errors[] = { EACCES, EBUSY, ENOSPC, EIO, EPERM, EROFS };
	const unsigned int *w;
	size_t i;

	(void)state;
	FOR_WORKERS(w)
		for (i = 0; i < COUNT(errors); i++) {
			struct pfu_remove_options o = {
				.recursive = true, .force = i % 2, .workers = *w
			};
			char want[128];

			make_tree();
			fail_call("unlink", "g", errors[i], 1000);
			assert_false(run(&o, "d"));
			snprintf(want, sizeof(want), "cannot remove 'd/s/g': %s",
				 strerror(errors[i]));
			assert_said(*w, want);
			assert_true(exists("d/s/g"));
			assert_false(exists("d/s/l"));
			assert_false(exists("d/f"));
			assert_false(exists("d/e"));
			unit_remove("d");
		}
}

/* Somebody else removes things too: with -f that is none of our business. */
static void what_is_gone_meanwhile(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .force = true, .workers = *w };

		make_tree();
		fail_call("vanish", "e", 0, 1);
		fail_call("vanish", "f", 0, 1);
		assert_true(run(&o, "d"));
		assert_silent();
		assert_false(exists("d"));

		/* A read-only file system says so of a name that is not there, too. */
		fail_call("unlink", "missing", EROFS, 1000);
		assert_true(run(&o, "missing"));
		assert_silent();
		o.force = false;
		fail_call("unlink", "missing", EROFS, 1000);
		assert_false(run(&o, "missing"));
		assert_said(*w, "cannot remove 'missing': No such file or directory");
	}
}

static void a_directory_that_cannot_be_opened(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .workers = *w };

		make_tree();
		fail_call("open", "s", EACCES, 1000);
		fail_call("open", "e", EACCES, 1000); /* but it is empty: rmdir will do */
		assert_false(run(&o, "d"));
		assert_said(*w, "cannot remove 'd/s': Permission denied");
		assert_true(exists("d/s/g"));
		assert_false(exists("d/e"));
		unit_remove("d");
	}
}

static void a_directory_that_cannot_be_listed(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .workers = *w };

		make_tree();
		fail_listing("d/s", EIO, 1000);
		assert_false(run(&o, "d"));
		assert_said(*w, "cannot remove 'd/s': Input/output error");
		assert_true(exists("d/s/g"));
		assert_false(exists("d/f"));
		unit_remove("d");
	}
}

static void a_directory_that_stays(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .workers = *w };

		make_tree();
		fail_call("rmdir", "s", EBUSY, 1000);
		assert_false(run(&o, "d"));
		assert_said(*w, "cannot remove 'd/s': Device or resource busy");
		assert_true(exists("d/s"));
		assert_false(exists("d/s/g"));
		assert_false(exists("d/f"));
		unit_remove("d");
	}
}

/* Names that the listing did not show: as long as that gets somewhere, list again. */
static void a_directory_that_is_not_empty_after_all(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .workers = *w };

		make_tree();
		fail_call("rmdir", "s", ENOTEMPTY, 1);
		assert_true(run(&o, "d"));
		assert_silent();
		assert_false(exists("d"));

		make_tree();
		fail_call("rmdir", "s", ENOTEMPTY, 1000000);
		assert_false(run(&o, "d"));
		assert_said(*w, "cannot remove 'd/s': Directory not empty");
		unit_remove("d");
	}
}

static void verbose(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = {
			.recursive = true, .verbose = true, .workers = *w
		};

		make_dir("d");
		make_dir("d/s");
		make_file("d/s/it's");
		make_file("f");
		assert_true(run(&o, "d/ f"));
		assert_said(*w, "> removed \"d/s/it's\"", "> removed directory 'd/s'",
			    "> removed directory 'd/'", "> removed 'f'");
	}
}

static void empty_directories_only(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .empty_dirs = true, .workers = *w };

		make_tree();
		assert_false(run(&o, "d/e d/s d/f"));
		assert_said(*w, "cannot remove 'd/s': Directory not empty");
		assert_false(exists("d/e"));
		assert_false(exists("d/f"));
		assert_true(exists("d/s/g"));
		unit_remove("d");
	}
}

static void empty_directories_in_their_order(void **state)
{
	const unsigned int *w;
	int round;

	(void)state;
	for (round = 0; round < 30; round++)
		FOR_WORKERS(w) {
			struct pfu_remove_options o = { .empty_dirs = true, .workers = *w };

			make_dir("d");
			make_dir("d/s");
			make_dir("d/s/t");
			/* The first operand's file system is not known, and so may be slow. */
			assert_false(run(&o, "missing d/s/t d/s d"));
			assert_said(*w, "cannot remove 'missing': No such file or directory");
		}
}

static void links_to_directories(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = { .recursive = true, .workers = *w };

		make_tree();
		assert_int_equal(symlink("d", "l"), 0);
		assert_false(run(&o, "l/"));
		assert_said(*w, "cannot remove 'l/': Not a directory");
		assert_true(run(&o, "l"));
		assert_silent();
		assert_false(exists("l"));
		assert_true(exists("d/f"));
		unit_remove("d");
	}
}

/* Operands of which one is within another: as if one came after the other. */
static void operands_within_operands(void **state)
{
	const unsigned int *w;
	int round;

	(void)state;
	for (round = 0; round < 30; round++)
		FOR_WORKERS(w) {
			struct pfu_remove_options o = { .recursive = true, .workers = *w };

			make_tree();
			assert_true(run(&o, "d/s/g d/s d"));
			assert_silent();
			make_tree();
			assert_false(run(&o, "d d/s d"));
			assert_said(*w, "cannot remove 'd/s': No such file or directory",
				    "cannot remove 'd': No such file or directory");
			make_tree();
			assert_false(run(&o, "d/f d/f"));
			assert_said(*w, "cannot remove 'd/f': No such file or directory");
			unit_remove("d");
		}
}

static void questions(void **state)
{
	struct pfu_remove_options o = { .recursive = true, .ask_always = true };

	(void)state;
	make_dir("d");
	make_dir("d/s");
	make_file("d/s/g");
	answers = "";
	assert_true(run(&o, "d"));
	assert_said(1, "? descend into directory 'd'? ", "? descend into directory 'd/s'? ",
		    "? remove regular empty file 'd/s/g'? ", "? remove directory 'd/s'? ",
		    "? remove directory 'd'? ");
	assert_false(exists("d"));

	make_dir("d");
	make_dir("d/s");
	make_file("d/s/g");
	answers = "yyny";
	assert_false(run(&o, "d"));
	assert_said(1, "? descend into directory 'd'? ", "? descend into directory 'd/s'? ",
		    "? remove regular empty file 'd/s/g'? ", "? remove directory 'd/s'? ",
		    "cannot remove 'd/s': Directory not empty");
	assert_true(exists("d/s/g"));
	answers = "n";
	assert_true(run(&o, "d"));
	assert_said(1, "? descend into directory 'd'? ");
	unit_remove("d");

	make_dir("d");
	assert_int_equal(symlink("x", "l"), 0);
	answers = "";
	assert_true(run(&o, "d l"));
	assert_said(1, "? remove directory 'd'? ", "? remove symbolic link 'l'? ");
	assert_false(exists("d"));
	assert_false(exists("l"));
}

/* Only the write-protected is asked about, after all that needs no question has gone. */
static void questions_about_the_protected(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = {
			.recursive = true, .ask_protected = true, .workers = *w
		};

		make_tree();
		fail_call("access", "g", EACCES, 1000);
		answers = "n";
		assert_false(run(&o, "d"));
		assert_said(1, "? remove write-protected regular empty file 'd/s/g'? ",
			    "cannot remove 'd/s': Directory not empty");
		assert_true(exists("d/s/g"));
		assert_false(exists("d/f"));
		assert_false(exists("d/e"));
		fail_call("access", "g", EACCES, 1000);
		answers = "y";
		assert_true(run(&o, "d"));
		assert_said(1, "? remove write-protected regular empty file 'd/s/g'? ");
		assert_false(exists("d"));
	}
}

static void other_devices(void **state)
{
	const unsigned int *w;

	(void)state;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = {
			.recursive = true, .one_file_system = true, .workers = *w
		};

		make_tree();
		other_device = inode_of("d/s");
		assert_false(run(&o, "d"));
		other_device = 0;
		assert_said(*w, "skipping 'd/s', since it's on a different device");
		assert_true(exists("d/s/g"));
		assert_false(exists("d/f"));
		unit_remove("d");
	}
}

/* The table says that d is the root: nothing else is at risk here. */
static void the_root_is_refused(void **state)
{
	const unsigned int *w;

	(void)state;
	make_tree();
	FOR_WORKERS(w) {
		struct pfu_remove_options o = {
			.recursive = true,
			.force = true,
			.preserve_root = PFU_PRESERVE_ROOT,
			.workers = *w,
		};

		root_directory = "d";
		assert_false(run(&o, "d"));
		root_directory = NULL;
		assert_said(*w, "it is dangerous to operate recursively on 'd' (same as '/')",
			    "use --no-preserve-root to override this failsafe");
		assert_true(exists("d/s/g"));
		assert_true(exists("d/f"));
	}
	unit_remove("d");
}

static void cancelled_from_the_start(void **state)
{
	const unsigned int *w;

	(void)state;
	make_tree();
	FOR_WORKERS(w) {
		atomic_bool flag = true;
		struct pfu_remove_options o = {
			.recursive = true, .workers = *w, .cancel = &flag
		};

		assert_false(run(&o, "d"));
		assert_silent();
		assert_true(exists("d/s/g"));
		assert_true(exists("d/f"));
	}
	unit_remove("d");
}

static atomic_bool cancel_flag;
static atomic_uint unlinks;

static int cancelling_unlinkat(int dirfd, const char *name, int flags)
{
	if (atomic_fetch_add(&unlinks, 1) == 50)
		atomic_store(&cancel_flag, true);
	return unlinkat(dirfd, name, flags);
}

static void cancelled_in_the_middle(void **state)
{
	const unsigned int *w;
	char name[32];
	int i;

	(void)state;
	table.unlinkat = cancelling_unlinkat;
	FOR_WORKERS(w) {
		struct pfu_remove_options o = {
			.recursive = true, .workers = *w, .chunk = 1, .cancel = &cancel_flag
		};

		make_dir("d");
		for (i = 0; i < 500; i++) {
			snprintf(name, sizeof(name), "d/%d", i);
			make_file(name);
		}
		atomic_store(&unlinks, 0);
		atomic_store(&cancel_flag, false);
		(void)run(&o, "d");
		assert_silent();
		assert_true(exists("d"));
		assert_in_range(unlinks, 51, 51 + *w);
		unit_remove("d");
	}
	table.unlinkat = rule_unlinkat;
}

static int clean(void **state)
{
	static const char *const argv[] = { "rm", "-rf", "d", "f", "l", "file", NULL };

	(void)state;
	memset(rules, 0, sizeof(rules));
	while (said_count > 0)
		free(said[--said_count]);
	unit_run(argv);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, clean)
		TEST(trees),
		TEST(operands_that_cannot_be_removed),
		TEST(dots_are_refused),
		TEST(an_entry_that_cannot_be_removed),
		TEST(what_is_gone_meanwhile),
		TEST(a_directory_that_cannot_be_opened),
		TEST(a_directory_that_cannot_be_listed),
		TEST(a_directory_that_stays),
		TEST(a_directory_that_is_not_empty_after_all),
		TEST(verbose),
		TEST(empty_directories_only),
		TEST(empty_directories_in_their_order),
		TEST(links_to_directories),
		TEST(operands_within_operands),
		TEST(questions),
		TEST(questions_about_the_protected),
		TEST(other_devices),
		TEST(the_root_is_refused),
		TEST(cancelled_from_the_start),
		TEST(cancelled_in_the_middle),
	};

	unit_start();
	return cmocka_run_group_tests_name("remove", tests, setup, unit_scratch_remove);
}
