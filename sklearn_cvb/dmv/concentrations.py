"""The Dirichlet priors of attachments and of decisions: two concentrations, given or learned."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sklearn_cvb.dmv.inference import cells_by_length
from sklearn_cvb.dmv.layout import Layout, by_cell, tables_of, totals_of
from sklearn_cvb.kernels.dependency.arrays import Sentences, Shares, share_size
from sklearn_cvb.learning import concentrations as shared
from sklearn_cvb.learning.concentrations import Rows


class Concentrations(NamedTuple):
    """Concentrations of a sweep.

    Attributes
    ----------
    values : tuple of float
        Of attachments and roots, coarse rows among them, and of decisions.
    learned : tuple of bool
        Which of them are learned.
    tied : bool
        Whether they are one.
    gamma : tuple (shape, rate)
        Prior of what is learned.
    """

    values: tuple[float, float]
    learned: tuple[bool, ...]
    tied: bool
    gamma: tuple[float, float]

    def log_density(self) -> float:
        """Log density of what is learned under its prior (nats)."""
        pairs = list(zip(self.values, self.learned, strict=True))
        once = pairs[:1] if self.tied else pairs
        return sum(shared.log_density(value, learned, self.gamma) for value, learned in once)

    def going_on(self, before: "Concentrations") -> "Concentrations":
        """The same with learned values of an earlier sweep, if that learned the same."""
        if self.learned != before.learned or self.tied != before.tied:
            return self
        first, second = (
            old if learned else new
            for old, new, learned in zip(before.values, self.values, self.learned, strict=True)
        )
        return self._replace(values=(first, second))


def first_concentrations(
    alpha: float | str, alpha_stop: float | str | None, gamma: tuple[float, float]
) -> Concentrations:
    """Those of the first sweep; "auto" marks one to learn, None is as the other."""
    settings = (alpha, alpha if alpha_stop is None else alpha_stop)
    first, second = map(shared.first_value, settings)
    learned = settings[0] == "auto", settings[1] == "auto"
    return Concentrations((first, second), learned, alpha_stop is None, gamma)


def learn(
    now: Concentrations,
    counts: np.ndarray,
    layout: Layout,
    n_sweeps: int,
    step: Callable,
    absence: Callable | None = None,
) -> Concentrations:
    """One step for what is learned; none in the warm-up.

    Parameters
    ----------
    now : Concentrations
    counts : ndarray of shape (n_cells,)
    layout : Layout
    n_sweeps : int
        Sweeps done so far.
    step : callable
        `dirichlet.fixed_point` or `dirichlet.ascend`.
    absence : callable, default=None
        ``absence() -> (cells, totals)``: log P(C = 0) of every cell and row; None for the plain
        form of eq. 29 of Wang and Blunsom (2013, HMM).

    Returns
    -------
    Concentrations
    """
    if shared.rests(any(now.learned), n_sweeps):
        return now
    totals = totals_of(counts, layout)
    cells, rows = np.ones_like(counts), np.ones_like(totals)
    if absence is not None:
        cells, rows = (-np.expm1(logs) for logs in absence())
    ends = np.cumsum([n_rows for n_rows, _ in layout.shapes])
    present = zip(
        tables_of(counts, layout),
        tables_of(cells, layout),
        np.split(totals, ends[:-1]),
        np.split(rows, ends[:-1]),
        strict=True,
    )
    tables = [Rows(a.ravel(), b.ravel(), c, d, a.shape[1]) for a, b, c, d in present]
    # Attachments, coarse ones among them, and decisions; the prior of mixtures is given.
    parts = tables[:1] + tables[3:], tables[1:2]
    if now.tied:
        value = step(now.values[0], parts[0] + parts[1], *now.gamma)
        return now._replace(values=(value, value))
    first, second = (
        step(value, part, *now.gamma) if learned else value
        for value, learned, part in zip(now.values, now.learned, parts, strict=True)
    )
    return now._replace(values=(first, second))


def log_absence(
    shares: Shares, sentences: Sentences, layout: Layout
) -> tuple[np.ndarray, np.ndarray]:
    """log P(C = 0) of every cell and row, sentences taken as independent.

    A sentence uses a cell with a probability of at most its expected count there. Mixtures are left
    out.
    """
    row_of_cell = by_cell(np.arange(sum(n_rows for n_rows, _ in layout.shapes)), layout)
    absent = np.zeros(layout.n_cells), np.zeros(int(row_of_cell[-1]) + 1)
    for cells, counts in _used_by_length(shares, sentences, layout):
        for total, index in zip(absent, (cells, row_of_cell[cells]), strict=True):
            keys = index + np.arange(len(index))[:, None] * len(total)
            keys, inverse = np.unique(keys, return_inverse=True)
            used = np.bincount(inverse.ravel(), counts.ravel(), len(keys))
            with np.errstate(divide="ignore"):
                logs = np.log1p(-np.clip(used, 0.0, 1.0))
            total += np.bincount(keys % len(total), logs, len(total))
    return absent


def _used_by_length(
    shares: Shares, sentences: Sentences, layout: Layout
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cells that sentences may use, and expected counts: a row for each sentence of a length."""
    n_types, coarse = layout.n_types, layout.coarse
    cut = (layout.n_own + 1) * n_types
    for which, arcs, choices in cells_by_length(sentences):
        m, n = arcs.shape[1:3]
        places = shares.first[which][:, None] + np.arange(
            share_size(n, layout.n_valences, coarse is not None)
        )
        later, decided, others = np.split(shares.count[places], [n * n, n * (n + 8)], axis=1)
        tables = [later, *np.split(others, max(1, others.shape[1] // (n * n)), axis=1)]
        # The last valence comes first, and so do whole arcs before their parts.
        by_valence = arcs.reshape(len(arcs), m, -1)[::-1]
        cells, counts = [cut + choices.reshape(m, -1)], [decided]
        for v, own in enumerate(by_valence):
            cells.append(own)
            counts.append(tables[v])
            if coarse is not None:
                # Roots come from their own row.
                row = np.append(coarse, 0)[own // n_types]
                cells.append(layout.n_cells - (coarse.max() + 1 - row) * n_types + own % n_types)
                counts.append(tables[len(arcs) + v])
                counts[-2] = counts[-2] - counts[-1]
        yield np.hstack(cells), np.hstack(counts)
