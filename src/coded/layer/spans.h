/*
 * The spans that kernels are compiled for: SPAN(lines, vectors of a line). Internal to the
 * sub-room.
 */
#ifndef VBS_CODED_LAYER_SPANS_H
#define VBS_CODED_LAYER_SPANS_H

#define SPANS_12                                                                                   \
    SPAN(1, 1);                                                                                    \
    SPAN(1, 2);                                                                                    \
    SPAN(1, 3);                                                                                    \
    SPAN(1, 4);                                                                                    \
    SPAN(1, 5);                                                                                    \
    SPAN(1, 6);                                                                                    \
    SPAN(1, 7);                                                                                    \
    SPAN(1, 8);                                                                                    \
    SPAN(1, 9);                                                                                    \
    SPAN(1, 10);                                                                                   \
    SPAN(1, 11);                                                                                   \
    SPAN(1, 12);                                                                                   \
    SPAN(2, 1);                                                                                    \
    SPAN(2, 2);                                                                                    \
    SPAN(2, 3);                                                                                    \
    SPAN(2, 4);                                                                                    \
    SPAN(2, 5);                                                                                    \
    SPAN(2, 6);                                                                                    \
    SPAN(3, 1);                                                                                    \
    SPAN(3, 2);                                                                                    \
    SPAN(3, 3);                                                                                    \
    SPAN(3, 4);
#define SPANS_14                                                                                   \
    SPANS_12 SPAN(1, 13);                                                                          \
    SPAN(1, 14);                                                                                   \
    SPAN(2, 7);
#define SPANS_28                                                                                   \
    SPANS_14 SPAN(1, 15);                                                                          \
    SPAN(1, 16);                                                                                   \
    SPAN(1, 17);                                                                                   \
    SPAN(1, 18);                                                                                   \
    SPAN(1, 19);                                                                                   \
    SPAN(1, 20);                                                                                   \
    SPAN(1, 21);                                                                                   \
    SPAN(1, 22);                                                                                   \
    SPAN(1, 23);                                                                                   \
    SPAN(1, 24);                                                                                   \
    SPAN(1, 25);                                                                                   \
    SPAN(1, 26);                                                                                   \
    SPAN(1, 27);                                                                                   \
    SPAN(1, 28);                                                                                   \
    SPAN(2, 8);                                                                                    \
    SPAN(2, 9);                                                                                    \
    SPAN(2, 10);                                                                                   \
    SPAN(2, 11);                                                                                   \
    SPAN(2, 12);                                                                                   \
    SPAN(2, 13);                                                                                   \
    SPAN(2, 14);                                                                                   \
    SPAN(3, 5);                                                                                    \
    SPAN(3, 6);                                                                                    \
    SPAN(3, 7);                                                                                    \
    SPAN(3, 8);                                                                                    \
    SPAN(3, 9);

#endif
