"""Posterior and sampled paths of a chain of numbers, for its intervals."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.certainty.cells import counts_by_unit, free_rows, weights_at
from sklearn_cvb.certainty.intervals import ChainPosterior, CredibleIntervals, mixture_quantiles
from sklearn_cvb.certainty.structures import FreeRows
from sklearn_cvb.chain.numbers.e_step import NumberWeights, draw_structures
from sklearn_cvb.chain.numbers.model import NumberChain, draw_parameters, without_emission
from sklearn_cvb.chain.numbers.observed import counts_of_fit
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.learning.model import StructureSample


class NumberStructures(NamedTuple):
    """`Structures` of a chain of numbers: paths, and values that are missing."""

    model: NumberChain

    def free_rows(self, counts: HMMCounts, prior: ChainPrior) -> FreeRows:
        """Rows of start and transitions: what states emit has none."""
        return free_rows(without_emission(counts), prior, self.model.cells)

    def weights_at(self, theta: np.ndarray, counts: Any = None, rng: Any = None) -> NumberWeights:
        """Weights with these probabilities, emissions at their mean or drawn."""
        family = self.model.problem.family
        point = family.mean(counts.emission) if rng is None else family.draw(counts.emission, rng)
        return NumberWeights(
            weights_at(theta, self.model.cells), family.log_densities(point), point
        )

    def draw_structures(self, weights: NumberWeights, rng: np.random.Generator) -> StructureSample:
        """The states of all steps, and values that are missing where statistics need them."""
        return draw_structures(self.model.problem, weights.chain, weights.scores, rng)

    def draw_parameters(
        self, counts: HMMCounts, prior: ChainPrior, rng: np.random.Generator
    ) -> NumberWeights:
        """Parameters of the chain, and of what states emit."""
        return self.model.draw_parameters(counts, prior, rng)

    def counts_by_unit(self, sample: np.ndarray) -> csr_array:
        """Starts and steps of each sequence."""
        problem = self.model.problem
        known, none = problem.known, np.full(len(sample), -1)
        is_open = np.ones(len(sample), bool) if known is None else known < 0
        starts, contexts = problem.corpus.starts, problem.contexts
        return counts_by_unit(sample, none, is_open, starts, self.model.cells, contexts)

    @property
    def are_named(self) -> bool:
        """Whether the states of some steps are known."""
        known = self.model.problem.known
        return known is not None and bool((known >= 0).any())


@dataclass(frozen=True)
class NumberPosterior(ChainPosterior):
    """The posterior of start and transitions, and of what states emit."""

    structures = NumberStructures

    def counts(self) -> HMMCounts:
        """The counts and statistics that the fit left, laid out as its model has them."""
        return counts_of_fit(self.learned)

    def mean_field(self) -> tuple[HMMCounts, ChainPrior]:
        """Counts, statistics and prior."""
        return self.counts(), self.learned.prior

    def draw(self, counts: HMMCounts, prior: ChainPrior, rng: np.random.Generator) -> NumberWeights:
        """Parameters of the chain, and of what states emit; scores are made anew from these."""
        learned = self.learned
        return draw_parameters(counts, prior, learned.layout, learned.extra.numeric.family, rng)

    def intervals(
        self, posteriors: Iterable[tuple[HMMCounts, ChainPrior]], level: float
    ) -> CredibleIntervals:
        """Equal-tailed intervals of start and transitions, and of what states emit."""
        posteriors = list(posteriors)
        chains = [(without_emission(counts), prior) for counts, prior in posteriors]
        found = super().intervals(chains, level)
        family, tails = self.learned.extra.numeric.family, (0.5 - 0.5 * level, 0.5 + 0.5 * level)
        marginals = [family.marginals(counts.emission) for counts, _ in posteriors]
        return found._replace(emission=mixture_quantiles(marginals, tails))
