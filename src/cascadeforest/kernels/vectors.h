/* Looking at 64 rows at a time, and moving rows eight at a time. */
#ifndef CASCADEFOREST_VECTORS_H
#define CASCADEFOREST_VECTORS_H

#include <stdbool.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "export.h"
#include "nodes.h"

#define BLOCK_ROWS 64 /* rows a word of bits: arrays of a node's rows are filled up to a multiple of it */

typedef uint8_t Bytes64 __attribute__((ext_vector_type(64)));
typedef bool Bits64 __attribute__((ext_vector_type(64)));
typedef uint64_t Words8 __attribute__((ext_vector_type(8)));
typedef bool Bits8 __attribute__((ext_vector_type(8)));
/* Rows without a value in the node at hand: there are none, or the side to which they go. */
enum { NONE_MISSING, MISSING_RIGHT, MISSING_LEFT };

INLINE int64_t n_blocks(int64_t n) { return (n + BLOCK_ROWS - 1) / BLOCK_ROWS; }

/* Whether a row of this bin goes left; one comparison, for MISSING + 1 is 0 in eight bits. */
INLINE bool goes_left(uint8_t bin, uint8_t cut, uint8_t shift) {
    return (uint8_t)(bin + shift) <= (uint8_t)(cut + shift);
}

/* What `goes_left` adds to bin and cut. */
INLINE uint8_t shift_of(int missing) { return missing == MISSING_LEFT; }

INLINE uint64_t pack_bits(Bits64 bits) {
    uint64_t word;
    memcpy(&word, &bits, sizeof word);
    return word;
}

INLINE Bytes64 load_bytes(const uint8_t *bytes) {
    Bytes64 loaded;
    memcpy(&loaded, bytes, sizeof loaded);
    return loaded;
}

/* Which of 64 rows have this byte. */
INLINE uint64_t bits_equal(const uint8_t *bytes, uint8_t value) {
    return pack_bits(__builtin_convertvector(load_bytes(bytes) == value, Bits64));
}

/* Which of 64 rows go left. */
INLINE uint64_t bits_left(const uint8_t *bins, uint8_t cut, uint8_t shift) {
    return pack_bits(__builtin_convertvector(load_bytes(bins) + shift <= (uint8_t)(cut + shift), Bits64));
}

/* Fill an array of n bytes up to a multiple of 64. */
INLINE void fill_up(uint8_t *bytes, int64_t n, uint8_t value) {
    if (!(n & 63)) return;
    static const uint8_t numbers[64] __attribute__((aligned(64))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    uint8_t *last = bytes + (n & ~INT64_C(63));
    const Bytes64 kept = (Bytes64)(load_bytes(numbers) < (uint8_t)(n & 63));
    const Bytes64 filled = (load_bytes(last) & kept) | (value & ~kept);
    memcpy(last, &filled, sizeof filled);
}

/* Which of up to 64 words have this bit; eight at a time, so that some behind the last may be told, too. */
INLINE uint64_t bits_set(const uint64_t *words, int64_t n, uint64_t bit) {
    uint64_t found = 0;
    for (int64_t k = 0; k < 8 && 8 * k < n; k++) {
        Words8 eight;
        memcpy(&eight, words + 8 * k, sizeof eight);
        const Bits8 bits = __builtin_convertvector((eight & bit) != 0, Bits8);
        uint8_t byte;
        memcpy(&byte, &bits, sizeof byte);
        found |= (uint64_t)byte << 8 * k;
    }
    return found;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Of four words, those whose bits are set first: halves of words, as the processor counts them. */
static const uint32_t set_first[16][8] __attribute__((aligned(32))) = {
    {0, 1, 0, 1, 0, 1, 0, 1}, {0, 1, 0, 1, 0, 1, 0, 1}, {2, 3, 0, 1, 0, 1, 0, 1}, {0, 1, 2, 3, 0, 1, 0, 1},
    {4, 5, 0, 1, 0, 1, 0, 1}, {0, 1, 4, 5, 0, 1, 0, 1}, {2, 3, 4, 5, 0, 1, 0, 1}, {0, 1, 2, 3, 4, 5, 0, 1},
    {6, 7, 0, 1, 0, 1, 0, 1}, {0, 1, 6, 7, 0, 1, 0, 1}, {2, 3, 6, 7, 0, 1, 0, 1}, {0, 1, 2, 3, 6, 7, 0, 1},
    {4, 5, 6, 7, 0, 1, 0, 1}, {0, 1, 4, 5, 6, 7, 0, 1}, {2, 3, 4, 5, 6, 7, 0, 1}, {0, 1, 2, 3, 4, 5, 6, 7},
};
#endif

/* Move the values of rows whose bits are set to the front, both kinds in their old order; `right` has room for the
 * others. Returns how many are at the front. Without branches: values are written to both sides, and what is too much
 * is written over. */
INLINE int64_t partition_words(uint64_t *values, uint64_t *restrict right, const uint64_t *restrict side, int64_t n) {
    int64_t left = 0, n_right = 0;
#if defined(__AVX512F__)
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __mmask8 is_left = (__mmask8)(side[i >> 6] >> (i & 63));
        const __m512i eight = _mm512_loadu_si512(values + i);
        const int64_t more = __builtin_popcount(is_left);
        _mm512_storeu_si512(values + left, _mm512_maskz_compress_epi64(is_left, eight));
        _mm512_storeu_si512(right + n_right, _mm512_maskz_compress_epi64((__mmask8)~is_left, eight));
        left += more;
        n_right += 8 - more;
    }
    if (i < n) {
        const __mmask8 there = (__mmask8)((1 << (n - i)) - 1);
        const __mmask8 is_left = (__mmask8)(side[i >> 6] >> (i & 63)) & there, is_right = ~is_left & there;
        const __m512i eight = _mm512_maskz_loadu_epi64(there, values + i);
        const int64_t more = __builtin_popcount(is_left);
        _mm512_mask_storeu_epi64(
            values + left, (__mmask8)((1 << more) - 1), _mm512_maskz_compress_epi64(is_left, eight)
        );
        _mm512_storeu_si512(right + n_right, _mm512_maskz_compress_epi64(is_right, eight));
        left += more;
        n_right += n - i - more;
    }
    for (int64_t k = 0; k < n_right; k += 8) {
        const __mmask8 there = n_right - k < 8 ? (__mmask8)((1 << (n_right - k)) - 1) : 0xFF;
        _mm512_mask_storeu_epi64(values + left + k, there, _mm512_loadu_si512(right + k));
    }
    return left;
#else
    for (int64_t first = 0; first < n; first += 64) {
        const uint64_t bits = side[first >> 6];
        const int64_t end = n - first < 64 ? n - first : 64;
        int64_t i = 0;
#if defined(__AVX2__)
        for (; i + 4 <= end; i += 4) {
            const uint32_t is_left = bits >> i & 15;
            const __m256i four = _mm256_loadu_si256((const __m256i *)(values + first + i));
            const __m256i to_left = _mm256_load_si256((const __m256i *)set_first[is_left]);
            const __m256i to_right = _mm256_load_si256((const __m256i *)set_first[15 - is_left]);
            const int64_t more = __builtin_popcount(is_left);
            _mm256_storeu_si256((__m256i *)(values + left), _mm256_permutevar8x32_epi32(four, to_left));
            _mm256_storeu_si256((__m256i *)(right + n_right), _mm256_permutevar8x32_epi32(four, to_right));
            left += more;
            n_right += 4 - more;
        }
#endif
        for (; i < end; i++) {
            const uint64_t value = values[first + i];
            const int64_t is_left = bits >> i & 1;
            values[left] = right[n_right] = value;
            left += is_left;
            n_right += 1 - is_left;
        }
    }
    memcpy(values + left, right, (size_t)n_right * sizeof *values);
    return left;
#endif
}

#endif
