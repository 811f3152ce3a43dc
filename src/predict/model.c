/* The families of a model, and which of them speaks for a kernel. */
#include "predict/predict.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Marks behind the name of an implementation: one thread computes; inputs and outputs are copied
 * into other layouts; matrices are multiplied in the place of a transposed convolution. */
#define SERIAL  "+serial"
#define REORDER "+reorder"
#define TILING  "+tiling"

#define MOST_APART 20.0 /* times of kernels of equal work and bytes */

static int compare_families(const struct predict_point *a, const struct predict_point *b)
{
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->groups != b->groups)
        return a->groups < b->groups ? -1 : 1;
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
        model->least_us = i > 0 ? fmin(model->least_us, points[i].time_us) : points[i].time_us;
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

/* How well a family fits a kernel. */
enum like_operator { OTHER_OPERATOR, SAME_CLASS, SAME_OPERATOR, SAME_KIND /* groups as well */ };
enum like_algorithm { OTHER_ALGORITHM, SAME_IMPLEMENTATION, SAME_MARKS, SAME_ALGORITHM };
struct likeness {
    enum like_operator op;
    enum like_algorithm algorithm;
};

/* Returns whether two algorithms have one implementation: the part of the name before the marks, or
 * products of matrices in the place of a transposed convolution, whichever multiplies. */
static bool same_implementation(const char *a, const char *b)
{
    size_t length = strcspn(a, "+");
    bool tiling = strstr(a, TILING) != NULL;

    if (tiling || strstr(b, TILING))
        return tiling && strstr(b, TILING);
    return length == strcspn(b, "+") && memcmp(a, b, length) == 0;
}

/* Returns the length of an algorithm's name without the mark of one thread. */
static size_t plain_length(const char *algorithm)
{
    size_t length = strlen(algorithm), mark = sizeof SERIAL - 1;

    return length > mark && strcmp(algorithm + length - mark, SERIAL) == 0 ? length - mark : length;
}

static enum like_operator like_operator(const struct predict_point *a,
                                        const struct predict_point *b)
{
    bool alike = vbs_op_class(a->op) == vbs_op_class(b->op);

    if (a->op == b->op)
        return a->groups == b->groups ? SAME_KIND : SAME_OPERATOR;
    return alike && vbs_op_class(a->op) != VBS_CLASS_OTHER ? SAME_CLASS : OTHER_OPERATOR;
}

static enum like_algorithm like_algorithm(const char *a, const char *b)
{
    size_t length = plain_length(a);

    if (strcmp(a, b) == 0)
        return SAME_ALGORITHM;
    if (length == plain_length(b) && memcmp(a, b, length) == 0)
        return SAME_MARKS; /* but for the one of one thread */
    return same_implementation(a, b) ? SAME_IMPLEMENTATION : OTHER_ALGORITHM;
}

/* Returns a number that is larger where a family fits better: first by operators, then by
 * algorithms; 0: not at all. */
static int rank_of(const struct likeness *like)
{
    return like->op == OTHER_OPERATOR ? 0 : 4 * (int)like->op + (int)like->algorithm;
}

/* Returns whether times of the same implementation were learnt, for the same kind of operator. */
static bool is_known(const struct likeness *like)
{
    return like->algorithm != OTHER_ALGORITHM && (like->op == SAME_CLASS || like->op == SAME_KIND);
}

/* Returns the family that is most like a point, of several the one with most points, and in *most
 * how like it is; null: no family can say anything. */
static const struct predict_family *choose(const struct predict_model *model,
                                           const struct predict_point *point, struct likeness *most)
{
    const struct predict_family *best = NULL;

    *most = (struct likeness){OTHER_OPERATOR, OTHER_ALGORITHM};
    for (int i = 0; i < model->n_families; i++) {
        const struct predict_family *family = &model->families[i];
        const struct likeness like = {like_operator(family->first, point),
                                      like_algorithm(family->first->algorithm, point->algorithm)};
        int rank = rank_of(&like), highest = rank_of(most);

        if (rank > highest || (rank == highest && rank > 0 && family->n > best->n)) {
            best = family;
            *most = like;
        }
    }
    for (int i = 0; i < 2 && !best; i++) {
        const struct predict_family *all =
            &model->families[model->n_families + (vbs_op_multiplies(point->op) ? 1 - i : i)];

        best = all->n > 0 ? all : NULL;
    }
    return best;
}

static bool is_copied(const char *algorithm)
{
    return strstr(algorithm, REORDER) != NULL;
}

/* Returns the time of copying what a kernel reads and makes into other layouts, by the kernels that
 * do not multiply. */
static double copy_us(const struct predict_model *model, const struct predict_point *point)
{
    const struct predict_family *plain = &model->families[model->n_families];
    struct predict_point copy = {.terms = {1, 0, point->terms[2], 0, 0}};

    return plain->n > 0 ? vbs_predict_roofline(plain->coefficients, &copy) : 0;
}

/* Keeps a time within MOST_APART of that of all kernels with as much work and as many bytes: sums
 * that were fitted to few kernels say anything of others that are far from them. */
static void keep_usual(const struct predict_model *model, const struct predict_point *point,
                       struct predict_time *time)
{
    const struct predict_family *all =
        &model->families[model->n_families + vbs_op_multiplies(point->op)];
    double usual, most = log(MOST_APART);

    if (all->n == 0)
        return;
    usual = log(vbs_predict_roofline(all->coefficients, point));
    time->log_us = fmin(usual + most, fmax(usual - most, time->log_us));
}

/* Completes a time by a family that is like the point to some degree. */
static void complete(const struct predict_model *model, const struct predict_family *family,
                     const struct likeness *like, const struct predict_point *point,
                     struct predict_time *time)
{
    time->known = is_known(like);
    if (!time->known)
        time->deviation = hypot(time->deviation, PREDICT_UNKNOWN);
    else if (is_copied(point->algorithm) && !is_copied(family->first->algorithm))
        time->log_us = log(exp(time->log_us) + copy_us(model, point));
    keep_usual(model, point, time);
    time->log_us = fmax(time->log_us, log(model->least_us));
}

enum vbs_status vbs_predict_times(struct vbs_ctx *ctx, const struct predict_model *model,
                                  const struct predict_point *points, int n,
                                  struct predict_time *times)
{
    for (int i = 0, next; i < n; i = next) {
        struct likeness likes[64], like;
        const struct predict_family *family = choose(model, &points[i], &likes[0]);
        const struct predict_point *some[64] = {&points[i]};

        for (next = i + 1; next < n && next < i + 64; next++) {
            if (choose(model, &points[next], &like) != family)
                break;
            likes[next - i] = like;
            some[next - i] = &points[next];
        }
        VBS_TRY(vbs_predict_by_family(ctx, family, some, next - i, times + i));
        for (int j = i; j < next; j++)
            complete(model, family, &likes[j - i], &points[j], &times[j]);
    }
    return VBS_OK;
}

static bool same_place(const struct vbs_kernel *a, const struct vbs_kernel *b)
{
    return a->layer == b->layer && a->batch == b->batch && a->rows == b->rows;
}

void vbs_predict_prefer_known(const struct vbs_kernel *kernels, int n, struct predict_time *times)
{
    for (int i = 0, next; i < n; i = next) {
        bool known = false;

        for (next = i; next < n && same_place(&kernels[next], &kernels[i]); next++)
            known = known || times[next].known;
        for (int j = i; j < next && known; j++)
            if (!times[j].known)
                times[j].log_us += times[j].deviation;
    }
}
