#include "model/onnx/operators/equation.h"

#include <string.h>

#define MOST_DIMS (VBS_MAX_DIMS + 1) /* of a value in a file */

/* Gives the label of a letter, or -1. */
static int label_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    return letter >= 'a' && letter <= 'z' ? letter - 'a' + VBS_ONNX_LETTERS / 2 : -1;
}

/* Adds the labels of an ellipsis of n dimensions, of which the last ones go together. */
static bool add_hidden(int n, struct vbs_onnx_term *term)
{
    if (n < 0 || term->n + n > MOST_DIMS)
        return false;
    for (int i = 0; i < n; i++)
        term->label[term->n++] = VBS_ONNX_LABELS - n + i;
    return true;
}

/* Reads a term up to a comma, an arrow or the end. hidden: the dimensions of an ellipsis in it. */
static bool read_term(struct vbs_onnx_equation *e, int hidden, struct vbs_onnx_term *term)
{
    *term = (struct vbs_onnx_term){.n = 0};
    for (; *e->next && *e->next != ',' && *e->next != '-'; e->next++) {
        if (strncmp(e->next, "...", 3) == 0) {
            if (!add_hidden(hidden, term))
                return false;
            e->next += 2;
        } else if (term->n == MOST_DIMS || label_of(*e->next) < 0) {
            return false;
        } else {
            term->label[term->n++] = label_of(*e->next);
        }
    }
    return true;
}

/* Counts the letters of the next term; *ellipsis: there is one among them. */
static int count_letters(const char *text, bool *ellipsis)
{
    size_t length = strcspn(text, ",-");
    int n = 0;

    *ellipsis = false;
    for (size_t i = 0; i < length; i++) {
        n += label_of(text[i]) >= 0;
        *ellipsis |= text[i] == '.';
    }
    return n;
}

bool vbs_onnx_read_factor(struct vbs_onnx_equation *e, int index, const int64_t *dims, int n,
                          struct vbs_onnx_term *term)
{
    bool ellipsis;
    int hidden;

    if (index > 0 && *e->next++ != ',')
        return false;
    hidden = n - count_letters(e->next, &ellipsis);
    if (!read_term(e, hidden, term) || term->n != n)
        return false;
    if (ellipsis && hidden > e->n_hidden)
        e->n_hidden = hidden;
    for (int d = 0; d < term->n; d++) {
        int64_t *size = &e->size[term->label[d]], dim = dims[d];

        if (e->count[term->label[d]]++ > 0 && *size != dim && *size != 1 && dim != 1)
            return false;
        *size = e->count[term->label[d]] == 1 || *size == 1 ? dim : *size;
    }
    return true;
}

/* Reads the output behind the arrow, or makes it where there is none. */
static bool read_output(struct vbs_onnx_equation *e, struct vbs_onnx_term *term)
{
    if (strncmp(e->next, "->", 2) == 0) {
        e->next += 2;
        return read_term(e, e->n_hidden, term) && *e->next == '\0';
    }
    *term = (struct vbs_onnx_term){.n = 0};
    if (!add_hidden(e->n_hidden, term))
        return false;
    for (int label = 0; label < VBS_ONNX_LETTERS; label++)
        if (e->count[label] == 1) {
            if (term->n == MOST_DIMS)
                return false;
            term->label[term->n++] = label;
        }
    return *e->next == '\0';
}

/* Orders the labels: those of the output, each once, and the others behind them. */
static bool order_labels(struct vbs_onnx_equation *e, const struct vbs_onnx_term *result)
{
    bool seen[VBS_ONNX_LABELS] = {false};

    for (int d = 0; d < result->n; d++) {
        if (seen[result->label[d]] || e->count[result->label[d]] == 0)
            return false;
        seen[result->label[d]] = true;
        e->labels[e->n_labels++] = result->label[d];
    }
    for (int label = 0; label < VBS_ONNX_LABELS; label++)
        if (!seen[label] && e->count[label] > 0)
            e->labels[e->n_labels++] = label;
    return true;
}

bool vbs_onnx_read_result(struct vbs_onnx_equation *e, struct vbs_onnx_term *result)
{
    return read_output(e, result) && order_labels(e, result);
}
