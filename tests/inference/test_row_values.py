"""What test rows add to metrics: their mean is the metric, they are its derivative, and intervals of them hold."""

import numpy as np
import pytest

from cascadeforest.experiments.metrics import score
from cascadeforest.inference.intervals import given_test_set, pooled_rows
from cascadeforest.inference.row_values import areas, log_losses, placements, row_values, stored_losses

#: Metrics of classifiers, and of how many classes each is tried.
CASES = [
    ("accuracy", 2),
    ("accuracy", 3),
    ("balanced_accuracy", 2),
    ("balanced_accuracy", 3),
    ("log_loss", 3),
    ("roc_auc", 2),
    ("roc_auc", 3),
    ("rmse", 0),
]
FEWEST, MOST = 0.93, 0.97


def kept(truth, outputs, n_classes, metric=""):
    """What the store keeps of predictions, in full precision; only what a metric needs, if one is named."""
    if not n_classes:
        return {"residual": outputs - truth}
    predicted = outputs.argmax(axis=1)
    rows = {"predicted": predicted, "right": predicted == truth, "class": truth}
    if metric in ("", "log_loss"):
        rows["loss"] = log_losses(outputs, truth)
    if metric in ("", "roc_auc"):
        two = n_classes == 2
        rows |= {"placed": placements(outputs[:, 1], truth == 1)} if two else {"area": areas(outputs, truth)}
    return rows


def metric_of(rows, metric, n_classes):
    """The metric, from what is kept: quicker than `score`, with which the first test compares it."""
    if metric == "rmse":
        return np.sqrt((rows["residual"] ** 2).mean())
    if metric == "accuracy":
        return rows["right"].mean()
    if metric == "balanced_accuracy":
        return np.mean([rows["right"][rows["class"] == code].mean() for code in range(n_classes)])
    if metric == "log_loss":
        return rows["loss"].mean()
    positive = rows["class"] == 1
    return rows["placed"][positive].mean() / (2 * (~positive).sum())


def drawn(generator, n_rows, n_classes, n_models=1, n_seeds=1, noise=1.0):
    """Truth, and outputs of models that are equally good, by model and seed: what differs is drawn alike for each."""
    if not n_classes:
        truth = generator.normal(0, 1, n_rows)
        errors = generator.normal(0, noise, (n_models, 1, n_rows)) * (1 + generator.random(n_rows))
        return truth, truth + errors + generator.normal(0, 0.5, (n_models, n_seeds, n_rows))
    weights = np.array([0.6, 0.4] if n_classes == 2 else [0.5, 0.3, 0.2])
    truth = generator.permutation(np.repeat(np.arange(n_classes), np.rint(weights * n_rows).astype(int)))
    shape = (n_models, n_seeds, len(truth), n_classes)
    # A part that stays with each seed, one that does not, and one of each seed that all rows share.
    logits = 1.5 * (truth[:, None] == np.arange(n_classes)) + generator.normal(0, noise, (*shape[:1], 1, *shape[2:]))
    logits = logits + generator.normal(0, 0.5, shape) + generator.normal(0, 0.1, (n_models, n_seeds, 1, n_classes))
    exps = np.exp(logits)
    return truth, exps / exps.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("metric", "n_classes"), CASES)
def test_the_mean_is_the_metric_and_each_value_its_derivative(metric, n_classes):
    """The metric of rows that are drawn again, one of them a little more often, by repeating all rows many times."""
    truth, outputs = drawn(np.random.default_rng(0), 40, n_classes)
    outputs = outputs[0, 0]
    outputs = outputs if n_classes else outputs.astype(float)

    def measured(rows):
        both = {"predicted": outputs[rows]} if not n_classes else {"probabilities": outputs[rows]}
        both |= {"predicted": outputs[rows].argmax(axis=1)} if n_classes else {}
        return score(both, truth[rows], n_classes or None).metrics[metric]

    value = measured(np.arange(len(truth)))
    found, _ = row_values(kept(truth, outputs, n_classes), metric, value)
    assert found.mean() == pytest.approx(value)
    many = np.tile(np.arange(len(truth)), 300)
    for row in range(6):
        changed = measured(np.append(many, row))
        assert len(many) * (changed - value) == pytest.approx(found[row] - value, abs=3e-3 * abs(value) + 2e-3)


def test_areas_are_those_of_the_placements_for_two_classes():
    """Of two classes, both areas against the rest are the same one."""
    truth, outputs = drawn(np.random.default_rng(1), 50, 2)
    rows, outputs = kept(truth, outputs[0, 0], 2), outputs[0, 0]
    value = metric_of(rows, "roc_auc", 2)
    assert areas(outputs, truth) + value == pytest.approx(row_values(rows, "roc_auc", value)[0])


def test_a_class_without_test_rows_has_no_curve_and_no_recall():
    truth, outputs = drawn(np.random.default_rng(2), 30, 2)
    outputs = np.column_stack([outputs[0, 0], np.zeros(30)])
    rows = kept(truth, outputs, 3)
    scores = score({"predicted": outputs.argmax(axis=1), "probabilities": outputs}, truth, 3).metrics
    for metric in ("roc_auc", "balanced_accuracy"):
        found, _ = row_values(rows, metric, scores[metric])
        assert np.isfinite(found).all()
        assert found.mean() == pytest.approx(scores[metric])


def test_what_was_not_kept_gives_no_values():
    truth, outputs = drawn(np.random.default_rng(3), 30, 3)
    rows = kept(truth, outputs[0, 0], 3)
    assert row_values(rows, "ece", 0.1) is None
    for metric, needs in (
        ("balanced_accuracy", "class"),
        ("log_loss", "loss"),
        ("roc_auc", "area"),
        ("accuracy", "right"),
    ):
        assert row_values({name: own for name, own in rows.items() if name != needs}, metric, 0.5) is None


def values_of(generator, metric, n_classes, n_rows, n_seeds):
    """Differences of two equally good models on each test row with each seed, and the classes if they are weighed."""
    truth, outputs = drawn(generator, n_rows, n_classes, 2, n_seeds)

    def found(one):
        rows = kept(truth, one, n_classes, metric)
        is_mean = metric == "roc_auc" and n_classes > 2
        return row_values(rows, metric, area_of(one, truth) if is_mean else metric_of(rows, metric, n_classes))

    own, other = ([found(one) for one in model] for model in outputs)
    return np.column_stack([a - b for (a, _), (b, _) in zip(own, other, strict=True)]), own[0][1]


def area_of(outputs, truth):
    """The mean of the areas of each class against the rest, from ranks."""
    positive = truth[:, None] == np.arange(outputs.shape[1])
    ranks = outputs.argsort(axis=0).argsort(axis=0) + 1
    n = positive.sum(axis=0)
    return np.mean(((ranks * positive).sum(axis=0) - n * (n + 1) / 2) / (n * (len(truth) - n)))


@pytest.mark.parametrize("n_seeds", [1, 4])
@pytest.mark.parametrize(("metric", "n_classes"), CASES)
def test_intervals_over_rows_hold_the_difference_of_each_metric(metric, n_classes, n_seeds):
    generator, n = np.random.default_rng(4), 600
    found = (given_test_set(*values_of(generator, metric, n_classes, 120, n_seeds)) for _ in range(n))
    # With several seeds the variance is the largest of three estimates: a little wide on purpose.
    assert FEWEST <= np.mean([one.low <= 0 <= one.high for one in found]) <= MOST + 0.01 * (n_seeds > 1)


@pytest.mark.parametrize(("metric", "n_classes"), CASES)
def test_intervals_over_rows_of_five_folds_hold_the_difference_of_each_metric(metric, n_classes):
    generator, found = np.random.default_rng(0), []
    for _ in range(500):
        folds = [values_of(generator, metric, n_classes, 30, 1)[0][:, 0] for _ in range(5)]
        one = pooled_rows(np.arange(150), np.concatenate(folds))
        found.append(one.low <= 0 <= one.high)
    assert FEWEST <= np.mean(found) <= MOST


def test_losses_are_stored_to_less_than_a_hundredth_and_do_not_drift():
    losses = np.random.default_rng(0).exponential(size=10_000)
    stored = stored_losses(losses).astype(float)
    assert np.all(np.abs(stored - losses) <= 0.0083 * losses)
    assert stored.mean() == pytest.approx(losses.mean(), rel=3e-4)
    assert stored_losses(np.array([0.0, 36.04])).tolist() == [0.0, 36.0]
