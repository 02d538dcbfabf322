#!/usr/bin/env bash
# Errors: a full target, one that reports at close, entries that may not be read.  What fails is
# named, the rest goes on, the status is 1.  A few cases need root, for mounts and other users.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

full() {
	local i named=0
	need_root 'e1: the target fills up' || return
	mkdir full s
	mount -t tmpfs -o size=64M none full
	for i in 1 2 3 4; do
		head -c 30M /dev/urandom >"s/$i"
	done
	echo small >s/5
	run pcp "${jc[@]}" -r s full/d
	status 1 'e1: the target fills up'
	for i in 1 2 3 4; do
		cmp -s "s/$i" "full/d/$i" && continue
		grep -q "^pcp: error \(writing\|copying\).*'full/d/$i'.*: No space left on device" "$err" &&
			named=$((named + 1))
	done
	like "$named" '^[234]$' 'e1: a line for each file that failed'
	is "$(grep -vc 'No space left on device' "$err")" 0 'e1: and no other'
	ok 'e1: the small one is tried, too' test -e full/d/5
	rm -rf full/d
	run pcp "${jc[@]}" s/* full
	status 1 'e1: the same as operands'
}
run_each full

flood() {
	need_root 'e1: no flood of messages' || return
	mkdir full
	"$gentree" grid dirs=30 files=100 size=20000 s
	mount -t tmpfs -o size=16M none full
	run pcp "${jc[@]}" -r s full/d
	status 1 'e1: 3,000 files onto a file system for 800'
	todo_gnu 'floods'
	ok 'e1: no flood of messages' test "$(wc -l <"$err")" -lt 200
	like "$(tail -n 3 "$err")" '[0-9][0-9]+ ' 'e1: the rest is counted'
}
run_each flood

close_fails() {
	local e
	"$gentree" grid dirs=3 files=10 s
	for e in 'ENOSPC No space left on device' 'EDQUOT Disk quota exceeded' 'EIO Input/output error'; do
		run_faulty "close:${e%% *}:path=*/d/d000001/f000003" pcp "${jc[@]}" -r s d
		status 1 "e2: ${e%% *} at close of the target"
		says "pcp: failed to close 'd/d000001/f000003': ${e#* }" "e2: ${e%% *} is reported"
		ok 'e2: the others are copied' test -e d/d000000/f000009 -a -e d/d000002/f000009
		struck 'e2: the fault struck'
		rm -rf d
	done
}
run_each close_fails

forbidden() {
	need_user 'e4: a mode-0 file and a mode-0 directory' || return
	"$gentree" grid dirs=3 files=10 s
	mkdir s/closed
	touch s/d000001/secret
	chmod 0 s/closed s/d000001/secret
	chown -R 65534 s
	run_as_user pcp "${jc[@]}" -r s d
	status 1 'e4: a mode-0 file and a mode-0 directory'
	says "pcp: cannot open 's/d000001/secret' for reading: Permission denied
pcp: cannot access 's/closed': Permission denied" 'e4: both are named'
	ok 'e4: siblings are copied' test -e d/d000001/f000009 -a -e d/d000000/f000009 -a -e d/d000002/f000009
	mkdir closed
	chmod 555 closed
	run_as_user pcp "${jc[@]}" s/d000001/f000001 closed
	status 1 'e4: a target directory that cannot be written'
	says "pcp: cannot create regular file 'closed/f000001': Permission denied" 'e4: is named'
	run_as_user pcp "${jc[@]}" -r s/d000000 closed
	status 1 'e4: a directory into it'
	says "pcp: cannot create directory 'closed/d000000': Permission denied" 'e4: is named, once'
}
run_each forbidden

# Each call that can fail is reported with what was to be done.
any_call() {
	local rule said
	mkdir -p s/sub
	echo x >s/f
	ln -s target s/link
	mkfifo s/fifo
	touch s/sub/{1..20}
	while IFS='|' read -r rule said; do
		run_faulty "$rule" pcp "${jc[@]}" -a s d
		status 1 "errors: $rule"
		says "pcp: $said" "errors: $rule is reported"
		struck "errors: $rule struck"
		ok 'errors: the others are copied' test -e d/sub/20
		rm -rf d
	done <<-'LIST'
		openat:EACCES:1:path=f|cannot open 's/f' for reading: Permission denied
		openat:EIO:2:path=f|cannot create regular file 'd/f': Input/output error
		symlinkat:EROFS|cannot create symbolic link 'd/link': Read-only file system
		readlinkat:EIO:path=link|cannot read symbolic link 's/link': Input/output error
		mknodat:EPERM|cannot create fifo 'd/fifo': Operation not permitted
		futimens:EPERM:path=f|preserving times for 'd/f': Operation not permitted
	LIST
	run_faulty 'mkdirat:ENOSPC:path=sub' pcp "${jc[@]}" -a s d
	status 1 'errors: mkdirat'
	says "pcp: cannot create directory 'd/sub': No space left on device" 'errors: mkdirat is reported, once'
	ok 'errors: the others are copied' test -e d/f -a -p d/fifo
	rm -rf d
	run_faulty 'mkdirat:ENOSPC:1' pcp "${jc[@]}" -a s d
	says "pcp: cannot create directory 'd': No space left on device" 'errors: nor is anything below it tried'
	run_faulty 'getdents64:EIO:path=sub' pcp "${jc[@]}" -a s d
	if [ "$(hits)" -gt 0 ]; then
		status 1 'errors: getdents64'
		says "pcp: cannot access 's/sub': Input/output error" 'errors: getdents64 is reported'
	fi
	rm -rf d
	run_faulty 'read:EIO:path=f;pread:EIO:path=f;copy_file_range:EIO:path=f' pcp "${jc[@]}" s/f e
	status 1 'errors: read'
	like "$(cat "$err")" "^pcp: error (reading|copying) 's/f'( to 'e')?: Input/output error$" \
		'errors: read is reported'
}
run_each any_call

no_name() {
	mkdir s
	echo 1 >s/f
	for source in s . s/f; do
		run pcp "${jc[@]}" -r "$source" ''
		status 1 "an empty target name: refused ($source)"
		like "$(cat "$err")" "^pcp: cannot create (directory|regular file) '': No such file or directory\$" \
			"an empty target name: message ($source)"
	done
	is "$(find . -type f | sort)" "./s/f" 'an empty target name: nothing is copied anywhere'
}
run_each no_name

no_memory() {
	local n
	"$gentree" grid dirs=20 files=20 s
	[ -z "${SANITIZE:-}" ] || return
	for n in {1..20} 30 60 100 150+ 300; do
		run_faulty "malloc:ENOMEM:$n" pcp "${jc[@]}" -r s d
		ok "errors: no memory at call $n: ends, without a crash" test "$rc" -le 1
		[ "$rc" != 0 ] || [ "$(hits)" = 0 ] || same "errors: or copes, $n" s d --no-times
		rm -rf d
	done
}
run_each no_memory

no_threads() {
	"$gentree" grid dirs=20 files=20 s
	for n in 1 2+; do
		run_faulty "pthread_create:EAGAIN:$n" pcp "${j20[@]}" -r s d
		status 0 "errors: no thread ($n)"
		same "errors: the work is done by those there are ($n)" s d --no-times
		rm -rf d
	done
}
run_once no_threads

done_testing
