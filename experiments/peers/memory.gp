# Images a second against memory above that of the library alone, one panel per network; of vbslab
# with the weights inside, against its arena.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'memory.' . format
data = 'peers.csv'
set datafile commentschars '#'
is(name, peer) = strcol('network') eq name && strcol('peer') eq peer
mib(_) = (column('run_high_water_bytes') - column('base_bytes')) / 1048576.0
rate(_) = 1e6 * column('batch') / column('median_us')
x(name, peer) = is(name, peer) ? mib(0) : NaN
arena(name) = strcol('network') eq name ? column('budget_bytes') / 1048576.0 : NaN
ours(_) = 1e6 * column('request') / column('median_us')

set datafile missing NaN
set key off
set logscale x 2
set yrange [0:*]
set tmargin at screen 0.82
set bmargin at screen 0.17
set xlabel 'MiB above the library' offset 0, 0.4
names = 'bvlc_alexnet vgg16 resnet50'
set multiplot
do for [i = 1:3] {
    name = word(names, i)
    set lmargin at screen 0.075 + 0.315 * (i - 1)
    set rmargin at screen 0.350 + 0.315 * (i - 1)
    set title name offset 0, -0.4
    if (i == 1) { set ylabel 'images/s' offset 1.0, 0 } else { unset ylabel }
    plot data using (x(name, 'onnxruntime')):(rate(0)) with points ls 11, \
         '' using (x(name, 'onnxruntime-lean')):(rate(0)) with points ls 11, \
         '' using (x(name, 'openvino')):(rate(0)) with points ls 12, \
         '' using (x(name, 'pytorch-compile')):(rate(0)) with points ls 13, \
         'budgets.csv' using (arena(name)):(ours(0)) with linespoints ls 14
}
unset logscale
key_titles = '"ONNX Runtime" OpenVINO PyTorch "vbslab, joint"'
key_styles = '11 12 13 14'
load folder . '/key.gp'
unset multiplot
set output
