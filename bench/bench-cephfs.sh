#!/usr/bin/env bash
# pcp and prm against cp and rm on a real CephFS (cephfs.sh brings one up if none is given): local to CephFS, within
# CephFS, CephFS to local, and removal, at several -j.
#
#	bench/bench-cephfs.sh [-d DIR] [-n PCT] [-j "N..."] [-D US]
#
#	-d DIR     a directory on a CephFS that is there already
#	-n PCT     per cent of the full size (10; full: 200 directories of 50 files of 100 KiB)
#	-j "N..."  numbers of workers (1 4 16 64 auto)
#	-D US      the delay of each message of the client (500; see cephfs.sh)
#
# Each copy is compared with its source, entry by entry, before it is measured against anything.  Prints a table, and
# leaves it in build/bench/cephfs.csv.  With the servers on the same processors, times say little; ratios say something.
set -euo pipefail
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pcp=$top/bin/pcp prm=$top/bin/prm gentree=$top/build/tests/gentree treecmp=$top/build/tests/treecmp
where='' scale=10 jobs='1 4 16 64 auto' delay=500
while getopts d:n:j:D: option; do
	case $option in
	d) where=$OPTARG ;;
	n) scale=$OPTARG ;;
	j) jobs=$OPTARG ;;
	D) delay=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done

local_dir=$(mktemp -d -p /dev/shm bench-cephfs.XXXXXX)
cleanup() {
	rm -rf --one-file-system "$local_dir"
	if [ -n "$work" ]; then rm -rf --one-file-system "$work"; fi
	if [ -n "$ours" ]; then "$top/bench/cephfs.sh" down; fi
}
work='' ours=''
trap cleanup EXIT
trap 'exit 130' INT TERM
if [ -z "$where" ]; then
	ours=1
	where=$(CEPHFS_DELAY_US=$delay "$top/bench/cephfs.sh" up)
fi
work=$(mktemp -d -p "$where" bench-cephfs.XXXXXX)

csv=$top/build/bench/cephfs.csv
mkdir -p "${csv%/*}"
echo 'what,program,j,seconds,files_per_second,times_gnu' >"$csv"
"$gentree" grid dirs=$((200 * scale / 100)) files=50 size=50K-150K "$local_dir/tree"
files=$(find "$local_dir/tree" -type f | wc -l)

# timed COMMAND...: sets seconds.
timed() {
	local start=$EPOCHREALTIME
	"$@"
	seconds=$(awk "BEGIN { printf \"%.3f\", $EPOCHREALTIME - $start }")
}

# row WHAT PROGRAM J: of the last that was timed; GNU's time of the same WHAT is in base.
row() {
	awk -v what="$1" -v program="$2" -v j="$3" -v seconds="$seconds" -v base="$base" -v files="$files" -v csv="$csv" 'BEGIN {
		printf "%-16s %-4s %5s %9.2f %9.0f %8.2f\n", what, program, j, seconds, files / seconds, base / seconds
		printf "%s,%s,%s,%s,%.1f,%.3f\n", what, program, j, seconds, files / seconds, base / seconds >>csv
	}'
}

# flag J: the option for it
flag() {
	if [ "$1" != auto ]; then echo "-j$1"; fi
}

# copies WHAT FROM TO: cp and pcp -a from one place to another; removals on the network are measured as they come.
copies() {
	local j base
	timed cp -a "$2" "$3"
	base=$seconds
	row "$1" cp 1
	timed rm -r "$3"
	if [ -z "$removal" ] && [[ $3 == "$work"/* ]]; then removal=$seconds; fi
	for j in $jobs; do
		# shellcheck disable=SC2046 # one word or none
		timed "$pcp" -a $(flag "$j") "$2" "$3"
		"$treecmp" "$2" "$3"
		row "$1" pcp "$j"
		"$prm" -r "$3"
	done
}

removals() {
	local j base=$removal
	seconds=$removal
	row 'removal' rm 1
	for j in $jobs; do
		"$pcp" -a "$local_dir/tree" "$work/copy"
		# shellcheck disable=SC2046
		timed "$prm" -r $(flag "$j") "$work/copy"
		[ ! -e "$work/copy" ]
		row 'removal' prm "$j"
	done
}

removal=''
printf '# %s, %s files, %s\n' "$(df --output=fstype "$work" | tail -n 1)" "$files" "$(cp --version | head -n 1)"
printf '%-16s %-4s %5s %9s %9s %8s\n' what '' j seconds files/s 'x gnu'
copies 'local to ceph' "$local_dir/tree" "$work/copy"
"$pcp" -a "$local_dir/tree" "$work/tree"
copies 'within ceph' "$work/tree" "$work/copy"
copies 'ceph to local' "$work/tree" "$local_dir/copy"
removals
echo "# written to $csv"
