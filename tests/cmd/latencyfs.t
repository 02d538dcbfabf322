#!/usr/bin/env bash
# latencyfs, the file system of bench/: it must show what is below, delay and count each operation, and
# play each of its faults, or the tests and benchmarks that stand on it say nothing.  Needs /dev/fuse;
# what is about owners, devices and ACLs needs root.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=bench/latencyfs.sh
. "$top/bench/latencyfs.sh"
private_mounts "$@"
tmpdir tmpfs

if ! lat_usable; then
	missing 'latencyfs' "build/bench/latencyfs, or no right to use /dev/fuse"
	done_testing
fi

# A mount m of the directory s, for the rest of the case.  up, down, and what the report says.
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

# between LOW VALUE HIGH NAME
between() {
	ok "$4 ($1 <= $2 <= $3)" awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { exit !(low <= x && x <= high) }'
}

# milliseconds COMMAND...
milliseconds() {
	local start end
	start=$(date +%s%N)
	"$@" >/dev/null 2>&1
	end=$(date +%s%N)
	echo $(((end - start) / 1000000))
}

# --- What is below shows through ---

through_and_back() {
	need_root 'every kind of file' || return
	"$gentree" zoo zoo
	"$gentree" names names
	"$gentree" grid dirs=5 files=20 size=0-300K grid
	mkdir acl && setfacl -d -m u:1234:rwx acl && mkdir acl/sub && touch acl/file && setfacl -m g:55:r acl/file
	up --acl
	for tree in zoo names grid acl; do
		ok "cp -a of $tree onto it" cp -a "$tree" m/
		same "$tree seen through it" "$tree" "m/$tree"
		same "$tree below it" "$tree" "s/$tree"
		ok "cp -a of $tree off it" cp -a "m/$tree" "back.$tree"
		same "$tree back again" "$tree" "back.$tree"
		ok "cp -a of $tree within it" cp -a "m/$tree" "m/again.$tree"
		same "$tree copied within it" "$tree" "s/again.$tree"
	done
	is "$(cd m/acl && getfacl -R . 2>/dev/null)" "$(cd s/acl && getfacl -R . 2>/dev/null)" 'the same ACLs'
	(umask 077 && mkdir m/acl/new acl/new && touch m/acl/newfile acl/newfile)
	is "$(getfacl -c m/acl/new m/acl/newfile)" "$(getfacl -c acl/new acl/newfile)" 'a default ACL beats the umask'
	ok 'rm -r' rm -r m/again.names m/again.zoo m/grid
	is "$(ls s)" "$(printf '%s\n' acl again.acl again.grid names zoo)" 'what is removed is gone below'
	down
}
run_once through_and_back

# Calls that the copies above don't make.
calls() {
	up
	echo one >m/1
	echo two >m/2
	mkdir m/d
	ok 'rename' mv m/1 m/d/1
	is "$(cat s/d/1)" one 'renamed below'
	is "$(cat m/d/1)" one 'renamed here'
	ok 'rename over' mv m/2 m/d/1
	is "$(cat s/d/1)" two 'renamed over below'
	ok 'hard link' ln m/d/1 m/l
	is "$(stat -c '%h %i' m/l)" "$(stat -c '2 %i' m/d/1)" 'one inode'
	ok 'symbolic link' ln -s d/1 m/sym
	is "$(readlink m/sym) $(cat m/sym)" 'd/1 two' 'symbolic link leads there'
	ok 'append' sh -c 'echo three >>m/l'
	is "$(cat s/l)" $'two\nthree' 'appended below'
	ok 'truncate' truncate -s 2 m/l
	is "$(cat m/l)" tw 'truncated'
	ok 'fallocate' fallocate -l 1M m/l
	is "$(stat -c %s s/l)" 1048576 'fallocated below'
	ok 'times' touch -hd '2001-02-03 04:05:06.123456789Z' m/sym m/d m/d/1
	is "$(stat -c %.9Y s/sym s/d s/d/1)" "$(printf '981173106.123456789\n%.0s' 1 2 3)" 'times to the nanosecond'
	ok 'mode' chmod 4711 m/d/1
	is "$(stat -c %a s/d/1)" 4711 'mode below'
	ok 'fsync' sync m/d/1 m/d
	ok 'flock' flock -n m/d/1 true
	is "$(flock m/d/1 flock -n m/d/1 echo locked || echo busy)" busy 'flock excludes'
	is "$(df --output=fstype m | tail -n 1)" fuse.latencyfs 'statfs'
	exec 3<m/d/1
	rm m/d/1 m/l
	is "$(head -c 2 <&3)" tw 'removed while open'
	exec 3<&-
	is "$(cat m/none 2>&1)" 'cat: m/none: No such file or directory' 'no such file'
	down
}
run_once calls

owners() {
	need_user 'another user' || return
	mkdir -p s/open s/sgid s/shut
	chmod 777 s/open
	chgrp 1234 s/sgid
	chmod 2777 s/sgid
	chmod 700 s/shut
	up
	ok 'another user makes things' "${user[@]}" sh -c 'umask 027; cd m/open && echo x >f && mkdir d && ln -s x l && mkfifo p'
	is "$(stat -c '%n %u %g %A' s/open/*)" "$(printf '%s\n' 's/open/d 65534 65534 drwxr-x---' \
		's/open/f 65534 65534 -rw-r-----' 's/open/l 65534 65534 lrwxrwxrwx' \
		's/open/p 65534 65534 prw-r-----')" 'and owns them'
	ok 'in a set-group-ID directory' "${user[@]}" touch m/sgid/f
	is "$(stat -c '%u %g' s/sgid/f)" '65534 1234' 'the group is the directory'"'"'s'
	is "$("${user[@]}" ls m/shut 2>&1)" "ls: cannot open directory 'm/shut': Permission denied" 'modes are enforced'
	down
}
run_once owners

# The kernel may know of more inodes than there are descriptors.
few_descriptors() {
	mkdir s m
	"$gentree" grid dirs=20 files=100 size=10 s/g
	(ulimit -n 300 && lat_mount "$PWD/s" "$PWD/m")
	ok 'all names looked up' sh -c 'find m -type f -size +0 | wc -l | grep -qx 2000'
	is "$(value async.forget 2>/dev/null)" '' 'no report yet'
	ok 'all files read' diff -r s/g m/g
	ok 'and removed' rm -r m/g
	is "$(ls s)" '' 'all gone'
	down
	between 2000 "$(value ops.lookup)" 10000 'lookups'
	is "$(value errors)" 0 'no operation failed'
}
run_once few_descriptors

# --- Delays and counters ---

delays() {
	local ms
	mkdir s
	touch s/{1..20}
	head -c 4M /dev/urandom >s/big
	up --meta-us=20000 --data-us-per-mib=100000 --op-us=readlink:300000
	ln -s x s/link
	ms=$(milliseconds stat m/{1..20})
	between 400 "$ms" 1500 'ms for 20 lookups of 20 ms'
	ms=$(milliseconds readlink m/link)
	between 300 "$ms" 1000 'ms for a readlink of 300 ms'
	ms=$(milliseconds dd if=m/big of=/dev/null bs=1M iflag=direct)
	between 400 "$ms" 2500 'ms for 4 MiB of 100 ms each'
	down
	between 20000 "$(value service_us_mean)" 100000 'us a request'
	is "$(value delay_meta_us)" 20000 'delay in the report'
	is "$(value bytes_read)" 4194304 'bytes read'
	up --meta-us=10000 --jitter=50
	ms=$(milliseconds stat m/{1..20})
	between 150 "$ms" 1000 'ms for 20 lookups of 10 ms, more or less'
	down
}
run_once delays

counters() {
	mkdir s
	up
	touch m/{1..30}
	mkdir m/a m/b
	ln -s x m/sym
	ln m/1 m/a/1
	mv m/2 m/b/2
	head -c 300000 /dev/zero >m/3
	cp m/3 m/a/3
	rm m/{4..10}
	rmdir m/b 2>/dev/null
	: <m/1
	lat_report "$PWD/m"
	is "$(value ops.create)" 31 'creates'
	is "$(value ops.mkdir) $(value ops.symlink) $(value ops.link) $(value ops.rename)" '2 1 1 1' 'mkdir, symlink, link, rename'
	is "$(value ops.unlink) $(value ops.rmdir)" '7 1' 'unlink, rmdir'
	is "$(value bytes_written) $(value bytes_copied)" '300000 300000' 'bytes'
	between "$(value async.release)" "$(value ops.flush)" 200 'a flush for each close'
	is "$(value async.release)" "$(($(value ops.open) + $(value ops.create)))" 'as many releases as opens'
	lat_reset "$PWD/m"
	is "$(value ops_total)" 0 'reset'
	mkdir m/c
	lat_report "$PWD/m"
	is "$(value ops.mkdir) $(value ops.create)" '1 0' 'counted anew'
	down
	is "$(value ops.mkdir)" 1 'report at unmount'
}
run_once counters

# clients N FILE...: N at a time look up these names.
clients() {
	python3 - "$@" <<-'END'
		import concurrent.futures, os, sys
		pool = concurrent.futures.ThreadPoolExecutor(int(sys.argv[1]))
		print(sum(pool.map(os.path.lexists, sys.argv[2:])))
	END
}

in_flight() {
	need_command 'requests in flight' python3 || return
	mkdir s
	touch s/{1..400}
	up --meta-us=50000
	lat_reset "$PWD/m"
	is "$(clients 20 m/{1..400})" 400 '20 clients find 400 files'
	lat_report "$PWD/m"
	between 18 "$(value in_flight_max)" 21 'most in flight of 20 clients'
	between 15 "$(value in_flight_mean)" 20 'mean in flight of 20 clients'
	# shellcheck disable=SC2016 # (For awk.)
	ok 'the histogram adds up' awk '/^in_flight_seconds/ { sum += $2 } $1 == "seconds" { all = $2 }
		END { exit !(sum > all - 0.01 && sum < all + 0.01) }' m.report
	down
	up --meta-us=50000 --serial-dirops
	lat_reset "$PWD/m"
	clients 20 m/{1..20} >/dev/null
	down
	between 1 "$(value seconds)" 3 'seconds for 20 lookups of 50 ms with --serial-dirops'
	up --meta-us=20000 --max-in-service=4
	clients 20 m/{1..40} >/dev/null
	down
	is "$(value in_flight_max)" 4 'no more than --max-in-service'
	up --op-us=lookup:3000000
	is "$(clients 600 m/none{1..600})" 0 '600 clients'
	down
	is "$(value in_flight_max)" 512 '512 in service at once'
}
run_once in_flight

# --- Faults ---

faults() {
	mkdir s
	up --fault=unlink:ENOSPC:3 --fault=mkdir:EDQUOT:2+ --fault=open:EACCES:1+:'secret*' --fault=mkdir:EEXIST:1!
	touch m/{1..5} m/secret1 m/other
	rm m/{1..5} 2>err
	is "$(cat err)" "rm: cannot remove 'm/3': No space left on device" 'the third unlink'
	is "$(ls m)" "$(printf '%s\n' 3 other secret1)" 'the others went'
	is "$(mkdir m/a 2>&1)" "mkdir: cannot create directory 'm/a': File exists" 'a lost reply'
	is "$(stat -c %F s/a)" directory 'the work was done'
	is "$(mkdir m/b m/c 2>&1)" "$(printf "mkdir: cannot create directory 'm/%s': Disk quota exceeded\n" b c)" 'from the second on'
	ok 'a name that does not match' cat m/other
	is "$(cat m/secret1 2>&1)" 'cat: m/secret1: Permission denied' 'a name that matches'
	down
	is "$(value errors)" "$(value errors)" 'report after faults'
}
run_once faults

short_copy() {
	up --short-copy=1000
	head -c 10000 /dev/urandom >m/a
	ok 'cp' cp m/a m/b
	ok 'the same bytes' cmp s/a s/b
	down
	between 10 "$(value ops.copy_file_range)" 11 'copies of a thousandth each'
}
run_once short_copy

skipping() {
	need_command 'names skipped' python3 || return
	mkdir s
	touch s/name-{1..3000}
	up --skip-after-unlink
	is "$(find m -type f | wc -l)" 3000 'a listing alone skips nothing'
	# Removes each name as it comes.
	python3 -c 'import os; [os.unlink(e) for e in os.scandir("m")]'
	between 500 "$(find s -type f | wc -l)" 2500 'names left over by one pass'
	down
}
run_once skipping

close_errors() {
	mkdir s
	echo x >s/old
	up --close-error=EDQUOT:'bad*'
	is "$(cp m/old m/bad 2>&1)" "cp: failed to close 'm/bad': Disk quota exceeded" 'error at close'
	ok 'another name' cp m/old m/good
	ok 'reading it' cat m/bad
	down
}
run_once close_errors

listings() {
	mkdir -p s/d
	touch s/d/{1..50} s/file
	up --dtype-unknown
	is "$(find m -type f | wc -l)" 51 'find with unknown types'
	is "$(python3 -c 'import os; print(sum(e.is_file(follow_symlinks=False) for e in os.scandir("m/d")))')" 50 'scandir too'
	down
	between 51 "$(value ops.lookup)" 200 'each name had to be looked up'
	up --readdir-error-after=20:EIO:d
	run ls m
	is "$(cat "$out")" $'d\nfile' 'a listing that is too short to fail'
	run ls m/d
	status 2 'a listing that fails'
	is "$(cat "$err") $(wc -l <"$out")" "ls: reading directory 'm/d': Input/output error 20" 'after 20 names'
	down
	up --readdirplus
	is "$(find m -type f -size 0 | wc -l)" 51 'listings with attributes'
	down
	between 0 "$(value ops.lookup)" 2 'save the lookups'
	is "$(value ops.readdir)" 0 'no plain listing'
}
run_once listings

done_testing
