# AlexNet in 4 MiB as dp-vbs runs it: every step a rectangle, its batch in it; lines: cuts, the
# deeper the thinner.
format = ARG1
folder = ARG2
width = 8.6
height = 4.2
load folder . '/style.gp'
load folder . '/lattice/rectangles.gp'
set output 'laminar.' . format
plan = 'alexnet-dp-vbs'
is(p) = strcol(1) eq p
depth(d) = d < 5 ? $3 == d : $3 >= d

set tics scale 0
set cbrange [1:12]
set lmargin at screen 0.07
set rmargin at screen 0.99
set tmargin at screen 0.99
set bmargin at screen 0.02
set xrange [1:15]
set yrange [12:-0.9]
do for [s = 1:12] { set label s sprintf('%d', s) at 0.9, s - 0.5 right }
unset xtics
unset ytics
set label 13 'sample' at 0.9, -0.45 right
plot 'steps.csv' every ::1 \
         using ($3 + 0.5):(is(plan) ? ($6 + $7) / 2.0 : NaN):3:($3 + 1):6:7:5 \
         with boxxyerror lw 1 fc palette, \
     for [k = 1:5] d = 6 - k 'cuts.csv' every ::1 \
         using 4:(is(plan) && depth(d) ? $5 : NaN):($6 - $4):($7 - $5):(colour(strcol(2))) \
         with vectors nohead lw 3.9 - 0.7 * d lc rgb variable, \
     'steps.csv' every ::1 using ($3 + 0.5):(is(plan) ? ($6 + $7) / 2.0 : NaN):5 with labels, \
     '' every ::1 using ($3 + 0.5):(is(plan) && $6 == 0 ? -0.45 : NaN):4 with labels
set output
