"""Explain predictions of deep forests as sums: a bias and one contribution of each original feature."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.explanations._levels import Level, LevelTables, Options, Part, levels
from cascadeforest.explanations._scikit_learn import TheirForest, leaves_of, tables_of
from cascadeforest.explanations.calibration import CALIBRATIONS
from cascadeforest.explanations.importance import class_mean_decrease_impurity, mean_decrease_impurity
from cascadeforest.forest._base import Forest
from cascadeforest.forest._parameters import check_choice, check_count, check_jobs, check_number
from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.learned_rows import Rows
from cascadeforest.forest.walks import Walk

if TYPE_CHECKING:
    import shap

#: Types of rows that an explanation keeps.
Samples: TypeAlias = np.ndarray | pd.DataFrame | scipy.sparse.csr_matrix | scipy.sparse.csr_array
#: Values of parameters that are None, by preset.
PRESETS = {"paper": {"node_rows": "in_bag", "average": "rows"}, "official": {"node_rows": "all", "average": "classes"}}
NODE_ROWS = ("in_bag", "all")
#: Allowed values of the parameters `rows` and `average` of `Explainer.importances`.
IMPORTANCE_ROWS = ("held_out", "in_bag", "out_of_bag")
AVERAGES = ("rows", "classes")
#: Number of rows whose contributions are adjusted at one time.
_BLOCK = 256
#: Maximum change of a prediction by rounding of a layer's vectors, relative to the size of its parts.
_ROUNDING = {"float64": 1e-10, "float32": 1e-6, "float16": 4e-3}
#: Number of rows whose sums are compared with the model's own predictions, and the tolerance of the comparison
#: relative to the size of predictions and contributions.
_CHECKED_ROWS, _AGREES = 32, 1e-6
#: Distance between neighbouring half-precision numbers below 6e-5 (subnormal numbers).
_STEP_OF_HALF = float(np.finfo(np.float16).smallest_subnormal)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Predictions as sums: ``prediction = bias + contributions.sum(axis=1)``.

    Parameters
    ----------
    bias : ndarray of shape (n_outputs,) or (n_samples, n_outputs)
        The prediction before any feature is used: the mean response at the roots of the trees. There is one bias per
        row if different trees explain different rows (`Explainer.explain_held_out`).
    contributions : ndarray of shape (n_samples, n_features, n_outputs)
        Contribution of each original feature, in the units of the prediction.
    prediction : ndarray of shape (n_samples, n_outputs)
        Class probabilities, or the predicted target.
    feature_names : list of str
        Names of the features.
    output_names : list of str
        Names of the classes; ``["prediction"]`` in regression.
    X : ndarray, DataFrame or sparse matrix of shape (n_samples, n_features)
        The explained rows, for plots and texts; not copied.
    classes : ndarray of shape (n_outputs,) or None, default=None
        Labels of the classes (``classes_`` of the model), by which `output` finds a class. None in regression, or if
        only the names of the classes are known.

    Notes
    -----
    A slice is an explanation of fewer rows: ``explanation[3]``, ``explanation[:100]``, ``explanation[mask]``. The rows
    of a slice are counted from 0.
    """

    bias: np.ndarray
    contributions: np.ndarray
    prediction: np.ndarray
    feature_names: list[str]
    output_names: list[str]
    X: Samples
    classes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.contributions)

    def __getitem__(self, rows: int | slice | list[int] | np.ndarray) -> Explanation:
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
        """Check the number of a row.

        Parameters
        ----------
        row : int
            Number of the row; negative numbers count from the end.

        Returns
        -------
        int
            Number of the row, counted from 0.

        Raises
        ------
        IndexError
            If there is no such row.
        ValueError
            If the row had no weight in `fit` and therefore has no explanation.
        """
        if not isinstance(row, (int, np.integer)) or isinstance(row, bool) or not -len(self) <= row < len(self):
            remedy = f"give a whole number from {-len(self)} to {len(self) - 1}" if len(self) else "explain some"
            raise IndexError(f"row is {row!r}; the explanation has {len(self)} rows: {remedy}.")
        row = int(row) % len(self)
        if np.isnan(self.prediction[row]).any():
            raise ValueError(f"row is {row}, which had no weight in fit and is in no fold; choose another one.")
        return row

    def output(self, output: object = None) -> int:
        """Find the position of an output.

        Parameters
        ----------
        output : class label, int or None
            Label of a class, or its name in `output_names`. Numbers are compared by value: 2, 2.0 and ``np.int64(2)``
            are the same label, and so are True and 1. A number is taken as a position, counted from 0, only if no class
            is a number, a bool or a text that reads as a number. None stands for the only output in regression, and for
            the second of two classes.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If there is no such output, or if it is None and there are three or more classes.
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
        is_position = isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(names)
        if isinstance(wanted, int) and is_position and not labels_are_numbers:
            return wanted
        position = "" if labels_are_numbers else f", or a number below {len(names)}"
        raise ValueError(f"output is {output!r}; give one of {names}{position}.")

    def quantity(self, output: int) -> str:
        """Describe an output, for texts and plots.

        Parameters
        ----------
        output : int
            Position of the output.

        Returns
        -------
        str
            "probability of " and the name of the class; "prediction" in regression.
        """
        is_target = self.classes is None and len(self.output_names) == 1
        return "prediction" if is_target else f"probability of {self.output_names[output]}"

    def to_frame(self, row: int = 0) -> pd.DataFrame:
        """Show the explanation of one row as a table.

        Parameters
        ----------
        row : int
            Number of the row.

        Returns
        -------
        DataFrame
            One line for each feature, with its ``value`` and its contribution to each output. The feature with the
            largest contribution comes first.

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
        """Values of the features in one row."""
        line = self.X.iloc[[row]] if hasattr(self.X, "iloc") else self.X[[row]]
        return np.asarray(line.toarray() if hasattr(line, "toarray") else line)[0]

    def column(self, feature: int) -> tuple[np.ndarray, list[str] | None]:
        """Values of one feature as numbers, for plots.

        Parameters
        ----------
        feature : int
            Number of the feature.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The values, NaN if missing. If they are not numbers, they are positions in `levels`.
        levels : list of str or None
            Names of the levels of a feature whose values are not numbers.
        """
        if hasattr(self.X, "iloc"):
            column = self.X.iloc[:, feature]
        else:
            column = self.X[:, [feature]]
            column = np.asarray(column.toarray() if hasattr(column, "toarray") else column)[:, 0]
        try:
            return np.asarray(column, np.float64), None
        except (TypeError, ValueError):
            levels = pd.Categorical(column)
            return np.where(levels.codes < 0, np.nan, levels.codes), [str(level) for level in levels.categories]

    def to_shap(self, output: object = None) -> shap.Explanation:
        """Convert the explanation of one output to SHAP's class, which ``shap.plots`` draw.

        Parameters
        ----------
        output : class label, int or None
            As in `output`. None stands for the only output in regression, and for the second of two classes.

        Returns
        -------
        shap.Explanation
            ``values`` of shape (n_samples, n_features) are the contributions (not SHAP values), ``base_values`` of
            shape (n_samples,) the biases. ``data`` has numbers: of a feature whose values are not numbers, positions
            in the sorted levels. ``display_data`` then has the values themselves.

        Raises
        ------
        ImportError
            If the package shap is not installed.
        ValueError
            As in `output`.

        Examples
        --------
        With `explanation` of `Explainer.explain`, and the package shap installed::

            shap.plots.waterfall(explanation.to_shap("malignant")[0])
            shap.plots.beeswarm(explanation.to_shap("malignant"))
        """
        c = self.output(output)
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap.") from error
        columns = [self.column(k) for k in range(len(self.feature_names))]
        all_numbers = all(levels is None for _, levels in columns)
        return shap.Explanation(
            values=self.contributions[:, :, c].copy(),
            base_values=np.broadcast_to(self.bias[..., c], len(self)).copy(),
            data=np.column_stack([values for values, _ in columns]),
            display_data=None if all_numbers else np.asarray(self.X, object),
            feature_names=list(self.feature_names),
        )

    def text(self, row: int = 0, output: object = None, n_features: int = 10) -> str:
        """Show the explanation of one row as a text.

        Parameters
        ----------
        row : int
            Number of the row.
        output : class label, int or None
            As in `output`. None stands for the predicted class, or for the target in regression.
        n_features : int
            Number of features with a line of their own. One more line sums up the other features.

        Returns
        -------
        str

        Raises
        ------
        IndexError, ValueError
            As in `row`, or if there is no such output.
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
    """Explain predictions of a forest or cascade by the original features.

    A split on a column that the layer before predicted is traced back to the features behind that prediction. The
    contributions are calibrated so that they and the bias add up to the prediction (interpretation paper, section 4).
    What a split on an interaction of hiDF changes is divided equally among the features of the interaction. The paper
    does not treat gcForest_CS, mdDF, hiDF and DDBF; docs/explanations.md says what is done for them.

    Parameters
    ----------
    model : estimator
        Fitted `GCForestClassifier`, `GCForestCSClassifier`, `MDDFClassifier`, `HiDFClassifier`, `DDBFClassifier`,
        `CascadeForestRegressor`, or one of the forests; or a pipeline that ends with one. For subclasses and pipelines
        see the notes.
    X_train : {array-like, sparse matrix} of shape (n_train, n_features), optional
        Training rows of the model, in the same order. A model in memory keeps them in bins. A model that was saved
        or pickled needs them again, and refuses other rows.
    y_train : array-like of shape (n_train,), optional
        Classes or targets of the training rows; required with X_train.
    sample_weight : array-like of shape (n_train,), optional
        Weights of the training rows, if `fit` had any.
    calibration : {"partial", "additive", "multiplicative"}, default="partial"
        See `calibrate`.
    node_rows : {"in_bag", "all"} or None, default=None
        Training rows of a node over which estimates are averaged (Eq. 15). "in_bag": in-bag rows of the tree, with
        their counts, as in the mean response. "all": all training rows of the model, each once. None stands for
        "in_bag" in preset "paper" and for "all" in preset "official".
    preset : {"paper", "official"}, default="paper"
        Whether parameters that are None follow the paper's text or the released code.
    n_jobs : int or None, default=None
        Number of threads; None for one, -1 for all. The result does not depend on it.
    max_table_mib : float, default=1024
        Greatest size of the leaf tables, in MiB (see the notes). A layer whose tables do not fit is explained from the
        training rows at each call.

    Raises
    ------
    ValueError
        If the model cannot be explained (layers of other estimators, scanning, calibrated probabilities of DDBF), has
        no training rows and none are given, or learned from other rows than are given; the message names the argument.
    TypeError
        If the class of the model does not say how it predicts (see the notes).

    Notes
    -----
    **Subclasses.** A model is explained only if the body of its own class defines the method ``walk``, which says how
    rows go through the layers. All models named above do. A subclass may predict in another way, so it is refused until
    it defines ``walk`` too. If its predictions are those of its base class, one line is enough::

        class MyForest(GCForestClassifier):
            walk = GCForestClassifier.walk

    Otherwise ``walk(self, n_jobs=None)`` returns a `cascadeforest.forest.walks.Walk` that follows its predictions. In
    either case `explain` compares the sums of up to 32 rows with ``predict_proba`` (``predict`` in regression). It
    raises an error if they differ by more than 1e-6, relative to the size of predictions and contributions.

    **Pipelines.** Rows, also those of `X_train`, go through the steps before the model. Features are the columns that
    the last of these steps returns; their names come from `get_feature_names_out`, or are x0, x1, ... if a step has no
    names. A pickled explainer has these steps as they are.

    **Leaf tables.** The first call of `explain` goes through the training rows, as the importances do. It keeps what
    the leaves of each tree contribute (Algorithm 1), and later calls look it up. A table has a line of 8 bytes times
    n_features * n_outputs for each child of a split on a predicted column; a forest, or a first layer, has no such
    split. If the tables of a layer do not fit into `max_table_mib`, nothing is kept of the layer, and each call goes
    through the training rows again. The result is the same.

    **Pickling.** A pickled explainer has its model and the leaf tables, but no training rows, targets or weights. It
    explains new rows as before: at the layers that it explained before it was pickled, or, if there was no such layer,
    at all layers. Whatever else needs training rows raises an error.

    **Cost.** Time of the first call grows as O(M₁ M₂ n log n) times features and classes, with M₁ trees per layer, M₂
    layers and n training rows. Memory: 4 bytes (8 with calibration "multiplicative") times n_train * n_features *
    n_outputs * n_forests for the layer before, the same amount for the present layer if another layer follows, and a
    few arrays without the factor n_forests. A forest, or a cascade of one layer, needs only these arrays.

    **Training rows in deeper layers.** The contributions of a training row come from the models that did not learn from
    it, and so do its class vectors. With ``class_vectors="k_fold_refit"`` these models are grown again, since `fit`
    does not keep them. In DDBF, and in hiDF without class vectors, they are the trees that did not draw the row.

    **Layers of hiDF and DDBF.** The forests of hiDF that predict are one layer. With class vectors they are the second
    layer, and the forests that predict class vectors are the first; `staged_predict_proba` of hiDF has other stages. A
    layer of DDBF is an iteration.

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
        model: Forest | ExplainableCascade | Pipeline,
        X_train: MatrixLike | None = None,
        y_train: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        calibration: str = "partial",
        node_rows: str | None = None,
        preset: str = "paper",
        n_jobs: int | None = None,
        max_table_mib: float = 1024,
    ):
        self._before, model = _unwrapped(model)
        if (n_outputs := getattr(model, "n_outputs_", 1)) > 1:
            raise ValueError(f"model predicts {n_outputs} targets; explain a model of one target, fitted for each.")
        check_choice("calibration", calibration, CALIBRATIONS)
        check_choice("preset", preset, PRESETS)
        node_rows = PRESETS[preset]["node_rows"] if node_rows is None else node_rows
        check_choice("node_rows", node_rows, NODE_ROWS)
        check_jobs(n_jobs)
        check_number("max_table_mib", max_table_mib)
        self._walk = _walk_of(model, n_jobs)
        self.model, self._preset = model, preset
        for name, part, other in (("X_train", X_train, y_train), ("y_train", y_train, X_train)):
            if part is None and other is not None:
                raise ValueError(f"{name} is None; give X_train and y_train, or neither.")
        X_train = None if X_train is None else _through(self._before, X_train)
        given = None if X_train is None or y_train is None else (X_train, y_train, sample_weight)
        if given is None and sample_weight is not None:
            raise ValueError("sample_weight is given without X_train and y_train; leave it out: the model keeps it.")
        self._options = Options(CALIBRATIONS[calibration], node_rows == "all", n_jobs)
        self._rows: Rows | None = self._walk.training_rows(given)
        #: Leaf tables by number of the layer; None if they do not fit.
        self._tables: dict[int, LevelTables | None] = {}
        self._max_table_mib = max_table_mib
        self.feature_names = _names(self._before, model)
        self._classes = getattr(model, "classes_", None)  # a regression has none, a classifier at least one
        self.output_names = ["prediction"] if self._classes is None else [str(label) for label in self._classes]
        self._X_train = None if given is None else _kept(X_train)
        self._fit_mark = model._fit_mark

    @property
    def _learned(self) -> Rows:
        """The training rows."""
        if self._rows is None:
            raise ValueError(
                "The explainer was pickled or copied and has no training rows; it explains new rows by its tables "
                f"(of layers {sorted(self._tables)}). For anything else make a new one: Explainer(model, X_train, "
                "y_train)."
            )
        return self._rows

    @property
    def _responses(self) -> np.ndarray:
        return self._walk.responses(self._learned.y)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the training rows, whose place the tables take."""
        if self._rows is not None:
            for number, level in self._levels(self.n_layers) if not self._tables else ():
                self._make_tables(number, level)
            if too_large := sorted(number for number, tables in self._tables.items() if tables is None):
                raise ValueError(
                    f"max_table_mib is {self._max_table_mib!r}, which is too little for the tables of layers "
                    f"{too_large}, and a pickled explainer needs them; give more to Explainer."
                )
        return vars(self) | {"_rows": None, "_X_train": None}

    def _make_tables(self, number: int, level: Level) -> LevelTables | None:
        """Make the tables of a layer and keep them, if they fit."""
        used = sum(tables.n_bytes for tables in self._tables.values() if tables is not None)
        room = self._max_table_mib * 2**20 - used
        made = self._tables[number] = level.tables(room) if room > 0 else None
        return made

    @property
    def n_layers(self) -> int:
        """Number of layers of the model; 1 for a forest."""
        return self._walk.n_layers

    def explain(self, X: MatrixLike, layer: int | None = None) -> Explanation:
        """Explain predictions for new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to explain. Training rows are explained as if they were new.
        layer : int, optional
            Explain the prediction of the cascade as if it ended at this layer, counted from 1; by default the last.
            Later layers predict better, but their contributions can be further from the Shapley values of the
            prediction. Layer 1 is closest to them, since its splits are on features only (see the notes).

        Returns
        -------
        Explanation
            Bias and contributions add up to ``predict_proba(X)``, in regression to ``predict(X)``; for an earlier layer
            to ``staged_predict_proba(X)`` or ``staged_predict(X)`` there. In the first layer of hiDF with class vectors
            they add up to the mean class vector.

        Raises
        ------
        ValueError
            If there is no such layer, if the sums differ from the model's predictions, or if half precision rounded the
            predictions too much (``vector_dtype="float16"`` with targets far below 1e-4). If the explainer was pickled
            without tables of this layer.
        RuntimeError
            If the model was fitted again after the explainer was made.

        Notes
        -----
        Most splits of later layers are on predictions. Rows with similar predictions therefore get similar
        contributions, whatever features the predictions come from. On sums of functions of single features, later
        layers predict better and attribute worse; on a single interaction they do both better. The section "How good
        are the attributions?" of docs/explanations.md has measurements and says which layer to choose.
        """
        return deque(self._of_new_rows(X, [self._checked(layer)]), maxlen=1).pop()

    def staged_explain(self, X: MatrixLike) -> Iterator[Explanation]:
        """Explain predictions for new rows as if the cascade ended at layer 1, 2, ...

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
        """Explain the out-of-fold (or out-of-bag) predictions for the training rows.

        Parameters
        ----------
        layer : int, optional
            As in `explain`.

        Returns
        -------
        Explanation
            Explanation of all training rows, each with its own bias. In cascades, rows of weight 0 have NaN. If X_train
            was not given, feature values are centers of up to 255 bins, and levels.
        """
        return deque(self._held_out([self._checked(layer)]), maxlen=1).pop()

    def staged_explain_held_out(self) -> Iterator[Explanation]:
        """Explain out-of-fold (or out-of-bag) predictions as if the cascade ended at layer 1, 2, ...

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
            "held_out": Eq. 31 on the training rows, each explained by models that did not learn from it (out-of-fold;
            out-of-bag in forests and with ``class_vectors="oob"``). "in_bag": Eq. 6 in the forests of the layer, each
            tree on its in-bag rows with their counts; splits on predictions of the layer before are traced back to the
            features. "out_of_bag", for single forests only: MDI-oob of Li et al. (2019), each tree on the rows that it
            did not draw.
        layer : int, optional
            Treat the cascade as if it ended at this layer, counted from 1; by default the last.
        average : {"rows", "classes"} or None, default=None
            With "held_out" in classification: mean over rows as in Eq. 31, or mean over classes of `class_importances`.
            None stands for "rows" in preset "paper" and for "classes" in preset "official". In all other cases only
            "rows" is allowed.
        centred : bool, default=True
            With "held_out" and "rows": see `mean_decrease_impurity`. Must be True in all other cases.

        Returns
        -------
        ndarray of shape (n_features,)
            Held-out importances can be negative: noise features are on both sides of 0.

        Raises
        ------
        ValueError
            If a parameter is invalid, or no row is out-of-bag.
        """
        return deque(self._importances(rows, [self._checked(layer)], average, centred), maxlen=1).pop()

    def staged_importances(
        self, rows: str = "held_out", *, average: str | None = None, centred: bool = True
    ) -> Iterator[np.ndarray]:
        """Mean decrease in impurity as if the cascade ended at layer 1, 2, ...

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
        """Mean decrease in impurity of all columns that a layer sees, including the columns that earlier layers added.

        Nothing is traced back: existing tools would give these importances (interpretation paper, Fig. 1b). If the
        layer alone predicts, their sum equals the sum of `importances` on the same rows (Eq. 32). `column_names`
        returns the names of the columns.

        Parameters
        ----------
        rows : {"held_out", "in_bag"}, default="held_out"
            As in `importances`.
        layer : int, optional
            As in `importances`.

        Returns
        -------
        ndarray of shape (n_columns,)
            The original features come first (later layers of mdDF's ablation ST do not see them), then the interactions
            of hiDF, then the outputs of the first forest of the layer before, of the second, and so on.
        """
        check_choice("rows", rows, IMPORTANCE_ROWS[:2])
        layer = self._checked(layer)
        level = deque((level for _, level in self._levels(layer)), maxlen=1).pop().as_it_is()
        if rows == "in_bag":
            return level.impurity_decreases().sum(axis=1)
        of_rows, Y = level.held_out[0].contributions, level.layer.Y
        weights = None if self._learned.weights is None else self._learned.weights[level.layer.rows]
        return mean_decrease_impurity(_by_feature(of_rows, Y.shape[1]), Y, weights)

    def column_names(self, layer: int | None = None) -> list[str]:
        """Names of all columns that a layer sees.

        Parameters
        ----------
        layer : int, optional
            As in `importances`.

        Returns
        -------
        list of str
            Names of the features, then those of the interactions of hiDF, then "class of forest 1", ... for the columns
            that the layer before added.
        """
        n_given, n_added = self._walk.columns_of(self._checked(layer) - 1)
        return [*self.feature_names, *self._walk.shared_columns.names][:n_given] + [
            f"{output} of forest {forest + 1}"
            for forest in range(n_added // len(self.output_names))
            for output in self.output_names
        ]

    def class_importances(self, layer: int | None = None) -> np.ndarray:
        """Local mean decrease in impurity of each class on held-out training rows (interpretation paper, section 6.2).

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
        return class_mean_decrease_impurity(held_out.contributions, self._responses, self._learned.weights)

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
                parts = (held_out.contributions, self._responses, self._learned.weights)
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
            if number in layers:
                yield level.impurity_decreases(out_of_bag=rows == "out_of_bag").sum(axis=1)

    @property
    def responses(self) -> np.ndarray:
        """Class indicators (or targets) of the training rows, shape (n_train, n_outputs)."""
        return self._responses

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the training rows, or None if they are equal."""
        weights = self._learned.weights
        return None if weights is None else weights.copy()

    def _checked(self, layer: int | None) -> int:
        if layer is None:
            return self.n_layers
        check_count("layer", layer)
        if layer > self.n_layers:
            raise ValueError(f"layer is {layer}; the model has {self.n_layers}: give one from 1 to {self.n_layers}.")
        return int(layer)

    def _levels(self, last: int) -> Iterator[tuple[int, Level]]:
        """Yield the layers up to `last`, each with its number, counted from 1."""
        self._check_fit()
        yield from enumerate(islice(levels(self._walk, self._learned, self._options), last), 1)

    def _check_fit(self) -> None:
        if self.model._fit_mark is not self._fit_mark:
            raise RuntimeError("The model was fitted again since; make a new Explainer.")

    def _of_new_rows(self, X: MatrixLike, layers: Sequence[int]) -> Iterator[Explanation]:
        self._check_fit()
        X, result = _through(self._before, X), Part(np.empty(0), np.empty(0))
        trained = self._levels(max(layers))  # which goes as far as tables are missing
        for number, reached in enumerate(islice(self._walk.layers(X), max(layers)), 1):
            if number == 1:
                n, n_outputs = reached.prediction.shape
                result = Part(np.zeros((n, n_outputs)), np.zeros((n, n_outputs * len(self.feature_names))))
            rows = reached.rows if number in layers else reached.lasting
            if len(rows) or self._walk.rows_leave:  # other rows may reach the layer in a later call
                level = self._level(number, trained)
                if len(rows):
                    level.joined.add_to(result, rows, level.of_new_rows(reached.binned, rows, self._options.n_jobs))
            if number in layers:
                yield self._explanation(number, result, reached.prediction, X)

    def _level(self, number: int, trained: Iterator[tuple[int, Level]]) -> Level | LevelTables:
        """The tables of a layer, or, if they do not fit, the next of the trained layers that has the number."""
        if (tables := self._tables.get(number)) is not None:
            return tables
        level = next(level for reached, level in trained if reached == number)
        return level if number in self._tables else self._make_tables(number, level) or level

    def _explanation(self, layer: int, result: Part, prediction: np.ndarray, X: MatrixLike) -> Explanation:
        contributions, bias = _by_feature(result.contributions, prediction.shape[1]), result.bias[0]
        if not contributions.any():  # no tree has a split: all rows have the same prediction, rounded
            bias = prediction[0]
        for first in range(0, len(prediction), _BLOCK):
            part = slice(first, first + _BLOCK)
            _add_up(bias, contributions[part], prediction[part], self._walk.vector_dtype)
        self._check_sums(layer, bias, contributions, X)
        names = (self.feature_names, self.output_names)
        return Explanation(bias.copy(), contributions, prediction.copy(), *names, _kept(X), self._classes)

    def _check_sums(self, layer: int, bias: np.ndarray, contributions: np.ndarray, X: MatrixLike) -> None:
        """Compare bias plus contributions of some rows with the model's own predictions."""
        is_last, kind = layer == self.n_layers, type(self.model).__name__
        if not is_last and not self._walk.is_staged:
            return  # the model itself does not predict from this layer
        name = "predict" if self._classes is None else "predict_proba"
        name = name if is_last else f"staged_{name}"

        def predicted(some: MatrixLike) -> np.ndarray:
            found = getattr(self.model, name)(some)
            return found if is_last else next(islice(found, layer - 1, None))

        _check_agreement(
            *(bias, contributions, X, predicted, f"{kind}.{name}"),
            f"the method walk of {kind} follows other predictions. Define it anew (see Explainer).",
        )

    def _held_out(self, layers: Sequence[int]) -> Iterator[Explanation]:
        for part, prediction in self._of_training_rows(layers):
            X = self._binned_values() if self._X_train is None else self._X_train
            names = (self.feature_names, self.output_names)
            yield Explanation(part.bias, part.contributions, prediction, *names, X, self._classes)

    def _binned_values(self) -> np.ndarray:
        """Values of the training rows: centers of bins, and levels of categorical features."""
        values, categories = self._walk.values(self._learned), self.model._categories
        return values if categories is None else categories.decode(values)

    def _of_training_rows(self, layers: Sequence[int]) -> Iterator[tuple[Part, np.ndarray]]:
        """Bias, contributions (n, n_features, n_outputs) and predictions of training rows, held out."""
        n, n_outputs = self._responses.shape
        result = Part(np.full((n, n_outputs), np.nan), np.full((n, len(self.feature_names) * n_outputs), np.nan))
        for number, level in self._levels(max(layers)):
            level.joined.add_to(result, level.layer.rows, level.held_out[0])
            if number in layers:
                part = Part(result.bias.copy(), _by_feature(result.contributions, n_outputs))
                yield part, part.bias + part.contributions.sum(axis=1)


def _walk_of(model: Forest | ExplainableCascade, n_jobs: int | None) -> Walk:
    """The walk that the model's own class defines; an inherited walk may not match the model's predictions."""
    kind = type(model)
    if not isinstance(model, Forest | ExplainableCascade):
        raise TypeError(
            f"model is a {kind.__name__} of {kind.__module__.partition('.')[0]}; give a forest of cascadeforest, or a "
            "CascadeForestRegressor, DDBFClassifier, GCForestCSClassifier, GCForestClassifier, HiDFClassifier, "
            "MDDFClassifier, alone or as the last step of a pipeline. Random forests and Extra-Trees of scikit-learn "
            "are for explain(model, X)."
        )
    if "walk" in vars(kind):
        return model.walk(n_jobs)
    base = next(base.__name__ for base in kind.__mro__ if "walk" in vars(base))
    raise TypeError(
        f"model is a {kind.__name__}, a subclass of {base} that may predict in another way than {base}. If it does "
        f"not, write 'walk = {base}.walk' into the body of {kind.__name__}; else define walk there (see Explainer)."
    )


def _check_agreement(
    bias: np.ndarray,
    contributions: np.ndarray,
    X: MatrixLike,
    predict: Callable[[MatrixLike], np.ndarray],
    name: str,
    otherwise: str,
) -> None:
    """Compare bias plus contributions of some rows with what `predict`, called `name`, says of them."""
    some = np.unique(np.linspace(0, len(contributions) - 1, _CHECKED_ROWS).astype(int))
    own, predicted = contributions[some], predict(_rows_of(X, some))
    scale = np.abs(predicted).max() + np.abs(own).sum(axis=1).max()
    difference = np.abs(bias + own.sum(axis=1) - np.reshape(predicted, (len(own), -1))).max()
    if not difference <= _AGREES * scale:
        raise ValueError(
            f"Bias and contributions differ by up to {difference:.3g} from what {name} predicts: {otherwise}"
        )


def _rows_of(X: Any, rows: np.ndarray) -> Any:
    """Some rows of any kind of table."""
    X = X.tocsr() if hasattr(X, "tocsr") else X if hasattr(X, "shape") else np.asarray(X)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _kept(X: Any) -> Samples:
    """Rows as explanations keep them: data frames as they are, sparse matrices in CSR format."""
    if hasattr(X, "iloc"):
        return X
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)


def shown(value: Any, digits: int = 6) -> str:
    """Format a feature's value, which may be a string, a string of digits, or any missing value of data frames."""
    if pd.isna(value):
        return "nan"
    try:
        return f"{float(value):.{digits}g}"
    except (TypeError, ValueError):
        return str(value)


def _number(label: object) -> Any:
    """Value of a label that is a number, or a text that reads as a number; None for words, also "nan" and "inf"."""
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
    """Bring contributions into the public shape (n, n_features, n_outputs)."""
    return flat.reshape(len(flat), n_outputs, -1).transpose(0, 2, 1).copy(order="C")


def _add_up(bias: np.ndarray, contributions: np.ndarray, prediction: np.ndarray, vector_dtype: str) -> None:
    """Spread the rounding error of vectors over the features that a row uses (as Eq. 24), so that sums are exact."""
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


def _unwrapped(model: Any) -> tuple[list[Pipeline], Any]:
    """The steps before the model, if it is in a pipeline (or in pipelines in pipelines), and the model."""
    before = []
    while isinstance(model, Pipeline):
        if len(model.steps) > 1:
            before.append(model[:-1])
        model = model[-1]
    check_is_fitted(model)
    return before, model


def _through(before: list[Pipeline], X: MatrixLike) -> Any:
    """Rows as the steps before the model pass them on."""
    for steps in before:
        X = steps.transform(X)
    return X


def _names(before: list[Pipeline], model: Any) -> list[str]:
    """Names of the features: the model's own, else those that the steps before it give, else x0, x1, ..."""
    names = None
    for steps in before:
        try:
            names = steps.get_feature_names_out(names)
        except (AttributeError, ValueError):  # a step without names of what it returns
            names = None
    names = getattr(model, "feature_names_in_", names)
    return [f"x{k}" for k in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def _explain_theirs(forest: TheirForest, X: Any, names: list[str], n_jobs: int | None) -> Explanation:
    """Explain a forest of scikit-learn by its decision paths."""
    tables, classes = tables_of(forest), getattr(forest, "classes_", None)
    contributions = _by_feature(tables.contributions(leaves_of(forest, X), n_jobs), tables.value.shape[1])
    bias = tables.value[tables.offsets[:-1]].mean(axis=0)
    kind, name = type(forest).__name__, "predict" if classes is None else "predict_proba"
    prediction = np.reshape(getattr(forest, name)(X), (len(contributions), -1))
    _check_agreement(
        *(bias, contributions, prediction, np.asarray, f"{kind}.{name}"),
        f"{kind} does not predict the mean of its trees, and cannot be explained.",
    )
    _add_up(bias, contributions, prediction, "float64")
    outputs = ["prediction"] if classes is None else [str(label) for label in classes]
    return Explanation(bias, contributions, prediction, names, outputs, _kept(X), classes)


def explain(
    model: Forest | ExplainableCascade | TheirForest | Pipeline,
    X: MatrixLike,
    X_train: MatrixLike | None = None,
    y_train: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    layer: int | None = None,
    calibration: str = "partial",
    node_rows: str | None = None,
    preset: str = "paper",
    n_jobs: int | None = None,
) -> Explanation:
    """Explain predictions of a forest or cascade by the original features.

    An `Explainer` that is kept explains other rows of the same model much faster, since it keeps leaf tables.

    Parameters
    ----------
    model : estimator
        As in `Explainer`; or a `RandomForestClassifier`, `RandomForestRegressor`, `ExtraTreesClassifier` or
        `ExtraTreesRegressor` of scikit-learn with one output, alone or as the last step of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain.
    X_train, y_train, sample_weight : optional
        Training data of the model; required if the model was pickled. A forest of scikit-learn needs none.
    layer : int, optional
        As in `Explainer.explain`.
    calibration, node_rows, preset, n_jobs
        As in `Explainer`. The first three make no difference to forests.

    Returns
    -------
    Explanation
        ``bias + contributions.sum(axis=1)`` is ``model.predict_proba(X)``, in regression ``model.predict(X)``.

    Raises
    ------
    ValueError, TypeError
        As `Explainer` and `Explainer.explain`. For a forest of scikit-learn: if it has several outputs, if training
        data are given, or if a subclass does not predict the mean of its trees.

    Notes
    -----
    Contributions in forests of scikit-learn are those of the package treeinterpreter.
    """
    before, last = _unwrapped(model)
    if isinstance(last, TheirForest):
        given = {"X_train": X_train, "y_train": y_train, "sample_weight": sample_weight}
        for name in (name for name, value in given.items() if value is not None):
            raise ValueError(f"{name} is given, but nodes of scikit-learn's forests hold what is needed; leave it out.")
        if layer not in (None, 1):
            raise ValueError(f"layer is {layer!r}, but a forest has one layer; leave it out.")
        check_jobs(n_jobs)
        return _explain_theirs(last, _through(before, X), _names(before, last), n_jobs)
    return Explainer(
        model, X_train, y_train, sample_weight,
        calibration=calibration, node_rows=node_rows, preset=preset, n_jobs=n_jobs, max_table_mib=0,
    ).explain(X, layer)  # fmt: skip
