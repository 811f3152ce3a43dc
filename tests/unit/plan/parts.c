/*
 * What planners with weights inside the budget are made of: room in slots against a plain array,
 * parts against loops over channels, grids of budgets.
 */
#include "cases/random_profile.h"
#include "support/tap.h"

#include "plan/weights/trial.h"
#include "plan/weights/range_min_tree.h"

#include <stdlib.h>

#define SEED 4712

/* ---- Room ---- */

static int64_t least_of(const int64_t *bytes, int first, int last)
{
    int64_t least = INT64_MAX;

    for (int i = first; i <= last; i++)
        least = bytes[i] < least ? bytes[i] : least;
    return least;
}

static bool room_agrees(gsl_rng *rng)
{
    int64_t bytes[40], read[40];
    int n = random_int(rng, 1, 40);
    struct vbs_range_min_tree room;
    bool agrees = true;

    for (int i = 0; i < n; i++)
        bytes[i] = random_int(rng, -5, 100);
    if (vbs_range_min_tree_init(NULL, &room, bytes, n) != VBS_OK)
        return false;
    for (int t = 0; agrees && t < 60; t++) {
        int first = random_int(rng, 0, n - 1), last = random_int(rng, first - 1, n - 1);
        int64_t taken = random_int(rng, 0, 20);

        agrees = vbs_range_min_tree_least(&room, first, last) == least_of(bytes, first, last);
        vbs_range_min_tree_subtract(&room, first, last, taken);
        for (int i = first; i <= last; i++)
            bytes[i] -= taken;
    }
    vbs_range_min_tree_values(&room, read);
    agrees = agrees && memcmp(read, bytes, (size_t)n * sizeof *bytes) == 0;
    vbs_range_min_tree_clear(&room);
    return agrees;
}

static void test_room(gsl_rng *rng)
{
    int n_wrong = 0;

    for (int i = 0; i < 300; i++)
        n_wrong += !room_agrees(rng);
    is_int(n_wrong, 0, "room in slots is what a plain array says, spans of none too");
}

/* ---- Parts ---- */

/* Bytes before channel c of channels that have weight_bytes together, as schedule.h divides. */
static int64_t bytes_before(int64_t weight_bytes, int64_t channels, int64_t c)
{
    int64_t bytes = 0;

    while ((bytes + 1) * channels <= weight_bytes * c)
        bytes++;
    return bytes;
}

/* The bytes first..end-1 of a part, counted up. */
static void count_part(int channels, int64_t weight_bytes, int part, int parts, int64_t *first,
                       int64_t *end)
{
    int64_t units = channels > 0 ? channels : weight_bytes, from = 0, to = 0;

    while ((from + 1) * parts <= (part - 1) * units)
        from++;
    while ((to + 1) * parts <= part * units)
        to++;
    *first = channels > 0 ? bytes_before(weight_bytes, channels, from) : from;
    *end = channels > 0 ? bytes_before(weight_bytes, channels, to) : to;
}

static int64_t count_largest(int channels, int64_t weight_bytes, int parts)
{
    int64_t largest = 0, first, end;

    for (int p = 1; p <= parts; p++) {
        count_part(channels, weight_bytes, p, parts, &first, &end);
        largest = end - first > largest ? end - first : largest;
    }
    return largest;
}

struct wrong {
    int bytes, empty, largest, not_exact, too_large, not_fewest, us;
};

static void check_parts(const struct vbs_profile_layer *layer, int64_t weight_bytes, int parts,
                        struct wrong *wrong)
{
    int64_t largest = count_largest(layer->channels, weight_bytes, parts), first, end, from, to;
    const struct vbs_profile_row row = {.time_us = 7};
    double us = 0;

    for (int p = 1; p <= parts; p++) {
        count_part(layer->channels, weight_bytes, p, parts, &first, &end);
        vbs_slice_bytes(layer, weight_bytes, p, parts, &from, &to);
        wrong->bytes += from != first || to != end;
        wrong->empty += from == to && weight_bytes > 0;
        us += vbs_slice_us(layer, &row, p, parts);
    }
    wrong->us += fabs(us - row.time_us) > 1e-9;
    wrong->largest += vbs_slice_largest(layer, weight_bytes, parts) < largest;
    wrong->not_exact += (layer->channels == 0 || weight_bytes % layer->channels == 0) &&
                        vbs_slice_largest(layer, weight_bytes, parts) > largest;
}

static void check_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                         int64_t room_bytes, struct wrong *wrong)
{
    int limit = vbs_slice_limit(layer, weight_bytes), fewest = 1;
    int parts = vbs_slices_within(layer, weight_bytes, room_bytes);

    while (fewest <= limit && vbs_slice_largest(layer, weight_bytes, fewest) > room_bytes)
        fewest++;
    wrong->not_fewest += parts != (fewest <= limit ? fewest : 0);
    wrong->too_large +=
        parts > 0 && count_largest(layer->channels, weight_bytes, parts) > room_bytes;
}

static void test_parts(void)
{
    struct wrong wrong = {0};

    for (int channels = 0; channels <= 13; channels++)
        for (int64_t weight_bytes = 0; weight_bytes <= 40; weight_bytes++) {
            const struct vbs_profile_layer layer = {.channels = channels,
                                                    .weight_bytes = weight_bytes};
            int limit = vbs_slice_limit(&layer, weight_bytes);

            for (int parts = 1; parts <= limit; parts++)
                check_parts(&layer, weight_bytes, parts, &wrong);
            for (int64_t room = 0; room <= weight_bytes + 1; room++)
                check_within(&layer, weight_bytes, room, &wrong);
        }
    is_int(wrong.bytes, 0, "parts are the bytes that schedule.h says");
    is_int(wrong.empty, 0, "  of as many parts as there can be none is empty");
    is_int(wrong.us, 0, "  their times add up to the whole");
    is_int(wrong.largest, 0, "no part is larger than the largest");
    is_int(wrong.not_exact, 0, "  which is exact where channels are alike");
    is_int(wrong.too_large, 0, "parts within some room fit it");
    is_int(wrong.not_fewest, 0, "  and fewer do not");
}

static void test_many_parts(void)
{
    const struct vbs_profile_layer fc = {.channels = 4096}, bytes = {.channels = 0};

    is_int(vbs_slice_limit(&fc, 411041792), 4096, "each channel of fc6 can be a part");
    is_int(vbs_slices_within(&fc, 411041792, 12 << 20), 33, "  12 MiB take 33 of them");
    is_int(vbs_slice_limit(&bytes, INT64_MAX / 2), 4096, "there are never more than 4096");
    is_int(vbs_slices_within(&bytes, INT64_MAX / 2, 1000), 0, "  also where that is too few");
}

/* What rows say of their parts goes before what their weights allow. */
static void test_rows(void)
{
    const struct vbs_profile_layer layer = {.channels = 32, .weight_bytes = 3200};
    const struct vbs_profile_row any = {.weight_bytes = 3200}, wide = {.weight_bytes = 12800},
                                 never = {.weight_bytes = 3200, .n_slices = 1},
                                 eight = {.weight_bytes = 12800, .n_slices = 8};

    is_int(vbs_row_most_slices(&layer, &any), 32,
           "a row that divides has parts of single channels");
    is_int(vbs_row_most_slices(&layer, &wide), 1, "  one that packs to more has none");
    is_int(vbs_row_most_slices(&layer, &never), 1, "  nor one that says so");
    is_int(vbs_row_most_slices(&layer, &eight), 8, "  or as many as it was measured in");
    ok(vbs_row_slices_within(&layer, &any, 3200) == 1 &&
           vbs_row_slices_within(&layer, &any, 3199) == 2 &&
           vbs_row_slices_within(&layer, &any, 99) == 0,
       "as few parts as fit");
    ok(vbs_row_slices_within(&layer, &wide, 12800) == 1 &&
           vbs_row_slices_within(&layer, &wide, 12799) == 0 &&
           vbs_row_slices_within(&layer, &never, 3199) == 0,
       "  the whole or nothing");
    ok(vbs_row_slices_within(&layer, &eight, 12800) == 1 &&
           vbs_row_slices_within(&layer, &eight, 12799) == 8 &&
           vbs_row_slices_within(&layer, &eight, 1600) == 8 &&
           vbs_row_slices_within(&layer, &eight, 1599) == 0,
       "  the whole, the parts it was measured in, or nothing");
}

/* ---- Budgets ---- */

/* True of multiples of a 16th of the power of two at or below them. */
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

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    test_room(rng);
    test_parts();
    test_many_parts();
    test_rows();
    test_budgets();
    gsl_rng_free(rng);
    return done_testing();
}
