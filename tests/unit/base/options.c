/*
 * Structs of options are understood when they come from a program that was built with an older or
 * a newer version of the headers.
 */
#include "base/options.h"
#include "support/tap.h"

struct known { /* what this library knows */
    size_t struct_size;
    int64_t a, b;
};
struct newer {
    struct known known;
    int64_t c;
};

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct known own = {.a = 7};
    struct newer given = {.known = {.struct_size = sizeof given, .a = 1, .b = 2}};

    ok(vbs_options_read(&ctx, "x", NULL, &own, sizeof own) == VBS_OK && own.a == 0,
       "null gives the defaults");
    ok(vbs_options_read(&ctx, "x", &given, &own, sizeof own) == VBS_OK && own.a == 1 && own.b == 2,
       "a newer header whose new option is not set is understood");
    given.c = 3;
    ok(vbs_options_read(&ctx, "x", &given, &own, sizeof own) == VBS_USAGE && own.a == 0 &&
           strstr(vbs_detail(&ctx), "does not know"),
       "one that is set is refused: %s", vbs_detail(&ctx));
    given.known.struct_size = offsetof(struct known, b);
    ok(vbs_options_read(&ctx, "x", &given, &own, sizeof own) == VBS_OK && own.a == 1 && own.b == 0,
       "what an older header did not have is the default");
    given.known.struct_size = 0;
    ok(vbs_options_read(&ctx, "x", &given, &own, sizeof own) == VBS_USAGE,
       "a struct without its size is refused: %s", vbs_detail(&ctx));
    return done_testing();
}
