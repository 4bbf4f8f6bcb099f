"""Sentences and binarised trees drawn from the root outwards."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.grammar.derivations import drawn_within
from sklearn_cvb.kernels.latent.arrays import NONE, Parses, Rules
from sklearn_cvb.treebank.parameters import Layout


class Drawn(NamedTuple):
    """A drawn tree.

    Attributes
    ----------
    words : list of int
        By the numbers that rules have for them.
    nodes : list of tuple
        Symbols, begins and ends in pre-order, as `Parses` has them.
    """

    words: list[int]
    nodes: list[tuple[int, int, int]]


class Choices:
    """What every annotated left-hand side may become, and how likely that is."""

    def __init__(self, layout: Layout, weights: np.ndarray) -> None:
        order = np.argsort(layout.row, kind="stable")
        bounds = np.searchsorted(layout.row[order], np.arange(1, len(layout.sizes)))
        self.cells = np.split(order, bounds)
        self.levels = [np.cumsum(part) for part in np.split(weights[order], bounds)]
        self.rules = layout.rules
        self.before = np.cumsum(layout.rules.n_subtypes) - layout.rules.n_subtypes

    def root(self, rng: np.random.RandomState) -> tuple[int, int]:
        """A symbol and its subtype."""
        rule, _, x, _ = self._drawn(len(self.cells) - 1, rng)
        return int(self.rules.left[rule]), x

    def below(
        self, symbol: int, subtype: int, rng: np.random.RandomState
    ) -> tuple[int, list[tuple[int, int]]]:
        """A word and no children, or -1 and children with their subtypes."""
        rule, _, y, z = self._drawn(int(self.before[symbol]) + subtype, rng)
        left, right = int(self.rules.left[rule]), int(self.rules.right[rule])
        if rule >= self.rules.begin[3]:
            return left, []
        return NONE, [(left, y)] if right == NONE else [(left, y), (right, z)]

    def _drawn(self, row: int, rng: np.random.RandomState) -> tuple[int, int, int, int]:
        """A rule, and the subtypes of its parent and children."""
        levels = self.levels[row]
        place = np.searchsorted(levels, rng.random_sample() * levels[-1], side="right")
        # A product with a tiny total may round up to it.
        cell = self.cells[row][min(place, np.searchsorted(levels, levels[-1]))]
        rule = int(np.searchsorted(self.rules.first, cell, side="right")) - 1
        return (rule, *_subtypes(self.rules, rule, int(cell)))


def _subtypes(rules: Rules, rule: int, cell: int) -> tuple[int, int, int]:
    """Subtypes of the parent and the children of a cell of a rule; 0 where there is none."""
    left, right = rules.left[rule], rules.right[rule]
    n_left = 1 if rule >= rules.begin[3] else int(rules.n_subtypes[left])
    n_right = 1 if right == NONE else int(rules.n_subtypes[right])
    rest, z = divmod(cell - int(rules.first[rule]), n_right)
    return (*divmod(rest, n_left), z)


def sample_parses(
    layout: Layout,
    weights: np.ndarray,
    n_samples: int,
    longest: int,
    rng: np.random.RandomState,
) -> tuple[list[list[int]], Parses]:
    """Draw trees of at most `longest` words.

    Parameters
    ----------
    layout : Layout
    weights : ndarray of shape (n_cells,)
        Those of a row need not sum to 1.
    n_samples, longest : int
    rng : numpy.random.RandomState

    Returns
    -------
    words : list of list of int
    parses : Parses

    Raises
    ------
    ValueError
        If a number is not positive, or nearly all derivations are longer.
    """
    choices = Choices(layout, weights)
    found = drawn_within(
        lambda: _tree(choices, longest, rng),
        n_samples,
        longest,
        f"derivations in a row are longer than {longest} words",
        "more trees to learn from",
    )
    ends = np.cumsum([0, *(len(drawn.nodes) for drawn in found)])
    nodes = np.array([node for drawn in found for node in drawn.nodes], np.int64)
    return [drawn.words for drawn in found], Parses(ends, *nodes.T)


def _tree(choices: Choices, longest: int, rng: np.random.RandomState) -> Drawn | None:
    """One tree, None if it gets too long."""
    words: list[int] = []
    symbols: list[int] = []
    begins: list[int] = []
    ends: list[int] = []
    # Symbols with their subtypes that are still to expand, and nodes that end when these have.
    waiting: list[tuple[int, int]] = [choices.root(rng)]
    n_open = 1
    while waiting:
        symbol, number = waiting.pop()
        if symbol == NONE:
            ends[number] = len(words)
            continue
        word, children = choices.below(symbol, number, rng)
        waiting += [(NONE, len(symbols)), *reversed(children)]
        symbols.append(symbol)
        begins.append(len(words))
        ends.append(NONE)
        words += [word] if word != NONE else []
        n_open += len(children) - 1
        # Every open symbol derives a word or more; unary rules alone might go on and on.
        if len(words) + n_open > longest or len(symbols) > 100 * longest:
            return None
    return Drawn(words, list(zip(symbols, begins, ends, strict=True)))
