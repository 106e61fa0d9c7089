/* Classification with small whole weights: everything that a split is compared by is a count.
 *
 * Counts need no order of addition, so that many rows are looked at in one instruction. Two ways of counting:
 *
 * - *Planes*: the rows of a node that belong to a class as bits, 64 a word, and the bits of their weights likewise. The
 *   weight of a class on the left is the number of bits that its plane and the plane of the left side share. So random
 *   cuts and features of two values are compared.
 * - *Lanes*: each row of a small node is a candidate for the cut, one a lane; rows are added to all candidates that
 *   they are left of. No histogram is needed, which has more bins than such a node has rows, and no branch. Larger
 *   nodes add up histograms of whole numbers.
 *
 * Proxies are those of splits.h: the quotients of the same whole numbers, and so the same cuts. */
#ifndef CASCADEFOREST_COUNTS_H
#define CASCADEFOREST_COUNTS_H

#include "splits.h"

#define LANES 32       /* candidates at a time */
#define FEW_COUNTS 255 /* weight up to which a node counts in bytes */

#define USUAL_BITS 3 /* bits of most weights in a bootstrap: few rows are drawn more than seven times */

typedef uint8_t Lanes __attribute__((ext_vector_type(LANES)));
typedef uint16_t WideLanes __attribute__((ext_vector_type(LANES)));

/* Weight of a row of a tree whose weights are small whole numbers: it stands above the class in the key's low half. */
INLINE uint32_t weight_of(uint64_t key) { return (uint32_t)key >> 16 & 0xFF; }

INLINE uint32_t class_of(uint64_t key) { return (uint32_t)key & 0xFFFF; }

/* Statistics of a node; writes the weight of each class to `counts` unless the node is pure. Numbers the classes within
 * the node (scratch->number) and writes their weights to scratch->total. */
APART Described count_classes(
    const Sample *sample, const Scratch *scratch, const Target *target, int64_t start, int64_t n,
    double *restrict counts
) {
    const uint64_t *restrict key = sample->key + start;
    double *restrict total = scratch->total;
    uint8_t *restrict number = scratch->number;
    uint32_t n_node = 0, v_node = 0, differing = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t low = (uint32_t)key[i], w = low >> 16;
        n_node += w;
        v_node += w & (0 - (low & 1));
        differing |= low ^ (uint32_t)key[0];
    }
    const bool pure = !(differing & 0xFFFF);
    if (target->n_classes == 2) {
        counts[0] = total[0] = (double)(n_node - v_node);
        counts[1] = total[1] = (double)v_node;
        number[0] = 0, number[1] = 1;
        return (Described){n_node, v_node, 2, pure, 0.0};
    }
    total[0] = n_node;
    if (pure) return (Described){n_node, 0.0, 1, true, 0.0};
    int64_t *restrict sums = scratch->counts;
    memset(sums, 0, (size_t)target->n_classes * sizeof *sums);
    if ((int64_t)n_node == n && 2 * target->n_classes <= n) { /* all weights are 1: 64 rows at a time */
        uint8_t *restrict code = scratch->small_code;
        for (int64_t i = 0; i < n; i++) code[i] = (uint8_t)key[i];
        const int64_t last = (n - 1) / 64;
        for (int64_t k = 0; k <= last; k++) {
            const uint64_t rows = k == last ? ~UINT64_C(0) >> (63 - ((n - 1) & 63)) : ~UINT64_C(0);
            for (int64_t c = 0; c < target->n_classes; c++)
                sums[c] += __builtin_popcountll(bits_equal(code + 64 * k, (uint8_t)c) & rows);
        }
    } else {
        for (int64_t i = 0; i < n; i++) sums[class_of(key[i])] += weight_of(key[i]);
    }
    int64_t n_present = 0;
    for (int64_t c = 0; c < target->n_classes; c++) {
        counts[c] = (double)sums[c];
        number[c] = (uint8_t)n_present;
        total[n_present] = counts[c];
        n_present += sums[c] > 0;
    }
    for (int64_t c = n_present; c < padded(n_present); c++) total[c] = 0.0;
    return (Described){n_node, n_present == 2 ? total[1] : 0.0, n_present, false, 0.0};
}

/* Classes and weights of a node's rows, numbered within the node; returns whether the rows are in order of class. Looks
 * at whole blocks of rows: what is behind the node's rows is written over. */
INLINE bool read_classes(const uint64_t *restrict key, const Scratch *scratch, int64_t n_classes, int64_t n) {
    const uint8_t *restrict number = scratch->number;
    uint8_t *restrict code = scratch->small_code, *restrict weight = scratch->small_weight;
    const int64_t end = BLOCK_ROWS * n_blocks(n);
    for (int64_t i = 0; i < end; i++) weight[i] = (uint8_t)weight_of(key[i]);
    if (n_classes == 2)
        for (int64_t i = 0; i < end; i++) code[i] = (uint8_t)key[i];
    else
        for (int64_t i = 0; i < n; i++) code[i] = number[class_of(key[i])];
    fill_up(code, n, 0xFF);
    fill_up(weight, n, 0);
    uint64_t falls = 0;
    for (int64_t i = 0; i < end; i += BLOCK_ROWS) {
        const Bits64 smaller = __builtin_convertvector(load_bytes(code + i + 1) < load_bytes(code + i), Bits64);
        falls |= i + BLOCK_ROWS < end ? pack_bits(smaller) : pack_bits(smaller) & ~(UINT64_C(1) << 63);
    }
    return !falls;
}

/* Put the rows of a node whose weight fits into a byte in the order of their classes, and note where each class ends.
 * Once done, it holds in all nodes below: rows are divided in order. */
INLINE void sort_by_class(
    const Sample *sample, const Scratch *scratch, int64_t n_classes, int64_t start, int64_t n, int64_t n_present,
    bool is_sorted
) {
    const uint8_t *restrict code = scratch->small_code;
    uint8_t first[256] = {0};
    for (int64_t i = 0; i < n; i++) first[code[i]]++;
    int64_t end = n;
    for (int64_t c = n_present - 1; c >= 0; c--) {
        scratch->ends[c] = (uint8_t)end;
        end -= first[c];
        first[c] = (uint8_t)end;
    }
    if (is_sorted) return;
    uint8_t place[256];
    for (int64_t i = 0; i < n; i++) place[i] = first[code[i]]++;
    for (int64_t k = -1; k < sample->n_words; k++) {
        uint64_t *restrict values = start + (k < 0 ? sample->key : sample->words + k * sample->stride);
        uint64_t *restrict sorted = scratch->right;
        for (int64_t i = 0; i < n; i++) sorted[place[i]] = values[i];
        memcpy(values, sorted, (size_t)n * sizeof *values);
    }
    read_classes(sample->key + start, scratch, n_classes, n);
}

/* Prepare the search for a node's split: classes and weights of its rows, and what counts them. */
APART void prepare_counts(
    const Sample *sample, Scratch *scratch, const Described *node, int64_t n_classes, int64_t start, int64_t n,
    bool by_lanes, bool by_planes
) {
    const uint64_t *key = sample->key + start;
    const uint8_t *restrict code = scratch->small_code, *restrict weight = scratch->small_weight;
    const int64_t n_present = node->n_present, blocks = n_blocks(n);
    const bool is_sorted = read_classes(key, scratch, n_classes, n);
    if (by_lanes) {
        sort_by_class(sample, scratch, n_classes, start, n, n_present, is_sorted);
    } else if (n_present == 2) {
        uint64_t *restrict word = scratch->right; /* weight (high half), and weight of the second class (low half) */
        for (int64_t i = 0; i < n; i++) word[i] = (uint64_t)weight[i] << 32 | (weight[i] & (0 - (uint32_t)code[i]));
    }
    if (!by_planes) return;
    uint8_t any = 0;
    for (int64_t i = 0; i < n; i++) any |= weight[i];
    scratch->n_weight_bits = any == 1 ? 0 : 32 - __builtin_clz(any);
    for (int64_t k = 0; k < blocks; k++) {
        uint64_t *restrict plane = scratch->planes + k * n_present;
        for (int64_t c = 0; c < n_present; c++) plane[c] = bits_equal(code + 64 * k, (uint8_t)c);
        if (n < 64 * (k + 1)) /* a 256th class has the number of the rows that fill up */
            for (int64_t c = 0; c < n_present; c++) plane[c] &= (UINT64_C(1) << (n & 63)) - 1;
        const int n_bits =
            scratch->n_weight_bits && scratch->n_weight_bits < USUAL_BITS ? USUAL_BITS : scratch->n_weight_bits;
        for (int p = 0; p < n_bits; p++) {
            const Bytes64 bits = load_bytes(weight + 64 * k) & (uint8_t)(1 << p);
            scratch->weight_planes[8 * k + p] = pack_bits(__builtin_convertvector(bits != 0, Bits64));
        }
    }
}

/* Add the weights of each class among 64 rows to `left`. */
INLINE void count_left(const Scratch *scratch, int64_t k, uint64_t rows, int64_t n_present, int64_t *restrict left) {
    const uint64_t *restrict plane = scratch->planes + k * n_present, *restrict weights =
                                                                          scratch->weight_planes + 8 * k;
    const int n_bits = scratch->n_weight_bits;
    if (!n_bits) {
        for (int64_t c = 0; c < n_present; c++) left[c] += __builtin_popcountll(plane[c] & rows);
    } else if (n_present == 2 && n_bits <= USUAL_BITS) { /* without a branch: bits that no weight has add nothing */
        for (int p = 0; p < USUAL_BITS; p++) {
            const uint64_t of_bit = weights[p] & rows;
            left[0] += (int64_t)__builtin_popcountll(plane[0] & of_bit) << p;
            left[1] += (int64_t)__builtin_popcountll(plane[1] & of_bit) << p;
        }
    } else {
        for (int64_t c = 0; c < n_present; c++)
            for (int p = 0; p < n_bits; p++)
                left[c] += (int64_t)__builtin_popcountll(plane[c] & rows & weights[p]) << p;
    }
}

/* Proxy of one given split from the weight of each class on its left side. */
APART double
proxy_of_counts(const int64_t *restrict left, const double *restrict total, const Described *node, int64_t criterion) {
    double n_left = 0.0, sum_left = 0.0, sum_right = 0.0;
    if (node->n_present == 2) {
        const double v_left = (double)left[1];
        n_left = (double)(left[0] + left[1]);
        return moment_proxy(n_left, v_left, node->n_node - n_left, node->v_node - v_left, criterion);
    }
    for (int64_t c = 0; c < node->n_present; c++) {
        const double of_class = (double)left[c];
        n_left += of_class;
        sum_left += class_term(of_class, criterion);
        sum_right += class_term(total[c] - of_class, criterion);
    }
    return class_proxy(n_left, sum_left, node->n_node - n_left, sum_right, criterion);
}

/* Best Gini split of a node whose weight fits into a byte; its rows are in the order of their classes. */
APART Split best_in_lanes(const Scratch *scratch, int64_t n, const Described *node) {
    const uint8_t *restrict bins = scratch->bins, *restrict weight = scratch->small_weight;
    const int64_t n_present = node->n_present;
    const uint8_t n_node = (uint8_t)node->n_node;
    double proxy[256];
    for (int64_t first = 0; first < n; first += LANES) {
        Lanes candidate, n_left = 0, of_class = 0;
        WideLanes sum_left = 0, sum_right = 0; /* sums of squares are at most the square of the sum: two bytes */
        memcpy(&candidate, bins + first, sizeof candidate);
        int64_t j = 0;
        for (int64_t c = 0; c < n_present; c++) {
            of_class = 0;
            for (const int64_t end = scratch->ends[c]; j < end; j++)
                of_class += (Lanes)(candidate >= bins[j]) & (Lanes)weight[j];
            n_left += of_class;
            const WideLanes left = __builtin_convertvector(of_class, WideLanes);
            const WideLanes right = (uint16_t)scratch->total[c] - left;
            sum_left += left * left;
            sum_right += right * right;
        }
        uint8_t n_l[LANES], v_l[LANES];
        uint16_t s_l[LANES], s_r[LANES];
        memcpy(n_l, &n_left, sizeof n_l);
        const int64_t used = n - first < LANES ? ((n - first) + 7) & ~7 : LANES;
        if (n_present == 2) {
            const uint8_t v_node = (uint8_t)node->v_node;
            memcpy(v_l, &of_class, sizeof v_l);
            for (int64_t i = 0; i < used; i++) {
                const int32_t nl = n_l[i], nr = n_node - nl, vl = v_l[i], vr = v_node - vl;
                const int32_t both = nl * nr; /* 0 where all rows go left: such a candidate gets the proxy 0 */
                proxy[first + i] = (double)(vl * vl * nr + vr * vr * nl) / (double)(both + (both == 0));
            }
        } else {
            memcpy(s_l, &sum_left, sizeof s_l);
            memcpy(s_r, &sum_right, sizeof s_r);
            for (int64_t i = 0; i < used; i++) {
                const int32_t nl = n_l[i], nr = n_node - nl, both = nl * nr;
                const int32_t product = nr ? s_l[i] * nr + s_r[i] * nl : 0;
                proxy[first + i] = (double)product / (double)(both + (both == 0));
            }
        }
    }
    return first_best(proxy, bins, n);
}

/* Best Gini split of two classes by a histogram of weights (high half) and weights of the second class (low half). */
APART Split best_of_two(const Scratch *scratch, int64_t n, Range range, const Described *node) {
    const uint8_t *restrict bins = scratch->bins;
    const uint64_t *restrict word = scratch->right; /* see prepare_counts */
    uint64_t hist[256];
    double proxy[256];
    int32_t n_l[256], v_l[256];
    const int64_t low = range.low, n_cuts = range.high - low;
    memset(hist + low, 0, (size_t)(n_cuts + 1) * sizeof *hist);
    for (int64_t i = 0; i < n; i++) hist[bins[i]] += word[i];
    uint64_t left = 0;
    for (int64_t k = 0; k < n_cuts; k++) { /* a bin without rows repeats the one before, which comes first */
        left += hist[low + k];
        n_l[k] = (int32_t)(left >> 32);
        v_l[k] = (int32_t)left;
    }
    const double n_node = node->n_node, v_node = node->v_node;
    for (int64_t k = 0; k < n_cuts; k++) {
        const double nl = n_l[k], vl = v_l[k], nr = n_node - nl, vr = v_node - vl;
        proxy[k] = (vl * vl * nr + vr * vr * nl) / (nl * nr);
    }
    uint8_t cuts[256];
    for (int64_t k = 0; k < n_cuts; k++) cuts[k] = (uint8_t)(low + k);
    return first_best(proxy, cuts, n_cuts);
}

/* Best Gini split of several classes by a histogram of each. */
APART Split best_of_several(const Scratch *scratch, int64_t n, Range range, const Described *node) {
    const uint8_t *restrict bins = scratch->bins, *restrict code = scratch->small_code;
    const uint8_t *restrict weight = scratch->small_weight;
    uint32_t *restrict hist = scratch->class_hist;
    double proxy[256] = {0.0}, n_left[256] = {0.0}, sum_left[256] = {0.0}, sum_right[256] = {0.0};
    uint8_t cuts[256];
    const int64_t low = range.low, n_cuts = range.high - low, n_present = node->n_present;
    for (int64_t c = 0; c < n_present; c++) memset(hist + 256 * c + low, 0, (size_t)(n_cuts + 1) * sizeof *hist);
    for (int64_t i = 0; i < n; i++) hist[256 * (int64_t)code[i] + bins[i]] += weight[i];
    for (int64_t c = 0; c < n_present; c++) {
        int32_t of_class[256];
        uint32_t left = 0;
        for (int64_t k = 0; k < n_cuts; k++) {
            left += hist[256 * c + low + k];
            of_class[k] = (int32_t)left;
        }
        const double total = scratch->total[c];
        for (int64_t k = 0; k < n_cuts; k++) {
            const double l = of_class[k], r = total - l;
            n_left[k] += l;
            sum_left[k] += l * l;
            sum_right[k] += r * r;
        }
    }
    for (int64_t k = 0; k < n_cuts; k++) {
        const double n_right = node->n_node - n_left[k];
        proxy[k] = (sum_left[k] * n_right + sum_right[k] * n_left[k]) / (n_left[k] * n_right);
        cuts[k] = (uint8_t)(low + k);
    }
    return first_best(proxy, cuts, n_cuts);
}

#endif
