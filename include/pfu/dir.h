/*
 * pfu/dir.h - directories by descriptor: who they are, and which are open.
 *
 * A `struct pfu_dir` is a directory known by its name in its parent.  It is only
 * ever opened relative to its parent's descriptor and without following a
 * symbolic link (but where its maker allowed it), and when it is opened again
 * its device and inode must be those of before: nobody who swaps directories
 * during a run can lead the program elsewhere.
 *
 * A `struct pfu_dirfds` is the descriptors of directories that are open in one
 * descriptor table: least recently used ones are closed when there are more
 * than its budget, and reopened when they are needed.  There is one for all
 * workers, or, where each worker has a descriptor table of its own, one each.
 */
#ifndef PFU_DIR_H
#define PFU_DIR_H

#include <pfu/closer.h>
#include <pfu/fsys.h>
#include <pfu/atomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfu_dir_flags {
	PFU_DIR_FOLLOW = 1, /* the name itself may be a symbolic link (operands; -L) */
	PFU_DIR_PATH = 2,   /* opened with O_PATH: for *at() calls only, needs no read permission */
};

struct pfu_dir {
	struct pfu_dir *parent; /* holds a reference; NULL: the name is relative to AT_FDCWD */
	atomic_uint refs;
	unsigned int flags; /* PFU_DIR_*; set before the directory is shared */
	atomic_int identified; /* 2: dev and ino are set and do not change any more */
	dev_t dev;
	ino_t ino;
	char name[];
};

/*
 * Makes a directory with one reference.  Takes a reference to the parent.  The
 * name is copied.  NULL with errno ENOMEM.
 */
struct pfu_dir *pfu_dir_new(struct pfu_dir *parent, const char *name, unsigned int flags);

/* References may be taken and dropped from every thread; dropping NULL is nothing. */
struct pfu_dir *pfu_dir_ref(struct pfu_dir *dir);
void pfu_dir_unref(struct pfu_dir *dir);

/* Records what fstat(2) said of the open directory.  The first one stands. */
void pfu_dir_identify(struct pfu_dir *dir, const struct stat *st);

/* Whether st is this directory; false when it has not been identified. */
bool pfu_dir_is(const struct pfu_dir *dir, const struct stat *st);

/*
 * The path of an entry of the directory, as a user would type it: names joined
 * by slashes, beginning with the operand's.  `name` may be NULL for the
 * directory itself, `dir` for a name that is a whole path.  malloc'ed; NULL with errno ENOMEM.  Linear in the length.
 */
char *pfu_dir_path(const struct pfu_dir *dir, const char *name);

/*
 * Whether an open directory has no entries: 1, 0, or -1 with the errno of
 * getdents64(2) or lseek(2).  Reads it from where it stands, and leaves it at its start.
 */
int pfu_dir_is_empty(const struct pfu_fsys *fs, int fd);

struct pfu_dirfds;

/* A directory that is open; good from the get to the put. */
struct pfu_dirfd {
	int fd;
	struct pfu_dir *dir;
	/* pfu_dirfds' own: */
	unsigned int pins;
	struct pfu_dirfd *newer, *older;
	struct pfu_dirfd *chain;
};

/*
 * Makes a table.  `budget` is the number of directories to keep open at most,
 * more only while more are in use at once.  With a closer, which takes what is to
 * be closed, the table is that of one thread; without one it is shared and may be
 * used from every thread.  NULL with errno ENOMEM.
 */
struct pfu_dirfds *pfu_dirfds_new(const struct pfu_fsys *fs, size_t budget,
				  struct pfu_closer *closer);

/* Closes all and frees the table.  Nothing may be in use. */
void pfu_dirfds_free(struct pfu_dirfds *t);

/*
 * The directory, open, until pfu_dirfds_put().  NULL with the errno of openat(2)
 * or fstat(2), ESTALE when the name leads to another directory than before,
 * ENOMEM.
 */
struct pfu_dirfd *pfu_dirfds_get(struct pfu_dirfds *t, struct pfu_dir *dir);

/* The same for a directory that the caller has just opened as fd, which the table now owns. */
struct pfu_dirfd *pfu_dirfds_adopt(struct pfu_dirfds *t, struct pfu_dir *dir, int fd);

void pfu_dirfds_put(struct pfu_dirfds *t, struct pfu_dirfd *d);

/*
 * The parent (there must be one) of a directory, open, until pfu_dirfds_put().
 * If it had to be closed meanwhile it is opened through the directory's "..", so
 * that the way up from a deep tree is linear.  Errors as for pfu_dirfds_get().
 */
struct pfu_dirfd *pfu_dirfds_get_parent(struct pfu_dirfds *t, struct pfu_dir *dir);

/*
 * Closes a directory that is not needed any more, if it is open here and not in
 * use.  Its parent, which will be needed next, is opened first if it can be
 * reached through "..", as in pfu_dirfds_get_parent().
 */
void pfu_dirfds_drop(struct pfu_dirfds *t, struct pfu_dir *dir);

/*
 * Makes sure that the directory is identified, so that it can be opened from
 * another table or later.  0, or -1 with the errno of fstat(2).
 */
int pfu_dirfds_identify(struct pfu_dirfds *t, struct pfu_dirfd *d);

#ifdef __cplusplus
}
#endif

#endif
