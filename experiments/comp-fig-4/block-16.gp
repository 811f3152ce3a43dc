# Milliseconds of fc6 against the size of a block at batch 16.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'block-16.' . format
data = 'times.csv'
here(name) = strcol(1) eq name && $2 == 16

set datafile missing NaN
set key off
set logscale x 2
set xrange [13:5000]
set yrange [0:*]
set xtics (16, 64, 256, 1024, 4096)
set tmargin at screen 0.80
set bmargin at screen 0.15
set xlabel 'rows and columns of a block' offset 0, 0.4
set multiplot
do for [i = 1:2] {
    name = word('alexnet vgg-16', i)
    set lmargin at screen 0.075 + 0.49 * (i - 1)
    set rmargin at screen 0.490 + 0.49 * (i - 1)
    set title (i == 1 ? 'AlexNet fc6' : 'VGG-16 fc6') . ', batch 16' offset 0, -0.4
    if (i == 1) { set ylabel 'time (ms)' offset 1.0, 0 } else { unset ylabel }
    plot data every ::1 using 3:(here(name) ? $4 : NaN) with linespoints ls 14, \
         data every ::1 using 3:(here(name) ? $5 : NaN) with linespoints ls 11, \
         data every ::1 using 3:(here(name) ? $6 : NaN) with linespoints ls 13, \
         data every ::1 using 3:(here(name) ? $9 : NaN) with linespoints ls 12, \
         data every ::1 using 3:(here(name) ? $10 : NaN) with lines ls 6
}
unset logscale
key_titles = '"comp:gemm" "decoding" "the rest" "comp:sparse" "dense weights"'
key_styles = '14 11 13 12 6'
load folder . '/key.gp'
unset multiplot
set output
