"""Training jobs: each repeat of each run in one of them, none much longer than asked for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cascadeforest.data.registry import load_dataset_files
from cascadeforest.experiments.batches import (
    COSTS,
    Cost,
    cost_lines,
    cost_of,
    costs_csv,
    expected_costs,
    expected_seconds,
    make_batches,
    parse_costs,
    read_costs,
    training_rows,
)
from cascadeforest.experiments.claims import undecided
from cascadeforest.experiments.plan import Experiment, Plan, Run, Suite, Timing
from cascadeforest.experiments.resolve import load_plan

from . import made_results


def run_of(number, repeats):
    return Run("quick", f"d{number}", "m", "classification", "sklearn.dummy:DummyClassifier", {}, tuple(range(repeats)))


def plan_of(runs, batches):
    return Plan("quick", Suite("a suite"), {}, tuple(runs), batches=batches)


@given(st.lists(st.tuples(st.integers(1, 12), st.none() | st.floats(0.01, 500)), max_size=12), st.floats(1, 100))
def test_every_repeat_is_computed_once_and_every_run_merged_once_after_its_parts(sizes, seconds):
    runs = [run_of(number, repeats) for number, (repeats, _) in enumerate(sizes)]
    costs = {run.pair: Cost(cost, 10) for run, (_, cost) in zip(runs, sizes, strict=True) if cost is not None}
    plan = plan_of(runs, make_batches(runs, costs, seconds))
    assert len(plan.batch) == len(plan.batches)
    assert sorted(plan.merged_by) == sorted(run.pair for run in runs)
    computed, seen = [], set()
    for batch in plan.batches:
        assert set(batch.after) <= seen  # parts come before the job that merges them
        seen.add(batch.name)
        for part in batch.parts if not batch.after else ():
            computed += [(part.dataset, repeat) for repeat in part.repeats]
        if batch.after:
            (part,) = batch.parts
            before = [r for name in batch.after for p in plan.batch[name].parts for r in p.repeats]
            assert sorted(before) == list(part.repeats)
        elif batch.seconds is not None and sum(len(part.repeats) for part in batch.parts) > 1:
            assert batch.seconds <= seconds * (1 + 1e-9)
    assert sorted(computed) == sorted((run.dataset, repeat) for run in runs for repeat in run.repeats)


def test_cheap_runs_share_a_job_costly_ones_are_divided_and_unknown_ones_are_alone():
    runs = [run_of(number, 3) for number in range(5)]
    costs = {runs[k].pair: Cost(cost, 5.0) for k, cost in {0: 2, 1: 3, 2: 20, 4: 9}.items()}
    batches = {batch.name: batch for batch in make_batches(runs, costs, 30)}
    assert list(batches) == ["d2.m.0", "d2.m.1", "d2.m.2", "d2.m", "d3.m", "d0.m", "d4.m"]
    assert [part.dataset for part in batches["d0.m"].parts] == ["d0", "d1"]
    assert batches["d0.m"].seconds == 15
    assert batches["d2.m"].after == ("d2.m.0", "d2.m.1", "d2.m.2")
    assert batches["d3.m"].seconds is None
    assert batches["d4.m"].datasets == ["d4"]


def test_another_run_leaves_the_names_of_the_other_jobs():
    """What a job is called decides which of them run again."""
    runs, costs = [run_of(number, 1) for number in range(6)], {}
    costs = {run.pair: Cost(10, 0) for run in runs}
    before = {batch.name for batch in make_batches(runs, costs, 10)}
    more = [*runs[:3], replace(runs[0], model="new"), *runs[3:]]
    after = {batch.name for batch in make_batches(more, costs | {("d0", "new"): Cost(10, 0)}, 10)}
    assert after - before == {"d0.new"}


def test_costs_of_all_suites_are_read(tmp_path):
    for suite, seconds in (("quick", 1.0), ("standard", 40.0)):
        folder = tmp_path / "reports" / suite
        folder.mkdir(parents=True)
        costs = {("letter", suite): Cost(seconds, 3.0, 50, 1000), ("letter", "everywhere"): Cost(seconds, 4.0)}
        (folder / COSTS).write_text(costs_csv(costs))
        assert parse_costs((folder / COSTS).read_text()) == costs
    assert [cost.seconds for pair, cost in read_costs(tmp_path) if pair == ("letter", "everywhere")] == [1.0, 40.0]
    before = "dataset,model,seconds,mib,size,rows\nletter,sndf,7.00,8,80,16000\n"  # of an earlier version
    (cost,) = parse_costs(before).values()
    assert cost == Cost(7.0, 8.0, 80, 16_000, steps=0)
    assert cost.scaled(80, 32_000, 102_400).seconds == 14.0


def test_a_measured_cost_stays_until_the_model_is_measured_on_the_data_again(tmp_path):
    models = ("sndf", "gbdt+trees-0.1", "mlp")
    sample = {("mnist+rows-5000", name): Cost(20.0, 55.0, 10, 4_286) for name in models}
    fewer = {("mnist+rows-2000", "mlp"): Cost(9.0, 30.0, 10, 1_714)}
    whole = {("mnist", "gbdt"): Cost(5_000.0, 400.0, 200, 60_000)}
    before = tmp_path / COSTS
    assert costs_csv(whole, before) == costs_csv(whole)  # nothing was accepted before
    before.write_text(costs_csv(sample))
    kept = {pair: cost for pair, cost in sample.items() if pair[1] in ("sndf", "mlp")}
    text = costs_csv(whole | fewer, before)
    assert parse_costs(text) == whole | fewer | kept
    before.write_text(text)
    assert costs_csv(whole | fewer, before) == text
    # All rows are given up for a sample: the plan for all rows still knows better.
    assert (
        parse_costs(costs_csv({("mnist+rows-5000", "gbdt"): Cost(20.0, 55.0, 200, 4_286)}, before)).items()
        >= whole.items()
    )


def test_a_cost_is_the_mean_time_and_the_largest_memory_of_the_repeats():
    def took(seconds, fit, predict, peak, model):
        costs = replace(made_results.COSTS, fit_cpu_seconds=fit, predict_cpu_seconds=predict, fit_peak_mib=peak)
        clock = {"started_ms": 5_000, "ended_ms": 5_000 + 1_000 * seconds}
        return made_results.cell("d0", "m", 0, costs=replace(costs, model_mib=model), **clock)

    run = replace(run_of(0, 2), params={"n_estimators": 80, "max_iter": 100, "max_depth": 10})
    found = cost_of(run, [took(8, 5.0, 1.0, None, 3.0), took(4, 3.0, 0.5, 9.0, 2.0)], 4_435)
    assert found == Cost(6.0, 9.0, 80, 4_435, 100 * 2**10, 4.0, 0.75, True)
    found = cost_of(replace(run, params={"n_estimators": 80}), [took(8, 5.0, 1.0, None, 3.0)], 0)
    assert found == Cost(8.0, 3.0, 80, 0, 1, 5.0, 1.0, False)
    pairs = {("letter", "sndf"): found}
    assert parse_costs(costs_csv(pairs)) == pairs


def test_soft_trees_take_time_by_epochs_and_leaves_and_memory_by_trees():
    few, all_of_it = (10, 6_666, 20 * 2**6), (80, 13_332, 100 * 2**10)
    whole = Cost(3.5, 41.0, *few, 2.0, 1.0).scaled(*all_of_it)
    by = 8 * 2 * 5 * 2**4
    assert (whole.fit_cpu, whole.predict_cpu) == pytest.approx((2.0 * by, by))
    assert whole.seconds == pytest.approx(3.0 * by + 0.5 * 2)  # reading the data takes no longer for more trees
    assert whole.mib == pytest.approx(41.0 * 8 * 2)


def test_the_nearest_size_that_was_measured_is_scaled_to_trees_and_rows():
    def expected(dataset, model, **params):
        run = replace(run_of(0, 1), dataset=dataset, model=model, params=params)
        return expected_costs([run], measured, {"letter": 16_000, "adult": 32_561}).get(run.pair, Cost(-1, 0))

    def seconds(dataset, model, **params):
        return expected(dataset, model, **params).seconds

    measured = [
        (("letter+rows-1000", "rf"), Cost(1.0, 1.0, 50, 1000)),
        (("letter", "rf"), Cost(30.0, 8.0, 100, 16000)),
        (("letter", "svm"), Cost(7.0, 8.0, 0, 16000)),
        (("adult+rows-10000", "gbdt"), Cost(4.0, 8.0, 50, 10000)),
        (("own+rows-100", "rf"), Cost(4.0, 8.0, 50, 100)),
    ]
    assert seconds("letter", "rf", n_estimators=100) == 30
    assert seconds("letter", "rf", n_estimators=500) == 150
    assert seconds("letter+rows-8000", "rf", n_estimators=100) == 15
    assert seconds("letter+rows-1000", "rf+trees-0.2", n_estimators=100) == 2
    assert seconds("letter+noise-5", "rf", n_estimators=100) == 30
    assert seconds("letter+train-0.1", "rf", n_estimators=50) == 1.6
    assert seconds("letter+rows-1600", "svm") == pytest.approx(0.7)
    whole = expected("adult", "gbdt", n_estimators=50)  # only a sample ran
    assert (whole.seconds, whole.mib) == pytest.approx((4 * 3.2561, 8 * 3.2561))
    assert seconds("own+rows-200", "rf", n_estimators=50) == 8
    assert seconds("own", "rf", n_estimators=50) == 4  # its file does not say how many rows it has
    assert seconds("adult", "rf") == -1


def test_training_rows_are_those_of_the_protocol(request):
    files = {
        "given": {"expected": {"rows": 48_842, "train": 32_561}, "protocol": {"kind": "given"}},
        "folds": {"expected": {"rows": 1000}, "protocol": {"kind": "cv", "folds": 5}},
        "tested": {"expected": {"rows": 1000}, "protocol": {"kind": "holdout", "test_size": 0.3}},
        "counted": {"expected": {"rows": 1000}, "protocol": {"kind": "holdout", "train_size": 829}},
        "trained": {"expected": {"rows": 1000}, "protocol": {"kind": "holdout", "train_size": 0.1}},
        "own": {"protocol": {"kind": "given"}},
    }
    assert training_rows(files) == {"given": 32_561, "folds": 800, "tested": 700, "counted": 829, "trained": 100}
    root = request.config.rootpath
    named = training_rows(load_dataset_files(root / "config" / "datasets"))
    for (dataset, model), cost in read_costs(root):
        name, *operations = dataset.split("+")
        if cost.rows and name in named and set(operations) <= {"irrelevant", "smooth-1"}:
            assert cost.rows == pytest.approx(named[name], rel=0.01, abs=1), (dataset, model)


def test_hours_of_experiments_count_their_own_repeats_and_name_what_is_unknown():
    runs = [run_of(0, 3), run_of(1, 2)]
    shown = {"d0": 1, "d1": 2}
    experiment = Experiment("t", "p", "table", "T", "scores", columns={"m": "m"}, datasets=("d0", "d1"), repeats=shown)
    plan = replace(plan_of(runs, ()), experiments={"t": experiment})
    assert cost_lines(plan, {("d0", "m"): Cost(3600, 0)}, 3, {})[1:] == [
        "t         1.00 h  and 1 of 2 runs of which no size was measured",
        "all, shared runs once       3.00 h  and 1 of 2 runs of which no size was measured",
    ]


def test_claims_that_wait_for_an_experiment_are_counted_per_hour_where_most_costs_are_known():
    runs = [run_of(0, 2), run_of(1, 1), run_of(2, 1)]
    names = ("d0", "d1", "d2")
    shown = {"columns": {"m": "m"}, "datasets": names, "repeats": {"d0": 2, "d1": 1, "d2": 1}}
    experiment = Experiment("t", "p", "table", "T", "scores", **shown)
    plan, costs = replace(plan_of(runs, ()), experiments={"t": experiment}), {}
    for dataset, claims, said in (
        ("d0", {"t": 1}, "  and 2 of 3 runs of which no size was measured  1 open claim"),
        ("d1", {"t": 3}, "  and 1 of 3 runs of which no size was measured  3 open claims, 2.0 per hour"),
        ("d2", {"u": 3}, ""),
    ):
        costs[dataset, "m"] = Cost(1800, 0)
        assert cost_lines(plan, costs, 3, claims)[1].partition(" h")[2] == said


def test_claims_without_runs_or_power_wait_for_every_experiment_that_gives_evidence(request, tmp_path):
    for folder in ("config", "workflow"):
        (tmp_path / folder).symlink_to(request.config.rootpath / folder)
    plan = load_plan(request.config.rootpath, {"suite": "standard"})
    assert undecided(tmp_path, plan) == {}  # nothing is stored
    table = tmp_path / "reports/standard/tables/claims.csv"
    table.parent.mkdir(parents=True)
    marks = {
        ("hidf-separability-rises", ""): "open: no power",  # of hidf-fig2
        ("interp-mdi-df-best", ""): "open: not run",  # of interp-table4
        ("interp-mdi-df-best", "fresh draws"): "open: not run",
        ("interp-better-estimation", ""): "open: no power",  # of interp-table4
        ("interp-lower-error-everywhere", ""): "supported",
        ("hidf-most-accurate", ""): "open: data not at hand",
        ("cs-subsampling-hurts", ""): "open: not run",  # of cs-table1, which standard bounds
    }
    lines = [f"{claim},{condition},verdict,{mark}," for (claim, condition), mark in marks.items()]
    lines.append("hidf-most-accurate,,accuracy,open: not run,")
    table.write_text("\n".join(["model,condition,metric,mark,note", *lines]))
    assert undecided(tmp_path, plan) == {"hidf-fig2": 1, "interp-table4": 2}
    # Of a suite without accepted results it is what those of standard leave open, by its own bounds.
    whole = undecided(tmp_path, load_plan(request.config.rootpath, {"suite": "paper"}))
    assert whole == {"hidf-fig2": 1, "interp-table4": 2, "cs-table1": 1}


def test_hours_of_timings_count_every_turn_of_every_round():
    """Two models, one of them twice a round, three rounds: (600 + 2 * 300) * 3 seconds."""
    runs = tuple(replace(run_of(0, 1), model=name) for name in "ab")
    timing = Timing("t", "d0", "d0", ("a", "b"), runs, "b", (0, 1, 2))
    costs = {("d0", "a"): Cost(600, 0), ("d0", "b"): Cost(300, 0)}
    assert expected_seconds(timing, costs) == 3600
    assert expected_seconds(timing, {("d0", "a"): Cost(600, 0)}) is None
    plan = replace(plan_of([], ()), timings=(replace(timing, seconds=3600.0), timing))
    assert cost_lines(plan, costs, 3, {})[-1] == (
        "timed in turn, alone       1.00 h  and 1 of 2 timings of which no size was measured"
    )


@pytest.mark.parametrize("suite", ["smoke", "quick", "standard"])
def test_costs_of_accepted_suites_are_stored(suite, request):
    costs = parse_costs((request.config.rootpath / "reports" / suite / COSTS).read_text())
    assert len(costs) > 100
    assert all(cost.seconds > 0 for cost in costs.values())
