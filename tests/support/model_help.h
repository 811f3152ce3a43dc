/* Networks from texts, for tests that need them to go on. */
#ifndef TESTS_MODEL_HELP_H
#define TESTS_MODEL_HELP_H

#include "vbslab/model.h"

/* Makes the network of a model text, or ends the program. */
struct vbs_network *parse_network(const char *text);

#endif
