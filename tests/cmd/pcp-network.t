#!/usr/bin/env bash
# pcp and prm where a server is asked: replies that were lost, so that what was done looks like a failure, and
# how many workers there are when nobody says.  The file system is latencyfs of bench/.  Needs /dev/fuse.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=bench/latencyfs.sh
. "$top/bench/latencyfs.sh"
private_mounts "$@"
tmpdir tmpfs
under_test pcp

if ! lat_usable; then
	missing 'pcp on latencyfs' 'build/bench/latencyfs, or no right to use /dev/fuse'
	done_testing
fi

up() {
	mkdir -p t m
	lat_mount "$PWD/t" "$PWD/m" "$@" || result 1 "mount with $*"
}

down() {
	lat_umount "$PWD/m" || result 1 'unmount'
}

# Each call has been carried out, and says that it has not.
lost_replies() {
	local call
	mkdir -p s/{a,b/c}
	seq 1000 >s/a/file
	ln s/a/file s/b/hard
	ln -s over/there s/a/soft
	mkfifo s/b/c/fifo
	for call in mkdirat symlinkat linkat mknodat; do
		up
		run_faulty "$call:EEXIST:after" pcp "${jc[@]}" -a s m/d
		down
		status 0 "$call, the reply lost: done is done"
		quiet "$call, the reply lost: nothing to say"
		same "$call, the reply lost: the same tree" s t/d
		struck "$call: it was lost"
		rm -r t/d
	done
	# Not so on a local file system, where nothing is lost.
	run_faulty "mkdirat:EEXIST:after" pcp "${jc[@]}" -a s d
	status 1 'locally, what exists is in the way'
	# (Of the operand prm asks first whether it is a file, by unlinking it.)
	cp -a s t/d
	up
	run_faulty 'unlinkat:ENOENT:after:path=[hsf]*;rmdir:ENOENT:after' prm "${jc[@]}" -r m/d
	down
	status 0 "unlink and rmdir, the reply lost: gone is gone"
	quiet "unlink and rmdir, the reply lost: nothing to say"
	ok "unlink and rmdir: gone" test ! -e t/d
	is "$(hits)" 8 'each reply was lost'
}
run_each lost_replies

# A name that means another file by now is looked up again, but not for ever.
stale() {
	mkdir s
	seq 1000 >s/file
	run_faulty 'openat:ESTALE:1-2:path=file' pcp -r -j1 s d
	status 0 'stale twice, on opening'
	same 'stale twice, on opening: copied' s d --no-times
	struck 'stale'
	run_faulty 'openat:ESTALE:path=file' pcp -r -j1 s d2
	status 1 'stale for ever'
	like "$(cat "$err")" "^pcp: .*'s/file'.*: Stale file handle\$" 'stale for ever: named'
	run_faulty 'unlinkat:ESTALE:1-2:path=file' prm -r -j1 d
	status 0 'stale twice, on removal'
	ok 'stale twice, on removal: gone' test ! -e d
	struck 'stale'
}
run_case stale

# What is in the way and not ours stays an error.
in_the_way() {
	mkdir -p s/d
	ln -s text s/l
	up
	FAULT_RUN="mkdir -p $PWD/t/s/d; echo theirs >$PWD/t/s/d/file" run_faulty 'mkdirat:run:2' pcp -r -j1 s m
	down
	status 1 'a directory that another makes, and fills'
	says "pcp: cannot create directory 'm/s/d': File exists" 'is in the way'
	is "$(cat t/s/d/file)" theirs 'and keeps what is in it'
	rm -r t/s
	up
	FAULT_RUN="ln -s other $PWD/t/s/l" run_faulty 'symlinkat:run:1' pcp -r -j1 s m
	down
	status 1 'a link that another makes'
	says "pcp: cannot create symbolic link 'm/s/l': File exists" 'is in the way'
	is "$(readlink t/s/l)" other 'and stays'
}
run_case in_the_way

# workers WANTED NAME: that the line of --debug says so.
workers() {
	like "$(cat "$err")" "^pcp: workers: $1, files per work item: automatic\$" "$2"
}

number_of_workers() {
	"$gentree" grid dirs=120 files=10 size=10 s
	up --meta-us=5000
	run pcp --debug -r s m/a
	status 0 'on a network, no -j'
	workers '20 to begin with, at most 128, (4[0-9]|[5-9][0-9]|1[0-2][0-9]) used \(automatic, network file system\)' \
		'more than it began with, where that helps'
	run pcp --debug -r -j 30 s m/b
	workers 'at most 30, 30 used \(as asked for, network file system\)' 'a -j is kept to'
	down
	run pcp --debug -r s d
	workers "at most $(nproc), $(nproc) used \(automatic, local file system\)" 'a local disk: one a processor'
	same 'copied' s t/a --no-times
}
run_case number_of_workers

done_testing
