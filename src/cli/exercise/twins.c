/*
 * Answers of a class to one exercise. Each student of a class has an exercise of their own, so that
 * a second answer to it was probably copied.
 */
#include "base/grow.h"
#include "base/fail.h"
#include "cli/exercise/exercise.h"

#include <stdlib.h>
#include <string.h>

enum vbs_status exercise_twins_add(struct vbs_ctx *ctx, struct exercise_twins *twins,
                                   const char *file, const struct exercise_judged *judged,
                                   const struct exercise_twin **twin)
{
    const struct vbs_exercise *exercise = judged->exercise;
    int found = -1;
    char *copy;

    *twin = NULL;
    if (!exercise)
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &twins->answers, &twins->capacity, (int64_t)twins->n + 1,
                     sizeof *twins->answers));
    for (int i = 0; i < twins->n; i++) {
        const struct exercise_twin *other = &twins->answers[i];

        if (other->level != exercise->level || other->seed != exercise->seed)
            continue;
        if (found < 0 || strcmp(other->steps, judged->steps) == 0)
            found = i;
        if (strcmp(other->steps, judged->steps) == 0)
            break;
    }
    copy = strdup(file);
    if (!copy)
        return vbs_no_memory(ctx);
    twins->answers[twins->n] =
        (struct exercise_twin){.file = copy, .level = exercise->level, .seed = exercise->seed};
    memcpy(twins->answers[twins->n++].steps, judged->steps, sizeof judged->steps);
    *twin = found < 0 ? NULL : &twins->answers[found];
    return VBS_OK;
}

void exercise_twins_clear(struct exercise_twins *twins)
{
    for (int i = 0; i < twins->n; i++)
        free(twins->answers[i].file);
    free(twins->answers);
    *twins = (struct exercise_twins){0};
}
