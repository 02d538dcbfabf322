/*
 * files0.c - --files0-from: operands that come from a file or a pipe, in batches.
 *
 * A batch is what has come so far, so that a slow writer's names are worked on while he
 * looks for more; it is bounded, so that a long list takes no more memory than a short one.
 */
#include "files0.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A batch ends with so many names, or when so many bytes have been read. */
#define NAMES_MOST 10000
#define BYTES_MOST ((size_t)1 << 20)
/* To start workers pays off with so many names; for them a batch waits a little. */
#define NAMES_FEW 64
#define LITTLE_MS 10
/* A wait for names looks so often whether the run was cancelled. */
#define LOOK_MS 100

struct files0 {
	const char *name;
	const atomic_bool *cancel;
	char *bytes;	/* what was read, from the batch's first name on */
	size_t room;	/* of bytes, without the byte that ends a last name */
	size_t filled;
	size_t taken;	/* bytes of the names of the batch and what is not to be looked at again */
	size_t looked;	/* so far there is no end of a name behind `taken` */
	char *names[NAMES_MOST];
	size_t offsets[NAMES_MOST]; /* of the names: bytes may move while a batch grows */
	size_t count;
	uintmax_t number; /* of names so far, empty ones included */
	int fd;
	bool ended;
	bool failed;
};

struct files0 *files0_open(const char *name, const atomic_bool *cancel)
{
	struct files0 *list = calloc(1, sizeof(*list));
	char *quoted;

	if (list)
		list->bytes = malloc(BYTES_MOST + 1);
	if (!list || !list->bytes) {
		cli_error(ENOMEM, "cannot start");
		exit(EXIT_FAILURE);
	}
	list->name = name;
	list->cancel = cancel;
	list->room = BYTES_MOST;
	list->fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (list->fd < 0) {
		int err = errno;

		quoted = pfu_quote_name(name);
		cli_error(err, "cannot open %s for reading", quoted ? quoted : name);
		free(quoted);
		free(list->bytes);
		free(list);
		exit(EXIT_FAILURE);
	}
	return list;
}

/* The list's name as it stands before a colon: in quotes only where it needs them. */
static void complain(struct files0 *list, int errnum, const char *text)
{
	char *quoted = pfu_quote_needed(list->name) ? pfu_quote_name(list->name) : NULL;

	list->failed = true;
	cli_error(errnum, "%s:%s", quoted ? quoted : list->name, text);
	free(quoted);
}

static void complain_of_empty(struct files0 *list)
{
	char text[80];

	snprintf(text, sizeof(text), "%ju: invalid zero-length file name", list->number);
	complain(list, 0, text);
}

/* Takes a name of which the terminating zero is at `end`. */
static void take(struct files0 *list, size_t end)
{
	list->number++;
	if (end == list->taken)
		complain_of_empty(list);
	else
		list->offsets[list->count++] = list->taken;
	list->taken = list->looked = end + 1;
}

/* Takes the complete names that have been read, as far as the batch has room for them. */
static void take_complete(struct files0 *list)
{
	char *end;

	while (list->count < NAMES_MOST && list->looked < list->filled) {
		end = memchr(list->bytes + list->looked, '\0', list->filled - list->looked);
		if (!end) {
			list->looked = list->filled;
			break;
		}
		take(list, (size_t)(end - list->bytes));
	}
	/* The last name need not be terminated. */
	if (list->ended && list->count < NAMES_MOST && list->taken < list->filled) {
		list->bytes[list->filled] = '\0';
		take(list, list->filled++);
	}
}

/* Whether there is something to read, or the end, within so many milliseconds. */
static bool is_ready(struct files0 *list, int ms)
{
	struct pollfd p = { .fd = list->fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

static bool is_cancelled(const struct files0 *list)
{
	return atomic_load(list->cancel);
}

/* Names that are taken stay where they are; empty ones and those of the last batch go. */
static bool make_room(struct files0 *list)
{
	char *larger;

	if (list->count == 0 && list->taken > 0) {
		list->filled -= list->taken;
		memmove(list->bytes, list->bytes + list->taken, list->filled);
		list->looked -= list->taken;
		list->taken = 0;
	}
	if (list->filled < list->room)
		return true;
	larger = list->room < SIZE_MAX / 2 ? realloc(list->bytes, 2 * list->room + 1) : NULL;
	if (!larger)
		return false;
	list->bytes = larger;
	list->room *= 2;
	return true;
}

/* Reads once. */
static void read_more(struct files0 *list)
{
	ssize_t n = -1;

	errno = ENOMEM;
	if (make_room(list))
		n = read(list->fd, list->bytes + list->filled, list->room - list->filled);
	if (n > 0) {
		list->filled += (size_t)n;
	} else if (n == 0) {
		list->ended = true;
	} else if (errno != EINTR && errno != EAGAIN) {
		complain(list, errno, " read error");
		/* What may be half a name is none. */
		list->filled = list->taken;
		list->ended = true;
	}
}

/* Whether the batch is to be worked on now rather than read on for. */
static bool is_enough(struct files0 *list)
{
	if (list->count == 0)
		return false;
	return list->count == NAMES_MOST || list->filled >= BYTES_MOST ||
	       !is_ready(list, list->count < NAMES_FEW ? LITTLE_MS : 0);
}

bool files0_next(void *ctx, char *const **names, size_t *count)
{
	struct files0 *list = ctx;
	size_t i;

	if (is_cancelled(list))
		return false;
	list->count = 0;
	take_complete(list);
	while (!list->ended && !is_enough(list)) {
		if (is_cancelled(list))
			return false;
		if (is_ready(list, LOOK_MS))
			read_more(list);
		take_complete(list);
	}
	for (i = 0; i < list->count; i++)
		list->names[i] = list->bytes + list->offsets[i];
	*names = list->names;
	*count = list->count;
	return list->count > 0;
}

bool files0_close(struct files0 *list)
{
	bool ok;

	if (list->fd != STDIN_FILENO && close(list->fd) != 0)
		complain(list, errno, " read error");
	ok = !list->failed;
	free(list->bytes);
	free(list);
	return ok;
}

_Noreturn void files0_extra_operand(const char *operand)
{
	char *quoted = pfu_quote_name(operand);

	cli_error(0, "extra operand %s", quoted ? quoted : operand);
	free(quoted);
	fputs("file operands cannot be combined with --files0-from\n", stderr);
	cli_try_help();
}
