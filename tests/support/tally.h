/*
 * Properties that are checked many times on random subjects: each is counted, and becomes one line
 * of TAP, with the first few failures described as comments.
 */
#ifndef TESTS_TALLY_H
#define TESTS_TALLY_H

#include "support/tap.h"

#include <stdbool.h>
#include <stdint.h>

#define TALLY_MAX_PROPERTIES 64
#define TALLY_MAX_SHOWN      3 /* failures of one property */

struct tally {
    int n_properties;
    const char *const *texts;           /* [n_properties] descriptions of the properties */
    void (*describe)(const void *self); /* prints the subject, without the end of the line */
    const void *self;
    int checked[TALLY_MAX_PROPERTIES], failed[TALLY_MAX_PROPERTIES];
};

/* PROPERTY_LIST(X) with X(NAME, "text") becomes the properties' numbers and texts. */
#define TALLY_NAME(name, text)  name,
#define TALLY_TEXT(name, text)  text,
#define TALLY_ENUM(LIST, count) LIST(TALLY_NAME) count
#define TALLY_TEXTS(LIST)       LIST(TALLY_TEXT)

/* Gives the tally of a list of properties before any of them is checked. */
static inline struct tally tally_of(int n_properties, const char *const *texts,
                                    void (*describe)(const void *self), const void *self)
{
    return (struct tally){
        .n_properties = n_properties, .texts = texts, .describe = describe, .self = self};
}

static inline void tally_check(struct tally *tally, int property, bool holds)
{
    tally->checked[property]++;
    if (holds || tally->failed[property]++ >= TALLY_MAX_SHOWN)
        return;
    printf("# ");
    tally->describe(tally->self);
    printf(": not so: %s\n", tally->texts[property]);
}

/* Checks a property of a subject, where several subjects share the tally. */
static inline void tally_check_of(struct tally *tally, const void *subject, int property,
                                  bool holds)
{
    tally->self = subject;
    tally_check(tally, property, holds);
}

/* Prints one line of TAP for each property that is not in the set left_out (bit p: property p). A
 * property that was never checked fails. */
static inline void tally_report_but(const struct tally *tally, const char *name, uint64_t left_out)
{
    for (int p = 0; p < tally->n_properties; p++)
        if (!(left_out >> p & 1))
            ok(tally->checked[p] > 0 && tally->failed[p] == 0, "%s: %s (%d of %d)", name,
               tally->texts[p], tally->checked[p] - tally->failed[p], tally->checked[p]);
}

static inline void tally_report(const struct tally *tally, const char *name)
{
    tally_report_but(tally, name, 0);
}

#endif
