import json
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import psutil
from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.10")


configfile: "config/config.yaml"


try:
    from cascadeforest.data.errors import UserError
except ModuleNotFoundError as error:
    raise WorkflowError(
        "The package cascadeforest is not installed in this environment. Run `make setup`, then .venv/bin/snakemake."
    ) from error

from cascadeforest.data.files import digest_of, read_yaml, sha256_of
from cascadeforest.data.typed_json import to_json
from cascadeforest.experiments.claims import CHECKS_FILE, CLAIMS_FILE
from cascadeforest.experiments.code_digest import PACKAGE_FOLDER, code_digest
from cascadeforest.experiments.jobs import digest_for, spec_digest
from cascadeforest.experiments.plan import CLAIMS
from cascadeforest.experiments.prerequisites import (
    check_prerequisites,
    slips,
    use_this_python,
)
from cascadeforest.experiments.provenance import libraries_of, versions
from cascadeforest.experiments.records import DECISIVE, discard_damaged
from cascadeforest.experiments.resolve import read_configuration, resolve_plan
from cascadeforest.experiments.timing import timing_digest

use_this_python()
# The package checks and resolves the configuration, so that commands run by hand use the same plan. Differences from
# the file come from --config or --configfile, and are passed on to the commands.
try:
    CONFIG_FILE = read_yaml("config/config.yaml")
    OVERRIDES = {
        key: value for key, value in config.items() if CONFIG_FILE.get(key) != value
    }
    CONFIGURATION = read_configuration(Path(), OVERRIDES)
    PLAN = resolve_plan(CONFIGURATION, Path())
except UserError as error:
    raise WorkflowError(str(error)) from None

READY = {name: PLAN.experiments[name] for name in PLAN.drawable()}
FIGURES = [name for name, experiment in READY.items() if experiment.is_figure]
LISTED_SUITE = f"results/{PLAN.suite}"
# Snakemake reduces the threads of a rule to the cores that it was given.
ALL_CORES = 10_000

# Snakemake treats an existing file as finished, whatever its content. Jobs also read the Snakefile; only the main
# process checks files.
if workflow.is_main_process:
    try:
        # Snakemake tells its targets later only. Of the words after the command those that nearly name one are refused.
        check_prerequisites(Path(), PLAN, slips(PLAN, sys.argv[1:]))
    except UserError as error:
        raise WorkflowError(str(error)) from None
    discard_damaged(Path(), PLAN)
    # A cluster gives each job its memory. On one machine fits begin while there is room for them.
    if workflow.nodes is None and "train_mib" not in workflow.global_resources:
        workflow.register_resource("train_mib", psutil.virtual_memory().available >> 20)


def one_of(names):
    """Regular expression of these names; of nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    suite=PLAN.suite,
    dataset="[a-z0-9_]+",
    variant=r"[a-z0-9_]+(\+[A-Za-z0-9_.-]+)*",
    operation=r"[A-Za-z0-9_.-]+",
    batch=r"[A-Za-z0-9_.+-]+",
    experiment="[a-z0-9-]+",


def get_final_output():
    """Targets of `snakemake` without arguments."""
    return [*index_page(), f"{LISTED_SUITE}/logs/tracked.json"]


def index_page():
    """Index page of the suite."""
    return [f"{LISTED_SUITE}/index.html"]


def fetched_files(wildcards):
    """Input of `prepare`: a marker of verified downloads, or the user's own file."""
    row = CONFIGURATION.datasets[wildcards.dataset]
    if row["access"] in ("open", "credentialed"):
        return [f"data/raw/{wildcards.dataset}/fetched.json"]
    return [row["file"]] if row["access"] == "local" else []


def own_file_digest(wildcards):
    """Digest of the user's own file: a new file that was copied or moved here may be older than the outputs."""
    path = CONFIGURATION.datasets[wildcards.dataset].get("file")
    return sha256_of(path) if path and Path(path).is_file() else None


def dataset_digest(wildcards):
    """Digest of the data set file: editing it prepares the data again."""
    return digest_of(CONFIGURATION.datasets[wildcards.dataset])


def source_digest(wildcards):
    """Digest of the sources of a data set: a new URL or checksum fetches the data again."""
    return digest_of(CONFIGURATION.datasets[wildcards.dataset].get("forms"))


def batch_of(wildcards):
    """Batch of a training job."""
    return PLAN.batch[wildcards.batch]


def data_of_batch(wildcards):
    """Data sets, and their statistics, that a training job reads."""
    return [
        f"data/processed/{dataset}.{form}"
        for dataset in batch_of(wildcards).datasets
        for form in ("npz", "json")
    ]


def spec_of_batch(wildcards):
    """Digest of what a training job computes."""
    return spec_digest(PLAN, wildcards.batch)


def batches_before(wildcards):
    """Marks of the training jobs that compute repeats which this one merges."""
    return [
        f"results/{wildcards.suite}/batches/{name}.json"
        for name in batch_of(wildcards).after
    ]


def work_of_batch(wildcards):
    """Digest of what a training job computes, of the code and of the libraries: an edit runs it again.

    It then computes the cells that the edit concerns, and takes the others from the cache.
    """
    return digest_of([work_of(run) for run in PLAN.work(batch_of(wildcards))])


@cache
def decisive(estimator, extras, learner, libraries):
    """Digest of the modules that a model and its extras use, and versions of the libraries that compute it."""
    params = {"learner": {"estimator": learner}} if learner else {}
    return digest_for(estimator, extras, params), versions(
        libraries_of(estimator, libraries)
    )


def work_of(run):
    """Everything that decides the numbers of a run."""
    learner = run.params.get("learner")
    learner = learner["estimator"] if isinstance(learner, dict) else None
    spec = {name: to_json(getattr(run, name)) for name in DECISIVE}
    return [spec, *decisive(run.estimator, run.extras, learner, run.libraries)]


def memory_of_batch(wildcards, attempt):
    """Memory to request from a cluster, in MiB: that of the libraries and twice the measured one, or much."""
    batch = batch_of(wildcards)
    return attempt * (4_000 if batch.seconds is None else int(1_500 + 2 * batch.mib))


def train_mib_of_batch(wildcards):
    """Memory that a job takes on this machine, in MiB; one that asks for more than there is runs without another."""
    batch = batch_of(wildcards)
    if batch.after:  # it merges what other jobs trained
        return 500
    # A thousand for libraries and data. A model is there twice while the size of its pickle is measured.
    return 2_000 if batch.seconds is None else int(1_000 + 2 * batch.mib)


def minutes_of_batch(wildcards, attempt):
    """Minutes to request from a cluster: four times the measured ones, and half a day where none was measured."""
    seconds = batch_of(wildcards).seconds
    return attempt * (720 if seconds is None else 15 + int(4 * seconds / 60))


def timings_of(wildcards):
    """What a timing job times."""
    return PLAN.timings_of(wildcards.experiment)


def data_of_timings(wildcards):
    """Data sets that a timing job reads."""
    return [f"data/processed/{timing.dataset}.npz" for timing in timings_of(wildcards)]


def spec_of_timings(wildcards):
    """Digest of what a timing job times."""
    return timing_digest(PLAN, wildcards.experiment)


def work_of_timings(wildcards):
    """Digest of what a timing job times, of the code and of the libraries."""
    return digest_of([work_of(run) for t in timings_of(wildcards) for run in t.runs])


def minutes_of_timings(wildcards, attempt):
    """Minutes to request from a cluster for a timing job, as for a batch."""
    seconds = [timing.seconds for timing in timings_of(wildcards)]
    return attempt * (720 if None in seconds else 15 + int(4 * sum(seconds) / 60))


def marks_of_timings(experiments):
    """Marks of the timing jobs of these experiments."""
    return [
        f"{LISTED_SUITE}/timings/{name}.done"
        for name in experiments
        if PLAN.timings_of(name)
    ]


def timings_shown(wildcards):
    """Mark of the timing job of an experiment, if it has one."""
    return marks_of_timings([wildcards.experiment])


def memory_of_timings(wildcards, attempt):
    """Memory to request from a cluster for a timing job, in MiB; its models are fitted one at a time."""
    return 16_000 * attempt


def memory_mib(wildcards, attempt):
    """Memory to request from a cluster, in MiB: twice as much at the second attempt."""
    return 4_000 * attempt


def runs_of(wildcards):
    """Marks of the training jobs that merge the runs which an experiment's table or figure shows."""
    if is_claims(wildcards.experiment):
        return all_runs()
    return marks_of(READY[wildcards.experiment].needed_runs())


def marks_of(pairs):
    """Marks of the training jobs that merge these runs."""
    names = dict.fromkeys(PLAN.merged_by[pair] for pair in pairs)
    return [f"{LISTED_SUITE}/batches/{name}.json" for name in names]


def summaries_of(wildcards):
    """Statistics of the data sets that an experiment shows."""
    if is_claims(wildcards.experiment):
        return all_summaries()
    return [
        f"data/processed/{dataset}.json"
        for dataset in READY[wildcards.experiment].present()
    ]


def published_of(wildcards):
    """File with the paper's numbers for an experiment, if the paper prints any."""
    if is_claims(wildcards.experiment):
        return published_numbers()
    path = f"reports/published/{wildcards.experiment}.csv"
    return [path] if Path(path).exists() else []


def is_claims(experiment):
    """Whether an experiment judges claims by the results of all others."""
    return READY[experiment].kind == CLAIMS


def claims_of(wildcards):
    """The claims, and what running says of those that need no data."""
    if not is_claims(wildcards.experiment):
        return []
    return [str(CLAIMS_FILE), f"results/{CHECKS_FILE}"]


def tables_of(experiments):
    """Table files of these experiments in every format, and the marks of complete tables (others are drawn again)."""
    forms = [
        f"{LISTED_SUITE}/tables/{name}.{form}"
        for name in experiments
        for form in ("csv", "md", "tex")
    ]
    marks = [f"{LISTED_SUITE}/logs/draw/{name}.complete" for name in experiments]
    return forms + marks


def figures_of(experiments):
    """Picture files of the experiments that have a picture, with the numbers that are drawn."""
    return [
        f"{LISTED_SUITE}/figures/{name}.{form}"
        for name in experiments
        if name in FIGURES
        for form in ("svg", "png", "csv")
    ]


def drawings_of(experiments):
    """All table and picture files of these experiments."""
    return [*tables_of(experiments), *figures_of(experiments)]


def all_runs():
    """Marks of all training jobs that merge runs."""
    return marks_of(run.pair for run in PLAN.runs)


def all_summaries():
    """Statistics of every data set of the suite."""
    return [f"data/processed/{variant}.json" for variant in PLAN.variants()]


def published_numbers():
    """Every file with numbers of the papers."""
    return sorted(str(path) for path in Path("reports/published").glob("[!.]*.csv"))


def reports_code():
    """Digest of all code and templates that draw tables, figures and the page; they are found by name, so all count."""
    drawing = PACKAGE_FOLDER / "reports" / "drawing"
    renderers = sorted(path.stem for path in (drawing / "renderers").glob("*.py"))
    modules = ["__main__", *(f"drawing.renderers.{name}" for name in renderers)]
    templates = {
        path.name: sha256_of(path) for path in (drawing / "templates").glob("*.j2")
    }
    code = code_digest([f"cascadeforest.reports.{module}" for module in modules])
    return digest_of([code, templates])


def partial_report(jobs):
    """Commands after a failed workflow: draw finished results, with the reason of each failure.

    They draw only the tables and figures of this workflow's jobs, and the page if it is one of the jobs.
    """
    drawn = {
        job.wildcards.experiment for job in jobs if job.rule.name in ("table", "figure")
    }
    draw = f"python -m cascadeforest.reports partial --suite {PLAN.suite}"
    if not any(job.rule.name == "index" for job in jobs):
        draw = f"{draw} --only {' '.join(sorted(drawn))}" if drawn else "true"
    overrides = shlex.quote(json.dumps(OVERRIDES))
    return (
        f"python -m cascadeforest.experiments plan --suite {PLAN.suite} --overrides {overrides}"
        f" --output {LISTED_SUITE}/plan.json && {draw}"
        f" && python -m cascadeforest.experiments track --suite {PLAN.suite}"
    )
