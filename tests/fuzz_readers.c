/*
 * make fuzz: libFuzzer on everything that reads files from outside. The first byte of an input
 * chooses the reader ('0' the first), the rest is the file.
 */
#include "base/npy.h"
#include "model/onnx.h"
#include "vbslab/model.h"
#include "vbslab/place.h"
#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void read_profile(const char *text, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile;

    if (vbs_profile_parse_csv(&ctx, "fuzz", text, length, &profile) == VBS_OK)
        vbs_profile_free(profile);
}

static void read_schedule(const char *text, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule;

    if (vbs_schedule_parse_json(&ctx, "fuzz", text, length, &schedule) == VBS_OK)
        vbs_schedule_free(schedule);
}

static void read_network(const char *text, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network;

    if (vbs_network_parse(&ctx, "fuzz", text, length, NULL, &network) == VBS_OK)
        vbs_network_free(network);
}

static void read_npy(const char *text, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy;

    if (vbs_npy_parse(&ctx, "fuzz", text, length, 1 << 20, &npy) == VBS_OK)
        vbs_npy_clear(&npy);
}

/* A few weights from both ends of a layer's. */
static void read_weights(const struct vbs_network *network, int layer)
{
    int64_t count = vbs_weight_count(network, layer), n = count < 50 ? count : 50;
    struct vbs_ctx ctx = {0};
    float values[50];

    if (n > 0 && vbs_parameter_values(&ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, 0, n,
                                      values) == VBS_OK)
        (void)!vbs_parameter_values(&ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, count - n, n,
                                    values);
}

/* Through a file that lives in memory. */
static void read_onnx(const char *text, size_t length)
{
    int file = memfd_create("fuzz", 0);
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    char path[40];

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (file >= 0 && write(file, text, length) == (ssize_t)length &&
        vbs_onnx_load(&ctx, path, NULL, NULL, 0, &network) == VBS_OK) {
        for (int k = 1; k <= network->n_layers && k < 100; k++)
            read_weights(network, k);
        vbs_network_free(network);
    }
    close(file);
}

/* Buffers to place, and their placement where it is no search. */
static void read_buffers(const char *text, size_t length)
{
    static const struct vbs_place_options OPTIONS = {.step_limit = 20000};
    struct vbs_place_result *result;
    struct vbs_ctx ctx = {0};
    struct vbs_place_csv *csv;

    if (vbs_place_csv_parse(&ctx, "fuzz", text, length, &csv) != VBS_OK)
        return;
    if (vbs_place_csv_problem(csv)->n_items <= 64 &&
        vbs_place_lowest(&ctx, vbs_place_csv_problem(csv), &OPTIONS, &result) == VBS_OK)
        vbs_place_free(result);
    vbs_place_csv_free(csv);
}

static void (*const READERS[])(const char *text, size_t length) = {
    read_profile, read_schedule, read_network, read_npy, read_onnx, read_buffers};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size > 0)
        READERS[(unsigned char)(data[0] - '0') % (sizeof READERS / sizeof READERS[0])](
            (const char *)data + 1, size - 1);
    return 0;
}
