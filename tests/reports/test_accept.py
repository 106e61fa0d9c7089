"""Storing tables, and drawing the stored ones again."""

import json
import re
import shutil

import pytest
from tests.reports.conftest import snapshot

from cascadeforest.data.errors import UserError
from cascadeforest.experiments.accepted import new_folder, recover
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store import stored as stored_module
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.redraw import redraw_stored, refresh
from cascadeforest.reports.store.stored import pack, read_provenance, read_stored

TABLE = "tables/hidf-table2.csv"


@pytest.fixture
def run_suite(suite):
    return suite.complete().draw()


@pytest.fixture
def stored(run_suite):
    return accept(run_suite.root, "smoke", "first numbers")


def test_cells_csv_markdown_and_provenance_are_stored_which_says_why_and_where_from(run_suite):
    figures = run_suite.folder / "figures"
    figures.mkdir()
    (figures / "left-over.svg").write_text("<svg/>")
    stored = accept(run_suite.root, "smoke", "first numbers")
    kept = ["cells.json.gz", "costs.csv", "provenance.json", "ro-crate-metadata.json", TABLE, "tables/hidf-table2.md"]
    assert sorted(snapshot(stored)) == kept
    run_suite.run("adult", "gbdt", [0.90, 0.92], versions={"numpy": "2.5.0"}, git_commit="abc")
    run_suite.draw()
    assert (stored / "costs.csv").read_text().splitlines()[1] == "adult,gbdt,2.00,20,10,100,1,1.50,0.50,peak"
    facts = read_provenance(accept(run_suite.root, "smoke", " new trees "))
    assert facts["message"] == "new trees"
    assert (facts["cells"], facts["cells_without_rows"]) == (4, 4)
    assert facts["cpu_seconds"] == 8.0  # four cells of 1.5 + 0.5
    assert facts["versions"]["numpy"] == ["2.4.6", "2.5.0"]
    assert facts["run_commits"] == ["abc", "not a checkout"]
    assert facts["run_dates"] == ["2026-05-28"]
    assert facts["code_digests"] == {"somewhere:gbdt": ["c0de"], "somewhere:random_forest": ["c0de"]}
    assert facts["suite_config"]["repeats"] == 2
    assert facts["hosts"][0]["processor"] == "A CPU"


def test_stored_cells_are_the_results_and_the_same_bytes_every_time(run_suite, stored):
    before, after = read_results(run_suite.root, "smoke"), read_stored(run_suite.root, "smoke")
    assert (after.plan, after.runs, after.summaries) == (before.plan, before.runs, before.summaries)
    results = read_results(run_suite.root, "smoke")
    assert pack(results, {}) == pack(results, {})
    assert pack(results, {})[4:8] == bytes(4)  # no time in the gzip header


def test_a_clean_checkout_draws_every_form_again(run_suite, stored, capsys):
    for folder in ("results", "data"):
        shutil.rmtree(run_suite.root / folder)
    assert run_suite.command("render") == 0
    assert "1 tables and the page drawn from the stored cells: all as stored" in capsys.readouterr().out
    again, before = snapshot(run_suite.root / "results/smoke/stored"), snapshot(stored)
    assert sorted(again) == ["index.html", *(f"tables/hidf-table2{suffix}" for suffix in (".csv", ".md", ".tex"))]
    kept = {name for name in before if name.startswith("tables")}
    assert kept == again.keys() & before.keys()
    assert {name: again[name] for name in kept} == {name: before[name] for name in kept}
    assert b"4 have no predictions of single test rows" in again["index.html"]


def test_drawing_again_leaves_nothing_of_earlier_and_shows_what_the_cells_do_not_give(run_suite, stored, capsys):
    left = run_suite.folder / "stored/figures/hidf-table2.svg"
    left.parent.mkdir(parents=True)
    left.write_text("<svg/>")
    assert redraw_stored(run_suite.root, "smoke").differences == ()
    assert not left.exists()
    (stored / TABLE).write_text((stored / TABLE).read_text().replace("0.91,", "0.99,"))
    assert run_suite.command("render") == 1
    out = capsys.readouterr().out
    assert "-adult,gbdt,,accuracy,0.99," in out
    assert "+adult,gbdt,,accuracy,0.91," in out
    assert "1 files are not as stored" in out


def test_other_words_are_stored_again_and_cells_stay(run_suite, stored, capsys):
    """What refresh is for: words changed, and forms that were once stored are gone."""
    before = snapshot(stored)
    (stored / "tables/hidf-table2.md").write_text("Other words.\n")
    (stored / "tables/hidf-table2.tex").write_text("Once stored.\n")
    shutil.rmtree(run_suite.root / "results")
    assert run_suite.command("refresh") == 0
    assert "written again: " in capsys.readouterr().out
    assert snapshot(stored) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("number", f"adult / gbdt / accuracy: mean ({TABLE}): stored 0.99, new 0.91"),
        ("row", f"adult / gbdt / accuracy: row ({TABLE}): stored (nothing), new there"),
        ("no table", f"{TABLE}: file: stored (nothing), new there"),
        ("more tables", "tables/hidf-table9.csv: file: stored there, new (nothing)"),
    ],
)
def test_numbers_that_would_change_are_refused_and_named(run_suite, stored, change, words):
    table = stored / TABLE
    lines = table.read_text()
    if change == "no table":
        table.unlink()
    elif change == "more tables":
        table.with_name("hidf-table9.csv").write_text(lines)
    else:
        table.write_text(lines.replace("0.91,", "0.99,") if change == "number" else lines[: lines.index("adult,gbdt")])
    before = snapshot(stored)
    with pytest.raises(UserError) as caught:
        refresh(run_suite.root, "smoke")
    assert "numbers would change" in str(caught.value)
    assert words in str(caught.value)
    assert snapshot(stored) == before


def test_rows_that_are_not_stored_can_be_added_but_no_number_changed(run_suite, stored, capsys):
    table, before = stored / TABLE, snapshot(stored)
    lines = table.read_text()
    table.write_text(lines[: lines.index("adult,gbdt")])
    assert run_suite.command("refresh", "--add") == 0
    assert snapshot(stored) == before
    for other, words in (("0.99", "stored 0.99, new 0.91"), ("", "stored (nothing), new 0.91")):
        table.write_text(lines.replace("0.91,", f"{other},"))
        assert run_suite.command("refresh", "--add") == 2
        assert words in capsys.readouterr().err
    table.write_text(lines + lines[lines.index("adult,gbdt") :].replace("gbdt", "lost"))
    assert run_suite.command("refresh", "--add") == 2
    assert "stored there, new (nothing)" in capsys.readouterr().err
    table.unlink()
    assert run_suite.command("refresh", "--add") == 2


@pytest.mark.parametrize(
    ("arguments", "missing"), [(["render"], "stored"), (["refresh"], "stored"), (["accept", "--message", "why"], "run")]
)
def test_drawing_and_storing_nothing_is_an_error(suite, capsys, arguments, missing):
    assert suite.command(*arguments) == 2
    assert re.search(f"nothing (is|was) {missing} for the suite 'smoke'", capsys.readouterr().err)


def test_a_reason_and_tables_of_the_results_that_there_are_now_are_required(run_suite, capsys):
    assert "--message is empty" in run_suite.refused(message="  ")
    assert run_suite.command("accept") == 2
    assert "MESSAGE=" in capsys.readouterr().err
    run_suite.run("adult", "gbdt", [0.1, 0.1])
    assert "hidf-table2.csv is not what the results say now" in run_suite.refused()
    (run_suite.folder / TABLE).unlink()
    assert "hidf-table2.csv was not drawn" in run_suite.refused()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("failed", "gbdt on adult failed (repeat 0): MemoryError"),
        ("missing", "gbdt on adult has not run, or not with 2 repeats"),
        ("too few repeats", "gbdt on adult has not run, or not with 2 repeats"),
        ("other data", "gbdt on adult was run on other data (digest da7a, now 0ther)"),
        ("no data", "adult is not prepared"),
    ],
)
def test_incomplete_results_and_those_of_other_data_are_not_stored(run_suite, stored, how, words):
    if how == "failed":
        run_suite.fail("adult", "gbdt")
    elif how == "missing":
        run_suite.lose("adult", "gbdt")
    elif how == "too few repeats":
        run_suite.run("adult", "gbdt", [0.9])
    elif how == "other data":
        run_suite.summary("adult", digest="0ther")
    else:
        (run_suite.root / "data/processed/adult.json").unlink()
    run_suite.draw()
    assert words in run_suite.refused()


def test_runs_of_another_configuration_are_not_stored(run_suite):
    """A bound was changed and only the plan made anew: the run files are of the old one, and so were the tables."""
    run_suite.plan_run("adult", "gbdt", params={"n_estimators": 500})
    run_suite.run("adult", "gbdt", [0.90, 0.92])
    accept(run_suite.draw().root, "smoke", "500 trees")
    run_suite.plan_run("adult", "gbdt", params={"n_estimators": 5})
    text = run_suite.refused()
    assert "gbdt on adult was run by another configuration (other params)" in text
    assert "make run SUITE=smoke" in text


def test_a_kill_between_the_two_renames_is_mended(tmp_path):
    """The worst moment: the old folder has stepped aside, the new one is not there yet."""
    folder = tmp_path / "smoke"
    folder.mkdir()
    (folder / "file").write_text("old")
    (tmp_path / ".smoke.new.abc").mkdir()
    folder.rename(tmp_path / ".smoke.old")
    recover(folder)
    assert snapshot(tmp_path) == {"smoke/file": b"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["smoke"]


def test_a_new_folder_takes_the_place_of_the_old_one_whole(tmp_path):
    folder = tmp_path / "smoke"
    folder.mkdir()
    (folder / "gone").write_text("old")
    with new_folder(folder) as new:
        (new / "kept").write_text("new")
        assert snapshot(folder) == {"gone": b"old"}
    assert snapshot(tmp_path) == {"smoke/kept": b"new"}
    assert folder.stat().st_mode & 0o755 == 0o755


def test_accepting_again_replaces_the_reports_unless_it_fails_half_way(run_suite, stored, monkeypatch):
    run_suite.run("adult", "gbdt", [0.5, 0.5])
    accept(run_suite.draw().root, "smoke", "second numbers")
    assert "adult,gbdt,,accuracy,0.5," in (stored / TABLE).read_text()
    assert sorted(path.name for path in stored.parent.iterdir()) == ["published", "smoke"]
    assert json.loads((stored / "provenance.json").read_text())["message"] == "second numbers"
    before = snapshot(run_suite.root / "reports")

    def out_of_space(results, rows):
        raise OSError("no space left on device")

    monkeypatch.setattr(stored_module, "pack", out_of_space)
    with pytest.raises(OSError, match="no space"):
        accept(run_suite.root, "smoke", "second numbers")
    assert snapshot(run_suite.root / "reports") == before
    assert stored.is_dir()
