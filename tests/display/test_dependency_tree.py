"""Dependency trees to look at: as text and as SVG; places are read from the drawing."""

import doctest
import os
import re
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sklearn_cvb.display import DependencyTree
from sklearn_cvb.display.arcs import COLOURS, SIZES, levels_of

WORDS, TAGS = ["she", "sees", "the", "cat"], ["PRON", "VERB", "DET", "NOUN"]
GOLD = [2, 0, 4, 2]
DOC = Path(__file__).resolve().parents[2] / "doc"
SVG = "{http://www.w3.org/2000/svg}"


def random_heads(rng, n):
    """Any heads, projective or not, with cycles, roots and unknown ones."""
    heads = rng.integers(-1, n + 1, n)
    return [None if head == t + 1 else int(head) for t, head in enumerate(heads)]


def random_tree(rng, first, last):
    """Heads of a projective tree over the tokens `first` to `last`, and its root."""
    if first > last:
        return {}, None
    root = int(rng.integers(first, last + 1))
    heads = {}
    for begin, end in ((first, root - 1), (root + 1, last)):
        found, child = random_tree(rng, begin, end)
        heads |= found
        if child is not None:
            heads[child] = root
    return heads, root


def projective(rng, n):
    heads, root = random_tree(rng, 1, n)
    return [heads.get(t, 0) for t in range(1, n + 1)], root


def box(text):
    """What a text covers, at least: the narrowest letters are not counted on."""
    size = SIZES[text.kind]
    return text.y - 0.25 * size, text.y + 0.75 * size


def segments(stroke):
    """Straight pieces between the points of a stroke, curves by their corners."""
    points = [point for _, ends in stroke.steps for point in ends]
    return list(pairwise(points))


def test_text_has_a_line_for_each_token():
    assert str(DependencyTree(WORDS, GOLD, tags=TAGS)).splitlines() == [
        "1   ┌─► she   PRON",
        "2 ┌─┴── sees  VERB  root",
        "3 │ ┌─► the   DET",
        "4 └─┴─► cat   NOUN",
    ]
    assert str(DependencyTree(["猫", "abc"], [-1, 0])).splitlines() == [
        "1  猫   head not known",
        "2  abc  root",
    ]


def test_text_names_gold_heads_and_counts():
    lines = str(DependencyTree(WORDS, [0, 0, 4, None], gold=[2, 0, None, 3])).splitlines()
    assert lines[0].endswith("root            wrong, gold: 2")
    assert lines[1].endswith("root")
    assert lines[2].endswith("the")
    assert lines[3].endswith("head not known  wrong, gold: 3")
    assert lines[4] == "1 of 3 heads right"


def read_text(text):
    """Heads that lines of text tell: follow each line from one end to the other."""
    rows = [line.split(" ", 1)[1] for line in text.splitlines()]
    down, up = set("┌├┬┼│┐┤"), set("└├┴┼│┘┤")
    spans = []
    for t, row in enumerate(rows):
        for x, cell in enumerate(row):
            if cell in down and cell != "│":
                end = t + 1
                while rows[end][x] == "│":
                    end += 1
                assert rows[end][x] in up
                spans.append((t + 1, end + 1))
    children = [t for t, row in enumerate(rows, 1) if "►" in row]
    return spans, children


def test_lines_of_text_join_heads_and_children():
    """No two arcs share a line, so that joined tokens can be read off, also in a chain."""
    rng = np.random.default_rng(0)
    for n in range(2, 10):
        heads, _ = projective(rng, n)
        words = ["x"] * n
        spans, children = read_text(str(DependencyTree(words, heads)))
        arcs = [(min(t, h), max(t, h)) for t, h in enumerate(heads, 1) if h]
        assert sorted(spans) == sorted(arcs)
        assert children == [t for t, h in enumerate(heads, 1) if h]


@pytest.mark.parametrize("part_ends", [False, True])
def test_arcs_that_share_some_way_have_different_heights(part_ends):
    rng = np.random.default_rng(1)
    for n in (3, 8, 20):
        pairs = [(t, h) for t, h in enumerate(random_heads(rng, n), 1) if h and h > 0]
        spans = [(min(pair), max(pair)) for pair in pairs]
        levels = levels_of(spans, part_ends)
        for (a, x), (b, y) in combinations(zip(spans, levels, strict=True), 2):
            if max(a[0], b[0]) < min(a[1], b[1]) + part_ends:
                assert x != y
            if a[0] <= b[0] and b[1] <= a[1] and a != b:
                assert x > y


def test_arcs_stay_off_the_words_and_inside_the_picture():
    rng = np.random.default_rng(2)
    for n in (1, 2, 7, 40):
        words = ["W" * int(rng.integers(1, 9)) for _ in range(n)]
        tree = DependencyTree(
            words, random_heads(rng, n), tags=["T"] * n, gold=random_heads(rng, n)
        )
        drawing = tree.drawing()
        rows = [box(text) for text in drawing.texts if text.kind in ("word", "tag")]
        low, high = min(low for low, _ in rows), max(high for _, high in rows)
        for stroke in drawing.strokes:
            ends = [point for part in segments(stroke) for point in part] + stroke.tip
            if stroke.kind == "gold":
                assert max(y for _, y in ends) < low
            else:
                assert min(y for _, y in ends) > high
            for x, y in ends:
                assert 0 <= x <= drawing.width
                assert drawing.bottom <= y <= drawing.top
        assert all(drawing.bottom < box(t)[0] and box(t)[1] < drawing.top for t in drawing.texts)


def test_arcs_of_projective_trees_do_not_cross():
    """Nor does the root's; they may meet at a head, and run along each other above it."""
    rng = np.random.default_rng(3)
    for n in (5, 12, 30):
        heads, _ = projective(rng, n)
        strokes = DependencyTree(["ab"] * n, heads).drawing().strokes
        for a, b in combinations(strokes, 2):
            for p, q in segments(a):
                for r, s in segments(b):
                    assert not crosses(p, q, r, s)
                    assert not crosses(r, s, p, q)


def crosses(p, q, r, s):
    """Whether the level piece from p to q meets the upright one from r to s between its ends."""
    (left, right), (low, high) = sorted([p[0], q[0]]), sorted([r[1], s[1]])
    is_cross = p[1] == q[1] and r[0] == s[0] and p != q and r != s
    return is_cross and left < r[0] < right and low < p[1] < high


def test_an_arc_goes_from_its_head_to_its_child():
    drawing = DependencyTree(WORDS, GOLD).drawing()
    middles = [text.x for text in drawing.texts if text.kind == "word"]
    for child, (stroke, head) in enumerate(zip(drawing.strokes[:3], [2, 4, 2], strict=True)):
        child += child > 0
        begin = stroke.steps[0][1][0]
        assert 0 < abs(begin[0] - middles[head - 1]) < 0.5
        assert np.sign(begin[0] - middles[head - 1]) == np.sign(child + 1 - head)
        assert stroke.tip[0] == (middles[child], 0.0)
    assert drawing.strokes[3].tip[0] == (middles[1], 0.0)
    assert [text.text for text in drawing.texts[4:]] == ["root"]


def test_the_picture_grows_with_words_tags_and_levels():
    plain = DependencyTree(WORDS, GOLD).drawing()
    assert DependencyTree(["she" * 5, *WORDS[1:]], GOLD).drawing().width > plain.width + 5
    assert DependencyTree(WORDS, GOLD, tags=["T" * 30] * 4).drawing().width > 4 * 30 * 0.5
    assert DependencyTree(["猫" * 9, *WORDS[1:]], GOLD).drawing().width > plain.width + 5
    widths = [DependencyTree(["word"] * n, [0] + [1] * (n - 1)).drawing() for n in (5, 10, 20)]
    assert widths[0].width < widths[1].width < widths[2].width
    assert widths[0].top < widths[1].top < widths[2].top
    middles = [text.x for text in plain.texts[:4]]
    assert middles == sorted(middles)


def test_wrong_arcs_differ_by_colour_and_dashes_and_gold_ones_stand_below():
    root = ElementTree.fromstring(
        DependencyTree(WORDS, [2, 0, 2, 3], tags=TAGS, gold=GOLD).to_svg()
    )
    paths = {}
    for group in root.findall(f"{SVG}g"):
        paths.setdefault(group.get("class"), []).append(group.find(f"{SVG}path"))
    assert {kind: len(found) for kind, found in paths.items()} == {"arc": 2, "wrong": 2, "gold": 2}
    looks = {k: (p[0].get("stroke"), p[0].get("stroke-dasharray")) for k, p in paths.items()}
    assert looks["arc"] == ("currentColor", None)
    assert len(set(looks.values())) == 3 == len({dashes for _, dashes in looks.values()})
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts == [*WORDS, *TAGS, "root", "2 of 4 heads right; dashed: wrong; below: gold"]
    right = DependencyTree(WORDS, GOLD, gold=GOLD)
    assert "4 of 4 heads right<" in right.to_svg()
    assert {stroke.kind for stroke in right.drawing().strokes} == {"arc"}


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("colour", COLOURS.values())
def test_colours_are_told_from_light_and_dark_paper(colour):
    """Contrast of at least 4 : 1, where graphics need 3 (WCAG 2.1)."""
    assert 1.05 / (luminance(colour) + 0.05) > 4
    assert (luminance(colour) + 0.05) / (luminance("#111111") + 0.05) > 4


def test_svg_needs_nothing_else_and_escapes_what_it_shows():
    words = ['<a&"b">', "\x00]]>", "猫", "last"]
    tree = DependencyTree(words, [0, 1, 1, None], tags=["<T>"] * 4)
    for text in (tree.to_svg(), tree._repr_html_()):
        root = ElementTree.fromstring(text)
        shown = [part.text for part in root.iter(f"{SVG}text")]
        assert shown == ['<a&"b">', "\ufffd]]>", "猫", "last", *["<T>"] * 4, "root", "?"]
        links = re.findall(r"(?:https?:|href|url\(|<script|\bid=)", text)
        assert links == ["http:"], "the name of SVG itself"
    # A rule in a page would hold for the whole page.
    assert "<style>" in tree.to_svg()
    assert "<style>" not in tree._repr_html_()
    assert "overflow-x:auto" in tree._repr_html_()
    (title,) = root.iter(f"{SVG}title")
    assert title.text.endswith('猫 ← <a&"b">, last ← unknown')


def test_svg_is_as_large_as_the_drawing():
    tree = DependencyTree(["word"] * 60, [0, *range(1, 60)])
    root = ElementTree.fromstring(tree.to_svg())
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width} {height}"
    drawing = tree.drawing()
    assert width == pytest.approx(16 * drawing.width, abs=0.1)
    numbers = re.findall(r"-?[\d.]+,-?[\d.]+", tree.to_svg())
    x, y = np.array([pair.split(",") for pair in numbers], float).T
    assert 0 <= x.min() < 60 < width - 60 < x.max() <= width
    assert 0 <= y.min() <= y.max() <= height


def test_heads_of_a_model_are_drawn():
    from sklearn_cvb import EMDMV

    X = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]]
    model = EMDMV(max_iter=2).fit(X)
    tree = DependencyTree(X[0], model.predict(X)[0], gold=np.array([2, 3, -1]))
    assert str(tree).splitlines()[-1].endswith("of 2 heads right")
    assert tree.heads == model.predict(X)[0].tolist()
    assert eval(repr(tree)).heads == tree.heads


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("she sees", [2, 0]), TypeError, r"tokens is 'she sees': .*split\(\)"),
        (([], []), ValueError, "tokens is empty"),
        ((["a"], [0, 1]), ValueError, "heads has 2 elements for 1 tokens"),
        ((["a", "b"], [0, 3]), ValueError, r"heads\[1\] is 3: the sentence has 2 tokens"),
        ((["a", "b"], [0, 2]), ValueError, r"heads\[1\] is 2: the token would be its own head"),
        ((["a", "b"], [0, 1.5]), TypeError, r"heads\[1\] is 1.5: a head is a position"),
        ((["a", "b"], [0, "x"]), TypeError, r"heads\[1\] is 'x'"),
        ((["a", "b"], 3), TypeError, "heads is 3"),
    ],
)
def test_what_cannot_be_drawn_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        DependencyTree(*arguments)


def test_other_lengths_of_tags_and_gold_are_named():
    with pytest.raises(ValueError, match="tags has 1 elements for 4 tokens"):
        DependencyTree(WORDS, GOLD, tags=["T"])
    with pytest.raises(ValueError, match="gold has 1 elements for 4 tokens"):
        DependencyTree(WORDS, GOLD, gold=[0])


def test_the_picture_of_the_documentation_is_of_its_example():
    """`SKLEARN_CVB_PICTURES=1` writes it anew."""
    page = (DOC / "dmv.rst").read_text(encoding="utf-8")
    begin = page.index(">>> from sklearn_cvb.display")
    example = doctest.script_from_examples(page[begin : page.index(".. image::", begin)])
    names = {}
    exec(example.replace("print(tree)", ""), names)
    picture = DOC / "images" / "dependency_tree.svg"
    if os.environ.get("SKLEARN_CVB_PICTURES"):
        picture.write_text(names["tree"].to_svg() + "\n", encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == names["tree"].to_svg() + "\n"
