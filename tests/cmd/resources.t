#!/usr/bin/env bash
# Scarce resources: few descriptors, no threads, little memory, a kernel that refuses its newer calls, no /proc, no room
# in /tmp, a target that is read-only or goes away, closed standard streams.  Both programs do all of the work, or say
# what they could not do; none of it is a crash or a hang.
#
# Where a limit could be without effect, a case first shows that it strikes somebody.
# sanitizers: no (their memory is not the program's)
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs
refuse=$BUILD/refuse

# One of each kind: many files, one that is split, a hole, links of both sorts, a fifo, a special mode.
make_source() {
	"$gentree" grid dirs=20 files=20 s
	ln -s target s/link
	mkfifo s/fifo
	ln s/d000001/f000001 s/hard
	chmod 4755 s/d000002/f000002
	truncate -s 3M s/holes
	head -c 20M /dev/zero | tr '\0' x >s/big
}

# copies_and_removes NAME PREFIX...: pcp -a and prm -r, run by PREFIX, do everything.
copies_and_removes() {
	local name=$1
	shift
	run "$@" pcp "${jc[@]}" -a s d
	status 0 "$name: pcp"
	quiet "$name: pcp is quiet"
	same "$name: the copy is whole" s d
	run "$@" prm "${jc[@]}" -r d
	status 0 "$name: prm"
	ok "$name: nothing is left" test ! -e d
}

descriptors() {
	make_source
	run prlimit --nofile=3 cat s/hard
	ok 'descriptors: the limit strikes' test "$rc" != 0
	copies_and_removes 'descriptors: 16' prlimit --nofile=16
}
run_each descriptors

threads() {
	local limit
	need_user 'threads: none to be had' || return
	make_source
	rm s/fifo
	chmod 755 s/d000002/f000002
	chown -R 65534:65534 s
	# (Not a shell: it tries for 15 seconds.)
	run "${user[@]}" prlimit --nproc=1 timeout 1 true
	ok 'threads: the limit strikes' test "$rc" != 0
	for limit in 1 3; do
		copies_and_removes "threads: $limit" "${user[@]}" prlimit --nproc="$limit"
	done
}
run_each threads

# memory_is_short MIB WORKERS
memory_is_short() {
	local what="memory: $1 MiB, $2 workers"
	run prlimit --as=$(($1 << 20)) pcp -j "$2" -a s d
	if [ "$rc" = 0 ]; then
		same "$what: the copy is whole" s d
	else
		status 1 "$what: an error"
		like "$(cat "$err")" '(Cannot allocate memory|memory exhausted)' "$what: that says so"
		is "$(grep -vc '^pcp: ' "$err")" 0 "$what: and nothing else"
	fi
	run prlimit --as=$(($1 << 20)) prm -j "$2" -rf d
	if [ "$rc" = 0 ]; then
		ok "$what: all is removed" test ! -e d
	else
		status 1 "$what: prm: an error"
		like "$(cat "$err")" '^prm: ' "$what: prm: that says so"
		rm -rf d
	fi
}

memory() {
	local mib
	make_source
	run prlimit --as=$((64 << 20)) pcp -j 4 -a s d
	status 0 'memory: 64 MiB are enough for four workers'
	same 'memory: the copy is whole' s d
	rm -rf d
	for mib in 64 24 12; do
		memory_is_short "$mib" 20
		memory_is_short "$mib" 500
	done
}
run_once memory

refused() {
	local error call
	make_source
	run "$refuse" EPERM unshare unshare -m true
	ok 'refused: the filter strikes' test "$rc" != 0 -a "$rc" != 125
	for error in ENOSYS EPERM; do
		for call in statx openat2 close_range faccessat2 fchmodat2 copy_file_range renameat2 clone3 \
			getrandom unshare sched_getaffinity prlimit64 \
			statx,openat2,close_range,faccessat2,fchmodat2,copy_file_range,renameat2,clone3,unshare; do
			copies_and_removes "refused: $call, $error" "$refuse" "$error" "$call"
		done
	done
}
refused_at_20() {
	jc=(-j 20)
	refused
}
run_once refused_at_20

no_proc() {
	need_root 'no /proc' || return
	make_source
	copies_and_removes 'no /proc' unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' -
}
run_each no_proc

full_tmp() {
	need_root 'a full /tmp' || return
	make_source
	copies_and_removes 'a full /tmp' unshare -m sh -c \
		'mount -t tmpfs -o size=4k none /tmp && { cat /dev/zero >/tmp/x; } 2>/dev/null; exec "$@"' -
}
# (Programs that are built below /tmp would be hidden.)
case $PCP$PRM in
*/tmp/*) skip 'a full /tmp' 'the programs are there' ;;
*) run_each full_tmp ;;
esac

read_only() {
	need_root 'a read-only target' || return
	mkdir -p s/sub ro
	echo 1 >s/f
	echo 2 >s/sub/x
	mount -t tmpfs none ro
	mkdir ro/d
	echo old >ro/d/f
	mount -o remount,ro ro
	run pcp "${jc[@]}" -r s ro
	status 1 'a read-only target'
	says "pcp: cannot create directory 'ro/s': Read-only file system" 'a read-only target: said once'
	run pcp "${jc[@]}" s/f ro/d
	status 1 'a read-only target: a file'
	says "pcp: cannot create regular file 'ro/d/f': Read-only file system" 'a read-only target: it is named'
	run prm "${jc[@]}" -r ro/d
	status 1 'a read-only target: prm'
	says "prm: cannot remove 'ro/d/f': Read-only file system" 'a read-only target: prm names the file'
	is "$(cat ro/d/f)" old 'a read-only target: nothing has changed'
}
run_each read_only

# A file system that is taken away stays for those who are in it: nothing may land in what it covered.
goes_away() {
	need_root 'a target that goes away' || return
	"$gentree" grid dirs=20 files=20 s
	mkdir t
	mount -t tmpfs none t
	FAULT_RUN='umount -l t' run_faulty 'openat:run:30:path=f*' pcp "${jc[@]}" -r s t/d
	struck 'a target that goes away: it did'
	ok 'a target that goes away: pcp ends' test "$rc" -le 1
	is "$(ls t)" '' 'a target that goes away: nothing lands beneath'
	mount -t tmpfs none t
	cp -r s t/s
	FAULT_RUN='umount -l t; mkdir -p t/s/d000001; touch t/s/d000001/f000001' \
		run_faulty 'unlinkat:run:3' prm "${jc[@]}" -r t/s
	struck 'a tree that goes away: it did'
	ok 'a tree that goes away: prm ends' test "$rc" -le 1
	ok 'a tree that goes away: what it covered stays' test -e t/s/d000001/f000001
}
run_each goes_away

# with_closed STREAMS COMMAND...: a number that a closed stream leaves free must not be a file's when
# something is printed.
with_closed() {
	local streams=$1
	shift
	run bash -c "exec \"\$@\" $streams" - "$@"
}

streams() {
	local closed
	make_source
	for closed in '0<&-' '1>&-' '2>&-' '0<&- 1>&-' '0<&- 1>&- 2>&-'; do
		with_closed "$closed" pcp "${jc[@]}" -a s d
		status 0 "streams: $closed: pcp"
		same "streams: $closed: the copy is whole" s d
		with_closed "$closed" prm "${jc[@]}" -r d
		status 0 "streams: $closed: prm"
		# Both streams are used: a line for each file, and an error.
		with_closed "$closed" pcp "${jc[@]}" -avT s d
		same "streams: $closed: -v prints into no file" s d
		mkdir e
		with_closed "$closed" pcp "${jc[@]}" -av nosuch1 nosuch2 s nosuch3 e
		status 1 "streams: $closed: errors have a status"
		same "streams: $closed: nor do messages" s e/s
		with_closed "$closed" prm "${jc[@]}" -rv nosuch d e
		status 1 "streams: $closed: prm's, too"
		ok "streams: $closed: prm goes on" test ! -e d -a ! -e e
	done
}
run_each streams

done_testing
