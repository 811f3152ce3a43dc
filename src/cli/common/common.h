/*
 * The headers of this room that commands may use, by topic:
 *
 *   cli.h       the frame of all commands: their table, options, errors, notes, profiles by word
 *   commands.h  running a command by its words
 *   comparing.h options and profiles of comparisons
 *   data.h      files that come with the program
 *   folder.h    folders for results of several files
 *   help.h      the help that describes commands
 *   inputs.h    shapes and values of the inputs of a network
 *   list.h      options whose value is a list with commas
 *   measuring.h measuring a network into the store
 *   normalise.h how the inputs of a network are normalised
 *   number.h    numbers as people read and type them
 *   option.h    values of options: numbers and words
 *   pictures.h  pictures: their files, sizes, fonts and series
 *   pin.h       threads bound to cores
 *   predicting.h predicting times from the calibration of this machine
 *   quote.h     words as a shell reads them
 *   solving.h   options of planners, and infeasible answers
 */
#ifndef VBS_CLI_COMMON_COMMON_H
#define VBS_CLI_COMMON_COMMON_H

#include "cli/common/cli.h"
#include "cli/common/commands.h"
#include "cli/common/comparing.h"
#include "cli/common/data.h"
#include "cli/common/folder.h"
#include "cli/common/help.h"
#include "cli/common/inputs.h"
#include "cli/common/list.h"
#include "cli/common/measuring.h"
#include "cli/common/normalise.h"
#include "cli/common/number.h"
#include "cli/common/option.h"
#include "cli/common/pictures.h"
#include "cli/common/pin.h"
#include "cli/common/predicting.h"
#include "cli/common/quote.h"
#include "cli/common/solving.h"
#include "cli/common/suggest.h"

#endif
