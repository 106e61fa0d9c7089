/* Splits of categorical features: a set of levels goes left. A bin is a level; rows without a value are one of their
 * own.
 *
 * Best sets: the levels are put in the order of their mean response, and cut as numbers are. For squared error, and for
 * two classes, one of these cuts is the best of all sets (Fisher 1958; Breiman et al. 1984, theorem 4.5). With more
 * classes they are put in the order of their share of a class, for each of the node's MOST_ORDERS heaviest classes;
 * with several targets (outputs.h), in the order of their mean of a target, for each of the first MOST_ORDERS. */
#ifndef CASCADEFOREST_LEVELS_H
#define CASCADEFOREST_LEVELS_H

#include "splits.h"

#define MOST_ORDERS 8

/* One level of a node. */
typedef struct {
    double key; /* what levels are sorted by */
    double n_level, v_level;
    int64_t rows;
    uint8_t bin;
} Level;

INLINE void put_in_set(uint64_t *set, uint8_t bin) { set[bin >> 6] |= UINT64_C(1) << (bin & 63); }

/* The levels of a node's rows, ascending, and how many rows each has; returns how many there are. */
APART int64_t list_levels(const Node *node, Level *levels) {
    const uint8_t *restrict bins = node->scratch->bins;
    int64_t *restrict rows = node->scratch->counts;
    memset(rows, 0, 256 * sizeof *rows);
    for (int64_t i = 0; i < node->n; i++) rows[bins[i]]++;
    int64_t n_levels = 0;
    for (int64_t b = 0; b < 256; b++)
        if (rows[b]) levels[n_levels++] = (Level){.rows = rows[b], .bin = (uint8_t)b};
    return n_levels;
}

/* Sort by key; levels with equal keys stay in the order of their bins. */
APART void sort_levels(Level *levels, int64_t n_levels) {
    static const int64_t gaps[] = {57, 23, 10, 4, 1};
    for (int g = 0; g < 5; g++) {
        for (int64_t i = gaps[g]; i < n_levels; i++) {
            const Level level = levels[i];
            int64_t at = i;
            for (; at >= gaps[g]; at -= gaps[g]) {
                const Level *before = levels + at - gaps[g];
                if (before->key < level.key || (before->key == level.key && before->bin < level.bin)) break;
                levels[at] = *before;
            }
            levels[at] = level;
        }
    }
}

/* Put the levels up to the cut into scratch->set. */
INLINE void set_up_to(const Scratch *scratch, const Level *levels, int64_t cut) {
    memset(scratch->set, 0, 4 * sizeof *scratch->set);
    for (int64_t k = 0; k <= cut; k++) put_in_set(scratch->set, levels[k].bin);
}

/* Best set for regression and two classes. */
APART Split best_set_of_two(const Node *node, Level *levels, int64_t n_levels, bool counts) {
    add_moments(node, counts);
    for (int64_t k = 0; k < n_levels; k++) {
        double *sums = node->scratch->hist + 2 * (int64_t)levels[k].bin;
        levels[k].n_level = sums[0];
        levels[k].v_level = sums[1];
        levels[k].key = sums[1] / sums[0];
        sums[0] = sums[1] = 0.0;
    }
    sort_levels(levels, n_levels);
    double n_left = 0.0, v_left = 0.0;
    int64_t rows_left = 0;
    Split best = no_split;
    for (int64_t k = 0; k < n_levels - 1; k++) {
        n_left += levels[k].n_level;
        v_left += levels[k].v_level;
        rows_left += levels[k].rows;
        const double n_right = node->n_node - n_left, v_right = node->v_node - v_left;
        if (!enough(node, rows_left, n_left, n_right)) continue;
        const double proxy = moment_proxy(n_left, v_left, n_right, v_right, node->rules->criterion);
        if (proxy > best.proxy) best = (Split){proxy, k, NONE_MISSING, 0.0};
    }
    set_up_to(node->scratch, levels, best.cut);
    return best;
}

/* The heaviest class of a node after this one: of classes with equal weights, the first number is the heavier. */
INLINE int64_t next_heaviest(const Node *node, int64_t last) {
    const double *total = node->scratch->total;
    int64_t heaviest = -1;
    for (int64_t c = 0; c < node->n_present; c++) {
        const bool is_later = last < 0 || total[c] < total[last] || (total[c] == total[last] && c > last);
        if (is_later && (heaviest < 0 || total[c] > total[heaviest])) heaviest = c;
    }
    return heaviest;
}

/* Best set for more classes, or several targets (`outputs`), among those of the orders. */
INLINE Split
best_set_of_orders(const Node *node, Level *levels, int64_t n_levels, const bool counts, const bool outputs) {
    const Scratch *scratch = node->scratch;
    const int64_t width = padded(node->n_present), criterion = outputs ? GINI : node->rules->criterion;
    double in_bin[256], *hist = scratch->hist, *left = scratch->left;
    add_rows(node, width, counts, outputs, in_bin);
    for (int64_t k = 0; k < n_levels; k++) {
        levels[k].n_level = outputs ? in_bin[levels[k].bin] : 0.0;
        for (int64_t c = 0; !outputs && c < node->n_present; c++) levels[k].n_level += hist[levels[k].bin * width + c];
    }
    Split best = no_split;
    int64_t column = -1;
    for (int64_t order = 0; order < MOST_ORDERS && order < node->n_present; order++) {
        column = outputs ? order : next_heaviest(node, column);
        for (int64_t k = 0; k < n_levels; k++) levels[k].key = hist[levels[k].bin * width + column] / levels[k].n_level;
        sort_levels(levels, n_levels);
        memset(left, 0, (size_t)width * sizeof *left);
        double n_left = 0.0;
        int64_t rows_left = 0, cut = -1;
        for (int64_t k = 0; k < n_levels - 1; k++) {
            const Move move = move_bin(scratch, levels[k].bin, width, criterion);
            n_left += outputs ? levels[k].n_level : move.n_bin;
            rows_left += levels[k].rows;
            const double n_right = node->n_node - n_left;
            if (!enough(node, rows_left, n_left, n_right)) continue;
            const double proxy = class_proxy(n_left, move.sum_left, n_right, move.sum_right, criterion);
            if (proxy > best.proxy) best = (Split){proxy, cut = k, NONE_MISSING, 0.0};
        }
        if (cut >= 0) set_up_to(scratch, levels, cut);
    }
    for (int64_t k = 0; k < n_levels; k++) memset(hist + levels[k].bin * width, 0, (size_t)width * sizeof *hist);
    return best;
}

APART Split best_set_of_several(const Node *node, Level *levels, int64_t n_levels, bool counts) {
    return best_set_of_orders(node, levels, n_levels, counts, false);
}

/* A random set of the node's levels, neither none of them nor all. */
APART void draw_set(const Scratch *scratch, const Level *levels, int64_t n_levels, uint64_t *state) {
    for (int64_t n_left = 0; n_left == 0 || n_left == n_levels;) {
        n_left = 0;
        for (int k = 0; k < 4; k++) scratch->set[k] = next_uint64(state);
        for (int64_t k = 0; k < n_levels; k++) n_left += in_set(scratch->set, levels[k].bin);
    }
}

/* Put 0 in the place of the bins of a set, and 1 in that of others: a cut at 0 divides the rows as the set does. */
INLINE void map_bins(const Scratch *scratch, const uint64_t *set, int64_t n) {
    uint8_t side[256];
    for (int b = 0; b < 256; b++) side[b] = !in_set(set, (uint8_t)b);
    uint8_t *restrict bins = scratch->bins;
    for (int64_t i = 0; i < BLOCK_ROWS * n_blocks(n); i++) bins[i] = side[bins[i]];
}

#endif
