/* Every allocation of opening a data set and of measuring its normalisation fails once, and then
 * also every one after it: the call reports it, leaves nothing behind (AddressSanitizer looks), and
 * leaves its outputs alone. */
#include "vbslab/data.h"

#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/fault.h"
#include "support/tap.h"

static enum vbs_status open_all(struct vbs_ctx *ctx, const void *folder)
{
    void *const untouched = &fault_untouched;
    struct vbs_normalise normalise;

    for (int s = 0; s < VBS_N_SPLITS; s++) {
        struct vbs_dataset *dataset = untouched;
        enum vbs_status status = vbs_dataset_open(ctx, folder, (enum vbs_split)s, NULL, &dataset);

        if (status != VBS_OK)
            return fault_status(status, dataset);
        vbs_dataset_free(dataset);
    }
    return vbs_normalise_measure(ctx, folder, &normalise);
}

static void test_allocations(const char *name, const char *folder, bool lasting)
{
    struct fault_trial trial = {.run = open_all, .subject = folder, .lasting = lasting};

    fault_each(&trial);
    ok(trial.n_faults > 15 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "%s: %d allocations, %s", name, trial.n_faults, trial.way);
}

static void test_stop(const char *folder)
{
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {.cancel = &stop};

    is_int(open_all(&ctx, folder), VBS_INTERRUPTED, "reading images can be stopped");
}

int main(void)
{
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    data_put_idx(folder, 20, 1, true);
    data_put(folder, "classes.txt", "a\nb\nc\nd\n", 8);
    test_allocations("IDX", folder, false);
    test_allocations("IDX", folder, true);
    test_stop(folder);
    data_folder_remove(folder);
    return done_testing();
}
