/*
 * gentree: makes trees for tests, the same tree from the same arguments every time.
 *
 *	gentree KIND [key=value...] DIR
 *
 * DIR is made (with its parents not) unless it exists.  Kinds, and their keys with the defaults:
 *
 *	grid	    dirs=10 files=10 size=0-4096	files in each of a row of directories
 *	flat	    files=1000 size=0-4096		files in DIR itself
 *	deep	    levels=300 len=30 files=1 size=10	one chain of directories, deeper than PATH_MAX;
 *							a file at every FILESth level (0: none)
 *	names	    size=0-100				names of every kind, for files and directories
 *	zoo						every type of file, holes, hard links, attributes,
 *							odd modes, old times; devices only as root
 *	sparse	    size=64M islands=3 island=64K	one file DIR/sparse, all hole but some islands
 *	big	    size=64M				one file DIR/big of random bytes
 *	nodemodules packages=40 files=8 levels=7 size=100-4000
 *							chains of directories of a few files each
 *
 * Sizes may end in K, M or G, and be a range MIN-MAX.  seed=1 is a key of every kind.  Bytes are
 * pseudo-random and no two blocks of a file are alike, so that a block that is missing or out of
 * place shows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	POOL_SIZE = 1 << 20,		/* random bytes that files are cut from */
	STEP = 4096,			/* each stretch of this length says where it belongs */
};

static uint64_t seed = 1;
static unsigned char pool[POOL_SIZE * 2];

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "gentree: cannot %s '%s': %s\n", what, name, strerror(errno));
	exit(1);
}

/* A hash of the seed and two numbers: randomness that does not depend on the order of calls. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b;

	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static void pool_fill(void)
{
	for (size_t i = 0; i < sizeof pool; i += 8) {
		uint64_t x = mix(i, 77);

		memcpy(pool + i, &x, 8);
	}
}

/*
 * Arguments.
 */
static char **args;
static int arg_count;

static const char *arg(const char *key)
{
	size_t n = strlen(key);

	for (int i = 0; i < arg_count; i++)
		if (!strncmp(args[i], key, n) && args[i][n] == '=')
			return args[i] + n + 1;
	return NULL;
}

static uint64_t parse_size(const char *s, char **end)
{
	uint64_t n = strtoull(s, end, 10);

	switch (**end) {
	case 'G': n <<= 10; /* fall through */
	case 'M': n <<= 10; /* fall through */
	case 'K': n <<= 10; ++*end;
	}
	return n;
}

static uint64_t number(const char *key, uint64_t otherwise)
{
	const char *s = arg(key);
	char *end;
	uint64_t n;

	if (!s)
		return otherwise;
	n = parse_size(s, &end);
	if (*end || end == s) {
		fprintf(stderr, "gentree: bad value of %s\n", key);
		exit(1);
	}
	return n;
}

struct range {
	uint64_t min, max;
};

static struct range size_range(uint64_t min, uint64_t max)
{
	struct range r = { min, max };
	const char *s = arg("size");
	char *end;

	if (!s)
		return r;
	r.min = r.max = parse_size(s, &end);
	if (*end == '-')
		r.max = parse_size(end + 1, &end);
	if (*end || end == s || r.max < r.min) {
		fputs("gentree: bad value of size\n", stderr);
		exit(1);
	}
	return r;
}

static uint64_t pick(struct range r, uint64_t a, uint64_t b)
{
	return r.min + (r.max > r.min ? mix(a, b) % (r.max - r.min + 1) : 0);
}

/*
 * Making things relative to a directory.
 */
static int make_dir(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
		die("make directory", name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		die("open directory", name);
	return fd;
}

static int create(int at, const char *name)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		die("create", name);
	return fd;
}

static void put_all(int fd, const unsigned char *p, size_t n, off_t at, const char *name)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, at);

		if (done < 0)
			die("write", name);
		p += done;
		n -= (size_t)done;
		at += done;
	}
}

/* Writes LEN bytes at AT that belong to the file ID and to this place in it. */
static void put_random(int fd, uint64_t id, off_t at, uint64_t len, const char *name)
{
	static unsigned char buf[POOL_SIZE];

	while (len) {
		size_t n = len < POOL_SIZE ? (size_t)len : POOL_SIZE;

		memcpy(buf, pool + mix(id, (uint64_t)at) % POOL_SIZE, n);
		for (size_t i = 0; i + 8 <= n; i += STEP) {
			uint64_t where = (uint64_t)at + i;

			memcpy(buf + i, &where, 8);
		}
		put_all(fd, buf, n, at, name);
		at += (off_t)n;
		len -= n;
	}
}

static void make_file(int at, const char *name, uint64_t id, uint64_t size)
{
	int fd = create(at, name);

	/* Most files are small: their bytes go straight from the pool. */
	if (size && size <= POOL_SIZE / 2)
		put_all(fd, pool + mix(id, 0) % POOL_SIZE, (size_t)size, 0, name);
	else
		put_random(fd, id, 0, size, name);
	if (close(fd) < 0)
		die("close", name);
}

static void make_text(int at, const char *name, const char *text)
{
	int fd = create(at, name);

	put_all(fd, (const unsigned char *)text, strlen(text), 0, name);
	if (close(fd) < 0)
		die("close", name);
}

/*
 * The kinds.
 */
static void make_files(int at, uint64_t id, uint64_t files, struct range size)
{
	for (uint64_t f = 0; f < files; f++) {
		char name[32];

		snprintf(name, sizeof name, "f%06llu", (unsigned long long)f);
		make_file(at, name, mix(id, f), pick(size, id, f));
	}
}

static void kind_grid(int at)
{
	uint64_t dirs = number("dirs", 10), files = number("files", 10);
	struct range size = size_range(0, 4096);

	for (uint64_t d = 0; d < dirs; d++) {
		char name[32];
		int fd;

		snprintf(name, sizeof name, "d%06llu", (unsigned long long)d);
		fd = make_dir(at, name);
		make_files(fd, d + 1, files, size);
		close(fd);
	}
}

static void kind_flat(int at)
{
	make_files(at, 1, number("files", 1000), size_range(0, 4096));
}

static void kind_deep(int at)
{
	uint64_t levels = number("levels", 300), len = number("len", 30), every = number("files", 1);
	struct range size = size_range(10, 10);
	char name[256];
	int here = dup(at);

	if (here < 0 || len < 1 || len > 255)
		die("start", "deep");
	for (uint64_t l = 0; l < levels; l++) {
		int below;

		for (uint64_t i = 0; i < len; i++)
			name[i] = (char)('a' + mix(l, i) % 26);
		name[len] = '\0';
		below = make_dir(here, name);
		if (every && l % every == 0)
			make_file(below, "f", l, pick(size, l, 0));
		close(here);
		here = below;
	}
	close(here);
}

static void kind_names(int at)
{
	static char longest[256], wide[256];
	static const char *const names[] = {
		"plain", " leading space", "trailing space ", "two  spaces", " ", "\t", "a\tb",
		"new\nline", "\n", "\nleading newline", "trailing newline\n", "a\rb", "\033[31mred",
		"\001\002", "\177", "\xff\xfe", "a\xff" "b", "\xc3\xa9t\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac",
		"\xf0\x9f\x90\xa7", "\xc3(", "-", "--", "-r", "-rf", "--help", "--no-such-option", "-j20",
		"*", "?", "[a-z]", "{a,b}", "~", "~root", "$HOME", "`id`", "$(id)", "a;b", "a&b", "a|b",
		"a>b", "a<b", "!", "#hash", "%s%n", "a\\b", "\\", "\\n", "it's", "'", "''", "\"", "say \"hi\"",
		"both ' and \"", "...", "..a", ".hidden", "a.", "a=b", "a:b", "a,b", "@", "^", "con", "nul",
		"CASE", "case", longest, wide,
	};
	struct range size = size_range(0, 100);
	int dir = make_dir(at, "dirs");

	memset(longest, 'x', 255);
	for (int i = 0; i < 254; i += 2)
		memcpy(wide + i, "\xc3\xa9", 2);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int fd = make_dir(dir, names[i]);

		make_file(at, names[i], i, pick(size, i, 0));
		make_file(fd, names[i], i, pick(size, i, 1));
		if (symlinkat(names[i], fd, "link") < 0)
			die("link", names[i]);
		close(fd);
	}
	close(dir);
}

static void set_mode(int at, const char *name, mode_t mode)
{
	if (fchmodat(at, name, mode, 0) < 0)
		die("change mode of", name);
}

static void set_time(int at, const char *name, time_t sec, long nsec)
{
	struct timespec ts[2] = { { sec + 1, nsec / 2 }, { sec, nsec } };

	if (utimensat(at, name, ts, AT_SYMLINK_NOFOLLOW) < 0)
		die("set times of", name);
}

static void make_link(int at, const char *target, const char *name)
{
	if (symlinkat(target, at, name) < 0)
		die("link", name);
}

static void make_hard(int from, const char *old, int to, const char *new)
{
	if (linkat(from, old, to, new, 0) < 0)
		die("link", new);
}

static void make_node(int at, const char *name, mode_t mode, dev_t dev)
{
	if (mknodat(at, name, mode, dev) < 0)
		die("make node", name);
}

static void zoo_holes(int at)
{
	int fd = create(at, "hole-only");

	if (ftruncate(fd, 10 << 20) < 0)
		die("extend", "hole-only");
	close(fd);
	fd = create(at, "hole-first");
	put_random(fd, 501, 3 << 20, 10000, "hole-first");
	close(fd);
	fd = create(at, "hole-last");
	put_random(fd, 502, 0, 10000, "hole-last");
	if (ftruncate(fd, 5 << 20) < 0)
		die("extend", "hole-last");
	close(fd);
	fd = create(at, "hole-many");
	for (int i = 0; i < 8; i++)
		put_random(fd, 503, (off_t)i * (1 << 20) + 4096, 5000, "hole-many");
	close(fd);
}

static void zoo_nodes(int at)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	make_node(at, "fifo", S_IFIFO | 0640, 0);
	/* Bound through /proc, since the path of a socket is limited to 107 bytes. */
	snprintf(sa.sun_path, sizeof sa.sun_path, "/proc/self/fd/%d/socket", at);
	if (s < 0 || (bind(s, (struct sockaddr *)&sa, sizeof sa) < 0 && errno != EADDRINUSE))
		die("make socket", "socket");
	close(s);
	if (geteuid())
		return;
	make_node(at, "null", S_IFCHR | 0666, makedev(1, 3));
	make_node(at, "loop", S_IFBLK | 0600, makedev(7, 250));
}

static void zoo_modes(int at)
{
	static const mode_t modes[] = {
		0, 0100, 0200, 0400, 0444, 0555, 0600, 0640, 0666, 0711, 0755, 0777, 01644, 02755, 04755,
		06755, 07777, 02644, 04600,
	};
	static const mode_t dir_modes[] = { 0500, 0555, 0700, 0711, 0755, 0777, 01777, 02775, 03770 };
	char name[32];

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		snprintf(name, sizeof name, "mode-%04o", modes[i]);
		make_file(at, name, 600 + i, 10 + i);
		set_mode(at, name, modes[i]);
	}
	for (size_t i = 0; i < sizeof dir_modes / sizeof *dir_modes; i++) {
		int fd;

		snprintf(name, sizeof name, "dir-%04o", dir_modes[i]);
		fd = make_dir(at, name);
		make_file(fd, "inside", 650 + i, 20);
		close(fd);
		set_mode(at, name, dir_modes[i]);
	}
}

/* Attributes are left out where the file system has none. */
static void set_xattr(int fd, const char *key, const void *value, size_t n, const char *name)
{
	if (fsetxattr(fd, key, value, n, 0) < 0 && errno != ENOTSUP)
		die("set attribute of", name);
}

/* A POSIX ACL in the form that the kernel takes: version, then (tag, permissions, id) each. */
static void set_acl(int fd, const char *key, uint16_t rights, const char *name)
{
	struct {
		uint32_t version;
		struct { uint16_t tag, perm; uint32_t id; } e[5];
	} acl = { 2, {
		{ 0x01, rights, UINT32_MAX }, { 0x02, 4, 12345 }, { 0x04, 4, UINT32_MAX },
		{ 0x10, rights, UINT32_MAX }, { 0x20, 0, UINT32_MAX },
	} };

	set_xattr(fd, key, &acl, sizeof acl, name);
}

static void zoo_attributes(int at)
{
	char big[1000];
	int fd = create(at, "xattrs");

	memset(big, 'v', sizeof big);
	set_xattr(fd, "user.empty", "", 0, "xattrs");
	set_xattr(fd, "user.short", "value", 5, "xattrs");
	set_xattr(fd, "user.binary", "a\0b\xff", 4, "xattrs");
	set_xattr(fd, "user.big", big, sizeof big, "xattrs");
	if (!geteuid())
		set_xattr(fd, "trusted.zoo", "t", 1, "xattrs");
	close(fd);
	fd = create(at, "acl");
	set_acl(fd, "system.posix_acl_access", 6, "acl");
	close(fd);
	fd = make_dir(at, "acl-dir");
	make_file(fd, "inside", 700, 30);
	set_acl(fd, "system.posix_acl_access", 7, "acl-dir");
	set_acl(fd, "system.posix_acl_default", 7, "acl-dir");
	set_xattr(fd, "user.dir", "d", 1, "acl-dir");
	close(fd);
}

static void zoo_links(int at)
{
	int a = make_dir(at, "links-a"), b = make_dir(at, "links-b");

	make_file(a, "one", 800, 5000);
	make_hard(a, "one", a, "two");
	make_hard(a, "one", b, "three");
	make_file(b, "pair", 801, 0);
	make_hard(b, "pair", a, "pair");
	make_link(a, "../links-b/three", "up");
	make_link(a, "dangling", "dangling");
	make_link(a, "/etc/passwd", "absolute");
	make_link(a, ".", "self-dir");
	make_link(a, "self", "self");
	make_link(at, "links-a", "to-dir");
	make_link(at, "links-a/one", "to-file");
	make_link(b, "no such \n target", "odd");
	/* A hard link to a symbolic link, and to a fifo. */
	make_hard(a, "dangling", b, "dangling-too");
	make_node(a, "pipe", S_IFIFO | 0600, 0);
	make_hard(a, "pipe", b, "pipe-too");
	set_time(a, "dangling", 1000000000, 123456789);
	close(a);
	close(b);
}

static void zoo_times(int at)
{
	int fd = make_dir(at, "times");

	make_file(fd, "y2001", 900, 1);
	set_time(fd, "y2001", 1000000000, 999999999);
	make_file(fd, "epoch", 901, 1);
	set_time(fd, "epoch", 0, 1);
	make_file(fd, "before", 902, 1);
	set_time(fd, "before", -1000000, 500000000);
	make_file(fd, "future", 903, 1);
	set_time(fd, "future", 4000000000, 0);
	make_link(fd, "nowhere", "link");
	set_time(fd, "link", 978307200, 1);
	close(fd);
	set_time(at, "times", 978307200, 987654321);
}

static void kind_zoo(int at)
{
	int fd;

	make_text(at, "text", "hello\n");
	make_text(at, "empty", "");
	make_file(at, "one-byte", 500, 1);
	make_file(at, "block", 504, 4096);
	make_file(at, "block+1", 505, 4097);
	make_file(at, "middling", 506, 300000);
	make_file(at, "large", 507, 5 << 20);
	fd = make_dir(at, "empty-dir");
	close(fd);
	fd = make_dir(at, "nest");
	for (int i = 0; i < 6; i++) {
		int below = make_dir(fd, "nest");

		close(fd);
		fd = below;
	}
	make_text(fd, "bottom", "bottom\n");
	close(fd);
	zoo_holes(at);
	zoo_nodes(at);
	zoo_modes(at);
	zoo_attributes(at);
	zoo_links(at);
	zoo_times(at);
}

static void kind_sparse(int at)
{
	uint64_t size = number("size", 64 << 20), islands = number("islands", 3);
	uint64_t len = number("island", 64 << 10);
	int fd = create(at, "sparse");

	if (ftruncate(fd, (off_t)size) < 0)
		die("extend", "sparse");
	for (uint64_t i = 0; i < islands; i++) {
		uint64_t start = size / (islands + 1) * (i + 1) / 4096 * 4096;

		put_random(fd, i, (off_t)start, start + len < size ? len : size - start, "sparse");
	}
	if (close(fd) < 0)
		die("close", "sparse");
}

static void kind_big(int at)
{
	int fd = create(at, "big");

	put_random(fd, 1, 0, number("size", 64 << 20), "big");
	if (close(fd) < 0)
		die("close", "big");
}

static void kind_nodemodules(int at)
{
	uint64_t packages = number("packages", 40), files = number("files", 8);
	uint64_t levels = number("levels", 7);
	struct range size = size_range(100, 4000);

	for (uint64_t p = 0; p < packages; p++) {
		char name[64];
		int here;

		snprintf(name, sizeof name, "package-%llu", (unsigned long long)p);
		here = make_dir(at, name);
		for (uint64_t l = 0; l < levels; l++) {
			int below;

			make_files(here, mix(p, l), files, size);
			snprintf(name, sizeof name, "level-%llu", (unsigned long long)mix(p, l) % 1000);
			below = make_dir(here, name);
			close(here);
			here = below;
		}
		make_files(here, mix(p, levels), files, size);
		close(here);
	}
}

static const struct {
	const char *name;
	void (*make)(int at);
} kinds[] = {
	{ "grid", kind_grid }, { "flat", kind_flat }, { "deep", kind_deep }, { "names", kind_names },
	{ "zoo", kind_zoo }, { "sparse", kind_sparse }, { "big", kind_big },
	{ "nodemodules", kind_nodemodules },
};

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: gentree KIND [key=value...] DIR\n", stderr);
		return 1;
	}
	args = argv + 2;
	arg_count = argc - 3;
	seed = number("seed", 1);
	for (int i = 0; i < arg_count; i++) {
		if (!strchr(args[i], '=')) {
			fprintf(stderr, "gentree: not key=value: %s\n", args[i]);
			return 1;
		}
	}
	pool_fill();
	umask(022);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int fd;

		if (strcmp(kinds[i].name, argv[1]))
			continue;
		fd = make_dir(AT_FDCWD, argv[argc - 1]);
		kinds[i].make(fd);
		close(fd);
		return 0;
	}
	fprintf(stderr, "gentree: no such kind: %s\n", argv[1]);
	return 1;
}
