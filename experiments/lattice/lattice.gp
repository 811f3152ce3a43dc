# The lattice of crossing.csv with the paths of three plans. Points: states, by the largest batch
# that L1 could take there.
format = ARG1
folder = ARG2
width = 8.6
height = 3.5
load folder . '/style.gp'
set output 'lattice.' . format
plans = 'crossing-fbs crossing-dp-vbs crossing-optimal'
titles = '"fbs: %g" "dp-vbs and dp-vbs+: %g" "optimal: %g"'
set style line 51 lc rgb '#0072B2' pt 7 ps 1.5 * marker
set style line 52 lc rgb '#56B4E9' pt 7 ps 1.3 * marker
set style line 53 lc rgb '#9a9a9a' pt 6 ps 1.1 * marker
set style line 54 lc rgb '#D55E00' lw 2.4

set datafile missing NaN
set key off
unset grid
set xtics 0, 1
set ytics 0, 1
set tmargin at screen 0.80
set bmargin at screen 0.17
set xlabel 'samples that L1 has done' offset 0, 0.3
set multiplot
do for [i = 1:3] {
    plan = word(plans, i)
    set autoscale
    stats 'steps.csv' every ::1 using (strcol(1) eq plan ? $9 : NaN) nooutput
    set lmargin at screen 0.065 + 0.32 * (i - 1)
    set rmargin at screen 0.335 + 0.32 * (i - 1)
    set title sprintf(word(titles, i), STATS_max) offset 0, -0.4
    set xrange [-0.5:6.5]
    set yrange [-0.8:6.5]
    if (i == 1) { set ylabel 'samples that L2 has done' offset 1.0, 0 } else { unset ylabel }
    plot 'states.csv' every ::1 using 1:($3 >= 3 ? $2 : NaN) with points ls 51, \
         '' every ::1 using 1:($3 == 2 ? $2 : NaN) with points ls 52, \
         '' every ::1 using 1:($3 < 2 ? $2 : NaN) with points ls 53, \
         'paths.csv' every ::1 using 2:(strcol(1) eq plan ? $3 : NaN):4:5 \
             with vectors head filled size 0.28,18 ls 54, \
         '' every ::1 using ($2 + $4 / 2 + ($5 > 0 ? 0.3 : 0)): \
             (strcol(1) eq plan ? $3 + $5 / 2 - ($4 > 0 ? 0.36 : 0) : NaN):6 \
             with labels tc rgb '#D55E00'
}
# The key, along the top.
unset title
unset xlabel
unset ylabel
unset border
unset tics
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen 1
set label 1 'samples that L1 could take next:' at screen 0.46, 0.96 right
set key at screen 0.47, 0.985 left top horizontal maxrows 1 samplen 0.5 width 1
plot [0:1] [0:1] 2 with points ls 51 title '3', 2 with points ls 52 title '2', \
     2 with points ls 53 title '1 or none'
unset multiplot
set output
