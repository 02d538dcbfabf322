/*
 * pcp-options.c - pcp's command line; see options.h.
 */
#include "options.h"

#include <pfu/backup.h>
#include <pfu/copy.h>
#include <pfu/sumfile.h>
#include <sys/vfs.h>

#include "progress.h"
#include "signals.h"
#include "stats.h"

/* What pcp would copy: each of its strings is read. */
static bool fuzz_copy(const struct pfu_copy_options *o, const char *directory,
		      const struct pfu_copy_operand *operands, size_t count)
{
	size_t i, bytes = directory ? strlen(directory) : 0;

	FUZZ_CHECK(count > 0 && o->suffix && *o->suffix);
	FUZZ_CHECK(!(o->hard_link && o->symbolic_link));
	for (i = 0; i < count; i++)
		bytes += strlen(operands[i].source) + strlen(operands[i].target);
	return bytes % 2 == 0;
}

/* (What is defined there without `static` is static by this.) */
static int pcp_main(int argc, char **argv);

#define main(argc, argv) pcp_main(argc, argv)
#define pfu_copy(o, report, directory, operands, count) fuzz_copy(o, directory, operands, count)
#define pfu_sumfile_open(path) pfu_sumfile_open(*(path) ? "/dev/null" : "")
#define pfu_backup_name(fs, dir, name, kind, suffix) strdup(suffix)
#define stat(path, st) fuzz_stat(path, st)
#define statfs(path, sfs) ((sfs)->f_type = 0, -1)
#define progress_begin(tally, copies) ((void)(tally))
#define progress_operands(first, stride, count) ((void)(first), (void)(count))
#define progress_end() ((void)0)
#define signals_start() ((void)0)
#define signals_end(tally, done) ((void)(tally))
#define stats_begin(tally) NULL
#define stats_end(tally, ...) ((void)(tally))
#include "../../src/pcp.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		fuzz_main(pcp_main, "pcp", data, size);
	return 0;
}
