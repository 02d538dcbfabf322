#!/usr/bin/env bash
# The command line of pcp next to that of GNU cp: what is refused and in which words, which options contradict each
# other, abbreviations, the environment, and which names the targets get.  Both programs are called pcp here, and have
# to print the same, return the same and leave the same behind.  What the GNU cp of this machine is too old for is
# compared with the words of GNU cp 9.7 as they are written down here.
#
#	GNU_CP=/path/to/cp	the one to compare with, if not the one in PATH
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

try="Try 'pcp --help' for more information."
umask 022
unset VERSION_CONTROL SIMPLE_BACKUP_SUFFIX

reference=${GNU_CP:-$(PATH=/usr/bin:/bin command -v cp)}
reference_version=$("$reference" --version 2>/dev/null | sed -n '1s/.*(GNU coreutils) //p')
if [ -z "$reference_version" ]; then
	missing 'the command line next to that of cp' 'GNU cp'
	done_testing
fi
mkdir "$tmp/reference"
ln -s "$reference" "$tmp/reference/pcp"

# What the sources and targets of each comparison are.
fixture() {
	mkdir -p s/sub d/dir t
	echo 1 >a
	echo 2 >b
	echo 3 >s/f
	echo 4 >s/sub/g
	echo old >d/a
	echo new >t/b
	touch -d '2020-01-01' a d/a
	touch -d '2021-01-01' b s/f
	ln -s s to-dir
	ln -s a to-file
	ln -s nowhere dangling
}
mkdir "$tmp/fixture"
(cd "$tmp/fixture" && fixture)

# left_behind [FILE...]: names, types and contents below this directory, and the contents of the files.
left_behind() {
	find . -printf '%P %y %l\n'
	grep -r '' . "$@"
}
untouched=$(cd "$tmp/fixture" && left_behind)

# outcome DIRECTORY PATH PCP-ARGUMENTS...: all that can be seen of a run among the fixture, in a new directory.
outcome() {
	local dir=$1 path=$2
	shift 2
	"$reference" -a "$tmp/fixture" "$dir"
	cd "$dir" || exit
	PATH=$path run pcp "$@"
	left_behind "$out" "$err" | sort
	echo "status $rc"
}

# describe PCP-ARGUMENTS...: leaves the command line, on one line, and what is special about its environment in title.
describe() {
	title=''
	[ $# = 0 ] || printf -v title ' %q' "$@"
	title="pcp$title${special:+, $special}"
}

# alike PCP-ARGUMENTS...: the same as with GNU cp.
alike() {
	local ours theirs
	theirs=$(outcome "theirs$tests" "$tmp/reference:$PATH" "$@")
	ours=$(outcome "ours$tests" "$PATH" "$@")
	describe "$@"
	is "$ours" "$theirs" "$title"
}

# alike_since VERSION PCP-ARGUMENTS...: the same, where GNU cp is new enough.
alike_since() {
	local since=$1
	shift
	[ "$(printf '%s\n' "$since" "${reference_version:-0}" | sort -V | head -n 1)" = "$since" ] || return 0
	alike "$@"
}

# refusal PATH PCP-ARGUMENTS...: leaves status and messages of a run that touches nothing in said.
refusal() {
	local path=$1 messages
	shift
	PATH=$path run pcp "$@"
	IFS= read -r -d '' messages <"$err"
	said="status $rc"$'\n'$messages
}

# both_refuse PCP-ARGUMENTS...: like alike, where all that can be seen are messages, in this order.
both_refuse() {
	refusal "$tmp/reference:$PATH" "$@"
	local theirs=$said
	refusal "$PATH" "$@"
	describe "$@"
	is "$said" "$theirs" "$title"
	case $said in 'status 1'*) ;; *) result 1 "$title: is refused" ;; esac
}

# refuses TEXT PCP-ARGUMENTS...: status 1 and this on stderr, as with GNU cp 9.7.
refuses() {
	local text=$1
	shift
	refusal "$PATH" "$@"
	describe "$@"
	is "$said" "status 1"$'\n'"$text"$'\n' "$title"
}

# unchanged NAME: the fixture is as it was made.
unchanged() {
	is "$(left_behind | sort)" "$(sort <<<"$untouched")" "$1: nothing was copied"
}

special=''

operands() {
	fixture
	both_refuse
	both_refuse a
	both_refuse -t d
	both_refuse -t
	both_refuse -T
	both_refuse -T a
	both_refuse -T a b c
	both_refuse a b nodir
	both_refuse a b nodir/
	both_refuse a b to-file
	both_refuse a b dangling
	both_refuse a b a
	both_refuse a b a/
	both_refuse a b ''
	both_refuse a ''
	both_refuse '' d
	both_refuse -t nodir a
	both_refuse -t a b
	both_refuse -t '' b
	both_refuse -t dangling b
	both_refuse -t nodir
	both_refuse -t d -T
	both_refuse -t d -T a
	both_refuse -t d -t d a
	both_refuse -t nodir -t d
	both_refuse -t d -t s --nosuch
	both_refuse --target-directory
	both_refuse --target-directory=nodir a
	both_refuse --parents a b
	both_refuse --parents a nodir
	both_refuse --parents -T a d
	both_refuse --parents a b nodir
	both_refuse -- -a
	unchanged operands
}
run_once operands

options() {
	fixture
	both_refuse -9 a b
	both_refuse --nosuch a b
	both_refuse --nosuch=x a b
	both_refuse --no a b
	both_refuse --r a b
	[ -z "$gnu" ] || both_refuse --p a b # pcp has more of these
	both_refuse --verbose=x a b
	both_refuse --recursive= a b
	both_refuse --link=x a b
	both_refuse -S
	both_refuse --suffix
	both_refuse --sparse
	both_refuse --no-preserve
	both_refuse a b --nosuch
	both_refuse --sparse=q a b
	both_refuse --sparse= a b
	both_refuse --sparse=a a b
	both_refuse --reflink=q a b
	both_refuse --reflink=a a b
	both_refuse --reflink= a b
	both_refuse --preserve=q a b
	both_refuse --preserve= a b
	both_refuse --preserve=mode,q a b
	both_refuse --preserve=mode, a b
	both_refuse --preserve=MODE a b
	both_refuse --no-preserve=q a b
	both_refuse --no-preserve= a b
	both_refuse --backup=q a b
	both_refuse --backup=n a b
	both_refuse --backup=no,ne a b
	both_refuse $'--backup=\n' a b
	both_refuse "--sparse=it's" a b
	both_refuse "--sparse=back\\slash" a b
	unchanged options
}
run_once options

# Quotes, and what is a character, depend on the locale.
options_in_utf8() {
	[ "$(LC_ALL=C.UTF-8 locale charmap 2>/dev/null)" = UTF-8 ] || return
	fixture
	special=UTF-8
	local LC_ALL=C.UTF-8
	both_refuse --sparse=q a b
	both_refuse --preserve=$'\303\244' a b
	both_refuse $'--preserve=\303' a b
	both_refuse $'\303\244' d
	both_refuse $'\303' d
	both_refuse -T a b $'\303\244'
	special=''
	unchanged 'options, UTF-8'
}
run_once options_in_utf8

# Where options contradict, or depend on one another.
contradictions() {
	fixture
	both_refuse -l -s a c
	both_refuse -s -l -b a c
	both_refuse -s --link --reflink=always --sparse=never a c
	both_refuse --reflink --sparse=always a c
	both_refuse --reflink=always --sparse=never a c
	both_refuse --reflink --sparse=always --backup=q
	both_refuse --reflink --sparse=always --preserve=context a c
	both_refuse --preserve=context --backup=q a b
	unchanged 'contradictions'
}
run_once contradictions

combinations() {
	alike --sparse=never --reflink=always --sparse=auto --reflink=never a c
	alike --preserve=context a c
	alike --preserve=context -Z a c
	alike --preserve=context --context=x a c
	alike --preserve=context --no-preserve=context a c
	alike --preserve=context --no-preserve=all a c
	alike -Z a c
	alike --context a c
	alike --context=x a c
	alike -a -Z a c
	alike_since 9.3 -v -i -f a d
	alike -nv b d/a
	alike -n -f b d/a
	alike -f -n b d/a
	alike -nv -i a d/new
	alike -n -u b d/a
	alike -uv b d/a
	alike -uv d/a b
	alike --update -v b d/a
	alike_since 9.5 -i -n b d/a
	alike_since 9.5 -n -b a b
	alike_since 9.5 --update=all -u d/a b
	alike_since 9.5 -u --update=all d/a b
	alike_since 9.5 --update=none b d/a
	alike_since 9.5 --update=none-fail b d/a
	alike_since 9.5 --update=none-fail -n b d/a
	alike_since 9.5 --update=none-fail -u d/a b
	alike_since 9.5 --update=older -b b d/a
	alike_since 9.5 --update=none -i b d/a
	alike_since 9.5 -n -i -b -v b c
}
run_once combinations

# What is newer than some GNU cp that is in use.
since_9_5() {
	fixture
	local changed=''
	[ -n "$gnu" ] || changed=$'\n  - \'changed\''
	local exclusive="pcp: --backup is mutually exclusive with -n or --update=none-fail
$try" words="Valid arguments are:
  - 'all'
  - 'none'
  - 'none-fail'
  - 'older'$changed
$try"
	[ -z "$gnu" ] || [ "$(printf '%s\n' 9.5 "$gnu" | sort -V | head -n 1)" = 9.5 ] || return
	refuses "$exclusive" -b -n a b
	refuses "$exclusive" -n -S x a b
	refuses "$exclusive" --backup=none -n a b
	refuses "$exclusive" --update=none --backup a b
	refuses "$exclusive" --update=none-fail -b
	refuses "$exclusive" -n -u -b --reflink --sparse=never
	refuses "pcp: invalid argument 'q' for '--update'
$words" --update=q a b
	refuses "pcp: ambiguous argument 'n' for '--update'
$words" --update=n a b
	[ -z "$gnu" ] || refuses "pcp: option '--d' is ambiguous; possibilities: '--debug' '--dereference'
$try" --d a b
	refuses "pcp: option '--debug' doesn't allow an argument
$try" --debug=x a b
	unchanged 'options since 9.5'
	run pcp --keep --debug --version
	status 0 '--keep(-directory-symlink) and --debug'
}
run_once since_9_5

# The options that only pcp has.
own() {
	[ -z "$gnu" ] || return
	fixture
	refuses "pcp: option '--c' is ambiguous; possibilities: '--checksum-file' '--chunk' '--copy-contents' '--context'
$try" --c a b
	refuses "pcp: option '--d' is ambiguous; possibilities: '--debug' '--dereference' '--dry-run'
$try" --d a b
	refuses "pcp: option '--p' is ambiguous; possibilities: '--parents' '--pr' '--preserve' '--progress'
$try" --p a b
	refuses "pcp: option '--s' is ambiguous; possibilities: '--sparse' '--st' '--stats' '--strip-trailing-slashes' '--suffix' '--sy' '--sync' '--symbolic-link'
$try" --s a b
	refuses "pcp: option '--v' is ambiguous; possibilities: '--verbose' '--verify' '--version'
$try" --v a b
	refuses "pcp: option '--jobs' requires an argument
$try" --j
	refuses "pcp: option requires an argument -- 'c'
$try" a b -c
	refuses "pcp: invalid number of jobs: 'x'" -j x a b
	refuses "pcp: invalid number of files per work item: '-1'" -c -1 a b
	refuses "pcp: invalid number of jobs: '65536': Value too large for defined data type" --jobs=65536 a b
	unchanged 'options of its own'
	is "$(outcome with "$PATH" --jobs=3 --chu 3 a c)" "$(outcome without "$PATH" a c)" '--jobs and --chunk change nothing'
}
run_once own

abbreviations() {
	alike --rec --verb s new
	alike --arch --verb s new
	alike --att --pres=m a new
	alike --back --verb a b
	alike --back=nu --verb a b
	alike --back=o --verb a b
	alike --copy --rec --verb s new
	alike --der --rec --verb to-dir new
	alike --no-d --verb to-file new
	alike --fo --verb a b
	alike --l --verb a new
	alike --no-c --verb a d
	alike --no-t a b
	alike --o --rec --verb s new
	alike --pa --verb s/sub/g d
	alike --pr=mode --rec s new
	alike --pres=o,t,l,x,a a new
	alike --no-p=mod,own a new
	alike --rem --verb a d
	alike --ref=au a new
	alike --ref=n a new
	alike --sp=al a new
	alike --sp=ne a new
	alike --st --rec --verb to-dir/ d
	alike --suf=.x --verb a b
	alike --sy --verb a new
	alike --ta=d --verb b
	alike --t d --verb b
	alike --up --verb b d/a
	alike --i --verb a new
}
run_once abbreviations

# with NAME=VALUE... COMMAND...: alike and the rest are functions, which env cannot run.
with() {
	local -a set=()
	while [[ $1 == *=* && $1 != -* ]]; do
		set+=("${1%%=*}")
		export "${1?}"
		special="${special:+$special }$1"
		shift
	done
	"$@"
	unset "${set[@]}"
	special=''
}

environment() {
	fixture
	with VERSION_CONTROL=q both_refuse -b a b
	with VERSION_CONTROL=q both_refuse --backup= a b
	with VERSION_CONTROL=q both_refuse -S x -l -s a b
	unchanged VERSION_CONTROL
	with VERSION_CONTROL=q alike a b
	with VERSION_CONTROL=q alike --backup=t -v a b
	with VERSION_CONTROL=t alike -bv a b
	with VERSION_CONTROL=t alike --backup=off -v a b
	with VERSION_CONTROL=off alike -bv a b
	with VERSION_CONTROL= alike -bv a b
	with VERSION_CONTROL=nev alike -bv a b
	with SIMPLE_BACKUP_SUFFIX=.bak alike -bv a b
	with SIMPLE_BACKUP_SUFFIX=.bak alike -v a b
	with SIMPLE_BACKUP_SUFFIX=.bak alike -v -S .x a b
	with SIMPLE_BACKUP_SUFFIX=.bak alike -v -S '' a b
	with SIMPLE_BACKUP_SUFFIX= alike -bv a b
	with SIMPLE_BACKUP_SUFFIX=/x alike -bv a b
	alike -v -S /x a b
	alike -v -S x/y a b
	alike -v -S x/ a b
	alike -v -S / a b
	alike -v -S x -S y a b
	alike -v -S x --backup=simple a b
	with POSIXLY_CORRECT=1 alike a c -v
	with POSIXLY_CORRECT=1 alike a -v d
	with POSIXLY_CORRECT=1 alike -v a d
	with POSIXLY_CORRECT=1 alike -v -- a -v
	with POSIXLY_CORRECT=1 alike a dangling
	with POSIXLY_CORRECT=1 alike -v a d -t s
	alike a c -v
	alike a -t d b -v
	alike a -- -v d
	alike -- a c
	alike -- a -b
	alike a -- c -v
}
run_once environment

# Which names the copies get.
names() {
	local many=(-v -r --)
	alike "${many[@]}" s new
	alike "${many[@]}" s d
	alike "${many[@]}" s d/
	alike "${many[@]}" s d//
	alike "${many[@]}" s// d
	alike "${many[@]}" s/. d
	alike "${many[@]}" s/sub/.. d
	alike "${many[@]}" s/sub/../ d
	alike "${many[@]}" s/sub/.. new
	alike "${many[@]}" s/./sub d/../t
	alike "${many[@]}" s new/
	alike "${many[@]}" s/f new/
	alike "${many[@]}" s a d
	alike "${many[@]}" a/ d
	alike "${many[@]}" s to-file
	alike "${many[@]}" s dangling
	alike "${many[@]}" s dangling/
	alike "${many[@]}" a dangling
	alike "${many[@]}" a dangling/
	alike "${many[@]}" d/a to-dir
	alike "${many[@]}" to-dir d
	alike "${many[@]}" to-dir/ d
	alike "${many[@]}" to-dir new
	alike "${many[@]}" to-dir/ new
	alike "${many[@]}" to-dir/. d
	alike -rvT s new
	alike -rvT s d
	alike -vT a to-file
	alike_since 9.7 -vT a d
	alike_since 9.7 -vT a d/
	alike -rvT s/ t/
	alike -rv -t d s a
	alike -rv -t d/ s a
	alike -rv -t to-dir a b
	alike -v -t d a b a
	alike -v s/f s/sub/g nosuch d
	alike --strip-trailing-slashes -rv to-dir/ d
	alike --strip-trailing-slashes -rv to-dir// a// d
	alike --strip-trailing-slashes -v a/ c
	alike --strip-trailing-slashes -rv to-dir/ new
	alike --strip-trailing-slashes -v nosuch/ d
	alike --parents -v s/f d
	alike --parents -v s/sub/g d/
	alike --parents -v ./s//sub/g d
	alike --parents -rv s/sub/ d
	alike --parents -rv s/sub/g s/f a d
	alike --parents -v s/sub/g -t t
	alike --parents -v s/nosuch d
	alike --parents -v nosuch/f d
	alike --parents -v a/f d
	alike --parents -v "$PWD/nosuch" d
	alike --parents -v s/sub/../f d
	alike --parents --strip-trailing-slashes -rv to-dir/ d
	# (GNU cp takes the directory it just made for one that is not there yet.)
	[ -z "$gnu" ] || return
	fixture
	run pcp --parents -r s/sub/. d
	status 0 '--parents s/sub/. with no s/sub in the target'
	ok '--parents s/sub/. with no s/sub in the target: copied' test -f d/s/sub/g
}
run_once names

# With -f and a backup a file may be copied onto itself.
onto_itself() {
	alike -fv a a
	alike -bv a a
	alike -fbv a a
	alike -f --backup=t -v a a
	alike -f --backup=off -v a a
	alike -f -S .old -v a a
	alike -fbv s/f s/f
	alike -fbv ./a a
	alike -fbv to-file to-file
	alike -fbv dangling dangling
	alike -fbv s s
	alike -rfbvT s s
	alike -fbvT a a
	alike -fbv nosuch nosuch
	alike -fbvd a a
	alike -fbv a .
}
run_once onto_itself

help_and_version() {
	run pcp --help
	status 0 '--help'
	quiet '--help: nothing on stderr'
	is "$(head -n 3 "$out" | sed 's/^[^:]*: *//')" 'pcp [OPTION]... [-T] SOURCE DEST
pcp [OPTION]... SOURCE... DIRECTORY
pcp [OPTION]... -t DIRECTORY SOURCE...' '--help: the three ways to call it'
	run pcp --nosuch --help
	status 1 '--help after what is wrong'
	run pcp -l -s --help
	status 0 '--help after what only contradicts itself'
	run pcp --vers --nosuch
	status 0 'what comes after --version does not count'
	[ -z "$gnu" ] || return
	is "$(pcp --help | awk 'length >= 80')" '' '--help: fits'
	is "$(head -n 1 "$out")" "pcp (pcp and prm) $(pcp --version | sed -n '1s/.* //p')" '--version'
}
run_once help_and_version

done_testing
