/*
 * attrs.c - mode, owner, times, access control lists and extended attributes of
 * a copy.
 *
 * ACLs are copied as the extended attributes that the kernel shows them as:
 * a file that has none besides its mode lists none, so that one flistxattr()
 * answers for ACLs and all others together.
 */
#include <errno.h>
#include <fcntl.h>
#include <pfu/attrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define SELINUX_CONTEXT "security.selinux"
#define PERMISSIONS ((mode_t)07777)
#define SPECIAL_BITS ((mode_t)(S_ISUID | S_ISGID | S_ISVTX))
/* Long enough for most lists of attributes and most values. */
#define SMALL 1024

static bool wants(const struct pfu_attrs *a, unsigned int what)
{
	return a->options->preserve & what;
}

static bool requires(const struct pfu_attrs *a, unsigned int what)
{
	return a->options->require & what;
}

static void complain(const struct pfu_attrs *a, int err, const char *format)
{
	char *path = pfu_dir_path(a->target_dir, a->target_name);

	pfu_message(a->report, PFU_ERROR, err, format, path ? path : a->target_name);
	free(path);
}

static void complain_of_source(const struct pfu_attrs *a, int err, const char *format)
{
	char *path = pfu_dir_path(a->source_dir, a->source_name);

	pfu_message(a->report, PFU_ERROR, err, format, path ? path : a->source_name);
	free(path);
}

/* Like complain(), about one attribute. */
static void complain_of(const struct pfu_attrs *a, int err, const char *format, const char *name,
			const struct pfu_dir *dir, const char *file)
{
	char *path = pfu_dir_path(dir, file);

	pfu_message(a->report, PFU_ERROR, err, format, name, path ? path : file);
	free(path);
}

mode_t pfu_attrs_omit(const struct pfu_copy_options *options, mode_t mode)
{
	if (options->preserve & PFU_ATTR_OWNERSHIP)
		return mode & (S_IRWXG | S_IRWXO); /* until it has its owner */
	return S_ISDIR(mode) ? mode & (S_IWGRP | S_IWOTH) : 0;
}

static int change_mode(const struct pfu_attrs *a, mode_t mode)
{
	if (a->out >= 0)
		return a->fs->fchmod(a->out, mode);
	return a->fs->fchmodat(a->target_dirfd, a->target_name, mode, AT_SYMLINK_NOFOLLOW);
}

static int stat_target(const struct pfu_attrs *a, struct stat *st)
{
	if (a->out >= 0)
		return a->fs->fstat(a->out, st);
	return a->fs->fstatat(a->target_dirfd, a->target_name, st, AT_SYMLINK_NOFOLLOW);
}

static int change_owner(const struct pfu_attrs *a, uid_t uid, gid_t gid)
{
	if (a->out >= 0)
		return a->fs->fchown(a->out, uid, gid);
	return a->fs->fchownat(a->target_dirfd, a->target_name, uid, gid, AT_SYMLINK_NOFOLLOW);
}

static bool apply_times(const struct pfu_attrs *a)
{
	struct timespec times[2] = { a->source->st_atim, a->source->st_mtim };

	if ((a->out >= 0 ? a->fs->futimens(a->out, times) :
			   a->fs->utimensat(a->target_dirfd, a->target_name, times,
					    AT_SYMLINK_NOFOLLOW)) == 0)
		return true;
	complain(a, errno, a->on_the_way ? "failed to preserve times for %q" : "preserving times for %q");
	return !requires(a, PFU_ATTR_TIMESTAMPS);
}

/*
 * Takes from an existing file what its old mode gives to people whom neither
 * the old nor the new one is meant for, before it changes hands.
 */
static bool restrict_mode(const struct pfu_attrs *a)
{
	mode_t old = a->before->st_mode, new = a->source->st_mode;

	if (!wants(a, PFU_ATTR_MODE) || !(old & PERMISSIONS & (~new | SPECIAL_BITS)))
		return true;
	if (change_mode(a, old & new & S_IRWXU) == 0)
		return true;
	if (a->privileged || (errno != EPERM && errno != EACCES))
		complain(a, errno, "clearing permissions for %q");
	return false;
}

/* A special file is made with all of its mode, and loses set-ID bits when it is given an owner, be it the same. */
static bool may_lose_bits(mode_t mode)
{
	return (mode & (S_ISUID | S_ISGID)) && !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/* What a mode must not have under another owner. */
static mode_t bits_of_owner(const struct pfu_attrs *a)
{
	return a->on_the_way ? 0 : SPECIAL_BITS;
}

/* false: a required attribute could not be set.  *mode loses what an unchanged owner must not get. */
static bool apply_owner(const struct pfu_attrs *a, mode_t *mode)
{
	const struct stat *st = a->source;
	int err;

	if (!may_lose_bits(st->st_mode) &&
	    (a->before ? a->before->st_uid == st->st_uid && a->before->st_gid == st->st_gid :
			 a->owner_is_right))
		return true;
	if (a->before && !S_ISLNK(st->st_mode) && !restrict_mode(a)) {
		*mode &= ~bits_of_owner(a);
		return !requires(a, PFU_ATTR_OWNERSHIP);
	}
	if (change_owner(a, st->st_uid, st->st_gid) == 0)
		return true;
	err = errno;
	*mode &= ~bits_of_owner(a);
	if (err == EPERM || err == EINVAL) {
		/* Perhaps at least the group. */
		if (!S_ISLNK(st->st_mode))
			(void)change_owner(a, (uid_t)-1, st->st_gid);
		if (!a->privileged)
			return true;
	}
	complain(a, err, "failed to preserve ownership for %q");
	return !requires(a, PFU_ATTR_OWNERSHIP);
}

/* ---- extended attributes ---- */

/* One side of a copy of attributes: an open file, or a path that leads to the name itself. */
struct side {
	int fd;
	char *path;
};

static bool side_init(struct side *s, int fd, int dirfd, const char *name)
{
	s->fd = fd;
	s->path = NULL;
	if (fd >= 0)
		return true;
	/* There is no call for a name relative to a descriptor. */
	if (dirfd == AT_FDCWD)
		s->path = strdup(name);
	else if (asprintf(&s->path, "/proc/thread-self/fd/%d/%s", dirfd, name) < 0)
		s->path = NULL;
	return s->path != NULL;
}

static ssize_t list(const struct pfu_attrs *a, const struct side *s, char *buf, size_t size)
{
	return s->fd >= 0 ? a->fs->flistxattr(s->fd, buf, size) :
			    a->fs->llistxattr(s->path, buf, size);
}

static ssize_t get(const struct pfu_attrs *a, const struct side *s, const char *name, char *buf,
		   size_t size)
{
	return s->fd >= 0 ? a->fs->fgetxattr(s->fd, name, buf, size) :
			    a->fs->lgetxattr(s->path, name, buf, size);
}

static int set(const struct pfu_attrs *a, const struct side *s, const char *name, const char *value,
	       size_t size)
{
	return s->fd >= 0 ? a->fs->fsetxattr(s->fd, name, value, size, 0) :
			    a->fs->lsetxattr(s->path, name, value, size, 0);
}

/* The list of names, or (name given) a value; malloc'ed; NULL with errno. */
static char *fetch(const struct pfu_attrs *a, const struct side *s, const char *name, ssize_t *len)
{
	size_t size = SMALL;
	char *buf = NULL, *larger;

	for (;;) {
		larger = realloc(buf, size);
		if (!larger)
			break;
		buf = larger;
		*len = name ? get(a, s, name, buf, size) : list(a, s, buf, size);
		if (*len >= 0)
			return buf;
		if (errno != ERANGE || size > ((size_t)1 << 20))
			break;
		size *= 4;
	}
	free(buf);
	return NULL;
}

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Attributes that say who may do what: they go with the mode. */
static bool is_permission(const char *name)
{
	return strcmp(name, ACL_ACCESS) == 0 || strcmp(name, ACL_DEFAULT) == 0 ||
	       strcmp(name, "system.nfs4_acl") == 0 || strcmp(name, "system.nfs4acl") == 0;
}

/* Attributes that belong to the file system or to this very file, not to what it holds. */
static bool is_never_copied(const char *name)
{
	static const char *const prefixes[] = {
		"trusted.SGI_", "xfsroot.", "security.evm", "afs.", "user.Beagle.",
		"lustre.", "trusted.lov", "trusted.lma", "trusted.lmv", "trusted.link",
		"trusted.fid", "trusted.som", "trusted.dmv", "trusted.overlay.", "ceph.",
		"system.cifs_acl", "system.ntfs_acl", "system.smb3_acl", "btrfs.",
	};
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (has_prefix(name, prefixes[i]))
			return true;
	}
	return false;
}

static bool is_unsupported(int err)
{
	return err == EOPNOTSUPP || err == ENOSYS;
}

/* Whether a failure to copy an attribute (not of permissions) is to be told. */
static bool is_told(const struct pfu_attrs *a, int err)
{
	if (requires(a, PFU_ATTR_XATTR) || a->options->attributes_only)
		return true;
	return !a->options->quiet_attributes && !is_unsupported(err);
}

/* Copies one attribute.  0, or an errno: EOPNOTSUPP is for the caller to tell. */
static int copy_xattr(const struct pfu_attrs *a, const struct side *from, const struct side *to,
		      const char *name, bool told)
{
	ssize_t len;
	char *value = fetch(a, from, name, &len);
	int err = 0;

	if (!value) {
		err = errno;
		if (told && is_told(a, err))
			complain_of(a, err, "getting attribute %q of %q", name, a->source_dir,
				    a->source_name);
		return err == EOPNOTSUPP ? EIO : err;
	}
	if (set(a, to, name, value, (size_t)len) != 0) {
		err = errno;
		if (told && err != EOPNOTSUPP && is_told(a, err))
			complain_of(a, err, "setting attribute %q for %q", name, a->target_dir,
				    a->target_name);
	}
	free(value);
	return err;
}

/*
 * Without /proc the source has no other name than its path.  It is only read by that, so
 * that nobody who swaps a directory has something else changed.
 */
static bool read_by_path(const struct pfu_attrs *a, struct side *from)
{
	char *path = from->fd < 0 && a->source_dir ? pfu_dir_path(a->source_dir, a->source_name) : NULL;

	if (!path) {
		errno = ENOENT;
		return false;
	}
	free(from->path);
	from->path = path;
	return true;
}

/*
 * Lists the source's attributes, and makes ready to copy them.  An errno: whether there
 * are any is not known; it has been told if it is about more than permissions.
 */
static int list_source(const struct pfu_attrs *a, struct side *from, struct side *to, char **names,
		       ssize_t *len)
{
	int err = ENOMEM;

	if (side_init(from, a->in, a->source_dirfd, a->source_name)) {
		*names = fetch(a, from, NULL, len);
		if (!*names && errno == ENOENT && read_by_path(a, from))
			*names = fetch(a, from, NULL, len);
		if (*names && side_init(to, a->out, a->target_dirfd, a->target_name))
			return 0;
		err = *names ? ENOMEM : errno;
	}
	*len = 0;
	if (is_unsupported(err)) {
		atomic_store_explicit(&a->pair->no_xattrs, true, memory_order_relaxed);
		return 0;
	}
	if (wants(a, PFU_ATTR_XATTR) && is_told(a, err) && !S_ISLNK(a->source->st_mode))
		complain_of_source(a, err, "listing attributes of %q");
	return err;
}

/* Copies the attributes of a list that say nothing of permissions. */
static bool apply_xattrs(const struct pfu_attrs *a, const struct side *from, const struct side *to,
			 const char *names, ssize_t len)
{
	const char *name;
	bool failed = false, unsupported = false;

	for (name = names; name < names + len; name += strlen(name) + 1) {
		int err;

		if (is_permission(name) || is_never_copied(name) ||
		    (!wants(a, PFU_ATTR_XATTR) && strcmp(name, SELINUX_CONTEXT) != 0))
			continue;
		err = copy_xattr(a, from, to, name, true);
		failed = failed || err != 0;
		unsupported = unsupported || err == EOPNOTSUPP;
	}
	if (unsupported && is_told(a, EOPNOTSUPP))
		complain(a, EOPNOTSUPP, "setting attributes for %q");
	return !failed || !requires(a, PFU_ATTR_XATTR);
}

/* ---- mode ---- */

/* Gives the target the attributes of a list that say who may do what.  0, or an errno. */
static int copy_permissions(const struct pfu_attrs *a, const struct side *from,
			    const struct side *to, const char *names, ssize_t len)
{
	const char *name;
	int err = 0;

	for (name = names; err == 0 && name < names + len; name += strlen(name) + 1) {
		if (is_permission(name))
			err = copy_xattr(a, from, to, name, false);
	}
	return err;
}

static bool lists(const char *names, ssize_t len, const char *wanted)
{
	const char *name;

	for (name = names; name < names + len; name += strlen(name) + 1) {
		if (strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

/* Takes from the target an ACL that it may have and the source has not.  0, or an errno. */
static int drop_acl(const struct pfu_attrs *a, const char *acl)
{
	if (a->fs->fremovexattr(a->out, acl) == 0 || errno == ENODATA || is_unsupported(errno))
		return 0;
	return errno;
}

/* Whether an error in listing attributes says that there can be no ACL. */
static bool has_no_acls(int err)
{
	return err == EBUSY || err == EINVAL;
}

/*
 * Sets the mode and gives the target the source's ACL, or none.  With an ACL the
 * group's part of the mode is what the ACL grants at most; it is left out until
 * the ACL is the right one, lest the wrong people get in for a moment; and for good
 * where, with list_err, it is not known whether there is one.
 */
static bool apply_mode(const struct pfu_attrs *a, const struct side *from, const struct side *to,
		       const char *names, ssize_t len, mode_t mode, int list_err)
{
	/* What it inherited when it was made, or had before, is not the source's. */
	bool may_have = a->out >= 0 && (a->default_acl || a->before);
	bool gets_acl = lists(names, len, ACL_ACCESS), loses_acl = !gets_acl && may_have;
	int err = 0;

	mode &= PERMISSIONS;
	if (has_no_acls(list_err))
		list_err = 0;
	if (list_err)
		mode &= ~(mode_t)S_IRWXG;
	if (change_mode(a, gets_acl || loses_acl ? mode & ~(mode_t)S_IRWXG : mode) != 0)
		err = errno;
	if (err == 0)
		err = copy_permissions(a, from, to, names, len);
	if (err == 0 && loses_acl)
		err = drop_acl(a, ACL_ACCESS);
	if (err == 0 && may_have && S_ISDIR(a->source->st_mode) && !lists(names, len, ACL_DEFAULT))
		err = drop_acl(a, ACL_DEFAULT);
	/* A new ACL has brought the group's part with it, if it could be set. */
	if ((loses_acl || (gets_acl && err)) && change_mode(a, mode) != 0 && err == 0)
		err = errno;
	if (err == 0)
		err = list_err;
	if (err == 0)
		return true;
	complain(a, err, "preserving permissions for %w");
	return !requires(a, PFU_ATTR_MODE);
}

/* Of what a new target was made with, the bits that cp leaves there: a sticky bit not beside an inherited group. */
static mode_t inherited_bits(mode_t made)
{
	return S_ISDIR(made) && (made & S_ISGID) ? S_ISGID : made & SPECIAL_BITS;
}

/* Where the mode is not preserved: what the target was made without, or with too much of. */
static bool settle_mode(const struct pfu_attrs *a, mode_t mode)
{
	mode_t default_mode = S_ISDIR(mode) || S_ISSOCK(mode) ? 0777 : 0666;
	mode_t omitted = a->omitted & ~a->options->umask;
	struct stat st;

	if (a->before)
		return true;
	if (a->options->no_preserve_mode) {
		/* What a directory inherited (a set-group-ID bit) is to stay, and what a device was made with. */
		if (!S_ISREG(mode) && stat_target(a, &st) == 0)
			default_mode |= inherited_bits(st.st_mode);
		if (change_mode(a, default_mode & ~a->options->umask) == 0)
			return true;
		complain(a, errno, "setting permissions for %w");
		return false;
	}
	if (!a->restore && !omitted)
		return true;
	if (a->restore) {
		mode = a->restore_mode | omitted;
	} else if (S_ISREG(mode)) {
		mode = mode & 0777 & ~a->options->umask;
	} else {
		/* What it inherited (a set-group-ID bit) is to stay. */
		if (stat_target(a, &st) != 0) {
			complain(a, errno, "cannot stat %q");
			return false;
		}
		mode = (st.st_mode | omitted) & PERMISSIONS;
	}
	if (change_mode(a, mode) == 0)
		return true;
	complain(a, errno, "preserving permissions for %q");
	return !requires(a, PFU_ATTR_MODE);
}

/*
 * A file of a user that is not writable does not take attributes: it is made so for
 * the moment.  true: it has been, and *mode is what it is to get back.
 */
static bool make_writable(const struct pfu_attrs *a, mode_t *mode)
{
	struct stat st;

	if (a->out < 0 || !S_ISREG(a->source->st_mode) || geteuid() == 0 ||
		a->fs->fstat(a->out, &st) != 0 || (st.st_mode & S_IWUSR))
		return false;
	*mode = st.st_mode & PERMISSIONS;
	return a->fs->fchmod(a->out, S_IRUSR | S_IWUSR) == 0;
}

bool pfu_attrs_apply(struct pfu_attrs *a)
{
	mode_t mode = a->source->st_mode;
	bool is_link = S_ISLNK(mode), ok = true;
	int list_err = 0;
	struct side from = { .fd = -1 }, to = { .fd = -1 };
	char *names = NULL;
	ssize_t len = 0;
	/* A time by which a copy is taken for complete must be the last thing that it gets. */
	bool times_last = a->options->update_changed;

	if (a->options->dry_run)
		return true;
	if (is_link && wants(a, PFU_ATTR_OWNERSHIP) && !apply_owner(a, &mode))
		return false;
	if (wants(a, PFU_ATTR_TIMESTAMPS) && !times_last && !apply_times(a))
		return false;
	if (!is_link && wants(a, PFU_ATTR_OWNERSHIP) && !apply_owner(a, &mode))
		return false;
	if (wants(a, PFU_ATTR_XATTR | PFU_ATTR_CONTEXT | PFU_ATTR_MODE) &&
	    !atomic_load_explicit(&a->pair->no_xattrs, memory_order_relaxed))
		list_err = list_source(a, &from, &to, &names, &len);
	if (list_err && requires(a, PFU_ATTR_XATTR) && !is_link)
		ok = false;
	if (wants(a, PFU_ATTR_XATTR | PFU_ATTR_CONTEXT) && len > 0) {
		mode_t was = 0;
		bool made_writable = make_writable(a, &was);

		ok = apply_xattrs(a, &from, &to, names, len);
		if (made_writable)
			(void)a->fs->fchmod(a->out, was);
	}
	/* A file gets its mode all the same: it must not stay as it was made. */
	if (!is_link && (ok || S_ISREG(mode))) {
		bool set = wants(a, PFU_ATTR_MODE) ? apply_mode(a, &from, &to, names, len, mode, list_err) :
			   settle_mode(a, mode);
		ok = ok && set;
	}
	if (wants(a, PFU_ATTR_TIMESTAMPS) && times_last)
		ok = ok && apply_times(a);
	free(names);
	free(from.path);
	free(to.path);
	return ok;
}

bool pfu_attrs_has_default_acl(const struct pfu_fsys *fs, int dirfd)
{
	char path[64];

	if (fs->fgetxattr(dirfd, ACL_DEFAULT, NULL, 0) > 0)
		return true;
	if (errno != EBADF)
		return false;
	/* A descriptor for going through only (O_PATH). */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", dirfd);
	return pfu_attrs_has_default_acl_at(fs, path, strlen(path));
}

bool pfu_attrs_has_default_acl_at(const struct pfu_fsys *fs, const char *dir, size_t len)
{
	bool has;
	char *path;

	if (asprintf(&path, "%.*s/.", (int)len, dir) < 0)
		return true;
	has = fs->lgetxattr(path, ACL_DEFAULT, NULL, 0) > 0 ||
	      (errno != ENODATA && !is_unsupported(errno));
	free(path);
	return has;
}
