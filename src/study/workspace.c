/*
 * Making a study ready for work. Of a parameter only those shares are kept that give different
 * widths: channels that stay are rounded up to a multiple of `round`, because kernels work in
 * blocks of channels, so that most shares are one network.
 */
#include "study/study.h"

#include "base/fail.h"
#include "base/options.h"
#include "base/sha256.h"
#include "model/network/network.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARES       256 /* shares that are tried for a parameter without a step */
#define DEFAULT_HIGH 0.9 /* of the shares */

void study_report(const struct study_work *w, int trial, double done, const char *format, ...)
{
    char text[200];
    struct vbs_study_event event = {.trial = trial, .doing = text, .done = done};
    va_list args;

    if (!w->options.report)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->options.report(w->options.self, &event);
}

/* ---- groups and levels ---- */

void study_keep(const struct study_work *w, const double *levels, int64_t *keep)
{
    for (int g = 0; g < w->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &w->groups->groups[g];
        int p = w->parameter_of[g];

        keep[g] = group->n_channels;
        if (levels && p >= 0)
            keep[g] = vbs_prune_keep(group, w->levels[p].shares[(int)levels[p]], w->study->round);
    }
}

int study_level(const struct study_work *w, int parameter, double share)
{
    const struct study_levels *levels = &w->levels[parameter];
    int best = 0;

    for (int i = 1; i < levels->n; i++)
        if (fabs(levels->shares[i] - share) < fabs(levels->shares[best] - share))
            best = i;
    return best;
}

/* Marks the groups of a parameter as its own. */
static enum vbs_status choose_groups(struct study_work *w, int p, bool *chosen)
{
    const struct study_parameter *parameter = &w->study->parameters[p];
    int n = w->groups->n_groups;

    memset(chosen, 0, (size_t)n * sizeof *chosen);
    for (int i = 0; i < parameter->n_groups; i++) {
        enum vbs_status status =
            vbs_prune_choose(w->ctx, w->groups, w->study->preset, parameter->groups[i], chosen);
        char place[200];

        snprintf(place, sizeof place, "%.80s: parameter '%.60s'", w->study->path, parameter->name);
        if (status != VBS_OK)
            return vbs_fail_within(w->ctx, status == VBS_NOT_FOUND ? VBS_USAGE : status, place);
    }
    for (int g = 0; g < n; g++) {
        if (!chosen[g])
            continue;
        if (w->parameter_of[g] >= 0)
            return vbs_fail(w->ctx, VBS_USAGE, "%s: parameters '%s' and '%s' both prune group '%s'",
                            w->study->path, w->study->parameters[w->parameter_of[g]].name,
                            parameter->name, w->groups->groups[g].name);
        w->parameter_of[g] = p;
    }
    return VBS_OK;
}

/* Gives whether two shares keep other numbers of channels of some group of a parameter. */
static bool differ(const struct study_work *w, int p, double a, double b)
{
    for (int g = 0; g < w->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &w->groups->groups[g];

        if (w->parameter_of[g] == p &&
            vbs_prune_keep(group, a, w->study->round) != vbs_prune_keep(group, b, w->study->round))
            return true;
    }
    return false;
}

/* Finds the shares of a parameter that give different widths: of those that give one, the first. */
static enum vbs_status find_levels(struct study_work *w, int p)
{
    const struct study_parameter *parameter = &w->study->parameters[p];
    struct study_levels *levels = &w->levels[p];
    double high = parameter->high > 0 ? parameter->high : fmax(DEFAULT_HIGH, parameter->low);
    double step = parameter->step > 0 ? parameter->step : 1.0 / SHARES;
    int n = (int)fmin(1e6, floor((high - parameter->low) / step + 1e-9)) + 1;

    levels->shares = vbs_arena_alloc(&w->arena, (size_t)n, sizeof *levels->shares);
    if (!levels->shares)
        return vbs_no_memory(w->ctx);
    for (int i = 0; i < n; i++) {
        double share = fmin(parameter->low + i * step, high);

        if (i == 0 || differ(w, p, levels->shares[levels->n - 1], share))
            levels->shares[levels->n++] = share;
    }
    if (levels->n == 1)
        return vbs_fail(w->ctx, VBS_USAGE,
                        "%s: parameter '%s' has no effect: with round = %lld all its values keep "
                        "the same channels; a larger range or a smaller round helps",
                        w->study->path, parameter->name, (long long)w->study->round);
    w->axes[p] = (struct vbs_search_parameter){
        .name = parameter->name, .kind = VBS_SEARCH_INTEGER, .low = 0, .high = levels->n - 1};
    return VBS_OK;
}

static enum vbs_status find_space(struct study_work *w)
{
    size_t n_groups = (size_t)w->groups->n_groups, n = (size_t)w->study->n_parameters;
    bool *chosen = vbs_arena_alloc(&w->arena, n_groups, sizeof *chosen);

    w->parameter_of = vbs_arena_alloc(&w->arena, n_groups, sizeof *w->parameter_of);
    w->levels = vbs_arena_alloc(&w->arena, n, sizeof *w->levels);
    w->axes = vbs_arena_alloc(&w->arena, n, sizeof *w->axes);
    if (!chosen || !w->parameter_of || !w->levels || !w->axes)
        return vbs_no_memory(w->ctx);
    for (size_t g = 0; g < n_groups; g++)
        w->parameter_of[g] = -1;
    for (int p = 0; p < (int)n; p++)
        VBS_TRY(choose_groups(w, p, chosen));
    for (int p = 0; p < (int)n; p++)
        VBS_TRY(find_levels(w, p));
    w->space = (struct vbs_search_space){.n_parameters = (int)n, .parameters = w->axes};
    return vbs_search_space_check(w->ctx, &w->space);
}

/* ---- network and data ---- */

static enum vbs_status open_data(struct study_work *w)
{
    const struct vbs_study *s = w->study;
    const struct vbs_data_options data = {.struct_size = sizeof data,
                                          .n_validation = s->validation};

    VBS_TRY(vbs_dataset_open(w->ctx, s->data, VBS_SPLIT_TRAIN, &data, &w->images));
    VBS_TRY(vbs_dataset_open(w->ctx, s->data, VBS_SPLIT_VALIDATION, &data, &w->validation));
    VBS_TRY(vbs_eval_check(w->ctx, w->network, w->validation));
    if (w->network->normalise)
        return vbs_normalise_parse(w->ctx, s->model, w->network->normalise, &w->normalise);
    return vbs_normalise_measure(w->ctx, s->data, &w->normalise);
}

static enum vbs_status find_words(struct study_work *w)
{
    const struct vbs_study *s = w->study;
    const char *planner = s->planner                           ? s->planner
                          : s->weights == VBS_WEIGHTS_INCLUDED ? "joint"
                                                               : "dp-vbs+";

    VBS_TRY(
        vbs_backend_find(w->ctx, s->backend ? s->backend : vbs_backend_at(0)->name, &w->backend));
    VBS_TRY(vbs_planner_load(w->ctx, planner, &w->planner));
    if (vbs_planner_transfers(w->planner) && s->weights != VBS_WEIGHTS_INCLUDED)
        return vbs_fail(w->ctx, VBS_USAGE, "%s: planner '%s' needs weights = \"included\"", s->path,
                        planner);
    VBS_TRY(vbs_parse_batches(w->ctx, s->batches, &w->batches, &w->n_batches));
    if (w->batches[0] != 1)
        return vbs_fail(w->ctx, VBS_USAGE, "%s: batches '%s' lack 1", s->path, s->batches);
    return VBS_OK;
}

static enum vbs_status find_scores(struct study_work *w)
{
    const struct vbs_prune_options options = {.struct_size = sizeof options,
                                              .ranking = w->study->ranking,
                                              .seed = (uint64_t)w->study->seed,
                                              .images = w->images,
                                              .normalise = &w->normalise,
                                              .threads = w->options.threads};

    w->scores = vbs_arena_alloc(&w->arena, (size_t)w->groups->n_channels, sizeof *w->scores);
    if (!w->scores)
        return vbs_no_memory(w->ctx);
    return vbs_prune_scores(w->ctx, w->network, w->groups, &options, w->scores);
}

/* ---- the study in the store ---- */

/* Finds or makes the study; its hash covers the description, the network and the size of the data.
 */
static enum vbs_status find_study(struct study_work *w)
{
    const struct vbs_data_info *info = vbs_dataset_info(w->images);
    const int64_t data[] = {info->n_images,  info->channels,
                            info->height,    info->width,
                            info->n_classes, vbs_dataset_info(w->validation)->n_images};
    uint64_t shapes = vbs_network_hash(w->network);
    char text[STUDY_HASH_SIZE];
    const struct vbs_study_record record = {.name = w->study->name,
                                            .description = w->study->canonical,
                                            .hash = text,
                                            .vbslab = w->options.vbslab};
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, data, sizeof data);
    vbs_sha256_add(&hash, &shapes, sizeof shapes);
    VBS_TRY(vbs_network_hash_values(w->ctx, w->network, &hash));
    vbs_sha256_add(&hash, w->study->canonical, strlen(w->study->canonical));
    vbs_sha256_end_text(&hash, text, sizeof text);
    return vbs_store_study(w->ctx, w->store, &record, !w->options.join, &w->id);
}

enum vbs_status study_work_open(struct study_work *w)
{
    VBS_TRY(vbs_node_open(w->ctx, NULL, &w->node));
    VBS_TRY(find_words(w));
    VBS_TRY(vbs_network_load_as(w->ctx, w->study->model, NULL, 0, VBS_PRECISION_FP32, &w->network));
    VBS_TRY(vbs_prune_groups(w->ctx, w->network, &w->groups));
    VBS_TRY(find_space(w));
    VBS_TRY(open_data(w));
    VBS_TRY(find_study(w));
    return find_scores(w);
}

void study_work_close(struct study_work *w)
{
    vbs_node_close(&w->node);
    vbs_network_free(w->network);
    vbs_prune_groups_free(w->groups);
    vbs_dataset_free(w->images);
    vbs_dataset_free(w->validation);
    free(w->batches);
    free(w->known);
    vbs_planner_unload(w->planner);
    vbs_arena_clear(&w->arena);
}
