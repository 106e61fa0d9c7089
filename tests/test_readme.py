"""The README's Python examples run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)


def test_there_are_examples():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_runs(block, capsys):
    exec(compile(block, "README.md", "exec"), {})  # the text of our own file
    scores = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert scores
    assert all(0.9 < score <= 1 for score in scores)
