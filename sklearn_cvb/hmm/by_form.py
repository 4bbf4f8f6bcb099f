"""Words known by their form alone: their cells in a fit, their emissions in prediction."""

from collections import Counter
from collections.abc import Container, Sequence

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.tag_shares import Row, TagShares

# What the form of a word is worth beside its uses.
_FORM_USES = 5.0


def by_form(shares: TagShares | None, words: Sequence, told: Container) -> dict[int, Row]:
    """States and shares of the words, by their place, of which nothing else is told."""
    if shares is None:
        return {}
    places = [i for i, word in enumerate(words) if isinstance(word, str) and word not in told]
    return dict(zip(places, shares.rows([words[i] for i in places]), strict=True))


def uses_of(corpus: Corpus, words: Sequence) -> dict:
    """How often each word of the vocabulary occurs."""
    seen = np.bincount(corpus.tokens[corpus.tokens >= 0], minlength=len(words))
    return dict(zip(words, seen.tolist(), strict=False))


def label_tallies(corpus: Corpus, words: Sequence, labels: np.ndarray) -> dict:
    """How often each state is the label of each word (labels are -1 where unknown)."""
    known = (labels >= 0) & (corpus.tokens >= 0)
    pairs = np.stack([corpus.tokens[known], labels[known]], axis=1)
    tallies: dict = {}
    every = [*words, *corpus.unknown]
    for (word, state), seen in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
        tallies.setdefault(every[word], Counter())[int(state)] = int(seen)
    return tallies


def centred(cells: Cells, formed: dict[int, Row]) -> Cells:
    """Cells whose prior is drawn to the shares of words known by their form alone.

    A form is worth the uses of the word and a few more: rare words need it most.
    """
    assert cells.expected is not None, "forms add to what is expected"
    centre, expected = np.ones(len(cells.state)), cells.expected.copy()
    for word, (_, shares) in formed.items():
        here = slice(cells.indptr[word], cells.indptr[word + 1])
        centre[here] = len(shares) * shares
        expected[here] += _FORM_USES * shares
    return cells._replace(centre=centre, expected=expected)


def with_unknown_words(
    lattice: Lattice,
    weights: tuple[Weights, Weights],
    shares: list[np.ndarray | None],
    lengths: np.ndarray,
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
    shares : list of ndarray or None
        For each unknown word the shares of its states; None where nothing is known.
    lengths : ndarray of shape (n_unknown,)
        The number of its states.
    scale : ndarray of shape (n_states,)
        What shares are multiplied by.

    Returns
    -------
    lattice : Lattice
    weights, logs : Weights
    """
    slots = np.arange(len(lattice.cell) - int(lengths.sum()), len(lattice.cell))
    known = np.repeat([some is not None for some in shares], lengths)
    slots = slots[known]
    emission = np.concatenate([some for some in shares if some is not None])
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
