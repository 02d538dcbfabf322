/*
 * sums.c - checksums of a file's bytes, block by block and as a whole.
 *
 * xxHash comes in with its header, all inline: no library is needed to run.
 */
#include <errno.h>
#include <pfu/atomic.h>
#include <pfu/sums.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((off_t)1 << 20)
#define BLOCKS_MAX 65536

struct sum {
	uint64_t high, low;
};

/* The sum of a block in which there is nothing but hole.  (That bytes have it is as likely as any other.) */
static const struct sum hole;

/* ---- the hash ---- */

#ifdef PFU_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>

struct hash {
	XXH3_state_t state;
};

bool pfu_sums_supported(void)
{
	return true;
}

static void hash_begin(struct hash *h)
{
	(void)XXH3_128bits_reset(&h->state);
}

static void hash_add(struct hash *h, const char *buf, size_t size)
{
	(void)XXH3_128bits_update(&h->state, buf, size);
}

static struct sum hash_end(const struct hash *h)
{
	XXH128_hash_t sum = XXH3_128bits_digest(&h->state);

	return (struct sum){.high = sum.high64, .low = sum.low64};
}

static void hash_copy(struct hash *to, const struct hash *from)
{
	XXH3_copyState(&to->state, &from->state);
}
#else
/* Never used, since there are no sums then. */
struct hash {
	char none;
};

bool pfu_sums_supported(void)
{
	return false;
}

static void hash_begin(struct hash *h)
{
	(void)h;
}

static void hash_add(struct hash *h, const char *buf, size_t size)
{
	(void)h;
	(void)buf;
	(void)size;
}

static struct sum hash_end(const struct hash *h)
{
	(void)h;
	return hole;
}

static void hash_copy(struct hash *to, const struct hash *from)
{
	*to = *from;
}
#endif

/* ---- the sums of a file ---- */

struct pfu_sums {
	off_t block;
	size_t count;	  /* of sums that there is room for */
	struct sum *sum;  /* each written by the one pass that its block belongs to */
	struct sum first; /* where they are when one is enough */
	_Atomic off_t length;
	bool wants_digest, has_digest;
	struct sum digest;
};

struct pfu_sums *pfu_sums_new(off_t size, bool digest)
{
	struct pfu_sums *s;

	if (!pfu_sums_supported()) {
		errno = ENOSYS;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->block = BLOCK_MIN;
	while (size / s->block >= BLOCKS_MAX)
		s->block *= 2;
	s->wants_digest = digest;
	s->count = size > s->block ? (size_t)((size - 1) / s->block + 1) : 1;
	s->sum = s->count == 1 ? &s->first : calloc(s->count, sizeof(*s->sum));
	if (s->sum)
		return s;
	free(s);
	errno = ENOMEM;
	return NULL;
}

void pfu_sums_free(struct pfu_sums *s)
{
	if (s && s->sum != &s->first)
		free(s->sum);
	free(s);
}

void pfu_sums_reset(struct pfu_sums *s)
{
	memset(s->sum, 0, s->count * sizeof(*s->sum));
	atomic_store(&s->length, 0);
	s->has_digest = false;
}

off_t pfu_sums_block(const struct pfu_sums *s)
{
	return s->block;
}

off_t pfu_sums_length(const struct pfu_sums *s)
{
	return atomic_load(&s->length);
}

static bool same_sum(const struct sum *a, const struct sum *b)
{
	return a->high == b->high && a->low == b->low;
}

bool pfu_sums_is_hole(const struct pfu_sums *s, off_t at)
{
	size_t i = (size_t)(at / s->block);

	return i >= s->count || same_sum(&s->sum[i], &hole);
}

bool pfu_sums_digest(const struct pfu_sums *s, char text[PFU_DIGEST_SIZE])
{
	if (s->has_digest)
		snprintf(text, PFU_DIGEST_SIZE, "%016llx%016llx",
			(unsigned long long)s->digest.high, (unsigned long long)s->digest.low);
	return s->has_digest;
}

/* Makes room for the sum of block i.  A file may turn out larger than it said. */
static bool make_room(struct pfu_sums *s, size_t i)
{
	size_t count = s->count;
	struct sum *sum;

	if (i < count)
		return true;
	while (count <= i)
		count *= 2;
	sum = realloc(s->sum == &s->first ? NULL : s->sum, count * sizeof(*sum));
	if (!sum)
		return false;
	if (s->sum == &s->first)
		sum[0] = s->first;
	memset(sum + s->count, 0, (count - s->count) * sizeof(*sum));
	s->sum = sum;
	s->count = count;
	return true;
}

/* ---- a pass ---- */

struct pfu_summer {
	struct hash in_block, in_all;
	struct pfu_sums *sums;
	enum pfu_pass pass;
	bool digest;	/* in_all is kept, from the second block on: in the first, in_block is the same */
	bool begun;	/* in_block has something of this block */
	bool no_memory; /* for a sum */
	off_t at;
	off_t differs;	/* the first block that does; -1: none */
};

struct pfu_summer *pfu_summer_new(struct pfu_sums *s, off_t from, enum pfu_pass pass)
{
	/* (xxHash wants its state aligned so, and sizes of types are multiples of that.) */
	struct pfu_summer *p = aligned_alloc(_Alignof(struct pfu_summer), sizeof(*p));

	if (!p)
		return NULL;
	p->sums = s;
	p->pass = pass;
	p->digest = s->wants_digest && !s->has_digest && pass != PFU_PASS_RANGE;
	p->begun = p->no_memory = false;
	p->at = from;
	p->differs = -1;
	return p;
}

static bool is_zero(const char *buf, size_t size)
{
	return buf[0] == 0 && memcmp(buf, buf + 1, size - 1) == 0;
}

static void note_difference(struct pfu_summer *p, off_t block)
{
	if (p->differs < 0)
		p->differs = block;
}

/* A block is complete: `last` is an offset in it. */
static void end_block(struct pfu_summer *p, off_t last)
{
	size_t i = (size_t)(last / p->sums->block);
	struct sum sum = p->begun ? hash_end(&p->in_block) : hole;

	if (p->digest && i == 0)
		hash_copy(&p->in_all, &p->in_block);
	p->begun = false;
	if (p->pass != PFU_PASS_COMPARE) {
		if (make_room(p->sums, i))
			p->sums->sum[i] = sum;
		else
			p->no_memory = true;
	} else if (i >= p->sums->count) {
		note_difference(p, last - last % p->sums->block);
	} else if (!same_sum(&sum, &p->sums->sum[i]) && !pfu_sums_is_hole(p->sums, last)) {
		/* (Where a hole was, bytes have been looked at as they came.) */
		note_difference(p, last - last % p->sums->block);
	}
}

static void add_zeros(struct pfu_summer *p, off_t size);

/* Takes bytes that are all in one block. */
static void add_in_block(struct pfu_summer *p, const char *buf, size_t size)
{
	off_t before = p->at % p->sums->block;

	if (!p->begun) {
		hash_begin(&p->in_block);
		p->begun = true;
		if (before > 0) {
			p->at -= before;
			add_zeros(p, before);
		}
	}
	hash_add(&p->in_block, buf, size);
	if (p->digest && p->at >= p->sums->block)
		hash_add(&p->in_all, buf, size);
	if (p->pass == PFU_PASS_COMPARE && pfu_sums_is_hole(p->sums, p->at) && !is_zero(buf, size))
		note_difference(p, p->at - before);
	p->at += (off_t)size;
	if (p->at % p->sums->block == 0)
		end_block(p, p->at - 1);
}

static void add(struct pfu_summer *p, const char *buf, size_t size)
{
	while (size > 0) {
		off_t room = p->sums->block - p->at % p->sums->block;
		size_t n = (off_t)size < room ? size : (size_t)room;

		add_in_block(p, buf, n);
		buf += n;
		size -= n;
	}
}

static void add_zeros(struct pfu_summer *p, off_t size)
{
	static const char zeros[65536];

	while (size > 0) {
		size_t n = size < (off_t)sizeof(zeros) ? (size_t)size : sizeof(zeros);

		add(p, zeros, n);
		size -= (off_t)n;
	}
}

void pfu_summer_add(struct pfu_summer *p, const char *buf, size_t size, off_t at)
{
	if (at > p->at)
		pfu_summer_hole(p, at);
	add(p, buf, size);
}

void pfu_summer_hole(struct pfu_summer *p, off_t to)
{
	off_t block = p->sums->block, rest;

	if (to <= p->at)
		return;
	if (p->digest) {
		add_zeros(p, to - p->at);
		return;
	}
	rest = block - p->at % block;
	if (p->begun)
		add_zeros(p, to - p->at < rest ? to - p->at : rest);
	/* Of blocks that are all hole there is nothing to be noted: that is what a sum says at first. */
	if (to > p->at)
		p->at = to;
}

off_t pfu_summer_differs(const struct pfu_summer *p)
{
	return p->differs;
}

/* The end of what was summed is that of the pass that came furthest. */
static void note_length(struct pfu_sums *s, off_t end)
{
	off_t length = atomic_load(&s->length);

	while (end > length && !atomic_compare_exchange_weak(&s->length, &length, end))
		;
}

static void note_digest(struct pfu_summer *p)
{
	if (p->at == 0)
		hash_begin(&p->in_all);
	p->sums->digest = hash_end(&p->in_all);
	p->sums->has_digest = true;
}

int pfu_summer_end(struct pfu_summer *p, off_t *differs)
{
	int err = 0;

	if (p->begun)
		end_block(p, p->at - 1);
	if (p->pass != PFU_PASS_COMPARE)
		note_length(p->sums, p->at);
	if (differs)
		*differs = p->differs;
	if (p->no_memory)
		err = ENOMEM;
	else if (p->differs >= 0)
		err = EILSEQ;
	if (p->digest && !err)
		note_digest(p);
	free(p);
	errno = err;
	return err ? -1 : 0;
}
