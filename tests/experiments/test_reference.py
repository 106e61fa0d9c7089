"""Generated pages agree with what they are generated from."""

import csv
import shutil
from pathlib import Path

import pytest
import yaml

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.registry import load_dataset_files
from cascadeforest.experiments import reference
from cascadeforest.experiments.batches import cost_lines, expected_costs, read_costs, training_rows
from cascadeforest.experiments.cost_page import cost_tables
from cascadeforest.experiments.resolve import load_plan

ROOT = Path(__file__).parents[2]
ROWS = training_rows(load_dataset_files(ROOT / "config" / "datasets"))


@pytest.fixture
def copy(tmp_path):
    for name in ("workflow/schemas", "config", "reports/standard/tables"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "docs/models.md", "docs/cost.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for costs in (ROOT / "reports").glob("*/costs.csv"):
        (tmp_path / "reports" / costs.parent.name).mkdir(exist_ok=True)
        shutil.copy(costs, tmp_path / "reports" / costs.parent.name)
    return tmp_path


def test_the_generated_pages_are_current():
    difference = reference.differences(ROOT)
    assert not difference, f"{difference}\nRun: python -m cascadeforest.experiments reference --write"


def test_a_new_key_makes_the_page_stale_until_it_is_renewed(copy):
    path = copy / "workflow/schemas/config.schema.yaml"
    schema = yaml.safe_load(path.read_text())
    schema["properties"]["colour"] = {"type": "string", "description": "Of the page."}
    path.write_text(yaml.safe_dump(schema, sort_keys=False))
    assert "+| `colour` | string |  | Of the page. |" in reference.differences(copy)
    assert reference.write(copy) == [Path("config/README.md")]
    assert reference.differences(copy) == ""


def test_the_table_of_verdicts_says_how_many_answers_were_known(copy):
    stored = copy / "reports/standard/tables/claims.csv"
    head = stored.read_text().splitlines()[0]
    known, fresh = "exploratory: known before", ", and new repeats alone say supported"
    claims = {"hidf-a": ("supported", f"{known}{fresh}"), "hidf-b": ("contradicted", f"{known}; post hoc: changed")}
    claims |= {"mddf-c": ("open: no power", known), "ours-d": ("supported", ""), "ours-e": ("descriptive only", known)}
    claims |= {"hidf-f": ("not exercised", f"{known}; post hoc: changed")}
    rows = {name: dict.fromkeys(head.split(","), "") for name in claims}
    for name, (mark, note) in claims.items():
        rows[name] |= {"model": name, "metric": "verdict", "mark": mark, "note": note}
    with stored.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, head.split(","))
        writer.writeheader()
        writer.writerows(rows.values())
    assert "3 claims are decided. The answer to 2 of them was known" in reference.verdict_table(copy)
    words = "of these, 1 have the same verdict by later repeats alone. 1 decided claims were changed or added"
    assert "(post hoc), and 2 of all claims." in reference.verdict_table(copy)
    assert words in reference.verdict_table(copy)


@pytest.mark.parametrize("name", ["config", "dataset", "models", "papers", "experiments"])
def test_every_key_has_a_description(name):
    def undescribed(schema, place=""):
        for key, value in schema.get("properties", {}).items():
            if "description" not in value:
                yield f"{place}{key}"
            yield from undescribed(value, f"{place}{key}.")
        for inner in (schema.get("additionalProperties"), schema.get("items")):
            if isinstance(inner, dict):
                yield from undescribed(inner, f"{place}*.")

    assert list(undescribed(yaml.safe_load((ROOT / f"workflow/schemas/{name}.schema.yaml").read_text()))) == []


@pytest.mark.parametrize("page", ["README.md", "docs/models.md", "docs/cost.md"])
def test_a_page_without_its_marks_is_named(copy, page):
    (copy / page).write_text("# nothing here\n")
    with pytest.raises(ConfigError, match=f"{page} lacks"):
        reference.pages(copy)


def test_the_page_of_costs_adds_up_as_the_list_of_experiments_does():
    plan = load_plan(ROOT, {"suite": "paper"})
    listed = cost_lines(
        plan,
        expected_costs(plan.runs, read_costs(ROOT), ROWS),
        30,
        {},
    )
    hours = float(next(line for line in listed if line.startswith("all, shared")).split()[4])
    cells = next(line for line in cost_tables(ROOT).splitlines() if line.startswith("| all, shared")).split(" | ")
    assert float(cells[1].replace(",", "")) == pytest.approx(hours, abs=0.51)
    assert int(cells[2]) == len(plan.runs)
