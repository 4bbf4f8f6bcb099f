"""The oldest versions that are allowed, and what the job that tests with them takes for them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sklearn_cvb

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "oldest.py"


@pytest.fixture(scope="module")
def oldest():
    """Versions by name, as the script prints them."""
    if not SCRIPT.is_file():
        pytest.skip("a source distribution holds no jobs")
    printed = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    lines = printed.stdout.splitlines()
    versions = dict(line.split("==") for line in lines)
    assert len(versions) == len(lines), "a package has two oldest versions"
    return versions


@pytest.mark.process(usual=True)
def test_every_dependency_has_an_oldest_version(oldest):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    assert {f"{name}>={version}" for name, version in oldest.items()} == {
        requirement for group in groups for requirement in group
    }


def test_the_conda_recipe_asks_for_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "doc" / "release" / "recipe.yaml").read_text(encoding="utf-8")
    versions = dict(re.findall(r'^  (\w+): "([\d.]+)"$', recipe, re.M))
    assert versions["version"] == sklearn_cvb.__version__
    assert f">={versions['python_min']}" == project["requires-python"]
    run = recipe[recipe.index("\n  run:\n") : recipe.index("\ntests:\n")]
    listed = re.findall(r"^    - (\S+) (>=\S+)$", run, re.M)
    python = "python>=${{ python_min }}"
    assert python in run.replace(" >=", ">=")
    assert ["".join(parts) for parts in listed] == project["dependencies"]


def test_versions_that_are_broken_or_withdrawn_are_not_allowed(oldest):
    """NLTK 3.9 fails on import, pandas 2.2.0 with numpy 2, and another was withdrawn."""

    def version(name):
        return tuple(map(int, oldest[name].split(".")))

    assert version("nltk") >= (3, 9, 1)
    assert version("pandas") >= (2, 2, 2)
    assert version("pytest-xdist") >= (3, 6, 1)


def test_the_metadata_names_versions_of_python_that_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    jobs = ROOT / ".github" / "workflows" / "tests.yml"
    if not jobs.is_file():
        pytest.skip("a source distribution holds no jobs")
    (matrix,) = re.findall(r"^ +python: \[(.*)\]$", jobs.read_text(encoding="utf-8"), re.M)
    named = re.findall(r":: Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert f">={named[0]}" == project["requires-python"]
    assert {f'"{version}"' for version in named} <= {*matrix.split(", ")}
