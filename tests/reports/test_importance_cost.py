"""Cost of importances with the training before: sums and ratios by hand, picture, what a regression check allows."""

import csv
import io

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError

NAME, WINE, DIGITS = "interp-fig7", "wine+irrelevant", "digits+irrelevant"
COLUMNS = {
    "mdi_df": {"model": "gcforest", "label": "MDI(DF)"},
    "mda_df": {"model": "gcforest", "label": "MDA(DF)"},
}
#: CPU seconds of two repeats: training, MDI, MDA. Both together: 4 and 8 with MDI, 20 and 28 with MDA.
SECONDS = {"fit": [3.0, 6.0], "mdi_df": [1.0, 2.0], "mda_df": [17.0, 22.0]}
RATIO = "fit_and_importance_cpu_seconds_ratio"


def declare(suite, datasets=(WINE,), **changes):
    suite.experiment(
        NAME,
        kind="figure",
        render="importance_cost",
        title="Running time of MDI and MDA",
        metrics=["fit_cpu_seconds"],
        labels={"gcforest": "deep forest"},
        datasets=list(datasets),
        options={"columns": COLUMNS},
        **{"extras": ["mda_df", "mdi_df"]} | changes,
    )


def run(suite, seconds=SECONDS):
    suite.summary(WINE)
    suite.run(WINE, "gcforest", [{"fit_cpu_seconds": value, "accuracy": 0.9} for value in seconds["fit"]])
    for extra in COLUMNS:
        for repeat, cost in enumerate(seconds[extra]):
            arrays = {"importances": np.arange(26.0), "cpu_seconds": np.array(cost)}
            suite.extra(WINE, "gcforest", extra, repeat, **arrays)


def ran(suite, **changes):
    declare(suite, **changes)
    run(suite)
    return suite


def rows_of(made):
    return {row.key[1:]: row for row in made.rows}


def test_the_whole_cost_is_training_and_importances(suite):
    rows = rows_of(ran(suite).table(NAME))
    means = {key: row.mean for key, row in rows.items() if key[2] != RATIO}
    assert means == {
        ("gcforest", "", "fit_cpu_seconds"): 4.5,
        ("mdi_df", "", "importance_cpu_seconds"): 1.5,
        ("mdi_df", "", "fit_and_importance_cpu_seconds"): 6.0,
        ("mda_df", "", "importance_cpu_seconds"): 19.5,
        ("mda_df", "", "fit_and_importance_cpu_seconds"): 24.0,
    }
    assert rows["mda_df", "", "fit_and_importance_cpu_seconds"].std == pytest.approx(np.std([20, 28], ddof=1))


def test_the_ratio_is_that_of_the_means_with_those_of_the_repeats(suite):
    """24 / 6; in single repeats 20 / 4 and 28 / 8."""
    made = ran(suite).table(NAME)
    ratios = {key[1]: row.mean for key, row in rows_of(made).items() if key[2] == RATIO}
    assert ratios == {
        "against mdi_df": 4.0,
        "against mdi_df, smallest of the repeats": 3.5,
        "against mdi_df, largest of the repeats": 5.0,
    }
    (line,) = made.view.rows
    assert [cell.text for cell in line.cells][-1] == "4.00 (3.50 to 5.00)"
    assert made.view.heads[-1] == "MDA(DF) : MDI(DF)"
    assert line.size == "2 × 100 × 26"


def test_one_repeat_has_no_range_and_no_whisker(suite):
    declare(suite, repeats={WINE: 1})
    run(suite, seconds={name: values[:1] for name, values in SECONDS.items()})
    made = suite.table(NAME)
    assert made.view.rows[0].cells[-1].text == "5.00"
    assert "Whiskers" not in made.figure.caption


def test_the_picture_stacks_importances_on_training_and_prints_the_ratio(suite):
    made = ran(suite).table(NAME)
    (axes,) = made.figure.draw().subfigs[0].axes
    bars = sorted((patch.get_x(), patch.get_y(), patch.get_height()) for patch in axes.patches)
    assert [bar[1:] for bar in bars] == [(0, 4.5), (4.5, 1.5), (0, 4.5), (4.5, 19.5)]
    (ratio,) = axes.texts
    assert ratio.get_text() == "4.00 : 1"
    assert ratio.get_path_effects()  # no grid line runs through it
    assert [label.get_text() for label in axes.get_xticklabels()] == ["MDI(DF)", "MDA(DF)"]
    assert axes.get_title() == "wine"
    assert "Titles leave out +irrelevant" in made.figure.caption
    assert made.figure.files() == suite.table(NAME).figure.files()


def test_the_figures_file_has_the_numbers(suite):
    made = ran(suite).table(NAME)
    drawn = {row["metric"] for row in csv.DictReader(io.StringIO(made.figure.csv().decode()))}
    assert drawn == {"fit_cpu_seconds", "importance_cpu_seconds", "fit_and_importance_cpu_seconds", RATIO}
    assert set(made.figure.files()) == {".svg", ".png", ".csv"}


def test_a_data_set_that_did_not_run_has_a_panel_of_words(suite):
    declare(suite, datasets=(WINE, DIGITS))
    run(suite)
    suite.fail(DIGITS, "gcforest", "MemoryError", "no room")
    made = suite.table(NAME)
    panels = made.figure.draw().subfigs[0].axes
    assert [text.get_text().replace("\n", " ") for text in panels[1].texts] == ["failed: MemoryError: no room"]
    assert [cell.text for cell in made.view.rows[1].cells] == ["failed: MemoryError: no room"] * 6


def test_small_costs_are_called_noise_and_large_ones_are_not(suite):
    assert "mostly noise" not in " ".join(ran(suite).table(NAME).view.notes)
    run(suite, seconds={"fit": [0.02, 0.02], "mdi_df": [0.01, 0.01], "mda_df": [1.0, 1.0]})
    assert "Ratios of costs below 0.1 CPU s are mostly noise" in " ".join(suite.table(NAME).view.notes)


def test_an_extra_that_is_not_saved_is_named(suite):
    ran(suite, extras=["mdi_df"])
    with pytest.raises(ConfigError, match=r"interp-fig7/options/columns/mda_df needs the extra 'mda_df'"):
        suite.table(NAME)


def test_arrays_that_are_gone_are_named(suite):
    ran(suite)
    (suite.root / "results" / "cells" / f"ab/{WINE}-gcforest-1.mda_df.npz").unlink()
    with pytest.raises(UserError, match=r"wine\+irrelevant-gcforest-1\.mda_df\.npz: it cannot be read"):
        suite.table(NAME)


@pytest.fixture
def stored(suite):
    """Figure and table, stored."""
    return ran(suite).stored()


def test_a_slower_machine_is_no_drift_even_in_an_exact_suite(stored):
    """All seconds doubled, one repeat a little more."""
    run(stored, seconds={"fit": [6.0, 12.5], "mdi_df": [2.0, 4.1], "mda_df": [34.0, 44.0]})
    assert stored.drifts() == set()


def test_an_importance_that_grew_beside_the_other_is_a_drift(stored):
    """MDA cost 13 times MDI; now 130 times."""
    run(stored, seconds=SECONDS | {"mda_df": [170.0, 220.0]})
    cells = {cell for cell, _ in stored.drifts()}
    assert cells == {
        f"{WINE} / mda_df / importance_cpu_seconds",
        f"{WINE} / mda_df / fit_and_importance_cpu_seconds",
    }
