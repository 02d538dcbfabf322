"""Which faults each call may meet: the errors that its manual page names, and what else.

A row is CALL (as tests/tools/faultshim.c knows it): errors of the section ERRORS of its page in section 2 or 3
of the manual.  Those of a page that describes several calls (stat, chmod, ...) are all there, since file systems
and security modules return what they like.  EFAULT is the only one left out: it is about pointers.
"""

# What the pages do not name, and yet comes from file systems, networks and sandboxes.
ANYWHERE = "EIO EINTR ENOSYS ESTALE ETIMEDOUT"

CALLS = {
    # open(2): also of O_TMPFILE, O_DIRECT, which nobody may use
    "openat": "EACCES EBADF EBUSY EDQUOT EEXIST EFBIG EINVAL EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENODEV ENOENT "
              "ENOMEM ENOSPC ENOTDIR ENXIO EOPNOTSUPP EOVERFLOW EPERM EROFS ETXTBSY EAGAIN",
    "openat2": "E2BIG EAGAIN EINVAL ELOOP EXDEV",                                           # openat2(2)
    "close": "EBADF EDQUOT ENOSPC",                                                         # close(2)
    "close_range": "EINVAL EMFILE ENOMEM EPERM",                                            # close_range(2)
    "fstat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOVERFLOW",      # stat(2)
    "fstatat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOVERFLOW",
    "statx": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM",          # statx(2)
    "getdents64": "EBADF EINVAL ENOENT ENOTDIR",                                            # getdents(2)
    "read": "EAGAIN EBADF EINVAL EISDIR",                                                   # read(2)
    "pread": "EAGAIN EBADF EINVAL EISDIR ENXIO EOVERFLOW ESPIPE",                           # pread(2)
    "write": "EAGAIN EBADF EDQUOT EFBIG EINVAL ENOSPC EPERM EPIPE",                         # write(2)
    "pwrite": "EAGAIN EBADF EDQUOT EFBIG EINVAL ENOSPC EPERM EPIPE ENXIO EOVERFLOW ESPIPE",
    "copy_file_range": "EBADF EFBIG EINVAL EISDIR ENOMEM ENOSPC EOPNOTSUPP EOVERFLOW EPERM ETXTBSY EXDEV "
                       "EACCES EAGAIN ENOENT EDQUOT",       # copy_file_range(2); case b3 names the last four
    "ficlone": "EBADF EINVAL EISDIR EOPNOTSUPP EPERM ETXTBSY EXDEV EAGAIN ENOSPC EDQUOT ENOTTY",  # ioctl_ficlone(2); b6
    "lseek": "EBADF EINVAL ENXIO EOVERFLOW ESPIPE",                                         # lseek(2)
    "ftruncate": "EACCES EBADF EFBIG EINVAL EISDIR ELOOP ENAMETOOLONG ENOENT ENOTDIR EPERM EROFS ETXTBSY ENOSPC",
    "fallocate": "EBADF EFBIG EINVAL ENODEV ENOSPC EOPNOTSUPP EPERM ESPIPE ETXTBSY",        # fallocate(2)
    "fadvise": "EBADF EINVAL ESPIPE",                                                       # posix_fadvise(2)
    "statfs": "EACCES EBADF ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOVERFLOW",            # statfs(2)
    "unlinkat": "EACCES EBADF EBUSY EINVAL EISDIR ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM EROFS ENOSPC",
    "rmdir": "EACCES EBADF EBUSY EEXIST EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR ENOTEMPTY EPERM EROFS",
    "mkdirat": "EACCES EBADF EDQUOT EEXIST EINVAL ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS",
    "mknodat": "EACCES EBADF EDQUOT EEXIST EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS",
    "symlinkat": "EACCES EBADF EDQUOT EEXIST ELOOP ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS",
    "linkat": "EACCES EBADF EDQUOT EEXIST EINVAL ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS "
              "EXDEV EOPNOTSUPP",
    "readlinkat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR",           # readlink(2)
    "renameat": "EACCES EBADF EBUSY EDQUOT EEXIST EINVAL EISDIR ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR "
                "ENOTEMPTY EPERM EROFS EXDEV",
    "fchmod": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOPNOTSUPP EPERM EROFS",    # chmod(2)
    "fchmodat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOPNOTSUPP EPERM EROFS",
    "fchmodat2": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOPNOTSUPP EPERM EROFS",
    "fchown": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM EROFS",   # chown(2)
    "fchownat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM EROFS",
    "futimens": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOTDIR EPERM EROFS ESRCH",  # utimensat(2)
    "utimensat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOTDIR EPERM EROFS ESRCH",
    "flistxattr": "E2BIG EOPNOTSUPP ERANGE EACCES",                                         # listxattr(2), stat(2)
    "fgetxattr": "E2BIG ENODATA EOPNOTSUPP ERANGE EACCES EPERM",                            # getxattr(2)
    "fsetxattr": "EDQUOT EEXIST ENODATA ENOSPC EOPNOTSUPP EPERM ERANGE EACCES EROFS",       # setxattr(2)
    "fremovexattr": "ENODATA EOPNOTSUPP EACCES EPERM EROFS",                                # removexattr(2)
    "faccessat": "EACCES EBADF EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM EROFS ETXTBSY",    # access(2)
    "fsync": "EBADF EDQUOT EINVAL ENOSPC EROFS",                                            # fsync(2)
    "syncfs": "EBADF EDQUOT ENOSPC",                                                        # sync(2)
    "unshare": "EINVAL ENOMEM ENOSPC EPERM EUSERS",                                         # unshare(2)
    "setrlimit": "EINVAL EPERM",                                                            # getrlimit(2)
    "pthread_create": "EAGAIN EINVAL EPERM",                                                # pthread_create(3)
    "malloc": "ENOMEM",                                                                     # malloc(3)
}

# These return their error and have no others than their pages say, or cannot be interrupted.
PURE = {"malloc", "pthread_create", "setrlimit"}

# What is no error, but not what was asked for either.
# "zero" is not done to read and pread (the file ended: what shrinks while it is copied ends there, as in cp), to
# getdents64 (the directory ended) and readlinkat: nobody could tell it from the truth.
OTHER = {
    "read": ["short=1", "short=1000", "short=100,then=EIO"],
    "pread": ["short=1", "short=1000", "short=100,then=EIO"],
    "write": ["short=1", "short=1000", "short=100,then=ENOSPC", "zero"],
    "pwrite": ["short=1", "short=1000", "short=100,then=ENOSPC", "zero"],
    "copy_file_range": ["short=1", "short=1000", "short=100,then=ENOSPC", "short=100,then=EXDEV", "short=100,then=EIO",
                        "zero"],
    "lseek": ["zero"],
}

# A server that did what it was asked for and could not say so: the call is made, and fails.
LOST = {
    "unlinkat": "EIO ENOENT", "rmdir": "EIO ENOENT", "renameat": "EIO", "mkdirat": "EIO EEXIST",
    "symlinkat": "EIO EEXIST", "linkat": "EIO EEXIST", "mknodat": "EIO EEXIST", "ftruncate": "EIO", "fchmod": "EIO",
    "futimens": "EIO", "fsetxattr": "EIO",
}

# Not for ever: who is interrupted, or told to try again, does.
TEMPORARY = {"EINTR", "short=1"}


def faults(call, count):
    """All rules for a call that a run makes COUNT times, as text for FAULT."""
    name, _, field = call.partition(":")
    field = ":" + field if field else ""
    errors = CALLS[name].split()
    if name not in PURE:
        errors += [e for e in ANYWHERE.split() if e not in errors]
    actions = errors + OTHER.get(name, [])
    if name == "malloc":
        places = sorted({n for n in [*range(1, 13), 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500]
                         if n < count} | {count})
        return [f"malloc:ENOMEM:{n}" for n in places] + [f"malloc:ENOMEM:{n}+" for n in places]
    places = sorted({n for n in (1, 2, 10) if n < count} | {count})
    rules = []
    for action in actions:
        rules += [f"{name}:{action}{field}:{n}" for n in places]
        if count > 1 and action not in TEMPORARY:
            rules.append(f"{name}:{action}{field}:all")
            if count > 4:
                rules.append(f"{name}:{action}{field}:3+")
        if ",then=" in action:
            rules = [r for r in rules if not r.startswith(f"{name}:{action}")]
            rules += [f"{name}:{action}{field}:{n}+" for n in places]
    for error in LOST.get(name, "").split():
        rules += [f"{name}:{error}{field}:after:{n}" for n in places]
    return rules
