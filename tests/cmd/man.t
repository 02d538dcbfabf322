#!/usr/bin/env bash
# The manual pages: free of faults in both formatters, and in step with the programs: the same options as --help lists,
# the same version.
# sanitizers: no
. "$(dirname "$0")/../lib.sh"
tmpdir

# options_of_help PROGRAM: each option that stands in the left column of --help, one a line.
options_of_help() {
	"$1" --help | sed -n 's/^ \{1,8\}\(-.*\)/\1/p' | options
}

# options_of_page PAGE: each option that has an entry of its own in the section OPTIONS.
# (So wide that no line is broken: only a tag begins with a dash there.)
options_of_page() {
	mandoc -T ascii -O width=900 "$1" | col -b |
		sed -n '/^OPTIONS/,/^HOW OPTIONS COMBINE/s/^ *\(-.*\)/\1/p' | options
}

# options: of lines that begin with options, up to the first two spaces.
options() {
	sed 's/  .*//' | grep -oE -- '(^|[ ,])--?[[:alnum:]][-[:alnum:]]*' | tr -d ' ,' | sort -u
}

pages() {
	local program page version
	for program in pcp prm; do
		page=$top/man/$program.1

		ok "$program: mandoc finds no fault" mandoc_silent "$page"
		ok "$program: groff finds no fault" groff_silent "$page"

		options_of_help "$program" >in-help
		options_of_page "$page" >in-page
		ok "$program: --help lists options" grep -qx -- --verbose in-help
		is "$(comm -23 in-help in-page)" '' "$program: every option of --help is in the manual page"
		is "$(comm -13 in-help in-page)" '' "$program: every option of the manual page is in --help"

		version=$("$program" --version | sed -n '1s/.* //p')
		like "$version" '^[0-9]+\.[0-9]+' "$program: --version ends its first line with a number"
		is "$(sed -n 's/^\.TH .*"pcp \(.*\)" .*/\1/p' "$page")" "$version" "$program: the page is of this version"

		is "$("$program" --help | awk 'length > 79')" '' "$program: --help stays under 80 columns"
	done
}

# What they promise: each test that is named there is there.
promises() {
	local page=$top/man/pfu-promises.7 name missing=

	ok 'promises: mandoc finds no fault' mandoc_silent "$page"
	ok 'promises: groff finds no fault' groff_silent "$page"
	while read -r name; do
		[ -e "$top/$name" ] || missing+=" $name"
	done < <(sed 's/\\//g' "$page" | grep -oE 'tests/[-a-z/.]*[a-z]')
	is "$missing" '' 'promises: every test is there'
}

mandoc_silent() {
	local said
	said=$(mandoc -T lint -W warning "$1" 2>&1)
	echo "$said"
	[ -z "$said" ]
}

groff_silent() {
	local said
	said=$(LC_ALL=C.UTF-8 MANROFFOPT='' man --warnings -E UTF-8 -Tutf8 -Z -l "$1" 2>&1 >/dev/null)
	echo "$said"
	[ -z "$said" ]
}

ok 'bin/pcp is there' test -x "$PCP"
ok 'bin/prm is there' test -x "$PRM"
need_command 'the manual pages' mandoc && need_command 'the manual pages' man && run_once pages && run_once promises

done_testing
