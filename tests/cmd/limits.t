#!/usr/bin/env bash
# --max-rate and --bwlimit: that they are never exceeded, from the first moment on, whatever the number of workers and
# the size of files; that they are made use of; what counts and what does not; which sizes there are.
#
# How long a run takes at least does not depend on what else the machine does; how long at most does, so that is tested
# against three times what is due.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

now() {
	date +%s%N
}

# timed WANTED NAME COMMAND...: it takes so many milliseconds, or up to three times as long.
timed() {
	local wanted=$1 name=$2 start took
	shift 2
	start=$(now)
	run "$@"
	took=$((($(now) - start) / 1000000))
	status 0 "$name: status"
	if [ "$took" -ge $((wanted * 95 / 100)) ] && [ "$took" -le $((3 * wanted + 1000)) ]; then
		result 0 "$name: takes as long as it should"
	else
		result 1 "$name: takes as long as it should" "$took ms, expected $wanted"
	fi
}

# tree NAME DIRECTORIES FILES: so many directories of so many empty files.
tree() {
	local i
	mkdir "$1"
	for ((i = 0; i < $2; i++)); do
		mkdir "$1/$i"
		(cd "$1/$i" && seq "$3" | xargs touch)
	done
}

# never_more RATE SLACK HOW-MANY COMMAND...: while the command runs, HOW-MANY never prints more than RATE a second, from
# the start, and SLACK. (What is counted was there at the latest when the time was taken, so no delay can deceive.)
never_more() {
	local rate=$1 slack=$2 how_many=$3 start=0 n allowed worst='' looks=0
	shift 3
	start=$(now)
	"$@" >"$out" 2>"$err" &
	while kill -0 $! 2>/dev/null; do
		n=$($how_many)
		allowed=$(($(now) - start))
		allowed=$((allowed * rate / 1000000000 + slack))
		[ "${n:-0}" -le "$allowed" ] || worst="$n where $allowed were allowed"
		looks=$((looks + 1))
		sleep 0.05
	done
	wait $!
	is "$? $worst" '0 ' "$*: never too fast"
	ok "$*: was looked at" test "$looks" -ge 3
}

files_there() {
	find t 2>/dev/null | wc -l
}

files_gone() {
	echo $((total - $(find t 2>/dev/null | wc -l)))
}

bytes_there() {
	du -s -B1 t 2>/dev/null | awk '{ print 0 + $1 }'
}

rate_of_files() {
	local jobs
	tree s 10 49
	ln -s nowhere s/link
	mkfifo s/fifo
	# 503 entries: 10 directories and the top, 490 files, a link, a fifo.
	for jobs in -j1 -j20; do
		timed 500 "pcp -r $jobs" pcp -r "$jobs" --max-rate=1006 s t
		same "pcp -r $jobs: all is there" s t --no-times
		timed 500 "prm -r $jobs" prm -r "$jobs" --max-rate=1006 t
		ok "prm -r $jobs: all is gone" test ! -e t
	done
	pcp -r s t
	timed 500 'pcp -ru: what is skipped counts, too' pcp -ru --max-rate=1006 s/. t
	rm -rf t
	never_more 800 50 files_there pcp -r -j20 --max-rate=800 s t
	total=$(files_there)
	never_more 800 50 files_gone prm -r -j20 --max-rate=800 t
}

named_files() {
	mkdir s t
	(cd s && seq 100 | xargs touch)
	timed 500 'pcp of operands' pcp -j20 --max-rate=200 -t t s/*
	timed 500 'prm of operands' prm -j20 --max-rate=200 t/*
	mkdir d
	(cd d && seq 100 | xargs mkdir)
	timed 500 'prm -r of empty directories' prm -r --max-rate=200 d/*
	(cd d && seq 100 | xargs mkdir)
	timed 500 'prm -d of them' prm -d --max-rate=200 d/*
	(cd d && seq 100 | xargs mkdir -p)
	timed 500 'pcp -r of them' pcp -r --max-rate=200 -t t d/*
	timed 500 'pcp --parents -l, with the directory on the way' pcp -l --parents --max-rate=202 -t t s/*
}

# A large file that several workers copy, and a buffer larger than what is allowed in a second.
rate_of_bytes() {
	local jobs
	mkdir s
	head -c 72M /dev/urandom >s/large
	for jobs in -j1 -j20; do
		timed 500 "a large file, $jobs" pcp "$jobs" --bwlimit=144M s/large t
		ok "a large file, $jobs: is whole" cmp s/large t
		rm t
	done
	never_more $((144 << 20)) $((8 << 20)) bytes_there pcp -j20 --bwlimit=144M s/large t
	rm t
	head -c 60K s/large >small
	timed 500 'a slow trickle' pcp -j20 --bwlimit=120K small t
	ok 'a slow trickle: is whole' cmp small t
	timed 500 'read and written' pcp -j20 --sparse=never --bwlimit=120K small t
	ok 'read and written: is whole' cmp small t
	timed 500 'read and written, with a look for zeros' pcp -j20 --sparse=always --bwlimit=120K small t
	ok 'read and written, with a look for zeros: is whole' cmp small t
	rm -rf s/large
	(cd s && split -b 1K -a 3 ../small)
	timed 500 'small files' pcp -r -j20 --bwlimit=120K s t.d
	same "small files: all is there" s t.d --no-times
}

# Waiting for what is then not there would make a trickle of what has no size.
what_counts() {
	truncate -s 20G hole
	printf x >>hole
	timed 0 'holes move nothing' pcp -j20 --bwlimit=100K hole t
	rm hole t
	mkdir links
	head -c 1M /dev/urandom >file
	timed 0 'nor do links' pcp -l --bwlimit=1K file links/hard
	timed 0 'nor does a size that says nothing' pcp --bwlimit=1M /proc/self/status t
	timed 0 'no limit' pcp --bwlimit=0 --max-rate=0 file t
	timed 0 'the last one counts' pcp --bwlimit=1 --bwlimit=1G --max-rate=1 --max-rate=1K file t
}

sizes() {
	local arg
	echo x >a
	for arg in 7 1b 1k 1K 1kB 1KB 1KiB 1m 1M 1MB 1MiB 2G 2GB 2GiB 1T 1PB 1E K 15E 0Z 18446744073709551615; do
		run pcp --bwlimit="$arg" a t
		status 0 "--bwlimit=$arg"
	done
	for arg in '' -1 1.5K 1KBi 1bB 1g 1x x 0x10 '1 K' 1KiBs; do
		run pcp --bwlimit="$arg" a t
		status 1 "--bwlimit='$arg': status"
		is "$(cat "$err")" "pcp: invalid number of bytes per second: '$arg'" "--bwlimit='$arg': is no size"
	done
	for arg in 16E 1Z 99999999999999999999 18446744073709551616; do
		run prm --max-rate="$arg" a
		status 1 "--max-rate='$arg': status"
		is "$(cat "$err")" "prm: invalid number of files per second: '$arg': Value too large for defined data type" \
			"--max-rate='$arg': is too large"
	done
	ok 'nothing was removed' test -e a
	run prm --max-rate=-1 a
	is "$(cat "$err")" "prm: invalid number of files per second: '-1'" 'prm --max-rate=-1 is refused'
}

# What GNU cp takes for --backup it still takes.
abbreviations() {
	echo x >a
	echo y >t
	ok '--b is --backup' pcp --b a t
	ok '--b=simple is' pcp --b=t a t
	is "$(echo t*)" 't t.~1~ t~' 'backups were made'
}

for case in rate_of_files named_files rate_of_bytes what_counts sizes abbreviations; do
	run_once $case
done
done_testing
