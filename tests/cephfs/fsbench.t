#!/usr/bin/env bash
# fsbench's back end for CephFS through libcephfs, on a real cluster: that of the configuration CEPH_CONF, whose file
# system may be written to at its root by the client admin. `make check-cephfs` runs this; nothing else does, since a
# cluster is not everywhere.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

fsbench=${FSBENCH:-$top/build/bench/fsbench}
ln -s "$fsbench" "$tmp/bin/fsbench"
if [ -z "${CEPH_CONF:-}" ]; then
	skip 'fsbench on CephFS' 'CEPH_CONF: say which cluster'
	done_testing
fi
if fsbench bench --backend=cephfs --files=0 2>&1 | grep -q 'built without libcephfs'; then
	skip 'fsbench on CephFS' 'libcephfs in this fsbench'
	done_testing
fi
unset CEPH_ARGS

# bench OPTION...
bench() {
	run fsbench "${general[@]}" bench --backend=cephfs "$@"
}

# json FILE EXPRESSION: of Python, about the value j.
json() {
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# General options of the case.
general=()

figures() {
	bench --threads=4 --files=40 --size=64K --block-size=16K --dirs=3 --iterations=2 --fsync-every=32K --json=json
	status 0 'a run'
	quiet 'without a word on standard error'
	is "$(grep -c '^Remounting...$' "$out")" 5 'remounts between the phases'
	is "$(grep -cE '^  (Write|Read|Stat|Unlink): +.*[0-9.]+ files/s \([0-9.]+s\)$' "$out")" 8 'all phases'
	is "$(json json 'j["caches"], [(p, i["files"], i["bytes"]) for p, i in sorted(j["iterations"][1].items())]')" \
		"('remounted', [('read', 40, 2621440), ('stat', 40, 0), ('unlink', 40, 0), ('write', 40, 2621440)])" 'the JSON'
	bench --threads=3 --files=10 --size=0 --per-thread-mount
	status 0 '--per-thread-mount'
}
run_once figures

general_options() {
	general=(-c "$CEPH_CONF" -i admin --client-oc=0 --client-oc-size=1000000)
	(unset CEPH_CONF; bench --files=3 --size=1K --perf-dump=perf; exit "$rc")
	is $? 0 '--conf, --id, --client-oc, --client-oc-size'
	is "$(json perf '[(d["iteration"], d["after"], d["thread"]) for d in j]')" \
		"[(1, 'write', None), (1, 'read', None), (1, 'clean-up', None)]" '--perf-dump has each mount'
	is "$(json perf 'all("objecter" in d["counters"] for d in j)')" True 'with the counters'
	bench --files=4 --size=1K --threads=2 --per-thread-mount --perf-dump=perf
	is "$(json perf 'sorted(d["thread"] for d in j if d["iteration"] == 1 and d["after"] == "write" and d["thread"] is not None)')" \
		'[0, 1]' 'and those of each thread'
	is "$(find /tmp -maxdepth 1 -name 'fsbench-*' -newer "$tmp/bin" | wc -l)" 0 'no socket is left'
	general=(-c /nowhere/ceph.conf)
	bench --files=1
	status 1 'no such configuration'
	like "$(head -n 1 "$err")" "^fsbench: cannot read the configuration \(--conf\) for /: No such file or directory$|'/'" 'is told'
	general=(--filesystem=nosuch)
	bench --files=1 --size=1
	status 1 'no such file system'
	like "$(cat "$err")" "cannot mount '/'" 'is told'
	general=()
	bench --files=1 --size=1 --root-path=/no/such/path
	status 1 'no such path'
	like "$(cat "$err")" "^fsbench: cannot mount '/no/such/path': No such file or directory" 'is told'
}
run_once general_options

# A directory that only its owner may write to: as somebody else nothing can be made in it.
acting_as() {
	general=(--uid=12345 --gid=12345)
	bench --files=3 --size=1
	status 1 'as a user who may not write there'
	like "$(cat "$err")" "^fsbench: cannot make the directory '/bench_run_....': Permission denied" 'is told'
	general=()
}
run_once acting_as

interrupted() {
	general=()
	run timeout --preserve-status -s TERM 3 fsbench bench --backend=cephfs --threads=4 --files=1000000 --size=100 \
		--dir-prefix="interrupted_$$_"
	status 143 'SIGTERM ends it by that signal'
	like "$(cat "$out")" 'Cleaning up...' 'having cleaned up'
	quiet 'without an error'
}
run_once interrupted

done_testing
