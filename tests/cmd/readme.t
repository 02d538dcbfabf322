#!/usr/bin/env bash
# The README: every command in it is run, as it is printed, in a copy of the tree; its table is what bench/plot.sh makes of
# the results that are kept; what it links to is there; and it can be read at one go.
#
# A line with four spaces before it is a command; what follows three more spaces says what it is for. Paths from / lead
# below the test's directory, and nobody becomes root.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs
readme=$top/README.md

# From here on make is one that nobody called.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES T SANITIZE DEBUG WERROR

# What is built is there already. (Times are kept, so that make finds nothing to do.)
mkdir "$tmp/copy"
/bin/cp -a "$top"/{Makefile,.ci,include,src,man,completions,bench,bin,lib,build,tests,README.md} "$tmp/copy/"

commands() {
	awk '/^```/ { code = !code } !code' "$readme" | sed -n 's/^    \([^ ].*\)/\1/p' | sed 's/   .*//'
}

prepare() {
	local name
	for name in photos src/sub dst build mnt/nfs mnt/new/data srv/data/sub; do
		mkdir -p "$name"
		echo "$name" >"$name/file"
	done
	touch src/a.o
	ln -s "$tmp/copy/"{Makefile,man,completions,bench,include,bin,lib,.ci} .
	export HOME=$PWD/home
}

# here COMMAND: without sudo, and with paths below this directory.
here() {
	sed -E "s,^sudo ,,; s,(^|[ =])/(mnt|srv|tmp)\>,\1$PWD/\2,g" <<<"$1"
}

each() {
	local command count=0
	while IFS= read -r command; do
		mkdir "$count" && cd "$count" || return
		count=$((count + 1))
		case $command in
		'.ci/deps && '*)
			# It runs all tests, this one among them: .ci/run takes it from here and runs it.
			is "$(sed -n 's/^    \(\.ci\/deps && .*\)$/\1/p' "$readme")" "$command" ".ci/run finds: $command"
			;;
		.ci/deps\ build*)
			run bash -c "cd '$tmp/copy' && $command"
			status 0 "$command"
			;;
		'PATH=/usr/lib/pfu'*)
			# (Of the Debian package, which tests/cmd/package.t makes.)
			ok "$command" bash -c "$command; [[ \$PATH == /usr/lib/pfu/bin:?* ]]"
			;;
		*install*)
			# The copy, as if it were this directory.
			case $command in
			sudo*) run bash -c "cd '$tmp/copy' && DESTDIR='$PWD/root' ${command#sudo}" ;;
			*) HOME=$PWD/home run bash -c "cd '$tmp/copy' && $(here "$command")" ;;
			esac
			status 0 "$command"
			;;
		*)
			prepare
			run bash -c "$(here "$command")"
			status 0 "$command"
			;;
		esac
		cd .. || return
	done < <(commands)
	ok 'the README has commands' test "$count" -ge 12
}

results() {
	is "$(sed -n '/^<!-- results: /,/^<!-- end of/{ /^|/p; }' "$readme")" "$("$top/bench/plot.sh" --table)" \
		'the table is what the kept results say'
	ok 'the picture is no older than they are' test -s "$top/bench/results/speed.svg"
	need_command 'the picture' gnuplot || return
	/bin/cp -a "$top/bench" "$readme" .
	ok 'both can be made anew' bench/plot.sh
	ok 'with the same table' cmp README.md "$readme"
	ok 'and picture' grep -q '</svg>' bench/results/speed.svg
}

links() {
	local path
	while IFS= read -r path; do
		ok "there is $path" test -e "$top/$path"
	done < <({ sed -n 's/.*](\([^)]*\)).*/\1/p' "$readme"
		# shellcheck disable=SC2016 # (Quotes of the README.)
		grep -oE '`(bench|src|tests|include|man|completions|debian|\.ci)/[^`* ]*`' "$readme" | tr -d '`'; } | sort -u)
	ok 'at most 200 lines' test "$(wc -l <"$readme")" -le 200
}

for case in each results links; do
	run_once $case
done
done_testing
