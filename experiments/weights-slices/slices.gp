# Time of all slices over that of the whole against their number, with the fastest algorithm of each
# batch, one panel per batch.
format = ARG1
folder = ARG2
width = 8.6
height = 3.2
load folder . '/style.gp'
set output 'slices.' . format
data = 'slices.csv'
is(name, small, large) = strcol(1) eq name && ($2 == small || $2 == large) && $9 == 1
ratio(name, small, large) = is(name, small, large) ? $6 / $5 : NaN

set datafile missing NaN
set key off
set logscale x 2
set xrange [1.7:38]
set xtics (2, 4, 8, 16, 32)
stats data every ::1 using ($9 == 1 ? $6 / $5 : NaN) nooutput
set yrange [0:1.15 * (STATS_max > 1.2 ? STATS_max : 1.2)]
set tmargin at screen 0.80
set bmargin at screen 0.17
set xlabel 'slices' offset 0, 0.4
set multiplot
do for [i = 1:3] {
    small = word('1 4 16', i) + 0 # of VGG
    large = word('1 8 64', i) + 0 # of AlexNet
    set lmargin at screen 0.070 + 0.32 * (i - 1)
    set rmargin at screen 0.335 + 0.32 * (i - 1)
    set title word('1 4 16', i) eq '1' ? 'batch 1' : sprintf('batch %d (VGG: %d)', large, small) \
        offset 0, -0.4
    if (i == 1) { set ylabel 'time of all slices / whole' offset 1.0, 0 } else { unset ylabel }
    plot 1 with lines ls 6, \
         data every ::1 using 4:(ratio('AlexNet conv3', large, large)) with linespoints ls 11, \
         data every ::1 using 4:(ratio('AlexNet conv4', large, large)) with linespoints ls 12, \
         data every ::1 using 4:(ratio('AlexNet fc6', large, large)) with linespoints ls 13, \
         data every ::1 using 4:(ratio('VGG conv5_1', small, small)) with linespoints ls 14
}
unset logscale
key_titles = '"AlexNet conv3" "AlexNet conv4" "AlexNet fc6" "VGG conv5_1"'
key_styles = '11 12 13 14'
load folder . '/key.gp'
unset multiplot
set output
