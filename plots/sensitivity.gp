# sensitivity.gp - accuracy against the share of channels that is removed, one curve for each group.
#
# Needs what src/report/plot/sensitivity.c sets before it: vbs_panels, vbs_curves, vbs_title, vbs_fall, and the
# arrays vbs_name (per curve) and vbs_whole (per panel); and plots/common.gp. Block c-1 of the data holds
# curve c: the share in percent, the accuracy, and the accuracy behind retraining.
#
# A second panel shows retrained networks. The band is what a range may lose; a curve that leaves it
# does so at the width where the range ends.

width_inches = width_of(vbs_panels == 1 ? 4.6 : 8.0)
key_columns = width_inches < 2.9 ? 1 : floor((width_inches - 0.25) / 1.44)
key_rows = (vbs_curves + key_columns - 1) / key_columns
key_inches = 0.14 + 0.18 * key_rows
height_inches = height_of(3.0 + key_inches)
eval need(width_inches, height_inches, vbs_panels * 2.0, 1.8 + key_inches)
eval begin(width_inches, height_inches)

# Colours of Okabe and Ito, told apart by the colour-blind; from the ninth curve on they come again
# with other dashes and markers.
array colour = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000', '#8C6D31']
array sign = [7, 5, 9, 13, 6, 4, 8, 12]
colour_of(i) = colour[1 + (i - 1) % 8]
sign_of(i) = sign[1 + (i - 1 + (i - 1) / 8) % 8]
dash_of(i) = 1 + ((i - 1) / 8) % 5

set style line 41 lc rgb '#d8d8d8' lw 0.5 dt solid
set grid back linestyle 41
set border 3 lw 0.8
set tics nomirror out scale 0.6
set key off
set multiplot

# Both panels have one axis, so that they can be compared. It shows all accuracies and the band.
lowest = 100.0
do for [p = 1:vbs_panels] {
    stats vbs_data using 1 + p nooutput
    lowest = STATS_min < lowest ? STATS_min : lowest
    lowest = vbs_whole[p] - vbs_fall < lowest ? vbs_whole[p] - vbs_fall : lowest
}
highest = vbs_whole[1]
if (vbs_panels == 2) { highest = vbs_whole[2] > highest ? vbs_whole[2] : highest }
stats vbs_data using 1 nooutput
furthest = STATS_max
span = highest - lowest > 0.5 ? highest - lowest : 0.5
set yrange [lowest - 0.04 * span:highest + 0.08 * span]
set xrange [0:furthest + 3 < 100 ? furthest + 3 : 100]
set xlabel 'channels removed (%)' offset 0, 0.4

do for [p = 1:vbs_panels] {
    left = real(p - 1) / vbs_panels
    right = real(p) / vbs_panels
    set lmargin at screen left + 0.66 / width_inches
    set rmargin at screen right - 0.14 / width_inches
    set tmargin at screen 1 - 0.46 / height_inches
    set bmargin at screen (key_inches + 0.50) / height_inches
    set title (p == 1 ? vbs_title : 'retrained') noenhanced offset 0, -0.3
    set label 4 'validation accuracy (%)' rotate by 90 center \
        at screen left + 0.13 / width_inches, graph 0.5
    set object 1 rectangle from graph 0, first vbs_whole[p] - vbs_fall \
        to graph 1, first vbs_whole[p] fillcolor rgb '#eeeeee' fillstyle solid noborder behind
    plot for [i = 1:vbs_curves] vbs_data index i - 1 using 1:1 + p with linespoints \
        lc rgb colour_of(i) lw 1.4 dt dash_of(i) pt sign_of(i) ps 0.7 * marker notitle
    unset label 4
    unset object 1
}

# The key is set by hand: gnuplot would guess the width of the text and leave entries out.
unset title
unset xlabel
unset border
unset tics
unset grid
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen key_inches / height_inches
do for [i = 1:vbs_curves] {
    x = (0.25 + (width_inches - 0.25) / key_columns * ((i - 1) / key_rows)) / width_inches
    y = (key_inches - 0.18 * ((i - 1) % key_rows) - 0.12) / height_inches
    set arrow i from screen x, y to screen x + 0.30 / width_inches, y nohead \
        lc rgb colour_of(i) lw 1.4 dt dash_of(i)
    set label 2 * i '' at screen x + 0.15 / width_inches, y point lc rgb colour_of(i) \
        pt sign_of(i) ps 0.7 * marker
    set label 2 * i + 1 sized(9, vbs_name[i]) noenhanced at screen x + 0.38 / width_inches, y left font ',9'
}
set xrange [0:1]
set yrange [0:1]
plot 1 / 0 notitle
unset multiplot
set output
