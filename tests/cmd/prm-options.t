#!/usr/bin/env bash
# The options of prm, one by one: what they remove, say and return.  --one-file-system and
# --preserve-root=all need root (they need mounts).
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs
under_test prm

# gone NAME FILE..., there NAME FILE...
gone() {
	local name=$1 left=() file
	shift
	for file; do [ ! -e "$file" ] && [ ! -L "$file" ] || left+=("$file"); done
	is "${left[*]}" '' "$name"
}

there() {
	local name=$1 lost=() file
	shift
	for file; do [ -e "$file" ] || [ -L "$file" ] || lost+=("$file"); done
	is "${lost[*]}" '' "$name"
}

tree() {
	mkdir -p d/e/f d/g
	touch d/1 d/e/2 d/e/f/3 d/g/4
	ln -s nowhere d/dangling
	mkfifo d/fifo
}

plain() {
	touch a b c
	ln -s c link
	run prm "${jc[@]}" a b link
	status 0 'files'
	quiet 'files: nothing is said'
	gone 'files: gone' a b link
	there 'a link goes, not what it leads to' c
	mkdir d
	run prm "${jc[@]}" d c
	status 1 'a directory without -r'
	says "prm: cannot remove 'd': Is a directory" 'a directory without -r: said'
	gone 'the file after it' c
	run prm "${jc[@]}" missing
	status 1 'a missing file'
	says "prm: cannot remove 'missing': No such file or directory" 'a missing file: said'
}
run_each plain

recursive() {
	local option
	for option in -r -R --recursive --recurs -rf -Rd; do
		tree
		run prm "${jc[@]}" "$option" d
		status 0 "$option"
		quiet "$option: nothing is said"
		gone "$option: gone" d
	done
}
run_each recursive

directories() {
	mkdir -p empty full/sub
	touch full/file f
	run prm "${jc[@]}" -d empty f full
	status 1 '-d of a full directory'
	says "prm: cannot remove 'full': Directory not empty" '-d of a full directory: said'
	gone '-d: an empty directory and a file' empty f
	there '-d leaves what is full' full/file full/sub
	mkdir empty
	run prm "${jc[@]}" --dir empty
	status 0 '--dir'
	gone '--dir: gone' empty
}
run_each directories

verbose() {
	local line
	tree
	touch f $'n\nl' "q'q"
	run prm "${jc[@]}" -rv f d $'n\nl' "q'q"
	status 0 '-v'
	is "$(sort "$out")" "$(sort <<-'END'
		removed 'f'
		removed 'd/1'
		removed 'd/dangling'
		removed 'd/fifo'
		removed 'd/e/2'
		removed 'd/e/f/3'
		removed directory 'd/e/f'
		removed directory 'd/e'
		removed 'd/g/4'
		removed directory 'd/g'
		removed directory 'd'
		removed 'n'$'\n''l'
		removed "q'q"
	END
	)" '-v: every line'
	# A directory's line after those of all that was in it.
	for line in d/e/2 d/e/f d/e/f/3; do
		ok "-v: $line before d/e" test "$(grep -n "'$line'" "$out" | cut -d: -f1)" -lt \
			"$(grep -n "'d/e'" "$out" | cut -d: -f1)"
	done
	is "$(sed -n '/directory .d.$/=' "$out")" "$(grep -n "'d/" "$out" | tail -n 1 |
		cut -d: -f1 | xargs -I{} expr {} + 1)" '-v: the top directory after all of it'
}
run_each verbose

# Of -f, -i, -I and --interactive the last one counts.
precedence() {
	local options
	for options in '-if' '-i -f' '-I -f -r' '--interactive -f' '-i --interactive=never' \
		'-i --interactive=none' '-i --interactive=no'; do
		touch a
		read -ra words <<<"$options"
		run prm "${jc[@]}" "${words[@]}" a
		status 0 "$options"
		quiet "$options: no question"
		gone "$options: removed" a
	done
	for options in '-fi' '-f -i' '-f --interactive' '-f --interactive=always' '-I -i' \
		'-i -y' '--interactive=yes'; do
		[ -z "$gnu" ] || [[ $options != *y ]] || continue
		touch a
		read -ra words <<<"$options"
		run prm "${jc[@]}" "${words[@]}" a
		is "$(cat "$err")" "prm: remove regular empty file 'a'? " "$options: asks"
		there "$options: no answer is no" a
		status 0 "$options: status"
	done
	run prm "${jc[@]}" -f missing
	status 0 '-f of a missing file'
	run prm "${jc[@]}" -f -i missing
	status 1 '-f -i of a missing file: -f counts no more'
	run prm "${jc[@]}" -f --interactive=never missing
	status 0 '-f --interactive=never of a missing file: -f still counts'
	run prm "${jc[@]}" --interactive=never missing
	status 1 '--interactive=never alone does not forgive'
}
run_once precedence

operands() {
	touch -- a b -f --
	run prm "${jc[@]}" -- -f --
	status 0 '-- ends the options'
	gone '-- ends the options: gone' ./-f ./--
	run prm "${jc[@]}" a -v b
	status 0 'an option after an operand'
	is "$(wc -l <"$out")" 2 'an option after an operand counts'
	touch a ./-v
	POSIXLY_CORRECT=1 run prm "${jc[@]}" a -v
	status 0 'POSIXLY_CORRECT'
	is "$(wc -l <"$out")" 0 'POSIXLY_CORRECT: -v after an operand is a file'
	gone 'POSIXLY_CORRECT: it is gone' a ./-v
}
run_once operands

usage_errors() {
	touch -- -x d
	run prm
	status 1 'no operand'
	is "$(cat "$err")" $'prm: missing operand\nTry \'prm --help\' for more information.' 'no operand: said'
	run prm -x
	status 1 'an unknown option'
	is "$(sed '/^Try .*to remove/d' "$err")" \
		$'prm: invalid option -- \'x\'\nTry \'prm --help\' for more information.' 'an unknown option: said'
	todo_before 9.6 'says it otherwise'
	ok 'an unknown option that is a file: a hint' grep -qF "Try 'prm ./-x' to remove the file '-x'." "$err"
	todo_end
	run prm --nosuch d
	status 1 'an unknown long option'
	like "$(cat "$err")" "^prm: unrecognized option '--nosuch'" 'an unknown long option: said'
	run prm --recusive d
	status 1 'a mistyped long option'
	is "$(sed '/^Try .*to remove/d' "$err")" "prm: unrecognized option '--recusive'
Did you mean '--recursive'?
Try 'prm --help' for more information." 'a mistyped long option: what was meant'
	run prm --interactive=what d
	status 1 'a wrong argument'
	is "$(cat "$err")" "prm: invalid argument 'what' for '--interactive'
Valid arguments are:
  - 'never', 'no', 'none'
  - 'once'
  - 'always', 'yes'
Try 'prm --help' for more information." 'a wrong argument: said'
	run prm --preserve-root=x d
	status 1 'a wrong argument of --preserve-root'
	like "$(cat "$err")" "^prm: unrecognized --preserve-root argument: 'x'" 'wrong --preserve-root: said'
	run prm --no-preserve d
	status 1 '--no-preserve-root may not be abbreviated'
	is "$(cat "$err")" "prm: you may not abbreviate the --no-preserve-root option" 'that is said'
	there 'after all that, the file is there' d
	LC_ALL=C.UTF-8 run prm --interactive=what
	is "$(head -n 1 "$err")" \
		$'prm: invalid argument \xe2\x80\x98what\xe2\x80\x99 for \xe2\x80\x98--interactive\xe2\x80\x99' \
		'UTF-8 has other quotes'
}
run_once usage_errors

called_by_another_name() {
	ln -s "$PRM" rm
	PATH=$PWD:$PATH run rm missing
	is "$(cat "$err")" "rm: cannot remove 'missing': No such file or directory" 'a link named rm says rm'
}
run_once called_by_another_name

quoting() {
	run prm $'n\nl' "q'q" $'\xff' 'a b' "a'\"b"
	says "prm: cannot remove 'n'\$'\\n''l': No such file or directory
prm: cannot remove \"q'q\": No such file or directory
prm: cannot remove ''\$'\\377': No such file or directory
prm: cannot remove 'a b': No such file or directory
prm: cannot remove 'a'\\''\"b': No such file or directory" 'names are quoted as a shell needs it'
}
run_once quoting

file_systems() {
	need_root '--one-file-system' || return
	mkdir -p d/m d/e m2
	mount -t tmpfs none d/m
	mount -t tmpfs none m2
	touch d/m/in d/e/f m2/in
	run prm "${jc[@]}" -r --one-file-system d
	status 1 '--one-file-system'
	says "prm: skipping 'd/m', since it's on a different device" '--one-file-system: said'
	there '--one-file-system: the other one is whole' d/m/in
	gone '--one-file-system: the rest is gone' d/e
	run prm "${jc[@]}" -r --one-file-system m2
	status 1 'a mount point as operand'
	says "prm: cannot remove 'm2': Device or resource busy" 'a mount point as operand: said'
	gone 'a mount point as operand is emptied' m2/in
	touch m2/in
	run prm "${jc[@]}" -r --preserve-root=all m2
	status 1 '--preserve-root=all'
	says "prm: skipping 'm2', since it's on a different device
prm: and --preserve-root=all is in effect" '--preserve-root=all: said'
	there '--preserve-root=all: it is whole' m2/in
	run prm "${jc[@]}" -r d
	status 1 'a mount inside, without these options'
	says "prm: cannot remove 'd/m': Device or resource busy" 'a mount inside: said'
	gone 'a mount inside is emptied' d/m/in
	umount d/m m2
}
run_each file_systems

no_way_up() {
	need_user '--preserve-root=all of a directory that cannot be searched' || return
	mkdir d
	touch d/f
	chown 65534:65534 d d/f
	chmod 444 d
	run_as_user prm "${jc[@]}" -r --preserve-root=all d//
	status 1 '--preserve-root=all, and no way up'
	says "prm: failed to stat 'd/..': skipping 'd/'" '--preserve-root=all, and no way up: said'
	there '--preserve-root=all, and no way up: whole' d/f
}
run_each no_way_up

own_options() {
	local options
	[ -z "$gnu" ] || return
	for options in '-j 3' '-j3' '--jobs=3' '-c 5' '-c5' '--chunk=5' '-j 200 -c 1000' '-rj2' '-j 1 -j 2'; do
		tree
		read -ra words <<<"$options"
		run prm "${words[@]}" -r d
		status 0 "$options"
		gone "$options: gone" d
	done
	touch f
	for options in '-j x' '-j -1' '-c x' '--jobs=' '-j 99999999999999999999' '--chunk'; do
		read -ra words <<<"$options"
		run prm "${words[@]}" f
		status 1 "$options"
		there "$options: nothing is removed" f
		like "$(cat "$err")" "^prm: .*$(printf '\n')" "$options: said"
	done
	tree
	run prm -rI -y d
	status 0 '-I -y'
	quiet '-I -y: no question'
	gone '-I -y: gone' d
}
run_once own_options

help() {
	local option
	run prm --help
	status 0 '--help'
	quiet '--help: nothing on stderr'
	for option in -f --force -i -I --interactive --one-file-system --no-preserve-root --preserve-root \
		-r -R --recursive -d --dir -v --verbose --help --version; do
		ok "--help has $option" grep -qe "\\B$option\\b" "$out"
	done
	[ -n "$gnu" ] || for option in -j --jobs -c --chunk -y --yes; do
		ok "--help has $option" grep -qe "\\B$option\\b" "$out"
	done
	run prm --version
	status 0 '--version'
	like "$(head -n 1 "$out")" '^p?rm .* [0-9]+\.[0-9]+' '--version: name and number'
	for option in --help --version; do
		prm "$option" 2>"$err" >/dev/full
		is "$?" 1 "$option to a full device: status"
		is "$(cat "$err")" 'prm: write error: No space left on device' "$option to a full device: said"
	done
	touch f
	prm -v f 2>"$err" >/dev/full
	is "$?" 1 '-v to a full device: status'
	is "$(cat "$err")" 'prm: write error: No space left on device' '-v to a full device: said'
	gone '-v to a full device: removed all the same' f
}
run_once help

done_testing
