# The median of ten seeds of what has been reached, by trial.
format = ARG1
folder = ARG2
width = 9.4
height = 5.0
load folder . '/style.gp'
set output 'progress.' . format
set datafile separator ','
set datafile missing 'nan'
names = 'hartmann branin rosenbrock gardner mixed pruning zdt1 pareto'
titles = '"Hartmann, 6 numbers" "Branin" "Rosenbrock, 4 integers" "Gardner, constrained" "mixed, constrained" "pruning, constrained" "ZDT1, hypervolume" "pruning, hypervolume"'
trials = '60 40 60 40 50 30 60 40'
samplers = 'random grid tpe gp bayesian'
styles = '5 11 13 14 12'
low(i) = word('2 -3 -60 1 -0.6 1 3 20', i) + 0
chosen(i, s) = strcol(1) eq word(names, i) && strcol(2) eq word(samplers, s) && $3 == 1 ? $5 : NaN

set key off
set multiplot
do for [i = 1:8] {
    column = (i - 1) % 4
    row = (i - 1) / 4
    set lmargin at screen 0.06 + 0.245 * column
    set rmargin at screen 0.235 + 0.245 * column
    set tmargin at screen 0.86 - 0.46 * row
    set bmargin at screen 0.56 - 0.46 * row
    set title word(titles, i) offset 0, -0.5
    set xrange [0:word(trials, i) + 0]
    set xtics 20
    set yrange [low(i):*]
    if (row == 1) { set xlabel 'trial' offset 0, 0.5 } else { unset xlabel }
    plot for [s = 1:5] 'curves.csv' every ::1 using 4:(chosen(i, s)) with lines ls word(styles, s) + 0
}
key_titles = 'random grid "Optuna TPE" "Optuna GP" bayesian'
key_styles = styles
load folder . '/key.gp'
unset multiplot
set output
