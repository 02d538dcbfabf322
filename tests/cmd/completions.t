#!/usr/bin/env bash
# The completions that completions/generate makes: every option of --help is in them, and every value of its argument;
# what they offer, asked of the shells themselves, is right; and every value is taken by the program.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs

generate=$top/completions/generate
programs=(pcp prm)
for program in "${programs[@]}"; do
	for shell in table bash zsh fish; do
		run "$generate" "$shell" "$tmp/bin/$program" "$program"
		status 0 "$program: made for $shell"
		quiet "$program: nothing is unknown, for $shell"
		mv "$out" "$tmp/$program.$shell"
	done
done

# options_of_help PROGRAM: as they stand in the left column, one a line.
options_of_help() {
	"$1" --help | sed -n 's/^ \{1,8\}\(-.*\)/\1/p' | sed 's/  .*//' |
		grep -oE -- '(^|[ ,])--?[[:alnum:]][-[:alnum:]]*' | tr -d ' ,' | sort -u
}

# values PROGRAM: each option that has words for its argument, and these: "--sparse auto".
values() {
	awk -F'\t' '$5 == "words" || $5 == "list" { n = split($6, v, " "); for (i = 1; i <= n; i++) print $2, v[i] }' \
		"$tmp/$1.table"
}

# In step with the programs, by what each of them says itself of a wrong word.
table() {
	local program
	for program in "${programs[@]}"; do
		is "$(cut -f 1,2 "$tmp/$program.table" | tr '[:blank:]' '\n' | grep -vx -- - | sort -u)" \
			"$(options_of_help "$program")" "$program: the options of --help"
		# shellcheck disable=SC2016 # $7 is awk's.
		ok "$program: what they are for" awk -F'\t' '$7 == "" { print; bad = 1 } END { exit bad }' "$tmp/$program.table"
	done
	is "$(values pcp | grep -e --sparse)" $'--sparse never\n--sparse auto\n--sparse always' 'the words of --sparse'
	is "$(values prm | grep -e --preserve)" '--preserve-root all' 'and of --preserve-root'
	while read -r option value; do
		run pcp "$option=$value"
		is "$(grep -c 'invalid argument' "$err")" 0 "pcp takes $option=$value"
	done < <(values pcp)
	while read -r option value; do
		run prm "$option=$value"
		is "$(cat "$err")" "prm: missing operand"$'\n'"Try 'prm --help' for more information." "prm takes $option=$value"
	done < <(values prm)
	printf '#!/bin/sh\necho "  -x, --exotic=THING    does something"\n' >exotic
	chmod +x exotic
	run "$generate" bash ./exotic exotic
	says "$generate: ./exotic --exotic: what is a THING?" 'an argument that nobody knows is warned of'
}

# --- bash ---

# bash_offers WORD...: what is offered for the last of these words of a command line, one a line.
bash_offers() {
	# shellcheck disable=SC2016,SC2154
	bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		"_${1//-/_}"
		if [ ${#COMPREPLY[@]} != 0 ]; then printf "%s\n" "${COMPREPLY[@]}"; fi
	' bash "$script" "$@"
}

in_bash() {
	local program option
	for program in "${programs[@]}"; do
		script=$tmp/$program.bash
		is "$(bash_offers "$program" - | sed 's/=$//' | sort -u)" "$(options_of_help "$program")" \
			"bash, $program: every option"
		while read -r option; do
			is "$(bash_offers "$program" "$option" = '' | sort)" \
				"$(values "$program" | sed -n "s/^$option //p" | sort)" "bash, $program: the values of $option"
		done < <(values "$program" | cut -d ' ' -f 1 | sort -u)
	done
	script=$tmp/pcp.bash
	is "$(bash_offers pcp --spa)" '--sparse=' 'an option that wants an argument ends in ='
	is "$(bash_offers pcp --archi)" '--archive' 'one that does not, does not'
	is "$(bash_offers pcp --sparse = al)" always 'after the ='
	is "$(bash_offers pcp --sparse =)" $'never\nauto\nalways' 'at the ='
	is "$(bash_offers pcp --sparse al)" always 'as the next word'
	is "$(bash_offers pcp --sparse=al)" --sparse=always 'where words are not split at ='
	is "$(bash_offers pcp --preserve = mode,ti)" 'mode,timestamps' 'a list'
	is "$(bash_offers pcp --preserve=mode,ti)" '--preserve=mode,timestamps' 'a list, where words are not split'
	is "$(bash_offers pcp --backup '')" '' 'what is optional is not the next word'
	mkdir 'a b' ac
	touch ad
	is "$(bash_offers pcp -t a | sort)" $'a b\nac' 'directories for -t'
	is "$(bash_offers pcp --target-directory = ac)" ac 'and --target-directory'
	is "$(bash_offers pcp -- -)" '' 'after -- there are files only, which are for readline to find'
	is "$(bash_offers pcp a)" '' 'and so are operands'
	"$generate" bash "$tmp/bin/prm" fast-prm >fast
	script=fast
	is "$(bash_offers fast-prm --fo)" --force 'under another name'
	like "$(bash --norc -c '. ./fast; complete -p fast-prm')" '-F _fast_prm fast-prm' 'which is what it is for'
}

# --- zsh ---

# zsh_offers TEXT: what a real zsh makes of this and a press of the tabulator: the line, or the list that it shows.
zsh_offers() {
	# shellcheck disable=SC2016
	zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		say() { zpty -w shell "$1"; }
		say "PS1= PS2= RPS1=; stty cols 200 rows 400; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
		say "zstyle \":completion:*\" list-separator --; zstyle \":completion:*\" menu no; LISTMAX=0; unsetopt zle_bracketed_paste"
		say "print START\$((1 + 1))"
		zpty -r shell all "*START2*"
		zpty -n -w shell "$2"$'"'\\t'"'
		zpty -n -w shell $'"'\\C-a'"'"print -r -- GOT: "$'"'\\n'"'"print STOP\$((1 + 1))"$'"'\\n'"'
		zpty -r shell all "*STOP2*"
		print -r -- "$all"
	' zsh "$tmp/functions" "$1" 2>&1 | tr -d '\r'
}

in_zsh() {
	local program
	need_command 'zsh' zsh || return
	mkdir "$tmp/functions"
	for program in "${programs[@]}"; do
		ok "zsh, $program: no fault of syntax" zsh -n "$tmp/$program.zsh"
		cp "$tmp/$program.zsh" "$tmp/functions/_$program"
		is "$(sed -n "s/^[[:blank:]]*'\*\(--\{0,1\}[[:alnum:]][-[:alnum:]]*\).*/\1/p" "$tmp/$program.zsh" | sort -u)" \
			"$(options_of_help "$program")" "zsh, $program: every option"
	done
	like "$(zsh_offers 'pcp --spars')" 'GOT: pcp --sparse' 'zsh completes an option'
	like "$(zsh_offers 'pcp --sparse=al')" 'GOT: pcp --sparse=always' 'and its value'
	like "$(zsh_offers 'pcp --preserve=mode,tim')" 'GOT: pcp --preserve=mode,timestamps' 'and one of several'
	like "$(zsh_offers 'prm --inter')" 'GOT: prm --interactive' 'also for prm'
}

# --- fish ---

fish_offers() {
	HOME=$tmp fish --no-config -c "source '$tmp/$1.fish'; complete -C '$2'" | cut -f 1
}

in_fish() {
	local program option
	need_command 'fish' fish || return
	for program in "${programs[@]}"; do
		ok "fish, $program: no fault of syntax" fish -n "$tmp/$program.fish"
		is "$({ fish_offers "$program" "$program -"; fish_offers "$program" "$program --"; } | sed 's/=$//' | sort -u)" \
			"$(options_of_help "$program")" "fish, $program: every option"
		while read -r option; do
			is "$(fish_offers "$program" "$program $option=" | sed 's/.*=//' | sort)" \
				"$(values "$program" | sed -n "s/^$option //p" | sort)" "fish, $program: the values of $option"
		done < <(values "$program" | cut -d ' ' -f 1 | sort -u)
	done
	is "$(fish_offers pcp 'pcp --preserve=mode,ti')" --preserve=mode,timestamps 'fish, a list'
	mkdir ac
	touch ad
	is "$(fish_offers pcp 'pcp -t a')" ac/ 'fish, directories for -t'
}

for case in table in_bash in_zsh in_fish; do
	run_once $case
done
done_testing
