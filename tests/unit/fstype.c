/*
 * fstype.c - tests of pfu/fstype.h: what kind of file system this is.
 */
#include "unit.h"
#include <linux/magic.h>
#include <pfu/fstype.h>
#include <sched.h>

static void local_file_systems(void **state)
{
	/* By number where older headers have no name: XFS, ZFS, bcachefs. */
	static const long local[] = {
		EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,
		OVERLAYFS_SUPER_MAGIC, 0x58465342, 0x2fc12fc1, 0xca451a4e,
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(local); i++)
		assert_int_equal(pfu_fstype_flags(local[i]), PFU_FS_HONEST_SIZE);
}

/* Of these a size of 0 says nothing, and nothing in them is slow. */
static void made_up_files(void **state)
{
	(void)state;
	assert_int_equal(pfu_fstype_flags(PROC_SUPER_MAGIC), 0);
	assert_int_equal(pfu_fstype_flags(SYSFS_MAGIC), 0);
	assert_int_equal(pfu_fstype_flags(CGROUP2_SUPER_MAGIC), 0);
}

static void network_file_systems(void **state)
{
	/* By number: Lustre, CIFS, SMB2, 9p, and one that nobody knows. */
	static const long network[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0x0bd00bd0,
		(long)0xff534d42, (long)0xfe534d42, 0x01021997, 12345,
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(network); i++)
		assert_int_equal(pfu_fstype_flags(network[i]), PFU_FS_NETWORK);
	/* Ceph, and FUSE, which may be ceph-fuse */
	assert_int_equal(pfu_fstype_flags(0x00c36400), PFU_FS_NETWORK | PFU_FS_TOTALS);
	assert_int_equal(pfu_fstype_flags(0x65735546), PFU_FS_NETWORK | PFU_FS_TOTALS);
}

static long told;

static int tell_type(int fd, long *type)
{
	if (fd != 42) {
		errno = EBADF;
		return -1;
	}
	*type = told;
	return 0;
}

static void of_an_open_file(void **state)
{
	static const struct pfu_fsys fs = { .fstatfs_type = tell_type };
	int fd;

	(void)state;
	told = TMPFS_MAGIC;
	assert_int_equal(pfu_fstype_of(&fs, 42), PFU_FS_HONEST_SIZE);
	told = NFS_SUPER_MAGIC;
	assert_int_equal(pfu_fstype_of(&fs, 42), PFU_FS_NETWORK);
	assert_int_equal(pfu_fstype_of(&fs, 43), PFU_FS_NETWORK);

	fd = open("/proc/self", O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pfu_fstype_of(&pfu_fsys_posix, fd), 0);
	close(fd);
	assert_int_equal(pfu_fstype_of(&pfu_fsys_posix, -1), PFU_FS_NETWORK);
}

static void number_of_workers(void **state)
{
	cpu_set_t all, one;
	unsigned int n, most = 0;
	int cpu;

	(void)state;
	/* Round trips are waited for, so processors do not matter. */
	assert_int_equal(pfu_fstype_workers(PFU_FS_NETWORK, &most), 20);
	assert_in_range(most, 64, 256);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	n = pfu_fstype_workers(PFU_FS_HONEST_SIZE, &most);
	assert_int_equal(most, n);
	assert_in_range(n, 1, 64);
	assert_true(n <= (unsigned int)CPU_COUNT(&all));
	/* What counts is the processors that this process may use. */
	for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(pfu_fstype_workers(PFU_FS_HONEST_SIZE, &most), 1);
	assert_int_equal(pfu_fstype_workers(0, &most), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* ---- what there is in all ---- */

static bool no_subdirs;

static int on_ceph(int fd, long *type)
{
	(void)fd;
	*type = 0x00c36400;
	return 0;
}

static ssize_t attribute(const char *path, const char *name, void *value, size_t size)
{
	const char *text = strcmp(name, "ceph.dir.rfiles") == 0	     ? "123456789012" :
			   strcmp(name, "ceph.dir.rsubdirs") == 0 && !no_subdirs ? "1000" :
			   strcmp(name, "ceph.dir.rbytes") == 0	     ? "4611686018427387904" :
								       NULL;

	assert_string_equal(path, "d");
	if (!text) {
		errno = ENODATA;
		return -1;
	}
	assert_true(strlen(text) <= size);
	memcpy(value, text, strlen(text)); /* no byte more */
	return (ssize_t)strlen(text);
}

static void totals(void **state)
{
	struct pfu_fsys fs = pfu_fsys_posix;
	unsigned int fds = open_fds();
	uint64_t entries, bytes;
	int fd;

	(void)state;
	make_dir("d");
	fd = open("f", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_int_equal(ftruncate(fd, 12345), 0);
	close(fd);
	assert_int_equal(symlink("f", "l"), 0);
	/* A local file system only knows of files. */
	assert_false(pfu_fstype_total(&fs, "d", &entries, &bytes));
	assert_true(pfu_fstype_total(&fs, "f", &entries, &bytes));
	assert_int_equal(entries, 1);
	assert_int_equal(bytes, 12345);
	assert_false(pfu_fstype_total(&fs, "l", &entries, &bytes));
	assert_false(pfu_fstype_total(&fs, "missing", &entries, &bytes));
	fs.fstatfs_type = on_ceph;
	fs.lgetxattr = attribute;
	assert_true(pfu_fstype_total(&fs, "d", &entries, &bytes));
	assert_int_equal(entries, 123456789012 + 1000);
	assert_int_equal(bytes, 4611686018427387904);
	no_subdirs = true;
	assert_false(pfu_fstype_total(&fs, "d", &entries, &bytes));
	assert_int_equal(open_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_file_systems),
		cmocka_unit_test(made_up_files),
		cmocka_unit_test(network_file_systems),
		cmocka_unit_test(of_an_open_file),
		cmocka_unit_test(number_of_workers),
		cmocka_unit_test(totals),
	};

	unit_start();
	return cmocka_run_group_tests_name("fstype", tests, unit_scratch_make, unit_scratch_remove);
}
