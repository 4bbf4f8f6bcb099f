"""Many states: what words may take, the words that all models know, and a small run."""

import numpy as np
import pytest

from benchmarks.published import many_states
from benchmarks.published.many_states import UNKNOWN, Text

TEXT = Text([list("abab"), list("abc")], [list("acd")])


def test_all_models_know_the_words_that_the_training_part_has_often(monkeypatch):
    monkeypatch.setattr(many_states, "FEWEST", 2)
    text = many_states.with_unknown(TEXT)
    assert text.train == [list("abab"), ["a", "b", UNKNOWN]]
    assert text.test == [["a", UNKNOWN, UNKNOWN]]
    assert text.counts == {"a": 3, "b": 3, UNKNOWN: 1}
    assert text.n_tokens == (7, 3)


def test_states_of_words():
    """Clones belong to one word; words of a cluster share all of theirs."""
    assert set(map(len, many_states.clones(TEXT, 12).values())) == {4}
    by_count = many_states.clones_by_count(TEXT, 14)
    assert {word: len(own) for word, own in by_count.items()} == {"a": 5, "b": 5, "c": 3}
    for entries in (by_count, many_states.clones(TEXT, 12)):
        states = [state for own in entries.values() for state in own]
        assert sorted(states) == list(range(len(states)))
    entries = many_states.clusters(TEXT, 6, 2)
    assert {tuple(own) for own in entries.values()} == {(0, 1, 2), (3, 4, 5)}


def test_prior_cells_by_share():
    """Two states of a, one of b and of c: each has its part of the word's tokens."""
    cells = many_states.by_share(TEXT, {"a": [0, 1], "b": [2], "c": [3]})
    assert cells.shape == (4, 4)
    assert cells[0] == pytest.approx(many_states.ROW["shares"] * np.array([1.5, 1.5, 3, 1]) / 7)


def test_probabilities_of_an_n_gram_sum_to_one():
    """No mass is kept for the end of a sequence, which the chains do not foresee."""
    found = [
        many_states.n_gram(3, Text(TEXT.train, [["a", word]]), None)["perplexity"] ** -2
        for word in "abc"
    ]
    first = many_states.n_gram(3, Text(TEXT.train, [["a"]]), None)["perplexity"] ** -1
    assert sum(found) == pytest.approx(first)


@pytest.mark.long
def test_small_version_and_its_tables(quick):
    results = {name: part(quick) for name, part in many_states.PARTS.items()}
    tables = many_states.tables(results)
    for name, models in many_states.MODELS.items():
        header, rows, title = tables[name]
        large = many_states.LARGE.get(name, {})
        assert [row[0] for row in rows] == [*models, *large]
        assert all(len(row) == len(header) for row in rows)
        assert f"{results[name]['n_tokens'][0]:,}" in title
    cells = [cell for found in results.values() for cell in found["cells"].values()]
    assert all(cell["perplexity"] > 1 for cell in cells)
