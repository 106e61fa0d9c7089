"""How Sphinx builds the site of `make docs`: the pages of docs/, the docstrings, and notebooks that it executes.

The source folder is the root of the repository, so that links such as ``../benchmarks/README.md`` lead to the same page
on the site as in the repository.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from cascadeforest import __version__

project = "cascadeforest"
copyright = "the cascadeforest developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/api/*.md",
    "docs/papers/*.md",
    "docs/gallery/*.rst",
    "benchmarks/*.md",
    "config/README.md",
    "data/README.md",
    "reports/published/README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = ["docs/notebooks", "site", "results", ".venv", ".snakemake"]

# Links to headings are those that code hosts make.
myst_heading_anchors = 4
# `name` in a docstring is code.
default_role = "code"
smartquotes = False  # "k_fold" is to be typed as it is

autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's sections say more
napoleon_google_docstring = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "docs/notebooks",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": "",  # every notebook is executed
    "run_stale_examples": True,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "alabaster"
html_theme_options = {
    "description": "Deep forests in one place",
    "page_width": "72rem",
    "body_max_width": "none",
    "sidebar_width": "16rem",
    "code_font_size": "0.8em",
    "fixed_sidebar": True,
    "show_powered_by": False,
    "show_relbars": True,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["tables.css"]
html_show_sourcelink = False


def _skip(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: `score`, `set_params`, `set_score_request`, ..."""
    return True if str(getattr(member, "__module__", "")).startswith("sklearn.") else None


def _adapt(app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Make reStructuredText of numpydoc: names that end in _ are no links, and references are a list."""
    for i, line in enumerate(lines):
        names, colon, kind = line.rpartition(" : ")
        if re.match(r"[\w, ]+$", names) or re.match("ndarray|list", kind):
            lines[i] = names + colon + re.sub(r"(?<=\w)_(?=[,) ])", r"\\_", kind)
        else:
            lines[i] = re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", line)


def _lead_to_what_was_built(app: Sphinx, page: str, content: list[str]) -> None:
    """On the site, links to the source of a notebook lead to the executed one, those to stored tables to their page."""
    content[0] = re.sub(r"\]\(notebooks/(\w+)\.py\)", r"](gallery/\1.rst)", content[0])
    suite = "../" * page.count("/") + "standard/index.html"  # `make docs` draws it when Sphinx is done
    for name, anchor in (("claims", "verdicts"), (r"([\w-]+)", r"\2")):
        link = rf"\[([^]]+)\]\([./]+/reports/standard/tables/{name}\.md\)"
        content[0] = re.sub(link, rf'<a href="{suite}#{anchor}">\1</a>', content[0])


def setup(app: Sphinx) -> None:
    """Connect what this file defines."""
    app.connect("autodoc-process-docstring", _adapt, priority=400)  # before napoleon
    app.connect("source-read", _lead_to_what_was_built)
    app.connect("autodoc-skip-member", _skip)
