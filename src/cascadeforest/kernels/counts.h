/* Classification with small whole weights: everything that a split is compared by is a count.
 *
 * Counts need no order of addition: the rows of a tree are put in the order of their classes, in which they stay as
 * they are divided, and many rows are looked at in one instruction. Two ways of counting:
 *
 * - *Bits*: the rows that go left as bits, 64 a word, and the bits of the rows' weights likewise. The weight of a class
 *   on the left is the number of bits that both share between the class's first row and its last. So random cuts and
 *   features of two values are compared.
 * - *Lanes*: each row of a small node is a candidate for the cut, one a lane; rows are added to all candidates that
 *   they are left of. No histogram is needed, which has more bins than such a node has rows, and no branch. Larger
 *   nodes add up histograms of whole numbers, class by class.
 *
 * Proxies are those of splits.h: the quotients of the same whole numbers, and so the same cuts. */
#ifndef CASCADEFOREST_COUNTS_H
#define CASCADEFOREST_COUNTS_H

#include "splits.h"

#define MOST_CLASSES 256
#define LANES 32       /* candidates at a time */
#define FEW_COUNTS 255 /* weight up to which a node counts in bytes */

#define USUAL_BITS 3 /* bits of most weights in a bootstrap: few rows are drawn more than seven times */

typedef uint8_t Lanes __attribute__((ext_vector_type(LANES)));
typedef uint16_t WideLanes __attribute__((ext_vector_type(LANES)));

/* Weight of a row of a tree whose weights are small whole numbers: it stands above the class in the key's low half. */
INLINE uint32_t weight_of(uint64_t key) { return (uint32_t)key >> 16 & 0xFF; }

INLINE uint32_t class_of(uint64_t key) { return (uint32_t)key & 0xFFFF; }

/* Where the rows of a class end, in a node whose rows are in the order of their classes; from `first` on. */
INLINE int64_t end_of_class(const uint64_t *restrict key, int64_t first, int64_t n) {
    const uint32_t own = class_of(key[first]);
    int64_t low = first + 1;
    for (int64_t high = n; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (class_of(key[middle]) == own)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Statistics of a node. Numbers the classes within the node: which they are (scratch->classes), where their rows end
 * (->ends) and what they weigh (->total). Writes the numbers and weights of rows, the weights filled up with 0. */
APART void count_classes(Node *node) {
    const Scratch *scratch = node->scratch;
    const uint64_t *restrict key = node->key;
    const int64_t n = node->n;
    double *restrict total = scratch->total;
    int64_t *restrict ends = scratch->ends;
    uint8_t *restrict code = scratch->small_code, *restrict weight = scratch->small_weight;
    uint8_t *restrict classes = scratch->classes;
    for (int64_t i = 0; i < BLOCK_ROWS * n_blocks(n); i++) weight[i] = (uint8_t)weight_of(key[i]);
    fill_up(weight, n, 0);
    int64_t n_node = 0, n_present = 0;
    if (n <= BLOCK_ROWS) { /* row by row, without a branch */
        int64_t c = -1, own = 0;
        uint32_t before = ~UINT32_C(0);
        for (int64_t i = 0; i < n; i++) {
            const uint32_t low = (uint32_t)key[i], class = low & 0xFFFF;
            c += class != before;
            own = (class == before ? own : 0) + (low >> 16);
            n_node += low >> 16;
            before = class;
            code[i] = (uint8_t)c;
            classes[c] = (uint8_t)class;
            ends[c] = i + 1;
            total[c] = (double)own;
        }
        n_present = c + 1;
    } else {
        for (int64_t first = 0; first < n; first = ends[n_present++]) {
            const int64_t end = end_of_class(key, first, n);
            int64_t own = 0;
            for (int64_t i = first; i < end; i++) own += weight[i];
            memset(code + first, (int)n_present, (size_t)(end - first));
            classes[n_present] = (uint8_t)class_of(key[first]);
            ends[n_present] = end;
            total[n_present] = (double)own;
            n_node += own;
        }
    }
    for (int64_t c = n_present; c < padded(n_present); c++) total[c] = 0.0;
    set_statistics(node, (double)n_node, n_present == 2 ? total[1] : 0.0, n_present, n_present == 1, 0.0);
}

/* Weights of a node's rows as bits, 64 rows a word. */
APART void read_weight_planes(Scratch *scratch, int64_t n) {
    const uint8_t *restrict weight = scratch->small_weight;
    uint8_t any = 0;
    for (int64_t i = 0; i < BLOCK_ROWS * n_blocks(n); i++) any |= weight[i];
    const int n_bits = 32 - __builtin_clz(any);
    scratch->n_weight_bits = any == 1 ? 0 : n_bits < USUAL_BITS ? USUAL_BITS : n_bits;
    for (int64_t k = 0; k < n_blocks(n); k++) {
        const Bytes64 own = load_bytes(weight + 64 * k);
        for (int p = 0; p < scratch->n_weight_bits; p++)
            scratch->weight_planes[8 * k + p] =
                pack_bits(__builtin_convertvector((own & (uint8_t)(1 << p)) != 0, Bits64));
    }
}

/* Weight of some of 64 rows. */
INLINE int64_t weight_of_rows(const Scratch *scratch, int64_t block, uint64_t rows) {
    const uint64_t *restrict plane = scratch->weight_planes + 8 * block;
    if (!scratch->n_weight_bits) return __builtin_popcountll(rows);
    int64_t weight = 0;
    for (int p = 0; p < USUAL_BITS; p++) weight += (int64_t)__builtin_popcountll(rows & plane[p]) << p;
    for (int p = USUAL_BITS; p < scratch->n_weight_bits; p++)
        weight += (int64_t)__builtin_popcountll(rows & plane[p]) << p;
    return weight;
}

/* The first n of 64 bits. */
INLINE uint64_t first_bits(int64_t n) { return n <= 0 ? 0 : n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1; }

/* Add the weights of each class among some of 64 rows to `left`. `c` is the class of the first row; returns that of the
 * next block. */
INLINE int64_t
count_left(const Scratch *scratch, int64_t block, uint64_t rows, int64_t c, int64_t n_present, int64_t *restrict left) {
    if (n_present == 2) {
        const uint64_t first = first_bits(scratch->ends[0] - 64 * block);
        left[0] += weight_of_rows(scratch, block, rows & first);
        left[1] += weight_of_rows(scratch, block, rows & ~first);
        return 0;
    }
    for (; c < n_present; c++) {
        const int64_t end = scratch->ends[c] - 64 * block;
        const uint64_t own = first_bits(end);
        left[c] += weight_of_rows(scratch, block, rows & own);
        if (end > 64) return c;
        rows &= ~own;
    }
    return c;
}

/* Proxy of one given split from the weight of each class on its left side. */
APART double proxy_of_counts(const Node *node, const int64_t *restrict left) {
    const double *restrict total = node->scratch->total;
    const int64_t criterion = node->rules->criterion;
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

/* Best Gini split of a node whose weight fits into a byte. */
APART Split best_in_lanes(const Node *node) {
    const Scratch *scratch = node->scratch;
    const int64_t n = node->n;
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
APART Split best_of_two(const Node *node, Range range) {
    const Scratch *scratch = node->scratch;
    const uint8_t *restrict bins = scratch->bins, *restrict weight = scratch->small_weight;
    uint64_t hist[256];
    double proxy[256];
    int32_t n_l[256], v_l[256];
    const int64_t low = range.low, n_cuts = range.high - low;
    memset(hist + low, 0, (size_t)(n_cuts + 1) * sizeof *hist);
    for (int64_t i = 0; i < scratch->ends[0]; i++) hist[bins[i]] += (uint64_t)weight[i] << 32;
    for (int64_t i = scratch->ends[0]; i < node->n; i++) hist[bins[i]] += weight[i] * UINT64_C(0x100000001);
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
APART Split best_of_several(const Node *node, Range range) {
    const Scratch *scratch = node->scratch;
    const uint8_t *restrict bins = scratch->bins, *restrict weight = scratch->small_weight;
    uint32_t hist[256];
    double proxy[256] = {0.0}, n_left[256] = {0.0}, sum_left[256] = {0.0}, sum_right[256] = {0.0};
    uint8_t cuts[256];
    const int64_t low = range.low, n_cuts = range.high - low, n_present = node->n_present;
    int64_t i = 0;
    for (int64_t c = 0; c < n_present; c++) {
        int32_t of_class[256];
        uint32_t left = 0;
        memset(hist + low, 0, (size_t)(n_cuts + 1) * sizeof *hist);
        for (; i < scratch->ends[c]; i++) hist[bins[i]] += weight[i];
        for (int64_t k = 0; k < n_cuts; k++) {
            left += hist[low + k];
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
