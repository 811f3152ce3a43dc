/* Macros for the tables of operator cases. */
#ifndef TESTS_OPERATOR_CASES_H
#define TESTS_OPERATOR_CASES_H

#include "cases/backend_cases.h"

/* The numbers of the operators that are read, 0 = the network's input. */
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

/* A case of one layer on one input. */
#define ONE(title, operator, shape, ...)                                                           \
    {                                                                                              \
        .name = title, .input = shape, .nodes = {                                                  \
            {operator, "n", FROM(0), .attributes = {__VA_ARGS__}}                                  \
        }                                                                                          \
    }

/* The cases of operators that work on values, one or two at a time. The list ends with a null
 * name. */
extern const struct operator_case value_cases[];

#endif
