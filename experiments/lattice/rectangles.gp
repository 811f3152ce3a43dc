# How figures of plans as rectangles look: layers across, samples down, a step one rectangle; the
# larger its batch the darker. Cuts: splits orange, barriers black.
set palette defined (1 '#e8f1f8', 2 '#cbe0f0', 4 '#a3c9e4', 8 '#6faed6', 12 '#3f8fc4')
unset colorbox
set style fill solid 1.0 border lc rgb '#ffffff'
unset grid
set border 0
set datafile missing NaN
set key off
# A knot has no cut: a line of no length.
cut(kind) = kind eq 'knot' ? 0 : 1
colour(kind) = kind eq 'split' ? 0xD55E00 : 0x000000
