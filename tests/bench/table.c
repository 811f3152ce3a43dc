/* The cost and the gain of rounding memory: dp-vbs on curves against the tables of Algorithm 1. */
#include "base/ctx.h"
#include "bench/bench.h"

#include <stdio.h>

#define TIMED_S 0.3 /* each solve is repeated for this long, and the least time is taken */

static const struct vbs_byte_range BUDGETS = {
    .from_bytes = 15 << 20, .to_bytes = 40 << 20, .step_bytes = 1 << 20};

static struct vbs_schedule *plan(struct vbs_solver *solver, int64_t memory_bytes)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_solver_plan(&ctx, solver, memory_bytes, &schedule);

    if (status != VBS_OK && status != VBS_INFEASIBLE)
        bench_fail("plan", &ctx);
    return schedule;
}

/* One solve up to the largest budget. */
struct solve {
    double s;
    size_t bytes;
    struct vbs_solver *solver;
};

/* Gives the seconds of one more plan, with its lower bound. */
static double plan_s(struct vbs_solver *solver)
{
    double begin = bench_now_s();

    vbs_schedule_free(plan(solver, BUDGETS.to_bytes));
    return bench_now_s() - begin;
}

/* Measures a solve. Tables are filled for the first plan; the time of the next plan is
 * subtracted. */
static struct solve solve(const struct vbs_problem *problem, int64_t table_bytes)
{
    const struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options),
                                               .table_bytes = table_bytes};
    struct solve best = {0};
    double start = bench_now_s();

    do {
        double begin = bench_now_s(), s;

        vbs_solver_free(best.solver);
        best.solver = bench_solver("dp-vbs", problem, &options);
        plan_s(best.solver);
        s = bench_now_s() - begin;
        s -= plan_s(best.solver);
        best.s = best.s > 0 && best.s < s ? best.s : s;
    } while (bench_now_s() - start < TIMED_S);
    best.bytes = vbs_solver_peak_bytes(best.solver);
    return best;
}

/* How much longer the plans of the tables take. */
struct loss {
    double sum_percent, most_percent;
    int n, n_infeasible; /* budgets where both have a plan; where only the exact one has */
};

static struct loss compare(struct vbs_solver *exact, struct vbs_solver *table)
{
    struct loss loss = {0};

    for (int i = 0; i < vbs_byte_range_count(&BUDGETS); i++) {
        int64_t budget = BUDGETS.from_bytes + i * BUDGETS.step_bytes;
        struct vbs_schedule *a = plan(exact, budget), *b = plan(table, budget);

        if (a && b) {
            double percent = 100 * (b->predicted.time_us / a->predicted.time_us - 1);

            loss.sum_percent += percent;
            loss.most_percent = percent > loss.most_percent ? percent : loss.most_percent;
            loss.n++;
        }
        loss.n_infeasible += a && !b;
        vbs_schedule_free(a);
        vbs_schedule_free(b);
    }
    return loss;
}

static void bench_step(const struct vbs_problem *problem, const struct solve *exact,
                       const char *step)
{
    struct vbs_ctx ctx = {0};
    struct solve table;
    struct loss loss;
    int64_t table_bytes;

    if (vbs_parse_bytes(&ctx, step, &table_bytes) != VBS_OK)
        bench_fail(step, &ctx);
    table = solve(problem, table_bytes);
    loss = compare(exact->solver, table.solver);
    printf("%-18s %6s %9.2f %8.2f %8.2f %8.2f %8.2f %8.2f %6d\n", "", step, 1e3 * table.s,
           (double)table.bytes / (1 << 20), table.s / exact->s,
           (double)table.bytes / (double)exact->bytes, loss.n ? loss.sum_percent / loss.n : 0,
           loss.most_percent, loss.n_infeasible);
    vbs_solver_free(table.solver);
}

static void bench_network(const char *model)
{
    static const char *const STEPS[] = {"2MiB", "512KiB", "100KiB"};
    struct vbs_problem problem = {.request = 12, .io = VBS_IO_RESIDENT};
    struct measured made = {0};
    struct solve exact;

    bench_measure(model, "analytic", BENCH_TO_12, 12, 1, &made);
    problem.profile = made.profile;
    exact = solve(&problem, 0);
    printf("%-18s %6s %9.2f %8.2f\n", model, "exact", 1e3 * exact.s,
           (double)exact.bytes / (1 << 20));
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++)
        bench_step(&problem, &exact, STEPS[i]);
    vbs_solver_free(exact.solver);
    bench_release(&made);
}

void bench_table(void)
{
    static const char *const MODELS[] = {"googlenet", "resnet-50", "squeezenet-v1.0",
                                         "mobilenet-v1"};

    printf("dp-vbs on curves (exact, all budgets at once) against its tables in steps of memory\n"
           "(up to 40 MiB), 12 samples, io resident, analytic profile; ratios are table to exact,\n"
           "losses are percent longer at 26 budgets from 15 to 40 MiB.\n\n");
    printf("%-18s %6s %9s %8s %8s %8s %8s %8s %6s\n", "network", "step", "solve ms", "MiB", "time",
           "memory", "loss", "at most", "no fit");
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++)
        bench_network(MODELS[i]);
    printf("\n  no fit: budgets at which only the exact one has a plan.\n\n");
}
