/* Arithmetic that notices an overflow, divisors, floats of 16 bits, and a quantile. Internal to the
 * library and the program. */
#ifndef VBS_BASE_ARITH_H
#define VBS_BASE_ARITH_H

#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Adds: *result = a + b; false, with *result unchanged, where the sum does not fit. */
static inline bool vbs_add(int64_t a, int64_t b, int64_t *result)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *result = sum;
    return true;
}

/* Multiplies: *result = a * b; false, with *result unchanged, where the product does not fit. */
static inline bool vbs_mul(int64_t a, int64_t b, int64_t *result)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *result = product;
    return true;
}

/* Mixes a word into a hash: FNV-1a over words, each of which is first spread over all bits, so
 * that small numbers in different places do not cancel. */
static inline uint64_t vbs_mix(uint64_t hash, uint64_t word)
{
    return (hash ^ vbs_random(word, 0)) * UINT64_C(0x100000001b3);
}

#define VBS_MIX_FIRST UINT64_C(0xcbf29ce484222325) /* the hash of no words */

/* Gives the greatest common divisor of two numbers; of 0 and b it is b. */
static inline int64_t vbs_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Gives the value of a float of 16 bits (IEEE 754 binary16). */
static inline double vbs_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? (double)NAN : HUGE_VAL)
                                    : ldexp(1024 + fraction, exponent - 25);

    return bits >> 15 ? -value : value;
}

/* Half of a 95% interval of a normal distribution, in standard deviations: its 97.5% quantile. */
#define VBS_NORMAL_95 1.959963984540054

#endif
