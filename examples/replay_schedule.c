/*
 * Judges a schedule that another program has written, in the JSON form of docs/formats.md, by a
 * profile in a CSV file: how long it takes, how much memory it needs, and whether it keeps its
 * budget. The exit code is 0 where it does, and 3 where it does not.
 *
 * This program is compiled by
 *     cc -o replay_schedule replay_schedule.c $(pkg-config --cflags --libs vbslab)
 */
#include <inttypes.h>
#include <stdio.h>

#include <vbslab/vbslab.h>

static void print_judgement(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                            const struct vbs_replay *replay)
{
    const struct vbs_step *peak = &schedule->steps[replay->peak_step];

    printf("time %.3f us for %" PRId64 " samples\n", replay->time_us, schedule->request);
    printf("peak %" PRId64 " bytes in step %" PRId64 ", layer %s\n", replay->peak_bytes,
           replay->peak_step + 1, profile->layers[peak->layer].name);
    if (replay->fits)
        printf("within its budget of %" PRId64 " bytes\n", replay->memory_bytes);
    else
        printf("above its budget of %" PRId64 " bytes from step %" PRId64 " on\n",
               replay->memory_bytes, replay->violation_step + 1);
}

int main(int argc, char **argv)
{
    struct vbs_ctx *ctx = vbs_ctx_new();
    struct vbs_profile *profile = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    enum vbs_status status;

    if (argc != 3) {
        fprintf(stderr, "usage: replay_schedule PROFILE.csv SCHEDULE.json\n");
        return 2;
    }
    status = vbs_profile_read_csv(ctx, argv[1], &profile);
    if (status == VBS_OK)
        status = vbs_schedule_read_json(ctx, argv[2], &schedule);
    if (status == VBS_OK)
        status = vbs_replay_run(ctx, profile, schedule, -1, false, &replay);
    if (status == VBS_OK)
        print_judgement(profile, schedule, replay);
    else
        fprintf(stderr, "replay_schedule: %s\n", vbs_detail(ctx));
    if (status == VBS_OK && !replay->fits)
        status = VBS_OVER_BUDGET;
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
    vbs_ctx_free(ctx);
    return vbs_status_exit_code(status);
}
