"""What counts as a difference between the reference and ours, and which differences are meant."""
import re

# ---------------------------------------------------------------- meant differences
#
# Three kinds.  GATES keep a case from being run, since the reference is known to be wrong there or
# older than what ours follows.  Each is (programs, reason, function of (case, version, before)):
# before is the snapshot of the tree as built.  EXCUSED differences are dropped after the fact:
# (programs, reason, function of (difference, case, version)).  REWORDED are messages whose text has changed between versions.
# Each must be as narrow as can be.


def _link_with_slash(case, before):
    """Has an operand that is a symbolic link to a directory, with a slash at its end?"""
    for arg in case["args"]:
        name = arg.replace("%R/", "")
        if not name.endswith("/"):
            continue
        name = re.sub(r"^(\./)+|/+$", "", re.sub("//+", "/", name))
        if before.get(name, {}).get("type") == "l":
            return True
    return False


def _refused_prompt(case):
    """May -i be refused here?"""
    return any(a == "--interactive" or re.match(r"-[a-zA-Z]*i", a) for a in case["args"])


def _short(case, letter):
    """Is there an option cluster with LETTER in it?"""
    return any(re.match(f"-[a-zA-Z]*{letter}", a) for a in case["args"])


def _backups(case):
    return _short(case, "b") or _short(case, "S") or \
        any(a.startswith(("--backup", "--suffix")) for a in case["args"])


def _names_with_quotes(case):
    """Is there a name with an apostrophe and a byte that is not printed as it is?"""
    names = [e["path"] for e in case["entries"]] + case["args"]
    return any("'" in n and not (n.isascii() and n.isprintable()) for n in names)


def _unreadable_operand(case, before):
    """Is an operand a directory that nobody may read?"""
    return any(before.get(a.strip("/"), {}).get("type") == "d"
               and int(before[a.strip("/")]["mode"], 8) & 0o444 == 0 for a in case["args"])


GATES = [
    ("rm", "`rm -r link/` empties the directory and then fails to remove the link; ours refuses at "
     "once and leaves the directory alone (case r6)",
     lambda case, version, before: _link_with_slash(case, before)),
    ("cp", "until 9.1 a backup of a file in another directory is made in the working directory, and "
     "a directory is not copied over a backed up file",
     lambda case, version, before: version < (9, 2) and _backups(case)),
    ("cp rm", "until 9.1 '' is printed too much before a name that has both an apostrophe and an "
     "unprintable byte",
     lambda case, version, before: version < (9, 2) and _names_with_quotes(case)),
    ("cp", "until 9.1 --parents of an absolute path looks for the source without the slash",
     lambda case, version, before: version < (9, 2) and any(a.startswith("--par")
                                                            for a in case["args"])
     and any(a.startswith(("%R", "/")) for a in case["args"])),
    ("cp", "until 9.1 a file that could not be cloned is left there, empty",
     lambda case, version, before: version < (9, 2)
     and any(a in ("--reflink", "--reflink=always") for a in case["args"])),
    ("rm", "until 9.1 -d says that a directory that it cannot read is not empty",
     lambda case, version, before: version < (9, 2) and _unreadable_operand(case, before)),
    ("rm", "until 9.1 or so -i asks whether to descend into a directory that it cannot read",
     lambda case, version, before: version < (9, 7) and ordered(case)
     and any(e["type"] == "d" and int(e["mode"], 8) & 0o444 != 0o444 for e in before.values())),
    ("cp", "an option that the reference has not yet",
     lambda case, version, before: any(
         version < since and any(a.startswith(option) for a in case["args"])
         for since, option in (((9, 2), "--debug"), ((9, 3), "--update="), ((9, 3), "--up="),
                               ((9, 6), "--keep-directory-symlink")))),
    ("cp rm", "before 9.7 or so diagnostics begin with the whole path that the program was called by",
     lambda case, version, before: version < (9, 7) and bool(case.get("path"))),
]

EXCUSED = [
    ("cp", "of several names of one file, workers decide which is copied and which becomes a link",
     lambda diff, case, version: diff[0] in ("atime", "mtime") and case["jobs"] != "1"
     and (_short(case, "d") or any(a.startswith("--preserve=l") for a in case["args"]))
     and not _short(case, "[ap]")),
    ("cp", "of several sources whose targets are names of one file, any may be the last one at -j > 1; "
     "no two are mixed",
     lambda diff, case, version: diff[0] in ("content", "size", "mode", "atime", "mtime", "xattrs", "blocks")
     and case["jobs"] != "1" and any(e["type"] == "h" and not e["path"].startswith(("s", "p", "q"))
                                     for e in case["entries"])),
    ("cp", "GNU's --parents leaves directories on the way to an absolute operand, or to one that failed, "
     "at 0700 and with new times; pcp gives them what the source has",
     lambda diff, case, version: diff[0] in ("mode", "atime", "mtime")
     and any(a.startswith("--pa") for a in case["args"])),
    ("cp", "a refused -i is status 1 since 9.2",
     lambda diff, case, version: version < (9, 2) and diff[:3] == ("status", 0, 1)
     and _refused_prompt(case)),
    ("cp", "set-user-ID, set-group-ID and sticky bits that a directory has too many are taken away "
     "since 9.2",
     lambda diff, case, version: version < (9, 2) and diff[0] == "mode"
     and int(diff[1], 8) & 0o777 == int(diff[2], 8) & 0o777),
    ("cp", "9.7 leaves an existing target's ACL there where the source has none; up to 9.5 it goes",
     lambda diff, case, version: diff[0] == "xattrs" and _only_acl(diff)),
]


# Words that have changed: (program, since, pattern, what ours is made to say in both).
REWORDED = [
    ("cp", (9, 2), rb"(cannot overwrite directory [^\n]* with non-directory) [^\n]*", rb"\1"),
    ("cp", (9, 5), rb"--backup is mutually exclusive with -n or --update=none-fail",
     rb"options --backup and --no-clobber are mutually exclusive"),
]


def old_words(program, text, version):
    """TEXT of ours in the words of the reference's version."""
    for programs, since, pattern, words in REWORDED:
        if program in programs.split() and version < since:
            text = re.sub(pattern, words, text)
    return text


def _only_acl(diff):
    """Do the two sets of attributes differ just in an ACL that one of them has not?"""
    first, second = dict(diff[1] or {}), dict(diff[2] or {})
    names = ("system.posix_acl_access", "system.posix_acl_default")
    for name in names:
        if (name in first) == (name in second) and first.get(name) != second.get(name):
            return False
        first.pop(name, None)
        second.pop(name, None)
    return first == second


def order_matters(case, before, after, sources):
    """Has cp changed something that it also was to copy?  (A target that is a link to another source.)

    What is copied then hangs on which of the two comes first, and with threads that is open.
    before, after: the reference's trees; sources: the real paths of what was to be copied.
    """
    for path, entry in before.items():
        now = after.get(path, {})
        if any(entry.get(f) != now.get(f) for f in ("type", "size", "content", "target")) and \
                any(path == s or path.startswith(s + "/") or s == "." for s in sources):
            return True
    return False


def source_operands(args):
    """The operands of cp that are not its target."""
    words, target, rest = [], False, iter(args)
    for arg in rest:
        if arg in ("-t", "--target-directory", "-S", "--suffix"):
            target = target or arg.startswith(("-t", "--t"))
            next(rest, None)
        elif arg.startswith("--target-directory="):
            target = True
        elif not arg.startswith("-") or arg == "-":
            words.append(arg)
    return words if target or len(words) < 2 else words[:-1]


def gated(program, case, version, before):
    for programs, reason, applies in GATES:
        if program in programs.split() and applies(case, version, before):
            return reason
    return None


def excused(program, diff, case, version):
    return any(program in programs.split() and applies(diff, case, version)
               for programs, _reason, applies in EXCUSED)


# ---------------------------------------------------------------- comparing

# The words of --debug that say how the bytes were moved are about the implementation.
DEBUG_LINE = re.compile(rb"^copy offload: ")
# ... and so is what it says of the workers, of which cp has one.
WORKERS_LINE = re.compile(rb"^[^\n]*: workers: [^\n]*\n", re.M)
ONCE = re.compile(rb"rm: remove \d+ arguments?( recursively)?\? ")


def output_lines(data):
    return [line for line in data.split(b"\n") if not DEBUG_LINE.match(line)]


def diagnostics(data, ordered):
    """Standard error in a form that can be compared."""
    data = WORKERS_LINE.sub(b"", data)
    if ordered:
        return [data]
    once = ONCE.match(data)             # the question of -I, and what comes after it
    head = [once.group()] if once else []
    return head + sorted(data[once.end() if once else 0:].split(b"\n"))


def ordered(case):
    """Are there prompts, so that the order of all that is said is the order of what is done?"""
    return any(a == "--interactive" or a in ("--interactive=always", "--interactive=yes")
               or a == "---presume-input-tty" or re.match(r"-[a-zA-Z]*i", a)
               for a in case["args"])


def compare(program, case, ref, ours, version):
    """The list of differences between two Results: tuples (kind, ref, ours[, where])."""
    if ours.timeout:
        return [("hang", ref.status, None)]
    diffs = []
    if ours.status < 0 and ours.status != ref.status:
        diffs.append(("killed", ref.status, ours.status))
    elif ref.status != ours.status:
        diffs.append(("status", ref.status, ours.status))
    keep_order = ordered(case)
    for name, one, two in (
            ("stderr", diagnostics(ref.stderr, keep_order),
             diagnostics(old_words(program, ours.stderr, version), keep_order)),
            ("stdout", sorted(output_lines(ref.stdout)), sorted(output_lines(ours.stdout)))):
        if one != two:
            diffs.append((name, *only(one, two)))
    if not any(d[0] == "stdout" for d in diffs):
        diffs += verbose_order(program, ours.stdout)
    return diffs + compare_trees(ref.tree, ours.tree)


def only(one, two):
    """The lines of each list that are not in the other."""
    rest, extra = list(two), []
    for line in one:
        if line in rest:
            rest.remove(line)
        else:
            extra.append(line)
    return extra, rest


COPIED = re.compile(rb"^'([\w/.]+)' -> '([\w/.]+)'$")
REMOVED = re.compile(rb"^removed (directory )?'([\w/.]+)'$")


def verbose_order(program, data):
    """cp names a directory before what is in it, rm after it: so must ours, with any threads."""
    place = {}
    for number, line in enumerate(data.split(b"\n")):
        match = (COPIED if program == "cp" else REMOVED).match(line)
        if match:
            place.setdefault(match.group(2), number)
    for path, number in place.items():
        parent = path.rpartition(b"/")[0]
        if parent in place and (place[parent] > number) == (program == "cp"):
            return [("verbose order", parent, path)]
    return []


def close(one, two):
    """Do two files take about as much space?"""
    return abs(one - two) <= max(one, two) // 4 + 65536


def compare_trees(ref, ours):
    diffs = []
    for path in sorted(set(ref) | set(ours)):
        one, two = ref.get(path), ours.get(path)
        if one is None or two is None:
            diffs.append(("tree", one and one["type"], two and two["type"], path))
            continue
        for field in sorted(set(one) | set(two)):
            first, second = one.get(field), two.get(field)
            if field == "blocks" and first is not None and second is not None:
                if close(first, second):
                    continue
            if first != second:
                diffs.append((field, first, second, path))
    return diffs


def signature(diffs):
    """What kind of difference this is, whatever the names: to tell one fault from another."""
    kinds = set()
    for diff in diffs:
        if diff[0] in ("stderr", "stdout"):
            for side, lines in (("-", diff[1]), ("+", diff[2])):
                for line in lines:
                    text = line.decode("utf-8", "replace")
                    kinds.add(f"{diff[0]}{side}{re.sub(chr(39) + '[^' + chr(39) + ']*' + chr(39), 'N', text)}")
        elif diff[0] in ("status", "killed", "hang", "tree", "type"):
            kinds.add(f"{diff[0]} {diff[1]} {diff[2]}")
        else:
            kinds.add(diff[0])
    return "; ".join(sorted(kinds))


def describe(diffs):
    lines = []
    for diff in diffs:
        if diff[0] in ("stderr", "stdout"):
            lines += [f"{diff[0]} -{line.decode('utf-8', 'backslashreplace')}" for line in diff[1]]
            lines += [f"{diff[0]} +{line.decode('utf-8', 'backslashreplace')}" for line in diff[2]]
        else:
            where = f" of {ascii(diff[3])}" if len(diff) > 3 else ""
            lines.append(f"{diff[0]}{where}: reference {diff[1]}, ours {diff[2]}")
    return [re.sub("(.)\\1{60,}", lambda m: f"{m[1]}{{{len(m[0])}}}", line) for line in lines]
