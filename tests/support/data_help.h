/* Folders with small data sets, made for tests. */
#ifndef TESTS_DATA_HELP_H
#define TESTS_DATA_HELP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATA_FOLDER_SIZE 64

/* Makes an empty folder and writes its path into path; ends the test where that is impossible. */
void data_folder_new(char path[DATA_FOLDER_SIZE]);

/* Removes the folder and the files in it. */
void data_folder_remove(const char *path);

/* Writes a file of the folder; a name that ends in ".gz" is compressed. */
void data_put(const char *folder, const char *name, const void *bytes, size_t n);

/* Cuts a file of the folder to n bytes, or removes it. */
void data_cut(const char *folder, const char *name, size_t n);
void data_remove(const char *folder, const char *name);

/* Gives byte p of image i of the data sets below. */
unsigned char data_pixel(int i, int p);

/* Gives the label of image i: i % 3, but 3 of the last of n images. */
int data_label(int i, int n);

/* Writes a data set of IDX files with n training images and half as many test images of
 * channels x 3 x 4 pixels. Images of the test part are numbered from 1000 on. */
void data_put_idx(const char *folder, int n, int channels, bool compressed);

#endif
