"""The README's commands and its example: as written, they work."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import readme

pytestmark = pytest.mark.pages

README = Path(__file__).resolve().parents[2] / "README.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks():
    return _BLOCK.findall(README.read_text(encoding="utf-8"))


def test_commands():
    commands = [code.strip() for language, code in _blocks() if not language]
    assert 'python -m pip install ".[demo]" && python -m sklearn_cvb' in commands
    assert 'python -m pip install ".[test]" && python -m pytest' in commands


@pytest.mark.pages(usual=True)
def test_python_blocks_print_what_follows_them(capsys):
    blocks, n_run = _blocks(), 0
    for (language, code), (_, printed) in pairwise(blocks):
        if language == "python":
            exec(compile(code, str(README), "exec"), {})
            assert capsys.readouterr().out == printed
            n_run += 1
    assert n_run >= 1


def test_it_is_short_and_its_links_lead_somewhere():
    text = README.read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all((README.parent / link).is_file() for link in links)


def test_options_of_the_main_job_exist():
    from sklearn_cvb.__main__ import main

    usages = re.findall(r"python -m sklearn_cvb([^`\n]*)", README.read_text(encoding="utf-8"))
    assert any("--corpus wsj" in usage for usage in usages)
    for usage in usages:
        with pytest.raises(SystemExit, match=r"^0$"):
            main([*usage.split(), "--help"])


def _stored():
    return json.loads(readme.FIGURES.read_text(encoding="utf-8"))


def test_figures_are_those_that_the_commands_printed():
    text = README.read_text(encoding="utf-8")
    assert readme.replaced(text, _stored()) == text
    assert readme.table(_stored()) == readme.TABLE.read_text(encoding="utf-8")
    paper = (README.parent / "doc" / "paper" / "paper.md").read_text(encoding="utf-8")
    for title, row in _stored()["journal"]["rows"].items():
        assert f"\n| {title} | {row['accuracy'].split()[0]} | {row['seconds']} |\n" in paper
    for command in readme.COMMANDS.values():
        assert f"`{' '.join(['python -m sklearn_cvb', *command])}`" in text
    assert [len(part["rows"]) for part in _stored().values()] == [5, 5]


def test_other_figures_change_the_block_and_nothing_else():
    text = README.read_text(encoding="utf-8")
    found = _stored()
    found["pocket English"]["rows"]["Gibbs"]["accuracy"] = "12.3 (0.45)"
    changed = readme.replaced(text, found)
    assert "| 12.3 (0.45) |" in changed
    assert len(set(changed.splitlines()) - set(text.splitlines())) == 1


@pytest.mark.process
def test_the_command_still_prints_a_part_of_the_figures(capsys, tmp_path):
    from sklearn_cvb.__main__ import main

    stored = _stored()["pocket English"]
    main(["--algorithms", "em,cvb-sequence", "--output", str(tmp_path / "curve.png")])
    found = readme.figures(capsys.readouterr().out)
    assert found["text"] == stored["text"]
    for title in ("EM", "CVB sequence"):
        accuracy, before = (
            float(part["rows"][title]["accuracy"].split()[0]) for part in (found, stored)
        )
        # Sums in another order may lead a few words elsewhere on other machines.
        assert accuracy == pytest.approx(before, abs=0.2)


def test_figures_are_read_beside_those_of_the_paper():
    lines = [
        "wsj: 1,000 sentences,",
        "23 tokens",
        "algorithm      accuracy % seconds     paper % known % unknown % perplexity",
        "EM            89.0 (0.23)    0.14  81.0 (1.2)    95.9      43.4        inf",
        "Gibbs         93.0 (0.45)    2.10  85.3 (0.5)    95.4      45.0    1,234.5",
        "EM tags this sentence",
    ]
    found = readme.figures("\n".join(lines))
    assert found["text"] == "wsj: 1,000 sentences, 23 tokens"
    assert list(found["rows"]) == ["EM", "Gibbs"]
    assert list(found["rows"]["EM"].values()) == ["89.0 (0.23)", "0.14", "95.9", "43.4", "inf"]
    assert found["rows"]["Gibbs"]["perplexity"] == "1,234.5"
