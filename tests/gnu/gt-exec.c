/*
 * Stands in for "cp" or "rm" in the PATH of GNU's tests: executes TARGET with argv[0] set to NAME,
 * whatever TARGET's file is called, so that it says "cp: ..." and not "pcp: ...". ARGS (may be empty)
 * are extra words put before the caller's arguments. Linked statically: LD_PRELOAD, used by some
 * tests, is then seen only by TARGET, and it uses next to nothing under "ulimit -v".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char name[] = NAME, extra[] = ARGS;
	char **args = malloc(((size_t)argc + sizeof(extra) + 2) * sizeof(*args));
	int n = 0;

	if (!args)
		return 126;
	args[n++] = name;
	for (char *word = strtok(extra, " "); word; word = strtok(NULL, " "))
		args[n++] = word;
	for (int i = 1; i < argc; i++)
		args[n++] = argv[i];
	args[n] = NULL;
	execv(TARGET, args);
	int err = errno;
	fprintf(stderr, "gt-exec: %s: %s\n", TARGET, strerror(err));
	return err == ENOENT ? 127 : 126;
}
