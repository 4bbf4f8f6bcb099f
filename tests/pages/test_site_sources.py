"""What the site computes while it is built, and what it repeats: figures, versions."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import sklearn_cvb

pytestmark = pytest.mark.pages

ROOT = Path(__file__).resolve().parents[2]
DOC = ROOT / "doc"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _extensions(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.setattr(sys, "path", [*sys.path, str(DOC / "extensions")])


def test_the_picture_of_alpha_shows_what_its_page_says(monkeypatch):
    import toy_posterior

    alphas = np.array([0.01, 0.1, 1.0, 10.0])
    monkeypatch.setattr(toy_posterior, "ALPHAS", alphas)
    data = toy_posterior.beliefs()
    page = (DOC / "theory" / "leaving_out.rst").read_text("utf-8")
    assert f"{2 ** len(data['tokens'])}\nways" in page
    assert len(data["sentences"]) == 7
    exact, em, vb, token, sequence = np.array(data["errors"]).T
    assert (exact == 0).all()
    # The sequence update is off by 0.03 to 0.06 where VB is off by 0.1 to 0.4.
    assert 0.025 < sequence.min() <= sequence.max() < 0.065
    assert 0.095 < vb.min() <= vb.max() < 0.45
    assert (sequence < token).all()
    assert (token < em).all()
    assert (em < vb).all()
    verb = np.array(data["verb"])
    assert verb.shape == (4, 5, 7)
    # At a large alpha the truth leaves words open, and VB does not.
    assert np.abs(verb[-1, 0] - 0.5).max() < 0.15
    assert np.abs(verb[-1, 2] - 0.5).min() > 0.4


def test_the_figure_of_the_front_page_is_that_of_the_readme():
    import front_figure

    rows = json.loads(front_figure.FIGURES.read_text("utf-8"))["journal"]["rows"]
    picture = ElementTree.fromstring(front_figure.picture(rows))
    said = [text.text for text in picture.iter(f"{SVG}text")]
    assert "93.6 % in 0.10 s" in said
    assert [name for name in said if name in rows] == list(rows)
    dots = [float(dot.get("cx")) - front_figure.LEFT for dot in picture.iter(f"{SVG}circle")]
    shares = np.array([float(row["accuracy"].split()[0]) for row in rows.values()])
    np.testing.assert_allclose(dots, front_figure.BAR * (shares - 70) / 30, atol=0.06)


def test_pictures_of_the_front_page_show_what_its_code_finds():
    import front_pictures

    picture = ElementTree.fromstring(front_pictures.of_numbers(front_pictures.found_by("numbers")))
    bands = [(float(b.get("x")), float(b.get("width"))) for b in picture.iter(f"{SVG}rect")]
    assert bands == [(0.0, 190.0), (190.0, 190.0), (380.0, 190.0)]
    steps = [len(line.get("points").split()) for line in picture.iter(f"{SVG}polyline")]
    assert steps == [150, 140]


def test_rows_and_columns_of_measured_tables_are_chosen():
    from measured import chosen

    table = [["what", "n", "at 10, %"], ["a", "1", "5.0"], ["a, b", "1", "6.0"], ["a", "2", "7.0"]]
    assert chosen(table) == table
    assert chosen(table, where="n = 2") == [table[0], table[3]]
    found = chosen(table, where="n = 1", rows="both = a, b; a", columns="; 10 = at 10, %")
    assert found == [["", "10"], ["both", "6.0"], ["a", "5.0"]]
    assert chosen(table, rows="a, b", columns="; n")[1][1] == "1"
    with pytest.raises(KeyError, match="c"):
        chosen(table, rows="c")


def test_versions_to_cite_are_that_of_the_package():
    version = sklearn_cvb.__version__
    assert re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)[1] == version
    assert f"version = {{{version}}}" in (DOC / "index.rst").read_text("utf-8")
    for page in ("index", "install", "how_to/start_in_a_container"):
        wheels = re.findall(r"sklearn_cvb-(\S+)-py3", (DOC / f"{page}.rst").read_text("utf-8"))
        assert set(wheels) <= {version}, page


@pytest.mark.parametrize("path", sorted((DOC / "_inventories").iterdir()), ids=lambda p: p.name)
def test_inventories_can_be_read(path):
    from sphinx.util.inventory import InventoryFile

    found = InventoryFile.loads(path.read_bytes(), uri="https://other.project/").data
    lines = path.read_text("utf-8").splitlines()[3:]
    assert sum(map(len, found.values() if isinstance(found, dict) else [found])) >= len(lines) > 0
