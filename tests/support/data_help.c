#include "support/data_help.h"

#include "support/bail_out.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

void data_folder_new(char path[DATA_FOLDER_SIZE])
{
    strcpy(path, "/tmp/vbslab-data.XXXXXX");
    if (!mkdtemp(path))
        bail_out("cannot make a folder");
}

void data_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            data_remove(path, entry->d_name);
    if (folder)
        closedir(folder);
    rmdir(path);
}

static void join(const char *folder, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
}

void data_put(const char *folder, const char *name, const void *bytes, size_t n)
{
    size_t length = strlen(name);
    bool compressed = length > 3 && strcmp(name + length - 3, ".gz") == 0;
    char path[PATH_MAX];
    gzFile file;

    join(folder, name, path);
    file = gzopen(path, compressed ? "wb" : "wbT");
    if (!file || (n > 0 && gzwrite(file, bytes, (unsigned)n) != (int)n) || gzclose(file) != Z_OK)
        bail_out("cannot write a file");
}

void data_cut(const char *folder, const char *name, size_t n)
{
    char path[PATH_MAX];

    join(folder, name, path);
    if (truncate(path, (off_t)n) != 0)
        bail_out("cannot cut a file");
}

void data_remove(const char *folder, const char *name)
{
    char path[PATH_MAX];

    join(folder, name, path);
    if (unlink(path) != 0)
        bail_out("cannot remove a file");
}

unsigned char data_pixel(int i, int p)
{
    return (unsigned char)(i * 37 + p * 11 + i * p % 7);
}

int data_label(int i, int n)
{
    return i == n - 1 ? 3 : i % 3;
}

static void put_number(unsigned char *to, int number)
{
    to[0] = (unsigned char)(number >> 24);
    to[1] = (unsigned char)(number >> 16);
    to[2] = (unsigned char)(number >> 8);
    to[3] = (unsigned char)number;
}

/* Writes the two files of one part, with images from `first` on. */
static void put_part(const char *folder, const char *part, int first, int n, int channels,
                     bool compressed)
{
    int head = channels > 1 ? 20 : 16, pixels = channels * 12;
    unsigned char *images = malloc((size_t)(head + n * pixels));
    unsigned char *labels = malloc((size_t)(8 + n));
    char name[64];

    if (!images || !labels)
        bail_out("out of memory");
    put_number(images, channels > 1 ? 0x804 : 0x803);
    put_number(images + 4, n);
    put_number(images + 8, channels); /* of one channel: overwritten */
    put_number(images + head - 8, 3);
    put_number(images + head - 4, 4);
    put_number(labels, 0x801);
    put_number(labels + 4, n);
    for (int i = 0; i < n; i++) {
        for (int p = 0; p < pixels; p++)
            images[head + i * pixels + p] = data_pixel(first + i, p);
        labels[8 + i] = (unsigned char)data_label(i, n);
    }
    snprintf(name, sizeof name, "%s-images-idx%d-ubyte%s", part, channels > 1 ? 4 : 3,
             compressed ? ".gz" : "");
    data_put(folder, name, images, (size_t)(head + n * pixels));
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte%s", part, compressed ? ".gz" : "");
    data_put(folder, name, labels, (size_t)(8 + n));
    free(images);
    free(labels);
}

void data_put_idx(const char *folder, int n, int channels, bool compressed)
{
    put_part(folder, "train", 0, n, channels, compressed);
    put_part(folder, channels > 1 ? "test" : "t10k", 1000, n / 2, channels, compressed);
}
