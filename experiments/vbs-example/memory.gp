# Memory of every step over time: fbs above, dp-vbs below.
format = ARG1
folder = ARG2
width = 6.4
height = 4.8
load folder . '/style.gp'
set output 'memory.' . format

set xrange [0:25]
set yrange [0:9]
set xtics 0, 2
set ytics 0, 1
set format y '%g'
set style fill solid 1.0 border lc rgb '#ffffff'
budget = 7

set multiplot
set lmargin at screen 0.10
set rmargin at screen 0.98
set ylabel 'memory (units)' offset -0.5, 0

do for [panel = 1:2] {
    trace = panel == 1 ? 'fbs' : 'dp-vbs'
    set tmargin at screen panel == 1 ? 0.88 : 0.44
    set bmargin at screen panel == 1 ? 0.56 : 0.12
    set label 1 (panel == 1 ? 'fbs: every layer at one sample, 12 a sample' : \
        'dp-vbs: L1 and L3 at two samples, L2 at one, 10 a sample') at graph 0, 1.06 left
    set label 2 'budget' at 24.8, budget + 0.5 right
    if (panel == 2) {
        set xlabel 'time (units)' offset 0, 0.3
        unset key
    } else {
        unset xlabel
        set key at screen 0.98, 0.975 right horizontal samplen 1.5 width 1
    }
    plot trace . '-trace.csv' every ::1 using 7:(0):7:8:(0):9 with boxxyerror ls 21 title 'held', \
         trace . '-trace.csv' every ::1 using 7:9:7:8:9:($9 + $10) \
            with boxxyerror ls 22 title 'output', \
         trace . '-trace.csv' every ::1 using 7:9:7:8:($9 + $10):($9 + $10 + $11) \
            with boxxyerror ls 23 title 'workspace', \
         trace . '-trace.csv' every ::1 using (0.5 * ($7 + $8)):($9 + $10 + $11 + 0.45): \
            (sprintf('%s x%d', strcol(3), $4)) with labels font ',9' notitle, \
         budget with lines ls 6 notitle
}
unset multiplot
set output
