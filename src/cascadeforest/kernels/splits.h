/* Best and random splits of one node on one binned feature.
 *
 * A split sends a row left if its bin is at most `cut`; rows without a value lie in the bin MISSING and go to a side of
 * their own. Splits are compared by a *proxy*, the part of the impurity decrease that depends on the split, to be
 * maximised: with n the weight of a side, v the sum of weight * target and n_c the weight of class c in it,
 *
 * - squared error (regression), and Gini with two classes, targets 0 and 1:  v_left^2 / n_left + v_right^2 / n_right,
 * - Gini with more classes:                             sum_c n_c,left^2 / n_left + sum_c n_c,right^2 / n_right,
 * - entropy:  sum_c n_c,left log2 n_c,left - n_left log2 n_left, and the same for the right side.
 *
 * Two classes need two sums a bin, (n, v), whatever the criterion; so do nodes in which only two of many classes are
 * left. Sums are doubles: exact for counts, so that a row of weight 2 is the same as two rows, and no order of addition
 * shows. */
#ifndef CASCADEFOREST_SPLITS_H
#define CASCADEFOREST_SPLITS_H

#include "random.h"
#include "sample.h"

#define NO_SPLIT (-1)
/* Up to so many rows a node's bins are looked up one by one; above it all from the lowest to the highest are. */
#define SMALL_NODE 256
#define MOST_IN_ORDER 128 /* up to so many rows of a node in regression are put in order */

typedef uint16_t Shorts32 __attribute__((ext_vector_type(32)));
typedef uint8_t Bytes8 __attribute__((ext_vector_type(8)));
typedef int64_t Longs8 __attribute__((ext_vector_type(8)));
typedef double Doubles4 __attribute__((ext_vector_type(4)));
typedef double Doubles8 __attribute__((ext_vector_type(8)));
typedef double Doubles16 __attribute__((ext_vector_type(16)));
typedef bool Bits16 __attribute__((ext_vector_type(16)));

/* A cut of one feature and its proxy. */
typedef struct {
    double proxy;
    int64_t cut;      /* NO_SPLIT if there is none */
    int missing;      /* NONE_MISSING, MISSING_RIGHT or MISSING_LEFT */
    double threshold; /* where it was drawn at random; else 0 */
} Split;

static const Split no_split = {-INFINITY, NO_SPLIT, NONE_MISSING, 0.0};

/* The bins of a node's rows in one feature. */
typedef struct {
    int64_t low, high; /* over the rows that have a value; low > high if none has */
    int64_t n_missing;
} Range;

/* Proxy from weights and sums of weight * target. */
INLINE double moment_proxy(double n_left, double v_left, double n_right, double v_right, int64_t criterion) {
    if (criterion == ENTROPY) {
        double left = x_log_x(v_left) + x_log_x(n_left - v_left) - x_log_x(n_left);
        return left + x_log_x(v_right) + x_log_x(n_right - v_right) - x_log_x(n_right);
    }
    /* v_left^2 / n_left + v_right^2 / n_right with one division instead of two. */
    return (v_left * v_left * n_right + v_right * v_right * n_left) / (n_left * n_right);
}

/* Which packed features vary in a node, into scratch->varying; returns whether any does. */
INLINE bool read_words(const Node *node) {
    const Sample *sample = node->sample;
    const int64_t n = node->n;
    uint64_t any = 0;
    for (int64_t k = 0; k < sample->n_words; k++) {
        const uint64_t *restrict words = sample->words + k * sample->stride + node->start;
        uint64_t either = 0, both = ~UINT64_C(0);
        for (int64_t i = 0; i < n; i++) {
            either |= words[i];
            both &= words[i];
        }
        any |= node->scratch->varying[k] = either & ~both;
    }
    return any != 0;
}

/* Which of 64 rows of a node, and some behind its last, have a packed feature's bit. */
INLINE uint64_t packed_bits(const Node *node, int64_t block, int64_t bit) {
    const uint64_t *words = node->sample->words + (bit >> 6) * node->sample->stride + node->start;
    return bits_set(words + 64 * block, node->n - 64 * block, UINT64_C(1) << (bit & 63));
}

/* Whether a packed feature takes both values in the node. */
INLINE bool packed_varies(const Scratch *scratch, int64_t bit) { return scratch->varying[bit >> 6] >> (bit & 63) & 1; }

/* The range of the first n bins. */
INLINE Range range_among(const uint8_t *restrict bins, int64_t n, uint8_t smallest, uint8_t largest) {
    Range range = {smallest, largest, 0};
    if (largest == MISSING) {
        largest = 0;
        for (int64_t i = 0; i < n; i++) {
            range.n_missing += bins[i] == MISSING;
            const uint8_t value = bins[i] == MISSING ? 0 : bins[i];
            largest = value > largest ? value : largest;
        }
        range.high = largest;
    }
    return range;
}

/* Bins of rows from `cell`, `step` apart, filled up to a multiple of 64 by repeating the first; returns their range.
 * Eight at a time: a vector that is read right after single bytes were written waits for each of them. */
INLINE Range gather_from(
    const uint8_t *restrict cell, int64_t step, const uint64_t *restrict key, int64_t n, uint8_t *restrict bins
) {
    const uint64_t fill = cell[(int64_t)row_of(key[0]) * step] * UINT64_C(0x0101010101010101);
    Bytes8 smallest, largest, own;
    memcpy(&smallest, &fill, sizeof fill);
    largest = smallest;
    int64_t i = 0;
    for (; i < n; i += 8) {
        uint64_t eight = 0;
        if (i + 8 <= n) {
            for (int k = 0; k < 8; k++) eight |= (uint64_t)cell[(int64_t)row_of(key[i + k]) * step] << 8 * k;
        } else {
            eight = fill << 8 * (n - i);
            for (int64_t k = 0; k < n - i; k++) eight |= (uint64_t)cell[(int64_t)row_of(key[i + k]) * step] << 8 * k;
        }
        memcpy(bins + i, &eight, sizeof eight);
        memcpy(&own, &eight, sizeof own);
        smallest = __builtin_elementwise_min(smallest, own);
        largest = __builtin_elementwise_max(largest, own);
    }
    for (; i & 63; i += 8) memcpy(bins + i, &fill, sizeof fill);
    return range_among(bins, n, __builtin_reduce_min(smallest), __builtin_reduce_max(largest));
}

/* Bins of a node's rows in a feature, filled up to a multiple of 64, so that no loop over them has a rest; returns
 * their range. */
INLINE Range gather(const Cells *cells, const Node *node, int64_t feature) {
    const int64_t place = cells->place[feature], n = node->n;
    const uint64_t *key = node->key;
    uint8_t *restrict bins = node->scratch->bins;
    if (cells->packed[feature]) { /* only features that vary are asked for */
        const uint64_t *restrict words = node->sample->words + (place >> 6) * node->sample->stride + node->start;
        for (int64_t i = 0; i < n; i++) bins[i] = words[i] >> (place & 63) & 1;
        memset(bins + n, bins[0], (size_t)(BLOCK_ROWS * n_blocks(n) - n));
        return (Range){0, 1, 0};
    }
    if (n < cells->few) return gather_from(cells->by_row + place, cells->n_wide, key, n, bins);
    return gather_from(cells->by_feature + feature * cells->n_rows, 1, key, n, bins);
}

/* Write the bins of low to high that may hold rows to scratch->present, ascending; returns how many. Exactly those that
 * do for small nodes; all for large ones, where nearly every bin does. */
INLINE int64_t list_bins(const Node *node, Range range) {
    uint8_t *restrict present = node->scratch->present;
    const uint8_t *restrict bins = node->scratch->bins;
    const int64_t n = node->n, low = range.low, high = range.high;
    if (n > SMALL_NODE || high - low < 8) {
        for (int64_t b = low; b <= high; b++) present[b - low] = (uint8_t)b;
        return high - low + 1;
    }
    uint64_t mask[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++) mask[bins[i] >> 6] |= UINT64_C(1) << (bins[i] & 63);
    mask[3] &= ~(UINT64_C(1) << 63); /* missing */
    int64_t n_bins = 0;
    for (int k = 0; k < 4; k++)
        for (uint64_t word = mask[k]; word; word &= word - 1)
            present[n_bins++] = (uint8_t)(64 * k + __builtin_ctzll(word));
    return n_bins;
}

/* Whether both sides have rows and weight enough; rows are counted only if more than one is asked for. */
INLINE bool enough(const Node *node, int64_t rows_left, double n_left, double n_right) {
    const int64_t rows_right = node->n - rows_left, min_leaf = node->rules->min_samples_leaf;
    const bool rows = min_leaf == 1 || (rows_left < rows_right ? rows_left : rows_right) >= min_leaf;
    return rows && n_right > 0.0 && (n_left < n_right ? n_left : n_right) >= node->min_weight;
}

/* The best of some proxies, all >= 0 or -1: of several the one with the lowest bin. NO_SPLIT if all are -1. */
INLINE Split first_best(const double *restrict proxy, const uint8_t *restrict bins, int64_t n) {
    int64_t best = -1; /* as whole numbers, doubles have the same order here */
    for (int64_t i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, proxy + i, sizeof bits);
        best = bits > best ? bits : best;
    }
    Split split = no_split;
    if (best < 0) return split;
    memcpy(&split.proxy, &best, sizeof best);
    uint8_t cut = 255;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t candidate = proxy[i] == split.proxy ? bins[i] : 255;
        cut = candidate < cut ? candidate : cut;
    }
    split.cut = cut;
    return split;
}

/* Best split of a small node in regression, if no row lacks a value and sides may be of any size: its rows are put in
 * the order of their bins. The place of a row is the number of rows before it, counted for many rows at a time. */
APART Split best_in_order(const Node *node) {
    const uint8_t *restrict bins = node->scratch->bins;
    const Pair *restrict pairs = node->scratch->pairs;
    const int64_t n = node->n;
    uint16_t key[MOST_IN_ORDER], place[MOST_IN_ORDER];
    uint8_t sorted_bins[MOST_IN_ORDER + 1];
    Pair sorted[MOST_IN_ORDER];
    double n_left[MOST_IN_ORDER], v_left[MOST_IN_ORDER], proxy[MOST_IN_ORDER];
    const int64_t end = (n + 31) / 32 * 32;
    for (int64_t i = 0; i < end; i++) key[i] = (uint16_t)(bins[i] << 7 | i); /* rows of a bin in the order of rows */
    for (int64_t first = 0; first < end; first += 32) {
        Shorts32 own, before = 0;
        memcpy(&own, key + first, sizeof own);
        for (int64_t j = 0; j < n; j++) before -= (Shorts32)(own > key[j]);
        memcpy(place + first, &before, sizeof before);
    }
    for (int64_t i = 0; i < n; i++) {
        sorted_bins[place[i]] = bins[i];
        sorted[place[i]] = pairs[i];
    }
    Pair left = 0.0;
    for (int64_t k = 0; k < n; k++) {
        left += sorted[k];
        n_left[k] = left[0];
        v_left[k] = left[1];
    }
    for (int64_t k = 0; k < n - 1; k++) {
        const double nl = n_left[k], vl = v_left[k], nr = node->n_node - nl, vr = node->v_node - vl;
        const double found = (vl * vl * nr + vr * vr * nl) / (nl * nr);
        proxy[k] = sorted_bins[k] == sorted_bins[k + 1] || !(nr > 0.0) ? -1.0 : found;
    }
    return first_best(proxy, sorted_bins, n - 1);
}

/* The same for larger nodes, by a histogram. */
APART Split best_in_histogram(const Node *node, Range range) {
    const uint8_t *restrict bins = node->scratch->bins;
    const Pair *restrict pairs = node->scratch->pairs;
    Pair hist[256];
    double n_left[256], v_left[256], proxy[256];
    uint8_t cuts[256];
    const int64_t low = range.low, n_cuts = range.high - low;
    memset(hist + low, 0, (size_t)(n_cuts + 1) * sizeof *hist);
    for (int64_t i = 0; i < node->n; i++) hist[bins[i]] += pairs[i];
    Pair left = 0.0;
    for (int64_t k = 0; k < n_cuts; k++) { /* a bin without rows repeats the one before, which comes first */
        left += hist[low + k];
        n_left[k] = left[0];
        v_left[k] = left[1];
        cuts[k] = (uint8_t)(low + k);
    }
    for (int64_t k = 0; k < n_cuts; k++) {
        const double nl = n_left[k], vl = v_left[k], nr = node->n_node - nl, vr = node->v_node - vl;
        const double found = (vl * vl * nr + vr * vr * nl) / (nl * nr);
        proxy[k] = nr > 0.0 ? found : -1.0;
    }
    return first_best(proxy, cuts, n_cuts);
}

/* Rows in each bin; only smallest leaf sizes above one ask for it. */
INLINE void count_rows(const Node *node, Range range) {
    const Scratch *scratch = node->scratch;
    for (int64_t b = range.low; b <= range.high; b++) scratch->counts[b] = 0;
    for (int64_t i = 0; i < node->n; i++) scratch->counts[scratch->bins[i]]++;
}

/* Add weight and weight * target of a node's rows to the pairs of their bins in scratch->hist, which is all zero
 * before. `counts`: classes and weights are those of counts.h. */
INLINE void add_moments(const Node *node, const bool counts) {
    const Scratch *scratch = node->scratch;
    double *restrict hist = scratch->hist;
    const uint8_t *restrict bins = scratch->bins;
    for (int64_t i = 0; i < node->n; i++) {
        const double w = counts ? (double)scratch->small_weight[i] : (double)node->weight[i];
        hist[2 * (int64_t)bins[i]] += w;
        hist[2 * (int64_t)bins[i] + 1] += counts ? w * (double)scratch->small_code[i] : scratch->pairs[i][1];
    }
}

/* Best split by sums of weight and weight * target in each bin. */
INLINE Split best_moment_split(const Node *node, Range range, const bool counts) {
    double *restrict hist = node->scratch->hist; /* all zero here, and left so */
    const int64_t criterion = node->rules->criterion, n_missing = range.n_missing;
    const bool count = node->rules->min_samples_leaf > 1;
    add_moments(node, counts);
    if (count) count_rows(node, range);
    const double n_lost = hist[2 * MISSING], v_lost = hist[2 * MISSING + 1];
    hist[2 * MISSING] = hist[2 * MISSING + 1] = 0.0;
    int64_t rows_left = 0;
    double n_left = 0.0, v_left = 0.0;
    Split best = no_split;
    const int64_t n_bins = list_bins(node, range);
    for (int64_t k = 0; k < n_bins; k++) {
        const int64_t b = node->scratch->present[k];
        const double n_bin = hist[2 * b];
        if (n_bin == 0.0) continue;
        n_left += n_bin;
        v_left += hist[2 * b + 1];
        hist[2 * b] = hist[2 * b + 1] = 0.0;
        if (b == range.high && n_missing == 0) break;
        if (count) rows_left += node->scratch->counts[b];
        double n_right = node->n_node - n_left, v_right = node->v_node - v_left;
        if (enough(node, rows_left, n_left, n_right)) {
            double proxy = moment_proxy(n_left, v_left, n_right, v_right, criterion);
            if (proxy > best.proxy) best = (Split){proxy, b, n_missing ? MISSING_RIGHT : NONE_MISSING, 0.0};
        }
        if (n_missing == 0 || b == range.high) continue;
        n_right -= n_lost;
        if (enough(node, rows_left + n_missing, n_left + n_lost, n_right)) {
            double proxy = moment_proxy(n_left + n_lost, v_left + v_lost, n_right, v_right - v_lost, criterion);
            if (proxy > best.proxy) best = (Split){proxy, b, MISSING_LEFT, 0.0};
        }
    }
    return best;
}

/* What moving a bin from right to left gives. */
typedef struct {
    double n_bin;               /* weight of the bin */
    double sum_left, sum_right; /* sums of class_term over the classes of each side */
} Move;

/* Move the rows of a bin from right to left: adds its class weights to scratch->left. Four classes at a time with sums
 * of their own: additions that do not wait for each other, in an order that is the same on every machine. */
INLINE Move move_bin(const Scratch *scratch, int64_t b, int64_t width, int64_t criterion) {
    const double *restrict hist = scratch->hist + b * width, *restrict total = scratch->total;
    double *restrict left = scratch->left;
    double n[4] = {0.0}, l[4] = {0.0}, r[4] = {0.0};
    for (int64_t c = 0; c < width; c += 4) {
        for (int k = 0; k < 4; k++) {
            double x = left[c + k] + hist[c + k], y = total[c + k] - x;
            left[c + k] = x;
            n[k] += hist[c + k];
            l[k] += x * x;
            r[k] += y * y;
        }
    }
    if (criterion == ENTROPY) {
        memset(l, 0, sizeof l);
        memset(r, 0, sizeof r);
        for (int64_t c = 0; c < width; c++) {
            l[0] += x_log_x(left[c]);
            r[0] += x_log_x(total[c] - left[c]);
        }
    }
    return (Move){(n[0] + n[1]) + (n[2] + n[3]), (l[0] + l[1]) + (l[2] + l[3]), (r[0] + r[1]) + (r[2] + r[3])};
}

/* Add numbers to sums, four at a time. */
INLINE void add_to(double *sums, const double *more, int64_t width) {
    for (int64_t c = 0; c < width; c += 4) {
        Doubles4 sum, own;
        memcpy(&sum, sums + c, sizeof sum);
        memcpy(&own, more + c, sizeof own);
        sum += own;
        memcpy(sums + c, &sum, sizeof sum);
    }
}

/* Add the rows of a node to their bins in scratch->hist, which is all zero before: their weights to their classes, or
 * what outputs.h has of each row, and the weights to `in_bin`. `counts`: as in add_moments. */
INLINE void add_rows(const Node *node, int64_t width, const bool counts, const bool outputs, double *restrict in_bin) {
    const Scratch *scratch = node->scratch;
    const uint8_t *restrict bins = scratch->bins;
    if (outputs) memset(in_bin, 0, 256 * sizeof *in_bin);
    for (int64_t i = 0; i < node->n; i++) {
        const double weight = counts ? (double)scratch->small_weight[i] : (double)node->weight[i];
        double *restrict hist = scratch->hist + (int64_t)bins[i] * width;
        if (outputs) {
            in_bin[bins[i]] += weight;
            add_to(hist, scratch->outputs + i * width, width);
        } else {
            hist[counts ? scratch->small_code[i] : scratch->code[i]] += weight;
        }
    }
}

/* Best split by the weights of each class in each bin, moved from the right side to the left bin after bin. `outputs`:
 * by the sums of each target instead (outputs.h). */
INLINE Split best_class_split(const Node *node, Range range, const bool counts, const bool outputs) {
    const Scratch *scratch = node->scratch;
    double *restrict hist = scratch->hist, *restrict left = scratch->left; /* hist is all zero here, and left so */
    double in_bin[256];
    const int64_t width = padded(node->n_present), n_missing = range.n_missing;
    const int64_t criterion = outputs ? GINI : node->rules->criterion;
    const bool count = node->rules->min_samples_leaf > 1;
    add_rows(node, width, counts, outputs, in_bin);
    if (count) count_rows(node, range);
    const int64_t n_bins = list_bins(node, range);
    Split best = no_split;
    /* Once, or with the rows without a value on the right and then on the left. */
    for (int missing = n_missing > 0 ? MISSING_RIGHT : NONE_MISSING;; missing = MISSING_LEFT) {
        double n_left = 0.0;
        int64_t rows_left = 0;
        memset(left, 0, (size_t)width * sizeof *left);
        if (missing == MISSING_LEFT) {
            const Move move = move_bin(scratch, MISSING, width, criterion);
            n_left = outputs ? in_bin[MISSING] : move.n_bin;
            rows_left = n_missing;
        }
        for (int64_t k = 0; k < n_bins; k++) {
            const int64_t b = scratch->present[k];
            if (b == range.high && missing != MISSING_RIGHT) break;
            const Move move = move_bin(scratch, b, width, criterion);
            const double n_bin = outputs ? in_bin[b] : move.n_bin;
            if (n_bin == 0.0) continue;
            n_left += n_bin;
            if (count) rows_left += scratch->counts[b];
            const double n_right = node->n_node - n_left;
            if (enough(node, rows_left, n_left, n_right)) {
                double proxy = class_proxy(n_left, move.sum_left, n_right, move.sum_right, criterion);
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

/* A threshold drawn uniformly between the values of the bins `low` and `high`. Where each bin is one distinct value,
 * this is the law of Extra-Trees (Geurts, Ernst, Wehenkel 2006) exactly: the threshold is uniform over *values*, so
 * that wide gaps are cut more often. */
INLINE double random_threshold(const double *centers, int64_t low, int64_t high, uint64_t *state) {
    const double first = centers[low], last = centers[high], u = random_unit(state);
    const double threshold = (1.0 - u) * first + u * last;            /* the difference of the two might overflow */
    return first < threshold && threshold < last ? threshold : first; /* it may round to either */
}

/* How many of 16 ascending values are at most the threshold. */
INLINE int64_t count_at_most(const double *values, double threshold) {
    Doubles16 sixteen;
    memcpy(&sixteen, values, sizeof sixteen);
    const Bits16 found = __builtin_convertvector(sixteen <= threshold, Bits16);
    uint16_t bits;
    memcpy(&bits, &found, sizeof bits);
    return __builtin_popcount(bits);
}

/* The last bin of [low, high) whose centre is at most the threshold, if that of `low` is. Sixteen comparisons choose
 * the block of sixteen centres, and sixteen the centre: nothing is waited for eight times, as in a binary search. */
INLINE int64_t cut_at(const Centers *centers, int64_t feature, double threshold, int64_t low, int64_t high) {
    const double *own = centers->values + feature * 255;
    const int64_t block = 16 * count_at_most(centers->pivots + 16 * feature, threshold);
    const int64_t first = block < 239 ? block : 239; /* of 255 */
    const int64_t cut = first + count_at_most(own + first, threshold) - 1;
    return cut < low ? low : cut >= high ? high - 1 : cut;
}

INLINE double sum_of(Doubles8 terms) {
    const Doubles4 four = terms.lo + terms.hi;
    const Pair two = four.lo + four.hi;
    return two[0] + two[1];
}

/* Proxy of one given split, from weights and sums of weight * target. Eight sums of each side by side: one would wait
 * for each addition. */
INLINE double moment_proxy_of(const Node *node, int64_t cut, int missing) {
    const Scratch *scratch = node->scratch;
    const uint8_t shift = shift_of(missing), last = (uint8_t)cut;
    Doubles8 n_left = 0.0, v_left = 0.0;
    for (int64_t i = 0; i < node->n; i += 8) { /* what fills up the last eight weighs nothing */
        Bytes8 bins;
        Longs8 weight, moment;
        memcpy(&bins, scratch->bins + i, sizeof bins);
        memcpy(&weight, scratch->node_weight + i, sizeof weight);
        memcpy(&moment, scratch->moment + i, sizeof moment);
        const Longs8 is_left = __builtin_convertvector(bins + shift <= (uint8_t)(last + shift), Longs8);
        const Longs8 w = weight & is_left, v = moment & is_left; /* a branch would be mispredicted */
        Doubles8 terms;
        memcpy(&terms, &w, sizeof terms);
        n_left += terms;
        memcpy(&terms, &v, sizeof terms);
        v_left += terms;
    }
    const double n_l = sum_of(n_left), v_l = sum_of(v_left);
    if (!(n_l > 0.0 && node->n_node - n_l > 0.0)) return -INFINITY; /* by rounding */
    return moment_proxy(n_l, v_l, node->n_node - n_l, node->v_node - v_l, node->rules->criterion);
}

/* Proxy of one given split, from the weights of each class. */
INLINE double class_proxy_of(const Node *node, int64_t cut, int missing) {
    const Scratch *scratch = node->scratch;
    const uint8_t *restrict bins = scratch->bins;
    const uint16_t *restrict code = scratch->code;
    const float *restrict weight = node->weight;
    const uint8_t shift = shift_of(missing), last = (uint8_t)cut;
    const int64_t criterion = node->rules->criterion;
    double *restrict hist = scratch->hist; /* both sides of each class; all zero here, and left so */
    double n_left = 0.0, sum_left = 0.0, sum_right = 0.0;
    for (int64_t i = 0; i < node->n; i++)
        hist[2 * (int64_t)code[i] + goes_left(bins[i], last, shift)] += (double)weight[i];
    for (int64_t c = 0; c < node->n_present; c++) {
        const double left = hist[2 * c + 1];
        hist[2 * c] = hist[2 * c + 1] = 0.0;
        n_left += left;
        sum_left += class_term(left, criterion);
        sum_right += class_term(scratch->total[c] - left, criterion);
    }
    if (!(n_left > 0.0 && node->n_node - n_left > 0.0)) return -INFINITY; /* by rounding */
    return class_proxy(n_left, sum_left, node->n_node - n_left, sum_right, criterion);
}

#endif
