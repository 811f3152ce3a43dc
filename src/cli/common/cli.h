/*
 * The frame that the subcommands share: one table of commands, one way to read options, one way to
 * end. A command lives in cmd_NAME.c, defines "const struct cli_command cli_NAME" and has a line in
 * the table in main.c. Only the command line prints, and only through this room or stdio.
 */
#ifndef VBS_CLI_COMMON_CLI_H
#define VBS_CLI_COMMON_CLI_H

#include "base/ctx.h"
#include "vbslab/vbslab.h"

#include <stdbool.h>
#include <stdio.h>

/* The progress bar. Internal to cli.c. */
struct cli_bar {
    bool drawn;
    double start_s, drawn_s;
};

/* What the command line says of the inputs of a network (inputs.h). */
struct cli_choices {
    struct vbs_input_choice *choices;
    int n;
    char **names; /* [n] */
};

/* The settings of the options before the command, and the state that every command may use. */
struct cli {
    struct vbs_ctx ctx;
    const char *db_path; /* --db, $VBSLAB_DB, or the default */
    bool db_is_default;  /* the folder of the store is made when it is first written */
    bool db_is_given;    /* it is that of --db */
    char db_buffer[4096];
    bool quiet;  /* --quiet: no progress, no warnings */
    bool tty;    /* standard error is a terminal that can redraw a line */
    bool colour; /* standard output is a terminal and NO_COLOR is not set */
    int columns; /* columns of the terminal that is standard output; 0: it is no terminal */
    const struct cli_command *const *commands; /* all of them; null after the last */
    const struct cli_command *command;         /* the one that runs, or null */
    char **argv; /* words of the process, for a command that must start it again */
    const struct cli_words *words; /* of the command that runs */
    struct cli_bar bar;
    /* While text is gathered (print/flow.h): standard output itself, and the gathered text. */
    FILE *output;
    char *gathered;
    size_t n_gathered;
    /* With which the networks that the command names are loaded: what its --input and --fix say. */
    struct cli_choices choices;
    /* The network of the file that was named last (profile.c); null: none is kept. */
    struct vbs_network *named;
    char *named_word;
    /* The planners of the command that were loaded (solving.h), until its end. */
    const struct vbs_planner **planners;
    int64_t n_planners, planners_capacity;
};

/* The version, and the commit of a build from a checkout, "0.2.0-16a2bdb"; the build makes it. */
extern const char cli_build[];

#define CLI_PLANNERS "@planners@"

/* One option of a command. Arguments are taken as "--name VALUE" or "--name=VALUE". */
struct cli_option {
    const char *name;  /* without the dashes */
    const char *value; /* word for the value in the help, or null for a switch */
    const char *help;  /* one line, with the default; CLI_PLANNERS in it becomes their names */
};

/* An earlier name of an option, which is still read but not shown. */
struct cli_old_name {
    const char *old, *name;
};

/* A letter for an option with a value: "-o VALUE" is "--output VALUE". */
struct cli_letter {
    char letter;
    const char *name;
};

/* A word of a command's usage, and its possible values. */
struct cli_argument {
    const char *word;
    const char *help;
};

/* Arguments of several commands, for an initializer. */
#define CLI_ARGUMENT_PROFILE                                                                       \
    "PROFILE", "an id or tag of 'vbslab profiles', a .csv file, - for standard input, the "        \
               "name or file of a model: its newest profile, of this machine before others; or "   \
               "one of 'vbslab profiles teaching'"
#define CLI_ARGUMENT_MODEL                                                                         \
    "MODEL", "a network of 'vbslab models', or a file that ends in .net, .onnx or .vbz"
#define CLI_ARGUMENT_SIZE                                                                          \
    "SIZE", "15MB (MB = 10^6), 15MiB (MiB = 2^20), 1.5GiB, 512KiB or plain bytes"

extern const struct cli_argument cli_profile_help[]; /* PROFILE and SIZE */

/* An option of several commands, for an initializer. */
#define CLI_OPTION_LATENCY                                                                         \
    "latency-us", "L",                                                                             \
        "no sample waits longer than L microseconds, from the start of its chunk (io resident: "   \
        "of the request) to the end of its last layer"

struct cli_command {
    const char *name;
    const char *summary;                  /* one line for `vbslab --help` */
    const char *usage;                    /* "PROFILE --planner P --memory SIZE [options]" */
    const struct cli_option *options;     /* ends with a null name */
    const struct cli_old_name *old_names; /* ends with a null name; may be null */
    const struct cli_letter *letters;     /* ends with a null name; may be null */
    const struct cli_argument *arguments; /* ends with a null word; may be null */
    const char *example;                  /* "vbslab plan ...", one or more lines; may be null */
    bool input_files; /* values of --input that are no shapes name files, which the command reads */
    bool until_percentage; /* values of --until that end with % are no names, and its own */
    /* values[i] is the value of options[i] ("" for a switch that was given) or null; arguments are
     * the words that are no options. Returns the exit code. */
    int (*run)(struct cli *cli, const char *const *values, int n_arguments,
               const char *const *arguments);
};

/* Prints "vbslab: COMMAND: detail" to standard error and returns the exit code of status. */
int cli_fail(struct cli *cli, enum vbs_status status);

/* Reports wrong usage: prints the one line, points to --help, and returns 2. */
int cli_usage(struct cli *cli, const char *format, ...) VBS_PRINTF(2, 3);

/* Prints a warning on standard error, unless --quiet. */
void cli_warn(struct cli *cli, const char *format, ...) VBS_PRINTF(2, 3);

/* Prints what the program did, on standard error, unless --quiet: "vbslab: text". */
void cli_note(struct cli *cli, const char *format, ...) VBS_PRINTF(2, 3);

/* Flushes standard output; returns 0, or 1 with an error line when it could not all be written. */
int cli_finish(struct cli *cli);

/* The exit code of a command that ended with status: cli_finish after VBS_OK, else cli_fail. */
int cli_end(struct cli *cli, enum vbs_status status);

/* Runs a command that takes no arguments and prints one list: as JSON with --json, else as a table.
 * Returns its exit code. */
int cli_run_list(struct cli *cli, const char *const *values, int n_arguments,
                 const char *const *arguments, enum vbs_status (*print_json)(struct cli *cli),
                 enum vbs_status (*print_table)(struct cli *cli));

/* Sets the store to $VBSLAB_DB, else, where there is a folder db, to db/vbslab.sqlite in it, else
 * to vbslab/vbslab.sqlite in the user's folder of data ($XDG_DATA_HOME or ~/.local/share). */
void cli_choose_store(struct cli *cli);

#define CLI_LOCAL_STORE "db/vbslab.sqlite"

/* Gives the path of the folder beside a store in which the networks of its studies lie; the caller
 * frees it. Null: memory is out. */
char *cli_networks_folder(const char *store);

/* Opens the store; the default one is made with its folder when it is to be written. */
enum vbs_status cli_open_store(struct cli *cli, bool write,
                               struct vbs_store **store) VBS_MUST_CHECK;

/*
 * Loads the PROFILE of a command line: an id of the store, a .csv file ("-": standard input), a
 * tag, or the name of a model, also as its .net, .onnx or .vbz file. Of several profiles of a model
 * one measured on this machine is taken before those predicted for it, these before those of other
 * machines, and these before modelled ones, the newest by its date; the choice is printed on
 * standard error. A name that the store does not have may be that of a built-in profile to teach
 * with. *id is 0 for these and for a file. VBS_STORE when the store has no such profile; the detail
 * says what makes one.
 */
enum vbs_status cli_load_profile(struct cli *cli, const char *word, struct vbs_profile **profile,
                                 int64_t *id) VBS_MUST_CHECK;

/* Gives whether the store has a complete profile of a model, by its name or file, whose times were
 * measured, or predicted for this machine, and not modelled; and whether they are this machine's. A
 * store that does not exist has none. */
enum vbs_status cli_has_times(struct cli *cli, const char *word, bool *has,
                              bool *here) VBS_MUST_CHECK;

/* True where word names a built-in network or a .net, .onnx or .vbz file, which a precision may
 * follow. */
bool cli_is_model(const char *word);

/* Gives the columns of the terminal of a file descriptor; 0 where it is no terminal. */
int cli_columns_of(int descriptor);

/* Gives the value of an option in the command's table by name, so that run need not count
 * options. */
const char *cli_value(const struct cli *cli, const char *const *values, const char *name);

/* The option of commands whose models may have a precision, which is put behind them before the
 * command runs. */
#define CLI_OPTION_PRECISION                                                                       \
    "precision", "fp32|int8|bf16",                                                                 \
        "how tensors and weights are stored, as MODEL:fp32 (default: int8 where the file is "      \
        "quantised, else fp32)"

/* Loads a network with the shapes and values of the options of inputs.h, where the command has
 * them. The caller frees *network. */
enum vbs_status cli_load_network(struct cli *cli, const char *model,
                                 struct vbs_network **network) VBS_MUST_CHECK;

/* Does the same for a command that changes the network or its parameters: in precision fp32. */
enum vbs_status cli_load_floats(struct cli *cli, const char *model,
                                struct vbs_network **network) VBS_MUST_CHECK;

/* Gives the network of a file as cli_load_network, which stays the command's until its end or until
 * another one is named: a file is read once, whoever asks for it. */
enum vbs_status cli_name_network(struct cli *cli, const char *word,
                                 const struct vbs_network **network) VBS_MUST_CHECK;

/* Gives the network of a model with these inputs (vbs_network_inputs_text): the named one, if it
 * has them, else as vbs_network_load_by_text does. *network is null before; the caller frees it. */
enum vbs_status cli_take_network(struct cli *cli, const char *word, const char *inputs,
                                 struct vbs_network **network) VBS_MUST_CHECK;

/* Frees the named network, if there is one. */
void cli_forget_network(struct cli *cli);

/* Give whether text ends in ending and is longer; and whether it names a .net, .onnx or .vbz
 * file, which a precision may follow. */
bool cli_ends_in(const char *text, const char *ending);
bool cli_is_network_file(const char *word);
/* Gives whether word is a file of this ending, which a precision may follow. */
bool cli_is_file_of(const char *word, const char *ending);

/* Checks the name of a file before a long work that writes it: it ends in ending, which what ("an
 * ONNX file") must have, is not the model that is read, and lies in a folder that is there. */
enum vbs_status cli_check_output(struct cli *cli, const char *model, const char *path,
                                 const char *ending, const char *what) VBS_MUST_CHECK;

/* Reads --request, --io and --latency-us, those that the command has, into *problem, which is {0}
 * (defaults 12, external and no bound); VBS_USAGE. */
enum vbs_status cli_read_problem(struct cli *cli, const char *const *values,
                                 struct vbs_problem *problem) VBS_MUST_CHECK;

/* Gives a progress bar on standard error; its report is null where no bar is drawn (not a terminal,
 * or --quiet). All other output of these functions clears the bar first. */
struct vbs_progress cli_progress(struct cli *cli);
void cli_progress_end(struct cli *cli);

/* Prints text to standard output with control characters made visible. */
void cli_print_name(const char *text);

#endif
