"""Examples and tutorials: every public name is used by one, and stored figures are those shown.

The examples themselves run when the site is built.
"""

import ast
import csv
import re
from importlib import import_module
from pathlib import Path

import pytest

from sklearn_cvb.settings import Setting

pytestmark = pytest.mark.pages

FOLDER = Path(__file__).resolve().parents[2] / "doc"
EXAMPLES = sorted((FOLDER / "examples").rglob("plot_*.py"))
TUTORIALS = sorted((FOLDER / "tutorials").glob("plot_*.py"))
MODULES = [
    "sklearn_cvb",
    "sklearn_cvb.datasets",
    "sklearn_cvb.display",
    "sklearn_cvb.emissions",
    "sklearn_cvb.metrics",
    "sklearn_cvb.plotting",
    "sklearn_cvb.selection",
    "sklearn_cvb.store",
]


def _title(path):
    return path.relative_to(FOLDER).as_posix()


def _used(path):
    """Full names of what a file imports from the package and uses, or tells of in its text."""
    text = path.read_text(encoding="utf-8")
    told = set(re.findall(r":\w+:`~?(sklearn_cvb[\w.]*)`", text))
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn_cvb")
        for alias in node.names
    }
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return told | {full for name, full in imported.items() if name in names}


def test_there_are_many_examples_of_every_group():
    assert len(EXAMPLES) >= 24
    groups = [path.parent for path in (FOLDER / "examples").glob("*/GALLERY_HEADER.rst")]
    assert all(any(path.parent == group for path in EXAMPLES) for group in groups)
    assert len(TUTORIALS) >= 6


def _value(name):
    module, _, member = name.rpartition(".")
    return getattr(import_module(module), member)


def _is_setting(value):
    return isinstance(value, type) and issubclass(value, Setting)


@pytest.mark.pages(usual=True)
def test_every_public_name_is_used_by_an_example():
    # Some names are in two modules.
    used = {id(_value(name)) for path in [*EXAMPLES, *TUTORIALS] for name in _used(path)}
    public = [f"{name}.{member}" for name in MODULES for member in import_module(name).__all__]
    assert len(public) > 100
    # Objects that settings are made of have examples of their own, in the reference.
    others = [name for name in public if not _is_setting(_value(name))]
    assert [name for name in others if id(_value(name)) not in used] == []


@pytest.mark.parametrize("path", [*EXAMPLES, *TUTORIALS], ids=_title)
def test_names_that_an_example_tells_of_exist(path):
    for name in _used(path):
        assert _value(name) is not None, name


@pytest.mark.parametrize("path", EXAMPLES, ids=_title)
def test_an_example_asks_a_question_and_needs_no_corpus(path):
    text = path.read_text(encoding="utf-8")
    title, rule = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert title.endswith("?")
    assert rule == "=" * len(title)
    code = re.sub(r"^#.*$", "", text, flags=re.M)
    assert "fetch_" not in code.replace(ast.get_docstring(ast.parse(text)), "")


def test_figures_of_real_corpora_are_those_of_the_published_table():
    path = FOLDER / "examples" / "files" / "plot_real_corpora.py"
    shown = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Dict)
    }
    path = FOLDER / "published" / "tables" / "table1_accuracies.csv"
    with path.open(encoding="utf-8", newline="") as file:
        cells = [(first, rest) for first, *rest in csv.reader(file)]
    names, ours = cells[0][1], [row for row in cells[1:] if row[1][0] == "ours"]
    assert [int(first.replace(",", "")) for first, _ in ours] == shown["sentences"]
    for name, values in shown["accuracies"].items():
        column = names.index(name)
        assert [float(row[column].split()[0]) for _, row in ours] == values
