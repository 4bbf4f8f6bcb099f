"""A vocabulary that grows between batches: new words get cells, and old cells keep their counts."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.paths.lattice import Cells, TagPrior


class LayoutGrowth(NamedTuple):
    """A larger layout: its cells, and the place of each cell that there was before."""

    cells: Cells
    places: np.ndarray

    def carried(self, values: np.ndarray, fill: float = 0.0) -> np.ndarray:
        """Values of the cells that there were, and `fill` for new ones."""
        larger = np.full(len(self.cells.state), fill)
        larger[self.places] = values
        return larger

    def shares(self, values: np.ndarray, n_rows: int) -> np.ndarray:
        """Shares among `n_rows` symbols, of which new ones take an equal part."""
        equal = 1.0 / max(1, self.cells.n_rows)
        return self.carried(values * (n_rows * equal), equal)


def with_words(cells: Cells, rows: list[np.ndarray]) -> LayoutGrowth:
    """Cells with further words, each with its states, behind all others but the unknown item.

    What a dictionary expects of them is left out: it changes with every batch.
    """
    added = np.concatenate([np.empty(0, cells.state.dtype), *rows])
    at, places = cells.unknown.start, np.arange(len(cells.state))
    places[at:] += len(added)
    lengths = np.array([len(row) for row in rows], np.int64)
    known, unknown = np.split(cells.indptr, [cells.n_words + 1])
    larger = cells._replace(
        indptr=np.concatenate([known, at + np.cumsum(lengths), unknown + len(added)]),
        state=np.concatenate([cells.state[:at], added, cells.state[at:]]),
        n_words=cells.n_words + len(rows),
        by_label=None if cells.by_label is None else places[cells.by_label],
        tag_prior=TagPrior(),
    )
    return LayoutGrowth(larger, places)


def with_labels(growth: LayoutGrowth, words: np.ndarray, states: np.ndarray) -> LayoutGrowth:
    """The same with the cells that labels need: pairs of a word and a state, in any order."""
    cells = growth.cells
    larger = cells.with_labels(words, states)
    if larger is cells:
        return growth
    places = np.searchsorted(larger.keys(), cells.keys())
    if cells.by_label is not None and larger.by_label is not None:
        larger = larger._replace(by_label=np.union1d(larger.by_label, places[cells.by_label]))
    return LayoutGrowth(larger, places[growth.places])


def with_unseen(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> HMMCounts:
    """Counts with a little for what nothing has been counted of, where the prior is 0.

    Without it a batch could use nothing that those before had not: no new word, no new step. Such
    steps share one count in their row; so do the words a state may emit; and a word that no state
    has emitted yet is as likely from each of its states, in proportion to their other uses.
    """
    if prior.emission.all() and prior.transition.all() and prior.start.all():
        return counts
    n, topology = cells.n_emitting, cells.chain.topology
    share = 1.0 / cells.n_states
    start = np.where((counts.start == 0) & (prior.start == 0), share, counts.start)
    start[n:] = 0.0
    none = (counts.transition == 0) & (prior.transition == 0)
    transition = np.where(none, share, counts.transition)
    if topology is not None:
        start, transition = topology.masked(start, transition)
    uses = np.maximum(cells.row_totals(counts.emission), 1.0)
    totals = np.append(0.0, np.cumsum(counts.emission))
    of_word = np.repeat(np.diff(totals[cells.indptr]), np.diff(cells.indptr))
    little = np.where(of_word > 0, 1.0, cells.spread(uses)) / max(1, cells.n_rows)
    none = (counts.emission == 0) & (prior.emission == 0)
    return HMMCounts(start, transition, np.where(none, little, counts.emission))


def prior_with_counts(prior: ChainPrior, counts: HMMCounts, cells: Cells) -> ChainPrior:
    """A prior with counts: what is inferred from it is inferred from both."""
    return ChainPrior(
        prior.start + counts.start,
        prior.start_total + float(counts.start.sum()),
        prior.transition + counts.transition,
        prior.transition_total + counts.transition.sum(axis=1),
        prior.emission + counts.emission,
        prior.emission_total + cells.row_totals(counts.emission),
    )
