"""What cascades keep for those who explain them, and the importances of the original features."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from cascadeforest.cascade.representation import PlainFeatures
from cascadeforest.forest.learned_rows import KeepsRows


class ExplainableCascade(KeepsRows):
    """Mixin of cascades whose predictions can be traced back to the features that they were given."""

    _as_fitted: Any
    _importances: np.ndarray | None = None

    def _begin(self) -> None:
        """The first act of `fit`: forget the fit before, and keep the parameters, which may be set anew later."""
        self._forget_fit()
        self._importances = None
        fitted = object.__new__(type(self))  # no demands on parameters, as `clone` would make
        learned = {name for name in vars(self) if name.endswith("_")} - set(self._get_param_names())
        learned |= {"_as_fitted", "_learned_rows", "_importances"}
        vars(fitted).update({name: value for name, value in vars(self).items() if name not in learned})
        if isinstance(self.estimators, Sequence) and not isinstance(self.estimators, str):
            fitted.estimators = [
                clone(m) if hasattr(m, "get_params") and not isinstance(m, type) else m for m in self.estimators
            ]
        if "class_weight" in vars(self):
            fitted.class_weight = copy.copy(self.class_weight)
        self._as_fitted = fitted

    def _remember(self, features: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """The last act of `fit`: keep what explanations need of the training rows, where there are explanations.

        Parameters
        ----------
        features : PlainFeatures, FixedGrains or FreshGrains
            What layers see. Layers that see class vectors of windows are not explained.
        y : ndarray of shape (n_samples,)
            Class numbers, or targets.
        weights : ndarray of shape (n_samples,) or None
            Weights of all rows.
        """
        if isinstance(features, PlainFeatures):
            grows_again = self.class_vectors == "k_fold_refit"
            self._learned_rows = features.learned_rows(y, weights, centers_are_written=grows_again)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importances of the original features, not negative, summing to 1; all 0 if none helps on held-out rows.

        Mean decrease in impurity on held-out training rows, traced back through all layers (interpretation paper,
        Eq. 31; `Explainer.importances`, where negative values and units are kept). Features that help nobody fall on
        both sides of 0 there; here the negative ones count as 0. Made when first asked for, at the cost of an
        explanation of all training rows; kept with the model from then on, also when it is pickled.

        Raises
        ------
        AttributeError
            If predictions cannot be traced back: with scanning, or estimators that are not ours; and in a model that
            was pickled before it was asked, which has no training rows.
        """
        check_is_fitted(self)
        if self._importances is None:
            import cascadeforest  # the package, which is above all layers, knows who explains

            try:
                found = cascadeforest.Explainer(self, n_jobs=self.n_jobs).importances()
            except ValueError as error:
                raise AttributeError(f"The model has no feature_importances_. {error}") from error
            found = np.maximum(found, 0.0)
            self._importances = found / found.sum() if found.any() else found
        return self._importances.copy()

    def __dir__(self) -> list[str]:
        # As in scikit-learn, which looks at each attribute: completing a name, or showing the model in a notebook,
        # would make importances that nobody asked for.
        unasked = {"feature_importances_"} if self._importances is None else set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of deprecated ones
            return [name for name in object.__dir__(self) if name not in unasked and hasattr(self, name)]
