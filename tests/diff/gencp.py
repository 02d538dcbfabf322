"""Random runs of cp: a tree, options and operands."""
import gentree
from gentree import OLD

PRESERVE = ["mode", "ownership", "timestamps", "links", "xattr", "all", "context"]
ABBREVIATED = {"--recursive": "--recu", "--archive": "--ar", "--force": "--fo",
               "--no-dereference": "--no-d", "--dereference": "--der", "--verbose": "--verb",
               "--no-clobber": "--no-c", "--update": "--up", "--one-file-system": "--one",
               "--parents": "--par", "--link": "--li", "--symbolic-link": "--sy",
               "--remove-destination": "--rem", "--attributes-only": "--at",
               "--no-target-directory": "--no-t"}
WRONG = ["--nosuch", "--re", "-y", "--backup=what", "--sparse=x", "--reflink=x", "--preserve=x",
         "--no-preserve=y", "--update=x", "--suffix", "-t", "--recursive=1", "--s", "-S",
         "--target-directory=", "--preserve=", "--backup=", "--update=n", "--backup=n",
         "--sparse=a", "--no-preserve"]


class CpGenerator:
    """One case of cp.  version: of the reference, as a tuple."""

    def __init__(self, rng, can, version):
        self.rng, self.can, self.version = rng, can, version

    def case(self):
        rng = self.rng
        options = self.options()
        flat = " ".join(options)
        recursive = any(o in ("-r", "-R", "-a", "--recursive", "--archive", "--recu", "--ar", "-dR",
                              "-rp", "-av", "-Rf") for o in options)
        # A fifo that cp reads from would keep cp waiting for a writer.
        self.tree = gentree.TreeGenerator(
            rng, self.can, fifos=recursive and "--copy-contents" not in flat)
        operands = self.operands(recursive)
        if "root" in self.can and rng.random() < 0.06:
            self.tree.mounts()
        case = {"entries": self.tree.entries, "args": self.arrange(options, operands),
                "env": self.environment(), "umask": rng.choice((0o22, 0o22, 0, 0o77, 0o27, 0o777))}
        if self.prompts(options) or rng.random() < 0.03:
            case["stdin"] = self.answers()
        self.small_for_fifos(case)
        return case

    @staticmethod
    def prompts(options):
        return any("i" in o and not o.startswith("--") or o == "--interactive" for o in options)

    def answers(self):
        rng = self.rng
        return "".join(rng.choice(("y\n", "n\n", "y\n", "n\n", "Y\n", "yes\n", "\n", "x y\n"))
                       for _ in range(rng.randrange(12))) + rng.choice(("", "", "y"))

    @staticmethod
    def small_for_fifos(case):
        """What is written to a fifo that is there already must fit into it: nobody reads it."""
        if any(e["type"] == "p" for e in case["entries"]):
            for entry in case["entries"]:
                if entry["type"] == "f" and entry.get("size", 0) > 60000:
                    entry["size"], entry["data"] = 100, [[0, 100, 7]]

    def environment(self):
        rng = self.rng
        env = {"LC_ALL": rng.choice(("C", "C.UTF-8"))}
        if rng.random() < 0.06:
            env["POSIXLY_CORRECT"] = "1"
        if rng.random() < 0.06:
            env["VERSION_CONTROL"] = rng.choice(("numbered", "t", "simple", "never", "none",
                                                 "existing", "bogus", "off", "nil", ""))
        if rng.random() < 0.05:
            env["SIMPLE_BACKUP_SUFFIX"] = rng.choice((".bak", "~", "", "a/b", "x"))
        return env

    # -- options

    def options(self):
        rng, out = self.rng, []
        out += rng.choice([["-r"], ["-r"], ["-R"], ["-a"], ["-a"], ["-rp"], ["-rP"], ["-rL"],
                           ["-rH"], ["-dR"], ["-Rf"], ["--recursive"], ["-av"], [], [], [], ["-p"],
                           ["-d"], ["-P"]])
        for chance, maker in self.menu():
            if rng.random() < chance * self.density:
                out += maker()
        if rng.random() < 0.02:
            out.append(rng.choice(WRONG))
        out = [ABBREVIATED.get(o, o) if rng.random() < 0.3 else o for o in out]
        rng.shuffle(out)
        return out

    @property
    def density(self):
        if not hasattr(self, "_density"):
            self._density = self.rng.choice((0.4, 1.0, 1.0, 2.0))
        return self._density

    def menu(self):
        pick = self.rng.choice

        def one(*options):
            return lambda: [pick(options)]
        menu = [
            (0.30, one("-v", "--verbose")), (0.15, one("-f", "--force")), (0.10, one("-i")),
            (0.10, one("-n", "--no-clobber")), (0.15, self.backup), (0.05, self.suffix),
            (0.10, one("-u", "--update")), (0.07, one("-l", "--link")),
            (0.05, one("-s", "--symbolic-link")), (0.10, one("-p")), (0.15, self.preserve),
            (0.08, self.no_preserve), (0.06, one("-x", "--one-file-system")),
            (0.08, one("--remove-destination")), (0.05, one("--attributes-only")),
            (0.03, one("--copy-contents")), (0.05, one("--strip-trailing-slashes")),
            (0.07, one("--reflink=auto", "--reflink=never", "--reflink=always", "--reflink")),
            (0.10, one("--sparse=auto", "--sparse=always", "--sparse=never")),
            (0.06, one("-P", "--no-dereference")), (0.06, one("-L", "--dereference")),
            (0.06, one("-H")), (0.03, one("-d")), (0.02, one("-Z", "--context=x", "--context")),
        ]
        if self.version >= (9, 3):
            menu.append((0.05, one("--update=all", "--update=none", "--update=older")))
        if self.version >= (9, 5):
            menu.append((0.03, one("--update=none-fail")))
        if self.version >= (9, 6):
            menu.append((0.05, one("--keep-directory-symlink")))
        if self.version >= (9, 2):
            menu.append((0.04, one("--debug")))
        return menu

    def backup(self):
        return [self.rng.choice(("-b", "-b", "--backup", "--backup=numbered", "--backup=t",
                                 "--backup=simple", "--backup=existing", "--backup=none",
                                 "--backup=never", "--backup=off", "--backup=nil"))]

    def suffix(self):
        return [self.rng.choice(("-S.bak", "--suffix=.o", "-S~", "--suffix=", "-Sa/b"))]

    def preserve(self):
        rng = self.rng
        return ["--preserve" + rng.choice((
            "", "=" + ",".join(rng.sample(PRESERVE, rng.choice((1, 1, 2, 3))))))]

    def no_preserve(self):
        rng = self.rng
        return ["--no-preserve=" + ",".join(rng.sample(PRESERVE, rng.choice((1, 1, 2))))]

    # -- operands

    def operands(self, recursive):
        """Makes the tree; gives the list of operands, target last, with -t or -T put in front."""
        rng, tree = self.rng, self.tree
        shape = rng.choices(("merge", "one", "several", "samebase", "parents", "chaos", "into",
                             "flat"), (30, 15, 20, 8, 10, 10, 4, 8))[0]
        size = rng.choice((2, 4, 8, 8, 15, 25)) if rng.random() < 0.97 else 150
        return getattr(self, "shape_" + shape)(size, recursive)

    def decorate(self, path, chance=0.15):
        rng = self.rng
        if path is None or rng.random() > chance:
            return path
        name = path.rpartition("/")[2]
        return rng.choice((path + "/", path + "//", "./" + path, path + "/.", "%R/" + path,
                           path + "/..", path + "/../" + name, path.replace("/", "//")))

    def target(self, operands, target):
        rng = self.rng
        target = self.decorate(target)
        roll = rng.random()
        if roll < 0.12:
            return [rng.choice(("-t", "--target-directory"))] + [target] + operands
        if roll < 0.15:
            return ["--target-directory=" + target] + operands
        if roll < 0.25:
            return [rng.choice(("-T", "--no-target-directory"))] + operands + [target]
        if roll < 0.26:
            return operands
        return operands + [target]

    def maybe_missing(self, operands):
        rng = self.rng
        if rng.random() < 0.08:
            operands.insert(rng.randrange(len(operands) + 1),
                            rng.choice(("missing", "no/such", "", "a\nb", "miss'ing")))
        if rng.random() < 0.04 and operands:
            operands.append(rng.choice(operands))
        return operands

    def shape_merge(self, size, _recursive):
        """A tree copied over another that is like it."""
        rng, tree = self.rng, self.tree
        tree.fill("s", size)
        if rng.random() < 0.5:
            tree.clash("s", "t")
            return [rng.choice(("-T", "-T", "--no-target-directory")), "s", "t"] \
                if rng.random() < 0.4 else self.target([self.decorate("s/.", 0.1)], "t")
        tree.add(tree.attributes({"path": "t", "type": "d"}))
        tree.clash("s", "t/s")
        return self.target(self.maybe_missing([self.decorate("s")]), "t")

    def shape_one(self, size, _recursive):
        """One entry of any type, to another name."""
        rng, tree = self.rng, self.tree
        tree.fill("s", rng.choice((0, 2, size)))
        kind = rng.choice("ffflfhd")
        tree.add(tree.entry("x", kind))
        if kind == "d":
            tree.fill("x", rng.randrange(4))
        if rng.random() < 0.7:
            tree.add(tree.entry("y", rng.choice("ffflhd")))
        return self.target([self.decorate("x")], "y")

    def shape_several(self, size, _recursive):
        rng, tree = self.rng, self.tree
        tops = [rng.choice("pqr") + rng.choice(("", "1")) for _ in range(rng.choice((2, 2, 3, 4)))]
        for top in dict.fromkeys(tops):
            if rng.random() < 0.6:
                tree.fill(top, rng.choice((0, 2, size // 2)))
            else:
                tree.add(tree.entry(top))
        if rng.random() < 0.9:
            tree.fill("t", rng.choice((0, 0, 3)))
        if "t" in tree.by_path:
            for top in dict.fromkeys(tops):
                if rng.random() < 0.4:
                    if tree.by_path[top]["type"] == "d" and rng.random() < 0.8:
                        tree.clash(top, "t/" + top)
                    elif "t/" + top not in tree.by_path:
                        tree.add(tree.entry("t/" + top))
        return self.target(self.maybe_missing([self.decorate(t) for t in dict.fromkeys(tops)]), "t")

    def shape_samebase(self, size, _recursive):
        """Operands with one base name: which one wins, which one is refused."""
        rng, tree = self.rng, self.tree
        operands = []
        for top in ("p", "q", "r")[:rng.choice((2, 2, 3))]:
            tree.add({"path": top, "type": "d"})
            for name in rng.sample(("x", "f"), rng.choice((1, 2))):
                if name == "x":
                    tree.fill(top + "/x", size // 3)
                else:
                    tree.add(tree.entry(top + "/f", rng.choice("ffflhd")))
                operands.append(top + "/" + name)
        rng.shuffle(operands)
        tree.fill("t", rng.choice((0, 0, 3)))
        if rng.random() < 0.4:
            tree.clash("p", "t")
        return self.target(self.maybe_missing(operands), "t")

    def shape_parents(self, size, _recursive):
        rng, tree = self.rng, self.tree
        tree.fill("s", size)
        tree.fill("t", rng.choice((0, 2)))
        if rng.random() < 0.5:
            tree.clash("s", "t/s")
        inside = [p for p in tree.paths() if p.startswith("s")]
        operands = [self.decorate(p) for p in rng.sample(inside, min(len(inside), rng.choice((1, 2, 4))))]
        return ["--parents"] + self.target(self.maybe_missing(operands), "t")

    def shape_chaos(self, size, _recursive):
        """Any paths of a tree as source and target."""
        rng, tree = self.rng, self.tree
        for top in "st":
            tree.fill(top, size // 2)
        paths = tree.paths() + ["new", "s/new", ".", "s/.."]
        operands = [self.decorate(rng.choice(paths), 0.3) for _ in range(rng.choice((1, 1, 2, 3)))]
        out = self.target(self.maybe_missing(operands), rng.choice(paths))
        if rng.random() < 0.1:
            out = out[:rng.randrange(2)]
        return out

    def shape_into(self, size, _recursive):
        """A directory into itself."""
        rng, tree = self.rng, self.tree
        tree.fill("s", size)
        inside = [p for p in tree.paths("d")]
        target = rng.choice(inside) + rng.choice(("", "", "/new"))
        operands = ["s"] + rng.sample(tree.paths(), min(2, rng.randrange(3)))
        rng.shuffle(operands)
        return self.target(operands, target)

    def shape_flat(self, size, _recursive):
        """Many small files of one directory."""
        rng, tree = self.rng, self.tree
        tree.add({"path": "s", "type": "d"})
        for number in range(rng.choice((5, 70, 150))):
            entry = tree.add({"path": f"s/{number}", "type": "f", "size": number % 7,
                              "data": [[0, number % 7, number + 1]] if number % 7 else []})
            if number % 31 == 3:
                entry["mode"] = 0
            if number % 41 == 5:
                entry["mtime"] = OLD
        if rng.random() < 0.4:
            tree.add({"path": "t", "type": "d"})
            for number in range(0, 60, 3):
                if f"s/{number}" in tree.by_path:
                    tree.add(tree.entry(f"t/{number}", rng.choice("ffffd")))
        if rng.random() < 0.5:
            return self.target([f"s/{n}" for n in range(5)], "t")
        return ["-T", "s", "t"]

    # -- the command line

    def arrange(self, options, operands):
        rng = self.rng
        roll = rng.random()
        if roll < 0.75:
            args = options + self.protect(operands, rng.random() < 0.1)
        elif roll < 0.9:
            args = self.protect(operands, False) + options
        else:
            args = self.protect(operands, False)
            for option in options:
                args.insert(rng.randrange(len(args) + 1), option)
        return args

    @staticmethod
    def protect(operands, dashes):
        """Operands (after what -t or -T there is) that begin with a dash: after --."""
        head = []
        rest = list(operands)
        while rest and rest[0] in ("--parents", "-T", "--no-target-directory", "-t",
                                   "--target-directory"):
            head.append(rest.pop(0))
            if head[-1] in ("-t", "--target-directory") and rest:
                head.append(rest.pop(0))
        if dashes:
            return head + ["--"] + rest
        return head + rest
