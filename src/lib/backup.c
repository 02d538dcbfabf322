/*
 * backup.c - names of backups, and making them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/backup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUF_SIZE ((size_t)32 << 10)
/* Of a backup, in bytes: as GNU cp has it, one less than what a file system takes. */
#define LONGEST_NAME 254
/* So many numbers in a row that others have just taken are too many to be true. */
#define MAX_TAKEN 10000

/* The number in an entry's name if it is a numbered backup of the file called base; else 0. */
static unsigned long long number_of(const char *entry, const char *base, size_t base_len)
{
	unsigned long long n = 0;
	const char *s;

	if (strncmp(entry, base, base_len) != 0 || strncmp(entry + base_len, ".~", 2) != 0)
		return 0;
	for (s = entry + base_len + 2; *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (unsigned long long)(*s - '0');
	return strcmp(s, "~") == 0 && entry[base_len + 2] != '0' ? n : 0;
}

/* The highest number of a numbered backup; 0 if there is none or the directory cannot be read. */
static unsigned long long highest(const struct pfu_fsys *fs, int dirfd, const char *dir,
				  const char *base)
{
	int fd = fs->openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	unsigned long long max = 0, n;
	size_t base_len = strlen(base);
	char *buf = malloc(BUF_SIZE);
	ssize_t size, at;

	while (fd >= 0 && buf && (size = fs->getdents(fd, buf, BUF_SIZE)) > 0) {
		struct pfu_dirent *e;

		for (at = 0; at < size; at += e->d_reclen) {
			e = (struct pfu_dirent *)(void *)(buf + at);
			n = number_of(e->d_name, base, base_len);
			if (n > max)
				max = n;
		}
	}
	free(buf);
	if (fd >= 0)
		fs->close(fd);
	return max;
}

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/*
 * The backup's name for a number, or, 0, with the suffix.  One that no file can have
 * is cut short, and ends with a mere tilde; but not where just simple ones are made:
 * renaming fails then, as cp's does.
 */
static char *backup_name(const char *name, enum pfu_backup kind, const char *suffix,
			 unsigned long long number, bool *cut)
{
	char *backup;
	int rc, longest;

	if (number)
		rc = asprintf(&backup, "%s.~%llu~", name, number);
	else
		rc = asprintf(&backup, "%s%s", name, suffix);
	if (rc < 0)
		return NULL;
	*cut = kind != PFU_BACKUP_SIMPLE &&
	       strlen(base_of(name)) + ((size_t)rc - strlen(name)) > LONGEST_NAME;
	if (!*cut)
		return backup;
	free(backup);
	longest = (int)(base_of(name) - name) + LONGEST_NAME - 1;
	return asprintf(&backup, "%.*s~", longest, name) < 0 ? NULL : backup;
}

/* Renames without replacing anything, as far as the file system can promise that. */
static int rename_new(const struct pfu_fsys *fs, int dirfd, const char *from, const char *to)
{
	struct stat st;

	if (fs->renameat(dirfd, from, dirfd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -1;
	if (fs->fstatat(dirfd, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return fs->renameat(dirfd, from, dirfd, to, 0);
}

/* Sets the number that the backup has to get: 0 for none; false with errno ENOMEM. */
static bool choose(unsigned long long *number, const struct pfu_fsys *fs, int dirfd,
		   const char *name, enum pfu_backup kind)
{
	const char *base = base_of(name);
	char *dir;

	*number = 0;
	if (kind == PFU_BACKUP_SIMPLE)
		return true;
	dir = base > name ? strndup(name, (size_t)(base - name)) : strdup(".");
	if (!dir)
		return false;
	*number = highest(fs, dirfd, dir, base);
	if (kind == PFU_BACKUP_NUMBERED || *number)
		++*number;
	free(dir);
	return true;
}

int pfu_backup_undo(const struct pfu_fsys *fs, int dirfd, const char *backup, const char *name,
		    bool replace)
{
	return replace ? fs->renameat(dirfd, backup, dirfd, name, 0) :
			 rename_new(fs, dirfd, backup, name);
}

char *pfu_backup_name(const struct pfu_fsys *fs, int dirfd, const char *name,
		      enum pfu_backup kind, const char *suffix)
{
	unsigned long long number;
	bool cut;

	return choose(&number, fs, dirfd, name, kind) ?
		       backup_name(name, kind, suffix, number, &cut) : NULL;
}

char *pfu_backup_make(const struct pfu_fsys *fs, int dirfd, const char *name,
		      enum pfu_backup kind, const char *suffix)
{
	unsigned long long number;
	char *backup;
	bool cut;
	int rc, tries;

	if (!choose(&number, fs, dirfd, name, kind))
		return NULL;
	for (tries = 0;; tries++) {
		backup = backup_name(name, kind, suffix, number, &cut);
		if (!backup) {
			errno = ENOMEM;
			return NULL;
		}
		rc = number ? rename_new(fs, dirfd, name, backup) :
			      fs->renameat(dirfd, name, dirfd, backup, 0);
		if (rc == 0)
			return backup;
		free(backup);
		if (!number || cut || errno != EEXIST || tries == MAX_TAKEN)
			return NULL;
		number++;
	}
}
