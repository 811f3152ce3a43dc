/*
 * Model texts are read or refused with the line and the reason; inputs of other shapes, files, and
 * texts that were mutated at random are handled too.
 */
#include "support/tap.h"
#include "vbslab/model.h"

#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD "model m\ninput 3x8x8\n" /* operators begin on line 3 */

static enum vbs_status parse(struct vbs_ctx *ctx, const char *text, size_t length)
{
    struct vbs_network *network = NULL;
    enum vbs_status status = vbs_network_parse(ctx, "t.net", text, length, NULL, &network);

    vbs_network_free(network);
    return status;
}

/* Malformed texts and their messages. */
static const char *const REFUSED[][2] = {
    /* headers */
    {"", "t.net: the text ends without any operator"},
    {"# nothing\n", "t.net:1: the text ends without any operator"},
    {HEAD, "t.net:2: the text ends without any operator"},
    {"model\n", "t.net:1: a model's name is one word: model NAME"},
    {"model a b\n", "t.net:1: a model's name is one word: model NAME"},
    {"model m\nmodel n\n", "t.net:2: 'model' is given twice"},
    {"model m\nabout a\nabout a\n", "t.net:3: 'about' is given twice"},
    {"model m\nrelu r\n",
     "t.net:2: 'input SHAPE' must stand above the operators, as in input 3x224x224"},
    {"input 3x8x8\nrelu r\n", "t.net:2: 'model NAME' must stand above the operators"},
    {HEAD "relu r\nabout me\n", "t.net:4: 'about' must stand above the first operator"},
    {"model m\ninput\n", "t.net:2: an input is one shape, as in input 3x224x224"},
    {"model m\ninput 3x8x8 float\n", "t.net:2: an input is one shape, as in input 3x224x224"},
    {"model m\ninput 3x0x8\n", "t.net:2: '3x0x8' is not a shape; write channels and up to three "
                               "sizes above 0, as 3x224x224"},
    {"model m\ninput -3x8x8\n", "t.net:2: '-3x8x8' is not a shape; write channels and up to three "
                                "sizes above 0, as 3x224x224"},
    {"model m\ninput 3x8x8x8x8\n", "t.net:2: input 3x8x8x8x8 has more than 3 spatial dimensions"},
    {"model m\ninput 3x8x\n", "t.net:2: '3x8x' is not a shape; write channels and up to three "
                              "sizes above 0, as 3x224x224"},
    {"model m\ninput 3x100000x1000000\n",
     "t.net:2: shape '3x100000x1000000' is too large; it may have 2^36 elements"},
    {"model m\ninput 99999999999999999999999\n",
     "t.net:2: shape '99999999999999999999999' is too large; it may have 2^36 elements"},
    /* operators, names, keys */
    {HEAD "conf c out=4 kernel=1\n", "t.net:3: unknown operator 'conf'; did you mean 'conv'?"},
    {HEAD "transmogrify c\n", "t.net:3: unknown operator 'transmogrify'"},
    {HEAD "Conv c out=4 kernel=1\n", "t.net:3: unknown operator 'Conv'; did you mean 'conv'?"},
    {HEAD "relu\n", "t.net:3: 'relu' needs a name without '=' and ',' before its keys"},
    {HEAD "conv out=4 kernel=1\n",
     "t.net:3: 'conv' needs a name without '=' and ',' before its keys"},
    {HEAD "relu a,b\n", "t.net:3: 'relu' needs a name without '=' and ',' before its keys"},
    {HEAD "relu input\n", "t.net:3: name 'input' stands for the network's input"},
    {HEAD "relu r\nlrn x size=5 alpha=1 beta=1\nrelu r\n", "t.net:5: name 'r' is taken by line 3"},
    {HEAD "conv c out=4 kernal=1\n", "t.net:3: unknown key 'kernal'; did you mean 'kernel'?"},
    {HEAD "conv c out=4 zzzzzzzzz=1\n", "t.net:3: unknown key 'zzzzzzzzz'"},
    {HEAD "conv c out=4 =1\n", "t.net:3: unknown key ''"},
    {HEAD "conv c out=4 kernel\n", "t.net:3: 'kernel' is not key=value"},
    {HEAD "conv c out=4 kernel=\n", "t.net:3: 'kernel' has no value; write it as kernel=3"},
    {HEAD "conv c kernel=3\n", "t.net:3: 'conv' needs 'out', as in out=64"},
    {HEAD "conv c out=4\n", "t.net:3: 'conv' needs 'kernel', as in kernel=3"},
    {HEAD "lrn n size=5 alpha=1\n", "t.net:3: 'lrn' needs 'beta', as in beta=0.75"},
    {HEAD "conv c out=4 kernel=1 out=4\n", "t.net:3: 'out' is given twice"},
    {HEAD "relu r kernel=3\n", "t.net:3: 'relu' takes no 'kernel'"},
    {HEAD "conv c out=4 kernel=1 round=up\n", "t.net:3: 'conv' takes no 'round'"},
    {HEAD "maxpool p kernel=2 count_pad=yes\n", "t.net:3: 'maxpool' takes no 'count_pad'"},
    /* numbers */
    {HEAD "fc f out=0\n", "t.net:3: out 0 is out of range; it goes from 1 to 2147483647"},
    {HEAD "fc f out=-4\n", "t.net:3: out -4 is out of range; it goes from 1 to 2147483647"},
    {HEAD "fc f out=2147483648\n",
     "t.net:3: out 2147483648 is out of range; it goes from 1 to 2147483647"},
    {HEAD "fc f out=99999999999999999999\n",
     "t.net:3: out 99999999999999999999 is out of range; it goes from 1 to 2147483647"},
    {HEAD "fc f out=4.5\n", "t.net:3: out '4.5' is not a whole number"},
    {HEAD "fc f out=0x10\n", "t.net:3: out '0x10' is not a whole number"},
    {HEAD "fc f out=1111111111111111111111111111111111111111111111111111\n",
     "t.net:3: out '1111111111111111111111111111111111111111...' is not a whole number"},
    {HEAD "conv c out=4 kernel=3x\n", "t.net:3: kernel '' is not a whole number"},
    {HEAD "conv c out=4 kernel=3x3x3x3\n", "t.net:3: kernel has more than 3 values"},
    {HEAD "conv c out=4 kernel=3x3x3\n",
     "t.net:3: kernel has 3 values, but the input has 2 spatial dimensions"},
    {HEAD "conv c out=4 kernel=1 stride=0\n",
     "t.net:3: stride 0 is out of range; it goes from 1 to 2147483647"},
    {HEAD "conv c out=4 kernel=1 pad=-1\n",
     "t.net:3: pad -1 is out of range; it goes from 0 to 2147483647"},
    {HEAD "conv c out=4 kernel=1 pad=1:\n", "t.net:3: pad '' is not a whole number"},
    {HEAD "conv c out=4 kernel=1 pad=0:1x1x1\n",
     "t.net:3: pad has 3 values, but the input has 2 spatial dimensions"},
    {HEAD "conv c out=4 kernel=1 bias=true\n", "t.net:3: bias is 'yes' or 'no', not 'true'"},
    {HEAD "maxpool p kernel=2 round=ceil\n", "t.net:3: round is 'up' or 'down', not 'ceil'"},
    {HEAD "lrn n size=5 alpha=nan beta=1\n", "t.net:3: alpha 'nan' is not a decimal number"},
    {HEAD "lrn n size=5 alpha=1e999 beta=1\n", "t.net:3: alpha '1e999' is not a decimal number"},
    {HEAD "lrn n size=5 alpha=1,5 beta=1\n", "t.net:3: alpha '1,5' is not a decimal number"},
    {HEAD "lrn n size=4 alpha=1 beta=1\n", "t.net:3: LRN size 4 is not odd and above 0"},
    {HEAD "lrn n size=5 alpha=-1 beta=1\n",
     "t.net:3: LRN needs alpha and beta of at least 0 and k above 0, all finite"},
    /* shapes */
    {HEAD "conv c out=4 kernel=9\n",
     "t.net:3: kernel spans 9, more than the 8 of its padded input"},
    {HEAD "conv c out=4 kernel=2147483647\n",
     "t.net:3: kernel spans 2147483647, more than the 8 of its padded input"},
    {HEAD "conv c out=4 kernel=2147483647 dilation=2147483647\n",
     "t.net:3: kernel spans 4611686011984936963, more than the 8 of its padded input"},
    {HEAD "conv c out=4 kernel=3 dilation=4\n",
     "t.net:3: kernel spans 9, more than the 8 of its padded input"},
    {HEAD "maxpool p kernel=3 pad=3\n",
     "t.net:3: padding 3 leaves windows of kernel 3 without input"},
    {HEAD "avgpool p kernel=global pad=1\n", "t.net:3: kernel=global takes no pad"},
    {HEAD "conv c out=4 kernel=1 groups=2\n",
     "t.net:3: 2 groups do not divide 3 input and 4 output channels"},
    {HEAD "fc f out=10\nmaxpool p kernel=1\n",
     "t.net:4: 'maxpool' needs spatial dimensions; its input has shape 10"},
    {HEAD "conv a out=4 kernel=1\nconv b out=5 kernel=1 from=input\nadd s from=a,b\n",
     "t.net:5: shapes of the inputs differ: 4x8x8 and 5x8x8"},
    {HEAD "conv a out=4 kernel=1\nmaxpool b kernel=2 from=input\nconcat s from=a,b\n",
     "t.net:5: sizes beside channels differ: 4x8x8 and 3x7x7"},
    {HEAD "conv a out=2147483647 kernel=1 pad=99\n",
     "t.net:3: output is larger than 2^36 elements"},
    {HEAD "conv a out=4 kernel=1 pad=2147483647\n", "t.net:3: output is larger than 2^36 elements"},
    {"model m\ninput 4194304\nfc f out=2147483647\n", "t.net:3: more than 2^36 parameters"},
    {"model m\ninput 1x131072x131072\nconv c out=1 kernel=65536 pad=32767\n",
     "t.net:3: more than 2^50 multiply-accumulates per sample"},
    /* edges */
    {HEAD "relu r from=q\n", "t.net:3: no input 'q'"},
    {HEAD "conv conv1 out=4 kernel=1\nrelu r from=conv\n",
     "t.net:4: no input 'conv'; did you mean 'conv1'?"},
    {HEAD "relu r from=r\n", "t.net:3: 'r' reads itself"},
    {HEAD "relu a from=b\nrelu b from=a\n",
     "t.net:3: input 'b' stands only on line 4; operators read what is above them"},
    {HEAD "relu a from=\n", "t.net:3: 'from' has no value; write it as from=a,b"},
    {HEAD "conv a out=4 kernel=1\nconcat c from=a,\n",
     "t.net:4: 'from' has an empty name among its inputs"},
    {HEAD "conv a out=3 kernel=1\nadd s from=a\n", "t.net:4: 'add' takes 2 inputs, not 1"},
    {HEAD "conv a out=3 kernel=1\nadd s\n", "t.net:4: 'add' needs 'from', as in from=a,b"},
    {HEAD "conv a out=3 kernel=1\nadd s from=a,a\n", "t.net:4: input 'a' is named twice"},
    {HEAD "conv a out=3 kernel=1\nrelu s from=a,input\n", "t.net:4: 'relu' takes 1 input, not 2"},
    /* bytes */
    {HEAD "relu caf\xe9\n", "t.net:3: byte 0xe9 is not UTF-8"},
    {HEAD "relu \xc0\xaf\n", "t.net:3: byte 0xc0 is not UTF-8"},
    {HEAD "relu \xed\xa0\x80\n", "t.net:3: byte 0xed is not UTF-8"},
    {HEAD "relu \xf4\x90\x80\x80\n", "t.net:3: byte 0xf4 is not UTF-8"},
    {HEAD "relu \xe2\x82", "t.net:3: byte 0xe2 is not UTF-8"},
    {HEAD "relu a\x1b[2J\n", "t.net:3: control character, of 1 byte from 0x1b"},
    {HEAD "relu a\xe2\x80\xae\n", "t.net:3: control character, of 3 bytes from 0xe2"},
    {HEAD "relu a\xc2\x85\n", "t.net:3: control character, of 2 bytes from 0xc2"},
    /* cut off */
    {HEAD "conv c out=4 ker", "t.net:3: 'ker' is not key=value"},
    {HEAD "con", "t.net:3: unknown operator 'con'; did you mean 'conv'?"},
};

static void check_refused(void)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        struct vbs_ctx ctx = {0};
        enum vbs_status status = parse(&ctx, REFUSED[i][0], strlen(REFUSED[i][0]));
        char name[400];

        snprintf(name, sizeof name, "refused: %s", REFUSED[i][1]);
        is_str(status == VBS_FORMAT ? ctx.detail : vbs_status_text(status), REFUSED[i][1], name);
    }
}

static void check_accepted(void)
{
    static const char *const TEXTS[] = {
        HEAD "relu r",                                       /* no end of line */
        "\n\n  model\tm \r\n\r\n input 3x8x8\r\nrelu r\r\n", /* blanks, ends of lines of DOS */
        "input 3x8x8\nmodel m # no keys\nrelu r # x=y from=z\n",
        HEAD "relu $(x)'\"`;\\\n", /* names are data */
        HEAD "relu caf\xc3\xa9/\xe5\xb1\xa4\xf0\x9f\x98\x80\n",
        HEAD "conv model out=1 kernel=1\nrelu about\n", /* words are no names */
        HEAD "concat c from=input\n",                   /* one input is enough */
        "model m\ninput 10\nfc f out=3\nsoftmax s\n",   /* no spatial dimensions */
        "model m\ninput 2x9\nconv c out=3 kernel=3\navgpool g kernel=global\n",
        HEAD "lrn n size=5 alpha=1e-4 beta=.75 k=2.\n",
    };

    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct vbs_ctx ctx = {0};

        ok(parse(&ctx, TEXTS[i], strlen(TEXTS[i])) == VBS_OK, "accepted: text %zu (%s)", i,
           ctx.detail);
    }
    ok(parse(NULL, HEAD "fc f\n", strlen(HEAD) + 5) == VBS_FORMAT, "the context may be null");
}

static void check_nul(void)
{
    static const char TEXT[] = HEAD "relu r\0\nrelu s\n";
    struct vbs_ctx ctx = {0};

    ok(parse(&ctx, TEXT, sizeof TEXT - 1) == VBS_FORMAT, "a zero byte is refused");
    is_str(ctx.detail, "t.net:3: control character, of 1 byte from 0x00", "and said to be one");
}

/* Makes HEAD and count lines that end in their number. */
static char *repeat(int count, const char *line)
{
    size_t size = strlen(HEAD) + (size_t)count * 64 + 1, used;
    char *text = malloc(size);

    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, HEAD);
    for (int i = 1; i <= count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d\n", line, i);
    return text;
}

static void check_layers_limit(void)
{
    struct vbs_ctx ctx = {0};
    char *text = repeat(VBS_MAX_LAYERS, "softmax s");

    ok(text && parse(&ctx, text, strlen(text)) == VBS_OK, "%d layers are accepted", VBS_MAX_LAYERS);
    free(text);
    text = repeat(VBS_MAX_LAYERS + 1, "softmax s");
    ok(text && parse(&ctx, text, strlen(text)) == VBS_FORMAT, "one more is refused");
    is_str(ctx.detail, "t.net:4099: 's4097' is one layer too many; a network has at most 4096",
           "with its line");
    free(text);
    text = repeat(20000, "relu r");
    ok(text && parse(&ctx, text, strlen(text)) == VBS_OK, "in-place operators are no layers");
    free(text);
}

static void check_long_names(void)
{
    char name[400], text[1000];
    struct vbs_ctx ctx = {0};

    memset(name, 'n', sizeof name);
    name[255] = '\0';
    snprintf(text, sizeof text, HEAD "relu %s\n", name);
    ok(parse(&ctx, text, strlen(text)) == VBS_OK, "a name of 255 bytes is accepted");
    name[255] = 'n';
    name[256] = '\0';
    snprintf(text, sizeof text, HEAD "relu %s\n", name);
    ok(parse(&ctx, text, strlen(text)) == VBS_FORMAT, "a name of 256 bytes is refused");
    is_str(ctx.detail,
           "t.net:3: name 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...' is longer than 255 bytes",
           "with its beginning");
}

static void check_long_text(void)
{
    struct vbs_ctx ctx = {0};
    char *text = malloc(VBS_MAX_MODEL_TEXT + 1);

    if (!text)
        return;
    memset(text, '\n', VBS_MAX_MODEL_TEXT + 1);
    ok(parse(&ctx, text, VBS_MAX_MODEL_TEXT + 1) == VBS_FORMAT &&
           strstr(ctx.detail, "1048576 bytes"),
       "a text above 1 MiB is refused: %s", ctx.detail);
    free(text);
}

static void check_long_source(void)
{
    struct vbs_network *network;
    struct vbs_ctx ctx = {0};
    char source[600];
    enum vbs_status status;

    memset(source, 'p', sizeof source);
    strcpy(source + sizeof source - 7, "/x.net");
    status = vbs_network_parse(&ctx, source, "foo", 3, NULL, &network);
    ok(status == VBS_FORMAT && strstr(ctx.detail, "/x.net:1: unknown operator 'foo'"),
       "a long path leaves room for the reason");
}

static void check_locale(void)
{
    struct vbs_ctx ctx = {0};

    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        skip("numbers are read alike in every locale", "no de_DE.UTF-8 here");
        return;
    }
    ok(parse(&ctx, HEAD "lrn n size=5 alpha=0.5 beta=0.75\n", strlen(HEAD) + 33) == VBS_OK,
       "numbers are read alike in every locale");
    setlocale(LC_NUMERIC, "C");
}

static void check_shape_text(void)
{
    static const char *const WRONG[] = {"",
                                        "x",
                                        "3x",
                                        "x3",
                                        "3xx8",
                                        "3X8",
                                        "3x8 ",
                                        "0",
                                        "3,8",
                                        "+3",
                                        "1x2x3x4x5x6x7x8x9",
                                        "4294967296x8",
                                        "2147483647x2147483647x9"};
    struct vbs_shape shape = {.n_dims = 7};
    struct vbs_ctx ctx = {0};
    char text[64];

    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++)
        ok(vbs_shape_parse(&ctx, WRONG[i], &shape) == VBS_USAGE && shape.n_dims == 7,
           "no shape: '%s'", WRONG[i]);
    ok(vbs_shape_parse(&ctx, "3x16x320x240", &shape) == VBS_OK, "a clip's shape is read");
    is_str(vbs_shape_format(&shape, text, sizeof text), "3x16x320x240", "and written alike");
    is_int(vbs_shape_elements(&shape), INT64_C(3) * 16 * 320 * 240, "with its elements");
    is_str(vbs_shape_format(&shape, text, 5), "3x16", "and cut where the buffer ends");
}

static void check_input_override(void)
{
    struct vbs_shape small = {.n_dims = 3, .dim = {3, 8, 8}}, flat = {.n_dims = 1, .dim = {8}};
    struct vbs_shape none = {0};
    struct vbs_network *network;
    struct vbs_ctx ctx = {0};

    ok(vbs_network_load(&ctx, "alexnet", &small, &network) == VBS_USAGE,
       "an input that is too small is the caller's mistake");
    is_str(ctx.detail,
           "input 3x8x8 does not suit the model: alexnet: layer 'conv1': kernel spans 11, more "
           "than the 8 of its padded input",
           "and said where");
    ok(vbs_network_load(&ctx, "alexnet", &flat, &network) == VBS_USAGE,
       "an input of other dimensions, too");
    is_str(ctx.detail,
           "input 8 does not suit the model: alexnet: the model's input 3x227x227 has 3 "
           "dimensions, not 1",
           "without the line of a text that is not at hand");
    ok(vbs_network_load(&ctx, "alexnet", &none, &network) == VBS_USAGE, "or of none");
    ok(vbs_network_parse(&ctx, "t.net", "foo\n", 4, &small, &network) == VBS_FORMAT,
       "a malformed text stays the text's");
    is_str(ctx.detail, "t.net:1: unknown operator 'foo'; did you mean 'fc'?",
           "and is said with its line");
}

static void check_load(void)
{
    char path[] = "/tmp/vbslab-model-XXXXXX.net";
    int fd = mkstemps(path, 4);
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_network_load(&ctx, "gogglenet", NULL, &network) == VBS_NOT_FOUND,
       "an unknown model is not found");
    is_str(ctx.detail, "no network 'gogglenet'; did you mean 'googlenet'?", "the nearest is named");
    ok(vbs_network_load(&ctx, "/etc/passwd", NULL, &network) == VBS_NOT_FOUND,
       "a path that does not end in .net is no model");
    ok(vbs_network_load(&ctx, "/nowhere/a.onnx", NULL, &network) == VBS_IO,
       "so is a missing ONNX file: %s", ctx.detail);
    ok(vbs_network_load(&ctx, "/nowhere/a.net", NULL, &network) == VBS_IO,
       "a missing file is said to be: %s", ctx.detail);
    ok(vbs_network_load(&ctx, ".net", NULL, &network) == VBS_NOT_FOUND, "an ending is no path");
    if (fd < 0) {
        skip("a file is read", "/tmp cannot be written");
        return;
    }
    ok(write(fd, HEAD "relu r\n", strlen(HEAD) + 7) > 0 && close(fd) == 0 &&
           vbs_network_load(&ctx, path, NULL, &network) == VBS_OK && network->n_layers == 1,
       "a file is read");
    vbs_network_free(network);
    unlink(path);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

#define ROOM 20000 /* bytes of a mutated text */

/* Replaces part of text by bytes of with. */
static void splice(char *text, size_t *length, size_t at, size_t cut, const char *with, size_t n)
{
    char held[256]; /* with may be part of text */

    n = n > sizeof held ? sizeof held : n;
    cut = cut > *length - at ? *length - at : cut;
    if (*length - cut + n > ROOM)
        return;
    memcpy(held, with, n);
    memmove(text + at + n, text + at + cut, *length - at - cut);
    memcpy(text + at, held, n);
    *length += n - cut;
}

static void mutate(char *text, size_t *length, uint64_t *state)
{
    static const char *const TOKENS[] = {
        "0",           "-1",
        "1",           "2147483647",
        "2147483648",  "99999999999999999999",
        "1x1x1",       "global",
        "=",           ",",
        "#",           "\n",
        " ",           "\0",
        "\xff",        "input",
        "from=input",  "conv x out=3 kernel=3\n",
        "kernel=1",    "stride=65535",
        "pad=1:2",     "groups=3",
        "add s from=", "e308",
        "model",       "x",
    };
    size_t at = *length ? next(state) % *length : 0;
    char byte = (char)next(state);
    const char *token = TOKENS[next(state) % (sizeof TOKENS / sizeof TOKENS[0])];

    switch (next(state) % 6) {
    case 0:
        splice(text, length, at, 1, &byte, 1);
        break;
    case 1:
        splice(text, length, at, next(state) % 40, "", 0);
        break;
    case 2: /* part of the text, again elsewhere */
        splice(text, length, at, 0, text + next(state) % (*length / 2 + 1), next(state) % 100);
        break;
    case 3:
        *length = next(state) % 8 ? *length : at;
        break;
    default:
        splice(text, length, at, next(state) % 6, token, token[0] ? strlen(token) : 1);
        break;
    }
}

/* Checks the promises that model.h makes for every network. */
static bool is_sound(const struct vbs_network *network)
{
    bool sound = network->n_layers >= 1 && network->n_layers <= VBS_MAX_LAYERS;

    for (int k = 1; k <= network->n_layers && sound; k++) {
        const struct vbs_layer *layer = &network->layers[k];

        for (int i = 0; i < layer->n_inputs; i++) {
            sound = sound && layer->inputs[i] >= 0 && layer->inputs[i] < k;
            for (int j = 0; j < i; j++)
                sound = sound && layer->inputs[i] != layer->inputs[j];
        }
        for (int i = 0; i < layer->shape.n_dims; i++)
            sound = sound && layer->shape.dim[i] > 0 && layer->shape.dim[i] <= VBS_MAX_DIM;
        sound = sound && vbs_shape_elements(&layer->shape) <= VBS_MAX_ELEMENTS &&
                layer->parameters >= 0 && layer->parameters <= VBS_MAX_ELEMENTS &&
                layer->macs >= 0 && layer->macs <= VBS_MAX_MACS &&
                vbs_network_in_bytes(network, k) > 0 && layer->name[0] != '\0' &&
                strlen(layer->name) < VBS_MAX_NAME;
        for (int i = 0; i < layer->n_fused; i++)
            sound = sound && layer->fused[i].name[0] != '\0';
    }
    return sound;
}

static bool is_explained(const struct vbs_ctx *ctx)
{
    for (const char *c = ctx->detail; *c; c++)
        if ((unsigned char)*c < 0x20)
            return false;
    return strncmp(ctx->detail, "t.net:", 6) == 0;
}

static void check_mutations(void)
{
    static char text[ROOM + 256];
    uint64_t state = 20240607;
    int accepted = 0, refused = 0, wrong = 0;

    for (int i = 0; i < 5000; i++) {
        const char *original = vbs_model_text((int)(next(&state) % (uint64_t)vbs_model_count()));
        size_t length = strlen(original);
        struct vbs_network *network;
        struct vbs_ctx ctx = {0};
        enum vbs_status status;

        memcpy(text, original, length);
        for (uint64_t n = 1 + next(&state) % 4; n > 0; n--)
            mutate(text, &length, &state);
        status = vbs_network_parse(&ctx, "t.net", text, length, NULL, &network);
        accepted += status == VBS_OK;
        refused += status == VBS_FORMAT;
        wrong +=
            status == VBS_OK ? !is_sound(network) : status != VBS_FORMAT || !is_explained(&ctx);
        if (status == VBS_OK) {
            (void)vbs_network_hash(network);
            vbs_network_free(network);
        }
    }
    ok(wrong == 0, "5000 mutated texts are read soundly or refused with a reason (seed 20240607)");
    ok(accepted > 100 && refused > 1000, "of both kinds: %d and %d", accepted, refused);
}

static void check_truncations(void)
{
    const char *text = vbs_model_text(0);
    int wrong = 0;

    for (size_t length = 0; length <= strlen(text); length++) {
        char *cut = malloc(length + 1); /* no byte more, so that a sanitizer sees reads beyond */
        struct vbs_ctx ctx = {0};
        enum vbs_status status;

        if (!cut)
            return;
        memcpy(cut, text, length);
        status = parse(&ctx, cut, length);
        wrong += status != VBS_OK && (status != VBS_FORMAT || ctx.detail[0] == '\0');
        free(cut);
    }
    is_int(wrong, 0, "every beginning of a text is read or refused");
}

int main(void)
{
    check_refused();
    check_accepted();
    check_nul();
    check_layers_limit();
    check_long_names();
    check_long_text();
    check_long_source();
    check_locale();
    check_shape_text();
    check_input_override();
    check_load();
    check_truncations();
    check_mutations();
    return done_testing();
}
