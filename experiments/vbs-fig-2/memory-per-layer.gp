# Input, output and workspace of every layer, stacked; markers: the same with im2col as the workspace.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'memory-per-layer.' . format
data = 'memory-per-layer.csv'
MiB = 1048576.0

stats data every ::1 using 1 nooutput
set xrange [0.2:STATS_max + 0.8]
set yrange [0:12 < *]
set xlabel 'layer, in network order' offset 0, 0.2
set ylabel 'memory at batch 1 (MiB)' offset 0.5, 0
set style fill solid 1.0 noborder
set boxwidth 0.8
set key at graph 0.99, 0.86 right top samplen 1.5 Left reverse
set xtics 0, 10
plot data every ::1 using 1:(($4 + $5 + $6) / MiB) with boxes ls 23 \
         title 'workspace of the fastest algorithm', \
     data every ::1 using 1:(($4 + $5) / MiB) with boxes ls 22 title 'output', \
     data every ::1 using 1:($4 / MiB) with boxes ls 21 title 'input', \
     data every ::1 using 1:($8 > 0 ? ($4 + $5 + $8) / MiB : 1 / 0) with points lc rgb '#000000' \
         pt 6 ps 0.6 * marker title 'the same with an unfolded input (im2col) as workspace', \
     10.7 with lines ls 6 title 'largest and smallest of the paper', \
     1.07 with lines ls 6 notitle
set output
