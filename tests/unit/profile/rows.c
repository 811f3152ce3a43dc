/*
 * Rows of samples in files: profiles with stripes and schedules with rows come back from their
 * files to the bit, and malformed files are refused with their line and member.
 */
#include "cases/random_rows.h"
#include "support/made_profile.h"
#include "support/tap.h"

#include "vbslab/plan.h"

#include <stdlib.h>

#define SEED       47
#define N_PROFILES 300

static int n_with_stripes;

static bool comes_back(const struct vbs_profile *profile)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *again = NULL;
    char *text = NULL, *second = NULL, a[VBS_PROFILE_HASH_SIZE], b[VBS_PROFILE_HASH_SIZE] = "";
    bool same = vbs_profile_csv(&ctx, profile, &text) == VBS_OK &&
                vbs_profile_parse_csv(&ctx, "text", text, strlen(text), &again) == VBS_OK &&
                vbs_profile_csv(&ctx, again, &second) == VBS_OK && strcmp(text, second) == 0;

    if (!same)
        printf("# %s\n", vbs_detail(&ctx));
    vbs_profile_hash(profile, a);
    if (again)
        vbs_profile_hash(again, b);
    same = same && strcmp(a, b) == 0 &&
           vbs_profile_has_stripes(again) == vbs_profile_has_stripes(profile);
    n_with_stripes += has_stripe_rows(profile);
    vbs_profile_free(again);
    free(text);
    free(second);
    return same;
}

static bool schedule_comes_back(const struct vbs_profile *profile, int *n_rows)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_problem problem = {.profile = profile, .request = 2};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL, *again = NULL;
    char *text = NULL;
    bool same =
        vbs_planner_find(&ctx, "dp-vbs+", &planner) == VBS_OK &&
        vbs_solver_new(&ctx, planner, &problem, NULL, &solver) == VBS_OK &&
        vbs_solver_plan(&ctx, solver, vbs_solver_least_bytes(solver), &schedule) == VBS_OK &&
        vbs_schedule_json(&ctx, schedule, &text) == VBS_OK &&
        vbs_schedule_parse_json(&ctx, "text", text, strlen(text), &again) == VBS_OK &&
        again->n_steps == schedule->n_steps;

    for (int64_t i = 0; same && i < again->n_steps; i++) {
        const struct vbs_step *x = &schedule->steps[i], *y = &again->steps[i];

        same = x->layer == y->layer && x->batch == y->batch && x->row == y->row &&
               x->rows == y->rows && x->window == y->window;
        *n_rows += x->rows > 0;
    }
    if (!same)
        printf("# %s\n", vbs_detail(&ctx));
    free(text);
    vbs_schedule_free(again);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return same;
}

static void check_round_trips(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    bool profiles = true, schedules = true;
    int n_rows = 0;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_PROFILES && profiles && schedules; i++) {
        struct vbs_profile *profile = random_rows_profile(rng, 1 + i % 8);

        if (!profile)
            bail_out("no profile");
        profiles = comes_back(profile);
        schedules = schedule_comes_back(profile, &n_rows);
        vbs_profile_free(profile);
    }
    ok(profiles && n_with_stripes > N_PROFILES / 2, "profiles with stripes come back");
    ok(schedules && n_rows > N_PROFILES, "schedules with rows come back");
    gsl_rng_free(rng);
}

#define HEAD                                                                                       \
    "# input-rows: 8\n"                                                                            \
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"     \
    "in_place,parts,out_rows,reach,rows\n"
#define WHOLE "1,a,conv,0,1,x,5,80,40,0,0,0,0,4,2/1:-1:1,0\n"

/* CSV texts, and what is said about them. */
static const struct wrong {
    const char *says, *text;
} WRONG_CSV[] = {
    {"text:4: reach '2/1:-1' is not a list of 1 such as",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1,1\n"},
    {"text:4: reach '2/1:-1:1;all' is not a list of 1 such as",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1:1;all,1\n"},
    {"text:4: reach '2/1:-1:1:1' is not",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1:1:1,1\n"},
    {"text:4: layer 1 batch 1: reach differs from that of line 3",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1:2,1\n"},
    {"text:4: layer 1 batch 1: out_rows differs from that of line 3",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,8,2/1:-1:1,1\n"},
    {"text:4: layer 1 batch 1: a stripe of 4 rows, but the layer has 4",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1:1,4\n"},
    {"text:4: layer 1 batch 1: a stripe in 0 parts; it has 1",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,0,4,2/1:-1:1,1\n"},
    {"text:5: repeats layer 1 batch 1 algorithm 'x' of line 4",
     HEAD WHOLE "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1:1,1\n"
                "1,a,conv,0,1,x,2,80,40,0,0,0,1,4,2/1:-1:1,1\n"},
    {"text:3: layer 1: 40 out_bytes are no 3 equal rows",
     HEAD "1,a,conv,0,1,x,5,80,40,0,0,0,0,3,2/1:-1:1,0\n"},
    {"text:3: layer 1: the reach of input 1 is none: step 2, unit 1, low 1, high 0",
     HEAD "1,a,conv,0,1,x,5,80,40,0,0,0,0,4,2/1:1:0,0\n"},
    {"layer 1 ('a') accumulates 4 rows of layer 0, which has 8",
     HEAD "1,a,avgpool,0,1,x,5,80,40,0,0,0,0,4,1/0:0:0,0\n"},
    {"text:3: layer 1: the reach of input 1 is none: step 2, unit 0, low 0, high 0",
     HEAD "1,a,avgpool,0,1,x,5,80,40,0,0,0,0,8,2/0:0:0,0\n"},
    {"text:4: layer 2: it accumulates the rows of some inputs only",
     HEAD WHOLE "2,b,avgpool,0;1,1,x,5,120,40,0,0,0,0,8,1/0:0:0;all,0\n"},
    {"layer 2 ('b') reads rows of layer 1, which accumulates and is read whole",
     HEAD "1,a,avgpool,0,1,x,5,80,40,0,0,0,0,8,1/0:0:0,0\n"
          "2,b,relu,1,1,x,5,40,40,0,0,0,0,8,1/1:0:0,0\n"},
    {"the network's input takes 81 bytes, which are no 8 equal rows",
     HEAD "1,a,conv,0,1,x,5,81,40,0,0,0,0,4,2/1:-1:1,0\n"},
    {"reads rows of layer 0, which has none",
     "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
     "in_place,parts,out_rows,reach,rows\n" WHOLE},
    {"text:2: 'input-rows' is there twice", "# input-rows: 8\n" HEAD WHOLE},
};

static void check_csv(const struct wrong *wrong)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = NULL;
    enum vbs_status status;

    status = vbs_profile_parse_csv(&ctx, "text", wrong->text, strlen(wrong->text), &profile);
    if (!ok(status == VBS_FORMAT && strstr(vbs_detail(&ctx), wrong->says), "CSV: %s", wrong->says))
        printf("# status %d: %s\n", (int)status, status == VBS_OK ? "" : vbs_detail(&ctx));
    vbs_profile_free(profile);
}

#define STEPS(steps)                                                                               \
    "{\"format\":\"vbslab-schedule-1\",\"model\":\"m\",\"planner\":\"p\",\"request\":1,"           \
    "\"memory_bytes\":1,\"io\":\"external\",\"weights\":\"excluded\",\"predicted\":{\"time_us\":"  \
    "1,\"per_sample_us\":1,\"peak_bytes\":1},\"bound\":{\"time_us\":1,\"gap_percent\":0},"         \
    "\"steps\":[" steps "]}"

static const struct wrong WRONG_JSON[] = {
    {"row", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"rows\":1,\"window\":1}")},
    {"window", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"rows\":1,\"row\":0}")},
    {"rows", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"row\":0,\"window\":1}")},
    {"rows", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"row\":0,\"rows\":0,"
                   "\"window\":1}")},
    {"row", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"row\":-1,\"rows\":1,"
                  "\"window\":1}")},
    {"rows", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"row\":0,\"rows\":4294967297,"
                   "\"window\":1}")},
    {"all channels", STEPS("{\"layer\":1,\"batch\":1,\"algorithm\":\"a\",\"part\":1,\"parts\":2,"
                           "\"row\":0,\"rows\":1,\"window\":1}")},
    {"steps that compute", STEPS("{\"op\":\"load\",\"layer\":1,\"part\":1,\"parts\":1,\"bytes\":1,"
                                 "\"row\":0,\"rows\":1,\"window\":1}")},
};

static void check_json(const struct wrong *wrong)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status =
        vbs_schedule_parse_json(&ctx, "text", wrong->text, strlen(wrong->text), &schedule);

    if (!ok(status == VBS_FORMAT && strstr(vbs_detail(&ctx), wrong->says), "JSON: %s",
            status == VBS_OK ? "taken" : vbs_detail(&ctx)))
        printf("# status %d, not about %s\n", (int)status, wrong->says);
    vbs_schedule_free(schedule);
}

/* Checks whether a profile of this beginning and this line is one of stripes. */
static void check_layout(const char *what, const char *head, const char *columns,
                         const char *values, bool is_striped)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = NULL;
    char text[400];

    snprintf(text, sizeof text,
             "%slayer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,"
             "weight_bytes,in_place%s\n1,a,conv,0,1,a,5,60,60,0,0,0%s\n",
             head, columns, values);
    if (vbs_profile_parse_csv(&ctx, "text", text, strlen(text), &profile) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    ok(vbs_profile_has_stripes(profile) == is_striped && !has_stripe_rows(profile), "%s is %s",
       what, is_striped ? "one of stripes" : "none of stripes");
    vbs_profile_free(profile);
}

int main(void)
{
    check_round_trips();
    check_layout("a profile that says so", "# layout: rows\n", "", "", true);
    check_layout("one that says nothing", "", "", "", false);
    check_layout("one of another layout", "# layout: blocks\n", "", "", false);
    check_layout("an earlier one whose input has rows", "# input-rows: 6\n", "", "", true);
    check_layout("an earlier one with rows of a layer", "", ",out_rows,reach,rows", ",6,,0", true);
    for (size_t i = 0; i < sizeof WRONG_CSV / sizeof *WRONG_CSV; i++)
        check_csv(&WRONG_CSV[i]);
    for (size_t i = 0; i < sizeof WRONG_JSON / sizeof *WRONG_JSON; i++)
        check_json(&WRONG_JSON[i]);
    return done_testing();
}
