"""From counts and prior to a tally, and back."""

import numpy as np

from sklearn_cvb.hmm.parameters import HMMCounts, Prior
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.lattice import Cells


def tally_of(counts: HMMCounts, prior: Prior | None, cells: Cells) -> Tally:
    """Counts plus prior, with denominators (`prior` None: plain counts)."""
    start, transition, emission = counts
    out, emit = transition.sum(axis=1), cells.row_totals(emission)
    if prior is None:
        return Tally(start, transition, out, emission, emit)
    return Tally(
        start + prior.start,
        transition + prior.transition,
        out + prior.transition_total,
        emission + prior.emission,
        emit + prior.emission_total,
    )


def without_prior(tables: Tally, prior: Prior | None) -> HMMCounts:
    """The counts in tables that had the prior added (`prior` None: that had not)."""
    counts = HMMCounts(tables.start, tables.transition, tables.emission)
    if prior is None:
        return counts
    added = (prior.start, prior.transition, prior.emission)
    return HMMCounts(*(np.maximum(a - b, 0.0) for a, b in zip(counts, added, strict=True)))


def floor_of(prior: Prior) -> Floor:
    """The tables of a prior alone: what no count may fall below."""
    return Floor(
        prior.start,
        prior.transition,
        prior.transition_total,
        prior.emission,
        prior.emission_total,
        float(prior.emission.min()),
        float(min(prior.transition.min(), prior.start.min())),
    )
