/*
 * A replay as a picture, alone or above the run of the same schedule. The template is
 * plots/gantt.gp. The data has a block of boxes (lane, from, to, layer, its name, batch) and one or
 * two of levels (from; weights, with tensors, with workspace, added up), times and memory in units
 * that suit the longest and the largest of the picture, the last level twice, so that its step is
 * drawn to the end: those of what was done last, then, where there are two, those planned. What is
 * not among the series that are drawn counts as nothing.
 */
#include "base/fail.h"
#include "report/plot/gantt.h"
#include "report/plot/gnuplot.h"

#include <math.h>
#include <string.h>

#define TITLE_LIMIT 48 /* characters of a name in a title */
#define LABEL_LIMIT 40
/* Borders are drawn thinner where there are more boxes, so that they leave colours to be seen. */
#define WIDE_BORDERS 150 /* boxes with borders of full width */
/* Boxes with thin borders; with n times as many, they are n times thinner. */
#define THIN_BORDERS 600

/* The layout of the template, in inches of text of the default size. */
#define WIDTH_INCHES  8.6  /* of the picture, where no size is given */
#define BESIDE_INCHES 1.7  /* on both sides of the lanes */
#define SVG_POINTS    8.64 /* the default size of text */
#define OTHER_POINTS  8.27
/* Labels of boxes: larger where there are few boxes, and no label loses words by it. */
#define FEW_BOXES        16
#define LARGE_POINTS     9
#define SMALL_POINTS     7
#define CHARACTER_INCHES 0.0084 /* the width of a character, for each point of its size */
#define UPRIGHT_INCHES   0.0099 /* the height of a line that goes from bottom to top, likewise */
#define MARGIN_INCHES    0.041
#define LANE_INCHES      0.47 /* the height of a box, for upright text */

/* The series: what memory is made of, from the bottom to the top, and the budget. */
enum gantt_series { WEIGHTS, TENSORS, WORKSPACE, BUDGET, N_SERIES };

static const char *const SERIES[] = {"weights", "tensors", "workspace", "budget"};

/* The figure that is being made. */
struct gantt_picture {
    struct vbs_gnuplot picture;
    bool shows[N_SERIES];
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_replay *replay;
    const struct vbs_replay *executed; /* null: the replay stands alone */
    int lanes;                         /* lanes of the replay, and as many of the run */
    double span_us;                    /* of the axis of time */
    double lane_inches;                /* the length of that axis */
    int label_points;
    struct vbs_gantt gantt, executed_gantt;
    const char *unit, *time_unit;
    double unit_bytes, time_unit_us;
};

/* Gives how much lower the lanes of the run are. */
static double lane_shift(const struct gantt_picture *figure)
{
    return figure->lanes + 0.2;
}

static void choose_time_unit(struct gantt_picture *figure)
{
    figure->time_unit = figure->span_us < 1e3 ? "us" : figure->span_us < 1e7 ? "ms" : "s";
    figure->time_unit_us = figure->span_us < 1e3 ? 1 : figure->span_us < 1e7 ? 1e3 : 1e6;
}

static void choose_memory_unit(struct gantt_picture *figure)
{
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB"};
    int i = 0;

    while (i < 3 && figure->replay->peak_bytes >> (10 * (i + 1)) >= 1)
        i++;
    figure->unit = NAMES[i];
    figure->unit_bytes = (double)(INT64_C(1) << (10 * i));
}

static void add_field(struct vbs_text *text, double value, const char *after)
{
    vbs_text_add_double(text, value);
    vbs_text_add(text, after);
}

static void add_level(struct vbs_text *data, const struct gantt_picture *figure,
                      const struct vbs_gantt_level *level, double from_us)
{
    const int64_t parts[] = {level->weight_bytes, level->live_bytes, level->ws_bytes};
    double sum = 0;

    vbs_text_add_double(data, from_us / figure->time_unit_us);
    for (int i = WEIGHTS; i <= WORKSPACE; i++) {
        sum += figure->shows[i] ? (double)parts[i] / figure->unit_bytes : 0;
        vbs_text_add(data, ",");
        vbs_text_add_double(data, sum);
    }
    vbs_text_add(data, "\n");
}

static void add_boxes(struct vbs_text *data, const struct gantt_picture *figure,
                      const struct vbs_gantt *gantt, double shift)
{
    for (int i = 0; i < gantt->n_boxes; i++) {
        const struct vbs_gantt_box *box = &gantt->boxes[i];

        add_field(data, box->lane + shift, ",");
        add_field(data, box->from_us / figure->time_unit_us, ",");
        add_field(data, box->to_us / figure->time_unit_us, ",");
        vbs_text_addf(data, "%d,%d,", box->layer, box->batch);
        vbs_gnuplot_add_field(data, box->layer > 0 ? figure->profile->layers[box->layer].name : "");
        vbs_text_add(data, "\n");
    }
}

static void add_levels(struct vbs_text *data, const struct gantt_picture *figure,
                       const struct vbs_gantt *gantt, double end_us)
{
    vbs_text_addf(data, "\n\nfrom_%s,weights_%s,with_tensors,with_workspace\n", figure->time_unit,
                  figure->unit);
    for (int i = 0; i < gantt->n_levels; i++)
        add_level(data, figure, &gantt->levels[i], gantt->levels[i].from_us);
    add_level(data, figure, &gantt->levels[gantt->n_levels - 1], end_us);
}

static void add_data(struct vbs_text *data, const struct gantt_picture *figure)
{
    vbs_text_addf(data, "lane,from_%s,to_%s,layer,batch,name\n", figure->time_unit,
                  figure->time_unit);
    add_boxes(data, figure, &figure->gantt, 0);
    if (figure->executed) {
        add_boxes(data, figure, &figure->executed_gantt, lane_shift(figure));
        add_levels(data, figure, &figure->executed_gantt, figure->executed->time_us);
    }
    add_levels(data, figure, &figure->gantt, figure->replay->time_us);
}

/* The text in a box. */
struct box_label {
    struct vbs_text text; /* empty: nothing */
    bool upright;         /* from bottom to top */
};

/* Chooses the direction of a label in a box that is so many inches wide. */
static bool has_room(struct box_label *label, int points, double inches)
{
    double length_inches = (double)label->text.length * points * CHARACTER_INCHES;

    label->upright = length_inches > inches;
    return !label->upright || (inches >= points * UPRIGHT_INCHES && length_inches <= LANE_INCHES);
}

/* Chooses the longest label that fits: name and batch ("conv2 x8"), the name, number and batch
 * ("#5 x8"), the number ("#5"), or none. A number without a mark would look like a batch. */
static void choose_label(struct box_label *label, const char *name, const struct vbs_gantt_box *box,
                         int points, double inches)
{
    struct vbs_text *text = &label->text;

    for (int form = 0; form < 4 && !text->failed; form++) {
        bool with_name = form < 2, with_batch = form % 2 == 0;

        if ((with_name && !name[0]) || (with_batch && box->batch == 0))
            continue;
        vbs_text_clear(text);
        if (with_name)
            vbs_text_add_visible(text, name, LABEL_LIMIT);
        else
            vbs_text_addf(text, "#%d", box->layer);
        if (with_batch)
            vbs_text_addf(text, " x%d", box->batch);
        if (has_room(label, points, inches))
            return;
    }
    vbs_text_clear(text);
}

/* Chooses the label of a box; that of a wait is empty. */
static void label_box(struct box_label *label, const struct gantt_picture *figure,
                      const struct vbs_gantt_box *box, int points)
{
    double inches =
        (box->to_us - box->from_us) / figure->span_us * figure->lane_inches - MARGIN_INCHES;

    if (box->layer > 0)
        choose_label(label, figure->profile->layers[box->layer].name, box, points, inches);
}

static void add_label(struct vbs_text *script, const struct gantt_picture *figure,
                      const struct vbs_gantt_box *box, double shift, int *n_labels)
{
    struct box_label label = {0};

    label_box(&label, figure, box, figure->label_points);
    script->failed = script->failed || label.text.failed;
    if (label.text.length > 0) {
        vbs_text_addf(script, "set label %d ", 100 + (*n_labels)++);
        vbs_text_addf(script, "sized(%d, ", figure->label_points);
        vbs_gnuplot_add_string(script, label.text.data, LABEL_LIMIT + 8);
        vbs_text_add(script, ") at ");
        add_field(script, (box->from_us + box->to_us) / 2 / figure->time_unit_us, ", ");
        add_field(script, -box->lane - shift, label.upright ? " rotate by 90" : "");
        vbs_text_addf(script, " center noenhanced front font ',%d'\n", figure->label_points);
    }
    vbs_text_clear(&label.text);
}

/* Gives whether large labels have all words that small ones have. */
static bool keeps_words(const struct gantt_picture *figure, const struct vbs_gantt *gantt)
{
    bool keeps = gantt->n_boxes <= FEW_BOXES;

    for (int i = 0; i < gantt->n_boxes && keeps; i++) {
        struct box_label large = {0}, small = {0};

        label_box(&large, figure, &gantt->boxes[i], LARGE_POINTS);
        label_box(&small, figure, &gantt->boxes[i], SMALL_POINTS);
        keeps = large.text.length == small.text.length;
        vbs_text_clear(&large.text);
        vbs_text_clear(&small.text);
    }
    return keeps;
}

/* Finds the length of the lanes and the size of labels. */
static void size_labels(struct gantt_picture *figure)
{
    const struct vbs_plot_options *options = figure->picture.options;
    const struct vbs_gnuplot_format *format = figure->picture.format;
    double points = strcmp(format->name, "svg") == 0 ? SVG_POINTS : OTHER_POINTS;
    double scale = options->font_points > 0 ? options->font_points / points : 1;
    double width = options->width > 0 ? options->width : WIDTH_INCHES;

    if (options->width > 0 && options->in_pixels)
        width /= format->pixels_per_inch;
    figure->lane_inches = width / scale - BESIDE_INCHES;
    figure->label_points = LARGE_POINTS;
    if (!keeps_words(figure, &figure->gantt) || !keeps_words(figure, &figure->executed_gantt))
        figure->label_points = SMALL_POINTS;
}

static void add_labels(struct vbs_text *script, const struct gantt_picture *figure)
{
    int n_labels = 0;

    for (int i = 0; i < figure->gantt.n_boxes; i++)
        add_label(script, figure, &figure->gantt.boxes[i], 0, &n_labels);
    for (int i = 0; i < figure->executed_gantt.n_boxes; i++)
        add_label(script, figure, &figure->executed_gantt.boxes[i], lane_shift(figure), &n_labels);
}

static void add_string(struct vbs_text *script, const char *name, struct vbs_text *value, int limit)
{
    vbs_text_addf(script, "%s = ", name);
    vbs_gnuplot_add_string(script, value->data ? value->data : "", limit);
    vbs_text_add(script, "\n");
    script->failed = script->failed || value->failed;
    vbs_text_clear(value);
}

static void add_time(struct vbs_text *note, const struct gantt_picture *figure, double time_us)
{
    vbs_text_addf(note, "%.4g %s", time_us / figure->time_unit_us, figure->time_unit);
}

/* Adds the times of replay, which may be the run; then its whole time is compared with the planned
 * one. */
static void add_clocks(struct vbs_text *note, const struct gantt_picture *figure,
                       const struct vbs_replay *replay)
{
    double planned_us = figure->replay->time_us;

    add_time(note, figure, replay->time_us);
    if (replay != figure->replay)
        vbs_text_addf(note, " (%+.1f%%)", 100 * (replay->time_us - planned_us) / planned_us);
    if (figure->lanes > 1) {
        vbs_text_add(note, ": computing ");
        add_time(note, figure, replay->compute_us);
        vbs_text_add(note, ", copying ");
        add_time(note, figure, replay->copy_us);
    }
}

static void add_note(struct vbs_text *note, const struct gantt_picture *figure)
{
    const struct vbs_replay *replay = figure->replay, *executed = figure->executed;
    char bytes[24];

    vbs_text_add(note, executed ? "planned " : "");
    add_clocks(note, figure, replay);
    if (executed) {
        vbs_text_add(note, "; executed ");
        add_clocks(note, figure, executed);
    }
    vbs_text_addf(note, "; peak %s%s", vbs_format_bytes(replay->peak_bytes, bytes, sizeof bytes),
                  replay->fits ? "" : ", above the budget");
}

static void add_subject(struct vbs_text *title, const struct gantt_picture *figure)
{
    const struct vbs_schedule *schedule = figure->schedule;
    char bytes[24];

    vbs_text_add_visible(title, schedule->model[0] ? schedule->model : "unnamed network",
                         TITLE_LIMIT);
    vbs_text_addf(title, ", request %lld, io %s, ", (long long)schedule->request,
                  vbs_io_word(schedule->io));
    vbs_text_add_visible(title, schedule->planner, TITLE_LIMIT);
    vbs_text_addf(title, ", %s",
                  vbs_format_bytes(figure->replay->memory_bytes, bytes, sizeof bytes));
    if (figure->lanes > 1)
        vbs_text_add(title, " with weights");
}

static void add_titles(struct vbs_text *script, const struct gantt_picture *figure)
{
    struct vbs_text title = {0}, note = {0};

    add_subject(&title, figure);
    add_note(&note, figure);
    add_string(script, "vbs_title", &title, 3 * TITLE_LIMIT);
    add_string(script, "vbs_note", &note, 3 * TITLE_LIMIT);
}

/* Gives the most memory of what is drawn, in the unit. */
static double most_memory(const struct gantt_picture *figure, const struct vbs_gantt *gantt)
{
    int64_t most = 0;

    if (figure->shows[WEIGHTS] && figure->shows[TENSORS] && figure->shows[WORKSPACE])
        return (double)figure->replay->peak_bytes / figure->unit_bytes;
    for (int i = 0; i < gantt->n_levels; i++) {
        const struct vbs_gantt_level *level = &gantt->levels[i];
        int64_t bytes = (figure->shows[WEIGHTS] ? level->weight_bytes : 0) +
                        (figure->shows[TENSORS] ? level->live_bytes : 0) +
                        (figure->shows[WORKSPACE] ? level->ws_bytes : 0);

        most = bytes > most ? bytes : most;
    }
    return (double)most / figure->unit_bytes;
}

/* Adds the axis of memory. The budget's line is drawn where it is not far above all levels. */
static void add_memory(struct vbs_text *script, const struct gantt_picture *figure)
{
    double peak = most_memory(figure, &figure->gantt);
    double budget = (double)figure->replay->memory_bytes / figure->unit_bytes;
    bool near = figure->shows[BUDGET] && budget <= 3 * peak;
    double highest = near ? fmax(peak, budget) : peak;

    vbs_text_addf(script, "vbs_unit = '%s'\nvbs_budget = ", figure->unit);
    vbs_text_add_double(script, near ? budget : 0);
    vbs_text_add(script, "\nvbs_memory_to = ");
    add_field(script, highest > 0 ? 1.08 * highest : 1, "\n");
    for (int i = WEIGHTS; i <= WORKSPACE; i++)
        vbs_text_addf(script, "vbs_%s = %d\n", SERIES[i],
                      figure->shows[i] && (i != WEIGHTS || figure->lanes > 1));
}

static bool has_waits(const struct vbs_gantt *gantt)
{
    for (int i = 0; i < gantt->n_boxes; i++)
        if (gantt->boxes[i].layer == 0)
            return true;
    return false;
}

static double border_width(int n_boxes)
{
    if (n_boxes <= WIDE_BORDERS)
        return 0.4;
    return n_boxes <= THIN_BORDERS ? 0.12 : 0.12 * THIN_BORDERS / n_boxes;
}

static void add_preamble(struct vbs_text *script, const struct gantt_picture *figure)
{
    int most = figure->gantt.n_boxes > figure->executed_gantt.n_boxes
                   ? figure->gantt.n_boxes
                   : figure->executed_gantt.n_boxes;

    vbs_text_addf(script,
                  "vbs_lanes = %d\nvbs_layers = %d\nvbs_borders = %.4f\nvbs_waits = %d\n"
                  "vbs_time_unit = '%s'\nvbs_time = ",
                  figure->lanes, figure->profile->n_layers, border_width(most),
                  has_waits(&figure->gantt) || has_waits(&figure->executed_gantt),
                  figure->time_unit);
    add_field(script, figure->span_us / figure->time_unit_us, "\nvbs_shift = ");
    add_field(script, figure->executed ? lane_shift(figure) : 0, "\n");
    add_titles(script, figure);
    add_memory(script, figure);
    add_labels(script, figure);
}

static enum vbs_status make_gantts(struct vbs_ctx *ctx, struct gantt_picture *figure)
{
    VBS_TRY(vbs_gantt_make(ctx, figure->schedule, figure->replay, &figure->gantt));
    if (figure->executed)
        VBS_TRY(vbs_gantt_make(ctx, figure->schedule, figure->executed, &figure->executed_gantt));
    return VBS_OK;
}

static enum vbs_status choose_series(struct gantt_picture *figure)
{
    const struct vbs_gnuplot *picture = &figure->picture;

    for (int i = 0; i < N_SERIES; i++)
        figure->shows[i] = vbs_plot_shows(picture->options, SERIES[i]);
    return vbs_plot_check_series(picture->ctx, picture->options, SERIES, N_SERIES);
}

static enum vbs_status draw(struct gantt_picture *figure)
{
    struct vbs_text title = {0};
    enum vbs_status status;

    VBS_TRY(choose_series(figure));
    VBS_TRY(make_gantts(figure->picture.ctx, figure));
    choose_time_unit(figure);
    choose_memory_unit(figure);
    size_labels(figure);
    add_preamble(&figure->picture.script, figure);
    add_data(&figure->picture.data, figure);
    vbs_text_add(&title, figure->executed ? "Schedule as planned and as executed: " : "Schedule: ");
    add_subject(&title, figure);
    status = title.failed ? vbs_no_memory(figure->picture.ctx)
                          : vbs_gnuplot_draw(&figure->picture, "gantt", title.data);
    vbs_text_clear(&title);
    return status;
}

enum vbs_status vbs_gantt_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, const struct vbs_replay *replay,
                               const struct vbs_replay *executed,
                               const struct vbs_plot_options *options, const char *path)
{
    struct gantt_picture figure = {.profile = profile,
                                   .schedule = schedule,
                                   .replay = replay,
                                   .executed = executed,
                                   .lanes = schedule->weights == VBS_WEIGHTS_INCLUDED ? 2 : 1,
                                   .span_us =
                                       fmax(replay->time_us, executed ? executed->time_us : 0)};
    enum vbs_status status;

    VBS_TRY(vbs_gnuplot_begin(ctx, options, path, &figure.picture));
    if (!replay->steps)
        return vbs_fail(ctx, VBS_USAGE, "a picture needs the trace of the replay");
    if (!(replay->time_us > 0) || (executed && !(executed->time_us > 0)))
        return vbs_fail(ctx, VBS_UNSUPPORTED, "nothing to plot: the schedule takes no time");
    status = draw(&figure);
    vbs_gnuplot_clear(&figure.picture);
    vbs_gantt_clear(&figure.gantt);
    vbs_gantt_clear(&figure.executed_gantt);
    return status;
}

enum vbs_status vbs_replay_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule,
                                const struct vbs_replay *replay,
                                const struct vbs_plot_options *options, const char *path)
{
    return vbs_gantt_plot(ctx, profile, schedule, replay, NULL, options, path);
}
