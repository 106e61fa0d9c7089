"""`tools/recompute.py` agrees with the stored reports, shares no code with them, and sees single changed numbers."""

import ast
import csv
import gzip
import importlib.util
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cascadeforest.reports.store import stored

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tools" / "recompute.py"
PAGES = {"README.md": "check_readme", "docs/fidelity.md": "check_fidelity", "config/fidelity.yaml": ""}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("recompute", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def standard(script):
    return script.Store(ROOT, "standard")


@pytest.fixture
def recompute(script, monkeypatch, capsys):
    """Run the script on a folder; returns exit status and output."""

    def run(root, *suites):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *suites, "--root", str(root)])
        return script.main(), capsys.readouterr().out

    return run


def copied(tmp_path, suite):
    """A folder with the stored report of a suite, whose tables can be changed."""
    stored = tmp_path / "reports" / suite
    stored.mkdir(parents=True)
    for path in (ROOT / "reports" / suite).iterdir():
        if path.name == "tables":
            shutil.copytree(path, stored / "tables")
        else:
            (stored / path.name).symlink_to(path)
    (tmp_path / "reports" / "published").symlink_to(ROOT / "reports" / "published")
    return tmp_path


def test_it_shares_no_code_and_is_short():
    text = SCRIPT.read_text(encoding="utf-8")
    names = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert names - sys.stdlib_module_names == {"numpy", "scipy"}
    assert len(text.splitlines()) <= 500


def test_the_stored_numbers_are_those_that_the_cells_give(recompute):
    status, words = recompute(ROOT)
    assert status == 0, words
    n_same, n_left = (
        int(one.replace(",", "")) for one in re.findall(r"([\d,]+) (?:numbers recomputed|rows not)", words)
    )
    assert n_same > 5 * n_left  # a rule that finds nothing would be silent
    assert "Not recomputed:" in words


@pytest.mark.parametrize(
    ("table", "metric", "column"),
    [
        ("hidf-table2", "accuracy", "mean"),
        ("hidf-table2", "accuracy", "std"),
        ("hidf-table2", "accuracy", "n"),
        ("hidf-table2", "accuracy", "n_test"),
        ("hidf-table2", "accuracy", "rank"),
        ("hidf-table2", "accuracy", "mark"),
        ("hidf-table2", "accuracy_difference", "low"),
        ("hidf-table2", "accuracy_difference", "high"),
        ("hidf-table2", "accuracy_difference", "smallest"),
        ("hidf-table2", "accuracy_difference", "mark"),
        ("hidf-table2", "win", "mean"),
        ("hidf-table2", "decided_undecided", "mean"),
        ("hidf-table2", "win", "published"),
        ("mddf-table1", "average_rank", "mean"),
        ("hidf-table3", "fit_cpu_seconds_ratio", "mean"),
        ("interp-table3", "rmse_difference", "mean"),
        ("interp-table4", "roc_auc", "mean"),
        ("interp-table4", "roc_auc", "rank"),
        ("ddbf-table3", "roc_auc_difference", "mean"),
        ("self-check", "accuracy_difference", "high"),
        ("arena", "balanced_accuracy_difference", "low"),
        ("arena", "log_loss_difference", "high"),
        ("arena-ranks", "average_rank", "mean"),
    ],
)
def test_one_changed_number_of_a_table_is_found(recompute, tmp_path, table, metric, column):
    path = copied(tmp_path, "smoke") / f"reports/smoke/tables/{table}.csv"
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    row = next(row for row in rows if row["metric"] == metric and row["mean"] and row[column])
    before = row[column]
    row[column] = "else" if column == "mark" else f"{float(before) * 1.0001 + 1e-7:.10g}"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(row))
        writer.writeheader()
        writer.writerows(rows)
    status, words = recompute(tmp_path, "smoke")
    assert status == 1
    where = (
        f"reports/smoke/tables/{table}.csv: {row['dataset']}, {row['model']}, {row['condition']}, {metric}: {column}"
    )
    assert words.startswith(f"{where}: stored {row[column]}, recomputed ")


def other_digit(cell):
    """The text with another last digit."""
    at = max(place for place, letter in enumerate(cell) if letter.isdigit())
    return f"{cell[:at]}{(int(cell[at]) + 5) % 10}{cell[at + 1 :]}"


@pytest.mark.parametrize(
    ("page", "line", "column"),
    [
        ("README.md", r"\| hiDF \| \d+ \|", 2),  # supported claims
        ("README.md", r"\| hiDF \| \d+ \|", 3),  # contradicted ones
        # Line of a graded number: published, reproduced, difference, twice the standard deviation
        *(
            ("docs/fidelity.md", r"\|.*\| accuracy \(%\) \|.*± .*± .*\|.*× [\d,]+ \|", column)
            for column in (5, 6, 7, 8)
        ),
        ("docs/fidelity.md", r"\|.*× [\d,]+ \| within", 10),
        *(("docs/fidelity.md", r"\| mdDF \| \d", column) for column in range(2, 12)),
        ("docs/fidelity.md", r"\| all \| \d", 2),
    ],
)
def test_one_changed_number_of_a_page_is_found(script, standard, monkeypatch, tmp_path, page, line, column):
    for name in ("docs", "config"):
        (tmp_path / name).mkdir()
    for name in PAGES:
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "reports").symlink_to(ROOT / "reports")
    monkeypatch.setattr(standard, "root", tmp_path)

    def differing():
        compared = getattr(script, PAGES[page])(standard)
        return [place for place, left, stored, found in compared if not left and not script.is_same(stored, found)]

    assert differing() == []
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    at = next(place for place, text in enumerate(lines) if re.match(line, text))
    cells = lines[at].split("|")
    cells[column] = " one point " if "within" in cells[column] else other_digit(cells[column])
    lines[at] = "|".join(cells)
    (tmp_path / page).write_text("\n".join(lines), encoding="utf-8")
    assert any(place.startswith(page) for place in differing())


def test_comparisons_of_claims_and_the_numbers_that_decide_are_recomputed(script, standard):
    table = standard.tables["claims"]
    known = [row for row in table.rows if script.key_of(row) in table.found]
    assert {"verdict", "accuracy_difference", "roc_auc_difference"} <= {row["metric"] for row in known}
    for row in known:
        found = table.found[script.key_of(row)]
        assert script.is_same(row["mean"], found["mean"])
        assert not script.is_same(f"{float(row['mean']) + 1e-6:.10g}", found["mean"])


def test_a_changed_cell_is_found_too(recompute, tmp_path):
    """Cells and tables must agree: who changes both must change all that follows."""
    import gzip
    import json

    path = copied(tmp_path, "smoke") / "reports/smoke/cells.json.gz"
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["runs"][0]["cells"][0]["metrics"]["accuracy"] += 1e-6
    path.unlink()
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    assert recompute(tmp_path, "smoke")[0] == 1


@pytest.mark.parametrize(
    ("name", "few", "least"),
    [
        ("hidf-table2", {"gbdt_official": 1, "svm_scaled": 0, "gcforest_cs_official": 2}, 1000),
        ("cs-table2", {"gcforest_cs_gates": 1, "gcforest_100": 2, "gcforest_extra": 0}, 400),
        ("cs-table2", {"gcforest": 1, "gcforest_20": 2}, 400),
    ],
)
def test_columns_with_fewer_repeats_are_recomputed_over_the_repeats_of_both(tmp_path, script, name, few, least):
    """A table, and the one of claims, drawn as if some columns had one repeat, two or none."""
    root, results = copied(tmp_path, "standard"), stored.read_stored(ROOT, "standard")
    table = results.experiments[name]
    fewer = {row: {one: n for one, n in few.items() if n < table.repeats[row]} for row in table.present()}
    declared = results.plan.experiments | {table.id: replace(table, fewer_repeats=fewer)}
    results = replace(results, plan=replace(results.plan, experiments=declared))
    for file, content in stored.drawn_files(results, names=[table.id, "claims"]).items():
        (root / "reports" / "standard" / file).write_bytes(content)
    for path in (root / "reports" / "standard" / "tables").glob("*.csv"):
        if path.stem not in (table.id, "claims"):
            path.unlink()
    cells = root / "reports" / "standard" / "cells.json.gz"
    content = json.loads(gzip.decompress(cells.read_bytes()))
    content["plan"]["experiments"][table.id]["fewer_repeats"] = fewer
    cells.unlink()  # a link
    cells.write_bytes(gzip.compress(json.dumps(content).encode()))
    found = [one for one in script.check_tables(script.Store(root, "standard")) if table.id in one[0] and not one[1]]
    assert len(found) > least
    assert [one for one in found if not script.is_same(*one[2:])] == []
