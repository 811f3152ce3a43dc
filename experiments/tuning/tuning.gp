# Left: the trials of both studies. Middle: images a second by memory, planned anew and kept. Right: the
# mean over the seeds of what samplers have reached, by trial.
format = ARG1
folder = ARG2
width = 11.6
height = 3.9
load folder . '/style.gp'
set output 'tuning.' . format
set datafile missing NaN
set multiplot
set bmargin at screen 0.15
set tmargin at screen 0.92

set lmargin at screen 0.055
set rmargin at screen 0.325
set title 'trials, 122.5 KiB' offset 0, -0.4
set xlabel 'times the control, planned' offset 0, 0.4
set ylabel 'accuracy lost (points)' offset 1.2, 0
set xrange [1:7]
set yrange [2.7:-0.3]
set key top right samplen 1
of(study) = strcol(1) eq study && $4 > 0 ? 100 * $7 : NaN
plot 0.5 with lines ls 6 title 'limit', \
     'aims.csv' every ::1 using 10:(of('latency')) with points ls 11 title 'latency', \
     'aims.csv' every ::1 using 10:(of('throughput')) with points ls 12 title 'throughput'

set yrange [0:*]
set lmargin at screen 0.405
set rmargin at screen 0.675
set title 'what was chosen, by memory' offset 0, -0.4
set xlabel 'activations (KiB)' offset 0, 0.4
set ylabel 'images a second, executed' offset 1.0, 0
set logscale x 2
set xrange [110:4500]
set xtics (128, 256, 512, 1024, 2048, 4096)
set key bottom right samplen 2 Right
speed(network, plan) = strcol(1) eq network && strcol(2) eq plan ? $4 : NaN
plot 'speeds.csv' every ::1 using 3:(speed('whole', 'again')) with linespoints ls 14 title 'whole', \
     'speeds.csv' every ::1 using 3:(speed('throughput', 'kept')) with linespoints ls 15 title 'throughput, kept', \
     'speeds.csv' every ::1 using 3:(speed('latency', 'kept')) with linespoints ls 16 title 'latency, kept', \
     'speeds.csv' every ::1 using 3:(speed('latency', 'again')) with linespoints ls 11 title 'latency', \
     'speeds.csv' every ::1 using 3:(speed('throughput', 'again')) with linespoints ls 12 title 'throughput'
unset logscale

set lmargin at screen 0.74
set rmargin at screen 0.99
set title 'samplers, mean of the seeds' offset 0, -0.4
set xlabel 'trial' offset 0, 0.4
set ylabel 'times the control, planned' offset 1.2, 0
set xrange [0:22]
set xtics 0, 5
set yrange [1:3]
set key top left samplen 2 Left reverse
reached(kind) = strcol(2) eq kind ? $14 : NaN
kinds = 'bayesian random grid scalar'
array styles = [12, 11, 15, 16]
plot for [k = 1:4] 'samplers.csv' every ::1 using 4:(reached(word(kinds, k))) smooth unique with linespoints \
     ls styles[k] title word(kinds, k)
unset multiplot
set output
