#include "coded/sort.h"

#include <string.h>

#define DIGIT_BITS 11
#define N_DIGITS   (1 << DIGIT_BITS)
#define N_PASSES   3

/* Gives the bits of a float as a number that grows with it: of the negative ones all are turned
 * over, of the others the sign. */
static uint32_t key_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31);
}

static unsigned digit_of(float value, int pass)
{
    return key_of(value) >> (pass * DIGIT_BITS) & (N_DIGITS - 1);
}

void vbs_sort_floats(float *values, int64_t n, float *room)
{
    float *from = values, *to = room;

    for (int pass = 0; pass < N_PASSES; pass++) {
        int64_t places[N_DIGITS] = {0}, at = 0;
        float *swap = from;

        for (int64_t i = 0; i < n; i++)
            places[digit_of(from[i], pass)]++;
        for (int d = 0; d < N_DIGITS; d++) {
            int64_t count = places[d];

            places[d] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; i++)
            to[places[digit_of(from[i], pass)]++] = from[i];
        from = to;
        to = swap;
    }
    memcpy(values, from, (size_t)n * sizeof *values); /* an odd number of passes */
}
