#!/usr/bin/env bash
# fsbench, the benchmark of bench/: options and sizes, the report and the JSON, errors, interruption, where files go;
# the trees of `fsbench dataset`. All small and in memory: what it measures is not looked at. (The back end for CephFS
# has a test of its own that needs a cluster: make check-cephfs.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
private_mounts "$@"
tmpdir tmpfs

fsbench=${FSBENCH:-$top/build/bench/fsbench}
if [ ! -x "$fsbench" ]; then
	missing fsbench build/bench/fsbench
	done_testing
fi
ln -s "$fsbench" "$tmp/bin/fsbench"

# bench OPTION...: on the case's directory.
bench() {
	run fsbench bench --root-path="$PWD" "$@"
}

# usage_error TEXT ARGUMENT...: status 2 and this first line.
usage_error() {
	local text=$1
	shift
	run fsbench "$@"
	status 2 "status of fsbench $*"
	is "$(head -n 1 "$err")" "fsbench: $text" "message of fsbench $*"
}

# json FILE EXPRESSION: of Python, about the value j.
json() {
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# --- Options ---

options() {
	run fsbench --help
	status 0 '--help'
	is "$(awk 'length > 80' "$out")" '' '--help is not wider than a terminal'
	run fsbench bench -h
	status 0 'bench -h'
	usage_error 'a command is wanted: bench or dataset'
	usage_error "no such command: 'frob'" frob
	usage_error "unrecognized option '--frob'" bench --frob
	usage_error "unrecognized option '--threads=3'" --threads=3 bench
	usage_error "extra operand 'x'" bench x
	usage_error "--size: not a size such as 4096, 64K or 4MB: '4XB'" bench --size=4XB
	usage_error "--threads: not a number from 1 to 4096: '0'" bench --threads=0
	usage_error "--dirs: not a number from 1 to 1000000: '1K'" bench --dirs=1K
	usage_error '--block-size: must be more than 0' bench --block-size=0
	usage_error "--prefix: has a slash in it or is too long: 'a/b'" bench --prefix=a/b
	usage_error "--backend: neither posix nor cephfs: 'nfs'" bench --backend=nfs
	usage_error 'options for a Ceph cluster need --backend=cephfs' -c ceph.conf bench
	usage_error '--uid, --gid: need --backend=cephfs; else run fsbench as that user' --uid=5 bench
	usage_error '--perf-dump: needs --backend=cephfs; the kernel keeps no such counters' bench --perf-dump=x
	usage_error 'one operand is wanted: the directory to make' dataset
	usage_error "--shape: no such shape: 'round'" dataset --shape=round d
	usage_error '--depth=0 is one directory: --dirs must be 1' dataset --dirs=2 --depth=0 d
	is "$(ls -A)" '' 'nothing was made'
}
run_once options

# The same options in --help and in the manual page.
manual() {
	local page=$top/man/fsbench.1
	fsbench --help | grep -oE '^ +(-.*|)' | sed 's/  [^ -].*//' | grep -oE -- '--?[a-z][-a-z]*' | sort -u >in-help
	mandoc -T ascii -O width=900 "$page" | col -b | sed -n '/^OPTIONS/,/^SHAPES/s/^ *\(-.*\)/\1/p' |
		grep -oE -- '--?[a-z][-a-z]*' | sort -u >in-page
	ok '--help lists options' grep -qx -- --per-thread-mount in-help
	is "$(comm -23 in-help in-page)" '' 'every option of --help is in the manual page'
	is "$(comm -13 in-help in-page)" '' 'every option of the manual page is in --help'
	is "$(mandoc -T lint -W warning "$page")" '' 'mandoc finds no fault'
}
need_command 'the manual page' mandoc && run_once manual

sizes() {
	local size
	for size in 4MB:4000000 4M:4194304 4MiB:4194304 10kb:10000 7:7; do
		bench --files=1 --size="${size%:*}"
		is "$(sed -n 's/.*Size: //p' "$out" | head -n 1)" "${size#*:}" "--size=${size%:*}"
	done
	bench --files=1
	is "$(sed -n '2,4p' "$out")" "  Threads: 1 | Iterations: 1
  Files: 1 | Size: 4000000
  Directories: 1 | Block Size: 4000000 | Fsync Every: 0" 'the defaults'
}
run_once sizes

# --- What it does ---

report() {
	bench --threads=3 --files=50 --size=10K --block-size=4K --dirs=2 --iterations=2 --fsync-every=8K \
		--json=json --dir-prefix=here_
	status 0 'a run'
	quiet 'without a word on standard error'
	is "$(ls -A)" json 'leaves nothing'
	is "$(grep -c '^--- Iteration [12] of 2 ---$' "$out")" 2 'two iterations'
	is "$(grep -cE '^  (Write|Read): +[0-9.]+ MiB/s, [0-9.]+ files/s \([0-9.]+s\)$' "$out")" 4 'lines of phases with bytes'
	is "$(grep -cE '^  (Stat|Unlink): +[0-9.]+ files/s \([0-9.]+s\)$' "$out")" 4 'lines of phases without'
	is "$(grep -E ' Statistics ' "$out")" 'Write Throughput Statistics (2 runs):
Read Throughput Statistics (2 runs):
File Creates Statistics (2 runs):
File Reads (Opens) Statistics (2 runs):
File Stats Statistics (2 runs):
File Unlinks Statistics (2 runs):' 'the final report'
	is "$(grep -cE '^  (Mean|Std Dev|Min|Max): +[0-9.]+ (MiB|files)/s$' "$out")" 24 'with four figures each'
	is "$(awk '/^Latency/ { on = 1; next } on && NF == 7 && $1 != "Call" { print $1, $2 }' "$out")" 'create 100
write 300
fsync 100
close 200
open 100
read 300
stat 100
unlink 100' 'and the latencies of each call'
	like "$(cat "$out")" '  Subdirectory: here_[0-9a-f]{4}
' 'the directory is named'
	need_command 'the JSON' python3 || return
	is "$(json json 'j["complete"], len(j["iterations"]), j["caches"], j["config"]["dirs"]')" \
		"(True, 2, 'kept', 2)" 'the JSON is one'
	is "$(json json '[(p, i["files"], i["bytes"]) for p, i in sorted(j["iterations"][1].items())]')" \
		"[('read', 50, 512000), ('stat', 50, 0), ('unlink', 50, 0), ('write', 50, 512000)]" 'with the phases'
	is "$(json json 'sorted(j["statistics"]) == sorted(["write_throughput", "read_throughput", "file_creates", "file_reads",
		"file_stats", "file_unlinks"]) and all(s["min"] <= s["mean"] <= s["max"] for s in j["statistics"].values())')" \
		True 'the statistics'
	is "$(json json 'all(l["p50"] <= l["p90"] <= l["p99"] <= l["p99.9"] <= l["max"] for l in j["latency_us"].values())')" \
		True 'and the percentiles'
}
run_once report

json_to_stdout() {
	mkdir $'odd "name"\n\xff\xc3\xa4'
	cd ./odd* || return
	run fsbench bench --root-path="$PWD" --files=2 --size=0 --json=-
	status 0 '--json=-'
	need_command 'the JSON' python3 || return
	is "$(json "$out" 'j["config"]["root_path"].encode()[-12:]')" \
		"$(python3 -c 'print("\"name\"\n\ufffdä".encode())')" 'only JSON on standard output, odd names in it'
	like "$(cat "$err")" 'Final Report' 'and the report on standard error'
	is "$(grep -c Throughput "$err")" 0 'which has no throughput if the size is 0'
	is "$(json "$out" 'sorted(j["statistics"])')" "['file_creates', 'file_reads', 'file_stats', 'file_unlinks']" \
		'nor has the JSON'
}
run_once json_to_stdout

spread() {
	bench --threads=3 --files=20 --size=3 --dirs=4 --no-cleanup --prefix=p-
	status 0 '--no-cleanup'
	is "$(cd bench_run_* && find . -type f | sort -V)" "$(for i in {0..19}; do echo "./dir_$((i % 4))/p-1_$i"; done | sort -V)" \
		'--dirs spreads the files evenly'
	is "$(find bench_run_* -type f -size 3c | wc -l)" 20 'all of the size asked for'
	is "$(grep -c Unlink "$out")" 0 'nothing is said of unlinking'
	rm -r bench_run_*
	bench --files=4 --size=1 --no-cleanup --iterations=2
	is "$(cd bench_run_* && echo ./*)" "$(echo ./benchmark_{1,2}_{0..3})" 'one directory holds all of them by default'
	bench --files=4 --size=1 --per-thread-mount --threads=8
	status 0 'more threads than files, --per-thread-mount'
}
run_once spread

duration() {
	# (Each open takes its time, lest a second should be a million files.)
	run_faulty 'openat:delay=5:path=benchmark_*' fsbench bench --root-path="$PWD" --files=10000000 --size=0 \
		--duration=1 --threads=2 --json=json
	status 0 '--duration'
	need_command 'the JSON' python3 || return
	is "$(json json '0.9 < j["iterations"][0]["write"]["seconds"] < 10')" True 'ends a phase'
	is "$(json json '0 < j["iterations"][0]["write"]["files"] == j["iterations"][0]["unlink"]["files"]')" True \
		'and all that was made is removed'
	is "$(ls)" json 'really'
}
run_once duration

# On a disk, by a user who may not drop the machine's caches.
disk() {
	local at
	need_user 'caches on a disk' || return
	at=$(mktemp -d "${TMPDIR:-/tmp}/pfu-test.XXXXXX")
	chmod 777 "$at"
	if [ "$(stat -f -c %T "$at")" = tmpfs ]; then
		skip 'caches on a disk' "no disk below $at"
	else
		run_as_user fsbench bench --root-path="$at" --threads=2 --files=20 --size=10K
		status 0 'on a disk'
		is "$(grep -A 1 'Dropping Caches' "$out" | tail -n 1)" \
			'  Data only: no permission to drop names and attributes' 'what is not dropped is told'
		is "$(ls "$at")" '' 'and nothing is left'
	fi
	rm -rf "$at"
}
run_once disk

# --- What goes wrong ---

errors() {
	bench --root-path=/nowhere
	status 1 'no such root'
	says "fsbench: cannot open the root path '/nowhere': No such file or directory" 'is told'
	bench --json=/nowhere/json
	status 1 'no place for the JSON'
	says "fsbench: cannot open '/nowhere/json' for writing: No such file or directory" 'is told, before anything is done'
	run fsbench bench --root-path="$PWD" --files=5 --size=1 --json=/dev/full
	status 1 'no room for the JSON'
	says "fsbench: cannot write '/dev/full': No space left on device" 'is told'
	{ fsbench bench --root-path="$PWD" --files=5 --size=1 2>"$err"; rc=$?; } >/dev/full
	status 1 'no room for the report'
	need_root 'a full file system' || return
	mkdir full
	mount -t tmpfs -o size=256k none full
	run fsbench bench --root-path="$PWD/full" --threads=4 --files=100 --size=16K --dirs=2 --json=json
	status 1 'a full file system'
	like "$(head -n 1 "$err")" \
		"^fsbench: thread [0-3]: cannot (write|create) '$PWD/full/bench_run_....(/dir_[01])?/benchmark_1_[0-9]+': No space left on device$" \
		'is told with thread, file and reason'
	is "$(ls full)" '' 'and all is cleaned up'
	need_command 'the JSON' python3 && is "$(json json 'j["complete"], j["iterations"]')" '(False, [])' 'the JSON says so'
}
run_once errors

# Each call that can fail, on a file of thread 1.
failing_calls() {
	local fault what
	for fault in openat:EIO:1=create pwrite:EIO:1=write fsync:EIO:1=fsync close:EIO:1=close openat:EIO:2=open \
		pread:EIO:1=read fstatat:EIO:1=stat unlinkat:EIO:1=unlink; do
		what=${fault#*=} fault=${fault%=*}
		# (Once: what could not be unlinked is unlinked in the clean-up.)
		run_faulty "$fault:path=benchmark_1_7" fsbench bench --root-path="$PWD" --files=10 --size=1 \
			--threads=2 --fsync-every=1
		struck "a $what that fails"
		status 1 "$what: the status"
		like "$(head -n 1 "$err")" "^fsbench: thread 1: cannot $what '$PWD/bench_run_..../benchmark_1_7': Input/output error$" \
			"$what: is told with thread, file and reason"
		is "$(ls)" '' "$what: all is cleaned up"
	done
}
run_once failing_calls

# interrupt SIGNAL OPTION...: sent, twice, when it is at work; leaves its status in rc.
interrupt() {
	local signal=$1 pid i
	shift
	# (A shell starts what is in the background with SIGINT ignored, and nohup everything with SIGHUP.)
	env --default-signal LD_PRELOAD="$shim" FAULT='openat:delay=5:path=benchmark_*' fsbench bench \
		--root-path="$PWD" "$@" >"$out" 2>"$err" &
	pid=$!
	for ((i = 0; i < 500; i++)); do
		[ -z "$(find bench_run_* -type f 2>/dev/null)" ] || break
		sleep 0.02
	done
	kill -s "$signal" "$pid" && kill -s "$signal" "$pid"
	wait "$pid"
	rc=$?
}

interrupted() {
	local signal number
	for signal in INT:130 TERM:143 HUP:129; do
		number=${signal#*:} signal=${signal%:*}
		{ interrupt "$signal" --threads=4 --files=10000000 --size=100 --dirs=3 --json=json; } 2>/dev/null
		status "$number" "SIG$signal ends it by that signal"
		is "$(ls)" json 'and all is cleaned up'
		is "$(grep -c 'Final Report' "$out")" 0 'without a report'
		need_command 'the JSON' python3 && is "$(json json 'j["complete"]')" False 'the JSON says so'
		rm json
	done
	fsbench bench --root-path="$PWD" --files=2000 --size=1 --iterations=50 2>"$err" | head -n 1 >/dev/null
	is "${PIPESTATUS[0]}" 1 'a reader of the report that goes away is an error'
	is "$(ls)" '' 'after which all is cleaned up'
}
run_once interrupted

# --- dataset ---

# tree DIR: names, sizes and bytes.
tree() {
	(cd "$1" && find . -printf '%p %y %n\n' | sort && find . -type f | sort | xargs cksum)
}

reproducible() {
	local shape options
	for shape in imagenet flat deep node_modules mixed links holes; do
		options=(--shape="$shape" --files=300 --size=2K)
		case $shape in
		deep) options+=(--depth=50) ;;
		flat) ;;
		*) options+=(--dirs=5) ;;
		esac
		run fsbench dataset "${options[@]}" --threads=1 a
		status 0 "$shape"
		fsbench dataset "${options[@]}" --threads=7 b >/dev/null
		tree a >a.list
		tree b >b.list
		ok "$shape: the same tree with another number of threads" cmp a.list b.list
		is "$(find a -type f | wc -l)" 300 "$shape: as many files as asked for"
		fsbench dataset "${options[@]}" --seed=2 c >/dev/null
		tree c >c.list
		ok "$shape: another tree with another seed" test "$(cksum <a.list)" != "$(cksum <c.list)"
		rm -r a b c
	done
}
run_once reproducible

shapes() {
	fsbench dataset --dirs=20 --files=400 --size=1000 imagenet >/dev/null
	is "$(find imagenet -mindepth 1 -type d | wc -l) $(find imagenet -type f -path '*/n*/n*.JPEG' | wc -l)" '20 400' \
		'imagenet: classes and pictures'
	is "$(find imagenet -type f -printf '%s\n' | awk '{ s += $1; if ($1 < 500 || $1 > 1500) bad++ }
		END { print bad + 0, (s / NR > 950 && s / NR < 1050) }')" '0 1' 'imagenet: sizes vary by half'
	fsbench dataset --shape=flat --files=30 --size=1 flat >/dev/null
	is "$(find flat -mindepth 1 -type f | wc -l) $(find flat -mindepth 1 -type d | wc -l)" '30 0' 'flat'
	fsbench dataset --shape=deep --depth=1500 --files=3000 --size=1 deep >/dev/null
	is "$(find deep -printf '%d\n' | sort -n | tail -n 1)" 1501 'deep: as deep as asked for'
	fsbench dataset --shape=node_modules --dirs=20 --files=300 --size=100 node >/dev/null
	ok 'node_modules: of differing depth' test "$(find node -type d -empty -o -type d -links 2 -printf '%d\n' | sort -u | wc -l)" -gt 1
	ok 'node_modules: what its name says' test -d node/package_0/node_modules
	fsbench dataset --shape=mixed --files=1000 --dirs=10 --size=1000 --jitter=0 mixed >/dev/null
	is "$(find mixed -type f -printf '%s\n' | sort -n | uniq -c | xargs)" '990 101 10 90000' 'mixed: 1% with 90% of the bytes'
}
run_once shapes

links_and_holes() {
	fsbench dataset --shape=links --dirs=2 --files=32 --size=10 links >/dev/null
	is "$(find links -type f -printf '%i\n' | sort -u | wc -l)" 20 'links: 32 names of 20 files'
	is "$(stat -c %i links/dir_0/file_0)" "$(stat -c %i links/dir_0/file_3)" 'links within a directory'
	is "$(stat -c %i links/dir_1/file_5)" "$(stat -c %i links/dir_1/level_1/file_5)" 'and across directories'
	fsbench dataset --shape=holes --dirs=2 --files=6 --size=1M --jitter=0 holes >/dev/null
	is "$(find holes -type f -size 1048576c -printf '%b\n' | awk '$1 > 0 && $1 < 1024 { n++ } END { print n }')" 6 \
		'holes: files that take less than half of their size'
	is "$(for f in holes/*/*; do tail -c 64K "$f" | tr -d '\0' | wc -c; done | sort -u)" 0 'with a hole at the end'
}
run_once links_and_holes

dataset_errors() {
	run fsbench dataset --files=10 --size=10 nowhere/d
	status 1 'no such parent'
	says "fsbench: cannot make the directory 'nowhere/d': No such file or directory" 'is told'
	fsbench dataset --files=10 --dirs=2 --size=10 d >/dev/null
	run fsbench dataset --files=10 --dirs=2 --size=10 --threads=1 d
	status 1 'a tree that is there already'
	says "fsbench: cannot create 'd/n00000000/n00000000_0.JPEG': File exists" 'is not written over'
}
run_once dataset_errors

done_testing
