"""Sizes of the cascades compared by cross-validation on training rows: accuracy and log loss against CPU seconds.

    python benchmarks/defaults.py --data data/processed --csv defaults.csv [--df21-python df21/bin/python]
    python benchmarks/defaults.py --csv defaults.csv --report [--figure docs/figures/defaults.png]

It measures what the CSV lacks, so a stopped run goes on; see docs/defaults.md for the rule and the outcome.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measuring import THREAD_VARIABLES, Row, layout, machine, read_rows, run_measurement, write_rows

from cascade import check_df21, without_python_paths

ROOT = Path(__file__).resolve().parents[1]
FOLDS = 3
#: The rule. A setting is within noise of the paper's if the 95 % interval of the mean difference of accuracy lies above
#: minus the first number (points), and log loss is at most the second times the paper's; in regression, if the interval
#: of the ratio of RMSE lies below the third. The cheapest such candidate is chosen. Only the first line was set before
#: measuring; the second counts where no candidate meets the first.
MARGINS = [(0.3, 1.02, 1.01), (0.5, 1.05, 1.02)]
PAPER, DF21, FOREST = "paper", "DF21", "random forest"
KEY = ("family", "dataset", "repeat", "fold", "setting")
COLUMNS = [
    *KEY,
    "rows",
    "features",
    "classes",
    "accuracy",
    "log_loss",
    "rmse",
    "fit_cpu_seconds",
    "predict_cpu_seconds",
    "layers",
    "grown",
    "note",
]


@dataclass(frozen=True)
class Family:
    """A cascade with the settings that are compared; `candidates` may become the default, `others` inform only."""

    estimator: str
    task: str
    candidates: Mapping[str, Mapping[str, Any]]
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=lambda: {"preset": "paper"})
    peers: tuple[str, ...] = ()

    def settings(self) -> dict[str, Mapping[str, Any]]:
        """All settings of our class, by name; the paper's first."""
        others = self.candidates | self.others
        return {PAPER: self.paper} | {name: {**self.paper, **own} for name, own in others.items()}


def sizes(n_forests: int, n_estimators: int, n_folds: int = 3, **others: Any) -> dict[str, Any]:
    """Parameters of a layer."""
    return {"n_forests": n_forests, "n_estimators": n_estimators, "n_folds": n_folds, **others}


def grid(*triples: tuple[int, int, int], **others: Any) -> dict[str, dict[str, Any]]:
    """Settings named after forests, trees and folds."""
    ending = "".join(f", {name} {value}" for name, value in others.items())
    return {"×".join(map(str, triple)) + ending: sizes(*triple, **others) for triple in triples}


_MIX = ["random_forest", "extra_trees"]
FAMILIES = {
    "gcforest": Family(
        "GCForestClassifier",
        "classification",
        candidates=grid((8, 50, 3), (4, 100, 3), (8, 25, 3), (4, 50, 3), (2, 100, 3), (4, 25, 3), (2, 50, 3))
        | grid((4, 50, 5), (4, 25, 5))
        | grid((4, 50, 3), patience=2),
        others={
            "4×50×3, Extra-Trees": sizes(4, 50, estimators=_MIX),
            "4×100, out of bag, Extra-Trees, patience 2": sizes(
                4, 100, class_vectors="oob", estimators=_MIX, patience=2, tol=1e-5
            ),
        },
        peers=(FOREST, DF21),
    ),
    "regressor": Family(
        "CascadeForestRegressor",
        "regression",
        candidates=grid((4, 50, 3), (4, 25, 3), (2, 50, 3), (4, 10, 3), (2, 20, 3), patience=1)
        | grid((4, 25, 3), (4, 10, 3))
        | grid((4, 25, 5), (4, 10, 5), patience=1),
        others={
            "depth 8": sizes(4, 50, max_depth=8),
            "4×25×3, all features, patience 1": sizes(4, 25, max_features=1.0, patience=1),
            "4×25×3, a third of the features, patience 1": sizes(4, 25, max_features=1 / 3, patience=1),
            "4×25×3, Extra-Trees, patience 1": sizes(4, 25, estimators=_MIX, patience=1),
        },
        peers=(FOREST, DF21),
    ),
    "gcforest_cs": Family(
        "GCForestCSClassifier",
        "classification",
        candidates=grid((8, 50, 3), (4, 100, 3), (4, 50, 3), (4, 25, 3)),
    ),
    "ddbf": Family(
        "DDBFClassifier",
        "classification",
        candidates={
            "100 trees": {"n_estimators": 100},
            "50 trees": {"n_estimators": 50},
            "200 trees, patience 2": {"n_estimators": 200, "patience": 2},
        },
        paper={"n_estimators": 200, "max_layers": 10, "patience": 5},
    ),
    "mddf": Family(
        "MDDFClassifier",
        "classification",
        candidates={
            f"{'×'.join(map(str, triple))}, search {trees} trees, {layers} layers": sizes(
                *triple, search_estimators=trees, search_layers=layers
            )
            for triple, trees, layers in [
                ((4, 100, 5), 10, 2),
                ((4, 50, 5), 5, 2),
                ((4, 50, 3), 5, 2),
                ((4, 25, 5), 5, 2),
            ]
        },
    ),
    "hidf": Family(
        "HiDFClassifier",
        "classification",
        candidates={
            "200 trees": {"n_estimators": 200},
            "100 trees": {"n_estimators": 100},
            "100 trees, 50 in folds": {"n_estimators": 100, "cv_estimators": 50},
            "100 trees, 3 folds of 50": {"n_estimators": 100, "cv_estimators": 50, "n_folds": 3},
        },
    ),
}


# Data: training rows only.


def data_sets() -> dict[str, Any]:
    """`config/defaults.yaml`: names of the sets by task."""
    import yaml

    return yaml.safe_load((ROOT / "config" / "defaults.yaml").read_text(encoding="utf-8"))


def training_rows(dataset: str, folder: Path, max_rows: int) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Training rows of the first repeat, at most `max_rows` of them, drawn with seed 0; X, y, number of classes."""
    from sklearn.model_selection import train_test_split

    from cascadeforest.data.dataset import load

    data = load(folder / f"{dataset}.npz")
    split = data.split(0)
    X, y = split.X_train, split.y_train
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float32)
    classes = len(data.class_names) or None
    if len(y) > max_rows:
        stratify = y if classes and np.bincount(y)[np.unique(y)].min() > 1 else None
        X, _, y, _ = train_test_split(X, y, train_size=max_rows, stratify=stratify, random_state=0)
    return X, y, classes


def folds_of(X: np.ndarray, y: np.ndarray, classes: int | None, repeat: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out rows of each fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if classes else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class may have fewer rows than there are folds
        yield from list(kind(FOLDS, shuffle=True, random_state=repeat).split(X, y))


# One measurement.


def our_model(family: Family, setting: str, seed: int) -> Any:
    """An unfitted model of a family: one of our cascades, or a random forest."""
    import cascadeforest

    if setting == FOREST:
        name = "RandomForestClassifier" if family.task == "classification" else "RandomForestRegressor"
        return getattr(cascadeforest, name)(500, n_jobs=1, random_state=seed)
    return getattr(cascadeforest, family.estimator)(**family.settings()[setting], n_jobs=1, random_state=seed)


def scores(y: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, classes: int | None) -> Row:
    """Accuracy and log loss, or RMSE."""
    from cascadeforest.experiments.metrics import score_classifier, score_regressor

    if classes is None:
        return score_regressor(y, predicted)
    found = score_classifier(y, predicted, classes, probabilities, None)
    return {name: found[name] for name in ("accuracy", "log_loss")}


def with_all_classes(probabilities: np.ndarray, seen: np.ndarray, classes: int) -> np.ndarray:
    """A column for each class of the data set; 0 for classes that the training rows lack."""
    full = np.zeros((len(probabilities), classes))
    full[:, seen] = probabilities
    return full


def measure_ours(family: Family, setting: str, seed: int, parts: Sequence[np.ndarray], classes: int | None) -> Row:
    """Fit and predict in this process."""
    from cascadeforest.experiments.measure import measure

    X, y, X_test, y_test = parts
    model = our_model(family, setting, seed)
    _, fit = measure(lambda: model.fit(X, y), memory=False)
    predict = model.predict if classes is None else model.predict_proba
    found, prediction = measure(lambda: predict(X_test), memory=False)
    probabilities = None if classes is None else with_all_classes(found, model.classes_, classes)
    predicted = found if classes is None else model.classes_[found.argmax(axis=1)]
    return scores(y_test, predicted, probabilities, classes) | {
        "fit_cpu_seconds": fit.cpu_seconds,
        "predict_cpu_seconds": prediction.cpu_seconds,
        "layers": getattr(model, "n_layers_", ""),
        "grown": len(getattr(model, "validation_scores_", ())) or "",
    }


def measure_df21(python: str, seed: int, parts: Sequence[np.ndarray], classes: int | None) -> Row:
    """Fit and predict with DF21's defaults, in a process of the Python that has it."""
    from cascadeforest.experiments import measure

    X, y, X_test, y_test = parts
    seen, codes = (None, y) if classes is None else np.unique(y, return_inverse=True)
    with tempfile.TemporaryDirectory() as name:
        for array, value in (("X", X), ("y", codes), ("X_test", X_test)):
            np.save(f"{name}/{array}.npy", value)
        task = "regression" if classes is None else "classification"
        cell = {"defaults": task, "seed": seed, "folder": name, "measure": measure.__file__}
        script = str(Path(__file__).resolve().with_name("df21_cell.py"))
        environment = os.environ | dict.fromkeys((*THREAD_VARIABLES, "LOKY_MAX_CPU_COUNT"), "1")
        row = run_measurement([python, script, json.dumps(cell)], without_python_paths(environment))
        if "fit_cpu_seconds" not in row:
            raise SystemExit(f"DF21: {row['note']}\n{row.get('error', '')}")
        found = np.load(f"{name}/found.npy")
    if classes is None:
        return row | scores(y_test, found.ravel(), None, None)
    return row | scores(y_test, seen[found.argmax(axis=1)], with_all_classes(found, seen, classes), classes)


def warm_up(family: Family) -> None:
    """What the first fit of a process loads and compiles is not counted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    y = np.int64(X[:, 0] > 0) if family.task == "classification" else np.float64(X[:, 0])
    for setting in (PAPER, FOREST):
        model = our_model(family, setting, 0).set_params(n_estimators=3)
        if setting == PAPER:
            model.set_params(max_layers=2)
        model.fit(X, y).predict(X)


def measure_all(options: argparse.Namespace) -> None:
    """Measure what the CSV lacks, fold by fold, all settings of a fold in turn."""
    found = read_rows(options.csv, KEY) if options.csv.exists() else {}
    chosen = data_sets()
    for name in options.families:
        family = FAMILIES[name]
        peers = [peer for peer in family.peers if peer != DF21 or options.df21_python]
        settings = [one for one in (*family.settings(), *peers) if not options.settings or one in options.settings]
        warm_up(family)
        for repeat in range(options.repeats):
            for dataset in chosen[family.task]:
                wanted = [
                    (fold, setting)
                    for fold in range(options.folds)
                    for setting in settings
                    if (name, dataset, str(repeat), str(fold), setting) not in found
                ]
                if not wanted:
                    continue
                X, y, classes = training_rows(dataset, options.data, options.max_rows)
                for fold, (train, test) in enumerate(folds_of(X, y, classes, repeat)):
                    parts = [X[train], y[train], X[test], y[test]]
                    for setting in (setting for one, setting in wanted if one == fold):
                        seed = FOLDS * repeat + fold
                        row = (
                            measure_df21(options.df21_python, seed, parts, classes)
                            if setting == DF21
                            else measure_ours(family, setting, seed, parts, classes)
                        )
                        facts = {"rows": len(y), "features": X.shape[1], "classes": classes or ""}
                        found[name, dataset, str(repeat), str(fold), setting] = row | facts
                        write_rows(options.csv, found, KEY, COLUMNS)
                        score = row.get("accuracy", row.get("rmse"))
                        print(
                            f"{time.strftime('%H:%M:%S')}  {name:12} {dataset:17} {repeat} {fold}  {setting:44} "
                            f"{score:.4f}  {row['fit_cpu_seconds']:.2f} s",
                            file=sys.stderr,
                            flush=True,
                        )


# The report.


@dataclass(frozen=True)
class Comparison:
    """A setting beside the paper's: means over data sets, with half the width of a 95 % interval."""

    setting: str
    accuracy: float  # difference, in points; for regression the ratio of RMSE - 1, in percent
    half_width: float
    loss: float  # ratio of log losses; nan in regression
    loss_width: float  # half the width of the interval of its logarithm
    fit: float  # ratio of CPU seconds
    predict: float
    seconds: float  # CPU seconds of a fit, mean over data sets
    datasets: int

    def within_noise(self, task: str, margins: tuple[float, float, float]) -> bool:
        """Whether the rule admits the setting, with one line of `MARGINS`."""
        points, loss, rmse = margins
        if task == "regression":
            return 1 + (self.accuracy + self.half_width) / 100 < rmse
        return self.accuracy - self.half_width > -points and self.loss <= loss


def by_dataset(rows: Mapping[tuple[str, ...], Row], name: str, setting: str) -> dict[str, dict[tuple[str, str], Row]]:
    """Rows of a setting by data set, then by repeat and fold."""
    found: dict[str, dict[tuple[str, str], Row]] = {}
    for (family, dataset, repeat, fold, one), row in rows.items():
        if (family, one) == (name, setting):
            found.setdefault(dataset, {})[repeat, fold] = row
    return found


def compare(rows: Mapping[tuple[str, ...], Row], name: str, setting: str, base: str = PAPER) -> Comparison | None:
    """Pair a setting with another one on the same folds; the data set is the unit, since its folds share rows."""
    from scipy import stats

    task = FAMILIES[name].task
    ours, theirs = by_dataset(rows, name, setting), by_dataset(rows, name, base)
    differences, losses, fits, predicts, seconds = [], [], [], [], []
    for dataset in sorted(ours.keys() & theirs.keys()):
        both = sorted(ours[dataset].keys() & theirs[dataset].keys())
        a, b = ([part[dataset][key] for key in both] for part in (ours, theirs))

        def mean(part: list[Row], column: str) -> float:
            return float(np.mean([float(row[column]) for row in part]))

        if task == "classification":
            differences.append(100 * (mean(a, "accuracy") - mean(b, "accuracy")))
            losses.append(math.log(mean(a, "log_loss") / mean(b, "log_loss")))
        else:
            differences.append(100 * (mean(a, "rmse") / mean(b, "rmse") - 1))
        fits.append(math.log(mean(a, "fit_cpu_seconds") / mean(b, "fit_cpu_seconds")))
        predicts.append(math.log(mean(a, "predict_cpu_seconds") / mean(b, "predict_cpu_seconds")))
        seconds.append(mean(a, "fit_cpu_seconds"))
    n = len(differences)
    if n < 2:
        return None

    def half_width(values: list[float]) -> float:
        return float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n)) if values else math.nan

    loss = math.exp(np.mean(losses)) if losses else math.nan
    means = (math.exp(np.mean(fits)), math.exp(np.mean(predicts)), float(np.mean(seconds)))
    return Comparison(
        setting, float(np.mean(differences)), half_width(differences), loss, half_width(losses), *means, n
    )


def comparisons(rows: Mapping[tuple[str, ...], Row], name: str) -> list[Comparison]:
    """All measured settings of a family beside the paper's."""
    family = FAMILIES[name]
    names = [*family.settings(), *family.peers]
    return [found for setting in names if (found := compare(rows, name, setting)) is not None]


def choice(rows: Mapping[tuple[str, ...], Row], name: str) -> tuple[str | None, tuple[float, float, float]]:
    """The cheapest candidate within noise of the paper's setting, and by which margins; None if there is none."""
    family = FAMILIES[name]
    candidates = [one for one in comparisons(rows, name) if one.setting in family.candidates]
    for margins in MARGINS:
        admitted = [one for one in candidates if one.within_noise(family.task, margins)]
        if admitted:
            return min(admitted, key=lambda one: one.fit).setting, margins
    return None, MARGINS[-1]


def quality(one: Comparison, task: str) -> list[str]:
    """Difference of accuracy and ratio of log losses, or ratio of RMSE, with 95 % intervals."""
    difference = f"{one.accuracy:+.2f} ± {one.half_width:.2f}"
    if task == "regression":
        return [difference]
    low, high = (one.loss * math.exp(sign * one.loss_width) for sign in (-1, 1))
    return [difference, f"{one.loss:.3f} ({low:.2f} to {high:.2f})"]


def table(rows: Mapping[tuple[str, ...], Row], name: str) -> str:
    """Settings of a family, the cheapest first."""
    family, (chosen, margins) = FAMILIES[name], choice(rows, name)
    columns = ["accuracy − paper's, points", "log loss / paper's"]
    head = [name, *(columns if family.task == "classification" else ["RMSE / paper's − 1, %"])]
    head += ["fit, CPU s", "fit / paper's", "predict / paper's", "within noise"]
    body = []
    for one in sorted(comparisons(rows, name), key=lambda one: one.fit):
        cells = [f"**{one.setting}**" if one.setting == chosen else one.setting]
        empty = ["0", "1"][: len(head) - 5]
        cells += empty if one.setting == PAPER else quality(one, family.task)
        cells += [f"{one.seconds:.2f}", f"{one.fit:.3f}", f"{one.predict:.3f}"]
        is_ours = one.setting not in (PAPER, *family.peers)
        cells.append(("yes" if one.within_noise(family.task, margins) else "no") if is_ours else "")
        body.append(cells)
    return layout(head, body, markdown=True)


def draw(rows: Mapping[tuple[str, ...], Row], path: Path) -> None:
    """Accuracy against cost, a panel for each family that was measured."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.6), layout="constrained")
    measured = [name for name in FAMILIES if by_dataset(rows, name, PAPER)]
    for axis in axes.flat[len(measured) :]:
        axis.remove()
    for axis, name in zip(axes.flat, measured, strict=False):
        family, (chosen, _) = FAMILIES[name], choice(rows, name)
        for one in comparisons(rows, name):
            colour = (
                "#1B6B3A"
                if one.setting == chosen
                else "#D95F02"
                if one.setting in (PAPER, *family.peers)
                else "#999999"
            )
            axis.errorbar(one.fit, one.accuracy, one.half_width, fmt="o", color=colour, markersize=5, linewidth=1)
            if one.setting in (PAPER, chosen, *family.peers):
                axis.annotate(
                    one.setting, (one.fit, one.accuracy), (4, 4), textcoords="offset points", fontsize=8, color=colour
                )
        axis.axhline(0, color="#CCCCCC", linewidth=0.8, zorder=0)
        axis.set(xscale="log", title=family.estimator, xlim=(0.012, 4))
        axis.set_xticks([0.02, 0.1, 0.5, 1, 2], ["0.02", "0.1", "0.5", "1", "2"])
        axis.minorticks_off()
        if family.task == "regression":
            axis.set_ylim(-10, 20)  # a forest far above it is a line there
        axis.set_xlabel("CPU seconds of a fit / the paper's")
        axis.set_ylabel(
            "accuracy − the paper's, points" if family.task == "classification" else "RMSE / the paper's − 1, %"
        )
    figure.savefig(path, dpi=90, metadata={"Software": None})


def folds_measured(rows: Mapping[tuple[str, ...], Row], name: str) -> str:
    """How many folds were measured of each data set, with its number of rows; settings with fewer folds are named."""
    folds = {
        one.setting: min(len(found) for found in by_dataset(rows, name, one.setting).values())
        for one in comparisons(rows, name)
    }
    most = max(folds.values())
    fewer = ", ".join(f"{n} of {setting}" for setting, n in folds.items() if n < most)
    sizes = {dataset: int(row["rows"]) for (family, dataset, *_), row in rows.items() if family == name}
    sets = ", ".join(f"{dataset} {n:,}" for dataset, n in sorted(sizes.items()))
    return f"{most} folds{f' ({fewer})' if fewer else ''} of {sets} rows."


def report(options: argparse.Namespace) -> None:
    """Print the tables, draw the figure."""
    rows = read_rows(options.csv, KEY)
    print(f"{machine()}.\n")
    for name in options.families:
        if not by_dataset(rows, name, PAPER):
            continue
        family, (chosen, margins) = FAMILIES[name], choice(rows, name)
        which = ("first", "second")[MARGINS.index(margins)]
        print(f"{table(rows, name)}\n\n{folds_measured(rows, name)}")
        print(f"Within noise by the {which} margins: {chosen}." if chosen else "No candidate is within noise.")
        for peer in family.peers:
            if chosen and (beside := compare(rows, name, chosen, peer)):
                print(f"Chosen beside {peer}: {', '.join(quality(beside, family.task))}; fit {beside.fit:.2f}.")
        print()
    if options.figure:
        draw(rows, options.figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, required=True, metavar="PATH", help="measurements; what it has is kept")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of prepared data sets (.npz)")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--settings", nargs="+", metavar="NAME", help="some settings only")
    parser.add_argument("--repeats", type=int, default=1, help=f"times that rows are divided into {FOLDS} folds")
    parser.add_argument("--max-rows", type=int, default=1500, metavar="N", help="training rows of a set (default 1500)")
    parser.add_argument("--folds", type=int, default=FOLDS, metavar="N", help=f"measure the first N of {FOLDS} folds")
    parser.add_argument("--df21-python", metavar="PATH", help="a Python that has DF21 (deep-forest); see README.md")
    parser.add_argument("--report", action="store_true", help="measure nothing; print tables of what was measured")
    parser.add_argument("--figure", type=Path, metavar="PATH", help="with --report: also draw this picture")
    options = parser.parse_args(arguments)
    if not options.report:
        if options.data is None:
            parser.error("--data FOLDER is missing: prepared data sets (.npz), see benchmarks/README.md.")
        if options.df21_python:
            check_df21(options.df21_python)
        measure_all(options)
    else:
        report(options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
