"""The architecture page: every file is on it, and fits visit the files that it lists."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import visits

from sklearn_cvb.learning.model import Model

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_cvb"
PAGE = (ROOT / "doc" / "architecture.rst").read_text(encoding="utf-8")
VISITED = visits.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def visited():
    script = [sys.executable, str(ROOT / "tests" / "visits.py")]
    done = subprocess.run(script, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_fits_visit_the_files_that_the_page_lists(visited):
    assert visits.page(visited) == VISITED, "python tests/visits.py --page writes those of now"
    assert ".. include:: visited_files.inc" in PAGE


def test_what_an_algorithm_asks_of_a_model_is_told():
    begin = PAGE.index(".. list-table:: Functions of ``Model``")
    table = PAGE[begin : PAGE.index("\n\nThe models:", begin)]
    asked = {name for name in {*vars(Model), *Model.__annotations__} if not name.startswith("_")}
    first = re.findall(r"^   \* - (``.*)$", table, re.M)
    assert set(re.findall(r"``(\w+)``", " ".join(first))) == asked


def test_every_module_is_on_the_map():
    listed = re.findall(r"^\.\. files:: (\S+)$", PAGE, re.M)
    folders = [path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    assert sorted(listed) == sorted(set(folders))


def test_files_that_the_page_names_exist():
    named = re.findall(r"``([\w/]+(?:/|\.py))``", PAGE + VISITED)
    assert len(set(named)) > 50
    for name in named:
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name
