/*
 * prm.c - prm is rm, in parallel: options to struct pfu_remove_options, and the
 * exit status.  See src/pcp.c for a map of the whole program.
 */
#include "choose.h"
#include "cli.h"
#include "files0.h"
#include "progress.h"
#include "signals.h"
#include "stats.h"

#include <getopt.h>
#include <pfu/remove.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPT_DRY_RUN = CLI_LONG_OPTION,
	OPT_EXCLUDE,
	OPT_EXCLUDE_FROM,
	OPT_EXCLUDE_SNAPSHOTS,
	OPT_FILES0_FROM,
	OPT_INCLUDE,
	OPT_INTERACTIVE,
	OPT_MAX_RATE,
	OPT_ONE_FILE_SYSTEM,
	OPT_NO_PRESERVE_ROOT,
	OPT_PRESERVE_ROOT,
	OPT_PRESUME_INPUT_TTY,
	OPT_PROGRESS,
	OPT_STATS,
	OPT_HELP,
	OPT_VERSION,
};

/* -I asks once for more operands than this, or for any when recursive. */
#define ASK_ONCE_ABOVE 3

enum interactive { UNSET, NEVER, ONCE, ALWAYS };

static const struct option long_options[] = {
	{ "chunk", required_argument, NULL, 'c' },
	/* What abbreviates --dir in GNU's rm does so here. */
	{ "d", no_argument, NULL, 'd' },
	{ "dir", no_argument, NULL, 'd' },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "exclude", required_argument, NULL, OPT_EXCLUDE },
	{ "exclude-from", required_argument, NULL, OPT_EXCLUDE_FROM },
	{ "exclude-snapshots", no_argument, NULL, OPT_EXCLUDE_SNAPSHOTS },
	/* What abbreviates --force in GNU's rm does so here. */
	{ "f", no_argument, NULL, 'f' },
	{ "files0-from", required_argument, NULL, OPT_FILES0_FROM },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, OPT_HELP },
	/* What abbreviates --interactive in GNU's rm does so here. */
	{ "i", optional_argument, NULL, OPT_INTERACTIVE },
	{ "in", optional_argument, NULL, OPT_INTERACTIVE },
	{ "include", required_argument, NULL, OPT_INCLUDE },
	{ "interactive", optional_argument, NULL, OPT_INTERACTIVE },
	{ "jobs", required_argument, NULL, 'j' },
	{ "max-rate", required_argument, NULL, OPT_MAX_RATE },
	{ "no-preserve-root", no_argument, NULL, OPT_NO_PRESERVE_ROOT },
	{ "one-file-system", no_argument, NULL, OPT_ONE_FILE_SYSTEM },
	/* What abbreviates --preserve-root in GNU's rm does so here. */
	{ "p", optional_argument, NULL, OPT_PRESERVE_ROOT },
	{ "pr", optional_argument, NULL, OPT_PRESERVE_ROOT },
	{ "preserve-root", optional_argument, NULL, OPT_PRESERVE_ROOT },
	{ "progress", optional_argument, NULL, OPT_PROGRESS },
	/* Of GNU's test suite: as if standard input were a terminal. */
	{ "-presume-input-tty", no_argument, NULL, OPT_PRESUME_INPUT_TTY },
	{ "recursive", no_argument, NULL, 'r' },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "yes", no_argument, NULL, 'y' },
	{ NULL, 0, NULL, 0 },
};

struct settings {
	struct pfu_remove_options options;
	struct pfu_filter *filter;
	enum interactive interactive;
	const char *files0_from; /* the list of operands, or NULL */
	bool presume_tty;
	bool yes;
};

static void help(void)
{
	printf("Usage: %s [OPTION]... [FILE]...\n"
	       "   or: %s [OPTION]... --files0-from=FILE\n",
	       cli_program(), cli_program());
	fputs("Remove (unlink) the FILE(s), with many workers.\n"
	      "\n"
	      "  -f, --force                  never ask; a missing FILE is no error\n"
	      "  -i                           ask before every removal\n"
	      "  -I                           ask once before removing more than three FILEs,\n"
	      "                                 or recursively\n"
	      "      --interactive[=WHEN]     ask: never, once (-I), always (-i, default)\n"
	      "      --files0-from=FILE       remove what FILE (- for standard input) names;\n"
	      "                                 each name ends with a zero byte\n"
	      "      --one-file-system        when removing a tree, leave directories alone\n"
	      "                                 that are on another file system than it\n"
	      "      --no-preserve-root       treat '/' like any other directory\n"
	      "      --preserve-root[=all]    refuse to remove '/' (default); with 'all' also\n"
	      "                                 every operand that is a mount point\n"
	      "  -r, -R, --recursive          remove directories and what they contain\n"
	      "  -d, --dir                    remove empty directories\n"
	      "      --dry-run                say what would be removed, and do nothing\n"
	      "  -v, --verbose                say what is removed\n"
	      "  -y, --yes                    take the question of -I as answered with yes\n",
	      stdout);
	choose_help();
	cli_help_workers();
	cli_help_max_rate();
	progress_help();
	stats_help();
	fputs("      --help                   show this help and exit\n"
	      "      --version                show the version and exit\n"
	      "\n"
	      "Directories are only removed with -r or -d.  A FILE whose name begins with '-'\n"
	      "is given as './-name' or after '--'.\n",
	      stdout);
}

static void set_interactive(struct settings *s, const char *arg)
{
	static const char *const words[] = { "never", "no", "none", "once", "always", "yes", NULL };
	static const int values[] = { NEVER, NEVER, NEVER, ONCE, ALWAYS, ALWAYS };

	s->interactive = arg ? (enum interactive)values[cli_word("--interactive", arg, words, values)] :
			       ALWAYS;
	/* Unlike -f, "never" does not forgive what does not exist; nor do the others. */
	s->options.force = s->options.force && s->interactive == NEVER;
}

static void set_preserve_root(struct settings *s, const char *arg)
{
	if (arg && strcmp(arg, "all") != 0) {
		char *quoted = pfu_quote_name(arg);

		cli_error(0, "unrecognized --preserve-root argument: %s", quoted ? quoted : arg);
		free(quoted);
		exit(EXIT_FAILURE);
	}
	s->options.preserve_root = arg ? PFU_PRESERVE_ROOT_ALL : PFU_PRESERVE_ROOT;
}

static void set_no_preserve_root(struct settings *s, char **argv)
{
	/* Too dangerous to be abbreviated. */
	if (strcmp(argv[optind - 1], "--no-preserve-root") != 0) {
		cli_error(0, "you may not abbreviate the --no-preserve-root option");
		exit(EXIT_FAILURE);
	}
	s->options.preserve_root = PFU_PRESERVE_ROOT_NO;
}

/* An unknown option that names an existing file may have been meant as a file. */
static void hint_at_file(int argc, char **argv)
{
	struct stat st;
	int i;

	for (i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1] && lstat(argv[i], &st) == 0) {
			char *shown = pfu_quote_name(argv[i]);

			fprintf(stderr, "Try '%s ./%s' to remove the file %s.\n", cli_program(),
				shown && pfu_quote_needed(argv[i]) ? shown : argv[i],
				shown ? shown : argv[i]);
			free(shown);
			cli_try_help();
		}
	}
}

static void parse(struct settings *s, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "c:dfiIj:rRvy", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			s->options.chunk = cli_number(optarg, "files per work item");
			break;
		case 'd':
			s->options.empty_dirs = true;
			break;
		case 'f':
			s->interactive = NEVER;
			s->options.force = true;
			break;
		case 'i':
			set_interactive(s, "always");
			break;
		case 'I':
			set_interactive(s, "once");
			break;
		case 'j':
			s->options.workers = cli_number(optarg, "jobs");
			break;
		case 'r':
		case 'R':
			s->options.recursive = true;
			break;
		case 'v':
			s->options.verbose = true;
			break;
		case 'y':
			s->yes = true;
			break;
		case OPT_DRY_RUN:
			s->options.dry_run = s->options.verbose = true;
			break;
		case OPT_EXCLUDE:
			choose_pattern(&s->filter, optarg, false);
			break;
		case OPT_EXCLUDE_FROM:
			choose_from(&s->filter, optarg);
			break;
		case OPT_EXCLUDE_SNAPSHOTS:
			choose_no_snapshots(&s->filter);
			break;
		case OPT_FILES0_FROM:
			s->files0_from = optarg;
			break;
		case OPT_INCLUDE:
			choose_pattern(&s->filter, optarg, true);
			break;
		case OPT_INTERACTIVE:
			set_interactive(s, optarg);
			break;
		case OPT_MAX_RATE:
			s->options.max_rate = cli_size(optarg, "files per second");
			break;
		case OPT_ONE_FILE_SYSTEM:
			s->options.one_file_system = true;
			break;
		case OPT_NO_PRESERVE_ROOT:
			set_no_preserve_root(s, argv);
			break;
		case OPT_PRESERVE_ROOT:
			set_preserve_root(s, optarg);
			break;
		case OPT_PRESUME_INPUT_TTY:
			s->presume_tty = true;
			break;
		case OPT_PROGRESS:
			progress_option(optarg);
			break;
		case OPT_STATS:
			stats_option(optarg);
			break;
		case OPT_HELP:
			help();
			exit(EXIT_SUCCESS);
		case OPT_VERSION:
			cli_version("prm");
			exit(EXIT_SUCCESS);
		default:
			hint_at_file(argc, argv);
			cli_did_you_mean(argv, long_options);
			cli_try_help();
		}
	}
}

/* The one question of -I. */
static bool confirmed(const struct settings *s, size_t count)
{
	char question[128];

	if (s->interactive != ONCE || s->yes)
		return true;
	/* How much is listed is known only at its end. */
	if (s->files0_from)
		return cli_ask(s->options.recursive ? "remove all that is listed recursively? " :
						      "remove all that is listed? ");
	if (!s->options.recursive && count <= ASK_ONCE_ABOVE)
		return true;
	snprintf(question, sizeof(question), "remove %zu %s%s? ", count,
		 count == 1 ? "argument" : "arguments", s->options.recursive ? " recursively" : "");
	return cli_ask(question);
}

static bool remove_operands(const struct settings *s, char *const *operands, size_t count)
{
	bool ok;

	progress_begin(s->options.tally, false);
	if (!s->options.filter && !s->options.one_file_system)
		progress_operands(operands, sizeof(operands[0]), count);
	ok = pfu_remove(&s->options, &cli_report, operands, count);
	progress_end();
	return ok;
}

static bool remove_list(const struct settings *s, struct files0 *list)
{
	bool ok;

	progress_begin(s->options.tally, false);
	ok = pfu_remove_list(&s->options, &cli_report,
			     &(struct pfu_remove_list){ files0_next, list });
	progress_end();
	return files0_close(list) && ok;
}

static bool lists_on_stdin(const struct settings *s)
{
	return s->files0_from && strcmp(s->files0_from, "-") == 0;
}

/* Sees whether the list goes with the other options and the operands, and opens it. */
static struct files0 *open_list(const struct settings *s, char *const *operands, size_t count)
{
	if (count > 0)
		files0_extra_operand(operands[0]);
	if (lists_on_stdin(s) &&
	    (s->interactive == ALWAYS || (s->interactive == ONCE && !s->yes))) {
		cli_error(0, "with --files0-from=-, answers cannot be read from standard input");
		cli_try_help();
	}
	return files0_open(s->files0_from, &signals_cancel);
}

/* Asks the question of -I, and removes the operands or, unless it is NULL, what the list names. */
static bool remove_all(const struct settings *s, struct files0 *list, char *const *operands,
		       size_t count)
{
	if (!confirmed(s, count))
		return !list || files0_close(list);
	return list ? remove_list(s, list) : remove_operands(s, operands, count);
}

int main(int argc, char **argv)
{
	struct settings s = { .options.preserve_root = PFU_PRESERVE_ROOT };
	size_t count;
	struct pfu_tally tally = { NULL };
	struct files0 *list = NULL;
	bool ok;

	progress_prepare();
	cli_start(argv[0]);
	parse(&s, argc, argv);
	count = (size_t)(argc - optind);
	if (count == 0 && !s.options.force && !s.files0_from) {
		cli_error(0, "missing operand");
		cli_try_help();
	}
	/* There is nothing to ask about: every answer is taken to be yes. */
	if (s.options.dry_run)
		s.interactive = NEVER;
	if (s.files0_from)
		list = open_list(&s, argv + optind, count);
	s.options.ask_always = s.interactive == ALWAYS;
	s.options.ask_protected = s.interactive != NEVER && !lists_on_stdin(&s) &&
				  (s.presume_tty || isatty(STDIN_FILENO));
	s.options.privileged = geteuid() == 0;
	s.options.filter = s.filter;
	s.options.cancel = &signals_cancel;
	s.options.tally = &tally;
	signals_start();
	s.options.fs = stats_begin(&tally);
	ok = remove_all(&s, list, argv + optind, count);
	stats_end(&tally, &(struct stats_run){ "prm", false, s.options.dry_run, signals_cancel });
	signals_end(&tally, "removed");
	pfu_tally_free(&tally);
	pfu_filter_free(s.filter);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
