#!/usr/bin/env bash
# What people who delete for a living have run into: deep and wide trees with few descriptors, two
# removals of one tree, links with a slash, every spelling of "." and "/", what a user may not remove.
# Some cases need root: for another user, for mounts, for an immutable file, and for a root folder of
# their own, in which "/" can be tried.
# sanitizers: no (ulimit, strace)
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs
under_test prm

# limited N COMMAND...: with N descriptors at most.
limited() {
	local limit=$1
	shift
	run bash -c "ulimit -n $limit && exec \"\$@\"" - "$@"
}

deep() {
	perl -e 'for (1 .. 3000) { mkdir "d" or die; if ($_ % 100 == 0) { open F, ">f"; mkdir "e"; } chdir "d" or die }'
	limited 32 prm "${jc[@]}" -r d
	status 0 'r3: 3,000 levels with 32 descriptors'
	quiet 'r3: 3,000 levels: nothing is said'
	ok 'r3: 3,000 levels: gone' test ! -e d
}
run_each deep

# Names so long that the path is many times PATH_MAX.
deep_long() {
	perl -e '$n = "n" x 200; mkdir "d"; chdir "d"; for (1 .. 300) { mkdir $n or die; open F, ">f"; chdir $n }'
	run prm "${jc[@]}" -r d
	status 0 'r3: a path of 60,000 bytes'
	ok 'r3: a path of 60,000 bytes: gone' test ! -e d
}
run_each deep_long

wide() {
	local i
	mkdir d
	for i in {1..300}; do
		mkdir -p "d/$i/x/y"
		touch "d/$i/1" "d/$i/x/2" "d/$i/x/y/3"
	done
	limited 16 prm "${jc[@]}" -r d
	status 0 'r3: 300 wide directories with 16 descriptors'
	quiet 'r3: 300 wide directories: nothing is said'
	ok 'r3: 300 wide directories: gone' test ! -e d
}
run_each wide

two_at_once() {
	local i first second
	for i in {1..3}; do
		mkdir -p d/{1..20}/{1..5}
		touch d/{1..20}/{1..5}/{a,b,c}
		prm "${jc[@]}" -rf d 2>first.err &
		run prm "${jc[@]}" -rf d
		first=$rc
		wait $!
		second=$?
		is "$first $second" '0 0' "r4: two at once, round $i"
		is "$(cat first.err "$err")" '' "r4: two at once say nothing, round $i"
		ok "r4: two at once: gone, round $i" test ! -e d
	done
}
run_each two_at_once

# A writer that keeps creating in a directory that is already empty: the removal must end.
busy_writer() {
	local writer
	mkdir -p d/sub
	: >d/sub/f
	perl -e 'my ($n, $dir) = (0, shift); my $end = time + 20;
		while (time < $end && -e "$dir/go") { open F, ">$dir/sub/w" . $n++ % 50 }' "$PWD/d" &
	writer=$!
	: >d/go
	sleep 0.2
	LIMIT=15 run prm "${jc[@]}" -r d/sub
	if [ "$rc" = 0 ]; then
		# It was quick enough between two files.
		result 0 'r4: a writer that keeps creating'
	else
		status 1 'r4: a writer that keeps creating'
		says "prm: cannot remove 'd/sub': Directory not empty" 'r4: a writer: said'
	fi
	rm -f d/go
	kill "$writer" 2>/dev/null
	wait "$writer"
}
run_each busy_writer

link_with_slash() {
	mkdir d
	: >d/precious
	ln -s d l
	run prm "${jc[@]}" l/
	status 1 'r6: l/'
	says "prm: cannot remove 'l/': Is a directory" 'r6: l/: said'
	todo_gnu 'empties the directory'
	for option in -r -rf; do
		run prm "${jc[@]}" "$option" l/
		status 1 "r6: $option l/"
		says "prm: cannot remove 'l/': Not a directory" "r6: $option l/: said"
		ok "r6: $option l/: the directory keeps its file" test -e d/precious
	done
	todo_end
	[ -n "$gnu" ] || ok 'r6: the link is there' test -L l
	rm -rf l
	ln -s d l
	: >>d/precious
	run prm "${jc[@]}" -r l
	status 0 'r6: -r l'
	ok 'r6: -r l: the link is gone' test ! -L l
	ok 'r6: -r l: the directory is not' test -e d/precious
}
run_each link_with_slash

dots() {
	local name
	mkdir -p s/t
	: >s/f
	for name in . .. s/. s/.. ./. s/./ s/../ .// s/t/../.; do
		run prm "${jc[@]}" -rf "$name"
		status 1 "r7: $name"
		like "$(cat "$err")" "^prm: refusing to remove '\\.' or '\\.\\.' directory: skipping '${name/%\/\//\/}'\$" \
			"r7: $name: said"
		ok "r7: $name: all is there" test -e s/f -a -d s/t
	done
	run prm "${jc[@]}" -r . s/f ..
	status 1 'r7: among other operands'
	ok 'r7: the others are removed' test ! -e s/f
	ok 'r7: that is all' test -d s/t
}
run_each dots

# In a root folder of its own, in which there is nothing to lose.
root_folder() {
	local name
	need_root 'r7: /' || return
	mkdir root
	mount -t tmpfs none root
	mkdir root/{usr,lib,lib64,bin,proc,d}
	for name in usr lib lib64 bin; do
		mount --bind "/$name" "root/$name" && mount -o remount,bind,ro "root/$name"
	done
	cp "$PRM" root/prm
	: >root/precious
	ln -s / root/link
	ln -s / root/d/link
	for name in / // /. /.. /link/ d/link/ /./ /d/.. /../; do
		run chroot root /prm "${jc[@]}" -rf "$name"
		case $name in
		*link/) todo_before 9.7 'another text' ;;
		esac
		status 1 "r7: $name"
		ok "r7: $name: all is there" test -e root/precious -a -L root/d/link
		like "$(head -n 1 "$err")" "it is dangerous to operate recursively on|refusing to remove '\\.' or '\\.\\.'" \
			"r7: $name: said"
		is "$(wc -l <"$err")" "$(case $name in / | // | *link/) echo 2 ;; *) echo 1 ;; esac)" \
			"r7: $name: once"
		todo_end
	done
	run chroot root /prm "${jc[@]}" -rf /
	is "$(sed 's/^.*prm: /prm: /' "$err")" "prm: it is dangerous to operate recursively on '/'
prm: use --no-preserve-root to override this failsafe" 'r7: /: what is said'
	for name in usr lib lib64 bin; do umount "root/$name"; done
	umount root
}
run_each root_folder

answers() {
	touch a b c d
	run prm "${jc[@]}" -I a b c d
	is "$(cat "$err")" 'prm: remove 4 arguments? ' 'r8: -I with four names: one question'
	is "$(ls)" $'a\nb\nc\nd' 'r8: -I: no answer is no'
	status 0 'r8: -I refused: status'
	run prm "${jc[@]}" -I a b c
	quiet 'r8: -I with three names: no question'
	chmod 0444 d
	run prm "${jc[@]}" d
	status 0 'r8: a 0444 file, standard input not a terminal'
	quiet 'r8: a 0444 file: no question'
}
run_each answers

forgiven() {
	: >f
	run prm "${jc[@]}" -f missing
	status 0 'r9: -f with a missing name'
	run prm "${jc[@]}" -f f/x
	status 0 'r9: -f of a name below a file'
	run prm "${jc[@]}" -f ''
	status 0 'r9: -f of an empty string'
	run prm "${jc[@]}" -f
	status 0 'r9: -f without operands'
	run prm "${jc[@]}" -rf missing f/x '' missing/
	status 0 'r9: all of them with -rf'
	quiet 'r9: nothing is said'
	run prm "${jc[@]}" -r missing f/x ''
	status 1 'r9: the same without -f'
	says "prm: cannot remove 'missing': No such file or directory
prm: cannot remove 'f/x': Not a directory
prm: cannot remove '': No such file or directory" 'r9: without -f: said'
}
run_each forgiven

# No thread is started for what one thread does at once, and an operand costs few system calls.
small_jobs() {
	need_command 'r10: no threads for little work' strace || return
	: >f
	run strace -f -o trace prm f
	[ -n "$gnu" ] || is "$(grep -cE 'clone3?\(' trace)" 0 'r10: one file: no thread'
	touch {1..10}
	run strace -f -o trace prm {1..10}
	is "$(grep -cE 'clone3?\(' trace)" 0 'r10: ten files: no thread'
	mkdir d
	run strace -f -o trace prm -r d
	is "$(grep -cE 'clone3?\(' trace)" 0 'r10: an empty directory: no thread'
	mkdir -p d/{1..4}
	touch d/{1..4}/{1..50}
	run strace -f -o trace prm "${jc[@]}" -r d
	# One of them fails: the first finds out that the operand is a directory.
	is "$(grep -c 'unlinkat(' trace)" 206 'r10: one unlinkat a file and directory, and one for the operand'
	todo_gnu 'needs more'
	is "$(awk '/execve/ { next } /(newfstatat|statx|faccessat2?|access)\(/ && /"d|"[0-9]/' trace | wc -l)" 0 \
		'r10: no file is looked at'
	todo_end
}
run_each small_jobs

read_only_directory() {
	need_user 'e5: a read-only directory' || return
	mkdir -p a/b/c
	touch a/b/file a/b/other a/x a/b/c/in
	chmod 0555 a/b
	chown -R 65534:65534 a
	run_as_user prm "${jc[@]}" -rf a
	status 1 'e5: a read-only directory'
	says "prm: cannot remove 'a/b/file': Permission denied
prm: cannot remove 'a/b/other': Permission denied
prm: cannot remove 'a/b/c': Permission denied" 'e5: the deepest names that failed, nothing else'
	is "$(find a | sort)" $'a\na/b\na/b/c\na/b/file\na/b/other' 'e5: the rest is gone'
}
run_each read_only_directory

unreadable_directories() {
	need_user 'e5: directories of mode 0' || return
	mkdir -p a/empty a/full a/search
	touch a/full/f a/search/f
	chmod 0 a/empty a/full
	chmod 0444 a/search
	chown -R 65534:65534 a
	run_as_user prm "${jc[@]}" -rf a
	status 1 'e5: directories of mode 0'
	says "prm: cannot remove 'a/full': Permission denied
prm: cannot remove 'a/search/f': Permission denied" 'e5: directories of mode 0: said'
	is "$(find a | sort)" $'a\na/full\na/full/f\na/search\na/search/f' 'e5: an empty one goes all the same'
}
run_each unreadable_directories

sticky() {
	need_user "e5: other people's files" || return
	mkdir -p a/b
	touch a/b/mine a/b/root
	chmod 1777 a/b
	chown 65534:65534 a a/b/mine
	run_as_user prm "${jc[@]}" -rf a
	status 1 "e5: other people's files in a sticky directory"
	says "prm: cannot remove 'a/b/root': Operation not permitted" 'e5: sticky: said'
	is "$(find a | sort)" $'a\na/b\na/b/root' 'e5: sticky: the rest is gone'
}
run_each sticky

# What cannot go must not keep the rest.
immutable() {
	need_root 'an immutable file' && need_command 'an immutable file' chattr || return
	mkdir -p a/b a/c
	touch a/b/{1..20} a/c/f
	if ! chattr +i a/b/7 2>/dev/null; then
		skip 'an immutable file' 'this file system has no such attribute'
		return
	fi
	run prm "${jc[@]}" -r a
	status 1 'an immutable file'
	says "prm: cannot remove 'a/b/7': Operation not permitted" 'an immutable file: said'
	is "$(find a | sort)" $'a\na/b\na/b/7' 'an immutable file: the rest is gone'
	chattr -i a/b/7
}
run_each immutable

# Operands that have to do with each other.
overlapping() {
	mkdir -p a/b
	touch a/b/f a/g
	run prm "${jc[@]}" -r a a
	status 1 'the same operand twice'
	says "prm: cannot remove 'a': No such file or directory" 'the same operand twice: said'
	mkdir -p a/b
	touch a/b/f a/g
	run prm "${jc[@]}" -r a/b a
	status 0 'a directory after what is in it'
	mkdir -p a/b
	touch a/b/f a/g
	run prm "${jc[@]}" -r a a/b
	status 1 'a directory before what is in it'
	says "prm: cannot remove 'a/b': No such file or directory" 'a directory before what is in it: said'
	ok 'all is gone' test ! -e a
}
run_each overlapping

done_testing
