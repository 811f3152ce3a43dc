/* The choices of inputs with which a network is loaded, as text (vbs_network_inputs_text). */
#ifndef VBS_MODEL_NETWORK_INPUTS_H
#define VBS_MODEL_NETWORK_INPUTS_H

#include "vbslab/model.h"

/* Choices that were read from a text, and the names in them. */
struct vbs_input_choices {
    struct vbs_input_choice *choices;
    int n;
    char *names;
};

/* Reads choices from a text, which may be empty. VBS_USAGE: it is none. They are freed by
 * vbs_input_choices_clear, also after a failure. */
enum vbs_status vbs_input_choices_read(struct vbs_ctx *ctx, const char *text,
                                       struct vbs_input_choices *choices) VBS_MUST_CHECK;
/* Gives the shape that is chosen for the only input of a network from a text, null: none is.
 * VBS_USAGE: another choice is made. */
enum vbs_status vbs_input_only(struct vbs_ctx *ctx, const struct vbs_input_choice *choices, int n,
                               const struct vbs_shape **input) VBS_MUST_CHECK;

/* Puts before the reason of a failure that it is the caller's choice that does not suit; VBS_USAGE.
 */
enum vbs_status vbs_input_choices_refuse(struct vbs_ctx *ctx,
                                         const struct vbs_input_choice *choices,
                                         int n) VBS_MUST_CHECK;

void vbs_input_choices_clear(struct vbs_input_choices *choices);

#endif
