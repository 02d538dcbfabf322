/*
 * pfu/links.h - which file has been copied to where: for hard links.
 *
 * The first worker that meets a file with several names copies it; whoever meets
 * another of its names links to that copy, once it is complete, or waits as a
 * parked task until it is.
 */
#ifndef PFU_LINKS_H
#define PFU_LINKS_H

#include <pfu/dir.h>
#include <pfu/pool.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfu_links;

/*
 * Makes an empty table; NULL with errno ENOMEM.  With `forget` a file is dropped
 * from it once all its names have been met: not where symbolic links are
 * followed, since any number of them may lead to a name.  All functions but
 * pfu_links_free() may be called from any thread.
 */
struct pfu_links *pfu_links_new(bool forget);
void pfu_links_free(struct pfu_links *links);

enum pfu_link {
	PFU_LINK_FIRST, /* nobody has copied it: the caller does, and calls pfu_links_done() */
	PFU_LINK_THERE, /* there is a complete copy */
	PFU_LINK_BUSY,	/* somebody is copying it */
	PFU_LINK_ERROR, /* errno is ENOMEM */
};

/*
 * Says that the file st is about to be copied to `name` in `dir` (NULL: name is
 * a path).  With PFU_LINK_THERE, *there_dir (with a reference) and *there_name
 * (malloc'ed) are where the copy is.
 */
enum pfu_link pfu_links_claim(struct pfu_links *links, const struct stat *st, struct pfu_dir *dir,
			      const char *name, struct pfu_dir **there_dir, char **there_name);

/*
 * Leaves a held task to be submitted once the copy that is under way has ended.
 * false: it has ended already, and the caller still has the task.
 */
bool pfu_links_wait(struct pfu_links *links, const struct stat *st, struct pfu_task *task);

/*
 * Says that the copy claimed as the first has ended: `complete`, or the claim is
 * given up and the next one will be the first.  Returns the tasks that waited,
 * linked by ->next, for the caller to hand to pfu_pool_submit_held().
 */
struct pfu_task *pfu_links_done(struct pfu_links *links, const struct stat *st, bool complete);

#ifdef __cplusplus
}
#endif

#endif
