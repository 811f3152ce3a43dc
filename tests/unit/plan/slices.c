/*
 * How layers divide into slices, against counting channel by channel and byte by byte, and the
 * grids of budgets that planners of streamed weights try. Nothing here is random.
 */
#include "support/tap.h"

#include "plan/weights/trial.h"

#include <math.h>

/* ---- Slices of a layer ---- */

/* Counts the bytes before channel c of channels that have weight_bytes together, as schedule.h
 * divides them. */
static int64_t bytes_before(int64_t weight_bytes, int64_t channels, int64_t c)
{
    int64_t bytes = 0;

    while ((bytes + 1) * channels <= weight_bytes * c)
        bytes++;
    return bytes;
}

/* The bytes first..end-1 of a slice, found by counting. */
static void count_slice(int channels, int64_t weight_bytes, int slice, int n_slices, int64_t *first,
                        int64_t *end)
{
    int64_t units = channels > 0 ? channels : weight_bytes, from = 0, to = 0;

    while ((from + 1) * n_slices <= (slice - 1) * units)
        from++;
    while ((to + 1) * n_slices <= slice * units)
        to++;
    *first = channels > 0 ? bytes_before(weight_bytes, channels, from) : from;
    *end = channels > 0 ? bytes_before(weight_bytes, channels, to) : to;
}

static int64_t count_largest(int channels, int64_t weight_bytes, int n_slices)
{
    int64_t largest = 0, first, end;

    for (int p = 1; p <= n_slices; p++) {
        count_slice(channels, weight_bytes, p, n_slices, &first, &end);
        largest = end - first > largest ? end - first : largest;
    }
    return largest;
}

struct wrong {
    int bytes, empty, largest, not_exact, too_large, not_fewest, us;
};

static void check_slices(const struct vbs_profile_layer *layer, int64_t weight_bytes, int n_slices,
                         struct wrong *wrong)
{
    int64_t largest = count_largest(layer->channels, weight_bytes, n_slices), first, end, from, to;
    const struct vbs_profile_row row = {.time_us = 7};
    double us = 0;

    for (int p = 1; p <= n_slices; p++) {
        count_slice(layer->channels, weight_bytes, p, n_slices, &first, &end);
        vbs_slice_bytes(layer, weight_bytes, p, n_slices, &from, &to);
        wrong->bytes += from != first || to != end;
        wrong->empty += from == to && weight_bytes > 0;
        us += vbs_slice_us(layer, &row, p, n_slices);
    }
    wrong->us += fabs(us - row.time_us) > 1e-9;
    wrong->largest += vbs_slice_largest(layer, weight_bytes, n_slices) < largest;
    wrong->not_exact += (layer->channels == 0 || weight_bytes % layer->channels == 0) &&
                        vbs_slice_largest(layer, weight_bytes, n_slices) > largest;
}

static void check_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                         int64_t free_bytes, struct wrong *wrong)
{
    int limit = vbs_slice_limit(layer, weight_bytes), fewest = 1;
    int n_slices = vbs_slices_within(layer, weight_bytes, free_bytes);

    while (fewest <= limit && vbs_slice_largest(layer, weight_bytes, fewest) > free_bytes)
        fewest++;
    wrong->not_fewest += n_slices != (fewest <= limit ? fewest : 0);
    wrong->too_large +=
        n_slices > 0 && count_largest(layer->channels, weight_bytes, n_slices) > free_bytes;
}

static void test_slices(void)
{
    struct wrong wrong = {0};

    for (int channels = 0; channels <= 13; channels++)
        for (int64_t weight_bytes = 0; weight_bytes <= 40; weight_bytes++) {
            const struct vbs_profile_layer layer = {.channels = channels,
                                                    .weight_bytes = weight_bytes};
            int limit = vbs_slice_limit(&layer, weight_bytes);

            for (int n_slices = 1; n_slices <= limit; n_slices++)
                check_slices(&layer, weight_bytes, n_slices, &wrong);
            for (int64_t free_bytes = 0; free_bytes <= weight_bytes + 1; free_bytes++)
                check_within(&layer, weight_bytes, free_bytes, &wrong);
        }
    is_int(wrong.bytes, 0, "slices are the bytes that schedule.h says");
    is_int(wrong.empty, 0, "  of as many slices as there can be none is empty");
    is_int(wrong.us, 0, "  their times add up to the whole");
    is_int(wrong.largest, 0, "no slice is larger than the largest");
    is_int(wrong.not_exact, 0, "  which is exact where channels are alike");
    is_int(wrong.too_large, 0, "slices within some bytes fit them");
    is_int(wrong.not_fewest, 0, "  and fewer do not");
}

static void test_many_slices(void)
{
    const struct vbs_profile_layer fc = {.channels = 4096}, bytes = {.channels = 0};

    is_int(vbs_slice_limit(&fc, 411041792), 4096, "each channel of fc6 can be a slice");
    is_int(vbs_slices_within(&fc, 411041792, 12 << 20), 33, "  12 MiB take 33 of them");
    is_int(vbs_slice_limit(&bytes, INT64_MAX / 2), 4096, "there are never more than 4096");
    is_int(vbs_slices_within(&bytes, INT64_MAX / 2, 1000), 0, "  also where that is too few");
}

/* A row may have its own number of slices, which takes precedence over its weights. */
static void test_rows(void)
{
    const struct vbs_profile_layer layer = {.channels = 32, .weight_bytes = 3200};
    const struct vbs_profile_row any = {.weight_bytes = 3200}, wide = {.weight_bytes = 12800},
                                 never = {.weight_bytes = 3200, .n_slices = 1},
                                 eight = {.weight_bytes = 12800, .n_slices = 8};

    is_int(vbs_row_most_slices(&layer, &any), 32,
           "a row that divides has slices of single channels");
    is_int(vbs_row_most_slices(&layer, &wide), 1, "  one that packs to more has none");
    is_int(vbs_row_most_slices(&layer, &never), 1, "  nor one that says so");
    is_int(vbs_row_most_slices(&layer, &eight), 8, "  or as many as it was measured in");
    ok(vbs_row_slices_within(&layer, &any, 3200) == 1 &&
           vbs_row_slices_within(&layer, &any, 3199) == 2 &&
           vbs_row_slices_within(&layer, &any, 99) == 0,
       "as few slices as fit");
    ok(vbs_row_slices_within(&layer, &wide, 12800) == 1 &&
           vbs_row_slices_within(&layer, &wide, 12799) == 0 &&
           vbs_row_slices_within(&layer, &never, 3199) == 0,
       "  the whole or nothing");
    ok(vbs_row_slices_within(&layer, &eight, 12800) == 1 &&
           vbs_row_slices_within(&layer, &eight, 12799) == 8 &&
           vbs_row_slices_within(&layer, &eight, 1600) == 8 &&
           vbs_row_slices_within(&layer, &eight, 1599) == 0,
       "  the whole, the slices it was measured in, or nothing");
}

/* ---- Budgets ---- */

/* Gives whether a size is a multiple of a 16th of the power of two at or below it. */
static bool is_round(int64_t bytes)
{
    int64_t unit = 1;

    while (32 * unit <= bytes)
        unit *= 2;
    return bytes % unit == 0;
}

static bool grid_agrees(int64_t from, int64_t to)
{
    struct vbs_budget_list budgets = {0};
    bool agrees = vbs_budget_list_add_grid(NULL, &budgets, from, to) == VBS_OK;
    int at = 0;

    vbs_budget_list_sort(&budgets);
    for (int64_t bytes = from; agrees && bytes <= to; bytes++)
        if (bytes == from || bytes == to || is_round(bytes))
            agrees = at < budgets.n && budgets.bytes[at++] == bytes;
    agrees = agrees && at == budgets.n;
    vbs_budget_list_clear(&budgets);
    return agrees;
}

static bool has_even_mib(void)
{
    struct vbs_budget_list budgets = {0};
    bool has = vbs_budget_list_add_grid(NULL, &budgets, 12345, (int64_t)64 << 20) == VBS_OK;

    vbs_budget_list_sort(&budgets);
    for (int64_t mib = 2; has && mib <= 64; mib += 2) {
        bool found = false;

        for (int i = 0; i < budgets.n; i++)
            found = found || budgets.bytes[i] == mib << 20;
        has = found;
    }
    vbs_budget_list_clear(&budgets);
    return has;
}

static void test_budgets(void)
{
    struct vbs_budget_list budgets = {0};
    int n_wrong = 0;

    for (int64_t from = 0; from <= 70; from++)
        for (int64_t to = from; to <= 300; to += 7)
            n_wrong += !grid_agrees(from, to);
    is_int(n_wrong, 0, "a grid has the round budgets between its ends, and both ends");
    ok(has_even_mib(), "  all even MiB up to 64 among them");
    vbs_budget_list_sort(&budgets);
    is_int(budgets.n, 0, "no budgets are sorted to none");
    ok(vbs_budget_list_add(NULL, &budgets, 5) == VBS_OK &&
           vbs_budget_list_add(NULL, &budgets, 3) == VBS_OK &&
           vbs_budget_list_add(NULL, &budgets, 5) == VBS_OK,
       "budgets are added");
    vbs_budget_list_sort(&budgets);
    ok(budgets.n == 2 && budgets.bytes[0] == 3 && budgets.bytes[1] == 5, "  and sorted, each once");
    vbs_budget_list_clear(&budgets);
}

int main(void)
{
    test_slices();
    test_many_slices();
    test_rows();
    test_budgets();
    return done_testing();
}
