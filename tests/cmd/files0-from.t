#!/usr/bin/env bash
# --files0-from: operands from a list, worked on while they come.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

# feed FILE COMMAND...: run, with that file for standard input.
feed() {
	local file=$1
	shift
	timeout -k 5 "${LIMIT:-120}" "$@" >"$out" 2>"$err" <"$file"
	rc=$?
}

names() {
	mkdir d
	touch -- a 'b c' -dash ./- $'new\nline' d/x stays
	printf '%s\0' a 'b c' -dash - $'new\nline' >list
	printf d/x >>list
	run prm "${jc[@]}" --files0-from=list
	status 0 'names of any kind, the last without its end'
	quiet 'nothing is said'
	is "$(find . | sort | tr '\n' ' ')" '. ./d ./list ./stays ' 'they are gone, nothing else'
}

input() {
	mkdir -p t/u
	touch t/u/x
	feed <(printf 't\0') prm "${jc[@]}" -rv --files0-from=-
	status 0 'a tree, from standard input'
	is "$(cat "$out")" $'removed \'t/u/x\'\nremoved directory \'t/u\'\nremoved directory \'t\'' '-v'
	ok 'the tree is gone' test ! -e t
}

empty() {
	: >list
	run prm "${jc[@]}" --files0-from=list
	status 0 'an empty list is no failure'
	quiet 'an empty list'
	touch a b
	printf 'a\0\0b\0' >list
	run prm "${jc[@]}" --files0-from=list
	status 1 'an empty name is a failure'
	is "$(cat "$err")" 'prm: list:2: invalid zero-length file name' 'an empty name is told of, with its number'
	ok 'and the rest is removed' test ! -e a -a ! -e b
	printf 'nosuch\0' >list
	run prm "${jc[@]}" --files0-from=list
	status 1 'a missing file'
	run prm "${jc[@]}" -f --files0-from=list
	status 0 'a missing file with -f'
}

refused() {
	touch x list
	run prm --files0-from=list x
	status 1 'an operand beside the list'
	is "$(cat "$err")" "prm: extra operand 'x'
file operands cannot be combined with --files0-from
Try 'prm --help' for more information." 'as wc says it'
	ok 'and nothing is done' test -e x
	run prm --files0-from=nosuch
	status 1 'no list'
	is "$(cat "$err")" "prm: cannot open 'nosuch' for reading: No such file or directory" 'no list is told'
	mkdir dir
	run prm --files0-from=dir
	status 1 'a directory for a list'
	is "$(cat "$err")" 'prm: dir: read error: Is a directory' 'a directory for a list is told'
	local option
	for option in -i -I -rI; do
		feed <(printf 'x\0') prm "$option" --files0-from=-
		status 1 "$option with standard input"
		is "$(head -n 1 "$err")" 'prm: with --files0-from=-, answers cannot be read from standard input' "$option is refused"
	done
	ok 'nothing was removed' test -e x
	feed <(printf 'x\0') prm -Iy --files0-from=-
	status 0 '-I that is answered'
	ok 'x is gone' test ! -e x
}

questions() {
	touch x y
	printf 'x\0y\0' >list
	feed <(echo n) prm -I --files0-from=list
	status 0 '-I: no'
	ok '-I: no, and they are still there' test -e x -a -e y
	is "$(cat "$err")" 'prm: remove all that is listed? ' '-I asks once'
	feed <(printf 'y\nn\n') prm -i --files0-from=list
	status 0 '-i'
	ok '-i: the answers count' test ! -e x -a -e y
}

force() {
	run prm --f nosuch
	status 0 '--f is --force, as in rm'
	run prm --fo nosuch
	status 0 '--fo is --force'
}

# The first name's file goes while the second name is not yet written.
streaming() {
	local pid i
	touch first second
	mkfifo pipe
	prm "${jc[@]}" --files0-from=pipe & pid=$!
	exec 7>pipe
	printf 'first\0sec' >&7
	for ((i = 0; i < 500 && $(find . -name first | wc -l); i++)); do sleep 0.02; done
	ok 'a name is worked on before the next comes' test ! -e first
	ok 'half a name is not' test -e second
	printf 'ond\0' >&7
	exec 7>&-
	wait "$pid"
	is "$?" 0 'the end of the pipe is the end'
	ok 'the name in two pieces' test ! -e second
}

# Operands of several batches: a later one finds what earlier ones have left.
batches() {
	mkdir t
	(cd t && seq 25000 | xargs touch)
	{
		seq -f 't/%.0f' 25000 | tr '\n' '\0'
		printf 't\0t\0'
	} >list
	run prm "${jc[@]}" -d --files0-from=list
	status 1 'more than a batch'
	is "$(cat "$err")" "prm: cannot remove 't': No such file or directory" 'the order counts across batches'
	ok 'all is gone' test ! -e t
	# A failure in the first batch is not forgotten in the third.
	mkdir t
	(cd t && seq 25000 | xargs touch)
	{
		printf 'nosuch\0'
		seq -f 't/%.0f' 25000 | tr '\n' '\0'
	} >list
	run prm "${jc[@]}" --files0-from=list
	status 1 'a failure in the first batch'
	is "$(find t | wc -l)" 1 'the rest is gone'
	feed <(seq -f 'no/%.0f' 25000 | tr '\n' '\0') prm "${jc[@]}" --dry-run -f --files0-from=-
	is "$(wc -l <"$err")" 1 '--dry-run: one line for all batches'
}

# The limit is that of the whole list, however it is cut: 30 names, each a batch of its own, at 20 a second.
rate() {
	local began
	seq 30 | xargs touch
	began=$(date +%s%N)
	feed <(for i in {1..30}; do printf '%s\0' "$i"; sleep 0.015; done) prm -j1 --max-rate=20 --files0-from=-
	status 0 '--max-rate'
	ok 'the limit holds across batches' test $((($(date +%s%N) - began) / 1000000)) -ge 1300
}

excluded() {
	touch a.o b.c
	feed <(printf 'a.o\0b.c\0') prm "${jc[@]}" --exclude='*.o' --files0-from=-
	status 0 '--exclude'
	is "$(ls)" a.o 'an excluded name stays'
}

# Ten times as many names take no more memory.
memory() {
	local few many
	seq -f 'no/such/directory/%.0f' 20000 | tr '\n' '\0' >few
	seq -f 'no/such/directory/%.0f' 600000 | tr '\n' '\0' >many
	few=$( { /usr/bin/time -f %M prm -f --files0-from=few; } 2>&1)
	many=$( { /usr/bin/time -f %M prm -f --files0-from=many; } 2>&1)
	ok "memory is bounded ($few KiB, $many KiB)" test "$many" -le $((few + 4096))
}

for case in names input empty excluded streaming batches; do
	run_each "$case"
done
for case in refused questions force rate; do
	run_once "$case"
done
[ ! -x /usr/bin/time ] || run_once memory
done_testing
