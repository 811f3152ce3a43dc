# Time of convolutions against the number of their filters, and of the channels that they read.
format = ARG1
folder = ARG2
width = 8.6
height = 3.4
load folder . '/style.gp'
set output 'steps.' . format
data = 'times.csv'
is(size, layer) = $1 == size && strcol(3) eq layer && $4 == 16 ? $6 / 1e3 : NaN

set datafile missing NaN
set key off
set xrange [0:98]
set xtics 16
set mxtics 2
set tmargin at screen 0.79
set bmargin at screen 0.17
set multiplot
do for [i = 1:2] {
    set lmargin at screen 0.075 + 0.49 * (i - 1)
    set rmargin at screen 0.500 + 0.49 * (i - 1)
    set title (i == 1 ? 'with so many filters, reading 64 channels' : 'with 64 filters, reading so many channels') \
        offset 0, -0.4
    set xlabel (i == 1 ? 'filters' : 'channels') offset 0, 0.3
    set yrange [0:*]
    if (i == 1) { set ylabel 'time of a batch of 16 (ms)' offset 1.0, 0 } else { unset ylabel }
    layer = i == 1 ? 'filters' : 'channels'
    plot data every ::1 using 2:(is(14, layer)) with linespoints ls 12, \
         data every ::1 using 2:(is(28, layer)) with linespoints ls 14
}
key_titles = '"14 x 14" "28 x 28"'
key_styles = '12 14'
load folder . '/key.gp'
unset multiplot
set output
