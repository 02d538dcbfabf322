#!/usr/bin/env bash
# Hard links: kept where they are to be kept, whichever worker meets which name first.  The case with
# two mounts needs root.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

two_names() {
	local option
	mkdir -p s/a s/b
	head -c 100000 /dev/urandom >s/a/1
	ln s/a/1 s/b/2
	for option in -a -rd; do
		run pcp "${jc[@]}" "$option" s d
		status 0 "l1: two names in two directories, $option"
		is "$(stat -c %h d/a/1; stat -c %i d/a/1 d/b/2 | uniq | wc -l)" $'2\n1' "l1: one inode, $option"
		ok "l1: same bytes, $option" diff -r s d
		rm -rf d
	done
	for option in -r -rp; do
		run pcp "${jc[@]}" "$option" s d
		is "$(stat -c %h d/a/1 d/b/2 | sort -u)" 1 "l1: two files, $option"
		ok "l1: same bytes, $option" diff -r s d
		rm -rf d
	done
}
run_each two_names

# Many names of many files, in an order that makes workers meet.
many_names() {
	local i j
	mkdir s
	for i in {1..20}; do
		mkdir "s/d$i"
		for j in {1..10}; do
			if [ "$i" -le 4 ]; then
				printf '%s ' "$i" "$j" >"s/d$i/f$j"
			else
				ln "s/d$((i % 4 + 1))/f$j" "s/d$i/f$j"
			fi
		done
	done
	ln -s target s/symlink
	ln s/symlink s/d1/symlink
	mkfifo s/fifo
	ln s/fifo s/d2/fifo
	run pcp "${jc[@]}" -a s d
	status 0 'l1: many names of many files'
	same 'l1: same groups' s d
	# Once more over the result.
	run pcp "${jc[@]}" -a s/. d
	status 0 'l1: over what is there'
	same 'l1: same groups again' s d
	mkdir e
	run pcp "${jc[@]}" -a s/d1 s/d2 s/d3 s/d4 s/d5 s/d6 e
	status 0 'l1: operands that share files'
	is "$(stat -c %i e/d2/f7 e/d5/f7 | sort -u | wc -l)" 1 'l1: across operands too'
}
run_each many_names

link_refused() {
	local e
	mkdir -p s/a s/b
	echo text >s/a/1
	ln s/a/1 s/b/2
	ln s/a/1 s/b/3
	for e in EMLINK EPERM; do
		run_faulty "linkat:$e" pcp "${jc[@]}" -a s d
		struck "l2: a link is refused with $e"
		todo_gnu 'gives up'
		ok "l2: the data is copied, $e" diff -r s d
		is "$(wc -l <"$err")" 1 "l2: that is said, once, $e"
		todo_end
		rm -rf d
	done
}
run_each link_refused

# Whoever meets the file first must not keep the others waiting, or silent, when it cannot be opened.
unreadable() {
	need_root 'l1: a file of several names that cannot be read' || return
	mkdir -p s/a s/b s/c d
	echo secret >s/a/1
	chmod 600 s/a/1
	ln s/a/1 s/b/2
	ln s/a/1 s/c/3
	chmod 777 d
	LIMIT=20 run_as_user pcp "${jc[@]}" -dR s d
	status 1 'l1: a file of several names that cannot be read'
	is "$(sort "$err")" "pcp: cannot open 's/a/1' for reading: Permission denied
pcp: cannot open 's/b/2' for reading: Permission denied
pcp: cannot open 's/c/3' for reading: Permission denied" 'l1: each name is told'
}
run_each unreadable

# Fresh tmpfs give out the same inode numbers.
two_mounts() {
	need_root 'l3: two mounts with the same inode numbers' || return
	mkdir -p s/x s/y
	mount -t tmpfs none s/x && mount -t tmpfs none s/y
	echo x >s/x/1
	ln s/x/1 s/x/2
	echo y >s/y/1
	ln s/y/1 s/y/2
	is "$(stat -c %i s/x/1)" "$(stat -c %i s/y/1)" 'l3: two mounts below one source, same inode numbers'
	run pcp "${jc[@]}" -a s d
	status 0 'l3: copied'
	same 'l3: two separate pairs' s d
	is "$(cat d/x/1 d/x/2 d/y/1 d/y/2)" $'x\nx\ny\ny' 'l3: each with its own data'
}
run_each two_mounts

done_testing
