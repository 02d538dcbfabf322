/*
 * meter.h - the line that says how far a run has come: what it says, not where it
 * goes.
 *
 * "12,345/45,678+ files, 3,210/s  1.23 GiB, 120 MiB/s  3:15 left  20 busy"
 */
#ifndef METER_H
#define METER_H

#include <pfu/tally.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METER_MAX 256

/* Samples kept: of half a minute where one is taken twice a second. */
#define METER_SAMPLES 64

/* One moment of a run. */
struct meter_sample {
	double at; /* seconds */
	uint64_t settled, bytes;
};

/* A run as it is watched.  Zero-initialised: nothing has been seen, nor is known. */
struct meter {
	bool copies; /* bytes count */
	bool total;  /* it is known from elsewhere what there is: */
	uint64_t total_entries, total_bytes;
	struct meter_sample sample[METER_SAMPLES]; /* a ring */
	unsigned int taken;			   /* samples so far */
};

/* What the line says. */
struct meter_view {
	bool copies;
	uint64_t done, found; /* entries */
	bool more;	      /* more may be found */
	uint64_t bytes;
	uint64_t all_bytes; /* that there will be; 0: not known */
	double entry_rate, byte_rate; /* just now; negative: not known */
	double left;	    /* seconds; negative: not known */
	unsigned int busy;
};

/* Takes note of the state at a time, in seconds on a clock that only goes forward. */
void meter_note(struct meter *m, double at, const struct pfu_counts *counts);

/* What is to be said of the state last noted, `counts`. */
struct meter_view meter_look(const struct meter *m, const struct pfu_counts *counts);

/*
 * Writes the line, of at most `width` columns (all is ASCII) and METER_MAX - 1 bytes:
 * what does not fit is left out, the least important first.  `steady`: numbers that
 * change keep their places.  Returns its length.
 */
size_t meter_line(char *buf, size_t width, bool steady, const struct meter_view *view);

#endif
