/*
 * fsys.c - tests of pfu/fsys.h: that the kernel's table is complete, and of what
 * it adds to the system calls.
 */
#include "unit.h"
#include <pfu/fsys.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

static const struct pfu_fsys *const fs = &pfu_fsys_posix;

/* Every operation is there: none of the table's pointers is null. */
static void table_is_complete(void **state)
{
	void (*member)(void);
	size_t at;

	(void)state;
	for (at = 0; at < sizeof(*fs); at += sizeof(member)) {
		memcpy(&member, (const char *)fs + at, sizeof(member));
		if (!member)
			fail_msg("operation %zu is missing", at / sizeof(member));
	}
}

/* A failure is -1 and errno, also where the C library does otherwise. */
static void errors_are_in_errno(void **state)
{
	struct stat st;
	char buf[512];
	long type;

	(void)state;
#define assert_fails(call, err)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
	} while (0)
	assert_fails(fs->fadvise(-1, 0, 0, POSIX_FADV_SEQUENTIAL), EBADF);
	assert_fails(fs->getdents(-1, buf, sizeof(buf)), EBADF);
	assert_fails(fs->identify(-1, &st), EBADF);
	assert_fails(fs->clone(-1, -1), EBADF);
	assert_fails(fs->fstatfs_type(-1, &type), EBADF);
	assert_fails(fs->openat(AT_FDCWD, "missing", O_RDONLY, 0), ENOENT);
	assert_fails(fs->fchmodat(AT_FDCWD, "missing", 0600, AT_SYMLINK_NOFOLLOW), ENOENT);
	assert_fails(fs->renameat(AT_FDCWD, "missing", AT_FDCWD, "x", 0), ENOENT);
	assert_fails(fs->close_range(5, 4, 0), EINVAL);
#undef assert_fails
}

static void identify_is_a_part_of_fstat(void **state)
{
	static const char *const names[] = { "file", "dir", ".", "/dev/null", "/proc/self" };
	size_t i;

	(void)state;
	make_file("file");
	make_dir("dir");
	for (i = 0; i < COUNT(names); i++) {
		int fd = fs->openat(AT_FDCWD, names[i], O_PATH | O_CLOEXEC, 0);
		struct stat a, b = { 0 };

		assert_true(fd >= 0);
		assert_int_equal(fs->fstat(fd, &a), 0);
		assert_int_equal(fs->identify(fd, &b), 0);
		assert_int_equal(a.st_dev, b.st_dev);
		assert_int_equal(a.st_ino, b.st_ino);
		assert_int_equal(a.st_mode & S_IFMT, b.st_mode & S_IFMT);
		assert_int_equal(fs->close(fd), 0);
	}
	unlink("file");
	rmdir("dir");
}

/* The layout of struct pfu_dirent is the kernel's, and d_off is where to go on. */
static void listings(void **state)
{
	enum { N = 300 };
	unsigned int seen[N] = { 0 }, number;
	char name[32], buf[1024] __attribute__((aligned(8)));
	int fd, i, end, dots = 0;
	ssize_t n, at;

	(void)state;
	make_dir("list");
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "list/e%d", i);
		if (i % 3)
			make_file(name);
		else
			make_dir(name);
	}
	fd = fs->openat(AT_FDCWD, "list", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	assert_true(fd >= 0);
	while ((n = fs->getdents(fd, buf, sizeof(buf))) > 0) {
		off_t off = 0;

		for (at = 0; at < n;) {
			struct pfu_dirent *e = (struct pfu_dirent *)(void *)(buf + at);

			at += e->d_reclen;
			off = e->d_off;
			if (e->d_name[0] == '.') {
				dots++;
				continue;
			}
			assert_int_equal(sscanf(e->d_name, "e%u%n", &number, &end), 1);
			assert_int_equal(e->d_name[end], '\0');
			assert_in_range(number, 0, N - 1);
			seen[number]++;
			assert_true(e->d_ino != 0);
			assert_true(e->d_type == DT_UNKNOWN ||
				    e->d_type == (number % 3 ? DT_REG : DT_DIR));
		}
		assert_int_equal(at, n);
		/* Opened anew, it goes on from there. */
		fs->close(fd);
		fd = fs->openat(AT_FDCWD, "list", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		assert_true(fd >= 0);
		assert_true(fs->lseek(fd, off, SEEK_SET) >= 0);
	}
	assert_int_equal(n, 0);
	assert_int_equal(dots, 2);
	for (i = 0; i < N; i++)
		assert_int_equal(seen[i], 1);
	fs->close(fd);
	unit_remove("list");
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void chmod_never_through_a_link(void **state)
{
	(void)state;
	make_file("target");
	assert_int_equal(chmod("target", 0640), 0);
	assert_int_equal(symlink("target", "link"), 0);
	errno = 0;
	assert_int_equal(fs->fchmodat(AT_FDCWD, "link", 0777, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(mode_of("target"), 0640);
	assert_int_equal(fs->fchmodat(AT_FDCWD, "target", 0604, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(mode_of("target"), 0604);
	assert_int_equal(fs->fchmodat(AT_FDCWD, "link", 0700, 0), 0);
	assert_int_equal(mode_of("target"), 0700);
	unlink("link");
	unlink("target");
}

static void rename_with_and_without_flags(void **state)
{
	(void)state;
	make_file("a");
	make_file("b");
	errno = 0;
	assert_int_equal(fs->renameat(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(fs->renameat(AT_FDCWD, "a", AT_FDCWD, "b", 0), 0);
	assert_int_equal(access("a", F_OK), -1);
	assert_int_equal(fs->renameat(AT_FDCWD, "b", AT_FDCWD, "a", RENAME_NOREPLACE), 0);
	unlink("a");
}

static void ranges_are_closed(void **state)
{
	unsigned int before = open_fds();
	int fd[4], i;

	(void)state;
	for (i = 0; i < 4; i++) {
		/* In a row, far from all others. */
		fd[i] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 600 + i);
		assert_int_equal(fd[i], 600 + i);
	}
	if (fs->close_range(600, 602, 0) != 0) {
		for (i = 0; i < 4; i++)
			close(fd[i]);
		skip(); /* an old kernel: those who call it must do without */
	}
	assert_int_equal(open_fds(), before + 1);
	assert_true(fcntl(603, F_GETFD) >= 0);
	close(603);
}

static void bytes(void **state)
{
	off_t from = 2, to = 1;
	char buf[16] = "";
	int a, b;

	(void)state;
	a = fs->openat(AT_FDCWD, "a", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	b = fs->openat(AT_FDCWD, "b", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(a >= 0 && b >= 0);
	assert_int_equal(fs->write(a, "012345", 6), 6);
	assert_int_equal(fs->pwrite(a, "x", 1, 3), 1);
	assert_int_equal(fs->pread(a, buf, 4, 1), 4);
	assert_memory_equal(buf, "12x4", 4);
	assert_int_equal(fs->lseek(a, 0, SEEK_SET), 0);
	assert_int_equal(fs->read(a, buf, sizeof(buf)), 6);
	assert_int_equal(fs->ftruncate(b, 10), 0);
	assert_int_equal(fs->copy_file_range(a, &from, b, &to, 3, 0), 3);
	assert_int_equal(from, 5);
	assert_int_equal(to, 4);
	assert_int_equal(fs->pread(b, buf, sizeof(buf), 0), 10);
	assert_memory_equal(buf, "\0002x4\0\0\0\0\0\0", 10);
	fs->close(a);
	fs->close(b);
	unlink("a");
	unlink("b");
}

static void types_of_file_systems(void **state)
{
	struct statfs sfs;
	long type = 0;
	int fd = fs->openat(AT_FDCWD, ".", O_RDONLY | O_CLOEXEC, 0);

	(void)state;
	assert_int_equal(statfs(".", &sfs), 0);
	assert_int_equal(fs->fstatfs_type(fd, &type), 0);
	assert_true(type == (long)sfs.f_type);
	fs->close(fd);
}

/* Only that they reach the right call; which attributes a file system takes is its own. */
static void attributes_of_links_are_their_own(void **state)
{
	char list[256];

	(void)state;
	make_file("target");
	assert_int_equal(symlink("target", "link"), 0);
	if (setxattr("target", "trusted.unit", "1", 1, 0) != 0) {
		unlink("link");
		unlink("target");
		skip(); /* not root, or not on this file system */
	}
	assert_int_equal(fs->lgetxattr("target", "trusted.unit", list, sizeof(list)), 1);
	assert_int_equal(fs->lgetxattr("link", "trusted.unit", list, sizeof(list)), -1);
	assert_int_equal(errno, ENODATA);
	assert_true(fs->llistxattr("target", list, sizeof(list)) > 0);
	unlink("link");
	unlink("target");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_complete),
		cmocka_unit_test(errors_are_in_errno),
		cmocka_unit_test(identify_is_a_part_of_fstat),
		cmocka_unit_test(listings),
		cmocka_unit_test(chmod_never_through_a_link),
		cmocka_unit_test(rename_with_and_without_flags),
		cmocka_unit_test(ranges_are_closed),
		cmocka_unit_test(bytes),
		cmocka_unit_test(types_of_file_systems),
		cmocka_unit_test(attributes_of_links_are_their_own),
	};

	unit_start();
	return cmocka_run_group_tests_name("fsys", tests, unit_scratch_make, unit_scratch_remove);
}
