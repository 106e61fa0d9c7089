"""Markdown, LaTeX and HTML of one small table, and the escaping of what must not be taken for markup."""

import html.parser
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.reports.conftest import texts

from cascadeforest.reports.drawing.formats import to_html, to_latex, to_markdown
from cascadeforest.reports.drawing.lines import PUBLISHED, Cell, Row, TableView, number_text, printed_text
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.words import html_sentence

NAME = "hidf-table2"
WORD = Cell("not printed", is_word=True)
OURS = Cell("86.90 ± 0.05", "best"), Cell("86.17 ± 0.09", "second"), Cell("failed: MemoryError", is_word=True)
VIEW = TableView(
    name="hidf-table2",
    title="Accuracy",
    suite="smoke",
    label_heads=("data set", ""),
    heads=("hiDF", "gcForest_CS", "RF"),
    size_head="repeats × test rows",
    rows=(
        Row(("adult", "reproduced"), OURS, size="5 × 16,281"),
        Row(("adult", "published"), (Cell("86.90", "best"), WORD, WORD), PUBLISHED),
        Row(("chf", "reproduced"), (Cell("unavailable: needs access", is_word=True),) * 3),
    ),
    notes=("Bold: best.",),
    deviations=("Fewer trees.",),
)


def view_of(suite, **changes):
    suite.complete()
    suite.experiment(**changes)
    return suite.table(NAME).view


def markdown_of(suite):
    return to_markdown(suite.table(NAME).view).splitlines()


def test_markdown_and_latex_in_the_papers_layout(suite):
    assert (
        to_markdown(VIEW)
        == """### hidf-table2: Accuracy

| data set |  | hiDF | gcForest\\_CS | RF | repeats × test rows |
| --- | --- | ---: | ---: | ---: | --- |
| adult | reproduced | **86.90 ± 0.05** | 86.17 ± 0.09 • | *failed: MemoryError* | 5 × 16,281 |
|  | published | **86.90** | *not printed* | *not printed* |  |
| chf | reproduced | *unavailable: needs access* | *unavailable* | *unavailable* |  |

- Bold: best.

Deviations from the paper:

- Fewer trees.
"""
    )
    suite.assert_well_formed(Table((), VIEW))
    text = to_latex(VIEW)
    assert r"\begin{tabular}{llrrrl}" in text
    assert r"adult & reproduced & \textbf{86.90 $\pm$ 0.05} & 86.17 $\pm$ 0.09~$\bullet$ & " in text
    assert r" & published & {\small \textbf{86.90}} & \multicolumn{2}{l}{\textit{not printed}} &  \\" in text
    assert r"chf & reproduced & \multicolumn{3}{l}{\textit{unavailable: needs access}} &  \\" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")


class Cells(html.parser.HTMLParser):
    """Columns that each body row covers, row heads that span rows included."""

    def __init__(self, text):
        super().__init__()
        self.widths, self.pending = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "tbody":
            self.pending = {}
        if tag == "tr":
            self.widths.append(self.pending.pop(len(self.widths), 0))
        if tag in ("td", "th"):
            width = int(attributes.get("colspan", 1))
            self.widths[-1] += width
            for below in range(1, int(attributes.get("rowspan", 1))):
                row = len(self.widths) - 1 + below
                self.pending[row] = self.pending.get(row, 0) + width


def test_html_rows_have_all_columns_and_marks_are_seen_and_heard():
    """A label over several rows counts in each; published numbers stand in our cells, but for those below words."""
    assert set(Cells(to_html(VIEW)).widths) == {5}
    text = to_html(VIEW)
    assert '<strong>86.90 ± 0.05<span class="spoken"> (best)</span></strong>' in text
    assert '<span class="mark" aria-hidden="true">•</span><span class="spoken"> (second best)</span>' in text
    published = '<span class="paper"><span class="spoken"> published </span><strong>86.90<span class="spoken"> (best)'
    assert re.search(
        rf"<tr class=.reproduced.><th[^>]*>adult</th><td class=.number.><strong>.*{re.escape(published)}", text
    )
    assert "not printed" not in text


NASTY = r"[l] a_b & 100% <b>x</b> {y} #1 $z ~ ^ \ | *"
NASTY_ROW = Row((NASTY, NASTY), (Cell(NASTY),))
NASTY_VIEW = TableView("claims", NASTY, NASTY, (NASTY, ""), (NASTY,), "", (NASTY_ROW,), (NASTY,), (NASTY,))


def test_every_form_escapes_what_it_would_interpret_and_sentences_link_addresses_only():
    text = to_latex(NASTY_VIEW)
    escaped = (
        r"[l] a\_b \& 100\% \textless{}b\textgreater{}x\textless{}/b\textgreater{} \{y\} \#1 \$z \textasciitilde{} "
        r"\textasciicircum{} \textbackslash{} \textbar{} *"
    )
    assert text.count(escaped) == 9
    assert "a_b" not in text
    assert text.count("\n{}[l] ") == 2  # no option of the line break above
    text = to_html(NASTY_VIEW)
    assert "<b>" not in text
    assert text.count("a_b &amp; 100% &lt;b&gt;x&lt;/b&gt;") == 6
    text = to_markdown(NASTY_VIEW)
    assert "<b>" not in text.replace(r"\<b\>", "")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {4}
    assert html_sentence("See <x> (https://a.org/b?c=1&d=2), or www.") == (
        'See &lt;x&gt; (<a href="https://a.org/b?c=1&amp;d=2">https://a.org/b?c=1&amp;d=2</a>), or www.'
    )


def test_a_group_of_other_rows_does_not_divide_a_group_and_intervals_stand_below():
    """Published numbers of a larger set follow each of our models; on the page each set is one group."""
    rows = [
        Row((name, model, kind), (Cell("1.00 [0.50, 1.50]"),) * 3, kind)
        for model in ("hiDF", "RF")
        for name, kind in (("adult+rows-9", "reproduced"), ("adult, all rows", PUBLISHED))
    ]
    text = to_html(replace(VIEW, label_heads=("data set", "model", ""), rows=tuple(rows)))
    names = re.findall('<span>(adult.*?)</span>|<th scope="row">(.*?)</th>', text)
    assert ["".join(pair) for pair in names] == [
        *("adult+rows-9", "hiDF", "RF"),
        *("adult, all rows", "hiDF, published", "RF, published"),
    ]
    assert '<td class="number">1.00<br>[0.50, 1.50]</td>' in text


@pytest.mark.parametrize(
    ("metric", "mean", "std", "text"),
    [
        ("accuracy", 0.86904, 0.0005, "86.90 ± 0.05"),
        ("accuracy", 1.0, None, "100.00"),
        ("log_loss", 0.123456, 0.01, "0.1235 ± 0.0100"),
        ("rmse", 53.2711, 1.239, "53.27 ± 1.24"),
        ("fit_cpu_seconds", 3208.7, 12.4, "3,209 ± 12"),
        ("fit_cpu_seconds", 0.01234, 0.001, "0.0123 ± 0.0010"),
        ("n_layers", 0.0, 0.0, "0.0 ± 0.0"),
        ("n_layers", 2.5, 0.7, "2.5 ± 0.7"),
    ],
)
def test_numbers_have_two_decimals_in_percent_and_significant_digits_elsewhere(metric, mean, std, text):
    assert number_text(metric, mean, std) == text


def test_a_published_row_stands_only_where_the_paper_prints_numbers_and_keeps_their_digits(suite):
    view = view_of(suite)
    assert view.rows[1].cells[0].text == "85.15 ± 0.08"
    suite.published(NAME, ["adult,random_forest,,accuracy,85.150,0.080,second,,percent"])
    cell = suite.table(NAME).view.rows[1].cells[0]
    assert (cell.text, cell.mark) == ("85.150 ± 0.080", "second")
    assert printed_text("roc_auc", Decimal("0.9348"), None) == "93.48"
    assert printed_text("memory_mb", Decimal("29243.9"), None) == "29,243.9"
    view = view_of(suite, datasets=["adult", "wine"])
    labels = [row.labels for row in view.rows]
    assert labels == [("adult", "reproduced"), ("adult", "published"), ("wine", "reproduced")]
    assert "It has no numbers for wine." in " ".join(view.notes)
    view = view_of(suite, datasets=["wine"])  # without any the lines need no source
    assert (view.label_heads, [row.labels for row in view.rows]) == (("data set",), [("wine",)])


def test_legends_follow_from_the_rule_of_the_marks_and_costs_say_how_they_were_measured(suite):
    """A column that is not implemented has no number that could be best, or be ranked."""
    both = " ".join(view_of(suite, marks="best_and_second").notes)
    assert (
        "Bold: the best mean of a data set and measure, whichever model; •: the second-best, as the paper marks it."
        in both
    )
    only = " ".join(view_of(suite, marks="best", rank_columns=["gbdt"]).notes)
    assert "•" not in only
    assert "Bold" not in " ".join(view_of(suite, marks="none").notes)
    labels = {"random_forest": "RF", "gbdt": "GBDT", "hidf": "hiDF", "svm": "SVM"}
    compared = {"rank_columns": list(labels)[:3], "average_rank": ["adult"], "missing_models": {"hidf": "not written"}}
    assert " ".join(view_of(suite, labels=labels, marks="best", **compared).notes).count("among RF and GBDT") == 1
    notes = " ".join(view_of(suite, metrics=["accuracy", "fit_cpu_seconds", "fit_peak_mib"]).notes)
    assert "CPU seconds" in notes
    assert "threads: 1" in notes
    assert "method: VmHWM" in notes
    assert "VmHWM" not in " ".join(view_of(suite, metrics=["accuracy"]).notes)


def test_deviations_and_notes_of_the_data_stand_under_the_table(suite):
    """Also where a variant stands in the place of the paper's data."""
    suite.complete()
    suite.summary("adult", subset_of="the full set", note="every second row")
    suite.summary("adult+rows-500", note="500 of 48,842 rows.")
    suite.summary("wine+rows-50", note="50 of 178 rows.")
    suite.experiment(datasets=["adult", "adult+rows-500", "wine+rows-50"], deviations=["100 trees, not 500."])
    lines = markdown_of(suite)
    assert lines[-3:] == ["Deviations from the paper:", "", "- 100 trees, not 500."]
    notes = suite.table(NAME).view.notes
    assert "adult: a subset of the full set; every second row." in notes
    assert "adult+rows-500: shown in the place of the paper's adult; 500 of 48,842 rows." in notes
    assert "wine+rows-50: 50 of 178 rows." in notes


def test_published_numbers_of_more_rows_stand_apart(suite):
    """Below the name of the whole set, in a group of lines of its own: nobody is to subtract."""
    suite.complete()
    suite.published(NAME, ["adult,random_forest,,accuracy,85.15,,,,percent", "wine,gbdt,,accuracy,96,,,,percent"])
    suite.experiment(datasets=["adult", "wine+rows-50"])
    assert [row.labels[0] for row in suite.table(NAME).view.rows if row.kind == "published"][:1] == ["adult"]
    suite.summary("adult", subset_of="the full set")
    view = suite.table(NAME).view
    assert [(row.labels[0], row.kind) for row in view.rows if row.labels[0].startswith(("adult", "the full"))] == [
        ("adult", "reproduced"),
        ("the full set, all rows (not comparable)", "published"),
    ]
    assert "wine, all rows (not comparable)" in {row.labels[0] for row in view.rows if row.kind == "published"}


GROWN = "cascadeforest.cascade.gcforest:GCForestClassifier"
MLP, STOPPED = (
    "cascadeforest.baselines.mlp:SelectedMLPClassifier",
    "ConvergenceWarning: Maximum iterations (20) reached",
)
HIST = "sklearn.ensemble:HistGradientBoostingClassifier"
ON_HARD = "cascadeforest.cascade.on_hard_examples:OnHardExamplesClassifier"


@pytest.mark.parametrize(
    ("bound", "changes", "is_met"),
    [
        ("max_layers", {"estimator": GROWN, "at_cap": True}, True),
        ("max_layers", {"estimator": GROWN, "at_cap": False}, False),
        ("n_estimators", {"estimator": GROWN, "at_cap": True}, False),
        ("n_estimators", {"estimator": "cascadeforest.forest.estimators:RandomForestClassifier"}, False),
        ("n_estimators", {"estimator": "cascadeforest.baselines.gbdt:GBDTClassifier"}, True),
        ("max_iter", {"estimator": HIST}, True),
        ("max_iter", {"estimator": HIST, "n_train": 10_001}, False),  # it stops early there
        ("max_iter", {"estimator": "cascadeforest.baselines.sndf:SNDFClassifier"}, True),
        ("max_iter", {"estimator": MLP, "warnings": (STOPPED,)}, True),
        ("max_iter", {"estimator": MLP}, False),
        (
            "learner__n_estimators",
            {"estimator": ON_HARD, "learner": "cascadeforest.baselines.gbdt:GBDTClassifier"},
            True,
        ),
        ("learner__max_iter", {"estimator": ON_HARD, "learner": MLP}, False),
        ("n_candidates", {"estimator": "cascadeforest.baselines.tuned:TunedClassifier", "learner": HIST}, False),
    ],
)
def test_numbers_whose_layers_rounds_or_epochs_met_the_bound_of_the_suite_are_marked(suite, bound, changes, is_met):
    """Layers, boosting rounds and epochs go on up to a bound, if nothing stops them before; a forest's trees do not."""
    suite.experiment(datasets=["adult"], bounds={"random_forest": {"adult": {bound: {"here": 3, "unbounded": 20}}}})
    facts = {name: value for name, value in changes.items() if name not in ("at_cap", "learner")}
    for model in ("random_forest", "gbdt"):
        suite.run("adult", model, [{"accuracy": 0.9, "n_layers": 3}] * 2)
        result, cells = suite.read_run("adult", model), []
        for cell in result.cells:
            params = cell.params | ({"learner": {"estimator": changes["learner"]}} if "learner" in changes else {})
            growth = replace(cell.growth, at_cap=changes.get("at_cap"))
            cells.append(replace(cell, **facts, params=params, growth=growth))
        suite.write_run(replace(result, cells=tuple(cells)))
    (row,) = [row for row in suite.table(NAME).view.rows if row.kind == "reproduced"]
    assert [cell.text for cell in row.cells] == ["90.00 ± 0.00" + " ‡" * is_met, "90.00 ± 0.00"]
    assert any("might be better with more (‡): RF on adult" in note for note in suite.table(NAME).view.notes) == is_met


def test_reasons_stand_under_the_table_in_full_and_once_for_all_cells_that_share_them(suite):
    suite.experiment(metrics=["accuracy", "log_loss", "n_layers"], datasets=["adult", "wine"])
    for dataset in ("adult", "wine"):
        for model in ("random_forest", "gbdt"):
            suite.run(dataset, model, [0.7, 0.9])
    assert suite.line(NAME, "adult", "RF") == ["80.00 ± 14.14", "unavailable", "not a cascade"]
    notes = [note for note in suite.table(NAME).view.notes if note.startswith("unavailable")]
    assert notes == ["unavailable: RF, GBDT: the model gives no log loss."]
    suite.fail("adult", "gbdt", "Unable to allocate 3 GiB")
    suite.experiment()
    assert suite.line(NAME, "adult") == ["80.00 ± 14.14", "failed: MemoryError"]
    assert "failed: GBDT on adult: MemoryError: Unable to allocate 3 GiB." in suite.table(NAME).view.notes


def test_several_metrics_are_columns_and_models_are_rows(suite):
    """Models that are not written are named once; an absent data set has its reason once and the paper's lines."""
    metrics = {"metrics": ["accuracy", "fit_cpu_seconds"]}
    view = view_of(suite, **metrics)
    assert view.heads == ("accuracy (%)", "training time (CPU s)")
    kinds = [("RF", "reproduced"), ("RF", "published"), ("GBDT", "reproduced")]
    assert [row.labels for row in view.rows] == [("adult", *kind) for kind in kinds]
    # Head, the data set's own line, two lines: model, two metrics, size.
    assert Cells(to_html(view)).widths == [4, 4, 4, 4]
    view = view_of(suite, missing_models={"gbdt": "not implemented"}, **metrics)
    assert {row.labels[1] for row in view.rows} == {"RF"}
    assert "Not implemented: GBDT." in view.notes
    view = view_of(suite, absent={"adult": "not on the mirror"}, **metrics)
    assert [row.labels for row in view.rows] == [("adult", "all", "reproduced"), ("adult", "RF", "published")]
    assert set(texts(view.rows[0])) == {"unavailable: not on the mirror"}


def test_win_tie_lose_and_average_rank_have_rows_with_the_papers_below(suite):
    suite.complete()
    suite.experiment(win_tie_lose="gbdt", average_rank=["adult"])
    wins = [f"all,random_forest,,{name},{n},,,,count" for name, n in (("win", 10), ("tie", 0), ("lose", 0))]
    suite.published(NAME, [*wins, "all,gbdt,,average_rank,1.250,,,,rank"])
    lines = markdown_of(suite)
    assert "| average rank | reproduced | 2.000 | 1.000 | over 1 data set |" in lines
    assert "|  | published | *not printed* | 1.250 |  |" in lines
    assert "| win/tie/lose of GBDT | reproduced | 1/0/0 | *reference* | over 1 data set |" in lines
    assert "|  | published | 10/0/0 | *reference* |  |" in lines


def three_sets(suite, scores, **changes):
    repeats = {name: len(values[0]) for name, values in scores.items()}
    suite.experiment(datasets=list(scores), repeats=repeats, **changes)
    for dataset, of_models in scores.items():
        for model, values in zip(("gbdt", "random_forest"), of_models, strict=False):
            suite.run(dataset, model, values)


def test_a_table_below_has_the_differences_to_each_reference_and_counts_what_intervals_decide(suite):
    """Paired t intervals of made data: RF minus GBDT −0.10 ± 0.01, 0.033 ± 0.076 and −0.10 in both repeats."""
    scores = {
        "adult": ([0.90, 0.93, 0.95], [0.80, 0.84, 0.84]),
        "wine": ([0.80, 0.80, 0.85], [0.90, 0.75, 0.90]),
        "iris": ([0.90, 0.93], [0.80, 0.83]),
    }
    three_sets(suite, scores, references=["gbdt", "random_forest"])
    below, other = suite.table(NAME).view.folded
    assert below.title == "Differences of accuracy (points): each model minus GBDT, with 95 % intervals"
    assert [(row.labels[0], row.cells[0].text) for row in below.rows] == [
        ("adult", "−10.00 [−12.48, −7.52]"),
        ("wine", "+3.33 [−15.64, +22.31]"),
        ("iris", "−10.00 ± 0.00, no interval"),
        ("win/equivalent/lose/undecided of GBDT", "1/0/0/1"),
    ]
    # (4.303 + 1.061) / sqrt(3) = 3.10 deviations
    assert [row.size for row in below.rows][:2] == ["3 made data sets; finds 3.10", "3 made data sets; finds 23.65"]
    assert other.rows[-1].cells[0].text == "0/0/1/1"
    rows = suite.rows(NAME)
    row = rows["adult", "random_forest", "against gbdt", "accuracy_difference"]
    assert (row.mark, row.low) == ("lose", pytest.approx(-0.1 - 4.302653 * 0.01 / 3**0.5))
    assert rows["all", "random_forest", "gbdt, accuracy", "decided_win"].mean == 1
    lines = markdown_of(suite)
    assert f"<summary>{below.title}</summary>" in lines
    assert "finds 3.10" in suite.table(NAME).files()[".tex"]
    notes = suite.notes(NAME)
    assert "Smallest difference of accuracy (points) that is found with a probability of 80 %" in notes
    assert "No interval, of some or all models, on iris: all repeats have the same difference" in notes
    suite.assert_well_formed(suite.table(NAME))
    suite.experiment(references=["gbdt"], missing_models={"random_forest": "not implemented"})
    assert suite.table(NAME).view.folded == ()


def test_nothing_is_won_or_ranked_where_bounds_are_unequal(suite):
    """On adult the forest has all its trees and GBDT a fiftieth; a model of neither trees nor rounds has no part."""
    scores = {"adult": ([0.9, 0.8], [0.8, 0.75]), "wine": ([0.7, 0.6], [0.8, 0.72])}
    bound = {"gbdt": {"adult": {"n_estimators": {"here": 10, "unbounded": 500}}}}
    counted = {"win_tie_lose": "gbdt", "references": ["gbdt"], "average_rank": []}

    def counts(n_forest, n_boosting, of_forest=()):
        three_sets(suite, scores, bounds=bound | dict(of_forest), **counted)
        for name, n in (("random_forest", n_forest), ("gbdt", n_boosting)):
            for dataset in scores:
                params = {"n_estimators": n} if n else {}
                suite.run(dataset, name, scores[dataset][name == "random_forest"], params=params)
        rows = suite.rows(NAME)
        wins, losses = (rows["all", "random_forest", "", name].mean for name in ("win", "lose"))
        return wins, losses, rows["all", "random_forest", "gbdt, accuracy", "decided_win"].n

    assert counts(500, 10) == (0, 1, 1)
    assert "who is better there. These data sets count for no average rank" in suite.notes(NAME)
    assert suite.rows(NAME)["all", "gbdt", "", "average_rank"].mean == 2
    suite.experiment(bounds=bound, datasets=list(scores))
    assert "Unequal bounds: on adult a model has all" in suite.notes(NAME)
    assert "which may decide the comparison there." in suite.notes(NAME)
    assert counts(0, 10) == (1, 1, 2)
    half = {"random_forest": {"adult": {"n_estimators": {"here": 10, "unbounded": 500}}}}
    assert counts(10, 10, half) == (1, 1, 2)
    assert "Unequal bounds" not in suite.notes(NAME)


def test_columns_of_fewer_repeats_are_compared_over_those_of_both(suite):
    """In the first repeat RF is better; over three GBDT's mean would be."""
    scores = {"adult": ([0.80, 0.95, 0.95], [0.85])}
    few = {"fewer_repeats": {"adult": {"random_forest": 1}}, "designs": {"adult": "folds"}}
    three_sets(suite, scores, references=["gbdt"], win_tie_lose="gbdt", **few)
    assert suite.line(NAME, "adult")[:2] == ["85.00", "90.00 ± 8.66"]
    marks = {row.model: (row.mark, row.rank) for row in suite.rows(NAME).values() if row.metric == "accuracy"}
    assert marks == {"random_forest": ("", None), "gbdt": ("", 1)}  # alone it is not the best of several
    assert suite.table(NAME).view.rows[0].size == "1 × 50, 3 × 50"
    assert suite.rows(NAME)["all", "random_forest", "", "lose"].mean == 1
    row = suite.rows(NAME)["adult", "random_forest", "against gbdt", "accuracy_difference"]
    assert (row.mean, row.n, row.low) == (pytest.approx(0.05), 1, None)
    assert "Bounds of the suite smoke: RF 1 of 3 repeats." in suite.notes(NAME)


def test_a_data_set_counts_once_in_wins_and_outcomes(suite):
    scores = {"adult": ([0.9, 0.8], [0.8, 0.75]), "adult_nan": ([0.9, 0.8], [0.8, 0.75])}
    same = {"win_tie_lose": "random_forest", "references": ["random_forest"], "published_as": {"adult_nan": "adult"}}
    three_sets(suite, scores, **same)
    assert suite.line(NAME, "win/tie/lose of RF", kind="summary")[1] == "0/0/1"
    assert suite.table(NAME).view.folded[0].rows[-1].cells[0].text == "0/0/0/1"
    three_sets(suite, scores, **same | {"published_as": {}})
    assert suite.line(NAME, "win/tie/lose of RF", kind="summary")[1] == "0/0/2"


def test_a_control_is_counted_against_its_own_model_only(suite):
    suite.complete()
    wins = {"win_tie_lose": "gbdt", "labels": {"random_forest": "RF", "gbdt": "GBDT", "svm": "SVM"}}
    controls = {"svm": "gbdt", "random_forest": "svm"}
    suite.experiment(**wins, options={"controls": controls}, missing_models={"svm": "no"})
    assert suite.line(NAME, "win/tie/lose of GBDT", kind="summary")[0] == "not compared"
    assert ("all", "random_forest", "", "win") not in suite.rows(NAME)
    suite.experiment(**wins, options={"controls": {"random_forest": "gbdt"}}, missing_models={"svm": "no"})
    assert suite.rows(NAME)["all", "random_forest", "", "win"].mean == 1


def test_differences_to_a_column_stand_in_a_table_below(suite):
    """−0.10, −0.09, −0.11 and 0.10, −0.05, 0.05."""
    scores = {
        "adult": ([0.90, 0.93, 0.95], [0.80, 0.84, 0.84]),
        "wine": ([0.80, 0.80, 0.85], [0.90, 0.75, 0.90]),
        "iris": ([0.90, 0.93],),
    }
    three_sets(suite, scores, options={"differences": {"to": "gbdt", "of": ["random_forest"]}})
    (below,) = suite.table(NAME).view.folded
    assert below.title == "Differences of accuracy (points): each model minus GBDT, with 95 % intervals"
    assert [(row.labels, row.cells[0].text) for row in below.rows] == [
        (("adult",), "−10.00 [−12.48, −7.52]"),
        (("wine",), "+3.33 [−15.64, +22.31]"),
    ]
    rows = suite.rows(NAME)
    found = [rows[name, "random_forest", "against gbdt", "accuracy_difference"] for name in scores]
    assert [row.mark for row in found] == ["lose", "undecided", ""]
    assert found[2].status == "unavailable"
    printed = {"gbdt": 86.12, "random_forest": 85.15}
    suite.published(NAME, [f"adult,{model},,accuracy,{number},,,,percent" for model, number in printed.items()])
    row = suite.rows(NAME)["adult", "random_forest", "against gbdt", "accuracy_difference"]
    assert row.published == pytest.approx(-0.0097)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"to": "svm", "of": ["gbdt"]}, "options/differences has 'svm'; choose from random_forest, gbdt"),
        ({"to": "gbdt", "of": ["gbdt"]}, "'gbdt' more than once"),
        ({"to": "gbdt", "of": ["random_forest", "random_forest"]}, "'random_forest' more than once"),
        ({"to": "gbdt"}, "options/differences lacks of"),
        ("gbdt", "options/differences is 'gbdt'; it must be a mapping of to, of"),
    ],
)
def test_differences_of_what_is_no_column_are_refused(suite, changes, says):
    suite.experiment(options={"differences": changes})
    suite.refuses(NAME, rf"hidf\.yaml: hidf-table2/.*{says}")
