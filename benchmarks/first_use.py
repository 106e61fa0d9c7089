"""What the first fit of a new process costs, imports and interpreter included: ours beside scikit-learn's.

python benchmarks/first_use.py
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence

from measuring import THREAD_VARIABLES, layout, machine, number, run_measurement

#: What is fitted: words, module, class. The first is what the others stand beside.
FITS = [
    ("scikit-learn, RandomForestClassifier", "sklearn.ensemble", "RandomForestClassifier(random_state=0)"),
    ("ours, RandomForestClassifier", "cascadeforest", "RandomForestClassifier(random_state=0)"),
    ("ours, GCForestClassifier", "cascadeforest", "GCForestClassifier(random_state=0)"),
]
CODE = """
import json, time
import numpy as np
from {module} import {name}
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
{call}.fit(X, (X[:, 0] > 0).astype(int))
print(json.dumps(dict(seconds=time.process_time())))
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in turn, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5, help="new processes for each (default 5)")
    options = parser.parse_args(arguments)
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    found: list[list[float]] = [[] for _ in FITS]
    for _ in range(options.repeats):
        for seconds, (words, module, call) in zip(found, FITS, strict=True):
            code = CODE.format(module=module, name=call.partition("(")[0], call=call)
            row = run_measurement([sys.executable, "-c", code], environment)
            if "seconds" not in row:
                raise SystemExit(f"{words}: {row['note']}")
            seconds.append(row["seconds"])
    print(f"{machine()}. 200 rows, 5 features; {options.repeats} processes each.\n")
    body = [
        [words, *(number(v, 2) for v in (min(own), statistics.median(own), max(own), min(own) - min(found[0])))]
        for (words, _, _), own in zip(FITS, found, strict=True)
    ]
    print(layout(["CPU s of import and first fit", "least", "median", "most", "least, more"], body, markdown=True))


if __name__ == "__main__":
    main()
