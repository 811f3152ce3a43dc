/*
 * Everything that reads files from outside, as one function of the bytes of a file. make fuzz calls
 * it from libFuzzer, and tests/unit/model/corpus with the inputs that fuzzing found worth keeping
 * (tests/data/corpus).
 *
 * The first byte of an input chooses the reader, the rest is the file:
 *
 *   0 profile (CSV)      1 schedule (JSON), then replayed      2 network (text)
 *   3 .npy               4 network (ONNX)                      5 buffers to place (CSV)
 *   6 as 4, with an input's shape and a second input bound     7 tensor (ONNX)
 *   8 as 2, with an input's shape                              9 sizes, shapes, batches (text)
 *   : coded weights                                            ; network with coded weights, .vbz
 *   < folder of images   = TOML        > study (TOML)        ? sweep (TOML)
 *   @ as 2, then exported to ONNX and read again             A as 4, then likewise
 *
 * 6 and 8 take the shape from the bytes before the file: how many dimensions, then one byte each.
 * < begins with a byte whose lowest two bits choose the format (idx, npy, npy by pixel, cifar-10)
 * and whose third one says that the files are compressed. Then come the list of classes, the labels
 * and the images, the first two behind two bytes of their length, the lower one first. Files of ;
 * are first given the checksums and the places of sections without which they would be refused at
 * once. Files of ONNX may have values in READERS_EXTERNAL bytes of external data at
 * READERS_LOCATION. The inputs that were mutated for the corpus came from the tests' own inputs and
 * ONNX's conformance cases (see tests/data/onnx/README.md).
 */
#ifndef TESTS_READERS_H
#define TESTS_READERS_H

#include <stddef.h>

#define READERS_EXTERNAL 4096
#define READERS_LOCATION "100"

/* Reads an input, and uses the result as far as its user would. Gives null, or the promise that was
 * broken (a constant text). Memory errors are for the sanitizers to find. */
const char *readers_run(const unsigned char *data, size_t size);

/* Gives "network (ONNX)" and the like. */
const char *readers_name(const unsigned char *data, size_t size);

#endif
