"""Experiments need no tests beside them: the folder of the benchmarks runs alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks
import sklearn_cvb
from benchmarks.published.catalogue import EXPERIMENTS

IMPORTED = f"""
import sys
from importlib import import_module
for name in {list(EXPERIMENTS)}:
    import_module("benchmarks.published." + name)
print(sys.modules["benchmarks"].__file__)
"""


@pytest.mark.process
def test_experiments_run_without_the_tests(tmp_path):
    folder = Path(benchmarks.__file__).parent
    left_out = shutil.ignore_patterns("tests", "__pycache__")
    shutil.copytree(folder, tmp_path / "benchmarks", ignore=left_out)
    package = Path(sklearn_cvb.__file__).parents[1]
    places = os.pathsep.join([str(tmp_path), str(package)])
    environment = os.environ | {"PYTHONPATH": places, "MPLBACKEND": "Agg"}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert run("-c", IMPORTED).strip() == str(tmp_path / "benchmarks" / "__init__.py")
    listed = run("-m", "benchmarks.published", "--list")
    assert [line.split()[0] for line in listed.splitlines()] == list(EXPERIMENTS)
    run("-m", "benchmarks.published", "mean_field", "--quick", "--output", "found")
    assert (tmp_path / "found" / "mean_field_errors.csv").exists()
