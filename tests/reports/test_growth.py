"""What models grew and chose: the folded table, its tidy rows, and the sentences that notes say of it."""

import numpy as np
import pytest

from cascadeforest.experiments.fitting import Growth
from cascadeforest.reports.store.redraw import redraw_stored

NAME = "hidf-table2"
LABELS = {"hidf": "hiDF", "ddbf": "DDBF", "random_forest": "RF"}
TITLE = "What the models grew and chose"


def declare(suite, **changes):
    row = {"labels": LABELS, "datasets": ["wine"], "repeats": 3}
    suite.experiment(NAME, **row | changes)
    suite.summary("wine")


def run(suite):
    """Write results: hiDF keeps 0, 2 and 0 layers of three; DDBF finds rows easy; RF does neither."""
    suite.run("wine", "random_forest", [0.9, 0.9, 0.9])
    curves = {"new_interactions": (1.0, 2.0, 0.0)}
    suite.run("wine", "hidf", [0.9, 0.9, 0.9], curves=curves, chosen={"gamma": 0.7, "architecture": [5]})
    result = suite.read_run("wine", "hidf")
    for cell, kept in zip(result.cells, (0, 2, 0), strict=True):
        object.__setattr__(cell, "growth", Growth(kept, 3, False))
    suite.write_run(result)
    suite.run("wine", "ddbf", [0.9, 0.9, 0.9], curves={"rows": (100.0, 75.0), "easy_rows": (25.0, 5.0)})
    for repeat in range(3):
        easy = {"easy_train": np.array(25), "easy_test": np.array(10)}
        suite.extra("wine", "ddbf", "decided_rows", repeat, train=np.array([25, 75]), test=np.array([5, 45]), **easy)
    return suite


@pytest.fixture
def grown(suite):
    declare(suite)
    return run(suite)


def view(suite):
    return next(below for below in suite.table(NAME).view.folded if below.title.startswith(TITLE))


def test_a_table_says_what_each_model_grew_and_chose(grown):
    shown = view(grown)
    lines = {
        row.labels[1]: dict(zip(shown.heads, (cell.text for cell in row.cells), strict=True)) for row in shown.rows
    }
    assert list(lines) == ["hiDF", "DDBF"]
    assert lines["hiDF"]["layers kept"] == "0 (2), 2 (1)"
    assert lines["hiDF"]["layers grown"] == "3"
    # Of the layers that were kept: no interaction twice, and one of layer 1 with two of layer 2.
    assert lines["hiDF"]["interactions kept"] == "1.0 (0 to 3)"
    assert lines["hiDF"]["most in one layer"] == "0.7 (0 to 2)"
    assert (lines["hiDF"]["gamma"], lines["DDBF"]["gamma"]) == ("0.7", "–")
    assert lines["DDBF"]["decided before the last layer, training (%)"] == "25.00"
    assert lines["DDBF"]["decided before the last layer, test (%)"] == "10.00"
    assert lines["DDBF"]["easy in the first iteration, training (%)"] == "25.00"
    assert lines["DDBF"]["easy in the first iteration, test (%)"] == "20.00"


def test_what_another_table_asked_for_is_stored_with_a_table_that_shows_it(grown):
    """The accepted table was then drawn without the arrays that its rows about easy test rows come from."""
    assert "decided_rows" not in grown.planned(NAME).extras
    before = grown.table(NAME).files()
    grown.stored()
    assert {file.name.split(".")[1] for file in grown.root.glob("reports/*/extras/*/*")} == {"decided_rows"}
    assert redraw_stored(grown.root, grown.name).differences == ()
    assert "decided before the last layer, test" in before[".md"]


def test_its_numbers_are_tidy_rows_apart_from_metrics_of_the_table(grown):
    rows = {row.key: row for row in grown.table(NAME).rows}
    assert rows["wine", "hidf", "growth", "n_layers"].mean == pytest.approx(2 / 3)
    assert rows["wine", "ddbf", "growth", "early_share_test"].mean == pytest.approx(0.1)
    assert ("wine", "random_forest", "growth", "n_layers") not in rows


def test_fits_without_any_layer_are_counted(grown):
    assert "hiDF keeps no layer in 2 of 3 fits" in grown.notes(NAME)
    assert "RF keeps" not in grown.notes(NAME)


def test_the_layers_that_find_interactions_in_any_repeat_are_named(grown):
    only = "wine, hiDF: of 3 layers, new interactions are found in layers 1, 2 only."
    assert only in grown.notes(NAME)
    result = grown.read_run("wine", "hidf")
    for curve in (0.0, 5.0, 3.0), (0.0, 5.0):  # each layer finds some in a repeat; repeats of unequal layers
        object.__setattr__(result.cells[1], "curves", {"new_interactions": curve})
        grown.write_run(result)
        assert "new interactions are found in" not in grown.notes(NAME)
    declare(grown, repeats=1)
    run(grown)
    assert only in grown.notes(NAME)


def test_iterations_that_find_hardly_any_row_easy_are_said_to_be_one_forest(grown):
    assert "hardly more than one random forest" not in grown.notes(NAME)
    result = grown.read_run("wine", "ddbf")
    for k, cell in enumerate(result.cells):
        object.__setattr__(cell, "curves", {"rows": (1000.0,), "easy_rows": (3.0 * k,)})
    grown.write_run(result)
    assert "DDBF on wine: the first iteration finds fewer than 1 % of the training rows easy" in grown.notes(NAME)


def test_a_model_that_searches_for_no_interactions_needs_no_such_sentence(grown):
    declare(grown, repeats=1)
    run(grown)
    result = grown.read_run("wine", "hidf")
    for cell in result.cells:
        object.__setattr__(cell, "params", {"n_bootstraps": 0})
    grown.write_run(result)
    assert "new interactions" not in grown.notes(NAME)
    assert "keeps no layer" not in grown.notes(NAME)


def test_a_control_is_compared_with_its_own_model_only(suite):
    declare(suite, references=["random_forest", "ddbf"], options={"controls": {"hidf": "ddbf"}})
    run(suite)
    pairs = {key[1:3] for key in (row.key for row in suite.table(NAME).rows) if "against" in key[2]}
    assert pairs == {("ddbf", "against random_forest"), ("hidf", "against ddbf"), ("random_forest", "against ddbf")}
    declare(suite, options={"controls": {"hidff": "ddbf"}})
    suite.refuses(NAME, "options/controls has 'hidff'")


@pytest.mark.parametrize("name", ["smoke", "standard"])
def test_the_least_forests_of_smoke_are_said_to_compare_nothing(suite, tmp_path, name):
    other = type(suite)(tmp_path / name, name)
    declare(other, bounds={"random_forest": {"wine": {"n_estimators": {"here": 5, "unbounded": 20}}}})
    run(other)
    assert "RF n_estimators 5 of 20" in other.notes(NAME)
    assert ("compare nothing" in other.notes(NAME)) == (name == "smoke")


def test_tables_without_cascades_have_no_such_table(suite):
    assert not [below for below in suite.complete().table(NAME).view.folded if below.title.startswith(TITLE)]
