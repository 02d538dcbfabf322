#!/usr/bin/env bash
# Modes, owners, times, extended attributes of what is copied.  Most cases need root: they change
# owners, mount a ramfs, or run as another user.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir disk	# for user xattrs and ACLs, which older tmpfs lack

mode() {
	stat -c %a "$1"
}

umask_applies() {
	mkdir -m 777 s
	echo x >s/f
	chmod 666 s/f
	umask 077
	run pcp "${jc[@]}" -r s d
	umask 022
	status 0 'm1: 0777 directory, 0666 file, umask 077'
	is "$(mode d) $(mode d/f)" '700 600' 'm1: 0700 and 0600'
	run pcp "${jc[@]}" -rp s e
	is "$(mode e) $(mode e/f)" '777 666' 'm1: not with -p'
	umask 077
	run pcp "${jc[@]}" s/f g
	umask 022
	is "$(mode g)" 600 'm1: a single file'
	mkdir -m 700 in
	run pcp "${jc[@]}" -r s in
	is "$(mode in/s) $(mode in/s/f)" '755 644' 'm1: umask 022'
}
run_each umask_applies

setuid() {
	need_user 'm2: a 6755 file' || return
	echo x >f
	chown 1234:1234 f
	chmod 6755 f
	run pcp "${jc[@]}" f a
	is "$(mode a)" 755 'm2: a 6755 file as root'
	run pcp "${jc[@]}" -p f b
	is "$(mode b) $(stat -c %u:%g b)" '6755 1234:1234' 'm2: with -p'
	run_as_user pcp "${jc[@]}" -p f c
	status 0 'm2: with -p as a user who is not the owner'
	is "$(mode c) $(stat -c %u:%g c)" '755 65534:65534' 'm2: no set-id bits for another owner'
	mkdir -m 3777 s
	echo x >s/f
	chmod 4711 s/f
	run pcp "${jc[@]}" -r s d
	is "$(mode d) $(mode d/f)" '1755 711' 'm2: -r keeps no set-id bits'
	run pcp "${jc[@]}" -a s e
	is "$(mode e) $(mode e/f)" '3777 4711' 'm2: -a does'
	mkfifo p
	chmod 4755 p
	run pcp "${jc[@]}" -a --no-preserve=mode p q
	is "$(mode q)" 644 'm2: a fifo whose mode is not kept, but its owner'
}
run_each setuid

read_only_directories() {
	local option
	need_user 'm3: 0555 directories as a user' || return
	mkdir -p s/a/b s/c
	echo 1 >s/a/f
	echo 2 >s/a/b/f
	find s -type d -exec chmod 555 {} +
	for option in -r -a; do
		run_as_user pcp "${jc[@]}" "$option" s "d$option"
		status 0 "m3: a tree of 0555 directories as a user, $option"
		quiet "m3: silently, $option"
		is "$(mode "d$option") $(mode "d$option/a") $(mode "d$option/a/b") $(mode "d$option/c")" \
			'555 555 555 555' "m3: 0555 at the end, $option"
		ok "m3: with what is in them, $option" diff -r s "d$option"
	done
}
run_each read_only_directories

old_times() {
	local accessed
	mkdir -p s/a/b s/many
	ln -s nowhere s/a/dangling
	echo x >s/a/b/f
	touch s/many/{1..50}
	touch -h -d '2001-01-01 00:00:00.123456789Z' s/a/dangling s/a/b/f
	touch -d '2001-02-03 04:05:06.999999999Z' s/a/b
	touch -d '1969-12-31 23:59:59.5Z' s/many
	touch -d '2001-01-01 00:00:00.000000001Z' s/a s
	accessed=$(stat -c %x s/a/b/f)
	run pcp "${jc[@]}" -a s d
	is "$(stat -c %x d/a/b/f)" "$accessed" 'm4: the access time too'
	status 0 'm4: directories and a dangling link dated 2001, -a'
	is "$(cd d && stat -c '%n %Y %y' . a a/b a/dangling a/b/f many)" \
		"$(cd s && stat -c '%n %Y %y' . a a/b a/dangling a/b/f many)" \
		'm4: to the nanosecond, directories too'
	same 'm4: the same tree' s d
	run pcp "${jc[@]}" -r s e
	ok 'm4: not with -r' test e/a/b/f -nt s/a/b/f
}
run_each old_times

existing_directory() {
	mkdir -m 700 s
	echo x >s/f
	mkdir -m 755 d
	run pcp "${jc[@]}" -rT s d
	is "$(mode d)" 755 'm5: an existing 0755 directory, a 0700 source, -r'
	run pcp "${jc[@]}" -rpT s d
	is "$(mode d)" 700 'm5: with -p'
	echo old >f
	chmod 604 f
	run pcp "${jc[@]}" s/f f
	is "$(mode f)" 604 'm5: an existing file keeps its mode'
	chmod 640 s/f
	run pcp "${jc[@]}" -p s/f f
	is "$(mode f)" 640 'm5: with -p not'
}
run_each existing_directory

# Looks at the target before each call that is made for it.
never_open() {
	local calls='' call
	need_root 'm6: a 0600 file of another owner, -p' || return
	mkdir -m 700 s
	head -c 200000 /dev/urandom >s/f
	chown -R 1234:1234 s
	chmod 600 s/f
	for call in fchown fchownat fchmod fchmodat copy_file_range read write futimens utimensat close fsetxattr; do
		calls+="$call:run;"
	done
	FAULT_RUN="cd $PWD && [ -e d ] && stat -c %a d d/f >>seen 2>/dev/null" \
		run_faulty "${calls%;}" pcp "${jc[@]}" -rp s d
	status 0 'm6: a 0600 file of another owner, -p as root'
	ok 'm6: was looked at' test -s seen
	is "$(grep -v '^[0-7]00$' seen | sort -u)" '' 'm6: never open to others, not for a moment'
	same 'm6: same in the end' s d
}
run_each never_open

attributes() {
	need_command 'm7: user attributes' setfattr || return
	mkdir s
	echo x >s/f
	if ! setfattr -n user.a -v value s/f 2>/dev/null; then
		missing 'm7: user attributes' 'user attributes on this file system'
		return
	fi
	setfattr -n user.d -v value s
	setfacl -m u:1234:r s/f
	run pcp "${jc[@]}" -a s d
	same 'm7: -a copies attributes and ACLs' s d
	run pcp "${jc[@]}" -p s/f g
	is "$(getfattr -d g)" '' 'm7: -p does not copy attributes'
	is "$(getfacl -c g)" "$(getfacl -c s/f)" 'm7: but ACLs'
	run pcp "${jc[@]}" s/f h
	is "$(getfattr -d h; getfacl -c h)" "$(touch i; chmod 644 i; getfacl -c i)" 'm7: plain neither'
}
run_each attributes

attributes_refused() {
	local option
	need_root 'm7: a user attribute onto ramfs' && need_command 'm7: ramfs' setfattr || return
	mkdir s ram
	echo x >s/f
	setfattr -n user.a -v value s/f 2>/dev/null || return
	mount -t ramfs none ram
	if setfattr -n user.a -v value ram 2>/dev/null; then
		skip 'm7: a user attribute onto ramfs' 'this ramfs has attributes'
		return
	fi
	run pcp "${jc[@]}" -a s ram/a
	status 0 'm7: a user attribute onto ramfs, -a'
	quiet 'm7: silently'
	run pcp "${jc[@]}" -rp s ram/p
	status 0 'm7: -p'
	need_option 'm7: --preserve=' --preserve || return
	run pcp "${jc[@]}" --preserve=all -r s ram/all
	status 0 'm7: --preserve=all'
	run pcp "${jc[@]}" --preserve=xattr -r s ram/xattr
	status 1 'm7: --preserve=xattr'
	says "pcp: setting attributes for 'ram/xattr/f': Operation not supported" 'm7: is reported' ||
		diag "$(cat "$err")"
	for option in a p all xattr; do
		ok "m7: the data is there, $option" cmp s/f "ram/$option/f"
	done
}
run_each attributes_refused

chmod_refused() {
	local fault='fchmod:EPERM;fchmodat:EPERM;fchmodat2:EPERM;fsetxattr:EPERM'
	"$gentree" grid dirs=2 files=3 s
	run_faulty "$fault" pcp "${jc[@]}" s/d000000/f000000 f
	status 0 'm8: chmod refused, plain'
	quiet 'm8: silently'
	run_faulty "$fault" pcp "${jc[@]}" -r s d
	status 0 'm8: chmod refused, -r'
	same 'm8: modes went in with open' s d --no-times
	run_faulty "$fault" pcp "${jc[@]}" -p s/d000000/f000000 g
	status 1 'm8: with -p'
	says "pcp: preserving permissions for 'g': Operation not permitted" 'm8: is reported'
	ok 'm8: and the file copied' cmp s/d000000/f000000 g
}
run_each chmod_refused

sandbox() {
	local fault e
	"$gentree" zoo s
	for e in EPERM ENOSYS; do
		for fault in statx openat2 faccessat unshare close_range fchmodat2 \
			"statx:$e;unshare:$e;openat2:$e;faccessat:$e;close_range:$e;fchmodat2"; do
			run_faulty "$fault:$e" pcp "${jc[@]}" -a s d
			status 0 "m9: $e from ${fault//:$e;/, }"
			quiet "m9: silently"
			same 'm9: same tree' s d
			rm -rf d
		done
	done
}
run_each sandbox

# The times go in through the descriptor, after the last byte.
times_last() {
	local last first
	"$gentree" big size=100M s
	"$gentree" flat files=5 s
	touch -d '2001-01-01 00:00:00.5Z' s/*
	run_faulty 'copy_file_range:log;write:log;pwrite:log;ftruncate:log;futimens:log;utimensat:log' \
		pcp "${jc[@]}" -a s d
	same 'm10: times of files, split or not' s d --no-dir-times
	last=$(grep -nE '^(copy_file_range|write|pwrite|ftruncate) .*/big$' "$faults" | tail -n 1 | cut -d: -f1)
	first=$(grep -nE '^futimens .*/d/big$' "$faults" | head -n 1 | cut -d: -f1)
	ok 'm10: set through the descriptor after the last write' test "${first:-0}" -gt "${last:-0}"
	is "$(grep -c '^utimensat .*big$' "$faults")" 0 'm10: not by name'
}
run_each times_last

special_files() {
	"$gentree" zoo s
	# Nobody writes into the fifo: opening it would hang.
	LIMIT=20 run_faulty 'openat:log:path=fifo;openat:log:path=pipe;openat:log:path=socket;openat:log:path=null' \
		pcp "${jc[@]}" -r s d
	status 0 'm11: fifo, devices, socket in a tree, -r'
	is "$(hits)" 0 'm11: never opened'
	is "$(cd d && stat -c '%n %F %t,%T' fifo socket links-a/pipe)" \
		"$(cd s && stat -c '%n %F %t,%T' fifo socket links-a/pipe)" 'm11: recreated'
	if need_root 'm11: devices'; then
		is "$(cd d && stat -c '%n %F %t,%T' null loop)" "$(cd s && stat -c '%n %F %t,%T' null loop)" \
			'm11: devices recreated'
	fi
	run pcp "${jc[@]}" -a s e
	same 'm11: with -a the same' s e
}
run_each special_files

done_testing
