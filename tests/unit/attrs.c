/*
 * attrs.c - tests of pfu/attrs.h: which calls are made, in which order, and what
 * becomes of their failures.  No file is touched: the table of operations only
 * keeps a protocol.
 */
#include "unit.h"
#include <pfu/attrs.h>

enum { IN = 10, OUT = 11, IN_DIR = 12, OUT_DIR = 13 };

#define ACL "system.posix_acl_access"
#define DEFAULT_ACL "system.posix_acl_default"

/* ---- a table of operations that keeps a protocol ---- */

static char calls[1024]; /* "name arguments;" each */
static const char *source_xattrs; /* names, each ended by a newline */
static int list_error;
static mode_t fake_mode; /* of the target, by fstat() */
static int out_dir_error, path_error; /* of asking a directory for its default ACL */
static char asked_path[64];

/* A call that begins so fails. */
static struct {
	const char *call;
	int error;
} failing[3];

__attribute__((format(printf, 1, 2))) static int call(const char *format, ...)
{
	char *at = calls + strlen(calls);
	va_list args;
	size_t i;

	va_start(args, format);
	vsnprintf(at, (size_t)(calls + sizeof(calls) - at) - 2, format, args);
	va_end(args);
	for (i = 0; i < COUNT(failing) && failing[i].call; i++) {
		if (strncmp(at, failing[i].call, strlen(failing[i].call)) == 0) {
			strcat(at, "!;");
			errno = failing[i].error;
			return -1;
		}
	}
	strcat(at, ";");
	return 0;
}

static int fake_fchmod(int fd, mode_t mode)
{
	assert_int_equal(fd, OUT);
	return call("chmod %04o", mode);
}

static int fake_fchmodat(int dirfd, const char *name, mode_t mode, int flags)
{
	assert_int_equal(dirfd, OUT_DIR);
	assert_string_equal(name, "t");
	assert_int_equal(flags, AT_SYMLINK_NOFOLLOW);
	return call("chmodat %04o", mode);
}

static int fake_fchown(int fd, uid_t uid, gid_t gid)
{
	assert_int_equal(fd, OUT);
	return call("chown %d:%d", (int)uid, (int)gid);
}

static int fake_fchownat(int dirfd, const char *name, uid_t uid, gid_t gid, int flags)
{
	assert_int_equal(dirfd, OUT_DIR);
	assert_string_equal(name, "t");
	assert_int_equal(flags, AT_SYMLINK_NOFOLLOW);
	return call("chownat %d:%d", (int)uid, (int)gid);
}

static void assert_times(const struct timespec times[2])
{
	assert_int_equal(times[0].tv_sec, 1);
	assert_int_equal(times[0].tv_nsec, 2);
	assert_int_equal(times[1].tv_sec, 3);
	assert_int_equal(times[1].tv_nsec, 4);
}

static int fake_futimens(int fd, const struct timespec times[2])
{
	assert_int_equal(fd, OUT);
	assert_times(times);
	return call("times");
}

static int fake_utimensat(int dirfd, const char *name, const struct timespec times[2], int flags)
{
	assert_int_equal(dirfd, OUT_DIR);
	assert_string_equal(name, "t");
	assert_int_equal(flags, AT_SYMLINK_NOFOLLOW);
	assert_times(times);
	return call("timesat");
}

static ssize_t fake_flistxattr(int fd, char *list, size_t size)
{
	size_t len = strlen(source_xattrs), i;

	assert_int_equal(fd, IN);
	if (list_error) {
		errno = list_error;
		return -1;
	}
	if (len > size) {
		errno = ERANGE;
		return -1;
	}
	for (i = 0; i < len; i++)
		list[i] = source_xattrs[i] == '\n' ? '\0' : source_xattrs[i];
	return (ssize_t)len;
}

/* Each value is its attribute's name; one is larger than most. */
static ssize_t fake_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	size_t len = strcmp(name, "user.large") == 0 ? 20000 : strlen(name);

	if (fd == OUT_DIR) {
		errno = out_dir_error;
		return errno ? -1 : 1;
	}
	assert_int_equal(fd, IN);
	if (len > size) {
		errno = ERANGE;
		return -1;
	}
	memset(value, 'v', len);
	return (ssize_t)len;
}

static int fake_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	assert_int_equal(fd, OUT);
	assert_non_null(value);
	assert_int_equal(flags, 0);
	assert_int_equal(size, strcmp(name, "user.large") == 0 ? 20000 : strlen(name));
	return call("set %s", name);
}

static int fake_fremovexattr(int fd, const char *name)
{
	assert_int_equal(fd, OUT);
	return call("remove %s", name);
}

/* Links have their attributes looked for by path. */
static ssize_t fake_llistxattr(const char *path, char *list, size_t size)
{
	(void)path;
	(void)list;
	(void)size;
	return 0;
}

static ssize_t fake_lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	assert_string_equal(name, DEFAULT_ACL);
	assert_null(value);
	assert_int_equal(size, 0);
	snprintf(asked_path, sizeof(asked_path), "%s", path);
	errno = path_error;
	return errno ? -1 : 1;
}

static int fake_fstat(int fd, struct stat *st)
{
	assert_int_equal(fd, OUT);
	*st = (struct stat){ .st_mode = fake_mode };
	return 0;
}

static const struct pfu_fsys table = {
	.fchmod = fake_fchmod,
	.fchmodat = fake_fchmodat,
	.fchown = fake_fchown,
	.fchownat = fake_fchownat,
	.futimens = fake_futimens,
	.utimensat = fake_utimensat,
	.flistxattr = fake_flistxattr,
	.fgetxattr = fake_fgetxattr,
	.fsetxattr = fake_fsetxattr,
	.fremovexattr = fake_fremovexattr,
	.llistxattr = fake_llistxattr,
	.lgetxattr = fake_lgetxattr,
	.fstat = fake_fstat,
};

/* ---- one copy ---- */

static char said[1024]; /* the diagnostics, each ended by a newline */

static void on_message(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	(void)ctx;
	(void)severity;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s: %s\n", text,
		 strerror(errnum));
}

static const struct pfu_report report = { .message = on_message };
static struct pfu_copy_options options;
static struct pfu_fspair pair;
static struct stat source, before;
static struct pfu_attrs a;

/* A new regular file of another owner's 0644 file, all of which is wanted. */
static int prepare(void **state)
{
	(void)state;
	calls[0] = said[0] = '\0';
	source_xattrs = "";
	list_error = 0;
	memset(failing, 0, sizeof(failing));
	options = (struct pfu_copy_options){
		.preserve = PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP | PFU_ATTR_TIMESTAMPS,
		.umask = 022,
	};
	memset(&pair, 0, sizeof(pair));
	source = (struct stat){
		.st_mode = S_IFREG | 0644,
		.st_uid = 100,
		.st_gid = 200,
		.st_atim = { 1, 2 },
		.st_mtim = { 3, 4 },
	};
	before = (struct stat){ .st_mode = S_IFREG | 0600, .st_uid = 1, .st_gid = 2 };
	fake_mode = S_IFREG | 0600;
	a = (struct pfu_attrs){
		.fs = &table,
		.report = &report,
		.options = &options,
		.pair = &pair,
		.privileged = true,
		.source = &source,
		.source_name = "s",
		.source_dirfd = IN_DIR,
		.in = IN,
		.target_name = "t",
		.target_dirfd = OUT_DIR,
		.out = OUT,
	};
	return 0;
}

/* Applies; checks the result, the calls made and what was said. */
static void assert_apply(bool ok, const char *want_calls, const char *want_said)
{
	assert_int_equal(pfu_attrs_apply(&a), ok);
	assert_string_equal(calls, want_calls);
	assert_string_equal(said, want_said);
	calls[0] = said[0] = '\0';
}

static void everything_in_its_order(void **state)
{
	(void)state;
	assert_apply(true, "times;chown 100:200;chmod 0644;", "");
}

static void nothing_that_is_not_asked_for(void **state)
{
	(void)state;
	options.preserve = 0;
	assert_apply(true, "", "");
	options.preserve = PFU_ATTR_TIMESTAMPS;
	assert_apply(true, "times;", "");
	options.preserve = PFU_ATTR_MODE;
	assert_apply(true, "chmod 0644;", "");
	options.preserve = PFU_ATTR_OWNERSHIP;
	assert_apply(true, "chown 100:200;", "");
}

static void an_owner_that_is_right(void **state)
{
	(void)state;
	a.owner_is_right = true;
	assert_apply(true, "times;chmod 0644;", "");
	a.owner_is_right = false;
	before.st_uid = source.st_uid;
	before.st_gid = source.st_gid;
	a.before = &before;
	options.preserve = PFU_ATTR_OWNERSHIP;
	assert_apply(true, "", "");
}

/* By name, never through the link; a link has no mode. */
static void links(void **state)
{
	(void)state;
	source.st_mode = S_IFLNK | 0777;
	a.in = a.out = -1;
	assert_int_equal(pfu_attrs_apply(&a), true);
	assert_string_equal(said, "");
	assert_non_null(strstr(calls, "chownat 100:200;"));
	assert_non_null(strstr(calls, "timesat;"));
	assert_null(strstr(calls, "chmod"));
}

/* Special files, which are not opened. */
static void by_name(void **state)
{
	(void)state;
	source.st_mode = S_IFIFO | 0640;
	a.in = a.out = -1;
	assert_apply(true, "timesat;chownat 100:200;chmodat 0640;", "");
}

/* ---- failures ---- */

static void fail_with(const char *what, int error)
{
	size_t i;

	for (i = 0; failing[i].call; i++)
		assert_true(i + 1 < COUNT(failing));
	failing[i].call = what;
	failing[i].error = error;
}

static void a_user_may_not_give_files_away(void **state)
{
	(void)state;
	source.st_mode |= S_ISUID | S_ISGID;
	a.privileged = false;
	options.require = options.preserve;
	fail_with("chown 100", EPERM);
	/* At least the group; and no set-user-ID bits of another owner. */
	assert_apply(true, "times;chown 100:200!;chown -1:200;chmod 0644;", "");
}

static void an_owner_that_cannot_be_set(void **state)
{
	(void)state;
	source.st_mode |= S_ISUID;
	fail_with("chown 100", EIO);
	assert_apply(true, "times;chown 100:200!;chmod 0644;",
		     "failed to preserve ownership for 't': Input/output error\n");
	options.require = PFU_ATTR_OWNERSHIP;
	assert_apply(false, "times;chown 100:200!;",
		     "failed to preserve ownership for 't': Input/output error\n");
}

static void times_that_cannot_be_set(void **state)
{
	(void)state;
	fail_with("times", EPERM);
	assert_apply(true, "times!;chown 100:200;chmod 0644;",
		     "preserving times for 't': Operation not permitted\n");
	options.require = PFU_ATTR_TIMESTAMPS;
	assert_apply(false, "times!;", "preserving times for 't': Operation not permitted\n");
}

static void a_mode_that_cannot_be_set(void **state)
{
	(void)state;
	fail_with("chmod", EROFS);
	assert_apply(true, "times;chown 100:200;chmod 0644!;",
		     "preserving permissions for 't': Read-only file system\n");
	options.require = PFU_ATTR_MODE;
	assert_apply(false, "times;chown 100:200;chmod 0644!;",
		     "preserving permissions for 't': Read-only file system\n");
}

/* ---- nobody is let in for a moment ---- */

static void an_existing_file_is_closed_before_it_changes_hands(void **state)
{
	(void)state;
	before.st_mode = S_IFREG | 0666;
	source.st_mode = S_IFREG | 0640;
	a.before = &before;
	assert_apply(true, "times;chmod 0600;chown 100:200;chmod 0600;remove " ACL ";chmod 0640;",
		     "");
}

static void set_user_id_goes_before_the_owner_does(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP;
	before.st_mode = S_IFREG | 04755;
	source.st_mode = S_IFREG | 04755;
	a.before = &before;
	assert_int_equal(pfu_attrs_apply(&a), true);
	assert_int_equal(strncmp(calls, "chmod 0700;chown 100:200;", 25), 0);
}

/*
 * What a mode says of the group is, in a file with an ACL, what the ACL grants at
 * most: before the ACL is the right one, it would let in the wrong people.
 */
static void the_group_comes_in_with_the_acl(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_MODE;
	source.st_mode = S_IFREG | 0664;
	source_xattrs = ACL "\n";
	assert_apply(true, "chmod 0604;set " ACL ";", "");
	source_xattrs = "";
	a.default_acl = true; /* inherited one */
	assert_apply(true, "chmod 0604;remove " ACL ";chmod 0664;", "");
}

static void an_acl_that_cannot_be_set(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_MODE;
	source_xattrs = ACL "\n";
	fail_with("set", EOPNOTSUPP);
	options.require = PFU_ATTR_MODE;
	assert_apply(false, "chmod 0604;set " ACL "!;chmod 0644;",
		     "preserving permissions for 't': Operation not supported\n");
}

static void an_inherited_acl_that_is_not_there(void **state)
{
	static const int errors[] = { ENODATA, EOPNOTSUPP };
	size_t i;

	for (i = 0; i < COUNT(errors); i++) {
		prepare(state);
		options.preserve = options.require = PFU_ATTR_MODE;
		a.default_acl = true;
		fail_with("remove", errors[i]);
		assert_apply(true, "chmod 0604;remove " ACL "!;chmod 0644;", "");
	}
}

/* ---- extended attributes ---- */

static void attributes(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_XATTR;
	source_xattrs = "user.a\nuser.large\nsecurity.capability\n" ACL "\ntrusted.overlay.opaque\n";
	assert_apply(true, "set user.a;set user.large;set security.capability;", "");
	options.preserve = PFU_ATTR_MODE; /* these are not asked for */
	source_xattrs = "user.a\nsecurity.selinux\n";
	assert_int_equal(pfu_attrs_apply(&a), true);
	assert_null(strstr(calls, "user.a"));
}

/* Asked once for a pair of file systems. */
static void no_attributes_at_all(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_XATTR | PFU_ATTR_MODE;
	options.require = options.preserve;
	list_error = EOPNOTSUPP;
	assert_apply(true, "chmod 0644;", "");
	assert_true(pair.no_xattrs);
	list_error = EIO; /* would be an error if it were asked for */
	assert_apply(true, "chmod 0644;", "");
}

static void attributes_that_cannot_be_set(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_XATTR;
	source_xattrs = "user.a\nuser.b\n";
	fail_with("set user.a", EOPNOTSUPP);
	options.quiet_attributes = true; /* -a */
	assert_apply(true, "set user.a!;set user.b;", "");
	options.quiet_attributes = false;
	assert_apply(true, "set user.a!;set user.b;", "");
	options.require = PFU_ATTR_XATTR;
	assert_apply(false, "set user.a!;set user.b;",
		     "setting attributes for 't': Operation not supported\n");

	failing[0].error = ENOSPC;
	assert_apply(false, "set user.a!;set user.b;",
		     "setting attribute 'user.a' for 't': No space left on device\n");
	options.require = 0;
	options.quiet_attributes = true;
	assert_apply(true, "set user.a!;set user.b;", "");
}

/* ---- where the mode is not preserved ---- */

static void new_files_and_the_umask(void **state)
{
	(void)state;
	options.preserve = 0;
	source.st_mode = S_IFREG | 04775;
	assert_apply(true, "", ""); /* made with it */
	a.omitted = 0075;
	assert_apply(true, "chmod 0755;", "");
	a.omitted = 0022; /* nothing that the umask would have left */
	assert_apply(true, "", "");
	a.before = &before;
	a.omitted = 0;
	assert_apply(true, "", "");
}

static void directories_and_the_umask(void **state)
{
	(void)state;
	options.preserve = 0;
	source.st_mode = S_IFDIR | 0775;
	fake_mode = S_IFDIR | S_ISGID | 0700; /* it inherited its group */
	a.omitted = 0055;
	assert_apply(true, "chmod 2755;", "");
	a.restore = true; /* it was made writable to be filled */
	a.restore_mode = 0500;
	assert_apply(true, "chmod 0555;", "");
}

static void default_modes(void **state)
{
	(void)state;
	options.preserve = 0;
	options.no_preserve_mode = true;
	assert_apply(true, "chmod 0644;", "");
	source.st_mode = S_IFDIR | 0500;
	fake_mode = S_IFDIR | S_ISGID | 0700;
	assert_apply(true, "chmod 2755;", "");
	fail_with("chmod", EPERM);
	assert_apply(false, "chmod 2755!;",
		     "setting permissions for 't': Operation not permitted\n");
}

static void what_is_left_out_at_first(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_OWNERSHIP;
	assert_int_equal(pfu_attrs_omit(&options, S_IFREG | 0754), 0054);
	assert_int_equal(pfu_attrs_omit(&options, S_IFDIR | 0777), 0077);
	options.preserve = PFU_ATTR_MODE;
	assert_int_equal(pfu_attrs_omit(&options, S_IFREG | 0666), 0);
	assert_int_equal(pfu_attrs_omit(&options, S_IFDIR | 0777), 0022);
}

/* What a directory has inherited would go on to whatever is made in it. */
static void directories_lose_default_acls_too(void **state)
{
	(void)state;
	options.preserve = PFU_ATTR_MODE;
	source.st_mode = S_IFDIR | 0755;
	a.default_acl = true;
	assert_apply(true, "chmod 0705;remove " ACL ";remove " DEFAULT_ACL ";chmod 0755;", "");
	source_xattrs = DEFAULT_ACL "\n";
	assert_apply(true, "chmod 0705;set " DEFAULT_ACL ";remove " ACL ";chmod 0755;", "");
	source_xattrs = ACL "\n" DEFAULT_ACL "\n";
	assert_apply(true, "chmod 0705;set " ACL ";set " DEFAULT_ACL ";", "");
}

static void default_acls(void **state)
{
	(void)state;
	out_dir_error = ENODATA;
	assert_false(pfu_attrs_has_default_acl(&table, OUT_DIR));
	out_dir_error = EOPNOTSUPP;
	assert_false(pfu_attrs_has_default_acl(&table, OUT_DIR));
	out_dir_error = 0;
	assert_true(pfu_attrs_has_default_acl(&table, OUT_DIR));
	/* Open with O_PATH: there is another way. */
	out_dir_error = EBADF;
	path_error = 0;
	assert_true(pfu_attrs_has_default_acl(&table, OUT_DIR));
	assert_string_equal(asked_path, "/proc/thread-self/fd/13/.");
	path_error = ENODATA;
	assert_false(pfu_attrs_has_default_acl(&table, OUT_DIR));
	assert_false(pfu_attrs_has_default_acl_at(&table, "a/b/c", 3));
	assert_string_equal(asked_path, "a/b/.");
	path_error = ENOENT; /* who knows */
	assert_true(pfu_attrs_has_default_acl_at(&table, "a", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, prepare)
		TEST(everything_in_its_order),
		TEST(nothing_that_is_not_asked_for),
		TEST(an_owner_that_is_right),
		TEST(links),
		TEST(by_name),
		TEST(a_user_may_not_give_files_away),
		TEST(an_owner_that_cannot_be_set),
		TEST(times_that_cannot_be_set),
		TEST(a_mode_that_cannot_be_set),
		TEST(an_existing_file_is_closed_before_it_changes_hands),
		TEST(set_user_id_goes_before_the_owner_does),
		TEST(the_group_comes_in_with_the_acl),
		TEST(an_acl_that_cannot_be_set),
		TEST(an_inherited_acl_that_is_not_there),
		TEST(attributes),
		TEST(no_attributes_at_all),
		TEST(attributes_that_cannot_be_set),
		TEST(new_files_and_the_umask),
		TEST(directories_and_the_umask),
		TEST(default_modes),
		TEST(what_is_left_out_at_first),
		TEST(directories_lose_default_acls_too),
		TEST(default_acls),
	};

	unit_start();
	return cmocka_run_group_tests_name("attrs", tests, NULL, NULL);
}
