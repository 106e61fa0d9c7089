/* Growing one tree on binned features into flat arrays: depth first, or best first up to a number of leaves. */
#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "search.h"

#define MOST_SETS LEAF           /* splits of sets in a tree: a node word has room for no larger number */
#define LARGE ((size_t)32 << 20) /* blocks of memory that glibc never keeps */

/* Weight times impurity decrease of a split, in units of node_purity. */
INLINE double gain_of(const Split *split, const Node *node, double purity) {
    if (node->n_present == 2 && node->target->n_classes > 0 && node->rules->criterion == GINI)
        /* v^2 / n is half of what sum_c n_c^2 / n gains from a split into two classes. */
        return 2.0 * (split->proxy - node->v_node * node->v_node / node->n_node);
    return split->proxy - purity;
}

/* Whether a gain is below what is asked for; a few units in the last place are rounding, not a decrease that lacks. */
INLINE bool too_small(double gain, const Rules *rules, double n_root) {
    return gain * (1.0 + 1e-12) < rules->min_impurity_decrease * n_root;
}

INLINE void push(int64_t *stack, int64_t height, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
    int64_t *entry = stack + 5 * height;
    entry[0] = a, entry[1] = b, entry[2] = c, entry[3] = d, entry[4] = e;
}

/* Whether a node is not to be split, whatever its features are. */
INLINE bool is_leaf(const Node *node, int64_t depth) {
    const Rules *rules = node->rules;
    const bool few = node->n < rules->min_samples_split || node->n < 2 * rules->min_samples_leaf ||
                     node->n_node < 2.0 * node->min_weight;
    return node->pure || depth >= rules->max_depth || few;
}

/* Count a node's purity for its parent's feature and, if it is a right child, enter it there. */
INLINE void place(Grower *tree, int64_t node, int64_t parent, double purity) {
    if (parent < 0) return;
    tree->decreases[split_feature(tree->nodes[parent], tree->sets)] += purity;
    if (node != parent + 1) tree->nodes[parent] |= (uint64_t)node << 32;
}

/* Write a leaf; appends its value unless it is one of the pure ones. */
INLINE void write_leaf(Grower *tree, int64_t number, const Node *node, const bool counts) {
    const int64_t n_classes = tree->target->n_classes;
    if (n_classes == 0 && tree->target->n_outputs > 1) {
        const int64_t n_outputs = tree->target->n_outputs;
        float *value = tree->values + tree->n_values * n_outputs;
        for (int64_t c = 0; c < n_outputs; c++) value[c] = (float)(tree->scratch.total[c] / node->n_node);
        tree->nodes[number] = pack_leaf(tree->n_values++);
    } else if (n_classes == 0) {
        tree->values[tree->n_values] = (float)(node->v_node / node->n_node);
        tree->nodes[number] = pack_leaf(tree->n_values++);
    } else if (node->pure) {
        const uint64_t key = node->key[0];
        tree->nodes[number] = pack_leaf(counts ? class_of(key) : label_of(key));
    } else {
        float *value = tree->values + tree->n_values * n_classes;
        const Scratch *scratch = &tree->scratch;
        if (counts) memset(value, 0, (size_t)n_classes * sizeof *value);
        for (int64_t c = 0; c < (counts ? node->n_present : n_classes); c++)
            value[counts ? scratch->classes[c] : c] =
                (float)((counts ? scratch->total : tree->counts)[c] / node->n_node);
        tree->nodes[number] = pack_leaf(n_classes + tree->n_values++);
    }
}

/* Weight of the rows of a node that go left (scratch->side). */
INLINE double left_weight(const Node *node, const bool counts) {
    const uint64_t *restrict side = node->scratch->side, *restrict key = node->key;
    const float *restrict weight = node->weight;
    const int64_t n = node->n;
    int64_t n_whole = 0;
    double n_left = 0.0;
    if (!counts)
        for (int64_t i = 0; i < n; i++) n_left += (double)(side[i >> 6] >> (i & 63) & 1) * (double)weight[i];
    else if (node->n_node == (double)n) /* all weights are 1 */
        for (int64_t k = 0; k < n_blocks(n); k++) n_whole += __builtin_popcountll(side[k]);
    else
        for (int64_t i = 0; i < n; i++) n_whole += weight_of(key[i]) & (0 - (uint32_t)(side[i >> 6] >> (i & 63) & 1));
    return counts ? (double)n_whole : n_left;
}

/* Where the cut of a node is written down. A best cut lies half way between the values on its two sides, as
 * scikit-learn's thresholds do: at the left one's end of the gap, rows of other data would go right too often. */
INLINE int64_t written_cut(const Grower *tree, const Node *node, const Found *found) {
    const uint8_t *restrict bins = tree->scratch.bins;
    const int64_t cut = found->split.cut, end = BLOCK_ROWS * n_blocks(node->n);
    const uint8_t shift = shift_of(found->split.missing);
    if (tree->rules->splitter == RANDOM && found->split.missing == NONE_MISSING) return cut;
    uint8_t right_bin = MISSING; /* the smallest on the right */
    for (int64_t i = 0; i < end; i++) {
        const uint8_t on_right = goes_left(bins[i], (uint8_t)cut, shift) ? MISSING : bins[i];
        right_bin = on_right < right_bin ? on_right : right_bin;
    }
    const double *value = tree->centers->values + found->feature * 255;
    if (right_bin == MISSING) return MISSING - 1; /* whatever has a value goes left */
    if (tree->rules->splitter == RANDOM) return cut;
    const double middle = 0.5 * value[cut] + 0.5 * value[right_bin];
    return cut_at(tree->centers, found->feature, middle, cut, right_bin);
}

/* The word of a split of a set, which becomes one of the tree's. */
INLINE uint64_t with_set(Grower *tree, uint64_t word, const uint64_t *set) {
    memcpy(tree->sets + SET_WORDS * tree->n_sets, set, SET_WORDS * sizeof *set);
    return word | (uint64_t)tree->n_sets++ << 9;
}

/* The set that is written down: bins that no row of the node is in go where most of the node's weight went. */
INLINE void write_set(const Grower *tree, const Found *found, bool others_left, uint64_t *set) {
    set[0] = (uint64_t)found->feature;
    for (int k = 0; k < 4; k++) {
        const uint64_t present = tree->scratch.set[k];
        set[k + 1] = (found->set[k] & present) | (others_left ? ~present : 0);
    }
}

/* Divide a node's rows. Returns the first row of its right child, and the node's word in `word`; if that is of a set,
 * the set in `set`, and its number is still open. */
INLINE int64_t
divide(Grower *tree, const Node *node, const Found *found, uint64_t *word, uint64_t *set, const bool counts) {
    const Split *split = &found->split;
    const Scratch *scratch = &tree->scratch;
    const int64_t n = node->n, blocks = n_blocks(n);
    int64_t cut = split->cut; /* of a packed feature it lies between its two bins as it is */
    if (tree->cells->packed[found->feature]) {
        const int64_t bit = tree->cells->place[found->feature];
        for (int64_t k = 0; k < blocks; k++) scratch->side[k] = ~packed_bits(node, k, bit);
    } else {
        if (scratch->feature != found->feature) /* the search has looked at others since */
            gather(tree->cells, node, found->feature);
        if (found->is_set) {
            memset(scratch->set, 0, 4 * sizeof *scratch->set);
            for (int64_t i = 0; i < n; i++) put_in_set(scratch->set, scratch->bins[i]);
            map_bins(scratch, found->set, n);
        }
        for (int64_t k = 0; k < blocks; k++)
            scratch->side[k] = bits_left(scratch->bins + 64 * k, (uint8_t)cut, shift_of(split->missing));
        if (!found->is_set) cut = written_cut(tree, node, found);
    }
    if (n & 63) scratch->side[blocks - 1] &= (UINT64_C(1) << (n & 63)) - 1;
    bool missing_left = split->missing == MISSING_LEFT;
    if (split->missing == NONE_MISSING) { /* later ones go where most of the node's weight went */
        const double n_left = left_weight(node, counts);
        missing_left = n_left > node->n_node - n_left;
    }
    if (found->is_set) {
        write_set(tree, found, missing_left, set);
        *word = pack_split(0, OF_SET, in_set(set + 1, MISSING));
    } else {
        *word = pack_split(found->feature, cut, missing_left);
    }
    return partition(&tree->sample, scratch, node->start, n, counts);
}

/* The node of these rows, with its statistics. */
INLINE Node node_at(const Grower *tree, int64_t start, int64_t end, const bool counts) {
    const Sample *sample = &tree->sample;
    Node node = {
        .sample = sample,
        .scratch = &tree->scratch,
        .target = tree->target,
        .rules = tree->rules,
        .key = sample->key + start,
        .weight = sample->weight + start,
        .start = start,
        .n = end - start,
    };
    if (counts)
        count_classes(&node);
    else if (tree->target->n_outputs > 1)
        output_statistics(&node);
    else
        describe(&node, tree->counts);
    return node;
}

/* Grow a tree of n rows node by node; returns the weight of its root. */
INLINE double grow_depth_first(Grower *tree, int64_t n, const bool counts) {
    const Rules *rules = tree->rules;
    double n_root = 0.0;
    /* Nodes to visit: start, end, depth, parent, known constants. Left children come first, so that the left child of a
     * node is the next one and the stack holds one right child a level. */
    push(tree->stack, 0, 0, n, 0, -1, 0);
    for (int64_t height = 1; height > 0;) {
        const int64_t *entry = tree->stack + 5 * --height;
        const int64_t end = entry[1], depth = entry[2], parent = entry[3], number = tree->n_nodes++;
        Node node = node_at(tree, entry[0], end, counts);
        node.number = number;
        node.n_known = entry[4];
        const double purity = node_purity(&node);
        place(tree, number, parent, purity);
        if (parent < 0) n_root = node.n_node;
        node.min_weight = rules->min_weight_fraction_leaf * n_root;
        Found found = {.split = no_split, .feature = -1};
        if (!is_leaf(&node, depth)) found = find_split(tree, &node, counts);
        if (found.is_set && tree->n_sets >= MOST_SETS) found.split = no_split;
        if (found.split.cut != NO_SPLIT && rules->min_impurity_decrease > 0.0 &&
            too_small(gain_of(&found.split, &node, purity), rules, n_root))
            found.split = no_split;
        if (found.split.cut == NO_SPLIT) {
            write_leaf(tree, number, &node, counts);
            continue;
        }
        uint64_t set[SET_WORDS];
        const int64_t middle = divide(tree, &node, &found, tree->nodes + number, set, counts);
        if (found.is_set) tree->nodes[number] = with_set(tree, tree->nodes[number], set);
        tree->decreases[found.feature] -= purity;
        push(tree->stack, height++, middle, end, depth + 1, number, node.n_known);
        push(tree->stack, height++, node.start, middle, depth + 1, number, node.n_known);
    }
    return n_root;
}

/* Enter a node with the split that it would get. Returns its weight. */
INLINE double set_bud(Grower *tree, Bud *bud, int64_t number, double n_root, const bool counts) {
    const Rules *rules = tree->rules;
    bud->left = -1;
    bud->gain = -1.0;
    Node node = node_at(tree, bud->start, bud->end, counts);
    node.number = number;
    const double n_node = node.n_node, whole = n_root == 0.0 ? n_node : n_root;
    node.min_weight = rules->min_weight_fraction_leaf * whole;
    bud->purity = node_purity(&node);
    if (is_leaf(&node, bud->depth)) return n_node;
    /* Constants of an ancestor are remembered along one path only: here none are known. */
    const Found found = find_split(tree, &node, counts);
    if (found.split.cut == NO_SPLIT || (found.is_set && number >= MOST_SETS)) return n_node;
    double gain = gain_of(&found.split, &node, bud->purity);
    gain = gain > 0.0 ? gain : 0.0;
    if (too_small(gain, rules, whole)) return n_node;
    bud->found = found;
    bud->gain = gain;
    return n_node;
}

/* Divide the rows of a node that is split. */
INLINE void divide_bud(Grower *tree, Bud *bud, const bool counts) {
    const Node node = node_at(tree, bud->start, bud->end, counts);
    tree->scratch.feature = -1;
    bud->middle = divide(tree, &node, &bud->found, &bud->word, bud->set, counts);
}

/* Whether leaf a is split before leaf b: by gain, the older of equals. */
INLINE bool comes_before(const Bud *buds, int64_t a, int64_t b) {
    return buds[a].gain > buds[b].gain || (buds[a].gain == buds[b].gain && a < b);
}

/* Enter a leaf into the heap of n others: the leaves that can be split, none before its parent. */
INLINE void push_leaf(const Bud *buds, int64_t *heap, int64_t n, int64_t leaf) {
    int64_t at = n;
    for (; at > 0 && comes_before(buds, leaf, heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = leaf;
}

/* Take the leaf that is split next from the heap of n leaves. */
INLINE int64_t pop_leaf(const Bud *buds, int64_t *heap, int64_t n) {
    const int64_t first = heap[0], leaf = heap[n - 1];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < n - 1; at = child) {
        if (child + 1 < n - 1 && comes_before(buds, heap[child + 1], heap[child])) child++;
        if (comes_before(buds, leaf, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = leaf;
    return first;
}

/* Grow a tree of n rows up to max_leaf_nodes, always splitting the leaf whose split gains most (the oldest of equals).
 * Returns the weight of the root. */
INLINE double grow_best_first(Grower *tree, int64_t n, const bool counts) {
    Bud *buds = tree->buds;
    int64_t *heap = tree->heap;
    int64_t n_buds = 1, n_leaves = 1, n_heap = 0;
    buds[0] = (Bud){.start = 0, .end = n, .depth = 0};
    const double n_root = set_bud(tree, buds, 0, 0.0, counts);
    if (buds[0].gain >= 0.0) push_leaf(buds, heap, n_heap++, 0);
    for (; n_heap > 0 && n_leaves < tree->rules->max_leaf_nodes; n_leaves++) {
        Bud *chosen = buds + pop_leaf(buds, heap, n_heap--);
        divide_bud(tree, chosen, counts);
        chosen->left = n_buds;
        buds[n_buds] = (Bud){.start = chosen->start, .end = chosen->middle, .depth = chosen->depth + 1};
        buds[n_buds + 1] = (Bud){.start = chosen->middle, .end = chosen->end, .depth = chosen->depth + 1};
        for (int side = 0; side < 2; side++, n_buds++) {
            set_bud(tree, buds + n_buds, n_buds, n_root, counts);
            if (buds[n_buds].gain >= 0.0) push_leaf(buds, heap, n_heap++, n_buds);
        }
    }
    /* The same tree depth first, which is how its nodes are stored. */
    push(tree->stack, 0, 0, -1, 0, 0, 0);
    for (int64_t height = 1; height > 0;) {
        const int64_t *entry = tree->stack + 5 * --height;
        const Bud *bud = buds + entry[0];
        const int64_t parent = entry[1], number = tree->n_nodes++;
        place(tree, number, parent, bud->purity);
        if (bud->left < 0) {
            const Node node = node_at(tree, bud->start, bud->end, counts);
            write_leaf(tree, number, &node, counts);
            continue;
        }
        tree->nodes[number] = (uint8_t)bud->word == OF_SET ? with_set(tree, bud->word, bud->set) : bud->word;
        tree->decreases[split_feature(tree->nodes[number], tree->sets)] -= bud->purity;
        push(tree->stack, height++, bud->left + 1, number, 0, 0, 0);
        push(tree->stack, height++, bud->left, number, 0, 0, 0);
    }
    return n_root;
}

/* Memory of one tree in one piece, kept for the next one; without a start, what is taken is only added up. */
typedef struct {
    char *start;
    size_t used, size;
} Arena;

static void *take(Arena *arena, int64_t n, size_t size) {
    void *taken = arena->start ? arena->start + arena->used : NULL;
    arena->used += ((size_t)n * size + 63) & ~(size_t)63;
    return taken;
}

/* The most leaves that a tree of so many rows may have. */
static int64_t most_leaves(const Rules *rules, int64_t in_bag) {
    int64_t most = in_bag / rules->min_samples_leaf;
    if (rules->max_leaf_nodes && rules->max_leaf_nodes < most) most = rules->max_leaf_nodes;
    if (rules->max_depth < 31 && INT64_C(1) << rules->max_depth < most) most = INT64_C(1) << rules->max_depth;
    return most > 1 ? most : 1;
}

static void lay_out(Grower *tree, Arena *arena, int64_t in_bag, bool counts) {
    const int64_t n_classes = tree->target->n_classes, n_words = tree->cells->n_words;
    const int64_t n_outputs = tree->target->n_outputs, outputs = n_classes > n_outputs ? n_classes : n_outputs;
    const int64_t width = padded(outputs);
    const int64_t n = 64 * n_blocks(in_bag) + 64; /* rows are looked at 64 at a time */
    const int64_t n_whole = counts ? n : 0, n_real = counts ? 0 : n;
    tree->sample = (Sample){take(arena, n, 8), take(arena, n_real, 4), take(arena, n * n_words, 8), n_words, n};
    tree->scratch = (Scratch){
        .bins = take(arena, n, 1),
        .varying = take(arena, n_words, 8),
        .set = take(arena, 4, 8),
        .present = take(arena, 256, 1),
        .counts = take(arena, 256, 8),
        .hist = take(arena, 256 * width, 8),
        .total = take(arena, width, 8),
        .left = take(arena, width, 8),
        .side = take(arena, n / 64, 8),
        .right = take(arena, n, 8),
        .right_weight = take(arena, n_real, 4),
        .pairs = take(arena, tree->rules->splitter == BEST ? n_real : 0, 16),
        .node_weight = take(arena, tree->rules->splitter == RANDOM ? n_real : 0, 8),
        .moment = take(arena, tree->rules->splitter == RANDOM ? n_real : 0, 8),
        .code = take(arena, n_real, 2),
        .outputs = take(arena, n_outputs > 1 ? n_real * width : 0, 8),
        .small_code = take(arena, n_whole, 1),
        .small_weight = take(arena, n_whole, 1),
        .weight_planes = take(arena, n_whole / 8, 8),
        .class_left = take(arena, outputs, 8),
        .classes = take(arena, outputs, 1),
        .ends = take(arena, outputs, 8),
    };
    if (arena->start) memset(tree->scratch.hist, 0, 256 * (size_t)width * 8);
    tree->counts = take(arena, outputs, 8);
    tree->stack = take(arena, 5 * (in_bag + 1), 8);
    const int64_t max_leaves = most_leaves(tree->rules, in_bag), max_nodes = 2 * max_leaves;
    const int64_t n_buds = tree->rules->max_leaf_nodes ? max_nodes : 0;
    const int64_t impure = max_leaves < in_bag / 2 ? max_leaves : in_bag / 2; /* a leaf of one row is pure */
    /* Pages of memory that are never written are never taken from the system: bounds may be too high. */
    tree->nodes = take(arena, max_nodes, 8);
    tree->sets = take(arena, tree->cells->categorical ? SET_WORDS * max_leaves : 0, 8);
    tree->values = take(arena, (n_classes ? impure : max_leaves) * outputs, 4);
    tree->decreases = take(arena, tree->draws.n_features, 8);
    tree->buds = take(arena, n_buds, sizeof(Bud));
    tree->heap = take(arena, n_buds, 8);
    Draws *draws = &tree->draws;
    draws->features = take(arena, draws->n_looked_at, 4);
    draws->constants = take(arena, draws->n_looked_at, 4);
    draws->drawn = take(arena, draws->cumulative ? draws->n_features : 0, 8);
}

/* Working memory for trees that are grown one after the other; NULL if there is none. */
EXPORT Arena *new_workspace(void) { return calloc(1, sizeof(Arena)); }

EXPORT void free_workspace(Arena *arena) {
    if (arena) free(arena->start);
    free(arena);
}

/* Where the tree is that was grown last: valid until the next one is grown, or the workspace is freed. */
typedef struct {
    int64_t n_nodes, n_values, n_sets;
    const uint64_t *nodes;   /* (n_nodes): see nodes.h */
    const float *values;     /* (n_values, n_classes or n_outputs): values of leaves */
    const double *decreases; /* (n_features): impurity decrease by feature, Eq. 6 of the interpretation paper */
    const uint64_t *sets;    /* (n_sets, SET_WORDS) */
} Tree;

/* Grow one tree.
 *
 * cells, centers, target, rules: see sample.h
 * rows:        (n) rows of the binned matrix that this forest learns from
 * weights:     (n) their weights, positive; NULL: all are 1
 * counts:      (n) how often the tree's bootstrap drew each of them
 * seed:        decides features and random thresholds
 * features:    (n_looked_at) features that may be looked at
 * cumulative:  (n_features) running sum of feature weights over all features, or NULL for equal ones
 * arena:       working memory
 * grown:       filled */
EXPORT int32_t grow_tree(
    const Cells *cells, const Centers *centers, const int32_t *rows, const double *weights, int64_t n,
    const Target *target, const int32_t *counts, uint64_t seed, const Rules *rules, const int32_t *features,
    int64_t n_looked_at, const double *cumulative, int64_t n_features, Arena *arena, Tree *grown
) {
    int64_t in_bag = 0;
    bool in_counts = target->whole && target->n_classes <= MOST_CLASSES; /* whether counts.h is used */
    for (int64_t i = 0; i < n; i++) {
        const double weight = counts[i] * (weights ? weights[i] : 1.0);
        in_bag += counts[i] > 0;
        in_counts &= weight < 256.0 && weight == (double)(int32_t)weight;
    }
    const bool evaluate = rules->max_features > 1 || rules->min_impurity_decrease > 0.0 || rules->max_leaf_nodes > 0;
    Grower tree = {
        .cells = cells,
        .centers = centers,
        .target = target,
        .rules = rules,
        .evaluate = evaluate,
        .needs_counts = evaluate || rules->min_samples_leaf > 1 || rules->min_weight_fraction_leaf > 0.0,
        .draws = {.state = seed, .n_looked_at = n_looked_at, .cumulative = cumulative, .n_features = n_features},
    };
    Arena needed = {NULL, 0, 0};
    lay_out(&tree, &needed, in_bag, in_counts);
    if (needed.used > arena->size) {
        free(arena->start);
#if defined(__GLIBC__)
        if (needed.used > LARGE) malloc_trim(0); /* arrays of Python that are freed, but were kept for the next ones */
#endif
        needed.used += needed.used / 16; /* the next tree may have a few rows more */
        arena->start = malloc(needed.used);
        arena->size = arena->start ? needed.used : 0;
        if (!arena->start) return NO_MEMORY;
    }
    arena->used = 0;
    lay_out(&tree, arena, in_bag, in_counts);
    memcpy(tree.draws.features, features, (size_t)n_looked_at * sizeof *features);
    if (cumulative) memset(tree.draws.drawn, 0xFF, (size_t)n_features * sizeof *tree.draws.drawn);
    memset(tree.decreases, 0, (size_t)n_features * sizeof *tree.decreases);
    int64_t next[MOST_CLASSES] = {0}; /* with counts: place of the next row of each class */
    if (in_counts) {
        for (int64_t i = 0; i < n; i++) next[target->label[i]] += counts[i] > 0;
        for (int64_t c = target->n_classes - 1, end = in_bag; c >= 0; c--) next[c] = end -= next[c];
    }
    int64_t n_before = 0;
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] == 0) continue;
        const int64_t k = in_counts ? next[target->label[i]]++ : n_before++;
        const uint64_t row = (uint64_t)(uint32_t)rows[i] << 32;
        const double weight = counts[i] * (weights ? weights[i] : 1.0);
        for (int64_t w = 0; w < cells->n_words; w++)
            tree.sample.words[w * tree.sample.stride + k] = cells->words[(int64_t)rows[i] * cells->n_words + w];
        if (in_counts) {
            tree.sample.key[k] = row | (uint64_t)weight << 16 | (uint32_t)target->label[i];
        } else {
            tree.sample.key[k] = row | (uint32_t)target->label[i];
            tree.sample.weight[k] = (float)weight;
        }
    }
    double n_root;
    if (rules->max_leaf_nodes)
        n_root = in_counts ? grow_best_first(&tree, in_bag, true) : grow_best_first(&tree, in_bag, false);
    else
        n_root = in_counts ? grow_depth_first(&tree, in_bag, true) : grow_depth_first(&tree, in_bag, false);
    for (int64_t f = 0; f < n_features; f++) tree.decreases[f] /= n_root;
    *grown = (Tree){tree.n_nodes, tree.n_values, tree.n_sets, tree.nodes, tree.values, tree.decreases, tree.sets};
    return 0;
}
