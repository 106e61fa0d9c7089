"""The naive twin of the explanations: the interpretation paper's equations and Algorithm 1, node by node, row by row.

What it takes from a fitted model are its trees (nodes, values of leaves), what draws folds and bootstraps again, bins
and, for screening, mdDF and DDBF, what `fit` stored about levels; for hiDF the conditions of its interactions. Vectors
that layers hand on, node means, estimates, calibrations, passages between levels and importances are computed here, in
loops.
"""

from dataclasses import dataclass

import numpy as np

from cascadeforest.forest.growth import in_bag_counts

MISSING = 255  # bin of rows without a value
ROUNDING = 1e-6  # of float32, in which contributions are handed on and leaves hold what they predict


def calibrated(estimated, change, rule, equal):
    """Eqs. 23 to 26 for one output; where they divide by zero, what the docstring of `calibrate` says.

    A sum that is `ROUNDING` of its terms, or a change that is `ROUNDING` of the estimates, is 0: what is left of it is
    rounding, and its sign, by which Eq. 25 chooses, is that of an error.
    """
    total, absolute = sum(estimated), sum(abs(e) for e in estimated)
    if absolute == 0:
        return [change * share for share in equal]
    if rule == "partial":
        of_sign = [k for k, e in enumerate(estimated) if np.sign(e) == np.sign(change)]
        same = sum(estimated[k] for k in of_sign)
        if abs(same) > ROUNDING * absolute and abs(change) > ROUNDING * absolute:
            return [e * (1 + (change - total) / same) if k in of_sign else e for k, e in enumerate(estimated)]
    if rule == "multiplicative" and abs(total) > ROUNDING * absolute:
        return [e * (change / total) for e in estimated]
    return [e + abs(e) / absolute * (change - total) for e in estimated]


@dataclass
class Grown:
    """A forest, and the rows that it learned from: their places among the rows of the layer, and weights there."""

    forest: object  # trees, offset, scale, seeds, n_draws
    places: list
    weights: list
    balance: bool = False  # class_weight="balanced_subsample"
    behind: tuple = ()  # features of the columns that follow the features and are computed from them

    def in_bag(self, t):
        """How often a tree drew each row, by place."""
        counts = in_bag_counts(self.forest.seeds[t], self.forest.n_draws, len(self.places))
        return dict(zip(self.places, counts.tolist(), strict=True))

    def tree_weights(self, t, Y):
        """Weight of each row that a tree drew, by place."""
        drawn = {i: n for i, n in self.in_bag(t).items() if n}
        weights = {i: n * w for (i, n), w in zip(self.in_bag(t).items(), self.weights, strict=True) if n}
        if self.balance:
            n_of_class = sum(n * Y[i] for i, n in drawn.items())
            present = np.count_nonzero(n_of_class)
            for i in weights:
                weights[i] *= sum(drawn.values()) / (present * n_of_class[int(Y[i].argmax())])
        return weights


def goes_left(view, node, bins, i):
    """Which side of a split a row goes to."""
    b = bins[view.feature[node]][i]
    return view.missing_go_to_left[node] if b == MISSING else b <= view.cut[node]


def leaf_of(view, bins, i):
    """Leaf that a row reaches."""
    node = 0
    while view.children_left[node] >= 0:
        node = view.children_left[node] if goes_left(view, node, bins, i) else view.children_right[node]
    return int(node)


def leaf_value(forest, view, node):
    """What a leaf predicts."""
    return forest.offset + forest.scale * forest.trees.values[view.value_row[node]].astype(np.float64)


def weighted_mean(lines, weights):
    """Mean of arrays."""
    return sum(w * line for line, w in zip(lines, weights, strict=True)) / sum(weights)


def difference(after, before):
    """Change of each number; 0 where the mean of equal numbers is not quite that number."""
    change = after - before
    return np.where(abs(change) > 1e-9 * (abs(after) + abs(before)), change, 0.0)


@dataclass
class Before:
    """What stands behind the columns of a layer beyond `n_given`: contributions of forest f to row i are [f][i]."""

    contributions: list
    n_given: int
    equal: list
    rule: str
    all_rows: bool


def contributions_of_leaves(grown, t, bins, Y, n_features, before, *, exact=False):
    """Algorithm 1: bias, and (n_outputs, n_features) contributions of each leaf. `exact`: leaves are means too."""
    view = grown.forest.trees.tree(t)
    weights = grown.tree_weights(t, Y)
    n_outputs = Y.shape[1]

    def mu(node, rows):  # Eq. 14
        if view.children_left[node] < 0 and not exact:
            return leaf_value(grown.forest, view, node)
        drawn = [i for i in rows if i in weights]
        return weighted_mean([Y[i] for i in drawn], [weights[i] for i in drawn])

    def mu_hat(rows, f):  # Eq. 15, without the bias, which is the same in all nodes
        rows = rows if before.all_rows else [i for i in rows if i in weights]
        of_rows = [1.0 if before.all_rows else weights[i] for i in rows]
        return weighted_mean([before.contributions[f][i] for i in rows], of_rows)

    leaves = {}

    def visit(node, rows, own):
        if view.children_left[node] < 0:
            leaves[node] = own
            return
        k = view.feature[node]
        left = [i for i in rows if goes_left(view, node, bins, i)]
        right = [i for i in rows if i not in set(left)]
        for child, some in ((view.children_left[node], left), (view.children_right[node], right)):
            change = mu(child, some) - mu(node, rows)
            new = own.copy()
            if before is None or k < before.n_given:
                features = [k] if k < n_features or not grown.behind else grown.behind[k - n_features]
                for own_feature in features:
                    new[:, own_feature] += change / len(features)
            else:
                f = (k - before.n_given) // n_outputs
                estimated = difference(mu_hat(some, f), mu_hat(rows, f))  # Eq. 17
                for c in range(n_outputs):
                    new[c] += calibrated(estimated[c].tolist(), change[c], before.rule, before.equal)
            visit(int(child), some, new)

    visit(0, list(grown.places), np.zeros((n_outputs, n_features)))
    return mu(0, list(grown.places)), leaves


def explain_by(grown, bins, Y, n_features, before, new_bins, new_rows, asked=None):
    """Mean over trees of bias, contributions and prediction of rows; `asked(t, i)`: whether a tree speaks for a row."""
    votes = {i: [] for i in new_rows}
    for t in range(grown.forest.trees.n_trees):
        view = grown.forest.trees.tree(t)
        bias, leaves = contributions_of_leaves(grown, t, bins, Y, n_features, before)
        for i in new_rows:
            if asked is None or asked(t, i):
                leaf = leaf_of(view, new_bins, i)
                votes[i].append((bias, leaves[leaf], grown.forest.trees.values[view.value_row[leaf]]))
    result = {}
    for i, said in votes.items():
        if said:
            bias, own = (sum(vote[j] for vote in said) / len(said) for j in (0, 1))
            value = sum(vote[2].astype(np.float64) for vote in said) / len(said)
            result[i] = bias, own, grown.forest.offset + grown.forest.scale * value
    return result


@dataclass
class Level:
    """One layer: its training rows, models of new rows, and what is known of the training rows without their models."""

    rows: list  # numbers of its training rows
    bins: np.ndarray
    Y: np.ndarray
    weights: list
    forests: list  # for each forest the models that speak for new rows
    before: Before | None
    held_out: list = None  # for each forest and row (bias, contributions, vector)

    def bias(self):
        """Mean over forests, models and trees of the mean response at the root."""
        means = []
        for models in self.forests:
            for grown in models:
                biases = [
                    contributions_of_leaves(grown, t, self.bins, self.Y, 0, None)[0]
                    if grown.forest.trees.tree(t).children_left[0] < 0
                    else weighted_mean(*root_of(grown, t, self.Y))
                    for t in range(grown.forest.trees.n_trees)
                ]
                means.append((sum(biases) / len(biases), 1 / (len(self.forests) * len(models))))
        return sum(mean * share for mean, share in means)

    def mean_held_out(self):
        """Mean over forests of bias and contributions of each row."""
        return [
            [sum(forest[i][j] for forest in self.held_out) / len(self.held_out) for j in (0, 1)]
            for i in range(len(self.rows))
        ]


def root_of(grown, t, Y):
    """Responses and weights of the rows that a tree drew."""
    weights = grown.tree_weights(t, Y)
    return [Y[i] for i in weights], list(weights.values())


def mean_vector(of_forests):
    """Mean class vector, with sum 1."""
    mean = sum(np.asarray(v, np.float64) for v in of_forests) / len(of_forests)
    return mean / mean.sum()


def margin(vector, label):
    """Probability of the own class minus the largest of the others."""
    return vector[label] - max(p for c, p in enumerate(vector) if c != label)


def margin_loss(z, gamma, mu):
    """Eq. 28 of the mdDF paper."""
    return (z - gamma) ** 2 / gamma**2 if z <= gamma else mu * (z - gamma) ** 2 / (1 - gamma) ** 2


def class_weights(label, weights, class_weight, classes):
    """Weights times class weights."""
    if class_weight is None:
        return weights
    if class_weight == "balanced":
        total = {c: sum(w for w, own in zip(weights, label, strict=True) if own == c) for c in set(label.tolist())}
        present = [c for c in total if total[c] > 0]
        factor = {c: sum(total.values()) / (len(present) * total[c]) if total[c] else 0.0 for c in total}
    else:
        factor = {c: class_weight.get(name, 1.0) for c, name in enumerate(classes.tolist())}
    return [w * factor[c] for w, c in zip(weights, label.tolist(), strict=True)]


class Twin:
    """All layers of a fitted model with its training rows.

    `kind` is "cascade", "screening", "weighting", "margin", "interactions" (hiDF), "hard" (DDBF) or "forest";
    `of_folds` a list of layers with the models of all folds, if the model's own do not have them
    (class_vectors="k_fold_refit").
    """

    def __init__(self, model, X, y, weights=None, *, kind, rule="partial", all_rows=False, of_folds=None):
        self.model, self.kind, self.rule, self.all_rows = model, kind, rule, all_rows
        n = len(y)
        self.is_classifier = hasattr(model, "classes_")
        if self.is_classifier:
            self.label = np.array([model.classes_.tolist().index(c) for c in np.asarray(y).tolist()])
            self.Y = np.eye(len(model.classes_))[self.label]
        else:
            self.label = np.asarray(y, np.float64)
            self.Y = self.label[:, None]
        self.weights = [1.0] * n if weights is None else list(map(float, weights))
        class_weight = getattr(model, "class_weight", None)
        balance = class_weight == "balanced_subsample" and model.bootstrap
        if not balance and self.is_classifier:
            named = "balanced" if class_weight == "balanced_subsample" else class_weight
            self.weights = class_weights(self.label, self.weights, named, model.classes_)
        self.n_features = X.shape[1]
        self.behind = features_behind(model) if kind == "interactions" else ()
        self.rows_leave = kind in ("screening", "hard")
        self.layers = self._layers_of_model()
        rows = [i for i in range(n) if self.weights[i] > 0]
        if kind == "forest":
            self.levels = [self._forest_level(self._bins(X), rows, balance)]
        elif kind == "hard":
            self.levels = [self._iteration(number, X) for number in range(len(self.layers))]
        elif self.layers == [None]:
            self.levels = [self._level_of_all_rows(self._bins(X), rows)]
        else:
            self.levels = list(self._levels(self._bins(X), rows, of_folds or self.layers))

    def _layers_of_model(self):
        """Layers of the model; None in the place of forests whose mean is the prediction."""
        if self.kind == "forest":
            return [None]
        if self.kind == "interactions":
            final = self.model.final_
            return [None] if final.layer is None else [one for one in (final.vectors, final.layer) if one is not None]
        return self.model.layers_

    def _bins(self, X, number=0):
        """Bins of the features (and interactions) that a layer sees."""
        model = self.model
        if self.kind == "forest":
            return model.bin_mapper_.transform(X).columns
        if self.kind == "hard":
            return model.layers_[number].mapper.transform(X).columns
        if self.kind != "interactions":
            return model.features_.mapper.transform(X).columns
        bins = model._mapper.transform(X).columns
        return np.vstack([bins, model._added_mapper.transform(interaction_values(model, X)).columns])

    def _level_of_all_rows(self, bins, rows):
        """Forests of all rows: hiDF without class vectors."""
        weights = [self.weights[i] for i in rows]
        level = Level(rows, bins[:, rows], self.Y[rows], weights, [], None)
        grown = [Grown(f, list(range(len(rows))), weights, behind=self.behind) for f in self.model.final_.forests]
        level.forests = [[one] for one in grown]
        level.held_out = [self._out_of_bag(one, level) for one in grown]
        return level

    def _iteration(self, number, X):
        """An iteration of DDBF: its forest, and the rows that no iteration before found easy."""
        rows = [i for i, reached in enumerate(self.model.decision_level_) if reached >= number]
        weights = [self.weights[i] for i in rows]
        level = Level(rows, self._bins(X, number)[:, rows], self.Y[rows], weights, [], None)
        grown = Grown(self.layers[number].forest, list(range(len(rows))), weights)
        level.forests, level.held_out = [[grown]], [self._out_of_bag(grown, level)]
        return level

    def _forest_level(self, bins, rows, balance):
        model = self.model
        forest = _Alone(model.trees_, model._offset, model._scale, model._bags.seeds, model._bags.n_draws)
        grown = Grown(forest, rows, [self.weights[i] for i in rows], balance)
        level = Level(list(range(len(self.Y))), bins, self.Y, self.weights, [[grown]], None)
        if forest.n_draws:
            level.held_out = [self._out_of_bag(grown, level)]
        return level

    def _out_of_bag(self, grown, level):
        counts = [grown.in_bag(t) for t in range(grown.forest.trees.n_trees)]
        places = range(len(level.rows))
        said = explain_by(
            grown, level.bins, level.Y, self.n_features, level.before, level.bins, places,
            asked=lambda t, i: counts[t].get(i, 0) == 0,
        )  # fmt: skip
        alone = weighted_mean([level.Y[i] for i in grown.places], grown.weights)
        nothing = alone, np.zeros((self.Y.shape[1], self.n_features)), alone
        return [said.get(i, nothing) for i in places]

    def _models(self, layer, k, level):
        """The models of a forest, and for each of them the places that it was not given."""
        models, places = layer.forests[k], range(len(level.rows))
        if len(models) == 1:
            return [(models[0], Grown(models[0], list(places), level.weights, behind=self.behind), [])]
        y = self.label[level.rows]
        fold = layer.folds.of(y, k)
        result = []
        for number, forest in enumerate(models):
            learned = [i for i in places if fold[i] != number]
            grown = Grown(forest, learned, [level.weights[i] for i in learned], behind=self.behind)
            result.append((forest, grown, [i for i in places if fold[i] == number]))
        return result

    def _rounded(self, vector, layer):
        stored = np.float32 if self.is_classifier else np.float64
        return np.asarray(vector).astype(layer.vector_dtype).astype(stored)

    def _levels(self, given, rows, layers_of_folds):
        model, before, columns, of_rows = self.model, None, None, None
        for number, layer in enumerate(self.layers):
            bins = given[:, rows]
            if columns is not None:
                bins = np.vstack([bins, layer.added_mapper.transform(np.array(columns)).columns])
            weights = [self.weights[i] * (1.0 if of_rows is None else of_rows[j]) for j, i in enumerate(rows)]
            level = Level(rows, bins, self.Y[rows], weights, [], before)
            level.forests = [
                [grown for _, grown, _ in self._models(layer, k, level)] for k in range(len(layer.forests))
            ]
            level.held_out = [self._held_out(layers_of_folds[number], k, level) for k in range(len(layer.forests))]
            yield level
            vectors = [[self._rounded(forest[i][2], layer) for forest in level.held_out] for i in range(len(rows))]
            handed_on = [[row[1] for row in forest] for forest in level.held_out]
            if self.kind == "screening":
                goes_on = [j for j, i in enumerate(rows) if model.decision_level_[i] > number]
                rows = [rows[j] for j in goes_on]
                vectors, handed_on = [vectors[j] for j in goes_on], [[f[j] for j in goes_on] for f in handed_on]
            if self.kind == "weighting":
                of_rows = [max(1 - mean_vector(v)[self.label[i]], 1e-9) for v, i in zip(vectors, rows, strict=True)]
            if self.kind == "margin":
                vectors, handed_on, of_rows = self._summed(number, vectors, level)
                if not model.reweighting:
                    of_rows = None
                if model.ablation == "no_preconc":
                    continue
                if model.ablation == "stacking":
                    given = given[:0]
            columns = [np.concatenate(v) for v in vectors]
            if number + 1 < len(self.layers):
                before = Before(handed_on, len(given), equal_shares(handed_on), self.rule, self.all_rows)

    def _held_out(self, layer, k, level):
        if layer.folds is None:
            return self._out_of_bag(Grown(layer.forests[k][0], list(range(len(level.rows))), level.weights), level)
        result = {}
        for _, grown, held_out in self._models(layer, k, level):
            result |= explain_by(
                grown, level.bins, level.Y, self.n_features, level.before, level.bins, held_out
            )  # fmt: skip
        return [result[i] for i in range(len(level.rows))]

    def _summed(self, number, vectors, level):
        """mdDF: the sum up to a layer, contributions behind it, and weights of the next layer's rows (Eq. 27)."""
        model, share = self.model, self.model.shares_[number]
        if number == 0:
            self._sum = [[np.zeros(self.Y.shape[1]) for _ in forests] for forests in vectors]
            self._behind = [[np.zeros_like(row[1]) for row in forest] for forest in level.held_out]
            self._margin = [0.0] * len(level.rows)
        self._sum = [
            [(1 - share) * s + share * v.astype(np.float64) for s, v in zip(of_row, new, strict=True)]
            for of_row, new in zip(self._sum, vectors, strict=True)
        ]
        self._behind = [
            [(1 - share) * s + share * row[1] for s, row in zip(forest, new, strict=True)]
            for forest, new in zip(self._behind, level.held_out, strict=True)
        ]
        own = [margin(mean_vector(v), self.label[i]) for v, i in zip(vectors, level.rows, strict=True)]
        self._margin = [(1 - share) * z + share * m for z, m in zip(self._margin, own, strict=True)]
        loss = [margin_loss(z, model.gamma_, model.mu_) for z in self._margin]
        mean = sum(loss) / len(loss)
        floored = [max(one / mean, model.weight_floor) for one in loss] if mean > 0 else [1.0] * len(loss)
        of_rows = [w / (sum(floored) / len(floored)) for w in floored]
        features = [[s.astype(np.float32) for s in of_row] for of_row in self._sum]
        return features, self._behind, of_rows

    def passages(self):
        """gcForest_CS and DDBF: change of the bias, and contributions to it, from the first level to each."""
        found = [(np.zeros(self.Y.shape[1]), np.zeros((self.Y.shape[1], self.n_features)))]
        for above, level in zip(self.levels, self.levels[1:], strict=False):
            own = [contributions for _, contributions in above.mean_held_out()]
            stay = [j for j, i in enumerate(above.rows) if i in set(level.rows)]
            estimated = weighted_mean([own[j] for j in stay], [above.weights[j] for j in stay])
            estimated = estimated - weighted_mean(own, above.weights)
            change = level.bias() - above.bias()
            equal = equal_shares([own]) if level.before is None else level.before.equal
            parts = [calibrated(estimated[c].tolist(), change[c], self.rule, equal) for c in range(len(change))]
            found.append((found[-1][0] + change, found[-1][1] + np.array(parts)))
        return found

    def held_out(self, layer):
        """Bias (n, n_outputs) and contributions (n, n_features, n_outputs) of the training rows, up to a layer."""
        n, (n_outputs, n_features) = len(self.Y), (self.Y.shape[1], self.n_features)
        start = 0.0 if self.kind == "margin" else np.nan
        bias, out = np.full((n, n_outputs), np.nan), np.full((n, n_features, n_outputs), np.nan)
        for i in self.levels[0].rows:
            bias[i], out[i] = start, start
        passages = self.passages() if self.rows_leave else None
        for number, level in enumerate(self.levels[:layer]):
            for i, (own_bias, own) in zip(level.rows, level.mean_held_out(), strict=True):
                if self.kind == "margin":
                    share = self.model.shares_[number]
                    bias[i] = (1 - share) * bias[i] + share * own_bias
                    out[i] = (1 - share) * out[i] + share * own.T
                elif self.rows_leave:
                    bias[i], out[i] = own_bias - passages[number][0], (own + passages[number][1]).T
                else:
                    bias[i], out[i] = own_bias, own.T
        return bias, out

    def explain(self, X):
        """For each layer bias, contributions and vectors' mean of new rows, before rounding is made up for."""
        model = self.model
        given = self._bins(X)
        n, n_outputs = X.shape[0], self.Y.shape[1]
        bias, out = np.zeros(n_outputs), np.zeros((n, self.n_features, n_outputs))
        prediction = np.zeros((n, n_outputs))
        rows, vectors, summed = list(range(n)), None, None
        passages = self.passages() if self.rows_leave else None
        for number, (layer, level) in enumerate(zip(self.layers, self.levels, strict=True)):
            if self.kind == "hard":
                if number:
                    rows = [i for i in rows if not is_easy(self.layers[number - 1], given, i)]
                given = self._bins(X, number)
            if self.kind == "screening" and number:
                stay = [j for j, i in enumerate(rows) if prediction[i].max() < model.thresholds_[number - 1]]
                rows, vectors = [rows[j] for j in stay], [vectors[j] for j in stay]
            bins = given[:, rows]
            if number and level.before is not None and rows:
                values = np.array([np.concatenate(of_row) for of_row in (summed or vectors)])
                values = values.astype(np.float32) if self.is_classifier else values
                bins = np.vstack([bins[: level.before.n_given], layer.added_mapper.transform(values).columns])
            said = [
                [
                    explain_by(grown, level.bins, level.Y, self.n_features, level.before, bins, range(len(rows)))
                    for grown in models
                ]
                for models in level.forests
            ]
            vectors = []
            for j, i in enumerate(rows):
                of_forests = [sum(model[j][2] for model in models) / len(models) for models in said]
                unrounded = layer is None or self.kind == "hard"
                vectors.append([v if unrounded else self._rounded(v, layer) for v in of_forests])
                own = sum(sum(model[j][1] for model in models) / (len(models) * len(said)) for models in said).T
                if self.kind == "margin":
                    share = model.shares_[number]
                    out[i] = (1 - share) * out[i] + share * own
                else:
                    out[i] = own + (passages[number][1].T if passages else 0.0)
                    mean = sum(np.asarray(v, np.float64) for v in vectors[-1]) / len(vectors[-1])
                    prediction[i] = mean / mean.sum() if self.is_classifier and layer is not None else mean
            if self.kind == "margin":
                share = model.shares_[number]
                if number == 0:
                    summed = [[np.zeros(n_outputs)] * len(of_row) for of_row in vectors]
                summed = [
                    [(1 - share) * s + share * v.astype(np.float64) for s, v in zip(of_row, new, strict=True)]
                    for of_row, new in zip(summed, vectors, strict=True)
                ]
                prediction = np.array([mean_vector(of_row) for of_row in summed])
                bias = (1 - share) * bias + share * level.bias()
            else:
                bias = level.bias() - (passages[number][0] if passages else 0.0)
            yield bias.copy(), made_up(bias, out, prediction), prediction.copy()


def is_easy(iteration, bins, i):
    """DDBF: whether enough trees send a row to a leaf above their thresholds (Eqs. 1 and 3), or their mean is above."""
    if not iteration.is_valid:
        return False
    trees, excess = iteration.forest.trees, []
    for t in range(trees.n_trees):
        if iteration.votes[t]:
            leaf = leaf_of(trees.tree(t), bins, i)
            excess.append(float(iteration.leaf_score[trees.offsets[t] + leaf]) - float(iteration.threshold[t]))
    if iteration.vote == "score":
        return sum(excess) > 0
    return sum(e > 0 for e in excess) >= iteration.n_needed


def features_behind(model):
    """hiDF: features on which Eq. 3 of each interaction depends, by the slope of each term."""
    n, found = model.n_features_in_, []
    for one in model.interactions_:
        slopes = {}
        for condition, weight in zip(one.conditions, one.weights, strict=True):
            term = (condition.column, condition.codes)
            slopes[term] = slopes.get(term, 0) + condition.sign * weight
        columns = [column for (column, _), slope in slopes.items() if slope != 0] or [c for c, _ in slopes]
        found.append(sorted(set().union(*([c] if c < n else found[c - n] for c in columns))))
    return tuple(found)


def interaction_values(model, X):
    """hiDF: new features of each row (Eq. 3), condition by condition."""
    n, lines = model.n_features_in_, []
    for row in np.asarray(X).tolist():
        columns = list(row)
        for one in model.interactions_:
            total = 0.0
            for condition, weight in zip(one.conditions, one.weights, strict=True):
                x = columns[condition.column]
                if condition.codes is not None:
                    x = x if np.isnan(x) else float(x in condition.codes)
                total += condition.sign * weight * (x - condition.threshold)
            columns.append(total if np.isnan(total) else max(0.0, total))
        lines.append(columns[n:])
    return np.array(lines)


@dataclass
class _Alone:
    """A public forest under the names of a layer's models."""

    trees: object
    offset: float
    scale: float
    seeds: np.ndarray
    n_draws: int


def equal_shares(handed_on):
    """Equal shares of the features that any forest used for any row."""
    n_features = handed_on[0][0].shape[1]
    used = [any(row[:, k].any() for forest in handed_on for row in forest) for k in range(n_features)]
    used = used if any(used) else [True] * n_features
    return [u / sum(used) for u in used]


def made_up(bias, contributions, prediction):
    """What rounding of vectors took from the prediction, shared by absolute values (as Eq. 24 does)."""
    out = contributions.copy()
    for i in range(len(out)):
        for c in range(out.shape[2]):
            own = contributions[i, :, c]
            missing = prediction[i, c] - bias[c] - sum(own)
            absolute = sum(abs(own))
            shares = abs(own) / absolute if absolute else np.full(len(own), 1 / len(own))
            out[i, :, c] = own + shares * missing
    return out


def impurity(Y, weights):
    """Eq. 8 summed over outputs: variance, or Gini for indicators."""
    mean = weighted_mean(Y, weights)
    return sum(weighted_mean([(row - mean) ** 2 for row in Y], weights))


def impurity_decreases(grown, bins, Y, n_columns):
    """Eqs. 6 and 9: impurity decreases of all columns, from the definition, each tree on the rows that it drew."""
    total = np.zeros(n_columns)
    n_trees = grown.forest.trees.n_trees
    for t in range(n_trees):
        view, weights = grown.forest.trees.tree(t), grown.tree_weights(t, Y)

        def weighted_impurity(rows, weights=weights):
            of_rows = [weights[i] for i in rows]
            return sum(of_rows) * impurity([Y[i] for i in rows], of_rows)

        waiting = [(0, list(weights))]
        while waiting:
            node, rows = waiting.pop()
            if view.children_left[node] < 0:
                continue
            left = [i for i in rows if goes_left(view, node, bins, i)]
            right = [i for i in rows if not goes_left(view, node, bins, i)]
            decrease = weighted_impurity(rows) - weighted_impurity(left) - weighted_impurity(right)
            total[view.feature[node]] += decrease / sum(weights.values()) / n_trees
            waiting += [(view.children_left[node], left), (view.children_right[node], right)]
    return total


def out_of_bag_importances(grown, bins, Y, weights, n_features):
    """MDI-oob (Li et al. 2019): each tree's contributions times responses, over the rows that it did not draw."""
    of_trees = []
    for t in range(grown.forest.trees.n_trees):
        view, drawn = grown.forest.trees.tree(t), grown.tree_weights(t, Y)
        # A row without weight is in no bag, but has no say either.
        rows = [i for i in range(len(Y)) if i not in drawn and weights[i] > 0]
        if not rows:
            continue
        bias, leaves = contributions_of_leaves(grown, t, bins, Y, n_features, None, exact=True)
        terms = [(leaves[leaf_of(view, bins, i)] * (Y[i] - bias)[:, None]).sum(axis=0) for i in rows]
        of_trees.append(weighted_mean(terms, [weights[i] for i in rows]))
    return sum(of_trees) / len(of_trees)


def in_bag_importances(level, n_features):
    """Eq. 10 on each tree's own rows with their counts, splits on added columns traced back (Algorithm 1)."""
    of_models = []
    for models in level.forests:
        for grown in models:
            n_trees = grown.forest.trees.n_trees
            total = np.zeros(n_features)
            for t in range(n_trees):
                weights = grown.tree_weights(t, level.Y)
                view = grown.forest.trees.tree(t)
                _, leaves = contributions_of_leaves(
                    grown, t, level.bins, level.Y, n_features, level.before, exact=True
                )  # fmt: skip
                terms = [(leaves[leaf_of(view, level.bins, i)] * level.Y[i][:, None]).sum(axis=0) for i in weights]
                total += weighted_mean(terms, list(weights.values())) / n_trees
            of_models.append(total / (len(models) * len(level.forests)))
    return sum(of_models)
