# Executed time over predicted time against the budget, one marker per planner's kind.
format = ARG1
folder = ARG2
width = 8.6
height = 3.8
load folder . '/style.gp'
set output 'executed.' . format
data = 'executed.csv'
set datafile commentschars '#'
off(_) = 100 * (column('executed_us') / column('predicted_us') - 1)
mib(_) = column('memory_bytes') / 1048576.0
x(name, where) = strcol('network') eq name && strcol('weights') eq where ? mib(0) : NaN

set datafile missing NaN
set logscale x 2
set xlabel 'budget, MiB'
set ylabel 'executed over predicted time, percent' offset 1, 0
set key outside right top samplen 1
set arrow 1 from graph 0, first 5 to graph 1, first 5 nohead ls 6
set arrow 2 from graph 0, first -5 to graph 1, first -5 nohead ls 6
names = 'googlenet squeezenet-v1.0 mobilenet-v1 resnet-50 alexnet vgg-16'
plot for [i = 1:6] data using (x(word(names, i), 'excluded')):(off(0)) with points ls 10 + i \
         title word(names, i), \
     for [i = 1:6] data using (x(word(names, i), 'included')):(off(0)) with points ls 10 + i \
         pt 2 notitle, \
     NaN with points pt 2 lc rgb '#000000' title 'x: weights included'
