#!/usr/bin/env bash
# The fuzz targets on their seeds: what a parser was once found to do wrong, and what reaches its corners.
# `make fuzz` looks for more.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir

# (exit() by a jump leaves memory behind; that it is freed is for the programs' own tests.)
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export ASAN_OPTIONS
for seeds in "$top"/tests/fuzz/seeds/*/; do
	target=$(basename "$seeds")
	"$BUILD/fuzz/$target" "$seeds"* 2>"$tmp/err"
	status=$?
	# The driver says at its end how many there were: it came to that.
	inputs=("$seeds"*)
	[ "$status" != 0 ] || [ "$(tail -n 1 "$tmp/err")" = "${#inputs[@]} inputs" ] || status=1
	result "$status" "$target: ${#inputs[@]} inputs" "$(tail -n 20 "$tmp/err")"
done
for source in "$top"/tests/fuzz/*.c; do
	target=$(basename "$source" .c)
	[ "$target" != driver ] || continue
	[ -d "$top/tests/fuzz/seeds/$target" ]
	result $? "$target has seeds"
done
done_testing
