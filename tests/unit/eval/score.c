/* Scores of outputs against a slow definition, and what is counted at the edges. */
#include "vbslab/eval.h"

#include "support/tap.h"

#include <float.h>
#include <stdlib.h>

#define N       400
#define CLASSES 9

/* Gives how many outputs stand before the label's where outputs are sorted, equal ones by number.
 */
static int place_of(const float *outputs, int label)
{
    bool taken[CLASSES] = {false};

    for (int place = 0;; place++) {
        int best = -1;

        for (int k = 0; k < CLASSES; k++)
            if (!taken[k] && (best < 0 || outputs[k] > outputs[best]))
                best = k;
        if (best == label)
            return place;
        taken[best] = true;
    }
}

/* Fills outputs with numbers of which many are equal, and labels. */
static void fill(float *outputs, int *labels)
{
    uint32_t state = 12345;

    for (int i = 0; i < N * CLASSES; i++) {
        state = state * 1664525u + 1013904223u;
        outputs[i] = (float)(state >> 28) - 8;
    }
    for (int i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        labels[i] = (int)((state >> 16) % CLASSES);
    }
}

static void softmax(const float *logits, float *probabilities)
{
    double sum = 0;

    for (int k = 0; k < CLASSES; k++)
        sum += exp(logits[k]);
    for (int k = 0; k < CLASSES; k++)
        probabilities[k] = (float)(exp(logits[k]) / sum);
}

static void test_counts(const float *outputs, const int *labels)
{
    struct vbs_score score;
    struct vbs_ctx ctx = {0};
    int64_t n_right = 0, n_top = 0, matrix[CLASSES][CLASSES] = {{0}};
    double loss = 0;

    for (int i = 0; i < N; i++) {
        const float *o = outputs + i * CLASSES;
        int place = place_of(o, labels[i]), answer = 0;
        double sum = 0;

        while (place_of(o, answer) > 0)
            answer++;
        n_right += place == 0;
        n_top += place < VBS_SCORE_TOP;
        matrix[labels[i]][answer]++;
        for (int k = 0; k < CLASSES; k++)
            sum += exp(o[k]);
        loss -= log(exp(o[labels[i]]) / sum);
    }
    if (!ok(vbs_score_init(&ctx, CLASSES, VBS_ANSWERS_LOGITS, &score) == VBS_OK, "a score"))
        return;
    ok(vbs_score_add(&ctx, &score, 100, outputs, labels) == VBS_OK &&
           vbs_score_add(&ctx, &score, N - 100, outputs + 100 * CLASSES, labels + 100) == VBS_OK,
       "images are counted in two pieces");
    is_int(score.n_images, N, "all of them");
    is_int(score.n_right, n_right, "top-1, the first of equal outputs");
    is_int(score.n_top, n_top, "top-5");
    is_near(score.loss_sum, loss, 1e-9 * loss, "cross entropy");
    ok(memcmp(score.confusion, matrix, sizeof matrix) == 0, "the confusion matrix");
    vbs_score_clear(&score);
    ok(!score.confusion && score.n_images == 0, "a score that is cleared is empty");
}

/* Outputs that are probabilities, or their logarithms, give the loss of the logits. */
static void test_answers(const float *outputs, const int *labels)
{
    float other[2][N * CLASSES];
    struct vbs_score scores[3];
    struct vbs_ctx ctx = {0};
    bool all = true;

    for (int i = 0; i < N; i++)
        softmax(outputs + i * CLASSES, other[0] + i * CLASSES);
    for (int i = 0; i < N * CLASSES; i++)
        other[1][i] = logf(other[0][i]);
    for (int a = 0; a < 3; a++)
        all = all && vbs_score_init(&ctx, CLASSES, (enum vbs_answers)a, &scores[a]) == VBS_OK &&
              vbs_score_add(&ctx, &scores[a], N, a == 0 ? outputs : other[a - 1], labels) == VBS_OK;
    ok(all, "logits, probabilities and their logarithms are counted");
    for (int a = 1; a < 3; a++)
        is_near(scores[a].loss_sum, scores[0].loss_sum, 1e-5 * scores[0].loss_sum,
                "with the same loss");
    for (int a = 0; a < 3; a++)
        vbs_score_clear(&scores[a]);
}

static void test_edges(void)
{
    static const float ZERO[] = {0, 1}, HUGE_ONES[] = {-3e38f, 3e38f},
                       WRONG[] = {1, 0, 1, NAN, INFINITY, 0};
    static const int LABELS[] = {0, 0, 0}, OUT[] = {2}, BELOW[] = {-1};
    struct vbs_score score;
    struct vbs_ctx ctx = {0};

    if (vbs_score_init(&ctx, 2, VBS_ANSWERS_PROBABILITIES, &score) != VBS_OK)
        return;
    ok(vbs_score_add(&ctx, &score, 1, ZERO, LABELS) == VBS_OK, "a probability of 0");
    is_near(score.loss_sum, -log(FLT_MIN), 1e-9, "has a finite loss");
    ok(vbs_score_add(&ctx, &score, 3, WRONG, LABELS) == VBS_LIBRARY && score.n_images == 2 &&
           strstr(ctx.detail, "output 1 of the network is no finite number for image 2"),
       "an output that is NaN is named, the images before it are counted");
    ok(vbs_score_add(&ctx, &score, 1, WRONG + 4, LABELS) == VBS_LIBRARY &&
           vbs_score_add(&ctx, &score, 1, ZERO, OUT) == VBS_LIBRARY &&
           vbs_score_add(&ctx, &score, 1, ZERO, BELOW) == VBS_LIBRARY && score.n_images == 2,
       "infinite outputs and labels that are no class are refused");
    vbs_score_clear(&score);
    if (vbs_score_init(&ctx, 2, VBS_ANSWERS_LOGITS, &score) != VBS_OK)
        return;
    ok(vbs_score_add(&ctx, &score, 1, HUGE_ONES, LABELS) == VBS_OK && isfinite(score.loss_sum) &&
           score.loss_sum > 5e38,
       "the loss of huge outputs is finite");
    vbs_score_clear(&score);
    ok(vbs_score_init(&ctx, VBS_SCORE_MAX_CLASSES + 1, VBS_ANSWERS_LOGITS, &score) == VBS_OK &&
           !score.confusion,
       "many classes have no matrix");
    vbs_score_clear(&score);
}

/* What the last operator makes decides. */
static void test_networks(void)
{
    static const struct {
        const char *operators;
        enum vbs_answers answers;
    } CASES[] = {{"fc a out=3\n", VBS_ANSWERS_LOGITS},
                 {"fc a out=3\nsoftmax b\n", VBS_ANSWERS_PROBABILITIES},
                 {"fc a out=3\nsoftmax b\nscale c\n", VBS_ANSWERS_LOGITS},
                 {"fc a out=4\nsoftmax b\nfc c out=3\n", VBS_ANSWERS_LOGITS}};

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vbs_network *network = NULL;
        struct vbs_ctx ctx = {0};
        char text[200];
        int length = snprintf(text, sizeof text, "model m\ninput 1x2x2\n%s", CASES[i].operators);

        ok(vbs_network_parse(&ctx, "text", text, (size_t)length, NULL, &network) == VBS_OK &&
               vbs_network_answers(network) == CASES[i].answers,
           "the answers of network %zu", i);
        vbs_network_free(network);
    }
}

int main(void)
{
    static float outputs[N * CLASSES];
    static int labels[N];

    fill(outputs, labels);
    test_counts(outputs, labels);
    test_answers(outputs, labels);
    test_edges();
    test_networks();
    return done_testing();
}
