"""Rows that leave a cascade: counted by hand and by brute force, and what picture and table show of them."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from PIL import Image
from tests.reports.conftest import panels, texts

from cascadeforest.data.errors import UserError
from cascadeforest.reports.drawing.renderers.screening_curves import CURVES, count

DATA = "imdb+rows-40"
#: Ten test rows, three levels: five leave at level 1 (one wrong), two at level 2, three stay.
Y = np.zeros(10, int)
LEVEL = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
STAGED = np.array([[*map(int, row)] for row in ("0000110110", "0000100100", "0000100001")])
#: The same rows without screening: it differs on row 4, which left at level 1, and on row 7.
OTHER = np.array([[1] * 10, [0, 0, 0, 0, 0, 0, 0, 1, 0, 1]])
EXTRA, PAIR = "layer_decisions", {"screening": "gcforest_cs", "against": "gcforest"}


def declare(suite, datasets=(DATA,), options=PAIR, **changes):
    models = {"columns": {"gcforest_cs": "w100", "gcforest": "pair"}, "libraries": {}}
    models["labels"] = {"gcforest_cs": "gcForest_CS", "gcforest": "gcForest"}
    given = {"datasets": list(datasets), "repeats": 1, "extras": [EXTRA], "options": options} | models | changes
    suite.declare("cs-fig4", "screening_curves", **given)


def run(suite, dataset=DATA, staged=STAGED, level=LEVEL, other=OTHER, y=Y):
    suite.summary(dataset)
    for model, stages, levels in (("w100", staged, level), ("pair", other, np.full(len(y), len(other) - 1))):
        suite.run(dataset, model, [float(np.mean(stages[-1] == y))], n_test=len(y))
        suite.extra(dataset, model, EXTRA, staged_predicted=stages, decision_level=levels, y_test=y)


def run_twice(suite, staged, level):
    """A second repeat of the cascade with screening beside the first, with this one for comparison."""
    run(suite)
    for model, stages, levels in (("w100", staged, level), ("pair", OTHER, np.ones(10, int))):
        suite.run(DATA, model, [0.8, 0.8], n_test=10)
        suite.extra(
            DATA, model, EXTRA, staged_predicted=STAGED if model == "w100" else OTHER, decision_level=LEVEL, y_test=Y
        )
        suite.extra(DATA, model, EXTRA, 1, staged_predicted=stages, decision_level=levels, y_test=Y)


def counted(staged, level, y):
    return count({"staged_predicted": staged, "decision_level": level, "y_test": y})


def test_counts_by_hand():
    """Row 5 left at level 2, which had it right; a cascade of one level has no level to leave before the last."""
    found = counted(STAGED, LEVEL, Y)
    assert found.level.tolist() == [1, 2]
    assert found[list(CURVES)].T.to_numpy().tolist() == [[5, 7], [4, 6], [5, 3], [2, 2], [4, 2]]
    assert counted(STAGED[:1], np.zeros(10, int), Y).empty


@settings(deadline=None, derandomize=True)
@given(integers(0, 2**32 - 1), integers(1, 5), integers(1, 12))
def test_counts_are_those_of_a_walk_through_the_levels(seed, n_levels, n_rows):
    rng = np.random.default_rng(seed)
    y, level = rng.integers(0, 3, n_rows), rng.integers(0, n_levels, n_rows)
    staged = rng.integers(0, 3, (n_levels, n_rows))
    for k in range(1, n_levels):  # a row that left keeps its last prediction
        staged[k] = np.where(level < k, staged[k - 1], staged[k])
    counts = counted(staged, level, y)
    left = right = 0
    for k in range(n_levels - 1):
        for row in range(n_rows):
            if level[row] == k:
                left += 1
                right += staged[-1, row] == y[row]
        staying = [row for row in range(n_rows) if level[row] > k]
        now, following = (sum(staged[j, row] == y[row] for row in staying) for j in (k, k + 1))
        assert counts[list(CURVES)].iloc[k].tolist() == [left, right, len(staying), now, following]


def test_the_papers_statements_and_bars_points_and_numbers_are_those_counted(shown):
    """5 of 10 leave at level 1, 3 reach the last; 6 of the 7 early ones are right; 8 and 8 of 10 in all."""
    table = shown.table("cs-fig4")
    ours, published = table.view.rows
    assert texts(ours) == ["50.00", "30.00", "85.71", "80.00", "80.00", "1", "0", "3", "2"]
    no = "not printed"
    assert texts(published) == ["64", "28", "about 95", "less than 90", no, "2", "80", no, no]
    assert ours.size == "1 × 10"
    accuracies = [head.partition(", ")[2] for head in table.view.heads[2:5]]
    assert accuracies == ["screened rows", "all rows", "all rows, gcForest"]
    rows = {row.key: row for row in table.rows}
    leaving = rows[DATA, "gcforest_cs", "level 1", "screened_share"]
    assert (leaving.mean, leaving.published, leaving.n_test) == (0.5, 0.64, 10)
    different = rows[DATA, "gcforest_cs", "screened rows, against gcforest", "different_predictions"]
    assert (different.mean, different.published) == (1, 2)
    drawn = table.figure.csv().decode().splitlines()
    assert f"{DATA},gcforest_cs,level 2,screened_correct,6,,1,10,,,,,ok," in drawn
    assert len(drawn) == 1 + 2 * 5
    left, right = panels(table)
    assert [bar.get_height() for bar in left.patches] == [5, 7]
    assert [bar.get_height() for bar in right.patches] == [5, 3]
    points = {line.get_marker(): list(line.get_ydata()) for line in right.lines}
    assert (points["o"], points["^"]) == ([2, 2], [4, 2])
    assert [list(line.get_ydata()) for line in left.lines if line.get_marker() == "o"] == [[4, 6]]
    assert [text.get_text() for text in left.texts] == ["50 %", "70 %"]
    assert [text.get_text() for text in right.texts] == ["+2", "+0"]
    published = {"published, level 1: 64 %": 6.4}, {"published, last level: 28 %": 2.8}
    for axes, wanted in zip((left, right), published, strict=True):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("level", "test rows (number)")
        assert axes.get_ylim() == (0, 11.5)
        lines = {line.get_label(): line.get_ydata()[0] for line in axes.lines}
        assert {label: y for label, y in lines.items() if "published" in label} == pytest.approx(wanted)


@pytest.mark.parametrize("n_levels", [1, 3])
def test_where_no_row_leaves_early_there_is_no_share_that_is_right(suite, n_levels):
    declare(suite)
    run(suite, DATA, STAGED[:n_levels], np.full(10, n_levels - 1))
    table = suite.table("cs-fig4")
    ours = texts(table.view.rows[0])
    assert (ours[:3], ours[5]) == (["0.00", "100.00", "no row leaves early"], "no row leaves early")
    (axes,) = panels(table)
    assert [text.get_text() for text in axes.texts] == [f"levels: {n_levels}; no row leaves early"]


def test_the_numbers_of_the_text_are_means_over_repeats_and_the_picture_is_the_first(suite):
    """In the second repeat row 5 leaves at level 1 too, and is right at the end."""
    declare(suite, repeats=2)
    level = LEVEL.copy()
    level[5] = 0
    run_twice(suite, np.where(np.arange(10) == 5, [[0]], STAGED), level)
    table = suite.table("cs-fig4")
    rows = {(row.model, row.condition, row.metric): row for row in table.rows}
    assert rows["gcforest_cs", "level 1", "screened_share"].values == (0.5, 0.6)
    assert rows["gcforest_cs", "screened rows", "accuracy"].values == pytest.approx((6 / 7, 6 / 7))
    assert rows["gcforest", "all rows", "accuracy"].values == (0.8, 0.8)
    left, _ = panels(table)
    assert [bar.get_height() for bar in left.patches] == [5, 7]
    assert "Drawn is the first repeat." in " ".join(table.view.notes)


@pytest.mark.parametrize("few", ["w100", "pair"])
def test_one_cascade_can_have_fewer_repeats(suite, few):
    """Its numbers and the comparisons are of its one repeat; its rival has numbers of both repeats."""
    declare(suite, repeats=2, fewer_repeats={DATA: {few: 1}})
    level = LEVEL.copy()
    level[5] = 0
    run_twice(suite, np.where(np.arange(10) == 5, [[0]], STAGED), level)
    suite.run(DATA, few, [0.8], n_test=10)
    stages = OTHER if few == "pair" else STAGED
    suite.extra(DATA, few, EXTRA, staged_predicted=stages, decision_level=LEVEL, y_test=Y)
    table = suite.table("cs-fig4")
    values = {(row.model, row.condition, row.metric): row.values for row in table.rows}
    n, n_other = (2, 1) if few == "pair" else (1, 2)
    assert values["gcforest_cs", "level 1", "screened_share"] == (0.5, 0.6)[:n]
    assert values["gcforest_cs", "", "n_layers"] == (3, 3)[:n]
    assert values["gcforest", "all rows", "accuracy"] == (0.8, 0.8)[:n_other]
    assert values["gcforest", "", "n_layers"] == (2, 2)[:n_other]
    assert values["gcforest_cs", "screened rows, against gcforest", "different_predictions"] == (1,)
    assert values["gcforest_cs", "last level, against gcforest", "additional_correct"] == (0,)
    assert "1 of 2 repeats" in " ".join(table.view.notes)


def test_repeats_of_which_no_row_leaves_early_are_counted(suite):
    declare(suite, repeats=2)
    run_twice(suite, STAGED[:1], np.zeros(10, int))
    table = suite.table("cs-fig4")
    notes = {row.metric: row.note for row in table.rows if row.condition == "screened rows"}
    assert notes == {"accuracy": "no row leaves early in 1 of 2 repeats"}
    assert texts(table.view.rows[0])[3] == "70.00 ± 14.14"


@pytest.mark.parametrize(("failed", "n_axes"), [("w100", 1), ("pair", 2)])
def test_a_cascade_that_failed_is_named_in_the_table(shown, failed, n_axes):
    """The picture needs the cascade with screening only."""
    shown.fail(DATA, failed)
    table = shown.table("cs-fig4")
    assert set(texts(table.view.rows[0])) == {"failed: MemoryError: no room"}
    assert texts(table.view.rows[1])[0] == "64"
    assert len(panels(table)) == n_axes
    row = f"{DATA},gcforest_cs,,screened,,,,,,,,,failed,MemoryError: no room"
    assert (row in table.figure.csv().decode()) == (failed == "w100")


def test_test_rows_that_are_not_the_same_are_refused(shown):
    shown.extra(DATA, "pair", EXTRA, staged_predicted=OTHER, decision_level=LEVEL, y_test=1 - Y)
    shown.refuses("cs-fig4", r"imdb\+rows-40: the test rows of the two cascades are not the same\. Run", UserError)


def test_many_levels_and_large_counts_fit(suite):
    """Twenty levels of a test set as large as IMDB's: no number is written that would not have room."""
    y, level = np.random.default_rng(0).integers(0, [[2], [20]], (2, 25_000))
    declare(suite)
    run(suite, DATA, np.tile(1 - y, (20, 1)), level, np.array([1 - y, y]), y)
    table = suite.table("cs-fig4")
    assert texts(table.view.rows[0])[6] == "−25,000"
    left, _ = panels(table)
    assert not left.texts
    left.figure.figure.canvas.draw()
    assert "25,000" in {label.get_text() for label in left.get_yticklabels()}


def test_files_are_the_same_bytes_whatever_the_users_style_and_say_nothing_of_date_or_place(shown, tmp_path):
    before = dict(mpl.rcParams)
    first = shown.table("cs-fig4").figure.files()
    assert dict(mpl.rcParams) == before
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other", "savefig.dpi": 30}):
        assert shown.table("cs-fig4").figure.files() == first
    svg, png = first[".svg"].decode(), first[".png"]
    assert "<title>Test accuracy.</title>" in svg
    assert "dc:date" not in svg
    assert str(tmp_path) not in svg
    assert png.startswith(b"\x89PNG")
    assert not any(word in png for word in (b"Software", b"tIME"))
    with Image.open(io.BytesIO(png)) as picture:
        assert (picture.mode, picture.info["Description"]) == ("P", "Test accuracy.")


def test_few_colours_look_as_all_of_them_and_take_less_than_half_of_the_bytes(shown, monkeypatch):
    few = shown.table("cs-fig4").figure.files()[".png"]
    monkeypatch.setattr("cascadeforest.reports.drawing.figure._with_palette", lambda png: png)
    full = shown.table("cs-fig4").figure.files()[".png"]
    seen, meant = (np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), int) for png in (few, full))
    assert np.abs(seen - meant).max() <= 20
    assert len(few) < len(full) / 2
