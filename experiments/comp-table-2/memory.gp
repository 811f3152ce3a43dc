# Working memory against the size of a block, one panel for each network.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'memory.' . format
data = 'memory.csv'

set datafile missing NaN
set key off
set logscale x 2
set logscale y 10
set xrange [13:5000]
set yrange [0.5:300000]
set xtics (16, 64, 256, 1024, 4096)
set ytics ('1 KiB' 1, '10 KiB' 10, '100 KiB' 100, '1 MiB' 1024, '10 MiB' 10240, '100 MiB' 102400)
set tmargin at screen 0.80
set bmargin at screen 0.15
set xlabel 'rows and columns of a block' offset 0, 0.4
set multiplot
do for [i = 1:2] {
    name = word('alexnet vgg-16', i)
    set lmargin at screen 0.100 + 0.49 * (i - 1)
    set rmargin at screen 0.490 + 0.49 * (i - 1)
    set title (i == 1 ? 'AlexNet fc6' : 'VGG-16 fc6') offset 0, -0.4
    plot data every ::1 using 2:(strcol(1) eq name ? $3 : NaN) with linespoints ls 11, \
         data every ::1 using 2:(strcol(1) eq name ? $4 / 1024 : NaN) with lines ls 6, \
         data every ::1 using 2:(strcol(1) eq name ? $5 / 1024 : NaN) with linespoints ls 12, \
         data every ::1 using 2:(strcol(1) eq name ? $7 / 1024 : NaN) with linespoints ls 13, \
         data every ::1 using 2:(strcol(1) eq name ? $9 / 1024 : NaN) with linespoints ls 14
}
unset logscale
key_titles = '"COMP" "one dense block" "comp:gemm, batch 1" "comp:gemm, batch 256" "comp:sparse, batch 1"'
key_styles = '11 6 12 13 14'
load folder . '/key.gp'
unset multiplot
set output
