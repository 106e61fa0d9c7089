"""Rows that leave a cascade: counted by hand, by brute force, and what picture, table and caption say of them."""

import re
import shutil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from matplotlib.figure import Figure as MatplotlibFigure

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.renderers.screening_curves import count_screened
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "cs-fig4.csv"
#: Ten test rows, three levels: five leave at level 1 (one wrong), two at level 2, three stay.
Y = np.zeros(10, int)
LEVEL = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
STAGED = np.array(
    [
        [0, 0, 0, 0, 1, 1, 0, 1, 1, 0],
        [0, 0, 0, 0, 1, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    ]
)
#: The same rows without screening: it differs on row 4, which left at level 1, and on row 7.
OTHER = np.array([[1] * 10, [0, 0, 0, 0, 0, 0, 0, 1, 0, 1]])
EXTRA = "layer_decisions"


def declare(suite, datasets=("imdb+rows-40",), **changes):
    suite.experiment(
        "cs-fig4",
        kind="figure",
        render="screening_curves",
        title="Rows screened",
        datasets=list(datasets),
        columns={"gcforest_cs": "w100", "gcforest": "pair"},
        labels={"gcforest_cs": "gcForest_CS", "gcforest": "gcForest"},
        libraries={"gcforest_cs": [], "gcforest": []},
        extras=[EXTRA],
        repeats=dict.fromkeys(datasets, 1),
        **({"options": {"screening": "gcforest_cs", "against": "gcforest"}} | changes),
    )
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")


def run(suite, dataset, staged=STAGED, level=LEVEL, other=OTHER, y=Y):
    """Both cascades on one data set."""
    suite.summary(dataset)
    for model, stages, levels in (("w100", staged, level), ("pair", other, np.full(len(y), len(other) - 1))):
        suite.run(dataset, model, [float(np.mean(stages[-1] == y))], n_test=len(y))
        suite.extra(dataset, model, EXTRA, staged_predicted=stages, decision_level=levels, y_test=y)


@pytest.fixture
def shown(suite):
    declare(suite)
    run(suite, "imdb+rows-40")
    return suite


def table_of(suite):
    return make_table("cs-fig4", read_results(suite.root, suite.name))


def drawn(table):
    """The matplotlib figure."""
    picture = table.figure.draw()
    assert isinstance(picture, MatplotlibFigure)
    return picture


def axes_of(table):
    return [axes for part in drawn(table).subfigs for axes in part.axes]


def test_counts_by_hand():
    counts = count_screened(STAGED, LEVEL, Y)
    assert counts.screened == (5, 7)
    assert counts.screened_correct == (4, 6)  # row 5 left at level 2, which had it right
    assert counts.remaining == (5, 3)
    assert counts.correct_now == (2, 2)
    assert counts.correct_next == (4, 2)
    assert (counts.n_correct, counts.n_test, counts.n_levels) == (8, 10, 3)


def test_one_level_counts_nothing_but_the_end():
    counts = count_screened(STAGED[:1], np.zeros(10, int), Y)
    assert (counts.screened, counts.remaining, counts.n_correct) == ((), (), 6)


@settings(deadline=None, derandomize=True)
@given(integers(0, 2**32 - 1), integers(1, 5), integers(1, 12))
def test_counts_are_those_of_a_walk_through_the_levels(seed, n_levels, n_rows):
    rng = np.random.default_rng(seed)
    y, level = rng.integers(0, 3, n_rows), rng.integers(0, n_levels, n_rows)
    staged = rng.integers(0, 3, (n_levels, n_rows))
    for k in range(1, n_levels):  # who left keeps the last prediction
        staged[k] = np.where(level < k, staged[k - 1], staged[k])
    counts = count_screened(staged, level, y)
    left = right = 0
    for k in range(n_levels - 1):
        for row in range(n_rows):
            if level[row] == k:
                left += 1
                right += staged[-1, row] == y[row]
        assert (counts.screened[k], counts.screened_correct[k]) == (left, right)
        staying = [row for row in range(n_rows) if level[row] > k]
        assert counts.remaining[k] == len(staying)
        assert counts.correct_now[k] == sum(staged[k, row] == y[row] for row in staying)
        assert counts.correct_next[k] == sum(staged[k + 1, row] == y[row] for row in staying)


def test_the_papers_statements_stand_below_ours(shown):
    """5 of 10 leave at level 1, 3 reach the last; 6 of the 7 early ones are right; 8 and 8 of 10 in all."""
    rows = table_of(shown).view.rows
    assert [cell.text for cell in rows[0].cells] == [
        "50.00", "30.00", "85.71", "80.00", "80.00", "1", "0", "3", "2",
    ]  # fmt: skip
    assert [cell.text for cell in rows[1].cells] == [
        "64", "28", "about 95", "less than 90", "not printed", "2", "80", "not printed", "not printed",
    ]  # fmt: skip
    assert rows[0].size == "10"


def test_the_tidy_rows_have_ours_and_the_papers_in_one_unit(shown):
    rows = {row.key: row for row in table_of(shown).rows}
    leaving = rows["imdb+rows-40", "gcforest_cs", "level 1", "screened_share"]
    assert (leaving.mean, leaving.published, leaving.n_test) == (0.5, 0.64, 10)
    different = rows["imdb+rows-40", "gcforest_cs", "screened rows, against gcforest", "different_predictions"]
    assert (different.mean, different.published) == (1, 2)


def test_the_figures_csv_holds_the_drawn_numbers(shown):
    lines = table_of(shown).figure.csv().decode().splitlines()
    assert "imdb+rows-40,gcforest_cs,level 2,screened_correct,6,,1,10,,,,,ok," in lines
    assert len(lines) == 1 + 2 * 5


def test_bars_and_points_are_at_the_counts(shown):
    left, right = axes_of(table_of(shown))
    assert [bar.get_height() for bar in left.patches] == [5, 7]
    assert [bar.get_height() for bar in right.patches] == [5, 3]
    points = {(line.get_marker(), tuple(map(int, line.get_ydata()))) for line in right.lines}
    assert {("o", (2,)), ("^", (4,)), ("^", (2,))} <= points
    assert [list(line.get_ydata()) for line in left.lines if line.get_marker() == "o"] == [[4, 6]]


def test_published_shares_are_marked_where_the_paper_has_the_data_set(suite):
    declare(suite, ["imdb", "digits"])
    run(suite, "imdb")
    run(suite, "digits")
    marked = [
        [float(line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "D"]
        for axes in axes_of(table_of(suite))
    ]
    assert marked == [[pytest.approx(6.4)], [pytest.approx(2.8)], [], []]


def test_axes_say_what_they_count(shown):
    for axes in axes_of(table_of(shown)):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("level", "test rows (number)")
        assert list(axes.get_xticks()) == [1, 2]
        assert axes.get_ylim()[0] == 0


def test_the_caption_gives_the_papers_numbers_and_ours(shown):
    caption = table_of(shown).figure.caption
    assert "The paper's text: on imdb 64 % of the rows leave at level 1, 28 % go through all levels" in caption
    assert "early about 95 %, accuracy of all less than 90 %, gcForest predicts 2 of those that leave early" in caption
    assert "80 more right at the end than with gcForest." in caption
    assert "imdb+rows-40: 3 levels, 50.00 % of the rows leave at level 1" in caption


def test_fewer_right_rows_are_called_fewer(suite):
    declare(suite)
    run(suite, "imdb+rows-40", other=np.zeros((1, 10), int))
    table = table_of(suite)
    assert table.view.rows[0].cells[6].text == "−2"
    assert "2 fewer right at the end than with gcForest" in table.figure.alt


def test_one_level_says_that_nobody_left(suite):
    declare(suite)
    run(suite, "imdb+rows-40", STAGED[:1], np.zeros(10, int))
    table = table_of(suite)
    texts = [cell.text for cell in table.view.rows[0].cells]
    assert texts[:3] == ["0.00", "100.00", "nobody left early"]
    assert texts[5] == "nobody left early"
    assert "imdb+rows-40: nobody left early; the cascade has one level." in table.view.notes
    assert "1 level, nobody left early, accuracy of all 60.00 %" in table.figure.caption
    (axes,) = axes_of(table)
    assert [text.get_text() for text in axes.texts] == ["1 level: nobody left early"]
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_levels_at_which_nobody_left_count_as_nobody(suite):
    """Three levels, and every row reached the last one: there are levels, but no share of 0 rows is right."""
    declare(suite)
    run(suite, "imdb+rows-40", level=np.full(10, 2))
    table = table_of(suite)
    assert table.view.rows[0].cells[2].text == "nobody left early"
    assert "3 levels: nobody left early" in axes_of(table)[0].texts[0].get_text()


def test_what_did_not_run_is_said_in_table_and_picture(suite):
    declare(suite, ["imdb", "digits"])
    run(suite, "imdb")
    suite.fail("digits", "w100", "MemoryError", "no room")
    table = table_of(suite)
    line = next(row for row in table.view.rows if row.labels[0] == "digits")
    assert {cell.text for cell in line.cells} == {"failed: MemoryError: no room"}
    assert axes_of(table)[2].texts[0].get_text() == "failed: MemoryError: no room"
    assert "digits,gcforest_cs,,screened,,,,,,,,,failed,MemoryError: no room" in table.figure.csv().decode()


def test_without_the_other_cascade_its_columns_are_empty_and_the_picture_stands(suite):
    declare(suite)
    run(suite, "imdb+rows-40")
    (suite.folder / "runs/imdb+rows-40/pair.json").unlink()
    table = table_of(suite)
    assert [cell.text for cell in table.view.rows[0].cells][3:8] == ["80.00", *["unavailable"] * 3, "3"]
    assert "imdb+rows-40: no gcForest to compare with (unavailable: not run)." in table.view.notes
    assert [bar.get_height() for bar in axes_of(table)[0].patches] == [5, 7]


def test_options_that_name_no_column_are_refused(suite):
    declare(suite, options={"screening": "gcforest_cs", "against": "forest"})
    run(suite, "imdb+rows-40")
    with pytest.raises(
        ConfigError, match=r"cs-fig4/options/against is 'forest'; choose one of gcforest_cs, gcforest\."
    ):
        table_of(suite)


def test_cells_of_other_test_rows_are_refused(suite):
    declare(suite)
    run(suite, "imdb+rows-40")
    suite.extra("imdb+rows-40", "pair", EXTRA, staged_predicted=OTHER, decision_level=LEVEL, y_test=1 - Y)
    with pytest.raises(UserError, match=r"imdb\+rows-40: the test rows of gcForest_CS and gcForest are not the same"):
        table_of(suite)


def test_many_levels_and_large_counts_fit(suite):
    """Twenty levels of an IMDB-sized test set: no number is written that would not have room."""
    rng = np.random.default_rng(0)
    y, level = rng.integers(0, 2, 25_000), rng.integers(0, 20, 25_000)
    declare(suite)
    run(suite, "imdb+rows-40", np.tile(y, (20, 1)), level, np.tile(y, (2, 1)), y)
    left, _ = axes_of(table_of(suite))
    assert [text.get_text() for text in left.texts] == ["all test rows"]
    left.figure.figure.canvas.draw()
    assert "25,000" in {label.get_text() for label in left.get_yticklabels()}


def test_files_are_the_same_bytes_whatever_the_users_style(shown):
    first = table_of(shown).figure.files()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.hashsalt": "other", "savefig.dpi": 30}):
        second = table_of(shown).figure.files()
    assert first == second


def test_pictures_say_nothing_of_date_or_place(shown, tmp_path):
    files = table_of(shown).figure.files()
    svg = files[".svg"].decode()
    assert "dc:date" not in svg
    assert str(tmp_path) not in svg
    assert files[".png"].startswith(b"\x89PNG")
    assert b"Software" not in files[".png"]
    assert b"tIME" not in files[".png"]
    assert re.search(r"<title>Rows screened\. imdb\+rows-40: 3 levels", svg)


def test_the_users_settings_are_as_before(shown):
    before = dict(mpl.rcParams)
    table_of(shown).figure.pictures()
    assert dict(mpl.rcParams) == before
