/* Files of TOML become JSON values in the order of the file, and hostile ones are refused with the
 * line of the fault. */
#include "base/toml.h"

#include "base/json.h"
#include "support/tap.h"

#include <stdlib.h>
#include <unistd.h>

/* Checks what a text becomes, as compact JSON; null: it is refused, and the detail has why. */
static void check_text(const char *text, size_t length, const char *json, const char *why)
{
    struct vbs_ctx ctx = {0};
    json_t *const untouched = (json_t *)(void *)&ctx;
    json_t *root = untouched;
    enum vbs_status status = vbs_toml_parse(&ctx, "t.toml", text, length, &root);

    if (json) {
        struct vbs_text shown = {0};

        ok(status == VBS_OK, "a text is read: %s", vbs_detail(&ctx));
        vbs_text_add_json(&shown, status == VBS_OK ? root : NULL, JSON_COMPACT);
        is_str(shown.data, json, "... with these members");
        vbs_text_clear(&shown);
    } else {
        ok(status == VBS_FORMAT && root == untouched && strstr(vbs_detail(&ctx), why),
           "%s is refused: %s", why, vbs_detail(&ctx));
    }
    if (status == VBS_OK)
        json_decref(root);
}

static void check(const char *text, const char *json, const char *why)
{
    check_text(text, strlen(text), json, why);
}

static void check_values(void)
{
    check("", "{}", NULL);
    check("z = 1\na = 2.5\nm = \"x\"\nb = [true, ['y']]\n",
          "{\"z\":1,\"a\":2.5,\"m\":\"x\",\"b\":[true,[\"y\"]]}", NULL);
    check("[z]\nk = { q = 1, a = -9223372036854775808 }\n[[t]]\nn = 1\n[[t]]\nn = 0x10\n",
          "{\"z\":{\"k\":{\"q\":1,\"a\":-9223372036854775808}},\"t\":[{\"n\":1},{\"n\":16}]}",
          NULL);
    check("\xef\xbb\xbf\"\xd1\x9d\" = '\xd1\x9d' # \xd1\x9d\n", "{\"\xd1\x9d\":\"\xd1\x9d\"}",
          NULL);
    check("a.b.c = '''\nx\"y'''\n\"a b\".\"c.d\" = 1e3\n",
          "{\"a\":{\"b\":{\"c\":\"x\\\"y\"}},\"a b\":{\"c.d\":1000.0}}", NULL);
    check("s = \"\"\"a\"\"\"\"\" # two more marks belong to the text\nt = '#.'\n",
          "{\"s\":\"a\\\"\\\"\",\"t\":\"#.\"}", NULL);
}

static void check_refusals(void)
{
    check("a = 1\nb = \n", NULL, "t.toml:2:");
    check("a = 1\na = 2\n", NULL, "t.toml:2:");
    check("d = 1979-05-27\n", NULL, "t.toml:1:5: dates and times");
    check("x = 1\n[t]\nd = [07:32:00]\n", NULL, "t.toml:3:6: dates and times");
    check("f = [1.0,\n inf]\n", NULL, "t.toml:2:2: a number is not finite");
    check("f = nan\n", NULL, "a number is not finite");
    check("i = 9223372036854775808\n", NULL, "t.toml:1:");
    check("s = \"a\\u0000b\"\n", NULL, "a text has a zero byte");
    check("\"a\\u0000b\" = 1\n", NULL, "a key has a zero byte");
    check("s = \"\\u0001\xff\"\n", NULL, "t.toml:1:");
    check("[a]\nb = { c = [", NULL, "t.toml:2:");
    check("a = 1\n[= 2]\n", NULL, "t.toml: this is no TOML");
    check("a = 1\n[0\xd1\x9d]\n", NULL, "t.toml:2:3: ");
    check("s = \"cut", NULL, "t.toml:1:");
    check("s = '''cut\n\n", NULL, "t.toml:");
    check_text("a = 1\n\0b = 2\n", 12, NULL, "t.toml:2:");
    check_text("# \0\n", 4, NULL, "t.toml:1:");
}

/* Files of the largest size that are all one thing. */
static void check_large(void)
{
    static const struct {
        const char *begin, *unit, *why;
    } CASES[] = {
        {"a = ", "[", "t.toml:1:"},
        {"a = ", "{a=", "t.toml:1:"},
        {"", "a.", "t.toml:1:32: a key has too many names"},
        {"[", "a.", "too many names"},
        {"[[", "'a'.", "too many names"},
        {"a={a=\"\"\"\"\"\"\"\",", "a . ", "too many names"},
        {"a=[{", "\"\".\t", "too many names"},
        {"a=['''''',{", "\"\\\"\".", "too many names"},
        {"#", "[.=\"", NULL},
        {"", "[[a]]\n", NULL},
    };
    char *text = malloc(VBS_TOML_MAX_BYTES);

    if (!text)
        bail_out("no memory");
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        size_t n = strlen(CASES[i].begin), unit = strlen(CASES[i].unit);
        struct vbs_ctx ctx = {0};
        json_t *root = NULL;
        enum vbs_status status;

        memcpy(text, CASES[i].begin, n);
        for (; n + unit <= VBS_TOML_MAX_BYTES; n += unit)
            memcpy(text + n, CASES[i].unit, unit);
        status = vbs_toml_parse(&ctx, "t.toml", text, n, &root);
        if (CASES[i].why)
            ok(status == VBS_FORMAT && !root && strstr(vbs_detail(&ctx), CASES[i].why),
               "a file of %s%s%s... is refused: %s", CASES[i].begin, CASES[i].unit, CASES[i].unit,
               vbs_detail(&ctx));
        else
            ok(status == VBS_OK && root, "a file of %s%.3s... is read: %s", CASES[i].begin,
               CASES[i].unit, vbs_detail(&ctx));
        json_decref(root);
    }
    free(text);
}

static void check_files(void)
{
    char path[] = "/tmp/vbslab-toml-XXXXXX";
    int file = mkstemp(path);
    struct vbs_ctx ctx = {0};
    json_t *root = NULL;

    ok(vbs_toml_read(&ctx, "/nowhere/x.toml", &root) == VBS_IO && !root &&
           strstr(vbs_detail(&ctx), "/nowhere/x.toml"),
       "a file that is not there is named");
    if (file < 0 || write(file, "a = 1\n", 6) != 6)
        bail_out("no file");
    ok(vbs_toml_read(&ctx, path, &root) == VBS_OK &&
           json_integer_value(json_object_get(root, "a")) == 1,
       "a file is read");
    json_decref(root);
    if (ftruncate(file, (off_t)VBS_TOML_MAX_BYTES + 1) != 0)
        bail_out("no file");
    ok(vbs_toml_read(&ctx, path, &root) == VBS_FORMAT, "a larger one is refused: %s",
       vbs_detail(&ctx));
    close(file);
    unlink(path);
}

static void check_keys(void)
{
    static const char *const NAMES[] = {"model", "memory", "planner"};
    struct vbs_ctx ctx = {0};
    json_t *object = json_pack("{s:i,s:i}", "memory", 1, "model", 2);

    ok(vbs_json_check_keys(&ctx, "f: [study]", object, NAMES, 3) == VBS_OK, "known keys are taken");
    json_object_set_new(object, "planer", json_true());
    ok(vbs_json_check_keys(&ctx, "f: [study]", object, NAMES, 3) == VBS_FORMAT,
       "an unknown one is refused");
    is_str(vbs_detail(&ctx), "f: [study] has no key 'planer': did you mean 'planner'?",
           "... with the nearest name");
    json_object_del(object, "planer");
    json_object_set_new(object, "zzzzzz", json_true());
    ok(vbs_json_check_keys(&ctx, "f", object, NAMES, 3) == VBS_FORMAT, "and one like none");
    is_str(vbs_detail(&ctx), "f has no key 'zzzzzz': the keys are model, memory and planner",
           "... with all names");
    json_decref(object);
}

int main(void)
{
    check_values();
    check_refusals();
    check_large();
    check_files();
    check_keys();
    return done_testing();
}
