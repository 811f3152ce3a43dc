/* Operators on values of 8 bits, by tables of what becomes of each whole number. */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_TABLE_H
#define VBS_BACKEND_ONEDNN_KERNELS_TABLE_H

#include "backend/onednn/kernels/kernel.h"

#define OD_TABLE 256

/* What becomes of a whole number: it is decoded, goes through operators of b's layer, its own first
 * where own is set, then the fused ones from number first on up to number end, and is encoded. */
struct od_table_request {
    struct vbs_encoding from, to;
    bool own;
    int first, end;
};

/* Gives whether the operators of a table work value by value. */
bool od_table_possible(const struct od_build *b, const struct od_table_request *request);

/* Makes the table; null: every whole number stays what it is. It lives as long as the session.
 * Where value is not null, *entry becomes the whole number of this float. */
enum vbs_status od_table_make(struct od_build *b, const struct od_table_request *request,
                              const float *value, const uint8_t **table,
                              uint8_t *entry) VBS_MUST_CHECK;

/* How a kernel of 8 bits divides the fused operators of b's layer: it does those up to end itself,
 * rounds to an encoding, and what is left comes behind, in place on the output. */
struct od_tail {
    struct vbs_encoding encoding;
    int end;
    bool lines;                   /* what is left multiplies and adds by channel (line.h) */
    struct od_table_request left; /* what is left; its end is 0: nothing */
    const uint8_t *table;         /* does it; null: the numbers stay what they are, or */
    const struct od_line_plan *line;
};

/* Finds the first fused operators, from number first on, that only round; without any, the kernel
 * does all of them. The output has 8 bits. od_tail_init also makes what does the others. */
void od_tail_find(const struct od_build *b, int first, struct od_tail *tail);
enum vbs_status od_tail_init(struct od_build *b, int first, struct od_tail *tail) VBS_MUST_CHECK;

/* Appends the step of a tail, if it has one. */
enum vbs_status od_tail_step(struct od_build *b, const struct od_tail *tail) VBS_MUST_CHECK;

/* Appends a step that looks n whole numbers up in a table, or (null) copies them, from one memory
 * object to another, which may be the same. */
enum vbs_status od_table_step(struct od_build *b, const uint8_t *table, int64_t n,
                              dnnl_memory_t from, dnnl_memory_t to) VBS_MUST_CHECK;

#endif
