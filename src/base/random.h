/* Random bits by splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * 2014). Internal to the library. */
#ifndef VBS_BASE_RANDOM_H
#define VBS_BASE_RANDOM_H

#include <stdint.h>

#define VBS_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15) /* between two states */

/* Spreads a word over all bits: the finaliser of splitmix64, which is one to one. */
static inline uint64_t vbs_spread(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

/* Gives output number index, from 0, of the sequence that begins at key; it may itself be a key. */
static inline uint64_t vbs_random(uint64_t key, uint64_t index)
{
    return vbs_spread(key + (index + 1) * VBS_RANDOM_STEP);
}

/* Gives the next output of a sequence. */
static inline uint64_t vbs_random_next(uint64_t *state)
{
    *state += VBS_RANDOM_STEP;
    return vbs_spread(*state);
}

#endif
