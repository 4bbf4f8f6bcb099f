"""The architecture page: every file is on it, and fits visit the files that it lists."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import visits

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_cvb"
PAGE = (ROOT / "doc" / "architecture.rst").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def visited():
    script = [sys.executable, str(ROOT / "tests" / "visits.py")]
    done = subprocess.run(script, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_fits_visit_the_files_that_the_page_lists(visited):
    assert visits.rows(visited) in PAGE, "python tests/visits.py --page prints the rows of now"


def test_what_reads_and_loops_is_told(visited):
    for stages in visited.values():
        for name in (*stages["loop"], *stages["reads"]):
            assert f"``{name}``" in PAGE


def test_fits_do_not_visit_more_files_than_they_did(visited):
    assert max(len(stages["sweeps"]) for stages in visited.values()) <= 14
    assert max(map(visits.n_files, visited.values())) <= 26


def test_every_module_is_on_the_map():
    listed = re.findall(r"^\.\. files:: (\S+)$", PAGE, re.M)
    folders = [path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    assert sorted(listed) == sorted(set(folders))


def test_files_that_the_page_names_exist():
    named = re.findall(r"``([\w/]+(?:/|\.py))``", PAGE)
    assert len(set(named)) > 50
    for name in named:
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name
