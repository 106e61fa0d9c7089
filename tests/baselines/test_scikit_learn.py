"""Every baseline of ours behaves as scikit-learn expects of an estimator."""

import re

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from cascadeforest.baselines.catboost import CatBoostClassifier
from cascadeforest.baselines.gbdt import GBDTClassifier
from cascadeforest.baselines.lightgbm import LightGBMClassifier
from cascadeforest.baselines.missing import MedianFill
from cascadeforest.baselines.mlp import SelectedMLPClassifier
from cascadeforest.baselines.resampling import ResampledForestClassifier
from cascadeforest.baselines.sndf import SNDFClassifier
from cascadeforest.baselines.svm import SVMClassifier
from cascadeforest.baselines.xgboost import XGBoostClassifier


# The checks fit some forty times each, on rows that small models learn: the paper's five candidates, and its trees,
# would take minutes. An exhausted budget is no failure here.
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        CatBoostClassifier(n_estimators=5),
        GBDTClassifier(n_estimators=5),
        LightGBMClassifier(n_estimators=5, min_child_samples=2),
        MedianFill(),
        ResampledForestClassifier(n_estimators=5),
        SNDFClassifier(n_estimators=3, max_depth=3),
        SVMClassifier(),
        SelectedMLPClassifier(architectures=((20,), (10, 5))),
        XGBoostClassifier(n_estimators=5),
    ]
)
def test_estimator_contract(estimator, check):
    check(estimator)


#: With these options rows and labels go through other code, which must accept and refuse the same.
OTHER_INPUT = re.compile(
    "nan|empty|dtype|object|complex|sparse|1sample|1feature|one_label|classes|2d|memmap|array|train"
)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.func.__name__}")
        for other in (ResampledForestClassifier(n_estimators=5, sampler="over"), SVMClassifier(scale=True))
        for estimator, check in estimator_checks_generator(other)
        if OTHER_INPUT.search(check.func.__name__)
    ],
)
def test_estimator_contract_of_input_with_other_options(estimator, check):
    check(estimator)
