"""The README's commands and its example: as written, they work."""

import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import readme, readme_picture

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


def _links(text):
    return re.findall(r"\]\(([^)]+)\)", text)


def test_it_is_short():
    assert len(README.read_text(encoding="utf-8").split()) <= 700


def test_links_lead_to_pages_of_the_site_and_to_files():
    links = _links(README.read_text(encoding="utf-8"))
    urls = tomllib.loads((README.parent / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    site, source = urls["Documentation"] + "/", urls["Source"] + "/blob/main/"
    pages = [link.removeprefix(site) for link in links if link.startswith(site)]
    assert len(pages) >= 8
    for page in pages:
        assert (README.parent / "doc" / (page or "index.html")).with_suffix(".rst").is_file(), page
    for link in links:
        if not link.startswith(site):
            assert (README.parent / link.removeprefix(source)).is_file(), link


def test_an_index_shows_its_picture_once_it_has_the_account_s_name():
    text = (README.parent / "doc" / "maintainers.rst").read_text(encoding="utf-8")
    ((pattern, address),) = re.findall(r"sed -i 's\|(.*)\|(.*)\|' README\.md", text)
    shown = README.read_text(encoding="utf-8").replace(pattern, address)
    assert all(link.startswith("https://") for link in _links(shown))


def test_the_picture_is_small_and_has_the_shape_that_the_command_draws(tmp_path):
    from PIL import Image

    (name,) = re.findall(r"!\[[^]]+\]\((.*?\.png)\)", README.read_text(encoding="utf-8"))
    assert README.parent / name == readme_picture.PICTURE
    drawn = tmp_path / "readme.png"
    readme_picture.draw(readme_picture.found(), drawn)
    kept = np.asarray(Image.open(readme_picture.PICTURE).convert("L"), float)
    again = np.asarray(Image.open(drawn).convert("L"), float)
    assert readme_picture.PICTURE.stat().st_size < 60_000
    assert kept.shape == again.shape
    # Letters are drawn otherwise by other versions of matplotlib; what is drawn is the same.
    assert np.abs(kept - again).mean() < 8


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
    assert [len(_stored()[name]["rows"]) for name in readme.COMMANDS] == [5, 5]


def test_other_figures_change_the_block_and_nothing_else():
    text = README.read_text(encoding="utf-8")
    found = _stored()
    found["journal"]["rows"]["Gibbs"]["accuracy"] = "12.3 (0.45)"
    found["hmmlearn"]["plot_casino"] = "2.5e-04"
    changed = readme.replaced(text, found)
    assert "12.3 %" in changed
    assert "3 digits" in changed
    assert len(set(changed.splitlines()) - set(text.splitlines())) == 2


def test_times_of_a_quiet_machine_can_be_kept():
    before, found = _stored(), _stored()
    found["journal"]["rows"]["EM"] |= {"seconds": "98.76", "accuracy": "12.3 (0.45)"}
    kept = readme.with_seconds_of(before, found)["journal"]["rows"]["EM"]
    assert kept == before["journal"]["rows"]["EM"] | {"accuracy": "12.3 (0.45)"}


def test_how_far_hmmlearn_is_off_is_read():
    assert readme.differences("plot_casino: 4.1e-13\nother\nplot_a_b: 7.0e-09\n") == {
        "plot_casino": "4.1e-13",
        "plot_a_b": "7.0e-09",
    }


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
