"""The naive twin of the cascades: loops over folds, forests and levels, and a matrix of its own for each set of rows.

What it shares with the code under test are single forests (`grow_forest`, which has a twin of its own) and their seeds'
addresses. There are no index lists here, and no memory that layers share.
"""

from dataclasses import dataclass

import numpy as np

from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.layer import _ALL_ROWS, _FOLDS, _MODEL
from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.growth import grow_forest, tree_seeds
from cascadeforest.forest.seeds import seed_at


def entropy_of(random_state):
    """The number that a cascade draws from ``random_state=<int>``."""
    return int(np.random.RandomState(random_state).randint(np.iinfo(np.int32).max))


def of_rows(binned, rows):
    """A matrix that has these rows only."""
    return binned._replace(columns=np.ascontiguousarray(binned.columns[:, rows]))


def goes_left(trees, view, node, b):
    """Whether a row of bin b goes left at a split."""
    if view.set_row[node] >= 0:
        return bool(int(trees.sets[view.set_row[node], 1 + b // 64]) >> (b % 64) & 1)
    return bool(view.missing_go_to_left[node]) if b == 255 else bool(b <= view.cut[node])


def add_columns(binned, vectors, mapper, *, fit=False):
    """The matrix, and behind it the vectors of the layer before."""
    flat = vectors.reshape(len(vectors), -1)
    return BinnedMatrix.stack([binned, mapper.fit_transform(flat) if fit else mapper.transform(flat)])


def grow(member, binned, y, n_classes, seed, weights=None, bootstrap=None):
    """One forest."""
    n_features, n_rows = binned.columns.shape
    bootstrap = member.bootstrap if bootstrap is None else bootstrap
    return grow_forest(
        binned,
        y,
        n_classes=n_classes,
        rules=member.growth_rules(n_rows, n_features),
        seeds=tree_seeds(seed, member.n_estimators),
        weights=weights,
        bootstrap=bootstrap,
        max_samples=member.draws_of_bootstrap(n_rows) if bootstrap else None,
    )


def values(grown, binned):
    """What a forest says of each row."""
    return grown.offset + grown.scale * grown.trees.predict(BinnedMatrix(binned.columns, None))


def mean(vectors, are_shares=True):
    """Mean over forests; class vectors with sum 1, one after the other."""
    means = [np.mean(np.asarray(of_row, np.float64), axis=0) for of_row in vectors]
    return np.array([m / m.sum() if are_shares and len(m) > 1 else m for m in means])


@dataclass
class Layer:
    """For each forest the models whose mean is its vector."""

    forests: list
    n_classes: int
    dtype: str = "float32"

    def vectors(self, binned):
        """Vectors of new rows, shape (n, n_forests, n_outputs)."""
        means = [sum(values(grown, binned) for grown in models) / len(models) for models in self.forests]
        return stored(np.stack(means, axis=1), self.dtype, self.n_classes)


def stored(vectors, dtype, n_classes):
    """Vectors in the precision that layers hand on."""
    return vectors.astype(dtype).astype(np.float32 if n_classes else np.float64)


def fit_layer(members, binned, y, n_classes, entropy, level, *, weights=None, **rules):
    """A layer, and the vectors of its training rows."""
    n_folds, dtype = rules.get("n_folds", 3), rules.get("dtype", "float32")
    how = rules.get("class_vectors", "k_fold")
    own = np.full((len(y), len(members), n_classes or y.reshape(len(y), -1).shape[1]), np.nan)
    forests = []
    for k, member in enumerate(members):
        if how == "oob":
            grown = grow(member, binned, y, n_classes, seed_at(entropy, level, k, _MODEL, _ALL_ROWS), weights, True)
            own[:, k] = out_of_bag(grown, binned, y, n_classes, weights)
            forests.append([grown])
            continue
        strata = y if n_classes else np.zeros(len(y), int)
        fold = stratified_folds(strata, n_folds, seed_at(entropy, level, k, _FOLDS))
        models = []
        for i in np.unique(fold):
            learn, held_out = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
            seed = seed_at(entropy, level, k, _MODEL, int(i))
            some = None if weights is None else weights[learn]
            models.append(grow(member, of_rows(binned, learn), y[learn], n_classes, seed, some))
            own[held_out, k] = values(models[-1], of_rows(binned, held_out))
        if how == "k_fold_refit":
            models = [grow(member, binned, y, n_classes, seed_at(entropy, level, k, _MODEL, _ALL_ROWS), weights)]
        forests.append(models)
    return Layer(forests, n_classes, dtype), stored(own, dtype, n_classes)


def out_of_bag(grown, binned, y, n_classes, weights=None):
    """Row by row the mean over the trees that did not draw it; what y alone says if there is none."""
    weights = np.ones(len(y)) if weights is None else weights
    targets = np.eye(n_classes)[y] if n_classes else y.reshape(len(y), -1)
    by_tree = [grown.trees.predict(binned, trees=[t]) for t in range(grown.trees.n_trees)]
    drawn = [grown.in_bag_counts(t) for t in range(grown.trees.n_trees)]
    own = np.empty(targets.shape)
    for i in range(len(y)):
        spoken = [value[i] for value, counts in zip(by_tree, drawn, strict=True) if counts[i] == 0]
        if spoken:
            own[i] = grown.offset + grown.scale * (sum(spoken) / len(spoken))
        else:
            own[i] = (weights[:, None] * targets).sum(axis=0) / weights.sum()
    return own


@dataclass
class Cascade:
    """Layers one after the other; `mappers` bin what each but the first sees behind the features."""

    mapper: BinMapper
    layers: list
    mappers: list

    def staged(self, X):
        """Mean of the forests, layer by layer."""
        binned = self.mapper.transform(X)
        for level, layer in enumerate(self.layers):
            seen = add_columns(binned, vectors, self.mappers[level]) if level else binned  # noqa: F821
            vectors = layer.vectors(seen)
            yield mean(vectors, layer.n_classes > 0)


def grow_cascade(members, X, y, n_classes, entropy, n_layers, *, weights=None, **rules):
    """So many layers, and for each the mean of the training rows' vectors."""
    mapper = BinMapper()
    binned = mapper.fit_transform(X, weights)
    seen, layers, mappers, out_of_fold = binned, [], [None], []
    for level in range(n_layers):
        layer, vectors = fit_layer(members, seen, y, n_classes, entropy, level, weights=weights, **rules)
        layers.append(layer)
        out_of_fold.append(mean(vectors, n_classes > 0))
        mappers.append(BinMapper())
        seen = add_columns(binned, vectors, mappers[-1], fit=True)
    return Cascade(mapper, layers, mappers[:-1]), out_of_fold
