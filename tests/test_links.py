"""Links between the pages of the repository lead somewhere, and the pages are complete."""

import importlib.util
import re
from pathlib import Path

import pytest

import cascadeforest
from cascadeforest import plotting

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "config/*.md", "data/*.md", "reports/published/*.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\[[^]]*\]\(([^()\s]+)\)")


def prose(path):
    """A page without its code."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$|^    .*?$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def headings(path):
    """Names of the headings, as code hosts and the site make them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(path):
    for link in LINK.findall(prose(path)):
        if re.match(r"https?:", link):
            continue
        name, _, heading = link.partition("#")
        goal = (path.parent / name).resolve() if name else path
        if not goal.exists():
            yield f"{link}: no such file"
        elif heading and heading not in headings(goal):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_somewhere(page):
    assert list(broken(page)) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](page.md#one) [b](#two) [c](other.md) `[d](code.md)` [e](https://example.org)\n")
    assert list(broken(page)) == ["#two: no such heading", "other.md: no such file"]


def test_the_readme_is_one_screen_and_a_half():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


def test_every_page_of_docs_is_in_the_table_of_contents():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/**/*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert name == "index" or re.search(rf"^{name}$", index, re.MULTILINE), name


def test_the_reference_has_every_public_name():
    described = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/api/*.md"))
    names = {f"cascadeforest.{name}" for name in cascadeforest.__all__ if name != "__version__"}
    names |= {f"cascadeforest.plotting.{name}" for name in plotting.__all__}
    assert names == set(re.findall(r"^\.\. auto\w+:: (\S+)$", described, re.MULTILINE))


def test_no_text_installs_the_package_from_an_index():
    """It is not there."""
    texts = [path for path in ROOT.glob("src/**/*.py")] + PAGES + [ROOT / "profiles/slurm/config.yaml"]
    for path in texts:
        assert not re.search(r"pip install ['\"]?cascadeforest", path.read_text(encoding="utf-8")), path


@pytest.fixture(scope="module")
def check_site():
    specification = importlib.util.spec_from_file_location("check_site", ROOT / "docs/check_site.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_site_with_good_links_passes_and_names_its_first_page(check_site, tmp_path, capsys):
    (tmp_path / "a b.html").write_text('<h1 id="one">x</h1><a href="#one">1</a><img src="data:image/png;base64,AA">')
    (tmp_path / "style.css").write_text("")
    (tmp_path / "index.html").write_text(
        '<link href="style.css"><a href="a%20b.html#one">1</a> <a href="https://example.org">elsewhere</a>'
    )
    assert check_site.main(tmp_path, "index.html") == 0
    assert capsys.readouterr().out == f"The documentation: {(tmp_path / 'index.html').resolve().as_uri()}\n"


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ('<a href="none.html">', "none.html leads nowhere"),
        ('<a href="#none">', "#none: no such heading"),
        ('<img src="none.png">', "none.png leads nowhere"),
        ('<script src="https://cdn.example.org/x.js">', "loads https://cdn.example.org/x.js from another host"),
        ('<link href="//cdn.example.org/x.css">', "loads //cdn.example.org/x.css from another host"),
    ],
)
def test_a_site_with_a_broken_link_or_a_foreign_file_fails(check_site, tmp_path, capsys, tag, words):
    (tmp_path / "index.html").write_text(tag)
    assert check_site.main(tmp_path, "index.html") == 1
    assert words in capsys.readouterr().out


def test_a_site_without_its_first_page_fails(check_site, tmp_path, capsys):
    assert check_site.main(tmp_path, "index.html") == 1
    assert capsys.readouterr().out == f"{tmp_path / 'index.html'}: no such page\n"
