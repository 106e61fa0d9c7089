"""The Python examples of the README and of docs/ run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def examples(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


BLOCKS = examples("README.md")
#: Each example of a page stands alone, but for the guide, which reads from top to bottom.
DOCS = [pytest.param("\n".join(examples("docs/guide.md")), id="guide")] + [
    pytest.param(block, id=f"{path.stem}-{i}")
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.stem != "guide"
    for i, block in enumerate(examples(path))
]


def test_there_are_examples():
    assert BLOCKS
    assert len(examples("docs/guide.md")) > 5
    assert len(DOCS) > 5


@pytest.mark.parametrize("block", DOCS)
def test_an_example_of_the_docs_runs(block):
    exec(compile(block, "docs", "exec"), {})


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_runs(block, capsys):
    exec(compile(block, "README.md", "exec"), {})  # the text of our own file
    forest, deep_forest, sums = map(float, re.findall(r"accuracy (\d\.\d+)", capsys.readouterr().out))
    assert 0.8 < forest < deep_forest - 0.02  # what the text below it says
    assert sums == deep_forest
