/* The function of text forms of comparisons that other sub-rooms of report use. Internal to the
 * room. */
#ifndef VBS_REPORT_TEXT_TEXT_H
#define VBS_REPORT_TEXT_TEXT_H

#include "vbslab/report.h"

#include <jansson.h>

/* Makes the JSON object of one comparison, as the array "profiles" of vbs_compare_json has it.
 * Null: out of memory. */
json_t *vbs_text_compare(const struct vbs_compare *compare);

#endif
