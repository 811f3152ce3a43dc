/* Exercises in words and tables, in Markdown that can be read as it is. */
#include "teach/teach.h"

#include "base/fail.h"

#include <inttypes.h>

/* ---- rules ---- */

static bool includes_weights(const struct vbs_exercise *exercise)
{
    return exercise->weights == VBS_WEIGHTS_INCLUDED;
}

static void add_batches(struct vbs_text *text, const struct vbs_profile *profile)
{
    for (int b = 0; b < profile->n_batches; b++)
        vbs_text_addf(text, "%s%d",
                      b == 0                        ? ""
                      : b == profile->n_batches - 1 ? " or "
                                                    : ", ",
                      profile->batches[b]);
}

static void add_io_rule(struct vbs_text *text, const struct vbs_exercise *exercise)
{
    vbs_text_add(text,
                 exercise->io == VBS_IO_RESIDENT
                     ? "* All inputs of the network are in memory from the start, each until all "
                       "layers that read it have taken it.\n  The outputs of the last layer stay "
                       "in memory to the end.\n"
                     : "* Inputs of the network wait outside the memory, and outputs of the last "
                       "layer leave it: they take memory only\n  during the step that reads or "
                       "writes them.\n");
}

static void add_weight_rules(struct vbs_text *text)
{
    vbs_text_add(
        text,
        "* A layer runs only while its weights are in memory, where they count in every step. "
        "Weights are loaded and dropped\n  as a whole.\n"
        "* Resident weights are in memory at the start for nothing, and have to be there again at "
        "the end.\n"
        "* Loads run one after another, beside the computing. A load begins when the load before "
        "it and all computing steps\n  before it in the list have ended, and counts in memory from "
        "its place in the list on. A layer waits until its\n  weights have arrived.\n"
        "* The time is the end of the last step or load.\n");
}

void vbs_teach_add_rules(struct vbs_text *text, const struct vbs_exercise *exercise)
{
    vbs_text_add(text, "Find a schedule that takes the least time and exceeds the memory in no "
                       "step.\n\n"
                       "* A step runs one layer on a batch of ");
    add_batches(text, exercise->profile);
    vbs_text_add(text, " samples. Samples pass every layer in order.\n"
                       "* A sample of a layer's output is in memory from the step that writes it "
                       "until all layers that read it have taken\n  it.\n"
                       "* A step takes the memory of all samples that are there before it (those "
                       "that it reads are among them), of its\n  output and of its workspace.\n");
    add_io_rule(text, exercise);
    if (includes_weights(exercise))
        add_weight_rules(text);
    else
        vbs_text_add(text, "* The time is the sum of the times of all steps.\n");
    vbs_text_add(text, "\nThe table has memory in units for one sample; \"time b\" is the time of "
                       "a step on b samples in ms.\n");
}

/* ---- what is given ---- */

/* Appends a cell of a table, as wide as its heading. */
static void add_cell(struct vbs_text *text, int width, const char *cell)
{
    vbs_text_addf(text, " %*s |", width, cell);
}

static void add_number(struct vbs_text *text, int width, int64_t number)
{
    vbs_text_addf(text, " %*" PRId64 " |", width, number);
}

static void add_head(struct vbs_text *text, const struct vbs_exercise *exercise)
{
    const struct vbs_profile *profile = exercise->profile;
    bool weights = includes_weights(exercise), algorithms = profile->n_algorithms > 1;

    vbs_text_addf(text, "| layer | reads | output |%s%s workspace |", weights ? " weights |" : "",
                  algorithms ? " algorithm |" : "");
    for (int b = 0; b < profile->n_batches; b++)
        vbs_text_addf(text, " time %d |", profile->batches[b]);
    vbs_text_addf(text, "\n| ----: | ----: | -----: |%s%s --------: |", weights ? " ------: |" : "",
                  algorithms ? " --------- |" : "");
    for (int b = 0; b < profile->n_batches; b++)
        vbs_text_add(text, " -----: |");
    vbs_text_add(text, "\n");
}

/* Appends the cells of a layer in front of its algorithms; empty ones for its second algorithm. */
static void add_layer(struct vbs_text *text, const struct vbs_exercise *exercise, int k, bool first)
{
    const struct vbs_profile_layer *layer = &exercise->profile->layers[k];
    char reads[16] = "input";

    if (layer->n_inputs > 1)
        snprintf(reads, sizeof reads, "%d,%d", layer->inputs[0], layer->inputs[1]);
    else if (layer->inputs[0] > 0)
        snprintf(reads, sizeof reads, "%d", layer->inputs[0]);
    vbs_text_add(text, "|");
    if (first) {
        add_number(text, 5, k);
        add_cell(text, 5, reads);
        add_number(text, 6, layer->out_bytes);
        if (includes_weights(exercise))
            add_number(text, 7, layer->weight_bytes);
    } else {
        add_cell(text, 5, "");
        add_cell(text, 5, "");
        add_cell(text, 6, "");
    }
}

static void add_rows(struct vbs_text *text, const struct vbs_exercise *exercise, int k)
{
    const struct vbs_profile *profile = exercise->profile;

    for (int a = 0; a < profile->n_algorithms; a++) {
        int n_rows;

        add_layer(text, exercise, k, a == 0);
        if (profile->n_algorithms > 1)
            vbs_text_addf(text, " %-9s |", profile->algorithms[a]);
        add_number(text, 9, vbs_profile_rows(profile, k, 0, &n_rows)[a].ws_bytes);
        for (int b = 0; b < profile->n_batches; b++)
            vbs_text_addf(text, " %6.4g |",
                          vbs_profile_rows(profile, k, b, &n_rows)[a].time_us / TEACH_UNIT_US);
        vbs_text_add(text, "\n");
    }
}

void vbs_teach_add_given(struct vbs_text *text, const struct vbs_exercise *exercise)
{
    for (int k = 1; k <= exercise->profile->n_layers; k++) {
        if (k == 1)
            add_head(text, exercise);
        add_rows(text, exercise, k);
    }
    vbs_text_addf(text,
                  "\nInput of the network: %" PRId64 " unit%s a sample. Samples: %" PRId64
                  ". Memory: **%" PRId64 " units**.",
                  exercise->profile->layers[0].out_bytes,
                  exercise->profile->layers[0].out_bytes == 1 ? "" : "s", exercise->request,
                  exercise->memory_bytes);
    if (includes_weights(exercise))
        vbs_text_addf(text, " A load takes %.4g ms for each unit.",
                      1 / exercise->copy.bytes_per_us / TEACH_UNIT_US);
    vbs_text_add(text, "\n");
}

void vbs_teach_add_problem(struct vbs_text *text, const struct vbs_exercise *exercise)
{
    vbs_text_addf(text, "Level %d: %s.\n\n", exercise->level,
                  vbs_exercise_level_text(exercise->level));
    vbs_teach_add_rules(text, exercise);
    vbs_text_add(text, "\n");
    vbs_teach_add_given(text, exercise);
}

enum vbs_status vbs_exercise_text(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                  char **result)
{
    struct vbs_text text = {0};

    vbs_text_addf(&text, "# Exercise: level %d, seed %" PRId64 "\n\n", exercise->level,
                  exercise->seed);
    vbs_teach_add_problem(&text, exercise);
    vbs_text_addf(&text,
                  "\n`vbslab exercise --seed %" PRId64 " --level %d -o answer.json` writes an "
                  "answer to start from; change its steps.\n`vbslab exercise --check answer.json` "
                  "judges it.\n",
                  exercise->seed, exercise->level);
    if (text.failed) {
        vbs_text_clear(&text);
        return vbs_no_memory(ctx);
    }
    *result = text.data;
    return VBS_OK;
}

/* ---- steps ---- */

void vbs_teach_add_steps(struct vbs_text *text, const struct vbs_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];

        vbs_text_add(text, i ? ", " : "");
        if (step->op == VBS_STEP_COMPUTE)
            vbs_text_addf(text, "L%d x%d%s", step->layer, step->batch,
                          schedule->n_algorithms > 1 ? schedule->algorithms[step->algorithm] : "");
        else
            vbs_text_addf(text, "%s L%d",
                          step->resident              ? "resident"
                          : step->op == VBS_STEP_LOAD ? "load"
                                                      : "drop",
                          step->layer);
    }
}
