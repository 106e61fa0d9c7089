/* Which rows a tree draws, and random numbers for tests. */
#include <string.h>

#include "export.h"
#include "random.h"

/* How often each row is drawn when `n_draws` rows are drawn with replacement.
 *
 * seed: the tree's seed
 * counts: int32 (n_rows), written */
EXPORT void bootstrap_counts(uint64_t seed, int64_t n_draws, int32_t *restrict counts, int64_t n_rows) {
    uint64_t state = seed ^ BOOTSTRAP_STREAM;
    memset(counts, 0, (size_t)n_rows * sizeof *counts);
    for (int64_t draw = 0; draw < n_draws; draw++) counts[random_below(&state, n_rows)]++;
}

/* The next `n` times 64 random bits.
 *
 * state: uint64 (1), advanced
 * out: uint64 (n), written */
EXPORT void draw_uint64(uint64_t *restrict state, uint64_t *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = next_uint64(state);
}

/* The next `n` integers of [0, below).
 *
 * state: uint64 (1), advanced
 * below: less than 2^31
 * out: int64 (n), written */
EXPORT void draw_below(uint64_t *restrict state, int64_t below, int64_t *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = random_below(state, below);
}

/* The next `n` numbers of [0, 1).
 *
 * state: uint64 (1), advanced
 * out: float64 (n), written */
EXPORT void draw_unit(uint64_t *restrict state, double *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = random_unit(state);
}
