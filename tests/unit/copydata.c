/*
 * copydata.c - tests of pfu/copydata.h: that bytes and holes arrive, whatever the
 * calls that move them do: refuse, fall short, are interrupted, fail.
 */
#include "unit.h"
#include <pfu/copydata.h>
#include <pthread.h>

/* ---- a table of operations that does as it is told ---- */

static struct {
	int range_error; /* of copy_file_range() */
	off_t range_bytes; /* that it copies before the error */
	size_t most;	 /* bytes that any call moves; 0: as many as it is asked to */
	unsigned int interrupt; /* each so many-th call is interrupted; 0: none is */
	int clone_error, read_error, write_error, seek_error;
	bool write_nothing;
	bool clone_works;
	unsigned int ranges, clones, reads, writes, calls; /* made */
} told;

static bool interrupted(void)
{
	if (told.interrupt == 0 || ++told.calls % told.interrupt)
		return false;
	errno = EINTR;
	return true;
}

static size_t shortened(size_t size)
{
	return told.most && size > told.most ? told.most : size;
}

static ssize_t told_copy_file_range(int in, off_t *in_off, int out, off_t *out_off, size_t len,
				    unsigned int flags)
{
	ssize_t n;

	told.ranges++;
	if (interrupted())
		return -1;
	if (told.range_error && told.range_bytes == 0) {
		errno = told.range_error;
		return -1;
	}
	len = shortened(len);
	if (told.range_error && (off_t)len > told.range_bytes)
		len = (size_t)told.range_bytes;
	n = copy_file_range(in, in_off, out, out_off, len, flags);
	if (told.range_error && n > 0)
		told.range_bytes -= n;
	return n;
}

static bool read_fails(void)
{
	told.reads++;
	if (interrupted())
		return true;
	errno = told.read_error;
	return told.read_error;
}

static ssize_t told_read(int fd, void *buf, size_t size)
{
	return read_fails() ? -1 : read(fd, buf, shortened(size));
}

static ssize_t told_pread(int fd, void *buf, size_t size, off_t offset)
{
	return read_fails() ? -1 : pread(fd, buf, shortened(size), offset);
}

static bool write_fails(void)
{
	told.writes++;
	if (interrupted())
		return true;
	errno = told.write_error;
	return told.write_error;
}

static ssize_t told_write(int fd, const void *buf, size_t size)
{
	if (write_fails())
		return -1;
	return told.write_nothing ? 0 : write(fd, buf, shortened(size));
}

static ssize_t told_pwrite(int fd, const void *buf, size_t size, off_t offset)
{
	if (write_fails())
		return -1;
	return told.write_nothing ? 0 : pwrite(fd, buf, shortened(size), offset);
}

static off_t told_lseek(int fd, off_t offset, int whence)
{
	if (told.seek_error && (whence == SEEK_DATA || whence == SEEK_HOLE)) {
		errno = told.seek_error;
		return -1;
	}
	return lseek(fd, offset, whence);
}

static int told_clone(int out, int in)
{
	off_t from = 0, to = 0;

	told.clones++;
	if (!told.clone_works) {
		errno = told.clone_error ? told.clone_error : EOPNOTSUPP;
		return -1;
	}
	while (copy_file_range(in, &from, out, &to, 1 << 30, 0) > 0)
		;
	return 0;
}

static struct pfu_fsys table;

static int setup(void **state)
{
	table = pfu_fsys_posix;
	table.copy_file_range = told_copy_file_range;
	table.read = told_read;
	table.pread = told_pread;
	table.write = told_write;
	table.pwrite = told_pwrite;
	table.lseek = told_lseek;
	table.clone = told_clone;
	return unit_scratch_make(state);
}

/* ---- files ---- */

enum { BUF_SIZE = 65536 };

static char buffer[BUF_SIZE];
static struct pfu_fspairs pairs;
static uint64_t moved;
static struct pfu_data data;

/* The byte at an offset of every file here; never zero. */
static char byte_at(off_t offset)
{
	return (char)(1 + (offset + offset / 251) % 255);
}

static void fill(int fd, off_t from, off_t to)
{
	char buf[4096];
	size_t n;
	off_t i;

	for (; from < to; from += (off_t)n) {
		n = (size_t)(to - from < (off_t)sizeof(buf) ? to - from : (off_t)sizeof(buf));
		for (i = 0; i < (off_t)n; i++)
			buf[i] = byte_at(from + i);
		assert_int_equal(pwrite(fd, buf, n, from), n);
	}
}

/* A file without a name. */
static int new_file(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	unlink("file");
	return fd;
}

static void find_out_sizes(void)
{
	struct stat st;

	assert_int_equal(fstat(data.in, &st), 0);
	data.size = st.st_size;
	data.allocated = (off_t)st.st_blocks * 512;
}

/* Opens a source without holes. */
static void open_source(off_t size)
{
	memset(&told, 0, sizeof(told));
	moved = 0;
	data = (struct pfu_data){
		.fs = &table,
		.in = new_file(),
		.out = new_file(),
		.honest_size = true,
		.pair = pfu_fspairs_get(&pairs, 1, 2),
		.buf = buffer,
		.call_size = PFU_COPY_CALL,
		.buf_size = sizeof(buffer),
		.moved = &moved,
	};
	assert_non_null(data.pair);
	fill(data.in, 0, size);
	find_out_sizes();
}

/* Forgets what has been found out about the pair. */
static void forget(void)
{
	pfu_fspairs_free(&pairs);
	if (data.in > 0)
		data.pair = pfu_fspairs_get(&pairs, 1, 2);
}

/* Both files have the same bytes from here on; also on both sides of each hole. */
static void assert_same(void)
{
	char a[4096], b[4096];
	struct stat in, out;
	off_t at;

	assert_int_equal(fstat(data.in, &in), 0);
	assert_int_equal(fstat(data.out, &out), 0);
	assert_int_equal(in.st_size, out.st_size);
	for (at = 0; at < in.st_size; at += (off_t)sizeof(a)) {
		ssize_t n = pread(data.in, a, sizeof(a), at);

		assert_int_equal(pread(data.out, b, sizeof(b), at), n);
		assert_memory_equal(a, b, (size_t)n);
	}
}

static off_t blocks_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (off_t)st.st_blocks * 512;
}

static void close_both(void)
{
	close(data.in);
	close(data.out);
	forget();
	data.in = -1;
}

static void assert_copies(void)
{
	assert_int_equal(pfu_copydata(&data), PFU_DATA_OK);
	assert_same();
}

static int clean(void **state)
{
	(void)state;
	data.in = -1;
	forget();
	return 0;
}

/* ---- bytes ---- */

static const off_t sizes[] = { 0, 1, 511, 4096, 4097, BUF_SIZE, BUF_SIZE + 1, 300000 };

static void plain_files(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(sizes); i++) {
		open_source(sizes[i]);
		assert_copies();
		assert_int_equal(moved, sizes[i]);
		assert_in_range(told.ranges, 0, 1);
		assert_int_equal(told.reads + told.writes, 0);
		close_both();
	}
}

/* What a pair of file systems cannot do is tried once, and read and write do it. */
static void what_cannot_be_is_remembered(void **state)
{
	static const int errors[] = { EPERM, ENOSYS, EINVAL, EOPNOTSUPP, EBADF, ETXTBSY, EXDEV };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(errors); i++) {
		forget();
		open_source(200000);
		told.range_error = errors[i];
		assert_copies();
		assert_int_equal(moved, 200000);
		assert_int_equal(told.ranges, 1);
		close(data.in);
		close(data.out);
		open_source(200000);
		told.range_error = errors[i];
		assert_copies();
		assert_int_equal(told.ranges, 0);
		close(data.in);
		close(data.out);
		open_source(200000);
		data.pair = pfu_fspairs_get(&pairs, 1, 3); /* of another pair nothing is known */
		assert_copies();
		assert_int_equal(told.ranges, 1);
		close_both();
	}
}

static void what_went_wrong_once_is_not(void **state)
{
	static const int errors[] = { ENOENT, EACCES, EIO, EAGAIN, ENOMEM };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(errors); i++) {
		open_source(200000);
		told.range_error = errors[i];
		assert_copies();
		assert_int_equal(moved, 200000);
		assert_false(data.pair->no_copy_range);
		close_both();
	}
}

static void a_refusal_in_the_middle(void **state)
{
	static const int errors[] = { EXDEV, EIO, EINVAL };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(errors); i++) {
		open_source(300000);
		told.range_error = errors[i];
		told.range_bytes = 65536;
		assert_copies();
		assert_int_equal(moved, 300000);
		assert_true(told.writes > 0);
		close_both();
	}
}

static void short_and_interrupted_calls(void **state)
{
	unsigned int interrupt, ranges;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(sizes); i++)
		for (interrupt = 0; interrupt < 4; interrupt++)
			for (ranges = 0; ranges < 2; ranges++) {
				open_source(sizes[i]);
				told.most = 777;
				told.interrupt = interrupt == 1 ? 5 : interrupt;
				told.range_error = ranges ? 0 : EXDEV;
				assert_copies();
				assert_int_equal(moved, sizes[i]);
				close_both();
			}
}

/* ---- failures ---- */

static void assert_fails(enum pfu_data_failure failure, int error)
{
	errno = 0;
	assert_int_equal(pfu_copydata(&data), failure);
	assert_int_equal(errno, error);
	close_both();
}

static void failures(void **state)
{
	(void)state;
	open_source(100000);
	told.range_error = ENOSPC;
	assert_fails(PFU_DATA_COPY, ENOSPC);
	open_source(100000);
	told.range_error = EDQUOT;
	told.range_bytes = 5000;
	assert_fails(PFU_DATA_COPY, EDQUOT);
	open_source(100000);
	told.range_error = EXDEV;
	told.read_error = EIO;
	assert_fails(PFU_DATA_READ, EIO);
	open_source(100000);
	told.range_error = EXDEV;
	told.write_error = ENOSPC;
	assert_fails(PFU_DATA_WRITE, ENOSPC);
	open_source(100000);
	told.range_error = EXDEV;
	told.write_nothing = true; /* would go on for ever */
	assert_fails(PFU_DATA_WRITE, ENOSPC);
	open_source(100000);
	told.range_error = EIO; /* and the plain way says the same */
	told.read_error = EIO;
	assert_fails(PFU_DATA_READ, EIO);
}

static void cancelled(void **state)
{
	atomic_bool flag = true;

	(void)state;
	open_source(100000);
	data.cancel = &flag;
	assert_int_equal(pfu_copydata(&data), PFU_DATA_CANCELLED);
	assert_int_equal(moved, 0);
	told.range_error = EXDEV;
	assert_int_equal(pfu_copydata(&data), PFU_DATA_CANCELLED);
	assert_int_equal(moved, 0);
	close_both();
}

/* The size is not what it was: no padding, no end that never comes. */
static void a_source_that_shrinks_or_grows(void **state)
{
	int ranges;

	(void)state;
	for (ranges = 0; ranges < 2; ranges++) {
		open_source(100000);
		told.range_error = ranges ? 0 : EXDEV;
		assert_int_equal(ftruncate(data.in, 30000), 0);
		assert_copies();
		close_both();

		open_source(30000);
		told.range_error = ranges ? 0 : EXDEV;
		fill(data.in, 30000, 100000);
		assert_int_equal(pfu_copydata(&data), PFU_DATA_OK);
		assert_in_range(moved, 30000, 100000);
		close_both();
	}
}

/* Files of /proc: the size is 0, or says nothing. */
static void sizes_that_say_nothing(void **state)
{
	(void)state;
	open_source(200000);
	data.size = 0;
	data.honest_size = false;
	assert_copies();
	close_both();
	open_source(200000);
	data.size = 4096;
	data.read_to_end = true;
	assert_copies();
	close_both();
	open_source(0);
	data.honest_size = false;
	assert_copies();
	close_both();
}

/* ---- sharing blocks ---- */

static void assert_clone(enum pfu_data_failure failure, bool done, unsigned int calls)
{
	bool is_done = !done;

	told.clones = 0;
	assert_int_equal(pfu_copydata_clone(&data, &is_done), failure);
	if (failure == PFU_DATA_OK)
		assert_int_equal(is_done, done);
	assert_int_equal(told.clones, calls);
}

static void clones(void **state)
{
	static const int cannot[] = { EOPNOTSUPP, EXDEV, ENOTTY, ENOSYS };
	static const int this_one[] = { EINVAL, EAGAIN };
	static const int final[] = { ENOSPC, EDQUOT, EIO };
	size_t i;

	(void)state;
	open_source(10000);
	told.clone_works = true;
	assert_clone(PFU_DATA_OK, true, 1);
	assert_same();
	data.reflink = PFU_REFLINK_NEVER;
	assert_clone(PFU_DATA_OK, false, 0);
	close_both();
	for (i = 0; i < COUNT(cannot); i++) {
		open_source(10000);
		told.clone_error = cannot[i];
		assert_clone(PFU_DATA_OK, false, 1);
		assert_clone(PFU_DATA_OK, false, 0); /* not for this pair */
		data.reflink = PFU_REFLINK_ALWAYS;
		assert_clone(PFU_DATA_CLONE, false, 1);
		close_both();
	}
	for (i = 0; i < COUNT(this_one); i++) {
		open_source(10000);
		told.clone_error = this_one[i];
		assert_clone(PFU_DATA_OK, false, 1);
		assert_clone(PFU_DATA_OK, false, 1);
		close_both();
	}
	for (i = 0; i < COUNT(final); i++) {
		open_source(10000);
		told.clone_error = final[i];
		assert_clone(PFU_DATA_CLONE, false, 1);
		close_both();
	}
}

/* ---- holes ---- */

enum { HOLE = 1 << 18 };

/* Islands of data: where they begin and end. */
static const struct shape {
	off_t size;
	struct {
		off_t from, to;
	} island[3];
} shapes[] = {
	{ 10 * HOLE, { { 0, 0 } } },				   /* nothing but a hole */
	{ 10 * HOLE, { { 0, 1 } } },				   /* a hole at the end */
	{ 10 * HOLE + 5, { { 10 * HOLE, 10 * HOLE + 5 } } },	   /* at the beginning */
	{ 8 * HOLE, { { 5000, 100000 }, { 3 * HOLE, 3 * HOLE + 70000 }, { 8 * HOLE - 9, 8 * HOLE } } },
	{ 8 * HOLE + 3333, { { 0, 4096 }, { 4 * HOLE - 4096, 4 * HOLE + 4096 }, { 6 * HOLE, 6 * HOLE + 1 } } },
};

static void open_sparse(const struct shape *shape)
{
	size_t i;

	open_source(0);
	for (i = 0; i < COUNT(shape->island); i++)
		fill(data.in, shape->island[i].from, shape->island[i].to);
	assert_int_equal(ftruncate(data.in, shape->size), 0);
	find_out_sizes();
	assert_true(pfu_copydata_has_holes(&data));
}

/* Ways of copying: by the calls that there may be. */
enum { RANGES = 1, SEEKS = 2, SHORT = 4, WAYS = 8 };

static void choose_way(unsigned int way)
{
	told.range_error = way & RANGES ? 0 : EXDEV;
	told.seek_error = way & SEEKS ? 0 : EINVAL;
	told.most = way & SHORT ? 50000 : 0;
}

static void holes_stay_holes(void **state)
{
	unsigned int way;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(shapes); i++)
		for (way = 0; way < WAYS; way++) {
			open_sparse(&shapes[i]);
			choose_way(way);
			assert_copies();
			/* Where it cannot be asked for holes, blocks of zeros tell. */
			assert_true(blocks_of(data.out) <= blocks_of(data.in) + 16 * 4096);
			close_both();
		}
}

static void sparse_always_and_never(void **state)
{
	char *zeros = calloc(1, HOLE);
	size_t i;

	(void)state;
	assert_non_null(zeros);
	for (i = 0; i < COUNT(shapes); i++) {
		open_sparse(&shapes[i]);
		data.sparse = PFU_SPARSE_NEVER;
		assert_copies();
		assert_true(blocks_of(data.out) >= shapes[i].size);
		close_both();

		open_sparse(&shapes[i]);
		data.sparse = PFU_SPARSE_ALWAYS;
		assert_copies();
		assert_true(blocks_of(data.out) <= blocks_of(data.in));
		close_both();
	}
	/* Zeros that take blocks in the source. */
	open_source(10000);
	assert_int_equal(pwrite(data.in, zeros, HOLE, 20000), HOLE);
	find_out_sizes();
	data.sparse = PFU_SPARSE_ALWAYS;
	assert_copies();
	assert_true(blocks_of(data.out) < HOLE / 2);
	close_both();
	free(zeros);
}

/* A file with holes that is truncated meanwhile has its new size, not the old one. */
static void a_sparse_source_that_shrinks(void **state)
{
	unsigned int way;

	(void)state;
	for (way = 0; way < WAYS; way++) {
		open_sparse(&shapes[3]);
		choose_way(way);
		assert_int_equal(ftruncate(data.in, 3 * HOLE + 100), 0);
		assert_copies();
		close_both();
	}
}

/* ---- ranges ---- */

/*
 * Several workers copy ranges of one file, in any order: each leaves alone what
 * the others have written.
 */
static void copy_in_ranges(off_t range, uint64_t *seed)
{
	unsigned int n = (unsigned int)((data.size + range - 1) / range), i, j, order[64], swap;

	assert_true(n <= COUNT(order));
	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n; i > 1; i--) {
		j = rnd_below(seed, i);
		swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < n; i++) {
		off_t from = range * order[i], to = from + range;

		assert_int_equal(
			pfu_copydata_range(&data, from, to < data.size ? to : data.size),
			PFU_DATA_OK);
	}
	assert_int_equal(pfu_copydata_extend(&data), PFU_DATA_OK);
	assert_same();
}

static void ranges_in_any_order(void **state)
{
	static const off_t ranges[] = { 1 << 16, 175001, 3 << 18 };
	uint64_t seed = 1;
	unsigned int way, round;
	size_t i, r;

	(void)state;
	for (r = 0; r < COUNT(ranges); r++)
		for (way = 0; way < WAYS; way++) {
			open_source(1000003);
			choose_way(way);
			copy_in_ranges(ranges[r], &seed);
			assert_int_equal(moved, 1000003);
			close_both();
			for (i = 0; i < COUNT(shapes); i++)
				for (round = 0; round < 3; round++) {
					open_sparse(&shapes[i]);
					choose_way(way);
					copy_in_ranges(ranges[r], &seed);
					close_both();
				}
		}
}

/* ---- pairs ---- */

static void *get_pairs(void *arg)
{
	struct pfu_fspair **got = arg;
	dev_t i;

	for (i = 0; i < 100; i++)
		CHECK((got[i] = pfu_fspairs_get(&pairs, i / 10, i % 10)) != NULL);
	return NULL;
}

static void one_entry_for_each_pair(void **state)
{
	static struct pfu_fspair *got[8][100];
	pthread_t threads[8];
	size_t i, j;

	(void)state;
	for (i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_pairs, got[i]), 0);
	for (i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	assert_checks();
	for (i = 0; i < COUNT(threads); i++) {
		for (j = 0; j < 100; j++) {
			assert_ptr_equal(got[i][j], got[0][j]);
			assert_int_equal(got[i][j]->in, j / 10);
			assert_int_equal(got[i][j]->out, j % 10);
			assert_false(got[i][j]->no_clone);
			assert_false(got[i][j]->no_copy_range);
		}
	}
	pfu_fspairs_free(&pairs);
	pfu_fspairs_free(&pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, clean)
		TEST(plain_files),
		TEST(what_cannot_be_is_remembered),
		TEST(what_went_wrong_once_is_not),
		TEST(a_refusal_in_the_middle),
		TEST(short_and_interrupted_calls),
		TEST(failures),
		TEST(cancelled),
		TEST(a_source_that_shrinks_or_grows),
		TEST(sizes_that_say_nothing),
		TEST(clones),
		TEST(holes_stay_holes),
		TEST(sparse_always_and_never),
		TEST(a_sparse_source_that_shrinks),
		TEST(ranges_in_any_order),
		TEST(one_entry_for_each_pair),
	};

	unit_start();
	return cmocka_run_group_tests_name("copydata", tests, setup, unit_scratch_remove);
}
