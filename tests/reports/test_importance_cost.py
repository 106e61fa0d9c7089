"""Cost of importances with the training before: sums and ratios by hand, picture, what a regression check allows."""

import numpy as np
import pytest
from tests.reports.conftest import texts

NAME, WINE, DIGITS = "interp-fig7", "wine+irrelevant", "digits+irrelevant"
COLUMNS = {"mdi_df": {"model": "gcforest", "label": "MDI(DF)"}, "mda_df": {"model": "gcforest", "label": "MDA(DF)"}}
#: CPU seconds of two repeats: training, MDI, MDA. Both together: 4 and 8 with MDI, 20 and 28 with MDA.
SECONDS = {"fit": [3.0, 6.0], "mdi_df": [1.0, 2.0], "mda_df": [17.0, 22.0]}
RATIO, SHARE = "fit_and_importance_cpu_seconds_ratio", "importance_cpu_seconds_ratio"


def declare(suite, datasets=(WINE,), **changes):
    given = {"metrics": ["fit_cpu_seconds"], "options": {"columns": COLUMNS}, "extras": ["mda_df", "mdi_df"]} | changes
    labels = {"gcforest": "deep forest"}
    suite.experiment(NAME, render="importance_cost", labels=labels, datasets=list(datasets), **given)


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


def test_the_whole_cost_is_training_and_importances_in_table_and_picture(suite):
    made = ran(suite).table(NAME)
    rows = {row.key[1:]: row for row in made.rows}
    means = {key: row.mean for key, row in rows.items() if key[2] not in (RATIO, SHARE)}
    assert means == {
        ("gcforest", "", "fit_cpu_seconds"): 4.5,
        ("mdi_df", "", "importance_cpu_seconds"): 1.5,
        ("mdi_df", "", "fit_and_importance_cpu_seconds"): 6.0,
        ("mda_df", "", "importance_cpu_seconds"): 19.5,
        ("mda_df", "", "fit_and_importance_cpu_seconds"): 24.0,
    }
    assert rows["mda_df", "", "fit_and_importance_cpu_seconds"].std == pytest.approx(np.std([20, 28], ddof=1))
    # The median of the ratios of single repeats, 20 / 4 and 28 / 8, and not 24 / 6.
    ratios = {key[1]: row.mean for key, row in rows.items() if key[2] == RATIO}
    assert ratios == {
        "against mdi_df": 4.25,
        "against mdi_df, smallest of the repeats": 3.5,
        "against mdi_df, largest of the repeats": 5.0,
    }
    (line,) = made.view.rows
    # Importances divided by training: 1 / 3 and 2 / 6; 17 / 3 and 22 / 6.
    shares = {key[:2]: row.mean for key, row in rows.items() if key[2] == SHARE and "repeats" not in key[1]}
    assert shares == {
        ("mdi_df", "against training"): pytest.approx(1 / 3),
        ("mda_df", "against training"): pytest.approx((17 / 3 + 22 / 6) / 2),
    }
    assert "MDI(DF) costs 33 % of the training time. MDA(DF) costs 467 % of the training time." in made.figure.caption
    assert [cell.text for cell in line.cells[-3:]] == [
        "0.333 (0.333 to 0.333)",
        "4.67 (3.67 to 5.67)",
        "4.25 (3.50 to 5.00)",
    ]
    assert made.view.heads[-1] == "MDA(DF) : MDI(DF)"
    assert line.size == "2 × 100 × 26"
    (axes,) = made.figure.draw().subfigs[0].axes
    bars = sorted((patch.get_x(), patch.get_y(), patch.get_height()) for patch in axes.patches)
    assert [bar[1:] for bar in bars] == [(0, 4.5), (4.5, 1.5), (0, 4.5), (4.5, 19.5)]
    (ratio,) = axes.texts
    assert ratio.get_text() == "4.25 : 1"
    assert ratio.get_path_effects()  # no grid line runs through it
    assert [label.get_text() for label in axes.get_xticklabels()] == ["MDI(DF)", "MDA(DF)"]
    assert axes.get_title() == "wine"
    assert "Titles leave out +irrelevant" in made.figure.caption
    drawn = {row.metric for row in made.figure.rows}
    assert drawn == {"fit_cpu_seconds", "importance_cpu_seconds", "fit_and_importance_cpu_seconds", RATIO, SHARE}


def test_a_data_set_that_did_not_run_has_a_panel_of_words(suite):
    declare(suite, datasets=(WINE, DIGITS))
    run(suite)
    suite.fail(DIGITS, "gcforest")
    made = suite.table(NAME)
    panels = made.figure.draw().subfigs[0].axes
    assert [text.get_text().replace("\n", " ") for text in panels[1].texts] == ["failed: MemoryError: no room"]
    assert texts(made.view.rows[1]) == ["failed: MemoryError: no room"] * 8


def test_small_costs_are_called_noise_and_one_repeat_has_no_range_and_no_whisker(suite):
    declare(suite)
    run(suite, seconds={"fit": [0.02, 0.02], "mdi_df": [0.01, 0.01], "mda_df": [1.0, 1.0]})
    assert "Ratios of costs below 0.1 CPU s are mostly noise" in suite.notes(NAME)
    declare(suite, repeats=1)
    run(suite, seconds={name: values[:1] for name, values in SECONDS.items()})
    made = suite.table(NAME)
    assert made.view.rows[0].cells[-1].text == "5.00"


def test_a_slower_machine_is_no_drift_and_an_importance_that_grew_beside_the_other_is_one(suite):
    """All seconds doubled, one repeat a little more; then MDA, which cost 13 times MDI, costs 130 times."""
    stored = ran(suite).stored()
    run(stored, seconds={"fit": [6.0, 12.5], "mdi_df": [2.0, 4.1], "mda_df": [34.0, 44.0]})
    assert stored.drifts() == set()
    run(stored, seconds=SECONDS | {"mda_df": [170.0, 220.0]})
    cells = {cell for cell, _ in stored.drifts()}
    assert cells == {f"{WINE} / mda_df / {one}importance_cpu_seconds" for one in ("", "fit_and_")}
