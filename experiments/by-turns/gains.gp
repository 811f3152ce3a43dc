# Executed gain of dp-vbs+ over fbs-best against the budget, with its 95% interval, one marker per kind of machine
# and load.
format = ARG1
folder = ARG2
width = 8.6
height = 3.8
load folder . '/style.gp'
set output 'gains.' . format
data = 'by-turns.csv'
mib(_) = column('memory_bytes') / 1048576.0
kind(_) = strcol('isa')[1:6] eq 'avx512' ? 1 : column('busy') > 0 ? 3 : 2
x(which) = strcol('planner') eq 'dp-vbs+' && kind(0) == which ? mib(0) : NaN

set datafile missing NaN
set logscale x 2
set xlabel 'budget, MiB'
set ylabel 'executed gain over fbs-best, percent' offset 1, 0
set key outside right top samplen 1
set xzeroaxis ls 6
array titles[3] = ['AVX-512', 'without AVX-512', 'busy']
plot for [i = 1:3] data using (x(i)):(column('over_fbs_best_percent')): \
         (column('over_fbs_best_low_percent')):(column('over_fbs_best_high_percent')) with yerrorbars ls 10 + i title titles[i]
