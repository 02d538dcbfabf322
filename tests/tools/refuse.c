/*
 * refuse: runs a program whose kernel refuses some system calls, as a container's seccomp filter or an
 * old kernel does.
 *
 *	refuse ERRNO NAME[,NAME...] program [argument...]
 *
 * ERRNO is ENOSYS or EPERM; NAME is one of the calls in the table below.  Unlike faultshim, which sees
 * what a program asks of the C library, this also strikes the calls that the C library makes inside itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{ "statx", SYS_statx },
	{ "openat2", SYS_openat2 },
	{ "close_range", SYS_close_range },
	{ "faccessat2", SYS_faccessat2 },
	{ "fchmodat2", 452 },
	{ "copy_file_range", SYS_copy_file_range },
	{ "renameat2", SYS_renameat2 },
	{ "clone3", SYS_clone3 },
	{ "rseq", SYS_rseq },
	{ "getrandom", SYS_getrandom },
	{ "unshare", SYS_unshare },
	{ "fadvise64", SYS_fadvise64 },
	{ "fallocate", SYS_fallocate },
	{ "sched_getaffinity", SYS_sched_getaffinity },
	{ "prlimit64", SYS_prlimit64 },
	{ "syncfs", SYS_syncfs },
};

enum { MOST = sizeof(calls) / sizeof(calls[0]) };

static unsigned number_of(const char *name)
{
	for (size_t i = 0; i < MOST; i++) {
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	}
	fprintf(stderr, "refuse: unknown call '%s'\n", name);
	exit(125);
}

int main(int argc, char **argv)
{
	/* One load, two instructions for each call, one that allows the rest. */
	struct sock_filter filter[2 + 2 * MOST];
	struct sock_fprog program = { .filter = filter };
	unsigned short n = 0;
	unsigned error;

	if (argc < 4) {
		fprintf(stderr, "usage: refuse ENOSYS|EPERM NAME[,NAME...] program [argument...]\n");
		return 125;
	}
	error = strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (char *name = strtok(argv[2], ","); name != NULL; name = strtok(NULL, ",")) {
		if (n > 2 * MOST) {
			fprintf(stderr, "refuse: too many calls\n");
			return 125;
		}
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(name), 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("refuse: seccomp");
		return 125;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 125;
}
