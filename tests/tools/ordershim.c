/*
 * ordershim: an LD_PRELOAD library under which a program that works on a directory's entries in
 * the order of their inode numbers, as GNU cp does, takes them in another order.
 *
 *	LD_PRELOAD=build/tests/ordershim.so LIST_ORDER=KINDN program...
 *
 * N is a number: each has an order of its own.  KIND is nothing, or "f" to have files before
 * directories, or "d" for the other way round.
 */
#undef _FILE_OFFSET_BITS /* with it readdir() is readdir64(), which is here as well */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

/* The number that the entry gets in place of its inode's. */
static uint64_t place(const char *name, unsigned char type)
{
	const char *order = getenv("LIST_ORDER"), *s;
	uint64_t h = 14695981039346656037ULL; /* FNV-1a, then mixed: similar names are to part */

	if (!order)
		order = "";
	for (s = order; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ULL;
	for (s = name; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ULL;
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	h = (h ^ h >> 33) >> 2 | 1;
	if ((order[0] == 'f' && type == DT_DIR) || (order[0] == 'd' && type != DT_DIR))
		h |= 1ULL << 62;
	return h;
}

struct dirent *readdir(DIR *dir)
{
	struct dirent *(*real)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
	struct dirent *e = real(dir);

	if (e)
		e->d_ino = place(e->d_name, e->d_type);
	return e;
}

struct dirent64 *readdir64(DIR *dir)
{
	struct dirent64 *(*real)(DIR *) =
		(struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
	struct dirent64 *e = real(dir);

	if (e)
		e->d_ino = place(e->d_name, e->d_type);
	return e;
}
