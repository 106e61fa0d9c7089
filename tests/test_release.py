"""The files that state the version, the licence and the papers agree."""

import re
import tomllib
from pathlib import Path

import yaml

import cascadeforest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version_and_project():
    assert CITATION["version"] == cascadeforest.__version__
    assert CITATION["title"] == PROJECT["name"]
    assert CITATION["abstract"] == PROJECT["description"]
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["authors"] == PROJECT["authors"]
    assert CITATION["keywords"] == PROJECT["keywords"]


def test_the_citation_names_the_paper_of_each_model():
    papers = yaml.safe_load((ROOT / "config" / "papers.yaml").read_text(encoding="utf-8")).values()
    cited = {one["title"]: one for one in CITATION["references"]}
    for paper in papers:
        own = cited[paper["title"]]
        where = own.get("journal") or own["conference"]["name"]
        assert paper["source"] == f"{own['authors'][0]['family-names']} et al., {where} {own['year']}"
    assert len(cited) == len(papers) + 1  # and gcForest's


def test_the_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    number, date = re.findall(r"^## \[(\d.*)\] - (.*)$", text, flags=re.MULTILINE)[0]
    assert number == cascadeforest.__version__
    assert date == CITATION["date-released"].isoformat()
