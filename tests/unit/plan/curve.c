/*
 * Curves and envelopes against their definition: a table of the least time at every number of
 * bytes. Arguments: rounds, seed.
 */
#include "plan/dp/curve.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include <stdlib.h>

#define SEED     1202
#define N_ROUNDS 3000
#define MAX_OPEN 8  /* offers to one envelope */
#define MOST     64 /* bytes are below this; shifts may lead beyond */
#define NEVER    INT64_MAX

/* The least ticks at each number of bytes, by table. */
struct table {
    int64_t ticks[MOST];
};

static struct table table_of(const struct vbs_curve *curve, int64_t by_bytes)
{
    struct table table;

    for (int m = 0; m < MOST; m++) {
        table.ticks[m] = NEVER;
        for (int p = 0; p < curve->n; p++)
            if (curve->bytes[p] + by_bytes <= m)
                table.ticks[m] = curve->ticks[p];
    }
    return table;
}

/* Gives the cut of the point that holds at some memory; 0 where none does. */
static int cut_at(const struct vbs_curve *curve, int64_t bytes)
{
    int cut = 0;

    for (int p = 0; p < curve->n; p++)
        if (curve->bytes[p] <= bytes)
            cut = curve->cut[p];
    return cut;
}

/* Adds two curves by table. */
static struct table sum_of(const struct vbs_moved *first, enum vbs_points which,
                           const struct vbs_moved *second)
{
    struct table a = table_of(first->curve, first->by_bytes);
    struct table b = table_of(second->curve, second->by_bytes), sum;

    for (int m = 0; m < MOST; m++) {
        bool negative = cut_at(first->curve, m - first->by_bytes) < 0;
        bool counts = which == VBS_POINTS_ALL || negative == (which == VBS_POINTS_NEGATIVE_CUT);

        sum.ticks[m] = NEVER;
        if (counts && a.ticks[m] < NEVER && b.ticks[m] < NEVER)
            sum.ticks[m] = a.ticks[m] + b.ticks[m];
    }
    return sum;
}

/* Offers to one envelope, and their results. Cuts are 1.., every other one negative. */
struct trial {
    struct vbs_envelope envelope;
    struct table offers[MAX_OPEN];
    int n_offers;
    bool is_right;
};

static int32_t cut_of(int offer)
{
    return offer % 2 ? -offer - 1 : offer + 1;
}

/* Gives the least of all offers so far. */
static struct table least_of(const struct trial *trial)
{
    struct table least;

    for (int m = 0; m < MOST; m++) {
        least.ticks[m] = NEVER;
        for (int o = 0; o < trial->n_offers; o++)
            for (int i = 0; i <= m; i++) /* what fits into less fits here */
                if (trial->offers[o].ticks[i] < least.ticks[m])
                    least.ticks[m] = trial->offers[o].ticks[i];
    }
    return least;
}

static bool is_sound(const struct vbs_curve *curve)
{
    int n_runs = 0;

    for (int p = 0; p < curve->n; p++) {
        if (p > 0 &&
            (curve->bytes[p] <= curve->bytes[p - 1] || curve->ticks[p] >= curve->ticks[p - 1]))
            return false;
        if (p > 0 && (curve->cut[p] < 0) == (curve->cut[p - 1] < 0))
            continue;
        if (n_runs == curve->n_runs || curve->runs[n_runs++] != p)
            return false;
    }
    return n_runs == curve->n_runs;
}

/* Gives whether the curve of the envelope is the table, and each point has the cut of an offer that
 * gives it. */
static bool is_least(const struct trial *trial, const struct vbs_curve *curve)
{
    struct table least = least_of(trial), made = table_of(curve, 0);

    for (int m = 0; m < MOST; m++) {
        int at = vbs_curve_at(curve, m);

        if (made.ticks[m] != least.ticks[m] || (at < 0) != (least.ticks[m] == NEVER) ||
            (at >= 0 && curve->ticks[at] != least.ticks[m]))
            return false;
    }
    for (int p = 0; p < curve->n; p++) {
        int offer = abs(curve->cut[p]) - 1;

        if (offer < 0 || offer >= trial->n_offers || curve->cut[p] != cut_of(offer) ||
            (curve->bytes[p] < MOST &&
             trial->offers[offer].ticks[curve->bytes[p]] != curve->ticks[p]))
            return false;
    }
    return true;
}

static struct vbs_curve curve_of(struct trial *trial, struct vbs_arena *arena)
{
    struct vbs_curve curve = {0};

    if (vbs_envelope_curve(NULL, &trial->envelope, arena, &curve) != VBS_OK)
        trial->is_right = false;
    return curve;
}

static void offer_point(gsl_rng *rng, struct trial *trial)
{
    int bytes = random_int(rng, 0, MOST - 1), ticks = random_int(rng, 0, 30);
    int offer = trial->n_offers++;

    for (int m = 0; m < MOST; m++)
        trial->offers[offer].ticks[m] = m < bytes ? NEVER : ticks;
    if (vbs_envelope_offer(NULL, &trial->envelope, bytes, ticks, cut_of(offer)) != VBS_OK)
        trial->is_right = false;
}

static void offer_sum(gsl_rng *rng, struct trial *trial, const struct vbs_curve *curves, int n)
{
    struct vbs_moved first = {&curves[random_int(rng, 0, n - 1)], random_int(rng, 0, 9)};
    struct vbs_moved second = {&curves[random_int(rng, 0, n - 1)], random_int(rng, 0, 9)};
    enum vbs_points which = (enum vbs_points)random_int(rng, 0, 2);
    int offer = trial->n_offers++;

    trial->offers[offer] = sum_of(&first, which, &second);
    if (vbs_envelope_offer_sum(NULL, &trial->envelope, first, which, second, cut_of(offer)) !=
        VBS_OK)
        trial->is_right = false;
}

#define N_CURVES 6

/* Tests curves of points first, and then of sums of curves. */
static bool test_round(gsl_rng *rng, struct vbs_envelope *envelope)
{
    struct vbs_curve curves[N_CURVES] = {VBS_CURVE_ZERO, {0}}; /* the second is feasible nowhere */
    struct vbs_arena arena = {0};
    bool is_right = true;

    for (int i = 2; is_right && i < N_CURVES; i++) {
        struct trial trial = {.envelope = *envelope, .is_right = true};
        int n = random_int(rng, 1, MAX_OPEN);

        vbs_envelope_reset(&trial.envelope);
        for (int o = 0; o < n; o++) {
            if (i < 4 || random_once_in(rng, 4))
                offer_point(rng, &trial);
            else
                offer_sum(rng, &trial, curves, i);
        }
        curves[i] = curve_of(&trial, &arena);
        is_right = trial.is_right && is_sound(&curves[i]) && is_least(&trial, &curves[i]);
        *envelope = trial.envelope;
    }
    vbs_arena_clear(&arena);
    return is_right;
}

static void test_random(int n_rounds, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct vbs_envelope envelope = {0};
    int n_right = 0;

    gsl_rng_set(rng, seed);
    for (int i = 0; i < n_rounds; i++)
        n_right += test_round(rng, &envelope);
    ok(n_right == n_rounds,
       "envelopes of points and of sums are the least at every byte (%d of %d)", n_right, n_rounds);
    vbs_envelope_clear(&envelope);
    gsl_rng_free(rng);
}

/* Makes a curve that was computed by hand. */
static struct vbs_curve example(struct vbs_envelope *envelope, struct vbs_arena *arena,
                                const int (*points)[3], int n)
{
    struct vbs_curve curve = {0};

    vbs_envelope_reset(envelope);
    for (int p = 0; p < n; p++)
        if (vbs_envelope_offer(NULL, envelope, points[p][0], points[p][1], points[p][2]) != VBS_OK)
            return curve;
    if (vbs_envelope_curve(NULL, envelope, arena, &curve) != VBS_OK)
        curve.n = 0;
    return curve;
}

static bool is_curve(const struct vbs_curve *curve, const int (*points)[3], int n)
{
    bool same = curve->n == n;

    for (int p = 0; same && p < n; p++)
        same = curve->bytes[p] == points[p][0] && curve->ticks[p] == points[p][1] &&
               curve->cut[p] == points[p][2];
    return same;
}

static void test_examples(void)
{
    static const int A[][3] = {{3, 10, -1}, {7, 4, 1}}, B[][3] = {{1, 5, 0}, {9, 1, 0}};
    static const int SUM[][3] = {{5, 15, 2}, {7, 9, 2}, {13, 5, 2}};
    static const int SPLITS[][3] = {{5, 15, 2}}, OTHERS[][3] = {{7, 9, 2}, {13, 5, 2}};
    static const int TIED[][3] = {{4, 9, 1}, {4, 9, 2}, {5, 9, 3}}, KEPT[][3] = {{4, 9, 1}};
    static const int EARLIER[][3] = {{6, 9, 1}, {4, 9, 2}}, LESS[][3] = {{4, 9, 2}};
    struct vbs_envelope envelope = {0};
    struct vbs_arena arena = {0};
    struct vbs_curve a = example(&envelope, &arena, A, 2), b = example(&envelope, &arena, B, 2);
    struct vbs_curve made = {0};
    static const struct {
        const char *name;
        enum vbs_points which;
        const int (*points)[3];
        int n;
    } CASES[] = {{"a sum has the steps of both, at the right memory", VBS_POINTS_ALL, SUM, 3},
                 {"of points with a negative cut", VBS_POINTS_NEGATIVE_CUT, SPLITS, 1},
                 {"of the other points", VBS_POINTS_OTHER_CUT, OTHERS, 2}};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        vbs_envelope_reset(&envelope);
        ok(vbs_envelope_offer_sum(NULL, &envelope, (struct vbs_moved){&a, 0}, CASES[i].which,
                                  (struct vbs_moved){&b, 4}, 2) == VBS_OK &&
               vbs_envelope_curve(NULL, &envelope, &arena, &made) == VBS_OK &&
               is_curve(&made, CASES[i].points, CASES[i].n),
           "%s", CASES[i].name);
    }
    made = example(&envelope, &arena, TIED, 3);
    ok(is_curve(&made, KEPT, 1), "of equal points the first stays");
    made = example(&envelope, &arena, EARLIER, 2);
    ok(is_curve(&made, LESS, 1), "a point of equal time and less memory takes the other's place");
    ok(vbs_curve_at(&a, 2) == -1 && vbs_curve_at(&a, 3) == 0 && vbs_curve_at(&a, 6) == 0 &&
           vbs_curve_at(&a, 7) == 1 && vbs_curve_at(&a, INT64_MAX) == 1,
       "a point holds from its bytes on");
    vbs_envelope_clear(&envelope);
    vbs_arena_clear(&arena);
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? atoi(argv[1]) : N_ROUNDS;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : SEED;

    test_examples();
    test_random(n_rounds, seed);
    return done_testing();
}
