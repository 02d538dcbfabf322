#!/usr/bin/env bash
# The large trees of bigrun.sh at a small size, and a part of /usr.
# sanitizers: no
if ! command -v /usr/bin/time >/dev/null; then
	if [ "${CI:-}" = true ]; then
		printf '1..1\nnot ok 1 - missing: /usr/bin/time\n'
		exit 1
	fi
	echo '1..0 # SKIP no /usr/bin/time'
	exit 0
fi
exec "$(dirname "$0")/bigrun.sh" -s 300 -q -j '1 7 20' -c '1 64 0' -u /usr/share/perl
