/* Attributes of the node that is being imported. */
#include "base/fail.h"
#include "model/onnx/import.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef Onnx__AttributeProto attribute;

static const attribute *find_attribute(const struct vbs_onnx_import *im, const char *name)
{
    const Onnx__NodeProto *node = im->node->proto;

    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

/* Reports an attribute of a wrong type. The first mistake is kept, and the import of the node fails
 * with it later. */
static void wrong(struct vbs_onnx_import *im, const char *name, const char *want)
{
    if (im->bad == VBS_OK)
        snprintf(im->bad_why, sizeof im->bad_why, "attribute '%.40s' is no %s", name, want);
    im->bad = im->bad == VBS_OK ? VBS_FORMAT : im->bad;
}

bool vbs_onnx_has(const struct vbs_onnx_import *im, const char *name)
{
    return find_attribute(im, name) != NULL;
}

int64_t vbs_onnx_int(struct vbs_onnx_import *im, const char *name, int64_t missing)
{
    const attribute *a = find_attribute(im, name);

    if (a && a->has_i)
        return a->i;
    if (a && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT) /* a 0 may be left out */
        wrong(im, name, "whole number");
    return a ? 0 : missing;
}

double vbs_onnx_real(struct vbs_onnx_import *im, const char *name, double missing)
{
    const attribute *a = find_attribute(im, name);

    if (a && a->has_f)
        return a->f;
    if (a && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)
        wrong(im, name, "number");
    return a ? 0 : missing;
}

const int64_t *vbs_onnx_ints(struct vbs_onnx_import *im, const char *name, int *n)
{
    const attribute *a = find_attribute(im, name);

    *n = 0;
    if (!a)
        return NULL;
    if (a->has_i || a->has_f || a->has_s || a->n_floats > 0 || a->n_ints > INT_MAX)
        wrong(im, name, "list of whole numbers");
    else
        *n = (int)a->n_ints;
    return a->ints;
}

const float *vbs_onnx_reals(struct vbs_onnx_import *im, const char *name, int *n)
{
    const attribute *a = find_attribute(im, name);

    *n = 0;
    if (!a)
        return NULL;
    if (a->has_i || a->has_f || a->has_s || a->n_ints > 0 || a->n_floats > INT_MAX)
        wrong(im, name, "list of numbers");
    else
        *n = (int)a->n_floats;
    return a->floats;
}

static bool is_word(const attribute *a, const char *word)
{
    return a->has_s && a->s.len == strlen(word) && memcmp(a->s.data, word, a->s.len) == 0;
}

bool vbs_onnx_is(struct vbs_onnx_import *im, const char *name, const char *word, bool missing)
{
    const attribute *a = find_attribute(im, name);

    return a ? is_word(a, word) : missing;
}

int vbs_onnx_word(struct vbs_onnx_import *im, const char *name, const char *const *words,
                  int missing)
{
    const attribute *a = find_attribute(im, name);

    for (int i = 0; a && words[i]; i++)
        if (is_word(a, words[i]))
            return i;
    if (a && im->bad == VBS_OK) {
        snprintf(im->bad_why, sizeof im->bad_why, "attribute '%.40s' is '%.*s'", name,
                 a->has_s && a->s.len < 60 ? (int)a->s.len : 0,
                 a->has_s ? (const char *)a->s.data : "");
        im->bad = VBS_UNSUPPORTED;
    }
    return a ? -1 : missing;
}

const Onnx__TensorProto *vbs_onnx_tensor_attribute(struct vbs_onnx_import *im, const char *name)
{
    const attribute *a = find_attribute(im, name);

    if (a && !a->t)
        wrong(im, name, "tensor");
    return a ? a->t : NULL;
}
