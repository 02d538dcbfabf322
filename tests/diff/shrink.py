"""Makes a failing case smaller: drops options, operands, entries and attributes while it fails."""
import copy
import time


class Shrinker:
    def __init__(self, fails, budget, seconds):
        self.fails = fails          # function of a case: its differences, or nothing
        self.budget = budget        # how many runs it may still take
        self.end = time.monotonic() + seconds

    def try_case(self, case):
        if time.monotonic() > self.end:
            self.budget = 0
        if self.budget <= 0:
            return False
        self.budget -= 1
        return bool(self.fails(case))

    def shrink(self, case):
        best, before = case, None
        while before != best and self.budget > 0:
            before = best
            for step in (self.drop_entries, self.drop_args, self.drop_attributes, self.simplify,
                         self.plain_names):
                best = step(best)
        return best

    def drop_entries(self, case):
        """Subtrees, from large to small; an entry's hard links go with it."""
        order = sorted(case["entries"], key=lambda e: e["path"].count("/"))
        for entry in order:
            smaller = copy.deepcopy(case)
            smaller["entries"] = without(smaller["entries"], entry["path"])
            if len(smaller["entries"]) < len(case["entries"]) and self.try_case(smaller):
                case = smaller
        return case

    def drop_args(self, case):
        for index in reversed(range(len(case["args"]))):
            smaller = copy.deepcopy(case)
            del smaller["args"][index]
            if self.try_case(smaller):
                case = smaller
        for index, arg in enumerate(case["args"]):
            if len(arg) > 2 and arg[0] == "-" and arg[1] != "-":
                for letter in arg[1:]:
                    smaller = copy.deepcopy(case)
                    rest = smaller["args"][index].replace(letter, "", 1)
                    if len(rest) < 2:
                        continue
                    smaller["args"][index] = rest
                    if self.try_case(smaller):
                        case = smaller
        return case

    def drop_attributes(self, case):
        for index, entry in enumerate(case["entries"]):
            for key in ("mode", "uid", "gid", "mtime", "atime", "xattrs", "mount"):
                if key in entry:
                    smaller = copy.deepcopy(case)
                    del smaller["entries"][index][key]
                    if self.try_case(smaller):
                        case = smaller
            if entry["type"] == "f" and entry.get("size", 0) > 3:
                smaller = copy.deepcopy(case)
                smaller["entries"][index].update(size=3, data=[[0, 3, 1]])
                if self.try_case(smaller):
                    case = smaller
        return case

    def simplify(self, case):
        """The environment, and the number of threads."""
        for key, value in (("jobs", "1"), ("chunk", None), ("umask", 0o22), ("env", {"LC_ALL": "C"}),
                           ("argv0", None), ("path", ""), ("stdin", "y\n" * 9), ("stdin", None)):
            if case.get(key, value) != value:
                smaller = copy.deepcopy(case)
                smaller[key] = value
                if self.try_case(smaller):
                    case = smaller
        return case

    def plain_names(self, case):
        """Names of one letter, where the odd ones are not what it hangs on."""
        for name in odd_names(case):
            used = {part for e in case["entries"] for part in e["path"].split("/")}
            free = [letter for letter in "ghijklmnopqruvwz" if letter not in used]
            if free:
                smaller = rename(case, name, free[0])
                if self.try_case(smaller):
                    case = smaller
        return case


def odd_names(case):
    parts = {part for e in case["entries"] for part in e["path"].split("/")}
    return sorted(p for p in parts if len(p) > 1)


def rename(case, old, new):
    """CASE with the name OLD, wherever it is a whole component of a path, changed to NEW."""
    def change(path):
        return "/".join(new if part == old else part for part in path.split("/"))

    def argument(arg):
        head, equals, tail = arg.partition("=")
        return head + equals + change(tail) if arg.startswith("--") and equals else change(arg)

    case = copy.deepcopy(case)
    for entry in case["entries"]:
        for key in ("path", "target"):
            if key in entry:
                entry[key] = change(entry[key])
        if entry.get("mount", "").startswith("bind:"):
            entry["mount"] = "bind:" + change(entry["mount"][5:])
    case["args"] = [argument(a) for a in case["args"]]
    return case


def without(entries, path):
    """ENTRIES less PATH, all below it, and the hard links to and bind mounts of what goes."""
    gone, rest = set(), []
    for entry in entries:
        here = entry["path"]
        link = entry.get("target") if entry["type"] == "h" else None
        bound = entry.get("mount", "")
        if here == path or here.startswith(path + "/") or link in gone or here.rpartition("/")[0] in gone:
            gone.add(here)
            continue
        if bound.startswith("bind:") and bound[5:] in gone:
            entry = {k: v for k, v in entry.items() if k != "mount"}
        rest.append(entry)
    return rest
