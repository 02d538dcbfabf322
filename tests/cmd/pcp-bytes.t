#!/usr/bin/env bash
# The bytes of regular files: files that lie about their size, calls that are refused or fall short,
# holes, clones, sources that change, kills.  The cases with mounts need root.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

# What refusals are tried on: small files, and one that is large enough to be shared among workers.
make_source() {
	"$gentree" grid dirs=3 files=4 size=1-9000 s
	"$gentree" big size="${1:-3M}" s
}

size_of_nothing() {
	local f
	for f in /proc/version /proc/filesystems /proc/mounts /sys/kernel/mm/transparent_hugepage/enabled; do
		[ -r "$f" ] || continue
		run pcp "${jc[@]}" "$f" x
		status 0 "b1: $f is copied"
		ok "b1: all of $f" cmp "$f" x
	done
	run pcp "${jc[@]}" /proc/cpuinfo x
	status 0 'b1: /proc/cpuinfo is copied'
	is "$(grep -c ^processor x)" "$(grep -c ^processor /proc/cpuinfo)" 'b1: all of /proc/cpuinfo'
}
run_each size_of_nothing

# What a size of 0 means is a matter of each file system that a run meets, not of the first one.
size_of_nothing_elsewhere() {
	mkdir d e
	echo x >f
	run pcp "${jc[@]}" f /proc/version d
	status 0 'b1: /proc after a file of a disk'
	ok 'b1: all of it' cmp /proc/version d/version
	run pcp "${jc[@]}" /proc/version f e
	status 0 'b1: /proc before a file of a disk'
	ok 'b1: all of it, and of the other' eval 'cmp /proc/version e/version && cmp f e/f'
	need_root 'b1: /proc mounted in the tree' || return
	mkdir -p s/k s/plain
	echo y >s/plain/y
	: >s/plain/empty
	mount --bind /proc/sys/kernel/random s/k
	run pcp "${jc[@]}" -r s t
	is "$(wc -l <t/k/poolsize)" 1 'b1: /proc mounted in the tree'
	ok 'b1: and the files beside it' eval 'cmp s/plain/y t/plain/y && test -f t/plain/empty'
}
run_each size_of_nothing_elsewhere

refused_at_once() {
	local e
	make_source
	for e in EPERM ENOSYS EINVAL EOPNOTSUPP EBADF ETXTBSY EXDEV; do
		run_faulty "copy_file_range:$e" pcp "${jc[@]}" -r s d
		status 0 "b2: copy_file_range refused with $e"
		quiet "b2: $e is no matter for the user"
		same "b2: same bytes after $e" s d --no-times
		struck "b2: $e struck"
		rm -rf d
	done
}
run_each refused_at_once

refusal_remembered() {
	"$gentree" flat files=40 size=300000 s
	todo_gnu 'asks for every file'
	run_faulty 'copy_file_range:EXDEV' pcp "${j1[@]}" -r s d
	ok 'b2: a refusal is remembered for the pair of file systems' test "$(hits)" -le 4
}
run_once refusal_remembered

# Between two mounts the kernel refuses copy_file_range; within one of them it has to go on working.
refusal_is_of_the_pair() {
	local alone
	need_root 'b2: a refusal is remembered for that pair only' || return
	mkdir x y
	mount -t tmpfs none x && mount -t tmpfs none y
	"$gentree" flat files=10 size=300000 x/s
	"$gentree" flat files=10 size=300000 y/t
	run_faulty 'copy_file_range:log:path=*/x/s/*' pcp "${j1[@]}" -r x/s x/alone
	alone=$(hits)
	if [ "$alone" = 0 ]; then
		skip 'b2: a refusal is remembered for that pair only' 'copy_file_range is not used here'
		return
	fi
	mkdir x/d
	run_faulty 'copy_file_range:log:path=*/x/s/*' pcp "${j1[@]}" -r y/t x/s x/d
	is "$(hits)" "$alone" 'b2: a refusal is remembered for that pair only'
	same 'b2: bytes from the one' x/s x/d/s --no-times
	same 'b2: bytes from the other' y/t x/d/t --no-times
}
run_once refusal_is_of_the_pair

refused_oddly() {
	local e
	make_source
	todo_gnu 'takes these for errors of the data'
	for e in ENOENT EACCES EIO EAGAIN; do
		run_faulty "copy_file_range:$e" pcp "${jc[@]}" -r s d
		status 0 "b3: copy_file_range refused with $e before any byte"
		quiet "b3: $e is no matter for the user"
		same "b3: same bytes after $e" s d --no-times
		rm -rf d
	done
}
run_each refused_oddly

refused_and_read_fails() {
	make_source
	run_faulty 'copy_file_range:EIO:path=big;read:EIO:path=big;pread:EIO:path=big' \
		pcp "${jc[@]}" -r s d
	status 1 'b3: copy_file_range and read both fail'
	like "$(cat "$err")" "^pcp: error (reading|copying) 's/big'.*: Input/output error$" 'b3: that is reported, once'
	same 'b3: the other files are copied' s/d000000 d/d000000 --no-times
}
run_each refused_and_read_fails

refused_midway() {
	make_source
	run_faulty 'copy_file_range:short=65536,then=EXDEV' pcp "${jc[@]}" -r s d
	status 0 'b4: copy_file_range gives 64 KiB, then EXDEV'
	quiet 'b4: silently'
	same 'b4: same bytes' s d --no-times
	struck 'b4: the fault struck'
}
run_each refused_midway

short_results() {
	local plain='copy_file_range:EXDEV;sendfile:EINVAL;splice:EINVAL' rule
	make_source 200K
	for rule in copy_file_range:short=1000 copy_file_range:EINTR:1 copy_file_range:EINTR:2 \
		"copy_file_range:short=4097;copy_file_range:EINTR:3" \
		"$plain;read:short=7;pread:short=7" "$plain;write:short=7;pwrite:short=7" \
		"$plain;read:short=4095;write:short=511;pread:short=4095;pwrite:short=511" \
		"$plain;read:EINTR:1;pread:EINTR:1" "$plain;write:EINTR:1;pwrite:EINTR:1" \
		"$plain;read:EINTR:2;pread:EINTR:2;write:short=100:3;pwrite:short=100:3"; do
		run_faulty "$rule" pcp "${jc[@]}" -r s d
		status 0 "b5: ${rule#"$plain;"}"
		quiet "b5: ${rule#"$plain;"} is no matter for the user"
		same "b5: same bytes" s d --no-times
		struck 'b5: the fault struck'
		rm -rf d
	done
}
run_each short_results

# A short write is not the end: what cannot be written at all is reported.
nothing_written() {
	make_source
	run_faulty 'copy_file_range:EXDEV;write:EIO:path=big;pwrite:EIO:path=big' pcp "${jc[@]}" -r s d
	status 1 'b5: a write that fails'
	says "pcp: error writing 'd/big': Input/output error" 'b5: is reported, once'
}
run_each nothing_written

# Object stores that look like file systems take bytes only one after the other.
only_in_order() {
	mkdir s
	"$gentree" big size=80M s/a && "$gentree" big size=80M s/b
	run_faulty 'copy_file_range:EXDEV;pwrite:EINVAL' pcp -r -j 7 s d
	status 0 'a file that cannot be written in ranges: status'
	quiet 'and silently'
	same 'and whole' s d --no-times
	struck 'it had been tried in ranges'
	rm -rf d
	run_faulty 'copy_file_range:EXDEV;pwrite:EINVAL;ftruncate:EINVAL' pcp -r -j 7 s/a d
	status 1 'where it cannot be started over either: status'
	says "pcp: error writing 'd/big': Invalid argument" 'it is reported, once'
	ok 'and not left there' test ! -e d/big
}
run_case only_in_order

btrfs() {
	need_root "$1" && need_command "$1" mkfs.btrfs || return
	mkdir fs
	if ! { truncate -s 200M image && mkfs.btrfs -q image && mount -o loop image fs; } >"$out" 2>&1; then
		missing "$1" 'btrfs in this kernel'
		return 1
	fi
}

clone_fails() {
	local e
	btrfs 'b6: FICLONE fails' || return
	cd fs && make_source
	run_faulty 'ficlone:EAGAIN;copy_file_range:log' pcp "${jc[@]}" -r s d
	status 0 'b6: FICLONE says EAGAIN: copied the plain way'
	quiet 'b6: EAGAIN is no matter for the user'
	same 'b6: same bytes' s d --no-times
	if [ "$(hits ficlone)" = 0 ]; then
		skip 'b6: FICLONE says ENOSPC, EIO, EDQUOT' 'no FICLONE is tried here'
		return
	fi
	todo_before 9.2 'goes on'
	for e in 'ENOSPC No space left on device' 'EIO Input/output error' 'EDQUOT Disk quota exceeded'; do
		run_faulty "ficlone:${e%% *}" pcp "${jc[@]}" s/big b
		status 1 "b6: FICLONE says ${e%% *}: an error"
		says "pcp: failed to clone 'b' from 's/big': ${e#* }" "b6: ${e%% *} is reported"
		rm -f b
	done
}
run_each clone_fails

clone_impossible() {
	need_option 'b7: --reflink=always where it cannot be' --reflink || return
	echo text >a
	run pcp "${jc[@]}" --reflink=always a b
	status 1 'b7: --reflink=always where it cannot be'
	like "$(cat "$err")" "^pcp: failed to clone 'b' from 'a': (Operation not supported|Invalid argument)$" \
		'b7: is an error'
	todo_before 9.2 'leaves it'
	ok 'b7: and the file just made is gone again' test ! -e b
	todo_end
	echo old >c
	run pcp "${jc[@]}" --reflink=always a c
	status 1 'b7: the same over an existing file'
	ok 'b7: which stays' test -e c
}
run_each clone_impossible

holes() {
	local where=$PWD
	truncate -s 1G s
	run pcp "${jc[@]}" s d
	status 0 'b8: a hole of 1 GiB'
	is "$(stat -c %s d)" 1073741824 'b8: has the same size'
	ok 'b8: and nearly no blocks' test "$(stat -c %b d)" -le 128
	printf x >s2
	truncate -s 10485761 s2
	run pcp "${jc[@]}" s2 d2
	same 'b8: one byte and a hole of 10 MiB at the end' s2 d2 --no-times
	is "$(stat -c %s d2)" 10485761 'b8: has the same size'
	"$gentree" sparse size=512M islands=7 island=100K s3
	run pcp "${jc[@]}" s3/sparse d3
	status 0 'b8: islands in a hole'
	same 'b8: the same holes and islands' s3/sparse d3 --no-times
	run_faulty copy_file_range:EXDEV pcp "${jc[@]}" s3/sparse d4
	same 'b8: the same by read and write' s3/sparse d4 --no-times
	cd "$disk" && run pcp "${jc[@]}" "$where/s3/sparse" d5
	same 'b8: the same onto a disk' "$where/s3/sparse" d5 --no-times
	run pcp "${jc[@]}" d5 d6
	same 'b8: the same on a disk' d5 d6 --no-times
	# Over what was there before.
	head -c 3000000 /dev/urandom >d7
	run pcp "${jc[@]}" d5 d7
	same 'b8: the same over an existing file' d5 d7 --no-times
	rm -f d5 d6 d7
}
disk=$(mktemp -d "${TMPDIR:-/tmp}/pfu-disk.XXXXXX")
run_each holes
rm -rf "$disk"

# prefix_of A B: A is how B begins.
prefix_of() {
	cmp -n "$(stat -c %s "$1")" "$1" "$2"
}

source_shrinks() {
	local how after='copy_file_range:run:5:path=big;read:run:5:path=big;pread:run:5:path=big'
	"$gentree" big size=100M s
	cp s/big whole
	for how in short=1048576 EXDEV; do
		cp whole s/big
		FAULT_RUN="truncate -s 10000000 $PWD/s/big" run_faulty \
			"$after;copy_file_range:$how:path=big" pcp "${jc[@]}" s/big d
		ok "b9: the source is truncated while it is copied ($how): ends" test "$rc" -le 1
		ok 'b9: no padding' prefix_of d whole
		ok 'b9: the copy is not of the old size' test "$(stat -c %s d)" -lt 104857600
		is "$(hits ' run ')" 1 'b9: it was truncated'
		rm -f d
	done
}
run_each source_shrinks

source_grows() {
	local writer
	"$gentree" big size=20M s
	(while :; do head -c 4M /dev/zero || exit; sleep 0.01; done >>s/big) &
	writer=$!
	LIMIT=60 run pcp "${jc[@]}" s/big d
	kill "$writer"
	wait "$writer" 2>/dev/null
	status 0 'b9: the source grows while it is copied: ends'
	ok 'b9: and what was copied is right' prefix_of d s/big
	ok 'b9: at least what was there at the start' test "$(stat -c %s d)" -ge 20971520
}
run_each source_grows

whole_or_not_full() {
	[ ! -e "$1" ] || [ "$(stat -c %s "$1")" -lt "$(stat -c %s "$2")" ] || cmp "$1" "$2"
}

killed() {
	local n
	"$gentree" big size=200M s
	for n in 2 9 40; do
		run_faulty "copy_file_range:short=1048576;copy_file_range:kill:$n;pwrite:kill:$n;write:kill:$n" \
			pcp "${jc[@]}" s/big d
		ok "b10: killed at call $n: no file of full size with gaps" whole_or_not_full d s/big
		struck 'b10: it was killed'
		rm -f d
	done
}
run_each killed

done_testing
