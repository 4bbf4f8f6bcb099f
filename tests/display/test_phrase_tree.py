"""Constituent trees to look at: places are read from the drawing."""

from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from nltk import Tree

from sklearn_cvb.display import PhraseTree
from sklearn_cvb.display.arcs import SIZES, width_of

BRACKETS = "(S (NP they) (VP (V saw) (NP (Det the) (N duck))))"
SVG = "{http://www.w3.org/2000/svg}"
TREES = [
    BRACKETS,
    "(S a)",
    "(A-VERY-LONG-LABEL (ANOTHER-LONG-LABEL (AND-ONE-MORE a) (AND-MORE-THAN-THAT b)) (C c))",
    "(S (A (B (C (D word)))) (E another-word))",
    "(S (A ) (B b))",
]


@pytest.mark.parametrize("brackets", TREES)
def test_no_line_crosses_a_text(brackets):
    drawing = PhraseTree(brackets).drawing()
    for stroke in drawing.strokes:
        points = [point for _, ends in stroke.steps for point in ends]
        for (a, y), (b, z) in pairwise(points):
            for text in drawing.texts:
                half, size = width_of(text.text) * SIZES[text.kind] / 2, SIZES[text.kind]
                beside = max(a, b) < text.x - half or text.x + half < min(a, b)
                above_or_below = min(y, z) > text.y + 0.7 * size or max(y, z) < text.y
                assert beside or above_or_below, text.text


@pytest.mark.parametrize("brackets", TREES)
def test_texts_of_a_level_do_not_touch_and_stay_inside(brackets):
    drawing = PhraseTree(brackets).drawing()
    boxes = []
    for text in drawing.texts:
        half = width_of(text.text) * SIZES[text.kind] / 2
        boxes.append((text.y, text.x - half, text.x + half))
        assert half <= text.x <= drawing.width - half
        assert drawing.bottom < text.y < drawing.top - 0.7
    for (y, first, last), (other, begin, end) in combinations(boxes, 2):
        assert y != other or last < begin or end < first


def test_words_are_in_order_on_one_line_and_lines_join_parents_and_children():
    drawing = PhraseTree(BRACKETS).drawing()
    words = [text for text in drawing.texts if text.kind == "word"]
    assert [word.text for word in words] == ["they", "saw", "the", "duck"]
    assert {word.y for word in words} == {0.0}
    assert [word.x for word in words] == sorted(word.x for word in words)
    assert len(drawing.strokes) == len(drawing.texts) - 1
    place = {(text.x, text.text) for text in drawing.texts}
    ends = [(stroke.steps[0][1][0], stroke.steps[-1][1][0]) for stroke in drawing.strokes]
    s = next(text for text in drawing.texts if text.text == "S")
    from_s = sorted(end for begin, end in ends if begin[0] == s.x and begin[1] > s.y - 1)
    assert [{name for x, name in place if x == end[0]} for end in from_s] == [
        {"NP", "they"},
        {"VP"},
    ]


def test_a_notebook_shows_a_picture_and_print_shows_brackets():
    tree = PhraseTree(Tree("S", ["<a>", Tree("B", ["c"])]))
    picture = ElementTree.fromstring(tree.to_svg())
    assert [text.text for text in picture.iter(f"{SVG}text")] == ["S", "<a>", "B", "c"]
    assert list(picture.iter(f"{SVG}polygon")) == []
    assert "<svg" in tree._repr_html_()
    assert str(tree) == "(S <a> (B c))"
    assert repr(tree) == "PhraseTree('(S <a> (B c))')"


@pytest.mark.parametrize("tree", [["S", "a"], None, 3])
def test_what_is_no_tree_is_refused(tree):
    with pytest.raises(TypeError, match=r"give an nltk\.Tree"):
        PhraseTree(tree)
