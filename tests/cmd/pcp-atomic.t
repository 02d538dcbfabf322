#!/usr/bin/env bash
# --atomic: a name stands for the old file or the new one, whenever the program is killed, and what it leaves behind goes
# with the next run.  --sync: an error of the file system is told of in time.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

left() {
	find "$1" -name '.pcp-atomic-*' | wc -l
}

# Neither old nor new: the files of d that are as in neither of the trees.
neither() {
	(cd d && find . -type f ! -name '.pcp-atomic-*') | while read -r name; do
		cmp -s "d/$name" "old/$name" || cmp -s "d/$name" "s/$name" || echo "$name"
	done
}

trees() {
	local i
	mkdir -p s/sub old/sub
	for i in {1..12}; do
		echo "new $i" | tee "s/$i" >"s/sub/$i"
		echo "old $i" >"old/$i"
	done
	head -c 72M /dev/urandom >s/big
	echo old >old/big
}

# At every fifth call that could matter, and in the middle of the large file.
killed() {
	local n rule struck=0 whole=0
	trees
	for rule in {copy_file_range,renameat,close,fsync,openat}:kill:{1,7,20}; do
		rm -rf d
		cp -r old d
		run_faulty "$rule" pcp "${jc[@]}" -r --atomic s/. d
		[ "$rc" = 137 ] || continue
		struck=$((struck + 1))
		[ -z "$(neither)" ] || result 1 "--atomic, killed: old or new ($rule)" "$(neither)"
		n=$(left d)
		run pcp "${jc[@]}" -r --atomic s/. d
		[ "$rc" = 0 ] && [ "$(left d)" = 0 ] && "$treecmp" --no-times s d >/dev/null && whole=$((whole + 1))
		[ "$n" = 0 ] || seen=1
	done
	ok '--atomic, killed: some were' test "$struck" -ge 7
	is "$whole" "$struck" '--atomic, killed: the next run completes the tree and leaves nothing of the first'
	is "${seen:-0}" 1 '--atomic, killed: there was something to be removed'
}
for variant in '-j 1' '-j 20'; do
	read -ra jc <<<"$variant"
	run_once killed
done

# What is being written by somebody else is not left behind.
others() {
	mkdir s d
	head -c 40M /dev/zero >s/big
	echo 1 >s/1
	FAULT_RUN="'$tmp/bin/pcp' --atomic s/1 d; ls -A d >during" run_faulty 'copy_file_range:run:2' pcp "${jc[@]}" --atomic s/big d
	status 0 '--atomic, two at once'
	like "$(cat during)" '.pcp-atomic-' '--atomic, two at once: the file of the other one stays'
	is "$(ls -A d)" $'1\nbig' '--atomic, two at once: both are there'
	cmp -s s/big d/big
	is $? 0 '--atomic, two at once: whole'
	: >d/.pcp-atomic-0123456789abcdef01234567
	: >d/.pcp-atomic-0123456789abcdef0123456
	: >d/.pcp-atomic-0123456789abcdef0123456x
	run pcp "${jc[@]}" --atomic s/1 d
	is "$(left d)" 2 '--atomic: only what has such a name is taken for left behind'
}
run_each others

replaced() {
	need_root '--atomic: a file that is replaced' || return
	mkdir s d
	echo new | tee s/1 s/2 s/3 s/4 >/dev/null
	chmod 755 s/1
	echo old | tee d/1 d/4 >/dev/null
	chmod 640 d/1
	chown 1234:1235 d/1
	ln d/1 other
	ln -s ../real d/2
	echo old >real
	ln -s nowhere d/3
	run pcp "${jc[@]}" -r --atomic s/. d
	status 1 '--atomic: a dangling link is not written through'
	says "pcp: not writing through dangling symlink 'd/./3'" '--atomic: a dangling link: said'
	is "$(stat -c '%a %u %g' d/1) $(cat d/1 other)" $'640 1234 1235 new\nold' \
		'--atomic: mode and owner stay, and other names keep what they had'
	is "$(readlink d/2) $(cat real)" '../real new' '--atomic: a link stays, and what it leads to is replaced'
	run pcp "${jc[@]}" -r -p --atomic s/1 d
	is "$(stat -c '%a %u %g' d/1)" '755 0 0' '--atomic -p: the attributes are those of the source'
	echo old >d/4
	run pcp "${jc[@]}" --atomic -b s/4 d
	is "$(cat d/4 d/4~)" $'new\nold' '--atomic -b: there is a backup'
	run pcp "${jc[@]}" --atomic -n s/4 d/4~
	is "$(cat d/4~)" old '--atomic -n: nothing is replaced'
	is "$(left d)" 0 '--atomic: nothing is left behind'
}
run_each replaced

unwritable() {
	need_user '--atomic: a file that may not be written to' || return
	mkdir -m 777 d
	echo new >s
	echo old >d/s
	chmod 444 d/s
	chown 65534 d/s
	run_as_user pcp "${jc[@]}" --atomic s d
	status 1 '--atomic: a file that may not be written to is not replaced'
	says "pcp: cannot create regular file 'd/s': Permission denied" '--atomic: said'
	run_as_user pcp "${jc[@]}" --atomic -f s d
	is "$rc $(cat d/s)" '0 new' '--atomic -f: but so it is'
}
run_each unwritable

failing() {
	local rule
	mkdir s d
	head -c 72M /dev/urandom >s/big
	echo old >d/big
	for rule in copy_file_range:ENOSPC:2 fsync:EIO renameat:EIO 'copy_file_range:EXDEV;pwrite:EIO:3;write:EIO:3'; do
		run_faulty "$rule" pcp "${jc[@]}" -r --atomic s/big d
		status 1 "--atomic: an error ($rule)"
		is "$(ls -A d) $(cat d/big)" 'big old' "--atomic: the old file is as it was ($rule)"
		is "$(grep -c "^pcp: .*'d/big'" "$err") $(wc -l <"$err")" '1 1' "--atomic: one line says so ($rule)"
	done
	FAULT_RUN="kill -TERM \$PPID" run_faulty 'copy_file_range:run:3' pcp "${jc[@]}" -r --atomic s/big d
	status 143 '--atomic: a signal'
	is "$(ls -A d) $(cat d/big)" 'big old' '--atomic: the old file is as it was after a signal'
}
run_each failing

links() {
	mkdir -p s/a s/b
	echo 1 >s/a/1
	ln s/a/1 s/b/2
	touch -d 2001-01-01 s/a/1
	run pcp "${jc[@]}" -a --atomic s d
	status 0 '--atomic -a'
	same '--atomic -a: hard links and times' s d
}
run_each links

long_name() {
	local name
	name=$(printf 'x%.0s' {1..255})
	echo 1 >"$name"
	mkdir d
	run pcp "${jc[@]}" --atomic "$name" d
	is "$rc $(ls -A d)" "0 $name" '--atomic: a name of 255 bytes'
}
run_each long_name

# What makes a lost machine leave one or the other: the data is written out before the name changes.
order() {
	echo 1 >s
	run strace -f -qq -e trace=fdatasync,renameat2,renameat -o trace pcp "${jc[@]}" --atomic s d
	status 0 '--atomic: traced'
	is "$(sed -E 's/^[0-9]+ +//; s/\(.*//' trace | tr '\n' ' ')" 'fdatasync renameat2 ' \
		'--atomic: data is on stable storage before the name changes'
}
need_command '--atomic: order of calls' strace && [ -z "${SANITIZE:-}" ] && run_each order

sync() {
	"$gentree" grid dirs=5 files=20 s
	run strace -f -qq -e trace=syncfs -o trace pcp "${jc[@]}" -r --sync s d
	status 0 '--sync'
	is "$(grep -c 'syncfs(.* = 0' trace)" 1 '--sync: one call for one file system'
	same '--sync: a copy' s d --no-times
	rm -rf d
	run_faulty 'syncfs:EIO' pcp "${jc[@]}" -r --sync s d
	status 1 '--sync: an error'
	says "pcp: error syncing the file system of 'd': Input/output error" '--sync: an error is told'
	run_faulty 'syncfs:EIO' pcp "${jc[@]}" s/d000000/f000000 f
	status 0 'without --sync nobody asks'
}
need_command --sync strace && [ -z "${SANITIZE:-}" ] && run_each sync

# An error that comes up when one of several workers closes the file.
late() {
	local n struck=0
	mkdir s d
	head -c 72M /dev/zero >s/big
	for n in 1 2 3; do
		run_faulty "close:EIO:$n:after" pcp "${jc[@]}" -r s/big d
		[ "$(hits)" = 0 ] && continue
		struck=$((struck + 1))
		status 1 "an error of close number $n of a large file"
		like "$(cat "$err")" "^pcp: failed to close 'd/big': Input/output error\$" "an error of close number $n: one line"
		ok "an error of close number $n: the file is gone" test ! -e d/big
		rm -f d/big
	done
	ok 'an error of close: there was one' test "$struck" -ge 1
}
run_each late

done_testing
