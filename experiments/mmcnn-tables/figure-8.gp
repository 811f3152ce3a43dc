# How VGG-S is divided at five limits, as in MMCNN Figure 8.
format = ARG1
folder = ARG2
width = 8.6
height = 4.6
load folder . '/style.gp'
set output 'figure-8.' . format
network = 'vgg-s'
n_rows = 20
tops = '7 7 7 36 72'
steps = '1 1 1 10 20'
load folder . '/mmcnn-tables/numbers.gp'
