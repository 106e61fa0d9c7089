"""Differences of two models: the interval follows from the design, and only equal test rows are paired."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.reports.conftest import ROOT

from cascadeforest.data.registry import load_dataset_files
from cascadeforest.experiments.designs import design_of
from cascadeforest.experiments.resolve import load_plan
from cascadeforest.inference.intervals import equal_rows, given_test_set, most_by_chance, pooled_rows, sign_flips
from cascadeforest.inference.row_values import placements
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import difference
from cascadeforest.reports.numbers.frame import read_csv
from cascadeforest.reports.numbers.results import read_results

N_ROWS = 60


@pytest.mark.parametrize(
    ("variant", "design"),
    [
        ("adult", "given"),
        ("adult+rows-10000", "given"),
        ("yeast", "given"),  # one random split, published
        ("arrhythmia", "folds"),
        ("digits", "splits"),
        ("skin_thinned", "splits"),
        ("wine+train-0.5+irrelevant", "splits"),
        ("cpusmall+irrelevant", "draws"),  # a tenth
        ("phishing", "draws"),  # 829 of 11,055 rows
        ("pendigits+train-0.1+irrelevant", "draws"),
        ("linear_sum+train-0.1", "draws"),
        ("sincos", "given"),  # made once
    ],
)
def test_the_design_follows_from_the_protocol_of_a_data_set_and_its_operations(variant, design):
    datasets = load_dataset_files(ROOT / "config" / "datasets")
    assert design_of(variant, datasets[variant.partition("+")[0]]) == design


def test_a_training_draw_is_small_up_to_a_fifth_of_the_rows_and_made_data_are_made():
    protocol = {"kind": "holdout", "test_size": 0.3, "seed": "per_repeat", "repeats": 3}
    assert design_of("own+train-0.2", {"protocol": protocol}) == "draws"
    assert design_of("own+train-0.3", {"protocol": protocol}) == "splits"
    assert design_of("own", {"protocol": protocol | {"train_size": 100}}) == "splits"
    assert design_of("own", {"protocol": protocol | {"train_size": 100}, "expected": {"rows": 500}}) == "draws"
    assert design_of("own", {"protocol": {"kind": "made", "repeats": 20}}) == "made"
    given = {"protocol": {"kind": "given", "repeats": 10}}
    variants = {"own": "given", "own+smooth-1+rest-0.1+irrelevant": "draws", "own+rest-0.5": "given"}
    assert {variant: design_of(variant, given) for variant in variants} == variants


def rows_of(generator, n_repeats, same_rows=True, task="classification"):
    """Arrays of the store for two models; in repeat r rows 100 r to 100 r + 59 are tested, or the same in all."""
    arrays = {"split": np.zeros(n_repeats, np.int16) if same_rows else np.arange(n_repeats, dtype=np.int16)}
    for split in set(arrays["split"].tolist()):
        arrays[f"test_rows/{split}"] = np.packbits(np.arange(30 * split + N_ROWS) >= 30 * split)
    truth = np.arange(N_ROWS) % 2
    for model in ("random_forest", "gbdt"):
        own = truth + generator.normal(0, 0.6, N_ROWS)
        for repeat in range(n_repeats):
            scores = own + generator.normal(0, 0.2, N_ROWS)
            predicted = (scores > 0.5).astype(np.uint8)
            one = {"predicted": predicted, "right": np.packbits(predicted == truth)}
            one["placed"] = placements(scores, truth == 1)
            if task == "regression":
                one = {"residual": generator.normal(0, 1, N_ROWS).astype(np.float32)}
            arrays |= {f"{model}/{repeat}/{name}": values for name, values in one.items()}
    return arrays


def cells_of(suite, arrays, metric="accuracy", n_repeats=3, splits=None, **changes):
    """Cells of two models with these predictions."""
    suite.experiment(metrics=[metric], datasets=["adult"], repeats=n_repeats, **changes)
    suite.summary("adult")
    truth = np.arange(N_ROWS) % 2
    for model in ("random_forest", "gbdt"):
        values = []
        for repeat in range(n_repeats):
            one = {name: arrays.get(f"{model}/{repeat}/{name}") for name in ("right", "placed", "residual")}
            if metric == "accuracy":
                values.append(float(np.unpackbits(one["right"], count=N_ROWS).mean()))
            elif metric == "roc_auc":
                values.append(float(one["placed"][truth == 1].sum() / 2 / 30**2))
            else:
                values.append(float(np.sqrt((one["residual"].astype(float) ** 2).mean())))
        suite.run("adult", model, values, metric=metric, splits=splits, n_test=N_ROWS)
    results = replace(read_results(suite.root, suite.name), row_source=lambda *_: arrays)
    return Cells(results.experiments["hidf-table2"], results)


def right(arrays, repeat, model):
    return np.unpackbits(arrays[f"{model}/{repeat}/right"], count=N_ROWS).astype(float)


def leads(arrays, n_repeats=3):
    return [right(arrays, k, "random_forest") - right(arrays, k, "gbdt") for k in range(n_repeats)]


def found_of(cells, metric="accuracy", **changes):
    return difference(cells, "adult", "random_forest", "gbdt", metric, **changes)


def test_a_given_test_set_pairs_rows_and_seeds(suite):
    arrays = rows_of(np.random.default_rng(0), 3)
    found = found_of(cells_of(suite, arrays, designs={"adult": "given"}))
    expected = given_test_set(np.column_stack(leads(arrays)))
    assert (found.row.low, found.row.high) == (expected.low, expected.high)
    assert found.row.smallest == expected.detectable
    assert found.row.mean == pytest.approx(expected.value)
    assert found.row.note.startswith("test rows and 3 seeds; variance: rows ")
    # The region is 0.3 points where nothing is published, which 60 rows can never show.
    assert found.rows_needed > 10_000
    one = found_of(cells_of(suite, arrays, designs={"adult": "given"}, n_repeats=1))
    assert one.why == "test rows, this fit"
    assert one.row.high == given_test_set(leads(arrays, 1)[0][:, None]).high


def test_areas_and_errors_of_a_regression_have_intervals_of_rows_and_seeds(suite):
    arrays = rows_of(np.random.default_rng(1), 3)
    found = found_of(cells_of(suite, arrays, "roc_auc", designs={"adult": "given"}), "roc_auc")
    placed = np.array([arrays[f"random_forest/{k}/placed"] / 60 - arrays[f"gbdt/{k}/placed"] / 60 for k in range(3)])
    # As many rows of both classes: twice the placement minus the area adds up to the area.
    expected = given_test_set(2 * placed.T - placed.mean(axis=1), np.arange(N_ROWS) % 2)
    assert (found.row.low, found.row.high) == pytest.approx((expected.low, expected.high))
    arrays = rows_of(np.random.default_rng(2), 3, task="regression")
    found = found_of(cells_of(suite, arrays, "rmse", designs={"adult": "given"}), "rmse")
    assert found.interval.value == pytest.approx(found.row.mean, abs=1e-9)
    # The delta method, by a step towards each row.
    residual = arrays["random_forest/0/residual"].astype(float)
    step = 1e-6
    weights = np.full((N_ROWS, N_ROWS), (1 - step) / N_ROWS) + step * np.eye(N_ROWS)
    influence = (np.sqrt(weights @ residual**2) - np.sqrt((residual**2).mean())) / step
    one = found_of(cells_of(suite, arrays, "rmse", designs={"adult": "given"}, n_repeats=1), "rmse")
    other = arrays["gbdt/0/residual"].astype(float)
    influence -= (np.sqrt(weights @ other**2) - np.sqrt((other**2).mean())) / step
    assert one.interval.error == pytest.approx(influence.std(ddof=1) / N_ROWS**0.5, rel=1e-4)


def test_splits_are_decided_by_nadeau_and_bengio_and_rows_speak_for_these_training_sets(suite):
    arrays = rows_of(np.random.default_rng(3), 3, same_rows=False)
    seeds = [1, 2, 3]
    found = found_of(cells_of(suite, arrays, designs={"adult": "splits"}, splits=seeds))
    means = [lead.mean() for lead in leads(arrays)]
    half = stats.t.ppf(0.975, 2) * np.std(means, ddof=1) * (1 / 3 + N_ROWS / 100) ** 0.5
    assert found.row.high - found.row.mean == pytest.approx(half)
    assert found.why == "3 splits"
    # The forest is right wherever GBDT is, and on more rows in each split by another number.
    for k in range(3):
        worse = np.arange(N_ROWS) >= 4 * (k + 1)
        arrays[f"random_forest/{k}/right"], arrays[f"gbdt/{k}/right"] = (
            np.packbits(np.ones(N_ROWS, bool)),
            np.packbits(worse),
        )
    found = found_of(cells_of(suite, arrays, designs={"adult": "splits"}, splits=seeds))
    assert found.row.low < 0
    rows = np.concatenate([np.arange(N_ROWS) + 30 * k for k in range(3)])
    assert pooled_rows(rows, np.concatenate(leads(arrays))).low > 0
    assert found.only_here
    pooled = pooled_rows(rows, np.concatenate(leads(arrays)))
    assert (found.row.here_low, found.row.here_high) == (pooled.low, pooled.high)
    assert found.row.note == "3 splits; on these training sets only"
    one = found_of(cells_of(suite, arrays, designs={"adult": "folds"}, n_repeats=1, splits=[42]))
    assert one.why == "test rows, on this training set only"
    assert one.row.low > 0
    assert (one.only_here, one.row.mark, one.row.here_low) == (True, "undecided", None)


@pytest.mark.parametrize("design", ["given", "folds"])
def test_a_model_with_fewer_repeats_is_compared_over_those_of_both_and_one_decides_nothing(suite, design):
    same = design == "given"
    arrays = rows_of(np.random.default_rng(5), 3, same_rows=same)
    given = {"designs": {"adult": design}, "splits": [1, 2, 3] if design == "folds" else None}
    two = found_of(cells_of(suite, arrays, fewer_repeats={"adult": {"gbdt": 2}}, **given))
    assert (two.row.n, two.row.mean) == (2, pytest.approx(np.mean([lead.mean() for lead in leads(arrays, 2)])))
    assert two.why == ("test rows and 2 seeds" if same else "2 folds")
    assert two.row.low is not None
    # Also where they are equal on every row.
    arrays |= {f"gbdt/0/{name}": arrays[f"random_forest/0/{name}"] for name in ("predicted", "right", "placed")}
    one = found_of(cells_of(suite, arrays, fewer_repeats={"adult": {"gbdt": 1}}, **given))
    assert (one.row.n, one.row.mean, one.row.low, one.row.mark) == (1, 0.0, None, "")
    assert one.why == "one repeat of several"


def test_folds_count_each_and_repeats_of_a_split_together(suite):
    arrays = rows_of(np.random.default_rng(4), 3, same_rows=False)
    for design, seeds, words in (("folds", [42] * 3, "3 folds"), ("splits", [1, 1, 2], "2 splits")):
        found = found_of(cells_of(suite, arrays, designs={"adult": design}, splits=seeds))
        assert found.why == words


def test_small_training_draws_are_decided_by_the_wider_of_repeats_and_rows(suite):
    for seed in range(4):
        arrays = rows_of(np.random.default_rng(seed), 8)
        found = found_of(cells_of(suite, arrays, designs={"adult": "draws"}, n_repeats=8))
        flips = sign_flips([lead.mean() for lead in leads(arrays, 8)])
        rows = given_test_set(np.column_stack(leads(arrays, 8)))
        wide = max((flips, rows), key=lambda one: one.high - one.low)
        assert (found.row.low, found.row.high) == (pytest.approx(wide.low), pytest.approx(wide.high))
        assert found.why == ("8 training draws" if wide is flips else "test rows, wider than 8 training draws")


@pytest.mark.parametrize(("n", "least"), [(5, None), (6, -0.05), (6, 0)])
def test_equal_differences_of_small_draws_decide_as_the_flips_of_their_signs_do(suite, n, least):
    """The exact test gives five equal differences p = 2 / 2^5 > .05 whatever their size, and six 2 / 2^6 < .05."""
    suite.experiment(metrics=["accuracy"], datasets=["adult"], repeats=n, designs={"adult": "draws"})
    for model, score in (("random_forest", 0.8), ("gbdt", 0.8 if least == 0 else 0.85)):
        suite.run("adult", model, [score] * n)
    row = found_of(Cells((results := read_results(suite.root, suite.name)).experiments["hidf-table2"], results)).row
    if least == 0:
        assert (row.low, row.mark) == (None, "")
        assert "all repeats have the same difference, so that their spread says nothing" in row.note
    else:
        assert (row.low, row.high) == (least and pytest.approx(least),) * 2
        assert row.mark == ("lose" if least else "undecided")


def test_equal_differences_of_small_draws_vary_by_their_test_rows(suite):
    arrays = rows_of(np.random.default_rng(0), 1)
    for name in ("random_forest", "gbdt"):
        arrays |= {f"{name}/{k}/right": arrays[f"{name}/0/right"] for k in range(8)}
    arrays["split"] = np.zeros(8, np.int16)
    found = found_of(cells_of(suite, arrays, designs={"adult": "draws"}, n_repeats=8))
    rows = given_test_set(np.column_stack(leads(arrays, 8)))
    assert found.row.mean != 0
    assert (found.row.low, found.row.high) == (pytest.approx(rows.low), pytest.approx(rows.high))
    assert found.why == "test rows, wider than 8 training draws"
    swapped = np.packbits(np.roll(np.unpackbits(arrays["gbdt/0/right"], count=N_ROWS), 1))
    for k in range(8):
        arrays |= {f"gbdt/{k}/right": arrays["gbdt/0/right"], f"random_forest/{k}/right": swapped}
    found = found_of(cells_of(suite, arrays, designs={"adult": "draws"}, n_repeats=8))
    rows = given_test_set(np.column_stack(leads(arrays, 8)))
    assert (found.row.mean, found.row.high) == (0, pytest.approx(rows.high))
    assert found.why.startswith("test rows; all repeats have the same difference")


def test_only_cells_of_equal_test_rows_data_and_splits_are_paired(suite):
    arrays = rows_of(np.random.default_rng(5), 3)
    cells = cells_of(suite, arrays, designs={"adult": "given"})
    rows = dict(cells.results.rows("adult"))
    rows["gbdt", 1] = rows["gbdt", 1] | {"test_rows": rows["gbdt", 1]["test_rows"] + 1}
    cells.results._rows["adult"] = rows
    found = found_of(cells)
    assert (found.interval, found.row.note) == (None, "no interval: the two models were tested on other rows")
    suite.run("adult", "gbdt", [0.5] * 3, data_digest="0ther", n_test=N_ROWS)
    results = replace(read_results(suite.root, suite.name), row_source=lambda *_: arrays)
    found = found_of(Cells(results.experiments["hidf-table2"], results))
    assert found.row.note == "no interval: the two models were tested on other rows"


def test_what_is_not_known_is_said_and_no_interval_is_made_up(suite):
    arrays = rows_of(np.random.default_rng(6), 3)
    cells = cells_of(suite, arrays, designs={"adult": "given"})
    without = replace(cells.results, row_source=lambda *_: {})
    found = found_of(Cells(cells.experiment, without))
    assert (found.row.low, found.row.note) == (None, "no interval: no predictions of single test rows were kept")
    assert found.row.mark == ""
    cells.results.rows("adult")["gbdt", 0].pop("right")
    assert "what a row adds to accuracy was not kept" in found_of(cells).row.note


@pytest.mark.parametrize(("design", "n_rows"), [("given", 60), ("splits", 120)])  # of splits that overlap
def test_models_that_are_equal_on_a_few_rows_are_not_yet_equivalent(suite, design, n_rows):
    arrays = rows_of(np.random.default_rng(6), 3, same_rows=design == "given")
    for name in [name for name in arrays if name.startswith("random_forest")]:
        arrays[name.replace("random_forest", "gbdt")] = arrays[name]
    found = found_of(cells_of(suite, arrays, designs={"adult": design}, splits=[1, 2, 3]))
    most = equal_rows(n_rows).high
    assert (found.row.low, found.row.high, found.row.mark) == (-most, most, "undecided")
    assert found.why == "equal on every test row"


def test_a_mean_over_variants_averages_rows_before_seeds(suite):
    """Two variants with the same test rows: per row, seed and variant, the mean over variants comes first."""
    arrays = {name: rows_of(np.random.default_rng(seed), 3) for seed, name in enumerate(("adult", "wine"))}
    suite.experiment(metrics=["accuracy"], datasets=list(arrays), repeats=3, designs=dict.fromkeys(arrays, "given"))
    for name, own in arrays.items():
        suite.summary(name)
        for model in ("random_forest", "gbdt"):
            suite.run(name, model, [float(right(own, k, model).mean()) for k in range(3)], n_test=N_ROWS)
    results = replace(read_results(suite.root, suite.name), row_source=lambda _, name: arrays[name])
    cells = Cells(results.experiments["hidf-table2"], results)
    found = difference(cells, list(arrays), "random_forest", "gbdt", "accuracy")
    expected = given_test_set(np.column_stack(np.mean([leads(own) for own in arrays.values()], axis=0)))
    assert (found.row.mean, found.row.low) == (pytest.approx(expected.value), pytest.approx(expected.low))
    assert found.why == "test rows and 3 seeds"
    arrays["wine"]["test_rows/0"] = np.packbits(np.arange(N_ROWS + 1) > 0)
    results = replace(results, row_source=lambda _, name: arrays[name])
    assert difference(cells, list(arrays), "random_forest", "gbdt", "ece").row.mean is None
    found = difference(Cells(cells.experiment, results), list(arrays), "random_forest", "gbdt", "accuracy")
    assert found.interval is None


def test_the_plan_says_the_design_of_every_row():
    for one in load_plan(ROOT, {"suite": "standard"}).experiments.values():
        assert one.designs.keys() == set(one.datasets)


@pytest.mark.parametrize("table", sorted((ROOT / "reports").glob("*/tables/self-check.csv")), ids=lambda t: t.parts[-3])
def test_accepted_models_differ_from_themselves_no_more_than_by_chance(table):
    rows = [row for row in read_csv(table) if row["low"]]
    excluding = sum(float(row["low"]) > 0 or float(row["high"]) < 0 for row in rows)
    assert rows
    assert excluding <= most_by_chance(len(rows))
