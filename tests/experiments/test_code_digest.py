"""Edits rerun what uses them: the digest follows imports, and ignores what does not change meaning."""

import pytest

from cascadeforest.experiments.code_digest import code_digest, defines, modules_used

FILES = {
    "__init__.py": "",
    "forest/__init__.py": "from cascadeforest.forest.grow import grow\n",
    "forest/grow.py": "def grow():\n    return 1\n",
    "cascade/__init__.py": "",
    "cascade/layer.py": "from cascadeforest.forest import grow\n",
    "cascade/margin.py": '"""mdDF."""\n\nfrom cascadeforest.cascade.layer import grow\n\nclass MDDF:\n    alpha = 1\n',
    "cascade/screening.py": "def fit():\n    from cascadeforest.cascade import layer\n\n    return layer\n",
    "forest/grow.c": '#include "nodes.h"\n/* Ours. */\nint grow(void) { return 1; }\n',
    "forest/nodes.h": "#define LEAF 7\n",
    "forest/walk.c": "int walk(void) { return 1; }\n",
    "explain.py": "import cascadeforest.cascade.margin as margin\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def edit(package, name, old, new):
    path = package / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_imports_are_followed_through_packages_functions_and_aliases(package):
    used = modules_used(["cascadeforest.explain"], package)
    assert set(used) == {
        "cascadeforest.explain",
        "cascadeforest.cascade.margin",
        "cascadeforest.cascade.layer",
        "cascadeforest.forest",  # imported by name for `grow`
        "cascadeforest.forest.grow",
    }
    assert "cascadeforest.cascade.layer" in modules_used(["cascadeforest.cascade.screening"], package)


def test_the_way_to_a_submodule_is_not_used_itself(package):
    edit(package, "cascade/__init__.py", "", "from cascadeforest.cascade.margin import MDDF\n")
    assert "cascadeforest.cascade.margin" not in modules_used(["cascadeforest.cascade.screening"], package)


@pytest.mark.parametrize(
    ("name", "old", "new", "changes_margin", "changes_screening"),
    [
        ("cascade/margin.py", "alpha = 1", "alpha = 2", True, False),
        ("cascade/layer.py", "grow\n", "grow\nx = 1\n", True, True),
        ("forest/grow.py", "return 1", "return 2", True, True),
        ("forest/grow.c", "return 1", "return 2", True, True),
        ("forest/nodes.h", "LEAF 7", "LEAF 8", True, True),
        ("forest/grow.c", "/* Ours. */\n", "", False, False),
        ("forest/walk.c", "return 1", "return 2", False, False),
        ("explain.py", "margin\n", "margin\nx = 1\n", False, False),
        ("cascade/margin.py", "alpha = 1", "alpha = 1  # chosen by hand", False, False),
        ("cascade/margin.py", "mdDF.", "Margin distribution deep forest.", False, False),
    ],
)
def test_an_edit_changes_the_digest_of_what_uses_it_and_of_nothing_else(
    package, name, old, new, changes_margin, changes_screening
):
    modules = ["cascadeforest.cascade.margin"], ["cascadeforest.cascade.screening"]
    before = [code_digest(module, package) for module in modules]
    edit(package, name, old, new)
    after = [code_digest(module, package) for module in modules]
    assert [a != b for a, b in zip(before, after, strict=True)] == [changes_margin, changes_screening]


def test_foreign_modules_do_not_count(package):
    assert modules_used(["sklearn.ensemble"], package) == {}


@pytest.mark.parametrize(
    ("target", "there"),
    [
        ("cascadeforest.cascade.margin:MDDF", True),
        ("cascadeforest.cascade.layer:grow", True),
        ("cascadeforest.cascade.margin:HiDF", False),
        ("cascadeforest.cascade.absent:MDDF", False),
        ("sklearn.ensemble:RandomForestClassifier", True),
    ],
)
def test_names_are_found_without_importing(package, target, there):
    assert defines(target, package) is there
