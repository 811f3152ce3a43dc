/*
 * Plans a request from a profile in a CSV file, and prints the plan: which layer runs next, on how
 * many samples, with which algorithm.
 *
 * This program is compiled by
 *     cc -o plan_csv plan_csv.c $(pkg-config --cflags --libs vbslab)
 * and run by, for example,
 *     ./plan_csv /usr/local/share/vbslab/profiles/alexnet-a.csv 12 20MiB
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <vbslab/vbslab.h>

static void print_plan(const struct vbs_profile *profile, const struct vbs_schedule *plan)
{
    printf("time %.3f us, peak %" PRId64 " bytes, %" PRId64 " steps by %s\n",
           plan->predicted.time_us, plan->predicted.peak_bytes, plan->n_steps, plan->planner);
    for (int64_t i = 0; i < plan->n_steps; i++) {
        const struct vbs_step *step = &plan->steps[i];

        printf("%s x %d by %s\n", profile->layers[step->layer].name, step->batch,
               plan->algorithms[step->algorithm]);
    }
}

int main(int argc, char **argv)
{
    struct vbs_simple_options options = {.struct_size = sizeof options};
    struct vbs_ctx *ctx;
    struct vbs_profile *profile = NULL;
    struct vbs_schedule *plan = NULL;
    enum vbs_status status;

    if (argc != 4) {
        fprintf(stderr, "usage: plan_csv PROFILE.csv SAMPLES MEMORY\n");
        return 2;
    }
    ctx = vbs_ctx_new();
    options.request = strtoll(argv[2], NULL, 10);
    status = vbs_parse_bytes(ctx, argv[3], &options.memory_bytes);
    if (status == VBS_OK)
        status = vbs_profile_read_csv(ctx, argv[1], &profile);
    if (status == VBS_OK)
        status = vbs_simple_plan(ctx, profile, &options, &plan);
    if (status == VBS_OK)
        print_plan(profile, plan);
    else
        fprintf(stderr, "plan_csv: %s\n", vbs_detail(ctx));
    vbs_schedule_free(plan);
    vbs_profile_free(profile);
    vbs_ctx_free(ctx);
    return vbs_status_exit_code(status);
}
