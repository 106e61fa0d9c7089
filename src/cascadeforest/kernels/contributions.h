/* The kernels of contributions.c that read contributions: included once with TYPE float and once with TYPE double. */

/* Training rows of a tree, sorted by leaf. */
typedef struct {
    const int32_t *order;      /* (n) */
    const int64_t *place;      /* (n_nodes + 1), both of `sort_by_leaf` */
    const double *weight;      /* (n) */
    const int64_t *rows;       /* (n): their places in `contributions` */
    const TYPE *contributions; /* (n_rows, size), of the forest of the preceding layer whose output was split */
    int64_t size;              /* n_outputs * n_features */
} KERNEL(Trained);

/* Weighted sum of contributions of rows order[first] to order[last - 1], to `out` (size); returns their weight. */
static double
KERNEL(sum_of_contributions)(const KERNEL(Trained) * trained, int64_t first, int64_t last, double *restrict out) {
    int64_t size = trained->size;
    memset(out, 0, (size_t)size * sizeof *out);
    for (int64_t begin = 0; begin < size; begin += PIECE) { /* it stays in the core's nearest cache */
        int64_t end = smaller(begin + PIECE, size);
        for (int64_t position = first; position < last; position++) {
            int32_t i = trained->order[position];
            const TYPE *restrict line = trained->contributions + trained->rows[i] * size;
            double weight = trained->weight[i];
            for (int64_t j = begin; j < end; j++) out[j] += weight * (double)line[j];
        }
    }
    double total = 0.0;
    for (int64_t position = first; position < last; position++) total += trained->weight[trained->order[position]];
    return total;
}

/* Eq. 17 for both children of a split on a new feature: the estimated changes from the node to its left child (`left`,
 * size) and to its right child (`right`, size), which have the rows up to `middle` and from `middle` on. */
static void KERNEL(estimated_changes)(
    const KERNEL(Trained) * trained, int64_t first, int64_t middle, int64_t last, double *restrict left,
    double *restrict right
) {
    double left_weight = KERNEL(sum_of_contributions)(trained, first, middle, left);
    double right_weight = KERNEL(sum_of_contributions)(trained, middle, last, right);
    double weight = left_weight + right_weight;
    for (int64_t j = 0; j < trained->size; j++) {
        double of_left = left_weight > 0.0 ? left[j] / left_weight : 0.0;
        double of_right = right_weight > 0.0 ? right[j] / right_weight : 0.0;
        double above = weight > 0.0 ? (left[j] + right[j]) / weight : 0.0;
        left[j] = difference(of_left, above);
        right[j] = difference(of_right, above);
    }
}

/* Splits of one tree on added columns in Algorithm 1, from the root down; `add_paths` does the other splits.
 *
 * feature, right, end, depth: int32 (n_nodes), the tree (see `relatives`)
 * value: float64 (n_nodes, n_outputs), mean response of the nodes
 * n_given: columns before the added ones; column n_given + f * n_outputs + c is output c of forest f before
 * hat_order, hat_place: int32 (n_trained), int64 (n_nodes + 1), training rows of the tree, of `sort_by_leaf`
 * hat_weight, hat_rows: float64, int64 (n_trained), their weights and their places in `contributions`
 * contributions: TYPE (n_forests, n_rows, n_outputs * n_features), of the forests of the preceding layer
 * equal, rule: see `calibrate`
 * order, place: rows to explain, of `sort_by_leaf`; subtrees that none of them reaches are left out
 * out: float64 (n, n_outputs * n_features), added to
 * stack: float64 (2 * (greatest depth + 2), n_outputs * n_features), working memory. A node's contributions stay where
 *     the nearest split on an added column above put them: line 2 d + 2 for its left child and 2 d + 3 for its right
 *     one, d being its depth.
 * base: int64 (n_nodes), working memory: the line of each node; line 0 holds zeros
 * change: float64 (n_outputs), working memory */
EXPORT void KERNEL(add_calibrated)(
    const int32_t *feature, const int32_t *right, const int32_t *end, const int32_t *depth, int64_t n_nodes,
    const double *value, int64_t n_outputs, int64_t n_given, const int32_t *hat_order, const int64_t *hat_place,
    const double *hat_weight, const int64_t *hat_rows, const TYPE *contributions, int64_t n_rows, const double *equal,
    int64_t n_features, int32_t rule, const int32_t *order, const int64_t *place, double *out, double *stack,
    int64_t *base, double *change
) {
    int64_t size = n_outputs * n_features;
    memset(stack, 0, (size_t)size * sizeof *stack);
    base[0] = 0;
    for (int64_t node = 0; node < n_nodes; node++) {
        if (place[node] == place[end[node]]) { /* nobody to explain here */
            node = end[node] - 1;
            continue;
        }
        int64_t mine = base[node];
        const double *restrict above = stack + mine * size;
        if (feature[node] < 0) {
            if (mine == 0) continue;
            for (int64_t position = place[node]; position < place[end[node]]; position++) {
                double *restrict line = out + order[position] * size;
                for (int64_t j = 0; j < size; j++) line[j] += above[j];
            }
            continue;
        }
        int64_t children[2] = {node + 1, right[node]};
        if (feature[node] < n_given) {
            base[children[0]] = base[children[1]] = mine;
            continue;
        }
        int64_t forest = (feature[node] - n_given) / n_outputs;
        KERNEL(Trained)
        trained = {hat_order, hat_place, hat_weight, hat_rows, contributions + forest * n_rows * size, size};
        for (int64_t k = 0; k < 2; k++) base[children[k]] = 2 * depth[node] + 2 + k;
        KERNEL(estimated_changes)(
            &trained, hat_place[node], hat_place[children[1]], hat_place[end[node]], stack + base[children[0]] * size,
            stack + base[children[1]] * size
        );
        for (int64_t k = 0; k < 2; k++) {
            int64_t to = children[k];
            double *restrict changes = stack + base[to] * size;
            if (place[to] == place[end[to]]) continue;
            for (int64_t c = 0; c < n_outputs; c++) {
                change[c] = value[to * n_outputs + c] - value[node * n_outputs + c];
            }
            calibrate(changes, change, n_outputs, equal, n_features, rule);
            for (int64_t j = 0; j < size; j++) changes[j] += above[j];
        }
    }
}
