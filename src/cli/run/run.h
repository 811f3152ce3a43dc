/*
 * Declarations that the files of the command run share. In the order of work: subject.c finds the
 * profile and the network, process.c measures its memory, learn.c executes schedules by turns,
 * prepare.c plans and places it, input_files.c, input_shapes.c and inputs.c (inputs.h) read inputs,
 * data.c writes outputs to the files that files.c names, times.c runs it, total.c
 * keeps the whole process within --total-memory, check.c compares the outputs, text.c, layers.c and
 * json.c print the results.
 */
#ifndef VBS_CLI_RUN_RUN_H
#define VBS_CLI_RUN_RUN_H

#include "cli/common/common.h"

/* The results of the repeated runs. */
struct run_times {
    /* Of the undisturbed runs, or of all where too few are undisturbed: time_us of the median run,
     * mad_us, low_us, high_us, n_runs. */
    struct vbs_profile_row request;
    int64_t n_all;       /* runs */
    int64_t n_disturbed; /* those that lost much of their time to other processes */
    /* Of all runs: percentiles of the request's time. p90 is NAN for fewer than 10 runs, p99 for
     * fewer than 100. */
    double fastest_us, slowest_us;
    double p50_us, p90_us, p99_us;
    struct vbs_exec_report median;  /* report of the median run, without steps */
    struct vbs_exec_report fastest; /* report of the fastest run, with its steps where a trace is
                                       kept */
    struct vbs_exec_step *steps;    /* steps of the fastest run */
    struct vbs_speed speed;         /* of the machine before and after the runs; 0: not known */
    int64_t touched_bytes, high_water_bytes, base_bytes, heap_bytes; /* the most of all runs */
    int64_t taken_bytes; /* the largest rise of the process, without pages of files; -1: not
                            known */
    int64_t total_bytes; /* the largest sum of base and rise; -1: not known */
};

/* The differences between the outputs and those of one sample at a time. */
struct run_check {
    bool done;
    int n_changed; /* layers that another algorithm had to compute, or that another one computes
                      too */
    int n_coded;   /* those of them that the schedule computes from coded weights, and plain
                      execution from dense ones */
    bool bit_equal;
    double absolute;    /* largest difference; infinite where only one of the two is NaN */
    double relative;    /* largest difference as a fraction of the output's largest value */
    const char *output; /* the output with that difference */
};

/* Larger differences, as a fraction of an output's largest value, are errors: those by the rounding
 * of different kernels are far smaller. */
#define RUN_TOLERANCE 1e-4

/* The same where the network rounds values, such as those of 8 bits: kernels that add in another
 * order may round a value to the other side, by a step of its scale, and layers behind it make more
 * of that. */
#define RUN_TOLERANCE_ROUNDED 0.1

#define RUN_MOST_RUNS 100000

struct run_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    int64_t n_runs, n_warm_up; /* timed runs at least; runs before them */
    double duration_s;         /* of the timed runs at least */
    double measure_s;          /* --measure-limit: until there is a profile */

    /* The subject of the run. */
    struct vbs_profile *profile;
    int64_t profile_id;                /* 0: not from the store */
    const struct vbs_network *network; /* until there is a profile, a borrowed one */
    struct vbs_network *owned;         /* the same, once there is */
    const struct vbs_backend *backend;
    int threads;             /* 0: libgomp chooses */
    bool needs_same_machine; /* a profile of another machine is refused */
    bool takes_data;         /* there are options of inputs and outputs, and of one request */

    /* The settings of the run. */
    int64_t request; /* samples */
    int64_t n_given; /* samples of the files of --input; 0: not known */
    bool bare; /* each file of --input is one whole input of the network's file, without a dimension
                  of the request, and so are the files of outputs */
    struct vbs_schedule *schedule;
    struct vbs_replay *replay; /* with its trace */
    int64_t memory_bytes;      /* of the arena */
    int64_t limit_bytes;       /* of the whole process, --total-memory; 0: none */
    int64_t process_bytes;     /* with a limit: of the process before it plans; 0: not known yet */
    bool least;                /* with a limit: no plan in a smaller arena is possible */
    int64_t peak_bytes; /* most of the process before its peak was last reset; -1: not known */
    int n_replans;      /* how often placement requested another plan */
    /* What was learned of the budget by executing schedules; null: nothing was executed. */
    struct vbs_learned *learned;
    struct vbs_exec_placement placement;
    struct vbs_exec *exec;

    /* The data of the run. */
    float *input;    /* request samples; null: seeded values */
    float **outputs; /* [network->n_outputs], request samples each */
    char **files;    /* [n_files], of --output; null without it */
    int n_files;     /* network->n_outputs */
    bool has_data;   /* inputs are read, and files of outputs are named */

    struct run_times times;
    struct run_check check;
    struct cli_pictures pictures; /* of --gantt */
};

/* --- subject.c --- */

/* Finds profile, network, backend and threads by word and --model. A model without a measured
 * profile in the store is measured first, unless there is a schedule. The program may be started
 * again in here, with its threads bound. */
enum vbs_status run_find_subject(struct run_job *job, const char *word) VBS_MUST_CHECK;

/* --- process.c --- */

/* Gives a budget for --total-memory where no least budget is known to estimate from: the limit less
 * the present memory of the process and weights outside the budget. */
int64_t run_first_budget(const struct run_job *job);

/* Gives the memory of the process, now or (peak) at most; -1: the system does not tell. */
int64_t run_process_bytes(const char *key);

/* Keeps the most that the process has taken so far, because a run resets the system's figure. */
void run_keep_peak(struct run_job *job);

/* --- learn.c --- */

/* Sets what is learned from execution: the budget and the problem, and room for the budget's bytes,
 * which the options borrow. *possible: schedules can be executed by turns, because a budget of
 * arenas is given, and copies are planned as they are. */
enum vbs_status run_learn_options(struct run_job *job, struct vbs_learn_options *options,
                                  int64_t *memory_bytes, bool *possible) VBS_MUST_CHECK;

/* Checks --learn and the options beside it, before anything is loaded or measured. VBS_USAGE. */
enum vbs_status run_check_learn(struct run_job *job) VBS_MUST_CHECK;

/* With --learn, executes schedules by turns, and puts the learned profile in the place of the
 * profile, in the store too. */
enum vbs_status run_learn(struct run_job *job) VBS_MUST_CHECK;

/* Takes the schedule that was the fastest when it was executed, if there is one, which becomes
 * job->schedule. */
bool run_take_learned(struct run_job *job);

/* --- prepare.c --- */

/* Refuses options of copies of weights where these are excluded. VBS_USAGE. */
enum vbs_status run_check_weights(struct cli *cli, const char *const *values,
                                  enum vbs_weights weights) VBS_MUST_CHECK;

/* Makes schedule, data, replay, placement and executor. VBS_INFEASIBLE, VBS_OVER_BUDGET. */
enum vbs_status run_prepare(struct run_job *job) VBS_MUST_CHECK;

/* Frees the executor and the plan, and plans for an arena of memory_bytes instead, at least of the
 * least size that the planner can use. VBS_INFEASIBLE. */
enum vbs_status run_prepare_again(struct run_job *job, int64_t memory_bytes) VBS_MUST_CHECK;

/* Sets what becomes of large memory that is freed: whether a network runs, or is prepared. */
void run_set_heap(bool runs);

/* --- total.c --- */

/* Runs, and plans again for less memory until the process stays within --total-memory; without this
 * option does as run_measure. VBS_INFEASIBLE names the least size that works. */
enum vbs_status run_measure_within(struct run_job *job) VBS_MUST_CHECK;

/* --- data.c --- */

/* Allocates the outputs. */
enum vbs_status run_make_outputs(struct run_job *job) VBS_MUST_CHECK;
float **run_new_outputs(const struct run_job *job); /* null: out of memory */
void run_free_outputs(const struct run_job *job, float **outputs);
int64_t run_output_values(const struct run_job *job, int output);

/* Warns of outputs that are not finite, and writes the files of --output. */
enum vbs_status run_write_outputs(struct run_job *job) VBS_MUST_CHECK;

/* Returns whether samples are whole inputs of batch 1, which are joined to one larger batch. */
bool run_joins_samples(const struct vbs_network *network);

/* Gives the shape of all samples of the request, of 1 + VBS_MAX_DIMS dimensions at most; returns
 * their number. */
int run_batch_shape(const struct run_job *job, const struct vbs_shape *sample, int64_t *dim);

/* Writes the position "[2, 0, 17]" of value index of samples, counted as numpy does. */
void run_name_position(const struct vbs_shape *sample, int64_t index, char *buffer, size_t size);

/* Gives the index of the first value that is not finite, -1: all are. */
int64_t run_first_bad(int64_t n, const float *values);

/* Gives the word for a value that is not finite. */
const char *run_value_word(float value);

/* --- inputs.c, input_shapes.c --- */

/* Reads and checks the files of --input, makes job->input of them for the request, and names the
 * files of --output; does nothing when it is called again. VBS_USAGE: an input has no file although
 * others have, has two, there is none of that name, or the same of outputs. */
enum vbs_status run_read_data(struct run_job *job) VBS_MUST_CHECK;

/* Adds the shapes of the files of --input to cli->choices, where the model leaves sizes open.
 * VBS_USAGE. */
enum vbs_status run_choose_inputs(struct run_job *job, const char *word) VBS_MUST_CHECK;

/* Reads the options of the problem. Without --request the request is as many samples as the files
 * of --input have, where the network is known. */
enum vbs_status run_read_task(struct run_job *job, struct cli_task *task) VBS_MUST_CHECK;

/* --- files.c --- */

/* Gives the file that a value of --output names, "-" or a path, where it is NAME=FILE; else the
 * value itself. */
const char *run_file_of(const char *value);

/* Returns whether a value of --input or --output begins as NAME=FILE does: "./" before a file whose
 * name has a "=" says that it is one. */
bool run_looks_named(const char *value);

/* Gives whether the option is given with standard input or output as a file. */
bool run_uses_standard(const struct cli *cli, const char *option);

/* Names the files of --output in job->files: outputs whose names would give one file are numbered.
 * Standard output takes the first only; the others have no file. VBS_USAGE: a name is too long for
 * a file. */
enum vbs_status run_name_files(struct run_job *job) VBS_MUST_CHECK;
void run_free_files(struct run_job *job);

/* --- times.c --- */

/* Runs --warmup times, and then as often and as long as --runs and --duration say. */
enum vbs_status run_measure(struct run_job *job) VBS_MUST_CHECK;

/* Returns the bytes of the records of all runs that the options ask for, at most, by the time of
 * the runs so far. */
int64_t run_record_bytes(const struct run_job *job);

/* Gives the bytes by which, in any run, the rise of the process above its base exceeded the budget
 * in whole pages; 0: it did not, or it is not known. */
int64_t run_above_budget(const struct run_job *job);

/* --- check.c --- */

/* Runs the request again, a sample at a time, and compares. Ends job->exec first, because two
 * executors may not fit. */
enum vbs_status run_compare(struct run_job *job) VBS_MUST_CHECK;

/* Gives the largest difference that is no error, as a fraction of an output's largest value. */
double run_tolerance(const struct run_job *job);

/* Fails with VBS_LIBRARY where the outputs differ by more than that. */
enum vbs_status run_judge(struct run_job *job) VBS_MUST_CHECK;

/* --- text.c, layers.c, json.c --- */

enum vbs_status run_print_text(struct run_job *job) VBS_MUST_CHECK;

/* The time of one layer in the request: planned, and in the fastest run. */
struct run_layer_time {
    int64_t n_steps;
    double planned_us, measured_us;
};

/* Gives [n_layers + 1] times, which the caller frees; entry 0 is of the loads of weights. Null: out
 * of memory. */
struct run_layer_time *run_layer_times(const struct run_job *job);

/* Prints the table of --profile. */
enum vbs_status run_print_layers(struct run_job *job) VBS_MUST_CHECK;
enum vbs_status run_print_json(struct run_job *job) VBS_MUST_CHECK;

#endif
