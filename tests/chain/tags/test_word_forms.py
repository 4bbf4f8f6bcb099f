"""Shapes and endings of words, in several scripts."""

import pytest

from sklearn_cvb.chain.tags.word_forms import Shape, shape_of
from sklearn_cvb.reading.unknown_tokens import without_capital


@pytest.mark.parametrize(
    ("word", "letters", "digit", "hyphen"),
    [
        ("dog", "lower", False, False),
        ("Dog", "Capitalised", False, False),
        ("I", "Capitalised", False, False),
        ("U.S.", "UPPER", False, False),
        ("McCoy", "mixed", False, False),
        ("1990s", "lower", True, False),
        ("12.5", "none", True, False),
        ("F-16", "Capitalised", True, True),
        ("well-known", "lower", False, True),
        ("-", "none", False, False),
        ("--", "none", False, False),
        ("", "none", False, False),
        ("\u4eba", "caseless", False, False),
        ("\u03a3\u03bf\u03c6\u03af\u03b1", "Capitalised", False, False),
        ("\u0665", "none", True, False),
        ("\u01c8ubav", "Capitalised", False, False),
        ("Dog\u4eba", "Capitalised", False, False),
        ("A\u4eba", "Capitalised", False, False),
        ("\u4ebaA", "mixed", False, False),
        ("AA\u4eba", "mixed", False, False),
    ],
)
def test_shapes(word, letters, digit, hyphen):
    assert shape_of(word) == Shape(letters, digit, hyphen)


@pytest.mark.parametrize("token", [3, None, ("a", "b"), 2.5])
def test_tokens_that_are_no_strings_have_no_shape(token):
    assert shape_of(token) is None


@pytest.mark.parametrize(
    ("word", "lower"),
    [("Dog", "dog"), ("I'm", "i'm"), ("A", "a"), ("\u01c8ubav", "\u01c9ubav")]
    + [(word, None) for word in ("dog", "DOG", "McCoy", "", "4", "\u4eba", "\u0130zmir")],
)
def test_a_capital_that_is_the_only_one(word, lower):
    assert without_capital(word) == lower
