#!/usr/bin/env bash
# --dry-run of pcp and prm: it says what -v would have said, what can go wrong as far as that can be told, and
# touches nothing.
# sanitizers: no (strace, hundreds of random runs)
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

# state: all that is here, with what a change of it would change.
state() {
	find . -printf '%i %M %n %U:%G %s %T@ %C@ %p %l\n' | sort
}

# lines FILE: of a run's output, the summary left out.
lines() {
	grep -v ': dry run: ' "$1" | sort
}

# as_for_real NAME COMMAND...: what it says and returns, dry and then really; and nothing happens before that.
as_for_real() {
	local name=$1 before status
	shift
	before=$(state)
	run "$1" "${jc[@]}" --dry-run "${@:2}"
	status=$rc
	is "$(state)" "$before" "$name: nothing is touched"
	lines "$out" >"$tmp/said"
	lines "$err" >"$tmp/complained"
	is "$(grep -c ": dry run: [0-9]* entr.* would be .*; nothing was$" "$err")" 1 "$name: there is a summary"
	run "$1" "${jc[@]}" -v "${@:2}"
	is "$status" "$rc" "$name: status"
	is "$(cat "$tmp/said")" "$(sort "$out")" "$name: what it says"
	is "$(cat "$tmp/complained")" "$(sort "$err")" "$name: what it complains of"
}

tree() {
	mkdir -p s/a/b s/c
	echo 1 >s/f && echo 2 >s/a/f && echo 3 >s/a/b/f
	ln -s nowhere s/l && ln s/f s/a/hard && mkfifo s/p
}

copies() {
	tree
	as_for_real 'a new tree' pcp -a s d
	as_for_real 'over it' pcp -a s/. d
	as_for_real 'links' pcp -a s/f s/a/hard d/c
	as_for_real '-b' pcp -rb s/. d
	as_for_real '--backup=numbered' pcp -a --backup=numbered s/. d
	as_for_real '-b again' pcp -a --backup=existing s/. d
	as_for_real '--remove-destination' pcp -r --remove-destination s/. d
	as_for_real '-n' pcp -rn s/. d
	rm d/f
	as_for_real '-u' pcp -ru s/. d
	touch -d '1 hour' s/a/f
	as_for_real '-u of a newer one' pcp -rpu s/. d
	as_for_real '--update=none-fail' pcp -r --update=none-fail s/. d
	as_for_real '--attributes-only' pcp -rp --attributes-only s e
	as_for_real '-l' pcp -rl s h
	as_for_real '-l over it' pcp -rl s/. h
	as_for_real '-l -f' pcp -rlf s/. h
	as_for_real '-s' pcp -rs s y
	as_for_real '-s of an absolute path' pcp -rs "$PWD/s" z
	mkdir q
	as_for_real '--parents' pcp -r --parents s/a/b s/c s/a/f q
	as_for_real '--parents, with links' pcp -rs --parents s/a/b/f q/s
	as_for_real '--exclude' pcp -r --exclude=f s x
	as_for_real '-L' pcp -rL s xl
	as_for_real 'a special file' pcp -r s/p xp
	mkdir xq
	as_for_real 'without -r' pcp s/f s/a/f/ s xq
}
run_each copies

complains() {
	tree
	mkdir -p d/f w p q && touch d/a w/g p/n q/n
	as_for_real 'directory over file and file over directory' pcp -r s/. d
	as_for_real 'a missing source' pcp -r missing s/f w
	as_for_real 'no target directory' pcp s/f missing/x
	as_for_real 'a file with a slash' pcp s/f w/new/
	as_for_real 'one file' pcp s/f s/f
	as_for_real 'a hard link to it' pcp s/f s/a/hard
	as_for_real 'a directory without -r' pcp s w
	as_for_real 'just created' pcp p/n q/n w
	ln -s nowhere w/dangling
	as_for_real 'a dangling link' pcp s/f w/dangling
	as_for_real 'a dangling link goes' pcp --remove-destination s/f w/dangling
	as_for_real 'into itself' pcp -r s s/new
	as_for_real 'into itself, one further down' pcp -r s s/a
	as_for_real 'prm: missing' prm missing
	as_for_real 'prm: missing with -f' prm -f missing
	as_for_real 'prm: a directory without -r' prm s w
	as_for_real 'prm: dots' prm -r . .. s/.
	as_for_real 'prm: a full directory with -d' prm -d s s/c
	as_for_real 'prm: a name below a file' prm -f s/f/x
}
run_each complains

removes() {
	tree
	as_for_real 'prm' prm s/f s/l
	as_for_real 'prm: keeping' prm -r --exclude=b s
	as_for_real 'prm -r' prm -r s
	ok 'and then it is gone' test ! -e s
}
run_each removes

users() {
	need_user 'permissions' || return
	tree
	mkdir -p d/a/b ro/sub shut sticky && touch d/f d/a/f ro/sub/x ro/x sticky/x shut/x
	chmod 1777 sticky
	chown -R 65534 s d ro
	chmod 0 s/a/b/f && chmod 0 s/c && chmod 444 d/f && chmod 555 ro d/a && chmod 700 shut
	as_for_real() {
		local name=$1 before status
		shift
		before=$(state)
		run_as_user "$1" "${jc[@]}" --dry-run "${@:2}"
		status=$rc
		is "$(state)" "$before" "$name: nothing is touched"
		lines "$out" >"$tmp/said"
		lines "$err" >"$tmp/complained"
		run_as_user "$1" "${jc[@]}" -v "${@:2}"
		is "$status" "$rc" "$name: status"
		is "$(cat "$tmp/said")" "$(sort "$out")" "$name: what it says"
		is "$(cat "$tmp/complained")" "$(sort "$err")" "$name: what it complains of"
	}
	as_for_real 'unreadable sources, unwritable targets' pcp -r s/. d
	as_for_real '-f' pcp -rf s/. d
	as_for_real 'a directory that cannot be written to' pcp -r d/f ro
	as_for_real 'one that cannot be searched' pcp s/f shut/y
	as_for_real 'prm: a directory that cannot be written to' prm -rf ro
	as_for_real 'prm: a sticky one' prm -f sticky/x
	as_for_real 'prm: one that cannot be searched' prm -rf shut/x shut
}
run_each users

# Nothing is asked: every answer is taken to be yes.
questions() {
	tree
	mkdir d && echo old >d/f
	run pcp "${jc[@]}" --dry-run -i s/f d
	status 0 '-i'
	is "$(cat "$out")" "'s/f' -> 'd/f'" '-i: said'
	run prm "${jc[@]}" --dry-run -ri s/a
	status 0 'prm -ri'
	is "$(wc -l <"$out")" 5 'prm -ri: said'
	run prm "${jc[@]}" --dry-run -rI s/a
	status 0 'prm -rI'
	is "$(cat "$err")" 'prm: dry run: 5 entries would be removed; nothing was' 'prm -rI: said'
	run prm --d s/c
	status 0 '--d is --dir, as in rm'
	ok '--d removes' test ! -e s/c
	run prm --dr s/f
	ok '--dr is --dry-run' test -e s/f
}
run_each questions

# Not one call that changes anything.
changing='^[0-9]+ +(\w*(mkdir|rmdir|unlink|rename|link|mknod|chmod|chown|utime|setxattr|removexattr|truncate|fallocate)\w*'
changing+='|copy_file_range|sendfile|splice|creat|sync\w*|fsync|fdatasync)\(|O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|FICLONE'
no_calls() {
	need_command 'no calls' strace || return
	tree
	mkdir d && cp -r s d && mkdir e
	local options
	for options in '-a' '-rb --backup=numbered' '-r --remove-destination' '-rf' '-rl' '-ru' '-rp --attributes-only' \
		'-r --parents' '-rs' '-rsp' '-aL' '--preserve=all -r --sparse=always' '-a --update=changed --checksum-file=sums'; do
		# shellcheck disable=SC2086 # (Several words.)
		run strace -f -o trace pcp "${jc[@]}" --dry-run $options "$PWD/s" d
		is "$(grep -E "$changing" trace | grep -v readlink | head -n 3)" '' "pcp $options"
		# shellcheck disable=SC2086
		run strace -f -o trace pcp "${jc[@]}" --dry-run $options s e
		is "$(grep -E "$changing" trace | grep -v readlink | head -n 3)" '' "pcp $options, to where nothing is"
	done
	run strace -f -o trace prm "${jc[@]}" --dry-run -rf s d/s/f
	is "$(grep -E "$changing" trace | head -n 3)" '' 'prm'
	# (That a call would be seen:)
	run strace -f -o trace prm "${jc[@]}" -rf s
	like "$(grep -cE "$changing" trace)" '^[1-9]' 'the trace shows calls'
}
run_each no_calls

# Hundreds of random trees and options: the same as for real.
random() {
	need_command 'random cases' python3 || return
	local program args
	for args in 'cp' 'rm' 'cp --user' 'rm --user'; do
		read -ra program <<<"$args"
		[ "$(id -u)" = 0 ] || [ "${program[1]:-}" = '' ] || continue
		ok "random: $args" "$top/tests/diff/dryrun" "${program[@]}" --seed "${DIFF_SEED:-7}" --cases 120 \
			--seconds 60 --ours "$(readlink -f "$(command -v "p${program[0]}")")"
	done
}
run_once random

done_testing
