/*
 * make fuzz: libFuzzer on everything that reads files from outside. The first byte of an input
 * chooses the reader, the rest is the file.
 */
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

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *text = (const char *)data + 1;

    if (size == 0)
        return 0;
    if (data[0] % 3 == 0)
        read_profile(text, size - 1);
    else if (data[0] % 3 == 1)
        read_schedule(text, size - 1);
    else
        read_network(text, size - 1);
    return 0;
}
