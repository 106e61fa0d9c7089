"""What holds for every renderer: well-formed tables, the same bytes each time and from the store, words for no run."""

import re
from dataclasses import replace
from importlib import import_module

import pytest
from tests.reports.conftest import ROOT, snapshot, words

from cascadeforest.data.errors import UserError
from cascadeforest.reports.drawing.formats import to_html

#: Renderer, an experiment of its own test file, and what follows the declaration there.
CASES = {
    "attribution_quality": ("interp-quality", lambda tests, suite: tests.run(suite)),
    "auc_ranking": ("interp-table4", lambda tests, suite: tests.ran(suite)),
    "class_shares": ("ddbf-fig5", lambda tests, suite: tests.run(suite)),
    "contribution_maps": ("interp-fig3", lambda tests, suite: tests.save(suite, tests.regression())),
    "contribution_table": ("interp-table2", lambda tests, suite: tests.save(suite, "three_class", [tests.CLASSES] * 2)),
    "decision_regions": ("ddbf-fig6", lambda tests, suite: tests.run(suite)),
    "imbalance_curves": ("ddbf-fig4", lambda tests, suite: tests.run(suite)),
    "importance_bars": ("interp-fig8", lambda tests, suite: tests.run(suite)),
    "importance_by_layer": ("interp-fig6", lambda tests, suite: tests.run(suite)),
    "importance_cost": ("interp-fig7", lambda tests, suite: tests.run(suite)),
    "iteration_table": ("ddbf-table5", lambda tests, suite: tests.run(suite)),
    "layer_curves": ("mddf-fig2a", lambda tests, suite: tests.run(suite)),
    "order_boxes": ("hidf-fig3", lambda tests, suite: tests.run(suite)),
    "pairs": ("ddbf-table3", lambda tests, suite: tests.ran(suite).summary(tests.FRAUD)),
    "rank_diagram": ("arena-ranks", lambda tests, suite: [tests.run(suite), *map(suite.summary, tests.DATA)]),
    "ranking_quality": ("interp-fig5", lambda tests, suite: tests.run(suite)),
    "representation_maps": ("mddf-fig2b", lambda tests, suite: tests.run(suite)),
    "scores": ("cs-table2", lambda tests, suite: tests.ran(suite)),
    "screening_curves": ("cs-fig4", lambda tests, suite: tests.run(suite)),
    "statistics": ("interp-table3", lambda tests, suite: tests.ran(suite)),
    "threshold_table": ("ddbf-threshold", lambda tests, suite: [tests.run(suite, c, tests.MEAN) for c in tests.LABELS]),
}
FILES = {"scores": "cost_table", "statistics": "statistics_table"}
BAR_OPTIONS = {"layer": "last", "features": {"bike": ["year"]}}
WRONG_PAIR = {"screening": "gcforest_cs", "against": "forest"}
WRONG_TEST = {"kind": "rank_sum", "level": 0.1, "column": "gcforest", "against": "forrest"}
#: Renderer, changes of its experiment, and the place and the words of the error.
REFUSED = [
    ("attribution_quality", {"extras": []}, r"extras are \[\]; add 'attribution_quality'"),
    ("auc_ranking", {"datasets": ["abalone"]}, r".*'abalone' has no permuted copies.* Take 'abalone\+irrelevant'"),
    ("class_shares", {"extras": []}, r"extras are \[\]; add 'iterations'"),
    ("contribution_maps", {"extras": ["contributions"]}, r"extras are \['contributions'\]; add 'layer_scores'"),
    ("contribution_table", {}, r"options are \[\]; give 'points' or 'rows'"),
    ("contribution_table", {"points": [[0, 1]], "rows": ["2011/12/7"]}, ".*give 'points' or 'rows'"),
    ("contribution_table", {"points": [[0, 1, 2]]}, r"options/points/0 is \[0, 1, 2\]; it must be a list of 2: a num"),
    ("contribution_table", {"rows": ["7 December"]}, r"options/rows \(or first_days\) has '7 December'; write days as"),
    ("contribution_table", {"rows": ["2011/13/1"]}, ".*has '2011/13/1'"),
    ("decision_regions", {"options": {"features": ["w"]}}, r"options/features is \['w'\]; it must be a list of 2"),
    ("decision_regions", {"extras": ["predictions"]}, r"extras are \['predictions'\]; add 'decision_grid'"),
    *(
        ("imbalance_curves", {"datasets": ["wine+imbalance-a-0.5", f"wine+{other}"], "options": {"label": "a"}}, words)
        for other in ("imbalance-b-0.6", "imbalance-a-0.50", "noise-2+imbalance-a-0.6")
        for words in ("datasets are wine.*; name one data set.*class 'a'",)
    ),
    ("importance_bars", {"extras": []}, r"extras are \[\]; add 'mdi_df'"),
    ("importance_bars", {"options": {"layer": 2}}, r"extras are \['mdi_df'\]; add 'layer_importances'"),
    ("importance_bars", {"options": {"layer": 3}}, "options/layer is 3; it must be one of 2, last"),
    ("importance_bars", {"options": BAR_OPTIONS}, r"options/features/bike is \['year'\]; bike has 3 features: name th"),
    ("importance_by_layer", {"options": {}}, "options lacks relevant"),
    ("importance_by_layer", {"options": {"relevant": 8}}, "options/relevant is 8; give the number of.*, from 1 to 7"),
    ("importance_by_layer", {"options": {"relevant": True}}, "options/relevant is True; it must be a whole number"),
    ("importance_by_layer", {"extras": ["layer_importances"]}, r"extras are \['lay.*'\]; add 'class_importances'"),
    ("importance_cost", {"extras": ["mdi_df"]}, "options/columns/mda_df needs the extra 'mda_df'"),
    ("layer_curves", {"extras": ["layer_scores"]}, r"extras are \['layer_scores'\]; add 'margin_ratios'"),
    ("order_boxes", {"extras": []}, r"extras are \[\]; add 'interactions'"),
    ("order_boxes", {"options": {"informative": [6]}}, r"options/informative is \[6\]; give a list of columns below 6"),
    ("order_boxes", {"options": {"informative": 2}}, "options/informative is 2; it must be a list"),
    ("ranking_quality", {"extras": ["layer_scores"]}, r"extras are \['layer_scores'\]; add 'layer_importances'"),
    ("representation_maps", {"options": {"projection": "umap"}}, "options/projection is 'umap'; it must be one of tsn"),
    ("representation_maps", {"extras": []}, r"extras are \[\]; add 'representations'"),
    ("representation_maps", {"options": {"separability": True}}, r"extras are \['repre.*; add 'separability'"),
    ("scores", {"options": {"ratio_of": "gcforrest"}}, "options/ratio_of has 'gcforrest'; choose from gc"),
    ("scores", {"metrics": ["fit_cpu_seconds"]}, r"metrics is \['fit_cpu_seconds'\]; ratios need several metrics"),
    ("pairs", {"options": {}}, "options lacks pairs"),
    ("pairs", {"options": {"pairs": [["mlp"]]}}, r"options/pairs/0 is \['mlp'\]; it must be a list of 2"),
    ("pairs", {"options": {"pairs": [["mlp", "hard"]]}}, "options/pairs has 'hard'; choose from mlp, random_forest"),
    ("pairs", {"options": {"pairs": [["mlp", "mlp_hard"], ["mlp", "rf_hard"]]}}, "options/pairs has 'mlp' more than"),
    ("pairs", {"options": {"pairs": [["mlp", "mlp_hard"]]}}, "options/pairs lacks random_forest, rf_hard: give each c"),
    ("pairs", {"metrics": ["roc_auc", "accuracy"]}, r"metrics is \['roc_auc', 'accuracy'\]; .* one metric: accuracy"),
    ("pairs", {"metrics": ["rmse"]}, r"metrics is \['rmse'\]; a table of pairs has one metric"),
    ("pairs", {"metrics": []}, r"metrics is \[\]; a table of pairs has one metric"),
    *(("scores", {"options": {"splits": n}}, f"options/splits is {n!r}") for n in (0, "3", True)),
    ("screening_curves", {"options": WRONG_PAIR}, "options/against has 'forest'; choose from gcforest_cs, gcforest"),
    ("statistics", {"metrics": ["accuracy"]}, r"metrics is \['accuracy'\]; errors are made of accuracy and rmse"),
    ("statistics", {"options": {"facts": {}, "test": WRONG_TEST}}, "options/test/against is 'forrest'; choose from ra"),
    ("threshold_table", {"means": {"ddbf_g_mi": "svm"}}, "options/means has 'svm'; choose from ddbf_g,"),
]


def declared(renderer, suite, changes=None):
    """The name of a declared experiment, and a function that writes its runs."""
    name, write = CASES[renderer]
    tests = import_module(f"tests.reports.test_{FILES.get(renderer, renderer)}")
    if renderer == "contribution_table":
        tests.declare(suite, name, "three_class", tests.POINTS if changes is None else changes)
    else:
        tests.declare(suite, **changes or {})
    return name, lambda: write(tests, suite)


@pytest.fixture(params=CASES)
def case(request, suite):
    """A suite with a declared experiment, the experiment's name, and a function that writes its runs."""
    return suite, *declared(request.param, suite)


@pytest.mark.parametrize(("renderer", "changes", "words"), REFUSED)
def test_what_does_not_fit_is_refused_with_its_place(suite, renderer, changes, words):
    name, write = declared(renderer, suite)
    write()
    declared(renderer, suite, changes)
    suite.refuses(name, rf"config/experiments/{name.partition('-')[0]}\.yaml: {name}/{words}")


def test_every_renderer_is_here():
    folder = ROOT / "src/cascadeforest/reports/drawing/renderers"
    # Claims have no cells of their own: test_claims.py has what holds for them.
    assert {path.stem for path in folder.glob("[!_]*.py")} == {*CASES, "claims"}


def test_what_did_not_run_is_said_in_table_and_picture(case):
    suite, name, _ = case
    table = suite.table(name)
    assert {row.status for row in table.rows if row.model} == {"unavailable"}
    assert "not run" in {row.note for row in table.rows if row.model}
    assert "not run" in table.files()[".md"]
    suite.assert_well_formed(table)
    if table.figure is not None:
        figure = table.figure.draw()
        panels = [axes for part in figure.subfigs or [figure] for axes in part.axes]
        assert "unavailable: not run" in {text.replace("\n", " ") for axes in panels for text in words(axes)}


def test_lost_arrays_and_cells_without_them_are_named(case):
    suite, name, write = case
    write()
    for path in sorted(suite.root.glob("results/cells/*/*.npz"))[-1:]:
        path.unlink()
        suite.refuses(name, rf"{re.escape(path.name)}: it cannot be read", UserError)
        dataset, model = path.name.split(".")[0].rsplit("-", 2)[:2]
        result = suite.read_run(dataset, model)
        suite.write_run(replace(result, cells=tuple(replace(cell, extras={}) for cell in result.cells)))
        words = rf"{model} on {re.escape(dataset)}, repeat \d: extras are none, and '.*' is needed.*extras: "
        suite.refuses(name, words, UserError)


def test_tables_are_well_formed_and_the_stored_cells_give_all_files_again_byte_by_byte(case):
    suite, name, write = case
    write()
    table = suite.table(name)
    suite.assert_well_formed(table)
    assert to_html(table.view) == to_html(suite.table(name).view)
    keys = [row.key for row in table.rows]
    assert len(keys) == len(set(keys))
    made = {f"tables/{name}{suffix}": text.encode() for suffix, text in table.files().items()}
    assert set(made) == {f"tables/{name}{suffix}" for suffix in (".csv", ".md", ".tex")}
    if table.figure is not None:
        pictures = table.figure.files()
        assert set(pictures) == {".svg", ".png", ".csv"}
        made |= {f"figures/{name}{suffix}": content for suffix, content in pictures.items()}
    assert suite.differences_after_storing() == []
    again = snapshot(suite.root / "results/smoke/stored")
    del again["index.html"]
    assert again == made
