"""Dataclasses to JSON and back: nothing is lost, and what does not fit is named with place, value and remedy."""

import dataclasses
import json
from collections import OrderedDict
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.typed_json import Json, from_json, to_json
from cascadeforest.experiments.plan import Plan
from cascadeforest.experiments.resolve import load_plan

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Leaf:
    size: int
    share: float = 0.5


@dataclasses.dataclass(frozen=True)
class Tree:
    """One field of each kind of annotation."""

    name: str
    leaves: tuple[Leaf, ...]
    by_name: dict[str, tuple[Leaf, ...]]
    kind: Literal["oak", "fir"] = "oak"
    pair: tuple[int, str] = (0, "")
    grows: bool = True
    root: Leaf | None = None
    number_or_text: int | str = 0
    anything: Json = None


TREE = {"name": "t", "leaves": [{"size": 1}], "by_name": {"a": []}}
LEAVES = st.builds(Leaf, st.integers(), st.integers() | st.floats(allow_nan=False, allow_infinity=False))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
TREES = st.builds(
    Tree,
    st.text(),
    st.lists(LEAVES, max_size=3).map(tuple),
    st.dictionaries(st.text(), st.lists(LEAVES, max_size=2).map(tuple), max_size=3),
    st.sampled_from(["oak", "fir"]),
    st.tuples(st.integers(), st.text()),
    st.booleans(),
    st.none() | LEAVES,
    st.integers() | st.text(),
    JSON,
)


@given(TREES)
def test_what_is_written_is_read_again(tree):
    """Also to the letter: 1 and 1.0 are equal, but not the same text and digest."""
    text = json.dumps(to_json(tree))
    again = from_json(Tree, json.loads(text), "tree")
    assert again == tree
    assert json.dumps(to_json(again)) == text


@pytest.mark.parametrize("suite", ["smoke", "quick", "standard", "paper"])
def test_a_plan_is_read_as_it_was_written(suite):
    plan = load_plan(ROOT, {"suite": suite})
    text = json.dumps(to_json(plan))
    again = from_json(Plan, json.loads(text), "plan.json")
    assert again == plan
    assert json.dumps(to_json(again)) == text


def test_defaults_are_taken_and_written():
    tree = from_json(Tree, TREE, "tree")
    assert tree == Tree("t", (Leaf(1, 0.5),), {"a": ()})
    assert to_json(tree) == {
        "name": "t",
        "leaves": [{"size": 1, "share": 0.5}],
        "by_name": {"a": []},
        "kind": "oak",
        "pair": [0, ""],
        "grows": True,
        "root": None,
        "number_or_text": 0,
        "anything": None,
    }


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (dict[str, int], {"a": 1}, {"a": 1}),
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (tuple[int, ...], [], ()),
        (int | None, None, None),
        (float, 3, 3),
        (dict[str, Leaf], OrderedDict(a={"size": 2}), {"a": Leaf(2)}),
    ],
)
def test_what_is_no_dataclass_can_be_read_too(kind, value, wanted):
    read = from_json(kind, value, "here")
    assert read == wanted
    assert type(read) is type(wanted)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": None}, "tree/name is None; it must be a text."),
        ({"name": 3}, "tree/name is 3; it must be a text."),
        ({"grows": 1}, "tree/grows is 1; it must be true or false."),
        ({"kind": "elm"}, "tree/kind is 'elm'; it must be one of oak, fir."),
        ({"kind": ["oak"]}, "tree/kind is ['oak']; it must be one of oak, fir."),
        ({"leaves": {"a": 1}}, "tree/leaves is {'a': 1}; it must be a list, each of it a mapping of size, share."),
        ({"leaves": "ab"}, "tree/leaves is 'ab'; it must be a list, each of it a mapping of size, share."),
        ({"leaves": [{"size": 1}, 2]}, "tree/leaves/1 is 2; it must be a mapping of size, share."),
        ({"leaves": [{"size": True}]}, "tree/leaves/0/size is True; it must be a whole number."),
        ({"leaves": [{"size": 1.0}]}, "tree/leaves/0/size is 1.0; it must be a whole number."),
        ({"leaves": [{"size": 1, "share": False}]}, "tree/leaves/0/share is False; it must be a number."),
        ({"leaves": [{"size": 1, "share": "1"}]}, "tree/leaves/0/share is '1'; it must be a number."),
        ({"leaves": [{}]}, "tree/leaves/0 lacks size."),
        ({"leaves": [{"size": 1, "colour": 2}]}, "tree/leaves/0 has colour; it can have size, share."),
        ({"by_name": {"a": [{"size": "x"}]}}, "tree/by_name/a/0/size is 'x'; it must be a whole number."),
        ({"by_name": {3: []}}, "tree/by_name is {3: []}; it must be a mapping of names, each to a list, each of it a "
         "mapping of size, share."),
        ({"pair": [1]}, "tree/pair is [1]; it must be a list of 2: a whole number, a text."),
        ({"pair": [1, "a", 2]}, "tree/pair is [1, 'a', 2]; it must be a list of 2: a whole number, a text."),
        ({"pair": ["a", 1]}, "tree/pair/0 is 'a'; it must be a whole number."),
        ({"root": {"size": "big"}}, "tree/root/size is 'big'; it must be a whole number."),
        ({"number_or_text": True}, "tree/number_or_text is True; it must be a whole number or a text."),
        ({"number_or_text": 1.5}, "tree/number_or_text is 1.5; it must be a whole number or a text."),
        ({"bark": 1, 2: 3}, "tree has bark, 2; it can have name, leaves, by_name, kind, pair, grows, root, "
         "number_or_text, anything."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_place_value_and_what_is_allowed(changes, message):
    with pytest.raises(ConfigError) as caught:
        from_json(Tree, TREE | changes, "tree")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"leaves": []}, "tree lacks name, by_name."),
        (
            [],
            "tree is []; it must be a mapping of name, leaves, by_name, kind, pair, grows, root, number_or_text, "
            "anything.",
        ),
    ],
)
def test_what_is_no_tree_is_named(value, message):
    with pytest.raises(ConfigError) as caught:
        from_json(Tree, value, "tree")
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [{1, 2}, Path("a"), Leaf, b"bytes", [Leaf(object())]])
def test_what_json_cannot_hold_is_not_written(value):
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        to_json(value)
