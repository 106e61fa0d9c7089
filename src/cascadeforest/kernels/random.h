/* Random numbers: SplitMix64 on an explicit state, the same on every machine.
 *
 * Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
 * doi:10.1145/2660193.2660195. */
#ifndef CASCADEFOREST_RANDOM_H
#define CASCADEFOREST_RANDOM_H

#include <stdint.h>

/* A tree has two streams: which rows it sees, and how it grows. The first can be drawn again without growing. */
#define BOOTSTRAP_STREAM UINT64_C(0x5851F42D4C957F2D)

/* The next 64 random bits; advances the state. */
static inline uint64_t next_uint64(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* An integer of [0, n), n < 2^31. Lemire's multiplication; the bias is below n / 2^32. */
static inline int64_t random_below(uint64_t *state, int64_t n) {
    return (int64_t)(((next_uint64(state) >> 32) * (uint64_t)n) >> 32);
}

/* A number of [0, 1), 53 random bits. */
static inline double random_unit(uint64_t *state) { return (double)(next_uint64(state) >> 11) * 0x1p-53; }

#endif
