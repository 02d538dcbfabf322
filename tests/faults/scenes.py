"""What is run: small trees, each with an option or two that bring further calls into play."""
import errno
import os

BIG = 96 << 20              # three times RANGE_LOCAL of src/lib/copyfile.c: divided among workers
OLD = 10**18                # when everything was last changed, in ns


def write(path, text, mode=0o644):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, text)
    os.fchmod(fd, mode)
    os.close(fd)


def aged(top):
    """Gives all below and TOP itself times of their own, directories last."""
    n = 0
    for path, dirs, files in os.walk(top, topdown=False):
        for name in files + [d for d in dirs if os.path.islink(os.path.join(path, d))]:
            n += 1
            os.utime(os.path.join(path, name), ns=(OLD, OLD + n * 1000000007), follow_symlinks=False)
        n += 1
        os.utime(path, ns=(OLD, OLD + n * 1000000007))


def small(top):
    """15 files and 4 directories."""
    os.makedirs(top + "/a/b")
    os.mkdir(top + "/empty")
    for i in range(3):
        write(f"{top}/f{i}", b"%d" % i * (100 + 5000 * i))
    write(f"{top}/none", b"")
    write(f"{top}/ro", b"read only", 0o444)
    write(f"{top}/run", b"#!/bin/sh\n", 0o755)
    for i in range(5):
        write(f"{top}/a/g{i}", b"g%d" % i * 70)
    for i in range(4):
        write(f"{top}/a/b/h{i}", b"h%d" % i * 7)
    os.chmod(top + "/a/b", 0o750)
    aged(top)


def wide(top):
    """Work enough that threads are started: 4 directories of 10 files."""
    for i in range(4):
        os.makedirs(f"{top}/d{i}/e")
        for j in range(10):
            write(f"{top}/d{i}/f{j}", b"%d.%d" % (i, j) * 50)
        write(f"{top}/d{i}/e/last", b"x%d" % i)
    aged(top)


def acl(entries):
    """The value of system.posix_acl_access with these (tag, permissions, id)."""
    return (2).to_bytes(4, "little") + b"".join(
        t.to_bytes(2, "little") + p.to_bytes(2, "little") + i.to_bytes(4, "little") for t, p, i in entries)


def attribute(path, name, value):
    """Sets an extended attribute where the file system has any (tmpfs: from Linux 6.6 on)."""
    try:
        os.setxattr(path, name, value)
    except OSError as e:
        if e.errno != errno.EOPNOTSUPP:
            raise


def full(top):
    """Everything that -a keeps."""
    small(top)
    os.symlink("f1", top + "/link")
    os.symlink("nowhere", top + "/a/dangling")
    os.mkfifo(top + "/fifo", 0o640)
    os.link(top + "/f1", top + "/a/hard")
    os.link(top + "/a/g1", top + "/a/b/hard")
    os.link(top + "/a/g1", top + "/hard")
    attribute(top + "/f2", "user.one", b"1")
    attribute(top + "/f2", "user.two", b"2" * 2000)
    attribute(top + "/a", "user.dir", b"d")
    nobody = 0xffffffff
    attribute(top + "/a/g2", "system.posix_acl_access",
              acl([(1, 6, nobody), (2, 4, 33), (4, 0, nobody), (16, 4, nobody), (32, 0, nobody)]))
    attribute(top + "/a/b", "system.posix_acl_default",
              acl([(1, 7, nobody), (2, 5, 33), (4, 5, nobody), (16, 5, nobody), (32, 0, nobody)]))
    holes(top + "/holes", 1 << 20, (0, 500000))
    if os.geteuid() == 0:
        os.chown(top + "/a/g3", 1000, 1000)
        os.chmod(top + "/a/g3", 0o6755)
        os.chown(top + "/a/b", 1000, 100)
        os.mknod(top + "/null", 0o20600, os.makedev(1, 3))
    aged(top)


def holes(path, size, places):
    with open(path, "wb") as f:
        for place in places:
            f.seek(place)
            f.write(b"data at %d" % place)
        f.truncate(size)


def big(top):
    """A file that several workers copy, nearly all of it holes, and two small ones."""
    os.mkdir(top)
    holes(top + "/big", BIG, (0, 1 << 20, 33 << 20, 40 << 20, 65 << 20, (90 << 20) + 5, BIG - 20))
    write(top + "/after", b"after")
    write(top + "/before", b"before")
    aged(top)


def dense(top):
    """Without holes, large enough for two workers."""
    os.mkdir(top)
    with open(top + "/big", "wb") as f:
        for i in range(65):
            f.write(b"%8d" % i * (1 << 17))
    aged(top)


def old(top):
    """A tree that SMALL or FULL is copied over: some files, one a link, one directory; older than they are."""
    os.makedirs(top + "/a")
    write(top + "/f0", b"old f0" * 100)
    write(top + "/f2", b"old f2", 0o600)
    write(top + "/ro", b"old ro", 0o444 if os.geteuid() == 0 else 0o644)
    write(top + "/a/g1", b"old g1")
    write(top + "/a/g4", b"old g4" * 1000)
    write(top + "/mine", b"not to be touched")
    for path, dirs, files in os.walk(top):
        for name in dirs + files:
            os.utime(os.path.join(path, name), ns=(OLD // 2, OLD // 2))


def empty(top):
    os.mkdir(top)


class Scene:
    def __init__(self, name, args, source=small, target=None, program="pcp", times=False, links=False, copy="dst",
                 copied="src", xattrs=False, stdin=None, soft_xattrs=False, backup="", inplace=False, calls=None,
                 sums=False):
        self.name, self.program = name, program
        self.args = args.split()
        self.source, self.target = source, target
        self.times = times              # are kept, and compared
        self.links = links              # likewise which names are one file
        self.xattrs = xattrs            # likewise extended attributes, ACLs among them
        self.soft_xattrs = soft_xattrs  # but those that are no ACLs may be lost: "silently", or if it is "told"
        self.copy, self.copied = copy, copied   # which name is the copy of which; likewise those below them
        self.sums = sums                # a file of checksums is written
        self.calls = calls              # only these are to fail
        self.stdin = stdin
        self.backup = backup            # suffix that old files get
        self.inplace = inplace          # old files are overwritten as they are


A = {"source": full, "times": True, "links": True, "xattrs": True, "soft_xattrs": "silently"}

SCENES = [
    Scene("r", "-r -j1 src dst"),
    Scene("r1", "-r -j1 -c1 src dst", wide),
    Scene("r4", "-r -j4 -c1 src dst", wide),
    Scene("v", "-rv -j1 src dst"),
    Scene("rp", "-rp -j1 src dst", times=True),
    Scene("a", "-a -j1 src dst", **A),
    Scene("a4", "-a -j4 -c1 src dst", **A),
    Scene("awide", "-a -j4 -c1 src dst", wide, times=True),
    Scene("all", "-r --preserve=all -j1 src dst", **{**A, "soft_xattrs": "told"}),
    Scene("xattr", "-r --preserve=xattr,mode -j1 src dst", full, xattrs=True),
    Scene("over", "-a -j1 -T src dst", target=old, inplace=True, **A),
    Scene("over4", "-r -j4 -c1 -T src dst", wide, target=old, inplace=True),
    Scene("f", "-rf -j1 -T src dst", target=old, inplace=True),
    Scene("remove", "-a --remove-destination -j1 -T src dst", target=old, **A),
    Scene("b", "-rb -j1 -T src dst", target=old, backup="~"),
    Scene("numbered", "-r --backup=numbered -j4 -c1 -T src dst", target=old, backup=".~1~"),
    Scene("u", "-ru -j1 -T src dst", target=old, inplace=True),
    Scene("changed", "-a --update=changed -j1 -T src dst", target=old, inplace=True, **A),
    Scene("n", "-rn -j1 -T src dst", target=old),
    Scene("into", "-r -j1 src/f0 src/f1 src/f2 src/a dst", target=empty),
    Scene("parents", "-p --parents -r -j1 src/a/b src/f1 src/a/g2 dst", target=empty, copy="dst/src", times=True),
    Scene("l", "-rl -j1 src dst", links=True),
    Scene("s", "-s -j1 @CWD@/src/f0 @CWD@/src/f1 @CWD@/src/f2 dst", target=empty),
    Scene("L", "-rL -j1 src dst", source=lambda top: linked(top)),
    Scene("sparse", "-r --sparse=always -j1 src dst", full),
    Scene("nosparse", "-r --sparse=never -j1 src dst"),
    Scene("reflink", "-r --reflink=auto -j1 src dst"),
    Scene("clone", "-r --reflink=always -j1 src dst"),
    Scene("attributes", "-a --attributes-only -j1 src dst", **A),
    Scene("nomode", "-r --no-preserve=mode -j1 src dst", full),
    Scene("Z", "-r --keep-directory-symlink -x -j1 src dst"),
    Scene("big", "-r -j1 src dst", big),
    Scene("big4", "-a -j4 src dst", big, times=True),
    Scene("dense4", "-r -j4 src dst", dense,
          calls="openat close fstat copy_file_range read pread write pwrite ftruncate lseek malloc pthread_create".split()),
    Scene("one", "src/f1 dst", copied="src/f1"),
    Scene("exclude", "-a -j1 --exclude=f? --exclude=/a/b src dst", **A),
    Scene("verify", "-a --verify -j1 src dst", **A),
    Scene("verify4", "-r --verify -j4 src dst", big),
    Scene("sums", "-r --checksum-file=sums -j1 src dst", sums=True),
    Scene("sums4", "-r --checksum-file=sums --verify -j4 -c1 src dst", wide, sums=True),
    Scene("atomic", "-a --atomic -j1 src dst", **A),
    Scene("atomicover", "-a --atomic -j1 -T src dst", target=old, **A),
    Scene("atomicover4", "-r --atomic -j4 -c1 -T src dst", wide, target=old),
    Scene("atomicbig4", "-r --atomic --verify -j4 src dst", big),
    Scene("sync", "-r --sync -j4 -c1 src dst", wide),
    Scene("dry", "-a --dry-run -j1 -T src dst", target=old, **A),
    Scene("rmdry", "-r --dry-run -j1 src", program="prm", source=full),
    Scene("rm", "-r -j1 src", program="prm"),
    Scene("rmf", "-rf -j1 src", program="prm", source=full),
    Scene("rmv", "-rv -j1 -c1 src", program="prm", source=full),
    Scene("rm4", "-r -j4 -c1 src", program="prm", source=wide),
    Scene("rmf4", "-rfv -j4 -c1 src", program="prm", source=wide),
    Scene("rmfiles", "-v src/f0 src/f1 src/f2 src/none", program="prm"),
    Scene("rmd", "-d src/empty src/f0", program="prm"),
    Scene("rmx", "-r --one-file-system -j1 src", program="prm"),
    Scene("rmi", "-ri src", program="prm", stdin=b"y\n" * 60),
]


def linked(top):
    """For -L: a file and a directory reached through links."""
    small(top)
    os.symlink("f1", top + "/link")
    os.symlink("../a", top + "/empty/dir")
    aged(top)
