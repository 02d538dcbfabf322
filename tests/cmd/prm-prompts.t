#!/usr/bin/env bash
# What prm asks: which questions, in which order, one at a time, and what each answer does.  The
# questions about write-protected files, which are asked only on a terminal, are tried on one.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs
under_test prm
[ -n "$gnu" ] || variants=('-j 1' '-j 20 -c 1')

# asked ANSWERS COMMAND...: with these lines on standard input.
asked() {
	local answers=$1
	shift
	timeout 60 "$@" >"$out" 2>"$err" < <(printf '%b' "$answers")
	rc=$?
}

# left NAME FILE...: exactly these are left in the working directory.
left() {
	local name=$1
	shift
	is "$(find . -mindepth 1 | LC_ALL=C sort)" "$(printf '%s\n' "$@" | sed '/^$/d' | LC_ALL=C sort)" "$name"
}

each_operand() {
	touch a b c d
	echo x >e
	asked 'y\nn\nY\nyes, please\n' prm "${jc[@]}" -i a b c d e
	is "$(cat "$err")" "prm: remove regular empty file 'a'? prm: remove regular empty file 'b'? prm: remove \
regular empty file 'c'? prm: remove regular empty file 'd'? prm: remove regular file 'e'? " \
		'-i: a question for each, in order'
	status 0 '-i: status'
	left '-i: what was answered with y is gone' ./b ./e
}
run_each each_operand

every_type() {
	touch f
	mkdir d
	ln -s f l
	mkfifo p
	perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("s"))'
	asked 'n\nn\nn\nn\nn\n' prm "${jc[@]}" -rdi f d l p s
	is "$(sed "s/? /?\n/g" "$err")" "prm: remove regular empty file 'f'?
prm: remove directory 'd'?
prm: remove symbolic link 'l'?
prm: remove fifo 'p'?
prm: remove socket 's'?" '-i: the type of each is named'
	left '-i: nothing is gone' ./f ./d ./l ./p ./s
}
run_each every_type

# r8: in order and one at a time, directories asked about before and after what is in them.
whole_tree() {
	mkdir -p d/e
	touch d/e/f
	asked 'y\ny\ny\ny\ny\n' prm "${jc[@]}" -ri d
	is "$(sed "s/? /?\n/g" "$err")" "prm: descend into directory 'd'?
prm: descend into directory 'd/e'?
prm: remove regular empty file 'd/e/f'?
prm: remove directory 'd/e'?
prm: remove directory 'd'?" '-ri: all the questions, in order'
	status 0 '-ri: status'
	left '-ri: all is gone' ''
}
run_each whole_tree

refused_directory() {
	mkdir -p d/e
	touch d/e/f g
	asked 'n\ny\n' prm "${jc[@]}" -ri d g
	is "$(sed "s/? /?\n/g" "$err")" "prm: descend into directory 'd'?
prm: remove regular empty file 'g'?" '-ri: a directory that is refused is not looked into'
	left '-ri: it is whole' ./d ./d/e ./d/e/f
	touch g
	asked 'y\nn\ny\n' prm "${jc[@]}" -ri d g
	is "$(sed "s/? /?\n/g" "$err" | head -n 2)" "prm: descend into directory 'd'?
prm: descend into directory 'd/e'?" '-ri: a subdirectory that is refused'
	ok '-ri: it is whole too' test -e d/e/f
}
run_each refused_directory

# The directory's own order is that of the questions: what is refused is what was named.
many_in_a_directory() {
	local i answer answers='y\n' kept gone
	mkdir d
	for i in {1..40}; do
		touch "d/$i"
		if [ $((i % 3)) = 0 ]; then answer=n; else answer=y; fi
		answers+="$answer\n"
	done
	asked "$answers" prm "${jc[@]}" -ri d
	kept=$(sed "s/? /?\n/g" "$err" | sed -n '2,41p' | awk 'NR % 3 == 0' | sed "s/.*'\(.*\)'?/\1/" | sort)
	is "$(find d -type f | sort)" "$kept" '-ri: 40 files: every third, which was refused, is there'
	gone=$(sed "s/? /?\n/g" "$err" | sed '/^$/d' | sort | uniq -d)
	is "$gone" '' '-ri: nothing is asked twice'
}
run_each many_in_a_directory

once() {
	touch a b c d
	mkdir -p e/f
	touch e/f/g
	asked 'n\n' prm "${jc[@]}" -I a b c d
	is "$(cat "$err")" 'prm: remove 4 arguments? ' '-I: four'
	left '-I: refused' ./a ./b ./c ./d ./e ./e/f ./e/f/g
	asked 'y\n' prm "${jc[@]}" --interactive=once a b c d
	status 0 '-I: four, removed'
	left '-I: removed' ./e ./e/f ./e/f/g
	asked 'n\n' prm "${jc[@]}" -rI e
	is "$(cat "$err")" 'prm: remove 1 argument recursively? ' '-rI: one'
	status 0 '-rI: refused: status'
	left '-rI: refused' ./e ./e/f ./e/f/g
	touch h
	asked 'y\n' prm "${jc[@]}" -rI e h
	is "$(cat "$err")" 'prm: remove 2 arguments recursively? ' '-rI: two, and no more questions'
	left '-rI: removed' ''
	touch a
	asked '' prm "${jc[@]}" -I a
	quiet '-I: few: no question'
	left '-I: few: removed' ''
}
run_each once

# An end of the answers, and a closed standard input, are a no.
no_answer() {
	touch a b
	asked 'y' prm "${jc[@]}" -i a b
	left 'an end without a newline is an answer, and then there is none' ./b
	prm "${jc[@]}" -i b 2>"$err" <&-
	left 'a closed standard input' ./b
}
run_each no_answer

# errors between questions come where they happen
errors_in_order() {
	touch a b
	asked 'y\ny\n' prm "${jc[@]}" -i a missing b
	is "$(cat "$err")" "prm: remove regular empty file 'a'? prm: cannot remove 'missing': No such file or directory
prm: remove regular empty file 'b'? " '-i: an error between two questions'
	status 1 '-i: an error between two questions: status'
}
run_each errors_in_order

# on_terminal ANSWERS COMMAND...: with a terminal as standard input, and output as before.
on_terminal() {
	local answers=$1
	shift
	timeout 60 python3 -c '
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.dup2(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 1)
    os.dup2(os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
    os.execvp(sys.argv[4], sys.argv[4:])
os.write(master, sys.argv[1].encode().decode("unicode_escape").encode() + b"\x04")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
' "$answers" "$out" "$err" "$@"
	rc=$?
}

write_protected() {
	need_command 'write-protected files on a terminal' python3 || return
	[ "$(id -u)" != 0 ] || need_user 'write-protected files on a terminal' || return
	local as=()
	[ "$(id -u)" != 0 ] || as=("${user[@]}")
	mkdir d d/sub
	touch d/protected d/own d/sub/f
	echo x >d/full
	ln -s protected d/link
	ln -s nowhere d/dangling
	chmod 0444 d/protected d/full
	chmod 0555 d/sub
	[ "$(id -u)" != 0 ] || chown -hR 65534:65534 . d
	: >"$out"
	: >"$err"
	chmod 666 "$out" "$err"
	on_terminal 'n\nn\n' "${as[@]}" prm "${jc[@]}" d/protected d/full d/own d/link d/dangling
	is "$(cat "$err")" "prm: remove write-protected regular empty file 'd/protected'? prm: remove \
write-protected regular file 'd/full'? " 'a terminal: questions about write-protected files alone'
	status 0 'a terminal: refused: status'
	is "$(find d | sort)" $'d\nd/full\nd/protected\nd/sub\nd/sub/f' 'a terminal: the others are removed'
	on_terminal 'y\n' "${as[@]}" prm "${jc[@]}" d/protected
	ok 'a terminal: y removes it' test ! -e d/protected
	on_terminal 'n\n' "${as[@]}" prm "${jc[@]}" -r d/sub
	is "$(cat "$err")" "prm: descend into write-protected directory 'd/sub'? " \
		'a terminal: a write-protected directory'
	on_terminal '' "${as[@]}" prm "${jc[@]}" -f d/full
	quiet 'a terminal: -f asks nothing'
	ok 'a terminal: -f removes it' test ! -e d/full
	touch d/protected
	chmod 0444 d/protected
	on_terminal 'n\n' "${as[@]}" prm "${jc[@]}" --interactive=never d/protected
	quiet 'a terminal: --interactive=never asks nothing'
	chmod 0755 d/sub
}
run_each write_protected

# Nothing has gone when the first question comes, and things go in order.
asked_before() {
	need_command 'the first question' python3 || return
	[ "$(id -u)" != 0 ] || need_user 'the first question' || return
	local as=() in_order
	[ "$(id -u)" != 0 ] || as=("${user[@]}")
	mkdir a b
	touch a/protected b/{1..9} z
	chmod 0444 a/protected
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 .
	on_terminal 'y\n' "${as[@]}" prm "${jc[@]}" -rv a b z
	is "$(cat "$err")" "prm: remove write-protected regular empty file 'a/protected'? " 'the first question: asked'
	in_order=$(head -n 1 "$out")
	is "$in_order" "removed 'a/protected'" 'the first question: what comes after it in order goes after it'
	left 'the first question: all is gone at the end'
	# Where there is none to ask, nobody is asked.
	mkdir -p c/d
	touch c/{1..20} c/d/{1..20}
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 c
	on_terminal '' "${as[@]}" prm "${jc[@]}" -r c
	quiet 'no question: none asked'
	left 'no question: all is gone'
}
run_each asked_before

# To the superuser nothing is write-protected.
superuser() {
	need_root 'the superuser' || return
	need_command 'the superuser' python3 || return
	touch f
	chmod 0 f
	on_terminal '' prm "${jc[@]}" f
	quiet 'the superuser is not asked'
	left 'the superuser: gone'
	mkdir d
	touch d/f
	chmod 0444 d/f
	asked 'y\ny\ny\n' prm "${jc[@]}" -ri d
	is "$(cat "$err")" "prm: descend into directory 'd'? prm: remove regular empty file 'd/f'? prm: remove directory 'd'? " \
		'the superuser, -i: not called write-protected'
}
run_each superuser

# The option by which GNU's tests say "as if on a terminal".
presumed_terminal() {
	[ "$(id -u)" != 0 ] || need_user '---presume-input-tty' || return
	local as=()
	[ "$(id -u)" != 0 ] || as=("${user[@]}")
	touch f
	chmod 0444 f
	[ "$(id -u)" != 0 ] || chown 65534:65534 f
	run "${as[@]}" prm "${jc[@]}" ---presume-input-tty f
	is "$(cat "$err")" "prm: remove write-protected regular empty file 'f'? " '---presume-input-tty'
	left '---presume-input-tty: no answer is no' ./f
}
run_each presumed_terminal

# A directory on another file system is asked about all the same, and then skipped.
other_file_system() {
	need_root '-i --one-file-system' || return
	mkdir -p d/m
	mount -t tmpfs none d/m
	asked 'y\ny\nn\n' prm "${jc[@]}" -ri --one-file-system d
	is "$(cat "$err")" "prm: descend into directory 'd'? prm: remove directory 'd/m'? prm: cannot remove 'd/m': Device or \
resource busy" '-i --one-file-system: an empty one'
	touch d/m/f
	asked 'y\ny\nn\n' prm "${jc[@]}" -ri --one-file-system d
	is "$(cat "$err")" "prm: descend into directory 'd'? prm: descend into directory 'd/m'? prm: skipping 'd/m', since it's \
on a different device" '-i --one-file-system: one that is not empty'
	umount d/m
}
run_each other_file_system

done_testing
