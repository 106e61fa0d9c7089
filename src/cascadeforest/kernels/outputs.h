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
APART void output_statistics(Node *node) {
    const Scratch *scratch = node->scratch;
    const uint64_t *restrict key = node->key;
    const float *restrict weight = node->weight;
    const double *restrict value = node->target->value;
    const int64_t n = node->n, n_outputs = node->target->n_outputs, width = padded(n_outputs);
    double *restrict total = scratch->total, *restrict outputs = scratch->outputs;
    double n_node = 0.0, squares = 0.0;
    uint64_t differing = 0;
    memset(total, 0, (size_t)width * sizeof *total);
    for (int64_t i = 0; i < n; i++) {
        const double w = (double)weight[i], *restrict y = value + (int64_t)label_of(key[i]) * n_outputs;
        double *restrict own = outputs + i * width;
        for (int64_t c = 0; c < n_outputs; c++) {
            own[c] = w * y[c];
            total[c] += own[c];
            squares += own[c] * y[c];
        }
        for (int64_t c = n_outputs; c < width; c++) own[c] = 0.0;
        n_node += w;
        differing |= key[i] ^ key[0];
    }
    set_statistics(node, n_node, 0.0, n_outputs, label_of(differing) == 0, squares);
}

APART Split best_output_split(const Node *node, Range range) { return best_class_split(node, range, false, true); }

APART Split best_set_of_outputs(const Node *node, Level *levels, int64_t n_levels) {
    return best_set_of_orders(node, levels, n_levels, false, true);
}

/* Proxy of one given split. */
APART double output_proxy_of(const Node *node, int64_t cut, int missing) {
    const Scratch *scratch = node->scratch;
    const uint8_t *restrict bins = scratch->bins;
    const float *restrict weight = node->weight;
    const uint8_t shift = shift_of(missing), last = (uint8_t)cut;
    const int64_t n = node->n, width = padded(node->n_present);
    const double *restrict total = scratch->total;
    double *restrict left = scratch->left;
    double n_left = 0.0, sum_left = 0.0, sum_right = 0.0;
    memset(left, 0, (size_t)width * sizeof *left);
    for (int64_t i = 0; i < n; i++) {
        if (!goes_left(bins[i], last, shift)) continue;
        n_left += (double)weight[i];
        add_to(left, scratch->outputs + i * width, width);
    }
    for (int64_t c = 0; c < node->n_present; c++) {
        sum_left += left[c] * left[c];
        sum_right += (total[c] - left[c]) * (total[c] - left[c]);
    }
    if (!(n_left > 0.0 && node->n_node - n_left > 0.0)) return -INFINITY; /* by rounding */
    return class_proxy(n_left, sum_left, node->n_node - n_left, sum_right, GINI);
}

#endif
