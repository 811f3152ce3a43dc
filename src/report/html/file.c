/*
 * The HTML file of a page.
 *
 * The JSON stands in a script element of type application/json, which a browser does not run. Every
 * "<", ">" and "&" in it is written as \u003c, \u003e and \u0026, so that no name ends the element.
 * The scripts make text nodes of names, never markup. The page also forbids itself every request by
 * its Content-Security-Policy, which allows only its own scripts by their hashes.
 */
#include "report/html/html.h"

#include "base/embedded.h"
#include "base/fail.h"
#include "base/sha256.h"

#include <nettle/base64.h>

#include <string.h>

/* The files of pages, in the order in which the Makefile embeds them. */
extern const struct vbs_embedded vbs_page_files[];
enum page_file {
    PAGE_TEMPLATE,
    PAGE_STYLE,
    PAGE_D3,
    PAGE_SHARED,
    PAGE_BODIES, /* of each form a body and a script */
};

struct vbs_page_parts {
    enum vbs_page_form form;
    const struct vbs_text *json;
};

/* Appends JSON so that HTML sees no markup in it: outside of strings it has none of these
 * characters. */
static void add_guarded(struct vbs_text *out, const struct vbs_text *json)
{
    const char *at = json->data, *end = json->data + json->length;

    while (at < end) {
        size_t plain = strcspn(at, "<>&");

        vbs_text_add_bytes(out, at, plain);
        at += plain;
        if (at < end)
            vbs_text_addf(out, "\\u%04x", (unsigned)*at++);
    }
}

/* Appends the hash of a script as a Content-Security-Policy has it. */
static void add_hash(struct vbs_text *out, const struct vbs_embedded *script)
{
    unsigned char digest[VBS_SHA256_BYTES];
    char text[BASE64_ENCODE_RAW_LENGTH(VBS_SHA256_BYTES)];
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, script->text, script->length);
    vbs_sha256_end(&hash, digest);
    base64_encode_raw(text, sizeof digest, digest);
    vbs_text_addf(out, "'sha256-%.*s'", (int)sizeof text, text);
}

static const struct vbs_embedded *body_of(enum vbs_page_form form)
{
    return &vbs_page_files[PAGE_BODIES + 2 * (int)form];
}

static const struct vbs_embedded *script_of(enum vbs_page_form form)
{
    return &vbs_page_files[PAGE_BODIES + 2 * (int)form + 1];
}

/* Appends what stands for a name between {{ and }} in the template. */
static void add_part(struct vbs_text *out, const struct vbs_page_parts *parts, const char *name,
                     size_t length)
{
    if (strncmp(name, "hashes", length) == 0) {
        add_hash(out, &vbs_page_files[PAGE_D3]);
        vbs_text_add(out, " ");
        add_hash(out, &vbs_page_files[PAGE_SHARED]);
        vbs_text_add(out, " ");
        add_hash(out, script_of(parts->form));
    } else if (strncmp(name, "style", length) == 0)
        vbs_text_add(out, vbs_page_files[PAGE_STYLE].text);
    else if (strncmp(name, "body", length) == 0)
        vbs_text_add(out, body_of(parts->form)->text);
    else if (strncmp(name, "d3", length) == 0)
        vbs_text_add(out, vbs_page_files[PAGE_D3].text);
    else if (strncmp(name, "shared", length) == 0)
        vbs_text_add(out, vbs_page_files[PAGE_SHARED].text);
    else if (strncmp(name, "script", length) == 0)
        vbs_text_add(out, script_of(parts->form)->text);
    else
        add_guarded(out, parts->json);
}

enum vbs_status vbs_page_write_file(struct vbs_ctx *ctx, enum vbs_page_form form,
                                    const struct vbs_text *json, const char *path)
{
    const struct vbs_page_parts parts = {form, json};
    const char *at = vbs_page_files[PAGE_TEMPLATE].text, *name;
    struct vbs_text out = {.failed = json->failed};
    enum vbs_status status;

    while (!out.failed && (name = strstr(at, "{{"))) {
        size_t length = strcspn(name + 2, "}");

        vbs_text_add_bytes(&out, at, (size_t)(name - at));
        add_part(&out, &parts, name + 2, length);
        at = name + 2 + length + 2;
    }
    vbs_text_add(&out, at);
    status = out.failed ? vbs_no_memory(ctx) : vbs_write_file(ctx, path, out.data, out.length);
    vbs_text_clear(&out);
    return status;
}
