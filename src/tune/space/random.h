/* Numbers that look random and follow from a key alone. Internal to the room. */
#ifndef VBS_TUNE_SPACE_RANDOM_H
#define VBS_TUNE_SPACE_RANDOM_H

#include "base/random.h"

#include <math.h>
#include <stdint.h>

/* A sequence of random numbers: splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014). */
struct tune_random {
    uint64_t state;
};

/* Gives the next 64 random bits. */
static inline uint64_t vbs_tune_bits(struct tune_random *random)
{
    return vbs_random_next(&random->state);
}

/* What sequences are for: those of one seed have nothing in common. */
enum tune_stream {
    TUNE_POINTS,
    TUNE_SHIFT,
    TUNE_CANDIDATES,
    TUNE_CLIMB,
    TUNE_GRID,
    TUNE_SUBSET,
    TUNE_WEIGHTS,
    TUNE_FOREST
};

/* Gives sequence `index` of a seed for one purpose. */
static inline struct tune_random vbs_tune_random(uint64_t seed, enum tune_stream stream,
                                                 uint64_t index)
{
    struct tune_random random = {seed};

    random.state = vbs_tune_bits(&random) ^ (uint64_t)stream;
    random.state = vbs_tune_bits(&random) ^ index;
    random.state = vbs_tune_bits(&random);
    return random;
}

/* Gives a number within 0 <= u < 1. */
static inline double vbs_tune_uniform(struct tune_random *random)
{
    return (double)(vbs_tune_bits(random) >> 11) * 0x1p-53;
}

/* Gives a whole number within 0..limit - 1, for limit within 1..2^62. */
static inline int64_t vbs_tune_below(struct tune_random *random, int64_t limit)
{
    return (int64_t)((unsigned __int128)vbs_tune_bits(random) * (uint64_t)limit >> 64);
}

/* Gives a normal number with mean 0 and deviation 1 (Box and Muller). */
static inline double vbs_tune_normal(struct tune_random *random)
{
    double u = 1 - vbs_tune_uniform(random);

    return sqrt(-2 * log(u)) * cos(2 * M_PI * vbs_tune_uniform(random));
}

#endif
