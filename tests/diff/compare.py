"""What counts as a difference between the reference and ours, and which differences are meant."""
import os
import random
import re

# ---------------------------------------------------------------- meant differences
#
# Four kinds.  GATES keep a case from being run, since the reference is known to be wrong there or
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
    """Is there an option cluster with LETTER in it?  (What follows -S, -t, -j or -c is no option.)"""
    return any(re.match(f"-[^-Stjc]*{letter}", a) for a in case["args"])


def _backups(case):
    return _short(case, "b") or _short(case, "S") or \
        any(a.startswith(("--backup", "--suffix")) for a in case["args"])


def _names_with_quotes(case):
    """Is there a name with an apostrophe and a byte that is not printed as it is?"""
    names = [e["path"] for e in case["entries"]] + case["args"]
    return any("'" in n and not (n.isascii() and n.isprintable()) for n in names)


def _is_unreadable(case, entry):
    """Is it a directory that somebody may not read; of a user's cases, perhaps the user?"""
    if not entry or entry["type"] != "d":
        return False
    mode = int(entry["mode"], 8)
    return mode & 0o444 != 0o444 or bool(case.get("user") and not entry["owner"].startswith("65534:")
                                         and mode & 0o4 == 0)


def _unreadable_operand(case, before):
    """Is an operand a directory that cannot be read?"""
    paths = [os.path.normpath(a.replace("%R/", "")) for a in case["args"]]
    return any(_is_unreadable(case, before.get(path)) for path in paths)


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
    ("rm", "until 9.1 or so an empty mount point is not skipped with --one-file-system",
     lambda case, version, before: version < (9, 7) and any(a.startswith("--one") for a in case["args"])
     and any("mount" in e for e in case["entries"])),
    ("rm", "until 9.1 or so -i asks whether to descend into a directory that it cannot read",
     lambda case, version, before: version < (9, 7) and ordered(case)
     and any(_is_unreadable(case, e) for e in before.values())),
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
    ("cp", "a refused -i is status 1 since 9.2",
     lambda diff, case, version: version < (9, 2) and diff[:3] == ("status", 0, 1)
     and _refused_prompt(case)),
    ("cp", "set-user-ID, set-group-ID and sticky bits that a directory has too many are taken away "
     "since 9.2",
     lambda diff, case, version: version < (9, 2) and diff[0] == "mode"
     and int(diff[1], 8) & 0o777 == int(diff[2], 8) & 0o777),
    ("cp", "9.7 leaves an existing target's ACL there where the source has none, and one that it was made "
     "with; up to 9.5 it goes",
     lambda diff, case, version: diff[0] == "xattrs" and _only_acl(diff)),
    ("cp", "what the umask, or a change of owner that is under way, leaves not writable to its owner gets no "
     "attributes of GNU's",
     lambda diff, case, version: diff[0] == "xattrs"
     and (_short(case, "a") or any(re.match("--ar|--preserve=.*(x|all)", a) for a in case["args"]))
     and (diff[1] or {}).items() <= (diff[2] or {}).items()),
    ("cp", "where an owner is to be kept and the mode of a directory of somebody else cannot be set, GNU's "
     "fails without a word",
     lambda diff, case, version: diff[0] == "stderr" and not any(_said(diff)[0])
     and all(b"preserving permissions for" in line for line in _said(diff)[1])),
    ("cp", "where a bind mount shows a file under more names than it has, pcp has forgotten it by then, and "
     "copies it once more",
     lambda diff, case, version: diff[0] in ("links", "atime", "mtime")
     and any("bind:" in e.get("mount", "") for e in case["entries"])),
    ("rm", "what is mounted twice in a tree is removed by the name that is met first",
     lambda diff, case, version: diff[0] == "stdout"
     and any("bind:" in e.get("mount", "") for e in case["entries"])),
    ("cp", "GNU's gives a link that -s has made the attributes that a link can have (as root)",
     lambda diff, case, version: diff[0] == "xattrs" and _symbolic(case)),
    ("cp", "9.7 does not see the ACLs of a source that a link leads to",
     lambda diff, case, version: diff[0] == "xattrs" and _without_acl(diff[1]) == _without_acl(diff[2])
     and _short(case, "[LH]") and any(e["type"] == "l" for e in case["entries"])),
]

# Differences that are dropped for what the two runs said or left: (programs, reason, function of
# (difference, case, ref, ours)).
FORGIVEN = [
    ("cp", "GNU's --parents leaves directories on the way to an absolute operand, or to one that failed, "
     "at 0700 and with new times; pcp gives them what the source has",
     lambda diff, case, ref, ours: diff[0] in ("mode", "atime", "mtime", "owner", "xattrs")
     and _parents(case) and _is_on_the_way(diff[3], case, ours)),
    ("cp", "a directory that is not to be gone through, or a link on the way of --parents, keeps GNU's from "
     "setting permissions that it sets by name",
     lambda diff, case, ref, ours: _said_of_more(diff, ref, ours, b"preserving permissions for ",
                                                 ("mode", "xattrs"))),
    ("cp", "of a directory that is copied to itself, which is possible where nothing is replaced, GNU's sets "
     "the times as they are, which only the owner may",
     lambda diff, case, ref, ours: _said_of_more(diff, ref, ours, b"preserving times for ", ())),
    ("rm", "of a mount point that cannot be read GNU's says that instead of that it is on another device",
     lambda diff, case, ref, ours: diff[0] == "stderr" and any("mount" in e for e in case["entries"])
     and {re.sub(rb".*cannot remove ('.*'): Permission denied$", rb"\1", line) for line in _said(diff)[0]}
     == {re.sub(rb".*skipping ('.*'), since it's on a different device$", rb"\1", line)
         for line in _said(diff)[1]}),
    ("cp", "GNU's removes a further name, and makes it once more, of a target that has it already as a link to "
     "the copy (met again, or left alone by -u); pcp leaves it there",
     lambda diff, case, ref, ours: diff[0] == "stdout" and not diff[2] and _keeps_links(case)
     and all(line.startswith(b"removed '") for line in diff[1])),
    ("cp", "GNU's gives a directory on the way of --parents its mode and ACL before the next operand, and what is made in "
     "it then inherits another group or ACL",
     lambda diff, case, ref, ours: _parents(case) and len(source_operands(case["args"])) > 1 and (
         (diff[0] == "owner" and diff[1].split(":")[0] == diff[2].split(":")[0]
          and ours.tree.get(os.path.dirname(diff[3]), {}).get("owner", "").split(":")[1:]
          == diff[2].split(":")[1:])
         or (diff[0] == "xattrs" and _without_acl(diff[1]) == _without_acl(diff[2])))),
]


# A line, or a prompt, which is answered in none.
PIECE = re.compile(rb"(?:cp|rm): [^?\n]*\? |[^\n]+")

# The directories in which the trees of difftest are, as far as they may be on the way to an operand.
ABOVE = re.compile(r"(^|/)dev(/shm(/difftest\.[^/]+(/r(/o)*(/w)?)?)?)?$")


def _is_on_the_way(path, case, ours):
    """Is it a directory by the name of one that an operand of --parents leads through?"""
    words = source_operands(case["args"])
    names = {name for word in words for name in word.rstrip("/").split("/")[:-1]}
    return ours.tree.get(path, {}).get("type") == "d" and \
        (path.rpartition("/")[2] in names or
         any(word.startswith(("%R", "/")) for word in words) and ABOVE.search(path) is not None)


def _said_of_more(diff, ref, ours, words, fields):
    """Is this what comes of a failure that the reference tells of in such words, and ours has not?

    fields: what may differ of the files that it is about.
    """
    said = [line for line in ref.stderr.split(b"\n")
            if words in line and line not in ours.stderr.split(b"\n")]
    if diff[0] == "status":
        return diff[1:] == (1, 0) and set(ref.stderr.split(b"\n")) <= {b"", *said}
    if diff[0] == "stderr":
        theirs, mine = _said(diff)
        return bool(theirs) and not mine and all(words in line for line in theirs)
    return diff[0] in fields and any(
        os.path.basename(diff[3]).encode("utf-8", "surrogateescape") in line for line in said)


def _said(diff):
    """The messages of a difference in stderr, also where prompts have kept them in one piece."""
    return only(*([line for text in texts for line in PIECE.findall(text)] for texts in diff[1:3]))


# Whole cases in which nothing but a normal end is asked of ours: (programs, reason, function of
# (case, ref, ours)).
MEANT = [
    ("cp", "GNU's does not make a file writable for attributes that the umask has taken that from",
     lambda case, ref, ours: b"setting attribute" in ref.stderr and b": Permission denied" in ref.stderr
     and ours.status <= ref.status and case.get("umask", 0) & 0o200),
    ("rm", "GNU's tries to remove a mount point that it takes for empty before it says that it is on "
     "another device, or the other way round",
     lambda case, ref, ours: ref.status == ours.status == 1
     and any(b"different device" in one.stderr and b"resource busy" in two.stderr
             for one, two in ((ref, ours), (ours, ref)))),
    ("cp", "GNU's fails, mostly without a word, to give a link that -s has made the attributes of its source",
     lambda case, ref, ours: _symbolic(case) and ref.status == 1 and ours.status == 0
     and (not ref.stderr or b"setting attribute" in ref.stderr)
     and any(re.match("--preserve=.*(xattr|all)", a) for a in case["args"])),
    ("rm", "of what is mounted below itself GNU's says that the file system is corrupted, prm that it is "
     "busy",
     lambda case, ref, ours: b"Circular directory structure" in ref.stderr and ours.status == 1),
    ("cp", "where a copy into itself is refused, GNU's goes no further in all directories above, in the "
     "order of the listing; pcp copies all the rest, in any order.  Of `link/` GNU's says that it will not "
     "create a hard link",
     lambda case, ref, ours: ref.status == ours.status == 1 and (
         b"into itself" in ref.stderr
         or b"into itself" in ours.stderr)),
    ("cp", "with --parents, a directory that an earlier operand brought about (or that is named by way of "
     "'..') is there to be filled; GNU's tries to make it once more",
     lambda case, ref, ours: _parents(case) and b"cannot create directory" in ref.stderr
     and b": File exists" in ref.stderr),
    ("cp", "with -u, GNU's makes a link of a target that is newer, and of any further name of a source, also "
     "where links are not to be kept; pcp leaves what is not older alone",
     lambda case, ref, ours: _updates(case) and (not _keeps_links(case) or _short(case, "l")
                                                 or "--li" in case["args"] or "--link" in case["args"])
     and (any(e["type"] in "hl" for e in case["entries"]) or _has_twins(source_operands(case["args"])))),
    ("cp", "with -u, GNU's takes a newer directory for a copy of what is no directory, and fails to make "
     "further names of it",
     lambda case, ref, ours: _updates(case) and b"cannot create hard link" in ref.stderr
     and (b": Operation not permitted" in ref.stderr or b": Is a directory" in ref.stderr)
     and ours.status <= ref.status),
    ("cp", "an operand that was made by a hard link is not safe from a later one with its name in GNU's",
     lambda case, ref, ours: ours.stderr.count(b"just-created") > ref.stderr.count(b"just-created")
     and _keeps_links(case)),
    ("cp", "with -u, GNU's makes a link of a file to itself where it is met again in a further operand",
     lambda case, ref, ours: _updates(case) and _overlap(source_operands(case["args"]))),
    ("cp", "where a link on the way of --parents makes source and target one name of one file, GNU's "
     "does not see it, and moves away or replaces what it is to copy",
     lambda case, ref, ours: _parents(case) and any(e["type"] == "l" for e in case["entries"])
     and {x for x in ours.stderr.split(b"\n") if b"are the same file" in x}
     - set(ref.stderr.split(b"\n"))),
    ("cp", "with a backup, a file that `dir/.` would replace is removed by GNU's, and there is no backup",
     lambda case, ref, ours: _backups(case) and b"cannot overwrite non-directory" in ours.stderr
     and b"cannot overwrite non-directory" not in ref.stderr
     and any(re.search(r"(^|/)\.\.?/*$", word) for word in source_operands(case["args"]))),
    ("cp", "9.7 copies a directory to the empty name: into the working directory; 9.1 and pcp refuse",
     lambda case, ref, ours: "" in case["args"]
     and b"cannot create directory '': No such file" in ours.stderr),
    ("cp", "with a backup, GNU's goes through a directory that is copied to itself, and says of what is in it "
     "that it is the same, if there is anything",
     lambda case, ref, ours: _backups(case) and ref.status <= ours.status == 1
     and any(re.search(r"(^|/)\.\.?/*$", word) for word in source_operands(case["args"]))
     and all(b" are the same file" in line for run in (ref, ours) for line in run.stderr.splitlines())),
    ("cp", "a file that GNU's has made a link, and moved away or replaced since, it links to itself",
     lambda case, ref, ours: _keeps_links(case) and ours.status <= ref.status
     and re.search(rb"cannot create hard link ('[^'\n]*') to \1: ", ref.stderr) is not None),
    ("cp", "of several names of one file workers decide which is first; relative -s can make it only in the "
     "working directory",
     lambda case, ref, ours: case["jobs"] != "1" and _symbolic(case) and _keeps_links(case)
     and b"can make relative symbolic links only in current directory" in ref.stderr
     and any(e["type"] == "h" for e in case["entries"])),
    ("cp", "where a hard link cannot be made, pcp copies",
     lambda case, ref, ours: b"cannot create hard link" in ref.stderr
     and b"(copying instead)" in ours.stderr and ours.status <= ref.status),
    ("cp", "directories on the way of --parents get their mode at the end, so that all operands can go "
     "through them; GNU's closes them after each",
     lambda case, ref, ours: _parents(case) and b"Permission denied" in ref.stderr
     and ours.status <= ref.status),
]


def _symbolic(case):
    return _short(case, "s") or any(a in ("--symbolic-link", "--sy") for a in case["args"])


def _updates(case):
    return any(re.match("-[a-zA-Z]*u|--u", a) for a in case["args"])


def _has_twins(words):
    return len(set(words)) < len(words)


def _overlap(words):
    """Is an operand, or one of two that are the same, in another?"""
    paths = sorted(os.path.normpath(word) for word in words)
    return any(second == first or second.startswith(first + "/") or first == "."
               for first, second in zip(paths, paths[1:]))


def _parents(case):
    return any(a.startswith("--pa") for a in case["args"])


def _keeps_links(case):
    """Are hard links to be kept?"""
    if any(re.match("--no-preserve=.*(links|all)", a) for a in case["args"]):
        return False
    return _short(case, "[ad]") or any(re.match("--ar|--preserve=.*(links|all)", a) for a in case["args"])


def meant(program, case, ref, ours):
    return any(program in programs.split() and applies(case, ref, ours)
               for programs, _reason, applies in MEANT)


# Words that have changed, or are ours alone: (program, since, pattern, what ours is made to say in both).
REWORDED = [
    ("cp", (99,), rb"\S*cp: [^\n]* is not complete\n", b""),  # of a target that was being overwritten
    ("cp", (99,), rb"  - [^\n]*changed[^\n]*\n", b""),    # of --update; GNU's has no such word
    ("cp", (9, 2), rb"(cannot overwrite directory [^\n]* with non-directory) [^\n]*", rb"\1"),
    ("cp", (9, 5), rb"--backup is mutually exclusive with -n or --update=none-fail",
     rb"options --backup and --no-clobber are mutually exclusive"),
]


# Options that only ours have; (a few are abbreviations that keep GNU's meaning).
OURS_ALONE = re.compile(
    rb" '--(?:at|atomic|b|bwlimit|checksum-file|chunk|dry-run|exclude|exclude-from|exclude-snapshots|f|files0-from"
    rb"|i|in|include|jobs|max-rate|progress|st|stats|sy|sync|verify)'")


def old_words(program, text, version):
    """TEXT of ours in the words of the reference's version."""
    text = re.sub(rb"[^\n]*is ambiguous; possibilities:[^\n]*", lambda m: OURS_ALONE.sub(b"", m[0]), text)
    for programs, since, pattern, words in REWORDED:
        if program in programs.split() and version < since:
            text = re.sub(pattern, words, text)
    return text


ACLS = ("system.posix_acl_access", "system.posix_acl_default")


def _without_acl(xattrs):
    return {name: value for name, value in (xattrs or {}).items() if name not in ACLS}


def _only_acl(diff):
    """Do the two sets of attributes differ just in an ACL that one of them has not?"""
    first, second = diff[1] or {}, diff[2] or {}
    return _without_acl(first) == _without_acl(second) and all(
        name not in first or name not in second or first[name] == second[name] for name in ACLS)


def order_matters(case, before, after, sources):
    """Has cp changed something that it also was to copy?  (A target that is a link to another source.)

    What is copied then hangs on which of the two comes first, and with threads that is open.
    before, after: the reference's trees; sources: the real paths of what was to be copied.
    """
    if any("bind:" in e.get("mount", "") for e in case["entries"]) and \
            any(path not in before and path.startswith(s + "/") for path in after for s in sources):
        return True
    for path, entry in before.items():
        now = after.get(path, {})
        if any(entry.get(f) != now.get(f) for f in ("type", "size", "content", "target")) and \
                any(path == s or path.startswith(s + "/") or s == "." for s in sources):
            return True
    return False


def _source_places(args):
    """Where in the arguments of cp the operands that are not its target are."""
    places, target, rest = [], False, iter(enumerate(args))
    for place, arg in rest:
        if arg in ("-t", "--target-directory", "-S", "--suffix"):
            target = target or arg.startswith(("-t", "--t"))
            next(rest, None)
        elif arg.startswith("--target-directory="):
            target = True
        elif not arg.startswith("-") or arg == "-":
            places.append(place)
    return places if target or len(places) < 2 else places[:-1]


def source_operands(args):
    """The operands of cp that are not its target."""
    return [args[place] for place in _source_places(args)]


def shuffled(case, seed):
    """CASE with its operands in another order; those with one name stay in theirs.  Workers may."""
    places = _source_places(case["args"])
    words = [case["args"][place] for place in places]
    if case["jobs"] == "1":
        return case
    names = [word.rstrip("/").rpartition("/")[2] for word in words]
    random.Random(seed).shuffle(names)
    args = list(case["args"])
    for place, name in zip(places, names):
        word = next(w for w in words if w.rstrip("/").rpartition("/")[2] == name)
        words.remove(word)
        args[place] = word
    return dict(case, args=args)


def gated(program, case, version, before):
    for programs, reason, applies in GATES:
        if program in programs.split() and applies(case, version, before):
            return reason
    return None


def excused(program, diff, case, version, ref, ours):
    return any(program in programs.split() and applies(diff, case, version)
               for programs, _reason, applies in EXCUSED) or \
        any(program in programs.split() and applies(diff, case, ref, ours)
            for programs, _reason, applies in FORGIVEN)


# ---------------------------------------------------------------- comparing

# The words of --debug that say how the bytes were moved are about the implementation.
DEBUG_LINE = re.compile(rb"^copy offload: ")
# ... and so is what it says of the workers, of which cp has one.
WORKERS_LINE = re.compile(rb"\S*cp: workers: [^\n]*\n")
ONCE = re.compile(rb"\S*rm: remove \d+ arguments?( recursively)?\? ")


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
    keep_order = ordered(case) and b"? " in ref.stderr
    for name, one, two in (
            ("stderr", diagnostics(ref.stderr, keep_order),
             diagnostics(old_words(program, ours.stderr, version), keep_order)),
            ("stdout", sorted(output_lines(ref.stdout)), sorted(output_lines(ours.stdout)))):
        if one != two:
            diffs.append((name, *only(one, two)))
    # (Where an operand is not to go over a directory of an earlier one, cp names the directory last.)
    if not any(d[0] == "stdout" for d in diffs) and not verbose_order(program, ref.stdout, ref.tree):
        diffs += verbose_order(program, ours.stdout, ours.tree)
    return diffs + compare_trees(ref.tree, ours.tree)


def constant(diffs, ref, others):
    """The differences in what the reference leaves, says and returns alike in all runs of a case."""
    rest = []
    for diff in diffs:
        if diff[0] in ("stderr", "stdout"):
            runs = [getattr(run, diff[0]).split(b"\n") for run in (ref, *others)]
            always = [[line for line in diff[1] if all(line in run for run in runs)],
                      [line for line in diff[2] if not any(line in run for run in runs)]]
            if any(always):
                rest.append((diff[0], *always))
        elif diff[0] == "status":
            if not any(run.status == diff[2] for run in others):
                rest.append(diff)
        elif len(diff) < 4 or all(_field(run.tree, *diff[::3]) == _field(ref.tree, *diff[::3])
                                  for run in others):
            rest.append(diff)
    return rest


def _field(tree, field, path):
    entry = tree.get(path)
    return entry and (entry["type"] if field == "tree" else entry.get(field))


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


def verbose_order(program, data, tree):
    """cp names a directory before what is in it, rm after it: so must ours, with any threads."""
    place = {}
    for number, line in enumerate(data.split(b"\n")):
        match = (COPIED if program == "cp" else REMOVED).match(line)
        if match:
            place.setdefault(match.group(2), number)
    for path, number in place.items():
        parent = path.rpartition(b"/")[0]
        if parent in place and tree.get(parent.decode("ascii"), {}).get("type") != "l" and (place[parent] > number) == (program == "cp"):
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
