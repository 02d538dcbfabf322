/*
 * prm-options.c - prm's command line; see options.h.
 */
#include "options.h"

#include <pfu/remove.h>

#include "progress.h"
#include "signals.h"
#include "stats.h"

/* What prm would remove: each of its strings is read. */
static bool fuzz_remove(const struct pfu_remove_options *o, char *const *operands, size_t count)
{
	size_t i, bytes = 0;

	FUZZ_CHECK(count > 0 || o->force);
	for (i = 0; i < count; i++)
		bytes += strlen(operands[i]);
	return bytes % 2 == 0;
}

/* (What is defined there without `static` is static by this.) */
static int prm_main(int argc, char **argv);

#define main(argc, argv) prm_main(argc, argv)
#define pfu_remove(o, report, operands, count) fuzz_remove(o, operands, count)
#define lstat(path, st) fuzz_stat(path, st)
#define progress_begin(tally, copies) ((void)(tally))
#define progress_operands(first, stride, count) ((void)(first), (void)(count))
#define progress_end() ((void)0)
#define signals_start() ((void)0)
#define signals_end(tally, done) ((void)(tally))
#define stats_begin(tally) NULL
#define stats_end(tally, ...) ((void)(tally))
#include "../../src/prm.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		fuzz_main(prm_main, "prm", data, size);
	return 0;
}
