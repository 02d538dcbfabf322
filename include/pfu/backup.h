/*
 * pfu/backup.h - names of backups, and making them.
 */
#ifndef PFU_BACKUP_H
#define PFU_BACKUP_H

#include <pfu/copy.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Renames `name` in the directory to its backup name (GNU coreutils manual, node
 * "Backup options"): with the suffix, or .~N~ with the next number.  Returns the
 * new name, malloc'ed; NULL with errno (ENOENT: there was nothing to back up).
 * Safe from several threads for different names.
 */
char *pfu_backup_make(const struct pfu_fsys *fs, int dirfd, const char *name,
		      enum pfu_backup kind, const char *suffix);

/*
 * Gives a backup its name back.  Unless `replace`, not over something that has
 * taken the place meanwhile.  0, or -1 with errno (EEXIST: something has).
 */
int pfu_backup_undo(const struct pfu_fsys *fs, int dirfd, const char *backup, const char *name,
		    bool replace);

/*
 * Only the name that the backup would get.  malloc'ed; NULL with errno ENOMEM.
 */
char *pfu_backup_name(const struct pfu_fsys *fs, int dirfd, const char *name,
		      enum pfu_backup kind, const char *suffix);

#ifdef __cplusplus
}
#endif

#endif
