"""Words known by their form alone: their cells in a fit, their emissions in prediction."""

from collections import Counter
from collections.abc import Container, Hashable, Sequence

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.dictionary import Legal, is_weighted
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.tag_shares import Row, TagShares

# What the form of a word is worth beside its uses.
FORM_USES = 5.0
# What a form tells of a tag counts so much less than how often it was seen.
FORM_WEIGHT = 0.5
# So many tokens without a letter may come before the word that begins a sentence.
_MOST_MARKS = 2
# The shares of a word with one tag.
_ALL = np.ones(1)


def beginnings(corpus: Corpus, words: Sequence) -> np.ndarray:
    """Places of the tokens that begin sentences: the first with a letter, behind a few marks.

    Parameters
    ----------
    corpus : Corpus
    words : list
        Its types, those of the vocabulary and those that are unknown.

    Returns
    -------
    ndarray of shape (n_sequences,)
    """
    places, last = corpus.starts[:-1], corpus.starts[1:] - 1
    for _ in range(_MOST_MARKS):
        types, which = np.unique(corpus.tokens[places], return_inverse=True)
        are_marks = np.array([i >= 0 and _is_mark(words[i]) for i in types.tolist()])
        places = np.minimum(places + are_marks[which], last)
    return places


def _is_mark(word: Hashable) -> bool:
    return isinstance(word, str) and not any(map(str.isalpha, word))


def only_beginning(corpus: Corpus, words: Sequence) -> np.ndarray:
    """Which of the types (see `beginnings`) are seen, but only where a sentence begins."""
    begins = np.zeros(len(corpus.tokens), bool)
    begins[beginnings(corpus, words)] = True
    found = np.zeros(len(words) + 1, bool)
    found[corpus.tokens[begins]] = True
    # The last value is of missing observations.
    found[corpus.tokens[~begins]] = False
    return found[:-1]


def apart(corpus: Corpus, words: Sequence) -> tuple[Corpus, list[bool]]:
    """Unknown words as types of their own where they begin a sentence.

    What is predicted of a sentence does not depend on the others, so here each token counts.

    Parameters
    ----------
    corpus : Corpus
    words : list
        The vocabulary.

    Returns
    -------
    corpus : Corpus
    begins : list of bool
        Which of its unknown types begin a sentence.
    """
    unknown = np.flatnonzero(corpus.tokens >= len(words))
    begins = np.zeros(len(corpus.tokens), bool)
    begins[beginnings(corpus, [*words, *corpus.unknown])] = True
    codes = 2 * (corpus.tokens[unknown].astype(np.int64) - len(words)) + begins[unknown]
    codes, places = np.unique(codes, return_inverse=True)
    tokens = corpus.tokens.copy()
    tokens[unknown] = len(words) + places
    types = [corpus.unknown[i] for i in (codes // 2).tolist()]
    return corpus._replace(tokens=tokens, unknown=types), (codes % 2 > 0).tolist()


def by_form(
    shares: TagShares | None, words: Sequence, told: Container, begins: Sequence[bool]
) -> dict[int, Row]:
    """States and shares of the words, by their place, of which nothing else is told.

    Parameters
    ----------
    shares : TagShares or None
    words : list
    told : container
        Words of which something is told.
    begins : sequence of bool
        Which words only begin sentences.
    """
    if shares is None:
        return {}
    return {
        i: shares.row(word, begins[i])
        for i, word in enumerate(words)
        if isinstance(word, str) and word not in told
    }


def unknown_rows(
    shares: TagShares, words: Sequence, legal: Legal, begins: Sequence[bool]
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """States and shares of words outside the vocabulary, by entry or form; None if neither tells.

    An entry without counts says half of the shares, all equal, and the form of its word the rest.
    """
    rows: list[tuple[np.ndarray, np.ndarray | None]] = []
    listed = legal.tag_dictionary
    for word, states, is_first in zip(words, legal.rows(words), begins, strict=True):
        if word not in listed:
            is_formed = isinstance(word, str)
            rows.append(shares.row(word, is_first) if is_formed else (states, None))
        elif len(states) == 1:
            rows.append((states, _ALL))
        elif is_weighted(listed[word]):
            rows.append((states, legal.shares([word])[0]))
        elif isinstance(word, str):
            rows.append((states, _half_equal(states, shares.row(word, is_first))))
        else:
            rows.append((states, None))
    return rows


def _half_equal(states: np.ndarray, row: Row) -> np.ndarray:
    """Shares of some states that are half equal and half those of a row."""
    dense = np.zeros(max(states[-1], row[0][-1]) + 1)
    dense[row[0]] = row[1]
    some = dense[states]
    equal = np.full(len(states), 1 / len(states))
    return 0.5 * (equal + some / some.sum()) if some.any() else equal


def uses_of(corpus: Corpus, words: Sequence) -> dict:
    """How often each word of the vocabulary occurs."""
    return dict(zip(words, corpus.uses(len(words)).tolist(), strict=False))


def label_tallies(corpus: Corpus, words: Sequence, labels: np.ndarray) -> dict:
    """How often each state is the label of each word (labels are -1 where unknown)."""
    known = (labels >= 0) & (corpus.tokens >= 0)
    pairs = np.stack([corpus.tokens[known], labels[known]], axis=1)
    tallies: dict = {}
    every = [*words, *corpus.unknown]
    pairs, places = np.unique(pairs, axis=0, return_inverse=True)
    times = None if corpus.times is None else corpus.times[known]
    for (word, state), seen in zip(pairs, np.bincount(places.ravel(), times), strict=True):
        tallies.setdefault(every[word], Counter())[int(state)] = int(seen)
    return tallies


def centred(cells: Cells, formed: dict[int, Row]) -> Cells:
    """Cells whose prior is drawn to the shares of words known by their form alone.

    A form is worth half of the word's uses and a few more: rare words need it most.
    """
    assert cells.expected is not None, "forms add to what is expected"
    centre, expected = np.ones(len(cells.state)), cells.expected.copy()
    for word, (_, shares) in formed.items():
        here = slice(cells.indptr[word], cells.indptr[word + 1])
        centre[here] = len(shares) * shares
        expected[here] = FORM_WEIGHT * (expected[here] + FORM_USES * shares)
    return cells._replace(centre=centre, expected=expected)


def with_unknown_words(
    lattice: Lattice,
    weights: tuple[Weights, Weights],
    rows: list[tuple[np.ndarray, np.ndarray | None]],
    scale: np.ndarray,
) -> tuple[Lattice, Weights, Weights]:
    """Give unknown words emissions of their own, in cells behind all others.

    p(word | tag) is p(tag | word) / p(tag) times what is the same for all tags.

    Parameters
    ----------
    lattice : Lattice
        Its last slots are those of the unknown words, one word after the other.
    weights : tuple of Weights
        Weights and their logs.
    rows : list of tuple
        States and shares of each unknown word; shares are None where nothing is known.
    scale : ndarray of shape (n_states,)
        What shares are multiplied by.

    Returns
    -------
    lattice : Lattice
    weights, logs : Weights
    """
    lengths = [len(states) for states, _ in rows]
    slots = np.arange(len(lattice.cell) - sum(lengths), len(lattice.cell))
    known = np.repeat([some is not None for _, some in rows], lengths)
    slots = slots[known]
    emission = np.concatenate([some for _, some in rows if some is not None])
    emission = emission * scale[lattice.state[slots]]
    cell = lattice.cell.copy()
    cell[slots] = len(weights[0].emission) + np.arange(len(slots))
    plain, logs = weights
    with np.errstate(divide="ignore"):
        in_logs = np.log(emission)
    return (
        lattice._replace(cell=cell),
        plain._replace(emission=np.append(plain.emission, emission)),
        logs._replace(emission=np.append(logs.emission, in_logs)),
    )
