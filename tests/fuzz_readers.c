/*
 * make fuzz: libFuzzer on everything that reads files from outside. The first byte of an input
 * chooses the reader ('0' the first), the rest is the file.
 */
#include "base/npy.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"
#include "vbslab/schedule.h"

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

static void (*const READERS[])(const char *text, size_t length) = {read_profile, read_schedule,
                                                                   read_network, read_npy};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size > 0)
        READERS[(unsigned char)(data[0] - '0') % (sizeof READERS / sizeof READERS[0])](
            (const char *)data + 1, size - 1);
    return 0;
}
