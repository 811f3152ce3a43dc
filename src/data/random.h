/* Numbers that look random and depend on whole numbers alone. Internal to the room. */
#ifndef VBS_DATA_RANDOM_H
#define VBS_DATA_RANDOM_H

#include <stdint.h>

/* Gives number `index` of the sequence of key: the output of splitmix64 (Steele, Lea, Flood: Fast
 * Splittable Pseudorandom Number Generators). It may itself be a key. */
static inline uint64_t vbs_data_random(uint64_t key, uint64_t index)
{
    uint64_t z = key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Gives a number within 0..limit - 1 from a random one. limit: 1..INT32_MAX. */
static inline int vbs_data_below(uint64_t random, int limit)
{
    return (int)((random >> 32) * (uint64_t)limit >> 32);
}

#endif
