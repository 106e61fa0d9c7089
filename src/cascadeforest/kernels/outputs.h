/* Regression of several targets at once. The impurity of a node is the mean of the targets' variances, as in
 * scikit-learn, so that the proxy of a split is the sum of the targets' proxies (see splits.h):
 * sum_o v_o,left^2 / n_left + sum_o v_o,right^2 / n_right. It is Gini's with the targets' sums in the place of the
 * classes' weights, but the weight of a side is not their sum. `hist`, `total` and `left` of the working memory hold
 * these sums, in a width of n_outputs in steps of 4. */
#ifndef CASCADEFOREST_OUTPUTS_H
#define CASCADEFOREST_OUTPUTS_H

#include "levels.h"

/* Statistics of a node. The sums of weight * target go to scratch->total, those of each row to scratch->outputs; there
 * are as many of both as `padded` says, the last ones 0. */
APART Described
output_statistics(const Sample *sample, const Scratch *scratch, const Target *target, int64_t start, int64_t n) {
    const uint64_t *restrict key = sample->key + start;
    const float *restrict weight = sample->weight + start;
    const int64_t n_outputs = target->n_outputs, width = padded(n_outputs);
    double *restrict total = scratch->total;
    double n_node = 0.0, squares = 0.0;
    uint64_t differing = 0;
    memset(total, 0, (size_t)width * sizeof *total);
    for (int64_t i = 0; i < n; i++) {
        const double w = (double)weight[i], *restrict y = target->value + (int64_t)label_of(key[i]) * n_outputs;
        double *restrict own = scratch->outputs + i * width;
        for (int64_t c = 0; c < n_outputs; c++) {
            own[c] = w * y[c];
            total[c] += own[c];
            squares += own[c] * y[c];
        }
        for (int64_t c = n_outputs; c < width; c++) own[c] = 0.0;
        n_node += w;
        differing |= key[i] ^ key[0];
    }
    return (Described){n_node, 0.0, n_outputs, label_of(differing) == 0, squares};
}

/* Add the rows' sums to those of their bins in scratch->hist, which is all zero before, and weights to `in_bin`. */
INLINE void
add_outputs(const float *restrict weight, const Scratch *scratch, int64_t n, int64_t width, double *restrict in_bin) {
    const uint8_t *restrict bins = scratch->bins;
    memset(in_bin, 0, 256 * sizeof *in_bin);
    for (int64_t i = 0; i < n; i++) {
        double *restrict hist = scratch->hist + (int64_t)bins[i] * width;
        const double *restrict own = scratch->outputs + i * width;
        in_bin[bins[i]] += (double)weight[i];
        for (int64_t c = 0; c < width; c++) hist[c] += own[c];
    }
}

/* Best split, as best_class_split finds it: bins are moved from the right side to the left one after the other. */
APART Split best_output_split(
    const float *restrict weight, const Scratch *scratch, int64_t n, Range range, const Described *node,
    int64_t min_leaf, double min_weight
) {
    double *restrict hist = scratch->hist, *restrict left = scratch->left; /* hist is all zero here, and left so */
    double in_bin[256];
    const int64_t width = padded(node->n_present), n_missing = range.n_missing;
    add_outputs(weight, scratch, n, width, in_bin);
    if (min_leaf > 1) count_rows(scratch, n, range);
    const int64_t n_bins = list_bins(scratch, n, range.low, range.high);
    Split best = no_split;
    /* Once, or with the rows without a value on the right and then on the left. */
    for (int missing = n_missing > 0 ? MISSING_RIGHT : NONE_MISSING;; missing = MISSING_LEFT) {
        double n_left = 0.0;
        int64_t rows_left = 0;
        memset(left, 0, (size_t)width * sizeof *left);
        if (missing == MISSING_LEFT) {
            move_bin(scratch, MISSING, width, GINI);
            n_left = in_bin[MISSING];
            rows_left = n_missing;
        }
        for (int64_t k = 0; k < n_bins; k++) {
            const int64_t b = scratch->present[k];
            if (b == range.high && missing != MISSING_RIGHT) break;
            if (in_bin[b] == 0.0) continue;
            const Move move = move_bin(scratch, b, width, GINI);
            n_left += in_bin[b];
            if (min_leaf > 1) rows_left += scratch->counts[b];
            const double n_right = node->n_node - n_left;
            if (enough(rows_left, n - rows_left, min_leaf, n_left, n_right, min_weight)) {
                const double proxy = class_proxy(n_left, move.sum_left, n_right, move.sum_right, GINI);
                if (proxy > best.proxy) best = (Split){proxy, b, missing, 0.0};
            }
        }
        if (missing != MISSING_RIGHT) break;
    }
    for (int64_t k = 0; k < n_bins; k++)
        memset(hist + (int64_t)scratch->present[k] * width, 0, (size_t)width * sizeof *hist);
    if (n_missing > 0) memset(hist + MISSING * width, 0, (size_t)width * sizeof *hist);
    return best;
}

/* Proxy of one given split. */
APART double output_proxy_of(
    const float *restrict weight, const Scratch *scratch, int64_t n, int64_t cut, int missing, const Described *node
) {
    const uint8_t *restrict bins = scratch->bins;
    const uint8_t shift = shift_of(missing), last = (uint8_t)cut;
    const int64_t width = padded(node->n_present);
    const double *restrict total = scratch->total;
    double *restrict left = scratch->left;
    double n_left = 0.0, sum_left = 0.0, sum_right = 0.0;
    memset(left, 0, (size_t)width * sizeof *left);
    for (int64_t i = 0; i < n; i++) {
        if (!goes_left(bins[i], last, shift)) continue;
        const double *restrict own = scratch->outputs + i * width;
        n_left += (double)weight[i];
        for (int64_t c = 0; c < width; c++) left[c] += own[c];
    }
    for (int64_t c = 0; c < node->n_present; c++) {
        sum_left += left[c] * left[c];
        sum_right += (total[c] - left[c]) * (total[c] - left[c]);
    }
    if (!(n_left > 0.0 && node->n_node - n_left > 0.0)) return -INFINITY; /* by rounding */
    return class_proxy(n_left, sum_left, node->n_node - n_left, sum_right, GINI);
}

/* Best set of levels, among the cuts of their orders by the mean of a target, for each of the first MOST_ORDERS. */
APART Split best_set_of_outputs(
    const float *weight, const Scratch *scratch, int64_t n, Level *levels, int64_t n_levels, const Described *node,
    int64_t min_leaf, double min_weight
) {
    const int64_t width = padded(node->n_present);
    double *left = scratch->left, in_bin[256];
    add_outputs(weight, scratch, n, width, in_bin);
    Split best = no_split;
    for (int64_t order = 0; order < MOST_ORDERS && order < node->n_present; order++) {
        for (int64_t k = 0; k < n_levels; k++)
            levels[k].key = scratch->hist[levels[k].bin * width + order] / in_bin[levels[k].bin];
        sort_levels(levels, n_levels);
        memset(left, 0, (size_t)width * sizeof *left);
        double n_left = 0.0;
        int64_t rows_left = 0, cut = -1;
        for (int64_t k = 0; k < n_levels - 1; k++) {
            const Move move = move_bin(scratch, levels[k].bin, width, GINI);
            n_left += in_bin[levels[k].bin];
            rows_left += levels[k].rows;
            const double n_right = node->n_node - n_left;
            if (!enough(rows_left, n - rows_left, min_leaf, n_left, n_right, min_weight)) continue;
            const double proxy = class_proxy(n_left, move.sum_left, n_right, move.sum_right, GINI);
            if (proxy > best.proxy) best = (Split){proxy, cut = k, NONE_MISSING, 0.0};
        }
        if (cut < 0) continue;
        memset(scratch->set, 0, 4 * sizeof *scratch->set);
        for (int64_t k = 0; k <= cut; k++) put_in_set(scratch->set, levels[k].bin);
    }
    for (int64_t k = 0; k < n_levels; k++)
        memset(scratch->hist + levels[k].bin * width, 0, (size_t)width * sizeof *scratch->hist);
    return best;
}

#endif
