"""The page: what it must show, and that it needs nothing but itself."""

import html.parser
import re

import pytest

from cascadeforest.reports.__main__ import main
from cascadeforest.reports.drawing.page import duration, index_page
from cascadeforest.reports.numbers.results import read_results

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(html.parser.HTMLParser):
    """Ids, links and whether every element is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open = [], [], [], []
        self.text = []
        self.feed(text)
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if "src" in attributes:
            self.sources.append(attributes["src"])
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


@pytest.fixture
def shown(suite):
    """Page of a suite with a complete, a partial and a declared experiment."""
    suite.complete()
    suite.experiment(
        "hidf-table2",
        datasets=["adult", "chf"],
        absent={"chf": "needs credentialed access: put the file at data/chf.csv"},
        deviations=["Trees <10> & more."],
    )
    suite.experiment(
        "mddf-table1",
        columns={"mddf": "mddf", "gbdt": "gbdt"},
        labels={"mddf": "mdDF", "gbdt": "GBDT"},
        missing_models={"mddf": "not implemented"},
        status="partial",
        reason="models not written yet: mddf",
    )
    suite.experiment(
        "claims", paper="claims", status="not implemented", reason="the renderer 'claims' is not written yet"
    )
    return Page(index_page(read_results(suite.root, suite.name), suite.folder))


def test_every_experiment_is_listed_with_its_state_and_what_is_missing(shown):
    words = shown.words
    assert "1 complete, 1 in part, 1 not implemented" in words
    assert "the renderer 'claims' is not written yet" in words
    assert "models not written yet: mddf" in words
    assert "chf unavailable: needs credentialed access: put the file at data/chf.csv" in words


def test_reproduced_and_published_values_stand_below_each_other(shown):
    assert re.search(r"adult ?reproduced ?85\.00 ± 7\.07.*published ?85\.15 ± 0\.08", shown.words)


def test_deviations_stand_with_their_table_and_are_escaped(shown):
    assert "Deviations from the paper Trees <10> & more." in shown.words


def test_what_ran_is_told(shown):
    words = shown.words
    assert "4 cells of 2 models" in words
    assert "CPU time of the cells8.0 s" in words
    assert "Run2026-05-28" in words
    assert "A CPU (2 cores), Linux; Python 3.11.7" in words
    assert "scikit-learn 1.9.1" in words


def test_ids_are_unique_and_every_inner_link_has_its_goal(shown):
    assert len(shown.ids) == len(set(shown.ids))
    inner = {link[1:] for link in shown.links if link.startswith("#")}
    assert inner <= set(shown.ids)
    assert {"hidf-table2", "mddf-table1", "claims", "hidf", "mddf", "beyond"} <= inner


def test_each_table_links_its_files(shown):
    assert {f"tables/hidf-table2{suffix}" for suffix in (".csv", ".md", ".tex")} <= set(shown.links)
    assert "tables/claims.csv" not in shown.links


def test_the_page_needs_nothing_else(suite):
    suite.complete()
    text = index_page(read_results(suite.root, suite.name), suite.folder)
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "@import" not in text
    assert "url(" not in text


def test_the_page_is_the_same_bytes_every_time(suite):
    suite.complete()
    results = read_results(suite.root, suite.name)
    assert index_page(results, suite.folder) == index_page(results, suite.folder)


def test_failures_are_told_in_full(suite):
    suite.complete()
    (suite.folder / "runs/adult/gbdt.json").unlink()
    suite.fail("adult", "gbdt", "MemoryError", "no <room>")
    page = Page(index_page(read_results(suite.root, suite.name), suite.folder))
    assert "gbdt on adult, repeat 0: MemoryError: no <room>" in page.words
    assert "1 failed" in page.words


def test_the_printed_table_is_shown_beside_an_experiment_that_is_not_implemented(suite):
    suite.experiment("ddbf-table9", paper="ddbf", status="not implemented", reason="no model")
    suite.published("ddbf-table9", ["adult,ddbf_f,,accuracy,86.62,0.01,best,,percent"])
    (suite.root / "reports/published/layouts.yaml").write_text(
        "ddbf-table9:\n"
        "  header: [[Dataset, ADULT, ''], ['', ACC, Range]]\n"
        "  columns: [{dataset: adult, metric: accuracy}, {dataset: adult, metric: accuracy, cell: '± {std}'}]\n"
        "  rows: [{labels: [DDBF-f], model: ddbf_f}]\n"
    )
    text = index_page(read_results(suite.root, suite.name), suite.folder)
    assert '<tr><th scope="col">Dataset</th><th scope="col">ADULT</th><td></td></tr>' in text
    assert '<tr><td></td><th scope="col">ACC</th><th scope="col">Range</th></tr>' in text
    assert "<tr><td>DDBF-f</td><td><strong>86.62</strong></td><td><strong>± 0.01</strong></td></tr>" in text


def test_a_suite_in_which_nothing_ran_has_a_page(suite):
    suite.experiment()
    page = Page(index_page(read_results(suite.root, suite.name), suite.folder))
    assert "nothing ran" in page.words
    assert "unavailable: not run" in page.words


def test_the_command_lines_write_tables_and_page(suite, capsys):
    suite.complete()
    root = ["--suite", "smoke", "--root", str(suite.root)]
    assert main(["table", "--experiment", "hidf-table2", *root]) == 0
    assert sorted(path.name for path in (suite.folder / "tables").iterdir()) == [
        "hidf-table2.csv",
        "hidf-table2.md",
        "hidf-table2.tex",
    ]
    assert main(["index", *root]) == 0
    assert (suite.folder / "index.html").is_file()


def test_cells_without_rows_are_told(suite):
    suite.complete()
    words = Page(index_page(read_results(suite.root, suite.name), suite.folder)).words
    assert "4 of 4 cells were computed by an earlier version, which kept no predictions of single test rows." in words


def test_what_there_is_after_a_stopped_run_is_drawn(suite):
    suite.experiment()
    suite.run("adult", "gbdt", [0.9, 0.9])
    assert main(["partial", "--suite", "smoke", "--root", str(suite.root)]) == 0
    assert "*not run* | 90.00 ± 0.00" in (suite.folder / "tables/hidf-table2.md").read_text()
    assert (suite.folder / "index.html").is_file()


def test_an_unknown_experiment_is_named_with_those_that_exist(suite, capsys):
    suite.complete()
    assert main(["table", "--experiment", "hidf-table3", "--suite", "smoke", "--root", str(suite.root)]) == 2
    assert "--experiment is 'hidf-table3'; the suite smoke declares hidf-table2." in capsys.readouterr().err


def test_an_experiment_that_is_not_implemented_says_what_it_lacks(suite, capsys):
    suite.experiment("hidf-fig2", status="not implemented", reason="the renderer 'tsne' is not written yet")
    assert main(["table", "--experiment", "hidf-fig2", "--suite", "smoke", "--root", str(suite.root)]) == 2
    assert "the renderer 'tsne' is not written yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.42, "0.4 s"), (75, "1 min 15 s"), (7384, "2 h 3 min"), (200_000, "2 d 7 h")]
)
def test_durations_have_the_two_units_that_matter(seconds, text):
    assert duration(seconds) == text
