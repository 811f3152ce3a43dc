#include "fuzz/readers.h"

#include "base/json.h"
#include "base/toml.h"
#include "fuzz/reading.h"
#include "model/network/shape.h"
#include "reference/place/place_check.h"

#include "vbslab/npy.h"
#include "vbslab/place.h"
#include "vbslab/profile.h"
#include "vbslab/replay.h"
#include "vbslab/schedule.h"
#include "vbslab/study.h"
#include "vbslab/sweep.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOURCE       "file"
#define MAX_PLACE    64        /* buffers that are placed */
#define MAX_EXPANDED 8         /* tasks of a sweep */
#define NPY_LIMIT    (1 << 20) /* values that can be of use */

/* ---- promises ---- */

const char *fuzz_failed_well(const struct vbs_ctx *ctx, enum vbs_status status)
{
    if (status == VBS_NO_MEMORY)
        return "a small file does not ask for all memory";
    if (status == VBS_INTERRUPTED)
        return "nobody interrupts";
    if (ctx->status != status)
        return "the context has the status of the failure";
    if (ctx->detail[0] == '\0')
        return "a failure says why";
    for (const char *c = ctx->detail; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "the reason of a failure has no control characters";
    return NULL;
}

/* ---- files in memory ---- */

int fuzz_memory_file(const void *data, size_t length)
{
    int file = memfd_create("reader", MFD_CLOEXEC);

    if (file >= 0 && write(file, data, length) != (ssize_t)length) {
        close(file);
        return -1;
    }
    return file;
}

const char *fuzz_path_of(int file, char path[40])
{
    snprintf(path, 40, "/proc/self/fd/%d", file);
    return path;
}

/* ---- profiles and schedules ---- */

static const char *read_profile(const char *text, size_t length)
{
    struct vbs_profile *profile;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_profile_parse_csv(&ctx, SOURCE, text, length, &profile);

    if (status != VBS_OK)
        return fuzz_failed_well(&ctx, status);
    vbs_profile_free(profile);
    return NULL;
}

/* A profile of three layers whose weights have two formats; the second layer runs in slices too. */
static const char PROFILE[] =
    "# copy: ram,1000,2\n# copy: ram,2000,3\n"
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place,mad_us,low_us,high_us,n_runs,channels,packed_bytes,form,parts\n"
    "1,L1,conv,0,1,default,4,1,1,1,8,0,0,4,4,1,4,8,0,0\n"
    "1,L1,conv,0,2,default,6,2,2,2,8,0,0,6,6,1,4,8,0,0\n"
    "2,L2,conv,1,1,default,4,1,1,4,8,0,0,4,4,1,4,8,0,0\n"
    "2,L2,conv,1,1,halves,5,1,1,4,8,0,0,5,5,1,4,8,0,2\n"
    "2,L2,conv,1,2,default,6,2,2,8,8,0,0,6,6,1,4,16,1,0\n"
    "3,L3,add,1;2,1,default,4,2,1,1,0,0,0,4,4,1,0,0,0,0\n"
    "3,L3,add,1;2,2,default,6,4,2,2,0,0,0,6,6,1,0,0,0,0\n";

static const char *replay(const struct vbs_schedule *schedule)
{
    struct vbs_profile *profile;
    struct vbs_replay *result;
    struct vbs_ctx ctx = {0};
    enum vbs_status status =
        vbs_profile_parse_csv(&ctx, "profile", PROFILE, strlen(PROFILE), &profile);
    const char *broken = NULL;

    if (status != VBS_OK)
        return "the profile that schedules are replayed with is sound";
    status = vbs_replay_run(&ctx, profile, schedule, -1, true, &result);
    if (status == VBS_OK)
        vbs_replay_free(result);
    else
        broken = fuzz_failed_well(&ctx, status);
    vbs_profile_free(profile);
    return broken;
}

static const char *read_schedule(const char *text, size_t length)
{
    struct vbs_schedule *schedule;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_schedule_parse_json(&ctx, SOURCE, text, length, &schedule);
    const char *broken;

    if (status != VBS_OK)
        return fuzz_failed_well(&ctx, status);
    broken = replay(schedule);
    vbs_schedule_free(schedule);
    return broken;
}

/* ---- other files ---- */

static const char *read_npy(const char *text, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy;
    enum vbs_status status = vbs_npy_parse(&ctx, SOURCE, text, length, NPY_LIMIT, &npy);

    if (status != VBS_OK)
        return fuzz_failed_well(&ctx, status);
    vbs_npy_clear(&npy);
    return NULL;
}

/* Reads buffers to place, and places them where this is no long search. */
static const char *read_buffers(const char *text, size_t length)
{
    static const struct vbs_place_options OPTIONS = {
        .struct_size = sizeof(struct vbs_place_options), .step_limit = 20000, .time_limit_s = -1};
    struct vbs_place_result *result;
    struct vbs_place_csv *csv;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_place_csv_parse(&ctx, SOURCE, text, length, &csv);
    const char *broken = NULL;
    int64_t height;

    if (status != VBS_OK)
        return fuzz_failed_well(&ctx, status);
    if (vbs_place_csv_problem(csv)->n_items <= MAX_PLACE) {
        status = vbs_place_lowest(&ctx, vbs_place_csv_problem(csv), &OPTIONS, &result);
        if (status != VBS_OK)
            broken = fuzz_failed_well(&ctx, status);
        else
            broken = place_fault(vbs_place_csv_problem(csv), result->offsets, &height);
        if (status == VBS_OK || status == VBS_INFEASIBLE)
            vbs_place_free(result);
    }
    vbs_place_csv_free(csv);
    return broken;
}

static const char *read_sizes(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    struct vbs_byte_range range;
    struct vbs_shape shape;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    int64_t bytes;
    int *batches, n;
    enum vbs_status status;

    if (!copy)
        return NULL;
    status = vbs_parse_bytes(&ctx, copy, &bytes);
    if (status == VBS_OK ? bytes < 0 : (broken = fuzz_failed_well(&ctx, status)) != NULL)
        broken = broken ? broken : "sizes are not negative";
    status = vbs_parse_byte_range(&ctx, copy, &range);
    for (int i = 1; status == VBS_OK && i < vbs_byte_range_count(&range); i++)
        if (vbs_byte_range_at(&range, i) <= vbs_byte_range_at(&range, i - 1))
            broken = "ranges ascend";
    if (vbs_shape_parse(&ctx, copy, &shape) == VBS_OK && !vbs_shape_valid(&shape))
        broken = "shapes are valid";
    if (vbs_parse_batches(&ctx, copy, &batches, &n) == VBS_OK)
        free(batches);
    free(copy);
    return broken;
}

/* ---- TOML ---- */

static const char *read_toml(const char *text, size_t length)
{
    struct vbs_text printed = {0};
    struct vbs_ctx ctx = {0};
    json_t *root;
    enum vbs_status status = vbs_toml_parse(&ctx, SOURCE, text, length, &root);
    const char *broken = NULL;

    if (status != VBS_OK)
        return fuzz_failed_well(&ctx, status);
    vbs_text_add_json(&printed, root, JSON_COMPACT);
    if (!json_is_object(root) || printed.failed)
        broken = "TOML becomes an object that can be printed";
    vbs_text_clear(&printed);
    json_decref(root);
    return broken;
}

/* ---- descriptions of studies and sweeps ---- */

static const char *read_study(const char *text, size_t length)
{
    int file = fuzz_memory_file(text, length);
    struct vbs_study *study = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    char path[40];
    enum vbs_status status;

    if (file < 0)
        return NULL;
    status = vbs_study_read(&ctx, fuzz_path_of(file, path), &study);
    if (status != VBS_OK)
        broken = fuzz_failed_well(&ctx, status);
    else if (!vbs_study_name(study)[0] || vbs_study_trials(study) < 1)
        broken = "a study has a name and trials";
    vbs_study_free(study);
    close(file);
    return broken;
}

/* Expands the first and the last tasks of a sweep. */
static const char *expand_tasks(struct vbs_sweep *sweep)
{
    int64_t n = vbs_sweep_info(sweep)->n_tasks;
    const char *broken = NULL;

    for (int64_t i = 0; i < n && i < MAX_EXPANDED && !broken; i++) {
        int64_t index = i % 2 ? n - 1 - i / 2 : i / 2;
        struct vbs_sweep_task task = {0};
        struct vbs_ctx ctx = {0};
        enum vbs_status status = vbs_sweep_expand(&ctx, sweep, index, &task);

        if (status != VBS_OK)
            broken = fuzz_failed_well(&ctx, status);
        else if (!task.words[0])
            broken = "a task has words";
        vbs_sweep_task_clear(&task);
    }
    return broken;
}

static const char *read_sweep(const char *text, size_t length)
{
    int file = fuzz_memory_file(text, length);
    struct vbs_sweep *sweep = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    char path[40];
    enum vbs_status status;

    if (file < 0)
        return NULL;
    status = vbs_sweep_load(&ctx, fuzz_path_of(file, path), &sweep);
    broken = status == VBS_OK ? expand_tasks(sweep) : fuzz_failed_well(&ctx, status);
    vbs_sweep_free(sweep);
    close(file);
    return broken;
}

/* ---- all readers ---- */

static const struct reader {
    const char *name;
    const char *(*run)(const char *text, size_t length);
} READERS[] = {
    {"profile (CSV)", read_profile},
    {"schedule (JSON)", read_schedule},
    {"network (text)", fuzz_read_network},
    {"values (npy)", read_npy},
    {"network (ONNX)", fuzz_read_model},
    {"buffers (CSV)", read_buffers},
    {"network (ONNX) as", fuzz_read_model_as},
    {"tensor (ONNX)", fuzz_read_tensor},
    {"network (text) as", fuzz_read_network_as},
    {"sizes", read_sizes},
    {"coded weights", fuzz_read_coded},
    {"network (.vbz)", fuzz_read_vbz},
    {"folder of images", fuzz_read_data},
    {"TOML", read_toml},
    {"study (TOML)", read_study},
    {"sweep (TOML)", read_sweep},
    {"exported network (text)", fuzz_export_text},
    {"exported network (ONNX)", fuzz_export_model},
};

static const struct reader *reader_of(const unsigned char *data, size_t size)
{
    size_t n = sizeof READERS / sizeof READERS[0];

    return &READERS[size > 0 ? (unsigned char)(data[0] - '0') % n : 0];
}

const char *readers_name(const unsigned char *data, size_t size)
{
    return reader_of(data, size)->name;
}

const char *readers_run(const unsigned char *data, size_t size)
{
    return reader_of(data, size)->run((const char *)data + (size > 0), size - (size > 0));
}
