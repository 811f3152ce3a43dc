/*
 * SHA-256 as FIPS 180-4, sections 4 to 6, defines it. Its result does not depend on the byte order
 * of the machine.
 */
#include "base/sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, int n)
{
    return (word >> n) | (word << (32 - n));
}

/* The letters a to h are v[0] to v[7]. */
static void take_block(struct vbs_sha256 *hash, const unsigned char *block)
{
    uint32_t w[64], a, b, c, d, e, f, g, h;

    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | (uint32_t)block[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);

        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    a = hash->state[0], b = hash->state[1], c = hash->state[2], d = hash->state[3];
    e = hash->state[4], f = hash->state[5], g = hash->state[6], h = hash->state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
        uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));

        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    hash->state[0] += a, hash->state[1] += b, hash->state[2] += c, hash->state[3] += d;
    hash->state[4] += e, hash->state[5] += f, hash->state[6] += g, hash->state[7] += h;
}

void vbs_sha256_begin(struct vbs_sha256 *hash)
{
    *hash = (struct vbs_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void vbs_sha256_add(struct vbs_sha256 *hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    size_t filled = (size_t)(hash->n_bytes % sizeof hash->block);

    hash->n_bytes += length;
    while (length > 0) {
        size_t n = sizeof hash->block - filled < length ? sizeof hash->block - filled : length;

        memcpy(hash->block + filled, at, n);
        at += n;
        length -= n;
        filled += n;
        if (filled == sizeof hash->block) {
            take_block(hash, hash->block);
            filled = 0;
        }
    }
}

void vbs_sha256_end(struct vbs_sha256 *hash, unsigned char digest[VBS_SHA256_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t n_bits = 8 * hash->n_bytes;
    size_t filled = (size_t)(hash->n_bytes % sizeof hash->block);
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    vbs_sha256_add(hash, padding, filled < 56 ? 56 - filled : 120 - filled);
    vbs_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < VBS_SHA256_BYTES; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
