"""Cost of importances with the training before: sums and ratios by hand, picture, what a regression check allows."""

import csv
import io
import json

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table, write_table

NAME, WINE, DIGITS = "interp-fig7", "wine+irrelevant", "digits+irrelevant"
COLUMNS = {
    "mdi_df": {"model": "gcforest", "label": "MDI(DF)"},
    "mda_df": {"model": "gcforest", "label": "MDA(DF)"},
}
#: CPU seconds of two repeats: training, MDI, MDA. Both together: 4 and 8 with MDI, 20 and 28 with MDA.
SECONDS = {"fit": [3.0, 6.0], "mdi_df": [1.0, 2.0], "mda_df": [17.0, 22.0]}
RATIO = "fit_and_importance_cpu_seconds_ratio"


def declare(suite, datasets=(WINE,), **changes):
    return suite.experiment(
        NAME,
        **{
            "kind": "figure",
            "render": "importance_cost",
            "title": "Running time of MDI and MDA",
            "metrics": ["fit_cpu_seconds"],
            "columns": {"gcforest": "gcforest_8"},
            "labels": {"gcforest": "deep forest"},
            "libraries": {"gcforest": []},
            "extras": ["mda_df", "mdi_df"],
            "datasets": list(datasets),
            "options": {"columns": COLUMNS},
        }
        | changes,
    )


def run(suite, dataset=WINE, seconds=SECONDS):
    suite.summary(dataset)
    suite.run(dataset, "gcforest_8", [{"fit_cpu_seconds": value, "accuracy": 0.9} for value in seconds["fit"]])
    path = suite.folder / "runs" / dataset / "gcforest_8.json"
    content = json.loads(path.read_text())
    folder = suite.root / "results" / "cells"
    (folder / "ab").mkdir(parents=True, exist_ok=True)
    for cell in content["cells"]:
        cell["extras"] = {}
        for extra in COLUMNS:
            cell["extras"][extra] = f"ab/{dataset}-{cell['repeat']}.{extra}.npz"
            cost = seconds[extra][cell["repeat"]]
            np.savez(folder / cell["extras"][extra], importances=np.arange(26.0), cpu_seconds=np.array(cost))
    path.write_text(json.dumps(content))


def ran(suite, **changes):
    declare(suite, **changes)
    run(suite)
    return suite


def table(suite):
    return make_table(NAME, read_results(suite.root, suite.name))


def rows_of(made):
    return {row.key[1:]: row for row in made.rows}


def test_the_whole_cost_is_training_and_importances(suite):
    rows = rows_of(table(ran(suite)))
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
    made = table(ran(suite))
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


def test_titles_leave_out_what_the_caption_says(suite):
    made = table(ran(suite))
    picture = made.figure.draw()
    assert picture.subfigs[0].axes[0].get_title() == "wine"
    assert "Titles leave out +irrelevant: each data set has permuted copies" in made.figure.caption


def test_no_grid_line_runs_through_a_ratio(suite):
    axes = table(ran(suite)).figure.draw().subfigs[0].axes[0]
    (ratio,) = axes.texts
    assert ratio.get_text() == "4.00 : 1"
    assert ratio.get_bbox_patch().get_facecolor() == (1, 1, 1, 1)


def test_one_repeat_has_no_range_and_no_whisker(suite):
    declare(suite, repeats={WINE: 1})
    run(suite, seconds={name: values[:1] for name, values in SECONDS.items()})
    made = table(suite)
    assert made.view.rows[0].cells[-1].text == "5.00"
    assert "Whiskers" not in made.figure.caption


def test_the_picture_stacks_importances_on_training_and_prints_the_ratio(suite):
    made = table(ran(suite))
    (axes,) = made.figure.draw().subfigs[0].axes
    bars = sorted((patch.get_x(), patch.get_y(), patch.get_height()) for patch in axes.patches)
    assert [bar[1:] for bar in bars] == [(0, 4.5), (4.5, 1.5), (0, 4.5), (4.5, 19.5)]
    assert [text.get_text() for text in axes.texts] == ["4.00 : 1"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["MDI(DF)", "MDA(DF)"]
    assert axes.get_title() == "wine"
    assert (
        "wine+irrelevant: 6.00 CPU s with MDI(DF); 24.0 CPU s with MDA(DF); MDA(DF) : MDI(DF) = 4.00."
        in made.figure.alt
    )


def test_the_figures_file_has_the_numbers(suite):
    made = table(ran(suite))
    drawn = {row["metric"] for row in csv.DictReader(io.StringIO(made.figure.csv().decode()))}
    assert drawn == {"fit_cpu_seconds", "importance_cpu_seconds", "fit_and_importance_cpu_seconds", RATIO}
    assert set(made.figure.files()) == {".svg", ".png", ".csv"}


def test_a_data_set_that_did_not_run_has_a_panel_of_words(suite):
    declare(suite, datasets=(WINE, DIGITS))
    run(suite)
    suite.fail(DIGITS, "gcforest_8", "MemoryError", "no room")
    made = table(suite)
    panels = made.figure.draw().subfigs[0].axes
    assert [text.get_text().replace("\n", " ") for text in panels[1].texts] == ["failed: MemoryError: no room"]
    assert [cell.text for cell in made.view.rows[1].cells] == ["failed: MemoryError: no room"] * 6
    assert "digits+irrelevant: failed: MemoryError: no room." in made.figure.caption


def test_small_costs_are_called_noise_and_large_ones_are_not(suite):
    assert "mostly noise" not in " ".join(table(ran(suite)).view.notes)
    run(suite, seconds={"fit": [0.02, 0.02], "mdi_df": [0.01, 0.01], "mda_df": [1.0, 1.0]})
    assert "Ratios of costs below 0.1 CPU s are mostly noise" in " ".join(table(suite).view.notes)


def test_an_extra_that_is_not_saved_is_named(suite):
    ran(suite, extras=["mdi_df"])
    with pytest.raises(ConfigError, match=r"interp-fig7/options/columns/mda_df needs the extra 'mda_df'"):
        table(suite)


def test_arrays_that_are_gone_are_named(suite):
    ran(suite)
    (suite.root / "results" / "cells" / f"ab/{WINE}-1.mda_df.npz").unlink()
    with pytest.raises(UserError, match=r"wine\+irrelevant-1\.mda_df\.npz: no such file"):
        table(suite)


# Regression check.


def draw(suite):
    results = read_results(suite.root, suite.name)
    write_table(NAME, make_table(NAME, results).files(), suite.folder / "tables")
    write_figure(NAME, make_figure(NAME, results).files(), suite.folder / "figures")


def drifts(suite):
    draw(suite)
    return [(finding.cell, finding.column) for finding in check(suite.root, suite.name).findings if finding.is_drift]


@pytest.fixture
def stored(suite):
    """Figure and table, stored."""
    ran(suite)
    draw(suite)
    accept(suite.root, suite.name, "first numbers")
    return suite


def test_a_slower_machine_is_no_drift_even_in_an_exact_suite(stored):
    """All seconds doubled, one repeat a little more."""
    run(stored, seconds={"fit": [6.0, 12.5], "mdi_df": [2.0, 4.1], "mda_df": [34.0, 44.0]})
    assert drifts(stored) == []


def test_an_importance_that_grew_beside_the_other_is_a_drift(stored):
    """MDA cost 13 times MDI; now 130 times."""
    run(stored, seconds=SECONDS | {"mda_df": [170.0, 220.0]})
    cells = {cell for cell, _ in drifts(stored)}
    assert cells == {
        f"{WINE} / mda_df / importance_cpu_seconds",
        f"{WINE} / mda_df / fit_and_importance_cpu_seconds",
    }
