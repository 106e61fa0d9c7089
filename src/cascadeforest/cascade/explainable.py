"""Data that cascades keep for explanations, and importances of the original features."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from cascadeforest.cascade._base import Cascade
from cascadeforest.cascade.representation import PlainFeatures
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.forest.learned_rows import KeepsRows
from cascadeforest.forest.walks import Walk


class ExplainableCascade(KeepsRows, Cascade):
    """Mixin of cascades whose predictions can be traced back to the original features."""

    _as_fitted: Any
    _importances: np.ndarray | None = None

    def walk(self, n_jobs: int | None = None) -> Walk:
        """Return the `Walk` of the cascade: how it predicts, layer by layer. Explanations follow it.

        A class is explained only if its own body has this method (see `Explainer`).

        Parameters
        ----------
        n_jobs : int, optional
            Threads.

        Returns
        -------
        Walk
        """
        return CascadeWalk(self, n_jobs)

    def _begin(self) -> None:
        """Start `fit`: forget the last fit, and copy the parameters, since the user may change them after `fit`."""
        self._forget_fit()
        self._importances = None
        fitted = object.__new__(type(self))  # without the checks that `clone` makes
        learned = {name for name in vars(self) if name.endswith("_")} - set(self._get_param_names())
        learned |= {"_as_fitted", "_learned_rows", "_importances", "_categories", "_mapper", "_added_mapper"}
        learned |= {"scoring", "random_state"}  # for `fit` alone; files (`save`) hold no functions
        learned |= {"n_jobs"}  # equal fits have equal pickles for any number of threads
        fitted.__dict__.update({name: value for name, value in vars(self).items() if name not in learned})
        if isinstance(self.estimators, Sequence) and not isinstance(self.estimators, str):
            fitted.estimators = [
                clone(m) if hasattr(m, "get_params") and not isinstance(m, type) else m for m in self.estimators
            ]
        if "class_weight" in vars(self):
            fitted.class_weight = copy.copy(self.class_weight)
        self._as_fitted = fitted

    def _remember(self, features: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """End `fit`: keep the training data that explanations need.

        Parameters
        ----------
        features : PlainFeatures, FixedGrains or FreshGrains
            Columns that layers see. If these are class vectors of windows, which are not explained, nothing is kept.
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
        """Importances of the original features, not negative, with sum 1; all 0 if no feature helps on held-out rows.

        Mean decrease in impurity on held-out training rows, traced back through all layers (interpretation paper,
        Eq. 31). `Explainer.importances` gives the same importances with units and signs: useless features are on both
        sides of 0. Here negative values count as 0. The first access explains all training rows, which takes time. The
        result is stored in the model, and pickled with it.

        Raises
        ------
        AttributeError
            If predictions cannot be traced back (scanning, estimators of other packages, a subclass without a method
            `walk`), or if the model was pickled before the first access and has no training rows.
        """
        check_is_fitted(self)
        if self._importances is None:
            import cascadeforest  # cascades may not import `explanations`, but the package gives access to it

            try:
                explainer = cascadeforest.Explainer(self, n_jobs=self.n_jobs)
            except (TypeError, ValueError) as error:
                raise AttributeError(f"The model has no feature_importances_. {error}") from error
            found = np.maximum(explainer.importances(), 0.0)
            self._importances = found / found.sum() if found.any() else found
        return self._importances.copy()

    def __dir__(self) -> list[str]:
        # Name completion and notebooks read every attribute, which would compute importances that the user did not
        # ask for.
        unasked = {"feature_importances_"} if self._importances is None else set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of deprecated attributes
            return [name for name in object.__dir__(self) if name not in unasked and hasattr(self, name)]
