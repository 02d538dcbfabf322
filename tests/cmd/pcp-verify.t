#!/usr/bin/env bash
# --verify and --checksum-file: that a copy which is not what was read of its source is found, wherever and however it
# came about, that a good one is not blamed, and that xxhsum agrees with the sums.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

echo x >"$tmp/probe"
if ! pcp --verify "$tmp/probe" "$tmp/probed" 2>"$err"; then
	is "$(head -n 1 "$err")" 'pcp: --verify and --checksum-file: this build has no xxHash' 'without xxHash it says so'
	ok 'and copies nothing' test ! -e "$tmp/probed"
	missing 'pcp --verify' 'xxHash in this build'
	done_testing
fi

# different FILE BYTE: what is said of it.
different() {
	echo "pcp: 'd/$1' differs from 's/$1' at byte $2"
}

good() {
	"$gentree" zoo s
	"$gentree" grid dirs=3 files=9 size=0-200000 s/grid
	"$gentree" big size=70M s/big
	"$gentree" sparse size=300M islands=5 island=70K s/sparse
	: >s/empty
	head -c 1048576 /dev/urandom >s/one-block
	truncate -s 5M s/hole
	run pcp "${jc[@]}" -a --verify s d
	status 0 'a good copy'
	quiet 'nothing is said of it'
	same 'it is whole' s d
	run pcp "${jc[@]}" -a --verify s/. d
	status 0 'over an existing one'
	same 'it is whole still' s d
	mkdir e
	run pcp "${jc[@]}" -r --sparse=always --verify s/sparse s/hole s/big s/empty e
	status 0 'with --sparse=always'
	ok 'holes made' test "$(stat -c %b e/hole)" -le 16
	run pcp "${jc[@]}" -r --sparse=never --verify s/hole s/big e
	status 0 'with --sparse=never'
	ok 'holes filled' test "$(stat -c %b e/hole)" -ge 10000
}
run_each good

# A byte that is written wrongly: in small files, at block borders, in each range of a file that workers share, in the
# last byte of all; by read as well.
flipped() {
	local at
	mkdir s
	head -c 3000 /dev/urandom >s/small
	head -c 1048576 /dev/urandom >s/block
	head -c 5000001 /dev/urandom >s/odd
	for at in small:0 block:1048575 odd:1048576 odd:5000000; do
		run_faulty "write:flip=${at#*:}:path=${at%:*};pwrite:flip=${at#*:}:path=${at%:*}" \
			pcp "${jc[@]}" -rpT --verify s d
		status 1 "written wrongly at $at"
		says "$(different "${at%:*}" "${at#*:}")" "found: $at"
		ok "and stays, $at" test -e "d/${at%:*}"
		ok "but not with the time of a copy: $at" test "d/${at%:*}" -nt "s/${at%:*}"
		run pcp "${jc[@]}" -rpT --verify --update=changed s d
		status 0 "and is copied again: $at"
		same "rightly: $at" s d --no-dir-times
		rm -rf d
	done
	# What is read again wrongly, too, although it is right in truth; no byte can be named then.
	run_faulty 'pread:flip=4000000:1:path=*/d/odd;pread:flip=4000000:2+:path=*/d/odd' pcp "${jc[@]}" -r --verify s d
	status 1 'read again wrongly'
	like "$(cat "$err")" "^pcp: 'd/odd' differs from 's/odd' at byte 4000000$" 'found'
}
run_each flipped

# Ranges, tail and holes of a file that several workers share.
flipped_large() {
	local at
	"$gentree" big size=100M s
	for at in 0 33554431 33554432 70000000 104857599; do
		run_faulty "pwrite:flip=$at;write:flip=$at" pcp "${jc[@]}" -r --verify s d
		status 1 "a large file, wrong at $at"
		says "$(different big "$at")" "found at $at"
		rm -rf d
	done
	"$gentree" sparse size=100M islands=3 island=100K h
	run_faulty "pwrite:run:1;write:run:1" pcp "${jc[@]}" --verify h/sparse d
	status 0 'a sparse file'
	FAULT_RUN="printf x | dd of=$PWD/d bs=1 seek=50000000 conv=notrunc status=none" \
		run_faulty 'fsync:run:1' pcp "${jc[@]}" --verify h/sparse d
	status 1 'something is written into a hole'
	says "pcp: 'd' differs from 'h/sparse' at byte 50000000" 'it is found'
	struck 'it was written'
}
run_each flipped_large

lengths() {
	mkdir s d
	head -c 300000 /dev/urandom >s/f
	: >s/empty
	FAULT_RUN="printf x >>$PWD/d/f" run_faulty 'fsync:run:1' pcp "${jc[@]}" --verify s/f d
	status 1 'a target that somebody makes longer'
	says "$(different f 300000)" 'is told'
	FAULT_RUN="truncate -s 200000 $PWD/d/f" run_faulty 'fsync:run:1' pcp "${jc[@]}" --verify s/f d
	status 1 'shorter'
	says "$(different f 200000)" 'is told'
	FAULT_RUN="printf x >>$PWD/d/empty" run_faulty 'fsync:run:1' pcp "${jc[@]}" --verify s/empty d
	status 1 'one that should be empty'
	says "$(different empty 0)" 'is told'
}
run_each lengths

source_changes() {
	mkdir s d
	head -c 300000 /dev/urandom >s/f
	FAULT_RUN="printf x >>$PWD/s/f" run_faulty 'write:run:1;pwrite:run:1' pcp "${jc[@]}" --verify s/f d
	status 1 'a source that grows'
	says "pcp: file 's/f' changed while it was copied" 'is told'
	FAULT_RUN="truncate -s 1000 $PWD/s/f" run_faulty 'write:run:1;pwrite:run:1' pcp "${jc[@]}" --verify s/f d
	status 1 'one that shrinks'
	says "pcp: file 's/f' changed while it was copied" 'is told'
	run pcp "${jc[@]}" --verify /proc/version /proc/filesystems d
	status 0 'files that say they are empty'
	ok 'are copied and compared' cmp /proc/version d/version
	FAULT_RUN="printf x >>$PWD/d/version" run_faulty 'fsync:run:1' pcp "${jc[@]}" --verify /proc/version d
	status 1 'and differ'
	says "pcp: 'd/version' differs from '/proc/version' at byte $(stat -c %s d/version | awk '{ print $1 - 1 }')" 'where they do'
}
run_each source_changes

faults() {
	local rule
	mkdir s
	"$gentree" big size=3M s/big
	"$gentree" sparse size=30M s/sparse
	head -c 9000 /dev/urandom >s/small
	for rule in 'read:short=4095;pread:short=4095;write:short=511;pwrite:short=511' 'pread:EINTR:2;pread:EINTR:3' \
		'fsync:EINVAL' 'fsync:EINTR:1' 'lseek:EINVAL:path=*/d/*'; do
		run_faulty "$rule" pcp "${jc[@]}" -r --verify s d
		status 0 "no matter for the user: $rule"
		same "all is there: $rule" s d --no-times
		struck "it struck: $rule"
		rm -rf d
	done
	run_faulty 'pread:EIO:path=*/d/small' pcp "${jc[@]}" -r --verify s d
	status 1 'it cannot be read again'
	says "pcp: error reading 'd/small': Input/output error" 'that is told'
	rm -rf d
	run_faulty 'fsync:EIO:path=*/d/small' pcp "${jc[@]}" -r --verify s d
	status 1 'it cannot be brought to the disk'
	says "pcp: error writing 'd/small': Input/output error" 'that is told'
	rm -rf d
}
run_each faults

# A target that takes the bytes of a file in their order only: ranges have been summed in vain.
in_order() {
	"$gentree" big size=80M s
	run_faulty 'pwrite:EINVAL' pcp -j 4 -r --verify --checksum-file=sums s d
	status 0 'ranges cannot be written'
	struck 'they were tried'
	same 'copied in order' s d --no-times
	ok 'and summed so' eval '! command -v xxhsum >/dev/null || xxhsum -q -c sums'
}
run_once in_order

# xxhsum of 0.8.1 does not know the escapes yet: names with newlines are for those who do.
sums() {
	local verify plain
	"$gentree" names s
	"$gentree" grid dirs=3 files=9 size=0-200000 s/grid
	"$gentree" big size=70M s/big
	"$gentree" sparse size=80M islands=5 island=70K s/sparse
	: >s/empty
	ln s/big/big s/linked
	ln -s big/big s/symbolic
	touch 's/back\slash' 's/ spaces ' s/$'broken\nline' s/$'carriage\r\\return'
	for verify in '' --verify; do
		run pcp "${jc[@]}" -a ${verify:+$verify} --checksum-file=sums s d
		status 0 "sums ${verify:-alone}"
		is "$(grep -c . sums)" "$(($(find s -type f -printf x | wc -c) - 1))" \
			'a line for each file that was copied, none for a hard link'
		if need_command 'xxhsum agrees' xxhsum; then
			plain=$(grep -v '^[\]' sums | xxhsum -c 2>&1)
			is "$(grep -v ': OK$' <<<"$plain")" '' 'xxhsum agrees'
			is "$(grep -c ': OK$' <<<"$plain")" "$(grep -vc '^[\]' sums)" 'with each line that has no escapes'
		fi
		is "$(grep -F 'd/broken' sums)" '\99aa06d3014798d86001c324468d497f  d/broken\nline' 'a name with a newline'
		is "$(grep -F 'd/carriage' sums)" '\99aa06d3014798d86001c324468d497f  d/carriage\r\\return' 'with a return'
		is "$(grep -F 'd/back' sums)" '99aa06d3014798d86001c324468d497f  d/back\slash' 'with a backslash only'
		rm -rf d
	done
	mkdir d
	run pcp "${jc[@]}" --checksum-file=- s/empty d
	is "$(cat "$out")" '99aa06d3014798d86001c324468d497f  d/empty' 'to standard output'
	run pcp "${jc[@]}" -l --verify --checksum-file=sums s/empty d/linked
	status 0 '-l: a link has nothing to be verified'
	is "$(cat sums)" '' 'nor summed'
}
run_each sums

sum_file() {
	echo a >s
	run pcp --checksum-file=no/sums s d
	status 1 'the file cannot be created'
	says "pcp: cannot open 'no/sums': No such file or directory" 'that is told'
	ok 'before anything is copied' test ! -e d
	run pcp --checksum-file=/dev/full s d
	status 1 'it cannot be written'
	says "pcp: error writing '/dev/full': No space left on device" 'that is told'
	ok 'the copy is there' cmp s d
	run_faulty 'close:EIO:path=sums' pcp --checksum-file=sums s d
	status 1 'closing it fails'
	says "pcp: error writing 'sums': Input/output error" 'that is told'
	run pcp --checksum-file=sums none d
	is "$(cat sums)" '' 'what failed has no sum'
	run pcp --checksum-file=kept s
	ok 'a wrong command line creates no file' test ! -e kept
	run pcp --verify --reflink=always s d
	is "$(head -n 1 "$err")" 'pcp: --verify and --checksum-file cannot be used with --reflink=always' '--reflink=always'
	run pcp --checksum-file=sums --reflink s d
	status 1 '--reflink is --reflink=always'
	run pcp --debug --verify s d
	is "$(sed -n 2p "$out")" 'copy offload: avoided, reflink: no, sparse detection: no' '--debug says what is avoided'
	mkfifo p
	timeout 20 cat p >got &
	run pcp --verify --checksum-file=sums s p
	status 0 'into a fifo'
	wait
	ok 'it arrives' cmp s got
	is "$(cat sums)" '' 'without a sum'
}
run_once sum_file

# The bytes come from the disk again: what was changed there, below the file system, is found.
on_disk() {
	need_root 'changed on the disk itself' || return
	truncate -s 64M image
	mkdir m
	{ mkfs.ext4 -q image && mount -o loop image m; } >"$out" 2>&1 || { missing 'changed on the disk itself' ext4; return; }
	head -c 3M /dev/urandom >s
	cat >change <<-'END'
		import sys
		want = open(sys.argv[1], 'rb').read()[1 << 20:][:4096]
		with open(sys.argv[2], 'r+b') as image:
		    at = image.read().find(want)
		    image.seek(at + 100)
		    image.write(bytes([want[100] ^ 255]))
	END
	FAULT_RUN="python3 $PWD/change $PWD/s $PWD/image" run_faulty 'pread:run:1:path=*/m/d' pcp -j 1 --verify s m/d
	status 1 'changed on the disk itself'
	says "pcp: 'm/d' differs from 's' at byte 1048676" 'that is found'
	umount m
}
run_once on_disk

done_testing
