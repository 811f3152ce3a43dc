# Milliseconds an image of the peers and of vbslab, one panel per batch.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'times.' . format
data = 'times.csv'
at(batch, column_) = column(2) == batch ? column(column_) / 1000.0 / batch : NaN

set datafile missing NaN
set key off
set logscale y
set xrange [-0.6:5.6]
set xtics rotate by 40 right
set tmargin at screen 0.82
set bmargin at screen 0.24
set multiplot
do for [i = 1:3] {
    batch = word('1 4 12', i) + 0
    set lmargin at screen 0.075 + 0.315 * (i - 1)
    set rmargin at screen 0.350 + 0.315 * (i - 1)
    set title sprintf('batch %d', batch) offset 0, -0.4
    if (i == 1) { set ylabel 'ms an image' offset 1.0, 0 } else { unset ylabel }
    set yrange [2:300]
    plot data every 3::i using (column(0)):(at(batch, 3)):xticlabels(1) with points ls 11, \
         '' every 3::i using (column(0)):(at(batch, 4)) with points ls 12, \
         '' every 3::i using (column(0)):(at(batch, 5)) with points ls 13, \
         '' every 3::i using (column(0)):(at(batch, 7)) with points ls 14
}
unset logscale
key_titles = '"ONNX Runtime" OpenVINO PyTorch vbslab'
key_styles = '11 12 13 14'
load folder . '/key.gp'
unset multiplot
set output
