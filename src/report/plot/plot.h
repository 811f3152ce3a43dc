/* What this sub-room offers to other rooms: making pictures by gnuplot. */
#ifndef VBS_REPORT_PLOT_PLOT_H
#define VBS_REPORT_PLOT_PLOT_H

#include "report/plot/gnuplot.h"

#endif
