/*
 * faultshim: an LD_PRELOAD library that makes chosen calls fail, fall short, wait or kill.
 *
 *	LD_PRELOAD=build/tests/faultshim.so FAULT='RULE[;RULE...]' program...
 *
 * RULE is CALL:ACTION[:FIELD...].
 *
 * ACTION, what happens to a call that is hit:
 *	EIO, ENOSPC, ...	it fails so without being made (close is made all the same)
 *	short=N			it transfers at most N bytes; for data calls
 *	short=N,then=ERRNO	the first hit falls short, those after it fail
 *	zero			it returns 0 without being made, as at the end of a file
 *	flip=OFFSET		the byte at that offset of the file is another one on its way, if the
 *				call moves it; for read, pread, write and pwrite
 *	delay=MS		it waits first, whatever signals come
 *	kill			the process kills itself with SIGKILL
 *	run			sh runs the text of the variable FAULT_RUN first; for races
 *	log			nothing happens, but see FAULT_LOG
 *
 * FIELDs, each optional, in any order; a rule counts the calls that its filters let through:
 *	N, N+, N-M, all		which of those are hit, from 1; all is the default.  The count is
 *				that of the whole process, over all threads
 *	path=GLOB		filter on the name that was passed or, for calls on a descriptor, the
 *				last part of the path it is open on (copy_file_range: the source);
 *				GLOB with a slash: the whole path
 *	after			make the call, then report failure all the same
 *	rd, wr			filter on descriptors opened for reading only, for writing
 *	any			take calls on all sorts of descriptors, see below
 *
 * CALL is the name of the system call, whichever way the program spells it: openat (open, creat),
 * openat2, close, close_range, fstat, fstatat (stat, lstat), statx, read, pread, readv, write,
 * pwrite, writev, copy_file_range, sendfile, splice, ficlone (ioctl FICLONE, FICLONERANGE), ioctl
 * (others), lseek, ftruncate, fallocate, posix_fallocate, fadvise (posix_fadvise), statfs
 * (fstatfs), unlinkat (unlink), rmdir (unlinkat with AT_REMOVEDIR), mkdirat (mkdir), mknodat
 * (mknod, mkfifo), symlinkat (symlink), linkat (link), readlinkat (readlink), renameat (rename,
 * renameat2), fchmod, fchmodat (chmod), fchmodat2, fchown, fchownat (chown, lchown), futimens,
 * utimensat, getdents64, faccessat (access, faccessat2), fsync (fdatasync), syncfs, unshare,
 * fgetxattr fsetxattr flistxattr fremovexattr (with them the same of l*xattr and *xattr, since
 * which of the three is called is a matter of taste), setrlimit, pthread_create, malloc (calloc,
 * realloc, aligned_alloc, posix_memalign).
 *
 * Of read, pread, write, pwrite, readv, writev, lseek and close only those on regular files count,
 * and of close only where the file was opened for writing, so that pipes and terminals do not
 * disturb the count; `any` lifts that.
 *
 * The same calls made through syscall(2) are seen too.  Those that glibc makes inside itself
 * (stdio, readdir) are not.
 *
 *	FAULT_LOG=FILE		each hit appends a line "CALL COUNT ACTION NAME" to FILE: a test can
 *				see that its fault struck at all
 *	FAULT_WATCH=1		so does each call that fails with EBADF by itself, as "CALL 0 EBADF NAME":
 *				somebody uses a descriptor that is closed (fgetxattr, which may be
 *				tried on one that O_PATH made, left out)
 *
 * A rule that cannot be parsed ends the program with status 125.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define CALLS(X) \
	X(openat) X(openat2) X(close) X(close_range) X(fstat) X(fstatat) X(statx) X(read) X(pread) \
	X(readv) X(write) X(pwrite) X(writev) X(copy_file_range) X(sendfile) X(splice) X(ficlone) \
	X(ioctl) X(lseek) X(ftruncate) X(fallocate) X(posix_fallocate) X(fadvise) X(statfs) \
	X(unlinkat) X(rmdir) X(mkdirat) X(mknodat) X(symlinkat) X(linkat) X(readlinkat) \
	X(renameat) X(fchmod) X(fchmodat) X(fchmodat2) X(fchown) X(fchownat) X(futimens) \
	X(utimensat) X(getdents64) X(faccessat) X(fsync) X(syncfs) X(unshare) X(fgetxattr) \
	X(fsetxattr) X(flistxattr) X(fremovexattr) X(setrlimit) X(pthread_create) X(malloc)

#define X(name) CALL_##name,
enum call { CALLS(X) CALL_COUNT };
#undef X

#define X(name) #name,
static const char *const call_names[] = { CALLS(X) };
#undef X

enum action { FAIL, SHORT, ZERO, FLIP, DELAY, KILL, RUN, LOG };

enum { MAX_RULES = 64 };

struct rule {
	enum call call;
	enum action action;
	int error;			/* FAIL: the errno; SHORT: the errno that follows, 0: none */
	size_t limit;			/* SHORT: bytes; FLIP: offset; DELAY: milliseconds */
	unsigned long first, last;
	bool after, reading, writing, any;
	char *path;
	char *text;			/* the action as it was written */
	atomic_ulong seen, hits;
};

static struct rule rules[MAX_RULES];
static int rule_count;
static bool armed[CALL_COUNT];		/* whether any rule is about this call */
static bool watching;
static const char *log_file;
static const char *run_text;
static __thread long long flip_at = -1;	/* FLIP: what the call that is being made is to change */
static __thread bool inside;		/* the shim itself is at work: let everything through */

static const struct {
	const char *name;
	int value;
} errors[] = {
#define E(name) { #name, name }
	E(EPERM), E(ENOENT), E(EINTR), E(EIO), E(ENXIO), E(EBADF), E(EAGAIN), E(ENOMEM), E(EACCES),
	E(EBUSY), E(EEXIST), E(EXDEV), E(ENODEV), E(ENOTDIR), E(EISDIR), E(EINVAL), E(ENFILE),
	E(EMFILE), E(ENOTTY), E(ETXTBSY), E(EFBIG), E(ENOSPC), E(ESPIPE), E(EROFS), E(EMLINK),
	E(EPIPE), E(ERANGE), E(ENAMETOOLONG), E(ENOSYS), E(ENOTEMPTY), E(ELOOP), E(ENODATA),
	E(EOPNOTSUPP), E(ENOTSUP), E(ESTALE), E(EDQUOT), E(EOVERFLOW), E(ETIMEDOUT), E(ENOTCONN),
	E(EREMOTEIO), E(E2BIG), E(ECANCELED),
	E(ESRCH), E(EUSERS),
#undef E
};

/*
 * Reading the rules.
 */
static _Noreturn void bad_rule(const char *text)
{
	fprintf(stderr, "faultshim: bad rule: %s\n", text);
	_exit(125);
}

static int error_value(const char *s)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (!strcmp(errors[i].name, s))
			return errors[i].value;
	return 0;
}

static enum call call_value(const char *s)
{
	enum call c = 0;

	if (s[0] == 'l' && strstr(s, "xattr")) {
		char other[32];

		snprintf(other, sizeof other, "f%s", s + 1);
		return call_value(other);
	}
	while (c < CALL_COUNT && strcmp(call_names[c], s))
		c++;
	return c;
}

static bool parse_short(struct rule *r, const char *s)
{
	char *end;

	r->action = SHORT;
	r->limit = strtoull(s, &end, 10);
	if (!strncmp(end, ",then=", 6)) {
		r->error = error_value(end + 6);
		return r->error != 0;
	}
	return !*end && end > s;
}

static bool parse_action(struct rule *r, const char *s)
{
	static const struct { const char *name; enum action action; } plain[] = {
		{ "zero", ZERO }, { "kill", KILL }, { "run", RUN }, { "log", LOG },
	};

	r->text = strdup(s);
	if (!r->text)
		return false;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		if (!strcmp(plain[i].name, s)) {
			r->action = plain[i].action;
			return true;
		}
	}
	if (!strncmp(s, "short=", 6))
		return parse_short(r, s + 6);
	if (!strncmp(s, "flip=", 5)) {
		r->action = FLIP;
		r->limit = strtoull(s + 5, NULL, 10);
		return true;
	}
	if (!strncmp(s, "delay=", 6)) {
		r->action = DELAY;
		r->limit = strtoull(s + 6, NULL, 10);
		return true;
	}
	r->action = FAIL;
	r->error = error_value(s);
	return r->error != 0;
}

static bool parse_when(struct rule *r, const char *s)
{
	char *end;

	r->first = r->last = strtoul(s, &end, 10);
	if (*end == '+' && !end[1])
		r->last = ULONG_MAX;
	else if (*end == '-')
		r->last = strtoul(end + 1, &end, 10);
	return (!*end || *end == '+') && r->first > 0;
}

static bool parse_field(struct rule *r, const char *s)
{
	if (isdigit((unsigned char)*s))
		return parse_when(r, s);
	if (!strncmp(s, "path=", 5))
		return (r->path = strdup(s + 5)) != NULL;
	if (!strcmp(s, "after"))
		r->after = true;
	else if (!strcmp(s, "rd"))
		r->reading = true;
	else if (!strcmp(s, "wr"))
		r->writing = true;
	else if (!strcmp(s, "any"))
		r->any = true;
	else
		return !strcmp(s, "all");
	return true;
}

static void parse_rule(char *text)
{
	struct rule *r = &rules[rule_count];
	char *whole = strdup(text), *save, *s = strtok_r(text, ":", &save);

	if (!whole || rule_count == MAX_RULES || !s)
		bad_rule(text);
	r->first = 1;
	r->last = ULONG_MAX;
	r->call = call_value(s);
	s = strtok_r(NULL, ":", &save);
	if (r->call == CALL_COUNT || !s || !parse_action(r, s))
		bad_rule(whole);
	while ((s = strtok_r(NULL, ":", &save)))
		if (!parse_field(r, s))
			bad_rule(whole);
	free(whole);
	armed[r->call] = true;
	rule_count++;
}

static __attribute__((constructor)) void start(void)
{
	const char *fault = getenv("FAULT");
	char *copy, *save, *s;

	log_file = getenv("FAULT_LOG");
	run_text = getenv("FAULT_RUN");
	watching = getenv("FAULT_WATCH") != NULL;
	if (!fault)
		return;
	inside = true;
	copy = strdup(fault);
	if (!copy)
		bad_rule(fault);
	for (s = strtok_r(copy, ";", &save); s; s = strtok_r(NULL, ";", &save))
		parse_rule(s);
	free(copy);
	inside = false;
}

/*
 * Deciding about one call.
 */

/* The kernel, past all interposition. */
#define REAL(name) \
	static __typeof__(name) *real; \
	if (!real) \
		real = (__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name)

static long raw(long n, long a, long b, long c, long d, long e, long f)
{
	static long (*real)(long, ...);

	if (!real)
		real = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
	return real(n, a, b, c, d, e, f);
}

static bool is_data_call(enum call c)
{
	return c == CALL_read || c == CALL_pread || c == CALL_write || c == CALL_pwrite ||
	       c == CALL_close || c == CALL_lseek || c == CALL_readv || c == CALL_writev;
}

static bool is_regular(int fd)
{
	struct stat st;

	return !raw(SYS_newfstatat, fd, (long)"", (long)&st, AT_EMPTY_PATH, 0, 0) &&
	       S_ISREG(st.st_mode);
}

static bool descriptor_matches(const struct rule *r, int fd)
{
	bool writing = r->writing || (r->call == CALL_close && !r->reading && !r->any);
	long mode;

	if (!writing && !r->reading && (r->any || !is_data_call(r->call)))
		return true;
	mode = raw(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
	if (mode < 0)
		return false;
	mode &= O_ACCMODE;
	if ((writing && mode == O_RDONLY) || (r->reading && mode != O_RDONLY))
		return false;
	return r->any || !is_data_call(r->call) || is_regular(fd);
}

/* What a call is about: the name passed or else the path that the descriptor is open on. */
static const char *subject(int fd, const char *name, char buf[static PATH_MAX])
{
	char link[64];
	long n;

	if (name && *name)
		return name;
	buf[0] = '\0';
	if (fd >= 0) {
		/* (A thread may have a table of descriptors of its own.) */
		snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
		n = raw(SYS_readlinkat, AT_FDCWD, (long)link, (long)buf, PATH_MAX - 1, 0, 0);
		if (n > 0)
			buf[n] = '\0';
	}
	return buf;
}

static bool path_matches(const struct rule *r, int fd, const char *name)
{
	char buf[PATH_MAX];
	const char *s, *slash;

	if (!r->path)
		return true;
	s = subject(fd, name, buf);
	slash = strrchr(s, '/');
	if (slash && !strchr(r->path, '/'))
		s = slash + 1;
	return fnmatch(r->path, s, 0) == 0;
}

static void log_call(enum call call, unsigned long n, const char *what, int fd, const char *name)
{
	char buf[PATH_MAX], line[PATH_MAX + 200];
	long out;
	int len;

	if (!log_file)
		return;
	len = snprintf(line, sizeof line, "%s %lu %s %s\n", call_names[call], n, what,
		       subject(fd, name, buf));
	out = raw(SYS_openat, AT_FDCWD, (long)log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666,
		  0, 0);
	if (out < 0)
		return;
	raw(SYS_write, out, (long)line, len < (int)sizeof line ? len : (int)sizeof line, 0, 0, 0);
	raw(SYS_close, out, 0, 0, 0, 0, 0);
}

static void run_command(void)
{
	char sh[] = "sh", c[] = "-c", *text = strdup(run_text ? run_text : ":");
	char *argv[] = { sh, c, text, NULL };
	static char path[4096] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *envp[] = { path, NULL };
	pid_t pid;
	int status;

	if (!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, envp))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	free(text);
}

/* Carries out a rule's hit: an errno to fail with, negative if only after the call, else 0. */
static int carry_out(struct rule *r, size_t *len, bool *zero)
{
	unsigned long hit = atomic_fetch_add(&r->hits, 1);
	struct timespec ts = { (time_t)(r->limit / 1000), (long)(r->limit % 1000) * 1000000 };

	switch (r->action) {
	case FAIL:
		return r->after || r->call == CALL_close ? -r->error : r->error;
	case SHORT:
		if (hit && r->error)
			return r->error;
		if (len && *len > r->limit)
			*len = r->limit;
		return 0;
	case ZERO:
		*zero = true;
		return 0;
	case FLIP:
		flip_at = (long long)r->limit;
		return 0;
	case DELAY:
		while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
			; /* as a call that signals do not interrupt */
		return 0;
	case KILL:
		raw(SYS_kill, getpid(), SIGKILL, 0, 0, 0, 0);
		pause();
		return 0;
	case RUN:
		run_command();
		return 0;
	case LOG:
		return 0;
	}
	return 0;
}

static int decide(enum call call, int fd, const char *name, size_t *len, bool *zero)
{
	int result = 0, e = errno;

	inside = true;
	for (int i = 0; i < rule_count; i++) {
		struct rule *r = &rules[i];
		unsigned long n;

		if (r->call != call || !path_matches(r, fd, name) ||
		    (!name && fd >= 0 && !descriptor_matches(r, fd)))
			continue;
		n = atomic_fetch_add(&r->seen, 1) + 1;
		if (n < r->first || n > r->last)
			continue;
		log_call(r->call, n, r->text, fd, name);
		if (!result)
			result = carry_out(r, len, zero);
	}
	inside = false;
	errno = e;
	return result;
}

/* A call has failed by itself. */
static void watch(enum call call, int fd, const char *name)
{
	if (errno != EBADF || call == CALL_fgetxattr)
		return;
	inside = true;
	log_call(call, 0, "EBADF", fd, name);
	inside = false;
	errno = EBADF;
}

/*
 * The body of a wrapper: CALL on FD, NAME (or NULL), LENP (or NULL), and the expression that makes
 * it.
 */
#define WRAP(call, fd, name, lenp, expression) \
	do { \
		bool zero_ = false; \
		int error_; \
		if ((!armed[CALL_##call] && !watching) || inside) \
			return expression; \
		error_ = decide(CALL_##call, fd, name, lenp, &zero_); \
		if (error_ > 0) { \
			errno = error_; \
			return -1; \
		} \
		if (zero_) \
			return 0; \
		if (!error_) { \
			__auto_type result_ = (expression); \
			if (result_ == -1 && watching) \
				watch(CALL_##call, fd, name); \
			return result_; \
		} \
		(void)(expression); \
		errno = -error_; \
		return -1; \
	} while (0)

#define PUBLIC __attribute__((visibility("default")))

/* Prototypes of what glibc's headers declare only under fortification. */
PUBLIC int __open_2(const char *, int);
PUBLIC int __open64_2(const char *, int);
PUBLIC int __openat_2(int, const char *, int);
PUBLIC int __openat64_2(int, const char *, int);
PUBLIC ssize_t __read_chk(int, void *, size_t, size_t);
PUBLIC ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
PUBLIC ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
PUBLIC ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
PUBLIC ssize_t __readlink_chk(const char *, char *, size_t, size_t);

/*
 * Opening.
 */
static int do_open(int at, const char *name, int flags, mode_t mode)
{
	REAL(openat);
	WRAP(openat, at, name, NULL, real(at, name, flags, mode));
}

static mode_t mode_argument(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define OPEN(function) \
PUBLIC int function(const char *name, int flags, ...) \
{ \
	va_list ap; \
	mode_t mode; \
	va_start(ap, flags); \
	mode = mode_argument(flags, ap); \
	va_end(ap); \
	return do_open(AT_FDCWD, name, flags, mode); \
}
OPEN(open)
OPEN(open64)

#define OPENAT(function) \
PUBLIC int function(int at, const char *name, int flags, ...) \
{ \
	va_list ap; \
	mode_t mode; \
	va_start(ap, flags); \
	mode = mode_argument(flags, ap); \
	va_end(ap); \
	return do_open(at, name, flags, mode); \
}
OPENAT(openat)
OPENAT(openat64)

PUBLIC int __open_2(const char *name, int flags) { return do_open(AT_FDCWD, name, flags, 0); }
PUBLIC int __open64_2(const char *name, int flags) { return do_open(AT_FDCWD, name, flags, 0); }
PUBLIC int __openat_2(int at, const char *name, int flags) { return do_open(at, name, flags, 0); }
PUBLIC int __openat64_2(int at, const char *name, int flags) { return do_open(at, name, flags, 0); }

PUBLIC int creat(const char *name, mode_t mode)
{
	return do_open(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

PUBLIC int creat64(const char *name, mode_t mode)
{
	return do_open(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

PUBLIC int close(int fd)
{
	REAL(close);
	WRAP(close, fd, NULL, NULL, real(fd));
}

PUBLIC int close_range(unsigned first, unsigned last, int flags)
{
	REAL(close_range);
	WRAP(close_range, -1, NULL, NULL, real(first, last, flags));
}

/*
 * Asking.
 */
PUBLIC int fstat(int fd, struct stat *st)
{
	REAL(fstat);
	WRAP(fstat, fd, NULL, NULL, real(fd, st));
}

PUBLIC int fstat64(int fd, struct stat64 *st)
{
	REAL(fstat64);
	WRAP(fstat, fd, NULL, NULL, real(fd, st));
}

PUBLIC int fstatat(int at, const char *restrict name, struct stat *restrict st, int flags)
{
	REAL(fstatat);
	WRAP(fstatat, at, name, NULL, real(at, name, st, flags));
}

PUBLIC int fstatat64(int at, const char *restrict name, struct stat64 *restrict st, int flags)
{
	REAL(fstatat64);
	WRAP(fstatat, at, name, NULL, real(at, name, st, flags));
}

#define STAT(function, type) \
PUBLIC int function(const char *restrict name, struct type *restrict st) \
{ \
	REAL(function); \
	WRAP(fstatat, AT_FDCWD, name, NULL, real(name, st)); \
}
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

PUBLIC int statx(int at, const char *restrict name, int flags, unsigned mask,
		 struct statx *restrict stx)
{
	REAL(statx);
	WRAP(statx, at, name, NULL, real(at, name, flags, mask, stx));
}

PUBLIC int faccessat(int at, const char *name, int mode, int flags)
{
	REAL(faccessat);
	WRAP(faccessat, at, name, NULL, real(at, name, mode, flags));
}

PUBLIC int access(const char *name, int mode)
{
	REAL(access);
	WRAP(faccessat, AT_FDCWD, name, NULL, real(name, mode));
}

PUBLIC ssize_t getdents64(int fd, void *buf, size_t n)
{
	REAL(getdents64);
	WRAP(getdents64, fd, NULL, NULL, real(fd, buf, n));
}

PUBLIC ssize_t readlinkat(int at, const char *restrict name, char *restrict buf, size_t n)
{
	REAL(readlinkat);
	WRAP(readlinkat, at, name, &n, real(at, name, buf, n));
}

PUBLIC ssize_t readlink(const char *restrict name, char *restrict buf, size_t n)
{
	return readlinkat(AT_FDCWD, name, buf, n);
}

PUBLIC ssize_t __readlinkat_chk(int at, const char *name, char *buf, size_t n, size_t room)
{
	(void)room;
	return readlinkat(at, name, buf, n);
}

PUBLIC ssize_t __readlink_chk(const char *name, char *buf, size_t n, size_t room)
{
	(void)room;
	return readlinkat(AT_FDCWD, name, buf, n);
}

/*
 * Data.
 */
/* Where a call at the descriptor's own offset reads or writes, if that is of interest. */
static long long offset_of(int fd)
{
	return flip_at < 0 ? -1 : raw(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0);
}

/* Changes the byte that is to be, in what was read at `at`. */
static ssize_t flip_read(ssize_t n, void *buf, long long at)
{
	long long i = flip_at - at;

	if (flip_at >= 0 && i >= 0 && i < n)
		((unsigned char *)buf)[i] ^= 0xff;
	flip_at = -1;
	return n;
}

/* A copy of what is to be written at `at`, with that byte changed; NULL if it is not in there. */
static void *flip_write(const void *buf, size_t n, long long at)
{
	long long i = flip_at - at;
	unsigned char *copy = NULL;

	if (flip_at >= 0 && i >= 0 && (size_t)i < n && (copy = malloc(n))) {
		memcpy(copy, buf, n);
		copy[i] ^= 0xff;
	}
	flip_at = -1;
	return copy;
}

static ssize_t do_read(ssize_t (*real)(int, void *, size_t), int fd, void *buf, size_t n)
{
	long long at = offset_of(fd);

	return flip_read(real(fd, buf, n), buf, at);
}

static ssize_t do_pread(ssize_t (*real)(int, void *, size_t, off64_t), int fd, void *buf, size_t n,
			off64_t at)
{
	return flip_read(real(fd, buf, n, at), buf, at);
}

static ssize_t do_write(ssize_t (*real)(int, const void *, size_t), int fd, const void *buf, size_t n)
{
	void *copy = flip_write(buf, n, offset_of(fd));
	ssize_t written = real(fd, copy ? copy : buf, n);

	free(copy);
	return written;
}

static ssize_t do_pwrite(ssize_t (*real)(int, const void *, size_t, off64_t), int fd, const void *buf,
			 size_t n, off64_t at)
{
	void *copy = flip_write(buf, n, at);
	ssize_t written = real(fd, copy ? copy : buf, n, at);

	free(copy);
	return written;
}

PUBLIC ssize_t read(int fd, void *buf, size_t n)
{
	REAL(read);
	WRAP(read, fd, NULL, &n, do_read(real, fd, buf, n));
}

PUBLIC ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	(void)room;
	return read(fd, buf, n);
}

PUBLIC ssize_t write(int fd, const void *buf, size_t n)
{
	REAL(write);
	WRAP(write, fd, NULL, &n, do_write(real, fd, buf, n));
}

PUBLIC ssize_t pread64(int fd, void *buf, size_t n, off64_t at)
{
	REAL(pread64);
	WRAP(pread, fd, NULL, &n, do_pread(real, fd, buf, n, at));
}

PUBLIC ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	return pread64(fd, buf, n, at);
}

PUBLIC ssize_t __pread_chk(int fd, void *buf, size_t n, off_t at, size_t room)
{
	(void)room;
	return pread64(fd, buf, n, at);
}

PUBLIC ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t at, size_t room)
{
	(void)room;
	return pread64(fd, buf, n, at);
}

PUBLIC ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	REAL(pwrite64);
	WRAP(pwrite, fd, NULL, &n, do_pwrite(real, fd, buf, n, at));
}

PUBLIC ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return pwrite64(fd, buf, n, at);
}

PUBLIC ssize_t readv(int fd, const struct iovec *v, int count)
{
	REAL(readv);
	WRAP(readv, fd, NULL, NULL, real(fd, v, count));
}

PUBLIC ssize_t writev(int fd, const struct iovec *v, int count)
{
	REAL(writev);
	WRAP(writev, fd, NULL, NULL, real(fd, v, count));
}

PUBLIC ssize_t copy_file_range(int in, off64_t *at_in, int out, off64_t *at_out, size_t n,
			       unsigned flags)
{
	REAL(copy_file_range);
	WRAP(copy_file_range, in, NULL, &n, real(in, at_in, out, at_out, n, flags));
}

PUBLIC ssize_t sendfile64(int out, int in, off64_t *at, size_t n)
{
	REAL(sendfile64);
	WRAP(sendfile, in, NULL, &n, real(out, in, at, n));
}

PUBLIC ssize_t sendfile(int out, int in, off_t *at, size_t n)
{
	return sendfile64(out, in, at, n);
}

PUBLIC ssize_t splice(int in, off64_t *at_in, int out, off64_t *at_out, size_t n, unsigned flags)
{
	REAL(splice);
	WRAP(splice, in, NULL, &n, real(in, at_in, out, at_out, n, flags));
}

static int do_clone(int fd, unsigned long request, void *p)
{
	REAL(ioctl);
	WRAP(ficlone, fd, NULL, NULL, real(fd, request, p));
}

PUBLIC int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *p;
	REAL(ioctl);

	va_start(ap, request);
	p = va_arg(ap, void *);
	va_end(ap);
	if (request == FICLONE || request == FICLONERANGE)
		return do_clone(fd, request, p);
	WRAP(ioctl, fd, NULL, NULL, real(fd, request, p));
}

PUBLIC off64_t lseek64(int fd, off64_t at, int whence)
{
	REAL(lseek64);
	WRAP(lseek, fd, NULL, NULL, real(fd, at, whence));
}

PUBLIC off_t lseek(int fd, off_t at, int whence)
{
	return lseek64(fd, at, whence);
}

PUBLIC int ftruncate64(int fd, off64_t size)
{
	REAL(ftruncate64);
	WRAP(ftruncate, fd, NULL, NULL, real(fd, size));
}

PUBLIC int ftruncate(int fd, off_t size)
{
	return ftruncate64(fd, size);
}

PUBLIC int fallocate64(int fd, int mode, off64_t at, off64_t n)
{
	REAL(fallocate64);
	WRAP(fallocate, fd, NULL, NULL, real(fd, mode, at, n));
}

PUBLIC int fallocate(int fd, int mode, off_t at, off_t n)
{
	return fallocate64(fd, mode, at, n);
}

/* This one returns its errno. */
PUBLIC int posix_fallocate64(int fd, off64_t at, off64_t n)
{
	bool zero = false;
	int e = armed[CALL_posix_fallocate] && !inside ?
		decide(CALL_posix_fallocate, fd, NULL, NULL, &zero) : 0;
	REAL(posix_fallocate64);

	return e ? abs(e) : real(fd, at, n);
}

PUBLIC int posix_fallocate(int fd, off_t at, off_t n)
{
	return posix_fallocate64(fd, at, n);
}

/* This one, too. */
PUBLIC int posix_fadvise64(int fd, off64_t at, off64_t n, int advice)
{
	bool zero = false;
	int e = armed[CALL_fadvise] && !inside ? decide(CALL_fadvise, fd, NULL, NULL, &zero) : 0;
	REAL(posix_fadvise64);

	return e ? abs(e) : real(fd, at, n, advice);
}

PUBLIC int posix_fadvise(int fd, off_t at, off_t n, int advice)
{
	return posix_fadvise64(fd, at, n, advice);
}

PUBLIC int fstatfs64(int fd, struct statfs64 *sfs)
{
	REAL(fstatfs64);
	WRAP(statfs, fd, NULL, NULL, real(fd, sfs));
}

PUBLIC int fstatfs(int fd, struct statfs *sfs)
{
	REAL(fstatfs);
	WRAP(statfs, fd, NULL, NULL, real(fd, sfs));
}

PUBLIC int statfs64(const char *name, struct statfs64 *sfs)
{
	REAL(statfs64);
	WRAP(statfs, AT_FDCWD, name, NULL, real(name, sfs));
}

PUBLIC int statfs(const char *name, struct statfs *sfs)
{
	REAL(statfs);
	WRAP(statfs, AT_FDCWD, name, NULL, real(name, sfs));
}

PUBLIC int fsync(int fd)
{
	REAL(fsync);
	WRAP(fsync, fd, NULL, NULL, real(fd));
}

PUBLIC int fdatasync(int fd)
{
	REAL(fdatasync);
	WRAP(fsync, fd, NULL, NULL, real(fd));
}

PUBLIC int syncfs(int fd)
{
	REAL(syncfs);
	WRAP(syncfs, fd, NULL, NULL, real(fd));
}

/*
 * Names.
 */
static int do_rmdir(int at, const char *name)
{
	REAL(unlinkat);
	WRAP(rmdir, at, name, NULL, real(at, name, AT_REMOVEDIR));
}

PUBLIC int unlinkat(int at, const char *name, int flags)
{
	REAL(unlinkat);
	if (flags & AT_REMOVEDIR)
		return do_rmdir(at, name);
	WRAP(unlinkat, at, name, NULL, real(at, name, flags));
}

PUBLIC int unlink(const char *name)
{
	return unlinkat(AT_FDCWD, name, 0);
}

PUBLIC int rmdir(const char *name)
{
	return do_rmdir(AT_FDCWD, name);
}

PUBLIC int mkdirat(int at, const char *name, mode_t mode)
{
	REAL(mkdirat);
	WRAP(mkdirat, at, name, NULL, real(at, name, mode));
}

PUBLIC int mkdir(const char *name, mode_t mode)
{
	return mkdirat(AT_FDCWD, name, mode);
}

PUBLIC int mknodat(int at, const char *name, mode_t mode, dev_t dev)
{
	REAL(mknodat);
	WRAP(mknodat, at, name, NULL, real(at, name, mode, dev));
}

PUBLIC int mknod(const char *name, mode_t mode, dev_t dev)
{
	return mknodat(AT_FDCWD, name, mode, dev);
}

PUBLIC int mkfifoat(int at, const char *name, mode_t mode)
{
	return mknodat(at, name, mode | S_IFIFO, 0);
}

PUBLIC int mkfifo(const char *name, mode_t mode)
{
	return mknodat(AT_FDCWD, name, mode | S_IFIFO, 0);
}

PUBLIC int symlinkat(const char *target, int at, const char *name)
{
	REAL(symlinkat);
	WRAP(symlinkat, at, name, NULL, real(target, at, name));
}

PUBLIC int symlink(const char *target, const char *name)
{
	return symlinkat(target, AT_FDCWD, name);
}

PUBLIC int linkat(int from, const char *old, int to, const char *name, int flags)
{
	REAL(linkat);
	WRAP(linkat, to, name, NULL, real(from, old, to, name, flags));
}

PUBLIC int link(const char *old, const char *name)
{
	return linkat(AT_FDCWD, old, AT_FDCWD, name, 0);
}

PUBLIC int renameat2(int from, const char *old, int to, const char *name, unsigned flags)
{
	REAL(renameat2);
	WRAP(renameat, to, name, NULL, real(from, old, to, name, flags));
}

PUBLIC int renameat(int from, const char *old, int to, const char *name)
{
	return renameat2(from, old, to, name, 0);
}

PUBLIC int rename(const char *old, const char *name)
{
	return renameat2(AT_FDCWD, old, AT_FDCWD, name, 0);
}

/*
 * Attributes.
 */
PUBLIC int fchmod(int fd, mode_t mode)
{
	REAL(fchmod);
	WRAP(fchmod, fd, NULL, NULL, real(fd, mode));
}

PUBLIC int fchmodat(int at, const char *name, mode_t mode, int flags)
{
	REAL(fchmodat);
	WRAP(fchmodat, at, name, NULL, real(at, name, mode, flags));
}

PUBLIC int chmod(const char *name, mode_t mode)
{
	return fchmodat(AT_FDCWD, name, mode, 0);
}

PUBLIC int fchown(int fd, uid_t uid, gid_t gid)
{
	REAL(fchown);
	WRAP(fchown, fd, NULL, NULL, real(fd, uid, gid));
}

PUBLIC int fchownat(int at, const char *name, uid_t uid, gid_t gid, int flags)
{
	REAL(fchownat);
	WRAP(fchownat, at, name, NULL, real(at, name, uid, gid, flags));
}

PUBLIC int chown(const char *name, uid_t uid, gid_t gid)
{
	return fchownat(AT_FDCWD, name, uid, gid, 0);
}

PUBLIC int lchown(const char *name, uid_t uid, gid_t gid)
{
	return fchownat(AT_FDCWD, name, uid, gid, AT_SYMLINK_NOFOLLOW);
}

PUBLIC int futimens(int fd, const struct timespec ts[2])
{
	REAL(futimens);
	WRAP(futimens, fd, NULL, NULL, real(fd, ts));
}

PUBLIC int utimensat(int at, const char *name, const struct timespec ts[2], int flags)
{
	REAL(utimensat);
	WRAP(utimensat, at, name, NULL, real(at, name, ts, flags));
}

PUBLIC ssize_t fgetxattr(int fd, const char *key, void *value, size_t n)
{
	REAL(fgetxattr);
	WRAP(fgetxattr, fd, NULL, NULL, real(fd, key, value, n));
}

PUBLIC ssize_t lgetxattr(const char *name, const char *key, void *value, size_t n)
{
	REAL(lgetxattr);
	WRAP(fgetxattr, AT_FDCWD, name, NULL, real(name, key, value, n));
}

PUBLIC ssize_t getxattr(const char *name, const char *key, void *value, size_t n)
{
	REAL(getxattr);
	WRAP(fgetxattr, AT_FDCWD, name, NULL, real(name, key, value, n));
}

PUBLIC int fsetxattr(int fd, const char *key, const void *value, size_t n, int flags)
{
	REAL(fsetxattr);
	WRAP(fsetxattr, fd, NULL, NULL, real(fd, key, value, n, flags));
}

PUBLIC int lsetxattr(const char *name, const char *key, const void *value, size_t n, int flags)
{
	REAL(lsetxattr);
	WRAP(fsetxattr, AT_FDCWD, name, NULL, real(name, key, value, n, flags));
}

PUBLIC int setxattr(const char *name, const char *key, const void *value, size_t n, int flags)
{
	REAL(setxattr);
	WRAP(fsetxattr, AT_FDCWD, name, NULL, real(name, key, value, n, flags));
}

PUBLIC ssize_t flistxattr(int fd, char *list, size_t n)
{
	REAL(flistxattr);
	WRAP(flistxattr, fd, NULL, NULL, real(fd, list, n));
}

PUBLIC ssize_t llistxattr(const char *name, char *list, size_t n)
{
	REAL(llistxattr);
	WRAP(flistxattr, AT_FDCWD, name, NULL, real(name, list, n));
}

PUBLIC ssize_t listxattr(const char *name, char *list, size_t n)
{
	REAL(listxattr);
	WRAP(flistxattr, AT_FDCWD, name, NULL, real(name, list, n));
}

PUBLIC int fremovexattr(int fd, const char *key)
{
	REAL(fremovexattr);
	WRAP(fremovexattr, fd, NULL, NULL, real(fd, key));
}

PUBLIC int lremovexattr(const char *name, const char *key)
{
	REAL(lremovexattr);
	WRAP(fremovexattr, AT_FDCWD, name, NULL, real(name, key));
}

PUBLIC int removexattr(const char *name, const char *key)
{
	REAL(removexattr);
	WRAP(fremovexattr, AT_FDCWD, name, NULL, real(name, key));
}

/*
 * The process.
 */
PUBLIC int unshare(int flags)
{
	REAL(unshare);
	WRAP(unshare, -1, NULL, NULL, real(flags));
}

PUBLIC int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *limit)
{
	REAL(setrlimit64);
	WRAP(setrlimit, -1, NULL, NULL, real(what, limit));
}

PUBLIC int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
	REAL(setrlimit);
	WRAP(setrlimit, -1, NULL, NULL, real(what, limit));
}

/* This one returns its errno. */
PUBLIC int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict attr,
			  void *(*run)(void *), void *restrict arg)
{
	bool zero = false;
	int e = armed[CALL_pthread_create] && !inside ?
		decide(CALL_pthread_create, -1, NULL, NULL, &zero) : 0;
	REAL(pthread_create);

	return e ? abs(e) : real(id, attr, run, arg);
}

/*
 * Memory.  Looking up the real function must not come back here.
 */
static bool refuse_memory(void)
{
	bool zero = false;
	int e;

	if (!armed[CALL_malloc] || inside)
		return false;
	e = decide(CALL_malloc, -1, NULL, NULL, &zero);
	if (e)
		errno = ENOMEM;
	return e != 0;
}

PUBLIC void *malloc(size_t n)
{
	REAL(malloc);
	return refuse_memory() ? NULL : real(n);
}

PUBLIC void *calloc(size_t n, size_t size)
{
	REAL(calloc);
	return refuse_memory() ? NULL : real(n, size);
}

PUBLIC void *realloc(void *p, size_t n)
{
	REAL(realloc);
	return refuse_memory() ? NULL : real(p, n);
}

PUBLIC void *aligned_alloc(size_t align, size_t n)
{
	REAL(aligned_alloc);
	return refuse_memory() ? NULL : real(align, n);
}

PUBLIC int posix_memalign(void **p, size_t align, size_t n)
{
	REAL(posix_memalign);
	return refuse_memory() ? ENOMEM : real(p, align, n);
}

/*
 * syscall(2): the calls that glibc has no function for, or not in every version.
 */
static long sys_openat2(const long a[6])
{
	WRAP(openat2, (int)a[0], (const char *)a[1], NULL,
	     raw(SYS_openat2, a[0], a[1], a[2], a[3], a[4], a[5]));
}

static long sys_fchmodat2(const long a[6])
{
	WRAP(fchmodat2, (int)a[0], (const char *)a[1], NULL,
	     raw(SYS_fchmodat2, a[0], a[1], a[2], a[3], a[4], a[5]));
}

static long sys_faccessat2(const long a[6])
{
	WRAP(faccessat, (int)a[0], (const char *)a[1], NULL,
	     raw(SYS_faccessat2, a[0], a[1], a[2], a[3], a[4], a[5]));
}

PUBLIC long syscall(long n, ...)
{
	va_list ap;
	long a[6];

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	switch (n) {
	case SYS_openat2:
		return sys_openat2(a);
	case SYS_fchmodat2:
		return sys_fchmodat2(a);
	case SYS_faccessat2:
		return sys_faccessat2(a);
	case SYS_openat:
		return do_open((int)a[0], (const char *)a[1], (int)a[2], (mode_t)a[3]);
	case SYS_close:
		return close((int)a[0]);
	case SYS_close_range:
		return close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
	case SYS_getdents64:
		return getdents64((int)a[0], (void *)a[1], (size_t)a[2]);
	case SYS_statx:
		return statx((int)a[0], (const char *)a[1], (int)a[2], (unsigned)a[3],
			     (struct statx *)a[4]);
	case SYS_copy_file_range:
		return copy_file_range((int)a[0], (off64_t *)a[1], (int)a[2], (off64_t *)a[3],
				       (size_t)a[4], (unsigned)a[5]);
	case SYS_unlinkat:
		return unlinkat((int)a[0], (const char *)a[1], (int)a[2]);
	case SYS_renameat2:
		return renameat2((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3],
				 (unsigned)a[4]);
	case SYS_utimensat:
		return utimensat((int)a[0], (const char *)a[1], (const struct timespec *)a[2],
				 (int)a[3]);
	case SYS_unshare:
		return unshare((int)a[0]);
	default:
		return raw(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
}
