#!/usr/bin/env bash
# bench-published.sh - two benchmarks that others have published, on a network file system at hand: pfutils' copies of
# ImageNet to and from CephFS, and the copy of 10,000 files of 64 KiB to Amazon's EFS, one by one and in parallel.
#
#   bench-published.sh [-d DIR] [-l DIR] [-s PERCENT] [-r ROUNDS] [-j N] [imagenet|efs]...
#
#   -d DIR      a directory on the network file system (default: $BENCH_DIR)
#   -l DIR      one on a local file system (default: /dev/shm)
#   -s PERCENT  only so many of the files (default 1 for imagenet, 100 for efs)
#   -r ROUNDS   how often each is run, in turn (default 3): medians, and slowest and fastest in parentheses
#   -j N        workers of what runs in parallel (default 20, as pfutils); pcp and prm run without -j too
#
# Caches are dropped before each run where that is permitted. Results also go to build/bench/published.csv.
set -eu -o pipefail
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fsbench=$top/build/bench/fsbench pcp=$top/bin/pcp prm=$top/bin/prm
net=${BENCH_DIR:-} local=/dev/shm scale='' rounds=3 jobs=20
usage() {
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
	exit 2
}
while getopts d:l:s:r:j:h opt; do
	case $opt in
	d) net=$OPTARG ;;
	l) local=$OPTARG ;;
	s) scale=$OPTARG ;;
	r) rounds=$OPTARG ;;
	j) jobs=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ -n "$net" ] || usage
[ $# -gt 0 ] || set -- imagenet efs

net=$(mktemp -d -p "$net" published.XXXXXX)
local=$(mktemp -d -p "$local" published.XXXXXX)
trap 'rm -rf "$net" "$local"' EXIT
trap 'exit 130' INT TERM
csv=$top/build/bench/published.csv
mkdir -p "${csv%/*}"
echo 'benchmark,direction,tool,round,seconds,files_per_second' >"$csv"

caches='kept (no right to drop them)'
if [ -w /proc/sys/vm/drop_caches ]; then caches='dropped before each run'; fi

# timed DIRECTION TOOL COMMAND...
timed() {
	local direction=$1 tool=$2 start end
	shift 2
	sync -f "$net" "$local"
	case $caches in dropped*) echo 3 >/proc/sys/vm/drop_caches ;; esac
	start=$EPOCHREALTIME
	"$@"
	end=$EPOCHREALTIME
	awk "BEGIN { s = $end - $start; printf \"%s,%s,%s,%d,%.3f,%.1f\n\", \"$name\", \"$direction\", \"$tool\", $round, s, $files / s }" >>"$csv"
}

scaled() {
	awk "BEGIN { printf \"%d\", $1 * $2 / 100 }"
}

# Fewer files are in fewer directories, lest these should be all the work: one for each 100, from 20 to all 1,000.
classes() {
	awk "BEGIN { n = int($files / 100); print (n < 20) ? 20 : (n > 1000) ? 1000 : n }"
}

# What people do where cp -r is too slow: many cp or rm at once; rsync by GNU parallel.
xargs_copy() {
	mkdir "$2"
	find "$1" -mindepth 1 -maxdepth 1 -print0 | xargs -0 -P "$jobs" -n "$each" cp -r -t "$2"
}

xargs_remove() {
	find "$1" -type f -print0 | xargs -0 -P "$jobs" -n 32 rm -f
	rm -rf "$1"
}

parallel_copy() {
	mkdir "$2"
	(cd "$1" && find . -type f -print0 | parallel --will-cite -0 -j "$jobs" rsync -aR '{}' "$2/")
}

# copies DIRECTION FROM TO: by each tool; the last one is left there.
copies() {
	local to=$3
	timed "$1" 'cp -r' cp -r "$2" "$to"
	rm -rf "$to"
	timed "$1" "xargs -P$jobs cp" xargs_copy "$2" "$to"
	rm -rf "$to"
	if [ "$name" = efs ] && command -v parallel >/dev/null && command -v rsync >/dev/null; then
		timed "$1" "parallel -j$jobs rsync" parallel_copy "$2" "$to"
		rm -rf "$to"
	fi
	timed "$1" "pcp -r -j$jobs" "$pcp" -r "-j$jobs" "$2" "$to"
	rm -rf "$to"
	timed "$1" 'pcp -r' "$pcp" -r "$2" "$to"
}

# removals DIRECTION DIR: of a tree that is there, and is made again for each tool from the local one.
removals() {
	timed "$1" 'rm -rf' rm -rf "$2"
	"$pcp" -r "$local/tree" "$2"
	timed "$1" "xargs -P$jobs rm" xargs_remove "$2"
	"$pcp" -r "$local/tree" "$2"
	timed "$1" "prm -rf -j$jobs" "$prm" -rf "-j$jobs" "$2"
	"$pcp" -r "$local/tree" "$2"
	timed "$1" 'prm -rf' "$prm" -rf "$2"
}

# Medians, and how many times as fast as the first tool of the same direction.
show() {
	awk -F, -v name="$name" '
		$1 == name {
			if (!(($2, $3) in count)) order[++rows] = $2 SUBSEP $3
			n = ++count[$2, $3]
			for (i = n; i > 1 && value[$2, $3, i - 1] > $5 + 0; i--)
				value[$2, $3, i] = value[$2, $3, i - 1]
			value[$2, $3, i] = $5 + 0
			rate[$2, $3] = $5 * $6
		}
		END {
			for (r = 1; r <= rows; r++) {
				split(order[r], key, SUBSEP)
				n = count[order[r]]
				median = value[order[r], int((n + 1) / 2)]
				if (key[1] != last) { base = median; print "" }
				last = key[1]
				printf "%-16s %-22s %9.2f s  (%.2f-%.2f) %10.0f files/s %7.2fx\n", key[1], key[2], median,
					value[order[r], 1], value[order[r], n], rate[order[r]] / median, base / median
			}
		}' "$csv"
}

printf '# %s, %s processors, load %s; %s rounds; caches %s\n' "$(uname -srm)" "$(nproc)" \
	"$(cut -d ' ' -f 1 /proc/loadavg)" "$rounds" "$caches"
printf '# network: %s\n' "$(findmnt -n -o FSTYPE,SOURCE,OPTIONS -T "$net" | tail -n 1 | tr -s ' ')"
printf '# local: %s\n' "$(findmnt -n -o FSTYPE,SOURCE,OPTIONS -T "$local" | tail -n 1 | tr -s ' ')"
for name; do
	case $name in
	imagenet) files=$(scaled 1281167 "${scale:-1}") each=1 shape=(--dirs="$(classes)") ;;
	efs) files=$(scaled 10000 "${scale:-100}") each=32 shape=(--shape=flat) ;;
	*) usage ;;
	esac
	made=$("$fsbench" dataset "${shape[@]}" --files="$files" "$local/tree")
	printf '\n# %s (%s): %s' "$name" "${shape[*]}" "${made%%, in *}"
	for ((round = 1; round <= rounds; round++)); do
		copies 'local to net' "$local/tree" "$net/tree"
		if [ "$name" = imagenet ]; then
			copies 'net to net' "$net/tree" "$net/copy"
			rm -rf "$net/copy"
			copies 'net to local' "$net/tree" "$local/copy"
			rm -rf "$local/copy"
		fi
		removals 'removal' "$net/tree"
	done
	show
	rm -rf "$local/tree"
done
