"""Claims: the file and its checks, and verdicts on hand-made results, from single numbers to what is stored."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.reports.conftest import ROOT

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.typed_json import from_json
from cascadeforest.experiments import claim_checks
from cascadeforest.experiments.claims import CHECKS, CHECKS_FILE, Claim, check_claims, read_claims
from cascadeforest.experiments.resolve import load_plan
from cascadeforest.inference import intervals
from cascadeforest.inference.intervals import Estimate
from cascadeforest.reports.drawing.page import index_page
from cascadeforest.reports.drawing.renderers.claims import judged
from cascadeforest.reports.numbers import evidence
from cascadeforest.reports.numbers.evidence import Sources, collect
from cascadeforest.reports.numbers.fidelity import Declared
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.crate import differences
from cascadeforest.reports.store.redraw import redraw_stored, refresh
from cascadeforest.reports.store.stored import read_provenance

EXPERIMENT = "hidf-table2"
BETTER = {
    "paper": "hidf",
    "quotation": "GBDT is better.",
    "where": "Table II",
    "says": "GBDT is more accurate.",
    "statistic": "difference",
    "rule": "better",
    "evidence": [
        {
            "experiment": EXPERIMENT,
            "datasets": ["adult"],
            "model": "gbdt",
            "rivals": ["random_forest"],
            "metric": "accuracy",
        }
    ],
}


def claim(part=None, **changes):
    """The claim that GBDT is better, with other keys (None: without), and another evidence."""
    found = {key: value for key, value in (BETTER | changes).items() if value is not None}
    return found | {"evidence": [BETTER["evidence"][0] | part]} if part else found


@pytest.fixture
def made(suite):
    """Ten made data sets a name, on which GBDT is better by about two points; claims go to `made.claims`."""
    suite.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats=10)
    suite.experiment("claims", kind="claims", render="claims", labels={}, datasets=[])
    shutil.copytree(ROOT / "workflow" / "schemas", suite.root / "workflow" / "schemas")
    noise = np.random.default_rng(0).normal(scale=0.004, size=(2, 10))
    for name, own in zip(("adult", "bank"), noise, strict=True):
        suite.summary(name)
        suite.run(name, "random_forest", [0.8] * 10)
        suite.run(name, "gbdt", (0.82 + own).tolist())

    def write(**claims):
        import yaml

        (suite.root / "config").mkdir(exist_ok=True)
        text = yaml.safe_dump({name.replace("_", "-"): one for name, one in claims.items()}, sort_keys=False)
        (suite.root / "config" / "claims.yaml").write_text(text)

    def verdict(one):
        write(hidf_a=one)
        return judged(read_results(suite.root, "smoke"))[0]

    suite.claims, suite.verdict = write, verdict
    return suite


# The file ------------------------------------------------------------------------------------------------------------


def test_the_claims_of_the_papers_name_what_the_configuration_has():
    claims = read_claims(ROOT)
    check_claims(claims, load_plan(ROOT))
    assert {one.paper for one in claims.values()} == {"hidf", "interp", "cs", "mddf", "ddbf", "ours"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"paper": "ddbf"}, "must begin with 'ddbf-'"),
        ({"rule": "order_of_magnitude"}, "with the statistic difference choose from better"),
        ({"k": 2}, "k is 2; it belongs to 'over: several'"),
        ({"over": "several"}, "k is None"),
        ({"rule": "about"}, "value is missing"),
        ({"check": "memory"}, "has evidence and check; give one"),
        ({"evidence": None}, "has none of them"),
        ({"statistic": "value", "rule": "above"}, "value has no rivals"),
        (
            {"statistic": "change", "rule": "above", "part": {"rivals": [], "with_datasets": ["bank"]}},
            "change compares no two data sets",
        ),
        ({"rule": None}, "lacks statistic or rule"),
        ({"statistic": "run", "rule": "holds", "evidence": None, "check": "magic"}, "choose from additivity"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_keys_that_do_not_fit_are_refused(made, changes, words):
    made.claims(hidf_a=claim(**changes))
    with pytest.raises(ConfigError, match=words):
        read_claims(made.root)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"experiment": "hidf-table9"}, "'hidf-table9'; choose from"),
        ({"rivals": ["a_forest"]}, "names 'a_forest'; hidf-table2 has random_forest, gbdt"),
    ],
)
def test_names_that_nobody_declares_are_refused(made, evidence, words):
    made.claims(hidf_a=claim(evidence))
    with pytest.raises(ConfigError, match=words):
        check_claims(read_claims(made.root), read_results(made.root, "smoke").plan)


def test_words_of_ours_are_no_other_claim(made):
    made.claims(hidf_a=claim(), hidf_b=claim(says="It is.", note="So it is."), hidf_c=claim(where="Table III"))
    a, b, c = read_claims(made.root).values()
    assert a.digest == b.digest != c.digest


# Verdicts ------------------------------------------------------------------------------------------------------------


def test_a_difference_is_judged_by_the_interval_of_its_table(made):
    line = made.verdict(claim())
    lead = np.array([cell.metrics["accuracy"] - 0.8 for cell in made.read_run("adult", "gbdt").cells])
    one = intervals.paired_t(lead.tolist())
    assert line.verdict.verdict == "supported"
    assert line.number == f"+{100 * one.value:.2f} [+{100 * one.low:.2f}, +{100 * one.high:.2f}] points"
    assert line.place == "GBDT against RF on adult"
    other = made.verdict(claim({"model": "random_forest", "rivals": ["gbdt"]}))
    assert other.verdict.verdict == "contradicted"


def test_a_model_on_one_data_set_is_compared_with_itself_on_another(made):
    """Repeats are compared one by one, test rows are not; words and rows of the table name both data sets."""
    made.run("bank", "gbdt", (0.79 + np.random.default_rng(1).normal(scale=0.004, size=10)).tolist())
    itself = {"model": "gbdt", "rivals": ["gbdt"], "with_datasets": ["bank"]}
    line = made.verdict(claim(itself))
    runs = [made.read_run(name, "gbdt").cells for name in ("adult", "bank")]
    one = intervals.paired_t([a.metrics["accuracy"] - b.metrics["accuracy"] for a, b in zip(*runs, strict=True)])
    assert line.verdict.verdict == "supported"
    assert line.number == f"+{100 * one.value:.2f} [+{100 * one.low:.2f}, +{100 * one.high:.2f}] points"
    assert line.place == "GBDT on adult against GBDT on bank"
    turned = made.verdict(claim(itself | {"datasets": ["bank"], "with_datasets": ["adult"]}))
    assert turned.verdict.verdict == "contradicted"
    written = {row.condition for row in made.table("claims").rows if row.metric == "accuracy_difference"}
    assert written == {f"{EXPERIMENT}: gbdt on bank against gbdt on adult"}
    both = itself | {"datasets": ["adult", "bank"], "rivals": ["random_forest"], "with_datasets": ["bank", "adult"]}
    assert made.verdict(claim(both)).place == "GBDT on bank against RF on adult"  # the one that decides
    written = {row.condition for row in made.table("claims").rows if row.metric == "accuracy_difference"}
    assert written == {
        f"{EXPERIMENT}: gbdt on {a} against random_forest on {b}" for a, b in (("adult", "bank"), ("bank", "adult"))
    }


def test_the_page_begins_with_the_verdicts_and_links_the_tables(made):
    worse = claim({"model": "random_forest", "rivals": ["gbdt"]}, says="RF is more accurate.")
    made.claims(hidf_a=worse, hidf_b=claim(), ours_c=claim(paper="ours", rule="above", value=0.02))
    text = index_page(read_results(made.root, "smoke"), made.folder, Declared())
    begin = text[text.index('id="verdicts"') : text.index('id="hidf-table2"')]
    assert "<summary>hiDF: 1 supported, 1 contradicted</summary>" in begin
    assert "<summary>our own questions: 1 open: no power</summary>" in begin
    # What is supported stands first, whatever the order of the file; the number that decides has its link beside it.
    assert begin.index("GBDT is more accurate.") < begin.index("RF is more accurate.")
    line = made.verdict(claim())
    place = begin.index(line.number)
    assert '<a class="id" href="#hidf-table2">' in begin[place : place + 100]
    # What is open is folded away below.
    assert begin.index("<summary>1 open: no power</summary>") > begin.index("our own questions: ")


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"rule": "comparable"}, "supported"),
        ({"rule": "equivalent"}, "contradicted"),
        ({"rule": "above", "value": 0.01}, "supported"),
        ({"rule": "above", "value": 0.02}, "open: no power"),
        ({"rule": "below", "value": 0.01}, "contradicted"),
        ({"rule": "about", "value": 0.02}, "supported"),
        ({"rule": "about", "value": 0.05, "region": 0.01}, "contradicted"),
        ({"over": "several", "k": 1}, "supported"),
        ({"over": "average"}, "supported"),  # of one data set: judged by itself
        ({"not_run": "no experiment", "evidence": None}, "open: not run"),
        ({"statistic": "rank", "rule": "descriptive"}, "descriptive only"),
    ],
)
def test_rules(made, changes, verdict):
    part = {"rivals": []} if changes.get("statistic") == "rank" else None
    assert made.verdict(claim(part, **changes)).verdict.verdict == verdict


def test_a_missing_data_set_forbids_support_on_all(made):
    line = made.verdict(claim({"datasets": ["adult", "bank", "year"]}))
    assert line.verdict.verdict == "open: data not at hand"
    assert line.verdict.why == "holds on the 2 data sets judged; not at hand: year"
    several = made.verdict(claim({"datasets": ["adult", "bank", "year"]}, over="several", k=2))
    assert several.verdict.verdict == "supported"
    # A rival that a table leaves out on a data set may be better there: it does not count as shown.
    labels = {"random_forest": "RF", "gbdt": "GBDT", "svm": "SVM"}
    left_out = {"fewer_repeats": {"bank": {"svm": 0}}, "labels": labels, "libraries": {key: [] for key in labels}}
    made.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats=10, **left_out)
    made.run("adult", "svm", [0.79] * 10)
    both = {"datasets": ["adult", "bank"], "rivals": ["random_forest", "svm"]}
    for k, verdict in ((1, "supported"), (2, "open: not run")):
        assert made.verdict(claim(both, over="several", k=k)).verdict.verdict == verdict
    made.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats=10)
    # One data set says nothing of a mean over several, neither for it nor against it.
    average = made.verdict(claim({"datasets": ["adult", "year"]}, over="average"))
    assert average.verdict.verdict == "open: data not at hand"
    assert average.verdict.why == "holds on the 1 data set judged; not at hand: year"
    reverse = {"datasets": ["adult", "year"], "model": "random_forest", "rivals": ["gbdt"]}
    contrary = made.verdict(claim(reverse, over="average"))
    assert contrary.verdict.verdict == "open: data not at hand"
    assert contrary.verdict.why == "does not hold on the 1 data set judged; not at hand: year"
    assert made.verdict(claim(reverse)).verdict.verdict == "contradicted"  # of 'on all'
    made.lose("bank", "gbdt")
    assert made.verdict(claim({"datasets": ["adult", "bank"]})).verdict.verdict == "open: not run"


def test_data_that_another_table_shows_were_not_run_in_this_one(made):
    """A stored table can be older than the configuration, which has a row more."""
    made.experiment("hidf-table3", datasets=["year+rows-100"], absent={"year+rows-100": "not downloaded"})
    both = claim({"datasets": ["adult", "year"]})
    assert made.verdict(both).verdict.verdict == "open: data not at hand"
    made.experiment("hidf-table3", datasets=["year+rows-100"])
    found = made.verdict(both).verdict
    assert (found.verdict, found.why) == ("open: not run", "holds on the 1 data set judged; not run: year")


def test_one_repeat_says_open_and_so_do_few(made):
    made.run("adult", "random_forest", [0.8])
    made.run("adult", "gbdt", [0.9])
    made.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats={"adult": 1, "bank": 10})
    line = made.verdict(claim())
    assert (line.verdict.verdict, line.verdict.why) == ("open: no power", "no interval: one repeat")


@pytest.mark.parametrize(
    ("repeats", "here", "why"), [(1, False, "one run"), (4, True, "one training set"), (4, False, "")]
)
def test_one_fit_and_one_training_set_decide_nothing_however_many_test_rows(made, monkeypatch, repeats, here, why):
    real, interval = evidence._difference, Estimate(0.1, 1e-4)

    def sure(*arguments):
        return replace(real(*arguments), interval=interval, here=interval if here else None, why="4,000 test rows")

    monkeypatch.setattr(evidence, "_difference", sure)
    made.run("adult", "random_forest", [0.8] * repeats)
    made.run("adult", "gbdt", [0.9] * repeats)
    made.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats={"adult": repeats, "bank": 10})
    line = made.verdict(claim())
    assert line.verdict.verdict == ("open: no power" if why else "supported")
    assert line.verdict.why == (f"no interval: {why}" if why else "")


def test_open_says_what_would_have_been_found_and_how_much_more_is_needed(made):
    made.published(
        EXPERIMENT, ["adult,random_forest,,accuracy,80.0,,,,percent", "adult,gbdt,,accuracy,80.5,,,,percent"]
    )
    made.run("adult", "gbdt", (0.802 + np.tile([0.02, -0.02], 5)).tolist())
    line = made.verdict(claim())
    decision = line.verdict.primary.decision
    smallest = decision.smallest
    assert line.verdict.verdict == "open: no power"
    assert decision.power(smallest) == pytest.approx(0.8, abs=1e-3)
    assert f"a true +{100 * smallest:.2f} points would have been found here" in line.words
    assert f"about {(smallest / 0.005) ** 2:.0f} times the rows or repeats" in line.words


def test_bounded_numbers_do_not_decide_unless_the_claim_says_so(made):
    bound = {"gbdt": {"adult": {"n_estimators": {"here": 10, "unbounded": 500}}}}
    made.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats=10, bounds=bound)
    line = made.verdict(claim())
    assert (line.verdict.verdict, line.verdict.why) == ("open: not run", "not in full: adult")
    rows = {row.key: row for row in made.table("claims").rows}
    row = rows["adult", "hidf-a", "hidf-table2: gbdt against random_forest", "accuracy_difference"]
    assert row.note == "not run: not in full: n_estimators 10 of 500"
    assert row.mean == pytest.approx(0.02, abs=0.005)  # shown all the same
    assert made.verdict(claim({"bounded": True})).verdict.verdict == "supported"


def test_a_mechanism_that_was_not_active_exercises_nothing(made):
    layers = [{"accuracy": 0.82 + k / 1000, "n_layers": 0} for k in range(10)]
    made.run("adult", "gbdt", layers)
    guarded = claim(guard={"metric": "n_layers", "least": 1})
    assert made.verdict(guarded).verdict.verdict == "not exercised"
    made.run("adult", "gbdt", [one | {"n_layers": 2} for one in layers])
    assert made.verdict(guarded).verdict.verdict == "supported"
    assert made.verdict(claim(guard={"metric": "n_layers", "most": 2})).verdict.verdict == "supported"
    assert made.verdict(claim(guard={"metric": "n_layers", "most": 1})).verdict.verdict == "not exercised"
    (note,) = (row.note for key, row in made.rows("claims").items() if key[0] == "adult")
    assert note == "inactive: layers 2, above 1"


def test_opposite_readings_leave_it_to_the_reader(made):
    other = {"name": "the text", "model": "random_forest", "rivals": ["gbdt"]}
    line = made.verdict(claim(readings=[{"name": "the code"}, other]))
    assert line.verdict.verdict == "depends on the reading"
    assert line.verdict.why == "supported if read as the code; contradicted if read as the text"
    rows = made.rows("claims")
    assert [rows["all", "hidf-a", name, "verdict"].mark for name in ("the code", "the text")] == [
        "supported",
        "contradicted",
    ]
    third = {"name": "a third way", "rivals": ["gbdt"]}  # against itself: no interval
    line = made.verdict(claim(readings=[{"name": "the code"}, third, other]))
    assert line.verdict.verdict == "depends on the reading"
    assert "; open: no power if read as a third way; contradicted if read as the text" in line.verdict.why
    line = made.verdict(claim(readings=[{"name": "the code"}, third]))
    assert (line.verdict.verdict, line.verdict.why) == ("supported", "open: no power if read as a third way")
    line = made.verdict(claim(readings=[third, {"name": "a fourth", "rivals": ["gbdt"]}]))
    assert "if read as" not in line.verdict.why  # what is open in all readings needs no list
    line = made.verdict(claim(readings=[third, other]))
    assert line.verdict.verdict == "open: no power"
    assert line.verdict.why.endswith("; contradicted if read as the text")


def test_what_was_known_is_confirmed_on_fresh_draws_only(made):
    known = {"why": "accepted tables", "known_repeats": 4}
    assert made.verdict(claim(exploratory=known)).verdict.marks == [
        "exploratory: known before, and new repeats alone say supported"
    ]
    late = claim(exploratory=known | {"known_repeats": 10})
    assert made.verdict(late).verdict.marks == ["exploratory: known before, and new repeats do not decide it yet"]
    assert made.verdict(claim(exploratory={"why": "another size was seen"})).verdict.marks == [
        "exploratory: known before"
    ]
    made.run("adult", "gbdt", [0.9, 0.91, 0.9, 0.92, *(0.78 + np.arange(6) / 1000)])
    line = made.verdict(claim(exploratory=known))
    assert line.words.endswith("exploratory: known before, and new repeats alone say contradicted")
    assert line.verdict.fresh.decision.decisive.estimate.df == 5


def test_ratios_spreads_and_shares(made):
    model = [{"accuracy": 0.8 + k / 100, "model_mib": 2.0 + k / 100} for k in range(10)]
    rival = [{"accuracy": 0.8 + (k % 5) / 1000, "model_mib": 20.0 + k / 10} for k in range(10)]
    made.experiment(EXPERIMENT, datasets=["adult", "bank"], repeats=10, metrics=["accuracy", "model_mib"])
    made.run("adult", "gbdt", model)
    made.run("adult", "random_forest", rival)
    size = claim({"metric": "model_mib"}, statistic="ratio", rule="order_of_magnitude")
    line = made.verdict(size)
    ratio = math.exp(np.mean([math.log(b["model_mib"] / a["model_mib"]) for a, b in zip(model, rival, strict=True)]))
    assert line.verdict.verdict == "supported"
    assert line.number.startswith(f"{ratio:.1f}")
    assert line.place == "RF / GBDT on adult; asked for: above 5.6 times"  # whose number is divided by whose
    more = made.verdict(size | {"rule": "above", "value": 1.25})
    assert more.place == "RF / GBDT on adult; asked for: above 1.25 times"
    several = [{"experiment": EXPERIMENT, "datasets": ["adult"], "model": "gbdt", "rivals": ["random_forest"]}]
    several = [several[0] | {"metric": metric} for metric in ("model_mib", "accuracy")]
    assert "RF / GBDT, accuracy on adult" in made.verdict(size | {"evidence": several}).place
    assert made.verdict(size | {"rule": "up_to", "value": 10}).verdict.verdict == "supported"
    assert made.verdict(size | {"rule": "up_to", "value": 30}).verdict.verdict == "contradicted"
    # The largest of all is known only if all were seen; that one is large enough is seen on one.
    partly = claim({"metric": "model_mib", "datasets": ["adult", "year"]}, statistic="ratio", rule="up_to", value=30)
    found = made.verdict(partly).verdict
    assert (found.verdict, found.why) == (
        "open: data not at hand",
        "does not hold on the 1 data set judged; not at hand: year",
    )
    assert made.verdict(partly | {"value": 10}).verdict.verdict == "supported"
    spread = claim(statistic="spread", rule="above")
    line = made.verdict(spread)
    assert line.verdict.verdict == "supported"
    assert line.place == "GBDT / RF on adult; asked for: above 1 times"
    assert float(line.number.split()[0]) > 1  # GBDT's deviation is the larger one, and divided by RF's
    share = claim({"rivals": []}, statistic="value", rule="above", value=0.8)
    assert made.verdict(share).verdict.verdict == "supported"


def test_changes_and_correlations_take_runs_for_replicates(made):
    """Layers of ten runs: one curve rises, the other falls."""
    from cascadeforest.reports.numbers.frame import TidyRow

    generator = np.random.default_rng(0)
    rising = [tuple(k + generator.normal(scale=0.2, size=10)) for k in range(4)]
    rows = [TidyRow("adult", "gbdt", f"layer {k + 1}", "mdi", 1.0, n=10, values=v) for k, v in enumerate(rising)]
    rows += [
        TidyRow("adult", "gbdt", f"layer {k + 1}", "bias", 1.0, n=10, values=tuple(-x for x in v))
        for k, v in enumerate(rising)
    ]
    sources = Sources(read_results(made.root, "smoke"), lambda name: rows)

    def found(statistic, rule, **part):
        sources._rows.clear()
        own = {
            "experiment": EXPERIMENT,
            "datasets": ["adult"],
            "model": "gbdt",
            "metric": "mdi",
            "conditions": ["layer *"],
        }
        whole = claim(statistic=statistic, rule=rule) | {"evidence": [own | part]}
        return collect(from_json(Claim, whole, "claim"), sources)

    steps = found("change", "above")
    assert [one.words for one in steps] == [f"gbdt, layer {k + 1} after layer {k}" for k in (1, 2, 3)]
    assert steps[0].comparison.estimate.value == pytest.approx(np.mean(rising[1]) - np.mean(rising[0]))
    (ends,) = found("change", "above", ends=True)
    assert ends.comparison.estimate.value == pytest.approx(np.mean(rising[3]) - np.mean(rising[0]))
    (ratio,) = found("ratio", "above", rivals=["gbdt"], conditions=["layer 2"], with_conditions=["layer 4"])
    assert ratio.label == "GBDT, layer 4 / layer 2 on adult"
    assert ratio.comparison.estimate.value == pytest.approx(np.mean(np.log(rising[3]) - np.log(rising[1])))
    (rho,) = found("correlation", "below", with_metric="bias")
    assert rho.comparison.estimate.value == pytest.approx(-1)
    assert rho.note == "all 10 runs give the same number: the test that flips signs"
    assert rho.comparison.is_shown()
    # A run whose curve is constant counts as one without a correlation.
    rows[:] = [replace(row, values=(0.0, *row.values[1:])) if row.metric == "bias" else row for row in rows]
    (rho,) = found("correlation", "below", with_metric="bias")
    assert rho.comparison.estimate.value == pytest.approx(-0.9)
    assert rho.note == "10 runs, 1 with a curve that is constant"
    # Layers that some runs lack are compared over the others; the correlation of a run is over its own layers.
    rows[:] = [replace(row, values=(*row.values[:7], *[math.nan] * 3)) if "4" in row.condition else row for row in rows]
    falling = [
        replace(row, values=(*row.values[:9], 9.0)) if row.metric == "bias" and "3" in row.condition else row
        for row in rows
    ]
    steps = found("change", "above")
    assert steps[2].comparison.estimate.value == pytest.approx(np.mean(rising[3][:7]) - np.mean(rising[2][:7]))
    assert steps[2].note == "7 made data sets; 3 of 10 repeats have fewer layers"
    assert steps[1].note == "10 made data sets"
    rows[:] = falling
    (rho,) = found("correlation", "below", with_metric="bias")
    # Nine runs fall, one of them is constant; the last has three layers, whose last one is the highest of both.
    assert rho.comparison.estimate.value == pytest.approx((-8 + stats.spearmanr([0, 1, 2], [-1, -2, 9]).statistic) / 10)
    rows[:] = [replace(row, values=(1.0, *[math.nan] * 9)) if "4" in row.condition else row for row in rows]
    assert found("change", "above")[2].note == "fewer than two repeats have both numbers"
    rows[:] = [row for row in rows if row.condition in ("layer 1", "layer 2")]
    (rho,) = found("correlation", "below", with_metric="bias")
    assert (rho.note, rho.comparison.estimate.df) == ("fewer than three layers", 0)
    rows[:] = [
        TidyRow("adult", "gbdt", f"layer {k}", m, 1.0, n=10, values=(1.0,) * 10)
        for k in (1, 2, 3)
        for m in ("mdi", "bias")
    ]
    (rho,) = found("correlation", "below", with_metric="bias")
    assert (rho.note, rho.comparison.estimate.df) == ("a curve of each run is constant", 0)


def test_equal_numbers_of_few_runs_or_of_splits_say_nothing_and_shares_of_importance_have_no_test_rows(made):
    from cascadeforest.reports.numbers.frame import TidyRow

    rows = []
    sources = Sources(read_results(made.root, "smoke"), lambda name: rows)

    def found(metric, values):
        rows[:] = [TidyRow("adult", "gbdt", "x", metric, 0.7, n=len(values), n_test=50, values=values)]
        sources._rows.clear()
        part = {"metric": metric, "conditions": ["x"], "rivals": []}
        (one,) = collect(from_json(Claim, claim(part, statistic="value", rule="above", value=0.5), "claim"), sources)
        return one

    one = found("mdi", (0.7,) * 6)
    assert one.comparison.estimate.interval == pytest.approx((0.7, 0.7))
    assert one.comparison.is_shown()
    assert not one.comparison.is_shown(0.1)  # six runs exclude nothing at 0.5 %
    one = found("mdi", (0.7,) * 5)
    assert (one.note, one.comparison.is_shown()) == ("all 5 runs give the same number, and these are too few", False)
    sources.results.experiments[EXPERIMENT].designs["adult"] = "splits"
    one = found("mdi", (0.7,) * 6)
    assert (one.note, one.comparison.is_shown()) == ("all 6 runs give the same number, and they share rows", False)
    sources.results.experiments[EXPERIMENT].designs["adult"] = "given"
    assert found("mdi_share", (0.69, 0.71)).note == "2 runs"
    assert found("linear_accuracy", (0.69, 0.71)).note == "50 test rows and 2 runs"
    one = found("linear_accuracy", (0.7,) * 6)
    assert one.comparison.estimate.error == pytest.approx(math.sqrt(0.7 * 0.3 / 50))
    for share in (0.0, 1.0):
        low, high = found("linear_accuracy", (share,) * 6).comparison.estimate.interval
        assert (low, high) == pytest.approx((share - 3 / 50, share + 3 / 50), abs=0.002)  # the rule of three
    assert found("linear_accuracy", (0.7,) * 5).note.startswith("50 test rows, all 5 runs give the same number")
    one = found("linear_accuracy", (0.7,))  # another seed may give another number, by how much is not known
    assert (one.note, one.comparison.estimate.df) == ("one run", 0)


# The table -----------------------------------------------------------------------------------------------------------


def test_stored_claims_are_judged_again_and_later_changes_are_post_hoc(made):
    made.claims(hidf_a=claim(), hidf_b=claim({"datasets": ["year"]}))
    stored = accept(made.draw().root, "smoke", "first numbers")
    assert sorted(read_provenance(stored)["claims"]) == ["hidf-a", "hidf-b"]
    assert made.found() == set()
    assert redraw_stored(made.root, "smoke").differences == ()
    table = made.table("claims")
    made.assert_well_formed(table)
    assert "hiDF: 1 supported, 1 open: data not at hand." in table.view.notes
    made.claims(hidf_a=claim(rule="comparable"), hidf_c=claim())
    assert redraw_stored(made.root, "smoke").differences != ()
    refresh(made.root, "smoke")
    text = (stored / "tables" / "claims.md").read_text()
    assert text.count("post hoc") == 2
    assert "Withdrawn after results were stored: hidf-b" in text
    assert redraw_stored(made.root, "smoke").differences == ()
    # The same cells accepted anew do not make it a claim of before.
    shutil.copytree(stored / "tables", made.folder / "tables", dirs_exist_ok=True)
    accept(made.draw().root, "smoke", "again")
    assert (stored / "tables" / "claims.md").read_text().count("post hoc") == 2


def test_what_running_said_of_claims_stays_as_it_was_when_results_were_accepted(made):
    """Claims about cost are checked by running; another run, also for another suite, measures other numbers."""
    fact = {**claim(statistic="run", rule="holds", check="additivity"), "evidence": None}
    made.claims(hidf_a={key: value for key, value in fact.items() if value is not None})
    said = made.root / "results" / CHECKS_FILE
    said.write_text(json.dumps({"additivity": {"holds": True, "words": "measured first"}}))
    stored = accept(made.draw().root, "smoke", "first numbers")
    assert "measured first" in (stored / "tables" / "claims.csv").read_text()
    said.write_text(json.dumps({"additivity": {"holds": True, "words": "measured later"}}))
    assert redraw_stored(made.root, "smoke").differences == ()
    refresh(made.root, "smoke")
    said.unlink()
    accept(made.draw().root, "smoke", "the same, without a check")
    assert "measured first" in (stored / "tables" / "claims.csv").read_text()
    assert differences(stored) == []


def test_claims_stay_when_some_tables_are_accepted(made):
    made.claims(hidf_a=claim())
    made.experiment("hidf-other", datasets=["adult"], repeats=10)
    stored = accept(made.draw().root, "smoke", "all")
    made.run("adult", "gbdt", [0.9 + k / 1000 for k in range(10)])
    accept(made.draw().root, "smoke", "both of them", ["hidf-table2", "hidf-other"])
    assert (stored / "tables" / "claims.csv").is_file()
    assert redraw_stored(made.root, "smoke").differences == ()


# By running ----------------------------------------------------------------------------------------------------------


def test_a_correlation_over_layers_that_nothing_gave_is_open(made):
    """As in a suite whose runs failed: there are no rows of layers, and drawing the page must not fail."""
    layers = {"rivals": [], "conditions": ["layer *"], "with_metric": "log_loss"}
    line = made.verdict(claim(layers, statistic="correlation", rule="above"))
    assert line.verdict.verdict not in ("supported", "contradicted")


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in ("growth_of_cost", "levels_linear")])
def test_what_is_checked_by_running(name):
    """Times are left out: other work on the machine moves them."""
    found = claim_checks.run_checks((name,))[name]
    assert found.holds == (name != "mdi_nonnegative"), found.words
