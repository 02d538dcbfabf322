/*
 * closer.c - descriptors that can be closed later, many at a time.
 */
#include <pfu/closer.h>
#include <stdlib.h>

void pfu_closer_init(struct pfu_closer *c, const struct pfu_fsys *fs, unsigned int limit)
{
	c->fs = fs;
	c->limit = limit < PFU_CLOSER_MAX ? limit : PFU_CLOSER_MAX;
	c->n = 0;
}

void pfu_closer_add(struct pfu_closer *c, int fd)
{
	if (c->limit == 0) {
		c->fs->close(fd);
		return;
	}
	c->fd[c->n++] = fd;
	if (c->n == c->limit)
		pfu_closer_flush(c);
}

static int by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void close_run(struct pfu_closer *c, unsigned int from, unsigned int to)
{
	if (to - from > 1 && c->fs->close_range((unsigned int)c->fd[from],
						(unsigned int)c->fd[to - 1], 0) == 0)
		return;
	for (; from < to; from++)
		c->fs->close(c->fd[from]);
}

void pfu_closer_flush(struct pfu_closer *c)
{
	unsigned int from = 0, i;

	qsort(c->fd, c->n, sizeof(c->fd[0]), by_number);
	for (i = 1; i <= c->n; i++) {
		if (i < c->n && c->fd[i] == c->fd[i - 1] + 1)
			continue;
		close_run(c, from, i);
		from = i;
	}
	c->n = 0;
}
