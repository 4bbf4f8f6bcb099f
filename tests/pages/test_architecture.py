"""Architecture and extending: every folder is there, what they name exists, and they stay short."""

import ast
import re
from pathlib import Path

import pytest

from sklearn_cvb.emissions.emission import Family
from sklearn_cvb.learning.model import Learnable, Resumable, Samplable
from sklearn_cvb.learning.requirements import functions_of

pytestmark = pytest.mark.pages

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sklearn_cvb"
MAP, EXTENDING = (
    (ROOT / "doc" / f"{name}.rst").read_text(encoding="utf-8")
    for name in ("architecture", "extending")
)
PAGE = MAP + EXTENDING


def test_it_is_short_and_needs_few_words_of_its_own():
    assert max(len(MAP.split()), len(EXTENDING.split())) <= 1500
    words = MAP[MAP.index("Our own words") :]
    assert 0 < len(re.findall(r"^\w.*\n   \w", words, re.M)) <= 10


def test_what_an_algorithm_asks_of_a_model_is_told():
    begin = PAGE.index(".. csv-table:: Functions of ``Resumable``, ``Learnable`` and ``Samplable``")
    table = PAGE[begin : PAGE.index("Add an algorithm", begin)]
    asked = {*functions_of(Learnable), *functions_of(Samplable)}
    assert asked >= set(functions_of(Resumable))
    first = re.findall(r'^   "(``[^"]*)"', table, re.M)
    assert set(re.findall(r"``(\w+)``", " ".join(first))) == asked


def test_what_a_chain_asks_of_an_emission_is_told():
    begin = PAGE.index("Add an emission\n")
    section = PAGE[begin : PAGE.index("Add an engine\n", begin)]
    asked = {name for name in Family.__annotations__ if not name.startswith("n_")}
    assert len(asked) > 10
    assert set(re.findall(r"``(\w+)``", section)) >= asked | {"divergence"}


def test_code_that_the_page_shows_is_there():
    shown = re.findall(r"literalinclude:: (\S+)\n +:(pyobject|end-before): (.+)$", PAGE, re.M)
    assert len(shown) == PAGE.count("literalinclude::") >= 9
    for path, how, what in shown:
        text = (ROOT / "doc" / path).read_text(encoding="utf-8")
        if how == "end-before":
            assert f"\n{what}" in text, (path, what)
            continue
        body = ast.parse(text).body
        for name in what.split("."):
            found = [node.body for node in body if getattr(node, "name", None) == name]
            assert found, (path, what)
            body = found[0]


def test_every_module_is_on_the_map():
    listed = re.findall(r"^\.\. files:: (.+)$", PAGE, re.M)
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    folders = [path.parent.relative_to(PACKAGE).as_posix() for path in modules]
    assert sorted(" ".join(listed).split()) == sorted(set(folders))


@pytest.mark.pages(usual=True)
def test_files_that_the_page_names_exist():
    named = re.findall(r"``([\w/]+(?:/|\.py))``", PAGE)
    assert len(set(named)) > 15
    for name in named:
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name
