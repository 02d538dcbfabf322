/*
 * fsbench-cephfs.c - the back end for CephFS through libcephfs: no kernel, no mount point, and so
 * none of the locks that the kernel holds over a directory while it waits for the server.
 *
 * A mount is a client of the cluster with its own cache and its own connections.
 *
 * The client's counters come from its admin socket, which every version of libcephfs has; it is
 * put into a directory of our own, where nobody else's can be in the way.
 */
#include "fsbench-backend.h"

#include <arpa/inet.h>
#include <cephfs/libcephfs.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct fsb_mount {
	struct ceph_mount_info *ceph;
	char socket_dir[64]; /* empty unless counters are wanted */
	char socket_path[80];
};

/* ---- Mounting ---- */

static int set(struct fsb_mount *m, const char *option, const char *value)
{
	return value ? ceph_conf_set(m->ceph, option, value) : 0;
}

static int place_socket(struct fsb_mount *m)
{
	snprintf(m->socket_dir, sizeof(m->socket_dir), "/tmp/fsbench-XXXXXX");
	if (!mkdtemp(m->socket_dir)) {
		m->socket_dir[0] = '\0';
		return -errno;
	}
	snprintf(m->socket_path, sizeof(m->socket_path), "%s/asok", m->socket_dir);
	return set(m, "admin_socket", m->socket_path);
}

static void remove_socket(const struct fsb_mount *m)
{
	if (!m->socket_dir[0])
		return;
	(void)unlink(m->socket_path); /* the client has done so, if it ended well */
	(void)rmdir(m->socket_dir);
}

/* Options on the command line win over CEPH_ARGS, and these over the file. */
static int configure(struct fsb_mount *m, const struct fsb_target *target, const char **what)
{
	int error;

	*what = target->conf ? "read the configuration (--conf) for"
			     : "find a configuration (--conf) for";
	if ((error = ceph_conf_read_file(m->ceph, target->conf)) < 0)
		return error;
	*what = "use CEPH_ARGS for";
	if ((error = ceph_conf_parse_env(m->ceph, NULL)) < 0)
		return error;
	*what = "use --keyring for";
	if ((error = set(m, "keyring", target->keyring)) < 0)
		return error;
	*what = "use --client-oc for";
	if ((error = set(m, "client_oc", target->client_oc)) < 0)
		return error;
	*what = "use --client-oc-size for";
	if ((error = set(m, "client_oc_size", target->client_oc_size)) < 0)
		return error;
	*what = "make an admin socket for";
	return target->counters ? place_socket(m) : 0;
}

/* Whom the client acts as; must be set between ceph_init() and ceph_mount(). */
static int become(struct fsb_mount *m, const struct fsb_target *target)
{
	uid_t uid = target->uid < 0 ? getuid() : (uid_t)target->uid;
	gid_t gid = target->gid < 0 ? getgid() : (gid_t)target->gid;
	UserPerm *perm;
	int error;

	if (target->uid < 0 && target->gid < 0)
		return 0;
	perm = ceph_userperm_new(uid, gid, 0, NULL);
	if (!perm)
		return -ENOMEM;
	error = ceph_mount_perms_set(m->ceph, perm);
	ceph_userperm_destroy(perm);
	return error;
}

static int attach(struct fsb_mount *m, const struct fsb_target *target, const char **what)
{
	int error = configure(m, target, what);

	if (error < 0)
		return error;
	*what = "start a client for";
	if ((error = ceph_init(m->ceph)) < 0)
		return error;
	*what = "use --filesystem for";
	if (target->filesystem && (error = ceph_select_filesystem(m->ceph, target->filesystem)) < 0)
		return error;
	*what = "use --uid and --gid for";
	if ((error = become(m, target)) < 0)
		return error;
	*what = "mount";
	return ceph_mount(m->ceph, target->root);
}

static int cephfs_mount(
	const struct fsb_target *target, bool alone, struct fsb_mount **mount, const char **what)
{
	struct fsb_mount *m = calloc(1, sizeof(*m));
	int error;

	(void)alone; /* every client has its own threads already */
	*what = "start a client for";
	if (!m)
		return -ENOMEM;
	error = ceph_create(&m->ceph, target->id ? target->id : "admin");
	if (error == 0) {
		error = attach(m, target, what);
		if (error < 0)
			ceph_release(m->ceph);
	}
	if (error < 0) {
		remove_socket(m);
		free(m);
		return error;
	}
	*mount = m;
	return 0;
}

static int cephfs_unmount(struct fsb_mount *mount)
{
	int error = ceph_unmount(mount->ceph);
	int released = ceph_release(mount->ceph);

	remove_socket(mount);
	free(mount);
	return error < 0 ? error : released;
}

/* ---- Files ---- */

static int cephfs_create(struct fsb_mount *mount, const char *path)
{
	return ceph_open(mount->ceph, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
}

static int cephfs_open(struct fsb_mount *mount, const char *path)
{
	return ceph_open(mount->ceph, path, O_RDONLY, 0);
}

static ssize_t cephfs_write(
	struct fsb_mount *mount, int fd, const void *data, size_t size, off_t at)
{
	return ceph_write(mount->ceph, fd, data, (int64_t)size, at);
}

static ssize_t cephfs_read(struct fsb_mount *mount, int fd, void *data, size_t size, off_t at)
{
	return ceph_read(mount->ceph, fd, data, (int64_t)size, at);
}

static int cephfs_fsync(struct fsb_mount *mount, int fd)
{
	return ceph_fsync(mount->ceph, fd, 0);
}

static int cephfs_close(struct fsb_mount *mount, int fd)
{
	return ceph_close(mount->ceph, fd);
}

static int cephfs_stat(struct fsb_mount *mount, const char *path)
{
	struct ceph_statx stx;

	return ceph_statx(mount->ceph, path, &stx, CEPH_STATX_BASIC_STATS, AT_SYMLINK_NOFOLLOW);
}

static int cephfs_unlink(struct fsb_mount *mount, const char *path)
{
	return ceph_unlink(mount->ceph, path);
}

static int cephfs_mkdir(struct fsb_mount *mount, const char *path)
{
	return ceph_mkdir(mount->ceph, path, 0777);
}

static int cephfs_rmdir(struct fsb_mount *mount, const char *path)
{
	return ceph_rmdir(mount->ceph, path);
}

/* ---- Counters ---- */

static int connect_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int receive(int fd, void *to, size_t size)
{
	ssize_t n;

	for (char *at = to; size > 0; at += n, size -= (size_t)n) {
		n = read(fd, at, size);
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
	}
	return 0;
}

/* The admin socket's protocol: a request ended by NUL; a length, big endian, and as many bytes. */
static int ask(int fd, char **json)
{
	static const char request[] = "{\"prefix\": \"perf dump\"}";
	uint32_t length;
	int error;

	if (write(fd, request, sizeof(request)) != sizeof(request))
		return -EPIPE;
	error = receive(fd, &length, sizeof(length));
	if (error < 0)
		return error;
	length = ntohl(length);
	*json = malloc((size_t)length + 1);
	if (!*json)
		return -ENOMEM;
	(*json)[length] = '\0';
	error = receive(fd, *json, length);
	if (error < 0)
		free(*json);
	return error;
}

static int cephfs_counters(struct fsb_mount *mount, char **json)
{
	int fd = connect_socket(mount->socket_path), error;

	if (fd < 0)
		return fd;
	error = ask(fd, json);
	close(fd); /* nothing of ours is in it */
	return error;
}

const struct fsb_backend fsb_cephfs = {
	.name = "cephfs",
	.mount = cephfs_mount,
	.unmount = cephfs_unmount,
	.create = cephfs_create,
	.open = cephfs_open,
	.write = cephfs_write,
	.read = cephfs_read,
	.fsync = cephfs_fsync,
	.close = cephfs_close,
	.stat = cephfs_stat,
	.unlink = cephfs_unlink,
	.mkdir = cephfs_mkdir,
	.rmdir = cephfs_rmdir,
	.counters = cephfs_counters,
};
