"""The papers' numbers: complete, well-formed, equal to the printed tables, and consistent with themselves."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.reports.conftest import PUBLISHED as FOLDER
from tests.reports.printed_tables import LAYOUTS, load_published, render_printed

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.numbers.published import COLUMNS, KEY, RECORDS, available

#: The printed tables, copied row by row from the papers' text without a look at the CSV files.
PRINTED = Path(__file__).parent / "printed"

DATASETS = {
    "abalone", "adult", "arrhythmia", "bank", "bike", "chf", "cifar10", "covertype", "cpusmall", "credit_default",
    "credit_fraud", "crowdsourced", "diabetes130", "har", "hidf_sphere", "imdb", "iris2", "letter", "linear_sum",
    "mnist", "pendigits", "phishing", "poker", "protein", "satimage", "semg", "sensit", "sincos", "skin",
    "three_class", "usps", "year", "yeast",
    "all",  # a number about all data sets of its table
}  # fmt: skip
MODELS = {
    "cascade_regressor", "ddbf_e", "ddbf_f", "ddbf_g", "gbdt", "gcforest", "gcforest_20", "gcforest_cs",
    "gcforest_submgs", "hidf", "mda_df", "mda_rf", "mddf", "mddf_np", "mddf_sf", "mddf_st", "mdi_df", "mdi_oob_rf",
    "mdi_rf", "mlp", "random_forest", "sndf", "svm", "xgboost",
    "",  # a number about the data
}  # fmt: skip
#: Metric -> the units it may have. Names that our runs measure too must be the runs' names.
MEASURED = {
    "accuracy": {"percent"},
    "roc_auc": {"percent", "fraction"},
    "rmse": {"target units"},
    "fit_cpu_seconds": {"seconds"},
    "predict_cpu_seconds": {"seconds"},
}
PRINTED_ONLY = {
    "percent": "class_share remaining_share screened_share test_pass_rate test_share train_pass_rate train_share",
    "percent points": "accuracy_gap roc_auc_std",
    "fraction": "bias error_rate mdi prediction",
    "ratio": "fit_cpu_seconds_ratio intra_to_inter_variance memory_mb_ratio negatives_per_positive "
    "predict_cpu_seconds_ratio",
    "count": "additional_correct best_datasets classes different_predictions informative_features irrelevant_features "
    "layer lose lower_datasets n_test n_train raw_features significantly_better_datasets significantly_worse_datasets "
    "tie win",
    "rank": "average_rank",
    "MB": "memory_mb",
}
PRINTED_ONLY = {metric: {unit} for unit, metrics in PRINTED_ONLY.items() for metric in metrics.split()} | {
    "contribution": {"fraction", "rentals"},
    "feature_value": {"year", "flag", "°C", "percent", "km/h"},
    "rows": {"count", "thousands"},
}

EXPERIMENTS = available(FOLDER)
TABLES = tuple(read_yaml(FOLDER / LAYOUTS))


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def pivot(experiment, metric="accuracy", where=None):
    """Return the values of one metric, data sets down and models across, in printed order."""
    frame = load_published(experiment, FOLDER)
    frame = frame[(frame["metric"] == metric) & ~frame["note"].str.startswith("text")]
    if where is not None:
        frame = frame[frame["condition"] == where]
    table = frame.pivot_table(index="dataset", columns="model", values="value", sort=False)
    return table.drop(index="all", errors="ignore")


def write(folder, text, experiment="hidf-table2"):
    (folder / f"{experiment}.csv").write_text(text, encoding="utf-8")
    return folder


def test_every_printed_table_has_numbers_and_a_copy_and_every_file_a_line_in_the_readme():
    assert {e for e in EXPERIMENTS if "-table" in e} == set(TABLES)
    assert {"hidf-fig2", "cs-fig4", "mddf-fig2b", "ddbf-fig5", "ddbf-fig6"} <= set(EXPERIMENTS)
    assert {path.stem for path in PRINTED.glob("*.txt")} == set(TABLES)
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z]+-(?:table|fig)\w+)`", text, flags=re.MULTILINE)) == set(EXPERIMENTS)
    assert set(MEASURED) <= set(METRICS)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_names_are_known_units_fit_the_metric_and_values_keep_their_printed_digits(experiment):
    frame = load_published(experiment, FOLDER)
    assert set(frame["dataset"]) <= DATASETS
    is_record = frame["condition"].str.endswith(RECORDS)
    assert set(frame["model"][~is_record]) <= MODELS
    # Records are those of the released code, which are not printed and need no name of the papers.
    assert all(
        name.removesuffix("_official") in MODELS and name.endswith("_official") for name in frame["model"][is_record]
    )
    for metric, unit in zip(frame["metric"], frame["unit"], strict=True):
        assert unit in (MEASURED | PRINTED_ONLY)[metric]
    assert tuple(frame.columns) == (*COLUMNS, "value_text", "std_text")
    assert frame["value"].dtype == frame["std"].dtype == np.float64
    assert [float(text.replace(",", "")) for text in frame["value_text"]] == frame["value"].tolist()
    assert np.isfinite(frame["value"]).all()
    assert (frame["std"].isna() == (frame["std_text"] == "")).all()
    assert not frame.duplicated(list(KEY)).any()


@pytest.mark.parametrize("experiment", TABLES)
def test_a_printed_table_renders_to_the_layout_of_its_paper(experiment):
    expected = (PRINTED / f"{experiment}.txt").read_text(encoding="utf-8")
    assert lines(render_printed(experiment, FOLDER)) == lines(expected)


@pytest.mark.parametrize("experiment", TABLES)
def test_a_rendered_table_shows_every_number_that_is_not_from_the_text(experiment, tmp_path):
    """Each number of the file gets digits of its own, which must then turn up in the table."""
    frame = load_published(experiment, FOLDER)
    shown = []
    for position, row in enumerate(frame.to_dict("records")):
        frame.loc[position, "value_text"] = value = str(100_000 + position)
        if row["std_text"]:
            frame.loc[position, "std_text"] = std = str(200_000 + position)
        if not row["note"].startswith("text"):
            shown += [value, std] if row["std_text"] else [value]
    frame["value"], frame["std"] = frame["value_text"], frame["std_text"]
    frame[list(COLUMNS)].to_csv(tmp_path / f"{experiment}.csv", index=False)
    (tmp_path / LAYOUTS).write_bytes((FOLDER / LAYOUTS).read_bytes())
    assert sorted(re.findall(r"\b[12]0\d{4}\b", render_printed(experiment, tmp_path))) == sorted(shown)


def test_hidf_keeps_trailing_zeros_and_counts_its_wins_correctly():
    table = pivot("hidf-table2")
    counts = load_published("hidf-table2", FOLDER).query("dataset == 'all'").set_index(["model", "metric"])["value"]
    for model in table.columns.drop("hidf"):
        difference = table["hidf"] - table[model]
        assert (difference > 0).sum() == counts[model, "win"]
        assert (difference == 0).sum() == counts[model, "tie"]
        assert (difference < 0).sum() == counts[model, "lose"]
    # The file says 86.90, not 86.9, and GBDT's 0.10, not 0.1.
    frame = load_published("hidf-table2", FOLDER).set_index(["dataset", "model"])
    assert frame.loc[("adult", "hidf"), "value_text"] == "86.90"
    assert frame.loc[("adult", "gbdt"), "std_text"] == "0.10"


@pytest.mark.parametrize(("experiment", "columns"), [("hidf-table2", 7), ("mddf-table1", 5)])
def test_bold_is_the_highest_and_the_bullet_the_second_highest_accuracy(experiment, columns):
    """Of mdDF's table only the left five columns are marked."""
    table = pivot(experiment).iloc[:, :columns]
    frame = load_published(experiment, FOLDER)
    for mark, rank in (("best", 1), ("second", 2)):
        marked = frame[frame["mark"] == mark]
        expected = table.rank(axis=1, ascending=False).eq(rank).idxmax(axis=1)
        assert dict(zip(marked["dataset"], marked["model"], strict=True)) == expected.to_dict()


def test_mddf_and_cs_print_numbers_that_their_cells_do_not_quite_give():
    ranks = pivot("mddf-table1").iloc[:, :5].rank(axis=1, ascending=False).mean()
    printed = load_published("mddf-table1", FOLDER).query("metric == 'average_rank'").set_index("model")
    assert printed["value_text"].to_dict() == {
        "mlp": "3.650", "random_forest": "4.000", "xgboost": "3.750", "gcforest": "2.375", "mddf": "1.000"
    }  # fmt: skip
    wrong = printed[printed["value"] != ranks[printed.index]]
    assert ranks[wrong.index].to_dict() == {"mlp": 3.750, "xgboost": 3.875}
    assert wrong["note"].tolist() == ["its own cells give 3.750", "its own cells give 3.875"]
    frame = load_published("cs-table2", FOLDER)
    stated = frame.query("metric == 'accuracy_gap'")["value"].item()
    accuracy = frame[(frame["metric"] == "accuracy") & frame["condition"].str.startswith("w=")]
    gaps = accuracy.groupby("dataset")["value"].agg(np.ptp)
    assert len(gaps) == 3
    assert 0.6 < gaps.max() < stated


@pytest.mark.parametrize("metric", ["fit_cpu_seconds", "predict_cpu_seconds", "train_pass_rate", "test_pass_rate"])
def test_ddbf_iterations_add_up(metric):
    frame = load_published("ddbf-table5", FOLDER).query("metric == @metric and model == 'ddbf_f'")
    values = frame.set_index("condition")["value"]
    assert values.drop("all").size == 3
    assert values.drop("all").sum() == pytest.approx(values["all"])


def test_ddbf_numbers_of_its_tables_agree_with_each_other_and_with_mddf():
    alone = load_published("ddbf-table3", FOLDER).query("condition == 'alone'").set_index("model")["value"]
    split = load_published("ddbf-table2", FOLDER).query("metric == 'roc_auc' and condition == 'split 1'")
    split = split.set_index("model")["value"]
    assert (100 * split[alone.index]).tolist() == pytest.approx(alone.tolist())
    # These cells are borrowed, the ± beside them is not from mdDF: see README.md.
    ddbf = pivot("ddbf-table1")["xgboost"]
    mddf = pivot("mddf-table1")["xgboost"]
    common = ["adult", "letter", "yeast", "mnist", "satimage"]
    assert ddbf[common].tolist() == pytest.approx(mddf[common].tolist(), abs=0.005)


def test_interp_marks_the_lowest_error_and_the_class_that_it_predicts():
    errors = load_published("interp-table3", FOLDER).query("metric in ['rmse', 'error_rate']")
    lowest = errors.loc[errors.groupby("dataset", sort=False)["value"].idxmin()]
    assert lowest["mark"].tolist() == ["best"] * 6
    prediction = load_published("interp-table2", FOLDER).query("metric == 'prediction'")
    point = prediction["condition"].str.extract(r"(point \(\d, \d\))")[0]
    assert prediction.loc[prediction.groupby(point)["value"].idxmax(), "mark"].tolist() == ["predicted"] * 2


@pytest.mark.parametrize(
    ("experiment", "column", "value", "metric", "mark"),
    [
        ("interp-table4", "model", "mdi_df", "best_datasets", "best"),
        ("interp-table4", "model", "mda_df", "significantly_better_datasets", "worse"),
        ("interp-table4", "model", "mdi_oob_rf", "significantly_worse_datasets", "worse"),
        ("interp-table5", "condition", "partial", "best_datasets", "best"),
        ("interp-table5", "condition", "additive", "best_datasets", "best"),
        ("interp-table5", "condition", "multiplicative", "best_datasets", "best"),
        ("interp-table5", "condition", "multiplicative", "significantly_worse_datasets", "worse"),
    ],
)
def test_interp_counts_its_marks_correctly(experiment, column, value, metric, mark):
    frame = load_published(experiment, FOLDER)
    stated = frame[frame["metric"] == metric]
    stated = stated[stated["model"].eq(value) | stated["condition"].str.contains(value)]
    assert ((frame[column] == value) & (frame["mark"] == mark)).sum() == stated["value"].item()


HEADER = ",".join(COLUMNS) + "\n"
ROW = "adult,hidf,,accuracy,86.90,0.05,best,,percent\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset,value\nadult,1\n", "the columns are dataset, value; they must be dataset, model"),
        ("", "the columns are ; they must be"),
        (HEADER + "adult,hidf,86.90\n", "line 2: 3 cells; write 9"),
        (HEADER + ROW + ROW.replace("percent", "percent,x"), "line 3: 10 cells; write 9"),
        (HEADER + ROW.replace("86.90", "86.90%"), "line 2: value is '86.90%'; write the printed digits"),
        (HEADER + ROW.replace("86.90", ""), "line 2: value is ''; write the printed digits"),
        (HEADER + ROW.replace("0.05", "± 0.05"), "line 2: std is '± 0.05'; write the printed digits"),
        (HEADER + ROW.replace("best", "bold"), "line 2: mark is 'bold'; choose one of best, second"),
        (HEADER + ROW.replace("percent", "%"), "line 2: unit is '%'; choose one of percent, "),
        (HEADER + ROW + ROW.replace("86.90", "86.91"), "line 3: dataset, model, condition, metric are those of line 2"),
    ],
)
def test_a_malformed_file_is_refused_with_place_value_and_remedy(text, message, tmp_path):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load_published("hidf-table2", write(tmp_path, text))
    assert str(tmp_path / "hidf-table2.csv") in str(caught.value)


def test_a_well_formed_row_is_read_and_a_file_that_is_being_written_is_no_table(tmp_path):
    frame = load_published("hidf-table2", write(tmp_path, HEADER + ROW))
    assert frame[["value", "std"]].to_numpy().tolist() == [[86.9, 0.05]]
    write(tmp_path, "")
    (tmp_path / ".hidf-table2.0123.csv").write_text("half")
    assert available(tmp_path) == ("hidf-table2",)


def test_errors_name_what_the_layout_lacks(tmp_path):
    with pytest.raises(ConfigError, match="'cs-fig4' is no printed table; choose one of hidf-table1, "):
        render_printed("cs-fig4", FOLDER)
    text = (FOLDER / "cs-table1.csv").read_text(encoding="utf-8")
    write(tmp_path, text.replace("mnist,gcforest,,accuracy,99.26,,,,percent\n", ""), "cs-table1")
    (tmp_path / LAYOUTS).write_bytes((FOLDER / LAYOUTS).read_bytes())
    with pytest.raises(ConfigError, match=re.escape("cs-table1, row ['', 'gcForest']: the layout asks for a number")):
        render_printed("cs-table1", tmp_path)
