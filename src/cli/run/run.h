/*
 * What the parts of the command run share. In the order of work: run_subject.c finds what is run,
 * run_prepare.c plans and places it, run_data.c reads inputs and writes outputs, run_times.c runs
 * it, run_check.c compares the outputs, run_text.c and run_json.c say what came out.
 */
#ifndef VBS_CLI_RUN_RUN_H
#define VBS_CLI_RUN_RUN_H

#include "cli/common/common.h"

/* What the repeated runs gave. */
struct run_times {
    struct vbs_profile_row request; /* time_us of the median run; mad_us, low_us, high_us, n_runs */
    double fastest_us, slowest_us;
    struct vbs_exec_report median;  /* of that run; no steps */
    struct vbs_exec_report fastest; /* with steps, its own, where a trace is kept */
    struct vbs_exec_step *steps;    /* those */
    int64_t touched_bytes, high_water_bytes, base_bytes; /* the most of all runs */
};

/* How outputs differ from those of one sample at a time. */
struct run_check {
    bool done;
    int n_changed; /* layers that another algorithm had to compute, or another one also computes */
    bool bit_equal;
    double absolute;    /* largest difference; infinite where only one of the two is NaN */
    double relative;    /* largest difference in parts of the largest value of the output */
    const char *output; /* where that is */
};

/* Differences above this much of the largest value of an output are errors: rounding of different
 * kernels stays well below. */
#define RUN_TOLERANCE 1e-4

struct run_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    int64_t n_repeats;

    /* What is run. */
    struct vbs_profile *profile;
    int64_t profile_id; /* 0: not from the store */
    struct vbs_network *network;
    const struct vbs_backend *backend;
    int threads; /* 0: libgomp chooses */

    /* How. */
    int64_t request; /* samples */
    struct vbs_schedule *schedule;
    struct vbs_replay *replay; /* with its trace */
    int64_t memory_bytes;      /* of the arena */
    int n_replans;             /* how often placement requested another plan */
    struct vbs_exec_placement placement;
    struct vbs_exec *exec;

    /* With what. */
    float *input;    /* request samples; null: seeded values */
    float **outputs; /* [network->n_outputs], request samples each */

    struct run_times times;
    struct run_check check;
};

/* --- run_subject.c --- */

/* Profile, network, backend and threads of what word and --model say. The program may be started
 * anew in here, with its threads bound. */
enum vbs_status run_find_subject(struct run_job *job, const char *word) VBS_MUST_CHECK;

/* --- run_prepare.c --- */

/* Schedule, data, replay, placement and executor. VBS_INFEASIBLE, VBS_OVER_BUDGET. */
enum vbs_status run_prepare(struct run_job *job) VBS_MUST_CHECK;

/* --- run_data.c --- */

/* The input of --input, checked, and room for the outputs. */
enum vbs_status run_take_data(struct run_job *job) VBS_MUST_CHECK;
float **run_new_outputs(const struct run_job *job); /* null: out of memory */
void run_free_outputs(const struct run_job *job, float **outputs);
int64_t run_output_values(const struct run_job *job, int output);

/* Warns of outputs that are not finite; writes --output. */
enum vbs_status run_give_data(struct run_job *job) VBS_MUST_CHECK;

/* Shape of all samples of the request, of 1 + VBS_MAX_DIMS dimensions at most; returns how many.
 * Samples that are whole inputs of batch 1 are joined to one larger batch. */
int run_batch_shape(const struct run_job *job, const struct vbs_shape *sample, int64_t *dim);

/* The file of an output below --output FILE.npy: that one for the first, FILE-NAME.npy for the
 * others. To be freed; null: out of memory. */
char *run_output_path(const struct run_job *job, int output);

/* --- run_times.c --- */

/* Runs once to warm up and then as often as --repeat says. */
enum vbs_status run_measure(struct run_job *job) VBS_MUST_CHECK;

/* --- run_check.c --- */

/* Runs the request anew, a sample at a time, and compares. Ends job->exec first: two of them may
 * not fit. */
enum vbs_status run_compare(struct run_job *job) VBS_MUST_CHECK;

/* VBS_LIBRARY where the outputs differ by more than RUN_TOLERANCE. */
enum vbs_status run_judge(struct run_job *job) VBS_MUST_CHECK;

/* --- run_text.c, run_json.c --- */

enum vbs_status run_print_text(struct run_job *job) VBS_MUST_CHECK;
enum vbs_status run_print_json(struct run_job *job) VBS_MUST_CHECK;

#endif
