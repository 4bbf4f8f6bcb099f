"""Text is cut at blanks and marks, in any script, and words stay whole."""

import pytest

from sklearn_cvb import split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  we   ran ", ["we", "ran"]),
        ("It barks.", ["It", "barks", "."]),
        ("«Oui», dit-il…", ["«", "Oui", "»", ",", "dit-il", "…"]),
        ("don't pay 3.5%", ["don't", "pay", "3.5", "%"]),
        ("-- (a)", ["-", "-", "(", "a", ")"]),
        # Vowel signs are neither letters nor marks between words.
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
        ("e\u0301te\u0301, ẹran", ["e\u0301te\u0301", ",", "ẹran"]),
    ],
)
def test_split(line, words):
    assert split_words(line) == words
    assert "".join(words) == "".join(line.split())
