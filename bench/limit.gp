# limit.gp - the pictures of bench-limit.sh, drawn from the columns of limit.csv:
#   gnuplot -e "csv='build/bench/limit.csv'; dir='build/bench'; what='10000 files of 4K, tmpfs'" bench/limit.gp
# The row without a number of workers (-j chosen by the program) is a horizontal line.

set datafile separator comma
set key autotitle columnhead
set terminal svg size 960,500 font 'sans-serif,13' background '#ffffff' dynamic
set grid ytics linecolor '#dddddd' linewidth 1
set border 3 linecolor '#777777'
set tics nomirror
set xlabel 'workers' offset 0,0.7
set logscale x 2
set offsets graph 0.03, graph 0.03, 0, 0
set key below center horizontal Left reverse samplen 2 maxrows 2

# One colour means one program in all pictures.
limit = '#999999'; copy = '#1f77b4'; remove = '#d62728'; gnu = '#2ca02c'

# Of the row without a number, and of the last row.
automatic(column) = real(system(sprintf("awk -F, '$1 == \"auto\" { print $%d }' %s", column, csv)))
constant(column) = real(system(sprintf("awk -F, 'END { print $%d }' %s", column, csv)))

set output dir.'/files-per-second.svg'
set multiplot layout 1,2 title 'Files per second: '.what
set yrange [0:*]
set format y '%.0s%c'
set title 'copy'
plot csv using 1:2 with linespoints pt 7 ps 0.6 lc rgb limit lw 2 title 'fsbench, read and write (best)', \
	'' using 1:3:4:5 with yerrorlines pt 7 ps 0.6 lc rgb copy lw 2 title 'pcp -j (median, range)', \
	automatic(3) with lines dt 2 lc rgb copy lw 1.5 title 'pcp', \
	constant(6) with lines dt 3 lc rgb gnu lw 2 title 'cp'
set title 'remove'
plot csv using 1:9 with linespoints pt 7 ps 0.6 lc rgb limit lw 2 title 'fsbench, unlink (best)', \
	'' using 1:10:11:12 with yerrorlines pt 7 ps 0.6 lc rgb remove lw 2 title 'prm -j (median, range)', \
	automatic(10) with lines dt 2 lc rgb remove lw 1.5 title 'prm', \
	constant(13) with lines dt 3 lc rgb gnu lw 2 title 'rm'
unset multiplot

set format y '%g'
set output dir.'/ratio-to-cp.svg'
set title 'How many times as fast as cp and rm: '.what
plot csv using 1:8 with linespoints pt 7 ps 0.6 lc rgb copy lw 2 title 'pcp -j', \
	automatic(8) with lines dt 2 lc rgb copy lw 1.5 title 'pcp', \
	'' using 1:15 with linespoints pt 7 ps 0.6 lc rgb remove lw 2 title 'prm -j', \
	automatic(15) with lines dt 2 lc rgb remove lw 1.5 title 'prm', \
	1 with lines dt 3 lc rgb gnu lw 2 title 'cp, rm'

set output dir.'/percent-of-limit.svg'
set title 'Per cent of what the file system gives to as many threads: '.what
set yrange [0:110]
set ylabel '%'
plot csv using 1:7 with linespoints pt 7 ps 0.6 lc rgb copy lw 2 title 'pcp -j', \
	'' using 1:14 with linespoints pt 7 ps 0.6 lc rgb remove lw 2 title 'prm -j', \
	100 with lines dt 3 lc rgb limit lw 2 title 'fsbench'
