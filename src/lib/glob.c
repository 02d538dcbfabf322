/*
 * glob.c - matches names against patterns.
 *
 * A pattern is taken apart once, into one token for each byte or wildcard.  Matching
 * goes back to the last star only: what an earlier one could take more of, the last
 * one can take too.
 */
#include <ctype.h>
#include <errno.h>
#include <pfu/glob.h>
#include <stdlib.h>
#include <string.h>

/* Tokens below are bytes; those from FIRST_SET on are sets. */
enum { ANY = 256, STAR, FIRST_SET };

/* The bytes that one place of a name may have. */
struct set {
	unsigned char bits[32];
};

struct pfu_glob {
	unsigned int *token;
	struct set *set;
	size_t tokens, sets;
};

static void add(struct set *s, unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		s->bits[from / 8] |= (unsigned char)(1U << from % 8);
}

static bool has(const struct set *s, unsigned char c)
{
	return s->bits[c / 8] >> c % 8 & 1;
}

/* ---- taking apart ---- */

/* What is left of a pattern. */
struct rest {
	const char *at, *end;
	const char *why; /* it means nothing */
};

/* The classes of the C locale, in which no byte above 127 is in any. */
static bool is_in_class(const char *name, size_t len, unsigned int c)
{
	static const struct {
		const char *name;
		int (*is)(int c);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
			return c < 128 && classes[i].is((int)c);
	}
	return false;
}

/* [:class:], of which the bracket and the colon have been seen. */
static void parse_class(struct rest *r, struct set *s)
{
	const char *name = r->at + 2, *end = name;
	bool any = false;
	unsigned int c;

	while (end < r->end && *end >= 'a' && *end <= 'z')
		end++;
	for (c = 0; c < 256; c++) {
		if (is_in_class(name, (size_t)(end - name), c)) {
			add(s, c, c);
			any = true;
		}
	}
	if (!any || r->end - end < 2 || end[0] != ':' || end[1] != ']')
		r->why = "unknown character class";
	else
		r->at = end + 2;
}

/* One byte of a set, which a backslash may stand before. */
static unsigned int parse_member(struct rest *r)
{
	if (*r->at == '\\' && r->at + 1 < r->end)
		r->at++;
	return (unsigned char)*r->at++;
}

/* A byte, or a range of them. */
static void parse_range(struct rest *r, struct set *s)
{
	unsigned int from = parse_member(r), to = from;

	if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']') {
		r->at++;
		to = parse_member(r);
	}
	if (from > to)
		r->why = "a range that ends before it begins";
	else
		add(s, from, to);
}

/* A set, of which the bracket has been seen. */
static void parse_set(struct rest *r, struct set *s)
{
	bool negated = r->at < r->end && (*r->at == '!' || *r->at == '^'), first = true;
	size_t i;

	if (negated)
		r->at++;
	for (; !r->why; first = false) {
		if (r->at == r->end) {
			r->why = "a bracket that is not closed";
		} else if (*r->at == ']' && !first) {
			r->at++;
			break;
		} else if (*r->at == '[' && r->end - r->at > 1 && r->at[1] == ':') {
			parse_class(r, s);
		} else if (*r->at == '[' && r->end - r->at > 1 && (r->at[1] == '.' || r->at[1] == '=')) {
			r->why = "a collating element"; /* of a locale: names are bytes */
		} else {
			parse_range(r, s);
		}
	}
	for (i = 0; negated && i < sizeof(s->bits); i++)
		s->bits[i] = (unsigned char)~s->bits[i];
}

static void parse_token(struct pfu_glob *g, struct rest *r)
{
	unsigned char c = (unsigned char)*r->at++;

	if (c == '*') {
		if (g->tokens == 0 || g->token[g->tokens - 1] != STAR)
			g->token[g->tokens++] = STAR;
	} else if (c == '?') {
		g->token[g->tokens++] = ANY;
	} else if (c == '[') {
		parse_set(r, &g->set[g->sets]);
		g->token[g->tokens++] = FIRST_SET + (unsigned int)g->sets++;
	} else if (c != '\\') {
		g->token[g->tokens++] = c;
	} else if (r->at == r->end) {
		r->why = "a backslash at the end";
	} else {
		g->token[g->tokens++] = (unsigned char)*r->at++;
	}
}

/* At most so many sets can be in a pattern: the brackets that may open one. */
static size_t count_brackets(const char *pattern, size_t len)
{
	size_t n = 0, i;

	for (i = 0; i < len; i++)
		n += pattern[i] == '[';
	return n;
}

struct pfu_glob *pfu_glob_new(const char *pattern, size_t len, const char **why)
{
	struct rest r = { pattern, pattern + len, NULL };
	struct pfu_glob *g = calloc(1, sizeof(*g));
	size_t sets = count_brackets(pattern, len);

	if (g) {
		g->token = malloc((len + 1) * sizeof(*g->token));
		g->set = calloc(sets + 1, sizeof(*g->set));
	}
	if (!g || !g->token || !g->set) {
		pfu_glob_free(g);
		errno = ENOMEM;
		return NULL;
	}
	while (r.at < r.end && !r.why)
		parse_token(g, &r);
	if (!r.why)
		return g;
	pfu_glob_free(g);
	*why = r.why;
	errno = EINVAL;
	return NULL;
}

void pfu_glob_free(struct pfu_glob *glob)
{
	if (!glob)
		return;
	free(glob->token);
	free(glob->set);
	free(glob);
}

/* ---- matching ---- */

static bool takes(const struct pfu_glob *g, unsigned int token, unsigned char c)
{
	return token == c || token == ANY || (token >= FIRST_SET && has(&g->set[token - FIRST_SET], c));
}

bool pfu_glob_match(const struct pfu_glob *glob, const char *name, size_t len)
{
	size_t t = 0, n = 0;	       /* where we are */
	size_t after = 0, taken = 0;   /* behind the last star, and what it has taken up to */
	bool star = false;

	while (n < len) {
		if (t < glob->tokens && glob->token[t] == STAR) {
			star = true;
			after = ++t;
			taken = n;
		} else if (t < glob->tokens && takes(glob, glob->token[t], (unsigned char)name[n])) {
			t++;
			n++;
		} else if (star) {
			t = after;
			n = ++taken;
		} else {
			return false;
		}
	}
	while (t < glob->tokens && glob->token[t] == STAR)
		t++;
	return t == glob->tokens;
}

enum pfu_glob_kind pfu_glob_shape(const struct pfu_glob *glob, char **text, size_t *len)
{
	enum pfu_glob_kind kind = PFU_GLOB_EXACT;
	size_t from = 0, to = glob->tokens, i;

	if (to > 0 && glob->token[to - 1] == STAR) {
		kind = PFU_GLOB_PREFIX;
		to--;
	} else if (to > 0 && glob->token[0] == STAR) {
		kind = PFU_GLOB_SUFFIX;
		from++;
	}
	for (i = from; i < to; i++) {
		if (glob->token[i] >= ANY)
			return PFU_GLOB_OTHER;
	}
	*len = to - from;
	*text = malloc(*len + 1);
	for (i = from; *text && i < to; i++)
		(*text)[i - from] = (char)glob->token[i];
	return kind;
}
