"""Figures on their way: command line, page, storing, drawing again, the regression check."""

import html
import re

import matplotlib
import numpy as np
import pytest
from tests.reports import test_screening_curves as screening
from tests.reports.conftest import spoil

from cascadeforest.data.errors import UserError
from cascadeforest.reports.drawing.figure import _numbered
from cascadeforest.reports.drawing.page import index_page
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers.fidelity import Declared
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store import redraw as redraw_module
from cascadeforest.reports.store import stored as stored_module
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.redraw import redraw_stored, refresh
from cascadeforest.reports.store.stored import read_provenance

Y, LEVEL = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
STAGED = np.array([[0, 1, 1, 0], [0, 1, 0, 0]])


def run(suite, staged=STAGED):
    screening.run(suite, "digits", staged, LEVEL, staged, Y)


@pytest.fixture
def ran(suite):
    """A figure and a table, run, nothing drawn."""
    screening.declare(suite.complete(), ["digits"])
    run(suite)
    return suite


@pytest.fixture
def stored(ran):
    return accept(ran.draw().root, ran.name, "first numbers")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_renderer_without_a_picture_cannot_serve_a_figure(ran, capsys):
    assert ran.command("draw", "--experiment", "hidf-table2") == 0
    assert not (ran.folder / "figures").exists()
    ran.experiment(kind="figure")
    assert ran.command("draw", "--experiment", "hidf-table2") == 2
    words = "hidf.yaml: hidf-table2/kind is 'figure', render is 'scores': this gives no picture"
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["gone", "edited", "truncated", "empty"])
def test_damaged_arrays_are_named_and_what_to_do(ran, damage):
    path = ran.root / "results/cells/ab/digits-w100-0.layer_decisions.npz"
    spoil(path, damage)
    with pytest.raises(UserError, match=rf"{path.name}: .*Run the workflow again, which makes it anew: snakemake --"):
        make_table("cs-fig4", read_results(ran.root, ran.name))


@pytest.mark.parametrize("damage", ["gone", "edited", "truncated", "empty"])
@pytest.mark.parametrize("name", ["render", "refresh", "check"])
def test_damaged_stored_arrays_are_taken_from_git_again(ran, stored, capsys, name, damage):
    path = stored / "extras/ab/digits-w100-0.layer_decisions.npz"
    spoil(path, damage)
    assert ran.command(name) == 2
    assert re.search(rf"error: .*{path.name}: .*git checkout -- .*reports/smoke/extras", capsys.readouterr().err)


def test_the_page_shows_the_picture_with_words_and_caption(ran):
    ran.draw()
    results = read_results(ran.root, ran.name)
    page = index_page(results, ran.folder, Declared())
    figure = make_table("cs-fig4", results).figure
    assert f'alt="{figure.alt}"' in page
    assert html.escape(figure.caption) in re.sub(r"</?strong>", "", page)
    assert 'href="figures/cs-fig4.png"' in page
    assert 'src="data:image/svg+xml;base64,' in page


def test_what_there_is_after_a_stopped_run_is_drawn(ran):
    """Without the mark of a complete table, so that the next run draws it again."""
    mark = ran.folder / "logs/draw/cs-fig4.complete"
    mark.parent.mkdir(parents=True)
    mark.touch()
    (ran.folder / "runs/digits/pair.json").unlink()
    assert ran.command("partial", "--only", "cs-fig4") == 0
    assert names(ran.folder / "figures") == ["cs-fig4.csv", "cs-fig4.png", "cs-fig4.svg"]
    assert names(ran.folder / "tables") == ["cs-fig4.csv", "cs-fig4.md", "cs-fig4.tex"]
    assert not mark.exists()
    assert not (ran.folder / "index.html").exists()  # it shows all experiments


def test_the_command_line_writes_picture_and_numbers_and_numbers_and_arrays_are_stored(ran):
    assert ran.command("draw", "--experiment", "cs-fig4") == 0
    assert names(ran.folder / "figures") == ["cs-fig4.csv", "cs-fig4.png", "cs-fig4.svg"]
    (ran.root / "results/cells/ab/other.npz").write_bytes(b"")  # no figure shows it
    stored = accept(ran.draw().root, ran.name, "first numbers")
    assert names(stored / "figures") == ["cs-fig4.csv"]
    assert names(stored / "extras" / "ab") == [f"digits-{model}-0.layer_decisions.npz" for model in ("pair", "w100")]


@pytest.fixture
def pictured(ran, monkeypatch):
    """The same suite as one whose pictures are stored: the folder of it, accepted."""
    monkeypatch.setattr(stored_module, "PICTURED", {ran.name})
    return accept(ran.draw().root, ran.name, "first numbers")


def test_pictures_are_stored_as_png_where_the_documentation_shows_them(ran, pictured):
    assert names(pictured / "figures") == ["cs-fig4.csv", "cs-fig4.png"]
    assert read_provenance(pictured)["matplotlib"] == matplotlib.__version__
    assert ran.found() == set()
    (pictured / "figures/cs-fig4.png").unlink()
    assert ran.found() == {("figures/cs-fig4.png", "file (redrawn from the stored cells)")}
    refresh(ran.root, ran.name)
    assert ran.found() == set()


def test_numbers_of_a_large_picture_are_drawn_again_from_the_cells(ran, pictured, monkeypatch):
    numbers = (pictured / "figures/cs-fig4.csv").read_bytes()
    monkeypatch.setattr(stored_module, "MOST_DRAWN", len(numbers) - 1)
    accept(ran.root, ran.name, "again")
    assert names(pictured / "figures") == ["cs-fig4.png"]
    assert ran.found() == set()
    report = redraw_stored(ran.root, ran.name)
    assert report.differences == ()
    assert (report.folder / "figures/cs-fig4.csv").read_bytes() == numbers


def test_a_picture_that_was_not_drawn_or_is_older_than_its_results_is_not_stored(ran, pictured):
    (ran.folder / "figures/cs-fig4.png").write_bytes(b"older")
    with pytest.raises(UserError, match=r"cs-fig4\.png is not what the results say now"):
        accept(ran.root, ran.name, "why")
    (ran.folder / "figures/cs-fig4.png").unlink()
    with pytest.raises(UserError, match=r"cs-fig4\.png was not drawn"):
        accept(ran.root, ran.name, "why")


def test_a_picture_of_another_matplotlib_may_differ_and_one_of_the_same_may_not(ran, pictured, monkeypatch):
    (pictured / "figures/cs-fig4.png").write_bytes(b"other dots")
    (difference,) = redraw_stored(ran.root, ran.name).differences
    assert "cs-fig4.png (stored) is not the picture drawn now" in difference
    monkeypatch.setattr(redraw_module.metadata, "version", lambda name: "0.1")
    assert redraw_stored(ran.root, ran.name).differences == ()
    (pictured / "figures/cs-fig4.png").unlink()
    assert len(redraw_stored(ran.root, ran.name).differences) == 1


def test_stored_numbers_that_the_cells_do_not_give_and_a_figure_that_was_not_drawn_are_drifts(ran, stored):
    numbers = stored / "figures/cs-fig4.csv"
    numbers.write_text(numbers.read_text().replace("screened,2,", "screened,3,"))
    (difference,) = redraw_stored(ran.root, ran.name).differences
    assert "+digits,gcforest_cs,level 1,screened,2," in difference
    column = "mean (drawn in the figure, redrawn from the stored cells)"
    assert ("digits / gcforest_cs / level 1 / screened", column) in ran.found()
    for path in (ran.folder / "figures").iterdir():
        path.unlink()
    assert ("figures/cs-fig4.csv", "file (redrawn from the new cells)") in ran.found()


def test_the_same_figure_passes_the_check_and_other_decisions_are_a_drift_of_table_and_picture(ran, stored):
    """The last test row becomes right at the end."""
    assert ran.drifts() == set()
    run(ran, np.array([[0, 1, 1, 0], [0, 1, 0, 1]]))
    assert ran.drifts() >= {
        ("digits / gcforest_cs / all rows / accuracy", "mean"),
        ("digits / gcforest_cs / level 1 / correct_next", "mean (drawn in the figure)"),
    }


def test_larger_suites_let_counts_of_rows_move_by_a_share_of_the_test_rows(make_suite):
    """1,000 test rows, floor 0.005: four rows more are no drift, six are."""
    suite = make_suite("quick")
    screening.declare(suite, ["digits"])
    y, level = np.zeros(1000, int), np.repeat([0, 1], 500)

    def one(more):
        staged = np.zeros((2, 2, 1000), int)
        for k, wrong in enumerate((100 - more, 110)):
            staged[k, 1, 500 : 500 + wrong] = 1
        screening.run(suite, "digits", staged[0], level, staged[1], y)

    one(0)
    suite.stored()
    one(4)
    assert suite.drifts() == set()
    one(6)
    assert ("digits / gcforest_cs / last level, against gcforest / additional_correct", "mean") in suite.drifts()


def test_names_of_clip_paths_are_their_order_of_use():
    """The solver of the layout moves places in the last bits, which matplotlib makes these names of."""
    svg = b'<g clip-path="url(#p0123456789)"/><g clip-path="url(#pabcdef0123)"/><g clip-path="url(#p0123456789)"/>'
    svg += b'<use xlink:href="#pd0123456789"/><clipPath id="pabcdef0123"/><clipPath id="p0123456789"/>'
    numbered = b'<g clip-path="url(#clip1)"/><g clip-path="url(#clip2)"/><g clip-path="url(#clip1)"/>'
    numbered += b'<use xlink:href="#pd0123456789"/><clipPath id="clip2"/><clipPath id="clip1"/>'
    assert _numbered(svg) == numbered
