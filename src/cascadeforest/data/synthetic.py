"""Synthetic data sets of the papers. A function returns the same table for the same arguments.

Where a paper leaves something open, the docstring says what is ours. All options have the papers' values as defaults.
Features are float32, as they are stored, and targets computed from them: each target is exactly the function of the row
that a model sees. Responses are rounded to 12 decimals, since the last bits of a sine depend on the machine.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from cascadeforest.data.parsed import Parsed

GRID = 50  # points a side of the test grids: step 0.02
#: What a response is the sum of: features, counted from 0, and a function of their values. Features are independent and
#: uniform on [0, 1). Each function has mean 0 if one of its features is uniform and the other ones are held fixed, so
#: that these are the terms of the functional ANOVA of the response, of which `true_contributions` is made.
TERMS: Mapping[str, Mapping[tuple[int, ...], Callable[..., np.ndarray]]] = MappingProxyType(
    {
        "sincos": {
            (0,): lambda x: np.sin(2 * np.pi * x),
            (1,): lambda x: np.cos(2 * np.pi * x),
        },
        "planted_additive": {
            (0,): lambda x: 2 * (2 * x - 1),
            (1,): lambda x: np.where(x < 0.5, -1.0, 1.0),
            (2,): lambda x: 3 * (2 * x - 1) ** 2 - 1,
        },
        "planted_interaction": {
            (0,): lambda x: 2 * x - 1,
            (1, 2): lambda x, z: 2 * (2 * x - 1) * (2 * z - 1),
        },
        "planted_xor": {  # probability of class `same` minus one half
            (0, 1): lambda x, z: np.where((x < 0.5) == (z < 0.5), 0.5, -0.5),
        },
    }
)


def hidf_circles(n_samples: int = 10_000, n_noise: int = 500, seed: int = 42) -> Parsed:
    """Two concentric rings among noise, as in the released hiDF code and in Figs. 2 and 3 of the hiDF paper.

    Parameters
    ----------
    n_samples : int
        Rows.
    n_noise : int
        Columns of uniform noise on [-0.5, 0.5).
    seed : int
        `random_state` of `make_circles`; the noise has the next one (the released code leaves its seed open: ours).
    """
    from sklearn.datasets import make_circles

    points, y = make_circles(n_samples, factor=0.35, noise=0.05, random_state=seed)
    noise = np.random.default_rng(seed + 1).uniform(-0.5, 0.5, (n_samples, n_noise))
    return Parsed(
        np.hstack([points, noise]),
        np.where(y == 1, "inner", "outer"),
        _names(2, n_noise),
        raw_features=2 + n_noise,
    )


def hidf_sphere(n_samples: int = 10_000, n_noise: int = 500, seed: int = 42) -> Parsed:
    """Standard Gaussian on the plane, split by a circle, among noise: hiDF's text (section III.A).

    The radius is the median distance from the origin, sqrt(2 ln 2), so that the classes are balanced; radius and the
    range of the noise, [-0.5, 0.5) as in the released code, are ours.

    Parameters
    ----------
    n_samples, n_noise : int
        Rows, and columns of noise.
    seed : int
        Seed of everything.
    """
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((n_samples, 2), dtype=np.float32)
    inside = (points.astype(np.float64) ** 2).sum(axis=1) < 2 * np.log(2)
    noise = generator.uniform(-0.5, 0.5, (n_samples, n_noise))
    return Parsed(
        np.hstack([points, noise]),
        np.where(inside, "inside", "outside"),
        _names(2, n_noise),
        raw_features=2 + n_noise,
    )


def sincos(n_train: int = 2_000, seed: int = 0) -> Parsed:
    """f(x) = sin 2πx₁ + cos 2πx₂ without noise (interp, Eq. 34).

    Training rows are uniform on the unit square, the 2,500 test rows a grid; domain and grid are ours.

    Parameters
    ----------
    n_train : int
        Training rows.
    seed : int
        Seed of the training rows.
    """
    X = np.vstack([np.random.default_rng(seed).random((n_train, 2), dtype=np.float32), _grid()])
    return Parsed(X, _response("sincos", X), _names(2, 0), given_test=_given(n_train, GRID**2), raw_features=2)


def three_class(n_train: int = 200, n_noise: int = 100, seed: int = 42) -> Parsed:
    """Class 1 if x₁ < 0.5, else class 2 if x₂ > 0.5, else class 3, among uniform noise (interp, section 6.1, Fig. 4).

    Training rows are uniform on the unit cube. The 2,500 test rows are a grid of step 0.02 in the two relevant
    features, with fresh noise in the others. With the default arguments they are the rows that the released code draws
    in its example, whose class shares are those printed as bias in Table 2 (0.46, 0.24, 0.30).

    Parameters
    ----------
    n_train : int
        Training rows.
    n_noise : int
        Irrelevant features.
    seed : int
        Seed of everything.
    """
    # numpy's old generator, as in the example: its stream never changes.
    generator = np.random.RandomState(seed)
    train = generator.random_sample((n_train, 2 + n_noise))
    # There x₁ varies fastest along the grid, here x₂ does.
    noise = generator.random_sample((GRID, GRID, n_noise)).swapaxes(0, 1).reshape(-1, n_noise)
    X = np.vstack([train, np.hstack([_grid(), noise])]).astype(np.float32)
    y = np.where(X[:, 0] < 0.5, 1, np.where(X[:, 1] > 0.5, 2, 3))
    return Parsed(X, y, _names(2, n_noise), given_test=_given(n_train, GRID**2), raw_features=2 + n_noise)


def linear_sum(n_train: int = 10_000, n_test: int = 1_000, n_features: int = 12, seed: int = 0) -> Parsed:
    """f(x) = Σ k·x_k (interp, Eq. 35); K = 12 as in Fig. 5b, x uniform on [0, 1), no noise (ours).

    The paper has 1,000 training rows. Each repeat draws 1,000 of ten times as many rows (variant
    ``linear_sum+train-0.1``), since the order of two neighbouring importances depends on the draw.

    Parameters
    ----------
    n_train, n_test, n_features : int
        Rows of the two parts, and K.
    seed : int
        Seed of the rows.
    """
    X = _uniform(n_train + n_test, n_features, seed)
    y = np.round((X * np.arange(1.0, n_features + 1)).sum(axis=1), 12)
    return Parsed(X, y, _names(n_features, 0), given_test=_given(n_train, n_test), raw_features=n_features)


def planted_additive(n_train: int = 10_000, n_test: int = 1_000, n_noise: int = 3, seed: int = 0) -> Parsed:
    """f(x) = 2z₁ + sign z₂ + 3z₃² - 1 with z = 2x - 1, x uniform on [0, 1), among uniform noise; no error (ours).

    Parameters
    ----------
    n_train, n_test, n_noise : int
        Rows of the two parts, and irrelevant features.
    seed : int
        Seed of the rows.
    """
    return _planted("planted_additive", n_train, n_test, n_noise, seed)


def planted_interaction(n_train: int = 10_000, n_test: int = 1_000, n_noise: int = 3, seed: int = 0) -> Parsed:
    """f(x) = z₁ + 2z₂z₃ with z = 2x - 1, x uniform on [0, 1), among uniform noise; no error (ours).

    Parameters
    ----------
    n_train, n_test, n_noise, seed : int
        As in `planted_additive`.
    """
    return _planted("planted_interaction", n_train, n_test, n_noise, seed)


def planted_xor(n_train: int = 10_000, n_test: int = 1_000, n_noise: int = 4, seed: int = 0) -> Parsed:
    """Class `same` if x₁ and x₂ lie on the same side of 1/2, else `different`; x uniform on [0, 1), among noise (ours).

    Parameters
    ----------
    n_train, n_test, n_noise, seed : int
        As in `planted_additive`.
    """
    parsed = _planted("planted_xor", n_train, n_test, n_noise, seed)
    return replace(parsed, y=np.where(parsed.y > 0, "same", "different"))


_MADE = (hidf_circles, hidf_sphere, sincos, three_class, linear_sum, planted_additive, planted_interaction, planted_xor)
GENERATORS = {function.__name__: function for function in _MADE}


def true_contributions(name: str, X: np.ndarray) -> np.ndarray:
    """Return what each feature contributes to the response of rows: the Shapley values of the planted function.

    For independent features a Shapley value is the sum of the ANOVA terms with the feature, each divided by its number
    of features (Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on Uncertainty Quantification, 2014,
    section 3): an additive function has its summands, an interaction is shared equally.

    Parameters
    ----------
    name : str
        One of `TERMS`.
    X : ndarray of shape (n, n_features)
        Rows with features on [0, 1).

    Returns
    -------
    ndarray of shape (n, n_features)
        Each row has the sum response minus mean response. The response of `planted_xor` is the probability of `same`,
        the last class. Irrelevant features have 0.
    """
    found = np.zeros(X.shape)
    for features, values in _terms(name, X):
        for feature in features:
            found[:, feature] += values / len(features)
    return np.round(found, 12)


def _terms(name: str, X: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    for features, term in TERMS[name].items():
        yield features, term(*(X[:, k].astype(np.float64) for k in features))


def _response(name: str, X: np.ndarray) -> np.ndarray:
    return np.round(sum(values for _, values in _terms(name, X)), 12)


def _planted(name: str, n_train: int, n_test: int, n_noise: int, seed: int) -> Parsed:
    """Uniform features and the response of `TERMS`; irrelevant features stand behind the relevant ones."""
    n_relevant = 1 + max(k for features in TERMS[name] for k in features)
    X = _uniform(n_train + n_test, n_relevant + n_noise, seed)
    names, given_test = _names(n_relevant, n_noise), _given(n_train, n_test)
    return Parsed(X, _response(name, X), names, given_test=given_test, raw_features=X.shape[1])


def _uniform(n: int, n_features: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((n, n_features), dtype=np.float32)


def _grid() -> np.ndarray:
    """Grid of step 1/50 on [0, 1)²; divided, not summed, so that 0.5 is 0.5."""
    steps = (np.arange(GRID) / GRID).astype(np.float32)
    return np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)


def _given(n_train: int, n_test: int) -> np.ndarray:
    return np.repeat([False, True], [n_train, n_test])


def _names(n_relevant: int, n_noise: int) -> list[str]:
    return [*(f"x{k}" for k in range(1, n_relevant + 1)), *(f"noise_{k}" for k in range(1, n_noise + 1))]
