/* The inside of a data set. Internal to the room. */
#ifndef VBS_DATA_DATASET_H
#define VBS_DATA_DATASET_H

#include "vbslab/data.h"

struct vbs_dataset {
    struct vbs_data_info info;
    int *labels;           /* [n_images] */
    unsigned char *pixels; /* [n_images, C, H, W], as struct vbs_data_info says */
    size_t image_bytes;
    char *class_text; /* the names of the classes; null: there are none */
    char **classes;   /* [n_classes] in class_text, or null */
};

#endif
