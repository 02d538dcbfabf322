/*
 * copyverify.c - --verify and --checksum-file: what is summed of a file while it is
 * copied, and what is done with the sums once it has been.
 */
#include "copying.h"

#include <errno.h>
#include <pfu/verify.h>
#include <stdio.h>
#include <stdlib.h>

bool pfu_wants_sums(const struct copying *c)
{
	return c->options->verify || c->options->checksums;
}

/* Whether the source is still what it was when it was opened. */
static bool is_source_same(struct item *it, const struct stat *st, int in)
{
	struct stat now;

	if (it->c->fs->fstat(in, &now) != 0) {
		pfu_fail_source(it, errno, "cannot fstat %q");
		return false;
	}
	if (now.st_size == st->st_size && now.st_mtim.tv_sec == st->st_mtim.tv_sec &&
		now.st_mtim.tv_nsec == st->st_mtim.tv_nsec)
		return true;
	pfu_fail_source(it, 0, "file %q changed while it was copied");
	return false;
}

static void fail_differs(struct item *it, off_t offset)
{
	char *source = pfu_item_source(it), *target = pfu_item_target(it), at[32];

	snprintf(at, sizeof(at), "%lld", (long long)offset);
	atomic_store(&it->c->failed, true);
	pfu_message(it->c->report, PFU_ERROR, 0, "%q differs from %q at byte %s",
		target ? target : it->dname, source ? source : it->sname, at);
	free(source);
	free(target);
}

bool pfu_verify_copy(struct item *it, const struct stat *st, int in, int out, struct pfu_sums *sums,
	size_t buf_size)
{
	struct pfu_verify v = {
		.fs = it->c->fs,
		.source = in,
		.target = out,
		.sums = sums,
		.buf = pfu_local_iobuf(it->l),
		.buf_size = buf_size,
		.cancel = it->c->options->cancel,
	};
	enum pfu_verified verdict = PFU_VERIFY_READ;

	errno = ENOMEM;
	if (v.buf)
		verdict = pfu_verify(&v);
	switch (verdict) {
	case PFU_VERIFY_SAME:
		return !st || is_source_same(it, st, in);
	case PFU_VERIFY_CANCELLED:
		atomic_store(&it->c->failed, true);
		break;
	case PFU_VERIFY_DIFFERS:
		if (!st || is_source_same(it, st, in))
			fail_differs(it, v.offset);
		break;
	case PFU_VERIFY_WRITE:
		pfu_fail_target(it, errno, "error writing %q");
		break;
	case PFU_VERIFY_READ:
		pfu_fail_target(it, errno, "error reading %q");
		break;
	}
	return false;
}

void pfu_note_checksum(struct item *it, const struct pfu_sums *sums)
{
	const struct pfu_checksums *to = it->c->options->checksums;
	char digest[PFU_DIGEST_SIZE], *target;

	if (!to || !pfu_sums_digest(sums, digest))
		return;
	target = pfu_item_target(it);
	if (target)
		to->add(to->ctx, digest, target);
	else
		pfu_fail_target(it, ENOMEM, "cannot write the checksum of %q");
	free(target);
}
