# Time of one image and its copies against the memory limit, as in MMCNN Figure 9: one column of
# panels per network.
format = ARG1
folder = ARG2
width = 8.6
height = 5.4
load folder . '/style.gp'
set output 'figure-9.' . format
data = 'times.csv'
is(network, planner) = strcol(1) eq network && strcol(2) eq planner && strcol(4) eq 'true'
ms(network, planner) = is(network, planner) ? $5 / 1000 : NaN
copies(network, planner) = is(network, planner) ? $8 : NaN
planners = 'mmcnn vdnn joint'
styles = '11 13 12'

set datafile missing NaN
set key off
set logscale x
set xrange [700:4.3] # as the paper: memory gets tighter to the right
set xtics (500, 200, 100, 50, 20, 10, 5)
set multiplot
do for [i = 1:3] {
    network = word('alexnet vgg-s vgg-19', i)
    set lmargin at screen 0.075 + 0.32 * (i - 1)
    set rmargin at screen 0.335 + 0.32 * (i - 1)
    set tmargin at screen 0.885
    set bmargin at screen 0.545
    set title word('AlexNet VGG-S VGG-D19', i) offset 0, -0.4
    unset label 1
    unset xlabel
    unset logscale y
    set yrange [0:*]
    if (i == 1) { set label 1 'time per image (ms)' rotate center at screen 0.012, 0.715 }
    plot for [p = 1:3] data every ::1 using 3:(ms(network, word(planners, p))) \
        with linespoints ls word(styles, p)
    unset title
    unset label 1
    set tmargin at screen 0.455
    set bmargin at screen 0.115
    set xlabel 'memory limit (MiB)' offset 0, 0.4
    set logscale y
    set yrange [5:3000]
    if (i == 1) { set label 1 'copies per image' rotate center at screen 0.012, 0.285 }
    plot for [p = 1:3] data every ::1 using 3:(copies(network, word(planners, p))) \
        with linespoints ls word(styles, p)
}
unset logscale
key_titles = planners
key_styles = styles
load folder . '/key.gp'
unset multiplot
set output
