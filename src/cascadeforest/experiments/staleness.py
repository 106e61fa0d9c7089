"""Whether a run file is what the present plan asks for, or was left by another configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Fields of a run's specification that decide its numbers or what is kept of them. The suite is the folder's name.
DECISIVE = ("dataset", "model", "task", "estimator", "params", "repeats", "extras", "libraries")


def planned_specs(plan: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (data set variant, model preset) to the specification that a plan gives it.

    Parameters
    ----------
    plan : mapping
        Content of ``plan.json``.
    """
    return {(spec["dataset"], spec["model"]): spec for spec in plan.get("runs", ())}


def stale_fields(run: Mapping[str, Any], spec: Mapping[str, Any] | None) -> list[str]:
    """Return the fields in which a run differs from its plan; a run with any is not a result of this configuration.

    Parameters
    ----------
    run : mapping
        Content of a run file; its `spec` is the specification that it was made with.
    spec : mapping or None
        What the plan asks for. None: the plan asks for nothing, so there is nothing to differ from.

    Returns
    -------
    list of str
        In the order of `DECISIVE`; empty if the run is the planned one.
    """
    if spec is None:
        return []
    return [name for name in DECISIVE if run["spec"].get(name) != spec.get(name)]
