/*
 * Guillotine cuttings (of dp-vbs, of dp-vbs+, and those from which optimal starts) against
 * recursions over exact budgets, at every budget from nothing to enough: lines of any network in
 * any order, blocks of branches as special layers and as subchains. Arguments: number of networks
 * of each kind, seed.
 */
#include "reference/plan/brute_chain.h"
#include "plan/dp/dp.h"
#include "plan/problem/problem.h"
#include "cases/random_profile.h"
#include "reference/plan/rivals.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED        299792
#define N_NETWORKS  300 /* of each kind, each with both io */
#define MAX_LAYERS  40  /* of blocks; there are fewer */
#define MANY_LAYERS 6   /* from here on no further block begins */
#define LINE_LAYERS 5
#define MAX_REQUEST 3

#define PROPERTY_LIST(X)                                                                           \
    X(HAD, "what is asked for is had")                                                             \
    X(PIVOTS, "a line by pivots is recurrences 1, 2, 3 of VBS III")                                \
    X(BARRIERS, "a line by barriers is the best of all guillotine cuttings")                       \
    X(PEAK, "the bytes of a line are the peak of its steps")                                       \
    X(DP_VBS, "dp-vbs of a chain is the line by pivots")                                           \
    X(DP_VBS_PLUS, "dp-vbs+ of a chain is the line by barriers")                                   \
    X(SPECIAL, "dp-vbs of nested blocks is the recurrence of VBS III with special layers")         \
    X(SUBCHAINS, "blocks as subchains are the best of all cuttings that keep to blocks")           \
    X(PARTS_PEAK, "and need the peak of their steps")                                              \
    X(PARTS_LEAD, "dp-vbs+ of nested blocks is as fast as those")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    gsl_rng *rng;
    int number; /* of the network */
    struct vbs_problem problem;
    struct vbs_task task;
    int64_t top_bytes, budget;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("network %d, %d layers, request %" PRId64 ", io %s, budget %" PRId64, subject->number,
           subject->problem.profile->n_layers, subject->problem.request,
           vbs_io_word(subject->problem.io), subject->budget);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* ---- Answers and recursions side by side ---- */

static double answer_us(const struct vbs_pareto_set *pareto, int64_t budget)
{
    double time_us = HUGE_VAL;

    for (int i = 0; i < pareto->n && pareto->list[i].bytes <= budget; i++)
        time_us = pareto->list[i].time_us;
    return time_us;
}

/* Checks every budget up to enough. */
static void check_times(struct subject *subject, const struct vbs_pareto_set *pareto,
                        struct brute_chain *chain, enum brute_rule rule, enum property property)
{
    struct brute_cutting cutting = {
        .problem = &subject->problem, .rule = rule, .top_bytes = subject->top_bytes};

    brute_chain_forget(chain);
    for (subject->budget = 0; subject->budget <= subject->top_bytes; subject->budget++)
        check(subject, property,
              answer_us(pareto, subject->budget) ==
                  brute_chain_us(&cutting, chain, subject->budget));
}

static void check_peaks(struct subject *subject, const struct vbs_pareto_set *pareto,
                        enum property property)
{
    for (int i = 0; i < pareto->n; i++) {
        struct vbs_step_list steps = {0};
        struct vbs_timeline timeline;
        bool had = true;

        subject->budget = pareto->list[i].bytes;
        for (int64_t s = 0; had && s < pareto->list[i].n_steps; s++) {
            const struct vbs_step *step = &pareto->list[i].steps[s];

            had = vbs_step_list_add(NULL, &steps, step->layer, step->batch, step->algorithm) ==
                  VBS_OK;
        }
        check(subject, property,
              had && vbs_timeline_find(NULL, &subject->task, &steps, &timeline) == VBS_OK &&
                  timeline.peak_bytes == subject->budget);
        vbs_step_list_clear(&steps);
    }
}

static bool cut(struct subject *subject, const struct vbs_chain *chain, enum vbs_cut_rule rule,
                struct vbs_pareto_set *pareto)
{
    *pareto = (struct vbs_pareto_set){.task = &subject->task};
    return vbs_guillotine_solve(NULL, &subject->task, chain, rule, pareto, 1) == VBS_OK;
}

/* Compares a planner at every budget with a recursion: equal, or at most that. */
static void check_planner(struct subject *subject, const char *name, struct brute_chain *chain,
                          enum brute_rule rule, enum property property, bool is_equal)
{
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct rival rival = {.name = name};
    struct brute_cutting cutting = {
        .problem = &subject->problem, .rule = rule, .top_bytes = subject->top_bytes};
    bool had = vbs_planner_find(NULL, name, &planner) == VBS_OK &&
               vbs_solver_new(NULL, planner, &subject->problem, NULL, &solver) == VBS_OK &&
               vbs_solver_frontier(NULL, solver, &rival.frontier) == VBS_OK;

    check(subject, HAD, had);
    brute_chain_forget(chain);
    for (int64_t budget = 0; had && budget <= subject->top_bytes; budget++) {
        double want_us = brute_chain_us(&cutting, chain, budget);
        double time_us = rival_frontier_us(&rival, budget);

        subject->budget = budget;
        check(subject, property, is_equal ? time_us == want_us : time_us <= want_us);
    }
    vbs_frontier_free(rival.frontier);
    vbs_solver_free(solver);
}

/* ---- Lines ---- */

/* Chooses any topological order. */
static void choose_order(struct subject *subject, int *order)
{
    const struct vbs_profile *profile = subject->problem.profile;
    bool done[RANDOM_MAX_LAYERS + 1] = {true};

    for (int i = 0; i < profile->n_layers;) {
        int k = random_int(subject->rng, 1, profile->n_layers);
        bool is_ready = !done[k];

        for (int m = 0; m < profile->layers[k].n_inputs; m++)
            is_ready = is_ready && done[profile->layers[k].inputs[m]];
        if (!is_ready)
            continue;
        order[i++] = k;
        done[k] = true;
    }
}

static void check_line(struct subject *subject, bool is_chain)
{
    int order[RANDOM_MAX_LAYERS];
    struct vbs_arena arena = {0};
    struct vbs_pareto_set by_pivots, by_barriers;
    struct vbs_chain line;
    struct brute_chain slow;
    bool had;

    choose_order(subject, order);
    slow = brute_line(&subject->problem, order);
    had = vbs_line_build(NULL, &subject->task, &arena, order, &line) == VBS_OK;
    had = had && cut(subject, &line, VBS_CUT_PIVOT, &by_pivots) &&
          cut(subject, &line, VBS_CUT_BARRIER, &by_barriers);
    check(subject, HAD, had);
    if (had) {
        check_times(subject, &by_pivots, &slow, BRUTE_PIVOTS, PIVOTS);
        check_times(subject, &by_barriers, &slow, BRUTE_BARRIERS, BARRIERS);
        check_peaks(subject, &by_pivots, PEAK);
        check_peaks(subject, &by_barriers, PEAK);
        vbs_pareto_clear(&by_pivots);
        vbs_pareto_clear(&by_barriers);
    }
    if (is_chain) {
        check_planner(subject, "dp-vbs", &slow, BRUTE_PIVOTS, DP_VBS, true);
        check_planner(subject, "dp-vbs+", &slow, BRUTE_BARRIERS, DP_VBS_PLUS, true);
    }
    brute_chain_free(&slow);
    vbs_arena_clear(&arena);
}

/* ---- Networks of nested blocks, whose structure is known ---- */

struct network {
    gsl_rng *rng;
    int n_layers;
    struct vbs_profile_layer layers[MAX_LAYERS + 1];
    int inputs[MAX_LAYERS + 1][4];
    struct brute_chain chain; /* items, without bytes */
};

static int add_layer(struct network *network, const int *inputs, int n_inputs)
{
    int id = ++network->n_layers;
    struct vbs_profile_layer *layer = &network->layers[id];

    *layer = (struct vbs_profile_layer){.name = "layer",
                                        .kind = "conv",
                                        .n_inputs = n_inputs,
                                        .inputs = network->inputs[id],
                                        .out_bytes = random_int(network->rng, 0, 9),
                                        .in_place = random_once_in(network->rng, 4)};
    for (int i = 0; i < n_inputs; i++) {
        network->inputs[id][i] = inputs[i];
        layer->in_bytes += network->layers[inputs[i]].out_bytes;
    }
    return id;
}

static int add_item(struct brute_chain *chain, struct brute_item item)
{
    chain->items = realloc(chain->items, ((size_t)chain->n_items + 1) * sizeof *chain->items);
    chain->items[chain->n_items++] = item;
    return item.layer;
}

static int fill_chain(struct network *network, struct brute_chain *chain, int input, int n_items,
                      int depth);

/* Adds two branches, or one beside a skip connection, and the layer that joins them. */
static int add_block(struct network *network, struct brute_chain *chain, int input, int depth)
{
    bool skips = random_once_in(network->rng, 3);
    struct brute_item item = {.n_branches = skips ? random_int(network->rng, 1, 2) : 2};
    int ends[4], n_ends = 0;

    item.branches = calloc((size_t)item.n_branches, sizeof *item.branches);
    for (int b = 0; b < item.n_branches; b++)
        ends[n_ends++] = fill_chain(network, &item.branches[b], input,
                                    random_int(network->rng, 1, 2), depth + 1);
    if (skips)
        ends[n_ends++] = input;
    add_item(chain, item);
    return add_item(chain, (struct brute_item){.layer = add_layer(network, ends, n_ends)});
}

/* Adds layers and blocks up to n_items; returns the last layer. */
static int fill_chain(struct network *network, struct brute_chain *chain, int input, int n_items,
                      int depth)
{
    for (int i = 0; i < n_items; i++) {
        bool has_room = network->n_layers < MANY_LAYERS && depth < 2;

        if (input && has_room && random_once_in(network->rng, 2))
            input = add_block(network, chain, input, depth);
        else
            input = add_item(chain, (struct brute_item){.layer = add_layer(network, &input, 1)});
    }
    return input;
}

static enum vbs_status add_rows(struct vbs_ctx *ctx, struct network *network,
                                struct vbs_profile_builder *builder)
{
    static const char *const NAMES[] = {"direct", "gemm"};
    int n_batches = random_int(network->rng, 1, MAX_REQUEST);
    enum vbs_status status = VBS_OK;

    for (int k = 1; k <= network->n_layers; k++) {
        int n_algorithms = random_int(network->rng, 1, 2);

        for (int b = 1; b <= n_batches; b++)
            for (int a = 0; status == VBS_OK && a < n_algorithms; a++) {
                struct vbs_profile_row row = {.time_us = random_int(network->rng, 0, 20),
                                              .ws_bytes = random_int(network->rng, 0, 12)};

                status = vbs_profile_builder_row(ctx, builder, k, b, NAMES[a], &row);
            }
    }
    return status;
}

/* Makes the profile. The reader of the last layer is a plain one, so that no block is an output. */
static struct vbs_profile *network_profile(struct network *network)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = VBS_OK;

    network->layers[0].out_bytes = random_int(network->rng, 0, 9);
    fill_chain(network, &network->chain, 0, random_int(network->rng, 2, 4), 0);
    for (int k = 1; status == VBS_OK && k <= network->n_layers; k++)
        status = vbs_profile_builder_layer(&ctx, builder, &network->layers[k]);
    if (status == VBS_OK)
        status = add_rows(&ctx, network, builder);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &profile);
    if (status != VBS_OK)
        printf("# no network: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return profile;
}

/* ---- Their bytes, once with special layers and once as subchains ---- */

/* Gives the bytes of a tensor between steps, where no block around has reserved it. */
static int64_t kept_bytes(const struct subject *subject, const bool *reserved, int tensor)
{
    const struct vbs_profile *profile = subject->problem.profile;
    bool is_end = tensor == 0 || tensor == profile->n_layers;

    if (reserved[tensor] || (is_end && subject->problem.io == VBS_IO_EXTERNAL))
        return 0;
    return profile->layers[tensor].out_bytes;
}

/* Tensors that flow from one item to the next. */
struct flow {
    int n;
    int tensors[4];
};

static int64_t flow_bytes(const struct subject *subject, const bool *reserved,
                          const struct flow *flow)
{
    int64_t bytes = 0;

    for (int i = 0; i < flow->n; i++)
        bytes += kept_bytes(subject, reserved, flow->tensors[i]);
    return bytes;
}

static int64_t layer_bytes(const struct subject *subject, const bool *reserved, int layer)
{
    const struct vbs_profile *profile = subject->problem.profile;
    const struct vbs_profile_layer *runs = &profile->layers[layer];
    int first = runs->inputs[0];
    int64_t added = reserved[layer] ? 0 : runs->out_bytes, in_bytes = 0, place = 0;
    bool is_last = true; /* to read its first input */

    for (int i = 0; i < runs->n_inputs; i++)
        in_bytes += reserved[runs->inputs[i]] ? 0 : profile->layers[runs->inputs[i]].out_bytes;
    for (int k = layer + 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->layers[k].n_inputs; i++)
            is_last = is_last && profile->layers[k].inputs[i] != first;
    if (runs->in_place && is_last && !reserved[first])
        place = profile->layers[first].out_bytes;
    return in_bytes + (added > place ? added - place : 0);
}

static void fill_bytes(const struct subject *subject, struct brute_chain *chain, bool *reserved,
                       int input);

static struct flow fill_block(const struct subject *subject, struct brute_item *item,
                              bool *reserved, int input, int join)
{
    const struct vbs_profile_layer *reads = &subject->problem.profile->layers[join];
    struct flow flow = {.n = reads->n_inputs};
    bool was_reserved[4], input_was_reserved = reserved[input];

    item->reserved_bytes = kept_bytes(subject, reserved, input);
    for (int i = 0; i < flow.n; i++) {
        flow.tensors[i] = reads->inputs[i];
        if (flow.tensors[i] != input)
            item->reserved_bytes += kept_bytes(subject, reserved, flow.tensors[i]);
        was_reserved[i] = reserved[flow.tensors[i]];
    }
    reserved[input] = true;
    for (int i = 0; i < flow.n; i++)
        reserved[flow.tensors[i]] = true;
    for (int b = 0; b < item->n_branches; b++)
        fill_bytes(subject, &item->branches[b], reserved, input);
    for (int i = 0; i < flow.n; i++)
        reserved[flow.tensors[i]] = was_reserved[i];
    reserved[input] = input_was_reserved;
    return flow;
}

static void fill_bytes(const struct subject *subject, struct brute_chain *chain, bool *reserved,
                       int input)
{
    struct flow flow = {.n = 1, .tensors = {input}};

    free(chain->cut_bytes);
    chain->cut_bytes = calloc((size_t)chain->n_items + 1, sizeof *chain->cut_bytes);
    for (int i = 0; i < chain->n_items; i++) {
        struct brute_item *item = &chain->items[i];

        chain->cut_bytes[i] = flow_bytes(subject, reserved, &flow);
        if (item->layer) {
            item->step_bytes = layer_bytes(subject, reserved, item->layer);
            flow = (struct flow){.n = 1, .tensors = {item->layer}};
        } else {
            flow = fill_block(subject, item, reserved, flow.tensors[0], chain->items[i + 1].layer);
        }
    }
    chain->cut_bytes[chain->n_items] = flow_bytes(subject, reserved, &flow);
}

/* Makes the items of chain subchains of a line in the order of the ids; at is the position in the
 * line. */
static struct brute_chain fold(const struct brute_chain *chain, const struct brute_chain *line,
                               int *at);

static struct brute_item fold_branch(const struct brute_chain *branch,
                                     const struct brute_chain *line, int *at)
{
    struct brute_item item = {0};

    if (branch->n_items == 1)
        return line->items[(*at)++];
    item.subchain = malloc(sizeof *item.subchain);
    *item.subchain = fold(branch, line, at);
    return item;
}

static struct brute_chain fold_block(const struct brute_item *block, const struct brute_chain *line,
                                     int *at)
{
    size_t n = (size_t)block->n_branches;
    struct brute_chain subchain = {.n_items = block->n_branches,
                                   .items = calloc(n, sizeof *subchain.items),
                                   .cut_bytes = calloc(n + 1, sizeof *subchain.cut_bytes)};

    for (int b = 0; b < block->n_branches; b++) {
        subchain.cut_bytes[b] = line->cut_bytes[*at];
        subchain.items[b] = fold_branch(&block->branches[b], line, at);
    }
    subchain.cut_bytes[n] = line->cut_bytes[*at];
    return subchain;
}

static struct brute_chain fold(const struct brute_chain *chain, const struct brute_chain *line,
                               int *at)
{
    size_t n = (size_t)chain->n_items;
    struct brute_chain folded = {.n_items = chain->n_items,
                                 .items = calloc(n, sizeof *folded.items),
                                 .cut_bytes = calloc(n + 1, sizeof *folded.cut_bytes)};

    for (int i = 0; i < chain->n_items; i++) {
        folded.cut_bytes[i] = line->cut_bytes[*at];
        if (chain->items[i].layer) {
            folded.items[i] = line->items[(*at)++];
        } else {
            folded.items[i].subchain = malloc(sizeof *folded.items[i].subchain);
            *folded.items[i].subchain = fold_block(&chain->items[i], line, at);
        }
    }
    folded.cut_bytes[n] = line->cut_bytes[*at];
    return folded;
}

/* ---- Blocks ---- */

static void check_parts(struct subject *subject, const struct brute_chain *structure)
{
    int order[MAX_LAYERS], at = 0;
    struct vbs_arena arena = {0};
    struct vbs_chain chain, line, folded;
    struct vbs_pareto_set pareto;
    struct brute_chain slow_line, slow;
    bool had;

    for (int i = 0; i < subject->task.n_layers; i++)
        order[i] = i + 1;
    slow_line = brute_line(&subject->problem, order);
    slow = fold(structure, &slow_line, &at);
    had = vbs_chain_build(NULL, &subject->task, &arena, &chain) == VBS_OK &&
          vbs_line_build(NULL, &subject->task, &arena, order, &line) == VBS_OK &&
          vbs_line_fold(NULL, &arena, &line, &chain, &folded) == VBS_OK &&
          cut(subject, &folded, VBS_CUT_BARRIER, &pareto);
    check(subject, HAD, had);
    if (had) {
        check_times(subject, &pareto, &slow, BRUTE_BARRIERS, SUBCHAINS);
        check_peaks(subject, &pareto, PARTS_PEAK);
        vbs_pareto_clear(&pareto);
    }
    check_planner(subject, "dp-vbs+", &slow, BRUTE_BARRIERS, PARTS_LEAD, false);
    brute_chain_free(&slow);
    brute_chain_free(&slow_line);
    vbs_arena_clear(&arena);
}

static void check_blocks(struct subject *subject, struct brute_chain *chain)
{
    bool reserved[MAX_LAYERS + 1] = {false};

    fill_bytes(subject, chain, reserved, 0);
    check_planner(subject, "dp-vbs", chain, BRUTE_PIVOTS, SPECIAL, true);
    check_parts(subject, chain);
}

/* ---- The subjects ---- */

/* Checks a network with both io; chain is null for lines. */
static void check_network(struct subject *subject, const struct vbs_profile *profile,
                          struct brute_chain *chain, bool is_linear)
{
    for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
        bool had;

        subject->problem = (struct vbs_problem){.profile = profile,
                                                .request = random_int(subject->rng, 1, MAX_REQUEST),
                                                .io = (enum vbs_io)io};
        subject->top_bytes = brute_top_bytes(&subject->problem);
        had = vbs_task_init(NULL, &subject->task, &subject->problem) == VBS_OK;
        check(subject, HAD, had);
        if (!had)
            continue;
        if (chain)
            check_blocks(subject, chain);
        else
            check_line(subject, is_linear);
        vbs_task_clear(&subject->task);
    }
}

static int test_lines(struct subject *subject, enum random_graph graph, int n_networks)
{
    int n_refused = 0;

    for (int i = 0; i < n_networks; i++) {
        struct vbs_profile *profile = random_profile(subject->rng, graph, LINE_LAYERS);

        subject->number = i;
        if (profile)
            check_network(subject, profile, NULL, graph == RANDOM_LINEAR);
        n_refused += !profile;
        vbs_profile_free(profile);
    }
    return n_refused;
}

static int test_blocks(struct subject *subject, int n_networks)
{
    int n_refused = 0;

    for (int i = 0; i < n_networks; i++) {
        struct network network = {.rng = subject->rng};
        struct vbs_profile *profile = network_profile(&network);

        subject->number = i;
        if (profile)
            check_network(subject, profile, &network.chain, false);
        n_refused += !profile;
        vbs_profile_free(profile);
        brute_chain_free(&network.chain);
    }
    return n_refused;
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_NETWORKS, SEED, "networks of each kind");
    struct subject subject = {.rng = gsl_rng_alloc(gsl_rng_taus2)};
    int n_refused;

    subject.tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, &subject);
    gsl_rng_set(subject.rng, trials.seed);
    n_refused = test_blocks(&subject, trials.n);
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        n_refused += test_lines(&subject, (enum random_graph)graph, trials.n);
    is_int(n_refused, 0, "random networks are profiles");
    tally_report(&subject.tally, "cuttings");
    gsl_rng_free(subject.rng);
    return done_testing();
}
