/*
 * sumfile.c - a file of checksums, written in whole lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/sumfile.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER ((size_t)64 << 10)

struct pfu_sumfile {
	int fd;
	pthread_mutex_t lock; /* guards all below */
	int err;	      /* the first failure */
	size_t used;
	char buf[BUFFER]; /* whole lines */
};

char *pfu_sumfile_line(const char *digest, const char *name)
{
	bool escape = strpbrk(name, "\n\r") != NULL;
	char *line = malloc(strlen(digest) + 2 * strlen(name) + 4), *end = line;

	if (!line)
		return NULL;
	if (escape)
		*end++ = '\\';
	end = stpcpy(stpcpy(end, digest), "  ");
	for (; *name; name++) {
		if (escape && (*name == '\n' || *name == '\r' || *name == '\\')) {
			*end++ = '\\';
			*end++ = *name == '\n' ? 'n' : *name == '\r' ? 'r' : '\\';
		} else {
			*end++ = *name;
		}
	}
	*end = '\0';
	return line;
}

struct pfu_sumfile *pfu_sumfile_open(const char *path)
{
	struct pfu_sumfile *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (f->fd < 0) {
		int err = errno;

		free(f);
		errno = err;
		return NULL;
	}
	f->err = 0;
	f->used = 0;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

/* The lock is held in these. */
static void write_all(struct pfu_sumfile *f, const char *buf, size_t size)
{
	while (size > 0 && !f->err) {
		ssize_t n = write(f->fd, buf, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			f->err = n < 0 ? errno : ENOSPC;
			return;
		}
		buf += n;
		size -= (size_t)n;
	}
}

static void flush(struct pfu_sumfile *f)
{
	write_all(f, f->buf, f->used);
	f->used = 0;
}

void pfu_sumfile_add(struct pfu_sumfile *f, const char *digest, const char *name)
{
	char *line = pfu_sumfile_line(digest, name);
	size_t len;

	pthread_mutex_lock(&f->lock);
	if (!line) {
		f->err = f->err ? f->err : ENOMEM;
	} else {
		len = strlen(line);
		line[len++] = '\n'; /* there is room: the line ended in a zero byte */
		if (f->used + len > BUFFER)
			flush(f);
		if (len > BUFFER) {
			write_all(f, line, len);
		} else {
			memcpy(f->buf + f->used, line, len);
			f->used += len;
		}
	}
	pthread_mutex_unlock(&f->lock);
	free(line);
}

int pfu_sumfile_close(struct pfu_sumfile *f)
{
	int err;

	flush(f);
	err = f->err;
	if (close(f->fd) != 0 && !err)
		err = errno;
	pthread_mutex_destroy(&f->lock);
	free(f);
	errno = err;
	return err ? -1 : 0;
}
