#!/usr/bin/env bash
# What the options of pcp mean: -r -R -a -d -p -f -v -L -P -H -t -T -x, and -j and -c, their values and
# what is no value; how operands are told apart; messages about usage.  One case mounts and needs root.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

# refuses TEXT PCP-ARGUMENTS...: status 1 and this on stderr.
refuses() {
	local text=$1
	shift
	run pcp "$@"
	status 1 "pcp $*: status 1"
	says "$text" "pcp $*: says so"
}

try="Try 'pcp --help' for more information."

usage() {
	touch a
	mkdir d s
	refuses "pcp: missing file operand
$try"
	refuses "pcp: missing destination file operand after 'x'
$try" x
	refuses "pcp: missing file operand
$try" -t d
	refuses "pcp: option requires an argument -- 't'
$try" -t
	refuses "pcp: extra operand 'd'
$try" -T a b d
	refuses "pcp: unrecognized option '--nosuch'
$try" --nosuch a b
	refuses "pcp: unrecognized option '--recusive'
Did you mean '--recursive'?
$try" --recusive a b
	refuses "pcp: unrecognized option '--prserve=mode'
Did you mean '--preserve'?
$try" a b --prserve=mode
	refuses "pcp: invalid option -- '9'
$try" -9 a b
	refuses "pcp: target 'nodir': No such file or directory" a b nodir
	refuses "pcp: target 'a': Not a directory" b c a
	refuses "pcp: target directory 'nodir': No such file or directory" -t nodir a
	refuses "pcp: target directory 'a': Not a directory" -t a a
	refuses "pcp: cannot combine --target-directory (-t) and --no-target-directory (-T)" -t d -T a
	refuses "pcp: multiple target directories specified" -t d -t s a
	refuses "pcp: cannot stat 'nosuch': No such file or directory" nosuch d
	refuses "pcp: cannot stat '': No such file or directory" '' d
	refuses "pcp: cannot stat 'a/b': Not a directory" a/b d
	refuses "pcp: cannot create regular file '': No such file or directory" a ''
	refuses "pcp: cannot create regular file 'no/dir': No such file or directory" a no/dir
	refuses "pcp: cannot create regular file 'nodir/': Not a directory" a nodir/
	refuses "pcp: -r not specified; omitting directory 's'" s d
	refuses "pcp: -r not specified; omitting directory 's'" s new
	refuses "pcp: cannot overwrite non-directory 'a' with directory 's'" -r s a
	ok 'nothing was made' test "$(ls)" = $'a\nd\ns'
	refuses "pcp: -r not specified; omitting directory 's'" s a d
	ok 'the other operand is copied' test -e d/a
	refuses "pcp: cannot create directory 'no/dir': No such file or directory" -r s no/dir
}
run_once usage

# One that is called otherwise says so otherwise.
called_otherwise() {
	[ -z "$gnu" ] || return
	ln -s "$PCP" other-name
	run ./other-name nosuch x
	says "other-name: cannot stat 'nosuch': No such file or directory" 'messages begin with the name of the program'
}
run_once called_otherwise

help_and_version() {
	run pcp --help
	status 0 '--help'
	like "$(head -n 1 "$out")" '^Usage: pcp \[OPTION\]\.\.\. \[-T\] SOURCE DEST$' '--help: how it is used'
	quiet '--help: nothing on stderr'
	run pcp --version
	status 0 '--version'
	ok '--version prints something' test -s "$out"
	run pcp --vers
	status 0 'long options may be shortened'
	[ -z "$gnu" ] || return
	run bash -c 'exec "$@" >/dev/full' - pcp --help
	status 1 '--help onto a full device'
	like "$(cat "$err")" '^pcp: write error: No space left on device$' '--help: write error is reported'
}
run_once help_and_version

numbers() {
	local option value
	if [ -n "$gnu" ]; then
		skip '-j and -c' 'GNU cp has none'
		return
	fi
	echo x >a
	for option in -j -c; do
		for value in x '' -1 1.5 99999999999 99999999999999999999999 1x ' ' 0x10 '1 2' +-1; do
			run pcp "$option" "$value" a b
			status 1 "$option '$value'"
			like "$(head -n 1 "$err")" "^pcp: invalid .*'${value/+/\\+}'" "$option '$value' is told"
			ok "$option '$value': nothing is copied" test ! -e b
		done
		for value in 0 1 2 64 007; do
			run pcp "$option" "$value" a b
			status 0 "$option $value"
			quiet "$option $value: nothing to say"
			ok "$option $value: copied" cmp a b
			rm -f b
		done
		run pcp "$option"
		status 1 "$option alone"
		says "pcp: option requires an argument -- '${option#-}'
$try" "$option alone is told"
	done
	run pcp -j3 -c7 a b
	status 0 '-j3 -c7, without blanks'
	mkdir s
	run pcp -rj20 s d
	status 0 '-rj20, bundled'
	run pcp -j x -j 2 a b
	status 1 'the wrong one of two is told as well'
}
run_once numbers

recursive() {
	mkdir -p s/sub
	echo x >s/sub/f
	ln -s sub/f s/link
	local option
	for option in -r -R --recursive; do
		run pcp "${jc[@]}" "$option" s d
		status 0 "$option, the target does not exist"
		ok "$option: becomes it" test -f d/sub/f -a -L d/link
		run pcp "${jc[@]}" "$option" s d
		status 0 "$option, the target exists"
		ok "$option: goes into it" test -f d/s/sub/f
		rm -r d
	done
	mkdir d
	run pcp "${jc[@]}" -r s/. d
	status 0 '-r s/. d'
	ok '-r s/. d: what is in it' test -f d/sub/f -a ! -e d/s
	run pcp "${jc[@]}" -r s/sub/.. e
	ok '-r s/sub/.. e' test -f e/sub/f
	mkdir f
	run pcp "${jc[@]}" -r s/sub/.. f
	ok '-r s/sub/.. f: what is in it' test -f f/sub/f
	run pcp "${jc[@]}" -r s/ g/
	status 0 '-r s/ g/'
	ok '-r s/ g/: slashes at the end' test -f g/sub/f
	run pcp "${jc[@]}" -r s/sub/f h
	status 0 '-r with a file'
	ok '-r with a file: a file' test -f h
}
run_each recursive

links() {
	mkdir -p s/dir
	echo x >s/file
	echo y >s/dir/f
	ln -s file s/to-file
	ln -s dir s/to-dir
	ln -s nowhere s/dangling
	ln -s s root
	# what OPTIONS SOURCE: types of what is copied.
	what() {
		rm -rf d
		run pcp "${jc[@]}" "$@" d
		find d -printf '%P:%y\n' 2>/dev/null | sort | tr '\n' ' '
	}
	is "$(what -r s)" ':d dangling:l dir/f:f dir:d file:f to-dir:l to-file:l ' '-r: links stay links'
	is "$(what -rP s)" ':d dangling:l dir/f:f dir:d file:f to-dir:l to-file:l ' '-rP: links stay links'
	is "$(what -rd s)" ':d dangling:l dir/f:f dir:d file:f to-dir:l to-file:l ' '-rd: links stay links'
	is "$(what -rH root)" ':d dangling:l dir/f:f dir:d file:f to-dir:l to-file:l ' '-rH: the operand is followed'
	is "$(what -r root)" ':l ' '-r: an operand is not followed'
	is "$(what -rP root)" ':l ' '-rP: an operand is not followed'
	is "$(what root/to-file)" ':f ' 'plain: a link is followed'
	is "$(what -P root/to-file)" ':l ' '-P: it is not'
	is "$(what -d root/dangling)" ':l ' '-d: nor is a dangling one'
	is "$(what -a root/to-dir)" ':l ' '-a: nor one to a directory'
	is "$(what -PL root/to-file)" ':f ' 'the last of -P and -L counts'
	is "$(what -LP root/to-file)" ':l ' 'the last of -L and -P counts'
	rm -rf d
	run pcp "${jc[@]}" -rL s d
	status 1 '-rL: a dangling link is an error'
	says "pcp: cannot stat 's/dangling': No such file or directory" '-rL: is told'
	is "$(find d -printf '%P:%y\n' | sort | tr '\n' ' ')" \
		':d dir/f:f dir:d file:f to-dir/f:f to-dir:d to-file:f ' '-rL: links are followed'
	rm s/dangling
	ln -s .. s/dir/up
	LIMIT=20 run pcp "${jc[@]}" -rL s e
	status 1 '-rL: a circle ends'
	like "$(cat "$err")" "^pcp: (cannot copy cyclic symbolic link 's/(to-)?dir/up'|warning: .*)" '-rL: and is told'
	run pcp "${jc[@]}" -T s/to-file file2
	is "$(stat -c %F file2)" 'regular file' '-T with a link: followed'
	ln -s missing out
	run pcp "${jc[@]}" s/file out
	status 1 'a dangling link as target'
	says "pcp: not writing through dangling symlink 'out'" 'is not written through'
	run pcp "${jc[@]}" -f s/file out
	status 1 'not with -f either'
	ln -sf file3 link3
	echo old >file3
	run pcp "${jc[@]}" s/file link3
	is "$(cat file3)$(stat -c %F link3)" 'xsymbolic link' 'a link to a file as target is written through'
	run pcp "${jc[@]}" -P s/to-file link3
	is "$(readlink link3)" file 'a link replaces a link'
	echo old >file4
	run pcp "${jc[@]}" -d s/to-file file4
	is "$(readlink file4)" file 'a link replaces a file'
}
run_each links

archive() {
	"$gentree" zoo s
	run pcp "${jc[@]}" -a s d
	status 0 '-a: everything'
	same '-a: the same in every respect' s d
	run pcp "${jc[@]}" -a s/. d
	status 0 '-a: again, over it'
	same '-a: still the same' s d
	run pcp "${jc[@]}" --archive s e
	same '--archive: as -a' s e
	run pcp "${jc[@]}" -dR --preserve=all s f
	same '-dR --preserve=all: as -a' s f
	run pcp "${jc[@]}" -rp s g
	status 0 '-rp'
	same '-rp: all but hard links and attributes' s g --no-links --ignore-xattr=user. --ignore-xattr=trusted.
	is "$(stat -c %h g/links-a/one)" 1 '-rp: no hard links'
}
run_each archive

preserve() {
	echo x >a
	chmod 640 a
	touch -d '2001-01-01 00:00:00.123456789Z' a
	run pcp "${jc[@]}" -p a b
	is "$(stat -c '%a %y %x' b)" "$(stat -c '%a %y %y' a)" '-p: mode and times'
	run pcp "${jc[@]}" a c
	ok 'plain: a new time' test c -nt a
	need_user '-p: owners' || return
	chown 1234:2345 a
	run pcp "${jc[@]}" -p a d
	is "$(stat -c %u:%g d)" 1234:2345 '-p: owner, as root'
	chmod 644 a
	run_as_user pcp "${jc[@]}" -p a e
	status 0 '-p: as a user who may not'
	quiet '-p: silently'
	is "$(stat -c %u:%g e)" 65534:65534 '-p: keeps his own'
}
run_each preserve

verbose() {
	mkdir -p s/sub d
	echo x >s/f
	ln -s f s/link
	ln s/f s/hard
	echo y >s/sub/g
	run pcp "${jc[@]}" -rv s new
	is "$(sort "$out")" "'s' -> 'new'
's/f' -> 'new/f'
's/hard' -> 'new/hard'
's/link' -> 'new/link'
's/sub' -> 'new/sub'
's/sub/g' -> 'new/sub/g'" '-rv: a line for each entry'
	run pcp "${jc[@]}" -av s d
	is "$(sort "$out")" "'s' -> 'd/s'
's/f' -> 'd/s/f'
's/hard' -> 'd/s/hard'
's/link' -> 'd/s/link'
's/sub' -> 'd/s/sub'
's/sub/g' -> 'd/s/sub/g'" '-av: a line for each entry'
	run pcp "${jc[@]}" -av s d
	is "$(grep -v '^removed' "$out" | sort)" "'s/f' -> 'd/s/f'
's/hard' -> 'd/s/hard'
's/link' -> 'd/s/link'
's/sub/g' -> 'd/s/sub/g'" '-av: not for directories that exist'
	is "$(grep '^removed.*link' "$out")" "removed 'd/s/link'" '-av: says what is removed to make room'
	run pcp "${jc[@]}" -v s/f d/
	is "$(cat "$out")" "'s/f' -> 'd/f'" '-v: a slash is enough'
	run pcp "${jc[@]}" -v s/f s/sub/g d
	is "$(sort "$out")" "'s/f' -> 'd/f'
's/sub/g' -> 'd/g'" '-v: files'
	run bash -c 'exec "$@" >/dev/full' - pcp "${jc[@]}" -rv s full
	status 1 '-v: onto a full device'
	ok '-v: the copy is made all the same' test -e full/sub/g
}
run_each verbose

force() {
	echo new >new
	echo old >old
	run pcp "${jc[@]}" -f new old
	status 0 '-f: over a file'
	is "$(cat old)" new '-f: works'
	ln old hard
	run pcp "${jc[@]}" -f new hard
	is "$(stat -c %h old)" 2 '-f: writes into a file that it can open'
	need_user '-f: as a user' || return
	mkdir -m 777 d
	echo old >d/f
	chmod 400 d/f
	run_as_user pcp "${jc[@]}" new d/f
	status 1 'a file of another owner'
	run_as_user pcp "${jc[@]}" -f new d/f
	status 0 '-f: it is removed and made again'
	is "$(stat -c %u d/f) $(cat d/f)" '65534 new' '-f: and belongs to the user'
	run_as_user pcp "${jc[@]}" -vf new d/f
	is "$(cat "$out")" "'new' -> 'd/f'" '-f: says nothing of removal where none was needed'
}
run_each force

targets() {
	mkdir d
	touch a b
	run pcp "${jc[@]}" -t d a b
	status 0 '-t d a b'
	ok '-t: both are there' test -e d/a -a -e d/b
	run pcp "${jc[@]}" --target-directory=d a
	status 0 '--target-directory=d'
	mkdir s e
	touch s/f
	run pcp "${jc[@]}" -rT s e
	ok '-T: s becomes e' test -e e/f -a ! -e e/s
	run pcp "${jc[@]}" -r -T s new
	ok '-T: s becomes new' test -e new/f
	run pcp "${jc[@]}" -T a d
	status 1 '-T: a file over a directory'
	like "$(cat "$err")" "^pcp: cannot overwrite directory 'd' with non-directory( 'a')?$" '-T: is refused'
	ln -s d to-d
	run pcp "${jc[@]}" a to-d
	ok 'a link to a directory is one' test -e d/a -a -L to-d
	run pcp "${jc[@]}" -- a -name
	ok '-- ends the options' test -e ./-name
	run pcp a "${jc[@]}" c -v
	is "$(cat "$out")" "'a' -> 'c'" 'options may follow operands'
	POSIXLY_CORRECT=1 run pcp "${jc[@]}" a b -v
	status 1 'unless POSIXLY_CORRECT is set'
}
run_each targets

one_file_system() {
	need_root '-x' || return
	mkdir -p s/here s/there
	touch s/here/f
	mount -t tmpfs none s/there
	touch s/there/f
	run pcp "${jc[@]}" -rx s d
	status 0 '-x'
	ok '-x: the file system of the operand' test -e d/here/f
	is "$(cd d && find there)" there '-x: of a mount only the directory itself'
	run pcp "${jc[@]}" -r s e
	ok 'without -x: both' test -e e/here/f -a -e e/there/f
	mkdir g
	run pcp "${jc[@]}" -rx s s/there g
	ok '-x: each operand is on its own' test -e g/there/f
}
run_each one_file_system

# The sizes of trees: nothing, one thing, chunks that do not come out even.
sizes() {
	local n
	for n in 0 1 2 63 64 65 1000; do
		"$gentree" flat files="$n" size=0-300 s
		run pcp "${jc[@]}" -a s d
		same "a directory of $n files" s d
		rm -rf s d
	done
	"$gentree" nodemodules packages=5 s
	run pcp "${jc[@]}" -r s d
	same 'a tree of packages' s d --no-times
	run pcp "${jc[@]}" s/package-0/f00000* e
	status 1 'many files and no directory'
	mkdir e
	run pcp "${jc[@]}" s/package-0/f00000* e
	is "$(find e -type f | wc -l)" 8 'many files into a directory'
}
run_each sizes

# No thread is made where there is nothing for it to do.
threads() {
	[ -z "$gnu" ] || return
	echo x >a
	run_faulty pthread_create:log pcp -j 20 a b
	is "$(hits)" 0 'no thread for one small file'
	mkdir d
	run_faulty pthread_create:log pcp -j 20 -r d e
	is "$(hits)" 0 'no thread for an empty directory'
	"$gentree" grid dirs=50 files=50 s
	run_faulty pthread_create:log pcp -j 1 -r s f
	is "$(hits)" 0 'no thread with -j 1'
	run_faulty pthread_create:log pcp -j 5 -r s g
	ok 'no more than -j in all' test "$(hits)" -le 5
	ok 'some where there is work' test "$(hits)" -ge 1
}
run_once threads

done_testing
