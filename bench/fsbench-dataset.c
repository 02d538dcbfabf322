/*
 * fsbench-dataset.c - `fsbench dataset`: a tree of files for benchmarks, made by many threads.
 *
 * A tree is a row of chains: --dirs chains of --depth directories below one another, with the files
 * spread evenly over all of them.  (A depth of 0 is one directory, the one named.)  Names, sizes
 * and bytes follow from the seed and from where a file stands, not from who makes it when, so the
 * same options make the same tree whatever the number of threads.
 *
 * A thread takes one chain at a time and goes down it, holding two descriptors however deep it is.
 * Where there are fewer chains than threads, several threads go down the same one, and each makes
 * some of the files of each directory.
 */
#include "fsbench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	POOL_SIZE = 4 << 20,   /* random bytes, that the files are cut from */
	POOL_STARTS = 2 << 20, /* a file begins in the first so many of them */
	LINK_GROUP = 4,        /* files that belong together, so one thread makes them */
	HOLE_UNIT =
		64
		<< 10, /* in a file with holes, each such stretch has data or not, and a hole at its end */
	HOLE_DATA = 4 << 10, /* how much data there is in one that has */
	LARGE_EACH = 100,    /* of mixed files, one in so many is large, */
	LARGE_SHARE = 90,    /* and these have so many per cent of the bytes */
	NAME_SIZE = 64,
	PARTS_EACH = 4, /* pieces of work for each thread, where chains have to be shared */
	DEPTH_MAX = 1000000,
};

/* A hundred times this is still a size. */
#define FILE_SIZE_MAX (1ull << 50)

enum {
	OPT_SHAPE = FSB_LONG_OPTION,
	OPT_DIRS,
	OPT_FILES,
	OPT_SIZE,
	OPT_JITTER,
	OPT_DEPTH,
	OPT_SEED,
	OPT_THREADS
};

enum kind { IMAGENET, FLAT, DEEP, NODE_MODULES, MIXED, LINKS, HOLES };

/* A shape, with what it is unless options say otherwise. */
struct shape {
	const char *name;
	enum kind kind;
	uint64_t dirs;
	uint64_t files;
	uint64_t size;
	uint64_t jitter; /* per cent */
	uint64_t depth;
};

static const struct shape shapes[] = {
	{"imagenet", IMAGENET, 1000, 1281167, 100000, 50, 1},
	{"flat", FLAT, 1, 10000, 65536, 0, 0},
	{"deep", DEEP, 1, 1000, 4096, 0, 1000},
	{"node_modules", NODE_MODULES, 200, 10000, 4096, 95, 7},
	{"mixed", MIXED, 100, 10000, 100000, 50, 1},
	{"links", LINKS, 100, 10000, 4096, 50, 2},
	{"holes", HOLES, 10, 100, 1 << 20, 50, 1},
};

/* The work of all threads. */
struct dataset {
	struct shape shape;
	uint64_t seed;
	unsigned int threads;
	const char *top_path;
	int top;
	uint64_t parts;            /* that each chain is made in */
	atomic_uint_fast64_t next; /* piece of work */
	atomic_uint_fast64_t bytes;
	atomic_bool failed;
};

/* The random bytes.  Filled by the main thread before others start. */
static unsigned char pool[POOL_SIZE];

/* A directory that a thread is in, and the one above: where links lead to. */
struct place {
	struct dataset *set;
	uint64_t chain;
	uint64_t part;
	uint64_t level;
	int above;
	int here;
	uint64_t bytes;
};

/* ---- What follows from the seed ---- */

/* A number that looks random, and is the same for the same seed, a and b. */
static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t x = seed + a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/* How many of n things are the index-th of count shares; the first ones get what is left over. */
static uint64_t even_share(uint64_t n, uint64_t index, uint64_t count)
{
	return n / count + (index < n % count);
}

/* What the size of a mixed file is multiplied by; large ones are as far apart as they can be. */
static double mixed_factor(const struct place *place, uint64_t file)
{
	const struct shape *shape = &place->set->shape;
	uint64_t index = place->chain * (shape->files / shape->dirs) + file;

	if (index % LARGE_EACH == 0)
		return (double)LARGE_SHARE / 100 * LARGE_EACH;
	return (100.0 - LARGE_SHARE) / 100 * LARGE_EACH / (LARGE_EACH - 1);
}

/* A size near the mean, by up to the jitter. */
static uint64_t file_size(const struct place *place, uint64_t file, uint64_t random)
{
	const struct shape *shape = &place->set->shape;
	double unit = (double)(random >> 11) / (double)(1ull << 53);
	double size = (double)shape->size * (1 + (double)shape->jitter / 100 * (2 * unit - 1));

	return (uint64_t)(shape->kind == MIXED ? size * mixed_factor(place, file) : size);
}

static void file_name(const struct place *place, uint64_t file, char name[NAME_SIZE])
{
	switch (place->set->shape.kind) {
	case IMAGENET:
		snprintf(name, NAME_SIZE, "n%08" PRIu64 "_%" PRIu64 ".JPEG", place->chain, file);
		break;
	case NODE_MODULES:
		if (file == 0)
			snprintf(name, NAME_SIZE, "package.json");
		else
			snprintf(name, NAME_SIZE, "module%" PRIu64 ".js", file);
		break;
	default:
		snprintf(name, NAME_SIZE, "file_%" PRIu64, file);
	}
}

static void dir_name(const struct place *place, char name[NAME_SIZE])
{
	enum kind kind = place->set->shape.kind;

	if (kind == IMAGENET)
		snprintf(name, NAME_SIZE, "n%08" PRIu64, place->chain);
	else if (kind == NODE_MODULES && place->level % 2 == 1)
		snprintf(name, NAME_SIZE, "node_modules");
	else if (place->level > 0)
		snprintf(name, NAME_SIZE, "level_%" PRIu64, place->level);
	else
		snprintf(name, NAME_SIZE, "%s_%" PRIu64, kind == NODE_MODULES ? "package" : "dir",
			place->chain);
}

/* ---- One file ---- */

/* Says where it is, as well as can be: chains may be deeper than a path can say. */
static bool fail(const struct place *place, const char *what, const char *name)
{
	int error = errno;
	char chain[NAME_SIZE + 1] = "", above[NAME_SIZE];
	struct place first = *place;

	if (place->set->shape.depth > 0) {
		first.level = 0;
		dir_name(&first, above);
		snprintf(chain, sizeof(chain), "/%s", above);
	}
	fsb_error(error, "cannot %s '%s%s%s%s'", what, place->set->top_path, chain,
		place->level > 1 ? "/.../" : "/", name);
	atomic_store(&place->set->failed, true);
	return false;
}

static bool write_bytes(
	struct place *place, int fd, const char *name, uint64_t size, uint64_t random)
{
	const unsigned char *from = pool + random % POOL_STARTS;

	while (size > 0) {
		size_t block = size < POOL_SIZE - POOL_STARTS ? size : POOL_SIZE - POOL_STARTS;
		ssize_t n = write(fd, from, block);

		if (n < 0)
			return fail(place, "write", name);
		size -= (uint64_t)n;
		place->bytes += (uint64_t)n;
	}
	return true;
}

/* Half of the stretches begin with data; the last never does, so that a hole is at the end. */
static bool write_holes(
	struct place *place, int fd, const char *name, uint64_t size, uint64_t random)
{
	for (uint64_t at = 0; at + HOLE_UNIT < size; at += HOLE_UNIT) {
		uint64_t here = mix(place->set->seed, random, at);

		if (here & 1)
			continue;
		if (lseek(fd, (off_t)at, SEEK_SET) < 0)
			return fail(place, "seek in", name);
		if (!write_bytes(place, fd, name, HOLE_DATA, here >> 1))
			return false;
	}
	return ftruncate(fd, (off_t)size) == 0 || fail(place, "set the size of", name);
}

static bool make_file(struct place *place, uint64_t file, const char *name)
{
	struct dataset *set = place->set;
	uint64_t random = mix(set->seed, place->chain << 32 | place->level, file);
	uint64_t size = file_size(place, file, random);
	int fd = openat(place->here, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool good;

	if (fd < 0)
		return fail(place, "create", name);
	if (set->shape.kind == HOLES)
		good = write_holes(place, fd, name, size, random);
	else
		good = write_bytes(place, fd, name, size, random);
	if (close(fd) < 0 && good)
		return fail(place, "close", name);
	return good;
}

/*
 * In the shape of links, the last file of each group is another name of the first; and
 * below the first directory, the second of each group is one of the second in the
 * directory above.
 */
static bool make_link(const struct place *place, uint64_t file, const char *name, bool *done)
{
	bool last = file % LINK_GROUP == LINK_GROUP - 1;
	bool above = file % LINK_GROUP == 1 && place->level > 0;
	char target[NAME_SIZE];

	*done = place->set->shape.kind == LINKS && (last || above);
	if (!*done)
		return true;
	file_name(place, last ? file - (LINK_GROUP - 1) : file, target);
	return linkat(last ? place->here : place->above, target, place->here, name, 0) == 0 ||
	       fail(place, "link", name);
}

/* ---- A chain of directories ---- */

/* How many directories a chain has: of node_modules some are shallow. */
static uint64_t chain_depth(const struct dataset *set, uint64_t chain)
{
	uint64_t depth = set->shape.depth;

	if (set->shape.kind == NODE_MODULES && depth > 1)
		return depth - mix(set->seed, chain, depth) % ((depth + 1) / 2);
	return depth ? depth : 1;
}

/* This part's share of the files of a directory. */
static bool make_files(struct place *place, uint64_t count)
{
	struct dataset *set = place->set;
	uint64_t group = place->part * LINK_GROUP;
	char name[NAME_SIZE];
	bool done;

	for (; group < count; group += set->parts * LINK_GROUP) {
		for (uint64_t file = group; file < group + LINK_GROUP && file < count; file++) {
			if (atomic_load(&set->failed))
				return false;
			file_name(place, file, name);
			if (!make_link(place, file, name, &done) ||
				(!done && !make_file(place, file, name)))
				return false;
		}
	}
	return true;
}

/* One directory further down; another thread may have made it. */
static bool go_down(struct place *place)
{
	char name[NAME_SIZE];
	int below;

	dir_name(place, name);
	if (mkdirat(place->here, name, 0777) < 0 && errno != EEXIST)
		return fail(place, "make the directory", name);
	below = openat(place->here, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return fail(place, "open the directory", name);
	if (place->above != place->set->top)
		close(place->above);
	place->above = place->here;
	place->here = below;
	return true;
}

static bool make_levels(struct place *place)
{
	struct dataset *set = place->set;
	uint64_t depth = chain_depth(set, place->chain);
	uint64_t files = even_share(set->shape.files, place->chain, set->shape.dirs);

	for (; place->level < depth; place->level++) {
		if (set->shape.depth > 0 && !go_down(place))
			return false;
		if (!make_files(place, even_share(files, place->level, depth)))
			return false;
	}
	return true;
}

static bool make_part(struct dataset *set, uint64_t chain, uint64_t part)
{
	struct place place = {set, chain, part, 0, set->top, set->top, 0};
	bool good = make_levels(&place);

	if (place.above != set->top)
		close(place.above);
	if (place.here != set->top)
		close(place.here);
	atomic_fetch_add(&set->bytes, place.bytes);
	return good;
}

/* ---- All of it ---- */

static void *thread_main(void *arg)
{
	struct dataset *set = arg;
	uint64_t piece;

	/* Without a descriptor table of its own a thread waits for others at each open and close. */
	(void)unshare(CLONE_FILES);
	while ((piece = atomic_fetch_add(&set->next, 1)) < set->shape.dirs * set->parts) {
		if (!make_part(set, piece % set->shape.dirs, piece / set->shape.dirs))
			break;
	}
	return NULL;
}

static bool run_threads(struct dataset *set)
{
	pthread_t *threads = calloc(set->threads, sizeof(*threads));
	unsigned int started;
	int error = threads ? 0 : ENOMEM;

	for (started = 0; !error && started < set->threads; started += !error)
		error = pthread_create(&threads[started], NULL, thread_main, set);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	/* Fewer threads make the same tree; none make nothing. */
	if (started == 0)
		fsb_error(error, "cannot start a thread");
	return started > 0 && !atomic_load(&set->failed);
}

static void fill_pool(uint64_t seed)
{
	for (size_t i = 0; i < POOL_SIZE; i += sizeof(uint64_t)) {
		uint64_t word = mix(seed, UINT64_MAX, i);

		memcpy(pool + i, &word, sizeof(word));
	}
}

static bool open_top(struct dataset *set)
{
	if (mkdir(set->top_path, 0777) < 0 && errno != EEXIST) {
		fsb_error(errno, "cannot make the directory '%s'", set->top_path);
		return false;
	}
	set->top = open(set->top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (set->top < 0)
		fsb_error(errno, "cannot open the directory '%s'", set->top_path);
	return set->top >= 0;
}

/* How many parts a chain is made in: enough for all threads, a group of files each at least. */
static uint64_t parts_of_chain(const struct dataset *set)
{
	const struct shape *shape = &set->shape;
	uint64_t levels = shape->dirs * (shape->depth ? shape->depth : 1);
	uint64_t groups = (shape->files / levels + LINK_GROUP) / LINK_GROUP;
	uint64_t parts = (PARTS_EACH * set->threads + shape->dirs - 1) / shape->dirs;

	if (shape->dirs >= set->threads)
		return 1;
	return parts < groups ? parts : groups;
}

static bool make_dataset(struct dataset *set)
{
	struct timespec begin, end;
	uint64_t files = set->shape.files;
	double seconds;
	bool good;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	set->parts = parts_of_chain(set);
	good = run_threads(set);
	if (close(set->top) < 0 && good) {
		fsb_error(errno, "cannot close '%s'", set->top_path);
		good = false;
	}
	if (!good)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("%" PRIu64 " files, %.1f MB of data, in %.3f s: %.0f files/s\n", files,
		(double)atomic_load(&set->bytes) / 1e6, seconds, (double)files / seconds);
	return true;
}

static struct shape shape_argument(const char *name)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(shapes[i].name, name) == 0)
			return shapes[i];
	}
	fsb_usage_error("--shape: no such shape: '%s'", name);
}

/* Options that are given win over the shape's own values, wherever --shape stands. */
static void parse(int argc, char **argv, struct dataset *set)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"shape", required_argument, NULL, OPT_SHAPE},
		{"dirs", required_argument, NULL, OPT_DIRS},
		{"files", required_argument, NULL, OPT_FILES},
		{"size", required_argument, NULL, OPT_SIZE},
		{"jitter", required_argument, NULL, OPT_JITTER},
		{"depth", required_argument, NULL, OPT_DEPTH},
		{"seed", required_argument, NULL, OPT_SEED},
		{"threads", required_argument, NULL, OPT_THREADS},
		{NULL, 0, NULL, 0},
	};
	struct shape given = {.dirs = UINT64_MAX,
		.files = UINT64_MAX,
		.size = UINT64_MAX,
		.jitter = UINT64_MAX,
		.depth = UINT64_MAX};
	struct shape *shape = &set->shape;
	int option;

	*shape = shapes[0];
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fsb_help();
		case OPT_SHAPE:
			*shape = shape_argument(optarg);
			break;
		case OPT_DIRS:
			given.dirs = fsb_number_argument("dirs", optarg, 1, UINT32_MAX);
			break;
		case OPT_FILES:
			given.files = fsb_number_argument("files", optarg, 0, INT64_MAX);
			break;
		case OPT_SIZE:
			given.size = fsb_size_argument("size", optarg);
			if (given.size > FILE_SIZE_MAX)
				fsb_usage_error("--size: too large: '%s'", optarg);
			break;
		case OPT_JITTER:
			given.jitter = fsb_number_argument("jitter", optarg, 0, 100);
			break;
		case OPT_DEPTH:
			given.depth = fsb_number_argument("depth", optarg, 0, DEPTH_MAX);
			break;
		case OPT_SEED:
			set->seed = fsb_number_argument("seed", optarg, 0, INT64_MAX);
			break;
		case OPT_THREADS:
			set->threads = (unsigned int)fsb_number_argument(
				"threads", optarg, 1, FSB_THREADS_MAX);
			break;
		default:
			fsb_try_help();
		}
	}
	shape->dirs = given.dirs != UINT64_MAX ? given.dirs : shape->dirs;
	shape->files = given.files != UINT64_MAX ? given.files : shape->files;
	shape->size = given.size != UINT64_MAX ? given.size : shape->size;
	shape->jitter = given.jitter != UINT64_MAX ? given.jitter : shape->jitter;
	shape->depth = given.depth != UINT64_MAX ? given.depth : shape->depth;
	if (shape->depth == 0 && shape->dirs > 1 && given.depth == UINT64_MAX)
		shape->depth = 1;
	if (shape->depth == 0 && shape->dirs > 1)
		fsb_usage_error("--depth=0 is one directory: --dirs must be 1");
	if (optind + 1 != argc)
		fsb_usage_error("one operand is wanted: the directory to make");
	set->top_path = argv[optind];
}

int fsb_dataset(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct dataset set = {
		.seed = 1,
		.threads = processors > 0 ? 2 * (unsigned int)processors : 2,
	};
	bool good;

	parse(argc, argv, &set);
	fill_pool(set.seed);
	good = open_top(&set) && make_dataset(&set);
	if (fflush(stdout) != 0) {
		fsb_error(errno, "cannot write to standard output");
		good = false;
	}
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
