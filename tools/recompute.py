"""Recompute the numbers of the stored reports from the stored cells, without a line of the code that wrote them.

Tables, README's and docs/fidelity.md follow from cells, rows and extras. The first that differs is printed (status 1).
"""

import argparse
import csv
import gzip
import io
import json
import lzma
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, product, zip_longest
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from scipy import stats

Row = dict[str, str]
Key = tuple[str, ...]
Expected = dict[str, Any]
#: Where a number stands, a word for the list of what is not recomputed, what is stored, what is recomputed.
Compared = Iterator[tuple[str, str, str, Any]]
HIGHER = {"accuracy", "balanced_accuracy", "roc_auc"}
COSTS = {"fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "predict_peak_mib", "model_mib"}
SIGNS = dict.fromkeys(HIGHER, -1.0) | dict.fromkeys(COSTS | {"error_rate", "rmse", "log_loss", "ece"}, 1.0)
SHIFTS = {"percent": 0.01, "percent points": 0.01, "thousands": 1000.0}
HEADS = {"training time": "fit_cpu_seconds", "test time": "predict_cpu_seconds", "test error": "error_rate"}
OF_ROWS = ("right", "residual", "loss", "area", "placed", "predicted")
SCORED, OF_VERDICTS = ("scores", "statistics", "auc_ranking"), ("verdict", "prediction_interval")
NONE = {"low": None, "high": None, "smallest": None}


def is_same(stored: str, found: Any) -> bool:
    if found is None or isinstance(found, str):
        return stored == (found or "")
    return bool(stored) and math.isclose(float(stored), found, rel_tol=2e-9, abs_tol=1e-12)  # ten digits are stored


def read_csv(path: Path) -> list[Row]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def key_of(row: Row) -> Key:
    return row["dataset"], row["model"], row["condition"], row["metric"]


@cache
def arrays(path: Path) -> dict[str, np.ndarray]:
    return dict(np.load(io.BytesIO(lzma.decompress(path.read_bytes())) if path.suffix == ".xz" else path))


@cache
def published(path: Path) -> dict[Key, Row]:
    return {key_of(row): row for row in read_csv(path)} if path.is_file() else {}


class Store:
    def __init__(self, root: Path, suite: str) -> None:
        self.root, self.suite, self.folder = root, suite, root / "reports" / suite
        content = json.loads(gzip.decompress((self.folder / "cells.json.gz").read_bytes()))
        self.experiments, self.papers = content["plan"]["experiments"], content["plan"]["papers"]
        self.runs = {(run["run"]["dataset"], run["run"]["model"]): run["cells"] for run in content["runs"]}
        self.facts, self.files = content["summaries"], content["rows"]
        self.tables = {path.stem: Table(self, path) for path in sorted((self.folder / "tables").glob("*.csv"))}
        judge(self, self.tables["claims"])


class Table:
    def __init__(self, store: Store, path: Path) -> None:
        self.store, self.name, self.plan = store, path.stem, store.experiments[path.stem]
        self.found: dict[Key, Expected] = {}
        self.base = {dataset: self.plan["published_as"].get(dataset, dataset) for dataset in self.plan["datasets"]}
        self.rows = [row for row in read_csv(path) if row["mean"]]
        self.render, self.options, self.columns = (self.plan[key] for key in ("render", "options", "columns"))
        self.few = self.plan.get("fewer_repeats", {})
        self.fair = [d for d in self.plan["datasets"] if d not in self.plan["absent"] and self.is_fair(d)]
        keys = [key_of(row) for row in self.rows if self.render != "claims"]
        for key in keys:
            self.found |= {key: found} if key[0] != "all" and (found := number(self, *key)) else {}
        rank(self)
        for key in keys:
            self.found |= {key: found} if key[0] == "all" and (found := over_datasets(self, *key[1:])) else {}

    def cells(self, dataset: str, column: str, condition: str = "all splits") -> list[Any]:
        preset, every = self.columns.get(column, ""), self.plan["repeats"].get(dataset, 0)
        n = self.few.get(dataset, {}).get(preset, every)
        cells = [c for c in self.store.runs.get((dataset, preset), []) if c["repeat"] < n]
        cells = sorted(cells, key=lambda c: c["repeat"]) if len(cells) == n else []
        splits = list(dict.fromkeys(cell["seeds"]["split"] for cell in cells))
        if self.render == "pairs" and condition != "all splits" and 1 < len(splits) < len(cells):
            condition = "split 1"
        match = re.match(r"split (\d+)", condition)
        return [c for c in cells if c["seeds"]["split"] == splits[int(match[1]) - 1]] if match else cells

    def is_fair(self, dataset: str) -> bool:
        shares = {1.0}
        for column, name in product(self.columns, ("n_estimators", "max_iter")):
            bound = self.plan["bounds"].get(column, {}).get(dataset, {}).get(name)
            if any(name in cell["params"] for cell in self.cells(dataset, column)[:1]):
                shares.add(bound["here"] / bound["unbounded"] if bound else 2.0)
        return max(shares) < 2 or min(shares) >= 1 / 3

    def find(self, dataset: str, label: str, what: str) -> Row:
        labels = self.plan["labels"] | {name: one["label"] for name, one in self.options.get("columns", {}).items()}
        words, place = what.partition(" (")[0].partition(", ")[0], (dataset, label.removesuffix(" ↳"))
        metric = HEADS.get(words, words.lower().replace(" ", "_"))
        rows = [r for r in self.rows if (r["dataset"], labels.get(r["model"], "data")) == place and r["published"]]
        rows = [r for r in rows if what.endswith(f", {r['condition']}" if r["condition"] else what)]
        return max(rows, key=lambda r: (r["metric"] == metric, len(r["condition"])))

    def printed(self, dataset: str, model: str, metric: str, condition: str = "") -> tuple[Any, ...]:
        elsewhere = self.options.get("published", {}).get(model, {})
        name = elsewhere.get(metric, elsewhere.get("model", model))
        key = self.base.get(dataset, dataset), name, elsewhere.get("condition", condition), metric
        row = published(self.store.root / f"reports/published/{self.name}.csv").get(key, defaultdict(str))
        shift, texts = SHIFTS.get(row["unit"], 1.0), [row[column].replace(",", "") for column in ("value", "std")]
        return *(float(text) * shift if text else None for text in texts), row


def number(table: Table, dataset: str, model: str, condition: str, metric: str) -> Expected | None:
    if metric.endswith(("_difference", "_ratio")):
        return (difference if metric.endswith("_difference") else cost_ratio)(table, dataset, model, condition, metric)
    values = series(table, dataset, model, condition, metric)
    found = over_repeats(*values) | {"values": values[0]} if values and values[0] else {}
    if found and table.render in SCORED and condition != "all splits":
        found["published"], found["published_std"], _ = table.printed(dataset, model, metric, condition)
    return found or None


def over_repeats(values: Sequence[float], n_test: int | None) -> Expected:
    return {"mean": fmean(values), "std": stdev(values) if values[1:] else None, "n": len(values), "n_test": n_test}


@cache
def series(table: Table, dataset: str, model: str, condition: str, metric: str) -> tuple[list[float], Any] | None:
    if table.render == "auc_ranking":
        own = {"model": "", "extra": model} | table.options["columns"].get(model, {})
        cells = table.cells(dataset, own["model"]) if not condition and metric == "roc_auc" else []
        saved = [c["extras"][own["extra"]] for c in cells[: table.plan.get("extra_repeats", {}).get(own["extra"])]]
        files = [table.store.folder / "extras" / one["file"] for one in saved]
        return [importance_auc(arrays(file)["importances"]) for file in files], None
    condition = re.sub(r"^(\d+ × )?[\d,]+ trees(, )?", "", condition)  # of pairs
    cells = table.cells(dataset, model, condition)[: 1 if table.render == "class_shares" else None]
    if not cells or not (condition in ("", "all splits") or condition.startswith("split ")):
        return None
    is_error = metric == "error_rate"
    values = [cell["metrics"].get("accuracy" if is_error else metric) for cell in cells]
    return None if None in values else ([1 - v if is_error else v for v in values], min(c["n_test"] for c in cells))


def importance_auc(saved: np.ndarray) -> float:
    """Share of the pairs (original feature, permuted copy) in which the original is more important; ties half."""
    saved = np.round(saved / (np.abs(saved).max() or 1.0), 12)  # equal but for the order of additions
    original, copies = saved[: len(saved) // 2, None], saved[None, len(saved) // 2 :]
    return float((original > copies).mean() + (original == copies).mean() / 2)


def cost_ratio(table: Table, dataset: str, model: str, condition: str, metric: str) -> Expected | None:
    match, cost = re.fullmatch(r"against (\w+)(?:, (\w+) of the repeats)?", condition), metric.removesuffix("_ratio")
    both = [series(table, dataset, name, "", cost) for name in (model, match[1] if match else "")]
    if cost not in COSTS or not match or both[0] is None or both[1] is None:
        return None
    paid = np.array(list(zip(both[0][0], both[1][0], strict=False)))  # as many as both have
    found = over_repeats(ratios := (paid[:, 1] / paid[:, 0]).tolist(), both[0][1])
    if match[2]:
        return found | {"mean": min(ratios) if match[2] == "smallest" else max(ratios), "std": None}
    own, other = (table.printed(dataset, m, cost.replace("fit_peak_mib", "memory_mb"))[0] for m in (model, match[1]))
    return found | {"mean": paid[:, 1].mean() / paid[:, 0].mean(), "published": other / own if own and other else None}


def t_interval(mean: float, variance: float, df: float) -> Expected:
    """Ends of the 95 % interval, and the difference that is found with a probability of 80 %."""
    if not variance > 0:
        return {"low": mean, "high": mean, "smallest": None}
    half, more = (math.sqrt(variance) * float(stats.t.ppf(p, df)) for p in (0.975, 0.8))
    return {"low": mean - half, "high": mean + half, "smallest": half + more}


def satterthwaite(parts: Sequence[float], dfs: Sequence[float]) -> float:
    return float(sum(parts) ** 2 / sum(part**2 / df for part, df in zip(parts, dfs, strict=True)))


def given_test_set(matrix: np.ndarray, strata: np.ndarray) -> Expected:
    """Variance max(MS_row + MS_seed - MS_err, MS_row, MS_seed) / (n S) of an array (rows, seeds), by classes."""
    (n, seeds), of_seeds, classes = matrix.shape, matrix.mean(axis=0), [matrix[strata == k] for k in np.unique(strata)]
    rows = [len(part) / n**2 * float(part.mean(axis=1).var(ddof=1)) for part in classes]
    ms_row, mean = sum(rows), float(of_seeds.mean())
    row_df = satterthwaite(rows, [len(part) - 1 for part in classes]) if ms_row else n - 1.0
    if seeds == 1:
        return t_interval(mean, ms_row, row_df)
    ms_seed, ms_err = float(of_seeds.var(ddof=1)) / seeds, 0.0
    for part in classes:
        rest = part - part.mean(axis=1, keepdims=True) - part.mean(axis=0) + part.mean()
        ms_err += len(part) / n**2 * float((rest**2).sum()) / ((len(part) - 1) * (seeds - 1)) / seeds
    together, df = ms_row + ms_seed - ms_err, row_df if ms_row >= ms_seed else seeds - 1
    if together > max(ms_row, ms_seed):
        df = satterthwaite([ms_row, ms_seed, -ms_err], [row_df, seeds - 1, row_df * (seeds - 1)])
    return t_interval(mean, max(together, ms_row, ms_seed), df)


def pooled(rows: Sequence[np.ndarray], differences: Sequence[np.ndarray]) -> Expected:
    """Interval over the test rows of all splits (Bayle et al. 2020); a row tested several times is one row."""
    every, (_, at) = np.concatenate(differences), np.unique(np.concatenate(rows), return_inverse=True)
    sums = np.bincount(at, every - every.mean())
    variance = float((sums**2).sum()) / len(every) ** 2 * len(sums) / (len(sums) - 1)
    return t_interval(float(every.mean()), variance, len(sums) - 1)


@cache
def subsets(n: int) -> np.ndarray:
    """Sign flips as shares of repeats; of more than 16 a subgroup is tried: the powers of x modulo a polynomial."""
    words = list(accumulate(range(n - 1), lambda word, _: 2 * word ^ 0x1100B * (word >> 15), initial=1))
    members = np.bitwise_count(np.arange(1, 2 ** min(n, 16))[:, None] & np.array(words)) & 1
    return members / members.sum(axis=1, keepdims=True)


def over_repeats_only(leads: np.ndarray, design: str, cells: Sequence[Any]) -> Expected:
    """Exact sign flips of small draws (Hartigan 1969: means of subsets), Nadeau and Bengio of splits, or paired t."""
    if (n := len(leads)) < 2 or (np.abs(leads).max() if design == "draws" else np.ptp(leads)) <= 1e-12:
        return NONE
    ratio = fmean(c["n_test"] / c["n_train"] for c in cells) if design in ("folds", "splits") else 0.0
    found = t_interval(float(leads.mean()), float(leads.var(ddof=1)) * (1 / n + ratio), n - 1)
    if design == "draws":
        means = np.sort(np.round(subsets(n) @ leads, 14))  # 1e-18 is 0
        outside = math.floor(0.025 * (len(means) + 1) + 1e-9)
        found |= NONE | {"mark": "undecided"} if not outside else {"low": means[outside - 1], "high": means[-outside]}
    return found


def of_rows(table: Table, cell: Any, metric: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Numbers of the test rows, what each adds to the metric (their mean), and classes that vary by themselves."""
    place, file = f"{cell['model']}/{cell['repeat']}/", table.store.files.get(cell["dataset"])
    kept = arrays(table.store.folder / "rows" / file["file"]) if file else {}
    own = {name: kept[place + name] for name in OF_ROWS if place + name in kept}
    if not own or metric == "ece":
        return None
    split, value = kept["split"][cell["repeat"]], cell["metrics"]["accuracy" if metric == "error_rate" else metric]
    test, classes = np.flatnonzero(np.unpackbits(kept[f"test_rows/{split}"])), kept.get(f"class/{split}")
    strata: np.ndarray = np.zeros(len(test), int)
    right = np.unpackbits(own["right"], count=len(test)) if "right" in own else strata
    if metric == "rmse":
        squares = own["residual"].astype(float) ** 2
        parts: np.ndarray = squares * value / (2 * squares.mean() or 1.0)
    elif metric in ("accuracy", "error_rate"):
        parts = right * (1.0 if metric == "accuracy" else -1.0)
    elif (name := {"log_loss": "loss", "roc_auc": "area"}.get(metric, "")) in own:
        parts, strata = own[name].astype(float), classes if name == "area" else strata
    elif metric == "roc_auc" and "placed" in own:  # every class counts once: both have the area as mean (DeLong)
        strata = ((own["predicted"] == 1) == right).astype(int)
        sizes = np.bincount(strata, minlength=2)
        parts = (own["placed"] / (2.0 * sizes[1 - strata]) - value) * len(test) / sizes[strata]
    elif metric == "balanced_accuracy" and classes is not None:
        strata, sizes = classes, np.bincount(classes)
        recalls = np.bincount(classes, right) / np.maximum(sizes, 1)
        parts = (right - recalls[classes]) * len(test) / (np.count_nonzero(sizes) * sizes[classes])
    else:
        return None
    return test, parts - parts.mean() + (1 - value if metric == "error_rate" else value), strata


def interval(table: Table, metric: str, sides: Sequence[list[Any]], leads: np.ndarray, design: str) -> Expected:
    """Interval that fits the design, and the one for these training sets; of two data sets, that over repeats."""
    places = [[(c["repeat"], c["seeds"]["split"], c["provenance"]["data_digest"]) for c in side] for side in sides]
    both = [(of_rows(table, a, metric), of_rows(table, b, metric)) for a, b in zip(*sides, strict=False)]
    pairs = [(a, b) for a, b in both if a is not None and b is not None]
    if places[0] != places[1] or any(not np.array_equal(a[0], b[0]) for a, b in pairs):
        return NONE if sides[0][0]["dataset"] == sides[1][0]["dataset"] else over_repeats_only(leads, design, sides[0])
    tests, rows, strata = [a[0] for a, _ in pairs], [a[1] - b[1] for a, b in pairs], [a[2] for a, _ in pairs]
    own, over = sides[0], None
    if len(pairs) == len(own) and min(np.unique(one, return_counts=True)[1].min() for one in strata) > 1:
        if not any(one.any() for one in rows):  # 1 - .05^(1/n) is the largest share of rows of which none is among n
            _, at = np.unique(np.concatenate(tests), return_index=True)
            n = np.unique(np.concatenate(strata)[at], return_counts=True)[1].min()
            most = 1 - 0.05 ** (1 / n) if metric not in ("rmse", "log_loss") else 0.0
            return t_interval(0.0, (most / float(stats.norm.ppf(0.975))) ** 2, math.inf)
        over = pooled(tests, rows)
        if len(own) == 1 or (design in ("given", "draws") and all(np.array_equal(one, tests[0]) for one in tests)):
            over = given_test_set(np.column_stack(rows), strata[0])
    if design == "given" and metric != "ece":
        return over or NONE
    if design in ("folds", "splits"):
        keys = [c["repeat"] if design == "folds" else c["seeds"]["split"] for c in own]
        leads = np.array([leads[[one == key for one in keys]].mean() for key in dict.fromkeys(keys)])
        here = {"here_low": over["low"], "here_high": over["high"]} if over else {}
        one = (over or NONE) | ({"mark": "undecided"} if over else {})
        return over_repeats_only(leads, design, own) | here if len(leads) > 1 else one
    found = over_repeats_only(leads, design, own)
    if design != "draws" or over is None or found.get("low") is None:
        return over if over and design == "draws" and found is NONE and len(leads) > 1 else found
    return max(found, over, key=lambda ends: ends["high"] - ends["low"])


def outcome(ends: Expected, metric: str, rival: float, printed: float | None) -> str:
    """What an interval decides, with the largest difference that does not matter."""
    if ends["low"] is None or metric == "ece":
        return ""
    error = None if printed is None else printed if metric == "error_rate" else 1 - printed
    region = 0.003 if error is None else min(max(0.05 * error, 0.001), 0.005)
    region = 0.02 * abs(rival if printed is None else printed) if metric in ("rmse", "log_loss") else region
    if max(-ends["low"], ends["high"]) <= region:
        return "equivalent"
    is_found = ends["low"] > 0 or ends["high"] < 0
    return ("win" if (ends["low"] > 0) == (metric in HIGHER) else "lose") if is_found else "undecided"


@cache
def difference(table: Table, dataset: str, model: str, condition: str, metric: str) -> Expected | None:
    match, metric = re.match(r"against (\w+)(?: on (\S+))?", condition), metric.removesuffix("_difference")
    part, design = ("all splits" if condition.endswith("all splits") else ""), table.plan["designs"][dataset]
    places = [(dataset, model), (match[2] or dataset, match[1]) if match else (dataset, "")]
    both = [series(table, *place, part, metric) for place in places]
    if not both[0] or not both[1]:
        return None
    leads = [a - b for a, b in zip(both[0][0], both[1][0], strict=False)]  # as many as both have
    if table.render == "auc_ranking":
        cells = table.cells(dataset, table.options["columns"][model]["model"])
        return over_repeats(leads, None) | over_repeats_only(np.array(leads), design, cells) | {"mark": ""}
    sides = [table.cells(*place, part)[: len(leads) if leads[1:] else None] for place in places]
    design = "given" if len(table.cells(dataset, model, part)) < len(table.cells(dataset, model)) else design
    own, other = (table.printed(*place, metric)[0] for place in places)
    ends = interval(table, metric, sides, np.array(leads), design)
    mark = {"mark": outcome(ends, metric, fmean(both[1][0][: len(leads)]), other)} if "low" in ends else {}
    found = over_repeats(leads, min(c["n_test"] for side in sides for c in side[: len(leads)])) | mark | ends
    return found | {"published": None if None in (own, other) or part else own - other}


def rank(table: Table) -> None:
    compared = table.options.get("compared") or table.plan["rank_columns"] or table.columns
    names = {"best": ["best"], "best_and_second": ["best", "second"]}.get(table.plan["marks"], [])
    lines: dict[Key, dict[str, Expected]] = defaultdict(dict)
    for (dataset, model, condition, metric), found in table.found.items():
        is_few = table.columns.get(model) in table.few.get(dataset, ()) or table.render not in SCORED
        if not is_few and "values" in found and metric in SIGNS and not (condition and metric in COSTS):
            lines[dataset, condition, metric][model] = found
    for (_, _, metric), line in lines.items():
        means = {model: SIGNS[metric] * round(found["mean"], 12) for model, found in line.items()}
        places = dict(zip(sorted(set(means.values())), names, strict=False)) if len(means) > 1 else {}
        among = [model for model in means if model in compared]
        ranks = dict(zip(among, stats.rankdata([means[model] for model in among]), strict=True))
        for model, found in line.items():
            found["rank"] = ranks.get(model)
            if not table.options.get("test"):  # whose marks are of a rank-sum test, which is not made again
                found["mark"] = places.get(means[model], "")


def over_datasets(table: Table, model: str, condition: str, name: str) -> Expected | None:
    (reference, _, metric), plan = condition.rpartition(", "), table.plan
    metric = metric or plan["metrics"][0]
    once = list({table.base[d]: d for d in reversed(table.fair)}.values())
    if name.startswith("decided_"):
        keys = [(dataset, model, f"against {reference}", f"{metric}_difference") for dataset in once]
        marks = [mark for key in keys if (mark := table.found.get(key, {}).get("mark"))]  # of the other model
        return {"mean": marks.count({"win": "lose", "lose": "win"}.get(name[8:], name[8:])), "n": len(marks)}
    places = product(plan["datasets"], table.columns) if metric in SIGNS else ()
    values = {place: got[0] for place in places if (got := series(table, *place, "", metric))}
    printed = {"published": table.printed("all", model, name, condition)[0]}
    if name == "average_rank":
        named = [d for d in table.fair if table.base[d] in (plan["average_rank"] or ())] or table.fair
        means = {place: SIGNS[metric] * round(fmean(own), 12) for place, own in values.items()}
        models = [m for m in plan["rank_columns"] or table.columns if any((d, m) in means for d in named)]
        full = np.array([line for d in named if None not in (line := [means.get((d, m)) for m in models])])
        return {"mean": stats.rankdata(full, axis=1).mean(axis=0)[models.index(model)], "n": len(full)} | printed
    pairs = [(values.get((d, model), []), values.get((d, plan["win_tie_lose"]), [])) for d in once]
    leads = [round(fmean(a - b for a, b in zip(*pair, strict=False)), 12) for pair in pairs if all(pair)]
    wins = ["win" if SIGNS[metric] * lead > 0 else "lose" if lead else "tie" for lead in leads]
    return {"mean": wins.count(name), "n": len(wins)} | printed if name in ("win", "tie", "lose") else None


def judge(store: Store, claims: Table) -> None:
    """Comparisons of claims, turned so that positive is better; a verdict's number is that of one of them."""
    for key in map(key_of, claims.rows):
        match = re.fullmatch(r"(?:.*: )?([a-z0-9-]+): (\w+)(?: on \S+)? against (\w+(?: on \S+)?)", key[2])
        table, metric = store.tables.get(match[1] if match else ""), key[3].removesuffix("_difference")
        if table and metric in SIGNS and (one := difference(table, key[0], match[2], f"against {match[3]}", key[3])):
            is_known = one["low"] is not None and one["n"] > 1  # one run decides nothing
            ends = sorted(-SIGNS[metric] * one[k] for k in ("low", "high")) if is_known else (None, None)
            claims.found[key] = {"mean": -SIGNS[metric] * one["mean"], "low": ends[0], "high": ends[1]}
    for key, mean in ((key_of(row), float(row["mean"])) for row in claims.rows if row["metric"] == "verdict"):
        judged = (row for row in claims.rows if row["status"] == "ok" and row["metric"] not in OF_VERDICTS)
        own = [claims.found.get(key_of(row)) for row in judged if row["model"] == key[1]]
        if own and all(own):  # of equal numbers one with an interval decides
            claims.found[key] = min(filter(None, own), key=lambda o: abs(o["mean"] - mean) // 1e-9 + (o["low"] is None))


def check_tables(store: Store) -> Compared:
    for table in store.tables.values():
        for key, row in ((key_of(row), row) for row in table.rows):
            place, found = f"reports/{store.suite}/tables/{table.name}.csv: {', '.join(key)}", table.found.get(key, {})
            yield from ((f"{place}: {column}", "", row[column], found[column]) for column in found.keys() & row.keys())
            if not found:
                yield place, f"{store.suite} {table.name}: {key[3]}", "", None


def lines_of(text: str, n_labels: int) -> Iterator[tuple[list[str], list[str]]]:
    heads, above = list[str](), list[str]()
    for line in text.splitlines():
        cells = [re.sub(r"\\(.)", r"\1", cell).strip("* ") for cell in line[2:-2].split(" | ")]
        if not line.startswith("|"):
            heads = []
        elif not heads:
            heads, above = cells, []
        elif not set(line) <= set("|-: "):
            new = next((place for place, cell in enumerate(cells[:n_labels]) if cell), 0)
            above = cells = [*above[:new], *cells[new:]]
            yield heads, cells


def check_text(place: str, text: str, values: Sequence[float | None], scale: float = 1.0) -> Compared:
    texts = re.findall(r"[-+]?\d+(?:\.\d+)?", text.replace(",", "").replace("−", "-"))
    for one, value in zip_longest(texts, [scale * value for value in values if value is not None]):
        shown = float(one) if one and value is not None else math.inf
        is_near = abs(shown - (value or 0.0)) <= 0.5 * 10.0 ** -len((one or "").partition(".")[2]) + 1e-9
        yield place, "", one or "", one if is_near else value


def check_readme(store: Store) -> Compared:
    rows = [r for r in read_csv(store.folder / "tables/claims.csv") if (r["metric"], r["condition"]) == ("verdict", "")]
    papers = list(dict.fromkeys(row["model"].partition("-")[0] for row in rows))
    text = (store.root / "README.md").read_text(encoding="utf-8").partition("<!-- generated: verdicts -->")[2]
    for paper, (heads, (name, *cells)) in zip(papers, lines_of(text.partition("<!--")[0], 1), strict=True):
        for verdict, cell in zip(heads[1:], cells, strict=True):
            n = sum(row["model"].startswith(f"{paper}-") and row["mark"] == verdict for row in rows)
            yield from check_text(f"README.md: {name}, {verdict}", cell, [n])


def tolerance(table: Table, row: Row, printed: float, std: float | None, is_given: bool) -> float | None:
    known = [one for one in (std, float(row["std"]) if row["std"] else None) if one is not None]
    parts, facts = [one**2 for one in (known * 2)[:2]], table.store.facts.get(row["dataset"], {})
    if not is_given and row["n_test"] and row["metric"] in ("accuracy", "error_rate", "rmse"):
        n = min(int(row["n"]) * int(row["n_test"]), facts["rows"])  # no data are made anew in each repeat
        for value in (float(row["mean"]), printed):  # of an RMSE of normal errors, or of a share
            parts.append(value**2 / (2 * n) if row["metric"] == "rmse" else value * (1 - value) / n)
    return 2 * math.sqrt(sum(parts)) if parts else None


def check_fidelity(store: Store) -> Compared:
    text, config = ((store.root / p).read_text(encoding="utf-8") for p in ("docs/fidelity.md", "config/fidelity.yaml"))
    given = re.findall(r"^  (\w+):", config.partition("same_test_rows:")[2].partition("\nexplanations:")[0], re.M)
    papers: dict[str, Counter[str]] = {name: Counter() for name in store.papers}
    for name, plan in store.experiments.items():
        keys = [key for key in published(store.root / f"reports/published/{name}.csv") if "not printed" not in key[2]]
        papers.get(plan["paper"], Counter())["printed"] += len(keys)
    for heads, cells in (line for line in lines_of(text, 4) if line[0][0] == "table"):
        table, place = store.tables[cells[0]], f"docs/fidelity.md: {', '.join(cells[:4])}"
        row = table.find(*cells[1:4])
        printed, std, source = table.printed(row["dataset"], row["model"], row["metric"], row["condition"])
        mean, scale, count = float(row["mean"]), 100 if "(%)" in cells[3] else 1, heads[-1]
        yield from check_text(f"{place}: published", cells[4], [printed, std], scale)
        yield from check_text(place, cells[5], [float(row[name]) for name in ("mean", "std") if row[name]], scale)
        if "difference" in heads:
            yield from check_text(f"{place}: difference", cells[6], [mean - printed], scale)
            is_given = row["dataset"].partition("+")[0] in given and "+rest-" not in row["dataset"]
            width = tolerance(table, row, printed, std, is_given) if row["model"] else None
            yield from check_text(f"{place}: 2 s. d.", cells[7], [width], scale)
            lead = abs(mean - printed) if not source["note"].startswith("text: less") else max(mean - printed, 0.0)
            half = 0.5 * 10.0 ** -len(source["value"].partition(".")[2]) * SHIFTS.get(source["unit"], 1.0)
            is_near = row["model"] and source["unit"] in {*SHIFTS, "fraction"} - {"thousands"} and lead <= 0.01 + 1e-12
            grade = "within" if lead <= (width or 0.0) + half + 1e-12 else "one point" if is_near else "beyond"
            yield f"{place}: grade", "", "beyond" if count == "why" else cells[-1].partition(";")[0], grade
            count = cells[-1].split()[0].strip(";") if (grade, count) == ("beyond", "why") else grade
            count = count if row["model"] else "equal" if grade == "within" else "differ"
        if not cells[2].endswith(" ↳"):
            papers[table.plan["paper"]].update([count, "beside"])
    names = ["printed", "beside", "size", "bound", "equal", "differ", "within", "one point", "explained", "unexplained"]
    lines = [cells for heads, cells in lines_of(text, 1) if heads[0] == "paper"]
    for cells, paper in zip(lines, [*papers.values(), sum(papers.values(), Counter())], strict=True):
        for name, cell in zip(names, cells[1:], strict=True):
            yield f"docs/fidelity.md: summary of {cells[0]}: {name}", "", cell.replace(",", ""), paper[name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="by default all that are stored")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--keep-going", action="store_true", help="print all numbers that differ")
    options, left, counts = parser.parse_args(), Counter[str](), Counter[bool]()
    for suite in options.suites or sorted(path.parent.name for path in options.root.glob("reports/*/cells.json.gz")):
        store = Store(options.root, suite)
        pages = (check_readme(store), check_fidelity(store)) if suite == "standard" else ()
        for place, not_recomputed, stored, found in chain(check_tables(store), *pages):
            left.update(filter(None, [not_recomputed]))
            counts[is_same(stored, found)] += 1
            if not is_same(stored, found):
                print(f"{place}: stored {stored or 'nothing'}, recomputed {found}")
                if not options.keep_going:
                    return 1
    print("Not recomputed:", *(f"  {place} ({n})" for place, n in sorted(left.items())), sep="\n")
    print(f"{counts[True] - left.total():,} numbers recomputed, {left.total():,} rows not, {counts[False]} differ")
    return int(counts[False] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
