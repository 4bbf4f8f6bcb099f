"""Which Python the job that tests with the newest one takes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "newest.py"


def _interpreter(path, prints, status=0):
    path.write_text(f"#!/bin/sh\necho {prints}\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.process(usual=True)
@pytest.mark.skipif(os.name == "nt", reason="scripts of a shell stand for interpreters")
def test_the_newest_that_runs_comes_first_and_stand_ins_do_not_count(tmp_path):
    if not SCRIPT.is_file():
        pytest.skip("a source distribution holds no jobs")
    this = "{} {}".format(*sys.version_info)
    newer = _interpreter(tmp_path / "newer", "99 0")
    newest = _interpreter(tmp_path / "newest", "99 1")
    names = [
        newer,
        _interpreter(tmp_path / "stand-in", "99 2", status=127),
        _interpreter(tmp_path / "old", "3 6"),
        _interpreter(tmp_path / "same", this),
        newest,
        str(tmp_path / "missing"),
    ]
    run = subprocess.run(
        [sys.executable, SCRIPT], input="\n".join(names), capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [newest, newer]
