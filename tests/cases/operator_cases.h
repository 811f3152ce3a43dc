/* How the tables of operator cases are written. */
#ifndef TESTS_OPERATOR_CASES_H
#define TESTS_OPERATOR_CASES_H

#include "cases/backend_cases.h"

/* Numbers of the operators that are read, 0 = the network's input. */
#define FROM(...)                                                                                  \
    .n_inputs = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .inputs = (const int[])         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#define DIMS(...)                                                                                  \
    {                                                                                              \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define VIEWS(...)                                                                                 \
    .views = (const struct vbs_shape[])                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#define WINDOW(k, s, d, p)                                                                         \
    {                                                                                              \
        .kernel = {k, k, k}, .stride = {s, s, s}, .dilation = {d, d, d}, .pad_low = {p, p, p},     \
        .pad_high = {                                                                              \
            p,                                                                                     \
            p,                                                                                     \
            p                                                                                      \
        }                                                                                          \
    }

/* One layer on one input. */
#define ONE(title, operator, shape, ...)                                                           \
    {                                                                                              \
        .name = title, .input = shape, .nodes = {                                                  \
            {operator, "n", FROM(0), .attributes = {__VA_ARGS__}}                                  \
        }                                                                                          \
    }

/* Both end with a null name: operators that work on values, one or two at a time; all others. */
extern const struct operator_case value_cases[];
extern const struct operator_case shape_cases[];

#endif
