"""What a run says at its end, in three sentences."""

import pytest
from tests.reports.conftest import Suite

from cascadeforest.reports.drawing.summary import summary
from cascadeforest.reports.numbers.results import read_results


@pytest.fixture
def lines(suite):
    def of() -> list[str]:
        return summary(read_results(suite.root, suite.name), suite.folder).splitlines()

    return of


def test_fits_published_numbers_and_what_is_missing_are_counted(suite: Suite, lines, capsys):
    suite.complete().published(
        "hidf-table2",
        [
            "adult,random_forest,,accuracy,85.15,0.08,,,percent",  # ours: 85.0
            "adult,gbdt,,accuracy,86.34,0.10,,,percent",  # ours: 91.0
        ],
    )
    suite.draw()
    assert lines() == [
        "1 table and 0 figures show 4 fits, which took 8.0 s of CPU time.",
        "1 of 2 published accuracies and AUCs are within one point of ours.",
        "Missing are 0 data sets that this suite or machine does not have, 0 experiments not written yet, and 0 fits "
        "that failed (make list SUITE=smoke).",
    ]
    assert suite.command("summary") == 0
    assert capsys.readouterr().out.splitlines() == lines()


def test_nothing_published_and_failures_are_said(suite: Suite, lines):
    suite.complete().published("hidf-table2", [])
    suite.fail("adult", "gbdt")
    suite.draw()
    assert lines()[1].startswith("0 of 0 published")
    assert "and 1 fit that failed" in lines()[2]
