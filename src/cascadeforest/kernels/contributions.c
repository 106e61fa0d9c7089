/* Contributions tree by tree: node means, decision paths, and Algorithm 1 of the interpretation paper.
 *
 * Nodes of a tree are numbered from the root, a left child directly behind its parent and a right one behind the left
 * one's subtree (see nodes.h), so that the rows of a subtree stand side by side once rows are sorted by leaf.
 *
 * Arrays of contributions are flat in outputs and features: entry c * n_features + k is feature k's for output c, so
 * that what is summed over features lies side by side. */
#include <math.h>
#include <string.h>

#include "export.h"

/* Rules of calibration: Eqs. 23, 24, and 25 and 26 (as in contributions.py). */
enum { MULTIPLICATIVE, ADDITIVE, PARTIAL };
/* A sum that is not above this share of its terms' absolute sum, or a change that is not, is rounding error: nothing is
 * divided by it, and its sign chooses nothing. Leaves hold what they predict in single precision. */
#define CANCELLED 1e-6
/* Means of equal numbers differ by less than this share of them. */
#define EQUAL 1e-9
/* Numbers of a long sum that are summed over all rows before the next ones. */
#define PIECE 1024

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline double sign_of(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
static inline double positive_part(double x) { return 0.0 > x ? 0.0 : x; }

/* Parents, depths and ends of subtrees (one behind their last node); returns the greatest depth.
 *
 * feature: int32 (n_nodes), feature of a split; negative in leaves
 * right: int32 (n_nodes), right children
 * parent, depth, end: int32 (n_nodes), written */
EXPORT int32_t relatives(
    const int32_t *restrict feature, const int32_t *restrict right, int64_t n_nodes, int32_t *restrict parent,
    int32_t *restrict depth, int32_t *restrict end
) {
    int32_t deepest = 0;
    parent[0] = -1;
    depth[0] = 0;
    for (int64_t node = 0; node < n_nodes; node++) {
        if (feature[node] >= 0) {
            parent[node + 1] = parent[right[node]] = (int32_t)node;
            depth[node + 1] = depth[right[node]] = depth[node] + 1;
        }
        if (depth[node] > deepest) deepest = depth[node];
    }
    for (int64_t node = n_nodes - 1; node >= 0; node--) {
        end[node] = feature[node] >= 0 ? end[right[node]] : (int32_t)(node + 1);
    }
    return deepest;
}

/* Rows in the order of their leaves: those of the subtree at `node` are order[place[node]] up to order[place[end]],
 * which is not among them, `end` being the end of the subtree.
 *
 * leaf: int32 (n), leaf of each row; negative for rows that are left out
 * order: int32 (n), written with row numbers, as many as are not left out
 * place: int64 (n_nodes + 1), written */
EXPORT void sort_by_leaf(
    const int32_t *restrict leaf, int64_t n, int32_t *restrict order, int64_t *restrict place, int64_t n_nodes
) {
    memset(place, 0, (size_t)(n_nodes + 1) * sizeof *place);
    for (int64_t i = 0; i < n; i++) {
        if (leaf[i] >= 0) place[leaf[i] + 1]++;
    }
    for (int64_t node = 0; node < n_nodes; node++) place[node + 1] += place[node];
    for (int64_t i = 0; i < n; i++) {
        if (leaf[i] >= 0) order[place[leaf[i]]++] = (int32_t)i;
    }
    memmove(place + 1, place, (size_t)n_nodes * sizeof *place); /* the end of a leaf is where the next one begins */
    place[0] = 0;
}

/* Weighted mean response of the rows in each node: mu(t) of Eq. 14.
 *
 * feature, right, n_nodes: as in `relatives`
 * leaf: int32 (n), leaf of each row
 * weight: float64 (n), weight of each row, 0 for rows that the tree did not learn from
 * Y: float64 (n, n_outputs), responses
 * total: float64 (n_nodes), written with the weight of the rows in each node
 * mean: float64 (n_nodes, n_outputs), written; 0 in nodes without weight */
EXPORT void node_means(
    const int32_t *restrict feature, const int32_t *restrict right, int64_t n_nodes, const int32_t *restrict leaf,
    const double *restrict weight, int64_t n, const double *restrict Y, int64_t n_outputs, double *restrict total,
    double *mean
) {
    memset(total, 0, (size_t)n_nodes * sizeof *total);
    memset(mean, 0, (size_t)(n_nodes * n_outputs) * sizeof *mean);
    for (int64_t i = 0; i < n; i++) {
        if (weight[i] > 0.0) {
            double *restrict own = mean + leaf[i] * n_outputs;
            total[leaf[i]] += weight[i];
            for (int64_t c = 0; c < n_outputs; c++) own[c] += weight[i] * Y[i * n_outputs + c];
        }
    }
    for (int64_t node = n_nodes - 1; node >= 0; node--) {
        if (feature[node] >= 0) {
            double *restrict own = mean + node * n_outputs;
            const double *a = mean + (node + 1) * n_outputs, *b = mean + right[node] * n_outputs;
            total[node] = total[node + 1] + total[right[node]];
            for (int64_t c = 0; c < n_outputs; c++) own[c] = a[c] + b[c];
        }
    }
    for (int64_t node = 0; node < n_nodes; node++) {
        if (total[node] > 0.0) {
            for (int64_t c = 0; c < n_outputs; c++) mean[node * n_outputs + c] /= total[node];
        }
    }
}

/* Eqs. 1 to 3 for one row, from its leaf up to the root: adds to `line` (n_outputs * n_features). What a split on a
 * shared column changes is divided equally among its features. */
static inline void add_path(
    const int32_t *restrict feature, const int32_t *restrict parent, int64_t n_given, const double *restrict value,
    int64_t n_outputs, int32_t leaf, const int64_t *restrict shared, const int32_t *restrict sharer,
    double *restrict line, int64_t n_features
) {
    int64_t n_own = smaller(n_given, n_features);
    for (int32_t node = leaf, above; node > 0; node = above) {
        above = parent[node];
        if (feature[above] >= n_given) continue;
        const double *to = value + node * n_outputs, *from = value + above * n_outputs;
        if (feature[above] < n_own) {
            for (int64_t c = 0; c < n_outputs; c++) line[c * n_features + feature[above]] += to[c] - from[c];
        } else {
            const int64_t *share = shared + (feature[above] - n_features);
            for (int64_t c = 0; c < n_outputs; c++) {
                double part = (to[c] - from[c]) / (double)(share[1] - share[0]);
                for (int64_t j = share[0]; j < share[1]; j++) line[c * n_features + sharer[j]] += part;
            }
        }
    }
}

/* Eqs. 1 to 3: each step of a row's path gives the change of the mean response to the feature that was split.
 *
 * feature, parent: as in `relatives`
 * n_given: columns below are features or shared ones; splits on others are left out
 * value: float64 (n_nodes, n_outputs), mean response of the nodes
 * leaf: int32 (n), leaf of each row; negative for rows that are left out
 * shared: int64 (n_shared + 1), the features of column n_features + s are sharer[shared[s]] up to sharer[shared[s + 1]]
 * sharer: int32, features of the shared columns
 * out: float64 (n, n_outputs * n_features), added to */
EXPORT void add_paths(
    const int32_t *restrict feature, const int32_t *restrict parent, int64_t n_given, const double *restrict value,
    int64_t n_outputs, const int32_t *restrict leaf, int64_t n, const int64_t *restrict shared,
    const int32_t *restrict sharer, double *restrict out, int64_t n_features
) {
    for (int64_t i = 0; i < n; i++) {
        double *line = out + i * n_outputs * n_features;
        add_path(feature, parent, n_given, value, n_outputs, leaf[i], shared, sharer, line, n_features);
    }
}

/* Contributions of rows by leaf tables: paths, and what Algorithm 1 found for splits on added columns above the leaf.
 *
 * offsets: int64 (n_trees + 1), the nodes of tree t are those from offsets[t] on
 * first, last: trees that are summed, without the last one
 * feature, parent, n_given, value: as in `add_paths`, for the nodes of all trees
 * number: int32 (all nodes), line of `lines` of each leaf; negative where no split on an added column is above it
 * lines: float64 (n_lines, n_outputs * n_features)
 * leaf: int32 (n, n_trees), leaf of each row in each tree
 * shared, sharer: as in `add_paths`
 * out: float64 (n, n_outputs * n_features), added to */
EXPORT void add_from_tables(
    const int64_t *restrict offsets, int64_t n_trees, int64_t first, int64_t last, const int32_t *restrict feature,
    const int32_t *restrict parent, int64_t n_given, const double *restrict value, int64_t n_outputs,
    const int32_t *restrict number, const double *restrict lines, const int32_t *restrict leaf, int64_t n,
    const int64_t *restrict shared, const int32_t *restrict sharer, double *restrict out, int64_t n_features
) {
    int64_t size = n_outputs * n_features;
    for (int64_t i = 0; i < n; i++) {
        double *line = out + i * size;
        for (int64_t t = first; t < last; t++) {
            int64_t root = offsets[t];
            int32_t own = leaf[i * n_trees + t], which = number[root + own];
            add_path(
                feature + root, parent + root, n_given, value + root * n_outputs, n_outputs, own, shared, sharer, line,
                n_features
            );
            if (which >= 0) {
                const double *added = lines + which * size;
                for (int64_t j = 0; j < size; j++) line[j] += added[j];
            }
        }
    }
}

typedef struct {
    double total, absolute; /* sum, and sum of absolute values */
    double same;            /* sum of the terms that have a sign (Eq. 25) */
} Sums;

/* Sums of `n` terms. Four sums side by side: one would wait for each addition, and the compiler may not reorder them by
 * itself. */
static inline Sums sums_of(const double *restrict terms, int64_t n, double sign) {
    double t[4] = {0.0}, a[4] = {0.0}, s[4] = {0.0};
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int64_t j = 0; j < 4; j++) {
            double x = terms[k + j];
            t[j] += x;
            a[j] += fabs(x);
            s[j] += positive_part(sign * x);
        }
    }
    for (; k < n; k++) {
        t[0] += terms[k];
        a[0] += fabs(terms[k]);
        s[0] += positive_part(sign * terms[k]);
    }
    return (Sums){(t[0] + t[1]) + (t[2] + t[3]), (a[0] + a[1]) + (a[2] + a[3]), sign * ((s[0] + s[1]) + (s[2] + s[3]))};
}

/* Make estimated changes add up to the true ones (Eq. 20), in place.
 *
 * estimated: float64 (n_outputs * n_features), what the features changed, as estimated (Eq. 17)
 * change: float64 (n_outputs), what was changed (Eq. 14)
 * equal: float64 (n_features), shares, with sum 1, by which a change is spread of which the estimate says nothing
 * rule: MULTIPLICATIVE, ADDITIVE or PARTIAL */
EXPORT void calibrate(
    double *restrict estimated, const double *restrict change, int64_t n_outputs, const double *restrict equal,
    int64_t n_features, int32_t rule
) {
    for (int64_t c = 0; c < n_outputs; c++) {
        double *terms = estimated + c * n_features, to = change[c], sign = sign_of(to);
        Sums sums = sums_of(terms, n_features, sign);
        double total = sums.total, absolute = sums.absolute, same = sums.same, missing = to - total;
        double least = CANCELLED * absolute;
        if (absolute == 0.0) {
            for (int64_t k = 0; k < n_features; k++) terms[k] = to * equal[k];
        } else if (rule == PARTIAL && fabs(same) > least && fabs(to) > least) { /* Eq. 26 */
            for (int64_t k = 0; k < n_features; k++) { /* a term's share is at most 1; a common factor could overflow */
                terms[k] += sign * positive_part(sign * terms[k]) / same * missing;
            }
        } else if (rule == MULTIPLICATIVE && fabs(total) > least) { /* Eq. 23 */
            for (int64_t k = 0; k < n_features; k++) terms[k] = terms[k] / total * to;
        } else { /* Eq. 24, also where Eqs. 23 and 26 divide by zero */
            for (int64_t k = 0; k < n_features; k++) terms[k] += fabs(terms[k]) / absolute * missing;
        }
    }
}

/* A - b; 0 where both are the mean of equal numbers. */
static inline double difference(double a, double b) { return fabs(a - b) > EQUAL * (fabs(a) + fabs(b)) ? a - b : 0.0; }

#define TYPE float
#define KERNEL(name) name##_float32
#include "contributions.h"
#undef TYPE
#undef KERNEL
#define TYPE double
#define KERNEL(name) name##_float64
#include "contributions.h"
