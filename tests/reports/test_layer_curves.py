"""Numbers per layer: what picture, table and caption say of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, tuples
from scipy.stats import spearmanr
from tests.reports.conftest import panels, texts

from cascadeforest.reports.drawing.renderers.layer_curves import rank_correlation

NAME, MDDF = "mddf-fig2a", {"mddf": "mdDF"}
SCORES, RATIOS = "layer_scores", "margin_ratios"
#: Four layers grown, the best out of fold is the second; three kept.
TRAIN_SCORES, TEST_SCORES = [0.8, 0.9, 0.9, 0.85], [0.7, 0.75, 0.8]
TRAIN_RATIOS, TEST_RATIOS = [0.6, 0.4, 0.5, 0.55], [0.9, 0.8, 0.7]
BOTH_SCORES, BOTH_RATIOS = (TRAIN_SCORES, TEST_SCORES), (TRAIN_RATIOS, TEST_RATIOS)


def declare(suite, datasets=("digits",), labels=MDDF, **changes):
    options = {"paper_datasets": ["har"]}
    given = {"datasets": list(datasets), "repeats": 1, "extras": [SCORES, RATIOS], "options": options} | changes
    suite.figure(NAME, "layer_curves", labels, **given)


def run(suite, dataset="digits", model="mddf_20", scores=BOTH_SCORES, ratios=BOTH_RATIOS):
    suite.summary(dataset)
    suite.run(dataset, model, [{"accuracy": scores[1][-1], "n_layers": len(scores[1])}], n_train=70, n_test=30)
    for extra, (train, test) in {SCORES: scores, RATIOS: ratios}.items():
        suite.extra(dataset, model, extra, train=np.array(train), test=np.array(test))


def test_factors_of_all_layers_are_in_the_csv_and_in_a_note(suite):
    declare(suite)
    run(suite)
    assert "alpha" not in suite.notes(NAME)
    declare(suite, extras=[SCORES, RATIOS, "factors"])
    alphas, shares = np.array([1.0, 3.0, 0.0, 4.0]), np.array([1, 0.75, 0, 0.5])
    suite.extra("digits", "mddf_20", "factors", alphas=alphas, shares=shares)
    table = suite.table(NAME)
    found = {row.key[2:]: row.mean for row in table.rows if row.metric in ("factor", "factor_share")}
    assert (found["layer 2", "factor"], found["layer 2", "factor_share"], len(found)) == (3.0, 0.75, 8)
    (note,) = [note for note in table.view.notes if "factors alpha" in note]
    assert note.startswith("digits: factors alpha of the layers")
    assert note.endswith(": 1 (100 %), 3 (75 %), 0 (0 %), 4 (50 %).")
    assert len({len(row.cells) for row in table.view.rows} | {len(table.view.heads)}) == 1


def test_layers_with_a_share_of_0_are_seen_in_the_picture_and_named_in_the_caption(suite):
    declare(suite, extras=[SCORES, RATIOS, "factors"])
    run(suite)
    alphas, shares = np.array([1.0, 3.0, 0.0, 4.0]), np.array([1, 0.75, 0, 0.5])
    suite.extra("digits", "mddf_20", "factors", alphas=alphas, shares=shares)
    table = suite.table(NAME)
    *_, axes = panels(table)
    assert [bar.get_height() for bar in axes.patches] == [100, 75, 0, 50]
    (cross,) = axes.lines
    assert (cross.get_xdata().tolist(), cross.get_label()) == ([3], "layer with a share of 0")
    assert "a share of 0 (cross), which change nothing" in table.figure.caption


def lines(axes):
    handles, labels = axes.get_legend_handles_labels()
    return {label: getattr(handle, "lines", [handle])[0] for handle, label in zip(handles, labels, strict=True)}


def drawn(axes):
    return {label: np.asarray(line.get_ydata(), float).tolist() for label, line in lines(axes).items()}


TRAIN, TEST = "training rows, out of fold", "test rows"
BEST, END = "best layer out of fold", "layer that the cascade ends with"


def test_picture_table_and_files_have_curves_of_both_parts_the_best_layer_and_the_last_kept_one(shown):
    accuracy, ratio = panels(shown.table(NAME))
    assert drawn(accuracy)[TRAIN] == pytest.approx([80, 90, 90, 85])
    assert drawn(accuracy)[TEST] == pytest.approx([70, 75, 80])
    assert drawn(ratio)[TRAIN] == TRAIN_RATIOS
    assert drawn(ratio)[TEST] == TEST_RATIOS
    assert (accuracy.get_ylabel(), ratio.get_ylabel()) == ("accuracy (%)", "margin ratio (std / mean)")
    assert accuracy.get_xlabel() == ratio.get_xlabel() == "layer"
    ring = lines(accuracy)[BEST]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (2, pytest.approx(90))  # the first of equals
    assert BEST not in drawn(ratio)
    for axes in (accuracy, ratio):
        assert list(lines(axes)[END].get_xdata()) == [3, 3]
    view = shown.table(NAME).view
    assert view.label_heads == ("data set", "rows")
    assert view.heads[:2] == ("accuracy (%), layer 1", "accuracy (%), last layer kept")
    train, test = view.rows
    # Ranks of 0.8, 0.9, 0.9, 0.85 and of 0.6, 0.4, 0.5, 0.55, less their means: -1.5, 1, 1, -0.5 and 1.5, -1.5, -0.5,
    # 0.5. The sum of their products is -4.5, those of the squares are 4.5 and 5.
    assert texts(train) == ["80.00", "90.00", "0.6000", "0.5000", "−0.95", "4", "2"]
    assert texts(test) == ["70.00", "80.00", "0.9000", "0.7000", "−1.00", "3", "3"]
    assert (train.labels, train.size, test.labels, test.size) == (("digits", TRAIN), "70", ("digits", TEST), "30")
    rows = {row.key: row for row in shown.table(NAME).rows}
    assert rows["digits", "mddf", "test, layer 1", "accuracy"].mean == 0.7
    assert rows["digits", "mddf", "train, last layer kept", "margin_ratio"].mean == 0.5
    assert rows["digits", "mddf", "train", "grown_layers"].mean == 4
    assert rows["digits", "mddf", "test", "n_layers"].mean == 3
    assert rows["digits", "mddf", "train", "rank_correlation"].mean == pytest.approx(-4.5 / np.sqrt(4.5 * 5))
    written = shown.table(NAME).figure.csv().decode().splitlines()
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
    caption = suite.table(NAME).figure.caption
    assert words in caption if words else "The paper shows" not in caption


def test_absent_failed_and_unwritten_things_say_so(suite):
    declare(suite, ["har", "digits", "wine"], absent={"har": "not on the mirror"})
    run(suite, "digits")
    suite.fail("wine", "mddf_20")
    table = suite.table(NAME)
    words = [axes.texts[0].get_text() for axes in panels(table) if axes.texts]
    assert words == ["unavailable: not on the mirror", "failed: MemoryError: no room"]
    assert {cell.text for row in table.view.rows[:2] for cell in row.cells} == {"unavailable: not on the mirror"}
    assert "har,mddf,,accuracy,,,,,,,,,unavailable,not on the mirror" in table.figure.csv().decode()
    declare(suite, missing_models={"mddf": "not implemented"}, status="partial")
    assert panels(suite.table(NAME))[0].texts[0].get_text() == "not implemented"


def test_without_dropped_layers_there_is_no_such_line_and_without_a_positive_mean_a_gap(suite):
    declare(suite)
    run(suite, ratios=([np.inf, 0.4, 0.5, 0.55], TEST_RATIOS))
    table = suite.table(NAME)
    assert np.isnan(drawn(panels(table)[1])[TRAIN]).tolist() == [True, False, False, False]
    assert table.view.rows[0].cells[2].is_word
    assert any("where the mean margin is not positive" in note for note in table.view.notes)
    assert "unavailable,the mean margin is not positive" in table.figure.csv().decode()
    declare(suite)
    run(suite, scores=(TRAIN_SCORES, [*TEST_SCORES, 0.8]), ratios=(TRAIN_RATIOS, [*TEST_RATIOS, 0.6]))
    assert END not in drawn(panels(suite.table(NAME))[0])


def test_one_layer_is_a_point_without_a_rank_correlation(suite):
    declare(suite)
    run(suite, scores=([0.5], [0.6]), ratios=([0.8], [0.7]))
    table = suite.table(NAME)
    (row,) = [row for row in table.rows if row.key[2:] == ("test", "rank_correlation")]
    assert (row.mean, row.note) == (None, "fewer than three layers")
    assert table.view.rows[1].cells[4].is_word


def test_several_models_share_a_panel_in_colours_of_their_own(suite):
    declare(suite, labels=MDDF | {"gcforest": "gcForest"})
    run(suite)
    run(suite, model="gcforest_20", scores=([0.5, 0.6], [0.4, 0.5]), ratios=([0.8, 0.7], [0.9, 0.8]))
    table = suite.table(NAME)
    axes, _ = panels(table)
    assert drawn(axes)["gcForest, test rows"] == pytest.approx([40, 50])
    colours = {label: line.get_color() for label, line in lines(axes).items()}
    assert colours["mdDF, test rows"] == colours[f"mdDF, {TRAIN}"] != colours["gcForest, test rows"]
    assert table.view.label_heads == ("data set", "model", "rows")
    assert texts(table.view.rows[3])[:2] == ["40.00", "50.00"]
    assert texts(table.view.rows[3])[-2:] == ["2", "2"]


def test_curves_are_means_over_the_repeats_that_have_the_layer(suite):
    declare(suite, repeats=2, extras=[SCORES, RATIOS, "factors"])
    suite.summary("digits")
    suite.run("digits", "mddf_20", [0.8, 0.6], n_train=70, n_test=30)
    kept = ([0.6, 0.7, 0.7, 0.95, 0.85], [0.5, 0.6]), ([0.6, 0.6, 0.4, 0.3, 0.4], [0.7, 0.7])
    for repeat, (scores, ratios) in enumerate(((BOTH_SCORES, BOTH_RATIOS), kept)):
        for extra, (train, test) in {SCORES: scores, RATIOS: ratios}.items():
            suite.extra("digits", "mddf_20", extra, repeat, train=np.array(train), test=np.array(test))
        alphas, shares = np.arange(1.0, 3 + repeat), np.linspace(1, 0.5, 2 + repeat)
        suite.extra("digits", "mddf_20", "factors", repeat, alphas=alphas, shares=shares)
    table = suite.table(NAME)
    accuracy, _, bars = panels(table)
    assert drawn(accuracy)[TRAIN] == pytest.approx([70, 80, 80, 90, 85])
    assert drawn(accuracy)[TEST] == pytest.approx([60, 67.5, 80])
    assert lines(accuracy)["best mean out of fold"].get_xdata()[0] == 4
    rules = [line.get_xdata()[0] for line in accuracy.lines if line.get_label() == END]
    assert rules == [2, 3]
    assert [bar.get_height() for bar in bars.patches] == [100, 62.5, 50]
    whiskers = [segment[1, 1] - segment[0, 1] for segment in bars.collections[0].get_segments()]
    assert whiskers[:2] == pytest.approx([0, 2 * 100 * np.std([0.5, 0.75], ddof=1)])
    rows = {row.key[2:]: row for row in table.rows}
    assert rows["test, last layer kept", "accuracy"].values == (0.8, 0.6)
    assert rows["train, last layer kept", "margin_ratio"].values == (0.5, 0.6)
    assert rows["train", "best_layer"].values == (2, 4)
    assert rows["test", "n_layers"].values == (3, 2)
    assert rows["layer 3", "factor"].values[1:] == (3,)
    # The second repeat has two layers of test rows, too few for a rank correlation.
    test = rows["test", "rank_correlation"]
    assert (test.mean, test.n, np.isnan(test.values).tolist()) == (pytest.approx(-1), 1, [False, True])
    grown, kept = table.view.rows
    assert (grown.size, kept.size, table.view.size_head) == ("2 × 70", "2 × 30", "repeats × rows")
    assert texts(grown)[0] == "70.00 ± 14.14"
    assert texts(grown)[-2:] == ["4.5 ± 0.7", "3.0 ± 1.4"]
    assert "(means), and in brackets" in suite.notes(NAME)
    assert ": 1 (100 %), 2 (62 %), 3 (50 %)." in suite.notes(NAME)
    assert "each layer that at least half of them have" in suite.notes(NAME)
    assert "(means and deviations over the repeats that have it)" in table.figure.caption


def test_a_repeat_without_a_margin_ratio_takes_none_from_the_others(suite):
    declare(suite, repeats=2)
    suite.summary("digits")
    suite.run("digits", "mddf_20", [0.8, 0.6], n_train=70, n_test=30)
    for repeat, first in enumerate((np.inf, 0.9)):
        ratios = (TRAIN_RATIOS, [first, *TEST_RATIOS[1:]])
        for extra, (train, test) in {SCORES: BOTH_SCORES, RATIOS: ratios}.items():
            suite.extra("digits", "mddf_20", extra, repeat, train=np.array(train), test=np.array(test))
    table = suite.table(NAME)
    drawn_rows = {row.key[2:]: row for row in table.figure.rows}
    rows = {row.key[2:]: row for row in table.rows}
    for row in (drawn_rows["test, layer 1", "margin_ratio"], rows["test, layer 1", "margin_ratio"]):
        assert (row.mean, row.n, np.isnan(row.values).tolist()) == (0.9, 1, [True, False])
    found = rows["test", "rank_correlation"]
    assert found.values[1] == pytest.approx(-1)
    assert np.isnan(found.values[0])  # two layers are left


def test_published_numbers_stand_below_ours(suite):
    declare(suite)
    run(suite)
    suite.published(NAME, ['digits,mddf,"test, layer 1",accuracy,71.5,,,,percent'])
    rows = suite.table(NAME).view.rows
    assert [row.labels[-1] for row in rows] == ["reproduced", "reproduced", "published"]
    assert texts(rows[2])[:2] == ["71.5", "not printed"]


@settings(deadline=None, derandomize=True)
@given(lists(tuples(integers(0, 4), integers(0, 4)), min_size=3, max_size=8))
def test_the_rank_correlation_is_spearmans(pairs):
    first, second = np.array(pairs, float).T
    found = rank_correlation(first, second)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        assert found == "the same at all layers"
    else:
        assert found == pytest.approx(spearmanr(first, second).statistic)
    assert rank_correlation(np.array([1.0, 2, 3, 4]), np.array([1, 5, np.inf, 6])) == pytest.approx(1)
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([1, 5, np.inf])) == "fewer than three layers"
    assert rank_correlation(first[:2], second[:2]) == "fewer than three layers"
