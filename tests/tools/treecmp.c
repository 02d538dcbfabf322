/*
 * treecmp: compares two trees entry by entry.
 *
 *	treecmp [options] A B
 *
 * For each name below A and B: type, mode, owner, size, content, link target, device number,
 * modification time to the nanosecond, extended attributes (POSIX ACLs among them, as far as the
 * file system lists them), grouping of names by hard links, and that B does not use notably more
 * blocks than A does (holes were kept).  A difference is a line on stdout, its path quoted as in C.
 *
 *	--no-mode --no-owner --no-content --no-times --no-dir-times --no-link-times --no-links
 *	--no-xattrs --no-holes		leave that attribute out
 *	--ignore-xattr=PREFIX		leave out attributes whose name begins so (may be repeated)
 *	--slack=BYTES			how much more than A a file of B may occupy (64 KiB)
 *	--max=N				print no more than N differences (20); all are counted
 *	-v				say at the end how much was compared
 *
 * Exit status: 0 the same, 1 different, 2 trouble (something could not be read).
 *
 * Neither depth nor width is limited: a level of the tree costs the names of its subdirectories
 * that are still to be visited, and no more than WINDOW levels have their descriptors open; the
 * others are reopened through ".." when the walk comes back to them.  The only other thing that
 * grows is the table of hard links.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	WINDOW = 16,			/* levels with open descriptors */
	DENTS_SIZE = 256 * 1024,
	IO_SIZE = 1024 * 1024,
	MAX_IGNORED = 16,
	SHOWN_PATH = 600,		/* bytes of a path that a message shows */
};

/* What is not compared. */
static bool no_mode, no_owner, no_content, no_times, no_dir_times, no_link_times;
static bool no_links, no_xattrs, no_holes;
static const char *ignored[MAX_IGNORED];
static int ignored_count;
static long long slack = 64 * 1024;
static unsigned long long max_shown = 20;

static unsigned long long differences, troubles, entries, bytes;

static void *xrealloc(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p) {
		fputs("treecmp: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

/*
 * The path of what is being looked at, for messages: the directories on the way, then a name.
 */
static char *path;
static size_t path_len, path_cap;

static size_t path_push(const char *name)
{
	size_t before = path_len, n = strlen(name);

	if (path_len + n + 2 > path_cap) {
		path_cap = (path_len + n + 2) * 2;
		path = xrealloc(path, path_cap);
	}
	if (path_len)
		path[path_len++] = '/';
	memcpy(path + path_len, name, n + 1);
	path_len += n;
	return before;
}

static void path_pop(size_t before)
{
	path_len = before;
	if (path)
		path[path_len] = '\0';
}

/* In quotes; of a path of a deep tree the last part is enough. */
static void put_quoted(FILE *f, const char *s)
{
	size_t n = strlen(s);

	putc('"', f);
	if (n > SHOWN_PATH) {
		fputs("[...]", f);
		s += n - SHOWN_PATH;
	}
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p == '\n')
			fputs("\\n", f);
		else if (*p < ' ' || *p >= 0x7f)
			fprintf(f, "\\%03o", *p);
		else
			putc(*p, f);
	}
	putc('"', f);
}

/* The path below A and B of the entry NAME; "." is the operands themselves. */
static void put_entry(FILE *f, const char *name)
{
	size_t before = path_len;

	if (name)
		path_push(name);
	put_quoted(f, path_len ? path : ".");
	path_pop(before);
}

static void __attribute__((format(printf, 2, 3))) differ(const char *name, const char *format, ...)
{
	va_list ap;

	if (differences++ >= max_shown)
		return;
	put_entry(stdout, name);
	fputs(": ", stdout);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

static void trouble(const char *name, const char *what, char side)
{
	int e = errno;

	if (troubles++ >= max_shown)
		return;
	fprintf(stderr, "treecmp: cannot %s %c ", what, side);
	put_entry(stderr, name);
	fprintf(stderr, ": %s\n", strerror(e));
}

/*
 * Hard links: a pair of tables that say which inode of B an inode of A was first seen with, and
 * the other way round.  The grouping is the same when both are functions.
 */
struct link_slot {
	dev_t from_dev, to_dev;
	ino_t from_ino, to_ino;
	bool used;
};

struct link_table {
	struct link_slot *slots;
	size_t count, size;
};

static struct link_table links_ab, links_ba;

static struct link_slot *link_find(struct link_table *t, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ ((uint64_t)dev << 40)) * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(h >> 20) & (t->size - 1);

	while (t->slots[i].used && (t->slots[i].from_ino != ino || t->slots[i].from_dev != dev))
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static void link_grow(struct link_table *t)
{
	struct link_table bigger = { NULL, t->count, t->size ? t->size * 2 : 1024 };

	bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
	if (!bigger.slots) {
		fputs("treecmp: out of memory\n", stderr);
		exit(2);
	}
	for (size_t i = 0; i < t->size; i++) {
		struct link_slot *s = &t->slots[i];

		if (s->used)
			*link_find(&bigger, s->from_dev, s->from_ino) = *s;
	}
	free(t->slots);
	*t = bigger;
}

/* Whether FROM was always seen together with TO. */
static bool link_same(struct link_table *t, const struct stat *from, const struct stat *to)
{
	struct link_slot *s;

	if (t->count * 2 >= t->size)
		link_grow(t);
	s = link_find(t, from->st_dev, from->st_ino);
	if (!s->used) {
		*s = (struct link_slot){ from->st_dev, to->st_dev, from->st_ino, to->st_ino, true };
		t->count++;
		return true;
	}
	return s->to_dev == to->st_dev && s->to_ino == to->st_ino;
}

static void compare_links(const char *name, const struct stat *a, const struct stat *b)
{
	bool ab, ba;

	if (a->st_nlink < 2 && b->st_nlink < 2)
		return;
	ab = link_same(&links_ab, a, b);
	ba = link_same(&links_ba, b, a);
	if (!ab)
		differ(name, "a hard link in A, not in B");
	else if (!ba)
		differ(name, "a hard link in B, not in A");
}

/*
 * Extended attributes.  There are no l*xattr calls relative to a descriptor, so the entry is
 * reached through /proc, which keeps the path short and does not follow the last name.
 */
struct xattrs {
	char *list;
	char *value;
	char **names;
	size_t list_cap, value_cap, names_cap;
	size_t count;
	ssize_t value_len;
};

static struct xattrs xattrs_a, xattrs_b;

static const char *entry_path(int fd, const char *name, char buf[static 320])
{
	if (fd == AT_FDCWD)
		return name;
	snprintf(buf, 320, "/proc/self/fd/%d/%s", fd, name);
	return buf;
}

static bool xattr_ignored(const char *name)
{
	for (int i = 0; i < ignored_count; i++)
		if (!strncmp(name, ignored[i], strlen(ignored[i])))
			return true;
	return false;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool xattrs_list(struct xattrs *x, const char *p)
{
	ssize_t n;

	x->count = 0;
	if (!x->list_cap) {
		x->list_cap = 4096;
		x->list = xrealloc(NULL, x->list_cap);
	}
	while ((n = llistxattr(p, x->list, x->list_cap)) < 0) {
		if (errno == ENOTSUP)
			return true;
		if (errno != ERANGE || x->list_cap > (1u << 20))
			return false;
		x->list_cap *= 4;
		x->list = xrealloc(x->list, x->list_cap);
	}
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(x->list + i) + 1) {
		if (xattr_ignored(x->list + i))
			continue;
		if (x->count == x->names_cap) {
			x->names_cap = x->names_cap ? x->names_cap * 2 : 16;
			x->names = xrealloc(x->names, x->names_cap * sizeof *x->names);
		}
		x->names[x->count++] = x->list + i;
	}
	if (x->count > 1)
		qsort(x->names, x->count, sizeof *x->names, by_string);
	return true;
}

static bool xattrs_get(struct xattrs *x, const char *p, const char *name)
{
	if (!x->value_cap) {
		x->value_cap = 65536;
		x->value = xrealloc(NULL, x->value_cap);
	}
	x->value_len = lgetxattr(p, name, x->value, x->value_cap);
	return x->value_len >= 0;
}

static void compare_xattrs(int fda, const char *namea, int fdb, const char *nameb, const char *name)
{
	char bufa[320], bufb[320];
	const char *pa = entry_path(fda, namea, bufa), *pb = entry_path(fdb, nameb, bufb);
	size_t i = 0, j = 0;

	if (!xattrs_list(&xattrs_a, pa)) {
		trouble(name, "list attributes of", 'A');
		return;
	}
	if (!xattrs_list(&xattrs_b, pb)) {
		trouble(name, "list attributes of", 'B');
		return;
	}
	while (i < xattrs_a.count || j < xattrs_b.count) {
		int order = i == xattrs_a.count ? 1 : j == xattrs_b.count ? -1 :
			    strcmp(xattrs_a.names[i], xattrs_b.names[j]);

		if (order < 0) {
			differ(name, "xattr %s only in A", xattrs_a.names[i++]);
		} else if (order > 0) {
			differ(name, "xattr %s only in B", xattrs_b.names[j++]);
		} else {
			const char *key = xattrs_a.names[i];

			if (!xattrs_get(&xattrs_a, pa, key))
				trouble(name, "get an attribute of", 'A');
			else if (!xattrs_get(&xattrs_b, pb, key))
				trouble(name, "get an attribute of", 'B');
			else if (xattrs_a.value_len != xattrs_b.value_len ||
				 memcmp(xattrs_a.value, xattrs_b.value, (size_t)xattrs_a.value_len))
				differ(name, "xattr %s has another value", key);
			i++;
			j++;
		}
	}
}

/*
 * Content.
 */
static bool read_at(int fd, char *buf, size_t want, off_t at)
{
	for (size_t got = 0; got < want; ) {
		ssize_t n = pread(fd, buf + got, want - got, at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!n)
				errno = ENODATA;	/* shorter than stat said */
			return false;
		}
		got += (size_t)n;
	}
	return true;
}

/* The first offset at or after AT where one of the two has data, as far as they can tell. */
static off_t next_data(int fda, int fdb, off_t at, off_t size)
{
	off_t a = lseek(fda, at, SEEK_DATA), b;

	if (a < 0)
		a = errno == ENXIO ? size : at;
	if (a == at)
		return at;
	b = lseek(fdb, at, SEEK_DATA);
	if (b < 0)
		b = errno == ENXIO ? size : at;
	return a < b ? a : b;
}

static void compare_bytes(int fda, int fdb, off_t size, bool holes, const char *name)
{
	static char *bufa, *bufb;

	if (!bufa) {
		bufa = xrealloc(NULL, IO_SIZE);
		bufb = xrealloc(NULL, IO_SIZE);
	}
	for (off_t at = 0; at < size; ) {
		size_t n;

		if (holes && (at = next_data(fda, fdb, at, size)) >= size)
			break;
		n = size - at < IO_SIZE ? (size_t)(size - at) : IO_SIZE;
		if (!read_at(fda, bufa, n, at)) {
			trouble(name, "read", 'A');
			return;
		}
		if (!read_at(fdb, bufb, n, at)) {
			trouble(name, "read", 'B');
			return;
		}
		bytes += n;
		if (memcmp(bufa, bufb, n)) {
			size_t i = 0;

			while (bufa[i] == bufb[i])
				i++;
			differ(name, "content differs at byte %lld", (long long)at + (long long)i);
			return;
		}
		at += (off_t)n;
	}
}

static void compare_content(int fda, const char *namea, int fdb, const char *nameb,
			    const struct stat *a, const struct stat *b, const char *name)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	bool holes = a->st_blocks * 512 < a->st_size && b->st_blocks * 512 < b->st_size;
	int ia = openat(fda, namea, flags), ib;

	if (ia < 0) {
		trouble(name, "open", 'A');
		return;
	}
	ib = openat(fdb, nameb, flags);
	if (ib < 0)
		trouble(name, "open", 'B');
	else
		compare_bytes(ia, ib, a->st_size, holes, name);
	close(ia);
	if (ib >= 0)
		close(ib);
}

static void compare_targets(int fda, const char *namea, int fdb, const char *nameb,
			    const char *name)
{
	static char a[65536], b[65536];
	ssize_t na = readlinkat(fda, namea, a, sizeof a), nb;

	if (na < 0) {
		trouble(name, "read link", 'A');
		return;
	}
	nb = readlinkat(fdb, nameb, b, sizeof b);
	if (nb < 0)
		trouble(name, "read link", 'B');
	else if (na != nb || memcmp(a, b, (size_t)na))
		differ(name, "link target differs");
}

static const char *type_name(mode_t m)
{
	switch (m & S_IFMT) {
	case S_IFREG: return "regular file";
	case S_IFDIR: return "directory";
	case S_IFLNK: return "symbolic link";
	case S_IFIFO: return "fifo";
	case S_IFSOCK: return "socket";
	case S_IFCHR: return "character device";
	case S_IFBLK: return "block device";
	default: return "unknown";
	}
}

static void compare_times(const struct stat *a, const struct stat *b, const char *name)
{
	if (no_times || (no_dir_times && S_ISDIR(a->st_mode)) ||
	    (no_link_times && S_ISLNK(a->st_mode)))
		return;
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
		differ(name, "mtime %lld.%09ld %lld.%09ld",
		       (long long)a->st_mtim.tv_sec, a->st_mtim.tv_nsec,
		       (long long)b->st_mtim.tv_sec, b->st_mtim.tv_nsec);
}

static void compare_regular(int fda, const char *namea, int fdb, const char *nameb,
			    const struct stat *a, const struct stat *b, const char *name)
{
	if (a->st_size != b->st_size) {
		differ(name, "size %lld %lld", (long long)a->st_size, (long long)b->st_size);
		return;
	}
	if (!no_content && a->st_size)
		compare_content(fda, namea, fdb, nameb, a, b, name);
	if (!no_holes && (long long)b->st_blocks * 512 > (long long)a->st_blocks * 512 + slack)
		differ(name, "occupies %lld KiB %lld KiB",
		       (long long)a->st_blocks / 2, (long long)b->st_blocks / 2);
}

/*
 * Compares the entry NAMEA of the directory FDA with NAMEB of FDB; NAME is what to call it, NULL
 * for the operands themselves.  True when both are directories; their identities go to A and B.
 */
static bool compare_entry(int fda, const char *namea, int fdb, const char *nameb,
			  const char *name, struct stat *a, struct stat *b)
{
	entries++;
	if (fstatat(fda, namea, a, AT_SYMLINK_NOFOLLOW) < 0) {
		trouble(name, "stat", 'A');
		return false;
	}
	if (fstatat(fdb, nameb, b, AT_SYMLINK_NOFOLLOW) < 0) {
		trouble(name, "stat", 'B');
		return false;
	}
	if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT)) {
		differ(name, "%s, %s", type_name(a->st_mode), type_name(b->st_mode));
		return false;
	}
	if (!no_mode && !S_ISLNK(a->st_mode) && a->st_mode != b->st_mode)
		differ(name, "mode %04o %04o", a->st_mode & 07777u, b->st_mode & 07777u);
	if (!no_owner && (a->st_uid != b->st_uid || a->st_gid != b->st_gid))
		differ(name, "owner %u:%u %u:%u", a->st_uid, a->st_gid, b->st_uid, b->st_gid);
	compare_times(a, b, name);
	if (S_ISREG(a->st_mode))
		compare_regular(fda, namea, fdb, nameb, a, b, name);
	else if (S_ISLNK(a->st_mode))
		compare_targets(fda, namea, fdb, nameb, name);
	else if ((S_ISCHR(a->st_mode) || S_ISBLK(a->st_mode)) && a->st_rdev != b->st_rdev)
		differ(name, "device %u,%u %u,%u", major(a->st_rdev), minor(a->st_rdev),
		       major(b->st_rdev), minor(b->st_rdev));
	if (!no_xattrs)
		compare_xattrs(fda, namea, fdb, nameb, name);
	if (!no_links && !S_ISDIR(a->st_mode))
		compare_links(name, a, b);
	return S_ISDIR(a->st_mode);
}

/*
 * Listings: the sorted names of one directory.
 */
struct listing {
	char *text;
	size_t len, cap;
	char **names;
	size_t count, names_cap;
};

static void listing_add(struct listing *l, const char *name)
{
	size_t n = strlen(name) + 1;

	if (l->len + n > l->cap) {
		l->cap = (l->len + n) * 2 + 4096;
		l->text = xrealloc(l->text, l->cap);
	}
	memcpy(l->text + l->len, name, n);
	l->len += n;
	l->count++;
}

static void listing_sort(struct listing *l)
{
	char *p = l->text;

	if (l->count > l->names_cap) {
		l->names_cap = l->count * 2;
		l->names = xrealloc(l->names, l->names_cap * sizeof *l->names);
	}
	for (size_t i = 0; i < l->count; i++, p += strlen(p) + 1)
		l->names[i] = p;
	if (l->count > 1)
		qsort(l->names, l->count, sizeof *l->names, by_string);
}

static bool listing_read(struct listing *l, int fd)
{
	static char *buf;
	ssize_t n;

	if (!buf)
		buf = xrealloc(NULL, DENTS_SIZE);
	l->len = l->count = 0;
	while ((n = getdents64(fd, buf, DENTS_SIZE)) > 0) {
		for (ssize_t i = 0; i < n; ) {
			struct dirent64 *d = (struct dirent64 *)(void *)(buf + i);

			i += d->d_reclen;
			if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
				listing_add(l, d->d_name);
		}
	}
	listing_sort(l);
	return n == 0;
}

/*
 * The walk: a stack of levels, each the two directories and the subdirectories still to visit.
 */
struct level {
	int fd[2];			/* -1 when closed to save descriptors */
	dev_t dev[2];
	ino_t ino[2];
	size_t path_before;		/* length of the path without this directory */
	char *subdirs;			/* names, each with its NUL */
	size_t subdirs_len, next;
};

static struct level *levels;
static size_t depth, levels_cap;

static void level_close(struct level *l)
{
	for (int i = 0; i < 2; i++) {
		if (l->fd[i] >= 0)
			close(l->fd[i]);
		l->fd[i] = -1;
	}
}

static bool level_open(struct level *l, const int at[2], const char *namea, const char *nameb,
		       const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	l->fd[1] = -1;
	l->fd[0] = openat(at[0], namea, flags);
	if (l->fd[0] < 0) {
		trouble(name, "open directory", 'A');
		return false;
	}
	l->fd[1] = openat(at[1], nameb, flags);
	if (l->fd[1] < 0) {
		trouble(name, "open directory", 'B');
		level_close(l);
		return false;
	}
	return true;
}

static void subdirs_add(struct level *l, size_t *cap, const char *name)
{
	size_t n = strlen(name) + 1;

	if (l->subdirs_len + n > *cap) {
		*cap = (l->subdirs_len + n) * 2;
		l->subdirs = xrealloc(l->subdirs, *cap);
	}
	memcpy(l->subdirs + l->subdirs_len, name, n);
	l->subdirs_len += n;
}

/* Compares the two directories of a level name by name and notes what is to be visited. */
static void level_compare(struct level *l)
{
	static struct listing la, lb;
	size_t i = 0, j = 0, cap = 0;

	if (!listing_read(&la, l->fd[0]))
		trouble(NULL, "list", 'A');
	if (!listing_read(&lb, l->fd[1]))
		trouble(NULL, "list", 'B');
	while (i < la.count || j < lb.count) {
		int order = i == la.count ? 1 : j == lb.count ? -1 : strcmp(la.names[i], lb.names[j]);
		struct stat a, b;

		if (order < 0) {
			differ(la.names[i++], "only in A");
		} else if (order > 0) {
			differ(lb.names[j++], "only in B");
		} else {
			const char *name = la.names[i];

			if (compare_entry(l->fd[0], name, l->fd[1], name, name, &a, &b))
				subdirs_add(l, &cap, name);
			i++;
			j++;
		}
	}
	if (l->subdirs_len)
		l->subdirs = xrealloc(l->subdirs, l->subdirs_len);
}

static void level_enter(const int at[2], const char *namea, const char *nameb, const char *name)
{
	struct level l = { .path_before = path_len };

	if (!level_open(&l, at, namea, nameb, name))
		return;
	for (int i = 0; i < 2; i++) {
		struct stat st;

		if (fstat(l.fd[i], &st) < 0) {
			trouble(name, "stat", i ? 'B' : 'A');
			level_close(&l);
			return;
		}
		l.dev[i] = st.st_dev;
		l.ino[i] = st.st_ino;
	}
	if (name)
		path_push(name);
	level_compare(&l);
	if (depth == levels_cap) {
		levels_cap = levels_cap ? levels_cap * 2 : 64;
		levels = xrealloc(levels, levels_cap * sizeof *levels);
	}
	levels[depth++] = l;
	if (depth > WINDOW)
		level_close(&levels[depth - 1 - WINDOW]);
}

/* Opens the parent again through "..", and sees to it that it is the same directory still. */
static void level_reopen(struct level *parent, const struct level *child)
{
	if (!level_open(parent, child->fd, "..", "..", NULL))
		exit(2);
	for (int i = 0; i < 2; i++) {
		struct stat st;

		if (fstat(parent->fd[i], &st) < 0 || st.st_dev != parent->dev[i] ||
		    st.st_ino != parent->ino[i]) {
			errno = ESTALE;
			trouble(NULL, "return to", i ? 'B' : 'A');
			exit(2);
		}
	}
}

static void level_leave(void)
{
	struct level *l = &levels[--depth];

	path_pop(l->path_before);
	if (depth && levels[depth - 1].fd[0] < 0)
		level_reopen(&levels[depth - 1], l);
	level_close(l);
	free(l->subdirs);
}

static void walk(const char *a, const char *b)
{
	const int cwd[2] = { AT_FDCWD, AT_FDCWD };
	struct stat sa, sb;

	if (!compare_entry(AT_FDCWD, a, AT_FDCWD, b, NULL, &sa, &sb))
		return;
	level_enter(cwd, a, b, NULL);
	while (depth) {
		struct level *l = &levels[depth - 1];
		const char *name = l->subdirs + l->next;

		if (l->next == l->subdirs_len) {
			level_leave();
			continue;
		}
		l->next += strlen(name) + 1;
		level_enter(l->fd, name, name, name);
	}
}

static int usage(void)
{
	fputs("usage: treecmp [--no-mode] [--no-owner] [--no-content] [--no-times]\n"
	      "               [--no-dir-times] [--no-link-times] [--no-links] [--no-xattrs]\n"
	      "               [--no-holes] [--ignore-xattr=PREFIX] [--slack=BYTES] [--max=N] [-v]\n"
	      "               A B\n", stderr);
	return 2;
}

enum { OPT_SLACK = 256, OPT_MAX, OPT_IGNORE };

static const struct option long_options[] = {
	{ "no-mode", no_argument, NULL, 1 },
	{ "no-owner", no_argument, NULL, 2 },
	{ "no-content", no_argument, NULL, 3 },
	{ "no-times", no_argument, NULL, 4 },
	{ "no-dir-times", no_argument, NULL, 5 },
	{ "no-link-times", no_argument, NULL, 6 },
	{ "no-links", no_argument, NULL, 7 },
	{ "no-xattrs", no_argument, NULL, 8 },
	{ "no-holes", no_argument, NULL, 9 },
	{ "slack", required_argument, NULL, OPT_SLACK },
	{ "max", required_argument, NULL, OPT_MAX },
	{ "ignore-xattr", required_argument, NULL, OPT_IGNORE },
	{ NULL, 0, NULL, 0 },
};

static bool *const switches[] = {
	NULL, &no_mode, &no_owner, &no_content, &no_times, &no_dir_times, &no_link_times,
	&no_links, &no_xattrs, &no_holes,
};

int main(int argc, char **argv)
{
	bool verbose = false;
	int c;

	while ((c = getopt_long(argc, argv, "v", long_options, NULL)) != -1) {
		if (c == 'v')
			verbose = true;
		else if (c == OPT_SLACK)
			slack = atoll(optarg);
		else if (c == OPT_MAX)
			max_shown = strtoull(optarg, NULL, 10);
		else if (c == OPT_IGNORE && ignored_count < MAX_IGNORED)
			ignored[ignored_count++] = optarg;
		else if (c > 0 && c < (int)(sizeof switches / sizeof *switches))
			*switches[c] = true;
		else
			return usage();
	}
	if (argc - optind != 2)
		return usage();
	walk(argv[optind], argv[optind + 1]);
	if (differences > max_shown)
		printf("... and %llu more differences\n", differences - max_shown);
	if (verbose)
		printf("%llu entries, %llu bytes, %llu differences, %llu troubles\n",
		       entries, bytes, differences, troubles);
	free(levels);
	free(path);
	free(links_ab.slots);
	free(links_ba.slots);
	if (fflush(stdout) || ferror(stdout))
		return 2;
	return troubles ? 2 : differences ? 1 : 0;
}
