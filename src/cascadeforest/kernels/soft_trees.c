/* Full trees that send each row both ways, with probabilities: their routes, gradients and leaves.
 *
 * A tree of n_leaves = 2^depth leaves has its numbers of a row in an array of n_leaves: level k is the slice 2^k ..
 * 2^(k+1), where node j has the children j (left) and j + 2^k (right) of the next level. Entry 0 is not used. So both
 * halves of a level are slices, and with up to a thousand leaves a row's numbers stay in the fastest cache while it
 * goes down and up. */
#include <string.h>

#include "export.h"

#define LEAST_PROBABILITY 1e-20f /* probabilities below are taken for this one, so that no quotient overflows */
#define ADDED 256                /* rows added up in single precision */

/* Numbers that are multiplied and added side by side, so that sums are the same on every processor. */
typedef float Lanes __attribute__((ext_vector_type(32)));
#define N_LANES 32

/* exp(x) as 2^k exp(r) with |r| <= log(2) / 2 and the polynomial of Cephes' expf; exp(-87) below -87, infinite above
 * 88.4. The constant 1.5 * 2^23 rounds k, and leaves it in the lowest bits. */
INLINE float exp_of(float x) {
    const float round = 12582912.f;
    x = x < -87.f ? -87.f : x > 89.f ? 89.f : x;
    float k = x * 1.44269504f + round;
    uint32_t bits;
    memcpy(&bits, &k, sizeof bits);
    bits = (bits - 0x4B400000u + 127u) << 23;
    k -= round;
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float value = 1.9875691500e-4f;
    value = value * r + 1.3981999507e-3f;
    value = value * r + 8.3334519073e-3f;
    value = value * r + 4.1665795894e-2f;
    value = value * r + 1.6666665459e-1f;
    value = value * r + 5.0000001201e-1f;
    value = value * r * r + r + 1.f;
    float power;
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

/* Sum of products. */
INLINE float product_of(const float *restrict a, const float *restrict b, int64_t n) {
    float sum = 0.f;
    if (n < N_LANES) {
        for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
        return sum;
    }
    Lanes sums = 0.f;
    for (int64_t i = 0; i < n; i += N_LANES) {
        Lanes first, second;
        memcpy(&first, a + i, sizeof first);
        memcpy(&second, b + i, sizeof second);
        sums += first * second;
    }
    for (int64_t i = 0; i < N_LANES; i++) sum += sums[i];
    return sum;
}

/* Send a row down. `turn` has the routers' values and receives the probabilities of right turns; `reach` receives
 * those of the leaves. */
INLINE void route_row(float *restrict turn, float *restrict reach, int64_t n_leaves) {
    turn[0] = 0.f;
    for (int64_t node = 0; node < n_leaves; node++) turn[node] = 1.f / (1.f + exp_of(turn[node]));
    reach[0] = 1.f;
    for (int64_t width = 1; width < n_leaves; width *= 2) {
        float *restrict left = reach, *restrict right = reach + width;
        const float *restrict level = turn + width;
        for (int64_t j = 0; j < width; j++) {
            right[j] = left[j] * level[j];
            left[j] -= right[j];
        }
    }
}

/* Probability of each leaf for each row (Eq. 2).
 *
 * turns: float32 (n_rows, n_leaves), the routers' values in all columns but the first; receives the probabilities of
 *   right turns
 * reach: float32 (n_rows, n_leaves), written */
EXPORT void soft_reach(float *restrict turns, float *restrict reach, int64_t n_rows, int64_t n_leaves) {
    for (int64_t row = 0; row < n_rows; row++) route_row(turns + row * n_leaves, reach + row * n_leaves, n_leaves);
}

/* Derivatives of -log P_T[y | x] with respect to the routers' values (Eqs. 6 and 7). With A_m the part of P_T[y | x]
 * that comes through node m, the derivative is (A_right - (1 - d_n) A_n) / P_T[y | x].
 *
 * turns: float32 (n_rows, n_leaves), the routers' values as in `soft_reach`; receives the derivatives
 * leaves: float32 (n_classes, n_leaves), the distributions
 * codes: int64 (n_rows), the rows' classes
 * parts: float32 (n_leaves), room
 * probability: float32 (n_rows), written: P_T[y | x], at least LEAST_PROBABILITY */
EXPORT void soft_gradient(
    float *restrict turns, const float *restrict leaves, const int64_t *restrict codes, float *restrict parts,
    float *restrict probability, int64_t n_rows, int64_t n_leaves
) {
    for (int64_t row = 0; row < n_rows; row++) {
        float *restrict turn = turns + row * n_leaves;
        const float *restrict leaf = leaves + codes[row] * n_leaves;
        route_row(turn, parts, n_leaves);
        for (int64_t j = 0; j < n_leaves; j++) parts[j] *= leaf[j];
        for (int64_t width = n_leaves / 2; width > 0; width /= 2) {
            float *restrict left = parts, *restrict level = turn + width;
            const float *restrict right = parts + width;
            for (int64_t j = 0; j < width; j++) {
                left[j] += right[j];
                level[j] = right[j] - level[j] * left[j];
            }
        }
        probability[row] = parts[0] < LEAST_PROBABILITY ? LEAST_PROBABILITY : parts[0];
        const float quotient = 1.f / probability[row];
        for (int64_t j = 0; j < n_leaves; j++) turn[j] *= quotient;
    }
}

/* Each leaf's share in rows of its classes, mu_l(x) / P_T[y | x] (Eq. 11 before the product with pi_ly).
 *
 * reach: float32 (n_rows, n_leaves)
 * leaves: float32 (n_classes, n_leaves), the distributions
 * codes: int64 (n_rows), the rows' classes; fastest where rows of a class are together. Sums end at multiples of ADDED
 *   rows, so that a call for more rows gives the bytes of calls for ADDED rows each
 * sums: float32 (n_leaves), room
 * shares: float64 (n_classes, n_leaves), added to
 * probability: float32 (n_rows), as in `soft_gradient` */
EXPORT void soft_shares(
    const float *restrict reach, const float *restrict leaves, const int64_t *restrict codes, float *restrict sums,
    double *restrict shares, float *restrict probability, int64_t n_rows, int64_t n_leaves
) {
    for (int64_t start = 0, end; start < n_rows; start = end) {
        const int64_t code = codes[start], next = (start / ADDED + 1) * ADDED, most = next < n_rows ? next : n_rows;
        memset(sums, 0, (size_t)n_leaves * sizeof *sums);
        for (end = start; end < most && codes[end] == code; end++) {
            const float *restrict row = reach + end * n_leaves;
            const float found = product_of(leaves + code * n_leaves, row, n_leaves);
            probability[end] = found < LEAST_PROBABILITY ? LEAST_PROBABILITY : found;
            const float quotient = 1.f / probability[end];
            for (int64_t j = 0; j < n_leaves; j++) sums[j] += row[j] * quotient;
        }
        for (int64_t j = 0; j < n_leaves; j++) shares[code * n_leaves + j] += (double)sums[j];
    }
}
