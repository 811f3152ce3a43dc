# Left: the trials of both studies. Right: images a second by memory, planned anew and kept.
format = ARG1
folder = ARG2
width = 8.4
height = 3.9
load folder . '/style.gp'
set output 'tuning.' . format
set datafile missing NaN
set multiplot
set bmargin at screen 0.15
set tmargin at screen 0.92

set lmargin at screen 0.075
set rmargin at screen 0.47
set title 'trials, 122.5 KiB' offset 0, -0.4
set xlabel 'times the control, planned' offset 0, 0.4
set ylabel 'accuracy lost (points)' offset 1.2, 0
set xrange [1:7]
set yrange [-0.3:2.7] reverse
set key top right samplen 1
of(study) = strcol(1) eq study && $4 > 0 ? 100 * $7 : NaN
plot 0.5 with lines ls 6 title 'limit', \
     'aims.csv' every ::1 using 10:(of('latency')) with points ls 11 title 'latency', \
     'aims.csv' every ::1 using 10:(of('throughput')) with points ls 12 title 'throughput'

set yrange [0:*] noreverse
set lmargin at screen 0.57
set rmargin at screen 0.985
set title 'what was chosen, by memory' offset 0, -0.4
set xlabel 'activations (KiB)' offset 0, 0.4
set ylabel 'images a second, executed' offset 1.0, 0
set logscale x 2
set xrange [110:4500]
set xtics (128, 256, 512, 1024, 2048, 4096)
set key bottom right samplen 2 noreverse Right
speed(network, plan) = strcol(1) eq network && strcol(2) eq plan ? $4 : NaN
plot 'speeds.csv' every ::1 using 3:(speed('whole', 'again')) with linespoints ls 14 title 'whole', \
     'speeds.csv' every ::1 using 3:(speed('throughput', 'kept')) with linespoints ls 15 title 'throughput, kept', \
     'speeds.csv' every ::1 using 3:(speed('latency', 'kept')) with linespoints ls 16 title 'latency, kept', \
     'speeds.csv' every ::1 using 3:(speed('latency', 'again')) with linespoints ls 11 title 'latency', \
     'speeds.csv' every ::1 using 3:(speed('throughput', 'again')) with linespoints ls 12 title 'throughput'
unset multiplot
set output
