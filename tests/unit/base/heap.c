/* Numbers come out of a heap in their order, whatever the order in which they came in. */
#include "base/heap.h"
#include "support/tap.h"

#include <gsl/gsl_rng.h>

#define N       2000
#define N_KINDS 50 /* different keys: many are equal */

static bool has_less(const void *self, int a, int b)
{
    const int *keys = self;

    return keys[a] < keys[b];
}

/* Adds all numbers and takes some out in between; the rest must come out in order, each once. */
static void numbers_come_out_in_order(void)
{
    static int keys[N], n_out[N];
    struct vbs_heap heap = {.comes_before = has_less, .self = keys};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    bool added = true, ordered = true, once = true;

    for (int i = 0; i < N; i++) {
        keys[i] = (int)gsl_rng_uniform_int(rng, N_KINDS);
        added = added && vbs_heap_push(NULL, &heap, i) == VBS_OK;
        if (i % 3 == 2) {
            int item = vbs_heap_pop(&heap);

            n_out[item]++;
            for (int k = 0; k < heap.n; k++)
                ordered = ordered && keys[heap.items[k]] >= keys[item];
        }
    }
    ok(added && ordered, "what comes out in between is the first of all that is in");
    for (int last = -1; heap.n > 0;) {
        int item = vbs_heap_pop(&heap);

        ordered = ordered && keys[item] >= last;
        last = keys[item];
        n_out[item]++;
    }
    for (int i = 0; i < N; i++)
        once = once && n_out[i] == 1;
    ok(ordered && once, "all come out in order, each once");
    vbs_heap_clear(&heap);
    ok(!heap.items && heap.capacity == 0, "and nothing is left");
    gsl_rng_free(rng);
}

int main(void)
{
    numbers_come_out_in_order();
    return done_testing();
}
