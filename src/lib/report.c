/*
 * report.c - composes diagnostics, verbose lines and questions.
 */
#include <errno.h>
#include <pfu/report.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows; when it cannot, it is cut and stays a string. */
struct text {
	char *buf;
	size_t len, size;
	char fixed[512];
};

static void append(struct text *t, const char *s, size_t len)
{
	if (t->len + len >= t->size) {
		size_t size = (t->len + len + 1) * 2;
		char *buf = malloc(size);

		if (buf) {
			memcpy(buf, t->buf, t->len);
			if (t->buf != t->fixed)
				free(t->buf);
			t->buf = buf;
			t->size = size;
		} else {
			len = t->size - t->len - 1;
		}
	}
	memcpy(t->buf + t->len, s, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

static void compose(struct text *t, const char *format, va_list args)
{
	const char *percent, *arg;
	char *quoted;

	t->buf = t->fixed;
	t->len = 0;
	t->size = sizeof(t->fixed);
	t->fixed[0] = '\0';
	for (; (percent = strchr(format, '%')); format = percent + 2) {
		append(t, format, (size_t)(percent - format));
		if (percent[1] == '%') {
			append(t, "%", 1);
			continue;
		}
		arg = va_arg(args, const char *);
		quoted = NULL;
		if (percent[1] == 'q' || (percent[1] == 'f' && pfu_quote_needed(arg)))
			quoted = pfu_quote_name(arg);
		else if (percent[1] == 'w')
			quoted = pfu_quote_word(arg);
		if (quoted)
			arg = quoted;
		append(t, arg, strlen(arg));
		free(quoted);
	}
	append(t, format, strlen(format));
}

static void discard(struct text *t)
{
	if (t->buf != t->fixed)
		free(t->buf);
}

void pfu_message(const struct pfu_report *r, enum pfu_severity severity, int errnum,
		 const char *format, ...)
{
	struct text t;
	va_list args;

	va_start(args, format);
	compose(&t, format, args);
	va_end(args);
	r->message(r->ctx, severity, errnum, t.buf);
	discard(&t);
}

void pfu_output(const struct pfu_report *r, const char *format, ...)
{
	struct text t;
	va_list args;

	va_start(args, format);
	compose(&t, format, args);
	va_end(args);
	r->output(r->ctx, t.buf);
	discard(&t);
}

bool pfu_ask(const struct pfu_report *r, const char *format, ...)
{
	struct text t;
	va_list args;
	bool yes;

	va_start(args, format);
	compose(&t, format, args);
	va_end(args);
	yes = r->ask(r->ctx, t.buf);
	discard(&t);
	return yes;
}
