/*
 * backend/onednn/kernels: the parts of kernels, for the operators and the session above.
 *
 *   elementwise.h      operators on values or channels, as layers or in place behind others
 *   implementations.h  implementations of a convolution or an inner product
 *   kernel.h           kernels: lists of calls
 *   layout.h           layouts of tensors
 *   line.h             operators on 8 bits that multiply and add
 *   nest.h             loops over floats, where the library has none
 *   primitive.h        primitives of the library
 *   encode.h           encoded tensors and their floats
 *   session.h          the session, and kernels being built
 *   table.h            operators on 8 bits by tables
 *   slices.h           layers on some of their output channels
 *   weights.h          packed weights
 *   window.h           windows of pools
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_KERNELS_H
#define VBS_BACKEND_ONEDNN_KERNELS_KERNELS_H

#include "backend/onednn/kernels/elementwise.h"
#include "backend/onednn/kernels/encode.h"
#include "backend/onednn/kernels/implementations.h"
#include "backend/onednn/kernels/kernel.h"
#include "backend/onednn/kernels/layout.h"
#include "backend/onednn/kernels/line.h"
#include "backend/onednn/kernels/nest.h"
#include "backend/onednn/kernels/primitive.h"
#include "backend/onednn/kernels/session.h"
#include "backend/onednn/kernels/slices.h"
#include "backend/onednn/kernels/table.h"
#include "backend/onednn/kernels/weights.h"
#include "backend/onednn/kernels/window.h"

#endif
