/*
 * tune.c - how many workers: found by trial while they work.
 */
#include <pfu/tune.h>

/*
 * A measurement takes as long as the workers need for so many things each, but never
 * less than so many microseconds, and no more where that many things were done.
 */
#define THINGS_EACH 3
#define TIME_LEAST 40000
#define TIME_MOST 600000
#define THINGS_LEAST 32
/* Newcomers have got going when so much was done for each, and after so many microseconds. */
#define SETTLE_EACH 1
#define SETTLE_MOST 300000
/* Twice the workers must do so much more to be worth it; half of them, so much more to be better. */
#define GAIN_MORE 1.15
#define GAIN_FEWER 1.05
/* Measurements between trials, to begin with and at most. */
#define REST_FIRST 4
#define REST_MOST 64

static void begin(struct pfu_tune *t, uint64_t now, uint64_t done, bool settling)
{
	t->start = now;
	t->done = done;
	t->settling = settling;
}

void pfu_tune_init(struct pfu_tune *t, unsigned int workers, unsigned int most)
{
	*t = (struct pfu_tune){
		.workers = workers,
		.most = most,
		.next = PFU_TUNE_MORE,
		.settling = true,
		.rest = REST_FIRST,
	};
}

static bool can_try(const struct pfu_tune *t, enum pfu_tune_trial trial)
{
	return trial == PFU_TUNE_MORE ? t->workers < t->most : t->workers > 1;
}

static void try(struct pfu_tune *t, enum pfu_tune_trial trial, double rate)
{
	t->trial = trial;
	t->before = t->workers;
	t->rate_before = rate;
	if (trial == PFU_TUNE_FEWER)
		t->workers = (t->workers + 1) / 2;
	else
		t->workers = t->workers > t->most / 2 ? t->most : 2 * t->workers;
}

static void rest(struct pfu_tune *t)
{
	t->trial = PFU_TUNE_NONE;
	t->resting = t->rest;
	t->rest = t->rest < REST_MOST ? 2 * t->rest : REST_MOST;
}

/* Goes on after a trial that was worth it: in the same direction, as far as that goes. */
static void succeed(struct pfu_tune *t, double rate)
{
	t->rest = REST_FIRST;
	if (can_try(t, t->trial))
		try(t, t->trial, rate);
	else
		rest(t);
}

/* Goes back to what was before a trial. */
static void fail(struct pfu_tune *t)
{
	t->workers = t->before;
	t->next = t->trial == PFU_TUNE_MORE ? PFU_TUNE_FEWER : PFU_TUNE_MORE;
	rest(t);
	/* At the start there may be too many already: not to be found out by and by. */
	if (t->next == PFU_TUNE_FEWER && !t->fewer_tried)
		t->resting = 0;
}

static void judge(struct pfu_tune *t, double rate)
{
	double gain = t->trial == PFU_TUNE_MORE ? GAIN_MORE : GAIN_FEWER;

	t->fewer_tried = t->fewer_tried || t->trial == PFU_TUNE_FEWER;
	if (rate >= t->rate_before * gain)
		succeed(t, rate);
	else
		fail(t);
}

/* Begins a trial when it is time for one. */
static void consider(struct pfu_tune *t, double rate)
{
	if (t->resting > 0) {
		t->resting--;
		return;
	}
	if (!can_try(t, t->next))
		t->next = t->next == PFU_TUNE_MORE ? PFU_TUNE_FEWER : PFU_TUNE_MORE;
	if (can_try(t, t->next))
		try(t, t->next, rate);
}

static bool has_settled(const struct pfu_tune *t, uint64_t time, uint64_t things)
{
	return things >= (uint64_t)t->workers * SETTLE_EACH || time >= SETTLE_MOST;
}

/* Whether a measurement is long enough for its result to mean something. */
static bool is_enough(const struct pfu_tune *t, uint64_t time, uint64_t things)
{
	if (time < TIME_LEAST)
		return false;
	return things >= (uint64_t)t->workers * THINGS_EACH ||
	       (time >= TIME_MOST && things >= THINGS_LEAST);
}

bool pfu_tune_look(struct pfu_tune *t, uint64_t now, uint64_t done, bool busy)
{
	unsigned int workers = t->workers;
	double rate;

	if (!busy) {
		begin(t, now, done, t->settling);
		return false;
	}
	if (t->settling) {
		if (has_settled(t, now - t->start, done - t->done))
			begin(t, now, done, false);
		return false;
	}
	if (!is_enough(t, now - t->start, done - t->done))
		return false;
	rate = (double)(done - t->done) / (double)(now - t->start);
	if (t->trial == PFU_TUNE_NONE)
		consider(t, rate);
	else
		judge(t, rate);
	begin(t, now, done, t->workers != workers);
	return t->workers != workers;
}
