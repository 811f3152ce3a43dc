/* What this sub-room offers to other rooms: running gnuplot on a script. */
#ifndef VBS_REPORT_PLOT_PLOT_H
#define VBS_REPORT_PLOT_PLOT_H

#include "report/plot/gnuplot.h"

#endif
