"""The page: what it must show, and that it needs nothing but itself."""

import html.parser
import re
import shutil

import pytest

from cascadeforest.reports.drawing.page import duration, index_page
from cascadeforest.reports.numbers.fidelity import Declared
from cascadeforest.reports.numbers.results import read_results

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(html.parser.HTMLParser):
    """Ids, links and whether every element is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.open, self.text = [], [], [], []
        self.feed(text)
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        assert tag != "link"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"}.intersection(self.open):
            self.text.append(data)

    @property
    def words(self):
        return re.sub(r"\s+", " ", "".join(self.text))


def page(suite):
    return Page(index_page(read_results(suite.root, suite.name), suite.folder, Declared()))


@pytest.fixture
def shown(suite):
    suite.complete()
    absent = {"chf": "needs credentialed access: put the file at data/chf.csv"}
    suite.experiment(datasets=["adult", "chf"], absent=absent, deviations=["Trees <10> & more."])
    labels, lacks = {"mddf": "mdDF", "gbdt": "GBDT"}, {"mddf": "not implemented"}
    state = {"status": "partial", "reason": "models not written yet: mddf"}
    suite.experiment("mddf-table1", labels=labels, missing_models=lacks, **state)
    reason = "the renderer 'claims' is not written yet"
    suite.experiment("claims", paper="claims", status="not implemented", reason=reason)
    return page(suite)


def test_experiments_have_states_values_and_links_that_have_goals(shown):
    words = shown.words
    assert "1 complete, 1 in part, 1 not implemented" in words
    assert "the renderer 'claims' is not written yet" in words
    assert "models not written yet: mddf" in words
    assert re.search("chf ?unavailable: needs credentialed access: put the file at data/chf.csv", words)
    assert re.search(r"adult ?85\.00 ± 7\.07 published 85\.15 ± 0\.08", shown.words)
    assert "Deviations from the paper Trees <10> & more." in shown.words
    for words in (
        "4 cells of 2 models",
        "CPU time of fits and predictions 8.0 s",
        "Run 2026-05-28",
        "A CPU (2 cores), Linux; Python 3.11.7",
        "scikit-learn 1.9.1",
        "4 have no predictions of single test rows",
    ):
        assert words in shown.words
    assert len(shown.ids) == len(set(shown.ids))
    inner = {link[1:] for link in shown.links if link.startswith("#")}
    assert inner <= set(shown.ids)
    assert {"hidf-table2", "mddf-table1", "claims", "hidf", "mddf", "beyond"} <= inner
    assert {f"tables/hidf-table2{suffix}" for suffix in (".csv", ".md", ".tex")} <= set(shown.links)
    assert "tables/claims.csv" not in shown.links


def test_the_page_is_the_same_bytes_and_tells_failures_or_that_nothing_ran(suite):
    results = read_results(suite.complete().root, suite.name)
    text = index_page(results, suite.folder, Declared())
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "@import" not in text
    assert "url(" not in text
    assert index_page(results, suite.folder, Declared()) == text
    suite.fail("adult", "gbdt", "no <room>")
    words = page(suite).words
    assert "gbdt on adult, repeat 0: MemoryError: no <room>" in words
    assert "1 failed" in words
    shutil.rmtree(suite.folder)
    suite.write_plan()
    words = page(suite).words
    assert "nothing ran" in words
    assert "unavailable: not run" in words


def test_the_command_lines_write_tables_and_page_also_after_a_stopped_run(suite):
    suite.complete()
    suite.lose("adult", "random_forest")
    assert suite.command("draw", "--experiment", "hidf-table2") == 0
    files = [f"hidf-table2{suffix}" for suffix in (".csv", ".md", ".tex")]
    assert sorted(path.name for path in (suite.folder / "tables").iterdir()) == files
    assert suite.command("index") == 0
    assert (suite.folder / "index.html").is_file()
    shutil.rmtree(suite.folder / "tables")
    (suite.folder / "index.html").unlink()
    assert suite.command("partial") == 0
    assert "*not run* | 91.00 ± 1.41" in (suite.folder / "tables/hidf-table2.md").read_text()
    assert (suite.folder / "index.html").is_file()


def test_an_unknown_experiment_and_one_that_is_not_implemented_are_errors(suite, capsys):
    suite.complete()
    suite.experiment("hidf-fig2", status="not implemented", reason="the renderer 'tsne' is not written yet")
    for name, words in {
        "hidf-table3": "--experiment is 'hidf-table3'; the suite smoke declares hidf-table2",
        "hidf-fig2": "the renderer 'tsne' is not written yet",
    }.items():
        assert suite.command("draw", "--experiment", name) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(59.72, "59.7 s"), (75, "1 min 15 s"), (3600, "1 h 0 min"), (7384, "2 h 3 min"), (200_000, "2 d 7 h")],
)
def test_durations_have_the_two_units_that_matter(seconds, text):
    assert duration(seconds) == text
