"""Where the numbers of a suite come from: versions, machines, code, dates, cost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from cascadeforest.data.typed_json import to_json
from cascadeforest.experiments.records import ScoredCell
from cascadeforest.reports.numbers.results import Results


def origin(results: Results) -> dict[str, Any]:
    """Return what the cells of a suite say of where they come from; where cells differ, every value is listed."""

    def collected(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for name, value in pairs:
            found.setdefault(name, set()).add(value)
        return {name: sorted(values) for name, values in sorted(found.items())}

    cells = results.all_cells()
    dates = {datetime.fromtimestamp(cell.started_ms / 1000, UTC).date().isoformat() for cell in cells}
    hosts = {json.dumps(cell.provenance.host, sort_keys=True) for cell in cells}
    return {
        "suite": results.suite,
        "suite_config": to_json(results.plan.suite_config),
        "tables": results.drawable(),
        "cells": len(cells),
        "cells_without_rows": sum(cell.outputs is None for cell in cells),
        "cpu_seconds": round(sum(map(cpu_seconds, cells)), 1),
        "run_commits": sorted({cell.provenance.git_commit or "not a checkout" for cell in cells}),
        "run_dates": sorted(dates),
        "versions": collected(pair for cell in cells for pair in cell.provenance.versions.items()),
        "hosts": [json.loads(text) for text in sorted(hosts)],
        "code_digests": collected((cell.estimator, cell.provenance.code_digest) for cell in cells),
        "data_digests": {name: facts["digest"] for name, facts in sorted(results.summaries.items())},
    }


def cpu_seconds(cell: ScoredCell) -> float:
    """Return what a cell cost: fit and prediction."""
    return cell.costs.fit_cpu_seconds + cell.costs.predict_cpu_seconds
