"""Snakemake end to end, in a copy of the repository with a small configuration of its own.

Snakemake takes seconds to start, and so does each job: tests share one finished run as far as they can, and what the
package says of a configuration is asked of the package, where Snakemake only passes it on.
"""

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from cascadeforest.data.errors import UserError
from cascadeforest.experiments.resolve import load_plan
from cascadeforest.reports.numbers import metrics

ROOT = Path(__file__).parents[2]
COST = {*metrics.COSTS, *metrics.COST_RATIOS}
#: What checks of claims measure, in the note of their verdict.
GROWTH = ("exponents of", "six layers take")

pytestmark = pytest.mark.workflow

EXPERIMENTS = """
mini-scores:
  title: Two models on two data sets
  kind: table
  render: scores
  metrics: [accuracy, fit_cpu_seconds]
  models: {random_forest: random_forest, mlp: mlp}
  marks: best
  datasets: {smoke: [iris, wine+rows-100]}
mini-fragile:
  title: A model that may die
  kind: table
  render: scores
  metrics: [accuracy]
  models: {fragile: fragile, random_forest: random_forest}
  datasets: {smoke: [iris]}
mini-future:
  title: A table that cannot be drawn yet
  kind: table
  render: not_written_yet
  datasets: {smoke: [iris]}
arena:
  title: Own data and models
  kind: table
  render: scores
  metrics: [accuracy]
  models: {random_forest: random_forest}
  takes_own: true
  datasets: {smoke: [iris]}
mini-ranks:
  title: Ranks of the same models
  kind: figure
  render: rank_diagram
  metrics: [accuracy]
  models: {random_forest: random_forest, mlp: mlp}
  datasets: {smoke: [iris, wine+rows-100]}
  options: {control: random_forest}
claims:
  title: Claims about these models
  kind: claims
  render: claims
  datasets: {smoke: []}
"""

#: One is judged by a table, the other by what `claim_checks` runs.
CLAIMS = """
ours-forest-above-chance:
  paper: ours
  quotation: ""
  where: this test
  says: The random forest is right on more than a third of the rows of iris.
  statistic: value
  rule: above
  value: 0.3333
  evidence: [{experiment: mini-scores, datasets: [iris], model: random_forest, metric: accuracy, bounded: true}]
ours-additive:
  paper: ours
  quotation: ""
  where: this test
  says: Contributions and bias add up to the prediction.
  statistic: run
  rule: holds
  check: additivity
"""

FRAGILE = """
from pathlib import Path
from sklearn.dummy import DummyClassifier

class Fragile(DummyClassifier):
    def fit(self, X, y):
        if Path("armed").exists() and len(y) > 60:
            raise MemoryError("armed")
        return super().fit(X, y)
"""

MODEL = """
fragile:
  label: fragile
  estimator: {classification: "cascadeforest.baselines.fragile:Fragile"}
  libraries: []
"""


#: All runs but one fit into one training job.
COSTS = """dataset,model,seconds,mib,size,rows
iris,random_forest,1,1,10,105
iris,mlp,1,1,20,105
iris,fragile,1,1,0,105
wine+rows-100,random_forest,1,1,10,100
"""


def copy_repository(folder):
    for name in ("Snakefile", "workflow", "profiles", "config", "src", "reports/published", "environment.yml"):
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, target)


class Checkout:
    """A copy of the repository in which Snakemake runs; its own `src` comes first on the path."""

    def __init__(self, folder):
        self.folder = folder
        scripts = str(Path(sys.executable).parent)
        self.environment = os.environ | {
            "PYTHONPATH": str(folder / "src"),
            "PATH": scripts + os.pathsep + os.environ["PATH"],
        }
        self.environment.pop("CASCADEFOREST_MIRROR", None)

    def snakemake(self, *arguments, check=True):
        command = [sys.executable, "-m", "snakemake", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=600
        )
        done.output = done.stdout + done.stderr
        assert not check or done.returncode == 0, done.output
        return done

    def planned(self, *arguments):
        """Jobs of a dry run, by rule."""
        output = self.snakemake("-n", *arguments).output
        return {m[1]: int(m[2]) for m in re.finditer(r"^(\S+) +(\d+)$", output, re.MULTILINE)}

    def cells(self):
        """Names of the cells behind each run, by data set and model."""
        folder = self.folder / "results/smoke/runs"
        runs = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.glob("*/*.json")}
        return {name: [cell["key"] for cell in json.loads(path.read_text())["cells"]] for name, path in runs.items()}

    def files(self):
        ignored = {".snakemake", "__pycache__"}
        return {path for path in self.folder.rglob("*") if not ignored & set(path.parts)}

    def table(self, name):
        with (self.folder / f"results/smoke/tables/{name}.csv").open(newline="") as stream:
            return list(csv.DictReader(stream))

    def exact_tables(self):
        """Every table without the rows of measured cost, and of claims that are about its growth."""
        stem = self.folder / "results/smoke/tables"
        tables = {path.name: self.table(path.stem) for path in sorted(stem.glob("*.csv"))}
        return {
            name: [row for row in rows if row["metric"] not in COST and not row["note"].startswith(GROWTH)]
            for name, rows in tables.items()
        }

    def run_keys(self):
        """Tag run_key of every run that MLflow shows."""
        with sqlite3.connect(self.folder / "results/mlflow.db") as store:
            query = (
                "select tags.value, runs.status from tags join runs using (run_uuid)"
                " where tags.key = 'run_key' and runs.lifecycle_stage = 'active'"
            )
            found = store.execute(query).fetchall()
        assert len(dict(found)) == len(found)  # no run is there twice
        return dict(found)


def make_checkout(folder):
    copy_repository(folder)
    for path in (folder / "config/experiments").glob("*.yaml"):
        path.unlink()
    (folder / "config/experiments/mini.yaml").write_text(EXPERIMENTS)
    (folder / "config/claims.yaml").write_text(CLAIMS)
    config = folder / "config/config.yaml"  # budgets of tables that are not there would be errors
    config.write_text(re.sub(r"    table_budgets:\n(      .*\n)+", "", config.read_text()))
    (folder / "src/cascadeforest/baselines/fragile.py").write_text(FRAGILE)
    with (folder / "config/models.yaml").open("a") as stream:
        stream.write(MODEL)
    (folder / "reports/smoke").mkdir()
    (folder / "reports/smoke/costs.csv").write_text(COSTS)
    return Checkout(folder)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """One copy for all tests of this module, run once with two cores; all but the last leave it finished."""
    checkout = make_checkout(tmp_path_factory.mktemp("checkout"))
    checkout.snakemake("--cores", "2", "--config", "suite=smoke")
    return checkout


SMOKE = ("--config", "suite=smoke")


def test_a_bare_run_makes_tables_page_and_store(checkout):
    for name in ("tables/mini-scores.csv", "tables/mini-scores.md", "tables/mini-scores.tex", "index.html"):
        assert (checkout.folder / "results/smoke" / name).stat().st_size > 0
    rows = [row for row in checkout.table("mini-scores") if row["metric"] == "accuracy"]
    assert [(row["dataset"], row["model"]) for row in rows] == [
        (dataset, model) for dataset in ("iris", "wine+rows-100") for model in ("random_forest", "mlp")
    ]
    assert all(0.3 < float(row["mean"]) <= 1 for row in rows)
    assert set(checkout.run_keys().values()) == {"FINISHED"}
    assert "smoke/iris/mlp/1" in checkout.run_keys()


def test_the_second_run_does_nothing(checkout):
    assert "Nothing to be done" in checkout.snakemake("--cores", "2", *SMOKE).output


def test_claims_are_judged_again_as_a_target_of_their_own(checkout):
    (checkout.folder / "results/smoke/tables/claims.csv").unlink()
    output = checkout.snakemake("claims", "--cores", "1", *SMOKE).output
    assert re.search(r"^table +1$", output, re.MULTILINE)
    assert "rule train" not in output
    verdicts = {row["model"]: row["status"] for row in checkout.table("claims") if row["metric"] == "verdict"}
    assert verdicts == dict.fromkeys(("ours-forest-above-chance", "ours-additive"), "ok")
    counted = (checkout.folder / "results/smoke/tables/claims.md").read_text(encoding="utf-8")
    assert "ours: 2 supported" in counted
    assert "Which claims hold" in (checkout.folder / "results/smoke/index.html").read_text(encoding="utf-8")


def test_snakemakes_own_report_holds_tables_and_pictures_with_captions_and_categories(checkout):
    checkout.snakemake("--report", "report.zip", *SMOKE)
    with zipfile.ZipFile(checkout.folder / "report.zip") as archive:
        page = archive.read("report/report.html").decode()
        files = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    results, categories = (
        json.loads(re.search(rf'<script id="{name}">\s*var {name} = (.*);', page)[1])
        for name in ("results", "categories")
    )
    suite = Path("results/smoke")
    pictures, tables = (
        [suite / "figures/mini-ranks.svg"],
        sorted(path.relative_to(checkout.folder) for path in checkout.folder.glob("results/smoke/tables/*.csv")),
    )
    found = {name: sorted(path for paths in own.values() for path in paths) for name, own in categories.items()}
    assert found == {
        "Figures": [*map(str, pictures)],
        "Report": [str(suite / "index.html")],
        "Tables": [*map(str, tables)],
    }
    for path in [*pictures, *tables]:
        assert files[path.name] == (checkout.folder / path).read_bytes()
        assert results[str(path)]["labels"]["experiment"] == path.stem
        assert "smoke" in results[str(path)]["caption"]
    (checkout.folder / "report.zip").unlink()


def test_edits_of_a_module_and_of_parameters_rerun_the_cells_of_their_models_only(checkout):
    """Code of one model, parameters of another one, and a comment, which changes nothing, in a third one's module."""
    edits = {
        "src/cascadeforest/baselines/mlp.py": lambda text: text + "\n\nEDITED = True\n",
        "src/cascadeforest/forest/estimators.py": lambda text: text + "\n\n# a comment changes nothing\n",
        "config/models.yaml": lambda text: text.replace(
            "label: fragile", "label: fragile\n  params: {strategy: most_frequent}"
        ),
    }
    before, cells = {name: (checkout.folder / name).read_text() for name in edits}, checkout.cells()
    files = set(checkout.folder.glob("results/cells/*/*.json"))
    try:
        for name, edit in edits.items():
            assert edit(before[name]) != before[name]
            (checkout.folder / name).write_text(edit(before[name]))
        again = checkout.snakemake("--cores", "2", *SMOKE).output
        limit = re.search(r"^Provided resources: .*train_mib\D+(\d+)", again, re.MULTILINE)
        assert 0 < int(limit[1]) < psutil.virtual_memory().total / 2**20
        edited = checkout.cells()
    finally:
        for name, text in before.items():
            (checkout.folder / name).write_text(text)
    changed = {name for name, keys in checkout.cells().items() if keys != cells[name]}
    assert changed == {"iris/mlp", "wine+rows-100/mlp", "iris/fragile"}  # no random forest
    fitted = set(checkout.folder.glob("results/cells/*/*.json")) - files
    assert {path.stem for path in fitted} == {key for name in changed for key in edited[name]}
    checkout.snakemake("--cores", "2", *SMOKE)
    assert checkout.cells() == cells
    assert set(checkout.folder.glob("results/cells/*/*.json")) == files | fitted


def test_single_repeats_and_little_memory_give_the_same_bytes_as_runs_together_and_two_jobs_at_a_time(checkout):
    """One job for each repeat against one for several runs. Without room for two jobs one runs after the other."""
    before = checkout.exact_tables()["mini-scores.csv"]
    own = [checkout.folder / name for name in ("results", ".snakemake")]
    for folder in own:
        folder.rename(folder.with_name(f"kept{folder.name}"))
    try:
        split = checkout.snakemake(
            "mini-scores", "--cores", "2", "--resources", "train_mib=600", *SMOKE, "job_seconds=0.5"
        )
        # Three runs of two repeats each, with a job that merges them, and one whose cost is not known.
        assert re.search(r"^train +10$", split.output, re.MULTILINE)
        cells = [json.loads(path.read_text()) for path in checkout.folder.glob("results/cells/*/*.json")]
        times = sorted((cell["started_ms"], cell["ended_ms"]) for cell in cells)
        assert len(times) == 8
        assert all(ended <= begun for (_, ended), (begun, _) in pairwise(times))
        assert checkout.exact_tables() == {"mini-scores.csv": before}
        assert len(before) == 4
    finally:
        for folder in own:
            shutil.rmtree(folder)
            folder.with_name(f"kept{folder.name}").rename(folder)


def test_a_deleted_store_and_a_table_that_lacks_a_form_are_made_again(checkout):
    form = checkout.folder / "results/smoke/tables/mini-scores.md"
    text, runs = form.read_text(), checkout.run_keys()
    form.unlink()
    (checkout.folder / "results/mlflow.db").unlink()
    shutil.rmtree(checkout.folder / "results/mlartifacts")
    (checkout.folder / "results/smoke/logs/tracked.json").unlink()
    again = checkout.snakemake("--cores", "1", *SMOKE).output
    assert form.read_text() == text
    assert checkout.run_keys() == runs
    assert re.search(r"^table +1$", again, re.MULTILINE)  # the others have all of their forms
    assert "rule train" not in again


def test_a_failed_cell_shows_in_table_and_store_and_the_next_run_completes_it(checkout):
    result = checkout.folder / "results/smoke/runs/iris/fragile.json"
    module = checkout.folder / "src/cascadeforest/baselines/fragile.py"
    module.write_text(FRAGILE + "\nEDITED = True\n")  # a reason to fit it again
    (checkout.folder / "armed").touch()
    try:
        failed = checkout.snakemake("--cores", "1", *SMOKE, check=False)
        assert failed.returncode == 1
        assert "fragile on iris: 2 of 2 repeats failed" in failed.output
        assert not result.exists()
        row = next(row for row in checkout.table("mini-fragile") if row["model"] == "fragile")
        assert row["status"] == "failed"
        assert "MemoryError" in row["note"]
        assert checkout.run_keys()["smoke/iris/fragile/0"] == "FAILED"
        # The table that says 'failed' does not pass for the finished one.
        assert checkout.planned("mini-fragile", "--cores", "1", *SMOKE)["train"] == 1
    finally:
        (checkout.folder / "armed").unlink()
    checkout.snakemake("--cores", "1", *SMOKE)
    assert {row["status"] for row in checkout.table("mini-fragile")} == {"ok"}
    assert set(checkout.run_keys().values()) == {"FINISHED"}


def test_a_failed_run_of_one_target_draws_that_target_only(checkout):
    """Another table that lacks a run is not drawn, nor is the page."""
    suite = checkout.folder / "results/smoke"
    module = checkout.folder / "src/cascadeforest/baselines/fragile.py"
    module.write_text(FRAGILE + "\nEDITED_AGAIN = True\n")
    other = [suite / "index.html", *suite.glob("tables/mini-scores.*")]
    assert len(other) == 4
    for path in [suite / "runs/iris/mlp.json", *other]:
        path.unlink()
    (checkout.folder / "armed").touch()
    try:
        failed = checkout.snakemake("mini-fragile", "--cores", "1", *SMOKE, check=False)
    finally:
        (checkout.folder / "armed").unlink()
    assert failed.returncode == 1
    row = next(row for row in checkout.table("mini-fragile") if row["model"] == "fragile")
    assert row["status"] == "failed"
    assert not any(path.exists() for path in other)
    checkout.snakemake("--cores", "1", *SMOKE)
    assert all(path.exists() for path in other)
    assert {row["status"] for row in checkout.table("mini-fragile")} == {"ok"}


def test_a_damaged_run_file_is_named_and_made_again_from_the_cells(checkout):
    """Snakemake takes a file that is there for done, whatever is in it."""
    before, cells = checkout.exact_tables(), sorted(checkout.folder.glob("results/cells/*/*"))
    run = checkout.folder / "results/smoke/runs/iris/mlp.json"
    text = run.read_text()
    accuracy = json.loads(text)["cells"][0]["metrics"]["accuracy"]
    run.write_text(text.replace(f'"accuracy":{accuracy}', '"accuracy":0.123'))
    assert run.read_text() != text
    done = checkout.snakemake("--cores", "1", *SMOKE)
    assert "runs/iris/mlp.json: its content has the digest" in done.output
    assert "made again" in done.output
    assert json.loads(run.read_text())["cells"][0]["metrics"]["accuracy"] == accuracy
    assert checkout.exact_tables() == before
    assert sorted(checkout.folder.glob("results/cells/*/*")) == cells


def test_a_new_version_of_a_library_runs_its_models_again(checkout):
    metadata = checkout.folder / "src/scikit_learn-9.9.9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: scikit-learn\nVersion: 9.9.9\n")
    try:
        assert checkout.planned("--cores", "1", *SMOKE)["train"] == 2
    finally:
        shutil.rmtree(metadata)


def test_both_entrances_and_named_targets_plan_jobs_in_a_clean_checkout(tmp_path):
    checkout = make_checkout(tmp_path)
    assert {"prepare", "train", "table", "index", "track"} <= set(checkout.planned("--cores", "1", *SMOKE))
    assert "index" in checkout.planned("-s", "workflow/Snakefile", "report", "--cores", "1", *SMOKE)
    single = checkout.planned("mini-fragile", "--cores", "1", *SMOKE)
    assert single["train"] == 1  # both of its runs
    assert single["table"] == 1


def test_a_timing_job_takes_all_cores_and_its_table_waits_for_it(tmp_path):
    """Snakemake then runs nothing beside it; all other rules take one core."""
    copy_repository(tmp_path)
    output = Checkout(tmp_path).snakemake("-n", "hidf-table3", "--cores", "3", *SMOKE).output
    jobs = re.findall(r"^(?:local)?rule (\w+):\n((?: +.*\n)+)", output, re.MULTILINE)
    threads = {rule: re.findall(r"threads: (\d+)", block) for rule, block in jobs}
    assert threads.pop("time") == ["3"]
    assert "train" in threads
    assert not any(threads.values())
    (table,) = (block for rule, block in jobs if rule == "table")
    assert "results/smoke/timings/hidf-table3.done" in table


def test_nothing_runs_beside_a_timing_job(tmp_path):
    """In the order of Snakemake's log: jobs run two at a time, but the job that times models runs by itself."""
    checkout = make_checkout(tmp_path)
    config = tmp_path / "config/experiments/mini.yaml"
    timings = "  marks: best\n  timings: {against: random_forest, datasets: {smoke: [iris]}}\n"
    config.write_text(config.read_text().replace("  marks: best\n", timings))
    output = checkout.snakemake("mini-scores", "--cores", "2", *SMOKE).output
    events = r"^(?:local)?rule ([\w-]+):\n(?: +.*\n)*? +jobid: (\d+)$|^Finished jobid: (\d+)"
    running, together = {}, []
    for rule, started, ended in re.findall(events, output, re.MULTILINE):
        if ended:
            del running[ended]
        else:
            running[started] = rule
            together.append(sorted(running.values()))
    assert running == {}
    assert [rules for rules in together if "time" in rules] == [["time"]]
    assert ["train", "train"] in together
    timed = json.loads((tmp_path / "results/smoke/timings/mini-scores.json").read_text())
    assert json.dumps(timed).count('"random_forest"') > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config", "suite=smoke", "sede=3"], ["config/config.yaml", "sede"]),
        (["mini-future", "--config", "suite=smoke"], ["mini-future", "not_written_yet"]),
        (["mini-scroes", "--config", "suite=smoke"], ["'mini-scroes' is no experiment", "Did you mean 'mini-scores'?"]),
    ],
)
def test_bad_input_gets_one_clear_error_and_leaves_nothing(checkout, arguments, words):
    before = checkout.files()
    done = checkout.snakemake("--cores", "1", *arguments, check=False)
    assert done.returncode != 0
    for word in words:
        assert word in done.output
    assert "Traceback" not in done.output
    assert {path for path in checkout.files() - before if "logs" not in path.parts} == set()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"suite": "papr"}, ["suite is 'papr'", "smoke", "paper"]),
        ({"suite": "smoke", "own_datasets": ["iriss"]}, ["own_datasets is 'iriss'", "Did you mean 'iris'"]),
        ({"suite": "smoke", "own_models": ["random_forrest"]}, ["'random_forrest'", "'random_forest'"]),
        (
            {"suite": "tiny", "suites": {"tiny": {"description": "T", "table_budgets": {"mini-score": {}}}}},
            ["suites/tiny/table_budgets is 'mini-score'", "Did you mean 'mini-scores'"],
        ),
    ],
)
def test_a_slip_on_the_command_line_is_named(checkout, overrides, words):
    """The error that Snakemake prints, see the test above."""
    with pytest.raises(UserError) as caught:
        load_plan(checkout.folder, overrides)
    for word in ["config/config.yaml", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('estimator: {classification: "sklearn.neighbors:KNeighbours"}', ["knn/estimator is 'sklearn.neighbors:KNei"]),
        ('estimator: {classification: "no_such_package:Model"}', ["knn/estimator", "cannot be imported"]),
        (
            'estimator: {classification: "sklearn.neighbors:KNeighborsClassifier"}\n  params: {neighbors: 3}',
            ["knn/params is 'neighbors'", "Did you mean 'n_neighbors'"],
        ),
    ],
)
def test_a_model_of_the_users_own_is_tried_before_anything_runs(checkout, entry, words):
    models = checkout.folder / "config/models.yaml"
    before = models.read_text()
    models.write_text(f"{before}\nknn:\n  label: kNN\n  {entry}\n")
    try:
        with pytest.raises(UserError) as caught:
            load_plan(checkout.folder, {"suite": "smoke", "own_models": ["knn"]})
    finally:
        models.write_text(before)
    for word in ["config/models.yaml", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "random_forest: random_forest, mlp",
            "random_forest: random_forrest, mlp",
            ["'random_forrest'", "mini-scores"],
        ),
        ("[iris, wine+rows-100]", "[iris, wine+rwos-100]", ["wine+rwos-100", "mini-scores"]),
        ("[iris, wine+rows-100]", "[iriss]", ["'iriss'", "'iris'"]),
        ("metrics: [accuracy, fit_cpu_seconds]", "metrics: [accurate]", ["'accurate'", "'accuracy'"]),
        ("marks: best", "marks: bold", ["marks", "best_and_second"]),
        ("kind: table", "kind: table\n  kidn: x", ["kidn"]),
    ],
)
def test_a_slip_in_an_experiment_is_named_with_its_place(checkout, old, new, words):
    path = checkout.folder / "config/experiments/mini.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    try:
        with pytest.raises(UserError) as caught:
            load_plan(checkout.folder, {"suite": "smoke"})
    finally:
        path.write_text(text)
    for word in ["config/experiments/mini.yaml", *words]:
        assert word in str(caught.value)


def test_the_list_command_names_everything_that_is_missing(checkout):
    command = [sys.executable, "-m", "cascadeforest.experiments", "list", "--suite", "smoke", "--json"]
    done = subprocess.run(
        command, cwd=checkout.folder, env=checkout.environment, capture_output=True, text=True, check=True
    )
    rows = {row["id"]: row for row in json.loads(done.stdout)}
    assert rows["mini-scores"]["status"] == "ready"
    assert rows["mini-future"]["status"] == "not implemented"
    assert "not_written_yet" in rows["mini-future"]["reason"]


def test_own_data_and_an_own_model_of_the_docs_join_the_arena(checkout):
    folder = checkout.folder
    page = (ROOT / "docs/experiments.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(name: my_data.*?)```", page, re.DOTALL)[1]
    assert len(example.splitlines()) <= 10
    assert "snakemake arena --cores 2 --config 'own_datasets=[my_data]'" in page
    (folder / "config/datasets/my_data.yaml").write_text(example)
    rows = [f"{i},{'rg'[i % 2]},{'ab'[i % 2]}" for i in range(40)]
    (folder / "my_data.csv").write_text("\n".join(["size,colour,outcome", *rows]) + "\n")
    models = folder / "config/models.yaml"
    before = models.read_text()
    models.write_text(before + "\n" + re.search(r"```yaml\n(knn:.*?)```", page, re.DOTALL)[1])
    own = ("own_datasets=[my_data]", "own_models=[knn]")
    checkout.snakemake("arena", "--cores", "1", *SMOKE, *own)
    means = {(row["dataset"], row["model"]): row["mean"] for row in checkout.table("arena")}
    assert float(means["my_data", "random_forest"]) == 1  # the colour tells the outcome
    assert float(means["iris", "knn"]) > 0.8
    # New content of the file is noticed.
    rows[0] = "0,r,b"
    (folder / "my_data.csv").write_text("\n".join(["size,colour,outcome", *rows]) + "\n")
    os.utime(folder / "my_data.csv", (1, 1))  # also of one that was moved here and is older
    assert checkout.planned("arena", "--cores", "1", *SMOKE, *own)["prepare"] == 1
