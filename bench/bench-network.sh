#!/usr/bin/env bash
# How fast trees are copied and removed on a slow file system, by pcp and prm and by what people use
# now, next to what the delays allow at best. bench/README.md says what the numbers mean.
#
# Everything runs on latencyfs, mounted anew (so with cold caches) for each measurement.
set -u -o pipefail
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/latencyfs.sh
. "$top/bench/latencyfs.sh"
gentree=$top/build/tests/gentree
PCP=${PCP:-$top/bin/pcp}
PRM=${PRM:-$top/bin/prm}

# In a mount namespace of our own: a mount that another's namespace holds on to outlives its umount.
if [ "$(id -u)" = 0 ] && [ -z "${PRIVATE_MOUNTS:-}" ]; then
	PRIVATE_MOUNTS=1 exec unshare -m --propagation private "$0" "$@"
fi

workloads=many,node,flat,imagenet,big,mix
delays=500,1000,5000
jobs=20,64,auto
sides=both,read,write,remove
tools=ours,gnu,xargs,parallel
scale=10
baseline=100
data=2000
fs_options=()
dir=/dev/shm
csv=

usage() {
	cat <<-END
		Usage: bench/bench-network.sh [options]
		  --workloads=LIST  of $workloads
		  --delays=LIST     microseconds an operation takes ($delays)
		  --jobs=LIST       of numbers of workers, and auto: no -j ($jobs)
		  --sides=LIST      of $sides: what is on the slow file system
		  --tools=LIST      of $tools ('gnu' is cp and rm; the ratios need it)
		  --scale=PCT       per cent of the full size of each workload ($scale)
		  --baseline=PCT    run cp and rm on only so much of the tree, and multiply ($baseline)
		  --data=US         microseconds more for each MiB of data ($data)
		  --fs=OPTION       a further option of latencyfs (may be repeated)
		  --realtime        run all of it with a real-time priority: for a machine that has other work
		  --dir=DIR         where trees and mounts are made ($dir)
		  --csv=FILE        instead of build/bench/network-TIME.csv
		  --quick           about a minute: two workloads at a tenth, 1 ms, 20 workers, no slow tools
	END
}

for arg; do
	case $arg in
	--workloads=*) workloads=${arg#*=} ;;
	--delays=*) delays=${arg#*=} ;;
	--jobs=*) jobs=${arg#*=} ;;
	--sides=*) sides=${arg#*=} ;;
	--tools=*) tools=${arg#*=} ;;
	--scale=*) scale=${arg#*=} ;;
	--baseline=*) baseline=${arg#*=} ;;
	--data=*) data=${arg#*=} ;;
	--fs=*) fs_options+=("${arg#*=}") ;;
	--realtime) [ -n "${REALTIME:-}" ] || REALTIME=1 exec chrt -r 1 "$0" "$@" ;;
	--dir=*) dir=${arg#*=} ;;
	--csv=*) csv=${arg#*=} ;;
	--quick) workloads=many,node delays=1000 jobs=20,auto sides=both,remove tools=ours,gnu,xargs scale=10 ;;
	--help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done

if ! lat_usable || [ ! -x "$gentree" ]; then
	echo "bench-network: needs build/bench/latencyfs, build/tests/gentree (make bench-build tests-build) and /dev/fuse" >&2
	exit 1
fi
mkdir -p "$top/build/bench"
csv=${csv:-$top/build/bench/network-$(date +%Y%m%d-%H%M%S).csv}

work=$(mktemp -d "$dir/bench-network.XXXXXX") || exit 1
back=$work/back mount=$work/mount local=$work/local
mkdir "$back" "$mount" "$local"
cleanup() {
	cd /
	mountpoint -q "$mount" && umount "$mount"
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

has() {
	[[ ",$1," == *",$2,"* ]]
}

calc() {
	awk "BEGIN { printf \"%$1\", $2 }"
}

# scaled N: N at the scale asked for, at least 1.
scaled() {
	echo $((($1 * scale + 99) / 100))
}

# --- Workloads ---

# make_tree WORKLOAD DIR
make_tree() {
	local d
	case $1 in
	many) "$gentree" grid dirs="$(scaled 200)" files=50 size=4K "$2" ;;
	node) "$gentree" nodemodules packages="$(scaled 200)" files=8 levels=7 size=100-8K "$2" ;;
	flat) "$gentree" flat files="$(scaled 10000)" size=64K "$2" ;;
	# (ImageNet: a thousand directories of 1,300 files; a hundredth of the files here.)
	imagenet) "$gentree" grid dirs="$(scaled 1000)" files=13 size=60K-140K "$2" ;;
	big) "$gentree" big size="$(scaled 2048)M" "$2" ;;
	# One file in a hundred, in a directory of each hundred, with nine tenths of the bytes.
	mix)
		"$gentree" grid dirs="$(scaled 100)" files=99 size=4K "$2" || return
		for d in "$2"/*/; do
			"$gentree" big size=3564K "$d" || return
		done
		;;
	*) echo "bench-network: no such workload: $1" >&2; return 1 ;;
	esac
}

# measure_tree DIR: sets what the limits are computed from.
measure_tree() {
	read -r files dirs mib reads writes depth widest < <(find "$1" -printf '%y %s %d %h\n' | awk '
		$1 == "d" { dirs++ }
		$1 == "f" {
			files++; bytes += $2
			reads += int(($2 + 131071) / 131072); writes += int(($2 + 1048575) / 1048576)
			if (++in_dir[$4] > widest) widest = in_dir[$4]
		}
		$3 > depth { depth = $3 }
		END { print files, dirs, bytes / 1048576, reads, writes, depth, widest }')
}

# limit_seconds SIDE DELAY_US WORKERS: what no program can beat, see "The limit" in README.md.
limit_seconds() {
	local ops lock chain bytes=$mib check=1 ask=1
	# With these the kernel needs no attributes of the directory that it changes, or knows the
	# names that it listed.
	case " ${fs_options[*]} " in *' --no-permissions '*) check=0 ;; esac
	case " ${fs_options[*]} " in *' --readdirplus'*) ask=0 ;; esac
	case $1 in
	# lookup open read flush; of a directory lookup opendir, readdir twice
	read) ops="$files * (2 + $ask) + $reads + $dirs * (3 + $ask)" lock=0 chain=4 ;;
	# lookup getattr create write flush; lookup getattr mkdir
	write) ops="$files * (3 + $check) + $writes + $dirs * (2 + $check)" lock=$((2 + check)) chain=3 ;;
	# lookup open, lookup getattr create, copy_file_range, flush twice; both kinds of directory
	both) ops="($files * 6 + $dirs * 5) + ($files + $dirs) * ($check + $ask)" lock=$((2 + check)) chain=6 ;;
	# lookup getattr unlink; lookup opendir, readdir twice, getattr rmdir
	remove)
		ops="$files + $dirs * 4 + ($files + $dirs) * ($check + $ask)"
		lock=$((1 + check)) chain=6 bytes=0
		;;
	esac
	awk "BEGIN {
		limit = (($ops) * $2 + $bytes * $data) / $3
		if ($widest * $lock * $2 > limit) limit = $widest * $lock * $2
		if ($depth * $chain * $2 > limit) limit = $depth * $chain * $2
		print limit / 1e6
	}"
}

# --- Tools: each a function of the number of workers, run in $from's parent, from `tree` to $to ---

jflag() {
	[ "$1" = auto ] || echo "-j$1"
}

run_copy() {
	local tool=$1 j=$2 each=1 flag
	flag=$(jflag "$j")
	[ "$workload" != flat ] || each=32
	case $tool in
	ours) "$PCP" -r ${flag:+"$flag"} "$from" "$to" ;;
	gnu) cp -r "$from" "$to" ;;
	xargs)
		mkdir "$to" &&
			find "$from" -mindepth 1 -maxdepth 1 -print0 | xargs -0 -P "$j" -n "$each" cp -r -t "$to"
		;;
	# The way that users of Amazon's EFS are told to.
	parallel)
		mkdir "$to" && cd "$from" &&
			find . -type f -print0 | parallel --will-cite -0 -j "$j" rsync -aR '{}' "$to/"
		;;
	esac
}

run_remove() {
	local tool=$1 j=$2 flag
	flag=$(jflag "$j")
	case $tool in
	ours) "$PRM" -rf ${flag:+"$flag"} "$to" ;;
	gnu) rm -rf "$to" ;;
	xargs) find "$to" -type f -print0 | xargs -0 -P "$j" -n 32 rm -f && rm -rf "$to" ;;
	parallel) find "$to" -type f -print0 | parallel --will-cite -0 -j "$j" rm -f '{}' && rm -rf "$to" ;;
	esac
}

name_of() {
	case $1.$2 in
	ours.remove) echo prm ;;
	ours.*) echo pcp ;;
	gnu.remove) echo rm ;;
	gnu.*) echo cp ;;
	parallel.remove) echo parallel-rm ;;
	parallel.*) echo parallel-rsync ;;
	xargs.remove) echo xargs-rm ;;
	xargs.*) echo xargs-cp ;;
	esac
}

listing() {
	(cd "$1" && find . -type f -printf '%P %s\n' | sort)
}

complain() {
	echo "bench-network: $(name_of "$tool" "$side"): $1" >&2
	return 1
}

# --- One measurement ---

# The part of the tree that cp and rm do with --baseline: some of the entries at its top.
make_baseline() {
	local kept
	[ "$baseline" != 100 ] || return 0
	kept=$(($(find "$local/tree" -mindepth 1 -maxdepth 1 | wc -l) * baseline / 100))
	mkdir "$local/part"
	find "$local/tree" -mindepth 1 -maxdepth 1 -print0 | sort -z | head -z -n "$((kept > 0 ? kept : 1))" |
		xargs -0 cp -rl -t "$local/part"
}

# measure TOOL J: sets seconds, ops, mean, max, service, per_file; fails where the result is wrong.
measure() {
	local tool=$1 j=$2 tree=tree start end wanted status copied
	if [ "$tool" = gnu ] && [ "$baseline" != 100 ]; then tree=part; fi
	rm -rf --one-file-system "${back:?}"/* "$local/to"
	case $side in
	both) cp -rl "$local/$tree" "$back/from" && from=$mount/from to=$mount/to copied=$back/to ;;
	read) cp -rl "$local/$tree" "$back/from" && from=$mount/from to=$local/to copied=$local/to ;;
	write) from=$local/$tree to=$mount/to copied=$back/to ;;
	remove) cp -rl "$local/$tree" "$back/to" && to=$mount/to copied=$back/to ;;
	esac || return
	lat_mount "$back" "$mount" --meta-us="$delay" --data-us-per-mib="$data" "${fs_options[@]}" &&
		lat_reset "$mount" || complain 'cannot mount' || return
	start=$EPOCHREALTIME
	if [ "$side" = remove ]; then (run_remove "$tool" "$j"); else (run_copy "$tool" "$j"); fi
	status=$?
	end=$EPOCHREALTIME
	lat_umount "$mount" || complain 'cannot unmount' || return
	seconds=$(calc .3f "$end - $start")
	ops=$(lat_value "$mount" ops_total)
	mean=$(lat_value "$mount" in_flight_mean)
	max=$(lat_value "$mount" in_flight_max)
	service=$(lat_value "$mount" service_us_mean)
	wanted=$(find "$local/$tree" -type f | wc -l)
	per_file=$(calc .2f "$ops / $wanted")
	if [ "$tree" = part ]; then
		seconds=$(calc .3f "$seconds * $files / $wanted")
		ops=$(calc d "$ops * $files / $wanted")
	fi
	if [ "$status" != 0 ]; then
		complain "status $status"
	elif [ "$side" = remove ]; then
		[ ! -e "$copied" ] || complain 'something is left'
	else
		cmp -s <(listing "$local/$tree") <(listing "$copied") || complain 'the copy differs'
	fi
}

# row TOOL J: measure and print. Sets base for cp and rm, best for the fastest -j of ours.
row() {
	local tool=$1 j=$2 name limit_s=- speedup=- of_limit=- of_best=-
	name=$(name_of "$tool" "$side")
	if ! measure "$tool" "$j"; then
		printf '%-9s %-6s %5s  %-14s %4s  FAILED\n' "$workload" "$side" "$delay" "$name" "$j"
		failures=$((failures + 1))
		return
	fi
	if [ "$tool" = gnu ]; then base=$seconds; fi
	if [ -n "$base" ]; then speedup=$(calc .2f "$base / $seconds"); fi
	if [ "$j" != auto ]; then
		limit_s=$(limit_seconds "$side" "$delay" "$j")
		of_limit=$(calc .2f "$limit_s / $seconds")
	fi
	if [ "$tool" = ours ] && [ "$j" != auto ]; then
		if [ -z "$best" ] || [ "$(calc d "$seconds < $best")" = 1 ]; then best=$seconds; fi
	elif [ "$tool" = ours ] && [ -n "$best" ]; then
		of_best=$(calc .2f "$best / $seconds")
	fi
	printf '%-9s %-6s %5s  %-14s %4s  %9s %7s %7s %8s %8s %8s\n' "$workload" "$side" "$delay" "$name" "$j" \
		"$([ "$tool" = gnu ] && [ "$baseline" != 100 ] && echo '~')$seconds" "$per_file" "$mean" "$speedup" \
		"$of_limit" "$of_best"
	echo "$workload,$scale,$side,$delay,$data,$name,$j,$seconds,$files,$dirs,$mib,$ops,$per_file,$mean,$max,$service,$speedup,$limit_s,$of_limit,$of_best" >>"$csv"
}

# --- All of them ---

failures=0
echo "# $(nproc) processors, $(uname -sr), $(cp --version | head -n 1), scale $scale%, data ${data} us/MiB" \
	"${fs_options[*]}"
printf '%-9s %-6s %5s  %-14s %4s  %9s %7s %7s %8s %8s %8s\n' \
	workload side us tool j seconds ops/f inflight 'x gnu' 'of limit' 'of best'
echo workload,scale,side,delay_us,data_us_per_mib,tool,j,seconds,files,dirs,mib,ops,ops_per_file,in_flight_mean,in_flight_max,service_us_mean,times_gnu,limit_seconds,of_limit,of_best >"$csv"

for workload in ${workloads//,/ }; do
	rm -rf --one-file-system "$local/tree" "$local/part"
	make_tree "$workload" "$local/tree" && measure_tree "$local/tree" && make_baseline || exit 1
	for side in ${sides//,/ }; do
		# There is nothing in removing one file.
		if [ "$workload.$side" = big.remove ]; then continue; fi
		for delay in ${delays//,/ }; do
			base='' best=''
			if has "$tools" gnu; then row gnu 1; fi
			for j in ${jobs//,/ }; do
				if has "$tools" ours; then row ours "$j"; fi
				for tool in xargs parallel; do
					if [ "$j" != auto ] && [ "$workload" != big ] && has "$tools" "$tool"; then row "$tool" "$j"; fi
				done
			done
		done
	done
done
echo "# written to $csv"
[ "$failures" = 0 ]
