/*
 * vbslab/vbslab.h - includes all public headers. Each header is the manual of its room.
 */
#ifndef VBSLAB_VBSLAB_H
#define VBSLAB_VBSLAB_H

#include "vbslab/backend.h"
#include "vbslab/coded.h"
#include "vbslab/coded_layer.h"
#include "vbslab/data.h"
#include "vbslab/eval.h"
#include "vbslab/exec.h"
#include "vbslab/explain.h"
#include "vbslab/measure.h"
#include "vbslab/mixed.h"
#include "vbslab/mmcnn.h"
#include "vbslab/model.h"
#include "vbslab/npy.h"
#include "vbslab/place.h"
#include "vbslab/plan.h"
#include "vbslab/planner.h"
#include "vbslab/predict.h"
#include "vbslab/profile.h"
#include "vbslab/progress.h"
#include "vbslab/prune.h"
#include "vbslab/quantize.h"
#include "vbslab/sensitivity.h"
#include "vbslab/replay.h"
#include "vbslab/report.h"
#include "vbslab/schedule.h"
#include "vbslab/simple.h"
#include "vbslab/status.h"
#include "vbslab/store.h"
#include "vbslab/study.h"
#include "vbslab/sweep.h"
#include "vbslab/teach.h"
#include "vbslab/timings.h"
#include "vbslab/train.h"
#include "vbslab/training.h"
#include "vbslab/trials.h"
#include "vbslab/tune.h"
#include "vbslab/units.h"

#endif
