"""Sentences drawn head-outward from a dependency model with valence."""

import numpy as np

from sklearn_cvb.derivations import drawn_within
from sklearn_cvb.dmv.parameters import DMVCounts
from sklearn_cvb.kernels.dependency.arrays import LEFT_SIDE, RIGHT_SIDE, STOP


def sample_sentences(
    tables: DMVCounts, n_samples: int, longest: int, rng: np.random.RandomState
) -> tuple[list, list]:
    """Draw sentences of at most `longest` tokens, and their trees.

    Parameters
    ----------
    tables : DMVCounts
        Probabilities; those of tags need not be normalised.
    n_samples, longest : int
    rng : numpy.random.RandomState

    Returns
    -------
    tags : list of list of int
    heads : list of ndarray
        From 1; 0 for the root.

    Raises
    ------
    ValueError
        If a number is not positive, or nearly all trees are larger.
    """
    attach = tables.attach if tables.attach.ndim == 4 else tables.attach[:, :, None]
    levels = np.cumsum(tables.root), np.cumsum(attach, axis=3), tables.stop[..., STOP]
    found = drawn_within(
        lambda: _drawn(levels, longest, rng),
        n_samples,
        longest,
        f"trees in a row are larger than {longest} tokens",
        "learn from shorter sentences",
    )
    return [tags for tags, _ in found], [heads for _, heads in found]


def _drawn(
    levels: tuple[np.ndarray, np.ndarray, np.ndarray], longest: int, rng: np.random.RandomState
) -> tuple[list, np.ndarray] | None:
    """Tags and heads of one sentence, None if it gets too long."""
    root, attach, stop = levels
    tags, above = [_tag(root, rng)], [-1]
    # Children of each token on either side, from the nearest to the farthest.
    children: list = []
    while len(children) < len(tags):
        token = len(children)
        sides: tuple[list, list] = ([], [])
        for side in (LEFT_SIDE, RIGHT_SIDE):
            while rng.random_sample() >= stop[tags[token], side, min(1, len(sides[side]))]:
                valence = min(len(sides[side]), attach.shape[2] - 1)
                sides[side].append(len(tags))
                tags.append(_tag(attach[tags[token], side, valence], rng))
                above.append(token)
                if len(tags) > longest:
                    return None
        children.append(sides)
    order: list[int] = []
    agenda: list[tuple[int, bool]] = [(0, False)]
    while agenda:
        token, is_open = agenda.pop()
        left, right = children[token]
        if is_open:
            order.append(token)
            continue
        agenda += [(child, False) for child in reversed(right)]
        agenda.append((token, True))
        agenda += [(child, False) for child in left]
    places = np.argsort(order)
    heads = np.array([0 if above[token] < 0 else places[above[token]] + 1 for token in order])
    return [tags[token] for token in order], heads


def _tag(levels: np.ndarray, rng: np.random.RandomState) -> int:
    """A place drawn by cumulated weights."""
    place = np.searchsorted(levels, rng.random_sample() * levels[-1], side="right")
    return int(min(place, len(levels) - 1))
