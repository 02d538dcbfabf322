#!/usr/bin/env bash
# --progress and SIGUSR1, on a real terminal (tmux) and elsewhere.
#
# Each run is slow for longer than a second, and then stops at gates, where its screen is looked at for as long as it
# takes.  All runs are under way at the same time.
# sanitizers: no (some seconds each)
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs
need_command 'all of it' tmux || done_testing

FILES=120
cd "$tmp" || exit 1
mkdir s
for ((i = 0; i < FILES; i++)); do
	head -c 1000 /dev/zero >"s/$(printf 'f%03d' $i)"
done

# For FAULT_RUN: the n-th run of it waits for the file go.n, and says that it does.
# shellcheck disable=SC2016 # (For another shell.)
gate='n=0; while ! mkdir at.$n 2>/dev/null; do n=$((n + 1)); done; while [ ! -e go.$n ]; do sleep 0.05; done'
# More than a second and a half; then two gates, and an error between them.
slow="copy_file_range:delay=30:1-60;copy_file_range:run:61;copy_file_range:run:90"

# eventually COMMAND...: passes once it does, within a minute.
eventually() {
	local i
	for ((i = 0; i < 150; i++)); do
		"$@" && return 0
		sleep 0.1
	done
	"$@"
}

# --- Terminals ---

# terminal NAME WIDTH COMMAND: begins a run in a terminal and a directory of that name.
terminal() {
	mkdir "$tmp/$1"
	printf '#!/bin/bash\ncd %q || exit\n%s\necho "ended $?"\ntouch ended\nexec sleep 1000\n' "$tmp/$1" "$3" >"$tmp/$1/run"
	env -u TMUX -u NO_COLOR PATH="$PATH" LD_PRELOAD= tmux -S "$tmp/tmux" -f /dev/null new-session -d -s "$1" -x "$2" -y 20 \
		"bash $tmp/$1/run"
	tmux -S "$tmp/tmux" pipe-pane -t "$1" -o "cat >$tmp/$1/raw"
}

# screen NAME: what is to be seen, without empty lines.
screen() {
	tmux -S "$tmp/tmux" capture-pane -p -t "$1" 2>/dev/null | sed '/^$/d'
}

# shows NAME REGEX: the last line of the screen is like that.
shows() {
	[[ $(screen "$1" | tail -n 1) =~ $2 ]]
}

# wait_shows NAME REGEX TEST: it will be.
wait_shows() {
	eventually shows "$1" "$2"
	result $? "$1: $3" "expected: $2" "$(screen "$1")"
}

# at NAME N: the run is at its gate.  go NAME N: it may go on.
at() {
	eventually test -d "$tmp/$1/at.$2"
	result $? "$1: reaches gate $2" "$(screen "$1")"
}

go() {
	touch "$tmp/$1/go.$2"
}

# ended NAME TEXT: it has, and this is all that is left on the screen.
ended() {
	eventually test -e "$tmp/$1/ended"
	eventually shows "$1" '^ended [0-9]+$'
	is "$(screen "$1")" "$2" "$1: nothing else is left at the end"
}

faulty="env LD_PRELOAD=$shim FAULT_RUN='$gate'"
copy="$faulty FAULT='$slow;openat:EACCES:path=f075' pcp -j1 -r"
refused="pcp: cannot open '../s/f075' for reading: Permission denied"

stop_terminals() {
	tmux -S "$tmp/tmux" kill-server 2>/dev/null
	cleanup
}
trap stop_terminals EXIT

terminal wide 80 "$copy ../s d"
terminal narrow 40 "$copy ../s d"
terminal plain 80 "NO_COLOR=1 $copy ../s d"
terminal dumb 80 "TERM=dumb $copy ../s d"
terminal dumb-always 80 "TERM=dumb $copy --progress=always ../s d"
terminal never 80 "$copy --progress=never ../s d"
terminal verbose 80 "$copy -v ../s d"
terminal question 80 "mkdir d; touch d/f119; $faulty FAULT='$slow' pcp -ij1 ../s/f* d"
terminal remove 80 "cp -r ../s d; $faulty FAULT='unlinkat:delay=30:1-60;unlinkat:run:61' prm -rj1 d"
terminal large 80 "truncate -s 100M f; $faulty FAULT='read:delay=25:1-60;read:run:61' pcp -j1 --sparse=never f g"
terminal job 80 "set -m; $copy ../s d & while [ ! -e fg ]; do sleep 0.1; done; fg >/dev/null"

# --- Elsewhere ---

# begin NAME FAULT COMMAND...: a run whose standard error is a file.
begin() {
	local name=$1 rules=$2
	mkdir "$tmp/$name"
	(cd "$tmp/$name" && LD_PRELOAD=$shim FAULT_RUN=$gate FAULT=$rules exec "${@:3}" 2>err </dev/null) &
	pid=$!
}

begin signal "$slow" pcp -j1 -r ../s d
signal=$pid
begin early "openat:run:1;$slow" pcp -j1 -r --progress=never ../s d
early=$pid
begin log "$slow" pcp -j1 -r --progress=always ../s d
log=$pid
begin silent "$slow" pcp -j1 -r ../s d
silent=$pid

# --- What there is to see ---

meter='^[0-9]+/121 files, +[0-9.]+/s +[0-9.]+ (B|KiB).*, +[0-9.]+ (B|KiB)/s.* 1 busy$'

on_a_terminal() {
	local name
	for name in wide plain; do
		at "$name" 0
		wait_shows "$name" "$meter" 'the line'
		is "$(screen "$name" | wc -l)" 1 "$name: one line"
		go "$name" 0
		at "$name" 1
		wait_shows "$name" "$meter" 'the line after a diagnostic'
		like "$(screen "$name" | head -n 1)" "^$refused\$" "$name: the diagnostic is whole"
		is "$(screen "$name" | wc -l)" 2 "$name: two lines"
	done
	tmux -S "$tmp/tmux" resize-window -t wide -x 44
	wait_shows wide '^[0-9]+/121 files.* (B|KiB).{0,12}$' 'the line once the terminal is narrow'
	tmux -S "$tmp/tmux" resize-window -t wide -x 200
	wait_shows wide "$meter" 'the line once it is wide'
	for name in wide plain; do
		go "$name" 1
	done
	eventually test -e "$tmp/wide/ended"
	like "$(screen plain)" "^$refused"$'\n''ended 1$' 'plain: the diagnostic and nothing else is left'
	# What the terminal got: each time one line, and what goes behind it.
	is "$(grep -c $'\e' "$tmp/plain/raw")" 0 'plain: no escape sequences'
	is "$(tr '\r' '\n' <"$tmp/wide/raw" | grep -a ' files' | grep -avc $'\e\\[K$')" 0 'wide: what is longer is erased'
	is "$(tr '\r' '\n' <"$tmp/wide/raw" | sed 's/\x1b\[K//g' | grep -ac $'\e')" 0 'wide: no other escape sequences'
}
run_once on_a_terminal

on_a_narrow_one() {
	at narrow 0
	wait_shows narrow '^[0-9]+/121 files' 'the line'
	is "$(screen narrow | awk 'length > 39' | wc -l)" 0 'narrow: it fits'
	is "$(screen narrow | wc -l)" 1 'narrow: one line'
	go narrow 0
	at narrow 1
	go narrow 1
	eventually test -e "$tmp/narrow/ended"
	eventually shows narrow '^ended 1$'
	is "$(screen narrow | grep -c ' files')" 0 'narrow: nothing is left at the end'
}
run_once on_a_narrow_one

# Where nothing is to be seen, for longer than it would take.
nothing_to_see() {
	local name
	for name in dumb never; do
		at "$name" 0
	done
	sleep 1.5
	for name in dumb never; do
		is "$(screen "$name")" '' "$name: nothing is shown"
		go "$name" 0
		go "$name" 1
		eventually test -e "$tmp/$name/ended"
		eventually shows "$name" '^ended 1$'
		is "$(screen "$name" | wc -l)" 2 "$name: a diagnostic and nothing else"
		is "$(grep -c $'\e' "$tmp/$name/raw")" 0 "$name: no escape sequences"
	done
	wait_shows dumb-always '^pcp: [0-9]+/121 files, ' 'lines as for a log'
	go dumb-always 0
	go dumb-always 1
	eventually test -e "$tmp/dumb-always/ended"
	is "$(grep -c $'\e' "$tmp/dumb-always/raw")" 0 "dumb-always: no escape sequences"
}
run_once nothing_to_see

with_lines() {
	at verbose 0
	wait_shows verbose "$meter" 'the line below those of -v'
	go verbose 0
	go verbose 1
	eventually test -e "$tmp/verbose/ended"
	eventually shows verbose '^ended 1$'
	is "$(screen verbose | grep -vcE "^'../s/f[0-9]+' -> 'd/f[0-9]+'\$|^$refused\$|^ended 1\$")" 0 \
		'verbose: each line is whole'
}
run_once with_lines

with_questions() {
	at question 0
	wait_shows question '^[0-9]+/120 files' 'the line before a question'
	go question 0
	go question 1
	wait_shows question "^pcp: overwrite 'd/f119'\\?\$" 'the question'
	sleep 1.2
	is "$(screen question)" "pcp: overwrite 'd/f119'?" 'question: there is no other line beside it'
	tmux -S "$tmp/tmux" send-keys -t question y Enter
	ended question "pcp: overwrite 'd/f119'? y"$'\n''ended 0'
}
run_once with_questions

removing() {
	at remove 0
	wait_shows remove '^[0-9]+/121 files, +[0-9.]+/s(  [0-9: ]+ left)?   1 busy$' 'the line of prm'
	go remove 0
	ended remove 'ended 0'
}
run_once removing

# Of one large file the bytes count.
large_file() {
	at large 0
	wait_shows large '^0/1 files, +0.0/s +[0-9.]+ MiB/100 MiB, .* *([0-9:]+ left)?   1 busy$' 'the line'
	go large 0
	ended large 'ended 0'
}
run_once large_file

# In the background it says nothing.
jobs() {
	at job 0
	sleep 1.2
	is "$(screen job)" '' 'job: nothing is shown in the background'
	touch "$tmp/job/fg"
	wait_shows job "$meter" 'in the foreground it is'
	go job 0
	go job 1
	eventually test -e "$tmp/job/ended"
	eventually shows job '^ended 1$'
	is "$(screen job | grep -c ' files')" 0 'job: nothing is left at the end'
}
run_once jobs

line='^pcp: [0-9]+/121 files, [0-9.]+/s  [0-9.]+ (B|KiB), [0-9.]+ (B|KiB)/s(  [0-9:]+ left)?  1 busy$'

# lines N FILE: it has so many, or more.
lines() {
	[ "$(wc -l <"$2")" -ge "$1" ]
}

signals() {
	at signal 0
	kill -USR1 "$signal"
	eventually lines 1 "$tmp/signal/err"
	like "$(cat "$tmp/signal/err")" "$line" 'SIGUSR1: a line'
	kill -USR1 "$signal"
	eventually lines 2 "$tmp/signal/err"
	is $? 0 'SIGUSR1: one line each time'
	go signal 0
	go signal 1
	wait "$signal"
	is $? 0 'SIGUSR1: that was all'
	is "$(grep -cE "$line" "$tmp/signal/err")" 2 'SIGUSR1: nothing else'
	is "$(wc -l <"$tmp/signal/err")" 2 'SIGUSR1: no other line'
	run diff -r "$tmp/s" "$tmp/signal/d"
	status 0 'SIGUSR1: all is copied'

	# At once after the start, where nobody could print it yet.
	at early 0
	kill -USR1 "$early"
	go early 0
	at early 1
	eventually lines 1 "$tmp/early/err"
	like "$(cat "$tmp/early/err")" '^pcp: [0-9]+/[0-9]+[+]? files' 'SIGUSR1 early: a line when a second has passed'
	go early 1
	go early 2
	wait "$early"
	is $? 0 'SIGUSR1 early: it goes on'
	is "$(wc -l <"$tmp/early/err")" 1 'SIGUSR1 early: no other line'
}
run_once signals

logs() {
	at log 0
	eventually lines 2 "$tmp/log/err"
	is "$(grep -cvE "$line" "$tmp/log/err")" 0 'always: lines in a log'
	go log 0
	go log 1
	wait "$log"
	is $? 0 'always: ends as it would'
	is "$(grep -c $'[\r\e]' "$tmp/log/err")" 0 'always: nothing for a terminal'
	at silent 0
	go silent 0
	go silent 1
	wait "$silent"
	is "$(cat "$tmp/silent/err")" '' 'auto: nothing in a log'
}
run_once logs

# No thread, and no call, for a run that is over in a moment.
short() {
	need_command 'short runs' strace || return
	run strace -f -o trace pcp --progress=always "$tmp/s/f000" d
	is "$(grep -cE '^[0-9]+ +(clone|clone3|ioctl\([0-9]+, T[A-Z]+)\b' trace)" 0 'a short run: no thread, no look at the terminal'
	run pcp --progress=sometimes a b
	status 1 'a wrong WHEN'
	like "$(cat "$err")" "invalid argument 'sometimes' for '--progress'" 'a wrong WHEN: said'
}
run_once short

done_testing
