"""What must hold after a run, whichever of its calls has failed.

A tree is a dict: path -> Entry.  `before` is what was there, `wanted` what a run without a fault leaves, `after` what
this run left.  Nothing in here knows which call failed, but for the exceptions in EXCEPTIONS.
"""
import os
import re
import stat
import zlib

WINDOW = 128 << 10
# What is older has its time from a scene, not from the clock.
RECENT = 1500 * 10**15


class Entry:
    __slots__ = ("kind", "mode", "owner", "mtime", "ctime", "content", "xattrs", "ino", "nlink", "text")

    def __init__(self, path):
        st = os.lstat(path)
        self.kind, self.mode = stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode)
        self.owner = st.st_uid, st.st_gid
        self.mtime, self.ctime = st.st_mtime_ns, st.st_ctime_ns
        self.ino, self.nlink = st.st_ino, st.st_nlink
        self.content = self.xattrs = None
        if self.kind == stat.S_IFREG:
            self.content = st.st_size, content(path, st.st_size)
        elif self.kind == stat.S_IFLNK:
            self.content = os.readlink(path)
        elif self.kind in (stat.S_IFCHR, stat.S_IFBLK):
            self.content = st.st_rdev
        if self.kind in (stat.S_IFREG, stat.S_IFDIR):
            self.xattrs = {key: os.getxattr(path, key) for key in os.listxattr(path)}

    def stamp(self):
        """Changes with whatever is done to the entry, but for reading."""
        return self.ino, self.ctime


def content(path, size):
    """What a file holds; equal for equal bytes, however they are stored."""
    if not size:
        return None
    fd = os.open(path, os.O_RDONLY | os.O_NOATIME if os.geteuid() == 0 else os.O_RDONLY)
    try:
        if size <= 4096:
            return os.read(fd, size)
        found, at = [], 0
        while at < size:
            try:
                at = os.lseek(fd, at, os.SEEK_DATA) // WINDOW * WINDOW
            except OSError:                 # only a hole is left
                break
            data = os.pread(fd, WINDOW, at)
            if not data:
                break
            if data.strip(b"\0"):
                found.append((at, zlib.crc32(data)))
            at += WINDOW
        return tuple(found)
    finally:
        os.close(fd)


def snapshot(top):
    """The tree below TOP and itself; nothing if it is not there."""
    tree = {}
    todo = [top]
    while todo:
        path = todo.pop()
        try:
            entry = Entry(path)
        except FileNotFoundError:
            continue
        except PermissionError:             # left without a mode by a failed run, as another user
            os.chmod(path, 0o700)
            entry = Entry(path)
            entry.mode = 0
        tree[path] = entry
        if entry.kind == stat.S_IFDIR:
            if not entry.mode & 0o500 == 0o500 and os.geteuid() != 0:
                os.chmod(path, 0o700)
            todo += [path + "/" + name for name in os.listdir(path)]
    return tree


def stamps(top):
    """For what nobody may touch: quickly."""
    found = {}
    todo = [top]
    while todo:
        path = todo.pop()
        st = os.lstat(path)
        found[path] = st.st_ino, st.st_ctime_ns, st.st_mode
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
            else:
                st = entry.stat(follow_symlinks=False)
                found[entry.path] = st.st_ino, st.st_ctime_ns, st.st_mode
    return found


# Diagnostics that can name nothing.
NAMELESS = re.compile("memory exhausted|Cannot allocate memory|write error")
# Numbers, at the end.
COUNTED = re.compile("are not shown|: dry run: ")
# Told, although nothing has been lost: the status stays 0.
HARMLESS = re.compile(r"\(copying instead\)"
                      r"|: (listing attributes of|(getting|setting) attribute '?[^']*'? (of|for)|setting attributes for) "
                      r"|: dry run: \d+ entr(y|ies) would be \w+; nothing was$")


class Words:
    """The names in what a run said."""

    def __init__(self, text):
        self.text = text
        self.words = {w if w == "/" else w.rstrip("/.") for w in re.findall(r"[\w./~+-]+", text)}
        self.nameless = bool(NAMELESS.search(text))

    def has(self, path):
        return path in self.words


def differs(scene, got, want):
    """What is wrong with an entry, or None: content first."""
    if got.kind != want.kind:
        return "type"
    if got.content != want.content:
        return "content"
    if got.kind != stat.S_IFLNK and got.mode != want.mode:
        return f"mode {got.mode:o} instead of {want.mode:o}"
    if got.owner != want.owner:
        return f"owner {got.owner} instead of {want.owner}"
    if scene.times and got.mtime != want.mtime and want.mtime < RECENT:
        return f"time {got.mtime} instead of {want.mtime}"
    if scene.xattrs and got.xattrs != want.xattrs:
        hard = [k for k in {**(got.xattrs or {}), **(want.xattrs or {})}
                if (got.xattrs or {}).get(k) != (want.xattrs or {}).get(k)
                and not (scene.soft_xattrs == "silently" and k.startswith("user."))]
        if hard:
            return f"attributes {hard}" if any(not k.startswith("user.") for k in hard) else "attributes"
    return None


class Run:
    """All that is known of a run."""

    def __init__(self, scene, status, out, err, before, wanted, after):
        self.scene, self.status, self.out, self.err = scene, status, out, err
        self.before, self.wanted, self.after = before, wanted, after
        self.words = Words(err)

    def names(self, path):
        """Whether a diagnostic names a path of the target, or what it is a copy of."""
        copy, source = self.scene.copy, self.scene.copied
        if self.scene.backup and path.endswith(self.scene.backup):
            path = path[:-len(self.scene.backup)]
        if self.words.has(path):
            return True
        if path == copy or path.startswith(copy + "/"):
            source += path[len(copy):]
            return self.words.has(source) or self.words.has(os.getcwd() + "/" + source)
        return False

    def names_below(self, path):
        return any(word.startswith(path + "/") for word in self.words.words)

    def excuses(self, path):
        """Whether a diagnostic is about a path or a directory above it."""
        if self.words.nameless or "cannot open 'sums'" in self.err or "for want of space are not shown" in self.err:
            return True
        while path:
            if self.names(path):
                return True
            path = os.path.dirname(path)
        return False


def check_status(run):
    if run.status not in (0, 1):
        yield f"status {run.status}"
        return
    name = run.scene.program + ": "
    lines = [line for line in run.err.splitlines() if run.scene.stdin is None or line]
    for line in lines:
        if not line.startswith(name):
            yield f"a diagnostic without the program's name: {line}"
    if run.scene.stdin is not None:
        return                              # questions
    if run.status == 1 and not lines:
        yield "status 1 without a diagnostic"
    if run.status == 0 and any(not HARMLESS.search(line) for line in lines):
        yield "a diagnostic, and status 0"
    for line in lines:
        if not re.search(r"\b(src|dst|sums)\b", line) and not NAMELESS.search(line) and not COUNTED.search(line):
            yield f"a diagnostic that names nothing: {line}"


def check_copy(run):
    for path in sorted({**run.before, **run.wanted, **run.after}):
        got, want, was = (tree.get(path) for tree in (run.after, run.wanted, run.before))
        yield from check_entry(run, path, got, want, was)
    if run.scene.links:
        yield from check_links(run)
    if run.scene.backup:
        yield from check_backups(run)


def check_entry(run, path, got, want, was):
    scene = run.scene
    if not got:
        if run.status == 0 or not (run.excuses(path) or want.kind == stat.S_IFDIR and run.names_below(path)):
            yield f"{path} is missing, and nobody says so"
        return
    if not want:
        if not was:
            if not (run.status == 1 and f"'{path}' is not complete" in run.err):
                yield f"{path} is left over"
        elif differs(scene, got, was) and not run.names(path):
            yield f"{path} was there, and is another: {differs(scene, got, was)}"
        return
    wrong = differs(scene, got, want)
    if not wrong:
        return
    if was and not differs(scene, got, was):
        if run.status == 0 or not run.excuses(path):
            yield f"{path} is as it was, and nobody says so"
        return
    if wrong in ("type", "content"):
        # Overwritten in part it may be, if that is said.
        half = run.status == 1 and (not was or scene.inplace and got.kind == was.kind)
        if not half or not (f"'{path}' is not complete" in run.err or run.words.nameless and was):
            yield f"{path} is not whole: {wrong}"
        return
    if wrong == "attributes" and scene.soft_xattrs and run.names(path):
        return                              # told, but no failure
    if run.status == 0 or not (run.names(path) or run.words.nameless):
        yield f"{path}: {wrong}, and nobody says so"
    if got.mode & ~want.mode & ~(was.mode if was else 0):
        yield f"{path}: mode {got.mode:o} is wider than {want.mode:o}"
    if got.mode & 0o6000 and got.owner != want.owner:
        yield f"{path}: mode {got.mode:o} with owner {got.owner}"


def groups(tree):
    found = {}
    for path in sorted(tree):
        if tree[path].kind == stat.S_IFREG:
            found.setdefault(tree[path].ino, []).append(path)
    return {path: paths for paths in found.values() for path in paths}


def check_links(run):
    wanted, after = groups(run.wanted), groups(run.after)
    for path, paths in wanted.items():
        for other in paths:
            if path in after and other in after and other not in after[path] and \
                    not (run.excuses(path) or run.excuses(other)):
                yield f"{path} and {other} are not one file, and nobody says so"
    for path, paths in after.items():
        for other in paths:
            if path in wanted and other in wanted and other not in wanted[path]:
                yield f"{path} and {other} are one file"


def check_backups(run):
    """What was there is there, under one of its names."""
    for path, was in run.before.items():
        if was.kind != stat.S_IFREG:
            continue
        kept = [p for p in run.after if re.fullmatch(re.escape(path) + r"(~|\.~\d+~)?", p) and
                run.after[p].content == was.content]
        if not kept:
            yield f"{path}: what was there is lost"


def check_removal(run):
    left = run.after
    for path, entry in left.items():
        was = run.before.get(path)
        if not was:
            yield f"{path} is new"
            continue
        if path not in run.wanted or entry.content != run.wanted[path].content:
            if run.status == 0 or not (run.excuses(path) or run.names_below(path)):
                yield f"{path} is still there, and nobody says so"
        if entry.kind != stat.S_IFDIR and (differs(run.scene, entry, was) or entry.mtime != was.mtime):
            yield f"{path} has been changed"
    for path in run.before:
        if path in run.wanted and path not in left:
            yield f"{path} was not to be removed"
    if "v" in run.scene.args[0].lstrip("-") and run.scene.args[0].startswith("-"):
        yield from check_verbose(run)


def check_verbose(run):
    said = set(re.findall(r"^removed (?:directory )?'(.*)'$", run.out, re.M))
    for path in said & set(run.after):
        yield f"{path} is said to be removed"
    for path in set(run.before) - set(run.after) - said:
        if not run.excuses(path):
            yield f"{path} was removed without a word"


def check_sums(run, wanted, lines):
    """The file of checksums has a line for each copy that is reported as one, and no other."""
    for line in lines:
        cut = "error writing 'sums'" in run.err and any(whole.startswith(line) for whole in wanted)
        if line not in wanted and not cut:
            yield f"a wrong checksum: {line}"
    if run.status == 0 and lines != wanted:
        yield "checksums are missing, and nobody says so"


def check(run):
    """What is wrong with a run: a list of sentences."""
    found = list(check_status(run))
    if run.status in (0, 1):
        found += check_removal(run) if run.scene.program == "prm" else check_copy(run)
    return found


# What must not be passed over even where all looks well: data that has been written may not be there in the end.
# (Other errors of writing may be about how it is tried, those of fsync say that there is no such thing.)
TOLD = re.compile("(close:E(?!INTR)|(write|pwrite|fsync|syncfs):(EIO|ENOSPC|EDQUOT|EFBIG))(?!.*:any)")


def check_told(rule, status):
    if TOLD.match(rule) and status == 0:
        yield "the fault was not told of"


# Where less is asked for than above: (scenes, rules, what is said), regular expressions that must match all of each,
# and why.
EXCEPTIONS = [
    (".*", "getdents64:ENOENT.*", ".*",
     "So says a directory that has been removed meanwhile: it has no entries (any more)."),
    (".*", "flistxattr:(EOPNOTSUPP|ENOSYS|EINVAL|EBUSY).*", ".*: attributes.*",
     "Where attributes do not exist there are none to keep; to libacl all of these say so."),
    ("all", "f[gs]etxattr:(EOPNOTSUPP|ENOSYS).*", ".*: attributes, .*",
     "As cp's: --preserve=all is quiet where the file system cannot have any (case m7)."),
    (".*", "lseek:(ENXIO|zero).*", ".* is not whole: content",
     "So says a file that has no data from there on, or that has become empty: it is taken for that."),
    (".*", "linkat:(EMLINK|EPERM|EOPNOTSUPP).*", ".* are not one file, and nobody says so",
     "Where there can be no (more) links data is copied, which is said once (case l2)."),
    ("numbered", "renameat:EEXIST.*", ".*~[12]~ is (missing, and nobody says so|left over)",
     "The number is taken, says the fault: the next one is."),
    (".*", "malloc:.*", "(a diagnostic that names nothing: |.* was removed without a word).*",
     "Paths are memory, too: without it there is only the last name, without its quotes."),
    ("rmf.*", "(unlinkat|rmdir|openat|fstatat|fstat|statx|faccessat):(ENOENT|ENOTDIR|ESTALE).*",
     ".* (is still there, and nobody says so|was removed without a word)",
     "With -f what is not there is no failure, as in rm; whether it is not is what these say."),
    ("rmf.*", "unlinkat:EISDIR.*", ".* is still there, and nobody says so",
     "The same: said to be a directory, and it cannot be opened as one."),
    ("clone", "(unlinkat|fstatat):ENOENT.*", ".* is left over",
     "The failed copy has gone already, says the fault."),
    ("rmi", "malloc:.*", ".* is still there, and nobody says so",
     "An answer that cannot be read is no, as in rm."),
]


def tolerated(scene, rule, wrong):
    """What is wrong and no exception."""
    return [w for w in wrong
            if not any(re.fullmatch(s, scene.name) and re.fullmatch(r, rule) and re.fullmatch(m, w)
                       for s, r, m, _ in EXCEPTIONS)]
