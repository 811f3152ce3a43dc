/* Every allocation of pruning, quantising, coding, coding anew, opening coded weights and planning
 * a layer fails once, and then also every one after it: the call reports it, leaves nothing behind
 * (AddressSanitizer looks), and leaves its outputs alone. */
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/coded_layer.h"

#include <stdlib.h>

#define N_ROWS    12
#define N_COLUMNS 40
#define N_WEIGHTS (N_ROWS * N_COLUMNS)

static void fill(float *weights)
{
    for (int i = 0; i < N_WEIGHTS; i++)
        weights[i] = (float)((i * 7919) % 211 - 105) / 64;
}

static enum vbs_status plan_layer(struct vbs_ctx *ctx, const struct vbs_coded *coded,
                                  struct vbs_coded_plan **plan)
{
    const struct vbs_coded_layer layer = {
        .coded = coded,
        .input = {N_COLUMNS, N_COLUMNS, 1, N_COLUMNS, 0, 1, 1, N_COLUMNS},
        .output = {N_ROWS, N_ROWS, 1, N_ROWS, 0, 1, 1, N_ROWS},
        .batch = 2,
        .groups = 1,
        .threads = 2};

    return vbs_coded_plan_new(ctx, &layer, plan);
}

/* Prunes, quantises, codes with some blocks and then with others and the best bits of a distance,
 * opens the bytes once more, and plans a layer. */
static enum vbs_status code_all(struct vbs_ctx *ctx, const void *subject)
{
    enum vbs_coding coding = *(const enum vbs_coding *)subject;
    const struct vbs_coding_options first = {coding, 4, 5, 16};
    const struct vbs_coding_options second = {(enum vbs_coding)((coding + 1) % VBS_N_CODINGS), 0, 7,
                                              9};
    struct vbs_quantised quantised = {0};
    struct vbs_coded *coded = NULL, *other = NULL, *again = NULL;
    struct vbs_coded_plan *plan = NULL;
    float weights[N_WEIGHTS];
    size_t n_bytes;
    enum vbs_status status;

    fill(weights);
    status = vbs_prune(ctx, weights, N_WEIGHTS, 0.4);
    if (status == VBS_OK)
        status = vbs_quantise_within(ctx, weights, N_ROWS, N_COLUMNS, 4, 0.5, &quantised);
    if (status == VBS_OK)
        status = vbs_code(ctx, &quantised, &first, &coded);
    if (status == VBS_OK)
        status = vbs_coded_recode(ctx, coded, &second, &other);
    if (status == VBS_OK) {
        const void *bytes = vbs_coded_bytes(other, &n_bytes);

        status = vbs_coded_open(ctx, bytes, n_bytes, &again);
    }
    if (status != VBS_OK && (again || (!coded && other)))
        status = VBS_N_STATUS;
    if (status == VBS_OK)
        status = plan_layer(ctx, again, &plan);
    vbs_coded_plan_free(plan);
    vbs_coded_free(again);
    vbs_coded_free(other);
    vbs_coded_free(coded);
    vbs_quantised_clear(&quantised);
    return status;
}

static void test_allocations(enum vbs_coding coding, bool lasting)
{
    struct fault_trial trial = {.run = code_all, .subject = &coding, .lasting = lasting};

    fault_each(&trial);
    ok(trial.n_faults > 15 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "%s: %d allocations, %s", vbs_coding_name(coding), trial.n_faults, trial.way);
}

static void test_stop(void)
{
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {.cancel = &stop};

    is_int(code_all(&ctx, &(enum vbs_coding){VBS_CODING_JOINT}), VBS_INTERRUPTED,
           "coding can be stopped");
}

int main(void)
{
    for (int c = 0; c < VBS_N_CODINGS; c++) {
        test_allocations((enum vbs_coding)c, false);
        test_allocations((enum vbs_coding)c, true);
    }
    test_stop();
    return done_testing();
}
