#include "cases/report_sample.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST 12

/* Milliseconds per sample; 0: infeasible. */
static const double TIMES_MS[SAMPLE_BUDGETS][SAMPLE_PLANNERS] = {
    {0, 0, 0, 15.5},
    {14.25, 14.25, 0, 12.125},
    {12.5, 12.0, 0, 11.0},
    {12.0, 11.0, 10.5, 10.5},
};
static const double BOUNDS_MS[SAMPLE_BUDGETS] = {10, 10, 10, 10.5};
static const int64_t LEAST_BYTES[SAMPLE_PLANNERS] = {12687361, 12687361, 35 << 20, 9 << 20};

/* Gives the gain in percent, with an interval ten times as wide where the base takes 12 ms. */
static struct vbs_gain gain(double ms, double base_ms)
{
    double percent = base_ms > 0 ? 100 * (1 - ms / base_ms) : NAN;
    double half = base_ms == 12 ? 10 : 1;

    return (struct vbs_gain){percent, percent - half, percent + 0.75 * half};
}

static void fill_row(struct vbs_compare_row *row, int b, int p)
{
    double ms = TIMES_MS[b][p];

    if (ms == 0)
        return;
    row->feasible = true;
    row->per_sample_us = 1e3 * ms;
    row->samples_per_s = 1e3 / ms;
    row->peak_bytes = row->memory_bytes - 1000 * p;
    row->gain_over_fbs = gain(ms, TIMES_MS[b][0]);
    row->gain_over_fbs_best = gain(ms, TIMES_MS[b][1]);
    row->noise = b == 2 && p > 0 ? VBS_NOISE_WITHIN : VBS_NOISE_CLEAR;
    row->latency_us = 1e3 * REQUEST * ms;
    row->gap_percent = 100 * (ms - BOUNDS_MS[b]) / BOUNDS_MS[b];
    row->min_batch = p < 2 ? 2 + b : 1;
    row->max_batch = p < 2 ? 2 + b : 12;
    row->plan_us = 0.1 + 100 * b + 10 * p;
}

void report_sample_fill(struct report_sample *sample)
{
    static const char *const NAMES[] = {"fbs", "fbs-best", "greedy-vbs", "dp-vbs"};
    static const struct vbs_provenance PROVENANCE = {
        .model = "googlenet",
        .input = "3x224x224",
        .backend = "onednn",
        .library = "oneDNN 2.6.3",
        .device = "Example CPU @ 2.70GHz",
        .vbslab = "0.1.0",
        .date = "2024-11-21T08:00:00Z",
        .notes = "",
        .threads = 2,
    };

    *sample = (struct report_sample){
        .compare = {.profile_id = 7,
                    .judge_id = 7,
                    .model = PROVENANCE.model,
                    .request = REQUEST,
                    .provenance = PROVENANCE,
                    .hash = "00112233445566778899aabbccddeeff",
                    .judge_hash = "00112233445566778899aabbccddeeff",
                    .judge = PROVENANCE,
                    .self_judged = true,
                    .intervals = VBS_INTERVALS_SAMPLES,
                    .n_budgets = SAMPLE_BUDGETS,
                    .n_planners = SAMPLE_PLANNERS,
                    .budgets = sample->budgets,
                    .bound_us = sample->bound_us,
                    .planners = sample->planners,
                    .rows = &sample->rows[0][0]},
    };
    for (int p = 0; p < SAMPLE_PLANNERS; p++)
        if (vbs_planner_find(NULL, NAMES[p], &sample->planners[p]) != VBS_OK)
            exit(1);
    for (int b = 0; b < SAMPLE_BUDGETS; b++) {
        sample->budgets[b] = (int64_t)(10 * (b + 1)) << 20;
        sample->bound_us[b] = 1e3 * REQUEST * BOUNDS_MS[b];
        for (int p = 0; p < SAMPLE_PLANNERS; p++) {
            sample->rows[b][p] = (struct vbs_compare_row){.memory_bytes = sample->budgets[b],
                                                          .planner = sample->planners[p],
                                                          .least_bytes = LEAST_BYTES[p]};
            fill_row(&sample->rows[b][p], b, p);
        }
    }
}

void report_sample_starve(struct report_sample *sample)
{
    sample->compare.intervals = VBS_INTERVALS_NONE;
    for (int b = 0; b < SAMPLE_BUDGETS; b++) {
        sample->bound_us[b] = HUGE_VAL;
        for (int p = 0; p < SAMPLE_PLANNERS; p++)
            sample->rows[b][p] = (struct vbs_compare_row){.memory_bytes = sample->budgets[b],
                                                          .planner = sample->planners[p],
                                                          .least_bytes = (int64_t)(50 - p) << 20};
    }
}

static char *folder_path(void)
{
    static char path[] = "/tmp/rXXXXXX";

    return path;
}

const char *report_folder(void)
{
    if (!mkdtemp(folder_path()) || setenv("TMPDIR", folder_path(), 1) != 0) {
        perror("cannot make a folder in /tmp");
        exit(1);
    }
    return folder_path();
}

static int each_entry(bool remove_it)
{
    DIR *folder = opendir(folder_path());
    struct dirent *entry;
    int n = 0;

    while (folder && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        if (remove_it)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    return n;
}

int report_folder_count(void)
{
    return each_entry(false);
}

void report_folder_remove(void)
{
    each_entry(true);
    rmdir(folder_path());
}
