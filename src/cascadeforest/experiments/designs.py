"""What varies from repeat to repeat of a data set, and so decides how far a difference of two models reaches."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from cascadeforest.data.names import parse_operation, parse_variant

#: given: seeds of the models, on the same training and test rows; folds: the folds of a cross-validation; splits: a
#: part of the rows is drawn for testing in each; draws: as few training rows are drawn that draws hardly overlap;
#: made: training and test rows are made anew.
Design: TypeAlias = Literal["given", "folds", "splits", "draws", "made"]
#: Training draws of at most this share of the rows that they are drawn from hardly overlap.
SMALL_DRAW: Final = 0.2


def design_of(variant: str, dataset: Mapping[str, Any]) -> Design:
    """Return the design of the repeats of a data set variant.

    Parameters
    ----------
    variant : str
        Id of the variant, for example ``pendigits+train-0.1``.
    dataset : mapping
        Content of the data set's file, of which `protocol` and `expected` count.

    Examples
    --------
    >>> design_of("pendigits+train-0.1", {"protocol": {"kind": "given", "repeats": 10}})
    'draws'
    """
    protocol = dataset["protocol"]
    kind, is_split = protocol["kind"], protocol.get("seed") in ("per_repeat", "per_split")
    if kind == "made":
        return "made"
    if kind == "cv":
        return "folds"
    share = _training_share(protocol, dataset.get("expected", {}).get("rows")) if is_split else 1.0
    for operation in map(parse_operation, parse_variant(variant)[1]):
        share *= operation.amount if operation.kind in ("train", "rest") else 1.0
    if share <= SMALL_DRAW:
        return "draws"
    return "splits" if is_split else "given"


def _training_share(protocol: Mapping[str, Any], n_rows: int | None) -> float:
    """Share of the rows that a random split trains on."""

    def share(key: str) -> float:
        size = protocol.get(key, 0.0)
        return size if isinstance(size, float) else size / n_rows if n_rows else 0.0

    if "train_size" in protocol:
        # Without an expected number of rows a number says no share; it is then taken for a usual split.
        return share("train_size") or 1.0
    return 1.0 - share("test_size") - share("validation_size")
