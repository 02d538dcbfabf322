#!/bin/bash
# bench-local.sh - pcp and prm against cp and rm on a local file system, in one run of hyperfine each.
#
#   bench-local.sh [-d DIR] [-r RUNS] [-j N] [-s] [WORKLOAD...]
#
#   -d DIR   where to work (default: $BENCH_DIR or /dev/shm); a directory is made there and removed again
#   -r RUNS  runs of each command (default 10)
#   -j N     pass -j N to pcp and prm (default: none, as a user would)
#   -s       print the system calls of one run of each, too (strace -f -c)
#
# Workloads: grid small flat ten one empty big (default: all). Absolute times say little: the ratio of the medians of
# the same run is what counts. Prints an aligned table; the raw figures go to build/bench/local.csv.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${BENCH_DIR:-/dev/shm}
runs=10
jobs=
syscalls=
while getopts d:r:j:sh opt; do
	case $opt in
	d) dir=$OPTARG ;;
	r) runs=$OPTARG ;;
	j) jobs="-j$OPTARG" ;;
	s) syscalls=1 ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- grid small flat ten one empty big

for tool in hyperfine awk; do
	command -v $tool > /dev/null || { echo "bench-local: $tool is missing: make deps" >&2; exit 1; }
done
pcp=$top/bin/pcp prm=$top/bin/prm gentree=$top/build/tests/gentree
work=$(mktemp -d -p "$dir" bench.XXXXXX)
trap 'rm -rf "$work"' EXIT
csv=$top/build/bench/local.csv
mkdir -p "${csv%/*}"
echo 'workload,program,gnu_median,ours_median,ratio,ours_min,ours_max' > "$csv"

make_source() {
	case $1 in
	grid) "$gentree" grid dirs=200 files=50 size=4096 "$work/src" ;;
	small) "$gentree" grid dirs=3000 files=8 size=2048 "$work/src" ;;
	flat) "$gentree" flat files=20000 size=1024 "$work/src" ;;
	ten) "$gentree" flat files=10 size=1024 "$work/src" ;;
	one) head -c 4096 /dev/urandom > "$work/src" ;;
	empty) mkdir "$work/src" ;;
	big) head -c 2G /dev/zero | tr '\0' x > "$work/src" ;;
	*) echo "bench-local: no workload '$1'" >&2; exit 2 ;;
	esac
}

# compare WORKLOAD PROGRAM PREPARE GNU_COMMAND OUR_COMMAND: one line of the table.  The two run in turn, after one of each
# that does not count: what a run leaves behind (ext4 does not use an inode again for a minute) meets both alike.
compare() {
	local i
	: > "$work/times.csv"
	for ((i = 0; i <= runs; i++)); do
		hyperfine -N -r 1 --style none --export-csv "$work/raw.csv" --prepare "$3" "$4" "$5" \
			> /dev/null 2>&1 || { echo "bench-local: $4 or $5 failed" >&2; return 1; }
		[ "$i" = 0 ] || awk -F, 'NR == 2 { printf "%s,", $(NF - 6) } NR == 3 { print $(NF - 6) }' "$work/raw.csv" >> "$work/times.csv"
	done
	awk -F, -v w="$1" -v p="$2" -v csv="$csv" '
		function median(a, n) { return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2 }
		function sort(a, n,    i, k, v) {
			for (i = 2; i <= n; i++) {
				v = a[i]
				for (k = i - 1; k > 0 && a[k] > v; k--) a[k + 1] = a[k]
				a[k + 1] = v
			}
		}
		{ gnu[NR] = $1 + 0; ours[NR] = $2 + 0 }
		END {
			sort(gnu, NR); sort(ours, NR)
			g = median(gnu, NR); o = median(ours, NR)
			printf "%-8s %-5s %11.1f %11.1f %8.2f\n", w, p, g * 1000, o * 1000, o / g
			printf "%s,%s,%s,%s,%.3f,%s,%s\n", w, p, g, o, o / g, ours[1], ours[NR] >> csv
		}' "$work/times.csv"
}

printf '%s, %s processors, %s on %s; %s runs\n' "$(uname -sr)" "$(nproc)" \
	"$(stat -f -c %T "$work")" "$dir" "$runs"
printf '%-8s %-5s %11s %11s %8s\n' workload '' 'GNU (ms)' 'ours (ms)' ratio
for workload; do
	make_source "$workload"
	# shellcheck disable=SC2086 # jobs is one word or none
	compare "$workload" pcp "rm -rf $work/dst" "cp -r $work/src $work/dst" "$pcp -r $jobs $work/src $work/dst"
	if [ "$workload" != big ]; then
		compare "$workload" prm "cp -r $work/src $work/dst" "rm -rf $work/dst" "$prm -rf $jobs $work/dst"
	fi
	if [ -n "$syscalls" ]; then
		rm -rf "$work/dst"
		# shellcheck disable=SC2086
		strace -f -c -o "$work/calls" "$pcp" -r $jobs "$work/src" "$work/dst" && head -12 "$work/calls"
		# shellcheck disable=SC2086
		strace -f -c -o "$work/calls" "$prm" -rf $jobs "$work/dst" && head -8 "$work/calls"
	fi
	rm -rf "$work/src" "$work/dst"
done
