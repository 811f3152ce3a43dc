/* The scripts of db/, compiled in. Internal to the room. */
#ifndef VBS_STORE_SCHEMA_H
#define VBS_STORE_SCHEMA_H

#include "base/embedded.h"

/* "schema" makes version 1 of a store, and "migration-N" migrates version N - 1 to N. The order of
 * the list has no meaning. */
extern const struct vbs_embedded vbs_schema[];

#endif
