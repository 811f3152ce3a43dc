/*
 * The official conformance cases of ONNX (Debian's libonnx-testdata: node, pytorch-converted,
 * pytorch-operator, simple) whose operators vbslab claims, on the onednn backend: a model, its
 * inputs and the outputs that it must give, within the tolerance of ONNX's own runner.
 *
 * All inputs of a case vary where the reader can make a network of that; else all but one are bound
 * to their values as constants. A case that carries a batch runs with it, layer by layer, each by
 * the first algorithm that the backend offers.
 *
 * A second pass binds all inputs, so that the reader computes the outputs from constants. They are
 * made floats, joined, and added to the only input that is left, which is 0.
 *
 *   --table           prints the table of operators as Markdown and nothing else
 *   --reference       runs the slow definitions of tests/reference/backend/ops.c instead of the
 *                     backend
 *   --backend NAME    another backend; cases whose operators it lacks are out of scope
 *   NAME              only cases with NAME in their path, with the reason of each that does not
 * pass
 */
#include "vbslab/backend.h"

#include "profile/device.h"
#include "model/onnx/onnx.h"
#include "model/onnx/import/import.h"

#include "cases/onnx_bytes.h"
#include "reference/backend/ops.h"
#include "support/tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define RTOL 1e-3 /* those of ONNX's runner */
#define ATOL 1e-7

#define MAX_FILES  64 /* inputs or outputs of a case */
#define MAX_ROWS   256
#define MAX_NAME   64
#define MAX_MODEL  (1 << 20) /* bytes */
#define FLOAT_TYPE 1         /* TensorProto.FLOAT */

static const char *const SUITES[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

struct options {
    bool table, reference;
    const char *backend, *only;
    size_t root_length; /* of the path of the data */
};

/* How one case ended, and why. */
enum result { PASSED, OUT_OF_SCOPE, FAILED };

struct row {
    char name[MAX_NAME]; /* of an operator, or of a reason */
    int count[3];        /* by enum result */
};

struct tally {
    struct row operators[MAX_ROWS], reasons[MAX_ROWS];
    int n_operators, n_reasons;
    int total[3];
    int by_suite[4][3];
};

struct one_case {
    char folder[700];
    char operator[MAX_NAME]; /* of the only operator in the model, or "several" */
    char why[300];
    int n_inputs, n_outputs;
    /* TensorProto.DataType of the outputs and inputs in the model; 0: no tensors */
    int types[MAX_FILES], input_types[MAX_FILES];
    char names[MAX_FILES][MAX_NAME]; /* of the inputs that are no initialisers */
    int in_types[MAX_FILES];         /* and their types in the model */
    /* input: the one that is not bound, or tensor 0 of all samples */
    struct vbs_onnx_tensor_file input, output[MAX_FILES];
};

static struct row *row_of(struct row *rows, int *n, const char *name)
{
    int i = 0;

    while (i < *n && strcmp(rows[i].name, name) != 0)
        i++;
    if (i == *n && i < MAX_ROWS - 1)
        snprintf(rows[(*n)++].name, MAX_NAME, "%s", name);
    return &rows[i];
}

static enum result out_of_scope(struct one_case *c, const char *why)
{
    snprintf(c->why, sizeof c->why, "%s", why);
    return OUT_OF_SCOPE;
}

static enum result failed(struct one_case *c, const char *what, const char *why)
{
    snprintf(c->why, sizeof c->why, "%s: %.250s", what, why);
    return FAILED;
}

/* ---- what a case is ---- */

static char *data_path(const struct one_case *c, const char *kind, int index, char *path)
{
    snprintf(path, 800, "%s/test_data_set_0/%s_%d.pb", c->folder, kind, index);
    return path;
}

/* What the reader makes of a case: layers of one of its inputs, or constants of all of them. */
enum pass { LAYERS, CONSTANTS };

/* Gives whether vbslab claims the operator of a node; *layer: it may become a layer. */
static bool is_claimed(const Onnx__NodeProto *node, bool *layer)
{
    const char *name;

    *layer = false;
    if (node->domain && node->domain[0])
        return false;
    for (int i = 0; (name = vbs_onnx_operator(i, layer)); i++)
        if (strcmp(name, node->op_type) == 0)
            return true;
    return false;
}

static bool trains(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (strcmp(node->attribute[i]->name, "training_mode") == 0 && node->attribute[i]->i)
            return true;
    return strcmp(node->op_type, "Dropout") == 0 && node->n_input == 3;
}

/* Gives the TensorProto.DataType of an input or output; 0: it is no tensor. */
static int type_of(const Onnx__ValueInfoProto *value)
{
    const Onnx__TypeProto *type = value->type;

    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
               ? type->tensor_type->elem_type
               : 0;
}

static void read_names(struct one_case *c, const Onnx__GraphProto *graph)
{
    int n = 0;

    for (size_t i = 0; i < graph->n_input && n < MAX_FILES; i++) {
        bool constant = false;

        for (size_t k = 0; k < graph->n_initializer; k++)
            constant |= strcmp(graph->initializer[k]->name, graph->input[i]->name) == 0;
        if (constant)
            continue;
        c->in_types[n] = type_of(graph->input[i]);
        snprintf(c->names[n++], MAX_NAME, "%s", graph->input[i]->name);
    }
}

/* Reads the operators of a model; gives a reason when one of them is not claimed. */
static enum result read_operators(struct one_case *c, const Onnx__GraphProto *graph, enum pass pass)
{
    bool layer, any = false;

    read_names(c, graph);
    for (size_t i = 0; i < graph->n_output && i < MAX_FILES; i++)
        c->types[i] = type_of(graph->output[i]);
    for (size_t i = 0; i < graph->n_input && i < MAX_FILES; i++)
        c->input_types[i] = type_of(graph->input[i]);
    snprintf(c->operator, sizeof c->operator, "%s",
             graph->n_node ? graph->node[0]->op_type : "none");
    for (size_t i = 1; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->op_type, graph->node[0]->op_type) != 0)
            strcpy(c->operator, "several");
    for (size_t i = 0; i < graph->n_node; i++) {
        if (!is_claimed(graph->node[i], &layer))
            return out_of_scope(c, "operators that are not claimed");
        any |= layer;
    }
    for (size_t i = 0; i < graph->n_node; i++)
        if (strncmp(graph->node[i]->op_type, "Random", 6) == 0)
            return out_of_scope(c, "random numbers");
    if (!any && pass == LAYERS)
        return out_of_scope(c, "operators that are claimed for constants only");
    for (size_t i = 0; i < graph->n_node; i++)
        if (trains(graph->node[i]) &&
            (pass == LAYERS || strcmp(graph->node[i]->op_type, "Dropout") == 0))
            return out_of_scope(c, "training");
    return PASSED;
}

static enum result read_model(struct one_case *c, enum pass pass)
{
    struct vbs_source *source = vbs_source_new();
    struct vbs_onnx_file file;
    struct vbs_ctx ctx = {0};
    enum result result;
    char path[800];

    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    if (!source || vbs_onnx_file_read(&ctx, source, path, false, &file) != VBS_OK)
        result = failed(c, "reading the model", vbs_detail(&ctx));
    else
        result = read_operators(c, file.model->graph, pass);
    vbs_source_free(source);
    return result;
}

/* Reads a tensor; false when the file holds none that is a tensor of numbers with elements. */
static bool read_floats(struct one_case *c, const char *kind, int index,
                        struct vbs_onnx_tensor_file *tensor)
{
    char path[800];

    if (vbs_onnx_read_tensor(NULL, data_path(c, kind, index, path), tensor) != VBS_OK)
        return false;
    if (vbs_shape_elements(&tensor->shape) > 0)
        return true;
    free(tensor->values);
    tensor->values = NULL;
    return false;
}

static int count_files(const struct one_case *c, const char *kind)
{
    char path[800];
    int n = 0;

    while (n < MAX_FILES && access(data_path(c, kind, n, path), F_OK) == 0)
        n++;
    return n;
}

static enum result read_outputs(struct one_case *c)
{
    c->n_inputs = count_files(c, "input");
    c->n_outputs = 0;
    if (c->n_inputs == 0)
        return out_of_scope(c, "no inputs");
    for (int n = count_files(c, "output"); c->n_outputs < n; c->n_outputs++)
        if (!read_floats(c, "output", c->n_outputs, &c->output[c->n_outputs]))
            return out_of_scope(c, "outputs other than tensors of numbers with elements");
    for (int i = 0; i < c->n_outputs; i++)
        if (c->output[i].type != c->types[i])
            return out_of_scope(c, "outputs that are stored as another type");
    return PASSED;
}

static void clear_case(struct one_case *c)
{
    for (int i = 0; i < c->n_outputs; i++)
        free(c->output[i].values);
    free(c->input.values);
}

/* ---- running it ---- */

/* Loads the model at path with every input of the case bound but one, or all of them (-1). */
static enum vbs_status load(struct vbs_ctx *ctx, const struct one_case *c, const char *path,
                            int left_free, struct vbs_network **network)
{
    static char paths[MAX_FILES][800];
    struct vbs_onnx_binding bindings[MAX_FILES];
    int n = 0;

    for (int i = 0; i < c->n_inputs; i++)
        if (i != left_free)
            bindings[n++] = (struct vbs_onnx_binding){i, data_path(c, "input", i, paths[i])};
    return vbs_onnx_load(ctx, path, NULL, bindings, n, network);
}

/* Gives the number of samples of a tensor that is an input of the network; 0: its samples are not
 * one after the other. */
static int64_t samples_of(const struct vbs_input *input, const struct vbs_onnx_tensor_file *file)
{
    int64_t n = vbs_shape_elements(&file->shape), one = vbs_shape_elements(&input->shape);
    bool first = file->shape.n_dims == input->shape.n_dims + 1 && file->shape.dim[0] == n / one;

    if (n % one != 0)
        return 0;
    return n == one || first ? n / one : 0;
}

/* Joins the files of all inputs of a network as its tensor 0. False: they are no whole samples. */
static bool join_files(struct one_case *c, const struct vbs_network *network,
                       const struct vbs_onnx_tensor_file *files)
{
    const float *values[MAX_FILES];
    int64_t n = 0, elements = vbs_shape_elements(&network->input);
    bool fits = network->n_inputs <= MAX_FILES;

    for (int i = 0; i < network->n_inputs && fits; i++) {
        const struct vbs_input *input = &network->inputs[i];
        int k = 0;

        while (k < c->n_inputs && strcmp(c->names[k], input->name) != 0)
            k++;
        fits = k < c->n_inputs && samples_of(input, &files[k]) > 0 &&
               (input->shared || n == 0 || n == samples_of(input, &files[k]));
        if (fits && !input->shared)
            n = samples_of(input, &files[k]);
        values[i] = fits ? files[k].values : NULL;
    }
    if (!fits)
        return false;
    n = n > 0 ? n : 1;
    c->input.shape = (struct vbs_shape){.n_dims = 2, .dim = {n, elements}};
    c->input.values = malloc((size_t)(n * elements) * sizeof *c->input.values);
    if (c->input.values)
        vbs_network_join_inputs(network, n, values, c->input.values);
    return c->input.values != NULL;
}

/* Loads the case with all inputs free. False: it has one only, or cannot be run so. */
static bool load_free(struct one_case *c, struct vbs_network **network)
{
    struct vbs_onnx_tensor_file files[MAX_FILES];
    struct vbs_network *made = NULL;
    int n_read = 0;
    bool joined = false, typed = true; /* of the types that the model says */
    char path[800];

    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    while (n_read < c->n_inputs && vbs_onnx_read_tensor(NULL, data_path(c, "input", n_read, path),
                                                        &files[n_read]) == VBS_OK) {
        typed &= files[n_read].type == c->in_types[n_read];
        n_read++;
    }
    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    if (n_read == c->n_inputs && typed && vbs_onnx_load(NULL, path, NULL, NULL, 0, &made) == VBS_OK)
        joined = join_files(c, made, files);
    for (int i = 0; i < n_read; i++)
        free(files[i].values);
    if (joined)
        *network = made;
    else
        vbs_network_free(made);
    return joined;
}

/* Leaves all inputs free, or the first one, or another one where the outputs do not depend on the
 * first. */
static enum result load_case(struct one_case *c, struct vbs_network **network)
{
    struct vbs_ctx ctx = {0};
    bool any = false;
    char path[800];

    if (load_free(c, network))
        return PASSED;
    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    for (int i = 0; i < c->n_inputs; i++) {
        if (!read_floats(c, "input", i, &c->input))
            continue;
        if (c->input.type != c->input_types[i]) {
            free(c->input.values);
            c->input.values = NULL;
            continue;
        }
        any = true;
        if (load(&ctx, c, path, i, network) == VBS_OK)
            return PASSED;
        free(c->input.values);
        c->input.values = NULL;
        if (strstr(vbs_detail(&ctx), "works on constants only"))
            return out_of_scope(c, "operators that are claimed for constants only");
        if (strstr(vbs_detail(&ctx), "known once shapes are"))
            return out_of_scope(c, "graphs that are chosen by the input");
        if (strstr(vbs_detail(&ctx), "its mask is not supported") ||
            strstr(vbs_detail(&ctx), "its indices are not supported") ||
            strstr(vbs_detail(&ctx), "combines updates with what is there"))
            return out_of_scope(c, "outputs that are not computed");
        if (!strstr(vbs_detail(&ctx), "depend") && !strstr(vbs_detail(&ctx), "is a constant") &&
            !strstr(vbs_detail(&ctx), "element type STRING"))
            return failed(c, "loading", vbs_detail(&ctx));
    }
    return out_of_scope(c, any ? "outputs that depend on no input, or on different ones"
                               : "inputs other than tensors of numbers with elements");
}

static bool is_close(float got, float want)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabs((double)got - want) <= ATOL + RTOL * fabs((double)want);
}

/* Compares an output; got: the samples of output number i. */
static enum result compare(struct one_case *c, const struct vbs_network *network, int samples,
                           int i, const float *got)
{
    int64_t n = samples * vbs_shape_elements(&network->outputs[i].shape);
    char text[128];

    if (n != vbs_shape_elements(&c->output[i].shape))
        return failed(c, "comparing", "an output has another number of elements");
    for (int64_t k = 0; k < n; k++)
        if (!is_close(got[k], c->output[i].values[k])) {
            snprintf(text, sizeof text, "output %d, element %lld: %.9g instead of %.9g", i,
                     (long long)k, got[k], c->output[i].values[k]);
            return failed(c, "comparing", text);
        }
    return PASSED;
}

/* The layers of a network are run by a session, with its tensors, or by the definitions. */
struct run {
    struct vbs_ctx ctx;
    const struct vbs_network *network;
    int samples;
    struct vbs_session *session;
    void **canonical; /* session: by tensor */
    float **plain;    /* by tensor, in plain order */
};

static int64_t elements(const struct run *r, int tensor)
{
    const struct vbs_network *n = r->network;

    return vbs_shape_elements(tensor == 0 ? &n->input : &n->layers[tensor].shape);
}

static bool start(struct run *r, const struct one_case *c, const struct options *o)
{
    size_t n = (size_t)r->network->n_layers + 1;
    int batches[] = {1, r->samples};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = r->samples > 1 ? 2 : 1,
                                          .threads = 1};
    const struct vbs_backend *backend;

    r->canonical = calloc(n, sizeof *r->canonical);
    r->plain = calloc(n, sizeof *r->plain);
    if (!r->canonical || !r->plain)
        return false;
    for (int k = 0; k < (int)n; k++) {
        r->plain[k] = malloc((size_t)(r->samples * elements(r, k)) * sizeof(float));
        if (!r->plain[k])
            return false;
    }
    memcpy(r->plain[0], c->input.values, (size_t)(r->samples * elements(r, 0)) * sizeof(float));
    if (o->reference)
        return true;
    if (vbs_backend_find(&r->ctx, o->backend, &backend) != VBS_OK ||
        backend->open(&r->ctx, r->network, &options, &r->session) != VBS_OK)
        return false;
    for (int k = 0; k < (int)n; k++) {
        r->canonical[k] =
            r->session->ops->alloc(r->session, r->samples * r->session->layers[k].out_bytes);
        if (!r->canonical[k])
            return false;
    }
    return r->session->ops->write(&r->ctx, r->session, 0, r->samples, r->plain[0],
                                  r->canonical[0]) == VBS_OK;
}

static void stop(struct run *r)
{
    for (int k = 0; r->network && k <= r->network->n_layers; k++) {
        if (r->canonical && r->session)
            r->session->ops->free(r->session, r->canonical[k]);
        if (r->plain)
            free(r->plain[k]);
    }
    free(r->canonical);
    free(r->plain);
    if (r->session)
        r->session->ops->close(r->session);
}

/* Computes layer k by its definition, sample by sample. */
static bool define(struct run *r, int k)
{
    const struct vbs_layer *l = &r->network->layers[k];
    const float **inputs = calloc((size_t)l->n_inputs, sizeof *inputs);

    for (int s = 0; inputs && s < r->samples; s++) {
        float *one;

        for (int i = 0; i < l->n_inputs; i++)
            inputs[i] = r->plain[l->inputs[i]] + s * elements(r, l->inputs[i]);
        one = reference_layer(r->network, k, inputs);
        if (!one) {
            free(inputs);
            return false;
        }
        memcpy(r->plain[k] + s * elements(r, k), one, (size_t)elements(r, k) * sizeof *one);
        free(one);
    }
    free(inputs);
    return inputs != NULL;
}

/* Gives the first kernel of layer at the number of samples, or -1. */
static int kernel_of(const struct run *r, int layer)
{
    for (int i = 0; i < r->session->n_kernels; i++)
        if (r->session->kernels[i].layer == layer && r->session->kernels[i].batch == r->samples &&
            r->session->kernels[i].n_slices <= 1)
            return i;
    return -1;
}

/* Copies a tensor of all samples, in the memory of the session. */
static bool copy(struct run *r, void *to, const void *from, int64_t bytes)
{
    const struct vbs_device_ops *device = r->session->ops->device;

    if (device)
        return device->move(&r->ctx, r->session, to, from, bytes) == VBS_OK;
    memcpy(to, from, (size_t)bytes);
    return true;
}

static bool compute(struct run *r, int k)
{
    const struct vbs_profile_layer *layer = &r->session->layers[k];
    int kernel = kernel_of(r, k);
    const void **src = calloc((size_t)layer->n_inputs, sizeof *src);
    struct vbs_operands operands = {.src = src, .dst = r->canonical[k]};
    double time_us;
    void *ws = NULL;
    bool worked = src && kernel >= 0;

    if (worked) {
        ws = r->session->ops->alloc(r->session, r->session->kernels[kernel].ws_bytes + 64);
        operands.ws = ws;
        for (int i = 0; i < layer->n_inputs; i++)
            src[i] = r->canonical[layer->inputs[i]];
        if (layer->in_place) {
            worked = copy(r, r->canonical[k], src[0], r->samples * layer->out_bytes);
            src[0] = r->canonical[k];
        }
        worked &=
            ws && r->session->ops->run(&r->ctx, r->session, kernel, &operands, &time_us) == VBS_OK;
    }
    r->session->ops->free(r->session, ws);
    free(src);
    return worked && r->session->ops->read(&r->ctx, r->session, k, r->samples, r->canonical[k],
                                           r->plain[k]) == VBS_OK;
}

static enum result run_network(struct one_case *c, const struct vbs_network *network,
                               const struct options *o)
{
    int64_t given = vbs_shape_elements(&c->input.shape), one = vbs_shape_elements(&network->input);
    struct run r = {.network = network, .samples = (int)(given / one)};
    enum result result = PASSED;

    if (r.samples < 1 || r.samples * one != given || network->n_outputs != c->n_outputs)
        return failed(c, "running", "inputs or outputs have other sizes or are not as many");
    if (!start(&r, c, o))
        result = strstr(vbs_detail(&r.ctx), "backend has no")
                     ? out_of_scope(c, "operators that the backend lacks")
                     : failed(c, "opening the backend", vbs_detail(&r.ctx));
    for (int k = 1; k <= network->n_layers && result == PASSED; k++)
        if (!(o->reference ? define(&r, k) : compute(&r, k)))
            result = failed(c, vbs_op_word(network->layers[k].op), vbs_detail(&r.ctx));
    for (int i = 0; i < network->n_outputs && result == PASSED; i++)
        result = compare(c, network, r.samples, i, r.plain[network->outputs[i].layer]);
    stop(&r);
    return result;
}

static enum result try_case(struct one_case *c, const struct options *o)
{
    struct vbs_network *network = NULL;
    enum result result = read_model(c, LAYERS);

    if (result == PASSED)
        result = read_outputs(c);
    if (result == PASSED)
        result = load_case(c, &network);
    if (result == PASSED)
        result = run_network(c, network, o);
    vbs_network_free(network);
    clear_case(c);
    return result;
}

/* ---- on constants ---- */

static struct vbs_onnx_tensor_file no_tensor(int64_t count)
{
    return (struct vbs_onnx_tensor_file){
        .type = FLOAT_TYPE,
        .shape = {.n_dims = 2, .dim = {1, count}},
        .values = calloc((size_t)count, sizeof(float)),
    };
}

/* Makes all expected outputs, of any type, one after the other, the only output of the case, and
 * zeros its input. */
static enum result join_outputs(struct one_case *c)
{
    struct vbs_onnx_tensor_file part[MAX_FILES];
    int n = count_files(c, "output"), n_read = 0;
    enum result result = PASSED;
    int64_t count = 0;
    char path[800];

    while (n_read < n && vbs_onnx_read_tensor(NULL, data_path(c, "output", n_read, path),
                                              &part[n_read]) == VBS_OK)
        count += vbs_shape_elements(&part[n_read++].shape);
    if (n == 0 || n_read < n || count == 0)
        result = out_of_scope(c, "outputs other than tensors of numbers with elements");
    for (int i = 0; i < n_read && result == PASSED; i++)
        if (part[i].type != c->types[i])
            result = out_of_scope(c, "outputs that are stored as another type");
    for (int i = 0; i < n_read && result == PASSED; i++)
        for (int64_t k = 0; k < vbs_shape_elements(&part[i].shape); k++)
            if (!isfinite(part[i].values[k]))
                result = out_of_scope(c, "outputs that are not finite");
    if (result == PASSED) {
        float *at;

        c->n_outputs = 1;
        c->input = no_tensor(count);
        c->output[0] = no_tensor(count);
        at = c->output[0].values;
        for (int i = 0; i < n && at; i++) {
            size_t each = (size_t)vbs_shape_elements(&part[i].shape);

            memcpy(at, part[i].values, each * sizeof *at);
            at += each;
        }
    }
    for (int i = 0; i < n_read; i++)
        free(part[i].values);
    return result;
}

/* Appends nodes that make the outputs floats, join them and add them to a new input of count
 * elements, which becomes the graph's last; the sum is the only output. */
static void add_probe(struct bytes *graph, int64_t opset, char *const *outputs, int n,
                      int64_t count)
{
    struct bytes value = onnx_value("probe", FLOAT_TYPE, 2, (int64_t[]){1, count}), node;
    char names[MAX_FILES * 24] = "", one[24];

    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("probed", FLOAT_TYPE, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(graph, onnx_longs("probe.flat", 1, (int64_t[]){-1}));
    for (int i = 0; i < n; i++) {
        node = onnx_node("Cast", outputs[i], "");
        snprintf(one, sizeof one, "probe.cast.%d", i);
        bytes_text(&node, 2, one);
        onnx_attribute_int(&node, "to", FLOAT_TYPE);
        onnx_add_node(graph, node);
        node = onnx_node("Reshape", one, "");
        if (opset < 5)
            onnx_attribute_ints(&node, "shape", 1, (int64_t[]){-1});
        else
            bytes_text(&node, 1, "probe.flat");
        snprintf(one, sizeof one, "probe.part.%d", i);
        bytes_text(&node, 2, one);
        onnx_add_node(graph, node);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", one);
    }
    node = onnx_node("Concat", names, "probe.all");
    onnx_attribute_int(&node, "axis", 0);
    onnx_add_node(graph, node);
    onnx_add_node(graph, onnx_node("Add", "probe probe.all", "probed"));
}

static Onnx__ModelProto *unpack_model(const struct one_case *c)
{
    char path[800];
    unsigned char *data = malloc(MAX_MODEL);
    Onnx__ModelProto *model = NULL;
    FILE *file;

    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    file = fopen(path, "rb");
    if (data && file)
        model = onnx__model_proto__unpack(NULL, fread(data, 1, MAX_MODEL, file), data);
    if (file)
        fclose(file);
    free(data);
    return model;
}

static int64_t opset_of(const Onnx__ModelProto *model)
{
    int64_t opset = 1;

    for (size_t i = 0; i < model->n_opset_import; i++)
        if (!model->opset_import[i]->domain || !model->opset_import[i]->domain[0])
            opset = model->opset_import[i]->version;
    return opset;
}

/* Packs a graph without its outputs. */
static struct bytes pack_graph(const Onnx__GraphProto *whole)
{
    Onnx__GraphProto graph = *whole;
    struct bytes packed = {0};

    graph.n_output = 0;
    packed.capacity = onnx__graph_proto__get_packed_size(&graph) + 1;
    packed.data = malloc(packed.capacity);
    if (!packed.data)
        abort();
    packed.length = onnx__graph_proto__pack(&graph, packed.data);
    return packed;
}

/* Writes the model with a probe to path. */
static bool write_probed(const struct one_case *c, const char *path)
{
    Onnx__ModelProto *model = unpack_model(c);
    char *names[MAX_FILES];
    struct bytes graph, file;
    bool written;

    if (!model || model->graph->n_output > MAX_FILES)
        return false;
    for (size_t i = 0; i < model->graph->n_output; i++)
        names[i] = model->graph->output[i]->name;
    graph = pack_graph(model->graph);
    add_probe(&graph, opset_of(model), names, (int)model->graph->n_output,
              vbs_shape_elements(&c->input.shape));
    file = onnx_model(opset_of(model), &graph);
    written = bytes_write(&file, path);
    bytes_clear(&file);
    onnx__model_proto__free_unpacked(model, NULL);
    return written;
}

static enum result load_probed(struct one_case *c, struct vbs_network **network)
{
    char path[] = "/tmp/t_conformance.XXXXXX";
    int file = mkstemp(path);
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    if (file < 0 || close(file) != 0 || !write_probed(c, path))
        return failed(c, "writing the model", path);
    status = load(&ctx, c, path, -1, network);
    unlink(path);
    if (status == VBS_OK)
        return PASSED;
    if (strstr(vbs_detail(&ctx), "not on constants"))
        return out_of_scope(c, "operators that are not computed from constants");
    if (strstr(vbs_detail(&ctx), "too much is computed"))
        return out_of_scope(c, "more work with constants than is done");
    return failed(c, "loading", vbs_detail(&ctx));
}

static enum result try_constants(struct one_case *c, const struct options *o)
{
    struct vbs_network *network = NULL;
    enum result result = read_model(c, CONSTANTS);

    c->n_inputs = count_files(c, "input");
    if (result == PASSED)
        result = join_outputs(c);
    if (result == PASSED)
        result = load_probed(c, &network);
    if (result == PASSED)
        result = run_network(c, network, o);
    vbs_network_free(network);
    clear_case(c);
    return result;
}

/* ---- all of them ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void count(struct tally *tally, int suite, const struct one_case *c, enum result result)
{
    row_of(tally->operators, &tally->n_operators, c->operator)->count[result]++;
    if (result == OUT_OF_SCOPE)
        row_of(tally->reasons, &tally->n_reasons, c->why)->count[result]++;
    tally->total[result]++;
    tally->by_suite[suite][result]++;
}

/* Tries a case in one pass. */
static void try_pass(struct tally *tally, struct one_case *c, enum pass pass, int suite,
                     const struct options *o)
{
    static const char *const WORDS[] = {"passed", "out of scope", "FAILED"};
    enum result result = pass == LAYERS ? try_case(c, o) : try_constants(c, o);

    count(tally, suite, c, result);
    if (!o->table && (result == FAILED || o->only))
        printf("# %s%s: %s: %s\n", WORDS[result], pass == LAYERS ? "" : " on constants",
               c->folder + o->root_length + 1, c->why);
}

/* Tries all cases of a suite; tallies: by pass. */
static void try_suite(struct tally *tallies, const char *root, int suite, const struct options *o)
{
    struct dirent **entries = NULL;
    char folder[600];
    int n;

    snprintf(folder, sizeof folder, "%s/%s", root, SUITES[suite]);
    n = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        for (enum pass pass = LAYERS; pass <= CONSTANTS; pass++) {
            struct one_case c = {.n_inputs = 0};

            snprintf(c.folder, sizeof c.folder, "%s/%.90s", folder, entries[i]->d_name);
            if (entries[i]->d_name[0] != '.' && (!o->only || strstr(c.folder, o->only)))
                try_pass(&tallies[pass], &c, pass, suite, o);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Gives the folder of the package's data, or null. */
static const char *find_data(char *path, size_t size)
{
    FILE *list = popen("dpkg-query -L libonnx-testdata 2> /dev/null", "r");
    const char *given = getenv("VBS_ONNX_TESTDATA");
    bool found = false;

    if (given)
        snprintf(path, size, "%s", given);
    while (list && fgets(path, (int)size, list) && !found) {
        size_t length = strcspn(path, "\n");

        path[length] = '\0';
        found = length > 5 && strcmp(path + length - 5, "/data") == 0;
        if (found)
            break;
    }
    if (list)
        pclose(list);
    if (given)
        snprintf(path, size, "%s", given);
    return given || found ? path : NULL;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static void print_claimed(const char *lead)
{
    const char *name;
    bool layer;

    printf("%sOperators that become layers or nothing:", lead);
    for (int i = 0; (name = vbs_onnx_operator(i, &layer)); i++)
        if (layer)
            printf(" %s", name);
    printf("\n%sOf constants and shapes only:", lead);
    for (int i = 0; (name = vbs_onnx_operator(i, &layer)); i++)
        if (!layer)
            printf(" %s", name);
    printf("\n");
}

static void print_table(struct tally *t, bool markdown)
{
    const char *lead = markdown ? "" : "# ";

    qsort(t->operators, (size_t)t->n_operators, sizeof t->operators[0], compare_rows);
    printf(markdown ? "| operator | passed | out of scope | failed |\n| --- | --- | --- | --- |\n"
                    : "# %-28s %6s %12s %6s\n",
           "operator", "passed", "out of scope", "failed");
    for (int i = 0; i < t->n_operators; i++) {
        const struct row *r = &t->operators[i];

        if (r->count[PASSED] + r->count[FAILED] == 0 && markdown)
            continue;
        printf(markdown ? "| %s | %d | %d | %d |\n" : "# %-28s %6d %12d %6d\n", r->name,
               r->count[PASSED], r->count[OUT_OF_SCOPE], r->count[FAILED]);
    }
    printf("%s\n", lead);
    for (int s = 0; s < 4; s++)
        printf("%s%s: %d passed, %d out of scope, %d failed%s\n", lead, SUITES[s],
               t->by_suite[s][PASSED], t->by_suite[s][OUT_OF_SCOPE], t->by_suite[s][FAILED],
               markdown ? "  " : "");
    printf("%sin all: %d passed, %d out of scope, %d failed\n", lead, t->total[PASSED],
           t->total[OUT_OF_SCOPE], t->total[FAILED]);
    for (int i = 0; i < t->n_reasons; i++)
        printf("%sout of scope: %d with %s\n", lead, t->reasons[i].count[OUT_OF_SCOPE],
               t->reasons[i].name);
}

/* Checks that no case of a pass fails and that as many pass as before. */
static void check_tally(const struct tally *t, const char *how, int least)
{
    for (int i = 0; i < t->n_operators; i++) {
        const int *n = t->operators[i].count;

        if (n[PASSED] + n[FAILED] > 0)
            ok(n[FAILED] == 0, "%s%s: %d cases", t->operators[i].name, how, n[PASSED] + n[FAILED]);
    }
    ok(t->total[PASSED] >= least, "%d cases%s pass", t->total[PASSED], how);
}

int main(int n_arguments, char **arguments)
{
    static struct tally tallies[2];
    struct options o = {.backend = "onednn"};
    char path[512];
    const char *root;

    for (int i = 1; i < n_arguments; i++) {
        if (strcmp(arguments[i], "--table") == 0)
            o.table = true;
        else if (strcmp(arguments[i], "--reference") == 0)
            o.reference = true;
        else if (strcmp(arguments[i], "--backend") == 0 && i + 1 < n_arguments)
            o.backend = arguments[++i];
        else
            o.only = arguments[i];
    }
    root = find_data(path, sizeof path);
    if (!root || access(root, R_OK) != 0) {
        skip("conformance cases", "libonnx-testdata is not installed");
        return done_testing();
    }
    o.root_length = strlen(root);
    for (int s = 0; s < 4; s++)
        try_suite(tallies, root, s, &o);
    for (enum pass pass = LAYERS; pass <= CONSTANTS; pass++) {
        if (pass == CONSTANTS)
            printf(o.table ? "\nOn constants:\n\n" : "#\n# on constants:\n");
        print_table(&tallies[pass], o.table);
    }
    print_claimed(o.table ? "" : "# ");
    if (o.table)
        return tallies[LAYERS].total[FAILED] + tallies[CONSTANTS].total[FAILED] > 0;
    check_tally(&tallies[LAYERS], "", o.only || strcmp(o.backend, "onednn") != 0 ? 0 : 200);
    check_tally(&tallies[CONSTANTS], " on constants", o.only ? 0 : 200);
    return done_testing();
}
