"""Agreement of contributions by layer: means over repeats, in the columns and panels that name them."""

import numpy as np
import pytest
from tests.reports.conftest import curves, texts

NAME = "interp-quality"
#: Three repeats, two of them with a second layer. Each number says what it is: repeat, layer, then the column.
REPEATS = [2, 2, 1]
COLUMNS = {"true": 4, "shapley": 3}


def declare(suite, **changes):
    given = {"kind": "figure", "datasets": ["sincos"], "repeats": 3, "extras": ["attribution_quality"], "metrics": []}
    suite.figure(NAME, "attribution_quality", {"deep_forest": "deep forest"}, "preset", **given | changes)
    suite.summary("sincos", task="regression")


def number(repeat, layer, column, base):
    return base + 0.1 * repeat + 0.02 * layer + 0.003 * column


def run(suite):
    suite.run("sincos", "preset", [0.5] * 3, metric="rmse")
    for repeat, n_layers in enumerate(REPEATS):
        bases = {f"{name}_{m}": b for name in COLUMNS for m, b in (("r2", 0.1), ("correlation", 0.2), ("top", 0.3))}
        arrays = {
            name: np.array(
                [[number(repeat, k, c, base) for c in range(COLUMNS[name.split("_")[0]])] for k in range(n_layers)]
            )
            for name, base in bases.items()
        }
        arrays["rmse"] = np.array([number(repeat, k, 0, 5.0) for k in range(n_layers)])
        arrays["known_by_prediction"] = np.array([[number(repeat, k, c, 0.5) for c in (0, 1)] for k in range(n_layers)])
        suite.extra("sincos", "preset", "attribution_quality", repeat, **arrays)


def test_each_number_is_the_mean_over_the_repeats_with_the_layer(shown):
    rows = {row.key[2:]: row for row in shown.table(NAME).rows}
    first, second = rows["layer 1, additive against true", "r2"], rows["layer 2, additive against true", "r2"]
    assert (first.mean, first.std, first.n) == (pytest.approx(0.203), pytest.approx(0.1), 3)
    assert (second.mean, second.n) == (pytest.approx(0.173), 2)
    assert rows["layer 1", "rmse"].mean == pytest.approx(5.1)
    assert rows["layer 1, Shapley values against true", "top"].mean == pytest.approx(0.409)
    assert rows["layer 1, multiplicative against Shapley values", "correlation"].mean == pytest.approx(0.306)
    assert rows["layer 2, true", "known_by_prediction"].mean == pytest.approx(0.573)
    assert len(rows) == 2 * (1 + 3 * (4 + 3) + 2)


def test_table_and_picture_show_what_their_heads_say(shown):
    table = shown.table(NAME)
    assert table.view.heads[:3] == (
        "RMSE (unit of the target)",
        "R², partial against true",
        "R², additive against true",
    )
    assert table.view.heads[4:6] == ("R², Shapley values against true", "R², partial against Shapley values")
    assert table.view.heads[8:] == (
        "top feature right (%), partial against true",
        "top feature right (%), Shapley values against true",
        "known by the prediction (%), partial",
        "known by the prediction (%), true",
    )
    line = table.view.rows[0]
    assert (line.labels, line.size) == (("sincos", "1"), "3")
    means = [text.partition(" ±")[0] for text in texts(line)]
    assert means[:9] == ["5.100", "0.200", "0.203", "0.206", "0.209", "0.200", "0.203", "0.206", "40.00"]
    assert means[9:] == ["40.90", "60.00", "60.30"]
    error, true, shapley = table.figure.draw().axes
    assert curves(error) == {"test error": [pytest.approx(5.1), pytest.approx(5.07)]}
    assert list(curves(true)) == ["partial", "additive", "multiplicative", "Shapley values"]
    assert curves(true)["Shapley values"] == pytest.approx([0.209, 0.179])
    assert (true.get_title(), shapley.get_title()) == ("against true", "against Shapley values")
    assert curves(shapley)["partial"] == pytest.approx([0.2, 0.17])
    assert "for 32 test rows against 64 training rows" in shown.notes(NAME)
