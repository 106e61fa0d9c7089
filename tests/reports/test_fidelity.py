"""Published numbers against reproduced ones: grades, explanations that must prove themselves, the stored page."""

import math
from dataclasses import replace
from decimal import Decimal
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import yaml

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.experiments.resolve import read_configuration
from cascadeforest.inference.row_values import variance_over_rows
from cascadeforest.reports.drawing.fidelity import report
from cascadeforest.reports.drawing.page import index_page
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers.fidelity import (
    BEYOND,
    NEAR,
    WITHIN,
    By,
    Declared,
    Explanation,
    fidelity,
    grade,
    read_declared,
    tolerance,
)
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.published import RECORDS, PublishedNumber
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.redraw import FIDELITY, FIDELITY_PICTURE, documentation
from cascadeforest.reports.store.stored import read_provenance

ROOT = Path(__file__).parents[2]
HIDF = "hidf-table2"


def number(value, std=None, unit="percent", qualifier=""):
    return PublishedNumber(Decimal(value), None if std is None else Decimal(std), "", unit, qualifier)


def ours(mean, std=None, metric="accuracy", n=5, n_test=100):
    return TidyRow("adult", "gbdt", "", metric, mean=mean, std=std, n=n, n_test=n_test)


# Grades --------------------------------------------------------------------------------------------------------------


def test_on_the_same_test_rows_only_deviations_count():
    assert tolerance(ours(0.9, 0.004), number("0.91", "0.003"), 0, []) == pytest.approx(0.01)


@pytest.mark.parametrize(("std", "printed"), [(0.003, None), (None, "0.003")])
def test_a_deviation_that_one_side_lacks_is_that_of_the_other(std, printed):
    assert tolerance(ours(0.9, std), number("0.91", printed), 0, []) == pytest.approx(2 * math.sqrt(2) * 0.003)


def test_without_any_deviation_there_is_no_tolerance():
    assert tolerance(ours(0.9), number("0.91"), 0, []) is None


def test_other_test_rows_add_the_variance_of_both_shares():
    # .9 * .1 / 400 + .8 * .2 / 400 = .000625, and twice its root
    assert tolerance(ours(0.9), number("0.8"), 400, []) == pytest.approx(0.05)
    assert tolerance(ours(0.9, 0.02), number("0.8", "0.01"), 400, []) == pytest.approx(2 * math.sqrt(0.0005 + 0.000625))


def test_the_variances_over_rows_are_those_of_simulated_test_sets():
    """Accuracy, AUC (two exponential scores, for which Hanley and McNeil's formula is exact) and RMSE."""
    draw, n, counts = np.random.default_rng(0), 400, [300, 100]
    repeats = 2000
    accuracy = draw.binomial(n, 0.8, repeats) / n
    # P(positive > negative) = a / (a + b) for exponentials of means a and b
    negatives, positives = (draw.exponential(scale, (repeats, n)) for scale, n in zip((0.25, 1.0), counts, strict=True))
    areas = [(one[:, None] > other).mean() for one, other in zip(positives, negatives, strict=True)]
    rmse = np.sqrt((draw.normal(0, 3.0, (repeats, n)) ** 2).mean(axis=1))
    for found, metric, value in ((accuracy, "accuracy", 0.8), (areas, "roc_auc", 0.8), (rmse, "rmse", 3.0)):
        # The variance of 2,000 draws is known to about 3 % (one standard deviation).
        assert np.var(found) == pytest.approx(variance_over_rows(metric, value, n, [3, 1]), rel=0.15), metric
    assert variance_over_rows("contribution", 0.5, n, []) == 0


@pytest.mark.parametrize(
    ("mean", "std", "printed", "expected"),
    [
        (0.90, 0.002, number("0.9039", "0.001"), WITHIN),  # 0.0039 of 2 * sqrt(5) * .001 = .00447
        (0.90, 0.001, number("0.9061", "0.001"), NEAR),
        (0.90, 0.001, number("0.9101", "0.001"), BEYOND),
        (0.90, 0.0, number("0.9000", "0.0000"), WITHIN),
        (0.90005, 0.0, number("0.9000", "0.0000"), WITHIN),  # half a unit of the last digit
        (0.90006, 0.0, number("0.9000", "0.0000"), NEAR),
        (0.88, None, number("0.90", None, "percent", "less than"), WITHIN),
        (0.92, None, number("0.90", None, "percent", "less than"), BEYOND),
        (3.405, None, number("3.40", None, "target units"), WITHIN),
        (3.409, None, number("3.40", None, "target units"), BEYOND),  # a point is no unit of a target
    ],
)
def test_a_number_has_the_grade_of_its_distance(mean, std, printed, expected):
    row = ours(mean, std)
    assert grade(row, printed, tolerance(row, printed, 0, [])) == expected


# A suite -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def compared(suite):
    """RF and two columns for one printed number of GBDT, on adult and on 20 of its rows."""
    columns = {name: name for name in ("random_forest", "gbdt", "gbdt_official")}
    suite.experiment(
        columns=columns,
        labels=columns,
        libraries={},
        datasets=["adult+rows-20", "adult"],
        metrics=["accuracy", "fit_cpu_seconds"],
        win_tie_lose="gbdt",
        options={"published": {"gbdt_official": {"model": "gbdt"}}},
    )
    for dataset in ("adult", "adult+rows-20"):
        suite.summary(dataset)
        suite.run(dataset, "random_forest", [0.85, 0.85])
        suite.run(dataset, "gbdt", [0.80, 0.81])
        suite.run(dataset, "gbdt_official", [0.86, 0.87])
    suite.published(
        HIDF,
        [
            "adult,random_forest,,accuracy,85.00,0.08,,,percent",
            "adult,random_forest,,fit_cpu_seconds,3.0,,,,seconds",
            "adult,gbdt,,accuracy,86.90,0.50,,,percent",
            "letter,gbdt,,accuracy,99.00,0.50,,,percent",
            "all,random_forest,accuracy,win,10,,,,count",
        ],
    )
    return suite


def judge(suite, *explanations, same=("adult",)):
    results = read_results(suite.root, suite.name)
    tables = {name: make_table(name, results).rows for name in results.drawable()}
    return fidelity(results, tables, Declared(dict.fromkeys(same, ""), explanations)), results


def by_place(found):
    return {(one.row.dataset, one.row.model, one.row.metric): one for one in found.compared}


def test_each_printed_number_with_a_result_is_compared_once(compared):
    found, _ = judge(compared)
    first = [one for one in found.compared if one.is_first]
    assert found.printed["hidf"] == 5
    assert sorted((one.row.dataset, one.row.model, one.row.metric, one.kind) for one in first) == [
        ("adult", "gbdt", "accuracy", "score"),
        ("adult", "random_forest", "accuracy", "score"),
        ("adult", "random_forest", "fit_cpu_seconds", "cost"),
        ("all", "random_forest", "win", "count"),
    ]


def test_data_of_another_size_costs_and_counts_have_no_grade(compared):
    places = by_place(judge(compared)[0])
    assert places["adult+rows-20", "gbdt", "accuracy"].size == "20 rows"
    assert places["adult", "gbdt", "accuracy"].grade == BEYOND
    for place in (
        ("adult+rows-20", "gbdt", "accuracy"),
        ("adult", "random_forest", "fit_cpu_seconds"),
        ("all", "random_forest", "win"),
    ):
        assert places[place].grade == ""


def test_other_test_rows_widen_the_tolerance(compared):
    """0.805 against .869 (± .0071 and .005), both on the 2 × 50 test rows: beyond .0174, within .1062."""
    assert by_place(judge(compared)[0])["adult", "gbdt", "accuracy"].tolerance == pytest.approx(0.017321, abs=1e-6)
    wide = by_place(judge(compared, same=())[0])["adult", "gbdt", "accuracy"]
    rows = 0.805 * 0.195 / 100 + 0.869 * 0.131 / 100
    assert wide.tolerance == pytest.approx(2 * math.sqrt(0.5e-4 + 0.25e-4 + rows))
    assert wide.grade == WITHIN


READING = Explanation(HIDF, "reading", "the code", By(model="gbdt_official"), ("gbdt",))


def test_an_explanation_holds_if_its_own_cell_comes_near(compared):
    assert by_place(judge(compared, READING)[0])["adult", "gbdt", "accuracy"].explanation == READING
    compared.run("adult", "gbdt_official", [0.80, 0.801])
    assert by_place(judge(compared, READING)[0])["adult", "gbdt", "accuracy"].explanation is None


def test_no_bound_explains_without_an_unbounded_run(compared):
    bound = replace(READING, because="bound")
    assert by_place(judge(compared, bound)[0])["adult", "gbdt", "accuracy"].explanation == bound
    row = compared.experiments[HIDF]
    row["bounds"] = {"gbdt_official": {"adult": {"n_estimators": {"here": 10, "unbounded": 500}}}}
    compared.write_plan()
    assert by_place(judge(compared, bound)[0])["adult", "gbdt", "accuracy"].explanation is None
    assert by_place(judge(compared, READING)[0])["adult", "gbdt", "accuracy"].explanation == READING


def test_a_cell_that_was_not_run_explains_nothing(compared):
    other = replace(READING, by=By(dataset="letter"))
    assert by_place(judge(compared, other)[0])["adult", "gbdt", "accuracy"].explanation is None


def test_the_summary_counts_and_tables_show_every_number(compared):
    made = report(*judge(compared, READING))
    line = next(row for row in made.summary.rows if row.labels == ("hiDF",))
    assert [cell.text for cell in line.cells] == ["5", "4", "0", "2", "0", "0", "1", "0", "1", "0"]
    text = made.markdown("figures/picture.png")
    assert "| gbdt | accuracy (%) | 86.90 ± 0.50 | 80.50 ± 0.71 | −6.40 | 1.73 | 2 × 50 | explained by" in text
    assert "gbdt\\_official ↳ | accuracy (%) | 86.90 ± 0.50 | 86.50 ± 0.71 | −0.40 | 1.73 | 2 × 50 | within |" in text
    sized = next(view for view in made.papers[0].folded if "another size" in view.title)
    assert sized.heads == ("published", "reproduced")  # nobody subtracts
    assert "![" in text


def test_every_line_of_a_bounded_run_says_so(compared):
    bound, words = {"adult": {"n_estimators": {"here": 10, "unbounded": 500}}}, "bounded: n_estimators 10 of 500"
    compared.experiments[HIDF]["bounds"] = {"gbdt": bound, "random_forest": bound}
    compared.write_plan()
    found, results = judge(compared, READING)
    view = report(found, results).papers[0]
    assert [row.size for row in view.rows] == [f"explained by gbdt_official: the code; {words}"]
    near, sized, costs = view.folded
    assert [row.size for row in near.rows] == [f"within; {words}", "within"]  # RF, GBDT (code)
    assert [row.size for row in costs.rows] == [words, ""]  # of wins no data set is bounded
    assert {row.size for row in sized.rows} == {"20 rows"}
    told = report(found, results).introduction
    assert "Of 2 results 1 come back, 1 are explained by an experiment of ours, and 0 are unexplained" in told
    assert "1 of the 2 accuracies, errors and AUCs among the results come back. By a simpler test" in told
    assert "without our deviation and the test rows, 1 differ by at most" in told


def test_records_that_no_paper_prints_are_not_printed_numbers(compared):
    compared.published(HIDF, ["adult,gbdt,,accuracy,86,,,,percent", f'adult,gbdt,"{RECORDS}",accuracy,86.2,,,,percent'])
    assert judge(compared)[0].printed["hidf"] == 1


def test_a_suite_without_published_numbers_says_so(compared):
    compared.published(HIDF, ["letter,gbdt,,accuracy,99.00,0.50,,,percent"])
    found, results = judge(compared)
    made = report(found, results)
    assert made.introduction.startswith("The papers print 1 numbers; 0 of them stand beside")
    assert "This suite has few of the papers' data" in made.introduction
    assert made.papers == ()
    assert made.figure is None
    assert 'id="fidelity"' not in index_page(results, compared.folder, Declared())


def test_the_page_of_a_suite_shows_it(compared):
    _, results = judge(compared)
    text = index_page(results, compared.folder, Declared({"adult": ""}, (READING,)))
    assert 'id="fidelity"' in text
    assert "explained by gbdt_official: the code" in text


# What is declared and stored -----------------------------------------------------------------------------------------


def test_explanations_name_experiments_columns_and_data_sets_that_there_are():
    declared, configured = read_declared(ROOT), {}
    for entries in read_configuration(ROOT).experiments.values():
        configured |= entries
    for one in declared.explanations:
        row = configured[one.experiment]
        columns = {*row.models, *row.options.get("columns", {})}
        known = {dataset for names in row.datasets.values() for dataset in names}
        assert {*one.models, *filter(None, [one.by.model])} <= columns, one
        assert {*one.datasets, *filter(None, [one.by.dataset])} <= known, one


def test_data_sets_with_the_papers_test_rows_have_one_split():
    for name in read_declared(ROOT).same_test_rows:
        protocol = read_yaml(ROOT / "config" / "datasets" / f"{name}.yaml")["protocol"]
        assert protocol["kind"] == "given" or isinstance(protocol["seed"], int), name


def test_an_unknown_key_is_named(tmp_path):
    for name in ("config", "workflow/schemas"):
        (tmp_path / name).mkdir(parents=True)
    schema = "workflow/schemas/fidelity.schema.yaml"
    (tmp_path / schema).write_bytes((ROOT / schema).read_bytes())
    assert read_declared(tmp_path) == Declared()
    (tmp_path / "config/fidelity.yaml").write_text(
        yaml.safe_dump({"same_test_rows": {}, "explanations": [], "same_rows": 1})
    )
    with pytest.raises(ConfigError, match="same_rows is not a known key"):
        read_declared(tmp_path)


def test_the_stored_page_is_what_the_stored_cells_give():
    files = documentation(ROOT, "standard")
    same_dots = read_provenance(ROOT / "reports/standard").get("matplotlib") == metadata.version("matplotlib")
    assert set(files) == {FIDELITY, FIDELITY_PICTURE}
    again = "Run: python -m cascadeforest.reports document --suite standard"
    assert (ROOT / FIDELITY).read_text(encoding="utf-8") == files[FIDELITY].decode(), again
    assert not same_dots or (ROOT / FIDELITY_PICTURE).read_bytes() == files[FIDELITY_PICTURE], again
    assert documentation(ROOT, "quick") == {}
