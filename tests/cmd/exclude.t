#!/usr/bin/env bash
# --exclude, --include, --exclude-from and --exclude-snapshots of pcp and prm: what is left out, and that what
# is left out is not even looked at.
# sanitizers: no (strace; 10,000 patterns)
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

# tree_is DIRECTORY WANTED NAME: the paths below it, sorted, in one line.
tree_is() {
	local paths
	mapfile -td '' paths < <(cd "$1" && find . -mindepth 1 -printf '%P\0' | sort -z)
	is "${paths[*]}" "$2" "$3"
}

# copies WANTED NAME OPTION...: what a copy of s has; what prm leaves of it is the rest, with its directories.
copies() {
	local wanted=$1 name=$2
	shift 2
	rm -rf d
	run pcp "${jc[@]}" -r "$@" s d
	status 0 "$name"
	quiet "$name: nothing is said"
	tree_is d "$wanted" "$name: copied"
	rm -rf r && cp -a s r
	run prm "${jc[@]}" -r "$@" r
	status 0 "$name: prm"
	quiet "$name: prm says nothing"
	is "$(cd s && find . -mindepth 1 ! -type d -printf '%P\n' | sort | paste -sd ' ')" \
		"$({ (cd d && find . -mindepth 1 ! -type d -printf '%P\n'); [ ! -d r ] ||
			(cd r && find . -mindepth 1 ! -type d -printf '%P\n'); } | sort | paste -sd ' ')" \
		"$name: what prm leaves is what pcp does"
}

tree() {
	mkdir -p s/a/b s/a/foo s/foo
	touch s/x.o s/x.c s/a/y.o s/a/b/z.o s/a/b/z.c s/a/foo/1 s/foo/2
	mkdir s/bar && touch s/a/bar
}

patterns() {
	tree
	copies 'a a/b a/b/z.c a/bar a/foo a/foo/1 bar foo foo/2 x.c' 'a name at any depth' --exclude='*.o'
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/y.o bar x.c x.o' 'a directory by its name' --exclude=foo
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/foo a/foo/1 a/y.o bar x.c x.o' 'a leading slash' --exclude=/foo
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/y.o bar foo foo/2 x.c x.o' 'an inner slash' --exclude=a/foo
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/foo a/foo/1 a/y.o foo foo/2 x.c x.o' 'a slash at the end' --exclude=bar/
	copies 'a a/b a/b/z.c a/bar a/foo a/foo/1 bar foo foo/2 x.c x.o' 'two stars' --exclude='a/**/*.o'
	copies 'a bar foo foo/2 x.c x.o' 'all below' --exclude='a/**'
	copies 'a a/b a/b/z.c a/foo bar foo x.c' 'only *.c' --include='*/' --include='*.c' --exclude='*'
	copies 'a a/b a/bar a/foo a/foo/1 bar foo foo/2 x.c x.o' 'the first decides' \
		--include=/x.c --exclude='*.c' --include=/x.o --exclude='*.o'
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/foo a/foo/1 a/y.o bar foo foo/2' 'a set' --exclude='/[[:alpha:]].[!a-b]'
	copies 'bar foo foo/2 x.c x.o' 'nothing below what is left out' --exclude=a --include=a/b
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/foo a/foo/1 a/y.o bar foo foo/2 x.c x.o' 'a pattern that nothing matches' \
		--exclude=nothing --exclude='*/nothing/**'
}
run_each patterns

from_a_file() {
	tree
	printf '# a comment\n\n+ /x.o\r\n*.o\r\n- foo\n\\# no comment\n' >list
	copies 'a a/b a/b/z.c a/bar bar x.c x.o' 'a file of patterns' --exclude-from=list
	printf 'foo' >list
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/y.o bar x.c x.o' 'a last line without an end' --exclude-from=list
	copies 'a a/b a/b/z.c a/b/z.o a/bar a/foo a/foo/1 a/y.o bar foo foo/2 x.c x.o' 'what comes before it decides' \
		--include=foo --exclude-from=list
	rm -rf d
	printf 'foo\n*.c\n' | pcp -r --exclude-from=- s d
	is "$?" 0 'from standard input'
	tree_is d 'a a/b a/b/z.o a/bar a/y.o bar x.o' 'from standard input: copied'
}
run_each from_a_file

refused() {
	local pattern
	touch f
	for pattern in '' / ./x a/../b '[' 'a'\\ '[[:nonsense:]]' '[z-a]'; do
		for run in "pcp f g" "prm f"; do
			read -ra command <<<"$run"
			run "${command[@]}" --exclude="$pattern"
			status 1 "${command[0]} refuses '$pattern'"
			like "$(cat "$err")" "^${command[0]}: invalid pattern \(.*\) '" "${command[0]} refuses '$pattern': said"
		done
	done
	ok 'and does nothing' test -e f -a ! -e g
	run prm --exclude-from=missing f
	status 1 'a missing file of patterns'
	says "prm: cannot open 'missing': No such file or directory" 'a missing file of patterns: said'
	run prm --exclude-from=. f
	status 1 'a directory of patterns'
	says "prm: error reading '.': Is a directory" 'a directory of patterns: said'
	printf 'a\n[\n' >list
	run prm --exclude-from=list f
	status 1 'a bad line'
	says "prm: 'list', line 2: invalid pattern (a bracket that is not closed) '['" 'a bad line: said'
	printf 'a\n\0b\n' >list
	run prm --exclude-from=list f
	says "prm: 'list', line 2: a zero byte" 'a zero byte: said'
	ok 'and nothing is removed' test -e f
}
run_once refused

# An abbreviation that cp and rm know means what it means there.
abbreviations() {
	local option
	echo new >f && echo old >g
	for option in --i --in --int; do
		run pcp "$option" f g
		like "$(cat "$err")" "overwrite 'g'" "pcp $option asks"
		run prm "$option" f
		like "$(cat "$err")" "remove regular file 'f'" "prm $option asks"
	done
	run prm --i=never f
	status 0 'prm --i=never'
	ok 'prm --i=never removes' test ! -e f
	run pcp --inc='*' --exclude=g g h
	ok '--inc is --include' test -e h
}
run_once abbreviations

snapshots() {
	mkdir -p s/.snap/1 s/a/.snapshot s/a/.zfs/snapshot s/.snapshots
	touch s/.snap/1/f s/a/.snapshot/f s/a/.zfs/snapshot/f s/.snapshots/f s/a/f
	mkdir s/b && touch s/b/.snap
	copies '.snapshots .snapshots/f a a/f b b/.snap' 'snapshots' --exclude-snapshots
	copies '.snap .snap/1 .snap/1/f .snapshots .snapshots/f a a/f b b/.snap' 'an --include before it' \
		--include=.snap --exclude-snapshots
}
run_each snapshots

# prm: a directory stays with what it keeps, and so do those above it; everything else goes.
keeps() {
	mkdir -p t/a/b/c t/a/d t/e
	touch t/a/b/c/keep t/a/b/c/go t/a/b/go t/a/d/go t/e/go t/go
	run prm "${jc[@]}" -rv --exclude=keep t
	status 0 'keeping one'
	quiet 'keeping one: nothing is said'
	tree_is t 'a a/b a/b/c a/b/c/keep' 'keeping one: what stays'
	is "$(sort "$out")" "$(sort <<'END'
removed 't/a/b/c/go'
removed 't/a/b/go'
removed 't/a/d/go'
removed directory 't/a/d'
removed 't/e/go'
removed directory 't/e'
removed 't/go'
END
)" 'keeping one: what goes is said'
	run prm "${jc[@]}" -r --exclude=/a t
	status 0 'keeping a directory'
	tree_is t 'a a/b a/b/c a/b/c/keep' 'keeping a directory: all of it'
	run prm "${jc[@]}" -r t
	ok 'without --exclude it goes' test ! -e t
}
run_each keeps

# Operands have a name too; that of a directory counts with a slash behind it, dots are none.
operands() {
	touch a.log b.c && mkdir d log s && touch log/x s/log s/y
	run pcp "${jc[@]}" -r --exclude='*.log' --exclude=log/ a.log b.c log/ s d
	status 0 'operands'
	tree_is d 'b.c s s/log s/y' 'operands left out by their names'
	run pcp "${jc[@]}" -r --exclude=/s --exclude=./y s d 
	status 1 'operands: a pattern that means nothing'
	rm -r d && mkdir d
	run pcp "${jc[@]}" -r --exclude=/s --exclude=y s d
	tree_is d 's s/log' 'a path is counted from the operand, which it is not'
	run prm "${jc[@]}" -r --exclude='*.log' --exclude=log/ a.log b.c log missing.log s
	status 0 'prm: operands'
	is "$(ls)" "$(printf '%s\n' a.log d log)" 'prm: operands left out by their names'
	mkdir -p t/sub && touch t/sub/f t/g
	(cd t/sub && run pcp "${jc[@]}" -r --exclude='*' . ../../e; exit "$rc")
	is "$?" 0 'the name . matches nothing'
	tree_is e '' 'but what is in it does'
	run pcp "${jc[@]}" -r --parents --exclude=sub t/sub t/g d
	status 0 '--parents'
	tree_is d/t 'g' '--parents: what is left out has no directories made for it'
}
run_each operands

odd_names() {
	local odd=$'new\nline' bytes=$'\xff\xfe'
	mkdir s && touch "s/$odd" "s/$bytes" 's/*' 's/[x]' s/-n 's/back\slash' s/$'\xc3\xa9'
	copies "* -n [x] back\\slash"$' new\nline \xc3\xa9' 'invalid UTF-8' --exclude=$'\xff*'
	copies '' 'a star matches all names' --exclude='/*'
	copies $'* -n [x] back\\slash \xc3\xa9 \xff\xfe' 'a newline' --exclude=$'*\n*'
	copies $'-n [x] back\\slash new\nline \xc3\xa9 \xff\xfe' 'a quoted star' --exclude='\*'
	copies $'* -n back\\slash new\nline \xc3\xa9 \xff\xfe' 'a quoted bracket' --exclude='\[x]'
	copies $'* -n [x] new\nline \xc3\xa9 \xff\xfe' 'a quoted backslash' --exclude='back\\slash'
	copies $'* [x] back\\slash new\nline' 'two bytes' --exclude='??'
}
run_once odd_names

links() {
	mkdir s s/real && touch s/real/f s/file
	ln -s real s/link && ln -s file s/l && ln -s nowhere s/dangling
	ln s/file s/hard
	run pcp "${jc[@]}" -rL --exclude=link/ --exclude=dangling s d
	status 0 '-L: a link to a directory is one'
	tree_is d 'file hard l real real/f' '-L: copied'
	run pcp "${jc[@]}" -rP --exclude=link/ s e
	tree_is e 'dangling file hard l link real real/f' '-P: a link is no directory'
	run pcp "${jc[@]}" -a --exclude=file s h
	status 0 'a hard link whose other name is left out'
	tree_is h 'dangling hard l link real real/f' 'a hard link: copied'
	is "$(stat -c %h h/hard)" 1 'a hard link: has one name'
	run prm "${jc[@]}" -r --exclude=link/ --exclude=real/ s
	tree_is s 'real real/f' 'prm: a link is no directory'
	run pcp "${jc[@]}" -rH --exclude=top/ s h
	ln -s s top
	run pcp "${jc[@]}" -rH --exclude=top/ top i
	ok '-H: an operand that leads to a directory is one' test ! -e i
	run pcp "${jc[@]}" -r --exclude=top/ top i
	ok '-P: it is none' test -L i
}
run_each links

# What is left out is not opened, not looked at: neither a directory that cannot be read nor a call shows.
untouched() {
	need_command 'what is left out is not touched' strace || return
	mkdir -p s/closed/x s/b s/.zfs && touch s/closed/f s/b/f s/b/secret.o s/.zfs/f
	run strace -f -o trace pcp "${jc[@]}" -r --exclude=closed/ --exclude='*.o' --exclude-snapshots s d
	status 0 'not touched'
	tree_is d 'b b/f' 'not touched: copied'
	is "$(grep -cE '"[^"]*(closed|secret|\.zfs)[^"]*"' <(grep -v execve trace))" 0 'pcp: no call names it'
	run strace -f -o trace prm "${jc[@]}" -r --exclude=closed/ --exclude='*.o' --exclude-snapshots s
	status 0 'not touched: prm'
	is "$(grep -cE '"[^"]*(closed|secret|\.zfs)[^"]*"' <(grep -v execve trace))" 0 'prm: no call names it'
	need_user 'a directory that cannot be read' || return
	chmod 0 s/closed s/.zfs && chmod 777 s s/b && chown -R 65534 s
	run_as_user pcp "${jc[@]}" -r --exclude=closed --exclude-snapshots s e
	status 0 'a directory that cannot be read'
	quiet 'a directory that cannot be read: nothing is said'
	run_as_user prm "${jc[@]}" -r --exclude=closed --exclude-snapshots s
	status 0 'prm: a directory that cannot be read'
	quiet 'prm: a directory that cannot be read: nothing is said'
	tree_is s '.zfs .zfs/f closed closed/f closed/x' 'prm: both stay'
}
run_each untouched

# The options cost nothing when they are not there, and no call when they are.
no_calls() {
	need_command 'no calls' strace || return
	local calls
	mkdir s && touch s/{1..50}.c
	run strace -f -qq -o trace pcp -j1 -r s d
	calls=$(wc -l <trace)
	rm -r d
	run strace -f -qq -o trace pcp -j1 -r --exclude=x --exclude='/a/**/b' --exclude='*y*/' s d
	is "$(wc -l <trace)" "$calls" 'patterns cost no call'
}
run_once no_calls

# -i, -x and -d go with it.
with_others() {
	mkdir -p t/a && touch t/a/keep t/a/go t/f
	run sh -c 'yes | prm -ri --exclude=keep t'
	status 0 '-i'
	ok '-i: nothing is asked of what is left out' test "$(grep -o keep "$err" | wc -l)" = 0
	tree_is t 'a a/keep' '-i: what stays'
	mkdir d
	run prm -d --exclude=d d t
	status 1 '-d'
	says "prm: cannot remove 't': Directory not empty" '-d: said'
	ok '-d: an operand left out stays' test -d d
	run pcp -a -x --exclude=keep t u
	tree_is u 'a' '-x'
	run pcp --exclude='*' t/a/keep v
	status 0 'without -r'
	ok 'without -r: left out' test ! -e v
}
run_once with_others

# One component above another, far down: nothing may grow with the depth.
deep() {
	python3 - <<'END'
import os
for i in range(3000):
    os.mkdir('d')
    open('x.o', 'w').close()
    open('x.c', 'w').close()
    os.chdir('d')
END
	LIMIT=60 run prm "${jc[@]}" -r --exclude='*.c' --exclude='d/**/d/**/no' --exclude='**/d/d/no/x' d
	status 0 'deep: prm'
	LIMIT=60 run prm "${jc[@]}" -r d
	ok 'deep: gone' test ! -e d
}
run_each deep

# 10,000 patterns of each kind on 20,000 files: a comparison of each with each would take minutes.
many() {
	mkdir s
	(cd s && seq -f 'f%.0f.c' 20000 | xargs touch)
	{
		seq -f 'name%.0f' 10000
		seq -f '*.suffix%.0f' 10000
		seq -f 'prefix%.0f*' 10000
		seq -f '/path/%.0f' 10000
		seq -f '/f%.0f.c' 10000
	} >list
	LIMIT=20 run pcp -r --exclude-from=list s d
	status 0 'many patterns'
	is "$(find d -type f | wc -l)" 10000 'many patterns: copied'
	seq -f '*%.0f*x*' 2000 >list
	LIMIT=20 run prm -r --exclude-from=list s
	status 0 'many with stars'
	ok 'many with stars: gone' test ! -e s
}
run_once many

# The same decisions as git's, whose patterns are those of a .gitignore file (where the last one decides).
as_git() {
	local pattern n=0 differ=0 rules
	need_command 'as git' git || return
	mkdir -p s/{a,b,ab}/{a,b,ab}/{a,b,ab} && touch s/{a,b,ab}/{a,b,ab}/{a,b,ab}/{x,y}.o s/{a,b,ab}/x.o s/x.o
	git init -q g && git -C g config core.excludesFile /dev/null
	cp -a s/. g/
	RANDOM=5
	local parts=(a b 'a*' '*b' '*' '**' '?' '[ab]' '[!a]' 'x.o' '*.o' 'a?')
	for _ in {1..60}; do
		rules=()
		for ((i = 0; i <= RANDOM % 3; i++)); do
			pattern=${parts[RANDOM % ${#parts[@]}]}
			((RANDOM % 2)) || pattern+=/${parts[RANDOM % ${#parts[@]}]}
			((RANDOM % 3)) || pattern+=/${parts[RANDOM % ${#parts[@]}]}
			((RANDOM % 4)) || pattern=/$pattern
			((RANDOM % 4)) || pattern+=/
			rules+=("$pattern")
		done
		printf '%s\n' "${rules[@]}" >g/.git/info/exclude
		printf '%s\n' "${rules[@]}" >list
		rm -rf d
		pcp -r --exclude-from=list s/. d
		diff <(cd d && find . -type f | sort) \
			<(cd g && git ls-files -co --exclude-standard | sed 's|^|./|' | sort) >"$tmp/diff" ||
			{ differ=$((differ + 1)); diag "${rules[*]}" "$(head -n 4 "$tmp/diff")"; }
		n=$((n + 1))
	done
	is "$differ of $n" '0 of 60' 'decisions are those of git'
}
run_once as_git

# And as rsync's, as far as both have the same patterns: no slash but at the ends, in which case it starts at an
# operand that ends with a slash.
as_rsync() {
	local rsync=${RSYNC:-rsync} differ=0 args
	command -v "${rsync%% *}" >/dev/null || { skip 'as rsync' 'no rsync'; return; }
	mkdir -p s/{a,b,ab}/{a,b,ab}/{a,b,ab} && touch s/{a,b,ab}/{a,b,ab}/{a,b,ab}/{x,y}.o s/{a,b,ab}/x.o s/x.o
	RANDOM=9
	local parts=(a b 'a*' '*b' '*' '?' '[ab]' '[!a]' 'x.o' '*.o' 'a?')
	for _ in {1..60}; do
		args=()
		for ((k = 0; k <= RANDOM % 4; k++)); do
			pattern=${parts[RANDOM % ${#parts[@]}]}
			if ((RANDOM % 3 == 0)); then
				pattern=/$pattern/${parts[RANDOM % ${#parts[@]}]}
			elif ((RANDOM % 3 == 0)); then
				pattern=/$pattern
			fi
			((RANDOM % 4)) || pattern+=/
			if ((RANDOM % 3)); then args+=(--exclude="$pattern"); else args+=(--include="$pattern"); fi
		done
		rm -rf d e
		mkdir e
		pcp -r "${args[@]}" s/. d
		# shellcheck disable=SC2086 # (It may be given with its environment.)
		$rsync -r "${args[@]}" s/ e
		diff <(cd d && find . | sort) <(cd e && find . | sort) >"$tmp/diff" ||
			{ differ=$((differ + 1)); diag "${args[*]}" "$(head -n 4 "$tmp/diff")"; }
	done
	is "$differ" 0 'decisions are those of rsync'
}
run_once as_rsync

done_testing
