/* The SHA-256 hash of bytes that are given in several calls. Internal to the library. */
#ifndef VBS_BASE_SHA256_H
#define VBS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define VBS_SHA256_BYTES 32

struct vbs_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;        /* bytes given so far */
    unsigned char block[64]; /* the first n_bytes % 64 bytes are not hashed yet */
};

void vbs_sha256_begin(struct vbs_sha256 *hash);
void vbs_sha256_add(struct vbs_sha256 *hash, const void *bytes, size_t length);

/* Gives the hash of all bytes; the struct cannot be used again without another begin. */
void vbs_sha256_end(struct vbs_sha256 *hash, unsigned char digest[VBS_SHA256_BYTES]);

#endif
