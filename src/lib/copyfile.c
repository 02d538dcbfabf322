/*
 * copyfile.c - one regular file: opening, data, attributes, closing.
 *
 * The common case, a small file into a directory that we made, is openat, fstat,
 * openat, copy_file_range, and two closes that may be shared with other files.
 *
 * A large file is worked on by several workers, range by range.  Its last range
 * is copied when all the others have landed, so that the file never has its full
 * size, under its name, while any of it is missing.
 */
#include "copying.h"

#include <errno.h>
#include <fcntl.h>
#include <pfu/fstype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Bytes that one worker copies of a file at a time; where they come over a network
 * and through here, fewer.
 */
#define RANGE_LOCAL ((off_t)32 << 20)
#define RANGE_NETWORK ((off_t)4 << 20)
#define RANGE_SERVER ((off_t)64 << 20)
/* What is held back until the end. */
#define TAIL ((off_t)1 << 20)
/* From this size on it pays to tell the kernel how a file will be read. */
#define LARGE ((off_t)1 << 20)

/* A file being copied: open on both sides. */
struct file {
	int in, out;
	struct stat st;     /* the source */
	bool made;          /* the target is new, made by us */
	bool whole;         /* and has all its data */
	char *temporary;    /* --atomic: the name that it has until it is complete, */
	char *place;        /* and then */
	bool replaces;      /* --atomic: there is a file, `before`, which it will replace */
	struct stat before; /* the target, if it is not */
	struct stat identity; /* the open target's, where several workers open it */
	mode_t omitted;
	struct pfu_fspair *pair;
	struct pfu_sums *sums; /* with --verify or --checksum-file */
	off_t found;		  /* of its bytes, as far as the tally knows; */
	struct pfu_landed landed; /* and what has been counted as landed */
	bool first; /* links wait for it */
	bool alone; /* not to be split */
};

/* ---- opening ---- */

static int open_source(struct item *it, const struct stat *known)
{
	int flags = O_RDONLY | O_CLOEXEC | (pfu_item_follows(it) ? 0 : O_NOFOLLOW), fd;

	if (known && !S_ISREG(known->st_mode))
		return it->c->fs->openat(it->sfd, it->sname, flags, 0);
	/* Should it be a fifo by now, opening must not wait for a writer. */
	fd = it->c->fs->openat(it->sfd, it->sname, flags | O_NONBLOCK, 0);
	if (fd < 0 && errno == EWOULDBLOCK) /* a lease is to be given up first */
		fd = it->c->fs->openat(it->sfd, it->sname, flags, 0);
	return fd;
}

/* Opens the source and looks at it. */
static enum outcome prepare_source(struct item *it, const struct stat *known, struct file *f)
{
	f->in = open_source(it, known);
	if (f->in < 0) {
		int err = errno;
		struct stat st;

		/* Not what the listing said, or out of reach: for the careful way to tell. */
		if (!known && (err == ELOOP || err == ENXIO || err == ENODEV ||
				      pfu_stat_source(it, &st) != 0))
			return CHANGED;
		if (!known)
			pfu_say_copied(it, NULL);
		pfu_fail_source(it, err, "cannot open %q for reading");
		return FAILED;
	}
	if (it->c->fs->fstat(f->in, &f->st) != 0) {
		pfu_fail_source(it, errno, "cannot fstat %q");
		return FAILED;
	}
	if (!known)
		return S_ISREG(f->st.st_mode) ? GO_ON : CHANGED;
	if (f->st.st_dev != known->st_dev || f->st.st_ino != known->st_ino) {
		pfu_fail_source(it, 0, "skipping file %q, as it was replaced while being copied");
		f->st = *known; /* it is this file that others may wait for */
		return FAILED;
	}
	return GO_ON;
}

static void close_source(struct item *it, struct file *f)
{
	if (f->in >= 0)
		pfu_closer_add(&it->l->closer, f->in);
	f->in = -1;
}

/* With --verify what was written is to be read again. */
static int access_mode(const struct item *it)
{
	return it->c->options->verify ? O_RDWR : O_WRONLY;
}

/* The mode to make a new target with. */
static mode_t new_mode(const struct item *it, const struct file *f)
{
	mode_t most = it->c->options->no_preserve_mode ? 0666 : 0777;

	return f->st.st_mode & most & ~f->omitted;
}

/* A link that leads nowhere: what it would create could be anywhere. */
static void refuse_link(struct item *it)
{
	pfu_fail_target(it, 0, "not writing through dangling symlink %q");
}

static int open_new(struct item *it, struct file *f)
{
	mode_t mode = new_mode(it, f);
	int flags = access_mode(it) | O_CREAT | O_CLOEXEC, fd;
	char link[2];

	fd = it->c->fs->openat(it->dfd, it->dname, flags | O_EXCL, mode);
	if (fd >= 0 || errno != EEXIST)
		return fd;
	if (it->c->fs->readlinkat(it->dfd, it->dname, link, sizeof(link)) < 0) {
		errno = EEXIST;
		return -1;
	}
	if (it->c->options->follow_dangling)
		return it->c->fs->openat(it->dfd, it->dname, flags, mode);
	refuse_link(it);
	errno = 0;
	return -1;
}

/* Whether the target is written under another name first. */
static bool is_atomic(const struct item *it, const struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;

	return o->atomic && !o->attributes_only && !o->dry_run &&
	       (!t || t->is_new || S_ISREG(t->st.st_mode));
}

/* Whether cp would write to what is there: only that is replaced. */
static bool is_writable(const struct item *it)
{
	return it->c->options->force || it->c->fs->faccessat(it->dfd, it->dname, W_OK, AT_EACCESS) == 0;
}

/* Whether there is a link where a new file is to be; *vacant: or nothing. */
static bool is_link_there(const struct item *it, bool *vacant)
{
	struct stat st;

	*vacant = it->fresh || it->c->fs->fstatat(it->dfd, it->dname, &st, AT_SYMLINK_NOFOLLOW) != 0;
	return !*vacant && S_ISLNK(st.st_mode);
}

/* --atomic: opens a file that is to be the target when it is complete. */
static bool open_temporary(struct item *it, struct file *f, const struct target *t)
{
	mode_t mode = S_IRUSR | S_IWUSR;
	bool vacant = false;
	char *temporary;

	f->made = true;
	f->replaces = t && !t->is_new;
	f->omitted = 0;
	if (f->replaces) {
		f->before = t->st;
		/* Until it has what it is to get, no more than that for its owner. */
		mode &= it->c->options->preserve & PFU_ATTR_MODE ? f->st.st_mode : t->st.st_mode;
		if (!is_writable(it))
			goto failed;
	} else {
		f->omitted = pfu_attrs_omit(it->c->options, f->st.st_mode);
		mode = new_mode(it, f);
		if (is_link_there(it, &vacant) && !it->c->options->follow_dangling) {
			refuse_link(it);
			return false;
		}
	}
	f->place = vacant ? strdup(it->dname) : pfu_atomic_place(it);
	if (!f->place)
		goto failed;
	f->out = pfu_atomic_open(it, f->place, access_mode(it) | O_CLOEXEC, mode, &temporary);
	f->temporary = temporary;
	if (f->out >= 0)
		return true;
failed:
	pfu_fail_target(it, errno, "cannot create regular file %q");
	return false;
}

static bool open_target(struct item *it, struct file *f, const struct target *t)
{
	const struct pfu_copy_options *o = it->c->options;
	const struct pfu_fsys *fs = it->c->fs;

	f->out = -1;
	if (is_atomic(it, t))
		return open_temporary(it, f, t);
	f->made = !t || t->is_new;
	errno = ENOENT;
	if (!f->made)
		f->out = fs->openat(it->dfd, it->dname,
			(S_ISREG(t->st.st_mode) ? access_mode(it) : O_WRONLY) | O_CLOEXEC |
				(o->attributes_only ? 0 : O_TRUNC), 0);
	if (f->out < 0 && !f->made && errno != ENOENT && o->force) {
		if (fs->unlinkat(it->dfd, it->dname, 0) == 0) {
			pfu_say_removed(it);
		} else if (errno != ENOENT) {
			pfu_fail_target(it, errno, "cannot remove %q");
			return false;
		}
		errno = ENOENT;
	}
	if (f->out < 0 && errno == ENOENT) {
		f->made = true;
		f->omitted = pfu_attrs_omit(o, f->st.st_mode);
		f->out = open_new(it, f);
	}
	if (f->out >= 0)
		return true;
	if (errno) {
		size_t len = strlen(it->dname);
		int err = errno == EISDIR && f->made && len && it->dname[len - 1] == '/' ? ENOTDIR : errno;

		pfu_fail_target(it, err, "cannot create regular file %q");
	}
	return false;
}

/* ---- data ---- */

/*
 * The PFU_FS_* flags of the file system that the source is on: of each one that is
 * met, for there may be others in a tree and among operands, and what a size of 0
 * means differs.  Asked once a pair; two workers that ask at once get the same.
 */
static unsigned int source_flags(const struct item *it, const struct file *f)
{
	int known = atomic_load_explicit(&f->pair->source, memory_order_relaxed);

	if (known == 0) {
		known = 1 + (int)pfu_fstype_of(it->c->fs, f->in);
		atomic_store_explicit(&f->pair->source, known, memory_order_relaxed);
	}
	return (unsigned int)(known - 1);
}

/* Whether the size of a file says nothing about what can be read from it. */
static bool is_pseudo(unsigned int flags)
{
	return !(flags & (PFU_FS_NETWORK | PFU_FS_HONEST_SIZE));
}

/* Whether reading or writing takes round trips. */
static bool is_network(const struct item *it, const struct file *f)
{
	return (source_flags(it, f) & PFU_FS_NETWORK) ||
	       (it->node ? it->node->network : it->c->target_network);
}

/* Whether the bytes may be copied without coming through here. */
static bool is_offloaded(const struct file *f)
{
	return !f->sums && !atomic_load(&f->pair->no_copy_range);
}

static struct pfu_data data_of(struct item *it, struct file *f)
{
	const struct pfu_copy_options *o = it->c->options;
	bool plain = f->made || S_ISREG(f->before.st_mode);
	unsigned int flags = source_flags(it, f);

	return (struct pfu_data){
		.fs = it->c->fs,
		.in = f->in,
		.out = f->out,
		.size = f->st.st_size,
		.allocated = f->st.st_blocks * 512,
		.honest_size = (flags & PFU_FS_HONEST_SIZE) && S_ISREG(f->st.st_mode),
		.read_to_end = is_pseudo(flags) || !S_ISREG(f->st.st_mode),
		.sparse = plain ? o->sparse : PFU_SPARSE_NEVER,
		.reflink =
			(plain || o->reflink == PFU_REFLINK_ALWAYS) && !f->sums ? o->reflink
									     : PFU_REFLINK_NEVER,
		.pair = f->pair,
		.call_size = is_network(it, f) ? PFU_COPY_CALL_NETWORK : PFU_COPY_CALL,
		.buf_size = is_network(it, f) ? PFU_COPY_BUFFER_NETWORK : PFU_COPY_BUFFER,
		.cancel = o->cancel,
		.moved = &it->l->moved,
		.counter = it->l->counter,
		.rate = o->bwlimit ? &it->c->limits.bytes : NULL,
	};
}

/* Copies a range, or with `to` 0 the whole file, summing what is read if that is wanted. */
static enum pfu_data_failure copy_summed(struct file *f, struct pfu_data *d, off_t from, off_t to)
{
	enum pfu_data_failure failure;
	int err;

	if (f->sums) {
		d->summer = pfu_summer_new(f->sums, from, to ? PFU_PASS_RANGE : PFU_PASS_ALL);
		if (!d->summer)
			return PFU_DATA_READ;
	}
	failure = to ? pfu_copydata_range(d, from, to) : pfu_copydata(d);
	if (!f->sums)
		return failure;
	err = errno;
	if (pfu_summer_end(d->summer, NULL) != 0 && failure == PFU_DATA_OK)
		return PFU_DATA_READ;
	errno = err;
	return failure;
}

static bool data_failed(struct item *it, enum pfu_data_failure failure, int err)
{
	switch (failure) {
	case PFU_DATA_OK:
		return false;
	case PFU_DATA_CANCELLED:
		atomic_store(&it->c->failed, true);
		break;
	case PFU_DATA_CLONE:
		pfu_fail_both(it, err, "failed to clone %q from %q");
		break;
	case PFU_DATA_READ:
		pfu_fail_source(it, err, "error reading %q");
		break;
	case PFU_DATA_WRITE:
		pfu_fail_target(it, err, "error writing %q");
		break;
	case PFU_DATA_COPY:
		pfu_fail_source_first(it, err, "error copying %q to %q");
		break;
	case PFU_DATA_SEEK:
		pfu_fail_source(it, err, "cannot lseek %q");
		break;
	case PFU_DATA_EXTEND:
		pfu_fail_target(it, err, "failed to extend %q");
		break;
	}
	return true;
}

/* The line of --debug on how the data went. */
static void say_how(struct item *it, const struct file *f, const struct pfu_data *d, bool cloned)
{
	bool plain = d->sparse == PFU_SPARSE_AUTO;
	const char *offload = "yes", *reflink = "no", *sparse = "no";

	if (!it->c->options->debug)
		return;
	if (cloned || (d->size == 0 && d->honest_size))
		offload = "unknown";
	else if (!plain || d->read_to_end || f->sums)
		offload = "avoided";
	else if (atomic_load(&f->pair->no_copy_range))
		offload = "unsupported";
	if (cloned)
		reflink = "yes";
	else if (d->reflink != PFU_REFLINK_NEVER && plain && atomic_load(&f->pair->no_clone))
		reflink = "unsupported";
	if (d->sparse == PFU_SPARSE_ALWAYS)
		sparse = "zeros";
	else if (!cloned && pfu_copydata_has_holes(d))
		sparse = "SEEK_HOLE";
	pfu_output(it->c->report, "copy offload: %s, reflink: %s, sparse detection: %s", offload,
		   reflink, sparse);
}

/* ---- the end of a file ---- */

static bool close_target(struct item *it, struct file *f)
{
	int fd = f->out;

	f->out = -1;
	/* Here an error of writing may come up at last (NFS, quotas): one by one. */
	if (it->c->fs->close(fd) == 0)
		return true;
	pfu_fail_target(it, errno, "failed to close %q");
	return false;
}

static bool apply_attributes(struct item *it, struct file *f)
{
	const struct pfu_copy_options *o = it->c->options;
	struct pfu_attrs a;
	struct stat now;

	if (!(o->preserve & ~(unsigned int)PFU_ATTR_LINKS) && !o->no_preserve_mode && !f->omitted)
		return true;
	a = pfu_item_attrs(it, &f->st, f->pair);
	a.in = f->in;
	a.out = f->out;
	a.before = f->made ? NULL : &f->before;
	if (f->replaces && it->c->fs->fstat(f->out, &now) == 0)
		a.before = &now;
	a.omitted = f->omitted;
	if (pfu_attrs_apply(&a))
		return true;
	atomic_store(&it->c->failed, true);
	return false;
}

static void say_nothing(void *ctx, enum pfu_severity severity, int errnum, const char *text)
{
	(void)ctx;
	(void)severity;
	(void)errnum;
	(void)text;
}

/*
 * --atomic: gives the file what is kept of one that is written over: its mode, owner, access
 * control list and extended attributes, as far as they can be had.
 */
static void take_over_attributes(struct item *it, const struct file *f)
{
	struct pfu_copy_options keep = *it->c->options;
	dev_t dev = f->before.st_dev;
	struct pfu_fspair *pair = pfu_fspairs_get(&it->c->pairs, dev, dev);
	static const struct pfu_report silent = { .message = say_nothing };
	struct pfu_attrs a;

	if (!pair)
		return;
	a = pfu_item_attrs(it, &f->before, pair);
	keep.preserve = PFU_ATTR_MODE | PFU_ATTR_OWNERSHIP | PFU_ATTR_XATTR;
	keep.require = 0;
	keep.quiet_attributes = true;
	a.options = &keep;
	a.report = &silent;
	a.source_dir = it->ddir;
	a.source_name = f->place;
	a.source_dirfd = it->dfd;
	a.out = f->out;
	a.owner_is_right = false;
	a.default_acl = true;
	(void)pfu_attrs_apply(&a);
}

/* --atomic: a file that is complete takes its place. */
static bool take_place(struct item *it, struct file *f)
{
	if (pfu_atomic_place_file(it, f->out, f->temporary, f->place, f->replaces) == 0)
		return true;
	pfu_fail_target(it, errno, "cannot create regular file %q");
	return false;
}

/* Reads the copy again, if that is wanted. */
static bool verify(struct item *it, struct file *f)
{
	bool steady = S_ISREG(f->st.st_mode) && !is_pseudo(source_flags(it, f));
	size_t size = is_network(it, f) ? PFU_COPY_BUFFER_NETWORK : PFU_COPY_BUFFER;

	return !f->sums || !it->c->options->verify ||
	       pfu_verify_copy(it, steady ? &f->st : NULL, f->in, f->out, f->sums, size);
}

/* The name that the target has just now. */
static const char *name_of(const struct item *it, const struct file *f)
{
	return f->temporary ? f->temporary : it->dname;
}

/* What has the name of the open target: another process may have put something there. */
enum presence { GONE, OURS, UNKNOWN };

static enum presence look_for(const struct item *it, const struct file *f)
{
	struct stat open, named;

	if (it->c->fs->fstat(f->out, &open) != 0)
		return UNKNOWN;
	if (it->c->fs->fstatat(it->dfd, name_of(it, f), &named, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? GONE : UNKNOWN;
	return open.st_dev == named.st_dev && open.st_ino == named.st_ino ? OURS : GONE;
}

/*
 * Half a file must not be taken for a whole one: a new one goes.  What was said of the failure
 * may have been about the source; and of a signal nothing has been said.
 */
static void deal_with_half(struct item *it, const struct file *f, enum presence presence)
{
	if (f->made && presence == OURS && it->c->fs->unlinkat(it->dfd, name_of(it, f), 0) == 0) {
		if (pfu_local_cancelled(it->l) && !f->temporary)
			pfu_fail_target(it, 0, "removed %q, which was not complete");
		return;
	}
	if (f->temporary)
		return; /* nobody takes it for anything */
	if (f->made ? presence == UNKNOWN || (presence == OURS && errno != ENOENT) :
		      S_ISREG(f->before.st_mode) && !it->c->options->attributes_only)
		pfu_fail_target(it, 0, "%q is not complete");
}

/* Counts a file that has ended. */
static void count_file(struct item *it, struct file *f, bool data_ok, bool ok)
{
	if (!data_ok) {
		pfu_count_take_back(it->l->counter, &f->landed);
		pfu_count(it->l->counter, PFU_COUNT_FOUND_BYTES, -f->found);
	}
	if (ok && it->c->options->dry_run)
		pfu_count(it->l->counter, PFU_COUNT_BYTES, f->found);
	pfu_count_item(it, ok ? PFU_COUNT_FILES : PFU_COUNT_FAILED);
}

/* Ends a file whose data is there, or could not be copied. */
static bool finish(struct item *it, struct file *f, bool data_ok)
{
	/* What is not as it should be does not get the time by which it would pass for a copy. */
	bool verified = data_ok && verify(it, f), ok;
	bool dry = it->c->options->dry_run; /* nothing is there */
	enum presence presence;

	if (verified && f->replaces)
		take_over_attributes(it, f);
	ok = verified && apply_attributes(it, f);
	if (f->temporary)
		data_ok = verified && take_place(it, f);
	ok = ok && data_ok;
	presence = data_ok || dry ? OURS : look_for(it, f);

	close_source(it, f);
	if (!close_target(it, f))
		ok = data_ok = false;
	f->whole = data_ok && f->made;
	if (!data_ok && !dry)
		deal_with_half(it, f, presence);
	if (ok && f->sums)
		pfu_note_checksum(it, f->sums);
	pfu_sums_free(f->sums);
	count_file(it, f, data_ok, ok);
	if (f->first)
		pfu_item_links_done(it, &f->st, ok);
	return ok;
}

/* The kernel may read far ahead.  Where it does the copying there is nothing to read. */
static void expect_order(struct item *it, struct file *f)
{
	if (is_network(it, f) && !is_offloaded(f))
		(void)it->c->fs->fadvise(f->in, 0, 0, POSIX_FADV_SEQUENTIAL);
}

/* ---- several workers on one file ---- */

struct split;

struct helper {
	struct pfu_task task;
	struct split *split;
};

struct split {
	struct item it; /* as the first worker had it, with names of its own */
	char *sname, *dname;
	struct file f;
	bool own_tables;    /* each worker opens the file for itself */
	off_t range, tail;  /* bytes of a range; where the last one begins */
	_Atomic off_t next; /* where the next range begins */

	pthread_mutex_t lock; /* guards the rest */
	unsigned int refs;    /* the first worker and tasks that have not ended */
	unsigned int open;    /* workers that have the file open, */
	unsigned int active;  /* or are about to close it */
	pthread_cond_t left;  /* one has closed it */
	bool done;            /* the last of them has gone */
	struct pfu_landed landed; /* by those who have gone */
	enum pfu_data_failure failure;
	int err;
	struct helper helpers[];
};

static void unref(struct split *s)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	last = --s->refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->left);
	pfu_dir_unref(s->it.sdir);
	pfu_dir_unref(s->it.ddir);
	free(s->sname);
	free(s->dname);
	free(s->f.temporary);
	free(s->f.place);
	free(s);
}

static bool has_failed(struct split *s)
{
	bool failed;

	pthread_mutex_lock(&s->lock);
	failed = s->failure != PFU_DATA_OK;
	pthread_mutex_unlock(&s->lock);
	return failed;
}

static void note_failure(struct split *s, enum pfu_data_failure failure, int err)
{
	pthread_mutex_lock(&s->lock);
	if (s->failure == PFU_DATA_OK) {
		s->failure = failure;
		s->err = err;
	}
	pthread_mutex_unlock(&s->lock);
}

/* Copies ranges until none is left. */
static void copy_ranges(struct split *s, struct item *it, struct file *f)
{
	struct pfu_landed before = pfu_count_landed(it->l->counter);
	struct pfu_data d = data_of(it, f);
	enum pfu_data_failure failure;
	off_t from, to;

	d.buf = pfu_local_iobuf(it->l);
	if (!d.buf) {
		note_failure(s, PFU_DATA_READ, ENOMEM);
		return;
	}
	while (!has_failed(s)) {
		from = atomic_fetch_add(&s->next, s->range);
		if (from >= s->tail)
			break;
		to = from + s->range < s->tail ? from + s->range : s->tail;
		failure = copy_summed(f, &d, from, to);
		pfu_local_did(it->l, (uint64_t)(to - from));
		if (failure != PFU_DATA_OK)
			note_failure(s, failure, errno);
	}
	pfu_landed_add(&f->landed, it->l->counter, &before);
}

/*
 * Whether a failure may be for the order of writing only: object stores that look
 * like file systems take bytes one after the other.
 */
static bool is_about_order(enum pfu_data_failure failure, int err)
{
	return failure == PFU_DATA_WRITE &&
	       (err == EINVAL || err == EOPNOTSUPP || err == ESPIPE || err == ENOSYS);
}

/* Copies all once more, from the first byte to the last. */
static enum pfu_data_failure start_over(struct item *it, struct file *f, struct pfu_data *d)
{
	struct pfu_landed before;
	enum pfu_data_failure failure;

	pfu_count_take_back(it->l->counter, &f->landed);
	atomic_store(&f->pair->no_ranges, true);
	if (it->c->fs->ftruncate(f->out, 0) != 0 || it->c->fs->lseek(f->out, 0, SEEK_SET) != 0)
		return PFU_DATA_WRITE;
	if (it->c->fs->lseek(f->in, 0, SEEK_SET) != 0)
		return PFU_DATA_READ;
	if (f->sums)
		pfu_sums_reset(f->sums);
	before = pfu_count_landed(it->l->counter);
	failure = copy_summed(f, d, 0, 0);
	pfu_landed_add(&f->landed, it->l->counter, &before);
	return failure;
}

/* The last worker copies the last range and does what follows. */
static bool finish_split(struct split *s, struct item *it, struct file *f)
{
	struct pfu_landed before = pfu_count_landed(it->l->counter);
	enum pfu_data_failure failure = s->failure;
	struct pfu_data d = data_of(it, f);
	int err = s->err;

	d.buf = pfu_local_iobuf(it->l);
	if (failure == PFU_DATA_OK) {
		failure = copy_summed(f, &d, s->tail, f->st.st_size);
		if (failure == PFU_DATA_OK)
			failure = pfu_copydata_extend(&d);
		err = errno;
	}
	pfu_landed_add(&s->landed, it->l->counter, &before);
	f->landed = s->landed;
	if (d.buf && is_about_order(failure, err)) {
		failure = start_over(it, f, &d);
		err = errno;
	}
	if (failure == PFU_DATA_OK)
		say_how(it, f, &d, false);
	return finish(it, f, !data_failed(it, failure, err));
}

/*
 * Says that a worker has done its part of the file; true: it is the last, and has the file open
 * yet.  The others have closed it by then, so that what came up at that is known.
 */
static bool leave_split(struct split *s, struct item *it, struct file *f)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	pfu_landed_join(&s->landed, &f->landed);
	last = --s->open == 0;
	s->done = s->done || last;
	if (!last && s->own_tables) {
		pthread_mutex_unlock(&s->lock);
		close_source(it, f);
		if (!close_target(it, f))
			note_failure(s, PFU_DATA_CANCELLED, 0); /* (It has been told.) */
		pthread_mutex_lock(&s->lock);
	}
	s->active--;
	while (last && s->active > 0)
		pthread_cond_wait(&s->left, &s->lock);
	pthread_cond_signal(&s->left);
	pthread_mutex_unlock(&s->lock);
	return last;
}

static bool join_split(struct split *s)
{
	bool joined;

	pthread_mutex_lock(&s->lock);
	joined = !s->done;
	if (joined) {
		s->active++;
		s->open++;
	}
	pthread_mutex_unlock(&s->lock);
	return joined;
}

/* Opens the file once more, in this worker's own table. */
static bool open_again(struct item *it, struct file *f)
{
	struct stat in, out;

	f->in = it->c->fs->openat(it->sfd, it->sname, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	f->out = it->c->fs->openat(it->dfd, name_of(it, f), access_mode(it) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (f->in >= 0 && f->out >= 0 && it->c->fs->fstat(f->in, &in) == 0 &&
		it->c->fs->fstat(f->out, &out) == 0 && in.st_dev == f->st.st_dev &&
		in.st_ino == f->st.st_ino && out.st_dev == f->identity.st_dev &&
		out.st_ino == f->identity.st_ino &&
		(!f->temporary || pfu_atomic_hold(it->c->fs, f->out) == 0))
		return true;
	if (f->in >= 0)
		it->c->fs->close(f->in);
	if (f->out >= 0)
		it->c->fs->close(f->out);
	return false;
}

/* A further worker's part. */
static void help(struct split *s, struct pfu_local *l)
{
	struct pfu_dirfd *sd = NULL, *dd = NULL;
	struct item it = s->it;
	struct file f = s->f;

	it.l = l;
	if (it.sdir)
		sd = pfu_dirfds_get(l->dirfds, it.sdir);
	if (it.ddir)
		dd = pfu_dirfds_get(l->dirfds, it.ddir);
	it.sfd = sd ? sd->fd : AT_FDCWD;
	it.dfd = dd ? dd->fd : AT_FDCWD;
	/* A worker that cannot take part leaves it to those who do. */
	if ((sd || !it.sdir) && (dd || !it.ddir) && (!s->own_tables || open_again(&it, &f))) {
		if (join_split(s)) {
			if (s->own_tables)
				expect_order(&it, &f);
			copy_ranges(s, &it, &f);
			if (leave_split(s, &it, &f))
				(void)finish_split(s, &it, &f);
		} else if (s->own_tables) {
			pfu_closer_add(&l->closer, f.in);
			pfu_closer_add(&l->closer, f.out);
		}
	}
	if (sd)
		pfu_dirfds_put(l->dirfds, sd);
	if (dd)
		pfu_dirfds_put(l->dirfds, dd);
}

static void run_helper(struct pfu_worker *worker, struct pfu_task *task)
{
	struct split *s = ((struct helper *)task)->split;

	help(s, pfu_local(worker));
	unref(s);
}

static off_t range_of(const struct item *it, const struct file *f)
{
	off_t range = RANGE_LOCAL;

	/* A server that copies by itself does so in large pieces; many small ones are but round trips. */
	if (is_network(it, f))
		range = is_offloaded(f) ? RANGE_SERVER : RANGE_NETWORK;
	return f->sums && range < pfu_sums_block(f->sums) ? pfu_sums_block(f->sums) : range;
}

/* Makes ready to copy from `begin` on with so many helpers. */
static struct split *split_new(struct item *it, struct file *f, off_t begin, unsigned int helpers)
{
	struct split *s = calloc(1, sizeof(*s) + helpers * sizeof(struct helper));

	if (!s)
		return NULL;
	s->sname = strdup(it->sname);
	s->dname = strdup(it->dname);
	s->f = *f;
	s->f.temporary = f->temporary ? strdup(f->temporary) : NULL;
	s->f.place = f->place ? strdup(f->place) : NULL;
	if (!s->sname || !s->dname || !s->f.temporary != !f->temporary || !s->f.place != !f->place) {
		free(s->sname);
		free(s->dname);
		free(s->f.temporary);
		free(s->f.place);
		free(s);
		return NULL;
	}
	s->it = *it;
	s->it.sname = s->sname;
	s->it.dname = s->dname;
	if (it->sdir)
		pfu_dir_ref(it->sdir);
	if (it->ddir)
		pfu_dir_ref(it->ddir);
	/* What has been counted before is one part among those of all workers. */
	s->landed = f->landed;
	s->f.landed = f->landed = (struct pfu_landed){ { 0 } };
	s->own_tables = it->l->own_table;
	atomic_init(&s->next, begin);
	s->range = range_of(it, f);
	s->tail = f->st.st_size - TAIL;
	if (f->sums)
		s->tail -= s->tail % pfu_sums_block(f->sums);
	s->refs = 1 + helpers;
	s->active = s->open = 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->left, NULL);
	return s;
}

/* How many further workers can have a range of what follows `begin`, just now. */
static unsigned int helpers_for(struct item *it, const struct file *f, off_t begin)
{
	off_t ranges = (f->st.st_size - begin) / range_of(it, f);
	unsigned int hungry;

	/* The digest of a whole file takes its bytes in order: those read again, or all by one worker. */
	if (ranges < 2 || f->alone || (it->c->options->checksums && !it->c->options->verify) || atomic_load(&f->pair->no_ranges) || !S_ISREG(f->st.st_mode) || pfu_item_follows(it) ||
		is_pseudo(source_flags(it, f)) ||
		it->c->options->sparse != PFU_SPARSE_AUTO ||
		(!f->made && !S_ISREG(f->before.st_mode)))
		return 0;
	hungry = pfu_pool_hungry(pfu_walk_pool(it->c->walk));
	return (off_t)hungry < ranges - 1 ? hungry : (unsigned int)(ranges - 1);
}

/* Copies from `begin` on with the help of others.  The file is finished by whoever is last. */
static bool copy_split(struct item *it, struct file *f, off_t begin, unsigned int n)
{
	struct pfu_group *group = it->node ? &it->node->node.group : pfu_walk_root(it->c->walk);
	struct split *s;
	struct stat out;
	unsigned int i;
	bool ok = true;

	/* So that the others can tell whether they have opened the same. */
	if (it->c->fs->fstat(f->out, &out) != 0)
		return finish(it, f, !data_failed(it, PFU_DATA_WRITE, errno));
	f->identity = out;
	s = split_new(it, f, begin, n);
	if (!s)
		return finish(it, f, !data_failed(it, PFU_DATA_READ, ENOMEM));
	if (it->node)
		pfu_walk_share(it->l, &it->node->node);
	expect_order(it, f);
	for (i = 0; i < n; i++) {
		s->helpers[i] = (struct helper){
			.task = {.run = run_helper,
				.group = group,
				.bytes = sizeof(*s),
				.work = 64},
			.split = s,
		};
		s->helpers[i].task.next = i + 1 < n ? &s->helpers[i + 1].task : NULL;
	}
	if (n > 0)
		pfu_pool_submit(pfu_walk_pool(it->c->walk), &s->helpers[0].task);
	copy_ranges(s, it, f);
	if (leave_split(s, it, f))
		ok = finish_split(s, it, f);
	else
		it->counted = true; /* by the last one */
	unref(s);
	return ok;
}

/* Copies all with this worker alone. */
static enum pfu_data_failure copy_alone(struct item *it, struct file *f, struct pfu_data *d)
{
	d->buf = pfu_local_iobuf(it->l);
	if (!d->buf) {
		errno = ENOMEM;
		return PFU_DATA_READ;
	}
	if (d->size >= LARGE)
		expect_order(it, f);
	return copy_summed(f, d, 0, 0);
}

/*
 * Copies a first piece by which is known whether the file systems copy by
 * themselves, where it depends on that how the rest is divided.  *begin: where the
 * rest begins.
 */
static enum pfu_data_failure copy_first(struct item *it, struct file *f, struct pfu_data *d,
	off_t *begin)
{
	*begin = 0;
	if (!is_network(it, f) || !is_offloaded(f) || f->st.st_size < 2 * RANGE_NETWORK)
		return PFU_DATA_OK;
	d->buf = pfu_local_iobuf(it->l);
	if (!d->buf) {
		errno = ENOMEM;
		return PFU_DATA_READ;
	}
	*begin = RANGE_NETWORK;
	return pfu_copydata_range(d, 0, *begin);
}

/* Copies data that is there to be copied, and finishes the file. */
static bool copy_and_finish(struct item *it, struct file *f)
{
	enum pfu_data_failure failure;
	struct pfu_landed before = pfu_count_landed(it->l->counter);
	struct pfu_data d;
	bool done;
	off_t begin = 0;

	if (pfu_wants_sums(it->c) && (f->made || S_ISREG(f->before.st_mode))) {
		f->sums = pfu_sums_new(f->st.st_size, it->c->options->checksums);
		if (!f->sums)
			return finish(it, f, !data_failed(it, PFU_DATA_READ, errno));
	}
	d = data_of(it, f);
	failure = pfu_copydata_clone(&d, &done);
	if (failure == PFU_DATA_OK && !done) {
		if (helpers_for(it, f, 0) > 0) {
			failure = copy_first(it, f, &d, &begin);
			pfu_landed_add(&f->landed, it->l->counter, &before);
			before = pfu_count_landed(it->l->counter);
			if (failure == PFU_DATA_OK)
				return copy_split(it, f, begin, helpers_for(it, f, begin));
		} else {
			failure = copy_alone(it, f, &d);
		}
	}
	if (failure == PFU_DATA_OK)
		say_how(it, f, &d, done);
	pfu_landed_add(&f->landed, it->l->counter, &before);
	return finish(it, f, !data_failed(it, failure, errno));
}

static dev_t target_dev(struct item *it, const struct file *f)
{
	struct stat st;

	if (!f->made)
		return f->before.st_dev;
	if (it->node)
		return it->node->target_dev;
	if (it->c->directory && !it->c->options->parents)
		return it->c->directory_st.st_dev;
	return it->c->fs->fstat(f->out, &st) == 0 ? st.st_dev : 0;
}

static enum outcome copy_opened(struct item *it, const struct stat *known, struct target *t,
				 bool first, bool alone)
{
	struct file f = { .in = -1, .out = -1, .first = first, .alone = alone };
	enum outcome outcome;
	dev_t dev;
	bool ok;

	if (known)
		f.st = *known; /* so that those who wait for it can be told, whatever happens */
	outcome = prepare_source(it, known, &f);

	if (outcome == GO_ON && !known) {
		outcome = pfu_link_to_copy(it, &f.st, NULL, &f.first);
		if (outcome == COPIED)
			pfu_count_item(it, PFU_COUNT_LINKS);
		if (outcome != PARKED)
			pfu_say_copied(it, NULL);
		if (outcome != GO_ON) {
			close_source(it, &f);
			return outcome;
		}
	}
	if (outcome == GO_ON && !open_target(it, &f, t))
		outcome = FAILED;
	if (outcome != GO_ON) {
		free(f.place);
		close_source(it, &f);
		if (f.first)
			pfu_item_links_done(it, &f.st, false);
		return outcome;
	}
	if (S_ISREG(f.st.st_mode) && !it->c->options->attributes_only)
		f.found = f.st.st_size;
	pfu_count(it->l->counter, PFU_COUNT_FOUND_BYTES, f.found);
	if (t && !f.made)
		f.before = t->st;
	dev = target_dev(it, &f);
	if (!f.made || !it->node) /* it may be reached by a link */
		pfu_sync_note(it, dev);
	f.pair = pfu_fspairs_get(&it->c->pairs, f.st.st_dev, dev);
	if (!f.pair)
		ok = finish(it, &f, !data_failed(it, PFU_DATA_READ, ENOMEM));
	else if (it->c->options->attributes_only || it->c->options->dry_run)
		ok = finish(it, &f, true);
	else
		ok = copy_and_finish(it, &f);
	if (t)
		t->ours = f.whole;
	free(f.temporary);
	free(f.place);
	return ok ? COPIED : FAILED;
}

enum outcome pfu_copy_file(struct item *it, const struct stat *known, struct target *t, bool first)
{
	enum outcome outcome;
	bool shared = t && !t->is_new && t->st.st_nlink > 1;

	/* A target with other names may be another source's target, too: one after the other. */
	if (shared)
		pthread_mutex_lock(&it->c->many_names);
	outcome = copy_opened(it, known, t, first, shared);
	if (shared)
		pthread_mutex_unlock(&it->c->many_names);
	return outcome;
}
