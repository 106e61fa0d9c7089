"""Costs and their ratios, checked against numbers computed by hand and against the papers' own tables."""

from dataclasses import replace

import pytest

NAME = "cs-table2"
LABELS = {"gcforest_cs_w20": "CS (20)", "gcforest_cs_w100": "CS (100)", "gcforest": "gcForest"}
OPTIONS = {
    "ratio_of": "gcforest",
    "published": {
        "gcforest_cs_w20": {"model": "gcforest_cs", "condition": "w=20"},
        "gcforest_cs_w100": {"model": "gcforest_cs", "condition": "w=100"},
    },
}
METRICS = ["accuracy", "fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib"]
RATIOS = "letter, cost of gcForest divided by the model's"


def declare(suite, name=NAME, **changes):
    row = {"metrics": METRICS, "labels": LABELS, "datasets": ["letter"], "options": OPTIONS}
    suite.declare(name, "scores", **row | changes)


def costs(accuracy, fit, predict, peak):
    return {"accuracy": accuracy, "fit_cpu_seconds": fit, "predict_cpu_seconds": predict, "fit_peak_mib": peak}


def ran(suite, **changes):
    declare(suite, **changes)
    suite.summary("letter")
    suite.run("letter", "gcforest_cs_w20", [costs(0.90, 1.0, 0.5, 10.0), costs(0.92, 4.0, 0.5, 10.0)])
    suite.run("letter", "gcforest_cs_w100", [costs(0.95, 2.0, 1.0, 20.0), costs(0.95, 2.0, 1.0, 40.0)])
    suite.run("letter", "gcforest", [costs(0.94, 4.0, 1.0, 40.0), costs(0.95, 8.0, 4.0, 40.0)])
    return suite


APART = "those of different processors cannot be compared."


@pytest.mark.parametrize(
    ("processors", "names"),
    [
        (["AA", "BB", "BB"], "A and B"),
        (["AA", "AA", ["A", ""]], "A and an unknown processor"),
        (["AB", "AB", "AB"], "A and B"),
        (["AA", "AA", "AA"], None),
    ],
)
def test_costs_of_several_processors_are_told(suite, processors, names):
    ran(suite)
    for column, own in zip(LABELS, processors, strict=True):
        result = suite.read_run("letter", column)
        cells = []
        for cell, name in zip(result.cells, own, strict=True):
            host = cell.provenance.host | {"processor": name}
            cells.append(replace(cell, provenance=replace(cell.provenance, host=host)))
        suite.write_run(replace(result, cells=tuple(cells)))
    found = [note for note in suite.table(NAME).view.notes if APART in note]
    assert found == [f"letter: costs were measured on {names}; {APART}"] * bool(names)


def test_ratios_are_those_of_the_means_and_published_ones_are_computed_from_the_printed_numbers(suite):
    """(4 + 8) / (1 + 4) = 2.4 where the repeats give 4 / 1 and 8 / 4; their mean would be 3."""
    assert ran(suite).line(NAME, RATIOS, "CS (20)") == [
        "−3.50 [−9.85, +2.85] points",  # 0.90 - 0.94 and 0.92 - 0.95
        "2.40 (2.00 to 4.00)",
        "5.00 (2.00 to 8.00)",
        "4.00 (4.00 to 4.00)",
    ]
    rows = ran(suite).rows(NAME)
    key = "letter", "gcforest_cs_w20", "against gcforest", "fit_cpu_seconds_ratio"
    ratio = rows[key]
    assert (ratio.mean, ratio.n, ratio.n_test) == (2.4, 2, 50)
    assert ratio.std == pytest.approx(2**0.5)  # of 4 and 2
    ends = [rows[(*key[:2], f"against gcforest, {end} of the repeats", key[3])] for end in ("smallest", "largest")]
    assert [(end.mean, end.published) for end in ends] == [(2, None), (4, None)]
    assert rows[(*key[:3], "accuracy_difference")].mean == pytest.approx(-0.035)
    assert ("letter", "gcforest", "against gcforest", "fit_cpu_seconds_ratio") not in rows
    # 86.42 / 13.39 s, 3.17 / 0.41 s, 4,526 / 206 MB; 96.42 - 97.08 %.
    assert suite.line(NAME, RATIOS, "CS (20)", kind="published") == ["−0.66 points", "6.45", "7.73", "22.0"]
    assert suite.line(NAME, RATIOS, "CS (100)", kind="published") == ["0.00 points", "1.15", "1.42", "4.95"]
    assert suite.line(NAME, "letter", "gcForest", kind="published") == ["97.08", "86.42", "3.17", "4,526 MB"]
    assert "1 MiB = 1.049 MB" in suite.notes(NAME)
    assert rows["letter", "gcforest", "", "fit_peak_mib"].published is None
    memory = rows["letter", "gcforest", "", "memory_mb"]
    assert (memory.published, memory.mean, memory.status) == (4526, None, "unavailable")


def test_without_a_reference_there_are_no_ratios(suite):
    table = ran(suite, options={"published": OPTIONS["published"]}).table(NAME)
    assert not any("divided" in row.labels[0] for row in table.view.rows)
    assert not any(row.condition for row in table.rows)
    assert "Ratios" not in suite.notes(NAME)


def one(suite, name, datasets, columns):
    """A table whose columns are named as published, one repeat each with growing costs."""
    labels = {column: column.upper() for column in columns}
    declare(suite, name, labels=labels, datasets=datasets, repeats=1, options={"ratio_of": "gcforest"})
    for dataset in datasets:
        suite.summary(dataset)
        for k, column in enumerate(columns):
            suite.run(dataset, column, [costs(0.9, 3.0**k, 3.0**k, 10.0)])


def test_a_cost_of_nothing_divides_nothing_and_a_failed_reference_leaves_the_published_ratios(suite):
    ran(suite)
    suite.run("letter", "gcforest_cs_w20", [costs(0.9, 1.0, 0.5, 0.0), costs(0.9, 1.0, 0.5, 2.0)])
    assert suite.line(NAME, RATIOS, "CS (20)")[3] == "too little to be measured"
    row = suite.rows(NAME)["letter", "gcforest_cs_w20", "against gcforest", "fit_peak_mib_ratio"]
    assert (row.mean, row.status, row.published) == (None, "unavailable", pytest.approx(4526 / 206))
    ran(suite)
    suite.fail("letter", "gcforest")
    assert suite.line(NAME, RATIOS, "CS (100)") == ["failed: MemoryError: no room"] * 4
    assert suite.line(NAME, RATIOS, "CS (100)", kind="published")[1] == "1.15"
    failed = {row.note for row in suite.table(NAME).rows if row.condition == "against gcforest"}
    assert failed == {"MemoryError: no room"}


def test_costs_that_all_doubled_are_no_drift_and_another_accuracy_is_one_of_its_difference_too(suite):
    """A slower machine: the ratio to the reference is the same, although one repeat's ratio moved."""
    ran(suite).stored()
    suite.run("letter", "gcforest_cs_w20", [costs(0.90, 4.0, 1.0, 20.0), costs(0.92, 6.0, 1.0, 20.0)])
    assert suite.drifts() == set()
    suite.run("letter", "gcforest_cs_w20", [costs(0.90, 1.0, 0.5, 10.0), costs(0.94, 4.0, 0.5, 10.0)])
    assert {cell for cell, column in suite.drifts() if column == "mean"} == {
        "letter / gcforest_cs_w20 / accuracy",
        "letter / gcforest_cs_w20 / against gcforest / accuracy_difference",
    }


@pytest.mark.parametrize("column", ["gcforest", "gcforest_cs_w20"])
def test_ratios_of_a_column_with_fewer_repeats_are_over_the_repeats_that_both_have(suite, column):
    ran(suite)
    first = {"gcforest": costs(0.94, 4.0, 1.0, 40.0), "gcforest_cs_w20": costs(0.90, 1.0, 0.5, 10.0)}
    suite.run("letter", column, [first[column]])
    declare(suite, fewer_repeats={"letter": {column: 1}})
    assert suite.line(NAME, RATIOS, "CS (20)") == ["−4.00 points, no interval", "4.00", "2.00", "4.00"]
    ratio = suite.rows(NAME)["letter", "gcforest_cs_w20", "against gcforest", "fit_cpu_seconds_ratio"]
    assert (ratio.mean, ratio.std, ratio.n) == (4.0, None, 1)
    times = {label: suite.line(NAME, "letter", label)[1] for label in ("CS (20)", "gcForest")}
    both = {"CS (20)": "2.50 ± 2.12", "gcForest": "6.00 ± 2.83"}
    assert times == both | ({"gcForest": "4.00"} if column == "gcforest" else {"CS (20)": "1.00"})


def test_pairs_of_equal_trees_have_lines_of_their_own(suite):
    ran(suite, options=OPTIONS | {"equal_trees": {"gcforest_cs_w20": "gcforest_cs_w100"}})
    rows = suite.rows(NAME)
    place = "letter", "gcforest_cs_w20", "against gcforest_cs_w100"
    assert rows[*place, "fit_cpu_seconds_ratio"].mean == pytest.approx(4.0 / 5.0)
    assert rows[*place, "accuracy_difference"].mean == pytest.approx(-0.04)
    assert ("letter", "gcforest", "against gcforest_cs_w100", "fit_cpu_seconds_ratio") not in rows
    labels = [row.labels for row in suite.table(NAME).view.rows]
    assert {one[1] for one in labels if one[0] == "letter, cost of CS (100) divided by the model's"} == {"CS (20)"}
    assert "CS (20) beside CS (100): as many trees a forest at the first level" in suite.notes(NAME)
    ran(suite, options=OPTIONS | {"equal_trees": {"gcforest_cs_w20": "gbdt"}})
    suite.refuses(NAME, "options/equal_trees has 'gbdt'; choose from")
