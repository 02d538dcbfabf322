/*
 * choose.c - --exclude, --include and their kin, which pcp and prm have in common.
 */
#include "choose.h"

#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* A file of patterns: its name for diagnostics, and the line being read. */
struct source {
	const char *name;
	unsigned long line;
};

/* Says what is wrong with a pattern, or with the file it is in, and exits. */
static _Noreturn void refuse(const struct source *from, int err, const char *text, const char *word)
{
	char *quoted = word ? pfu_quote_name(word) : NULL;
	char *file = from ? pfu_quote_name(from->name) : NULL;

	if (from && from->line)
		cli_error(err, "%s, line %lu: %s%s%s", file ? file : from->name, from->line, text,
			  word ? " " : "", quoted ? quoted : word ? word : "");
	else
		cli_error(err, "%s%s%s", text, word || from ? " " : "",
			  quoted ? quoted : word ? word : file ? file : "");
	free(quoted);
	free(file);
	exit(EXIT_FAILURE);
}

static void add(struct pfu_filter **filter, const char *pattern, bool include,
		const struct source *from)
{
	const char *why = NULL;
	char text[96];

	if (!*filter)
		*filter = pfu_filter_new();
	if (*filter && pfu_filter_add(*filter, pattern, include, &why) == 0)
		return;
	if (!*filter || errno != EINVAL)
		refuse(from, ENOMEM, "cannot take pattern", pattern);
	snprintf(text, sizeof(text), "invalid pattern (%s)", why);
	refuse(from, 0, text, pattern);
}

void choose_pattern(struct pfu_filter **filter, const char *pattern, bool include)
{
	add(filter, pattern, include, NULL);
}

/* One line, without its end. */
static void add_line(struct pfu_filter **filter, const char *line, const struct source *from)
{
	bool include = strncmp(line, "+ ", 2) == 0;

	if (*line == '\0' || *line == '#')
		return;
	if (include || strncmp(line, "- ", 2) == 0)
		line += 2;
	add(filter, line, include, from);
}

void choose_from(struct pfu_filter **filter, const char *file)
{
	bool standard = strcmp(file, "-") == 0;
	FILE *f = standard ? stdin : fopen(file, "re");
	struct source from = { file, 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!f)
		refuse(&from, errno, "cannot open", file);
	while (errno = 0, (len = getline(&line, &room, f)) >= 0) {
		from.line++;
		if (strlen(line) != (size_t)len)
			refuse(&from, 0, "a zero byte", NULL);
		if (len > 0 && line[len - 1] == '\n')
			line[--len] = '\0';
		/* Of a file that was written for another system. */
		if (len > 0 && line[len - 1] == '\r')
			line[--len] = '\0';
		add_line(filter, line, &from);
	}
	from.line = 0;
	if (!feof(f) || ferror(f))
		refuse(&from, errno, "error reading", file);
	free(line);
	if (!standard && fclose(f) != 0)
		refuse(&from, errno, "error reading", file);
}

void choose_no_snapshots(struct pfu_filter **filter)
{
	add(filter, ".snap/", false, NULL);	/* CephFS */
	add(filter, ".snapshot/", false, NULL); /* NetApp and its kin */
	add(filter, ".zfs/", false, NULL);
}

void choose_help(void)
{
	fputs("      --exclude=PATTERN        leave out what matches: NAME anywhere, /PATH or\n"
	      "                                 DIR/NAME counted from the operand, DIR/ only\n"
	      "                                 directories; see PATTERNS in the manual page\n"
	      "      --exclude-from=FILE      the same for each line of FILE (- for standard\n"
	      "                                 input); '+ PATTERN' includes\n"
	      "      --exclude-snapshots      leave out directories .snap, .snapshot and .zfs\n"
	      "      --include=PATTERN        do not leave out what matches; of several\n"
	      "                                 patterns that match the first decides\n",
	      stdout);
}
