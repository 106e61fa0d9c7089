"""Costs timed in turn, in tables: ratios by hand, widening, what a single timing says, failures, the store."""

import json
import math
import shutil

import pytest
from scipy import stats
from tests.reports.conftest import ROOT

from cascadeforest.data.typed_json import to_json
from cascadeforest.experiments.plan import Run, Timing
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import Failure, Round, Timed, Timings, Turn, timings_path
from cascadeforest.experiments.typed_files import write_typed
from cascadeforest.reports.drawing.page import index_page
from cascadeforest.reports.drawing.renderers.claims import judged
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.costs import ratio
from cascadeforest.reports.numbers.fidelity import Declared
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.redraw import redraw_stored

NAME, FIT, PREDICT = "hidf-table3", "fit_cpu_seconds", "predict_cpu_seconds"
LABELS = {"hidf": "hiDF", "gcforest": "gcForest"}
METRICS = ["accuracy", FIT, PREDICT, "fit_peak_mib", "model_mib"]
ORIGIN = Provenance({}, {"processor": "A CPU", "cores": 2}, "c0de", "da7a")
#: CPU seconds of hiDF, of gcForest, and of gcForest again, in three rounds.
ROUNDS = [(1.0, 4.0, 4.0), (1.0, 8.0, 8.4), (2.0, 16.0, 15.6)]


def declare(suite, rounds=ROUNDS, dataset="adult", timed=(), labels=LABELS, against="gcforest", **changes):
    """An experiment that is timed in turn; `rounds` have None for a fit that failed, and are None without a job."""
    name = changes.pop("name", NAME)
    given = {"metrics": METRICS, "labels": labels, "datasets": ["adult"], "options": {"ratio_of": "gcforest"}}
    suite.declare(name, changes.pop("render", "scores"), **given | {"repeats": 2} | changes)
    runs = tuple(
        Run(suite.name, dataset, column, "classification", f"somewhere:{column}", {}, (), timed, memory=False)
        for column in labels
    )
    numbers = tuple(range(len(rounds or ROUNDS)))
    timing = Timing(name, dataset, "adult", tuple(labels), runs, against, numbers)
    suite.timings = [json.loads(json.dumps(to_json(timing)))]
    suite.write_plan()
    if rounds is not None:
        found = tuple(round_of(timing, k, costs) for k, costs in enumerate(rounds))
        write_typed(timings_path(suite.folder, name), Timings(name, (Timed(timing, found),)))
    return timing


def round_of(timing, number, costs, elsewhere=0.0):
    turns = []
    for (column, run, is_second), cost in zip(timing.turns(), costs, strict=True):
        if cost is None:
            failure = Failure(number, "MemoryError", "no room", "", 0, 1)
            turns.append(Turn(column, is_second, failure=failure))
        else:
            seconds = {FIT: cost, PREDICT: cost / 10} | {extra: cost * k for k, extra in enumerate(run.extras, 1)}
            turns.append(Turn(column, is_second, seconds, {"n_trees": 10, "n_nodes": 100 + number}))
    return Round(f"k{number}", number, tuple(turns), 100, 50, elsewhere, 1, 0, 1, ORIGIN)


def ran(suite, **changes):
    declare(suite, **changes)
    suite.summary("adult")
    for column, fit in (("hidf", 1.0), ("gcforest", 9.0)):
        costs = {"accuracy": 0.9, FIT: fit, PREDICT: fit / 10, "fit_peak_mib": 10 * fit, "model_mib": fit}
        suite.run("adult", column, [costs] * 2)
    return suite


def cells_of(suite, name=NAME):
    return Cells(suite.planned(name), read_results(suite.root, suite.name))


def found(suite, *key):
    return suite.rows(NAME)[("adult", *key)]


AGAINST = "against gcforest, in turn", f"{FIT}_ratio"


def test_ratios_are_geometric_means_with_their_t_interval_widened_for_the_machine(suite):
    """Ratios 4, 8 and 8; against itself 1, 1.05 and 0.975, whose interval excludes 1.2."""
    row = found(ran(suite), "hidf", *AGAINST)
    logs = [math.log(4), math.log(8), math.log(8)]
    assert row.mean == pytest.approx(math.exp(sum(logs) / 3))
    again = [math.log(b / a) for _, a, b in ROUNDS]
    low, high = stats.t.interval(0.95, 2, sum(again) / 3, stats.sem(again))
    wide = math.exp(max(abs(low), abs(high)))
    assert wide < 1.2  # the timings of gcForest against itself exclude 1.2
    ends = stats.t.interval(0.95, 2, sum(logs) / 3, stats.sem(logs))
    assert (row.low, row.high) == (pytest.approx(math.exp(ends[0]) / wide), pytest.approx(math.exp(ends[1]) * wide))
    assert (row.n, row.note) == (3, f"3 rounds in turn, widened by {wide:.2f} for the machine")
    assert row.published == pytest.approx(2763.8 / 3208.7)  # beside it the ratio of the paper's numbers
    itself = found(suite, "gcforest", "itself, in turn", f"{FIT}_ratio")
    assert (itself.low, itself.high) == (pytest.approx(math.exp(low)), pytest.approx(math.exp(high)))
    assert found(suite, "gcforest", "in turn", FIT).mean == pytest.approx(28 / 3)
    assert found(suite, "hidf", "", "n_nodes").mean == 101


def test_the_table_has_ratios_beside_published_ones_and_counts_without_noise(suite):
    table = ran(suite).table(NAME)
    (below,) = (view for view in table.view.folded if "timed in turn" in view.title)
    assert below.heads[:3] == ("training time (CPU s)", "training time, ratio", "training time, ratio, published")
    assert below.heads[-2:] == ("trees kept", "nodes kept")
    lines = {row.labels[1]: [cell.text for cell in row.cells] for row in below.rows}
    assert lines["hiDF"][1].startswith("6.35 [")
    assert lines["hiDF"][2] == "0.861"
    assert lines["gcForest"][1] == "reference"
    assert lines["gcForest, against itself"][1].startswith("1.01 [")  # (1 * 1.05 * 0.975) ** (1 / 3)
    assert {row.size for row in below.rows} == {"3 × 100"}
    suite.assert_well_formed(table)
    notes = suite.notes(NAME)
    assert "one process fitted hiDF and gcForest one after the other, and again in the next round, 3 rounds in" in notes
    assert "Costs timed in turn, with intervals, are in a table of their own." in notes
    assert "not idle" not in notes


def test_without_runs_against_itself_that_say_otherwise_the_machine_counts_for_a_fifth(suite):
    """One noisy pair of timings of a model against itself excludes nothing."""
    noisy = [(1.0, 4.0, 4.0), (1.0, 8.0, 16.0), (2.0, 16.0, 15.0)]
    assert "widened by 1.20" in found(ran(suite, rounds=noisy), "hidf", *AGAINST).note


def test_a_single_round_decides_only_one_and_a_half_times_away(suite):
    row = found(ran(suite, rounds=ROUNDS[:1]), "hidf", *AGAINST)
    assert (row.mean, row.low, row.high) == pytest.approx((4.0, 4 / 1.5, 6.0))
    assert found(suite, "gcforest", "itself, in turn", f"{FIT}_ratio").low is None
    assert "A single round decides only 1.5 times away" in suite.notes(NAME)


def test_ratios_are_of_models_that_were_timed_in_turn(suite):
    cells = cells_of(ran(suite))
    found = ratio(cells, "adult", "hidf", "gcforest", FIT)
    assert (found.n, math.exp(found.estimate.value)) == (3, pytest.approx(4 * 2 ** (4 / 3) / 2 ** (2 / 3)))
    assert ratio(cells, "adult", "gcforest", "hidf", FIT).estimate.low == pytest.approx(-found.estimate.high)
    assert ratio(cells, "adult", "hidf", "gcforest", "tree_rows") is None
    assert ratio(cells, "nowhere", "hidf", "gcforest", FIT) is None
    suite.timings = []
    suite.write_plan()
    assert ratio(cells_of(suite), "adult", "hidf", "gcforest", FIT) is None


def test_a_failed_turn_is_shown_and_the_other_rounds_count(suite):
    rounds = [ROUNDS[0], (None, 8.0, 8.4), ROUNDS[2]]
    row = found(ran(suite, rounds=rounds), "hidf", *AGAINST)
    assert (row.n, row.mean) == (2, pytest.approx(math.sqrt(32)))
    cost = found(suite, "hidf", "in turn", FIT)
    assert (cost.status, cost.note) == ("failed", "MemoryError: no room")
    results = read_results(suite.root, suite.name)
    assert results.incomplete() == [NAME]
    assert "hidf on adult, in turn" in index_page(results, suite.folder, Declared())
    assert "hidf on adult, timed in turn, failed: MemoryError" in suite.draw().refused()


def test_what_was_not_timed_yet_is_said_and_not_accepted(suite):
    row = found(ran(suite, rounds=None), "hidf", *AGAINST)
    assert (row.status, row.note, row.published) == ("unavailable", "not timed", pytest.approx(2763.8 / 3208.7))
    assert "Not timed in turn yet: adult." in suite.notes(NAME)
    assert "the models of hidf-table3 were not timed in turn on adult" in suite.draw().refused()


def test_a_busy_machine_is_told(suite):
    timing = declare(suite)
    busy = tuple(round_of(timing, k, costs, elsewhere=0.8) for k, costs in enumerate(ROUNDS))
    write_typed(timings_path(suite.folder, NAME), Timings(NAME, (Timed(timing, busy),)))
    assert "not idle: up to 0.80 of its cores" in suite.notes(NAME)


def test_stored_timings_are_redrawn_and_checked_as_costs(suite):
    ran(suite).stored()
    faster = [tuple(cost / 3 for cost in costs) for costs in ROUNDS]  # another machine: the same ratios
    declare(suite, rounds=faster)
    assert suite.drifts() == set()
    slower = [(7 * own, *others) for own, *others in ROUNDS]
    declare(suite, rounds=slower)
    assert {cell for cell, _ in suite.drifts()} >= {"adult / gcforest / in turn / fit_cpu_seconds"}
    shutil.rmtree(suite.root / "results")
    assert redraw_stored(suite.root, suite.name).differences == ()


def test_importances_of_one_fit_are_compared_with_each_other(suite):
    """Training and MDI cost twice, training and MDA three times what training costs."""
    columns = {"mdi_df": {"model": "gcforest", "label": "MDI"}, "mda_df": {"model": "gcforest", "label": "MDA"}}
    changes = {"name": "interp-fig7", "render": "importance_cost", "labels": {"gcforest": "gcForest"}}
    changes |= {"metrics": [FIT], "options": {"columns": columns}}
    changes |= {"extras": {"gcforest": ["mdi_df", "mda_df"]}, "timed": ("mdi_df", "mda_df")}
    declare(suite, rounds=[(4.0, 4.2), (5.0, 5.0), (6.0, 5.9)], **changes)
    rows = suite.rows("interp-fig7")
    whole = "fit_and_importance_cpu_seconds_ratio"
    assert rows["adult", "mdi_df", "against mda_df, in turn", whole].mean == pytest.approx(1.5)
    assert rows["adult", "mda_df", "itself, in turn", whole].n == 3


@pytest.mark.parametrize(("in_turn", "verdict"), [(True, "open: no power"), (False, "supported")])
def test_claims_about_times_are_judged_by_turns_where_there_are_any(suite, in_turn, verdict):
    """More than four times: 6.35 in turn is too uncertain; of ordinary cells 9 / 1.5 is more."""
    ran(suite)
    if not in_turn:
        suite.timings = []
    suite.experiment("claims", kind="claims", render="claims", labels={}, datasets=[])
    shutil.copytree(ROOT / "workflow/schemas", suite.root / "workflow/schemas")
    evidence = {"experiment": NAME, "datasets": ["adult"], "model": "hidf", "rivals": ["gcforest"], "metric": FIT}
    words = dict.fromkeys(("quotation", "where", "says"), "hiDF needs less than a quarter of the time.")
    claim = {"paper": "hidf", **words, "statistic": "ratio", "rule": "above", "value": 4, "evidence": [evidence]}
    (suite.root / "config").mkdir()
    (suite.root / "config/claims.yaml").write_text(json.dumps({"hidf-a": claim}))
    (line,) = judged(read_results(suite.root, suite.name))
    assert (line.verdict.verdict, line.number[:4]) == (verdict, "6.3 " if in_turn else "9.0 "), line.number
