/* Many floats are sorted as qsort sorts them. */
#include "coded/sort.h"

#include "support/tap.h"

#include <stdlib.h>

#define MOST 5000

static int compare(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;

    return (left > right) - (left < right);
}

static uint32_t next(uint32_t *state)
{
    return *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
}

/* Makes values of all magnitudes and signs, with repetitions. */
static void fill(float *values, int n, uint32_t seed)
{
    for (int i = 0; i < n; i++) {
        uint32_t bits = next(&seed), kind = next(&seed) >> 28;

        memcpy(&values[i], &bits, sizeof bits);
        if (!isfinite(values[i]) || kind < 2)
            values[i] = (float)(kind * 3) - 20;
        if (kind == 2 && i > 0)
            values[i] = values[i - 1];
    }
}

int main(void)
{
    static const int SIZES[] = {1, 2, 3, 100, 2048, MOST};
    static float sorted[MOST], expected[MOST], room[MOST];

    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        int n = SIZES[i];

        fill(sorted, n, (uint32_t)i + 7);
        memcpy(expected, sorted, sizeof expected);
        qsort(expected, (size_t)n, sizeof *expected, compare);
        vbs_sort_floats(sorted, n, room);
        ok(memcmp(sorted, expected, (size_t)n * sizeof *sorted) == 0, "%d floats are sorted", n);
    }
    fill(sorted, 100, 1);
    for (int i = 0; i < 100; i++)
        sorted[i] = i % 3 == 0 ? INFINITY : i % 3 == 1 ? -0.0f : -INFINITY;
    vbs_sort_floats(sorted, 100, room);
    ok(sorted[0] == -INFINITY && sorted[50] == 0 && sorted[99] == INFINITY, "and infinite ones");
    return done_testing();
}
