/* The trace of a replay as CSV: one row per step, in the order of the steps. */
#include "vbslab/replay.h"

#include "base/fail.h"
#include "backend/provenance.h"
#include "base/text.h"

#include <inttypes.h>

#define HEADER                                                                                     \
    "step,layer,name,batch,algorithm,done_before,start_us,end_us,live_bytes,added_bytes,ws_bytes," \
    "memory_bytes,after_bytes,over_budget,chunk,wait_us,op,part,parts,weight_"                     \
    "bytes" VBS_PROVENANCE_COLUMNS ",profile,row,rows,window\n"

static void add_row(struct vbs_text *text, const struct vbs_profile *profile,
                    const struct vbs_schedule *schedule, const struct vbs_replay *replay,
                    const char *provenance, int64_t index)
{
    const struct vbs_step *step = &schedule->steps[index];
    const struct vbs_replay_step *at = &replay->steps[index];
    bool whole = step->n_slices <= 1;

    vbs_text_addf(text, "%" PRId64 ",%d,", index + 1, step->layer);
    vbs_text_add_csv(text, profile->layers[step->layer].name);
    if (step->op == VBS_STEP_COMPUTE) {
        vbs_text_addf(text, ",%d,", step->batch);
        vbs_text_add_csv(text, schedule->algorithms[step->algorithm]);
        vbs_text_addf(text, ",%" PRId64 ",", at->done_before);
    } else {
        vbs_text_add(text, ",,,,");
    }
    vbs_text_add_double(text, at->start_us);
    vbs_text_add(text, ",");
    vbs_text_add_double(text, at->end_us);
    vbs_text_addf(text,
                  ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%" PRId64 ",",
                  at->live_bytes, at->added_bytes, at->ws_bytes, at->memory_bytes, at->after_bytes,
                  at->memory_bytes > replay->memory_bytes, at->chunk);
    vbs_text_add_double(text, at->wait_us);
    vbs_text_addf(text, ",%s,%d,%d,%" PRId64 "%s,%d,%d,%d\n",
                  vbs_step_word((enum vbs_step_op)step->op), whole ? 1 : step->slice,
                  whole ? 1 : step->n_slices, at->weight_bytes, provenance, step->row, step->rows,
                  step->window);
}

enum vbs_status vbs_replay_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                     const struct vbs_schedule *schedule,
                                     const struct vbs_replay *replay, const char *path)
{
    struct vbs_text text = {0}, provenance = {0};
    enum vbs_status status;

    if (!replay->steps)
        return vbs_fail(ctx, VBS_USAGE, "the replay was made without a trace");
    vbs_profile_add_columns(&provenance, profile);
    vbs_text_addf(&provenance, ",%" PRId64, replay->profile_id);
    text.failed = provenance.failed;
    vbs_text_add(&text, HEADER);
    for (int64_t i = 0; i < replay->n_steps && !text.failed; i++)
        add_row(&text, profile, schedule, replay, provenance.data, i);
    status = text.failed ? vbs_no_memory(ctx) : vbs_write_file(ctx, path, text.data, text.length);
    vbs_text_clear(&text);
    vbs_text_clear(&provenance);
    return status;
}
