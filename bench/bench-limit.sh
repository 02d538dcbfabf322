#!/usr/bin/env bash
# bench-limit.sh - how near pcp and prm come to what a file system gives: fsbench's files per second at each number of
# threads, next to those of pcp, cp, prm and rm on as many files of the same size in as many directories.
#
#   bench-limit.sh [-d DIR] [-r ROUNDS] [-j LIST] [-f FILES] [-n DIRS] [-z SIZE]
#
#   -d DIR     where to work (default: $BENCH_DIR or /dev/shm); a directory is made there and removed again
#   -r ROUNDS  how often each is run, in turn, so that what disturbs one disturbs all (default 5)
#   -j LIST    numbers of workers (default 1,2,4,8,16)
#   -f FILES, -n DIRS, -z SIZE   how many files (10000) in how many directories (100), of which size (4K)
#
# What the file system gives to a copy is what it gives if each file is read once and written once, and nothing else:
# 1 / (1/read + 1/write). The table has the best round of fsbench and the median of the others, and in parentheses
# their slowest and fastest. Prints a table and leaves build/bench/limit.csv, the runs one by one in limit-raw.csv, and,
# where there is gnuplot, pictures: files-per-second.svg, ratio-to-cp.svg, percent-of-limit.svg.
set -eu -o pipefail
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$top/build/bench
fsbench=$out/fsbench pcp=$top/bin/pcp prm=$top/bin/prm
dir=${BENCH_DIR:-/dev/shm} rounds=5 workers=1,2,4,8,16 files=10000 dirs=100 size=4K
while getopts d:r:j:f:n:z:h opt; do
	case $opt in
	d) dir=$OPTARG ;;
	r) rounds=$OPTARG ;;
	j) workers=$OPTARG ;;
	f) files=$OPTARG ;;
	n) dirs=$OPTARG ;;
	z) size=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac
done

work=$(mktemp -d -p "$dir" limit.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$out"
raw=$out/limit-raw.csv csv=$out/limit.csv

# What is remembered between runs: the same for the commands as fsbench does it for itself.
fstype=$(findmnt -n -o FSTYPE -T "$work" | tail -n 1)
caches='names and attributes kept, data too where nobody evicts it (no right to drop caches)'
if [ "$fstype" = tmpfs ]; then
	caches='kept: the files are in memory'
elif [ -w /proc/sys/vm/drop_caches ]; then
	caches='dropped before each copy and each read, not before removals'
fi

drop_caches() {
	sync -f "$work"
	case $caches in dropped*) echo 3 >/proc/sys/vm/drop_caches ;; esac
}

# note PROGRAM WORKERS FILES_PER_SECOND: one line of the raw results.
note() {
	echo "$round,$1,$2,$3" >>"$raw"
}

# timed PROGRAM WORKERS COMMAND...: files per second of a command, as the user sees it.
timed() {
	local program=$1 w=$2 start end
	shift 2
	start=$EPOCHREALTIME
	"$@"
	end=$EPOCHREALTIME
	note "$program" "$w" "$(awk "BEGIN { printf \"%.1f\", $files / ($end - $start) }")"
}

# run_fsbench WORKERS: its limits for a copy and for a removal.
run_fsbench() {
	local said
	said=$("$fsbench" bench --root-path="$work" --threads="$1" --files="$files" --dirs="$dirs" --size="$size" \
		--block-size=1M --per-thread-mount)
	awk -v round="$round" -v w="$1" '
		{ for (i = 2; i <= NF; i++) if ($i == "files/s") rate[$1] = $(i - 1) }
		/Final Report/ { exit }
		END {
			printf "%d,limit-copy,%s,%.1f\n", round, w, 1 / (1 / rate["Write:"] + 1 / rate["Read:"])
			printf "%d,limit-remove,%s,%.1f\n", round, w, rate["Unlink:"]
		}' <<<"$said" >>"$raw"
}

# run_pair COPIER REMOVER WORKERS: a copy and its removal; without -j where WORKERS is no number.
run_pair() {
	local copy=$1 remove=$2 w=$3 flag=()
	case $w in [0-9]*) flag=(-j "$w") ;; esac
	drop_caches
	timed "${copy##*/}" "$w" "$copy" -r "${flag[@]}" "$work/src" "$work/dst"
	timed "${remove##*/}" "$w" "$remove" -rf "${flag[@]}" "$work/dst"
}

# A line of limit.csv for each number of workers.
summarize() {
	awk -F, -v workers="$workers,auto" '
		{ n = ++count[$2, $3]; value[$2, $3, n] = $4 }
		function sorted(p, w,   n, i, j, t) {
			n = count[p, w]
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && value[p, w, j] + 0 < value[p, w, j - 1] + 0; j--) {
					t = value[p, w, j]; value[p, w, j] = value[p, w, j - 1]; value[p, w, j - 1] = t
				}
			return n
		}
		function at(p, w, share,   n) {
			n = sorted(p, w)
			return n ? value[p, w, int((n - 1) * share + 1.5 - (share == 0 || share == 1) * 0.5)] : 0
		}
		function half(ours, gnu, limit, w,   best, median) {
			best = at(limit, w, 1); median = at(ours, w, 0.5)
			return sprintf("%.0f,%.0f,%.0f,%.0f,%.0f,%s,%.2f", best, median, at(ours, w, 0), at(ours, w, 1),
				at(gnu, "gnu", 0.5), best ? sprintf("%.1f", 100 * median / best) : "", median / at(gnu, "gnu", 0.5))
		}
		END {
			print "workers,copy_limit,pcp,pcp_min,pcp_max,cp,pcp_percent,pcp_times_cp," \
				"remove_limit,prm,prm_min,prm_max,rm,prm_percent,prm_times_rm"
			n = split(workers, list, ",")
			for (i = 1; i <= n; i++)
				print list[i] "," half("pcp", "cp", "limit-copy", list[i]) "," \
					half("prm", "rm", "limit-remove", list[i])
		}' "$raw" >"$csv"
}

# The table, and what it comes to.
show() {
	awk -F, '
		function half(i) {
			return sprintf("%9s %9s %17s %6s %7s", $i == 0 ? "-" : $i, $(i + 1),
				"(" $(i + 2) "-" $(i + 3) ")", $(i + 5) == "" ? "-" : int($(i + 5) + 0.5) "%", $(i + 6) "x")
		}
		function best(name, from,   i) { if ($from > top[name]) top[name] = $from }
		NR == 1 {
			printf "%7s |%9s %9s %17s %6s %7s |%9s %9s %17s %6s %7s\n", "workers", "fsbench", "pcp -r", "",
				"of it", "of cp", "fsbench", "prm -rf", "", "of it", "of rm"
			next
		}
		{
			printf "%7s |%s |%s\n", $1, half(2), half(9)
			best("copy_limit", 2); best("pcp", 3); best("remove_limit", 9); best("prm", 10)
			cp = $6; rm = $13; auto_pcp = $3; auto_prm = $10
		}
		function sentence(program, limit, auto, gnu, value) {
			printf "%s reaches %.0f%% of what this file system gives (%d of %d files/s); without -j %.0f%%. %s: %d files/s, %.0f%%.\n",
				program, 100 * top[program] / top[limit], top[program], top[limit],
				100 * auto / top[limit], gnu, value, 100 * value / top[limit]
		}
		END {
			sentence("pcp", "copy_limit", auto_pcp, "cp", cp)
			sentence("prm", "remove_limit", auto_prm, "rm", rm)
		}' "$csv"
}

describe() {
	local model
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
	printf '# %s, %s processors%s, load %s\n' "$(uname -srm)" "$(nproc)" "${model:+ ($model)}" \
		"$(cut -d ' ' -f 1 /proc/loadavg)"
	printf '# %s on %s\n' "$(findmnt -n -o FSTYPE,SOURCE,OPTIONS -T "$work" | tail -n 1 | tr -s ' ')" "$dir"
	printf '# %s files of %s in %s directories, %s rounds; caches %s\n' "$files" "$size" "$dirs" "$rounds" "$caches"
}

describe
echo 'round,program,workers,files_per_second' >"$raw"
"$fsbench" dataset --dirs="$dirs" --files="$files" --size="$size" --jitter=0 "$work/src" >/dev/null
for ((round = 1; round <= rounds; round++)); do
	for w in ${workers//,/ }; do
		run_fsbench "$w"
		run_pair "$pcp" "$prm" "$w"
	done
	run_pair "$pcp" "$prm" auto
	run_pair cp rm gnu
done
summarize
show
if command -v gnuplot >/dev/null; then
	gnuplot -e "csv='$csv'; dir='$out'; what='$files files of $size in $dirs directories, $fstype'" "$top/bench/limit.gp"
	echo "Pictures: build/bench/files-per-second.svg, ratio-to-cp.svg, percent-of-limit.svg"
else
	echo 'No pictures: there is no gnuplot here (make deps installs it).'
fi
