/* Walking binned rows down grown trees: values, leaves, paths, statistics of nodes.
 *
 * A few rows walk down a tree together, one level a turn, each in a lane of its own; a row that has reached its leaf
 * hands its lane to the next row. Alone, a row waits at every level for the memory. 'Left or right' is chosen without a
 * branch, for half of such branches would be mispredicted; 'leaf or not' is one, mispredicted once a row and tree.
 *
 * Measured with 50 features, per row and tree, for 10,000 rows and 100 trees of 3,406 nodes, and for 60,000 rows and 10
 * trees of 20,175 nodes: 31 and 42 ns with 6 lanes; 4 take 34 and 55, 5 take 32 and 46, 7 and 8 take 32 and 42 to 57.
 * Sweeps over a block of rows, one level at a time, of which those not yet in a leaf are kept without a branch, take 38
 * to 43 and 52 to 59 ns; two, three or four levels a sweep 45, 48 and 52. Fetching right children ahead gains nothing.
 *
 * Bins are read from the columns where they are. A row-major copy of the block gains a tenth if the forest has many
 * trees and the matrix few columns, and costs up to four times as much if it is the other way round. */
#include "export.h"
#include "nodes.h"

/* Rows that are done with one tree before the next: small blocks fetch a large forest from memory again and again. */
#define BLOCK 4096
#define LANES 6

/* A binned matrix, column after column, and which of its rows are meant. */
typedef struct {
    const uint8_t *bins; /* (n_features * stride) */
    uint64_t stride;     /* length of a column */
    const int32_t *rows; /* rows of the matrix */
} Matrix;

/* The sets of a tree's categorical splits; NULL if it has none. */
static inline const uint64_t *sets_of(const uint64_t *sets, const int64_t *set_offsets, int64_t tree) {
    return set_offsets[tree] < set_offsets[tree + 1] ? sets + SET_WORDS * set_offsets[tree] : NULL;
}

/* A row on its way down a tree. */
typedef struct {
    const uint8_t *bins; /* its bins, one every `stride` bytes */
    uint32_t node;
    uint32_t row; /* its number */
} Lane;

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int is_leaf(uint64_t word) { return feature_of(word) == LEAF; }

/* The child of `node` to which the row goes whose bins are given; `word` is that of a split, `sets` are its tree's. */
static inline uint64_t
child_of(uint64_t word, uint64_t node, const uint8_t *bins, uint64_t stride, const uint64_t *sets) {
    if (sets && (uint8_t)word == OF_SET) {
        const uint64_t *set = sets + SET_WORDS * (uint64_t)feature_of(word);
        return in_set(set + 1, bins[set[0] * stride]) ? node + 1 : target_of(word);
    }
    return next_node(word, bins[(uint64_t)feature_of(word) * stride], node);
}

/* The first row from `row` on that has weight, n if there is none. `weights` NULL: all have. */
static inline int64_t next_row(const double *weights, int64_t row, int64_t n) {
    if (weights) {
        while (row < n && weights[row] == 0.0) row++;
    }
    return row;
}

/* Find the leaves of the first `n` rows, but for those whose weight is 0: leaf[i] is the leaf of row i. */
INLINE void descend_in(
    const uint64_t *restrict tree, const uint64_t *restrict sets, Matrix matrix, int64_t n,
    const double *restrict weights, uint32_t *restrict leaf
) {
    Lane lanes[LANES];
    int64_t n_lanes = 0, row = next_row(weights, 0, n);
    for (; n_lanes < LANES && row < n; row = next_row(weights, row + 1, n)) {
        lanes[n_lanes++] = (Lane){matrix.bins + matrix.rows[row], 0, (uint32_t)row};
    }
    while (n_lanes == LANES) {
#pragma clang loop unroll(full)
        for (int64_t k = 0; k < LANES; k++) {
            Lane *lane = lanes + k;
            uint64_t word = tree[lane->node];
            if (__builtin_expect(is_leaf(word), 0)) {
                leaf[lane->row] = lane->node;
                if (row == n) {
                    *lane = lanes[--n_lanes];
                    break;
                }
                *lane = (Lane){matrix.bins + matrix.rows[row], 0, (uint32_t)row};
                row = next_row(weights, row + 1, n);
                word = tree[0];
                if (is_leaf(word)) continue; /* the whole tree: the next turn writes it down */
            }
            lane->node = (uint32_t)child_of(word, lane->node, lane->bins, matrix.stride, sets);
        }
    }
    while (n_lanes > 0) { /* no rows left to hand lanes to */
        int64_t n_kept = 0;
        for (int64_t k = 0; k < n_lanes; k++) {
            Lane lane = lanes[k];
            uint64_t word = tree[lane.node];
            if (is_leaf(word)) {
                leaf[lane.row] = lane.node;
            } else {
                lane.node = (uint32_t)child_of(word, lane.node, lane.bins, matrix.stride, sets);
                lanes[n_kept++] = lane;
            }
        }
        n_lanes = n_kept;
    }
}

/* `descend_in`, compiled twice: the look at each split whether it is one of a set took a seventh of the time. */
APART void
descend(const uint64_t *tree, const uint64_t *sets, Matrix matrix, int64_t n, const double *weights, uint32_t *leaf) {
    if (sets)
        descend_in(tree, sets, matrix, n, weights, leaf);
    else
        descend_in(tree, NULL, matrix, n, weights, leaf);
}

/* Add the values of the leaves that rows reach, in the order of the trees.
 *
 * nodes, offsets, values: the forest: uint64 (n_nodes), int64 (n_trees_of_forest + 1), float32 (n_values, n_outputs)
 * sets, set_offsets: of its categorical splits: uint64 (n_sets, SET_WORDS), int64 (n_trees_of_forest + 1)
 * trees: int64 (n_trees), trees to walk
 * bins: uint8 (n_features * stride), the binned matrix, column after column
 * stride: length of a column
 * rows: int32 (n_rows), rows of the matrix
 * weights: float64 (n_trees, n_rows), or (1, n_rows) for all trees; a row does not walk where its weight is 0
 * weights_step: distance of the weights of two trees: n_rows, or 0
 * out: float64 (n_rows, n_outputs), added to
 * first, last: part of `rows` to be done */
EXPORT void add_values(
    const uint64_t *nodes, const int64_t *offsets, const uint64_t *sets, const int64_t *set_offsets,
    const float *restrict values, int64_t n_outputs, const int64_t *trees, int64_t n_trees, const uint8_t *bins,
    uint64_t stride, const int32_t *rows, const double *weights, int64_t weights_step, double *restrict out,
    int64_t first, int64_t last
) {
    uint32_t leaf[BLOCK];
    for (int64_t begin = first; begin < last; begin += BLOCK) {
        int64_t n = smaller(BLOCK, last - begin);
        for (int64_t t = 0; t < n_trees; t++) {
            const uint64_t *tree = nodes + offsets[trees[t]], *own_sets = sets_of(sets, set_offsets, trees[t]);
            const double *own_weights = weights + t * weights_step + begin;
            descend(tree, own_sets, (Matrix){bins, stride, rows + begin}, n, own_weights, leaf);
            for (int64_t i = 0; i < n; i++) {
                double weight = own_weights[i];
                if (weight != 0.0) {
                    const float *value = values + target_of(tree[leaf[i]]) * (uint64_t)n_outputs;
                    double *sums = out + (begin + i) * n_outputs;
                    for (int64_t c = 0; c < n_outputs; c++) sums[c] += weight * (double)value[c];
                }
            }
        }
    }
}

/* Write the leaves that rows reach, counted from the root of each tree.
 *
 * nodes, offsets, sets, set_offsets: the forest, of n_trees trees
 * bins, stride, rows, first, last: as in `add_values`
 * out: int32 (n_rows, n_trees), written */
EXPORT void find_leaves(
    const uint64_t *nodes, const int64_t *offsets, const uint64_t *sets, const int64_t *set_offsets, int64_t n_trees,
    const uint8_t *bins, uint64_t stride, const int32_t *rows, int32_t *restrict out, int64_t first, int64_t last
) {
    uint32_t leaf[BLOCK];
    for (int64_t begin = first; begin < last; begin += BLOCK) {
        int64_t n = smaller(BLOCK, last - begin);
        for (int64_t t = 0; t < n_trees; t++) {
            descend(
                nodes + offsets[t], sets_of(sets, set_offsets, t), (Matrix){bins, stride, rows + begin}, n, NULL, leaf
            );
            for (int64_t i = 0; i < n; i++) out[(begin + i) * n_trees + t] = (int32_t)leaf[i];
        }
    }
}

/* Add each row's weight, and weight * targets, to the leaf of one tree that it reaches, in the order of the rows.
 *
 * tree: uint64 (n_nodes), node words
 * sets: uint64 (n_sets, SET_WORDS), the tree's
 * bins, stride, rows: as in `add_values`
 * n_rows: how many rows
 * weights: float64 (n_rows); rows of weight 0 do not walk
 * targets: float64 (n_rows, n_targets), what is summed
 * weight: float64 (n_nodes), added to
 * sums: float64 (n_nodes, n_targets), added to */
EXPORT void add_leaf_statistics(
    const uint64_t *tree, const uint64_t *sets, int64_t n_sets, const uint8_t *bins, uint64_t stride,
    const int32_t *rows, int64_t n_rows, const double *weights, const double *restrict targets, int64_t n_targets,
    double *restrict weight, double *restrict sums
) {
    uint32_t leaf[BLOCK];
    for (int64_t begin = 0; begin < n_rows; begin += BLOCK) {
        int64_t n = smaller(BLOCK, n_rows - begin);
        descend(tree, n_sets ? sets : NULL, (Matrix){bins, stride, rows + begin}, n, weights + begin, leaf);
        for (int64_t i = 0; i < n; i++) {
            double w = weights[begin + i];
            if (w != 0.0) {
                const double *target = targets + (begin + i) * n_targets;
                double *sum = sums + (int64_t)leaf[i] * n_targets;
                weight[leaf[i]] += w;
                for (int64_t k = 0; k < n_targets; k++) sum[k] += w * target[k];
            }
        }
    }
}

/* Statistics of splits from those of the leaves: a parent is exactly the sum of its children.
 *
 * tree: uint64 (n_nodes), node words
 * weight, sums: float64 (n_nodes) and (n_nodes, n_targets), written in splits */
EXPORT void add_up(const uint64_t *tree, int64_t n_nodes, double *weight, double *sums, int64_t n_targets) {
    for (int64_t node = n_nodes - 1; node >= 0; node--) { /* children have higher numbers than their parent */
        uint64_t word = tree[node];
        if (!is_leaf(word)) {
            int64_t left = node + 1, right = (int64_t)target_of(word);
            weight[node] = weight[left] + weight[right];
            double *restrict sum = sums + node * n_targets;
            const double *of_left = sums + left * n_targets, *of_right = sums + right * n_targets;
            for (int64_t k = 0; k < n_targets; k++) sum[k] = of_left[k] + of_right[k];
        }
    }
}

/* Add the nodes, from root to leaf, that each row passes in all trees together to the lengths of the rows.
 *
 * nodes, offsets, sets, set_offsets, n_trees, bins, stride, rows, first, last: as in `find_leaves`
 * lengths: int64 (n_rows), added to */
EXPORT void path_lengths(
    const uint64_t *nodes, const int64_t *offsets, const uint64_t *sets, const int64_t *set_offsets, int64_t n_trees,
    const uint8_t *bins, uint64_t stride, const int32_t *rows, int64_t *restrict lengths, int64_t first, int64_t last
) {
    for (int64_t begin = first; begin < last; begin += BLOCK) {
        int64_t end = smaller(begin + BLOCK, last);
        for (int64_t t = 0; t < n_trees; t++) {
            const uint64_t *tree = nodes + offsets[t], *own_sets = sets_of(sets, set_offsets, t);
            for (int64_t i = begin; i < end; i++) {
                uint64_t node = 0;
                int64_t length = 1;
                for (; !is_leaf(tree[node]); length++)
                    node = child_of(tree[node], node, bins + rows[i], stride, own_sets);
                lengths[i] += length;
            }
        }
    }
}

/* `write_paths` for either type of `passed`. */
#define WRITE_PATHS(NAME, TYPE)                                                                                        \
    EXPORT void NAME(                                                                                                  \
        const uint64_t *nodes, const int64_t *offsets, const uint64_t *sets, const int64_t *set_offsets,               \
        int64_t n_trees, const uint8_t *bins, uint64_t stride, const int32_t *rows, int64_t *restrict positions,       \
        TYPE *restrict passed, int64_t first, int64_t last                                                             \
    ) {                                                                                                                \
        for (int64_t begin = first; begin < last; begin += BLOCK) {                                                    \
            int64_t end = smaller(begin + BLOCK, last);                                                                \
            for (int64_t t = 0; t < n_trees; t++) {                                                                    \
                const uint64_t *tree = nodes + offsets[t], *own_sets = sets_of(sets, set_offsets, t);                  \
                for (int64_t i = begin; i < end; i++) {                                                                \
                    int64_t position = positions[i];                                                                   \
                    uint64_t node = 0;                                                                                 \
                    passed[position++] = (TYPE)offsets[t];                                                             \
                    while (!is_leaf(tree[node])) {                                                                     \
                        node = child_of(tree[node], node, bins + rows[i], stride, own_sets);                           \
                        passed[position++] = (TYPE)(offsets[t] + (int64_t)node);                                       \
                    }                                                                                                  \
                    positions[i] = position;                                                                           \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Write the nodes that each row passes, counted over the forest and ascending.
 *
 * nodes, offsets, sets, set_offsets, n_trees, bins, stride, rows, first, last: as in `find_leaves`
 * positions: int64 (n_rows), where in `passed` the path of each row begins; moved to where it ends
 * passed: int32 or int64 (sum of all lengths), written */
WRITE_PATHS(write_paths_int32, int32_t)
WRITE_PATHS(write_paths_int64, int64_t)

/* Number the value rows of a tree's leaves over the forest: all but the first `n_classes` move up by `shift`.
 *
 * tree: uint64 (n_nodes), node words, changed in place */
EXPORT void number_value_rows(uint64_t *tree, int64_t n_nodes, int64_t n_classes, int64_t shift) {
    for (int64_t node = 0; node < n_nodes; node++) {
        uint64_t word = tree[node];
        tree[node] = word + (is_leaf(word) && target_of(word) >= (uint64_t)n_classes ? (uint64_t)shift << 32 : 0);
    }
}

/* One more than the highest feature of the splits, those of sets left out; 0 without splits.
 *
 * nodes: uint64 (n_nodes), node words of any trees */
EXPORT int64_t n_features_needed(const uint64_t *nodes, int64_t n_nodes) {
    int64_t highest = -1;
    for (int64_t node = 0; node < n_nodes; node++) {
        const int64_t feature = feature_of(nodes[node]);
        const int is_cut = (uint8_t)nodes[node] != OF_SET; /* neither a leaf's */
        highest = is_cut && feature > highest ? feature : highest;
    }
    return highest + 1;
}
