#!/usr/bin/env bash
# A real CephFS on this machine, to measure on and to throw away: monitor, manager, an OSD that keeps all in memory,
# metadata server, and a mount by ceph-fuse, from Debian's packages, all on the loopback interface.
#
#	bench/cephfs.sh up	starts what is not running and prints the mount point
#	bench/cephfs.sh down	ends what `up` started and removes its directory
#	bench/cephfs.sh client DIR	mounts it once more, on DIR (another client: caches of its own)
#
# Variables: CEPHFS_DIR (/tmp/pfu-cephfs) is where all of it lives, CEPHFS_PORT (45789) the monitor's port, CEPHFS_BYTES
# (8 GiB) the size of the store.  CEPHFS_DELAY_US (0): Ceph itself holds each message of the client back for a random
# time that is this long in the mean (its timers are coarse: one caller waits some 4 ms, whatever it says).
#
# Nothing is written outside that directory, and no installed configuration of Ceph is read.  Needs root and /dev/fuse.
set -euo pipefail
export LC_ALL=C

dir=${CEPHFS_DIR:-/tmp/pfu-cephfs}
port=${CEPHFS_PORT:-45789}
bytes=${CEPHFS_BYTES:-$((8 << 30))}
delay_us=${CEPHFS_DELAY_US:-0}
conf=$dir/ceph.conf
mount=$dir/mnt
packages=(ceph-mon ceph-mgr ceph-osd ceph-mds ceph-common ceph-fuse)

fail() {
	echo "cephfs.sh: $*" >&2
	exit 1
}

is_mounted() {
	grep -q " $1 fuse.ceph-fuse " /proc/mounts
}

# is_ours PID: a process of Ceph that was started with our configuration.
is_ours() {
	[ -n "$1" ] && tr '\0' '\n' 2>/dev/null <"/proc/$1/cmdline" | grep -qxF "$conf"
}

# logged COMMAND...: with what it says in the log, which is shown if it fails.
logged() {
	if ! timeout 60 "$@" >>"$dir/log/setup.log" 2>&1; then
		tail -n 20 "$dir/log/setup.log" >&2
		fail "failed: $*"
	fi
}

install_packages() {
	local package missing=()
	for package in "${packages[@]}"; do
		dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	command -v apt-get >/dev/null || fail "please install ${missing[*]}"
	echo "cephfs.sh: installing ${missing[*]}" >&2
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}"; } >&2
}

write_conf() {
	local delay=''
	if [ "$delay_us" != 0 ]; then
		# (Ceph draws from 0 to the maximum, in seconds.)
		delay="ms inject delay type = client
ms inject delay probability = 1
ms inject delay max = $(awk "BEGIN { printf \"%f\", 2 * $delay_us / 1e6 }")"
	fi
	cat >"$conf" <<-END
		[global]
		fsid = $(cat /proc/sys/kernel/random/uuid)
		mon initial members = a
		mon host = v2:127.0.0.1:$port/0
		public addr = 127.0.0.1
		cluster addr = 127.0.0.1
		ms bind msgr1 = false
		ms bind ipv6 = false
		ms bind port min = $((port + 1000))
		ms bind port max = $((port + 1100))
		auth cluster required = none
		auth service required = none
		auth client required = none
		keyring = $dir/keyring
		run dir = $dir/run
		admin socket = $dir/run/\$name.\$pid.asok
		pid file = $dir/run/\$name.pid
		log file = $dir/log/\$name.log
		crash dir = $dir/crash
		osd pool default size = 1
		osd pool default min size = 1
		osd pool default pg autoscale mode = off
		osd crush chooseleaf type = 0
		[mon]
		mon data = $dir/mon
		mon cluster log file = $dir/log/cluster.log
		mon allow pool size one = true
		mon data avail warn = 2
		mon data avail crit = 1
		paxos propose interval = 0.05
		[mgr]
		mgr data = $dir/mgr
		mgr initial modules =
		[osd]
		osd data = $dir/osd
		osd objectstore = memstore
		memstore device bytes = $bytes
		osd class load list = *
		osd class default list = *
		$delay
		[mds]
		mds data = $dir/mds
		$delay
		[client]
		log file = $dir/log/\$name.\$pid.log
		pid file =
		client acl type = posix_acl
	END
}

wait_for_mds() {
	local i
	for ((i = 0; i < 150; i++)); do
		case $(timeout 20 ceph -c "$conf" mds stat 2>/dev/null) in *up:active*) return ;; esac
		sleep 0.2
	done
	fail "the metadata server does not come up; see $dir/log"
}

# client DIR PIDFILE
client() {
	mkdir -p "$1"
	logged ceph-fuse -c "$conf" --id admin --pid-file "$2" "$1"
	is_mounted "$1" || fail "not mounted: $1"
}

up() {
	if is_mounted "$mount" && timeout 10 stat "$mount/." >/dev/null 2>&1; then
		echo "$mount"
		return
	fi
	down
	install_packages
	mkdir -p "$dir"/{run,log,crash,mon,mgr,osd,mds}
	write_conf
	local id
	id=$(awk '$1 == "fsid" { print $3 }' "$conf")
	logged monmaptool --create --clobber --fsid "$id" --addv a "[v2:127.0.0.1:$port]" "$dir/monmap"
	logged ceph-mon -c "$conf" -i a --mkfs --monmap "$dir/monmap"
	logged ceph-mon -c "$conf" -i a
	logged ceph-mgr -c "$conf" -i a
	id=$(cat /proc/sys/kernel/random/uuid)
	logged ceph -c "$conf" osd new "$id" 0
	logged ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$id"
	logged ceph-osd -c "$conf" -i 0
	logged ceph -c "$conf" osd pool create metadata 8
	logged ceph -c "$conf" osd pool create data 8
	logged ceph -c "$conf" fs new cephfs metadata data
	logged ceph-mds -c "$conf" -i a
	wait_for_mds
	client "$mount" "$dir/run/fuse.pid"
	echo "$mount"
}

# end SIGNAL PIDFILE: ends a process of ours, and waits until it is gone.
end() {
	local pid i
	pid=$(cat "$2" 2>/dev/null) || return 0
	is_ours "$pid" || return 0
	kill -s "$1" "$pid" 2>/dev/null || return 0
	for ((i = 0; i < 100; i++)); do
		is_ours "$pid" || return 0
		sleep 0.05
	done
	[ "$1" = KILL ] || end KILL "$2"
}

down() {
	local file where
	[ -e "$conf" ] || return 0
	# A client whose servers have gone hangs whoever asks it: it goes first.
	while read -r _ where _; do
		case $where in "$dir"/*) timeout 20 umount "$where" 2>/dev/null || umount -l "$where" ;; esac
	done < <(tac /proc/mounts)
	for file in "$dir"/run/fuse*.pid "$dir"/run/{mds,mgr,osd,mon}.*.pid; do
		case $file in */fuse*) end TERM "$file" ;; *) end KILL "$file" ;; esac
	done
	if grep -q " $dir/" /proc/mounts; then fail "something is still mounted below $dir"; fi
	rm -rf --one-file-system "$dir"
}

[ "$(id -u)" = 0 ] || fail 'needs root'
case ${1-} in
up) up ;;
down) down ;;
client)
	if [ $# != 2 ] || [ ! -e "$conf" ]; then fail 'usage: cephfs.sh client DIR, after cephfs.sh up'; fi
	client "$2" "$dir/run/fuse-$(tr / _ <<<"$2").pid"
	;;
*) fail 'usage: cephfs.sh up|down|client DIR' ;;
esac
