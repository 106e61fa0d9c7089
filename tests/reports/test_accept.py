"""Storing tables, and drawing the stored ones again."""

import gzip
import json
import shutil

import pytest

from cascadeforest.data.errors import UserError
from cascadeforest.reports import accept as accept_module
from cascadeforest.reports.__main__ import main
from cascadeforest.reports.accept import accept
from cascadeforest.reports.results import pack, read_results, read_stored
from cascadeforest.reports.storage import new_folder, recover
from cascadeforest.reports.stored import render_stored


@pytest.fixture
def run_suite(suite):
    """A complete suite with its tables drawn."""
    suite.complete()
    suite.draw()
    return suite


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_everything_is_stored(run_suite):
    figures = run_suite.folder / "figures"
    figures.mkdir()
    (figures / "left-over.svg").write_text("<svg/>")
    stored = accept(run_suite.root, "smoke", "first numbers")
    assert sorted(snapshot(stored)) == [
        "cells.json.gz",
        "index.html",
        "provenance.json",
        "tables/hidf-table2.csv",
        "tables/hidf-table2.md",
        "tables/hidf-table2.tex",
    ]


def test_provenance_says_why_and_where_from(run_suite):
    run_suite.run("adult", "gbdt", [0.90, 0.92], versions={"numpy": "2.5.0"}, git_commit="abc")
    run_suite.draw()
    facts = json.loads((accept(run_suite.root, "smoke", " new trees ") / "provenance.json").read_text())
    assert facts["message"] == "new trees"
    assert facts["cells"] == 4
    assert facts["cpu_seconds"] == 8.0  # four cells of 1.5 + 0.5
    assert facts["versions"]["numpy"] == ["2.4.6", "2.5.0"]
    assert facts["run_commits"] == ["abc", "not a checkout"]
    assert facts["run_dates"] == ["2026-05-28"]
    assert facts["code_digests"] == {"somewhere:gbdt": ["c0de"], "somewhere:random_forest": ["c0de"]}
    assert facts["suite_config"]["repeats"] == 2
    assert facts["hosts"][0]["processor"] == "A CPU"


def test_the_stored_cells_are_the_same_bytes_every_time(run_suite):
    results = read_results(run_suite.root, "smoke")
    assert pack(results) == pack(results)
    assert pack(results)[4:8] == bytes(4)  # no time in the gzip header


def test_stored_results_are_the_results(run_suite):
    accept(run_suite.root, "smoke", "first numbers")
    before, after = read_results(run_suite.root, "smoke"), read_stored(run_suite.root, "smoke")
    assert (after.plan, after.runs, after.summaries) == (before.plan, before.runs, before.summaries)


def test_a_clean_checkout_draws_the_stored_tables_again(run_suite, capsys):
    stored = accept(run_suite.root, "smoke", "first numbers")
    shutil.rmtree(run_suite.root / "results")
    shutil.rmtree(run_suite.root / "data")
    assert main(["render", "--suite", "smoke", "--root", str(run_suite.root)]) == 0
    assert "1 tables and the page drawn from the stored cells: all as stored" in capsys.readouterr().out
    again = run_suite.root / "results/smoke/stored"
    assert snapshot(again / "tables") == snapshot(stored / "tables")
    assert (again / "index.html").read_text() == (stored / "index.html").read_text()


def test_a_stored_table_that_its_cells_do_not_give_is_shown_as_a_difference(run_suite, capsys):
    stored = accept(run_suite.root, "smoke", "first numbers")
    table = stored / "tables/hidf-table2.csv"
    table.write_text(table.read_text().replace("0.91,", "0.99,"))
    assert main(["render", "--suite", "smoke", "--root", str(run_suite.root)]) == 1
    out = capsys.readouterr().out
    assert "-adult,gbdt,,accuracy,0.99," in out
    assert "+adult,gbdt,,accuracy,0.91," in out
    assert "1 files are not as stored" in out


def test_a_stored_page_that_its_cells_do_not_give_is_named(run_suite, capsys):
    page = accept(run_suite.root, "smoke", "first numbers") / "index.html"
    page.write_text(page.read_text().replace("91.00", "99.00"))
    assert main(["render", "--suite", "smoke", "--root", str(run_suite.root)]) == 1
    out = capsys.readouterr().out
    assert "reports/smoke/index.html (stored) is not the page drawn now" in out
    assert "1 files are not as stored" in out


def test_the_page_is_drawn_with_the_stored_figures_and_no_others(run_suite):
    """Pictures of an earlier drawing, and files that are being written, are no part of what is stored."""
    stored = accept(run_suite.root, "smoke", "first numbers")
    left = run_suite.folder / "stored/figures/hidf-table2.svg"
    left.parent.mkdir(parents=True)
    left.write_text("<svg/>")
    (stored / "figures").mkdir()
    (stored / "figures/.hidf-table2.abc.svg").write_text("<svg")
    assert render_stored(run_suite.root, "smoke").differences == ()
    assert not (left.parent / ".hidf-table2.abc.svg").exists()


def test_rendering_without_anything_stored_is_an_error(suite, capsys):
    assert main(["render", "--suite", "smoke", "--root", str(suite.root)]) == 2
    assert "nothing is stored for the suite 'smoke'" in capsys.readouterr().err


def test_stored_cells_of_another_format_are_refused(run_suite):
    path = accept(run_suite.root, "smoke", "first numbers") / "cells.json.gz"
    content = json.loads(gzip.decompress(path.read_bytes())) | {"format": 99}
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(UserError, match="format is 99; this version reads 1"):
        render_stored(run_suite.root, "smoke")


def refused(suite, message="why"):
    """The reason why accept refuses; nothing may have changed."""
    before = snapshot(suite.root / "reports")
    with pytest.raises(UserError) as caught:
        accept(suite.root, suite.name, message)
    assert snapshot(suite.root / "reports") == before
    return str(caught.value)


def test_a_reason_is_required(run_suite, capsys):
    assert "--message is empty" in refused(run_suite, message="  ")
    assert main(["accept", "--suite", "smoke", "--root", str(run_suite.root)]) == 2
    assert "MESSAGE=" in capsys.readouterr().err


def test_failed_cells_are_not_stored(run_suite):
    accept(run_suite.root, "smoke", "first numbers")
    (run_suite.folder / "runs/adult/gbdt.json").unlink()
    run_suite.fail("adult", "gbdt", "MemoryError", "no room")
    run_suite.draw()
    assert "gbdt on adult failed (repeat 0): MemoryError" in refused(run_suite)


def test_missing_results_are_not_stored(run_suite):
    (run_suite.folder / "runs/adult/gbdt.json").unlink()
    run_suite.draw()
    assert "gbdt on adult has not run, or not with 2 repeats" in refused(run_suite)


def test_a_run_with_too_few_repeats_is_not_stored(run_suite):
    run_suite.run("adult", "gbdt", [0.9])
    run_suite.draw()
    assert "gbdt on adult has not run, or not with 2 repeats" in refused(run_suite)


def test_runs_of_another_configuration_are_not_stored(run_suite):
    """A bound was changed and only the plan made anew: the run files are of the old one, and so were the tables."""
    run_suite.plan_run("adult", "gbdt", params={"n_estimators": 500})
    run_suite.run("adult", "gbdt", [0.90, 0.92])
    run_suite.draw()
    accept(run_suite.root, "smoke", "500 trees")
    run_suite.plan_run("adult", "gbdt", params={"n_estimators": 5})
    text = refused(run_suite)
    assert "gbdt on adult was run by another configuration (other params)" in text
    assert "snakemake --cores all --config suite=smoke" in text


def test_runs_on_other_data_are_not_stored(run_suite):
    run_suite.summary("adult", digest="0ther")
    run_suite.draw()
    assert "gbdt on adult was run on other data (digest da7a, now 0ther)" in refused(run_suite)


def test_data_that_is_not_prepared_is_not_stored(run_suite):
    (run_suite.root / "data/processed/adult.json").unlink()
    run_suite.draw()
    assert "adult is not prepared" in refused(run_suite)


def test_tables_that_are_older_than_their_results_are_not_stored(run_suite):
    run_suite.run("adult", "gbdt", [0.1, 0.1])
    assert "hidf-table2.csv is not what the results say now" in refused(run_suite)


def test_tables_that_were_not_drawn_are_not_stored(run_suite):
    (run_suite.folder / "tables/hidf-table2.tex").unlink()
    assert "hidf-table2.tex was not drawn" in refused(run_suite)


def test_nothing_run_cannot_be_stored(suite, capsys):
    assert main(["accept", "--suite", "smoke", "--message", "why", "--root", str(suite.root)]) == 2
    assert "nothing was run for the suite 'smoke'" in capsys.readouterr().err


def test_a_store_that_fails_half_way_leaves_the_old_reports(run_suite, monkeypatch):
    stored = accept(run_suite.root, "smoke", "first numbers")
    before = snapshot(run_suite.root / "reports")

    def out_of_space(results):
        raise OSError("no space left on device")

    monkeypatch.setattr(accept_module, "pack", out_of_space)
    with pytest.raises(OSError, match="no space"):
        accept(run_suite.root, "smoke", "second numbers")
    assert snapshot(run_suite.root / "reports") == before
    assert stored.is_dir()


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


def test_accepting_again_replaces_the_reports(run_suite):
    accept(run_suite.root, "smoke", "first numbers")
    run_suite.run("adult", "gbdt", [0.5, 0.5])
    run_suite.draw()
    stored = accept(run_suite.root, "smoke", "second numbers")
    assert "adult,gbdt,,accuracy,0.5," in (stored / "tables/hidf-table2.csv").read_text()
    assert sorted(path.name for path in stored.parent.iterdir()) == ["published", "smoke"]
