"""Where the numbers of a suite come from: versions, machines, code, dates, cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from cascadeforest.reports.results import Results


def origin(results: Results) -> dict[str, Any]:
    """Gather what the cells of a suite say about themselves.

    Parameters
    ----------
    results : Results
        Any results.

    Returns
    -------
    dict
        JSON-able. Where cells differ, every value is listed.
    """
    cells = results.all_cells()
    return {
        "suite": results.suite,
        "suite_config": results.plan["suite_config"],
        "tables": results.drawable(),
        "cells": len(cells),
        "cpu_seconds": round(sum(map(cpu_seconds, cells)), 1),
        "run_commits": sorted({cell["git_commit"] or "not a checkout" for cell in cells}),
        "run_dates": sorted({_date(cell["started_ms"]) for cell in cells}),
        "versions": _collected((name, version) for cell in cells for name, version in cell["versions"].items()),
        "hosts": [json.loads(text) for text in sorted({json.dumps(c["host"], sort_keys=True) for c in cells})],
        "code_digests": _collected((cell["estimator"], cell["code_digest"]) for cell in cells),
        "data_digests": {name: facts["digest"] for name, facts in sorted(results.summaries.items())},
    }


def cpu_seconds(cell: Mapping[str, Any]) -> float:
    """Return what a cell cost: fit and prediction."""
    return cell["metrics"]["fit_cpu_seconds"] + cell["metrics"]["predict_cpu_seconds"]


def _collected(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for name, value in pairs:
        found.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in sorted(found.items())}


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()
