/*
 * pcp.c - pcp is cp, in parallel: options to struct pfu_copy_options, operands to
 * sources and targets, and the exit status.
 *
 * The map of the program.  pcp and prm are front ends of one library; each
 * module of it is described by the header of its name in include/pfu/ (the parts
 * of copy, set in here, by src/lib/copying.h), and each only knows of those that
 * stand below it here:
 *
 *	src/pcp.c, prm.c   the two command lines
 *	src/progress.c     how far a run has come: when and where that is shown
 *	  meter.c          what is shown
 *	src/stats.c        --stats: the summary at the end
 *	  timing.c         how long calls took
 *	  show.c           numbers for a person
 *	src/files0.c       --files0-from: operands from a list, in batches; in prm
 *	src/choose.c       --exclude and its kin, in both
 *	src/signals.c      how a signal ends them
 *	src/cli.c          what these have in common: -j and -c, diagnostics, questions
 *	  suggest.c        the long option that was meant
 *	  size.c           sizes with a multiplier
 *
 *	src/lib/copy.c     what cp does: its beginning and end
 *	  copyoperand.c    operands, and in which order
 *	  copyorder.c      may operands be copied side by side?
 *	  copyparents.c    --parents
 *	  copydir.c        directories before, between and after what they contain
 *	  copyknown.c      directories that must not be copied again
 *	  copyentry.c      one entry: what it is, and what to make
 *	  copytarget.c     what is at its target already, and what becomes of that
 *	  copychanged.c    --update=changed: whether that is the copy already
 *	  copyfile.c       one regular file, by one worker or by several
 *	  copyverify.c     --verify and --checksum-file
 *	  copyatomic.c     --atomic: names that files have until they are complete
 *	  copysync.c       --sync
 *	  copylink.c       links: kept between copies, copied, or made instead of copies
 *	  samefile.c       are source and target one file, and does it matter?
 *	  copyitem.c       the names of an entry, and what is said of it
 *	src/lib/copydata.c the bytes of a file: reflink, copy_file_range, holes
 *	src/lib/verify.c   reads a copy again, and compares
 *	src/lib/sums.c     checksums of bytes that pass by
 *	src/lib/sumfile.c  a file of checksums
 *	src/lib/attrs.c    mode, owner, times, access control lists, extended attributes
 *	src/lib/links.c    hard links: where the first copy of a file is
 *	src/lib/backup.c   names of backups
 *	src/lib/remove.c   what rm does with operands, entries and emptied directories
 *	src/lib/walk.c     turns a tree into work: directories, and chunks of their entries
 *	src/lib/filter.c   which entries are left out: patterns for paths
 *	src/lib/glob.c     patterns for one name
 *	src/lib/pool.c     the threads, and the counting that says when a directory is complete
 *	src/lib/queue.c    which piece of work is next
 *	src/lib/tune.c     how many threads are useful, found by trial
 *	src/lib/dir.c      directories by descriptor; which of them are open at a time
 *	src/lib/rate.c     limits on files and bytes a second
 *	src/lib/tally.c    what has been done so far, counted by each worker for itself
 *	src/lib/closer.c   closes descriptors, many at a time
 *	src/lib/fstype.c   what kind of file system this is: local or not, how many workers
 *	src/lib/dryrun.c   a table that changes nothing
 *	src/lib/fsys.c     every call on a file system, as a table of functions
 *	src/lib/names.c    a set of strings: do two operands meet?
 *	src/lib/report.c   diagnostics, verbose lines and questions, from any thread
 *	src/lib/quote.c    names in quotes, for these
 *
 * A copy goes like this: main() here calls pfu_copy(), which gives the operands
 * to the walker, which submits them to the pool as tasks; these list directories
 * into chunks, further tasks, and copy what is in them, until nothing is pending.
 */
#include "choose.h"
#include "cli.h"
#include "progress.h"
#include "signals.h"
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/magic.h>
#include <pfu/atomic.h>
#include <pfu/backup.h>
#include <pfu/copy.h>
#include <pfu/sumfile.h>
#include <pfu/sums.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	OPT_ATOMIC = CLI_LONG_OPTION,
	OPT_ATTRIBUTES_ONLY,
	OPT_BWLIMIT,
	OPT_CHECKSUM_FILE,
	OPT_COPY_CONTENTS,
	OPT_DEBUG,
	OPT_DRY_RUN,
	OPT_EXCLUDE,
	OPT_EXCLUDE_FROM,
	OPT_EXCLUDE_SNAPSHOTS,
	OPT_INCLUDE,
	OPT_KEEP_DIRECTORY_SYMLINK,
	OPT_MAX_RATE,
	OPT_NO_PRESERVE,
	OPT_PARENTS,
	OPT_PRESERVE,
	OPT_PROGRESS,
	OPT_REFLINK,
	OPT_REMOVE_DESTINATION,
	OPT_SPARSE,
	OPT_STATS,
	OPT_STRIP_TRAILING_SLASHES,
	OPT_SYNC,
	OPT_VERIFY,
	OPT_HELP,
	OPT_VERSION,
};

/* (In this order an ambiguous abbreviation is answered with its possible meanings.) */
static const struct option long_options[] = {
	{ "archive", no_argument, NULL, 'a' },
	{ "at", no_argument, NULL, OPT_ATTRIBUTES_ONLY }, /* as in GNU's; likewise below */
	{ "atomic", no_argument, NULL, OPT_ATOMIC },
	{ "attributes-only", no_argument, NULL, OPT_ATTRIBUTES_ONLY },
	{ "b", optional_argument, NULL, 'b' }, /* what is left of --backup in GNU's */
	{ "backup", optional_argument, NULL, 'b' },
	{ "bwlimit", required_argument, NULL, OPT_BWLIMIT },
	{ "checksum-file", required_argument, NULL, OPT_CHECKSUM_FILE },
	{ "chunk", required_argument, NULL, 'c' },
	{ "copy-contents", no_argument, NULL, OPT_COPY_CONTENTS },
	{ "context", optional_argument, NULL, 'Z' },
	{ "debug", no_argument, NULL, OPT_DEBUG },
	{ "dereference", no_argument, NULL, 'L' },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "exclude", required_argument, NULL, OPT_EXCLUDE },
	{ "exclude-from", required_argument, NULL, OPT_EXCLUDE_FROM },
	{ "exclude-snapshots", no_argument, NULL, OPT_EXCLUDE_SNAPSHOTS },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, OPT_HELP },
	/* What abbreviates --interactive in GNU's cp does so here. */
	{ "i", no_argument, NULL, 'i' },
	{ "in", no_argument, NULL, 'i' },
	{ "include", required_argument, NULL, OPT_INCLUDE },
	{ "interactive", no_argument, NULL, 'i' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "keep-directory-symlink", no_argument, NULL, OPT_KEEP_DIRECTORY_SYMLINK },
	{ "link", no_argument, NULL, 'l' },
	{ "max-rate", required_argument, NULL, OPT_MAX_RATE },
	{ "no-clobber", no_argument, NULL, 'n' },
	{ "no-dereference", no_argument, NULL, 'P' },
	{ "no-preserve", required_argument, NULL, OPT_NO_PRESERVE },
	{ "no-target-directory", no_argument, NULL, 'T' },
	{ "one-file-system", no_argument, NULL, 'x' },
	{ "parents", no_argument, NULL, OPT_PARENTS },
	/* What abbreviates --preserve in GNU's cp does so here. */
	{ "pr", optional_argument, NULL, OPT_PRESERVE },
	{ "preserve", optional_argument, NULL, OPT_PRESERVE },
	{ "progress", optional_argument, NULL, OPT_PROGRESS },
	{ "recursive", no_argument, NULL, 'r' },
	{ "remove-destination", no_argument, NULL, OPT_REMOVE_DESTINATION },
	{ "reflink", optional_argument, NULL, OPT_REFLINK },
	{ "sparse", required_argument, NULL, OPT_SPARSE },
	/* And what abbreviates --strip-trailing-slashes. */
	{ "st", no_argument, NULL, OPT_STRIP_TRAILING_SLASHES },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "strip-trailing-slashes", no_argument, NULL, OPT_STRIP_TRAILING_SLASHES },
	{ "suffix", required_argument, NULL, 'S' },
	{ "sy", no_argument, NULL, 's' },
	{ "sync", no_argument, NULL, OPT_SYNC },
	{ "symbolic-link", no_argument, NULL, 's' },
	{ "target-directory", required_argument, NULL, 't' },
	{ "update", optional_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* What -p and --preserve alone stand for. */
#define ATTR_USUAL (PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP | PFU_ATTR_TIMESTAMPS)
/* What may be lost without failure, unless it was asked for by name. */
#define ATTR_OPTIONAL (PFU_ATTR_CONTEXT | PFU_ATTR_XATTR)
#define ATTR_ALL (ATTR_USUAL | PFU_ATTR_LINKS | ATTR_OPTIONAL)

enum update { UPDATE_ALL, UPDATE_NONE, UPDATE_NONE_FAIL, UPDATE_OLDER, UPDATE_CHANGED };

/* The command line so far.  Options that depend on one another are settled at its end. */
struct settings {
	struct pfu_copy_options options;
	enum update update;
	bool backup;
	const char *backup_control; /* the kind of backup as --backup=CONTROL gave it */
	const char *backup_suffix;
	struct pfu_filter *filter;
	bool default_mode;	    /* --no-preserve=mode */
	bool strip_slashes;
	bool no_target_directory;
	char *target_directory;
	const char *checksum_file; /* --checksum-file */
};

static void help(void)
{
	printf("Usage: %s [OPTION]... [-T] SOURCE DEST\n"
	       "   or: %s [OPTION]... SOURCE... DIRECTORY\n"
	       "   or: %s [OPTION]... -t DIRECTORY SOURCE...\n",
	       cli_program(), cli_program(), cli_program());
	fputs("Copy SOURCE to DEST, or each SOURCE into DIRECTORY, with many workers.\n"
	      "\n"
	      "What is copied:\n"
	      "  -a, --archive                trees with all attributes: as -dr --preserve=all\n"
	      "      --copy-contents          in a tree, read special files for what they give\n",
	      stdout);
	choose_help();
	fputs("  -r, -R, --recursive          directories with all that is in them\n"
	      "  -x, --one-file-system        leave out what is mounted below a SOURCE\n"
	      "\n"
	      "Symbolic links in the source:\n"
	      "  -H                           follow those that are a SOURCE\n"
	      "  -L, --dereference            follow all (the default without -r)\n"
	      "  -P, --no-dereference         follow none (the default with -r)\n"
	      "\n"
	      "Targets that exist:\n"
	      "  -b                           like --backup, but takes no CONTROL\n"
	      "      --backup[=CONTROL]       keep them under another name; CONTROL is none\n"
	      "                                 (off), simple (never), numbered (t), existing\n"
	      "                                 (nil): numbered where there are such already\n"
	      "  -f, --force                  remove those that cannot be opened, try again\n"
	      "  -i, --interactive            ask before each is overwritten\n"
	      "      --keep-directory-symlink  let a link to a directory stand for a directory\n"
	      "  -n, --no-clobber             skip them silently\n"
	      "      --remove-destination     remove them rather than write into them\n"
	      "  -S, --suffix=SUFFIX          end names of simple backups so, not with '~'\n"
	      "  -u, --update[=WHICH]         overwrite all, none, none-fail (none, each being\n"
	      "                                 a failure), older ones (without WHICH), or\n"
	      "                                 changed: those of another size or time\n",
	      stdout);
	fputs("\n"
	      "Attributes (LIST: mode, ownership, timestamps, links, context, xattr, all):\n"
	      "      --attributes-only        copy these, but no data\n"
	      "  -d                           same as --no-dereference --preserve=links\n"
	      "  -p                           same as --preserve=mode,ownership,timestamps\n"
	      "      --preserve[=LIST]        keep these (without LIST: what -p keeps)\n"
	      "      --no-preserve=LIST       do not keep these\n"
	      "  -Z                           give new files the default SELinux context\n"
	      "      --context[=CTX]          the same, or that context\n"
	      "\n"
	      "Data:\n"
	      "      --atomic                 write each file under another name first, and\n"
	      "                                 rename it when it is complete\n"
	      "      --checksum-file=FILE     write checksums of what was copied to FILE (-:\n"
	      "                                 standard output), for xxhsum -c\n"
	      "  -l, --link                   make hard links, no copies\n"
	      "      --reflink[=WHEN]         share blocks with the source: always (also if no\n"
	      "                                 WHEN), never, auto (if possible; the default)\n"
	      "      --sparse=WHEN            make holes: auto (where the source has some; the\n"
	      "                                 default), always (for any run of zeros), never\n"
	      "  -s, --symbolic-link          make symbolic links, no copies\n"
	      "      --sync                   end when all is on stable storage\n"
	      "      --verify                 read each copy again, compare with what was read\n"
	      "\n"
	      "Names:\n"
	      "      --parents                use the whole name of SOURCE below DIRECTORY\n"
	      "      --strip-trailing-slashes  take slashes off the end of each SOURCE\n"
	      "  -t, --target-directory=DIRECTORY  copy every SOURCE into DIRECTORY\n"
	      "  -T, --no-target-directory    take DEST for the copy even if it is a directory\n"
	      "\n"
	      "Work and output:\n",
	      stdout);
	fputs("      --bwlimit=SIZE           move SIZE bytes a second at most: 500K, 20M, 1G\n"
	      "                                 or the like (0, default: no limit)\n",
	      stdout);
	cli_help_workers();
	cli_help_max_rate();
	fputs("      --debug                  say how each file was copied; implies -v\n"
	      "      --dry-run                say what would be copied, and do nothing\n",
	      stdout);
	progress_help();
	stats_help();
	fputs("  -v, --verbose                say what is copied\n"
	      "      --help                   show this help and exit\n"
	      "      --version                show the version and exit\n"
	      "\n"
	      "Backups are simple or numbered by VERSION_CONTROL, and end with the suffix\n"
	      "SIMPLE_BACKUP_SUFFIX, where these are set in the environment.\n",
	      stdout);
}

/* A diagnostic that ends with the name, in quotes, if there is one. */
static void complain(int errnum, const char *text, const char *name)
{
	char *quoted = name ? pfu_quote_name(name) : NULL;

	cli_error(errnum, "%s%s%s", text, name ? " " : "", quoted ? quoted : name ? name : "");
	free(quoted);
}

/* A command line that means nothing. */
static _Noreturn void misuse(const char *text, const char *name)
{
	complain(0, text, name);
	cli_try_help();
}

/* A command line that cannot be carried out. */
static _Noreturn void refuse(int errnum, const char *text, const char *name)
{
	complain(errnum, text, name);
	exit(EXIT_FAILURE);
}

/* --- SELinux --- */

/* Through the kernel's own files: libselinux, linked, would cost each start more than a copy. */
static bool have_selinux(void)
{
	struct statfs sfs;

	return statfs("/sys/fs/selinux", &sfs) == 0 && (unsigned int)sfs.f_type == SELINUX_MAGIC;
}

/* For this thread, and those that it starts. */
static void create_with(const char *context)
{
	int fd = open("/proc/thread-self/attr/fscreate", O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, context, strlen(context) + 1) >= 0;
	int err = errno;
	char *quoted;

	if (fd >= 0)
		close(fd);
	if (ok)
		return;
	quoted = pfu_quote_word(context);
	cli_error(err, "failed to set default file creation context to %s",
		  quoted ? quoted : context);
	free(quoted);
	exit(EXIT_FAILURE);
}

/* --- Options --- */

static void set_archive(struct pfu_copy_options *o)
{
	o->recursive = true;
	o->dereference = PFU_DEREF_NEVER;
	o->preserve |= ATTR_ALL & ~(have_selinux() ? 0U : PFU_ATTR_CONTEXT);
	o->require |= ATTR_ALL & ~ATTR_OPTIONAL;
	o->quiet_attributes = true;
}

static void set_usual(struct pfu_copy_options *o)
{
	o->preserve |= ATTR_USUAL;
	o->require |= ATTR_USUAL;
}

/* One word of a list: these attributes are to be kept, or are not. */
static void set_attributes(struct settings *s, unsigned int which, bool keep)
{
	struct pfu_copy_options *o = &s->options;
	/* "all" makes nothing of the optional ones a must, nor does it end that. */
	unsigned int required = which == ATTR_ALL ? which & ~ATTR_OPTIONAL : which;

	if (which == ATTR_ALL && !have_selinux())
		which &= ~(unsigned int)PFU_ATTR_CONTEXT;
	o->preserve = keep ? o->preserve | which : o->preserve & ~which;
	o->require = keep ? o->require | required : o->require & ~required;
	if (which & PFU_ATTR_MODE)
		s->default_mode = !keep;
}

/* --preserve=LIST and --no-preserve=LIST */
static void set_attribute_list(struct settings *s, char *list, bool keep)
{
	static const char *const words[] = { "mode",	"timestamps", "ownership", "links",
					     "context", "xattr",      "all",	   NULL };
	static const int values[] = { PFU_ATTR_MODE,	PFU_ATTR_TIMESTAMPS, PFU_ATTR_OWNERSHIP,
				      PFU_ATTR_LINKS,	PFU_ATTR_CONTEXT,    PFU_ATTR_XATTR,
				      ATTR_ALL };
	const char *option = keep ? "--preserve" : "--no-preserve";
	char *word;

	while ((word = strsep(&list, ",")))
		set_attributes(s, (unsigned int)values[cli_word(option, word, words, values)], keep);
}

static void set_update(struct settings *s, const char *arg)
{
	static const char *const words[] = { "all", "none", "none-fail", "older", "changed", NULL };
	static const int values[] = { UPDATE_ALL, UPDATE_NONE, UPDATE_NONE_FAIL, UPDATE_OLDER,
				      UPDATE_CHANGED };

	s->update = arg ? (enum update)values[cli_word("--update", arg, words, values)] :
			  UPDATE_OLDER;
}

static void set_reflink(struct pfu_copy_options *o, const char *arg)
{
	static const char *const words[] = { "auto", "always", "never", NULL };
	static const int values[] = { PFU_REFLINK_AUTO, PFU_REFLINK_ALWAYS, PFU_REFLINK_NEVER };

	o->reflink = arg ? (enum pfu_reflink)values[cli_word("--reflink", arg, words, values)] :
			   PFU_REFLINK_ALWAYS;
}

static void set_sparse(struct pfu_copy_options *o, const char *arg)
{
	static const char *const words[] = { "never", "auto", "always", NULL };
	static const int values[] = { PFU_SPARSE_NEVER, PFU_SPARSE_AUTO, PFU_SPARSE_ALWAYS };

	o->sparse = (enum pfu_sparse)values[cli_word("--sparse", arg, words, values)];
}

/* -Z and --context: where there is no SELinux, only a context by name is worth a word. */
static void set_context(struct pfu_copy_options *o, const char *arg)
{
	if (!have_selinux()) {
		if (arg)
			cli_error(0, "warning: ignoring --context; "
				     "it requires an SELinux-enabled kernel");
	} else if (arg) {
		o->context = arg;
	} else {
		o->set_context = true;
	}
}

static void set_target_directory(struct settings *s, char *arg)
{
	if (s->target_directory)
		refuse(0, "multiple target directories specified", NULL);
	s->target_directory = arg;
}

static void parse(struct settings *s, int argc, char **argv)
{
	struct pfu_copy_options *o = &s->options;
	int c;

	while ((c = getopt_long(argc, argv, "abc:dfHij:lLnpPrRsS:t:TuvxZ", long_options, NULL)) !=
	       -1) {
		switch (c) {
		case 'a':
			set_archive(o);
			break;
		case 'b':
			s->backup = true;
			if (optarg)
				s->backup_control = optarg;
			break;
		case 'c':
			o->chunk = cli_number(optarg, "files per work item");
			break;
		case 'd':
			o->preserve |= PFU_ATTR_LINKS;
			o->dereference = PFU_DEREF_NEVER;
			break;
		case 'f':
			o->force = true;
			break;
		case 'H':
			o->dereference = PFU_DEREF_OPERANDS;
			break;
		case 'i':
			o->interactive = PFU_INTERACTIVE_ASK;
			break;
		case 'j':
			o->workers = cli_number(optarg, "jobs");
			break;
		case 'l':
			o->hard_link = true;
			break;
		case 'L':
			o->dereference = PFU_DEREF_ALWAYS;
			break;
		case 'n':
			o->interactive = PFU_INTERACTIVE_SKIP;
			break;
		case 'p':
			set_usual(o);
			break;
		case 'P':
			o->dereference = PFU_DEREF_NEVER;
			break;
		case 'r':
		case 'R':
			o->recursive = true;
			break;
		case 's':
			o->symbolic_link = true;
			break;
		case 'S':
			s->backup = true;
			s->backup_suffix = optarg;
			break;
		case 't':
			set_target_directory(s, optarg);
			break;
		case 'T':
			s->no_target_directory = true;
			break;
		case 'u':
			set_update(s, optarg);
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'x':
			o->one_file_system = true;
			break;
		case 'Z':
			set_context(o, optarg);
			break;
		case OPT_ATOMIC:
			o->atomic = true;
			break;
		case OPT_ATTRIBUTES_ONLY:
			o->attributes_only = true;
			break;
		case OPT_BWLIMIT:
			o->bwlimit = cli_size(optarg, "bytes per second");
			break;
		case OPT_COPY_CONTENTS:
			o->copy_contents = true;
			break;
		case OPT_DEBUG:
			o->debug = o->verbose = true;
			break;
		case OPT_DRY_RUN:
			o->dry_run = o->verbose = true;
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
		case OPT_INCLUDE:
			choose_pattern(&s->filter, optarg, true);
			break;
		case OPT_KEEP_DIRECTORY_SYMLINK:
			o->keep_directory_symlink = true;
			break;
		case OPT_MAX_RATE:
			o->max_rate = cli_size(optarg, "files per second");
			break;
		case OPT_NO_PRESERVE:
			set_attribute_list(s, optarg, false);
			break;
		case OPT_PARENTS:
			o->parents = true;
			break;
		case OPT_PRESERVE:
			if (optarg)
				set_attribute_list(s, optarg, true);
			else
				set_usual(o);
			break;
		case OPT_PROGRESS:
			progress_option(optarg);
			break;
		case OPT_REFLINK:
			set_reflink(o, optarg);
			break;
		case OPT_REMOVE_DESTINATION:
			o->remove_destination = true;
			break;
		case OPT_SPARSE:
			set_sparse(o, optarg);
			break;
		case OPT_SYNC:
			o->sync = true;
			break;
		case OPT_STATS:
			stats_option(optarg);
			break;
		case OPT_STRIP_TRAILING_SLASHES:
			s->strip_slashes = true;
			break;
		case OPT_CHECKSUM_FILE:
			s->checksum_file = optarg;
			break;
		case OPT_VERIFY:
			o->verify = true;
			break;
		case OPT_HELP:
			help();
			exit(EXIT_SUCCESS);
		case OPT_VERSION:
			cli_version("pcp");
			exit(EXIT_SUCCESS);
		default:
			cli_did_you_mean(argv, long_options);
			cli_try_help();
		}
	}
}

/* --- What the options come to together --- */

/* -n beats --update, which beats -i; only "older" and "changed" go with either question or overwriting. */
static void settle_update(struct settings *s)
{
	struct pfu_copy_options *o = &s->options;

	if (o->interactive == PFU_INTERACTIVE_SKIP || s->update == UPDATE_NONE)
		o->interactive = PFU_INTERACTIVE_SKIP;
	else if (s->update == UPDATE_NONE_FAIL)
		o->interactive = PFU_INTERACTIVE_FAIL;
	o->update = s->update == UPDATE_OLDER;
	o->update_changed = s->update == UPDATE_CHANGED;
	if (s->backup && (o->interactive == PFU_INTERACTIVE_SKIP ||
			  o->interactive == PFU_INTERACTIVE_FAIL))
		misuse("--backup is mutually exclusive with -n or --update=none-fail", NULL);
}

static void settle_data(struct settings *s)
{
	struct pfu_copy_options *o = &s->options;

	/* Shared blocks would bring the source's holes along. */
	if (o->reflink == PFU_REFLINK_AUTO && o->sparse == PFU_SPARSE_NEVER)
		o->reflink = PFU_REFLINK_NEVER;
	if (o->reflink == PFU_REFLINK_ALWAYS && o->sparse != PFU_SPARSE_AUTO)
		misuse("--reflink can be used only with --sparse=auto", NULL);
	if (!o->verify && !s->checksum_file)
		return;
	if (!pfu_sums_supported())
		misuse("--verify and --checksum-file: this build has no xxHash", NULL);
	if (o->reflink == PFU_REFLINK_ALWAYS)
		misuse("--verify and --checksum-file cannot be used with --reflink=always", NULL);
}

/* Whether it can end a name: with a slash in it, it would end that of a directory. */
static bool usable_suffix(const char *suffix)
{
	size_t len = suffix ? strcspn(suffix, "/") : 0;

	return len > 0 && suffix[len + strspn(suffix + len, "/")] == '\0';
}

static void settle_backup(struct settings *s)
{
	static const char *const words[] = { "none",	 "off", "simple",   "never", "existing",
					     "nil", "numbered", "t",	 NULL };
	static const int values[] = { PFU_BACKUP_NONE,	   PFU_BACKUP_NONE,
				      PFU_BACKUP_SIMPLE,   PFU_BACKUP_SIMPLE,
				      PFU_BACKUP_EXISTING, PFU_BACKUP_EXISTING,
				      PFU_BACKUP_NUMBERED, PFU_BACKUP_NUMBERED };
	const char *control = s->backup_control, *from = "backup type";
	const char *suffix = s->backup_suffix ? s->backup_suffix : getenv("SIMPLE_BACKUP_SUFFIX");

	s->options.suffix = usable_suffix(suffix) ? suffix : "~";
	if (!s->backup)
		return;
	if (!control || !*control) {
		control = getenv("VERSION_CONTROL");
		from = "$VERSION_CONTROL";
	}
	s->options.backup = control && *control ?
				    (enum pfu_backup)values[cli_word(from, control, words, values)] :
				    PFU_BACKUP_EXISTING;
}

static void settle_context(struct pfu_copy_options *o)
{
	if (o->set_context || o->context) {
		/* They beat -a, but not a context that was asked for by name. */
		if (!(o->require & PFU_ATTR_CONTEXT))
			o->preserve &= ~(unsigned int)PFU_ATTR_CONTEXT;
		if (o->preserve & PFU_ATTR_CONTEXT)
			refuse(0, "cannot set target context and preserve it", NULL);
	}
	if ((o->require & PFU_ATTR_CONTEXT) && !have_selinux())
		refuse(0,
		       "cannot preserve security context without an SELinux-enabled kernel", NULL);
	if (o->context && !o->dry_run)
		create_with(o->context);
}

static void settle(struct settings *s)
{
	struct pfu_copy_options *o = &s->options;

	if (o->hard_link && o->symbolic_link)
		misuse("cannot make both hard and symbolic links", NULL);
	settle_update(s);
	settle_data(s);
	settle_backup(s);
	o->no_preserve_mode = s->default_mode && !(o->preserve & PFU_ATTR_MODE);
	o->follow_dangling = getenv("POSIXLY_CORRECT") != NULL;
	settle_context(o);
	o->filter = s->filter;
}

/* --- Operands --- */

/* Takes the slashes off the end, but leaves "/". */
static void strip_slashes(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
}

/* Whether the path leads to a directory; if not, errno tells why. */
static bool is_directory(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(st.st_mode);
}

/*
 * Writes to `name` what the source is to be called in the target directory: its
 * last component, or with --parents all of it.  What has no name of its own (..
 * and /) is the target directory itself.  Takes no more room than the source and
 * two bytes.  Returns the end.
 */
static char *name_in_directory(char *name, const char *source, bool parents)
{
	const char *from = source + strspn(source, "/"), *end = source + strlen(source), *slash;

	while (end > from && end[-1] == '/')
		end--;
	if (!parents && (slash = memrchr(from, '/', (size_t)(end - from))))
		from = slash + 1;
	if (from == end || (!parents && end - from == 2 && memcmp(from, "..", 2) == 0))
		return stpcpy(name, ".") + 1;
	name = mempcpy(name, from, (size_t)(end - from));
	*name = '\0';
	return name + 1;
}

/* --- Checksums --- */

static void add_checksum(void *ctx, const char *digest, const char *path)
{
	pfu_sumfile_add(ctx, digest, path);
}

/* A line among those of -v; ctx is told if there was no memory for it. */
static void print_checksum(void *ctx, const char *digest, const char *path)
{
	char *line = pfu_sumfile_line(digest, path);

	if (line)
		pfu_output(&cli_report, "%s", line);
	else
		atomic_store((atomic_bool *)ctx, true);
	free(line);
}

/* Copies, with the file of checksums open meanwhile: a name that cannot be is no surprise at the end. */
static bool copy_operands(struct settings *s, const char *directory,
	const struct pfu_copy_operand *operands, size_t count)
{
	struct pfu_sumfile *file = NULL;
	struct pfu_checksums to = { NULL, add_checksum };
	atomic_bool lost = false;
	bool ok;

	if (s->checksum_file && !s->options.dry_run) {
		s->options.checksums = &to;
		if (strcmp(s->checksum_file, "-") == 0) {
			to = (struct pfu_checksums){ &lost, print_checksum };
		} else {
			to.ctx = file = pfu_sumfile_open(s->checksum_file);
			if (!file)
				refuse(errno, "cannot open", s->checksum_file);
		}
	}
	progress_begin(s->options.tally, true);
	if (!s->options.filter && !s->options.one_file_system)
		progress_operands(&operands[0].source, sizeof(operands[0]), count);
	ok = pfu_copy(&s->options, &cli_report, directory, operands, count);
	progress_end();
	errno = ENOMEM;
	if (atomic_load(&lost) || (file && pfu_sumfile_close(file) != 0)) {
		complain(errno, "error writing", s->checksum_file);
		ok = false;
	}
	return ok;
}

static bool copy_into(struct settings *s, char *directory, char **source, size_t count)
{
	struct pfu_copy_operand *operand = calloc(count, sizeof(*operand));
	char *names, *next;
	size_t room = 0, i;
	bool ok;

	for (i = 0; i < count; i++)
		room += strlen(source[i]) + 2;
	names = malloc(room);
	if (!operand || !names)
		refuse(ENOMEM, "target directory", directory);
	for (i = 0, next = names; i < count; i++) {
		if (s->strip_slashes)
			strip_slashes(source[i]);
		operand[i].source = source[i];
		operand[i].target = next;
		next = name_in_directory(next, source[i], s->options.parents);
	}
	strip_slashes(directory);
	ok = copy_operands(s, directory, operand, count);
	free(names);
	free(operand);
	return ok;
}

/*
 * With -f and a backup, a file that is copied onto itself becomes its own
 * backup: that is what was asked for, and the only thing to be had.
 */
static char *own_backup(const struct pfu_copy_options *o, const char *source, const char *target)
{
	struct stat st;
	char *name;

	if (!o->force || o->backup == PFU_BACKUP_NONE || strcmp(source, target) != 0 ||
	    stat(target, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	name = pfu_backup_name(&pfu_fsys_posix, AT_FDCWD, target, o->backup, o->suffix);
	if (!name)
		refuse(errno, "cannot backup", target);
	return name;
}

static bool copy_to(struct settings *s, const char *source, const char *target)
{
	struct pfu_copy_options *o = &s->options;
	struct pfu_copy_operand operand = { source, target };
	char *backup;
	bool ok;

	if (o->parents)
		misuse("with --parents, the destination must be a directory", NULL);
	backup = own_backup(o, source, target);
	if (backup) {
		operand.target = backup;
		o->backup = PFU_BACKUP_NONE;
	}
	ok = copy_operands(s, NULL, &operand, 1);
	free(backup);
	return ok;
}

/* Tells the target from the sources, and copies. */
static bool copy(struct settings *s, char **operand, size_t count)
{
	char *directory = s->target_directory;

	if (count == 0)
		misuse("missing file operand", NULL);
	if (count == 1 && !directory)
		misuse("missing destination file operand after", operand[0]);
	if (s->no_target_directory) {
		if (directory)
			refuse(0, "cannot combine --target-directory (-t) and "
				  "--no-target-directory (-T)", NULL);
		if (count > 2)
			misuse("extra operand", operand[2]);
	} else if (directory) {
		if (!is_directory(directory))
			refuse(errno, "target directory", directory);
	} else if (is_directory(operand[count - 1])) {
		directory = operand[--count];
	} else if (count > 2) {
		refuse(errno, "target", operand[count - 1]);
	}
	return directory ? copy_into(s, directory, operand, count) :
			   copy_to(s, operand[0], operand[1]);
}

/* There is no reading it but by setting it; no thread is running yet that could mind. */
static mode_t read_umask(void)
{
	mode_t mask = umask(S_IRWXG | S_IRWXO);

	umask(mask);
	return mask;
}

int main(int argc, char **argv)
{
	struct settings s = { .options.umask = read_umask() };
	struct pfu_tally tally = { NULL };
	bool ok;

	progress_prepare();
	cli_start(argv[0]);
	parse(&s, argc, argv);
	settle(&s);
	s.options.cancel = &signals_cancel;
	s.options.tally = &tally;
	signals_start();
	s.options.fs = stats_begin(&tally);
	ok = copy(&s, argv + optind, (size_t)(argc - optind));
	stats_end(&tally, &(struct stats_run){ "pcp", true, s.options.dry_run, signals_cancel });
	signals_end(&tally, "copied");
	pfu_tally_free(&tally);
	pfu_filter_free(s.filter);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
