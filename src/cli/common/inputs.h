/* The options --input, --fix and --until, which may be repeated: shapes and values of the inputs of
 * a network, and where it ends. */
#ifndef VBS_CLI_COMMON_INPUTS_H
#define VBS_CLI_COMMON_INPUTS_H

#include "cli/common/cli.h"

/* The option --fix, for an initializer. */
#define CLI_OPTION_FIX                                                                             \
    "fix", "NAME=NUMBER",                                                                          \
        "the input NAME of an ONNX file, which has one element, is this constant; may be repeated"

/* The option --until, for an initializer. */
#define CLI_UNTIL_TEXT                                                                             \
    "the network of an ONNX file ends with what these nodes make, or with these tensors"
#define CLI_OPTION_UNTIL "until", "NODE[,NODE...]", CLI_UNTIL_TEXT

/* The option --input of commands that take no files for it, for an initializer. Every command that
 * takes a MODEL or a PROFILE has all three. */
#define CLI_OPTION_INPUT_SHAPE                                                                     \
    "input", "[NAME=]CxHxW",                                                                       \
        "another input shape, as 3x16x224x224; of several inputs NAME=SHAPE, repeated"

/* Gives the value that the option of the command has where it is given for the n-th time, from 0;
 * null: it is given less often. */
const char *cli_nth_value(const struct cli *cli, const char *option, int n);

/* Returns whether a value of --until is a percentage, as 'measure' takes it, and no names. */
bool cli_is_percentage(const char *value);

/* Reads the shapes of --input, the values of --fix and the ends of --until of the command that runs
 * into cli->choices, which are empty before; names of files are left out. VBS_USAGE, VBS_NO_MEMORY.
 * cli_choices_clear frees them, also after a failure. */
enum vbs_status cli_read_choices(struct cli *cli) VBS_MUST_CHECK;

/* Appends a choice for the input whose name are the first length bytes of name, which are copied,
 * or (0) for the only one. */
enum vbs_status cli_add_choice(struct cli *cli, struct cli_choices *choices, const char *name,
                               size_t length, const struct vbs_input_choice *choice) VBS_MUST_CHECK;
void cli_choices_clear(struct cli_choices *choices);

/* Gives whether a value of --input is a shape, or NAME=SHAPE. */
bool cli_is_shape_choice(const char *value);

#endif
