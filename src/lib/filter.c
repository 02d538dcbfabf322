/*
 * filter.c - rules on which files are left out, as an automaton over the components
 * of paths.
 *
 * A state is a place in the tree that the components of all patterns make.  Its edges
 * are patterns for one name, each leading to the state behind it; an edge without
 * wildcards, or with one star at an end, is found in a table.  A state that a pattern
 * ends in has that pattern's rule.  A component ** is a state besides (`deep`) that
 * stays among those of a directory all the way down.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/atomic.h>
#include <pfu/filter.h>
#include <pfu/glob.h>
#include <pfu/names.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rules count up from 0, two numbers each: the odd ones leave out. */
#define NO_RULE UINT32_MAX
/* Texts of edges longer than any name of a file are not put in a table by length. */
#define TEXT_MAX ((size_t)255)

struct state;

/* An edge that a table finds. */
struct edge {
	char *text; /* NULL: a slot that is free */
	size_t len;
	struct state *to;
};

/* Edges by their text, by open addressing. */
struct table {
	struct edge *slot;
	size_t slots, used;
	bool length[TEXT_MAX + 1]; /* whether there is a text so long, up to TEXT_MAX */
};

/* An edge that is tried on each name. */
struct wild {
	struct pfu_glob *glob;
	struct state *to;
};

struct state {
	unsigned int id;
	uint32_t rule, dir_rule; /* that ends here; the second for directories only */
	bool leads_on;		 /* there are edges, or `deep` */
	bool stays;		 /* below a directory that has it, all have it */
	struct table *exact, *prefix, *suffix; /* NULL: none */
	struct wild *wild;
	size_t wilds, room;
	struct state *deep; /* behind a component ** */
	struct state *next; /* of all states of the filter */
};

struct pfu_scope {
	atomic_uint refs;
	size_t n;
	const struct state *state[]; /* by id */
};

struct pfu_filter {
	struct state *states;
	unsigned int count;
	uint32_t rules;
	struct state *names; /* what a name at any depth matches */
	struct state *root;  /* what a path from the operand on matches */
};

/* ---- tables ---- */

#define HASH_START UINT64_C(14695981039346656037)

static uint64_t hash_byte(uint64_t h, char c)
{
	return (h ^ (unsigned char)c) * UINT64_C(1099511628211); /* FNV-1a */
}

static uint64_t hash_forward(const char *text, size_t len)
{
	uint64_t h = HASH_START;
	size_t i;

	for (i = 0; i < len; i++)
		h = hash_byte(h, text[i]);
	return h;
}

/* From the last byte to the first, so that each suffix of a name is on the way. */
static uint64_t hash_backward(const char *text, size_t len)
{
	uint64_t h = HASH_START;

	while (len > 0)
		h = hash_byte(h, text[--len]);
	return h;
}

/* The edge with the text, or the free slot for it. */
static struct edge *find(const struct table *t, uint64_t hash, const char *text, size_t len)
{
	size_t i = (size_t)(hash ^ hash >> 32);

	for (;; i++) {
		struct edge *e = &t->slot[i & (t->slots - 1)];

		if (!e->text || (e->len == len && memcmp(e->text, text, len) == 0))
			return e;
	}
}

static bool grow(struct table *t, uint64_t (*hash)(const char *text, size_t len))
{
	size_t slots = t->slots ? 2 * t->slots : 8, i, old = t->slots;
	struct edge *was = t->slot, *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return false;
	t->slot = slot;
	t->slots = slots;
	for (i = 0; i < old; i++) {
		if (was[i].text)
			*find(t, hash(was[i].text, was[i].len), was[i].text, was[i].len) = was[i];
	}
	free(was);
	return true;
}

static void free_table(struct table *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->slots; i++)
		free(t->slot[i].text);
	free(t->slot);
	free(t);
}

/* ---- putting the automaton together ---- */

static struct state *new_state(struct pfu_filter *f)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->id = f->count++;
	s->rule = s->dir_rule = NO_RULE;
	s->next = f->states;
	f->states = s;
	return s;
}

/* The edge with this text, found or added; takes the text over. */
static struct state *add_text(struct pfu_filter *f, struct table **table, bool backward, char *text,
			      size_t len)
{
	uint64_t (*hash)(const char *text, size_t len) = backward ? hash_backward : hash_forward;
	struct table *t = *table;
	struct edge *e;

	if (!t)
		t = *table = calloc(1, sizeof(*t));
	if (!t || (t->used * 2 >= t->slots && !grow(t, hash)))
		goto fail;
	e = find(t, hash(text, len), text, len);
	if (e->text) {
		free(text);
		return e->to;
	}
	e->to = new_state(f);
	if (!e->to)
		goto fail;
	e->text = text;
	e->len = len;
	t->used++;
	if (len <= TEXT_MAX)
		t->length[len] = true;
	return e->to;
fail:
	free(text);
	return NULL;
}

/* Takes the glob over. */
static struct state *add_wild(struct pfu_filter *f, struct state *s, struct pfu_glob *glob)
{
	struct state *to = NULL;

	if (s->wilds == s->room) {
		size_t room = s->room ? 2 * s->room : 4;
		struct wild *wild = realloc(s->wild, room * sizeof(*wild));

		if (!wild)
			goto fail;
		s->wild = wild;
		s->room = room;
	}
	to = new_state(f);
	if (!to)
		goto fail;
	s->wild[s->wilds++] = (struct wild){ glob, to };
	return to;
fail:
	pfu_glob_free(glob);
	return NULL;
}

/* The state behind a component; NULL with errno and, for EINVAL, *why. */
static struct state *add_component(struct pfu_filter *f, struct state *s, const char *pattern,
				   size_t len, const char **why)
{
	struct pfu_glob *glob = pfu_glob_new(pattern, len, why);
	enum pfu_glob_kind kind;
	struct state *to;
	char *text = NULL;
	size_t text_len = 0;

	if (!glob)
		return NULL;
	kind = pfu_glob_shape(glob, &text, &text_len);
	if (kind == PFU_GLOB_OTHER || (kind != PFU_GLOB_EXACT && text && text_len > TEXT_MAX)) {
		free(text);
		to = add_wild(f, s, glob);
	} else {
		pfu_glob_free(glob);
		to = !text ? NULL :
			     add_text(f,
				      kind == PFU_GLOB_EXACT  ? &s->exact :
				      kind == PFU_GLOB_PREFIX ? &s->prefix :
								&s->suffix,
				      kind == PFU_GLOB_SUFFIX, text, text_len);
	}
	s->leads_on = true;
	if (!to)
		errno = ENOMEM;
	return to;
}

static struct state *add_deep(struct pfu_filter *f, struct state *s)
{
	if (!s->deep)
		s->deep = new_state(f);
	s->leads_on = true;
	if (s->deep)
		s->deep->stays = true;
	else
		errno = ENOMEM;
	return s->deep;
}

static bool is(const char *component, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(component, text, len) == 0;
}

/* The state behind all components of a pattern, which ends at `end`; NULL as above. */
static struct state *add_path(struct pfu_filter *f, struct state *s, const char *pattern,
			      const char *end, const char **why)
{
	bool deep = false;

	while (s && pattern < end) {
		const char *slash = memchr(pattern, '/', (size_t)(end - pattern));
		size_t len = (size_t)((slash ? slash : end) - pattern);

		if (is(pattern, len, ".") || is(pattern, len, "..")) {
			*why = "a component that is no name";
			errno = EINVAL;
			return NULL;
		}
		if (len > 0) {
			deep = is(pattern, len, "**");
			s = deep ? add_deep(f, s) : add_component(f, s, pattern, len, why);
		}
		pattern = slash ? slash + 1 : end;
	}
	/* All that is below, but not what it is below. */
	return deep && s ? add_component(f, s, "*", 1, why) : s;
}

struct pfu_filter *pfu_filter_new(void)
{
	struct pfu_filter *f = calloc(1, sizeof(*f));

	if (f) {
		f->names = new_state(f);
		f->root = new_state(f);
	}
	if (!f || !f->names || !f->root) {
		pfu_filter_free(f);
		errno = ENOMEM;
		return NULL;
	}
	f->names->stays = true;
	return f;
}

static void free_state(struct state *s)
{
	size_t i;

	free_table(s->exact);
	free_table(s->prefix);
	free_table(s->suffix);
	for (i = 0; i < s->wilds; i++)
		pfu_glob_free(s->wild[i].glob);
	free(s->wild);
	free(s);
}

void pfu_filter_free(struct pfu_filter *filter)
{
	struct state *s, *next;

	if (!filter)
		return;
	for (s = filter->states; s; s = next) {
		next = s->next;
		free_state(s);
	}
	free(filter);
}

int pfu_filter_add(struct pfu_filter *filter, const char *pattern, bool include, const char **why)
{
	const char *end = pattern + strlen(pattern);
	bool dir_only = end > pattern && end[-1] == '/', path;
	struct state *s;
	uint32_t rule = 2 * filter->rules + !include;

	while (end > pattern && end[-1] == '/')
		end--;
	if (end == pattern) {
		*why = "no name";
		errno = EINVAL;
		return -1;
	}
	path = memchr(pattern, '/', (size_t)(end - pattern));
	/* By itself it is every name, as a star is. */
	if (!path && is(pattern, (size_t)(end - pattern), "**"))
		pattern++;
	s = add_path(filter, path ? filter->root : filter->names, pattern, end, why);
	if (!s)
		return -1;
	filter->rules++;
	/* The first rule that ends here stands. */
	if (dir_only && s->dir_rule == NO_RULE)
		s->dir_rule = rule;
	if (!dir_only && s->rule == NO_RULE)
		s->rule = rule;
	return 0;
}

/* ---- names and the edges that they match ---- */

struct states {
	const struct state **state;
	size_t n, room;
	bool failed; /* memory was short */
};

static void add_state(struct states *set, const struct state *s)
{
	if (set->n == set->room) {
		size_t room = set->room ? 2 * set->room : 8;
		const struct state **state = realloc(set->state, room * sizeof(*state));

		if (!state) {
			set->failed = true;
			return;
		}
		set->state = state;
		set->room = room;
	}
	set->state[set->n++] = s;
}

/* What is looked for at the edges that match a name. */
struct search {
	const char *name;
	size_t len;
	uint32_t rule, dir_rule; /* the first ones found; */
	struct states *on;	 /* or, unless NULL, the states that lead on */
};

/* Whether anything could come of reaching a state. */
static bool matters(const struct search *q, const struct state *to)
{
	return q->on ? to->leads_on : to->rule < q->rule || to->dir_rule < q->dir_rule;
}

static void reach(struct search *q, const struct state *to)
{
	if (!matters(q, to))
		return;
	if (q->on) {
		add_state(q->on, to);
		return;
	}
	if (to->rule < q->rule)
		q->rule = to->rule;
	if (to->dir_rule < q->dir_rule)
		q->dir_rule = to->dir_rule;
}

static void search_texts(struct search *q, const struct table *exact, const struct table *prefix)
{
	uint64_t h = HASH_START;
	const struct edge *e;
	size_t i;

	for (i = 0; i <= q->len; i++) {
		if (prefix && i <= TEXT_MAX && prefix->length[i]) {
			e = find(prefix, h, q->name, i);
			if (e->text)
				reach(q, e->to);
		}
		if (i < q->len)
			h = hash_byte(h, q->name[i]);
	}
	e = exact ? find(exact, h, q->name, q->len) : NULL;
	if (e && e->text)
		reach(q, e->to);
}

static void search_suffixes(struct search *q, const struct table *suffix)
{
	uint64_t h = HASH_START;
	const struct edge *e;
	size_t i;

	for (i = 0; i <= q->len && i <= TEXT_MAX; i++) {
		if (suffix->length[i]) {
			e = find(suffix, h, q->name + q->len - i, i);
			if (e->text)
				reach(q, e->to);
		}
		if (i < q->len)
			h = hash_byte(h, q->name[q->len - 1 - i]);
	}
}

static void search_state(struct search *q, const struct state *s)
{
	size_t i;

	if (s->exact || s->prefix)
		search_texts(q, s->exact, s->prefix);
	if (s->suffix)
		search_suffixes(q, s->suffix);
	for (i = 0; i < s->wilds; i++) {
		if (matters(q, s->wild[i].to) && pfu_glob_match(s->wild[i].glob, q->name, q->len))
			reach(q, s->wild[i].to);
	}
}

static enum pfu_verdict verdict(const struct search *q)
{
	uint32_t of_dir = q->dir_rule < q->rule ? q->dir_rule : q->rule;
	bool dir_out = of_dir != NO_RULE && of_dir % 2, other_out = q->rule != NO_RULE && q->rule % 2;

	if (dir_out == other_out)
		return dir_out ? PFU_LEFT_OUT : PFU_KEPT;
	return dir_out ? PFU_LEFT_OUT_AS_DIR : PFU_LEFT_OUT_UNLESS_DIR;
}

/* ---- directories ---- */

static int by_id(const void *a, const void *b)
{
	const struct state *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Brings the states into the order of their ids, each once. */
static void put_in_order(struct states *set)
{
	size_t i, out = 0;

	if (set->n > 1)
		qsort(set->state, set->n, sizeof(struct state *), by_id);
	for (i = 0; i < set->n; i++) {
		if (out == 0 || set->state[out - 1] != set->state[i])
			set->state[out++] = set->state[i];
	}
	set->n = out;
}

/* Completes a set: what is behind a component ** is reached by no directory too. */
static void complete(struct states *set)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		if (set->state[i]->deep)
			add_state(set, set->state[i]->deep);
	}
	put_in_order(set);
}

static struct pfu_scope *new_scope(const struct states *set)
{
	size_t size = set->n * sizeof(struct state *);
	struct pfu_scope *scope = set->failed || !set->state ? NULL : malloc(sizeof(*scope) + size);

	if (!scope) {
		errno = ENOMEM;
		return NULL;
	}
	atomic_init(&scope->refs, 1);
	scope->n = set->n;
	memcpy(scope->state, set->state, size);
	return scope;
}

struct pfu_scope *pfu_filter_top(const struct pfu_filter *filter)
{
	struct states set = { 0 };
	struct pfu_scope *scope;

	add_state(&set, filter->names);
	if (filter->root->leads_on)
		add_state(&set, filter->root);
	complete(&set);
	scope = new_scope(&set);
	free(set.state);
	return scope;
}

struct pfu_scope *pfu_scope_hold(struct pfu_scope *scope)
{
	atomic_fetch_add(&scope->refs, 1);
	return scope;
}

static bool is_scope_of(const struct pfu_scope *scope, const struct states *set)
{
	return !set->failed && set->state && scope->n == set->n &&
	       memcmp(scope->state, set->state, set->n * sizeof(struct state *)) == 0;
}

struct pfu_scope *pfu_scope_enter(struct pfu_scope *scope, const char *name)
{
	struct states set = { 0 };
	struct search q = { .name = name, .len = strlen(name), .on = &set };
	size_t i;

	for (i = 0; i < scope->n; i++) {
		if (scope->state[i]->stays)
			add_state(&set, scope->state[i]);
		search_state(&q, scope->state[i]);
	}
	complete(&set);
	if (is_scope_of(scope, &set))
		pfu_scope_hold(scope);
	else
		scope = new_scope(&set);
	free(set.state);
	return scope;
}

void pfu_scope_drop(struct pfu_scope *scope)
{
	if (scope && atomic_fetch_sub(&scope->refs, 1) == 1)
		free(scope);
}

enum pfu_verdict pfu_scope_judge(const struct pfu_scope *scope, const char *name)
{
	struct search q = { .name = name, .len = strlen(name), .rule = NO_RULE, .dir_rule = NO_RULE };
	size_t i;

	for (i = 0; i < scope->n; i++)
		search_state(&q, scope->state[i]);
	return verdict(&q);
}

/* ---- operands ---- */

/* Where the last component of a path begins, slashes at its end not counted. */
static size_t base_of(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len;
}

bool pfu_filter_leaves_out(const struct pfu_filter *filter, const struct pfu_fsys *fs,
			   const char *path, bool follow)
{
	size_t len = pfu_name_length(path), base = base_of(path, len);
	struct search q = { .rule = NO_RULE, .dir_rule = NO_RULE };
	enum pfu_verdict judged;
	struct stat st;
	bool dir;

	if (base == len || pfu_name_is_dots(path, len))
		return false;
	q.name = path + base;
	q.len = len - base;
	search_state(&q, filter->names);
	judged = verdict(&q);
	if (judged == PFU_KEPT || judged == PFU_LEFT_OUT)
		return judged == PFU_LEFT_OUT;
	dir = fs->fstatat(AT_FDCWD, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
	      S_ISDIR(st.st_mode);
	return dir == (judged == PFU_LEFT_OUT_AS_DIR);
}
