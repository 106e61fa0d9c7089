"""One job: all repeats of one model on one data set, each in a fresh process, merged into one file.

The processes are forked from a clean server that has imported the libraries but never computed: importing costs more
than many a fit, and a process that has itself run an OpenMP loop must not fork. A repeat that dies, even by a signal,
loses only itself. Cells lie in a cache that Snakemake does not own, since it deletes the outputs of a failed job.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.files import atomic_write, canonical_json, digest_of, read_json, sha256_of
from cascadeforest.experiments import provenance
from cascadeforest.experiments.cells import FORMAT, cell_key, cell_path, run_cell
from cascadeforest.experiments.code_digest import code_digest
from cascadeforest.experiments.extras import module_of

#: Imported by the fork server besides the estimator's own module. Nothing here may compute at import.
PRELOAD = ("sklearn", "scipy.sparse", "cascadeforest.experiments.cells", "cascadeforest.data.dataset")


class JobFailed(Exception):
    """Some repeats failed; the others are in the cache, and the next run computes only the failed ones."""


def digest_for(estimator: str, extras: Iterable[str] = (), params: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Digest of all our modules that a cell of this estimator uses.

    Parameters
    ----------
    estimator : str
        ``"package.module:Class"``. Of an installed foreign package the version is in the cell's name; a module that
        belongs to no distribution (a user's own file) counts with its text.
    extras : iterable of str
        What the cell saves beyond metrics.
    params : mapping
        Parameters of the estimator; one may be another estimator, as ``{"estimator": ..., "params": ...}``.

    Returns
    -------
    str
    """
    nested = [value["estimator"] for value in params.values() if isinstance(value, Mapping) and "estimator" in value]
    modules = [target.partition(":")[0] for target in (estimator, *nested)]
    digest = code_digest([*modules, "cascadeforest.experiments.cells", *map(module_of, extras)])
    foreign = [module for module in modules if not module.startswith(("cascadeforest.", "sklearn."))]
    files = [file for module in foreign for file in loose_files(module)]
    return digest_of([digest, *map(sha256_of, files)]) if files else digest


def loose_files(module: str) -> list[Path]:
    """Source files of a module that no installed distribution owns; nothing is imported.

    Parameters
    ----------
    module : str
        Dotted name.

    Returns
    -------
    list of Path
        Empty for installed packages, and for names that do not exist.
    """
    package = module.partition(".")[0]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None or provenance.libraries_of(module, ()):
        return []
    origin = Path(spec.origin)
    return sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]


def run_job(spec: Mapping[str, Any], data: Path, cache: Path, output: Path, failures: Path, threads: int = 1) -> None:
    """Compute the repeats that the cache lacks and write the merged file.

    Parameters
    ----------
    spec : mapping
        Run specification: dataset, model, task, estimator, params, extras, libraries, repeats (a list of numbers).
    data : Path
        Processed data set; its summary lies beside it (``.json``).
    cache : Path
        Folder of the cells.
    output : Path
        Merged file, written only if every repeat is there.
    failures : Path
        Written if a repeat failed, removed otherwise.
    threads : int
        Threads that an estimator may use.

    Raises
    ------
    JobFailed
        If a repeat failed; the message names repeat and reason.
    """
    summary = read_json(data.with_suffix(".json"))
    versions = provenance.versions(provenance.libraries_of(spec["estimator"], spec["libraries"]))
    if missing := [name for name, version in versions.items() if version == "not installed"]:
        raise ConfigError(
            f"config/models.yaml: {spec['model']} needs {', '.join(missing)}, which is not installed. "
            "Run `make setup`, or install the extra that holds it: pip install 'cascadeforest[baselines]'."
        )
    code = digest_for(spec["estimator"], spec["extras"], spec["params"])
    stamp = {
        "versions": versions,
        "host": provenance.host(),
        "code_digest": code,
        "data_digest": summary["digest"],
        "git_commit": provenance.git_commit(Path.cwd()),
    }
    keys = {repeat: cell_key(spec, repeat, summary["digest"], code, versions) for repeat in spec["repeats"]}
    failed = []
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOAD, spec["estimator"].partition(":")[0]])
    for repeat, key in keys.items():
        if cell_path(cache, key).exists():
            continue
        started = time.time()
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=_child, args=(sender, dict(spec), repeat, key, data, cache, threads, stamp), name=f"repeat-{repeat}"
        )
        process.start()
        sender.close()
        with contextlib.suppress(KeyboardInterrupt):
            process.join()
        if process.exitcode is None:  # interrupted: end the child with us
            process.terminate()
            process.join()
            raise KeyboardInterrupt
        if process.exitcode:
            failure = _failure(receiver, process.exitcode)
            failed.append(
                {"repeat": repeat, **failure}
                | {"started_ms": round(1000 * started), "ended_ms": round(1000 * time.time())}
            )
        receiver.close()
    if failed:
        record = {"dataset": spec["dataset"], "model": spec["model"], "cells": failed}
        atomic_write(failures, canonical_json(record) + "\n")
        lines = [f"  repeat {cell['repeat']}: {cell['error']}: {cell['message']}" for cell in failed]
        raise JobFailed(
            f"{spec['model']} on {spec['dataset']}: {len(failed)} of {len(keys)} repeats failed.\n"
            + "\n".join(lines)
            + f"\nThe others are kept; the next run computes the failed ones again. Details: {failures}"
        )
    # A shared cell may have been computed under another preset's name.
    cells = [read_json(cell_path(cache, key)) | {"model": spec["model"]} for key in keys.values()]
    merged = {
        "format": FORMAT,
        "suite": spec["suite"],
        "dataset": spec["dataset"],
        "model": spec["model"],
        "spec": dict(spec),
        "data": summary,
        "cells": cells,
    }
    atomic_write(output, canonical_json(merged) + "\n")
    # With those of the parts that `seeds_per_job` made.
    for path in [failures, *failures.parent.glob(f"{failures.stem}.part*.json")]:
        path.unlink(missing_ok=True)


def _failure(receiver: Any, exitcode: int) -> dict[str, str]:
    """What a dead child said, or what killed it."""
    with contextlib.suppress(EOFError, OSError):
        if receiver.poll():
            return receiver.recv()
    if exitcode < 0:
        name = signal.Signals(-exitcode).name if -exitcode in set(signal.Signals) else f"signal {-exitcode}"
        hint = " (often: out of memory)" if -exitcode == signal.SIGKILL else ""
        return {"error": name, "message": f"the process was killed by {name}{hint}", "traceback": ""}
    return {"error": "Exit", "message": f"the process ended with status {exitcode}", "traceback": ""}


def _end_with_parent() -> None:
    """End this process when its job ends, also by SIGKILL: nobody waits for its result any more."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _child(sender: Any, spec: dict, repeat: int, key: str, data: Path, cache: Path, threads: int, stamp: dict) -> None:
    """Body of a repeat's process; an error goes to the parent through the pipe."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        # A failed import in the fork server's preload is swallowed there: it shows here.
        importlib.import_module(spec["estimator"].partition(":")[0])
        run_cell(spec, repeat, key, data, cache, threads, stamp)
    except Exception as error:
        text = "" if isinstance(error, UserError) else traceback.format_exc()
        # The parent reads after the child's end: more than a pipe's buffer would block both.
        message = {"error": type(error).__name__, "message": str(error)[:2_000], "traceback": text[-20_000:]}
        sender.send(message)
        sender.close()
        sys.exit(1)
