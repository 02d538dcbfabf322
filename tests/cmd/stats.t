#!/usr/bin/env bash
# --stats: what it counts, against trees that are known; that its two forms say the same, and its times are possible.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

need_command 'all of it' python3 || done_testing

# A Python that is asked line by line: whether a condition holds of the summary in a file, as the dictionary s.
# (One for all, since to start one takes longer than all else.)
cat >"$tmp/judge" <<'END'
import json, sys
for line in sys.stdin:
    name, condition = line.rstrip("\n").split("\t")
    try:
        lines = [line for line in open(name) if line.startswith("{")]
        s, = map(json.loads, lines)
        print("holds" if eval(condition) else f"false: {condition}, of {lines[0].strip()}", flush=True)
    except Exception as e:
        print(f"{e!r}: {condition}, of {lines}", flush=True)
END
coproc judge { exec python3 "$tmp/judge"; }

# holds CONDITION NAME: of the summary of the last run.
holds() {
	local said=''
	printf '%s\t%s\n' "$err" "$1" >&"${judge[1]}"
	read -r said <&"${judge[0]}"
	is "$said" holds "$2"
}

# counts NAME MEMBER=NUMBER...: those are, and all other things that are counted are 0.
counts() {
	local name=$1 pair wanted='dict(files=0, directories=0, links=0, special_files=0, skipped=0, failed=0)'
	shift
	for pair; do
		wanted+=" | dict($pair)"
	done
	holds "{m: s[m] for m in ($wanted)} == ($wanted)" "$name"
	holds 's["found"] == sum(s[m] for m in ("files", "directories", "links", "special_files", "skipped", "failed"))' \
		"$name: that is all that was found"
}

# 4 directories, 4 files (of 1,000, 70,000, 0 and 1 MiB + 5,000 bytes), a link, another name, a fifo.
tree() {
	mkdir -p s/a/b s/c
	head -c 1000 /dev/urandom >s/small
	head -c 70000 /dev/urandom >s/a/b/f
	: >s/empty
	truncate -s 1M s/a/hole
	head -c 5000 /dev/urandom >>s/a/hole
	ln -s nowhere s/a/l
	ln s/small s/c/other
	mkfifo s/a/p
}
bytes=$((1000 + 70000 + (1 << 20) + 5000))

copies() {
	tree
	run pcp "${jc[@]}" --stats=json -a s d
	status 0 'a tree'
	counts 'a tree' files=4 directories=4 links=2 special_files=1
	holds "s['bytes'] == $bytes" 'its bytes'
	holds "s['bytes_holes'] // 4096 == 256" 'its holes'
	holds "s['bytes_offloaded'] + s['bytes_reflinked'] + s['bytes_holes'] == $bytes" 'and the rest went by the system'
	run pcp "${jc[@]}" --stats=json -r s e
	counts 'links that are not kept' files=5 directories=4 links=1 special_files=1
	holds "s['bytes'] == $bytes + 1000" 'their bytes'

	run pcp "${jc[@]}" --stats=json -rn s/. d
	status 0 '-n'
	counts '-n' directories=4 skipped=7
	holds "s['bytes'] == 0" '-n: no bytes'
	touch -d tomorrow s/a/b/f
	run pcp "${jc[@]}" --stats=json -ru s/. d
	counts '-u' files=1 directories=4 skipped=6
	rm -r d
	run pcp "${jc[@]}" --stats=json -a --sparse=never s d
	holds "s['bytes'] == $bytes and s['bytes_holes'] == 0 and s['bytes_offloaded'] == 0" '--sparse=never'
	rm -r d
	head -c 1M /dev/zero >s/zeros
	run pcp "${jc[@]}" --stats=json -a --sparse=always s d
	holds "s['bytes'] == $bytes + 2**20 and s['bytes_holes'] >= 2**21 - 4096" '--sparse=always'
	rm -r d s/zeros
	run pcp "${jc[@]}" --stats=json -rlP s d
	counts '-l' directories=4 links=7
	rm -r d
	run pcp "${jc[@]}" --stats=json -rs "$PWD/s" d
	counts '-s' directories=4 links=7
	rm -r d
	run pcp "${jc[@]}" --stats=json -a --exclude='*o*' s d
	counts '--exclude' files=3 directories=4 links=1 special_files=1
	run pcp "${jc[@]}" --stats=json -a --attributes-only s new
	counts '--attributes-only' files=4 directories=4 links=2 special_files=1
	holds "s['bytes'] == 0" '--attributes-only: no bytes'
	run pcp "${jc[@]}" --stats=json -a --dry-run s dry
	counts '--dry-run' files=4 directories=4 links=2 special_files=1
	holds "s['dry_run'] and s['bytes'] == $bytes" '--dry-run: it says so'
	mkdir to
	run pcp "${jc[@]}" --stats=json s/small s/empty s/small s/a missing to
	counts 'operands' files=2 skipped=1 failed=2
	run pcp "${jc[@]}" --stats=json -a --exclude=small s/small s/empty to
	counts 'an operand that is left out' files=1
}
run_each copies

failures() {
	tree
	# Written, all or in part; and taken back.
	run_faulty 'copy_file_range:ENOSPC:path=f' pcp "${jc[@]}" --stats=json -a --reflink=never s d
	struck 'a file that fails'
	status 1 'a file that fails'
	counts 'a file that fails' files=3 directories=4 links=2 special_files=1 failed=1
	holds "s['bytes'] == $bytes - 70000" 'a file that fails: its bytes are not counted'
	rm -r d
	run_faulty 'close:EIO:path=f:wr' pcp "${jc[@]}" --stats=json -a s d
	counts 'a file that cannot be closed' files=3 directories=4 links=2 special_files=1 failed=1
	holds "s['bytes'] == $bytes - 70000" 'a file that cannot be closed: its bytes are not counted'
	rm -r d
	run_faulty 'fchmod:EIO:path=b;fchmodat:EIO:path=b' pcp "${jc[@]}" --stats=json -a s d
	counts 'a directory that gets no attributes' files=4 directories=3 links=2 special_files=1 failed=1
	rm -r d
	run_faulty 'getdents64:EIO:path=c' pcp "${jc[@]}" --stats=json -a s d
	counts 'a directory that cannot be listed' files=4 directories=3 links=1 special_files=1 failed=1
	rm -r d
	run_faulty 'mkdirat:EIO:path=b' pcp "${jc[@]}" --stats=json -a s d
	counts 'a directory that cannot be made' files=3 directories=3 links=2 special_files=1 failed=1
	run pcp "${jc[@]}" --stats=json -a --update=none-fail s/. d
	holds "s['failed'] == 6 and s['files'] == 1" '--update=none-fail'
	mkdir -p over/empty
	run pcp "${jc[@]}" --stats=json -a s/. over
	counts 'a directory in the way' files=3 directories=4 links=2 special_files=1 failed=1
}
run_each failures

# A large file, which several workers share.
large() {
	mkdir s
	head -c 150M /dev/zero | tr '\0' x >s/f
	run pcp "${jc[@]}" --stats=json --reflink=never s/f d
	counts 'a large file' files=1
	holds 's["bytes"] == 150 << 20 == s["bytes_offloaded"]' 'a large file: bytes'
	rm d
	run pcp "${jc[@]}" --stats=json --reflink=never --sparse=always s/f d
	holds 's["bytes"] == 150 << 20 and s["bytes_offloaded"] == 0' 'a large file, read and written: bytes'
	rm d
	run_faulty 'copy_file_range:EIO:3+;read:EIO:3+:path=f;pread:EIO:3+:path=f' \
		pcp "${jc[@]}" --stats=json --reflink=never s/f d
	struck 'a large file that fails'
	status 1 'a large file that fails'
	counts 'a large file that fails' failed=1
	holds 's["bytes"] == 0 == s["bytes_offloaded"]' 'a large file that fails: bytes'
}
run_each large

# Blocks that are shared, where there is a file system that can.
reflinks() {
	need_root 'reflinks' && need_command 'reflinks' mkfs.xfs || return
	truncate -s 400M image
	mkdir m
	if ! mkfs.xfs -q -m reflink=1 image || ! mount -o loop image m; then
		missing 'reflinks' 'way to mount an XFS'
		return
	fi
	head -c 1000000 /dev/urandom >m/f
	run pcp --stats=json m/f m/g
	counts 'a reflink' files=1
	holds "s['bytes'] == 1000000 == s['bytes_reflinked'] and s['bytes_offloaded'] == 0" 'a reflink: bytes'
	umount m
}

removals() {
	tree
	run prm "${jc[@]}" --stats=json -r s
	status 0 'a removal'
	counts 'a removal' files=5 directories=4 links=1 special_files=1
	tree
	run prm "${jc[@]}" --stats=json s/small s/a/l s/a/p s/missing s/c
	counts 'operands' files=1 links=1 special_files=1 failed=2
	run prm "${jc[@]}" --stats=json -rf s/missing s/c
	counts '-f' files=1 directories=1 skipped=1
	run_faulty 'unlinkat:EPERM:path=f' prm "${jc[@]}" --stats=json -r s
	struck 'a file that stays'
	status 1 'a file that stays'
	counts 'a file that stays' files=2 failed=1 skipped=3
	mkdir -p s/x/y
	run_faulty 'rmdir:EIO:path=y' prm "${jc[@]}" --stats=json -r s/x
	struck 'a directory that stays'
	counts 'a directory that stays' failed=1 skipped=1
	run prm "${jc[@]}" --stats=json -r --exclude=f s
	counts '--exclude' directories=2 skipped=3
	run prm "${jc[@]}" --stats=json -r --dry-run s
	counts '--dry-run' files=1 directories=3
	printf 'y\nn\n' >answers
	mkdir t && touch t/f
	timeout 60 prm "${jc[@]}" --stats=json -ri t <answers >"$out" 2>"$err"
	# (The line begins after a question.)
	sed -i 's/^[^{]*{/{/' "$err"
	counts 'a question declined' skipped=2
	run prm "${jc[@]}" --stats=json -f
	counts 'nothing at all'
}
run_each removals

interrupted() {
	"$gentree" grid dirs=10 files=40 size=1000 s
	# shellcheck disable=SC2016 # (For the shell that the fault runs.)
	FAULT_RUN='kill -INT $PPID' run_faulty 'openat:run:300;openat:delay=2:300+' pcp "${jc[@]}" --stats=json -r s d
	status 130 'interrupted'
	holds 's["interrupted"] and s["failed"] == 0' 'interrupted: it says so'
	holds "s['files'] == $(find d -type f | wc -l)" 'interrupted: files'
	holds "s['bytes'] == 1000 * s['files']" 'interrupted: bytes'
	holds 's["found"] > s["files"] + s["directories"]' 'interrupted: what was found is more'
}
run_each interrupted

# What the numbers say of one another.
plausible() {
	"$gentree" grid dirs=20 files=40 size=1000 s
	run_faulty 'unlinkat:delay=5:path=f000007' prm "${jc[@]}" --stats=json -r s
	local o='s["operations"]'
	holds "821 <= ${o}['removing']['number'] <= 824" 'each removal is one call'
	holds "${o}['removing']['p99'] >= 0.005 and ${o}['removing']['mean'] < 0.005" 'those that are slow show'
	holds "all(c['p99'] <= c['longest'] <= c['seconds'] for c in ${o}.values())" 'none took longer than all'
	holds "all(abs(c['mean'] * c['number'] - c['seconds']) < 1e-6 * (c['number'] + 1) for c in ${o}.values())" 'the mean is that'
	holds "sum(c['seconds'] for c in ${o}.values()) <= s['seconds'] * s['workers'] * 1.01" 'no more than all workers had'
	holds "1 <= s['peak_in_flight'] <= s['workers'] <= ${jc[1]}" 'peak and workers'
	holds "abs(s['files_per_second'] * s['seconds'] - 821) < 1" 'files a second'
	holds "set(${o}) == {'listing', 'looking', 'opening', 'creating', 'data', 'attributes', 'closing', 'removing', 'syncing'}" \
		'the operations that the manual page lists'
	holds "'bytes' not in s and 'bytes_per_second' not in s" 'prm says nothing of bytes'
}
run_each plausible

# Every member is in the manual page, and the other way round.
documented() {
	local program
	mkdir s
	for program in pcp prm; do
		case $program in
		pcp) run pcp --stats=json -r s d ;;
		prm) run prm --stats=json -r s d ;;
		esac
		python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
print("\n".join(sorted(set(s) | set(s["operations"]) | set(s["operations"]["data"]))))' "$err" >members
		man -l -P cat "$top/man/$program.1" 2>/dev/null | col -b | sed -n '/^PROGRESS AND SUMMARY/,/^EXIT STATUS/p' |
			grep -oE '[a-z_0-9]+' | sort -u >words
		ok "$program: there are members" grep -qx files members
		is "$(comm -23 members words)" '' "$program: the manual page knows them"
	done
}
if need_command 'the manual page' man && need_command 'the manual page' col; then run_once documented; fi

# The form for a person.
text() {
	tree
	run pcp "${jc[@]}" --stats -a s d
	status 0 'text'
	is "$(sed '/^time/,$d; s/  */ /g; s/[0-9.]* [KM]*i*B$//; s/ $//' "$err" | grep -v offloaded)" "files 4
directories 4
links 2
special files 1
skipped 0
failed 0
bytes 1,124,576
 reflinked 0
 holes 1,048,576" 'text: the same numbers'
	is "$(awk 'length > 79' "$err")" '' 'text: fits a terminal'
	like "$(cat "$err")" 'creating +[0-9]+ +[0-9.]+ [a-z]+ +[0-9.]+ [a-z]+ +[0-9.]+ [a-z]+ +[0-9.]+ [a-z]+' 'text: times'
	is "$(grep -c 'syncing' "$err")" 0 'text: nothing of what was not called'
	run pcp "${jc[@]}" --stats=json --stats=text -a s e
	like "$(head -n 1 "$err")" '^files' 'the last form counts'
	run pcp --stats=yaml a b
	status 1 'another form'
	like "$(cat "$err")" "invalid argument 'yaml' for '--stats'" 'another form: said'
	run pcp "${jc[@]}" -a s f
	quiet 'without it nothing is said'
}
run_each text

run_once reflinks
done_testing
