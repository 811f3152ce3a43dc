/* Streams of bits, the lowest bit of a byte first, and numbers of bytes. Internal to the library.
 */
#ifndef VBS_CODED_BITS_H
#define VBS_CODED_BITS_H

#include <stdint.h>
#include <string.h>

#define VBS_BITS_SLACK 8 /* readable bytes behind a stream that vbs_bits_at reads */

/* Gives at least 57 bits from bit number `at` on. */
static inline uint64_t vbs_bits_at(const uint8_t *bytes, uint64_t at)
{
    uint64_t word;

    memcpy(&word, bytes + (at >> 3), sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word >> (at & 7);
}

/* A stream that is written; the bytes begin as zeros. */
struct vbs_bit_writer {
    uint8_t *bytes;
    uint64_t at; /* bits so far */
};

/* Writes the lowest n_bits (at most 32) of value. */
static inline void vbs_bits_put(struct vbs_bit_writer *writer, uint32_t value, int n_bits)
{
    for (int left = n_bits; left > 0;) {
        int shift = (int)(writer->at & 7), taken = 8 - shift < left ? 8 - shift : left;

        writer->bytes[writer->at >> 3] |=
            (uint8_t)((value & ((UINT32_C(1) << taken) - 1)) << shift);
        value >>= taken;
        writer->at += (uint64_t)taken;
        left -= taken;
    }
}

/* Writes a number of `size` bytes (at most 4), the lowest byte first. */
static inline void vbs_number_put(uint8_t *bytes, int size, uint32_t number)
{
    for (int i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
}

/* Reads it. */
static inline uint32_t vbs_number_get(const uint8_t *bytes, int size)
{
    uint32_t number = 0;

    for (int i = 0; i < size; i++)
        number |= (uint32_t)bytes[i] << (8 * i);
    return number;
}

#endif
