/* The networks to learn from, which networks.c makes. calibrate.c measures them, profile.c reads
 * their times again. */
#ifndef VBS_PREDICT_CALIBRATE_H
#define VBS_PREDICT_CALIBRATE_H

#include "vbslab/predict.h"
#include "vbslab/study.h"

int vbs_predict_n_networks(void);

/* Loads network 0..n-1. */
enum vbs_status vbs_predict_network(struct vbs_ctx *ctx, int which,
                                    struct vbs_network **network) VBS_MUST_CHECK;

/* Gives how the profile of such a network is assembled from times of the store. */
struct vbs_assemble_options vbs_predict_assembly(const struct vbs_predict_options *options);

#endif
