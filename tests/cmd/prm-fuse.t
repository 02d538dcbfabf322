#!/usr/bin/env bash
# prm, and pcp where the like can happen to it, on file systems that misbehave: names that cannot go,
# names that move while they are listed, listings that break off, types that are not told, errors that
# come with close.  The file system is latencyfs of bench/.  Needs /dev/fuse.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=bench/latencyfs.sh
. "$top/bench/latencyfs.sh"
private_mounts "$@"
tmpdir tmpfs
under_test prm

if ! lat_usable; then
	missing 'prm on latencyfs' 'build/bench/latencyfs, or no right to use /dev/fuse'
	done_testing
fi

# A mount m of the directory s, for the rest of the case; what its report says after down.
up() {
	mkdir -p s m
	lat_mount "$PWD/s" "$PWD/m" "$@" || result 1 "mount with $*"
}

down() {
	lat_umount "$PWD/m" || result 1 'unmount'
}

value() {
	lat_value "$PWD/m" "$1"
}

# no_more KEY N NAME: the file system was not asked more often than that.
no_more() {
	ok "$3 (no more than $2: $(value "$1"))" [ "$(value "$1")" -le "$2" ]
}

# What is left below s, on one line.
left() {
	(cd s && find . -mindepth 1 -printf '%P\n' | sort | tr '\n' ' ')
}

# tree: three directories of 30 files in s/t
tree() {
	mkdir -p s/t/{a,b,c}
	touch s/t/{a,b,c}/{1..30}
}

# --- Names that cannot go ---

# What NFS makes of a file that is removed while somebody has it open.
silly_rename() {
	tree
	touch s/t/b/.nfs0001
	up --fault='unlink:EBUSY:1+:.nfs*'
	run prm "${jc[@]}" -rf m/t
	down
	status 1 'r1: a .nfs file'
	says "prm: cannot remove 'm/t/b/.nfs0001': Device or resource busy" 'r1: named, and nothing else is'
	is "$(left)" 't t/b t/b/.nfs0001 ' 'r1: all else went'
	no_more ops.unlink 92 'r1: unlinks'
	no_more ops.readdir 20 'r1: listings'
}
run_each silly_rename

# What is listed and cannot be found is no reason to list again and again.
ghosts() {
	mkdir -p s/t/a
	touch s/t/a/{1..50} s/t/a/ghost{1..20}
	up --fault='unlink:ENOENT:1+:ghost*'
	run prm "${jc[@]}" -rf m/t
	down
	status 1 'names that are listed and cannot be found'
	says "prm: cannot remove 'm/t/a': Directory not empty" 'such names: the directory is named'
	no_more ops.unlink 145 'such names: unlinks'
	no_more ops.readdir 12 'such names: listings'
	up --fault='readdir:EINTR:1+:a'
	run prm "${jc[@]}" -rf m/t
	down
	status 1 'a listing that is interrupted for ever'
	says "prm: cannot remove 'm/t/a': Interrupted system call" 'such a listing: reported'
}
run_each ghosts

full_stray_directory() {
	tree
	up --fault=unlink:ENOSPC:7
	run prm "${jc[@]}" -rf m/t
	down
	status 1 'e3: one unlink fails'
	like "$(cat "$err")" "^prm: cannot remove 'm/t/[abc]/[0-9]+': No space left on device\$" 'e3: reported'
	is "$(find s -type f | wc -l)" 1 'e3: the rest went'
	is "$(find s -mindepth 2 -type d | wc -l)" 1 'e3: two of the directories too'
}
run_each full_stray_directory

# Another removed it between the listing and the unlink.
already_gone() {
	tree
	up --fault='unlink:ENOENT:7!' --fault='rmdir:ENOENT:2!'
	run prm "${jc[@]}" -rf m/t
	down
	status 0 'a name that is gone already, with -f'
	quiet 'a name that is gone already: nothing is said'
	is "$(left)" '' 'a name that is gone already: so is the tree'
}
run_each already_gone

# --- Listings ---

skipping() {
	mkdir -p s/flat s/t/{a,b,c}/sub
	touch s/flat/{1..2000} s/t/{a,b,c}/{1..700} s/t/{a,b,c}/sub/{1..10}
	up --skip-after-unlink
	run prm "${jc[@]}" -rf m/flat m/t
	down
	status 0 'r2: names are skipped'
	quiet 'r2: nothing is said'
	is "$(left)" '' 'r2: all gone'
}
run_each skipping

# The listing has to be made again, and has to end.
skipping_and_stuck() {
	mkdir -p s/flat
	touch s/flat/{1..2000} s/flat/stuck
	up --skip-after-unlink --fault='unlink:EBUSY:1+:stuck'
	run prm "${jc[@]}" -rf m/flat
	down
	status 1 'r2: names are skipped, one cannot go'
	says "prm: cannot remove 'm/flat/stuck': Device or resource busy" 'r2: it is named once'
	is "$(left)" 'flat flat/stuck ' 'r2: all else went'
}
run_each skipping_and_stuck

types_unknown() {
	tree
	mkdir s/t/empty
	ln -s ../t s/t/link
	mkfifo s/t/c/fifo
	cp -a s/t s/u
	up --dtype-unknown
	run prm "${jc[@]}" -rf m/t
	status 0 'types are not told: prm'
	quiet 'types are not told: prm says nothing'
	is "$(cd s && echo *)" u 'types are not told: all gone'
	run pcp "${jc[@]}" -a m/u m/t
	status 0 'types are not told: pcp'
	quiet 'types are not told: pcp says nothing'
	same 'types are not told: the same tree' s/u s/t
	down
}
run_each types_unknown

listing_breaks_off() {
	tree
	up --readdir-error-after=20:EIO:b
	run pcp "${jc[@]}" -r m/t copy
	status 1 'a listing breaks off: pcp'
	like "$(cat "$err")" "^pcp: [a-z ]+ 'm/t/b': Input/output error\$" 'a listing breaks off: pcp names the directory'
	is "$(find copy/a copy/c -type f | wc -l)" 60 'a listing breaks off: the others are copied'
	run prm "${jc[@]}" -rf m/t
	down
	status 1 'a listing breaks off: prm'
	like "$(head -n 1 "$err")" "m/t/b.*: Input/output error\$" 'a listing breaks off: prm names the directory'
	ok 'a listing breaks off: it is not taken for the end' test -d s/t/b
	is "$(cd s/t && echo *)" b 'a listing breaks off: the others went'
	no_more ops.readdir 40 'a listing breaks off: no endless listing'
}
run_each listing_breaks_off

# From its first name on; and a directory that cannot be opened.
listing_fails() {
	tree
	up --readdir-error-after=0:ESTALE:b --fault=opendir:EIO:1+:c
	run pcp "${jc[@]}" -r m/t copy
	status 1 'a listing fails: pcp'
	ok 'a listing fails: pcp says which' grep -qx "pcp: [a-z ]* 'm/t/b': Stale file handle" "$err"
	ok 'a listing fails: pcp names the other too' grep -qx "pcp: [a-z ]* 'm/t/c': Input/output error" "$err"
	is "$(find copy/a -type f | wc -l)" 30 'a listing fails: the other is copied'
	run prm "${jc[@]}" -rf m/t
	down
	status 1 'a listing fails: prm'
	ok 'a listing fails: prm says which' grep -q "m/t/b.*: Stale file handle$" "$err"
	ok 'a listing fails: and the other too' grep -q "m/t/c.*: Input/output error$" "$err"
	is "$(cd s/t && echo */*)" "$(cd s/t && echo b/* c/*)" 'a listing fails: the other directory went'
	is "$(find s -type f | wc -l)" 60 'a listing fails: nothing else went'
}
run_each listing_fails

# --- The bytes ---

error_at_close() {
	tree
	echo text | tee s/t/{a,b,c}/{1..30} >/dev/null
	cp -a s/t t
	up --close-error=EDQUOT:7
	run pcp "${jc[@]}" -r t m/copy
	down
	status 1 'e2: errors at close'
	says "$(printf "pcp: failed to close 'm/copy/%s/7': Disk quota exceeded\n" a b c)" 'e2: each is reported'
	rm -f t/{a,b,c}/7 s/copy/{a,b,c}/7
	ok 'e2: the others are copied' diff -r t s/copy
}
run_each error_at_close

copies_come_short() {
	mkdir s
	"$gentree" grid dirs=3 files=5 size=0-40K s/t
	"$gentree" sparse size=8M s/t
	up --short-copy=5000
	run pcp "${jc[@]}" -r m/t m/copy
	status 0 'b5: short copies'
	quiet 'b5: short copies: nothing is said'
	ok 'b5: short copies: the same bytes' diff -r s/t s/copy
	down
	up --fault=copy_file_range:EIO:2
	run pcp "${jc[@]}" -r m/t m/copy2
	down
	status 0 'b3: a copy that is refused is read and written'
	quiet 'b3: a copy that is refused: nothing is said'
	ok 'b3: a copy that is refused: the same bytes' diff -r s/t s/copy2
}
run_each copies_come_short

done_testing
