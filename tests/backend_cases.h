/* Small networks that together have every operator, in every situation that a backend may treat in
 * a way of its own: layouts, groups, padding, what is bundled, what is read by several. */
#ifndef TESTS_BACKEND_CASES_H
#define TESTS_BACKEND_CASES_H

struct backend_case {
    const char *name;
    const char *text; /* model text without its line "model" */
};

/* Ends with a null name. */
extern const struct backend_case backend_cases[];

/* By name; null when there is none. */
const struct backend_case *backend_case(const char *name);

#endif
