/* Attributes of the node that is being imported. */
#include "base/fail.h"
#include "model/onnx/import/import.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* ---- hints ---- */

#define HINT      "vbslab "
#define PART_HINT "vbslab part of "

/* Gives the hint of a node behind its beginning; null: it has none. */
static const char *hint_of(const struct vbs_onnx_node *node, const char *beginning)
{
    const char *text = node->proto->doc_string;
    size_t length = strlen(beginning);

    return text && strncmp(text, beginning, length) == 0 ? text + length : NULL;
}

/* Gives whether text begins with a whole word. */
static bool begins_with(const char *text, const char *word)
{
    size_t length = strlen(word);

    return text && strncmp(text, word, length) == 0 &&
           (text[length] == '\0' || text[length] == ' ');
}

bool vbs_onnx_is_hinted(const struct vbs_onnx_node *node)
{
    return hint_of(node, HINT) != NULL;
}

bool vbs_onnx_is_part(const struct vbs_onnx_node *node)
{
    return hint_of(node, PART_HINT) != NULL;
}

bool vbs_onnx_makes(const struct vbs_onnx_import *im, enum vbs_op op)
{
    return begins_with(hint_of(im->node, HINT), vbs_op_word(op));
}

bool vbs_onnx_belongs(const struct vbs_onnx_import *im, enum vbs_op op)
{
    return vbs_onnx_makes(im, op) || begins_with(hint_of(im->node, PART_HINT), vbs_op_word(op));
}

bool vbs_onnx_feeds(const struct vbs_onnx_import *im, enum vbs_op op)
{
    const struct vbs_onnx_value *value = im->node->n_outputs > 0 && im->node->outputs[0] >= 0
                                             ? &im->graph->values[im->node->outputs[0]]
                                             : NULL;

    return value && value->n_uses == 1 && value->reader && vbs_onnx_belongs(im, op) &&
           vbs_onnx_is_part(im->node) && begins_with(hint_of(value->reader, HINT), vbs_op_word(op));
}

bool vbs_onnx_hints(const struct vbs_onnx_import *im, const char *word)
{
    const char *text = hint_of(im->node, HINT);

    for (; text && *text; text += strcspn(text, " "), text += *text == ' ')
        if (begins_with(text, word))
            return true;
    return false;
}

double vbs_onnx_exact(const struct vbs_onnx_import *im, const char *name, double value)
{
    const char *text = hint_of(im->node, HINT);
    size_t length = strlen(name);

    for (; text && *text; text += strcspn(text, " "), text += *text == ' ') {
        unsigned long long bits;
        uint64_t word;
        double exact;

        if (strncmp(text, name, length) != 0 || text[length] != '=' ||
            sscanf(text + length + 1, "%16llx", &bits) != 1)
            continue;
        word = bits;
        memcpy(&exact, &word, sizeof exact);
        if (fmin(fmax(exact, -FLT_MAX), FLT_MAX) == exact
                ? (float)exact == (float)value
                : fabs(value) == FLT_MAX && exact * value > 0)
            return exact;
    }
    return value;
}

/* ---- numbers, lists and words ---- */

double vbs_onnx_real(struct vbs_onnx_import *im, const char *name, double missing)
{
    const attribute *a = find_attribute(im, name);

    if (a && a->has_f) {
        double exact = vbs_onnx_exact(im, name, a->f);

        return isfinite(exact) ? exact : a->f;
    }
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

const char *vbs_onnx_text(struct vbs_onnx_import *im, const char *name)
{
    const attribute *a = find_attribute(im, name);
    size_t length = a && a->has_s ? a->s.len : 0, n = 0;
    char *text = vbs_arena_alloc(im->arena, length + 1, 1);

    if (a && (!a->has_s || (length > 0 && memchr(a->s.data, '\0', length))))
        wrong(im, name, "text");
    for (size_t i = 0; text && i < length; i++)
        if (a->s.data[i] != ' ')
            text[n++] = (char)a->s.data[i];
    return text;
}

int vbs_onnx_n_words(const struct vbs_onnx_import *im, const char *name)
{
    const attribute *a = find_attribute(im, name);

    return a && a->n_strings < INT_MAX ? (int)a->n_strings : 0;
}

int vbs_onnx_word_of(const struct vbs_onnx_import *im, const char *name, int i,
                     const char *const *words)
{
    const ProtobufCBinaryData *word = &find_attribute(im, name)->strings[i];

    for (int k = 0; words[k]; k++)
        if (word->len == strlen(words[k]) &&
            strncasecmp((const char *)word->data, words[k], word->len) == 0)
            return k;
    return -1;
}

const Onnx__TensorProto *vbs_onnx_tensor_attribute(struct vbs_onnx_import *im, const char *name)
{
    const attribute *a = find_attribute(im, name);

    if (a && !a->t)
        wrong(im, name, "tensor");
    return a ? a->t : NULL;
}

const Onnx__SparseTensorProto *vbs_onnx_sparse_attribute(struct vbs_onnx_import *im,
                                                         const char *name)
{
    const attribute *a = find_attribute(im, name);

    if (a && !a->sparse_tensor)
        wrong(im, name, "sparse tensor");
    return a ? a->sparse_tensor : NULL;
}

const Onnx__GraphProto *vbs_onnx_graph_attribute(struct vbs_onnx_import *im, const char *name)
{
    const attribute *a = find_attribute(im, name);

    if (a && !a->g)
        wrong(im, name, "graph");
    return a ? a->g : NULL;
}
