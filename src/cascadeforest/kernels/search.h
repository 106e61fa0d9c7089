/* Which features a node looks at, and the best of their splits. */
#ifndef CASCADEFOREST_SEARCH_H
#define CASCADEFOREST_SEARCH_H

#include "counts.h"
#include "outputs.h"

/* Draws of one weighted feature before the exact but slow way is taken: few features with weight are left then. */
#define REJECTIONS 8

/* Drawing features in one tree. */
typedef struct {
    uint64_t state;
    int32_t *features;        /* (n_looked_at): permuted; the constants of the path come first */
    int32_t *constants;       /* (n_looked_at): those, in the order in which they were found */
    int64_t n_looked_at;      /* features that may be looked at */
    const double *cumulative; /* (n_features): running sum of the feature weights; NULL: all equal */
    int64_t *drawn;           /* (n_features): node in which a feature was last drawn (with weights only) */
    int64_t n_features;
} Draws;

/* A split, and of which feature it is. */
typedef struct {
    Split split;
    int64_t feature;
    bool is_set;     /* a set of bins goes left, not those up to the cut */
    uint64_t set[4]; /* which */
} Found;

/* A node of a tree that grows best first. */
typedef struct {
    int64_t start, end, depth;
    double purity;           /* see node_purity */
    double gain;             /* weight times impurity decrease of the split that it would get; -1 if there is none */
    Found found;             /* that split */
    int64_t left;            /* left child, the right one is the next; -1 while the node is a leaf */
    int64_t middle;          /* first row of the right child */
    uint64_t word;           /* its node word */
    uint64_t set[SET_WORDS]; /* if the split is of a set, whose number is still open */
} Bud;

/* Everything that the growth of one tree reads and writes. */
typedef struct {
    const Cells *cells;
    const Centers *centers;
    const Target *target;
    const Rules *rules;
    Sample sample;
    Scratch scratch;
    Draws draws;
    uint64_t *nodes;   /* node words */
    uint64_t *sets;    /* (n_sets, SET_WORDS): see nodes.h */
    float *values;     /* (n_values, n_classes or n_outputs) */
    double *decreases; /* (n_features) */
    double *counts;    /* (n_classes): weights of the classes in the node at hand */
    int64_t *stack;    /* (height, 5) */
    Bud *buds;         /* (max_nodes): with max_leaf_nodes only */
    int64_t *heap;     /* (max_nodes): leaves that can be split */
    int64_t n_nodes, n_values, n_sets;
    bool needs_counts; /* whether the sides of random cuts are counted */
    bool evaluate;     /* whether proxies are needed: not where only one split is ever compared with nothing */
} Grower;

/* The first place of `cumulative` with a sum above x. */
INLINE int64_t first_above(const double *cumulative, int64_t n, double x) {
    int64_t low = 0;
    for (int64_t high = n; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (cumulative[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A feature with probability proportional to its weight among those not yet drawn in this node; -1 if none is. */
APART int64_t draw_weighted(Draws *draws, int64_t node) {
    const double *cumulative = draws->cumulative;
    const int64_t n_features = draws->n_features;
    for (int k = 0; k < REJECTIONS; k++) {
        const double x = random_unit(&draws->state) * cumulative[n_features - 1];
        const int64_t feature = first_above(cumulative, n_features, x);
        if (feature < n_features && draws->drawn[feature] != node) {
            draws->drawn[feature] = node;
            return feature;
        }
    }
    double remaining = 0.0, before = 0.0;
    for (int64_t k = 0; k < n_features; k++) {
        remaining += draws->drawn[k] == node ? 0.0 : cumulative[k] - before;
        before = cumulative[k];
    }
    double threshold = random_unit(&draws->state) * remaining;
    int64_t chosen = -1;
    before = 0.0;
    for (int64_t k = 0; k < n_features; k++) {
        const double weight = cumulative[k] - before;
        before = cumulative[k];
        if (weight > 0.0 && draws->drawn[k] != node) {
            chosen = k; /* the last one, should rounding leave the threshold unreached */
            threshold -= weight;
            if (threshold < 0.0) break;
        }
    }
    if (chosen >= 0) draws->drawn[chosen] = node;
    return chosen;
}

/* Rows, and weight, of the node that go left. */
INLINE int64_t rows_at_most(const Node *node, int64_t cut, int missing) {
    const uint8_t *restrict bins = node->scratch->bins;
    int64_t n_left = 0;
    for (int64_t i = 0; i < node->n; i++) n_left += goes_left(bins[i], (uint8_t)cut, shift_of(missing));
    return n_left;
}

INLINE double weight_at_most(const Node *node, int64_t cut, int missing) {
    const uint8_t *restrict bins = node->scratch->bins;
    double n_left = 0.0;
    for (int64_t i = 0; i < node->n; i++)
        n_left += (double)goes_left(bins[i], (uint8_t)cut, shift_of(missing)) * (double)node->weight[i];
    return n_left;
}

/* Weight of the rows that go left: of each class (`left`), and how many rows these are. */
INLINE int64_t count_side(const Node *node, int64_t bit, const Split *split, int64_t *restrict left) {
    const Scratch *scratch = node->scratch;
    const int64_t n = node->n, n_present = node->n_present;
    const uint8_t cut = (uint8_t)split->cut, shift = shift_of(split->missing);
    int64_t n_left = 0, class = 0;
    memset(left, 0, (size_t)n_present * sizeof *left);
    for (int64_t k = 0; k < n_blocks(n); k++) {
        const uint64_t all = bit < 0 ? bits_left(scratch->bins + 64 * k, cut, shift) : ~packed_bits(node, k, bit);
        const uint64_t rows = all & first_bits(n - 64 * k);
        n_left += __builtin_popcountll(rows);
        class = count_left(scratch, k, rows, class, n_present, left);
    }
    return n_left;
}

/* Best set of the levels of a categorical feature, or a random one, into scratch->set; the bins become sides, and the
 * cut is 0. */
INLINE Split split_levels(Grower *tree, const Node *node, bool *varies, const bool counts) {
    const Scratch *scratch = &tree->scratch;
    Level levels[256];
    const int64_t n_levels = list_levels(node, levels);
    Split split = {0.0, 0, NONE_MISSING, 0.0};
    *varies = n_levels > 1;
    if (!*varies) return no_split;
    if (tree->rules->splitter == RANDOM) {
        draw_set(scratch, levels, n_levels, &tree->draws.state);
    } else {
        if (tree->target->n_outputs > 1)
            split = best_set_of_outputs(node, levels, n_levels);
        else
            split = (node->n_present == 2 ? best_set_of_two : best_set_of_several)(node, levels, n_levels, counts);
        if (split.cut == NO_SPLIT) return split;
        split.cut = 0;
    }
    map_bins(scratch, scratch->set, node->n);
    tree->scratch.feature = -1;
    return split;
}

/* Best cut of the bins at hand. */
INLINE Split best_cut(const Node *node, Range range, const bool counts) {
    const Rules *rules = node->rules;
    if (!counts && node->target->n_outputs > 1) return best_output_split(node, range);
    const bool plain =
        range.n_missing == 0 && rules->min_samples_leaf == 1 && node->min_weight == 0.0 && rules->criterion == GINI;
    const bool two = node->n_present == 2;
    if (plain && counts) {
        if (node->n_node <= FEW_COUNTS) return best_in_lanes(node);
        return two ? best_of_two(node, range) : best_of_several(node, range);
    }
    if (plain && two) return node->n <= MOST_IN_ORDER ? best_in_order(node) : best_in_histogram(node, range);
    return two ? best_moment_split(node, range, counts) : best_class_split(node, range, counts, false);
}

/* Draw a threshold, and the side of the rows without a value unless they are the whole of the other side. */
INLINE void draw_cut(Grower *tree, int64_t feature, Range range, Split *split) {
    const double *centers = tree->centers->values + feature * 255;
    split->threshold = centers[range.low];
    if (range.low < range.high) {
        split->threshold = random_threshold(centers, range.low, range.high, &tree->draws.state);
        if (range.high - range.low > 1 && tree->needs_counts) /* else only the last step of the search needs it */
            split->cut = cut_at(tree->centers, feature, split->threshold, range.low, range.high);
    }
    if (range.n_missing > 0) {
        const bool one_way = range.low == range.high; /* there is only one way to divide the rows */
        split->missing = !one_way && random_below(&tree->draws.state, 2) == 1 ? MISSING_LEFT : MISSING_RIGHT;
    }
}

/* A given split with its proxy, if the search compares it; NO_SPLIT if it leaves too little on a side. */
INLINE Split evaluated(const Grower *tree, const Node *node, int64_t bit, Split split, const bool counts) {
    const int64_t n = node->n, min_leaf = node->rules->min_samples_leaf;
    const double min_weight = node->min_weight;
    if (counts) {
        if (!tree->evaluate && min_leaf <= 1 && min_weight == 0.0) return split;
        int64_t *left = tree->scratch.class_left;
        const int64_t n_left = count_side(node, bit, &split, left);
        if (n_left < min_leaf || n - n_left < min_leaf) return no_split;
        int64_t w_left = 0;
        for (int64_t c = 0; c < node->n_present; c++) w_left += left[c];
        if ((double)w_left < min_weight || node->n_node - (double)w_left < min_weight) return no_split;
        if (tree->evaluate) split.proxy = proxy_of_counts(node, left);
        return split;
    }
    const int64_t cut = split.cut;
    const int missing = split.missing; /* not its address: a split in memory would be waited for */
    if (min_leaf > 1) {
        const int64_t n_left = rows_at_most(node, cut, missing);
        if (n_left < min_leaf || n - n_left < min_leaf) return no_split;
    }
    if (min_weight > 0.0) {
        const double n_left = weight_at_most(node, cut, missing);
        if (n_left < min_weight || node->n_node - n_left < min_weight) return no_split;
    }
    if (tree->evaluate)
        split.proxy = tree->target->n_outputs > 1 ? output_proxy_of(node, cut, missing)
                      : node->n_present == 2      ? moment_proxy_of(node, cut, missing)
                                                  : class_proxy_of(node, cut, missing);
    return split;
}

/* Best or random split of a node on one feature; NO_SPLIT if no cut leaves enough rows on both sides. `varies` becomes
 * whether the feature takes more than one value in the node (missing counts as one). `counts`: see counts.h. */
INLINE Split split_on(Grower *tree, const Node *node, int64_t feature, bool is_set, bool *varies, const bool counts) {
    const bool best = tree->rules->splitter == BEST;
    Range range = {0, 1, 0};
    int64_t bit = -1;
    if (tree->cells->packed[feature]) {
        bit = tree->cells->place[feature];
        *varies = packed_varies(&tree->scratch, bit);
        if (!*varies) return no_split;
    }
    if (bit < 0 || !counts) {
        range = gather(tree->cells, node, feature);
        tree->scratch.feature = feature;
    }
    Split split = {0.0, range.low, NONE_MISSING, 0.0};
    if (is_set) {
        split = split_levels(tree, node, varies, counts);
        if (split.cut == NO_SPLIT || best) return split;
        range = (Range){0, 1, 0};
    }
    *varies = range.n_missing != node->n && (range.low != range.high || range.n_missing != 0);
    if (!*varies) return no_split;
    if (best && (bit < 0 || !counts)) return best_cut(node, range, counts); /* a bit has one cut only */
    if (!best && !is_set) draw_cut(tree, feature, range, &split);
    return evaluated(tree, node, bit, split, counts);
}

/* Proxy of a split into two pure sides, which no split exceeds: further features need not be looked at. It is known in
 * regression and where two classes are left; most nodes of a fully grown tree divide into such sides. */
INLINE double perfect_proxy(const Node *node) {
    if (node->target->n_classes == 0) return node->squares * (1.0 - 1e-15); /* the two are summed in different orders */
    if (node->n_present != 2) return INFINITY;
    return node->rules->criterion == ENTROPY ? 0.0 : node->v_node;
}

INLINE void swap(int32_t *a, int32_t *b) {
    const int32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Draw features and take the best of their splits. Up to max_features features are looked at, constant ones included,
 * and more until one varies: scikit-learn's meaning of max_features. Features that were constant in an ancestor are
 * known to be constant here. */
INLINE Found search_split(Grower *tree, Node *node, const bool counts) {
    const Rules *rules = tree->rules;
    Draws *draws = &tree->draws;
    int32_t *features = draws->features;
    const bool bits_vary = read_words(node);
    if (counts && (rules->splitter == RANDOM ? tree->needs_counts : bits_vary))
        read_weight_planes(&tree->scratch, node->n);
    tree->scratch.feature = -1;
    Found best = {.split = no_split, .feature = -1};
    const double perfect = perfect_proxy(node);
    const bool weighted = draws->cumulative != NULL;
    const int64_t n_known = node->n_known;
    int64_t last = draws->n_looked_at; /* features[last:] were looked at and vary */
    int64_t n_found = 0;               /* constants found here, at features[n_known : n_known + n_found] */
    int64_t n_drawn = 0;               /* known constants that were drawn, at features[:n_drawn] */
    int64_t n_visited = 0, n_varying = 0;
    while (last > n_known + n_found && (n_visited < rules->max_features || n_varying == 0)) {
        n_visited++;
        int64_t j = 0, feature;
        if (weighted) {
            feature = draw_weighted(draws, node->number);
            if (feature < 0) break;
        } else {
            j = n_drawn + random_below(&draws->state, last - n_found - n_drawn);
            if (j < n_known) {
                swap(features + j, features + n_drawn++);
                continue;
            }
            j += n_found;
            feature = features[j];
        }
        bool varies;
        const bool is_set = tree->cells->categorical && tree->cells->categorical[feature];
        const Split split = split_on(tree, node, feature, is_set, &varies, counts);
        n_varying += varies;
        if (!weighted) {
            if (varies)
                swap(features + j, features + --last);
            else
                swap(features + j, features + n_known + n_found++);
        }
        if (split.cut != NO_SPLIT && split.proxy > best.split.proxy) {
            best.split = split;
            best.feature = feature;
            best.is_set = is_set;
            if (is_set) memcpy(best.set, tree->scratch.set, sizeof best.set);
            if (split.proxy >= perfect) break;
        }
    }
    if (rules->splitter == RANDOM && best.feature >= 0 &&
        !best.is_set) /* also for bins that no row of the node is in */
        best.split.cut = cut_at(tree->centers, best.feature, best.split.threshold, best.split.cut, MISSING);
    node->n_known = 0;
    if (!weighted) {
        /* The constants of each ancestor must stay the first ones, whatever was drawn here. */
        memcpy(features, draws->constants, (size_t)n_known * sizeof *features);
        memcpy(draws->constants + n_known, features + n_known, (size_t)n_found * sizeof *features);
        node->n_known = n_known + n_found;
    }
    return best;
}

APART Found search_counts(Grower *tree, Node *node) { return search_split(tree, node, true); }

APART Found search_any(Grower *tree, Node *node) { return search_split(tree, node, false); }

INLINE Found find_split(Grower *tree, Node *node, const bool counts) {
    return counts ? search_counts(tree, node) : search_any(tree, node);
}

#endif
