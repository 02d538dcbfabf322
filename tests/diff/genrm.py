"""Random runs of rm: a tree, options and operands."""
import gentree

WRONG = ["--nosuch", "-x", "--interactive=what", "--preserve-root=x", "--no", "--recursive=1",
         "--interactive=", "--in", "-rz", "--no-preserve", "--preserve-root=", "--interactive=n"]
INTERACTIVE = ["-i", "-i", "-I", "-I", "--interactive", "--interactive=always",
               "--interactive=once", "--interactive=never", "--interactive=yes", "--interactive=no",
               "--interactive=none", "--inter=onc"]


class RmGenerator:
    """One case of rm."""

    def __init__(self, rng, can, version):
        self.rng, self.can, self.version = rng, can, version

    def case(self):
        rng = self.rng
        tree = self.tree = gentree.TreeGenerator(rng, self.can)
        size = rng.choice((2, 4, 8, 8, 15, 25)) if rng.random() < 0.96 else 200
        if rng.random() < 0.1:
            for number in range(rng.choice((20, 70, 150))):
                tree.add({"path": f"{number}", "type": "f"})
        for top in rng.sample("abc", rng.choice((1, 1, 2, 3))):
            tree.fill(top, size)
        if rng.random() < 0.3:
            tree.fill("", 3)
        tree.entries = [e for e in tree.entries if e["path"]]
        self.unwritable()
        if "root" in self.can and rng.random() < 0.08:
            tree.mounts()
        options = self.options()
        operands = self.operands()
        case = {"entries": tree.entries, "args": self.arrange(options, operands),
                "env": {"LC_ALL": rng.choice(("C", "C.UTF-8"))}, "umask": 0o22}
        if rng.random() < 0.05:
            case["env"]["POSIXLY_CORRECT"] = "1"
        if any("i" in o.lower() or "presume" in o for o in options) or rng.random() < 0.03:
            case["stdin"] = self.answers()
        return case

    def unwritable(self):
        """More of the modes that rm stumbles over."""
        share = self.rng.choice((0, 0, 0.1, 0.3))
        for entry in self.tree.entries:
            if self.rng.random() < share and entry["type"] in "fd":
                entry["mode"] = self.rng.choice((0o555, 0o444, 0, 0o300, 0o500, 0o111, 0o400))

    def answers(self):
        rng = self.rng
        yes = rng.choice((0.5, 0.8, 1.0))
        return "".join(rng.choice(("y\n", "Y\n", "yes\n")) if rng.random() < yes else
                       rng.choice(("n\n", "\n", "x y\n")) for _ in range(rng.randrange(30)))

    def options(self):
        rng, out = self.rng, []
        out += rng.choice((["-r"], ["-r"], ["-R"], ["-rf"], ["-rf"], ["-fr"], ["--recursive"],
                           ["--recurs"], [], [], ["-d"], ["--dir"], ["-rd"], ["-rv"]))
        for chance, choices in ((0.25, ("-v", "--verbose", "--verb")), (0.15, ("-f", "--force")),
                                (0.2, INTERACTIVE), (0.06, ("--one-file-system", "--one")),
                                (0.04, ("--preserve-root", "--preserve-root=all",
                                        "--no-preserve-root")),
                                (0.08, ("---presume-input-tty",)), (0.05, ("-d",)),
                                (0.02, WRONG)):
            if rng.random() < chance:
                out.append(rng.choice(choices))
        rng.shuffle(out)
        return out

    def decorate(self, path):
        rng = self.rng
        if rng.random() > 0.12:
            return path
        name = path.rpartition("/")[2]
        return rng.choice((path + "/", path + "//", "./" + path, path + "/.", "%R/" + path,
                           path + "/..", path + "/../" + name, path.replace("/", "//"),
                           path + "/x", path + "/./", path + "/.//"))

    def operands(self):
        rng, paths = self.rng, self.tree.paths()
        tops = [p for p in paths if "/" not in p]
        roll = rng.random()
        if roll < 0.5:
            operands = list(tops)
        elif roll < 0.8:
            operands = rng.sample(paths, min(len(paths), rng.choice((1, 1, 2, 3, 5))))
        else:
            operands = rng.sample(tops, min(len(tops), rng.choice((1, 2))))
        operands = [self.decorate(p) for p in operands]
        if rng.random() < 0.12:
            operands.insert(rng.randrange(len(operands) + 1),
                            rng.choice(("missing", "no/such", "", ".", "..", "a/..", "./", "../",
                                        "mis\nsing", "a/../.", "..//")))
        if rng.random() < 0.04 and operands:
            operands.append(rng.choice(operands))
        if rng.random() < 0.02:
            operands = []
        return operands

    def arrange(self, options, operands):
        rng = self.rng
        roll = rng.random()
        if any(o.startswith("-") for o in operands) and rng.random() < 0.8:
            return options + ["--"] + operands
        if roll < 0.8:
            return options + operands
        if roll < 0.9:
            return operands + options
        args = list(operands)
        for option in options:
            args.insert(rng.randrange(len(args) + 1), option)
        return args
