/* Features as bins of one byte (see forest/binning.py). */
#include <math.h>

#include "export.h"
#include "nodes.h"

#define MAX_BINS 255
/* Part of a feature's weight that is given out along its range, in units of X, instead of by rows. Quantiles alone
 * lump a long tail together, but random thresholds are uniform over values and fall there most often. Extra-Trees on
 * six thousand rows of lognormal features (sigma = 2) were 2.3 ± 0.9 points of R² worse than scikit-learn's with
 * quantiles, 0.1 ± 0.8 with this; random forests, lighter tails and classes are as they were
 * (tests/forest/test_against_scikit_learn.py). The other bins hold at most about 1 / (1 - RANGE_SHARE) times the rows
 * of quantiles. */
#define RANGE_SHARE 0.3
/* Numbers larger than this have a sum or difference that may overflow. */
#define HUGE_NUMBER 8e307
#define LINE 16 /* edges that are compared with a value at once */
typedef _Bool Mask __attribute__((ext_vector_type(LINE)));

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double larger_size(double a, double b) { return fabs(a) > fabs(b) ? fabs(a) : fabs(b); }

/* Mid-point with low <= mid-point < high, also where it rounds to `high` or their sum overflows; low if equal. */
static inline double middle(double low, double high) {
    double mid = larger_size(low, high) > HUGE_NUMBER ? 0.5 * low + 0.5 * high : 0.5 * (low + high);
    return (low <= mid && mid < high ? mid : low) + 0.0; /* -0.0 and 0.0 are one value, whichever came first */
}

/* Weight of a bin if each value that is heavier fills one bin: share = sum of min(weight, share) / n_bins. */
static double fair_share(const double *sums, int64_t start, int64_t end, int64_t n_bins) {
    double share = INFINITY;
    int64_t n_heavy = -1;
    for (;;) {
        double light = 0.0;
        int64_t found = 0;
        for (int64_t i = start; i < end; i++) {
            if (sums[i] > share) {
                found++;
            } else {
                light += sums[i];
            }
        }
        /* More become heavy as the share falls; anything else is rounding. */
        if (found <= n_heavy || found >= n_bins) return share;
        n_heavy = found;
        share = light / (double)(n_bins - found);
    }
}

/* Divide the values of start to end into bins of nearly equal weight, none empty.
 *
 * Middles of weights that are capped at one share are at most one share apart: no bin is left out. That later bins need
 * a value each says the same where rounding would break it. Needs at least as many values as bins.
 *
 * sums: float64 (at least end), weights of the values
 * start, end, n_bins: which values, into how many bins
 * last: int64 (at least n_before + n_bins), written from `n_before` on: the position of each bin's last value */
EXPORT void
spread(const double *sums, int64_t start, int64_t end, int64_t n_bins, int64_t *restrict last, int64_t n_before) {
    double share = fair_share(sums, start, end, n_bins), before = 0.0;
    int64_t b = 0;
    for (int64_t i = start; i < end; i++) {
        double weight = share < sums[i] ? share : sums[i];
        int64_t n_later = n_bins - 1 - b;
        if (i > start && n_later > 0 && (before + 0.5 * weight >= (double)(b + 1) * share || end - i == n_later)) {
            last[n_before + b] = i - 1;
            b++;
        }
        before += weight;
    }
    last[n_before + b] = end - 1;
}

/* Divide the distinct values into bins (see forest/binning.py); returns how many, and each one's last value in `last`
 * (MAX_BINS). */
static int64_t divide(const double *sums, int64_t n_distinct, int64_t *restrict last) {
    if (n_distinct <= MAX_BINS) {
        for (int64_t b = 0; b < n_distinct; b++) last[b] = b;
        return n_distinct;
    }
    double share = fair_share(sums, 0, n_distinct, MAX_BINS), light = 0.0;
    int64_t n_heavy = 0, n_runs = 0;
    for (int64_t i = 0; i < n_distinct; i++) {
        if (sums[i] > share) {
            n_heavy++;
        } else {
            light += sums[i];
            n_runs += i == 0 || sums[i - 1] > share;
        }
    }
    if (n_heavy + n_runs > MAX_BINS) {
        spread(sums, 0, n_distinct, MAX_BINS, last, 0);
        return MAX_BINS;
    }
    /* Beyond one a run: bins to give away, and values that could have one. There are never more bins than values. */
    int64_t bins_left = MAX_BINS - n_heavy - n_runs, values_left = n_distinct - n_heavy - n_runs;
    for (int64_t b = 0, i = 0; i < n_distinct;) {
        if (sums[i] > share) {
            last[b++] = i++;
            continue;
        }
        int64_t end = i;
        double run = 0.0;
        while (end < n_distinct && sums[end] <= share) run += sums[end++];
        values_left -= end - i - 1;
        double rest = light > run ? light : run;
        /* Without weight (it has all been rounded away) there is no proportion. */
        int64_t proportion = rest > 0.0 ? (int64_t)((double)bins_left * (run / rest) + 0.5) : 0;
        int64_t more = smaller(larger(proportion, bins_left - values_left), smaller(bins_left, end - i - 1));
        spread(sums, i, end, 1 + more, last, b);
        b += 1 + more;
        i = end;
        bins_left -= more;
        light -= run;
    }
    return MAX_BINS;
}

#define TYPE float
#define KERNEL(name) name##_float32
#include "bins.h"
#undef TYPE
#undef KERNEL
#define TYPE double
#define KERNEL(name) name##_float64
#include "bins.h"
