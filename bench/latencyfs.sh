# shellcheck shell=bash
#
# Shell functions around latencyfs, for the tests and benchmarks that source this file.
#
#	lat_mount SOURCE MOUNT [OPTION...]	mounts; there is one report for each mount
#	lat_umount MOUNT			unmounts and waits until the report is complete
#	lat_reset MOUNT, lat_report MOUNT	zero the counters; bring the report up to date
#	lat_value MOUNT KEY			a value of the last report
#
# What belongs to the mount $m lies beside it: $m.report and $m.pid.

latencyfs=${LATENCYFS:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/bench/latencyfs}

# lat_usable: can this machine and user mount it at all?
lat_usable() {
	[ -x "$latencyfs" ] && [ -r /dev/fuse ] && [ -w /dev/fuse ]
}

lat_mount() {
	local source=$1 mount=$2
	shift 2
	rm -f "$mount.report" "$mount.pid"
	"$latencyfs" --report="$mount.report" --pidfile="$mount.pid" "$@" "$source" "$mount" || return
	lat_wait "$mount.pid" && mountpoint -q "$mount"
}

# lat_wait FILE: until there is something in it, but no longer than ten seconds.
lat_wait() {
	local i
	for ((i = 0; i < 500; i++)); do
		[ -s "$1" ] && return 0
		sleep 0.02
	done
	return 1
}

lat_umount() {
	local mount=$1
	# (The report of the end is written last of all.)
	rm -f "$mount.report"
	if [ "$(id -u)" = 0 ]; then umount "$mount"; else fusermount3 -u "$mount"; fi || return
	lat_wait "$mount.report"
}

lat_signal() {
	rm -f "$2.report"
	kill -s "$1" "$(cat "$2.pid")" && lat_wait "$2.report"
}

lat_reset() {
	lat_signal USR2 "$1"
}

lat_report() {
	lat_signal USR1 "$1"
}

lat_value() {
	awk -v key="$2" '$1 == key { print $2; found = 1 } END { exit !found }' "$1.report"
}
