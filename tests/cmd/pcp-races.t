#!/usr/bin/env bash
# Races: others work on the same files while pcp does.  It ends, nothing crashes, what is there is whole, and
# nobody gets to see more than he will in the end.  (pcp-trees.t and prm-race.t swap files and directories for
# links; pcp-bytes.t has single sources that grow and shrink.)
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

rounds=3
[ -z "${SANITIZE:-}" ] || rounds=2

# fill TREE TEXT: 200 small files, all of one size.
fill() {
	mkdir -p "$1"/{1..20}
	for i in {1..20}; do
		printf '%s %s\n' "$2" "$i" | tee "$1/$i"/{1..10} >/dev/null
	done
}

# strangers DIR TREE...: the files of DIR that are as in none of the trees.
strangers() {
	local dir=$1 name tree
	shift
	(cd "$dir" && find . -type f) | while read -r name; do
		for tree; do
			cmp -s "$dir/$name" "$tree/$name" && continue 2
		done
		echo "$name"
	done
}

two_into_one() {
	local i first
	fill a first
	fill b other
	for ((i = 0; i < rounds; i++)); do
		rm -rf d
		mkdir d
		pcp "${jc[@]}" -rT a d 2>first.err &
		run pcp "${jc[@]}" -rT b d
		wait $!
		first=$?
		ok "two into one target: both end, round $i" test "$first" -le 1 -a "$rc" -le 1
		is "$(strangers d a b | head -n 3)" '' "two into one target: each file is one of the two, round $i"
		is "$(grep -hv '^pcp: ' first.err "$err")" '' "two into one target: no strange words, round $i"
	done
}
run_each two_into_one

# The one that is told that all is well must find what it wrote, as the file or as a backup.
backups_at_once() {
	local i n pids=() ended=() lost=0
	mkdir d
	for ((i = 0; i < 6 * rounds; i++)); do
		mkdir "s$i"
		echo "content $i" >"s$i/f"
	done
	for ((i = 0; i < 6 * rounds; i++)); do
		pcp "${jc[@]}" --backup=numbered "s$i/f" d 2>>"said" &
		pids+=($!)
	done
	for ((i = 0; i < 6 * rounds; i++)); do
		wait "${pids[i]}"
		ended[i]=$?
	done
	# (Not before all have ended: what is being renamed cannot be searched.)
	for ((i = 0; i < 6 * rounds; i++)); do
		n=${ended[i]}
		[ "$n" -le 1 ] || lost=$((lost + 1))
		[ "$n" != 0 ] || grep -qxF "content $i" d/f d/f.~*~ || lost=$((lost + 1))
	done
	is "$lost" 0 'numbered backups made at once: none is lost'
}
run_each backups_at_once

source_goes() {
	local i removal
	fill whole text
	for ((i = 0; i < rounds; i++)); do
		rm -rf d s
		cp -r whole s
		pcp "${jc[@]}" -r s d 2>pcp.err &
		# (One of them is ahead in one round, the other in another.)
		[ $((i % 2)) = 0 ] || sleep 0.01
		run prm "${jc[@]}" -rf s
		removal=$rc
		wait $!
		rc=$?
		ok "the source is removed meanwhile: ends, round $i" test "$rc" -le 1
		is "$removal" 0 "the source is removed meanwhile: the removal does its work, round $i"
		ok "the source is removed meanwhile: it is gone, round $i" test ! -e s
		[ ! -d d ] || is "$(strangers d whole | head -n 3)" '' \
			"the source is removed meanwhile: what was copied is whole, round $i"
	done
}
run_each source_goes

# Files of one letter: whatever else is in a copy has been made up.
sizes_change() {
	local changer i
	mkdir s
	for i in {1..40}; do
		head -c 300000 /dev/zero | tr '\0' x >"s/$i"
	done
	(
		while :; do
			for i in {1..40}; do
				truncate -s 1000 "s/$i"
				head -c 400000 /dev/zero | tr '\0' x >>"s/$i"
			done
		done
	) 2>/dev/null &
	changer=$!
	for ((i = 0; i < rounds; i++)); do
		run pcp "${jc[@]}" -r s "d$i"
		[ "$rc" -le 1 ] || break
	done
	kill "$changer"
	wait "$changer" 2>/dev/null
	ok 'sources that grow and shrink: ends' test "$rc" -le 1
	is "$(cat d*/* | tr -d x | wc -c)" 0 'sources that grow and shrink: nothing is made up'
}
run_each sizes_change

# Looks at the target, with all that is in it, before each call that could change a mode, an owner or the data.
watched() {
	local call calls=''
	for call in openat mkdirat mknodat fchown fchownat fchmod fchmodat copy_file_range write futimens utimensat \
		close fsetxattr renameat linkat symlinkat; do
		calls+="$call:run;"
	done
	FAULT_RUN="cd $PWD && [ -e d ] && find d ! -type l -printf '%p %m %U %G\n' >>seen 2>/dev/null" \
		run_faulty "${calls%;}" "$@"
	ok "$tag: was looked at" test -s seen
	# What was seen of each name against what it came to: no bit more, and no set-ID bit under another owner.
	find d ! -type l -printf '%p %m %U %G\n' >final
	perl -e '
		open my $file, "<", "final";
		my %final = map { my ($name, @what) = split; $name => \@what } <$file>;
		open $file, "<", "seen";
		while (<$file>) {
			my ($name, $mode, $uid, $gid) = split;
			my $end = $final{$name} or next;
			my $more = oct($mode) & ~oct($$end[0]) & ~($name =~ /dir/ ? 0700 : 0);
			my $set = oct($mode) & 06000 && !-d $name && ($uid != $$end[1] || $gid != $$end[2]);
			print "$name was $mode $uid:$gid, is @$end\n" if $more || $set;
		}' | sort -u >wider
}

never_wider() {
	need_root 'modes are never wider than in the end' || return
	mkdir -p s/dir700 s/dir711 s/dir2755 s/dir1777
	echo text | tee s/dir700/600 s/dir711/4755 s/dir2755/6750 s/dir1777/2711 s/400 s/640 >/dev/null
	mkfifo s/fifo600
	ln s/640 s/dir700/640link
	chown -R 1234:1235 s
	chmod 600 s/dir700/600 s/fifo600
	chmod 4755 s/dir711/4755
	chmod 6750 s/dir2755/6750
	chmod 2711 s/dir1777/2711
	chmod 400 s/400
	chmod 640 s/640
	for i in 700 711 2755 1777; do
		chmod "$i" "s/dir$i"
	done
	umask 0
	for option in -a --preserve=ownership --no-preserve=mode ''; do
		rm -rf d seen
		watched pcp "${jc[@]}" -r ${option:+"$option"} s d
		status 0 "modes are never wider than in the end: -r $option"
		is "$(head -n 3 wider)" '' "modes are never wider than in the end, and set-ID bits are the owner's: -r $option"
		# The same over what is there.
		rm -f seen
		chown -R 0:0 d
		watched pcp "${jc[@]}" -r ${option:+"$option"} s/. d
		is "$(grep -v ' was 6*[0-7]* 0:0' wider | head -n 3)" '' \
			"modes are never wider than in the end, over what is there: -r $option"
	done
	umask 022
}
run_each never_wider

# A number that has been closed may be another file's by then.
closed_descriptors() {
	need_command 'no call on a closed descriptor' strace || return
	fill s text
	ln s/1/1 s/2/link
	ln -s nowhere s/symlink
	truncate -s 3M s/hole
	run strace -f -qq -o trace -e 'trace=!fcntl,fgetxattr' pcp "${jc[@]}" -a s d
	status 0 'no call on a closed descriptor: pcp'
	is "$(grep -c EBADF trace)" 0 'no call on a closed descriptor: pcp -a'
	run strace -f -qq -o trace -e 'trace=!fcntl' prm "${jc[@]}" -r d
	status 0 'no call on a closed descriptor: prm'
	is "$(grep -c EBADF trace)" 0 'no call on a closed descriptor: prm -r'
}
[ -n "${SANITIZE:-}" ] || run_each closed_descriptors

done_testing
