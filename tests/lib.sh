# shellcheck shell=bash
#
# What the command tests share.  A test sources this file, calls tmpdir, runs its cases and ends with
# done_testing; it prints TAP.
#
#	PCP, PRM	the programs under test; bin/pcp and bin/prm of this tree unless set.  PCP may be a
#			GNU cp: then -j and -c are left out, and what cp is known not to do is marked TODO
#	VARIANT='-j 2'	run_each tries only these -j and -c
#	CI=true		what is missing is a failure, not a reason to skip
#
# A case is a shell function that runs in an empty directory of its own:
#
#	run_once CASE	runs it once, with jc=()
#	run_each CASE	runs it for several -j and -c, which it finds in the array jc
#
# Where a case is about one worker or many, j1 and j20 are arrays like jc.

# What tests use from here: shellcheck cannot see it.
# shellcheck disable=SC2034
export LC_ALL=C
unset POSIXLY_CORRECT
umask 022

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$top/build/tests}
PCP=${PCP:-$top/bin/pcp}
PRM=${PRM:-$top/bin/prm}
treecmp=$BUILD/treecmp
gentree=$BUILD/gentree
shim=$BUILD/faultshim.so

tests=0 failures=0 tag='' todo=''
jc=() j1=(-j 1 -c 1) j20=(-j 20) rc=0 tmp='' out='' err='' faults=''

# The version of GNU cp that PCP is, such as 9.1; empty when it is pcp.
gnu=$("$PCP" --version 2>/dev/null | sed -n '1s/.*(GNU coreutils) //p')
# The user that permission cases run as: nobody, without groups and capabilities.
user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# --- TAP ---

diag() {
	printf '%s\n' "$@" | sed 's/^/# /'
}

# result STATUS NAME [DIAGNOSTIC...]: one line of TAP.
result() {
	local status=$1 name=$2
	shift 2
	tests=$((tests + 1))
	name="$name${tag:+ [$tag]}"
	if [ "$status" = 0 ]; then
		echo "ok $tests - $name${todo:+ # TODO $todo}"
		return 0
	fi
	echo "not ok $tests - $name${todo:+ # TODO $todo}"
	if [ -z "$todo" ]; then
		failures=$((failures + 1))
		[ $# = 0 ] || diag "$@"
	fi
	return 1
}

# ok NAME COMMAND...: passes when COMMAND does.
ok() {
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then result 0 "$name"; else result 1 "$name" "failed: $*" "$said"; fi
}

# is GOT WANTED NAME
is() {
	if [ "$1" = "$2" ]; then result 0 "$3"; else result 1 "$3" "     got: $1" "expected: $2"; fi
}

# like GOT REGEX NAME: the extended regular expression matches.
like() {
	if [[ $1 =~ $2 ]]; then result 0 "$3"; else result 1 "$3" "     got: $1" "expected: $2"; fi
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# todo_gnu REASON: until the end of the case, what fails is known of GNU cp.
todo_gnu() {
	[ -z "$gnu" ] || todo="GNU cp: $1"
}

# todo_before VERSION REASON: the same, for GNU cp older than VERSION.
todo_before() {
	[ -z "$gnu" ] || [ "$(printf '%s\n' "$1" "$gnu" | sort -V | head -n 1)" = "$1" ] || todo_gnu "$2"
}

todo_end() {
	todo=
}

# under_test prm: the test is about that program: PRM may be a GNU rm, and what is known of it is TODO.
under_test() {
	local name=${1^^}
	gnu=$("${!name}" --version 2>/dev/null | sed -n '1s/.*(GNU coreutils) //p')
	variants=('-j 1 -c 1' '-j 1' '-j 2 -c 1' '-j 2' '-j 20 -c 1' '-j 20') j1=(-j 1 -c 1) j20=(-j 20)
	[ -z "${VARIANT:-}" ] || variants=("$VARIANT")
[ -z "$gnu" ] || variants=('') j1=() j20=()
}

done_testing() {
	echo "1..$tests"
	[ "$failures" = 0 ]
	exit
}

# --- What a test needs ---

# missing NAME WHAT: a skip, or a failure where everything has to be there.
missing() {
	if [ "${CI:-}" = true ]; then result 1 "$1" "missing: $2"; else skip "$1" "no $2"; fi
}

# need_root NAME, need_command NAME COMMAND: fail, having said so, where the case NAME cannot run.
need_root() {
	[ "$(id -u)" = 0 ] && return 0
	skip "$1" 'needs root'
	return 1
}

need_command() {
	command -v "$2" >/dev/null && return 0
	missing "$1" "$2"
	return 1
}

# need_option NAME OPTION: for options that the program under test may not have (yet).
need_option() {
	"$PCP" --help 2>/dev/null | grep -qe "$2" && return 0
	skip "$1" "this program has no $2"
	return 1
}

# need_user NAME: another user must be able to run the program under test.
need_user() {
	need_root "$1" && need_command "$1" setpriv || return 1
	"${user[@]}" pcp --version >/dev/null 2>&1 && return 0
	missing "$1" 'way for another user to run the program (is it below a closed directory?)'
	return 1
}

# private_mounts "$@": starts the test again in a mount namespace of its own, so that whatever it
# mounts is gone when it ends.  Without root it goes on as it is; cases that mount call need_root.
private_mounts() {
	if [ "$(id -u)" = 0 ] && [ -z "${PRIVATE_MOUNTS:-}" ]; then
		PRIVATE_MOUNTS=1 exec unshare -m --propagation private "$0" "$@"
	fi
}

# tmpdir tmpfs|disk: makes $tmp, that other users may search, and calls the program under test pcp.
tmpdir() {
	local at=/dev/shm
	if [ "$1" = disk ] || [ ! -w $at ]; then at=${TMPDIR:-/tmp}; fi
	tmp=$(mktemp -d "$at/pfu-test.XXXXXX") || exit 1
	chmod 755 "$tmp"
	trap cleanup EXIT
	trap 'exit 1' HUP INT TERM
	mkdir "$tmp/bin" "$tmp/cases"
	# Diagnostics begin with the name a program was called by.
	ln -s "$PCP" "$tmp/bin/pcp"
	ln -s "$PRM" "$tmp/bin/prm"
	PATH=$tmp/bin:$PATH
	out=$tmp/out err=$tmp/err faults=$tmp/faults
}

cleanup() {
	cd / || return
	while read -r where; do
		umount "$where"
	done < <(awk -v at="$tmp/" 'index($2, at) == 1 { print $2 }' /proc/mounts | sort -r)
	chmod -R u+rwx "$tmp/cases" 2>/dev/null
	rm -rf --one-file-system "$tmp"
}

# --- Running ---

variants=('-j 1' '-j 2 -c 1' '-j 20 -c 1' '-j 20')
# A sanitizer makes every run long, and finds the same in each.
[ -z "${SANITIZE:-}" ] || variants=('-j 2' '-j 20 -c 1')
[ -z "${VARIANT:-}" ] || variants=("$VARIANT")
[ -z "$gnu" ] || variants=('') j1=() j20=()
case_number=0

run_case() {
	case_number=$((case_number + 1))
	mkdir "$tmp/cases/$case_number" && cd "$tmp/cases/$case_number" || exit 1
	chmod 777 .
	"$1"
	todo='' tag='' jc=()
	cd "$tmp" || exit 1
	chmod -R u+rwx "$tmp/cases/$case_number" 2>/dev/null
	# (Not what is mounted below.)
	rm -rf --one-file-system "$tmp/cases/$case_number" 2>/dev/null
}

run_once() {
	run_case "$1"
}

run_each() {
	local variant
	for variant in "${variants[@]}"; do
		read -ra jc <<<"$variant"
		tag=$variant
		run_case "$1"
	done
}

# run COMMAND...: leaves its status in rc, what it printed in the files $out and $err.  A command that
# takes minutes hangs.
run() {
	# (The shell itself has something to say when a command is killed.)
	{ timeout -k 5 "${LIMIT:-120}" "$@" >"$out" 2>"$err" </dev/null; } 2>/dev/null
	rc=$?
}

run_as_user() {
	run "${user[@]}" "$@"
}

# run_faulty FAULT COMMAND...: with faults injected (see tools/faultshim.c); the hits are in $faults.
run_faulty() {
	local rules=$1
	shift
	rm -f "$faults"
	run env LD_PRELOAD="$shim" FAULT="$rules" FAULT_LOG="$faults" FAULT_RUN="${FAULT_RUN:-}" "$@"
}

# hits [PATTERN]: how many faults struck.
hits() {
	if [ -f "$faults" ]; then grep -ce "${1:-}" "$faults"; else echo 0; fi
}

# struck NAME: passes if any did: a fault that never struck tests nothing.
struck() {
	if [ -s "$faults" ]; then result 0 "$1"; else result 1 "$1" 'the fault never struck'; fi
}

# status WANTED NAME: of the last run.
status() {
	if [ "$rc" = "$1" ]; then
		result 0 "$2"
	else
		result 1 "$2" "status $rc, expected $1" "$(head -n 5 "$err")"
	fi
}

# quiet NAME: nothing on stderr.  says TEXT NAME: stderr is these lines, in any order.
quiet() {
	is "$(head -n 5 "$err")" '' "$1"
}

says() {
	is "$(sort "$err")" "$(sort <<<"$1")" "$2"
}

# same NAME A B [OPTION...]: treecmp finds no difference.
same() {
	local name=$1 a=$2 b=$3
	shift 3
	ok "$name" "$treecmp" "$@" "$a" "$b"
}
