#!/usr/bin/env bash
# Large and odd trees copied by pcp, compared entry by entry, and removed by prm, at several -j and -c,
# onto a disk and into memory; with the peak of memory, and with few descriptors.
#
#	tests/cmd/bigrun.sh [option...]
#
#	-s N		scale: the sizes are divided by N (1: full size: 1,000,000 files, 8 GiB, ...)
#	-k "KIND..."	some of: usr million flat dirs deep big sparse names (all of them)
#	-j "N..."	numbers of workers (1 2 7 20 64)
#	-c "N..."	files per work item; 0 is automatic (1 64 0)
#	-u DIR		the tree that usr copies (/usr)
#	-d DIR		scratch directory on a disk (/tmp)
#	-m DIR		scratch directory in memory (/dev/shm); for kinds that fit there
#	-q		each kind at each -j with one -c and each -c with one -j only, not all pairs
#
# Prints TAP; a line with a copy says how long it took and how much memory it had at most.  The limit
# of memory (64 MiB) is checked for the million files at -j 20.  Full size takes an hour or so, and
# 20 GiB of disk, 10 GiB of memory; as root owners and attributes are compared as well.
# sanitizers: no
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

scale=1 kinds='usr million flat dirs deep big sparse names' workers='1 2 7 20 64' items='1 64 0'
usr=/usr disk=/tmp memory=/dev/shm quick=
while getopts s:k:j:c:u:d:m:q option; do
	case $option in
	s) scale=$OPTARG ;;
	k) kinds=$OPTARG ;;
	j) workers=$OPTARG ;;
	c) items=$OPTARG ;;
	u) usr=$OPTARG ;;
	d) disk=$OPTARG ;;
	m) memory=$OPTARG ;;
	q) quick=1 ;;
	*) exit 2 ;;
	esac
done

tmpdir disk
chmod 700 "$tmp"
disk=$(mktemp -d "$disk/pfu-big.XXXXXX") || exit 1
memory=$(mktemp -d "$memory/pfu-big.XXXXXX") || exit 1

finish() {
	cleanup
	rm -rf --one-file-system "$disk" "$memory"
}
trap finish EXIT
trap 'exit 1' INT TERM

# divided N LEAST: N by the scale.
divided() {
	local n=$(($1 / scale))
	echo $((n > $2 ? n : $2))
}

# measured COMMAND...: run, with the seconds and the peak in KiB left in seconds and peak.
seconds=0 peak=0
measured() {
	LIMIT=3600 run /usr/bin/time -f '%e %M' -o "$tmp/time" "$@"
	read -r seconds peak < <(tail -n 1 "$tmp/time")
}

# make_source KIND DIR
make_source() {
	case $1 in
	million) "$gentree" grid dirs="$(divided 2000 20)" files=500 size=0-4K "$2" ;;
	flat) "$gentree" flat files="$(divided 300000 1000)" size=0-100 "$2" ;;
	dirs) "$gentree" grid dirs="$(divided 100000 1000)" files=3 size=0-4K "$2" ;;
	deep) "$gentree" deep levels=30000 len=6 files=10 "$2" ;; # (at every scale: it is small)
	big) "$gentree" big size="$(divided 8192 64)M" "$2" ;;
	sparse) "$gentree" sparse size="$(divided 8192 64)M" islands=3 island=300K "$2" ;;
	names) "$gentree" names "$2" ;;
	esac
}

# one_round KIND SOURCE TARGET J C [LAUNCHER...]: a copy, a comparison, a removal.
one_round() {
	local kind=$1 source=$2 target=$3 j=$4 c=$5 name
	shift 5
	name="$kind to ${target%/pfu-big.*} -j $j -c $c${1:+ (64 descriptors)}"
	measured "$@" pcp -a -j "$j" -c "$c" "$source" "$target"
	status 0 "$name: copied in $seconds s, $peak KiB"
	quiet "$name: silently"
	# (A second on a slow machine; a path built for each directory makes it twelve.)
	if [ "$kind" = deep ]; then ok "$name: in time that grows with the depth" test "${seconds%.*}" -lt 5; fi
	if [ "$kind,$j" = million,20 ] && [ -z "${SANITIZE:-}" ]; then
		ok "$name: at most 64 MiB to copy" test "$peak" -le 65536
	fi
	same "$name: the same tree" "$source" "$target" "${compare[@]}"
	measured "$@" prm -rf -j "$j" -c "$c" "$target"
	status 0 "$name: removed in $seconds s, $peak KiB"
	ok "$name: gone" test ! -e "$target"
	if [ "$kind,$j" = million,20 ] && [ -z "${SANITIZE:-}" ]; then
		ok "$name: at most 64 MiB to remove" test "$peak" -le 65536
	fi
	[ ! -e "$target" ] || rm -rf "$target"
}

# pairs: the -j and -c to try.
pairs() {
	local j c
	for j in $workers; do
		for c in $items; do
			[ -z "$quick" ] || [ "$j" = "${workers##* }" ] || [ "$c" = "${items##* }" ] || continue
			echo "$j $c"
		done
	done
}

few=(bash -c "ulimit -n 64; exec \"\$@\"" -)

for kind in $kinds; do
	compare=()
	source=$memory/s
	targets=("$memory/d")
	case $kind in
	usr) source=$usr targets=("$memory/d" "$disk/d") ;;
	million | flat) targets=("$memory/d" "$disk/d") ;;
	big | sparse) source=$disk/s targets=("$memory/d" "$disk/d") ;;
	esac
	[ "$kind" = usr ] || make_source "$kind" "$source" || exit 1
	for target in "${targets[@]}"; do
		while read -r j c; do
			one_round "$kind" "$source" "$target" "$j" "$c"
		done < <(pairs)
	done
	case $kind in
	million | deep) one_round "$kind" "$source" "${targets[0]}" 20 0 "${few[@]}" ;;
	esac
	[ "$kind" = usr ] || rm -rf "$source"
done

done_testing
