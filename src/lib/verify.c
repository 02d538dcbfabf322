/*
 * verify.c - reads a copy again, and compares it with what was read of its source.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/verify.h>
#include <string.h>
#include <unistd.h>

static bool is_cancelled(const struct pfu_verify *v)
{
	return v->cancel && atomic_load_explicit(v->cancel, memory_order_relaxed);
}

static ssize_t read_at(const struct pfu_verify *v, int fd, char *buf, size_t size, off_t at)
{
	ssize_t n;

	do
		n = v->fs->pread(fd, buf, size, at);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Makes the kernel forget what it knows of the target's bytes.  false: some may be lost; errno. */
static bool drop_cache(const struct pfu_verify *v)
{
	int rc;

	do
		rc = v->fs->fdatasync(v->target);
	while (rc != 0 && errno == EINTR);
	/* Where it cannot be done the file is read all the same. */
	if (rc != 0 && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != EROFS)
		return false;
	(void)v->fs->fadvise(v->target, 0, 0, POSIX_FADV_DONTNEED);
	return true;
}

/* Whether the target has a hole from `at` up to `end`. */
static bool has_hole(const struct pfu_verify *v, off_t at, off_t end)
{
	off_t data = v->fs->lseek(v->target, at, SEEK_DATA);

	return data < 0 ? errno == ENXIO : data >= end;
}

/* Fills a buffer as far as there is something to read. */
static ssize_t fill(const struct pfu_verify *v, int fd, char *buf, size_t size, off_t at)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read_at(v, fd, buf + have, size - have, at + (off_t)have);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

/* In a block that differs: sets the offset to the first byte that does, if source and target still tell. */
static void find_offset(struct pfu_verify *v, off_t block)
{
	size_t half = v->buf_size / 2;
	off_t at = block, end = block + pfu_sums_block(v->sums);

	v->offset = block;
	while (at < end) {
		ssize_t s = fill(v, v->source, v->buf, half, at);
		ssize_t t = fill(v, v->target, v->buf + half, half, at);
		ssize_t i = 0;

		while (i < s && i < t && v->buf[i] == v->buf[half + (size_t)i])
			i++;
		if (s < 0 || t < 0 || (i == s && i == t && s < (ssize_t)half))
			return;
		if (i < s || i < t) {
			v->offset = at + i < end ? at + i : block;
			return;
		}
		at += (off_t)half;
	}
}

/*
 * Reads on from *at.  PFU_VERIFY_SAME: *at has moved.  One byte more than there should be is
 * asked for, so that a target that is too long shows without a call of its own; *ended:
 * there is none.
 */
static enum pfu_verified read_on(struct pfu_verify *v, struct pfu_summer *p, off_t *at, bool *ended)
{
	off_t length = pfu_sums_length(v->sums), left = length - *at;
	size_t want = left < (off_t)v->buf_size ? (size_t)left + 1 : v->buf_size;
	ssize_t n = read_at(v, v->target, v->buf, want, *at);

	if (n < 0)
		return PFU_VERIFY_READ;
	if (n == 0 || n > left) {
		v->offset = n == 0 ? *at : length;
		return PFU_VERIFY_DIFFERS;
	}
	pfu_summer_add(p, v->buf, (size_t)n, *at);
	*at += n;
	*ended = *at == length && (size_t)n < want;
	return pfu_summer_differs(p) < 0 ? PFU_VERIFY_SAME : PFU_VERIFY_DIFFERS;
}

/* Compares with the sums, up to where the target should end, and sees that it does. */
static enum pfu_verified compare(struct pfu_verify *v, struct pfu_summer *p)
{
	off_t length = pfu_sums_length(v->sums), block = pfu_sums_block(v->sums), at = 0, end;
	enum pfu_verified verdict = PFU_VERIFY_SAME;
	bool ended = false;
	ssize_t n;

	while (at < length && verdict == PFU_VERIFY_SAME) {
		end = length - at < block ? length : at + block;
		if (is_cancelled(v))
			return PFU_VERIFY_CANCELLED;
		if (at % block == 0 && pfu_sums_is_hole(v->sums, at) && has_hole(v, at, end)) {
			pfu_summer_hole(p, end);
			at = end;
		} else {
			verdict = read_on(v, p, &at, &ended);
		}
	}
	if (verdict != PFU_VERIFY_SAME || ended)
		return verdict;
	n = read_at(v, v->target, v->buf, 1, length);
	if (n < 0)
		return PFU_VERIFY_READ;
	v->offset = length;
	return n == 0 ? PFU_VERIFY_SAME : PFU_VERIFY_DIFFERS;
}

enum pfu_verified pfu_verify(struct pfu_verify *v)
{
	enum pfu_verified verdict;
	struct pfu_summer *p;
	off_t block;

	if (!drop_cache(v))
		return PFU_VERIFY_WRITE;
	p = pfu_summer_new(v->sums, 0, PFU_PASS_COMPARE);
	if (!p)
		return PFU_VERIFY_READ;
	v->offset = -1;
	verdict = compare(v, p);
	if (verdict == PFU_VERIFY_READ || verdict == PFU_VERIFY_CANCELLED) {
		int err = errno;

		(void)pfu_summer_end(p, NULL);
		errno = err;
		return verdict;
	}
	/* The last block, if it is not a whole one, is compared only now. */
	if (pfu_summer_end(p, &block) != 0 && block >= 0) {
		verdict = PFU_VERIFY_DIFFERS;
		find_offset(v, block);
	}
	return verdict;
}
