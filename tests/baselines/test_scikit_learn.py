"""Every baseline of ours behaves as scikit-learn expects of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cascadeforest.baselines.gbdt import GBDTClassifier
from cascadeforest.baselines.missing import MedianFill
from cascadeforest.baselines.mlp import SelectedMLPClassifier
from cascadeforest.baselines.resampling import ResampledForestClassifier
from cascadeforest.baselines.sndf import SNDFClassifier
from cascadeforest.baselines.svm import SVMClassifier
from cascadeforest.baselines.xgboost import XGBoostClassifier


# The checks fit some forty times each, on rows that small networks learn: the paper's five candidates would take
# minutes. An exhausted budget is no failure here.
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        GBDTClassifier(n_estimators=5),
        MedianFill(),
        ResampledForestClassifier(n_estimators=5),
        ResampledForestClassifier(n_estimators=5, sampler="over"),
        SNDFClassifier(n_estimators=5, max_depth=4),
        SVMClassifier(),
        SVMClassifier(scale=True),
        SelectedMLPClassifier(architectures=((50,), (20, 10))),
        XGBoostClassifier(n_estimators=5),
    ]
)
def test_estimator_contract(estimator, check):
    check(estimator)
