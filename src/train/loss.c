#include "train/run.h"

#include <math.h>

void vbs_loss_add(const float *scores, int n_classes, int label, double smoothing, double divisor,
                  struct vbs_loss *loss, float *gradient)
{
    double most = (double)scores[0], total = 0, entropy = 0, even = smoothing / n_classes;
    int best = 0;

    for (int c = 1; c < n_classes; c++)
        if ((double)scores[c] > most) {
            most = (double)scores[c];
            best = c;
        }
    for (int c = 0; c < n_classes; c++)
        total += exp((double)scores[c] - most);
    for (int c = 0; c < n_classes; c++) {
        double target = even + (c == label ? 1 - smoothing : 0);
        double log_share = (double)scores[c] - most - log(total);

        entropy -= target > 0 ? target * log_share : 0;
        if (gradient)
            gradient[c] = (float)((exp(log_share) - target) / divisor);
    }
    loss->sum += entropy;
    loss->n_right += best == label;
}
