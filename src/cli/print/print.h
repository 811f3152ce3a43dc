/*
 * Functions that print on standard output, by topic:
 *
 *   estimate.h   bytes and times of a planner without schedules, as text for people
 *   flow.h       lines no wider than the terminal
 *   json.h       results as JSON
 *   provenance.h the provenance of the times of a result
 *   rows.h       the printed accounting of mmCNN
 *   schedule.h   a schedule as text for people
 *   table.h      aligned tables
 *   text.h       a finished text
 *   weights.h    weights and their copies
 */
#ifndef VBS_CLI_PRINT_PRINT_H
#define VBS_CLI_PRINT_PRINT_H

#include "cli/print/estimate.h"
#include "cli/print/flow.h"
#include "cli/print/json.h"
#include "cli/print/provenance.h"
#include "cli/print/rows.h"
#include "cli/print/schedule.h"
#include "cli/print/table.h"
#include "cli/print/text.h"
#include "cli/print/weights.h"

#endif
