"""The workflow through a real Slurm on this machine, which `tools/slurm.py` starts and stops."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workflow.test_workflow import SMOKE, make_checkout

TOOL = Path(__file__).parents[2] / "tools" / "slurm.py"
PROFILE = ("--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "1")

pytestmark = [pytest.mark.workflow, pytest.mark.slurm]


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """Output of a run in which one model fails, of the same run when it no longer does, and the finished checkout."""
    if not request.config.getoption("--slurm"):
        pytest.skip("only with --slurm (make test-slurm)")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("needs Snakemake's executor: make setup EXTRAS=slurm")
    path = "/usr/sbin:" + os.environ["PATH"]
    if missing := [name for name in ("munged", "slurmctld", "slurmd") if shutil.which(name, path=path) is None]:
        pytest.skip(f"{', '.join(missing)} not found: apt-get install slurm-wlm munge")
    checkout = make_checkout(tmp_path_factory.mktemp("slurm"))
    command = [sys.executable, str(TOOL), sys.executable, "-m", "snakemake", *PROFILE, *SMOKE]
    outputs = []
    for armed in (True, False):
        marker = checkout.folder / "armed"
        marker.touch() if armed else marker.unlink()
        done = subprocess.run(
            command, cwd=checkout.folder, env=checkout.environment, capture_output=True, text=True, timeout=1_800
        )
        outputs.append(done.stdout + done.stderr)
        assert done.returncode == int(armed), outputs[-1]
    return *outputs, checkout


def test_a_failed_job_shows_its_own_reason(runs):
    failed, _, _ = runs
    assert re.search(r"Error in rule train:", failed)
    assert "fragile on iris: 2 of 2 repeats failed.\n  repeat 0: MemoryError: armed" in failed


def test_the_next_run_finishes_in_jobs_of_slurm(runs):
    failed, finished, checkout = runs
    submitted = re.findall(r"submitted with SLURM jobid \d+ \(log: .*slurm_logs/(\w+)/", failed + finished)
    assert {"group_data_prepare_vary", "rule_train", "rule_index"} < set(submitted)  # data with their variants
    # Of all tables and the figure, which ask for one processor.
    assert [name for name in submitted if "drawing" in name] == ["group_drawing_figure_table"]
    assert {row["model"] for row in checkout.table("mini-fragile")} == {"fragile", "random_forest"}
    assert set(checkout.run_keys().values()) == {"FINISHED"}


def test_jobs_ask_for_what_was_measured(runs):
    """Not for the 50 GB of disk that Snakemake asks for without being told."""
    failed, finished, _ = runs
    asked = re.findall(r"^ *rule (\w+):\n(?: +.*\n)*? +resources: (.*)$", failed + finished, re.MULTILINE)
    assert {rule for rule, _ in asked} >= {"prepare", "vary", "train"}
    for rule, resources in asked:
        assert "disk_mb=1000," in resources
        assert re.search(r"mem_mb=[1-4]\d{3},", resources), (rule, resources)
        assert re.search(r"\bruntime=\d+(,|$)", resources), (rule, resources)
