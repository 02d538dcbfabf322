/*
 * dryrun.c - tests of pfu/dryrun.h: what the pretended calls say, and that nothing happens.
 */
#include "unit.h"
#include <errno.h>
#include <pfu/dryrun.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct pfu_fsys fs;

#define SAYS(err, call)                                     \
	do {                                                \
		errno = 0;                                  \
		assert_int_equal((call), (err) ? -1 : 0);   \
		assert_int_equal((err) ? errno : 0, (err)); \
	} while (0)

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* Opens for writing, and closes again: 0, or -1 with errno. */
static int opens(const char *name, int flags)
{
	int fd = fs.openat(AT_FDCWD, name, flags | O_CLOEXEC, 0666);

	return fd < 0 ? -1 : close(fd);
}

static int set_up(void **state)
{
	(void)state;
	pfu_dryrun_table(&fs);
	make_dir("d");
	make_dir("d/sub");
	make_file("f");
	make_file("d/f");
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unit_remove("d");
	unlink("f");
	unlink("dangling");
	return 0;
}

static void making(void **state)
{
	(void)state;
	SAYS(0, fs.mkdirat(AT_FDCWD, "new", 0777));
	SAYS(0, fs.mkdirat(AT_FDCWD, "new/", 0777));
	SAYS(EEXIST, fs.mkdirat(AT_FDCWD, "d", 0777));
	SAYS(EEXIST, fs.mkdirat(AT_FDCWD, "dangling", 0777));
	SAYS(EEXIST, fs.mkdirat(AT_FDCWD, "dangling/", 0777));
	SAYS(ENOENT, fs.mkdirat(AT_FDCWD, "no/new", 0777));
	SAYS(ENOTDIR, fs.mkdirat(AT_FDCWD, "f/new", 0777));
	SAYS(0, fs.symlinkat("x", AT_FDCWD, "new"));
	SAYS(ENOENT, fs.symlinkat("x", AT_FDCWD, "new/"));
	SAYS(EEXIST, fs.symlinkat("x", AT_FDCWD, "f"));
	SAYS(0, fs.linkat(AT_FDCWD, "f", AT_FDCWD, "new", 0));
	SAYS(EEXIST, fs.linkat(AT_FDCWD, "f", AT_FDCWD, "d/f", 0));
	SAYS(0, fs.mknodat(AT_FDCWD, "new", S_IFIFO | 0666, 0));
	SAYS(EEXIST, fs.mknodat(AT_FDCWD, "d", S_IFIFO | 0666, 0));
	assert_false(is_there("new"));
}

static void opening(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "d/socket" };
	int fd;

	(void)state;
	SAYS(0, opens("new", O_WRONLY | O_CREAT | O_EXCL));
	SAYS(EEXIST, opens("f", O_WRONLY | O_CREAT | O_EXCL));
	SAYS(EEXIST, opens("dangling", O_WRONLY | O_CREAT | O_EXCL));
	SAYS(EISDIR, opens("new/", O_WRONLY | O_CREAT | O_EXCL));
	SAYS(0, opens("f", O_WRONLY | O_TRUNC));
	SAYS(0, opens("f", O_RDWR));
	SAYS(ENOENT, opens("new", O_WRONLY));
	SAYS(EISDIR, opens("d", O_WRONLY));
	SAYS(ENOENT, opens("dangling", O_WRONLY));
	SAYS(ELOOP, opens("dangling", O_WRONLY | O_NOFOLLOW));
	SAYS(0, opens("f", O_RDONLY));
	SAYS(ENOENT, opens("new", O_RDONLY));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	SAYS(ENXIO, opens("d/socket", O_WRONLY));
	close(fd);
	assert_false(is_there("new"));
}

static void cannot_be_written_to(void **state)
{
	int fd = fs.openat(AT_FDCWD, "f", O_RDWR, 0);
	struct stat before, after;
	loff_t at = 0;

	(void)state;
	assert_int_equal(stat("f", &before), 0);
	SAYS(EROFS, fs.write(fd, "x", 1));
	SAYS(EROFS, fs.pwrite(fd, "x", 1, 0));
	SAYS(EROFS, fs.ftruncate(fd, 0));
	SAYS(EROFS, fs.fallocate(fd, 0, 0, 1));
	SAYS(EROFS, fs.clone(fd, fd));
	SAYS(EROFS, fs.copy_file_range(fd, &at, fd, &at, 1, 0));
	SAYS(0, fs.fchmod(fd, 0));
	SAYS(0, fs.fchmodat(AT_FDCWD, "f", 0, 0));
	SAYS(0, fs.fchown(fd, 1, 1));
	SAYS(0, fs.fchownat(AT_FDCWD, "f", 1, 1, 0));
	SAYS(0, fs.futimens(fd, NULL));
	SAYS(0, fs.utimensat(AT_FDCWD, "f", NULL, 0));
	SAYS(0, fs.fsetxattr(fd, "user.a", "x", 1, 0));
	SAYS(0, fs.lsetxattr("f", "user.a", "x", 1, 0));
	SAYS(0, fs.fremovexattr(fd, "user.a"));
	SAYS(0, fs.fdatasync(fd));
	SAYS(0, fs.syncfs(fd));
	close(fd);
	assert_int_equal(stat("f", &after), 0);
	assert_int_equal(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

static void removing(void **state)
{
	(void)state;
	SAYS(0, fs.unlinkat(AT_FDCWD, "f", 0));
	SAYS(0, fs.unlinkat(AT_FDCWD, "dangling", 0));
	SAYS(EISDIR, fs.unlinkat(AT_FDCWD, "d", 0));
	SAYS(ENOENT, fs.unlinkat(AT_FDCWD, "new", 0));
	SAYS(ENOTDIR, fs.unlinkat(AT_FDCWD, "f/x", 0));
	SAYS(0, fs.unlinkat(AT_FDCWD, "d/sub", AT_REMOVEDIR));
	SAYS(ENOTDIR, fs.unlinkat(AT_FDCWD, "f", AT_REMOVEDIR));
	SAYS(EBUSY, fs.unlinkat(AT_FDCWD, "/proc", AT_REMOVEDIR));
	assert_true(is_there("f") && is_there("dangling") && is_there("d/sub"));
}

/* What has made room is gone for what comes next, and only for that. */
static void replacing(void **state)
{
	(void)state;
	SAYS(0, fs.unlinkat(AT_FDCWD, "f", 0));
	SAYS(0, opens("f", O_WRONLY | O_CREAT | O_EXCL));
	SAYS(EEXIST, opens("d/f", O_WRONLY | O_CREAT | O_EXCL));
	SAYS(0, fs.renameat(AT_FDCWD, "d/f", AT_FDCWD, "d/f~", RENAME_NOREPLACE));
	SAYS(0, fs.symlinkat("x", AT_FDCWD, "d/f"));
	SAYS(EEXIST, fs.symlinkat("x", AT_FDCWD, "f"));
	/* Back again: the backup was never there. */
	SAYS(0, fs.renameat(AT_FDCWD, "d/f~", AT_FDCWD, "d/f", RENAME_NOREPLACE));
	SAYS(EEXIST, fs.renameat(AT_FDCWD, "d/f", AT_FDCWD, "f", RENAME_NOREPLACE));
	assert_true(is_there("f") && is_there("d/f") && !is_there("d/f~"));
}

static void in_what_is_not_there(void **state)
{
	int fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	SAYS(0, fs.mkdirat(PFU_UNMADE, "x", 0777));
	SAYS(0, fs.symlinkat("x", PFU_UNMADE, "x"));
	SAYS(0, fs.linkat(PFU_UNMADE, "x", AT_FDCWD, "new", 0));
	SAYS(0, fs.unlinkat(PFU_UNMADE, "x", 0));
	SAYS(0, fs.renameat(PFU_UNMADE, "x", PFU_UNMADE, "y", 0));
	/* Below a directory, those on the way are made first (--parents). */
	SAYS(0, fs.mkdirat(fd, "a/b", 0777));
	SAYS(ENOTDIR, fs.mkdirat(fd, "f/b", 0777));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(making, set_up, tear_down),
		cmocka_unit_test_setup_teardown(opening, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cannot_be_written_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(removing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(replacing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(in_what_is_not_there, set_up, tear_down),
	};

	unit_start();
	return cmocka_run_group_tests_name("dryrun", tests, unit_scratch_make, unit_scratch_remove);
}
