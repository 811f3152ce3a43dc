/*
 * The SHA-256 hash of bytes that are given in several calls, by Nettle, which uses the processor's
 * instructions for it. Internal to the library.
 */
#ifndef VBS_BASE_SHA256_H
#define VBS_BASE_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdio.h>

#define VBS_SHA256_BYTES SHA256_DIGEST_SIZE

struct vbs_sha256 {
    struct sha256_ctx state;
};

static inline void vbs_sha256_begin(struct vbs_sha256 *hash)
{
    sha256_init(&hash->state);
}

static inline void vbs_sha256_add(struct vbs_sha256 *hash, const void *bytes, size_t length)
{
    sha256_update(&hash->state, length, bytes);
}

/* Gives the hash of all bytes; the struct begins anew then. */
static inline void vbs_sha256_end(struct vbs_sha256 *hash, unsigned char digest[VBS_SHA256_BYTES])
{
    sha256_digest(&hash->state, VBS_SHA256_BYTES, digest);
}

/* Does the same, and writes as many of the first bytes as hexadecimal digits as text has room for.
 */
static inline void vbs_sha256_end_text(struct vbs_sha256 *hash, char *text, size_t size)
{
    unsigned char digest[VBS_SHA256_BYTES];

    vbs_sha256_end(hash, digest);
    for (size_t i = 0; i < VBS_SHA256_BYTES && 2 * i + 2 < size; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

#endif
