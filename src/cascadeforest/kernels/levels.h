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
APART int64_t list_levels(const Scratch *scratch, int64_t n, Level *levels) {
    const uint8_t *restrict bins = scratch->bins;
    int64_t *restrict rows = scratch->counts;
    memset(rows, 0, 256 * sizeof *rows);
    for (int64_t i = 0; i < n; i++) rows[bins[i]]++;
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

/* Best set for regression and two classes. */
APART Split best_set_of_two(
    const float *weight, const Scratch *scratch, int64_t n, Level *levels, int64_t n_levels, const Described *node,
    int64_t criterion, int64_t min_leaf, double min_weight, bool counts
) {
    add_moments(weight, scratch, n, counts);
    for (int64_t k = 0; k < n_levels; k++) {
        double *sums = scratch->hist + 2 * (int64_t)levels[k].bin;
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
        const double n_right = node->n_node - n_left;
        if (!enough(rows_left, n - rows_left, min_leaf, n_left, n_right, min_weight)) continue;
        const double proxy = moment_proxy(n_left, v_left, n_right, node->v_node - v_left, criterion);
        if (proxy > best.proxy) best = (Split){proxy, k, NONE_MISSING, 0.0};
    }
    memset(scratch->set, 0, 4 * sizeof *scratch->set);
    for (int64_t k = 0; k <= best.cut; k++) put_in_set(scratch->set, levels[k].bin);
    return best;
}

/* Best set for more classes, among those of the orders. */
APART Split best_set_of_several(
    const float *weight, const Scratch *scratch, int64_t n, Level *levels, int64_t n_levels, const Described *node,
    int64_t criterion, int64_t min_leaf, double min_weight, bool counts
) {
    const int64_t width = padded(node->n_present);
    double *left = scratch->left;
    add_classes(weight, scratch, n, width, counts);
    for (int64_t k = 0; k < n_levels; k++) {
        levels[k].n_level = 0.0;
        for (int64_t c = 0; c < node->n_present; c++) levels[k].n_level += scratch->hist[levels[k].bin * width + c];
    }
    Split best = no_split;
    double above = INFINITY; /* the weight of the last class whose order was tried */
    int64_t last = -1;
    for (int order = 0; order < MOST_ORDERS && order < node->n_present; order++) {
        int64_t heaviest = -1; /* the next one, by weight, and of equal ones by number */
        for (int64_t c = 0; c < node->n_present; c++) {
            const double own = scratch->total[c];
            const bool is_later = own < above || (own == above && c > last);
            if (is_later && (heaviest < 0 || own > scratch->total[heaviest])) heaviest = c;
        }
        above = scratch->total[heaviest];
        last = heaviest;
        for (int64_t k = 0; k < n_levels; k++)
            levels[k].key = scratch->hist[levels[k].bin * width + heaviest] / levels[k].n_level;
        sort_levels(levels, n_levels);
        memset(left, 0, (size_t)width * sizeof *left);
        double n_left = 0.0;
        int64_t rows_left = 0, cut = -1;
        for (int64_t k = 0; k < n_levels - 1; k++) {
            const Move move = move_bin(scratch, levels[k].bin, width, criterion);
            n_left += move.n_bin;
            rows_left += levels[k].rows;
            const double n_right = node->n_node - n_left;
            if (!enough(rows_left, n - rows_left, min_leaf, n_left, n_right, min_weight)) continue;
            const double proxy = class_proxy(n_left, move.sum_left, n_right, move.sum_right, criterion);
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
