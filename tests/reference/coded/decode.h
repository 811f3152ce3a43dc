/*
 * A decoder of coded weights, bit by bit, straight from their description in docs/formats: slow and
 * clear, and it shares nothing with src/coded.
 */
#ifndef TESTS_REFERENCE_CODED_DECODE_H
#define TESTS_REFERENCE_CODED_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the whole matrix into dense[rows x columns], row by row, and counts the entries. False:
 * the bytes are not as described. The bytes must be those of sound coded weights. */
bool reference_decode(const uint8_t *bytes, size_t n_bytes, float *dense, int64_t *n_entries);

#endif
