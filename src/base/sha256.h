/* The SHA-256 hash of bytes that come in pieces. Internal to the library. */
#ifndef VBS_BASE_SHA256_H
#define VBS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define VBS_SHA256_BYTES 32

struct vbs_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;        /* taken in so far */
    unsigned char block[64]; /* of which the first n_bytes % 64 wait for the rest */
};

void vbs_sha256_begin(struct vbs_sha256 *hash);
void vbs_sha256_add(struct vbs_sha256 *hash, const void *bytes, size_t length);

/* The hash of all bytes; the structure cannot be used further without another begin. */
void vbs_sha256_end(struct vbs_sha256 *hash, unsigned char digest[VBS_SHA256_BYTES]);

#endif
