/* Operators on values of 8 bits that multiply and add, by channel or by a constant operand. */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_LINE_H
#define VBS_BACKEND_ONEDNN_KERNELS_LINE_H

#include "backend/onednn/kernels/table.h"

/* A factor and a shift for values of the output, which are encoded by it. */
struct od_line_plan;

/* Gives whether the operators of a request multiply and add, at most a ReLU behind them, and the
 * layout of the output has rows of values with factors side by side, or with one factor. */
bool od_line_possible(const struct od_build *b, const struct od_table_request *request);

/* Makes the plan of such operators, which lives as long as the session. */
enum vbs_status od_line_make(struct od_build *b, const struct od_table_request *request,
                             const struct od_line_plan **plan) VBS_MUST_CHECK;

/* Gives the bytes of the factors and shifts, and the number of this format; 0 for null. */
int64_t od_line_bytes(const struct od_line_plan *plan);
int od_line_format(const struct od_line_plan *plan);

/* Appends the step, from one memory object to another, which may be the same. Both have the layout
 * of the output. */
enum vbs_status od_line_step(struct od_build *b, const struct od_line_plan *plan,
                             dnnl_memory_t from, dnnl_memory_t to) VBS_MUST_CHECK;

#endif
