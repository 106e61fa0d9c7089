"""Numbers per layer: what picture, table and caption say of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, tuples
from scipy.stats import spearmanr

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing.renderers.layer_curves import rank_correlation
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers.results import read_results

SCORES, RATIOS = "layer_scores", "margin_ratios"
#: Four layers grown, the best out of fold is the second; three kept.
TRAIN_SCORES, TEST_SCORES = [0.8, 0.9, 0.9, 0.85], [0.7, 0.75, 0.8]
TRAIN_RATIOS, TEST_RATIOS = [0.6, 0.4, 0.5, 0.55], [0.9, 0.8, 0.7]


def declare(suite, datasets=("digits",), **changes):
    suite.experiment(
        "mddf-fig2a",
        kind="figure",
        render="layer_curves",
        title="Accuracy and margin ratio per layer",
        datasets=list(datasets),
        **(
            {
                "columns": {"mddf": "mddf_20"},
                "labels": {"mddf": "mdDF"},
                "libraries": {"mddf": []},
                "extras": [SCORES, RATIOS],
                "repeats": dict.fromkeys(datasets, 1),
                "options": {"curves": ["accuracy", "margin_ratio"], "paper_datasets": ["har"]},
            }
            | changes
        ),
    )


def run(
    suite, dataset="digits", model="mddf_20", scores=(TRAIN_SCORES, TEST_SCORES), ratios=(TRAIN_RATIOS, TEST_RATIOS)
):
    suite.summary(dataset)
    suite.run(dataset, model, [{"accuracy": scores[1][-1], "n_layers": len(scores[1])}], n_train=70, n_test=30)
    suite.extra(dataset, model, SCORES, **dict(zip(("train", "test"), map(np.array, scores), strict=True)))
    suite.extra(dataset, model, RATIOS, **dict(zip(("train", "test"), map(np.array, ratios), strict=True)))


def test_factors_of_all_layers_are_in_the_csv_and_in_a_note(suite):
    declare(suite, extras=[SCORES, RATIOS, "factors"])
    run(suite)
    suite.extra(
        "digits", "mddf_20", "factors", alphas=np.array([1.0, 3.0, 0.0, 4.0]), shares=np.array([1, 0.75, 0, 0.5])
    )
    table = table_of(suite)
    found = {row.key[2:]: row.mean for row in table.rows if row.metric in ("factor", "factor_share")}
    assert found["layer 2", "factor"] == 3.0
    assert found["layer 2", "factor_share"] == 0.75
    assert len(found) == 8
    (note,) = [note for note in table.view.notes if "factors alpha" in note]
    assert note.startswith("digits: factors alpha of the layers")
    assert note.endswith(": 1 (100 %), 3 (75 %), 0 (0 %), 4 (50 %).")
    assert len({len(row.cells) for row in table.view.rows} | {len(table.view.heads)}) == 1


def test_without_the_extra_factors_are_not_named(shown):
    assert not any("alpha" in note for note in table_of(shown).view.notes)


@pytest.fixture
def shown(suite):
    declare(suite)
    run(suite)
    return suite


def table_of(suite):
    return make_table("mddf-fig2a", read_results(suite.root, suite.name))


def panels(table):
    return [axes for part in table.figure.draw().subfigs for axes in part.axes]


def lines(axes):
    """Lines of the panel by their name in the legend."""
    handles, labels = axes.get_legend_handles_labels()
    return {label: getattr(handle, "lines", [handle])[0] for handle, label in zip(handles, labels, strict=True)}


def drawn(axes):
    return {label: np.asarray(line.get_ydata(), float).tolist() for label, line in lines(axes).items()}


TRAIN, TEST = "training rows, out of fold", "test rows"
BEST, END = "best layer out of fold", "layer that the cascade ends with"


def test_each_curve_has_a_panel_with_both_parts(shown):
    accuracy, ratio = panels(table_of(shown))
    assert drawn(accuracy)[TRAIN] == pytest.approx([80, 90, 90, 85])
    assert drawn(accuracy)[TEST] == pytest.approx([70, 75, 80])
    assert drawn(ratio)[TRAIN] == TRAIN_RATIOS
    assert drawn(ratio)[TEST] == TEST_RATIOS
    assert (accuracy.get_ylabel(), ratio.get_ylabel()) == ("accuracy (%)", "margin ratio (std / mean)")
    assert accuracy.get_xlabel() == ratio.get_xlabel() == "layer"


def test_the_best_layer_has_a_ring_and_the_last_kept_one_a_line(shown):
    accuracy, ratio = panels(table_of(shown))
    ring = lines(accuracy)[BEST]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (2, pytest.approx(90))  # the first of equals
    assert BEST not in drawn(ratio)
    for axes in (accuracy, ratio):
        assert list(lines(axes)[END].get_xdata()) == [3, 3]


def test_without_dropped_layers_there_is_no_such_line(suite):
    declare(suite)
    run(suite, scores=(TRAIN_SCORES, [*TEST_SCORES, 0.8]), ratios=(TRAIN_RATIOS, [*TEST_RATIOS, 0.6]))
    assert END not in drawn(panels(table_of(suite))[0])


def test_the_table_has_the_ends_of_the_curves(shown):
    view = table_of(shown).view
    assert view.label_heads == ("data set", "rows")
    assert view.heads[:2] == ("accuracy (%), layer 1", "accuracy (%), last layer kept")
    train, test = view.rows
    # Ranks of 0.8, 0.9, 0.9, 0.85 and of 0.6, 0.4, 0.5, 0.55, less their means: -1.5, 1, 1, -0.5 and 1.5, -1.5, -0.5,
    # 0.5. The sum of their products is -4.5, those of the squares are 4.5 and 5.
    assert [cell.text for cell in train.cells] == ["80.00", "90.00", "0.6000", "0.5000", "−0.95", "4", "2"]
    assert [cell.text for cell in test.cells] == ["70.00", "80.00", "0.9000", "0.7000", "−1.00", "3", "3"]
    assert (train.labels, train.size, test.labels, test.size) == (("digits", TRAIN), "70", ("digits", TEST), "30")


def test_the_tidy_rows_name_part_and_layer(shown):
    rows = {row.key: row for row in table_of(shown).rows}
    assert rows["digits", "mddf", "test, layer 1", "accuracy"].mean == 0.7
    assert rows["digits", "mddf", "train, last layer kept", "margin_ratio"].mean == 0.5
    assert rows["digits", "mddf", "train", "grown_layers"].mean == 4
    assert rows["digits", "mddf", "test", "n_layers"].mean == 3
    assert rows["digits", "mddf", "train", "rank_correlation"].mean == pytest.approx(-4.5 / np.sqrt(4.5 * 5))


def test_the_figures_csv_holds_the_drawn_numbers(shown):
    written = table_of(shown).figure.csv().decode().splitlines()
    assert len(written) == 1 + 4 + 3 + 4 + 3
    assert 'digits,mddf,"train, layer 4",accuracy,0.85,,1,30,,,,,ok,' in written
    assert 'digits,mddf,"test, layer 3",margin_ratio,0.7,,1,30,,,,,ok,' in written


@pytest.mark.parametrize(
    ("datasets", "words"),
    [
        (["har", "digits", "wine"], "The paper shows har, for which digits and wine stand here."),
        (["har+rows-50", "digits"], "The paper shows har only."),
        (["har+rows-50"], None),
    ],
    ids=["others", "a subset and another", "a subset"],
)
def test_the_caption_says_what_stands_for_the_papers_data(suite, datasets, words):
    declare(suite, datasets, absent={"har": "not on the mirror"} if "har" in datasets else {})
    for dataset in set(datasets) - {"har"}:
        run(suite, dataset)
    caption = table_of(suite).figure.caption
    assert words in caption if words else "The paper shows" not in caption


def test_absent_failed_and_unwritten_things_say_so(suite):
    declare(suite, ["har", "digits", "wine"], absent={"har": "not on the mirror"})
    run(suite, "digits")
    suite.fail("wine", "mddf_20", "MemoryError", "no room")
    table = table_of(suite)
    words = [axes.texts[0].get_text() for axes in panels(table) if axes.texts]
    assert words == ["unavailable: not on the mirror", "failed: MemoryError: no room"]
    assert {cell.text for row in table.view.rows[:2] for cell in row.cells} == {"unavailable: not on the mirror"}
    assert "har,mddf,,accuracy,,,,,,,,,unavailable,not on the mirror" in table.figure.csv().decode()
    declare(suite, missing_models={"mddf": "not implemented"}, status="partial")
    assert panels(table_of(suite))[0].texts[0].get_text() == "not implemented"


def test_a_ratio_without_a_positive_mean_is_a_gap_and_a_word(suite):
    declare(suite)
    run(suite, ratios=([np.inf, 0.4, 0.5, 0.55], TEST_RATIOS))
    table = table_of(suite)
    assert np.isnan(drawn(panels(table)[1])[TRAIN]).tolist() == [True, False, False, False]
    assert table.view.rows[0].cells[2].is_word
    assert any("where the mean margin is not positive" in note for note in table.view.notes)
    assert "unavailable,the mean margin is not positive" in table.figure.csv().decode()


def test_one_layer_is_a_point(suite):
    declare(suite)
    run(suite, scores=([0.5], [0.6]), ratios=([0.8], [0.7]))
    table = table_of(suite)
    (row,) = [row for row in table.rows if row.key[2:] == ("test", "rank_correlation")]
    assert (row.mean, row.note) == (None, "fewer than three layers")
    assert table.view.rows[1].cells[4].is_word
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_several_models_share_a_panel_in_colours_of_their_own(suite):
    columns, labels = {"mddf": "mddf_20", "gcforest": "pair"}, {"mddf": "mdDF", "gcforest": "gcForest"}
    libraries = {name: [] for name in columns}
    declare(suite, columns=columns, labels=labels, libraries=libraries, options={"curves": ["accuracy"]})
    run(suite)
    run(suite, model="pair", scores=([0.5, 0.6], [0.4, 0.5]))
    table = table_of(suite)
    (axes,) = panels(table)
    assert drawn(axes)["gcForest, test rows"] == pytest.approx([40, 50])
    colours = {label: line.get_color() for label, line in lines(axes).items()}
    assert colours["mdDF, test rows"] == colours[f"mdDF, {TRAIN}"] != colours["gcForest, test rows"]
    assert table.view.label_heads == ("data set", "model", "rows")
    assert [cell.text for cell in table.view.rows[3].cells] == ["40.00", "50.00", "2", "2"]


def test_errors_have_their_best_layer_where_they_are_least(suite):
    declare(suite, options={"curves": ["rmse"]})
    run(suite, scores=([3.0, 2.0, 2.5], [3.0, 2.5, 2.6]))
    table = table_of(suite)
    assert [cell.text for cell in table.view.rows[1].cells] == ["3.000", "2.600", "3", "2"]
    assert panels(table)[0].get_ylabel() == "RMSE (unit of the target)"


def test_published_numbers_stand_below_ours(suite):
    declare(suite)
    run(suite)
    suite.published("mddf-fig2a", ['digits,mddf,"test, layer 1",accuracy,71.5,,,,percent'])
    rows = table_of(suite).view.rows
    assert [row.labels[-1] for row in rows] == ["reproduced", "reproduced", "published"]
    assert [cell.text for cell in rows[2].cells][:2] == ["71.5", "not printed"]


@pytest.mark.parametrize(
    ("curves", "words"),
    [
        (None, "must be a list"),
        ("accuracy", "must be a list"),
        ([], "of accuracy, rmse, margin_ratio"),
        (["accuracy", "margin"], "of accuracy, rmse, margin_ratio"),
    ],
)
def test_curves_that_are_not_known_are_refused(suite, curves, words):
    declare(suite, options={"curves": curves})
    run(suite)
    with pytest.raises(ConfigError, match=rf"mddf-fig2a/options/curves .*{words}"):
        table_of(suite)


def test_a_curve_without_its_extra_is_refused(suite):
    declare(suite, extras=[SCORES])
    run(suite)
    with pytest.raises(ConfigError, match=r"curves has 'margin_ratio'.*\['layer_scores'\].* save 'margin_ratios'"):
        table_of(suite)


def test_files_are_the_same_bytes_each_time(shown):
    assert table_of(shown).figure.files() == table_of(shown).figure.files()


@settings(deadline=None, derandomize=True)
@given(lists(tuples(integers(0, 4), integers(0, 4)), min_size=3, max_size=8))
def test_the_rank_correlation_is_spearmans(pairs):
    first, second = np.array(pairs, float).T
    found = rank_correlation(first, second)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        assert found == "the same at all layers"
    else:
        assert found == pytest.approx(spearmanr(first, second).statistic)


def test_infinite_values_rank_last_and_two_layers_have_no_rank_correlation():
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([1, 5, np.inf])) == pytest.approx(1)
    assert rank_correlation(np.array([1.0, 2]), np.array([2.0, 1])) == "fewer than three layers"
