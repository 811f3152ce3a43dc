/* The scripts of db/, compiled in. Internal to the room. */
#ifndef VBS_STORE_SCHEMA_H
#define VBS_STORE_SCHEMA_H

#include "base/embedded.h"

/* "schema" makes version 1 of a store, "migration-N" brings version N - 1 to N; in any order. */
extern const struct vbs_embedded vbs_schema[];

#endif
