"""Trees of the differential tests: made from a description, looked at, taken away.

A tree is a list of entries (dicts), each parent before its children:

    path    relative to the working directory
    type    f file, d directory, l symbolic link, h hard link, p fifo, s socket,
            c character device, b block device
    mode, uid, gid, mtime (ns), atime (ns), xattrs {name: hex}   all optional
    size, data [[offset, length, seed], ...]   of a file: what is not in data is a hole
    target  of l and h ("%R" in it stands for the working directory's absolute path)
    rdev    [major, minor] of c and b
    mount   "tmpfs", or "bind:PATH" of another directory: mounted on this directory

Names are str with surrogateescape, so that a description is JSON.
"""
import ctypes
import errno
import os
import re
import shlex
import socket
import stat
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_NOATIME, MS_REMOUNT, MS_BIND = 1, 1024, 32, 4096
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS = 0x20000

DIR_MODE, FILE_MODE = 0o755, 0o644
# What `seq SEED 200000` prints is the content of a segment: no two places of it look alike.
_SEQ = b"".join(b"%d\n" % i for i in range(1, 200001))
_STARTS = {}                    # seed -> offset in _SEQ
PAGE = 4096
MAX_DEPTH = 100                 # no tree made here is as deep, unless a program loops


def enc(name):
    return name.encode("utf-8", "surrogateescape")


def dec(name):
    return name.decode("utf-8", "surrogateescape")


def _check(result):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(source, target, fstype, flags, data=None):
    _check(LIBC.mount(source, target, fstype, ctypes.c_ulong(flags), data))


def umount(target):
    _check(LIBC.umount2(target, MNT_DETACH))


def unshare_mounts():
    _check(LIBC.unshare(CLONE_NEWNS))
    mount(b"none", b"/", None, MS_REC | MS_PRIVATE)


def segment(seed, length):
    """The first LENGTH bytes of `seq SEED 200000`."""
    start = sum(len(str(i)) + 1 for i in range(1, seed)) if seed not in _STARTS else _STARTS[seed]
    _STARTS[seed] = start
    return _SEQ[start:start + length]


class Tree:
    """Builds one description in TOP/o/o/o/o/w, its root directory; wipes TOP.

    The directories above catch what a program does to ".." and "../..".
    """

    def __init__(self, top, owner=None):
        self.top = top              # bytes, absolute
        self.root = top + b"/o" * 4 + b"/w"
        self.owner = owner          # (uid, gid) of entries that name none; None: not root
        self.mounts = []
        self.fifos = []

    def build(self, entries):
        above = [self.top + b"/o" * n for n in range(5)] + [self.root]
        for path in above:
            os.mkdir(path, 0o755)
            if self.owner is not None:
                os.chown(path, *self.owner)
        os.chdir(self.root)
        for entry in entries:
            self._make(entry)
        # Directories last, deepest first: their modes and times would not survive their children.
        for entry in entries:
            if entry["type"] not in "dh":
                self._attributes(entry)
        for entry in reversed(entries):
            if entry["type"] == "d":
                self._attributes(entry)
        for path in reversed(above):
            os.utime(path, ns=(10**18, 10**18))

    def expand(self, text):
        return enc(text).replace(b"%R", self.root)

    def _make(self, entry):
        path, kind = enc(entry["path"]), entry["type"]
        if kind == "f":
            self._file(path, entry)
        elif kind == "d":
            os.mkdir(path)
            self._mount(path, entry.get("mount"))
        elif kind == "l":
            os.symlink(self.expand(entry["target"]), path)
        elif kind == "h":
            os.link(enc(entry["target"]), path, follow_symlinks=False)
        elif kind == "p":
            os.mkfifo(path)
        elif kind == "s":
            # bind() wants a short path: relative to the directory it is in.
            os.mknod(path, stat.S_IFSOCK | 0o755)
        else:
            fmt = stat.S_IFCHR if kind == "c" else stat.S_IFBLK
            os.mknod(path, fmt | 0o644, os.makedev(*entry["rdev"]))

    def _mount(self, path, what):
        if not what:
            return
        if what == "tmpfs":
            mount(b"difftest", path, b"tmpfs", MS_NOATIME, b"mode=755")
        else:
            mount(enc(what[5:]), path, None, MS_BIND)
        self.mounts.append(os.path.join(self.root, path))

    @staticmethod
    def _file(path, entry):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            for offset, length, seed in entry.get("data", ()):
                os.pwrite(fd, segment(seed, length), offset)
            os.ftruncate(fd, entry.get("size", 0))
        finally:
            os.close(fd)

    def _attributes(self, entry):
        path, link = enc(entry["path"]), entry["type"] == "l"
        if self.owner is not None:
            os.lchown(path, entry.get("uid", self.owner[0]), entry.get("gid", self.owner[1]))
        if not link:
            default = DIR_MODE if entry["type"] == "d" else FILE_MODE
            os.chmod(path, entry.get("mode", default))
        for name, value in entry.get("xattrs", {}).items():
            os.setxattr(path, name, bytes.fromhex(value), follow_symlinks=False)
        mtime = entry.get("mtime", 10**18)
        os.utime(path, ns=(entry.get("atime", mtime), mtime), follow_symlinks=False)

    def hold_fifos(self, entries):
        """Keep a reader on every fifo, so that a program that opens one to write goes on."""
        for entry in entries:
            if entry["type"] == "p":
                try:
                    self.fifos.append(os.open(enc(entry["path"]), os.O_RDONLY | os.O_NONBLOCK))
                except OSError:
                    pass

    def wipe(self):
        for fd in self.fifos:
            os.close(fd)
        for path in reversed(self.mounts):
            umount(path)
        self.fifos, self.mounts = [], []
        os.chdir(b"/")
        if os.path.lexists(self.top):
            try:
                _wipe(self.top)
            except (RecursionError, OSError):       # a copy into itself, as deep as can be
                subprocess.run(["/usr/bin/rm", "-rf", "--", self.top], check=True)


def _wipe(path):
    try:
        names = os.listdir(path)
    except PermissionError:
        os.chmod(path, 0o700)
        names = os.listdir(path)
    for name in names:
        full = path + b"/" + name
        try:
            os.unlink(full)
        except IsADirectoryError:
            _wipe(full)
        except PermissionError:
            os.chmod(path, 0o700)
            if stat.S_ISDIR(os.lstat(full).st_mode):
                _wipe(full)
            else:
                os.unlink(full)
    try:
        os.rmdir(path)
    except PermissionError:
        os.chmod(os.path.dirname(path), 0o700)
        os.rmdir(path)


class Snapshot:
    """What a Tree is now: {path: {field: value}}, with the paths relative to its root."""

    def __init__(self, tree, new_since, atimes):
        self.root, self.new_since, self.atimes = tree.root, new_since, atimes
        self.entries, self._inodes, self._stats = {}, {}, {}
        self.endless = False
        self._walk(tree.top, b"../../../../..", os.lstat(tree.top).st_dev)
        for paths in self._inodes.values():
            if len(paths) > 1:
                for path in paths:
                    self.entries[path]["links"] = tuple(sorted(paths))

    def _walk(self, full, rel, dev):
        if rel.count(b"/") > MAX_DEPTH:
            self.endless = True
            return
        for name in self._list(full):
            here = full + b"/" + name
            path = rel + b"/" + name if rel else name
            path = b"." if path == b"../w" else re.sub(rb"^((\.\./)*\.\.)/\.\./o$", rb"\1", path)
            info = self._lstat(here)
            entry = self._describe(here, info, dev)
            self.entries[dec(path)] = entry
            if stat.S_ISDIR(info.st_mode):
                self._walk(here, b"" if path == b"." else path, info.st_dev)
            elif info.st_nlink > 1:
                self._inodes.setdefault((info.st_dev, info.st_ino), []).append(dec(path))

    @staticmethod
    def _list(full):
        try:
            return os.listdir(full)
        except PermissionError:
            os.chmod(full, 0o700)
            return os.listdir(full)

    def _lstat(self, full):
        """lstat, as it was before a look inside (for one who is not root) changed the mode."""
        try:
            info = os.lstat(full)
        except PermissionError:
            os.chmod(os.path.dirname(full), 0o700)
            info = os.lstat(full)
        return self._stats.setdefault((info.st_dev, info.st_ino), info)

    def _time(self, value):
        return "new" if value >= self.new_since else value

    def _describe(self, full, info, dev):
        mode = info.st_mode
        entry = {
            "type": stat.filemode(mode)[0],
            "mode": oct(stat.S_IMODE(mode)),
            "owner": f"{info.st_uid}:{info.st_gid}",
            "mtime": self._time(info.st_mtime_ns),
        }
        if self.atimes:
            entry["atime"] = self._time(info.st_atime_ns)
        if info.st_dev != dev:
            entry["mount"] = True
        if stat.S_ISLNK(mode):
            entry["target"] = dec(os.readlink(full).replace(self.root, b"%R"))
        elif stat.S_ISREG(mode):
            entry["size"] = info.st_size
            entry["blocks"] = info.st_blocks * 512
            entry["content"] = self._content(full, info)
        elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            entry["rdev"] = info.st_rdev
        try:
            names = os.listxattr(full, follow_symlinks=False)
            if names:
                entry["xattrs"] = {n: self._xattr(full, n) for n in sorted(names)}
        except OSError as err:
            if err.errno not in (errno.ENOTSUP, errno.EACCES, errno.EPERM):
                raise
        return entry

    @staticmethod
    def _xattr(full, name):
        try:
            return os.getxattr(full, name, follow_symlinks=False).hex()
        except OSError as err:
            return os.strerror(err.errno)

    @staticmethod
    def _content(full, info):
        """A hash of all pages that are not zero, with their places."""
        try:
            fd = os.open(full, os.O_RDONLY | os.O_NOATIME)
        except PermissionError:
            os.chmod(full, 0o600)
            fd = os.open(full, os.O_RDONLY | os.O_NOATIME)
        try:
            return _hash_pages(fd, info.st_size)
        finally:
            os.close(fd)


def _hash_pages(fd, size):
    zero, result, offset = bytes(PAGE), 0, 0
    while offset < size:
        try:
            offset = os.lseek(fd, offset, os.SEEK_DATA)
            end = os.lseek(fd, offset, os.SEEK_HOLE)
        except OSError as err:
            if err.errno == errno.ENXIO:
                break
            raise
        block = os.pread(fd, end - offset, offset)
        for at in range(0, len(block), PAGE):
            page = block[at:at + PAGE]
            if page != zero[:len(page)]:
                result = hash((result, offset + at, page.rstrip(b"\0")))
        offset = end
    return result


# ---------------------------------------------------------------- as a shell script

def quote(text):
    """TEXT as a word of bash; a name that is not printable as $'...'."""
    data = enc(text)
    if data.isascii() and text.isprintable():
        return shlex.quote(text)
    out = ""
    for byte in data:
        char = chr(byte)
        out += "\\" + char if char in "\\'" else char if 32 <= byte < 127 else f"\\{byte:03o}"
    return f"$'{out}'"


def _operand(text):
    if "%R" in text:
        return quote(text).replace("%R", "'$PWD'") if quote(text) != text else \
            '"' + text.replace("%R", "$PWD") + '"'
    return ("./" if text.startswith("-") else "") + quote(text)


def script_lines(entries, owner):
    """Lines of a bash script that makes the tree in its working directory."""
    lines = []
    for entry in entries:
        lines += _script_make(entry)
    for entry in entries:
        if entry["type"] not in "dh":
            lines += _script_attributes(entry, owner)
    for entry in reversed(entries):
        if entry["type"] == "d":
            lines += _script_attributes(entry, owner)
    return lines


def _script_make(entry):
    path, kind = _operand(entry["path"]), entry["type"]
    if kind == "f":
        lines = [f": > {path}"]
        for offset, length, seed in entry.get("data", ()):
            lines.append(f"seq {seed} 200000 | head -c {length} | dd of={path} bs=64k oflag=seek_bytes "
                         f"seek={offset} conv=notrunc status=none")
        if entry.get("size", 0) != sum(s[1] for s in entry.get("data", ())):
            lines.append(f"truncate -s {entry['size']} {path}")
        return lines
    if kind == "d":
        lines = [f"mkdir {path}"]
        what = entry.get("mount", "")
        if what == "tmpfs":
            lines.append(f"mount -t tmpfs -o mode=755,noatime difftest {path}")
        elif what:
            lines.append(f"mount --bind {_operand(what[5:])} {path}")
        return lines
    if kind == "l":
        target = entry["target"]
        word = '"' + target.replace("%R", "$PWD") + '"' if "%R" in target else quote(target)
        return [f"ln -s -- {word} {path}"]
    if kind == "h":
        return [f"ln -P {_operand(entry['target'])} {path}"]
    if kind == "p":
        return [f"mkfifo {path}"]
    if kind == "s":
        return [f"perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); bind(S,sockaddr_un($ARGV[0]))' "
                f"{path}"]
    return [f"mknod {path} {kind} {entry['rdev'][0]} {entry['rdev'][1]}"]


def _script_attributes(entry, owner):
    path, link, lines = _operand(entry["path"]), entry["type"] == "l", []
    uid, gid = entry.get("uid", (owner or (0, 0))[0]), entry.get("gid", (owner or (0, 0))[1])
    if owner is not None and (uid, gid) != (0, 0):
        lines.append(f"chown -h {uid}:{gid} {path}")
    if not link and "mode" in entry:
        lines.append(f"chmod {entry['mode']:04o} {path}")
    for name, value in entry.get("xattrs", {}).items():
        lines.append(f"setfattr -h -n {name} -v 0x{value} {path}")
    for flag, key in (("-m", "mtime"), ("-a", "atime")):
        if key in entry:
            seconds, nano = divmod(entry[key], 10**9)
            lines.append(f"touch -h {flag} -d @{seconds}.{nano:09d} {path}")
    return lines
