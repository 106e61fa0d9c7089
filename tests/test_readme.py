"""The Python examples of the README and of docs/ run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)


DOCS = [
    pytest.param(block, id=f"{path.stem}-{i}")
    for path in sorted((ROOT / "docs").glob("*.md"))
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL))
]


def test_there_are_examples():
    assert BLOCKS
    assert DOCS


@pytest.mark.parametrize("block", DOCS)
def test_an_example_of_the_docs_runs(block):
    exec(compile(block, "docs", "exec"), {})


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_runs(block, capsys):
    exec(compile(block, "README.md", "exec"), {})  # the text of our own file
    scores = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert scores
    assert all(0.9 < score <= 1 for score in scores)
