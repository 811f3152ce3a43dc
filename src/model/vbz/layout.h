/*
 * Where things lie in a .vbz file. Internal to the sub-room.
 *
 * The file is a header, a directory, and sections, which begin at multiples of 64 bytes with zeros
 * between: the network; where it came from ONNX, the bytes of its files; and the coded weights of
 * each layer that has some, ascending by layer. All numbers are little-endian.
 */
#ifndef VBS_MODEL_VBZ_LAYOUT_H
#define VBS_MODEL_VBZ_LAYOUT_H

#include "base/sha256.h"
#include "model/network/network.h"

#define VBS_VBZ_MAGIC   "\211VBZ\r\n\032\n"
#define VBS_VBZ_VERSION 1
#define VBS_VBZ_ALIGN   64

struct vbs_vbz_header {
    unsigned char magic[8];
    uint32_t version, n_sections;
    uint64_t n_bytes; /* of the file */
    uint64_t reserved;
    unsigned char digest[VBS_SHA256_BYTES]; /* of what stands before it, and of the directory */
};

enum vbs_vbz_kind { VBS_VBZ_NETWORK = 1, VBS_VBZ_FILES, VBS_VBZ_WEIGHTS };

#define VBS_VBZ_ANY_FORM 1 /* a flag of coded weights */

/* A line of the directory. */
struct vbs_vbz_section {
    uint32_t kind, layer; /* layer 0: of the network */
    uint64_t offset, n_bytes;
    uint32_t flags, reserved;
    unsigned char digest[VBS_SHA256_BYTES]; /* of the section */
};

_Static_assert(sizeof(struct vbs_vbz_header) == 64 && sizeof(struct vbs_vbz_section) == 64,
               "the layout of files");

/* The section of the network: this head, then a model text, or what struct vbs_vbz_images begins.
 */
struct vbs_vbz_network {
    uint32_t origin; /* enum vbs_vbz_origin */
    uint32_t n_dims; /* of the input that replaces the model's own; 0: none does */
    int64_t dim[VBS_MAX_DIMS];
};

enum vbs_vbz_origin { VBS_VBZ_TEXT = 1, VBS_VBZ_ONNX };

/* Then, for each file, the number of its bytes and of its extents, the offsets and lengths of
 * these, each in 64 bits; then, for each name, its file and its length in 32 bits each, and the
 * name. The bytes of all extents follow one another in the section of files. */
struct vbs_vbz_images {
    uint32_t n_files, n_names;
};

#define VBS_VBZ_MAX_FILE                                                                           \
    ((int64_t)1 << 60) /* bytes of a file of ONNX, before bytes are left out                       \
                        */

/* Gives the next multiple of VBS_VBZ_ALIGN. */
static inline uint64_t vbs_vbz_aligned(uint64_t offset)
{
    return (offset + VBS_VBZ_ALIGN - 1) / VBS_VBZ_ALIGN * VBS_VBZ_ALIGN;
}

/* Loads the open file fd, which the caller closes; path is its name in messages, and names the
 * network. */
enum vbs_status vbs_vbz_load_open(struct vbs_ctx *ctx, int fd, const char *path,
                                  const struct vbs_input_choice *choices, int n_choices,
                                  struct vbs_network **network) VBS_MUST_CHECK;

#endif
