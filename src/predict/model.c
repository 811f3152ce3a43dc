/* The families of a model, and which of them speaks for a kernel. */
#include "predict/predict.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

#define SERIAL "+serial" /* behind the name of an algorithm: one thread computes */

static int compare_families(const struct predict_point *a, const struct predict_point *b)
{
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->depthwise != b->depthwise)
        return a->depthwise ? 1 : -1;
    return strcmp(a->algorithm, b->algorithm);
}

/* Points of a family lie together, in their own order. */
static int compare_points(const void *a, const void *b)
{
    const struct predict_point *p = *(const struct predict_point *const *)a;
    const struct predict_point *q = *(const struct predict_point *const *)b;
    int order = compare_families(p, q);

    return order ? order : p < q ? -1 : p > q;
}

/* Learns the family of all points that multiply, or of all that do not; without points n is 0. */
static enum vbs_status learn_all(struct vbs_ctx *ctx, struct predict_model *model,
                                 const struct predict_point *const *points, int n, bool multiply,
                                 struct predict_family *family)
{
    const struct predict_point **chosen = vbs_arena_alloc(&model->arena, (size_t)n, sizeof *chosen);
    int n_chosen = 0;

    if (!chosen)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        if (vbs_op_multiplies(points[i]->op) == multiply)
            chosen[n_chosen++] = points[i];
    if (n_chosen == 0)
        return VBS_OK;
    return vbs_predict_learn_family(ctx, &model->arena, chosen, n_chosen, family);
}

static enum vbs_status learn_families(struct vbs_ctx *ctx, struct predict_model *model,
                                      const struct predict_point *const *points, int n)
{
    for (int first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && compare_families(points[first], points[next]) == 0;)
            next++;
        VBS_TRY(vbs_predict_learn_family(ctx, &model->arena, points + first, next - first,
                                         &model->families[model->n_families++]));
    }
    VBS_TRY(learn_all(ctx, model, points, n, false, &model->families[model->n_families]));
    return learn_all(ctx, model, points, n, true, &model->families[model->n_families + 1]);
}

static enum vbs_status learn(struct vbs_ctx *ctx, const struct predict_point *points, int n,
                             struct predict_model *model)
{
    const struct predict_point **sorted = vbs_arena_alloc(&model->arena, (size_t)n, sizeof *sorted);
    size_t most = (size_t)n + 2;

    model->families = vbs_arena_alloc(&model->arena, most, sizeof *model->families);
    if (!sorted || !model->families)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        if (!(points[i].time_us > 0))
            return vbs_fail(ctx, VBS_INVALID, "a time to learn from is not above 0");
        sorted[i] = &points[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_points);
    model->n_points = n;
    return learn_families(ctx, model, sorted, n);
}

enum vbs_status vbs_predict_learn(struct vbs_ctx *ctx, const struct predict_point *points, int n,
                                  struct predict_model *model)
{
    enum vbs_status status;

    *model = (struct predict_model){0};
    if (n < 1)
        return vbs_fail(ctx, VBS_INVALID, "there are no times to learn from");
    status = learn(ctx, points, n, model);
    if (status != VBS_OK)
        vbs_predict_clear(model);
    return status;
}

void vbs_predict_clear(struct predict_model *model)
{
    vbs_arena_clear(&model->arena);
    *model = (struct predict_model){0};
}

/* ---- choosing ---- */

/* Gives the length of an algorithm's name without the mark of one thread. */
static size_t plain_length(const char *algorithm)
{
    size_t length = strlen(algorithm), mark = sizeof SERIAL - 1;

    return length > mark && strcmp(algorithm + length - mark, SERIAL) == 0 ? length - mark : length;
}

/* Gives how well a family fits a point: 0: not at all. */
static int likeness(const struct predict_family *family, const struct predict_point *point)
{
    const struct predict_point *first = family->first;
    size_t length = plain_length(point->algorithm);

    if (first->op != point->op)
        return 0;
    if (first->depthwise != point->depthwise)
        return 1;
    if (strcmp(first->algorithm, point->algorithm) == 0)
        return 4;
    return plain_length(first->algorithm) == length &&
                   memcmp(first->algorithm, point->algorithm, length) == 0
               ? 3
               : 2;
}

/* Gives the family that is most like a point, of several the one with most points; null: no family
 * can say anything. */
static const struct predict_family *choose(const struct predict_model *model,
                                           const struct predict_point *point)
{
    const struct predict_family *best = NULL;
    int most = 0;

    for (int i = 0; i < model->n_families; i++) {
        const struct predict_family *family = &model->families[i];
        int like = likeness(family, point);

        if (like > most || (like == most && like > 0 && family->n > best->n)) {
            best = family;
            most = like;
        }
    }
    for (int i = 0; i < 2 && !best; i++) {
        const struct predict_family *all =
            &model->families[model->n_families + (vbs_op_multiplies(point->op) ? 1 - i : i)];

        best = all->n > 0 ? all : NULL;
    }
    return best;
}

enum vbs_status vbs_predict_times(struct vbs_ctx *ctx, const struct predict_model *model,
                                  const struct predict_point *points, int n,
                                  struct predict_time *times)
{
    for (int i = 0, next; i < n; i = next) {
        const struct predict_family *family = choose(model, &points[i]);
        const struct predict_point *some[64];

        for (next = i; next < n && next < i + 64 && choose(model, &points[next]) == family; next++)
            some[next - i] = &points[next];
        VBS_TRY(vbs_predict_by_family(ctx, family, some, next - i, times + i));
    }
    return VBS_OK;
}
