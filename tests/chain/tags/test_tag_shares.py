"""Tag shares of forms: against a plain re-statement, which words vote, which tags are open."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from form_restatement import plain_shares

from sklearn_cvb.chain.tags.word_forms import known_tags, tag_shares
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.reading.dictionary import tag_dictionary_from

STATES = {"DT": 0, "NN": 1, "RB": 2, "VB": 3}
ENTRIES = {
    "the": {"DT": 900},
    "walked": {"VB": 3, "NN": 1},
    "talked": {"VB": 1},
    "Hawk": {"NN": 2},
    "hawk": ("NN", "VB"),
    "gladly": ("RB",),
    "x-ray": ["NN"],
    "so": {"RB": 8, "DT": 1, "NN": 0},
    7: ("NN",),
    "any": ("DT", "NN", "RB", "VB"),
    "ÄRZTIN": ("NN",),
}
WORDS = [
    "balked",
    "Gladly",
    "badly",
    "Badly",
    "hawks",
    "HAWK",
    "e-day",
    "The",
    "Zürich",
    "日本",
    "'",
    "",
]


def rows_as_dicts(rows):
    return [dict(zip(states.tolist(), shares.tolist(), strict=True)) for states, shares in rows]


@pytest.mark.parametrize("only", [None, [1, 2], [1, 3]])
@pytest.mark.parametrize("labels", [{}, {"sold": Counter({3: 2}), "hawk": Counter({1: 5})}])
def test_shares_are_those_of_the_plain_statement(only, labels):
    told = known_tags(ENTRIES, STATES, labels, {"x-ray": 11, "gladly": 10})
    restricted = None if only is None else np.array(only)
    found = tag_shares(told, 4, restricted)
    assert set(told.voting) == {"walked", "talked", "Hawk", "hawk", "gladly", "so", "ÄRZTIN"} | (
        labels.keys() - {"hawk"}
    )
    for word, begins in product(WORDS, (False, True)):
        (row,) = rows_as_dicts([found.row(word, begins)])
        expected = plain_shares(word, told, 4, only, begins)
        assert row == pytest.approx(expected, abs=1e-12)
        assert sum(row.values()) == pytest.approx(1, abs=1e-12)
        assert min(row.values()) > 0


@pytest.mark.long
def test_shares_of_generated_text():
    text = make_pocket_english(500, random_state=0)
    dictionary = tag_dictionary_from(text.data, text.target, weights=True)
    tags = sorted({tag for entry in dictionary.values() for tag in entry})
    told = known_tags(dictionary, {tag: i for i, tag in enumerate(tags)}, {}, {})
    found = tag_shares(told, len(tags))
    words = sorted({word for row in text.data for word in row})[::40]
    for word, begins in product(words, (False, True)):
        (row,) = rows_as_dicts([found.row(word, begins)])
        assert row == pytest.approx(plain_shares(word, told, len(tags), None, begins), abs=1e-10)


def test_an_ending_says_more_than_the_shape():
    found = tag_shares(known_tags(ENTRIES, STATES, {}, {}), 4)
    (row,) = rows_as_dicts([found.row("balked")])
    assert row[3] == max(row.values())
    (row,) = rows_as_dicts([found.row("madly")])
    assert row[2] == max(row.values())


def test_a_word_known_in_lower_case_takes_half_from_there():
    found = tag_shares(known_tags(ENTRIES, STATES, {}, {}), 4)
    the, other = rows_as_dicts(map(found.row, ["The", "Tho"]))
    assert the[0] > 0.5
    assert other.get(0, 0) < 0.2
    # Never across tags that are ruled out.
    found = tag_shares(known_tags(ENTRIES, STATES, {}, {}), 4, np.array([1, 2]))
    assert [set(row) for row in rows_as_dicts(map(found.row, ["The", "Hawks"]))] == [{1, 2}, {1, 2}]


def test_a_capital_that_begins_a_sentence_says_little():
    found = tag_shares(known_tags(ENTRIES, STATES, {}, {}), 4)
    (inside,), (first,) = (rows_as_dicts([found.row("Madly", begins)]) for begins in (False, True))
    (lower,) = rows_as_dicts([found.row("madly")])
    halves = {state: (inside[state] + lower[state]) / 2 for state in inside}
    assert first == pytest.approx(halves, abs=1e-12)
    # Known in lower case, too: nearly all is from there, but a name is not ruled out.
    (the,) = rows_as_dicts([found.row("The", True)])
    (also,) = rows_as_dicts([found.row("The")])
    assert the == pytest.approx({k: 0.1 * also[k] + 0.9 * (k == 0) for k in also}, abs=1e-12)
    assert the[1] > 0.005
    # Other capitals than the first have another reason.
    for word in ("MADLY", "mAdly", "badly", "日本"):
        assert rows_as_dicts([found.row(word, True)]) == rows_as_dicts([found.row(word)])


def test_open_tags_are_those_of_many_types():
    many = {f"n{i:05}": ("NN",) for i in range(3000)} | {f"v{i:05}": ("VB",) for i in range(4)}
    few = {"of": ("IN",), "to": ("TO",)}
    states = {"IN": 0, "NN": 1, "TO": 2, "VB": 3}
    assert tag_shares(known_tags(many | few, states, {}, {}), 4).states.tolist() == [1, 3]
    assert tag_shares(known_tags(few, states, {}, {}), 4).states.tolist() == [0, 2]


def test_nothing_to_learn_from():
    assert tag_shares(known_tags({}, STATES, {}, {}), 4) is None
    assert tag_shares(known_tags({3: ("NN",), (1, 2): ("VB",)}, STATES, {}, {}), 4) is None
    assert tag_shares(known_tags({"any": tuple(STATES)}, STATES, {}, {}), 4) is None
    assert tag_shares(known_tags({"so": ("RB",)}, STATES, {}, {"so": 11}), 4) is None
    assert tag_shares(known_tags({"so": ("RB",)}, STATES, {}, {}), 4, np.array([1])) is None


def test_the_table_has_a_row_for_each_form_that_votes():
    words = [f"w{i}" for i in range(50_000)]
    tags = ["NN", "VB", "RB"]
    dictionary = {word: {tags[i % 3]: 1} for i, word in enumerate(words)}
    found = tag_shares(known_tags(dictionary, STATES, {}, {}), 4)
    assert len(list(map(found.row, words))) == 50_000
    # The root, one shape with all ends of four characters of "w0" to "w49999".
    endings = {word[-n:] for word in words for n in range(1, 5)}
    assert len(found.endings.table) == 2 + len(endings)
    beginnings = {word[:n] for word in words for n in range(1, min(3, len(word) - 1) + 1)}
    assert len(found.beginnings.table) == 2 + len(beginnings)


def test_forms_are_strings_so_that_they_can_be_written_as_text():
    told = known_tags(
        {"walked": ["VB"], "Rome": ["NP"], "2nd": ["JJ"]}, {"JJ": 0, "NP": 1, "VB": 2}, {}, {}
    )
    shares = tag_shares(told, 3)
    for forms in (shares.endings.branches, shares.beginnings.branches):
        assert len(forms) == 3
        assert json.loads(json.dumps(forms)).keys() == forms.keys()
