/* Profiles to teach with: the files of db/teaching, which are embedded, and what they show. */
#include "vbslab/teach.h"

#include "base/embedded.h"
#include "base/fail.h"

#include <string.h>

/* db/teaching/NAME.csv, by tools/embed.sh. */
extern const struct vbs_embedded vbs_teaching[];

static const struct vbs_teaching_profile PROFILES[] = {
    {.name = "vbs-example",
     .about = "batches: each layer has its own; the worked example of the VBS paper",
     .options = "--request 2 --memory 7",
     .request = 2,
     .memory_bytes = 7},
    {.name = "greedy-trap",
     .about = "greedy-vbs keeps all samples between layers, and is slower than one batch for all",
     .options = "--request 4 --memory 36",
     .request = 4,
     .memory_bytes = 36},
    {.name = "four-layers",
     .about = "the dynamic program of dp-vbs by hand: a table of ten cells",
     .options = "--request 2 --memory 8",
     .request = 2,
     .memory_bytes = 8},
    {.name = "branches",
     .about = "dp-vbs reserves the outputs of all branches at once, dp-vbs+ counts what is there",
     .options = "--request 2 --memory 10",
     .request = 2,
     .memory_bytes = 10},
    {.name = "barrier",
     .about = "dp-vbs misses the barrier behind L1, which dp-vbs+ finds",
     .options = "--request 2 --memory 8",
     .request = 2,
     .memory_bytes = 8},
    {.name = "crossing",
     .about =
         "the optimum is not laminar: batches of two layers cross, so that only optimal finds it",
     .options = "--request 6 --memory 16",
     .request = 6,
     .memory_bytes = 16},
    {.name = "two-clocks",
     .about = "weights that come and go on a second clock leave memory for larger batches",
     .options = "--request 3 --memory 18 --weights included",
     .request = 3,
     .memory_bytes = 18,
     .weights = VBS_WEIGHTS_INCLUDED},
};

const struct vbs_teaching_profile *vbs_teaching_profile_at(int index)
{
    return index >= 0 && index < (int)(sizeof PROFILES / sizeof PROFILES[0]) ? &PROFILES[index]
                                                                             : NULL;
}

enum vbs_status vbs_teaching_profile_load(struct vbs_ctx *ctx, const char *name,
                                          struct vbs_profile **profile)
{
    for (const struct vbs_embedded *file = vbs_teaching; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return vbs_profile_parse_csv(ctx, file->name, file->text, file->length, profile);
    return vbs_fail(ctx, VBS_NOT_FOUND, "no profile to teach with is called '%.100s'", name);
}
