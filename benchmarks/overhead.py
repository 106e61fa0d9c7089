"""How much of the CPU time of a suite is fitting, predicting, explaining and drawing, and what the rest is.

    python benchmarks/overhead.py [--suite quick] [--cores 2]

The suite runs as by `make run`, in a copy of this checkout without results, cells or prepared data. The copy is
removed afterwards. Every process of the run counts: this script becomes the parent of those whose parent has ended
(Linux only). Each Python process that ends by itself says what it did. Processes that fit do not. They write down what
explanations and other results beyond predictions (the extras of cells) took; what they cost beside these and the
measured fits and predictions is the remainder.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from measuring import layout, machine, number

ROOT = Path(__file__).parents[1]
COPIED = ("Snakefile", "workflow", "profiles", "config", "src", "reports", "environment.yml")
PR_SET_CHILD_SUBREAPER = 36
#: Runs at the start of each Python process: what it was, and its CPU time, are written when it ends; and what it took
#: to compute the extras of a cell, once the module is imported that does so.
HOOK = """
import atexit, importlib.abc, importlib.util, json, os, resource, sys, time
def _tell(pid=os.getpid()):
    if os.getpid() == pid:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        with open(os.path.join({folder!r}, str(pid)), "w") as stream:
            json.dump([sys.orig_argv[1:], usage.ru_utime + usage.ru_stime], stream)
atexit.register(_tell)
class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "cascadeforest.experiments.extras":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            arrays_of = module.arrays_of
            def timed(*args, **kwargs):
                begin = time.process_time()
                try:
                    return arrays_of(*args, **kwargs)
                finally:
                    with open(os.path.join({folder!r}, "extras"), "a") as stream:
                        stream.write(str(time.process_time() - begin) + chr(10))
            module.arrays_of = timed
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, _Finder())
"""
#: What a process did, by words of its command; the first that fits counts.
KINDS = {
    "drawing tables, figures and the page": ("cascadeforest.reports",),
    "checking claims by fitting and explaining": ("cascadeforest.experiments", "claims"),
    "preparing data": ("cascadeforest.data",),
    "MLflow": ("cascadeforest.experiments", "track"),
    "training jobs, without the processes that fit": ("cascadeforest.experiments", "batch"),
    "Snakemake": ("snakemake",),
}
EXTRAS = "explaining, and other results beyond predictions"
USEFUL = ("fitting", "predicting", EXTRAS, *list(KINDS)[:2])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite, add up, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="quick", help="(default: %(default)s)")
    parser.add_argument("--cores", default="2", help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl: this needs Linux")
    with tempfile.TemporaryDirectory() as temporary:
        checkout, told = Path(temporary, "checkout"), Path(temporary, "told")
        copy_checkout(checkout)
        told.mkdir()
        (Path(temporary) / "sitecustomize.py").write_text(HOOK.format(folder=str(told)))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([temporary, str(checkout / "src")])}
        command = [sys.executable, "-m", "cascadeforest.experiments", "suite"]
        command += ["--suite", options.suite, "--cores", options.cores]
        before = children_seconds()
        status = subprocess.run(command, cwd=checkout, env=environment, check=False).returncode
        reap()
        total = children_seconds() - before
        if status != 0:
            print(f"error: the suite ended with status {status}")
            return 1
        shares = add_up(total, checkout / "results", options.suite, told)
    overhead = total - sum(shares[name] for name in USEFUL)
    rows = [(name, number(seconds, 1), number(100 * seconds / total, 1)) for name, seconds in shares.items()]
    rows.append(("all", number(total, 1), "100.0"))
    print(f"\nSuite {options.suite}; {machine()}\n")
    print(layout(("what", "CPU s", "%"), rows, markdown=False))
    print(
        f"\nOverhead (neither fitting, predicting, explaining nor drawing): {overhead:.1f} CPU s, "
        f"{100 * overhead / total:.1f} %"
    )
    return 0


def copy_checkout(target: Path) -> None:
    """Copy what a run reads; downloads stay where they are."""
    target.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, target / name)
    (target / "data").mkdir()
    if (raw := ROOT / "data" / "raw").is_dir():
        (target / "data" / "raw").symlink_to(raw)


def children_seconds() -> float:
    """CPU time of all processes below this one that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reap() -> None:
    """Wait for processes whose parents ended before them, as the servers that fork the fits."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def add_up(total: float, results: Path, suite: str, told: Path) -> dict[str, float]:
    """CPU seconds by what they were for; the remainder is that of the processes that fit."""
    costs = [json.loads(path.read_text())["costs"] for path in results.glob("cells/*/*.json")]
    for path in results.glob(f"{suite}/timings/*.json"):  # models that are fitted in turn are in no cell
        rounds = [one for part in json.loads(path.read_text())["parts"] for one in part["rounds"]]
        costs += [turn["costs"] for one in rounds for turn in one["turns"]]
    shares = {what: sum(cost.get(f"{key}_cpu_seconds", 0) for cost in costs) for what, key in VERBS.items()}
    extras = told / "extras"
    shares[EXTRAS] = sum(map(float, extras.read_text().split())) if extras.exists() else 0.0
    kinds: Counter[str] = Counter()
    for path in told.glob("[0-9]*"):
        command, seconds = json.loads(path.read_text())
        kinds[kind_of(command)] += seconds
    shares |= {name: kinds[name] for name in [*KINDS, *sorted(kinds.keys() - KINDS)]}
    shares["beside the fits: data, warm-up, measuring memory, scoring"] = total - sum(shares.values())
    return shares


VERBS: Mapping[str, str] = {"fitting": "fit", "predicting": "predict"}


def kind_of(command: Sequence[str]) -> str:
    """What a Python process did."""
    for kind, words in KINDS.items():
        if all(word in command for word in words):
            return kind
    return "other processes (servers that fork, resource trackers)"


if __name__ == "__main__":
    sys.exit(main())
