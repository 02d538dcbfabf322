#!/usr/bin/env bash
# Signals: no new work starts, no half of a file passes for a whole one, what was done is told, and the process ends
# by the signal that it got.  A second one ends it at once.
# shellcheck disable=SC2317 # (Cases are called by name.)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

# hit SIGNAL: for FAULT_RUN, whose shell's parent is the program.
hit() {
	echo "kill -$1 \$PPID"
}

declare -A number=([HUP]=129 [INT]=130 [TERM]=143)

# halves SOURCE TARGET: the files of the target that are not as in the source.
halves() {
	(cd "$2" && find . -type f) | while read -r name; do
		cmp -s "$1/$name" "$2/$name" || echo "$name"
	done
}

small_files() {
	"$gentree" grid dirs=20 files=40 size=1000 s
	for SIGNAL in HUP INT TERM; do
		FAULT_RUN=$(hit "$SIGNAL") run_faulty 'openat:run:700;openat:delay=2:700+' pcp "${jc[@]}" -r s d
		status "${number[$SIGNAL]}" "many small files: ends by the signal ($SIGNAL)"
		is "$(halves s d)" '' "many small files: what is there is whole ($SIGNAL)"
		is "$(grep -c 'interrupted: ' "$err")" 1 "many small files: one line says so ($SIGNAL)"
		is "$(sed -n 's/^pcp: interrupted: \([0-9]*\) files\{0,1\} and \([0-9]*\) director[iesy]* copied, the rest not$/\1 \2/p' "$err")" \
			"$(find d -type f | wc -l) $(find d -type d | wc -l)" "many small files: and how many there are ($SIGNAL)"
		like "$(find d -type f | wc -l)" '^[1-7]?[0-9]{1,2}$' "many small files: it was in the middle ($SIGNAL)"
		rm -rf d
	done
}
run_each small_files

large_file() {
	mkdir s d
	head -c 120M /dev/urandom >s/big
	for SIGNAL in INT TERM; do
		FAULT_RUN=$(hit "$SIGNAL") run_faulty 'copy_file_range:run:3;copy_file_range:log' pcp "${jc[@]}" -r s/big d
		status "${number[$SIGNAL]}" "a large file: ends by the signal ($SIGNAL)"
		# (Eight in all.  At most three workers are in a call when it comes.)
		ok "a large file: no more calls are made than were under way ($SIGNAL)" test "$(hits ' log ')" -le 6
		says "pcp: removed 'd/big', which was not complete
pcp: interrupted: 0 files and 0 directories copied, the rest not" "a large file: what was begun is named ($SIGNAL)"
		ok "a large file: and gone ($SIGNAL)" test ! -e d/big
		# Read and written, by whoever it is.
		FAULT_RUN=$(hit "$SIGNAL") run_faulty 'copy_file_range:EXDEV;write:run:2;pwrite:run:2' pcp "${jc[@]}" -r s/big d
		status "${number[$SIGNAL]}" "a large file, read and written: ends by the signal ($SIGNAL)"
		ok "a large file, read and written: gone ($SIGNAL)" test ! -e d/big
	done
	echo old >d/big
	FAULT_RUN=$(hit "$SIGNAL") run_faulty 'copy_file_range:run:3' pcp "${jc[@]}" -r s/big d
	status 143 'a large file over another: ends by the signal'
	says "pcp: 'd/big' is not complete
pcp: interrupted: 0 files and 0 directories copied, the rest not" 'a large file over another: is named'
	ok 'a large file over another: is not of full size' test "$(stat -c %s d/big)" -lt "$(stat -c %s s/big)"
}
run_each large_file

# What somebody else has put in the place of a half is not ours to remove.
replaced_half() {
	mkdir s d
	head -c 60M /dev/urandom >s/big
	FAULT_RUN="mv d/big d/half; echo mine >d/big; $(hit INT)" \
		run_faulty 'copy_file_range:run:2' pcp "${jc[@]}" -r s/big d
	status 130 'a half that has been replaced: ends by the signal'
	is "$(cat d/big)" mine 'a half that has been replaced: what is there now stays'
}
run_each replaced_half

ignored() {
	"$gentree" grid dirs=5 files=20 s
	# (timeout, by which run() limits the time, would take it back itself.)
	FAULT_RUN=$(hit HUP) run_faulty 'openat:run:20' env --ignore-signal=HUP "$tmp/bin/pcp" "${jc[@]}" -r s d
	status 0 'SIGHUP that was ignored from the start: goes on'
	struck 'SIGHUP that was ignored: it came'
	same 'SIGHUP that was ignored: all is copied' s d --no-times
}
run_each ignored

# started COMMAND...: (SIGINT is ignored in what a script starts in the background, SIGHUP below nohup) in the background, and until it has read the whole list of signals it catches; sets pid.
started() {
	"$@" >"$out" 2>"$err" <fifo &
	pid=$!
	for _ in {1..200}; do
		grep -q 'SigCgt:.*[1-9a-f]' "/proc/$pid/status" && grep -q "$wait" "$err" "$faults" 2>/dev/null && return
		sleep 0.05
	done
}

# ends WANTED NAME: the program that was started, within some seconds, which nothing else would make it do.
ends() {
	for _ in {1..100}; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	if kill -9 "$pid" 2>/dev/null; then
		wait "$pid" 2>/dev/null
		result 1 "$2" 'it goes on'
		return
	fi
	{ wait "$pid"; } 2>/dev/null
	is "$?" "$1" "$2"
}

questions() {
	mkfifo fifo
	sleep 100 >fifo &
	local writer=$!
	echo 1 | tee s d >/dev/null
	wait='overwrite'
	started pcp "${jc[@]}" -i s d
	kill -TERM "$pid"
	ends 143 'a question of pcp -i waits: ends by the signal'
	is "$(cat d)" 1 'a question of pcp -i: the file is as it was'
	wait='remove'
	started prm "${jc[@]}" -i d
	kill -TERM "$pid"
	ends 143 'a question of prm -i waits: ends by the signal'
	ok 'a question of prm -i: the file is there' test -e d
	mkdir e
	started prm "${jc[@]}" -rI e
	kill -TERM "$pid"
	ends 143 'the question of prm -I waits: ends by the signal'
	ok 'the question of prm -I: the directory is there' test -d e
	kill "$writer"
}
run_each questions

# Opening a fifo waits, in whichever thread.
waiting() {
	mkfifo fifo s
	sleep 100 >fifo &
	local writer=$!
	wait=''
	started pcp "${jc[@]}" -r --copy-contents s d
	sleep 0.3
	kill -TERM "$pid"
	ends 143 'a fifo that nobody writes to: ends by the signal'
	kill "$writer"
}
run_each waiting

second() {
	mkdir s
	mkfifo fifo
	sleep 100 >fifo &
	local writer=$!
	head -c 60M /dev/zero >s/big
	rm -f "$faults"
	wait=copy_file_range
	started env LD_PRELOAD="$shim" FAULT='copy_file_range:log:1;copy_file_range:delay=60000:1' FAULT_LOG="$faults" \
		"$PCP" "${jc[@]}" -r s d
	kill -TERM "$pid"
	sleep 0.5
	ok 'a second signal: the first alone does not end what waits' kill -0 "$pid"
	kill -TERM "$pid" 2>/dev/null
	ends 143 'a second signal ends it at once'
	kill "$writer"
}
[ -n "${SANITIZE:-}" ] || run_once second

removal() {
	for SIGNAL in HUP INT TERM; do
		"$gentree" grid dirs=20 files=40 d
		before=$(find d | wc -l)
		FAULT_RUN=$(hit "$SIGNAL") run_faulty 'unlinkat:run:300;unlinkat:delay=2:300+' prm "${jc[@]}" -r d
		status "${number[$SIGNAL]}" "prm: ends by the signal ($SIGNAL)"
		ok "prm: in the middle ($SIGNAL)" test -d d
		told=$(sed -n 's/^prm: interrupted: \([0-9]*\) files and \([0-9]*\) director[iesy]* removed, the rest not$/\1+\2/p' "$err")
		is "$((told))" "$((before - $(find d | wc -l)))" "prm: says how much has gone ($SIGNAL)"
		is "$(grep -vc 'interrupted' "$err")" 0 "prm: and nothing else ($SIGNAL)"
		rm -rf d
	done
}
run_each removal

# As cp and rm: whoever does not want to read on ends them, without a word.
broken_pipe() {
	"$gentree" grid dirs=20 files=100 s
	{ pcp "${jc[@]}" -rv s d 2>"$err"; echo $? >rc; } | :
	is "$(cat rc)" 141 'pcp -v into a pipe that is closed: ends by SIGPIPE'
	is "$(grep -v "^pcp: removed '.*', which was not complete$" "$err")" '' \
		'pcp -v into a pipe that is closed: nothing is said but what had been begun'
	is "$(halves s d)" '' 'pcp -v into a pipe that is closed: what is there is whole'
	{ prm "${jc[@]}" -rv s 2>"$err"; echo $? >rc; } | :
	is "$(cat rc)" 141 'prm -v into a pipe that is closed: ends by SIGPIPE'
	quiet 'prm -v into a pipe that is closed: nothing is said'
}
run_each broken_pipe

file_size() {
	head -c 3M /dev/zero >s
	(ulimit -f 1000; run pcp "${jc[@]}" s d; echo "$rc") >rc 2>/dev/null
	is "$(cat rc)" 153 'more than the files of the process may have: ends by SIGXFSZ'
	ok 'more than the files of the process may have: nothing is left' test ! -e d
}
run_each file_size

done_testing
