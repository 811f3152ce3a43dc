#include "data/reader.h"

#include "base/fail.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LIST ((size_t)1 << 22) /* bytes of a list of classes */

void vbs_data_labels_clear(struct vbs_data_labels *labels)
{
    free(labels->labels);
    free(labels->text);
    free(labels->names);
    *labels = (struct vbs_data_labels){0};
}

/* Reads a whole file of at most MAX_LIST bytes into labels->text, with a zero behind it. */
static enum vbs_status read_text(struct vbs_data_file *file, struct vbs_data_labels *labels)
{
    size_t n, size = MAX_LIST;

    labels->text = malloc(size + 1);
    if (!labels->text)
        return vbs_no_memory(file->ctx);
    VBS_TRY(vbs_data_file_some(file, labels->text, size, &n));
    if (n == size)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: no list of classes: it has %zu bytes or "
                        "more",
                        file->path, size);
    labels->text[n] = '\0';
    if (strlen(labels->text) != n || !vbs_utf8_valid(labels->text))
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: no list of classes: it is no text in UTF-8",
                        file->path);
    return VBS_OK;
}

/* Ends text before the blanks and line ends at its end. */
static void trim(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    text[length] = '\0';
}

/* Makes a name of each line. */
static enum vbs_status take_names(struct vbs_data_file *file, struct vbs_data_labels *labels)
{
    int n = 1;

    trim(labels->text);
    for (const char *c = labels->text; *c && n <= VBS_DATA_MAX_CLASSES; c++)
        n += *c == '\n';
    if (n > VBS_DATA_MAX_CLASSES)
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: has more than %d classes", file->path,
                        VBS_DATA_MAX_CLASSES);
    labels->names = malloc((size_t)n * sizeof *labels->names);
    if (!labels->names)
        return vbs_no_memory(file->ctx);
    labels->n_classes = n;
    labels->names[0] = labels->text;
    for (int k = 0; k < n; k++) {
        char *end = strchr(labels->names[k], '\n');

        if (end)
            *end = '\0';
        if (end)
            labels->names[k + 1] = end + 1;
        trim(labels->names[k]);
        if (labels->names[k][0] == '\0')
            return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: line %d names no class", file->path,
                            k + 1);
    }
    return VBS_OK;
}

enum vbs_status vbs_classes_read(struct vbs_ctx *ctx, const char *folder, const char *name,
                                 struct vbs_data_labels *labels)
{
    const char *const names[] = {name, NULL};
    struct vbs_data_file file;
    enum vbs_status status;

    if (!vbs_data_file_find(folder, names))
        return VBS_OK;
    status = vbs_data_file_open(ctx, folder, name, &file);
    if (status == VBS_OK)
        status = read_text(&file, labels);
    if (status == VBS_OK)
        status = take_names(&file, labels);
    vbs_data_file_close(&file);
    return status;
}
