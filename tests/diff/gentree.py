"""Random trees of the differential tests."""
import struct

SIMPLE = list("abcdefxy")
ODD = ["n\nl", "\udcff\udcfe", "q'q", 'd"q', "-r", "--", "-", " sp ", "\u00e9", "*", "~", "b\\s",
       "\x01", "$x", "a=b", "a;b", "#c", "{}", ".h", "\t", "x" * 255, "!", "f'\u00e9\n", "%s"]
BACKUP = ["a~", "b~", "a.~1~", "a.~9~", "a.~10~", "b.~1~", "b.bak", "c~"]
FILE_MODES = [0, 0o400, 0o444, 0o600, 0o640, 0o755, 0o4755, 0o2755, 0o6755, 0o222, 0o1644, 0o777,
              0o666, 0o100]
DIR_MODES = [0, 0o300, 0o500, 0o555, 0o700, 0o777, 0o1777, 0o2755, 0o2777, 0o711, 0o444, 0o111]
OWNERS = [0, 1001, 1002, 65534]
OLD = 10**9 * 10**9             # 2001-09-09
SIZES = [0, 1, 2, 100, 4095, 4096, 4097, 10000, 65536, 131072, 131073, 300000]


def acl(rng, for_dir=False):
    """A POSIX ACL as the kernel keeps it in an extended attribute."""
    perms = [rng.choice((0, 4, 5, 6, 7)) for _ in range(5)]
    entries = [(0x01, perms[0] | 4, 0xffffffff), (0x02, perms[1], 1001),
               (0x04, perms[2], 0xffffffff)]
    if rng.random() < 0.5:
        entries.append((0x08, perms[3], 1002))
    entries += [(0x10, perms[4] | 4, 0xffffffff), (0x20, perms[3] & 5, 0xffffffff)]
    if for_dir:
        entries[0] = (0x01, 7, 0xffffffff)
    return (struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)).hex()


class TreeGenerator:
    """Makes the entries of one case.

    can: what this machine and user allow: a set of "root", "xattr", "acl".
    """

    def __init__(self, rng, can, fifos=True):
        self.rng, self.can = rng, can
        self.entries, self.by_path = [], {}
        self.odd_share = rng.choice((0, 0, 0.1, 0.4))
        self.plain_share = rng.choice((0.3, 0.7, 0.95))     # entries without special attributes
        self.fifos = fifos
        self.backup_names = rng.random() < 0.15

    # -- names and paths

    def name(self):
        roll = self.rng.random()
        if self.backup_names and roll > 0.6:
            return self.rng.choice(BACKUP)
        name = self.rng.choice(ODD if roll < self.odd_share else SIMPLE)
        # The longest name is for few cases: with it no name for a backup fits.
        return name if len(name) < 255 or self.rng.random() < 0.3 else "x"

    def paths(self, kinds="fdlhpscb"):
        return [e["path"] for e in self.entries if e["type"] in kinds]

    def new_path(self, parent):
        for _ in range(5):
            path = f"{parent}/{self.name()}" if parent else self.name()
            if path not in self.by_path:
                return path
        return None

    # -- entries

    def add(self, entry):
        self.entries.append(entry)
        self.by_path[entry["path"]] = entry
        return entry

    def fill(self, top, count):
        """Directory TOP (made here) and about COUNT entries below it."""
        if top and top not in self.by_path:
            self.add(self.attributes({"path": top, "type": "d"}))
        dirs = [top]
        for _ in range(count):
            path = self.new_path(self.rng.choice(dirs[-3:] if self.rng.random() < 0.5 else dirs))
            if path is None:
                continue
            entry = self.add(self.entry(path))
            if entry["type"] == "d":
                dirs.append(path)

    def kind(self):
        kinds, weights = "fdlhpscb", [40, 22, 14, 9, 3, 1, 0, 0]
        if "root" in self.can:
            weights[6:] = [1.5, 0.7]
        if not self.fifos:
            weights[4] = 0
        return self.rng.choices(kinds, weights)[0]

    def entry(self, path, kind=None):
        kind = kind or self.kind()
        entry = {"path": path, "type": kind}
        if kind == "h":
            olds = [p for p in self.paths("fflps") if not self.under_mount(p)]
            if not olds or self.under_mount(path):
                kind = entry["type"] = "f"
            else:
                entry["target"] = self.rng.choice(olds)
                return entry
        if kind == "f":
            self.content(entry)
        elif kind == "l":
            entry["target"] = self.link_target(path)
        elif kind in "cb":
            # Only devices that may be opened: /dev/null, and block devices that do not exist.
            entry["rdev"] = [1, 3] if kind == "c" else [240, self.rng.choice((77, 78))]
        return self.attributes(entry)

    def under_mount(self, path):
        while path:
            if self.by_path.get(path, {}).get("mount"):
                return True
            path = path.rpartition("/")[0]
        return False

    def content(self, entry):
        rng = self.rng
        if rng.random() < 0.1:                          # sparse
            size = rng.choice((20000, 300000, 1 << 20, (4 << 20) + 5))
            entry["data"] = []
            offset = 0
            for _ in range(rng.randrange(4)):
                offset += rng.choice((0, 4096, 8192, 65536, 131072, 5000))
                length = rng.choice((1, 4096, 5000, 40000))
                if offset + length > size:
                    break
                entry["data"].append([offset, length, rng.randrange(1, 1000)])
                offset += length
            entry["size"] = size
            return
        size = rng.choice(SIZES) if rng.random() < 0.4 else rng.randrange(60)
        entry["size"] = size
        entry["data"] = [[0, size, rng.randrange(1, 1000)]] if size else []

    def link_target(self, path):
        rng = self.rng
        roll = rng.random()
        if roll < 0.12:
            return rng.choice(("nowhere", "../nowhere", "no/where", "/nonexistent/x"))
        if roll < 0.2:
            return path.rpartition("/")[2]              # itself
        if roll < 0.28:
            return rng.choice((".", "..", "../.."))
        olds = self.paths()
        if not olds:
            return "a"
        old = rng.choice(olds)
        if roll < 0.36:
            return "%R/" + old
        up = "../" * path.count("/")
        if roll < 0.45:
            return rng.choice(SIMPLE)                   # a sibling, perhaps
        return up + old + ("/" if rng.random() < 0.05 else "")

    def attributes(self, entry):
        rng, kind = self.rng, entry["type"]
        if rng.random() < self.plain_share:
            return entry
        if kind != "l" and rng.random() < 0.6:
            entry["mode"] = rng.choice(DIR_MODES if kind == "d" else FILE_MODES)
        if "root" in self.can and rng.random() < 0.4:
            entry["uid"], entry["gid"] = rng.choice(OWNERS), rng.choice(OWNERS)
        if rng.random() < 0.5:
            entry["mtime"] = OLD + rng.choice((0, 1001, 123456789, 10**9, 5 * 10**8, -10**18))
            if rng.random() < 0.5:
                entry["atime"] = OLD + rng.choice((7, 999999999))
        self.xattrs(entry)
        return entry

    def xattrs(self, entry):
        rng, kind = self.rng, entry["type"]
        if kind not in "fd" or rng.random() < 0.6:
            return
        xattrs = {}
        if "acl" in self.can and rng.random() < 0.5:
            xattrs["system.posix_acl_access"] = acl(rng, kind == "d")
        if "acl" in self.can and kind == "d" and rng.random() < 0.4:
            xattrs["system.posix_acl_default"] = acl(rng, True)
        if "xattr" in self.can and rng.random() < 0.6:
            xattrs["user." + rng.choice(("a", "b", "long.name"))] = rng.choice(("", "00", "6869"))
        if "root" in self.can and kind == "f" and rng.random() < 0.15:
            xattrs["security.capability"] = "0100000200040000000000000000000000000000"
        if "root" in self.can and rng.random() < 0.1:
            xattrs["trusted.t"] = "31"
        if xattrs:
            entry["xattrs"] = xattrs

    def mounts(self):
        """Mount a tmpfs, or another directory, on one or two of the directories."""
        dirs = [e for e in self.entries if e["type"] == "d" and "mount" not in e]
        for entry in self.rng.sample(dirs, min(len(dirs), self.rng.choice((1, 1, 2)))):
            inside = entry["path"] + "/"
            below = [e for e in self.entries if e["path"].startswith(inside)]
            # A hard link cannot lead out of or into a mount, nor may its file be in another.
            for other in self.entries:
                if other["type"] == "h" and (other["path"].startswith(inside)
                                             != other["target"].startswith(inside)):
                    other["type"] = "f"
                    other.pop("target")
            others = [d["path"] for d in dirs if not d["path"].startswith(inside)
                      and d is not entry and not inside.startswith(d["path"] + "/")]
            earlier = [p for p in others if self.before(p, entry["path"])]
            if not below and earlier and self.rng.random() < 0.3:
                entry["mount"] = "bind:" + self.rng.choice(earlier)
            else:
                entry["mount"] = "tmpfs"

    def before(self, first, second):
        order = list(self.by_path)
        return order.index(first) < order.index(second)

    def clash(self, source, target):
        """At TARGET, a tree like the one at SOURCE in part, with other types at some names."""
        if target not in self.by_path:
            self.add(self.attributes({"path": target, "type": "d"}))
        share = self.rng.choice((0.3, 0.7, 1.0))
        same = self.rng.choice((0.3, 0.7, 0.9))
        for entry in list(self.entries):
            if not entry["path"].startswith(source + "/") or self.rng.random() > share:
                continue
            path = target + entry["path"][len(source):]
            parent = self.by_path.get(path.rpartition("/")[0])
            if path in self.by_path or parent is None or parent["type"] != "d":
                continue
            if self.rng.random() < 0.07 and entry["type"] in "flps":
                self.add({"path": path, "type": "h", "target": entry["path"]})
            elif self.rng.random() < 0.05:
                up = "../" * path.count("/")
                self.add({"path": path, "type": "l", "target": up + entry["path"]})
            else:
                kind = entry["type"] if self.rng.random() < same else None
                self.add(self.entry(path, kind))
