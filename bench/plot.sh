#!/usr/bin/env bash
# plot.sh - the README's table and picture of results, from what the benchmarks wrote:
#
#   plot.sh          draws bench/results/speed.svg, and puts the table into README.md between its two marks
#   plot.sh --table  prints the table
#
# bench/results/network.csv is of bench-network.sh (one delay), local.csv of bench-local.sh; both are kept as they were
# written. Needs gnuplot, but not for --table.
set -eu -o pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/results"

# One line each, its columns separated by tabs: where, which of the two, what, GNU's seconds, ours, how many times as fast.
rows() {
	awk -F, -v OFS='\t' '
		BEGIN {
			name["many"] = "small files in many directories"
			name["node"] = "node_modules"
			name["flat"] = "one directory"
		}
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			key = $at["workload"] "," $at["side"]
			tool = $at["tool"]
			seconds = $at["seconds"]
		}
		tool == "cp" || tool == "rm" { gnu[key] = seconds }
		(tool == "pcp" || tool == "prm") && $at["j"] == "auto" {
			print "network", tool, name[$at["workload"]], gnu[key], seconds, sprintf("%.1f", gnu[key] / seconds)
		}' network.csv
	awk -F, -v OFS='\t' '
		BEGIN {
			name["grid"] = "10,000 files in 200 directories"
			name["small"] = "24,000 files in 3,000 directories"
			name["flat"] = "20,000 files in one directory"
			name["ten"] = "10 files"
		}
		NR > 1 { print "local", $2, name[$1], $3, $4, sprintf("%.1f", $3 / $4) }' local.csv
}

table() {
	echo '| | what | GNU | pcp, prm | times as fast |'
	echo '| --- | --- | --- | --- | --- |'
	rows | awk -F'\t' '{
		unit = $1 == "local" ? "ms" : "s"
		scale = $1 == "local" ? 1000 : 1
		printf "| %s | %s, %s | %.1f %s | %.1f %s | %s |\n", $1 == "local" ? "memory" : "5 ms a request",
			$2 == "pcp" ? "copy" : "remove", $3, $4 * scale, unit, $5 * scale, unit, $6
	}'
}

if [ "${1:-}" = --table ]; then
	table
	exit
fi
command -v gnuplot >/dev/null || { echo 'plot.sh: gnuplot is missing: make deps' >&2; exit 1; }

data=$(mktemp)
trap 'rm -f "$data"' EXIT
rows | awk -F'\t' '{
	printf "\"%s, %s%s\" %s %d\n", $2 == "pcp" ? "copy" : "remove", $3, $1 == "local" ? " (memory)" : "", $6,
		$2 == "pcp" ? 1 : 2
}' | tac >"$data"
gnuplot <<END
set terminal svg noenhanced size 860,460 font 'sans-serif,13' background '#ffffff'
set output 'speed.svg'
set title 'pcp and prm: times as fast as cp and rm (5 ms a request; in memory)' offset -8
set border 3 linecolor '#777777'
set tics nomirror
set grid xtics linecolor '#dddddd' linewidth 1
set logscale x
set xrange [0.5:100]
set yrange [-0.7:*]
set xtics (0.5, 1, 2, 5, 10, 20, 50, 100)
set arrow from 1, graph 0 to 1, graph 1 nohead linecolor '#2ca02c' linewidth 2 dashtype 3
set style fill solid
unset key
color(program) = program == 1 ? 0x1f77b4 : 0xd62728
plot '$data' using (1):(\$0):(1):2:(\$0 - 0.35):(\$0 + 0.35):(color(\$3)):ytic(1) with boxxyerror linecolor rgb variable, \
	'' using ((\$2 > 1 ? \$2 : 1) * 1.06):(\$0):2 with labels left font ',11' textcolor rgb '#444444'
END

# (A file of its own in between: what is read is not what is written.)
table | awk -v readme=../../README.md '
	{ table = table $0 "\n" }
	END {
		while ((getline line < readme) > 0) {
			if (line == "<!-- end of results -->")
				inside = 0
			if (!inside)
				print line
			if (line == "<!-- results: made by bench/plot.sh -->") {
				inside = 1
				printf "\n%s\n", table
			}
		}
	}' >"$data"
cp "$data" ../../README.md
