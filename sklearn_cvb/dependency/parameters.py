"""Parameters of a dependency model as flat cells in rows: attachments, decisions to stop or go on,
and with back-off mixtures of own and coarse rows. Mixed weights are those with mixtures worked out.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.learning.dirichlet import DirichletRows
from sklearn_cvb.reading.corpus import Corpus


class DependencyLayout(NamedTuple):
    """The cells of a model, in the order of `sklearn_cvb.kernels.dependency.arrays`."""

    n_types: int  # number of tags
    n_valences: int = 1  # rows of attachments for each head and side
    # What these back off to: p(child | head, side), "head"; p(child | side), "direction"; nothing.
    backoff: str | None = None

    @property
    def n_arc_rows(self) -> int:
        """Number of rows of attachments, the root's and coarse ones aside."""
        return 2 * self.n_types * self.n_valences

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Rows and width of each table: attachments, choices; mixtures and coarse rows, if any."""
        n = self.n_types
        plain = (self.n_arc_rows + 1, n), (4 * n, 2)
        if self.backoff is None:
            return plain
        return (*plain, (self.n_arc_rows, 2), (2 * n if self.backoff == "head" else 2, n))

    @property
    def n_cells(self) -> int:
        """Number of parameters."""
        return sum(n_rows * width for n_rows, width in self.shapes)

    @property
    def coarse(self) -> np.ndarray | None:
        """The coarse row that each row of attachments backs off to."""
        if self.backoff is None:
            return None
        by_head = np.arange(self.n_arc_rows) // self.n_valences
        return by_head if self.backoff == "head" else by_head % 2

    @property
    def widths(self) -> np.ndarray:
        """Cells of each row."""
        n_rows, widths = zip(*self.shapes, strict=True)
        return np.repeat(widths, n_rows)

    @property
    def row(self) -> np.ndarray:
        """Row of each cell."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    def totals(self, cells: np.ndarray) -> np.ndarray:
        """Sums of rows."""
        return np.concatenate([table.sum(axis=1) for table in tables_of(cells, self)])

    def rows(self, counts: np.ndarray, prior: np.ndarray | None = None) -> DirichletRows:
        """Cells as rows of probabilities; without prior it is 0."""
        prior = np.zeros(self.n_cells) if prior is None else prior
        totals = self.totals(counts), self.totals(prior)
        return DirichletRows(counts, prior, *totals, self.row, self.widths)

    @property
    def mixed(self) -> "DependencyLayout":
        """The layout of the same model with mixtures worked out."""
        return self._replace(backoff=None)


def tables_of(cells: np.ndarray, layout: DependencyLayout) -> list[np.ndarray]:
    """Views of flat cells: attachments, the root's row the last; choices; mixtures; coarse rows."""
    tables, begin = [], 0
    for n_rows, width in layout.shapes:
        end = begin + n_rows * width
        tables.append(cells[begin:end].reshape(n_rows, width))
        begin = end
    return tables


class DMVCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a dependency model with valence.

    Attributes
    ----------
    root : ndarray of shape (n_types,)
        Expected number of sentences whose root is each tag.
    attach : ndarray of shape (n_types, 2, n_types), or (n_types, 2, 2, n_types)
        Of arcs, by head, side of the child (0 left, 1 right), with an extended `valence` whether
        there is a child on that side (0 or 1), and child. With back-off those drawn from these
        tables, not from coarse ones.
    stop : ndarray of shape (n_types, 2, 2, 2)
        Of decisions, by head, side, valence (0 without and 1 with a child on that side) and what is
        decided (0 to stop, 1 to go on).
    mixture : ndarray of shape (n_types, 2, 2) or (n_types, 2, 2, 2), or None, default=None
        With back-off: of arcs, by head, side, with an extended `valence` that, and where they are
        drawn from (0 own table, 1 coarse one).
    coarse : ndarray of shape (n_types, 2, n_types) or (2, n_types), or None, default=None
        With back-off: of arcs drawn from coarse tables, by head ("head"), side and child.
    """

    root: np.ndarray
    attach: np.ndarray
    stop: np.ndarray
    mixture: np.ndarray | None = None
    coarse: np.ndarray | None = None


def counts_from(cells: np.ndarray, layout: DependencyLayout) -> DMVCounts:
    """Flat cells as tables, which are views."""
    attach, choice, *others = tables_of(cells, layout)
    n = layout.n_types
    shape = (n, 2, 2) if layout.n_valences == 2 else (n, 2)
    plain = attach[-1], attach[:-1].reshape(*shape, n), choice.reshape(n, 2, 2, 2)
    if not others:
        return DMVCounts(*plain)
    mixture, coarse = others
    coarse = coarse.reshape(n, 2, n) if layout.backoff == "head" else coarse
    return DMVCounts(*plain, mixture.reshape(*shape, 2), coarse)


def cells_from(counts: DMVCounts) -> np.ndarray:
    """Tables as flat cells, in a new array."""
    parts = counts.attach, counts.root, counts.stop, counts.mixture, counts.coarse
    return np.concatenate([np.ravel(part) for part in parts if part is not None]).astype(np.float64)


def rare_tags(corpus: Corpus) -> np.ndarray:
    """Tags seen once, for an unknown tag to be like; none where there are unknown ones to see."""
    once = np.flatnonzero(np.bincount(corpus.tokens) == 1)
    return once[:0] if corpus.unknown else once


def rare_counts(cells: np.ndarray, once: np.ndarray, layout: DependencyLayout) -> np.ndarray | None:
    """Mean counts of tags seen `once`, at the cells of the unknown one; None without any."""
    if not len(once):
        return None
    rare, unknown = np.zeros_like(cells), layout.n_types - 1
    for name, to, of in zip(
        DMVCounts._fields, counts_from(rare, layout), counts_from(cells, layout), strict=True
    ):
        if to is None or of is None:
            continue
        # What names children does so last.
        if name in ("root", "attach", "coarse"):
            to[..., unknown] = of[..., once].mean(axis=-1)
        # All but the root and what is known of directions alone is by head.
        if name in ("attach", "stop", "mixture") or (name, to.ndim) == ("coarse", 3):
            to[unknown] = of[once].mean(axis=0)
    return rare


# Mixtures. Without back-off all is as it is.


def mixed_weights(weights: np.ndarray, layout: DependencyLayout) -> np.ndarray:
    """Weights with the mixtures worked out: cells of `layout.mixed`.

    Headden, Johnson and McClosky (2009): p(own) p(child | own) + p(coarse) p(child | coarse).
    """
    if layout.coarse is None:
        return weights
    attach, choice, mixture, coarse = tables_of(weights, layout)
    own, general = mixture[:, :1] * attach[:-1], mixture[:, 1:] * coarse[layout.coarse]
    return np.concatenate([(own + general).ravel(), attach[-1], choice.ravel()])


def mixed_logs(logs: np.ndarray, layout: DependencyLayout) -> np.ndarray:
    """`mixed_weights` of logs, as logs."""
    if layout.coarse is None:
        return logs
    attach, choice, mixture, coarse = tables_of(logs, layout)
    own, general = mixture[:, :1] + attach[:-1], mixture[:, 1:] + coarse[layout.coarse]
    return np.concatenate([np.logaddexp(own, general).ravel(), attach[-1], choice.ravel()])


def unmixed_counts(counts: np.ndarray, weights: np.ndarray, layout: DependencyLayout) -> np.ndarray:
    """Counts of `layout.mixed`, each arc's split in proportion between its row and the coarse."""
    if layout.coarse is None:
        return counts
    attach, _, mixture, coarse = tables_of(weights, layout)
    own, general = mixture[:, :1] * attach[:-1], mixture[:, 1:] * coarse[layout.coarse]
    whole = own + general
    arcs, choice = tables_of(counts, layout.mixed)
    part = arcs[:-1] * np.where(whole > 0, general / np.where(whole > 0, whole, 1.0), 0.0)
    cells = np.zeros(layout.n_cells)
    new_attach, new_choice, new_mixture, new_coarse = tables_of(cells, layout)
    new_attach[:-1], new_attach[-1] = arcs[:-1] - part, arcs[-1]
    new_choice[:] = choice
    new_mixture[:, 0], new_mixture[:, 1] = new_attach[:-1].sum(axis=1), part.sum(axis=1)
    np.add.at(new_coarse, layout.coarse, part)
    return cells
