"""Links as circles, gold ones as squares: the same in SVG and on a terminal."""

import doctest
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sklearn_cvb.display import AlignedSentences

SVG = "{http://www.w3.org/2000/svg}"
SOURCE, TARGET = ["the", "green", "house"], ["la", "casa", "<verde>"]
POSTERIORS = np.array([[0.9, 0, 0, 0.1], [0, 0.25, 0.75, 0], [0, 0.3, 0.001, 0.699]])
GOLD = [(0, 0), (2, 1), (1, 2)]


def picture(**keywords):
    return AlignedSentences(SOURCE, TARGET, POSTERIORS, **keywords)


def test_areas_are_posteriors():
    circles = picture().circles()
    assert [circle[:2] for circle in circles] == [(0, 0), (1, 1), (2, 1), (1, 2)]
    areas = np.array([circle.radius**2 for circle in circles])
    np.testing.assert_allclose(areas / areas[0], np.array([0.9, 0.25, 0.75, 0.3]) / 0.9)
    assert max(circle.radius for circle in circles) < 0.5


def test_svg_has_circles_squares_and_words():
    aligned = picture(gold=GOLD)
    for text in (aligned.to_svg(), aligned._repr_html_()):
        root = ElementTree.fromstring(text)
        assert [part.text for part in root.iter(f"{SVG}text")] == SOURCE + TARGET
        assert len(list(root.iter(f"{SVG}circle"))) == 4
        assert len(list(root.iter(f"{SVG}rect"))) == 3
        (title,) = root.iter(f"{SVG}title")
        assert title.text == "Alignment: la ← the, casa ← house, <verde> ← none"
    assert "<style>" in aligned.to_svg()
    assert "<style>" not in aligned._repr_html_()
    assert "<rect" not in picture().to_svg()


def test_text_names_what_is_wrong():
    lines = str(picture(gold=GOLD)).splitlines()
    assert lines == [
        "la      ← the    0.90",
        "casa    ← house  0.75",
        "<verde> ← (none) 0.70  gold: green",
    ]
    wrong = str(picture(gold=[(0, 0), (-1, 1)])).splitlines()
    assert wrong[1].endswith("gold: (none)")
    assert not wrong[2].endswith("gold: (none)")


@pytest.mark.parametrize("links", [[0, 2, -1], [(0, 0), (2, 1)], {(2, 1), (0, 0)}])
def test_links_and_positions_are_certain(links):
    expected = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert np.array_equal(AlignedSentences(SOURCE, TARGET, links).posteriors, expected)


def test_bad_arguments():
    for arguments, error, message in (
        (("the house", TARGET, [0, 1, 2]), TypeError, "source is 'the house'"),
        ((SOURCE, [], []), ValueError, "target is empty"),
        ((SOURCE, TARGET, POSTERIORS[:2]), ValueError, "links has shape (2, 4) instead of (3, 4)"),
        ((SOURCE, TARGET, 2 * POSTERIORS), ValueError, "links holds numbers that are no prob"),
        ((SOURCE, TARGET, [0, 3, 1]), ValueError, "links holds the link (3, 1)"),
        ((SOURCE, TARGET, "0-0"), TypeError, "links is '0-0'"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            AlignedSentences(*arguments)
    with pytest.raises(ValueError, match=r"gold holds the link \(0, 7\)"):
        picture(gold=[(0, 7)])


def test_words_that_stand_there_twice_have_positions():
    text = str(AlignedSentences(["a", "b", "a"], ["x", "y"], [2, 1], gold=[(0, 0)]))
    assert text.splitlines() == ["x ← a[2] 1.00  gold: a[0]", "y ← b    1.00  gold: (none)"]


def test_the_picture_of_the_documentation_is_of_its_example():
    """`SKLEARN_CVB_PICTURES=1` writes it anew."""
    doc = Path(__file__).resolve().parents[2] / "doc"
    page = (doc / "alignment.rst").read_text(encoding="utf-8")
    names = {}
    exec(doctest.script_from_examples(page[: page.index(".. image::")]), names)
    picture = doc / "images" / "alignment_example.svg"
    if os.environ.get("SKLEARN_CVB_PICTURES"):
        picture.write_text(names["aligned"].to_svg() + "\n", encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == names["aligned"].to_svg() + "\n"
