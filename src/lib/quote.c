/*
 * quote.c - names in quotes, so that what a diagnostic shows can be pasted into
 * a shell and no byte of a name reaches the terminal raw.
 */
#include <langinfo.h>
#include <pfu/report.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
#include <wctype.h>

/* Any character of a name becomes at most this many bytes: ''$'\ooo''' */
#define WIDEST 12

/* The letter after the backslash for a character that has one; else 0. */
static char escape_letter(unsigned char c)
{
	static const char letters[] = "abtnvfr"; /* from BEL (7) on */

	return c >= 7 && c <= 13 ? letters[c - 7] : '\0';
}

/* The length of the printable character at s; 0 when the byte there must be escaped. */
static size_t printable(const char *s, mbstate_t *state)
{
	wchar_t wc;
	size_t n;

	/* Most names are of these letters, which mean themselves in every locale. */
	if (*s >= ' ' && *s <= '~' && mbsinit(state))
		return 1;
	n = mbrtowc(&wc, s, MB_CUR_MAX, state);
	if (n == (size_t)-1 || n == (size_t)-2) {
		memset(state, 0, sizeof(*state));
		return 0;
	}
	return n && iswprint((wint_t)wc) ? n : 0;
}

/*
 * Whether the character means the same between double quotes in a shell and in
 * C, so that a name with an apostrophe can be put between them.
 */
static bool plain_in_double_quotes(const char *name, size_t at)
{
	char c = name[at];

	if (strchr("!\"$&()*;<=>[^`|?\\", c))
		return false;
	if (c == '{' || c == '}')
		return name[1] == '\0';
	if (c == '#' || c == '~')
		return at == 0;
	return true;
}

bool pfu_quote_needed(const char *name)
{
	size_t at, n;
	mbstate_t state;

	memset(&state, 0, sizeof(state));
	for (at = 0; name[at]; at += n) {
		n = printable(name + at, &state);
		if (n == 0 || name[at] == '\'' || name[at] == ' ' || name[at] == ':' ||
		    (strchr("#~", name[at]) ? at == 0 :
		     strchr("{}", name[at]) ? name[1] == '\0' :
					      !plain_in_double_quotes(name, at)))
			return true;
	}
	return at == 0;
}

static char *put(char *to, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len);
	return to + len;
}

static char *put_escape(char *to, unsigned char c)
{
	char letter = escape_letter(c);

	*to++ = '\\';
	if (letter) {
		*to++ = letter;
	} else {
		*to++ = (char)('0' + (c >> 6));
		*to++ = (char)('0' + (c >> 3 & 7));
		*to++ = (char)('0' + (c & 7));
	}
	return to;
}

char *pfu_quote_name(const char *name)
{
	size_t len = strlen(name), at, n;
	char *quoted = malloc(len * WIDEST + 3), *to = quoted;
	bool apostrophe = false, plain = true, escaping = false;
	mbstate_t state;

	if (!quoted)
		return NULL;
	memset(&state, 0, sizeof(state));
	*to++ = '\'';
	for (at = 0; at < len; at += n) {
		n = printable(name + at, &state);
		if (n == 0) {
			to = put(to, escaping ? "" : "'$'");
			to = put_escape(to, (unsigned char)name[at]);
			escaping = true;
			plain = false;
			n = 1;
			continue;
		}
		plain = plain && plain_in_double_quotes(name, at);
		if (name[at] == '\'') {
			to = put(to, "'\\''");
			apostrophe = true;
		} else {
			to = put(to, escaping ? "''" : "");
			memcpy(to, name + at, n);
			to += n;
		}
		escaping = false;
	}
	*to++ = '\'';
	*to = '\0';
	if (apostrophe && plain) {
		quoted[0] = '"';
		memcpy(quoted + 1, name, len);
		memcpy(quoted + 1 + len, "\"", 2);
	}
	return quoted;
}

char *pfu_quote_word(const char *word)
{
	bool utf8 = strcasecmp(nl_langinfo(CODESET), "UTF-8") == 0;
	size_t len = strlen(word), at, n;
	char *quoted = malloc(len * WIDEST + 7), *to = quoted;
	mbstate_t state;

	if (!quoted)
		return NULL;
	memset(&state, 0, sizeof(state));
	to = put(to, utf8 ? "\xe2\x80\x98" : "'");
	for (at = 0; at < len; at += n) {
		n = printable(word + at, &state);
		if (n == 0) {
			to = put_escape(to, (unsigned char)word[at]);
			n = 1;
			continue;
		}
		if (word[at] == '\\' || (!utf8 && word[at] == '\''))
			*to++ = '\\';
		memcpy(to, word + at, n);
		to += n;
	}
	to = put(to, utf8 ? "\xe2\x80\x99" : "'");
	*to = '\0';
	return quoted;
}
