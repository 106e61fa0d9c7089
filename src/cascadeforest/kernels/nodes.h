/* Nodes of grown trees: one 64-bit word each, so that a walk reads one word a level.
 *
 * bits   meaning
 * 0-7    cut: rows whose bin is at most this go left (255 in leaves)
 * 8      whether rows without a value go left
 * 9-31   feature (LEAF in leaves; the number of a set if the cut is OF_SET)
 * 32-63  right child, counted from the tree's root (its left child is the next node); a leaf's value row
 *
 * A leaf's value row is an index into the values of the tree. The first n_classes rows are not stored with a tree: they
 * stand for 'all weight in class c', which is what nearly all leaves of a fully grown classification tree are. */
#ifndef CASCADEFOREST_NODES_H
#define CASCADEFOREST_NODES_H

#include <stdint.h>

#define MISSING 255 /* bin of rows without a value; the values' bins are 0 to 254 */
#define LEAF ((1 << 23) - 1)
#define OF_SET 255  /* cut of a split that sends a set of bins left */
#define SET_WORDS 5 /* of a set: the feature, and a bit for each bin, the one of MISSING included */

/* Node word of a split whose right child is not known yet. */
static inline uint64_t pack_split(int64_t feature, int64_t cut, int missing_left) {
    return (uint64_t)cut | (uint64_t)missing_left << 8 | (uint64_t)feature << 9;
}

/* Node word of a leaf. */
static inline uint64_t pack_leaf(int64_t value_row) {
    return UINT64_C(0xFF) | (uint64_t)LEAF << 9 | (uint64_t)value_row << 32;
}

/* Feature of a node word; LEAF in leaves. */
static inline int64_t feature_of(uint64_t word) { return (int64_t)(word >> 9 & LEAF); }

/* Right child of a split, value row of a leaf. */
static inline uint64_t target_of(uint64_t word) { return word >> 32; }

/* Feature of a split, whose tree has these sets. */
static inline uint64_t split_feature(uint64_t word, const uint64_t *sets) {
    const uint64_t number = word >> 9 & LEAF;
    return (uint8_t)word == OF_SET ? sets[SET_WORDS * number] : number;
}

static inline int in_set(const uint64_t *set, uint8_t bin) { return set[bin >> 6] >> (bin & 63) & 1; }

/* The child of `node`, whose word is `word`, to which a row of this bin goes. Where missing rows go left, bins and cut
 * move up by one: in eight bits their bin, 255, becomes 0. */
static inline uint64_t next_node(uint64_t word, uint8_t bin, uint64_t node) {
    uint8_t shift = (uint8_t)(word >> 8) & 1;
    uint64_t goes_left = (uint8_t)(bin + shift) <= (uint8_t)((uint8_t)word + shift);
    return __builtin_unpredictable(goes_left) ? node + 1 : target_of(word);
}

#endif
