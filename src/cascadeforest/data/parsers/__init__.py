"""Parsers: from the files of one form of a data set to a `Parsed` table.

A data set file names one of `PARSERS` and its keyword arguments (`options`); the first argument maps the names of the
files to where they lie. Most tables need `table` or `libsvm` and options only; adding such a data set is writing one
file in ``config/datasets``.
"""

from collections.abc import Callable

from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.images import cifar10, idx
from cascadeforest.data.parsers.libsvm import libsvm
from cascadeforest.data.parsers.signals import semg
from cascadeforest.data.parsers.tables import table
from cascadeforest.data.parsers.text import imdb
from cascadeforest.data.parsers.uci import adult, bike, diabetes130, har, year

__all__ = [
    "PARSERS",
    "adult",
    "bike",
    "cifar10",
    "diabetes130",
    "har",
    "idx",
    "imdb",
    "libsvm",
    "semg",
    "table",
    "year",
]

PARSERS: dict[str, Callable[..., Parsed]] = {
    "adult": adult,
    "bike": bike,
    "cifar10": cifar10,
    "diabetes130": diabetes130,
    "har": har,
    "idx": idx,
    "imdb": imdb,
    "libsvm": libsvm,
    "semg": semg,
    "table": table,
    "year": year,
}
