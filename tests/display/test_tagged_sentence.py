"""Tagged sentences to look at: as text, in colours of a terminal, as HTML."""

import doctest
import os
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_cvb import CVBHMM, CVBHMMTagger, EMHMMTagger
from sklearn_cvb.display import DependencyTree, TaggedSentence
from sklearn_cvb.display.tagged_words import COLOURS, SOURCES, TaggedWord, tag_words

DOC = Path(__file__).resolve().parents[2] / "doc"
WORDS = ["they", "can", "frob", "the", "blip", "it", "saw"]
TAGS = ["PRP", "MD", "VB", "DT", "NN", "PRP", "VBD"]
GOLD = ["PRP", "NN", None, "DT", "NN", "PRP", "NN"]
TOLD = ["dictionary", "ambiguous", "form", "ambiguous", "open", "label", "seen"]
DROPPED = {"the": ("NNP", "VBD"), "zork": ("UH",)}
SURE = [1.0, 0.49, 0.5, 0.9, 0.2, None, float("nan")]
CODE = re.compile(r"\x1b\[([0-9;]*)m")
VOID = {"meta"}


def everything():
    return TaggedSentence(WORDS, TAGS, gold=GOLD, sources=TOLD, dropped=DROPPED, probabilities=SURE)


class Page(HTMLParser):
    """Elements that are well nested, and their texts."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        if tag not in VOID:
            self.open.append((tag, self.found[-1]))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, element in self.open:
            element[2] += data

    def tokens(self):
        """Texts of the words, tags and gold tags, and what a pointer reads on each."""
        titles = [element for element in self.found if "title" in element[1]]
        rows = []
        for element in titles:
            at = self.found.index(element)
            inner = [e for e in self.found[at + 1 : at + 5] if "display:block" in _style(e)]
            rows.append([e[2] for e in inner[: 3 if len(inner) > 2 and _is_gold(inner[2]) else 2]])
        return rows, [element[1]["title"] for element in titles]


def _style(element):
    return element[1].get("style", "")


def _is_gold(element):
    return "dotted" in _style(element)


def test_text_marks_what_told_each_tag_and_explains_the_marks():
    assert str(everything()).splitlines() == [
        "they/PRP can/MD⁺?[NN] frob/VB≈ the/DT⁺⁻ blip/NN…? it/PRP✓ saw/VBD†[NN]",
        "no mark: one tag in the dictionary",
        "⁺ several tags in the dictionary",
        "† not in the dictionary: seen with labels",
        "≈ in neither dictionary nor labels: guessed by form",
        "… in neither dictionary nor labels: any open tag",
        "✓ label given",
        "⁻ tags dropped from the dictionary: the (NNP, VBD)",
        "? posterior below 0.5",
        "4 of 6 tags right; brackets: gold",
    ]


def test_only_marks_that_occur_are_explained():
    assert str(TaggedSentence(["they", "ran"], ["PRP", "VBD"])) == "they/PRP ran/VBD"
    right = TaggedSentence(["they", "ran"], ["PRP", "VBD"], gold=["PRP", None])
    assert str(right) == "they/PRP ran/VBD\n1 of 1 tags right"
    some = TaggedSentence(["a", "zork"], ["DT", "NN"], sources=[None, "form"])
    assert str(some).splitlines()[1:] == ["≈ in neither dictionary nor labels: guessed by form"]
    assert everything().to_text(legend=False).count("\n") == 0


def test_all_marks_differ():
    marks = [mark for mark, _ in SOURCES.values()] + ["⁻", "?"]
    assert len(set(marks)) == len(marks) == 8


def test_gold_tags_are_compared_as_they_are():
    words = tag_words(["a", "b", "c", "d"], [1, 2, 3, "x"], [1, 3, None, float("nan")])
    assert [word.gold for word in words] == [None, "3", None, None]
    assert words[1] == TaggedWord("b", "2", "3")


@pytest.mark.parametrize("width", [1, 20, 45, 80])
@pytest.mark.parametrize("colour", [False, True])
def test_lines_are_broken_between_words(width, colour):
    words = [*WORDS, "猫猫猫", "e\u0301te\u0301"] * 5
    sentence = TaggedSentence(words, [*TAGS, "N", "V"] * 5, sources=[*TOLD, "form", "form"] * 5)
    text = CODE.sub("", sentence.to_text(width, colour=colour))
    lines = text.splitlines()
    assert text.split() == sentence.to_text(10**6).split()
    for line in lines:
        columns = len(line) + 3 * line.count("猫猫猫") - line.count("\u0301")
        assert columns <= width or len(line.split()) == 1, "one word may be longer than a line"
    tags = sentence.to_text(width, colour=colour, legend=False)
    pairs = zip(tags.splitlines(), tags.splitlines()[1:], strict=False)
    for line, following in pairs:
        first = CODE.sub("", following.split()[0])
        assert len(CODE.sub("", line)) + 1 + len(first) + 3 > width, "no room is left"


def test_colours_of_a_terminal_add_nothing_but_codes():
    shown = everything().to_text(colour=True)
    assert CODE.sub("", shown) == str(everything())
    assert "\x1b" not in str(everything())
    codes = {tag: code for code, tag in re.findall(r"\x1b\[([0-9;]+)m([A-Z]+)", shown)}
    assert codes["VB"] == codes["NN"] != codes["MD"]
    assert "\x1b[1;97;41m[NN]\x1b[0m" in shown
    assert shown.count("\x1b[0m") * 2 == len(CODE.findall(shown))


def test_html_shows_words_tags_and_gold_below_each_other():
    rows, titles = Page(everything()._repr_html_()).tokens()
    assert rows == [
        ["they", "PRP"],
        ["can", "MD⁺?", "NN"],
        ["frob", "VB≈"],
        ["the", "DT⁺⁻"],
        ["blip", "NN…?"],
        ["it", "PRP✓"],
        ["saw", "VBD†", "NN"],
    ]
    assert titles[1] == "can: MD; wrong, gold: NN; several tags in the dictionary; posterior 0.49"
    assert titles[3].endswith("dropped from the dictionary: NNP, VBD; posterior 0.90")
    legend = everything()._repr_html_().split("</b> ")[-1]
    assert "4 of 6 tags right; dashed: wrong; below: gold" in legend
    for line in str(everything()).splitlines()[1:-1]:
        assert line.removeprefix("no mark:").lstrip("⁺†≈…✓⁻? ") in everything()._repr_html_()


def test_wrong_tags_differ_by_colour_and_dashes():
    page = Page(everything()._repr_html_())
    looks = {e[2]: _style(e) for e in page.found if "display:block" in _style(e)}
    assert COLOURS["wrong"] in looks["MD⁺?"]
    assert "dashed" in looks["MD⁺?"]
    assert COLOURS["gold"] in looks["NN"]
    assert "color" not in looks["PRP"]
    assert "dashed" not in "".join(v for k, v in looks.items() if k[:2] not in ("MD", "VB"))
    assert COLOURS["form"] in looks["VB≈"]


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("colour", sorted(set(COLOURS.values())))
def test_colours_are_told_from_light_and_dark_paper(colour):
    assert 1.05 / (luminance(colour) + 0.05) > 4
    assert (luminance(colour) + 0.05) / (luminance("#111111") + 0.05) > 4


def test_html_needs_nothing_else_and_escapes_what_it_shows():
    words, tags = ["<a&\"b'>", "</span><script>x</script>", "猫"], ["<T>", "&", '"']
    sentence = TaggedSentence(words, tags, gold=["</b>", "&", '"'], sources=["form"] * 3)
    for html in (sentence._repr_html_(), sentence.to_html()):
        rows, titles = Page(html).tokens()
        assert rows == [[words[0], "<T>≈", "</b>"], [words[1], "&≈"], ["猫", '"≈']]
        assert titles[0].startswith("<a&\"b'>: <T>; wrong, gold: </b>")
        assert not re.search(r"(?:https?:|href|url\(|<script|<style|\bid=|\bclass=|\bon\w+=)", html)
        assert {e[0] for e in Page(html).found} <= {"div", "span", "b", *_OF_PAGES}
    assert sentence.to_html().startswith("<!DOCTYPE html>")
    assert '<meta name="color-scheme" content="light dark">' in sentence.to_html()
    assert unescape(re.search("<title>(.*?)</title>", sentence.to_html())[1]) == " ".join(words)


_OF_PAGES = {"html", "head", "meta", "title", "body"}


def test_no_terminal_obeys_what_a_word_holds():
    words = ["a\x1b[2Jb", "c\n d\x9b", "e"]
    assert str(TaggedSentence(words, ["A\x07", "B", "C"])) == "a\ufffd[2Jb/A\ufffd c d\ufffd/B e/C"
    assert "\x1b" not in str(DependencyTree(words, [0, 1, 1]))
    assert "\ufffd[2J" in str(DependencyTree(words, [0, 1, 1]))


# Of a fitted tagger.

LEGAL = {"The": ["DT"], "the": ["DT", "NNP"], "can": ["MD", "NN"], "leaks": ["VBZ"], "it": "PRP"}
X = [["The", "can", "leaks"], ["it", "can", "blip"], ["the", "blip", "leaks"], ["zork", "leaks"]]
Y = [None, [None, "MD", None], None, ["UH", None]]


@pytest.fixture(scope="module")
def tagger():
    return CVBHMMTagger({**LEGAL, "oh": "UH"}, max_iter=3, random_state=0).fit(X, Y)


def test_a_fitted_tagger_says_what_it_knew():
    # Labels would leave all tags to the words of the dictionary.
    tagger = CVBHMMTagger({**LEGAL, "oh": "UH"}, max_iter=3, random_state=0).fit(X)
    tokens = ["the", "can", "blap", "leaks", "zork"]
    sentence = TaggedSentence.from_estimator(tagger, tokens, gold=["DT", "X", None, "VBZ", None])
    words = sentence.words
    assert [word.tag for word in words] == tagger.predict([tokens])[0].tolist()
    assert [word.source for word in words] == tagger.tag_sources([tokens])[0].tolist()
    assert [word.source for word in words] == [
        *("dictionary", "ambiguous", "form", "dictionary", "form")
    ]
    assert words[0].dropped == tagger.dropped_tags_["the"] == ("NNP",)
    assert words[1].gold == "X"
    table, columns = tagger.predict_proba([tokens])[0], tagger.classes_.tolist()
    for word, row in zip(words, table, strict=True):
        assert word.probability == row[columns.index(word.tag)]
    assert str(sentence).endswith("\n2 of 3 tags right; brackets: gold")


def test_labels_of_a_training_sentence_are_told_and_win(tagger):
    words = TaggedSentence.from_estimator(tagger, X[1], labels=Y[1]).words
    assert [word.source for word in words] == ["dictionary", "label", "form"]
    assert (words[1].tag, words[1].probability) == ("MD", None)
    words = TaggedSentence.from_estimator(tagger, X[1], labels=[None, "JJ", None]).words
    assert (words[1].tag, words[1].source) == ("JJ", "label")
    shown = TaggedSentence.from_estimator(tagger, X[3], tags=tagger.labels_[3]).words
    assert [word.tag for word in shown] == tagger.labels_[3].tolist()
    strange = TaggedSentence.from_estimator(tagger, ["it"], tags=["none of its tags"])
    assert strange.words[0].probability is None


def test_odd_words_are_shown():
    model = EMHMMTagger({3: [0, 1], 4: [1]}, max_iter=2).fit([[3, 4, None], [4]])
    sentence = TaggedSentence.from_estimator(model, np.array([3.0, 4.0, np.nan]), gold=[0, 0, 1])
    assert [word.source for word in sentence.words] == ["ambiguous", "dictionary", "open"]
    assert [word.gold for word in sentence.words][1] == "0"


def test_what_no_path_explains_is_warned_of_once():
    model = EMHMMTagger({"a": "X", "b": "Y"}, max_iter=2).fit([["a", "b"]])
    with pytest.warns(UserWarning, match="no path explains") as caught:
        TaggedSentence.from_estimator(model, ["b", "a"])
    assert len(caught) == 1


def test_other_estimators_are_refused(tagger):
    with pytest.raises(TypeError, match=r"tagger is CVBHMM\(\): give a fitted tagger"):
        TaggedSentence.from_estimator(CVBHMM(), ["a"])
    with pytest.raises(NotFittedError):
        TaggedSentence.from_estimator(CVBHMMTagger(), ["a"])
    with pytest.raises(TypeError, match=r"tokens is 'a b': .*split\(\)"):
        TaggedSentence.from_estimator(tagger, "a b")
    with pytest.raises(ValueError, match="labels has 1 elements for 2 tokens"):
        TaggedSentence.from_estimator(tagger, ["it", "leaks"], labels=["X"])


@pytest.mark.parametrize(
    ("arguments", "named", "error", "message"),
    [
        (("they ran", ["A", "B"]), {}, TypeError, r"tokens is 'they ran': .*split\(\)"),
        ((["they"], "PRP"), {}, TypeError, "tags is 'PRP'"),
        (([], []), {}, ValueError, "tokens is empty"),
        ((["a", "b"], ["X"]), {}, ValueError, "tags has 1 elements for 2 tokens"),
        ((["a"], ["X"]), {"gold": ["X", "Y"]}, ValueError, "gold has 2 elements for 1 tokens"),
        ((["a"], ["X"]), {"gold": "X"}, TypeError, "gold is 'X'"),
        ((["a"], ["X"]), {"sources": ["x"]}, ValueError, r"sources\[0\] is 'x': .*'dictionary'"),
        ((["a"], ["X"]), {"probabilities": [2]}, ValueError, r"probabilities\[0\] is 2: "),
        ((["a"], ["X"]), {"probabilities": ["1"]}, TypeError, r"probabilities\[0\] is '1'"),
    ],
)
def test_what_cannot_be_shown_is_named(arguments, named, error, message):
    with pytest.raises(error, match=message):
        TaggedSentence(*arguments, **named)


def test_tokens_may_come_from_anything_that_has_an_order():
    sentence = TaggedSentence(iter(WORDS), np.array(TAGS), gold=tuple(GOLD))
    assert [word.word for word in sentence.words] == WORDS
    assert repr(eval(repr(sentence))) == repr(sentence)


def test_the_page_of_the_documentation_is_of_its_example():
    """`SKLEARN_CVB_PICTURES=1` writes it anew."""
    page = (DOC / "scores.rst").read_text(encoding="utf-8")
    heading = page.index("A tagged sentence to look at\n---")
    begin, end = page.index(">>> ", heading), page.index(".. raw:: html", heading)
    names = {}
    exec(doctest.script_from_examples(page[begin:end]).replace("print(shown)", ""), names)
    picture = DOC / "images" / "tagged_sentence.html"
    html = names["shown"]._repr_html_() + "\n"
    if os.environ.get("SKLEARN_CVB_PICTURES"):
        picture.write_text(html, encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == html
