# The proven gap of the best schedule at a request of 12, by memory, with 1% as the aim.
format = ARG1
folder = ARG2
width = 8.6
height = 3.4
load folder . '/style.gp'
set output 'gaps.' . format
data = 'proofs.csv'
networks = 'alexnet vgg-16 googlenet resnet-50 squeezenet-v1.0 mobilenet-v1'
words = 'external resident'
MiB = 1048576.0
is(n, io) = strcol(1) eq word(networks, n) && strcol(2) eq 'onednn' && $3 == 12 && strcol(4) eq io

set datafile missing NaN
set datafile commentschars '#'
set key off
set xrange [10:40]
set xtics 10, 5
set yrange [0:5]
set ytics 0, 1
set format y '%g%%'
set tmargin at screen 0.80
set bmargin at screen 0.17
set xlabel 'memory budget (MiB)' offset 0, 0.3
set multiplot
do for [i = 1:2] {
    io = word(words, i)
    set lmargin at screen i == 1 ? 0.075 : 0.555
    set rmargin at screen i == 1 ? 0.505 : 0.985
    set title 'io ' . io offset 0, -0.4
    if (i == 1) { set ylabel 'gap at most' offset -0.3, 0 } else { unset ylabel }
    plot 1 with lines ls 6, \
         for [n = 1:6] data every ::1 \
             using ($5 / MiB):(is(n, io) ? 100 * ($7 / $8 - 1) : NaN) with linespoints ls 10 + n
}
set format y '%g'
key_titles = networks
key_styles = '11 12 13 14 15 16'
load folder . '/key.gp'
unset multiplot
set output
