# How AlexNet is divided at five limits, as in MMCNN Figure 7.
format = ARG1
folder = ARG2
width = 8.6
height = 4.6
load folder . '/style.gp'
set output 'figure-7.' . format
network = 'alexnet'
n_rows = 21
tops = '5 5 5 18 36'
steps = '1 1 1 5 10'
load folder . '/mmcnn-tables/numbers.gp'
