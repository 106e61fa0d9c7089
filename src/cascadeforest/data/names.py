"""Names of variants, and seeds that are derived from names.

A module apart from the registry, so that a change of downloads or schemas does not change the digest of a cell's code.
numpy is not imported with the module.
"""

import hashlib
import re
from dataclasses import dataclass

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import canonical_json

# The forms of an operation in a variant id. `noise` and `smooth` change the stored table, and stand first, as they are
# applied first. The others are drawn anew in each repeat, after the split (`Dataset.split`), and never thin its test
# rows; `rest` takes others.
STORED_OPERATIONS = ("noise", "smooth")
REPEAT_OPERATIONS = ("negatives", "rows", "train", "rest", "imbalance", "irrelevant")
_GRAMMAR = {
    "rows": re.compile(r"rows-(?P<amount>[1-9]\d*)"),
    "noise": re.compile(r"noise-(?P<amount>[1-9]\d*)"),
    "smooth": re.compile(r"smooth-(?P<amount>[1-9]\d*)"),
    "negatives": re.compile(r"negatives-(?P<amount>[1-9]\d*)"),
    "train": re.compile(r"train-(?P<amount>0\.\d*[1-9]\d*)"),
    "rest": re.compile(r"rest-(?P<amount>0\.\d*[1-9]\d*)"),
    "imbalance": re.compile(r"imbalance-(?P<label>[A-Za-z0-9_.-]+)-(?P<amount>0(\.\d+)?)"),
    "irrelevant": re.compile(r"irrelevant"),
}
_FORMS = (
    "irrelevant, imbalance-<class>-<ratio>, train-<fraction>, rest-<fraction>, noise-<columns>, smooth-<pixels>, "
    "rows-<count>, negatives-<count>"
)


@dataclass(frozen=True)
class Operation:
    """One parsed operation of a variant id.

    Parameters
    ----------
    kind : str
        One of `STORED_OPERATIONS` and `REPEAT_OPERATIONS`.
    amount : float
        Rows, columns, pixels, fraction or ratio; 0 for ``irrelevant``.
    label : str
        Class name of ``imbalance``, else empty.
    """

    kind: str
    amount: float = 0
    label: str = ""

    @property
    def count(self) -> int:
        """Number of rows or columns."""
        return int(self.amount)

    @property
    def per_repeat(self) -> bool:
        """Whether the operation is drawn in each repeat."""
        return self.kind in REPEAT_OPERATIONS


def parse_variant(identifier: str) -> tuple[str, tuple[str, ...]]:
    """Split a variant id into the data set's name and its operations.

    Parameters
    ----------
    identifier : str
        For example ``mnist+rows-10000+imbalance-5-0.9``.

    Returns
    -------
    name : str
        Name of the data set file.
    operations : tuple of str
        The operations as written; empty for the data set itself.

    Raises
    ------
    ConfigError
        If the name has other characters than ``a-z0-9_`` or an operation is unknown, repeated or out of order.

    Examples
    --------
    >>> parse_variant("mnist+rows-10000+imbalance-5-0.9")
    ('mnist', ('rows-10000', 'imbalance-5-0.9'))
    """
    name, *operations = identifier.split("+")
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ConfigError(f"The data set name '{name}' in '{identifier}' may have only a-z, 0-9 and _.")
    parsed = [parse_operation(text, identifier) for text in operations]
    kinds = [operation.kind for operation in parsed]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise ConfigError(f"The variant '{identifier}' has the operation '{kind}' twice; keep one.")
    stored = [operation.per_repeat for operation in parsed]
    if stored != sorted(stored):
        raise ConfigError(
            f"In the variant '{identifier}', {' and '.join(STORED_OPERATIONS)} must stand before "
            f"{', '.join(REPEAT_OPERATIONS)}: the former change the stored table, the latter are drawn in each repeat."
        )
    return name, tuple(operations)


def parse_operation(text: str, identifier: str | None = None) -> Operation:
    """Parse one operation of a variant id.

    Parameters
    ----------
    text : str
        For example ``imbalance-5-0.9``.
    identifier : str, optional
        The whole variant id, for the message.

    Raises
    ------
    ConfigError
        If the text has none of the known forms.
    """
    for kind, pattern in _GRAMMAR.items():
        if match := pattern.fullmatch(text):
            fields = match.groupdict()
            return Operation(kind, float(fields.get("amount", 0)), fields.get("label", ""))
    place = f" in '{identifier}'" if identifier else ""
    raise ConfigError(
        f"The operation '{text}'{place} is unknown; the forms are {_FORMS} (0 < fraction < 1, 0 <= ratio < 1)."
    )


def seed_for(*parts: str | int, seed: int = 0) -> int:
    """Return the seed that belongs to named axes, for example ``seed_for("split", "adult", 3)``.

    The result depends only on the arguments, not on the order of computation, the number of cores or a resumed run.

    Parameters
    ----------
    *parts : str or int
        Names of the axes that the seed depends on.
    seed : int, default=0
        `seed` of ``config/config.yaml``. Each value gives other seeds for the same parts.

    Returns
    -------
    int
        In [0, 2**32), as scikit-learn's `random_state` takes it.
    """
    import numpy as np

    # 0 adds nothing, so that results from before there was this number keep their seeds. A list is no part by itself.
    address = [*parts, *([["seed", seed]] if seed else [])]
    entropy = int(hashlib.sha256(canonical_json(address).encode("utf-8")).hexdigest(), 16)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])
