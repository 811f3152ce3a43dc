# Memory used by the fullest step of every layer, fbs and dp-vbs, in 20 MiB.
format = ARG1
folder = ARG2
width = 8.6
height = 3.4
load folder . '/style.gp'
set output 'unused.' . format
data = 'unused.csv'
MiB = 1048576.0

stats data every ::1 using 0 nooutput
n = STATS_records
set xrange [0:n + 1]
set yrange [0:23]
set ytics 0, 5
set xlabel 'layer, in network order' offset 0, 0.2
set ylabel 'memory in use (MiB)' offset 0.5, 0
set style fill solid 1.0 noborder
set key top right horizontal samplen 1.5
set boxwidth 0.8
plot data every ::1 using ($0 + 1):(20 - $4 / MiB) with boxes ls 21 title 'fbs', \
     data every ::1 using ($0 + 1):(20 - $6 / MiB) with points ls 4 title 'dp-vbs', \
     20 with lines ls 6 title 'budget'
set output
