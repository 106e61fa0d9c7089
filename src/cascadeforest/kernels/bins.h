/* The kernels of bins.c for values of one type: included once with TYPE float and once with TYPE double. */

/* Move the distinct values of a sorted column to its head, and their weights to `sums`; returns how many. */
static int64_t
KERNEL(merge_ties)(TYPE *column, int64_t n, const double *restrict weights, int64_t n_weights, double *restrict sums) {
    int64_t n_distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        TYPE x = column[i];
        if (x != x) break; /* the sort puts NaN last */
        if (n_distinct == 0 || x != column[n_distinct - 1]) {
            column[n_distinct] = x;
            sums[n_distinct++] = 0.0;
        }
        sums[n_distinct - 1] += n_weights ? weights[i] : 1.0;
    }
    return n_distinct;
}

/* Replace the share RANGE_SHARE of the weights in `sums` by parts of the range, with the same total.
 *
 * A value's part reaches half the way to each neighbour, so that the first and the last one have half of one gap.
 * Weights of rows stay positive, however small, and where values are infinite they stay what they are. */
static void KERNEL(mix_in_range)(const TYPE *restrict values, int64_t n_distinct, double *restrict sums) {
    int64_t end = n_distinct - 1;
    double low = (double)values[0], high = (double)values[end];
    double scale = larger_size(low, high) > HUGE_NUMBER ? 0.5 : 1.0; /* the range may be wider than the largest float */
    double width = scale * high - scale * low;
    if (!(width < INFINITY)) return;
    double total = 0.0;
    for (int64_t i = 0; i < n_distinct; i++) total += sums[i];
    for (int64_t i = 0; i < n_distinct; i++) sums[i] *= 1.0 - RANGE_SHARE;
    double along_range = 0.5 * RANGE_SHARE * total;
    for (int64_t i = 1; i < end; i++) { /* the ends are not within, so that the loop is vectorised: half the time */
        sums[i] += along_range * ((scale * (double)values[i + 1] - scale * (double)values[i - 1]) / width);
    }
    sums[0] += along_range * ((scale * (double)values[1] - scale * low) / width);
    sums[end] += along_range * ((scale * high - scale * (double)values[end - 1]) / width);
}

/* Find the bins of one feature; returns how many, 0 if all values are missing. There is one edge less.
 *
 * column: TYPE (n), sorted, NaN last; overwritten
 * weights: float64 (n), positive; n_weights is 0 instead of n if all are equal
 * sums: float64 (n), working memory
 * edges, centers: float64 (MAX_BINS), written as far as there are bins */
EXPORT int64_t KERNEL(find_edges)(
    TYPE *column, int64_t n, const double *weights, int64_t n_weights, double *sums, double *restrict edges,
    double *restrict centers
) {
    int64_t last[MAX_BINS];
    int64_t n_distinct = KERNEL(merge_ties)(column, n, weights, n_weights, sums);
    if (n_distinct > MAX_BINS) KERNEL(mix_in_range)(column, n_distinct, sums);
    int64_t n_bins = divide(sums, n_distinct, last);
    for (int64_t b = 0, first = 0; b < n_bins; b++) {
        double high = (double)column[last[b]];
        centers[b] = middle((double)column[first], high);
        first = last[b] + 1;
        if (b < n_bins - 1) edges[b] = middle(high, (double)column[first]);
    }
    return n_bins;
}

/* LINE edges, in the registers of the processor at hand. */
typedef TYPE KERNEL(Line) __attribute__((ext_vector_type(LINE)));

/* How many edges of a line are below x. They ascend, so that this is the number of set bits before the first that is
 * not set. */
static inline uint32_t KERNEL(n_below)(KERNEL(Line) line, TYPE x) {
    union {
        Mask mask;
        uint16_t bits;
    } below = {__builtin_convertvector(line < x, Mask)};
    return (uint32_t)__builtin_ctz(~(uint32_t)below.bits);
}

/* Write the bins of a block of features.
 *
 * A value is compared with every LINE-th edge at once, and then with the line of edges in which it lies: 1.7 to 2.6 ns
 * a value of float32 (x86-64 v4 to v1), about 4.7 of float64. A binary search, written out without a branch, takes 9.2
 * and 6.6 ns on the same machine. Where one line holds all edges it is 0.8 to 1.4 and 1.9 ns, with one edge 0.1 to 0.5.
 *
 * block: TYPE (k, n), values of k features
 * edges: TYPE, edges of these and other features, each feature's ascending, at most 254
 * offsets: int64 (k + 1), where the edges of each of the k features begin and, one further, end
 * out: uint8 (k, out_length), written from column `first_row` on */
EXPORT void KERNEL(assign_bins)(
    const TYPE *block, int64_t k, int64_t n, const TYPE *edges, const int64_t *offsets, uint8_t *restrict out,
    int64_t out_length, int64_t first_row
) {
    for (int64_t feature = 0; feature < k; feature++) {
        const TYPE *restrict column = block + feature * n, *own = edges + offsets[feature];
        uint8_t *restrict bins = out + feature * out_length + first_row;
        int64_t n_edges = offsets[feature + 1] - offsets[feature];
        if (n_edges <= 1) { /* one-hot columns */
            TYPE edge = n_edges ? own[0] : (TYPE)INFINITY;
            for (int64_t i = 0; i < n; i++) {
                TYPE x = column[i];
                bins[i] = x != x ? MISSING : edge < x;
            }
            continue;
        }
        KERNEL(Line) lines[LINE], ends;
        for (int64_t b = 0; b < LINE * LINE; b++) lines[b / LINE][b % LINE] = b < n_edges ? own[b] : (TYPE)INFINITY;
        for (int64_t b = 0; b < LINE; b++) ends[b] = lines[b][LINE - 1];
        if (n_edges < LINE) {
            for (int64_t i = 0; i < n; i++) {
                TYPE x = column[i];
                bins[i] = x != x ? MISSING : (uint8_t)KERNEL(n_below)(lines[0], x);
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                TYPE x = column[i];
                uint32_t line = KERNEL(n_below)(ends, x);
                bins[i] = x != x ? MISSING : (uint8_t)(LINE * line + KERNEL(n_below)(lines[line], x));
            }
        }
    }
}
