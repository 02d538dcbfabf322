#!/usr/bin/env bash
# The EXAMPLES of the manual pages, run as they are printed, in a directory that has what they speak of. Paths that begin
# with a slash mean the same path below that directory.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

# examples PAGE: the commands of its EXAMPLES, one a line, as man shows them.
examples() {
	sed -n '/^\.SH EXAMPLES/,/^\.SH SEE ALSO/p' "$top/man/$1.1" | sed -n '/^\.EX/,/^\.EE/{ /^\./!p; }' |
		sed -e 's/\\-/-/g' -e 's/\\e/\\/g' -e 's/\\(dq/"/g' -e "s/\\\\(aq/'/g" -e 's/\\&//g'
}

# What the examples are about. $dir is what a script would have set.
prepare() {
	local name
	for name in photos backup new old build cache project project/build mnt/nfs/data mnt/nfs/old mnt/efs mnt/new srv/data data dst src; do
		mkdir -p "$name/sub"
		echo "$name" >"$name/file"
		echo "$name" >"$name/sub/file"
	done
	mkdir tree-of-script
	touch -- -file 'project/edited~' cache/.keep old/a.keep list
	dir=tree-of-script
	export dir
}

# below COMMAND: its absolute paths lead below this directory.
below() {
	sed -E "s,(^|[ =])/(mnt|srv|backup|tmp|home|data)\>,\1$PWD/\2,g" <<<"$1"
}

page=''
each() {
	local command count=0
	while IFS= read -r command; do
		mkdir "$count" && cd "$count" || return
		prepare
		run bash -c "$(below "$command")"
		status 0 "$page: $command"
		cd .. || return
		count=$((count + 1))
	done < <(examples "$page")
	ok "$page has examples" test "$count" -ge 5
	is "$(examples "$page" | grep -vc "\<$page\>")" 0 "$page: all of them are of $page"
}

# What they do, by some of them.
results() {
	prepare
	run bash -c "$(below "$(examples pcp | grep -e --exclude= | head -n 1)")"
	is "$(cd backup/project && find . | sort)" $'.\n./file\n./sub\n./sub/file' 'what a build made is left out'
	run bash -c "$(examples pcp | grep -e --backup=numbered)"
	is "$(cat old/file.~1~)" old 'what was replaced is kept'
	run bash -c "$(examples prm | grep -e --exclude=/.keep)"
	is "$(find cache)" $'cache\ncache/.keep' 'all but one file is gone'
}

for page in pcp prm; do
	run_once each
done
run_once results
done_testing
