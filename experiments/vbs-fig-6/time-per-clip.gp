# VBS Figure 6: time per clip, by frames and by frame size, both modelled; and measured.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'time-per-clip.' . format
data = 'compare.csv'
planners = 'fbs fbs-best dp-vbs'
styles = '1 2 4'
sizes = '16x224x224 16x224x256 16x240x256 16x240x288 16x240x320'
clips = '16x112x112 32x112x112 16x224x224'
GiB = 1073741824.0
MiB = 1048576.0

is(source, judge, bytes, planner) = strcol(1)[1:8] eq source && strcol(2) eq judge && \
    $5 == bytes && strcol(6) eq planner && strcol(7) eq 'true'
clip(n) = strcol(1)[10:]
at(list) = strstrt(list, clip(0)) ? (strstrt(list, clip(0)) - 1) / 11 + 1 : NaN
frames(n) = clip(0)[3:] eq 'x224x224' ? real(clip(0)[1:2]) : NaN

set datafile missing NaN
set key off
set multiplot
set tmargin at screen 0.82
set bmargin at screen 0.26
set yrange [0:*]
set label 1 at screen 0.205, 0.05 'frames' center
set label 2 at screen 0.535, 0.05 'height x width' center
set label 3 at screen 0.860, 0.05 'frames x height x width' center

set lmargin at screen 0.075
set rmargin at screen 0.335
set ylabel 'time per clip (ms)' offset 0.8, 0
set title 'modelled, 4 GiB: 224x224'
set xrange [15:33]
set xtics 16, 4
plot for [p = 1:3] data every ::1 \
         using (frames(0)):(is('modelled', 'self', 4 * GiB, word(planners, p)) ? \
         $8 / 1000 : NaN) with linespoints ls word(styles, p)

unset ylabel
unset label
set lmargin at screen 0.405
set rmargin at screen 0.665
set title 'modelled, 4 GiB: 16 frames'
set xrange [0.5:5.5]
set xtics rotate by 35 right offset 0, 0 ()
do for [i = 1:5] { set xtics add (word(sizes, i)[4:] i) }
plot for [p = 1:3] data every ::1 \
         using (at(sizes)):(is('modelled', 'self', 4 * GiB, word(planners, p)) ? \
         $8 / 1000 : NaN) with linespoints ls word(styles, p)

set lmargin at screen 0.735
set rmargin at screen 0.985
set title 'measured, 300 MiB'
set xrange [0.5:3.5]
set xtics rotate by 35 right offset 0, 0 ()
do for [i = 1:3] { set xtics add (word(clips, i) i) }
plot for [p = 1:3] data every ::1 \
         using (at(clips)):(is('measured', 'second', 300 * MiB, word(planners, p)) ? \
         $8 / 1000 : NaN) with points ls word(styles, p)

key_titles = planners
key_styles = styles
load folder . '/key.gp'
unset multiplot
set output
