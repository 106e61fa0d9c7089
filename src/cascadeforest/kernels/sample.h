/* What a growing tree works on: the binned matrix, its rows, what is learned; statistics and division of a node. */
#ifndef CASCADEFOREST_SAMPLE_H
#define CASCADEFOREST_SAMPLE_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "nodes.h"
#include "vectors.h"

enum { GINI, ENTROPY }; /* Gini is also squared error */
enum { BEST, RANDOM };

/* The binned matrix: feature by feature, row by row, and columns of two values as bits.
 *
 * A node of few rows reads bins that are far apart. Row by row all features of a row share a cache line or two, which
 * the first feature brings and the others find; feature by feature each brings a line of its own. Of columns with two
 * values (one-hot ones) a row has a few words: a node reads them once, knows which of the columns vary, and takes the
 * bins of these from the words. */
typedef struct {
    const uint8_t *by_feature;  /* (n_features * n_rows) */
    const uint8_t *by_row;      /* (n_rows * n_wide): features that are not packed; empty where it would not pay */
    const uint64_t *words;      /* (n_rows * n_words): packed features */
    const int32_t *place;       /* (n_features): column in by_row, or bit if packed */
    const uint8_t *packed;      /* (n_features): whether a feature is packed */
    const uint8_t *categorical; /* (n_features): whether sets of bins are split; NULL: no feature's are */
    int64_t n_rows;             /* distance of the features in by_feature; 1 if they overlap */
    int64_t n_wide;             /* features that are not packed */
    int64_t n_words;            /* 0: none is */
    int64_t few;                /* nodes with fewer rows read row by row */
} Cells;

/* A value for each bin of each feature, for thresholds. */
typedef struct {
    const double *values; /* (n_features, 255): ascending, infinite behind the last bin */
    const double *pivots; /* (n_features, 16): every sixteenth of them, from number 15 on, and at last infinity */
} Centers;

/* Weight, and weight * target. */
typedef double Pair __attribute__((ext_vector_type(2)));

/* What is learned. */
typedef struct {
    const int32_t *label; /* class, or index of a row's target in `value` (regression) */
    const double *value;  /* the distinct targets, centred (regression); 0 and 1 (two classes); else not used */
    int64_t n_classes;    /* 0: regression */
    int64_t n_outputs;    /* targets of a row in regression, side by side in `value` (outputs.h if several); else 1 */
    int64_t whole;        /* classification in which weights that are whole numbers may be counted */
} Target;

/* How trees grow; the names are scikit-learn's. */
typedef struct {
    int64_t splitter;  /* BEST or RANDOM */
    int64_t criterion; /* GINI or ENTROPY */
    int64_t max_features;
    int64_t max_depth;
    int64_t min_samples_split;
    int64_t min_samples_leaf;
    double min_weight_fraction_leaf;
    double min_impurity_decrease;
    int64_t max_leaf_nodes; /* 0: no bound */
} Rules;

/* In-bag rows of one tree, permuted in place while it grows: a node is a range of positions. */
typedef struct {
    uint64_t *key;   /* row of the binned matrix (high half) and label (low half); with counts.h also the weight */
    float *weight;   /* > 0; not used with counts.h */
    uint64_t *words; /* (n_words, stride): packed features */
    int64_t n_words, stride;
} Sample;

/* Working memory of one tree; contents mean something within one call only. Arrays of n rows have room for more. */
typedef struct {
    uint8_t *bins;     /* (n): bins of the node's rows in the feature at hand */
    int64_t feature;   /* whose bins these are; -1 if no feature's */
    uint64_t *varying; /* (n_words): which of them take both values in the node */
    uint64_t *set;     /* (4): bins that go left, of the categorical feature at hand */
    uint8_t *present;  /* (256): bins that hold rows, ascending */
    int64_t *counts;   /* (256): rows a bin, or weights of classes */
    double *hist;      /* (256 * width): sums a bin, all 0 between calls; width is n_classes in steps of 4 */
    double *total;     /* (width): weight of each of the node's classes, then 0 */
    double *left;      /* (width): weight of each class on the left; in class_statistics the classes' numbers */
    uint64_t *side;    /* (blocks): rows that go left, while a node is divided */
    uint64_t *right;   /* (n): what goes right, while a node is divided */
    /* Any weights: */
    float *right_weight; /* (n): as `right` */
    Pair *pairs;         /* (n): weight, and weight * target, of the node's rows; for best splits */
    double *node_weight; /* (n): weight of the node's rows, 0 up to a multiple of 8; for random splits */
    double *moment;      /* (n): weight * target, likewise */
    uint16_t *code;      /* (n): class of the node's rows, numbered within the node */
    double *outputs;     /* (n * width): weight * each target of the node's rows; for several targets only */
    /* Counts (counts.h): */
    uint8_t *small_code;     /* (n): class of the node's rows, numbered within the node */
    uint8_t *small_weight;   /* (n) */
    uint64_t *weight_planes; /* (blocks, 8): bits of the weights of 64 rows */
    int n_weight_bits;       /* how many bits weights have; 0 if all are 1 */
    int64_t *class_left;     /* (n_classes): weight of each class on the left */
    uint8_t *classes;        /* (n_classes): classes of the node */
    int64_t *ends;           /* (n_classes): where the rows of each end */
} Scratch;

/* A node: its rows, what it must leave on each side of a split, and its statistics. */
typedef struct {
    const Sample *sample;
    const Scratch *scratch; /* which holds what is known of each of its rows */
    const Target *target;
    const Rules *rules;
    const uint64_t *key; /* (n) */
    const float *weight; /* (n); not used with counts.h */
    int64_t start, n;    /* places of its rows in the sample */
    int64_t number;      /* tells nodes apart */
    int64_t n_known;     /* constants known from its ancestors; `find_split` adds those that it finds */
    double min_weight;   /* least weight of a side */
    double n_node;       /* weight */
    double v_node;       /* sum of weight * target, where two classes are present, or in regression */
    double squares;      /* sum of weight * target^2 in regression */
    int64_t n_present;   /* classes; 2 in regression of one target, else the number of targets */
    bool pure;           /* whether all targets are equal */
} Node;

/* Number of classes, rounded up to a multiple of 4. */
INLINE int64_t padded(int64_t n_classes) { return (n_classes + 3) & ~INT64_C(3); }

INLINE uint32_t row_of(uint64_t key) { return (uint32_t)(key >> 32); }

/* Class, or index of the target. */
INLINE uint32_t label_of(uint64_t key) { return (uint32_t)key; }

/* log2 of a normal number above 0, of its own: those of systems and processors differ in the last digit. With
 * x = m * 2^e and m near 1, log m is the series of 2 artanh((m - 1) / (m + 1)). */
INLINE double log2_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t e = (int64_t)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) m *= 0.5, e++;
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double series = 0.0;
    for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * z;
    return (double)e + (s + s * series) * 2.8853900817779268; /* 2 / log 2 */
}

INLINE double x_log_x(double x) { return x > 0.0 ? x * log2_of(x) : 0.0; }

/* What one class adds to a side's sum. */
INLINE double class_term(double n_c, int64_t criterion) { return criterion == ENTROPY ? x_log_x(n_c) : n_c * n_c; }

/* Proxy of a split from the sides' sums of `class_term`. */
INLINE double class_proxy(double n_left, double sum_left, double n_right, double sum_right, int64_t criterion) {
    if (criterion == ENTROPY) return sum_left - x_log_x(n_left) + sum_right - x_log_x(n_right);
    /* sum_left / n_left + sum_right / n_right with one division instead of two. */
    return (sum_left * n_right + sum_right * n_left) / (n_left * n_right);
}

/* Weights and moments of the i-th row of a node. */
INLINE void set_moment(const Scratch *scratch, int64_t i, double weight, double moment, const bool random) {
    if (random) {
        scratch->node_weight[i] = weight;
        scratch->moment[i] = moment;
    } else {
        scratch->pairs[i] = (Pair){weight, moment};
    }
}

INLINE void set_statistics(Node *node, double n_node, double v_node, int64_t n_present, bool pure, double squares) {
    node->n_node = n_node;
    node->v_node = v_node;
    node->n_present = n_present;
    node->pure = pure;
    node->squares = squares;
}

/* Statistics of a node in regression, or of two classes; fills scratch->pairs, or node_weight and moment. */
INLINE void moment_statistics(Node *node, const bool random) {
    const Scratch *scratch = node->scratch;
    const uint64_t *restrict key = node->key;
    const float *restrict weight = node->weight;
    const double *restrict value = node->target->value;
    const int64_t n = node->n;
    double n_node = 0.0, v_node = 0.0, squares = 0.0;
    uint64_t differing = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = (double)weight[i], y = value[label_of(key[i])], v = w * y;
        set_moment(scratch, i, w, v, random);
        n_node += w;
        v_node += v;
        squares += v * y;
        differing |= key[i] ^ key[0];
    }
    for (int64_t i = n; random && i < n + 8; i++) set_moment(scratch, i, 0.0, 0.0, true);
    set_statistics(node, n_node, v_node, 2, label_of(differing) == 0, squares);
}

/* Statistics of a node of more than two classes. Writes the weight of each class to `counts`. Numbers the classes
 * within the node: their weights go to scratch->total, the rows' numbers to scratch->code; if there are two, weights
 * and weight * number go where moment_statistics writes them. */
INLINE void class_statistics(Node *node, double *restrict counts, const bool random) {
    const Scratch *scratch = node->scratch;
    const uint64_t *restrict key = node->key;
    const float *restrict weight = node->weight;
    double *restrict number = scratch->left, *restrict total = scratch->total;
    const int64_t n = node->n, n_classes = node->target->n_classes;
    memset(counts, 0, (size_t)n_classes * sizeof *counts);
    for (int64_t i = 0; i < n; i++) counts[label_of(key[i])] += (double)weight[i];
    double n_node = 0.0;
    int64_t n_present = 0;
    for (int64_t c = 0; c < n_classes; c++) {
        if (counts[c] > 0.0) {
            n_node += counts[c];
            total[n_present] = counts[c];
            number[c] = (double)n_present++;
        }
    }
    for (int64_t c = n_present; c < padded(n_present); c++) total[c] = 0.0;
    if (n_present == 2) {
        for (int64_t i = 0; i < n; i++)
            set_moment(scratch, i, (double)weight[i], (double)weight[i] * number[label_of(key[i])], random);
        for (int64_t i = n; random && i < n + 8; i++) set_moment(scratch, i, 0.0, 0.0, true);
    } else if (n_present > 2) {
        uint16_t *restrict code = scratch->code;
        for (int64_t i = 0; i < n; i++) code[i] = (uint16_t)number[label_of(key[i])];
    }
    set_statistics(node, n_node, n_present == 2 ? total[1] : 0.0, n_present, n_present == 1, 0.0);
}

/* Statistics of a node; fills `counts` and what class_statistics and moment_statistics say. */
INLINE void describe(Node *node, double *counts) {
    const bool random = node->rules->splitter == RANDOM;
    const int64_t n_classes = node->target->n_classes;
    if (n_classes > 0 && n_classes != 2) {
        class_statistics(node, counts, random);
        return;
    }
    moment_statistics(node, random);
    if (n_classes == 2) {
        counts[0] = node->scratch->total[0] = node->n_node - node->v_node;
        counts[1] = node->scratch->total[1] = node->v_node;
    }
}

/* Weight times (a constant minus impurity). The sum over both children minus that of the node is n(t) * Eq. 7 of the
 * interpretation paper. The constant is 1 for Gini, the target's second moment for squared error, 0 for entropy. Of
 * several targets it is their sum. */
INLINE double node_purity(const Node *node) {
    const Target *target = node->target;
    const double *total = node->scratch->total;
    const int64_t criterion = node->rules->criterion;
    if (target->n_classes == 0 && target->n_outputs == 1) return node->v_node * node->v_node / node->n_node;
    double sum = 0.0;
    for (int64_t c = 0; c < node->n_present; c++) sum += class_term(total[c], criterion);
    return criterion == ENTROPY ? sum - x_log_x(node->n_node) : sum / node->n_node;
}

/* Move the rows that go left (scratch->side) to the front of the node, both sides in their old order; returns the first
 * row that goes right. `counts`: weights stand in the keys (counts.h). */
INLINE int64_t partition(const Sample *sample, const Scratch *scratch, int64_t start, int64_t n, const bool counts) {
    const int64_t n_left = partition_words(sample->key + start, scratch->right, scratch->side, n);
    for (int64_t k = 0; k < sample->n_words; k++)
        partition_words(sample->words + k * sample->stride + start, scratch->right, scratch->side, n);
    if (!counts) {
        float *weight = sample->weight + start, *restrict right = scratch->right_weight;
        int64_t left = 0, n_right = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t is_left = scratch->side[i >> 6] >> (i & 63) & 1;
            weight[left] = right[n_right] = weight[i];
            left += is_left;
            n_right += 1 - is_left;
        }
        memcpy(weight + left, right, (size_t)n_right * sizeof *weight);
    }
    return start + n_left;
}

#endif
