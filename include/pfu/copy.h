/*
 * pfu/copy.h - copying files and trees.
 *
 * What GNU cp does, in parallel.  Every decision is cp's, see the GNU coreutils
 * manual, node "cp invocation", and POSIX.1-2017, "cp"; so are the texts of the
 * diagnostics.  Command lines are taken apart by the caller: here an operand is
 * a source and the name of its target.
 */
#ifndef PFU_COPY_H
#define PFU_COPY_H

#include <pfu/filter.h>
#include <pfu/fsys.h>
#include <pfu/report.h>
#include <pfu/tally.h>
#include <pfu/atomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which symbolic links of the source are followed. */
enum pfu_dereference {
	PFU_DEREF_DEFAULT,  /* as NEVER with recursive (and not hard_link), else as ALWAYS */
	PFU_DEREF_NEVER,    /* -P */
	PFU_DEREF_OPERANDS, /* -H */
	PFU_DEREF_ALWAYS,   /* -L */
};

/* Attributes, as a set. */
enum pfu_attributes {
	PFU_ATTR_MODE = 1, /* with access control lists */
	PFU_ATTR_OWNERSHIP = 2,
	PFU_ATTR_TIMESTAMPS = 4,
	PFU_ATTR_LINKS = 8,
	PFU_ATTR_CONTEXT = 16,
	PFU_ATTR_XATTR = 32,
};

enum pfu_interactive {
	PFU_INTERACTIVE_NO,	/* overwrite */
	PFU_INTERACTIVE_ASK,	/* -i */
	PFU_INTERACTIVE_SKIP,	/* -n, --update=none: keep what exists, no error */
	PFU_INTERACTIVE_FAIL,	/* --update=none-fail: keep it, as an error */
};

enum pfu_backup {
	PFU_BACKUP_NONE,
	PFU_BACKUP_SIMPLE,
	PFU_BACKUP_EXISTING, /* numbered if there are numbered ones already */
	PFU_BACKUP_NUMBERED,
};

enum pfu_sparse { PFU_SPARSE_AUTO, PFU_SPARSE_ALWAYS, PFU_SPARSE_NEVER };
enum pfu_reflink { PFU_REFLINK_AUTO, PFU_REFLINK_ALWAYS, PFU_REFLINK_NEVER };

/* Who is told the checksum of each regular file that was copied. */
struct pfu_checksums {
	void *ctx;
	/* `digest`: see pfu/sums.h; `path`: of the target, as the user would type it.  From any worker. */
	void (*add)(void *ctx, const char *digest, const char *path);
};

struct pfu_copy_options {
	const struct pfu_fsys *fs; /* NULL: the kernel's */
	enum pfu_dereference dereference;
	bool recursive;		/* -r */
	bool copy_contents;	/* --copy-contents: read special files when recursive */
	unsigned int preserve;	/* PFU_ATTR_*: kept if possible */
	unsigned int require;	/* PFU_ATTR_*: of those, a failure of which is an error; the others
				   fail silently (xattr, context, as with -a) or with a diagnostic
				   that does not change the result */
	bool quiet_attributes;	/* -a: no diagnostic about xattr and context that are not required,
				   whatever the reason; else only "not supported" is passed over */
	bool no_preserve_mode;	/* --no-preserve=mode, said last: new files get default modes */
	bool attributes_only;
	bool atomic;		/* a file gets its name when it is complete */
	bool sync;		/* all is on stable storage before pfu_copy() returns */
	bool force;		/* -f: remove a target that cannot be opened, and try again */
	bool remove_destination;
	bool follow_dangling;	/* POSIXLY_CORRECT: write through a target that is a dangling link */
	bool hard_link;		/* -l */
	bool symbolic_link;	/* -s */
	bool update;		/* -u: only if the source is newer */
	bool update_changed;	/* --update=changed: only if size or modification time differ; of a
				   file that is left, mode and owner are set right if they are to be
				   preserved */
	enum pfu_interactive interactive;
	enum pfu_backup backup;
	const char *suffix;	/* of simple backups, such as "~" */
	bool one_file_system;	/* -x */
	const struct pfu_filter *filter; /* what is left out; NULL: nothing */
	bool keep_directory_symlink;
	bool parents;		/* --parents: targets may have several components */
	bool set_context;	/* -Z: the default SELinux context */
	const char *context;	/* --context=CTX */
	enum pfu_sparse sparse;
	enum pfu_reflink reflink;
	/*
	 * These two need pfu_sums_supported().  What is copied is read then, so that blocks
	 * are not shared with the source whatever `reflink` says.
	 */
	bool verify;		/* --verify: read each copied file again, compare with what was read of
				   the source.  One that differs is reported, and stays as it is */
	const struct pfu_checksums *checksums; /* --checksum-file; or NULL */
	bool verbose;
	bool debug;
	bool dry_run; /* nothing is changed: `verbose` tells what would be; `fs` must be the kernel's */
	mode_t umask;		/* the process's; the library does not touch it */
	const atomic_bool *cancel; /* set from outside to end soon; or NULL */
	struct pfu_tally *tally; /* what is done is counted there; or NULL */
	unsigned int workers;	/* 0: chosen by the file systems' kind */
	unsigned int chunk;	/* 0: chosen by the walker */
	uint64_t max_rate;	/* entries a second, made, overwritten or looked at; 0: no limit */
	uint64_t bwlimit;	/* bytes of data moved a second; 0: no limit */
};

struct pfu_copy_operand {
	const char *source;
	/*
	 * The target's name, relative to the directory given to pfu_copy() if
	 * there is one.
	 */
	const char *target;
};

/*
 * Copies each operand to its target.  With `directory` (an existing directory;
 * its path as the user typed it) targets are names in it, and with
 * options->parents they may have several components, of which all but the last
 * are made like the source's.  Otherwise (NULL) there is one operand, and its
 * target is a path.
 *
 * Returns true if all was copied (or rightly left alone), false if an error was
 * reported.  Blocks until done; may be called from several threads for different
 * targets.
 */
bool pfu_copy(const struct pfu_copy_options *options, const struct pfu_report *report,
	      const char *directory, const struct pfu_copy_operand *operands, size_t count);

#ifdef __cplusplus
}
#endif

#endif
