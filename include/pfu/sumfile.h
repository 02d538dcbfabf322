/*
 * pfu/sumfile.h - a file of checksums, in the form that `xxhsum -c` reads:
 * the digest, two spaces, the name, a line each.
 *
 * A name with a newline or a carriage return in it is written with \n or \r in place of
 * these, \\ for each backslash, and a backslash before the digest, as xxhsum does from
 * version 0.8.2 on (sha256sum as well).  Other names are written as they are, which every
 * version reads.
 */
#ifndef PFU_SUMFILE_H
#define PFU_SUMFILE_H

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_sumfile;

/* The line of a file without its newline, malloc'ed; NULL with errno ENOMEM. */
char *pfu_sumfile_line(const char *digest, const char *name);

/* Creates the file at this path, or empties it; NULL with errno. */
struct pfu_sumfile *pfu_sumfile_open(const char *path);

/*
 * Adds a line.  It is written with others, but each in one piece.  From any thread.
 * A failure is told by pfu_sumfile_close(); nothing more is written after one.
 */
void pfu_sumfile_add(struct pfu_sumfile *f, const char *digest, const char *name);

/* Writes what is left and closes the file.  0, or -1 with the errno of the first failure. */
int pfu_sumfile_close(struct pfu_sumfile *f);

#ifdef __cplusplus
}
#endif

#endif
