"""The README's commands and its example: as written, they work."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks():
    return _BLOCK.findall(README.read_text(encoding="utf-8"))


def test_commands():
    commands = [code.strip() for language, code in _blocks() if not language]
    assert 'python -m pip install ".[demo]" && python -m sklearn_cvb' in commands
    assert 'python -m pip install ".[test]" && python -m pytest' in commands


def test_python_blocks_print_what_follows_them(capsys):
    blocks, n_run = _blocks(), 0
    for (language, code), (_, printed) in pairwise(blocks):
        if language == "python":
            exec(compile(code, str(README), "exec"), {})
            assert capsys.readouterr().out == printed
            n_run += 1
    assert n_run >= 1


def test_options_of_the_main_job_exist():
    from sklearn_cvb.__main__ import main

    usages = re.findall(r"python -m sklearn_cvb([^`\n]*)", README.read_text(encoding="utf-8"))
    assert any("--corpus wsj" in usage for usage in usages)
    for usage in usages:
        with pytest.raises(SystemExit, match=r"^0$"):
            main([*usage.split(), "--help"])
