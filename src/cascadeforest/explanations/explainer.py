"""Explaining predictions of deep forests: bias and contributions of the original features add up to the prediction."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from cascadeforest.explanations._levels import KINDS, Level, Options, Part, Training
from cascadeforest.explanations.calibration import CALIBRATIONS
from cascadeforest.explanations.importance import class_mean_decrease_impurity, mean_decrease_impurity
from cascadeforest.forest._base import Forest
from cascadeforest.forest._compiling import ensure_compiled
from cascadeforest.forest._parameters import check_choice, check_count, check_jobs

#: What stands for parameters that are None: the paper's text, and the released code.
PRESETS = {"paper": {"node_rows": "in_bag", "average": "rows"}, "official": {"node_rows": "all", "average": "classes"}}
NODE_ROWS = ("in_bag", "all")
#: Rows that importances are means over, and how.
IMPORTANCE_ROWS = ("held_out", "in_bag", "out_of_bag")
AVERAGES = ("rows", "classes")
#: Rows whose contributions are adjusted at a time.
_BLOCK = 256
#: What rounding can move a prediction by, relative to its scale: that of double precision, or of a layer's vectors.
_ROUNDING = {"float64": 1e-10, "float32": 1e-6, "float16": 4e-3}
#: Step between two numbers of half precision below 6e-5, where it has no digits to spare.
_STEP_OF_HALF = float(np.finfo(np.float16).smallest_subnormal)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Predictions as sums: ``prediction = bias + contributions.sum(axis=1)``.

    Parameters
    ----------
    bias : ndarray of shape (n_outputs,) or (n_samples, n_outputs)
        What is predicted before any feature is looked at: the mean response at the roots of the trees. By row where
        rows are explained by different trees (`Explainer.explain_held_out`).
    contributions : ndarray of shape (n_samples, n_features, n_outputs)
        What each original feature adds, in the units of the prediction.
    prediction : ndarray of shape (n_samples, n_outputs)
        Class probabilities, or the predicted target.
    feature_names : list of str
        Names of the features.
    output_names : list of str
        Names of the classes; ``["prediction"]`` in regression.
    X : ndarray, DataFrame or sparse matrix of shape (n_samples, n_features)
        The rows, for plots and texts; not copied.
    classes : ndarray of shape (n_outputs,) or None, default=None
        Labels of the classes as the model has them (``classes_``), which `output` looks for; None in regression, and
        where their names are all that is known.

    Notes
    -----
    Slices are explanations of fewer rows: ``explanation[3]``, ``explanation[:100]``, ``explanation[mask]``. Rows of a
    slice are counted anew from 0.
    """

    bias: np.ndarray
    contributions: np.ndarray
    prediction: np.ndarray
    feature_names: list[str]
    output_names: list[str]
    X: Any
    classes: Any = None

    def __len__(self) -> int:
        return len(self.contributions)

    def __getitem__(self, rows: Any) -> Explanation:
        chosen = None if isinstance(rows, (bool, np.bool_, tuple)) else np.atleast_1d(np.arange(len(self))[rows])
        if rows is Ellipsis or chosen is None or chosen.ndim > 1:
            raise IndexError(f"Rows are {rows!r}; give a number, a slice, a mask, or numbers of rows.")
        rows = chosen
        bias = self.bias if self.bias.ndim == 1 else self.bias[rows]
        names = (self.feature_names, self.output_names)
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return Explanation(bias, self.contributions[rows], self.prediction[rows], *names, X, self.classes)

    def __repr__(self) -> str:
        return (
            f"Explanation({len(self)} rows, {len(self.feature_names)} features, "
            f"outputs: {', '.join(self.output_names)})"
        )

    def row(self, row: int) -> int:
        """Number of a row that is explained, counted from 0.

        Parameters
        ----------
        row : int
            The same; negative ones count from the end.

        Returns
        -------
        int

        Raises
        ------
        IndexError
            If there is no such row.
        ValueError
            If the row had no weight in `fit`, so that nothing is said of it.
        """
        if not isinstance(row, (int, np.integer)) or isinstance(row, bool) or not -len(self) <= row < len(self):
            remedy = f"give a whole number from {-len(self)} to {len(self) - 1}" if len(self) else "explain some"
            raise IndexError(f"row is {row!r}; the explanation has {len(self)} rows: {remedy}.")
        row = int(row) % len(self)
        if np.isnan(self.prediction[row]).any():
            raise ValueError(f"row is {row}, which had no weight in fit and is in no fold; choose another one.")
        return row

    def output(self, output: Any = None) -> int:
        """Number of an output.

        Parameters
        ----------
        output : class label, int or None
            A class: its label, or its name in `output_names`. Numbers are compared by value, so that 2, 2.0 and
            ``np.int64(2)`` are the same label, as are True and 1. A number is a position, from 0, only where no class
            is a number, a bool or a text that reads as a number. None: the only output in regression, the second of two
            classes.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If there is no such output, or None does not say which of three or more classes is meant.
        """
        names = self.output_names
        if output is None:
            if len(names) > 2:
                raise ValueError(f"output is None, but there are {len(names)} classes; give one of {names}.")
            return len(names) - 1
        if str(output) in names:  # as it is shown; also labels that are neither words nor numbers
            return names.index(str(output))
        numbers = [_number(label) for label in (names if self.classes is None else self.classes)]
        labels_are_numbers = any(number is not None for number in numbers)
        wanted = None if isinstance(output, str) else _number(output)
        if wanted is not None and wanted in numbers:
            return numbers.index(wanted)
        is_whole = isinstance(wanted, int) and not isinstance(wanted, bool)
        if not labels_are_numbers and is_whole and 0 <= wanted < len(names):
            return wanted
        position = "" if labels_are_numbers else f", or a number below {len(names)}"
        raise ValueError(f"output is {output!r}; give one of {names}{position}.")

    def quantity(self, output: int) -> str:
        """What an output is, for texts and plots.

        Parameters
        ----------
        output : int
            Its number.

        Returns
        -------
        str
            "probability of " a class, also of a model's only one; "prediction" in regression.
        """
        is_target = self.classes is None and len(self.output_names) == 1
        return "prediction" if is_target else f"probability of {self.output_names[output]}"

    def to_frame(self, row: int = 0) -> pd.DataFrame:
        """One row's explanation as a table.

        Parameters
        ----------
        row : int
            Which.

        Returns
        -------
        DataFrame
            A line a feature with its ``value`` and a column of contributions for each output, the greatest first.

        Raises
        ------
        IndexError, ValueError
            As in `row`.
        """
        row = self.row(row)
        table = pd.DataFrame(self.contributions[row], index=self.feature_names, columns=self.output_names)
        table.insert(0, "value", self.values(row), allow_duplicates=True)  # a class may have that name
        return table.iloc[np.argsort(-np.abs(self.contributions[row]).max(axis=1), kind="stable")]

    def values(self, row: int) -> np.ndarray:
        """Features of one row."""
        line = self.X.iloc[[row]] if hasattr(self.X, "iloc") else self.X[[row]]
        return np.asarray(line.toarray() if hasattr(line, "toarray") else line)[0]

    def text(self, row: int = 0, output: Any = None, n_features: int = 10) -> str:
        """One row's explanation in words.

        Parameters
        ----------
        row : int
            Which.
        output : class label, int or None
            As in `output`; None: the predicted class, or the target.
        n_features : int
            Features that are named; the others are summed up in one line.

        Returns
        -------
        str

        Raises
        ------
        IndexError, ValueError
            As in `row`; if there is no such output.
        """
        row = self.row(row)
        check_count("n_features", n_features)
        c = int(self.prediction[row].argmax()) if output is None else self.output(output)
        bias = self.bias if self.bias.ndim == 1 else self.bias[row]
        own, values = self.contributions[row, :, c], self.values(row)
        order = np.argsort(-np.abs(own), kind="stable")
        what = self.quantity(c)
        what += f" of row {row}" if len(self) > 1 else ""  # in a slice of one row its number would say nothing
        lines = [(f"{self.prediction[row, c]:.6g}", what), (f"{bias[c]:.6g}", "bias")]
        lines += [(f"{own[k]:+.6g}", f"{self.feature_names[k]} = {shown(values[k])}") for k in order[:n_features]]
        if len(order) > n_features:
            rest = order[n_features:]
            lines.append((f"{own[rest].sum():+.6g}", f"{len(rest)} other features"))
        width = max(len(number) for number, _ in lines)
        return "\n".join(f"{number:>{width}}  {words}" for number, words in lines)


class Explainer:
    """Explains a model's predictions by its original features.

    Splits on what the layer before predicted are traced back to the features behind that prediction, and calibrated so
    that bias and contributions add up to the prediction (interpretation paper, section 4). For gcForest_CS and mdDF,
    which the paper does not treat, see docs/explanations.md.

    Parameters
    ----------
    model : estimator
        Fitted: `GCForestClassifier`, `GCForestCSClassifier`, `MDDFClassifier`, `CascadeForestRegressor`, or a forest.
    X_train : {array-like, sparse matrix} of shape (n_train, n_features), optional
        The rows that it learned from, in the same order. A model keeps them, in bins, as long as it is in memory;
        one that was pickled needs them again, and notices others.
    y_train : array-like of shape (n_train,), optional
        Their classes or targets; to be given with X_train.
    sample_weight : array-like of shape (n_train,), optional
        Their weights, if `fit` had any; to be given with X_train.
    calibration : {"partial", "additive", "multiplicative"}, default="partial"
        See `calibrate`.
    node_rows : {"in_bag", "all"} or None, default=None
        Training rows of a node that estimates are means of (Eq. 15): those in the tree's bag with their counts, as the
        response is, or all that the model learned from, each once. None: "in_bag"; "all" in preset "official".
    preset : {"paper", "official"}, default="paper"
        Whose choice stands for parameters that are None: the paper's text or the released code.
    n_jobs : int or None, default=None
        Threads; None for one, -1 for all. The result does not depend on it.

    Raises
    ------
    ValueError
        If the model cannot be explained (layers of other estimators, scanning), has no training rows and is given none,
        or is given others than it learned from; the message names the argument.
    TypeError
        If it is no model of ours.

    Notes
    -----
    Time grows as O(M₁ M₂ n log n) times features and classes, with M₁ trees a layer, M₂ layers and n training rows.
    Memory: 4 bytes (8 with calibration "multiplicative") times n_train * n_features * n_outputs * n_forests for the
    layer before, and as much for the present one if another follows; beside them a few arrays without the factor
    n_forests. A forest or a cascade of one layer has only these.

    Contributions of a training row in deeper layers are those of the models that did not learn from it, as its class
    vectors are. With ``class_vectors="k_fold_refit"``, where `fit` dropped these models, they are grown again.

    References
    ----------
    .. [1] Y.-X. He, S.-H. Lyu and Y. Jiang, "Interpreting deep forest through feature contribution and MDI feature
       importance", TKDD 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import GCForestClassifier
    >>> from cascadeforest.explanations import Explainer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GCForestClassifier(n_forests=2, n_estimators=20, random_state=0).fit(X, y)
    >>> explanation = Explainer(model).explain(X[:5])
    >>> total = explanation.bias + explanation.contributions.sum(axis=1)
    >>> bool(abs(total - model.predict_proba(X[:5])).max() < 1e-9)
    True
    """

    def __init__(
        self,
        model: Any,
        X_train: Any = None,
        y_train: Any = None,
        sample_weight: Any = None,
        *,
        calibration: str = "partial",
        node_rows: str | None = None,
        preset: str = "paper",
        n_jobs: int | None = None,
    ):
        check_is_fitted(model)
        check_choice("calibration", calibration, CALIBRATIONS)
        check_choice("preset", preset, PRESETS)
        node_rows = PRESETS[preset]["node_rows"] if node_rows is None else node_rows
        check_choice("node_rows", node_rows, NODE_ROWS)
        check_jobs(n_jobs)
        ensure_compiled()
        kind = next((kind for of, kind in KINDS.items() if isinstance(model, of)), None)
        if kind is None:
            names = sorted(of.__name__ for of in KINDS if of is not Forest)
            raise TypeError(f"model is a {type(model).__name__}; give a forest of ours, or a {', '.join(names)}.")
        self.model, self._preset = model, preset
        given = None if X_train is None and y_train is None else (X_train, y_train, sample_weight)
        for name, part in (("X_train", X_train), ("y_train", y_train)):
            if part is None and given is not None:
                raise ValueError(f"{name} is None; give X_train and y_train, or neither.")
        if given is None and sample_weight is not None:
            raise ValueError("sample_weight is given without X_train and y_train; leave it out: the model keeps it.")
        self._training: Training = kind(model, given, Options(CALIBRATIONS[calibration], node_rows == "all", n_jobs))
        names = getattr(model, "feature_names_in_", None)
        n_features = self._training.n_features
        self.feature_names = [f"x{k}" for k in range(n_features)] if names is None else [str(name) for name in names]
        self._classes = getattr(model, "classes_", None)  # a regression has none, a classifier at least one
        self.output_names = ["prediction"] if self._classes is None else [str(label) for label in self._classes]
        self._X_train = None if given is None else _kept(X_train)
        self._fit_mark = model._fit_mark

    @property
    def n_layers(self) -> int:
        """Layers of the model; 1 for a forest."""
        return self._training.n_layers

    def explain(self, X: Any, layer: int | None = None) -> Explanation:
        """Explain predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the model did not learn from, or that are to be explained as if it had not.
        layer : int, optional
            Explain the prediction as if the cascade ended at this layer, counted from 1; the last one by default.

        Returns
        -------
        Explanation
            Bias and contributions add up to ``predict_proba(X)`` (``predict(X)``; ``staged_...`` at `layer`).

        Raises
        ------
        ValueError
            If there is no such layer; if half precision took more of the predictions than contributions can make up
            for (``vector_dtype="float16"`` with targets far below 1e-4).
        RuntimeError
            If the model was fitted again since the explainer was made.
        """
        return deque(self._of_new_rows(X, [self._checked(layer)]), maxlen=1).pop()

    def staged_explain(self, X: Any) -> Iterator[Explanation]:
        """Explain predictions as if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `explain`.

        Yields
        ------
        Explanation
            `n_layers` times.
        """
        yield from self._of_new_rows(X, range(1, self.n_layers + 1))

    def explain_held_out(self, layer: int | None = None) -> Explanation:
        """Explain what models that did not learn from a training row predict for it: out of fold, or out of bag.

        Parameters
        ----------
        layer : int, optional
            As in `explain`.

        Returns
        -------
        Explanation
            Of all training rows, with a bias each; NaN for rows without weight in cascades. Without X_train its values
            of features are the middles of bins, of which a feature has up to 255.
        """
        return deque(self._held_out([self._checked(layer)]), maxlen=1).pop()

    def staged_explain_held_out(self) -> Iterator[Explanation]:
        """`explain_held_out` as if the cascade ended at layer 1, 2, ...

        Yields
        ------
        Explanation
            `n_layers` times.
        """
        yield from self._held_out(range(1, self.n_layers + 1))

    def importances(
        self, rows: str = "held_out", layer: int | None = None, *, average: str | None = None, centred: bool = True
    ) -> np.ndarray:
        """Mean decrease in impurity of the original features (MDI).

        Parameters
        ----------
        rows : {"held_out", "in_bag", "out_of_bag"}, default="held_out"
            "held_out": Eq. 31 on the training rows, each explained by models that did not learn from it (out of fold;
            out of bag in forests and with ``class_vectors="oob"``). "in_bag": Eq. 6 in the forests of the layer, each
            tree on its own rows with their counts, splits on what the layer before predicted being traced back to the
            features. "out_of_bag", for forests that stand alone: each tree on the rows that it did not draw, MDI-oob of
            Li et al. (2019).
        layer : int, optional
            Of the cascade as if it ended at this layer, counted from 1; the last one by default.
        average : {"rows", "classes"} or None, default=None
            With "held_out": mean over rows as in Eq. 31, or the mean over classes of `class_importances`. None:
            "rows"; "classes" in preset "official". Regression has "rows" only. The others know no mean over classes.
        centred : bool, default=True
            With "held_out" and "rows": see `mean_decrease_impurity`. The others know no centre.

        Returns
        -------
        ndarray of shape (n_features,)
            Held-out importances are not clipped: those of noise features are on both sides of 0.

        Raises
        ------
        ValueError
            If a parameter cannot be used, or no row is out of the bag.
        """
        return deque(self._importances(rows, [self._checked(layer)], average, centred), maxlen=1).pop()

    def staged_importances(
        self, rows: str = "held_out", *, average: str | None = None, centred: bool = True
    ) -> Iterator[np.ndarray]:
        """`importances` as if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        rows, average, centred
            As in `importances`.

        Yields
        ------
        ndarray of shape (n_features,)
            `n_layers` times.
        """
        yield from self._importances(rows, range(1, self.n_layers + 1), average, centred)

    def column_importances(self, rows: str = "held_out", layer: int | None = None) -> np.ndarray:
        """Mean decrease in impurity of all columns that a layer sees, those of the layer before included.

        `column_names` says which is which.

        Nothing is traced back: this is what existing tools would say of the layer (interpretation paper, Fig. 1b, and
        the right side of Eq. 32: its sum is that of `importances` on the same rows, where the layer alone predicts).

        Parameters
        ----------
        rows : {"held_out", "in_bag"}, default="held_out"
            As in `importances`.
        layer : int, optional
            As in `importances`.

        Returns
        -------
        ndarray of shape (n_columns,)
            The original features (none of them in later layers of mdDF's ablation ST), then the outputs of the first
            forest of the layer before, of the second, and so on.
        """
        check_choice("rows", rows, IMPORTANCE_ROWS[:2])
        layer = self._checked(layer)
        level = deque((level for _, level in self._levels(layer)), maxlen=1).pop().as_it_is()
        if rows == "in_bag":
            return level.impurity_decreases().sum(axis=1)
        part, Y = level.held_out()[0], level.Y
        rows_of_level = getattr(level, "rows", slice(None))
        weights = None if self.weights is None else self.weights[rows_of_level]
        return mean_decrease_impurity(_by_feature(part.contributions, Y.shape[1]), Y, weights)

    def column_names(self, layer: int | None = None) -> list[str]:
        """Names of all columns that a layer sees.

        Parameters
        ----------
        layer : int, optional
            As in `importances`.

        Returns
        -------
        list of str
            Of the features, then "class of forest 1", ... for what the layer before added.
        """
        n_given, n_added = self._training.columns_of(self._checked(layer) - 1)
        return self.feature_names[:n_given] + [
            f"{output} of forest {forest + 1}"
            for forest in range(n_added // len(self.output_names))
            for output in self.output_names
        ]

    def class_importances(self, layer: int | None = None) -> np.ndarray:
        """Local MDI of each class on held-out training rows (interpretation paper, section 6.2).

        Parameters
        ----------
        layer : int, optional
            As in `importances`.

        Returns
        -------
        ndarray of shape (n_classes, n_features)

        Raises
        ------
        ValueError
            In regression.
        """
        if self._classes is None:
            raise ValueError("The model predicts one target; class importances are for classifiers.")
        held_out, _ = deque(self._of_training_rows([self._checked(layer)]), maxlen=1).pop()
        return class_mean_decrease_impurity(held_out.contributions, self._training.Y, self.weights)

    def _importances(
        self, rows: str, layers: Sequence[int], average: str | None, centred: bool
    ) -> Iterator[np.ndarray]:
        check_choice("rows", rows, IMPORTANCE_ROWS)
        is_classifier = self._classes is not None
        own = PRESETS[self._preset]["average"] if is_classifier else "rows"
        average = own if average is None else average
        check_choice("average", average, AVERAGES if is_classifier else AVERAGES[:1])
        if rows != "held_out" and average not in ("rows", own):
            raise ValueError(
                f"average is {average!r} with rows {rows!r} (preset {self._preset!r}), where it has no meaning; leave "
                "it out, or choose rows='held_out'."
            )
        if not centred and (rows != "held_out" or average != "rows"):
            raise ValueError(
                f"centred is {centred!r} with rows {rows!r} and average {average!r} (preset {self._preset!r}), where "
                "it has no meaning; leave it out, or choose rows='held_out' and average='rows'."
            )
        if rows == "held_out":
            for held_out, _ in self._of_training_rows(layers):
                parts = (held_out.contributions, self._training.Y, self.weights)
                if average == "classes":
                    yield np.nanmean(class_mean_decrease_impurity(*parts), axis=0)
                else:
                    yield mean_decrease_impurity(*parts, centred=centred)
            return
        if rows == "out_of_bag" and not isinstance(self.model, Forest):
            raise ValueError(
                "rows is 'out_of_bag', which is for forests that stand alone; choose 'held_out' for a cascade."
            )
        for number, level in self._levels(max(layers)):
            if number + 1 in layers:
                yield level.impurity_decreases(out_of_bag=rows == "out_of_bag").sum(axis=1)

    @property
    def responses(self) -> np.ndarray:
        """Indicators of the training rows' classes, or their targets: shape (n_train, n_outputs)."""
        return self._training.Y.copy()

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the training rows, None if they are equal."""
        weights = self._training.weights
        return None if weights is None else weights.copy()

    def _checked(self, layer: int | None) -> int:
        if layer is None:
            return self.n_layers
        check_count("layer", layer)
        if layer > self.n_layers:
            raise ValueError(f"layer is {layer}; the model has {self.n_layers}: give one from 1 to {self.n_layers}.")
        return int(layer)

    def _levels(self, last: int) -> Iterator[tuple[int, Level]]:
        self._check_fit()
        for number, level in enumerate(self._training.levels()):
            yield number, level
            if number + 1 == last:
                return

    def _check_fit(self) -> None:
        if self.model._fit_mark is not self._fit_mark:
            raise RuntimeError("The model was fitted again since; make a new Explainer.")

    def _of_new_rows(self, X: Any, layers: Sequence[int]) -> Iterator[Explanation]:
        self._check_fit()
        training = self._training
        new = training.new_rows(X)
        n_outputs = training.Y.shape[1]
        result = Part(np.zeros((new.n, n_outputs)), np.zeros((new.n, training.n_features * n_outputs)))
        for number, level in self._levels(max(layers)):
            new.enter(number)
            wanted = number + 1 in layers
            rows = training.asked(number, new, wanted=wanted)
            if len(rows):
                own = level.of_new_rows(new.binned, rows)
                training.combined(number, level, rows, Part(np.broadcast_to(level.bias, (len(rows), n_outputs)), own),
                                  result)  # fmt: skip
            if wanted:
                yield self._explanation(result.bias[0] if new.n else level.bias, result, new.prediction, X)

    def _held_out(self, layers: Sequence[int]) -> Iterator[Explanation]:
        for part, prediction in self._of_training_rows(layers):
            X = self._training.learned.values() if self._X_train is None else self._X_train
            names = (self.feature_names, self.output_names)
            yield Explanation(part.bias, part.contributions, prediction, *names, X, self._classes)

    def _of_training_rows(self, layers: Sequence[int]) -> Iterator[tuple[Part, np.ndarray]]:
        """Bias, contributions (n, n_features, n_outputs) and predictions of training rows, held out."""
        training = self._training
        n, n_outputs = training.Y.shape
        result = Part(np.full((n, n_outputs), np.nan), np.full((n, training.n_features * n_outputs), np.nan))
        if training.margin_sum:
            result.bias[training.rows], result.contributions[training.rows] = 0.0, 0.0
        for number, level in self._levels(max(layers)):
            rows = getattr(level, "rows", np.arange(n))
            training.combined(number, level, rows, level.held_out()[0], result)
            if number + 1 in layers:
                part = Part(result.bias.copy(), _by_feature(result.contributions, n_outputs))
                yield part, part.bias + part.contributions.sum(axis=1)

    def _explanation(self, bias: np.ndarray, result: Part, prediction: np.ndarray, X: Any) -> Explanation:
        n, n_outputs = prediction.shape
        contributions = _by_feature(result.contributions, n_outputs)
        if n and not contributions.any():  # no tree has a split: all rows have the same prediction, rounded
            bias = prediction[0]
        for first in range(0, n, _BLOCK):
            part = slice(first, first + _BLOCK)
            _add_up(bias, contributions[part], prediction[part], self._training.vector_dtype)
        names = (self.feature_names, self.output_names)
        return Explanation(bias.copy(), contributions, prediction.copy(), *names, _kept(X), self._classes)


def _kept(X: Any) -> Any:
    """Rows as explanations keep them: data frames as they are, sparse matrices by row."""
    if hasattr(X, "iloc"):
        return X
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)


def shown(value: Any, digits: int = 6) -> str:
    """A feature's value in words: also a string of digits, and what else stands for missing values in data frames."""
    return "nan" if pd.isna(value) else f"{float(value):.{digits}g}"


def _number(label: Any) -> Real | None:
    """Value of a label that is a number, or a text that reads as one; None of words, "nan" and "inf" among them."""
    if isinstance(label, (np.bool_, np.number)):
        label = label.item()  # compared exactly: as numpy's numbers 2**53 + 1 and 2.0**53 are equal
    if not isinstance(label, str):
        return label if isinstance(label, Real) else None
    try:
        value = float(label)
    except ValueError:
        return None
    if not np.isfinite(value) or "_" in label:  # "2020_1" is a word, though Python reads 20201
        return None
    return int(label) if label.strip().lstrip("+-").isdecimal() else value


def _by_feature(flat: np.ndarray, n_outputs: int) -> np.ndarray:
    """Contributions as users see them, shape (n, n_features, n_outputs)."""
    return flat.reshape(len(flat), n_outputs, -1).transpose(0, 2, 1).copy(order="C")


def _add_up(bias: np.ndarray, contributions: np.ndarray, prediction: np.ndarray, vector_dtype: str) -> None:
    """Spread what rounding of vectors took from the prediction over the features that a row uses (as Eq. 24)."""
    missing = prediction - bias - contributions.sum(axis=1)
    scale = np.abs(prediction).max(initial=0.0) + np.abs(contributions).sum(axis=1).max(initial=0.0)
    most = np.abs(missing).max(initial=0.0)
    if most > _ROUNDING[vector_dtype] * scale:
        if vector_dtype == "float16" and most <= _STEP_OF_HALF:
            raise ValueError(
                f"vector_dtype is 'float16', whose small numbers are {_STEP_OF_HALF:.0e} apart: predictions, of "
                f"{np.abs(prediction).max():.1e} at most, lost up to {most:.1e}, and contributions cannot add up to "
                "what is left. Fit the model with vector_dtype='float32', or rescale y to more than 1e-4."
            )
        raise RuntimeError("Contributions miss the prediction by more than rounding; please report it with your model.")
    sizes = np.abs(contributions)
    of_class, of_row = sizes.sum(axis=1, keepdims=True), sizes.sum(axis=(1, 2), keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_row = np.where(of_row > 0, sizes.sum(axis=2, keepdims=True) / of_row, 1.0 / contributions.shape[1])
        shares = np.where(of_class > 0, sizes / of_class, by_row)
    contributions += shares * missing[:, None, :]


def explain(
    model: Any,
    X: Any,
    X_train: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
    *,
    layer: int | None = None,
    **options: Any,
) -> Explanation:
    """Explain predictions of a model by its original features.

    Parameters
    ----------
    model : estimator
        As in `Explainer`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain.
    X_train, y_train, sample_weight : optional
        What the model was fitted with; needed if it was pickled since.
    layer : int, optional
        As in `Explainer.explain`.
    **options
        `calibration`, `node_rows`, `preset`, `n_jobs` of `Explainer`.

    Returns
    -------
    Explanation
        ``bias + contributions.sum(axis=1)`` is ``model.predict_proba(X)`` (``predict(X)``).
    """
    return Explainer(model, X_train, y_train, sample_weight, **options).explain(X, layer)
