/*
 * copydata.c - the bytes of one regular file.
 *
 * A small file without holes is one copy_file_range() at the descriptors' own
 * offsets.  Where offsets matter (files with holes, ranges) they are given.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/copydata.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With --sparse=always this many zeros, aligned, become a hole. */
#define ZEROS_MIN ((size_t)4096)
/* "At the descriptor's offset". */
#define HERE ((off_t)-1)

struct pfu_fspair *pfu_fspairs_get(struct pfu_fspairs *pairs, dev_t in, dev_t out)
{
	struct pfu_fspair *first = atomic_load_explicit(&pairs->first, memory_order_acquire);
	struct pfu_fspair *p, *made = NULL;

	for (;;) {
		for (p = first; p; p = p->next) {
			if (p->in == in && p->out == out) {
				free(made);
				return p;
			}
		}
		if (!made)
			made = calloc(1, sizeof(*made));
		if (!made)
			return NULL;
		made->in = in;
		made->out = out;
		made->next = first;
		if (atomic_compare_exchange_strong(&pairs->first, &first, made))
			return made;
	}
}

void pfu_fspairs_free(struct pfu_fspairs *pairs)
{
	struct pfu_fspair *p, *next;

	for (p = atomic_load(&pairs->first); p; p = next) {
		next = p->next;
		free(p);
	}
	atomic_store(&pairs->first, NULL);
}

static bool is_cancelled(const struct pfu_data *d)
{
	return d->cancel && atomic_load_explicit(d->cancel, memory_order_relaxed);
}

/* Takes note of bytes that were read at `at` or HERE. */
static void sum(struct pfu_data *d, size_t bytes, off_t at)
{
	if (d->summer)
		pfu_summer_add(d->summer, d->buf, bytes, at);
}

/* Takes note of bytes that have been written. */
static void count(struct pfu_data *d, size_t bytes)
{
	*d->moved += bytes;
	pfu_count(d->counter, PFU_COUNT_BYTES, (int64_t)bytes);
	pfu_count_tick(d->counter);
}

/* Takes note of a hole that is kept. */
static void count_hole(struct pfu_data *d, off_t bytes)
{
	pfu_count(d->counter, PFU_COUNT_BYTES, bytes);
	pfu_count(d->counter, PFU_COUNT_HOLES, bytes);
}

/* How many bytes one call may ask for. */
static size_t piece(const struct pfu_data *d, off_t left, size_t most)
{
	size_t n = left < (off_t)most ? (size_t)left : most;

	return d->rate ? pfu_rate_piece(d->rate, n) : n;
}

/* Waits until so many bytes may be moved.  false: the run was cancelled. */
static bool may_move(struct pfu_data *d, size_t bytes)
{
	return d->rate ? pfu_rate_wait(d->rate, bytes) : !is_cancelled(d);
}

/* After a call: gives back what was waited for and has not been moved. */
static void give_back(struct pfu_data *d, size_t waited, ssize_t moved)
{
	if (d->rate && moved < (ssize_t)waited)
		pfu_rate_return(d->rate, waited - (size_t)(moved > 0 ? moved : 0));
}

/* Whether the error says that this pair of file systems cannot do it at all. */
static bool is_unsupported(int err)
{
	switch (err) {
	case ENOSYS:
	case EXDEV:
	case EINVAL:
	case EOPNOTSUPP:
	case EPERM: /* a sandbox */
	case EBADF:
	case ETXTBSY:
	case ENOTTY:
		return true;
	default:
		return false;
	}
}

/* Whether the error will be the same whichever way the bytes are written. */
static bool is_final(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

/* Writes all of a buffer, at `to` or HERE. */
static int write_all(struct pfu_data *d, const char *buf, size_t size, off_t to)
{
	while (size > 0) {
		ssize_t n = to == HERE ? d->fs->write(d->out, buf, size)
				       : d->fs->pwrite(d->out, buf, size, to);

		if (n < 0 && errno == EINTR && !is_cancelled(d))
			continue;
		if (n == 0)
			errno = ENOSPC; /* a write that does nothing would be tried for ever */
		if (n <= 0)
			return -1;
		buf += n;
		size -= (size_t)n;
		if (to != HERE)
			to += n;
	}
	return 0;
}

static bool is_zero(const char *buf, size_t size)
{
	return buf[0] == 0 && memcmp(buf, buf + 1, size - 1) == 0;
}

/* Writes what is not a run of zeros.  Sets *hole_at_end. */
static int write_sparse(
	struct pfu_data *d, const char *buf, size_t size, off_t to, bool *hole_at_end)
{
	size_t at, n, start = 0;

	for (at = 0; at < size; at += n) {
		n = size - at < ZEROS_MIN ? size - at : ZEROS_MIN;
		*hole_at_end = is_zero(buf + at, n);
		if (!*hole_at_end)
			continue;
		pfu_count(d->counter, PFU_COUNT_HOLES, (int64_t)n);
		if (at > start && write_all(d, buf + start, at - start, to + (off_t)start) != 0)
			return -1;
		start = at + n;
	}
	return size > start ? write_all(d, buf + start, size - start, to + (off_t)start) : 0;
}

/*
 * Copies by read and write from `from` up to `to` or the end of the file; from
 * HERE with both at the descriptors' offsets and `to` the number of bytes.
 */
static enum pfu_data_failure read_write(struct pfu_data *d, off_t from, off_t to, bool punch)
{
	off_t left = from == HERE ? to : to - from;
	/* Where nobody knows how much there is to read, that is waited for before it is written. */
	bool hole = false, known = to != INT64_MAX;

	while (left > 0) {
		size_t want = piece(d, left, d->buf_size);
		ssize_t n;

		if (!may_move(d, known ? want : 0))
			return PFU_DATA_CANCELLED;
		n = from == HERE ? d->fs->read(d->in, d->buf, want)
				 : d->fs->pread(d->in, d->buf, want, from);
		if (known)
			give_back(d, want, n);
		else if (n > 0 && !may_move(d, (size_t)n))
			return PFU_DATA_CANCELLED;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return PFU_DATA_READ;
		if (n == 0)
			break;
		if ((punch ? write_sparse(d, d->buf, (size_t)n, from, &hole)
			   : write_all(d, d->buf, (size_t)n, from)) != 0)
			return PFU_DATA_WRITE;
		sum(d, (size_t)n, from);
		count(d, (size_t)n);
		left -= n;
		if (from != HERE)
			from += n;
	}
	/* Behind a range others may have written already; pfu_copydata_extend() sets the size then. */
	if (hole && to == INT64_MAX && d->fs->ftruncate(d->out, from) != 0)
		return PFU_DATA_EXTEND;
	return PFU_DATA_OK;
}

/* Copies bytes that are no hole; arguments as for read_write(). */
static enum pfu_data_failure copy_bytes(struct pfu_data *d, off_t from, off_t to)
{
	off_t left = from == HERE ? to : to - from, in = from, out = from;

	/* What is to be summed has to come through here. */
	while (left > 0 && !d->summer &&
		!atomic_load_explicit(&d->pair->no_copy_range, memory_order_relaxed)) {
		size_t want = piece(d, left, d->call_size);
		ssize_t n;

		if (!may_move(d, want))
			return PFU_DATA_CANCELLED;
		n = d->fs->copy_file_range(d->in, from == HERE ? NULL : &in, d->out,
			from == HERE ? NULL : &out, want, 0);
		give_back(d, want, n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && is_final(errno))
			return PFU_DATA_COPY;
		if (n < 0 && is_unsupported(errno))
			atomic_store_explicit(&d->pair->no_copy_range, true, memory_order_relaxed);
		/*
		 * Whatever else went wrong (CIFS, ZFS and others have odd reasons), and
		 * also "no more bytes", which some kernels say wrongly: read() knows.
		 */
		if (n <= 0)
			break;
		count(d, (size_t)n);
		pfu_count(d->counter, PFU_COUNT_OFFLOADED, n);
		left -= n;
	}
	return read_write(d, in, from == HERE ? left : to, false);
}

bool pfu_copydata_has_holes(const struct pfu_data *d)
{
	return d->sparse == PFU_SPARSE_AUTO && d->allocated < d->size;
}

/*
 * The next stretch of data at or after *from, and where it ends; 0 when only a hole
 * is left.  -1 where the file system cannot tell, or tells what cannot be: it may be
 * anybody's (FUSE), and must not keep us here for ever.
 */
static int next_data(struct pfu_data *d, off_t *from, off_t *end)
{
	off_t start = d->fs->lseek(d->in, *from, SEEK_DATA);

	if (start < 0)
		return errno == ENXIO ? 0 : -1;
	if (start < *from)
		return -1;
	*end = d->fs->lseek(d->in, start, SEEK_HOLE);
	if (*end <= start)
		return -1;
	*from = start;
	return 1;
}

enum pfu_data_failure pfu_copydata_range(struct pfu_data *d, off_t from, off_t to)
{
	enum pfu_data_failure f;
	off_t end = to; /* set by next_data() wherever it is used, which not every compiler sees */

	if (!pfu_copydata_has_holes(d))
		return copy_bytes(d, from, to);
	while (from < to) {
		off_t start = from;
		int data = next_data(d, &from, &end);

		if (data < 0)
			return read_write(d, from, to, true);
		if (data == 0 || from >= to) {
			count_hole(d, to - start);
			break;
		}
		count_hole(d, from - start);
		f = copy_bytes(d, from, end < to ? end : to);
		if (f != PFU_DATA_OK)
			return f;
		from = end;
	}
	if (d->summer)
		pfu_summer_hole(d->summer, to);
	return PFU_DATA_OK;
}

enum pfu_data_failure pfu_copydata_clone(struct pfu_data *d, bool *done)
{
	*done = false;
	if (d->reflink == PFU_REFLINK_NEVER ||
		(d->reflink == PFU_REFLINK_AUTO &&
			(atomic_load_explicit(&d->pair->no_clone, memory_order_relaxed) ||
				d->sparse != PFU_SPARSE_AUTO || (d->size == 0 && d->honest_size))))
		return PFU_DATA_OK;
	if (d->fs->clone(d->out, d->in) == 0) {
		*done = true;
		pfu_count(d->counter, PFU_COUNT_BYTES, d->size);
		pfu_count(d->counter, PFU_COUNT_CLONED, d->size);
		return PFU_DATA_OK;
	}
	if (d->reflink == PFU_REFLINK_ALWAYS || is_final(errno) || errno == EIO)
		return PFU_DATA_CLONE;
	/* EINVAL may be about this file only. */
	if (is_unsupported(errno) && errno != EINVAL)
		atomic_store_explicit(&d->pair->no_clone, true, memory_order_relaxed);
	return PFU_DATA_OK;
}

enum pfu_data_failure pfu_copydata_extend(struct pfu_data *d)
{
	off_t end;

	if (!pfu_copydata_has_holes(d))
		return PFU_DATA_OK;
	/* It may have been truncated meanwhile. */
	end = d->fs->lseek(d->in, 0, SEEK_END);
	if (end < 0)
		return PFU_DATA_SEEK;
	return d->fs->ftruncate(d->out, end < d->size ? end : d->size) == 0 ? PFU_DATA_OK
									    : PFU_DATA_EXTEND;
}

enum pfu_data_failure pfu_copydata(struct pfu_data *d)
{
	enum pfu_data_failure f;

	if (d->sparse == PFU_SPARSE_ALWAYS)
		return read_write(d, 0, INT64_MAX, true);
	if (d->read_to_end || (d->size == 0 && !d->honest_size))
		return read_write(d, HERE, INT64_MAX, false);
	if (d->sparse == PFU_SPARSE_NEVER)
		return read_write(d, HERE, d->size, false);
	if (!pfu_copydata_has_holes(d))
		return copy_bytes(d, HERE, d->size);
	f = pfu_copydata_range(d, 0, d->size);
	return f == PFU_DATA_OK ? pfu_copydata_extend(d) : f;
}
