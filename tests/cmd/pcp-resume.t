#!/usr/bin/env bash
# --update=changed: a copy that was killed is gone on with by the same command, and over one that is complete nothing is
# written.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

# What changes a file system.  (openat, with O_CREAT or for writing, is looked at by its flags.)
changing='mkdir,mkdirat,rmdir,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mknod,mknodat'
changing+=',chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utime,utimes,futimesat,utimensat,truncate,ftruncate'
changing+=',fallocate,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,copy_file_range,sendfile'
changing+=',pwrite64,writev,creat'

# writes_nothing NAME COMMAND...: which calls it makes that change anything.
writes_nothing() {
	local name=$1
	shift
	rm -f trace
	LIMIT=100 run strace -f --seccomp-bpf -qq -e signal=none -e trace="openat,open,openat2,ioctl,$changing" -o trace "$@"
	status 0 "$name: status"
	quiet "$name: quiet"
	is "$(grep -vE 'resumed>|open(at)?\(.*O_RDONLY|open(at)?\(.*O_PATH|ioctl\(.*TCGETS' trace | head -n 3)" '' \
		"$name: no call that writes"
}

# A tree with all types, links across directories and a directory that is not writable.
make_source() {
	"$gentree" zoo s
	"$gentree" grid dirs=4 files=5 size=0-9000 s/grid
	mkdir s/links s/closed
	ln s/grid/d000000/* s/links/
	echo closed >s/closed/file
	ln -s ../links s/closed/link
	chmod 555 s/closed
}

complete() {
	need_command 'a complete tree is not written to' strace || return
	make_source
	run pcp "${jc[@]}" -aT --update=changed s d
	status 0 'the first run copies all'
	same 'all of it' s d
	writes_nothing 'every type' pcp "${jc[@]}" -aT --update=changed s d
	same 'and the tree is as it was' s d
	run pcp "${jc[@]}" -aT s e
	writes_nothing 'a copy made without the option' pcp "${jc[@]}" -aT --update=changed s e
	run_as_user true
	[ "$rc" = 0 ] || return
	run_as_user pcp "${jc[@]}" -rpT s/grid u
	run_as_user pcp "${jc[@]}" -rpT --update=changed s/grid u
	writes_nothing 'as a user, who cannot give files away' "${user[@]}" pcp "${jc[@]}" -aT --update=changed s/grid u
}
run_each complete

large() {
	need_command '100,000 files' strace || return
	"$gentree" grid dirs=1000 files=100 size=1-20 s
	run pcp -aT s d
	writes_nothing '100,000 files' pcp -aT --update=changed s d
}
run_once large

# Times may lose digits at the target: ext4 with small inodes keeps seconds.
coarse() {
	need_root 'a target with coarse times' && need_command 'a target with coarse times' strace || return
	truncate -s 64M image
	mkdir m
	{ mkfs.ext4 -q -I 128 image && mount -o loop image m; } >"$out" 2>&1 || { missing 'a target with coarse times' ext4; return; }
	"$gentree" grid dirs=5 files=5 size=1-2000 s
	run pcp "${jc[@]}" -aT s m/d
	writes_nothing 'a target with coarse times' pcp "${jc[@]}" -aT --update=changed s m/d
	umount m
}
run_each coarse

changes() {
	local inode
	make_source
	cp -a s d
	# Same size, other time.
	printf 'CLOSED\n' >s/closed/file.new && cat s/closed/file.new >s/closed/file && rm s/closed/file.new
	truncate -s 6 s/closed/file && printf '\n' >>s/closed/file
	# Other size, same time.
	printf x >s/time && printf xy >d/time && touch -d '2001-02-03' s/time d/time
	# Same size and time: what the option goes by.
	printf a >s/fooled && printf b >d/fooled && touch -r s/fooled d/fooled
	# Other text, other kind, other links.
	ln -sfn ../elsewhere s/closed/link
	mkfifo s/fifo2 && : >d/fifo2
	ln s/time s/time2 && printf xy >d/time2
	run pcp "${jc[@]}" -aT --update=changed s d
	status 0 'what changed is copied'
	is "$(cat d/closed/file)" CLOSED 'another time'
	is "$(cat d/time)" x 'another size'
	is "$(cat d/fooled)" b 'not what has both: the option goes by them'
	printf b >s/fooled && touch -r d/fooled s/fooled
	same 'all is as in the source' s d --no-times
	run pcp "${jc[@]}" -aT --update=changed s d
	same 'and so are the times' s d
	inode=$(stat -c %i d/grid/d000001/f000001)
	chmod 741 s/grid/d000001/f000001 s/grid/d000002
	chmod 604 d/links/f000001
	touch -h -d 2000-01-01 d/closed/link
	[ "$(id -u)" != 0 ] || chown -h 7:8 d/closed/link s/grid/d000001/f000002 d/fifo2
	run_faulty 'copy_file_range:log;write:log;pwrite:log' pcp "${jc[@]}" -aT --update=changed s d
	status 0 'attributes only'
	is "$(hits)" 0 'for which no data is copied'
	is "$(stat -c %i d/grid/d000001/f000001)" "$inode" 'and no file is replaced'
	same 'they are set right' s d
	run pcp "${jc[@]}" -rT --update=changed s d
	status 0 'without times that are preserved'
}
run_each changes

precedence() {
	echo new >s && echo old >d && touch -r s d
	run pcp -p --update=changed s d
	is "$(cat d)" old 'the last --update counts'
	run pcp -p --update=changed --update=all s d
	is "$(cat d)" new 'the last --update counts: all'
	echo more >>s
	run pcp -p -n --update=changed s d
	is "$(cat d)" new '-n wins'
	run pcp -pv --update=changed --backup s d
	is "$(cat d~)" new 'with a backup'
	rm d~
	run pcp -p --debug --update=changed --backup s d
	ok 'of what is copied only' test ! -e d~
	is "$(head -n 1 "$out")" "skipped 'd'" '--debug says what is left'
	echo y | pcp -pi --update=changed s d 2>"$err"
	is "$(cat "$err")" '' 'no question about what is left'
}
[ -n "$gnu" ] || run_once precedence

# Killed at 50 moments, drawn from all calls that a run makes: of each kind of call, and between the parts of a file
# that several workers share.  The same seed draws the same moments.
calls=(openat mkdirat copy_file_range futimens utimensat fchmod fchown close linkat symlinkat mknodat fsetxattr ftruncate)
cut='copy_file_range:short=3000000'

killed() {
	local log moment call nth rounds=0 bad=0 how
	make_source
	"$gentree" big size=66M s/big
	touch -d 2011-11-11 s/big/big
	how=$(printf '%s:log;' "${calls[@]}")
	for variant in '-j 1' '-j 8'; do
		read -ra jc <<<"$variant"
		rm -rf d
		# (Calls before the first mkdirat are of no interest: nothing is there to be gone on with.)
		run_faulty "${how%;};$cut" pcp "${jc[@]}" -aT --update=changed s d
		status 0 "a run that is not killed [$variant]"
		mapfile -t log <"$faults"
		RANDOM=4711
		while [ $((++rounds)) -le 25 ]; do
			moment=${log[(RANDOM * 32768 + RANDOM) % ${#log[@]}]}
			[[ $moment != *' short='* || $moment == copy* ]] || continue
			read -r call nth _ <<<"$moment"
			rm -rf d
			run_faulty "$call:kill:$nth;$cut" pcp "${jc[@]}" -aT --update=changed s d
			[ "$rc" = 137 ] || { bad=$((bad + 1)) && diag "not killed at $call $nth: $rc"; }
			# Once more, now and then.
			[ $((rounds % 5)) != 0 ] || run_faulty "$call:kill:$((nth / 2 + 1));$cut" pcp "${jc[@]}" -aT --update=changed s d
			run pcp "${jc[@]}" -aT --update=changed s d
			if [ "$rc" != 0 ] || [ -s "$err" ] || ! "$treecmp" s d >"$out"; then
				bad=$((bad + 1))
				diag "killed at $call $nth [$variant]:" "$(head -n 3 "$err" "$out")"
			fi
		done
		is "$bad" 0 "killed at 25 moments and gone on with, the copy is whole [$variant]"
		rounds=0 bad=0
	done
}
run_once killed

done_testing
