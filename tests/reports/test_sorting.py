"""The page's own script: what a click on a column's head does to the lines of a table."""

import re
import shutil
import subprocess

import pytest
from tests.reports.conftest import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEMPLATE = ROOT / "src/cascadeforest/reports/drawing/templates/index.html.j2"
CLICK = '<script>addEventListener("load", () => document.querySelectorAll("thead button")[1].click());</script>'

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def line(name, number, kind="reproduced"):
    return f'<tr class="{kind}"><th>{name}</th><td class="number">{number}</td></tr>'


def after_a_click(folder, *bodies):
    """Names of the lines, from top to bottom, after a click on the head of the numbers."""
    table = "".join(f"<tbody>{''.join(rows)}</tbody>" for rows in bodies)
    head = "<thead><tr><th>name</th><th>number</th></tr></thead>"
    script = re.search(r"<script>.*</script>", TEMPLATE.read_text(), re.DOTALL)[0]
    page = folder / "page.html"
    page.write_text(
        f'<details id="toc"></details><div class="scroll"><table>{head}{table}</table></div>{CLICK}{script}'
    )
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return re.findall(r"<tr class=.*?<th>(.*?)</th>", done.stdout)


def test_a_published_line_stays_behind_ours(tmp_path):
    """Also where other names give it another group, as for more rows than ours; averages stay below."""
    rows = [[line("a", 3)], [line("a, published", 1, "published")], [line("b", 2)], [line("mean", 0, "summary")]]
    assert after_a_click(tmp_path, *rows) == ["b", "a", "a, published", "mean"]


def test_within_groups_lines_sort_also_those_of_a_published_group(tmp_path):
    ours = [line("x", 3), line("x, published", 1, "published"), line("y", 2), line("z", "failed")]
    theirs = [line("p", 9, "published"), line("q", 8, "published")]
    assert after_a_click(tmp_path, ours, theirs) == ["y", "x", "x, published", "z", "q", "p"]
