"""Posterior and sampled paths of a chain of symbols, for its intervals."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.certainty.cells import counts_by_unit, free_rows, weights_at
from sklearn_cvb.certainty.intervals import ChainPosterior
from sklearn_cvb.certainty.structures import FreeRows
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.chain.symbols import sampling
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.model import StructureSample


class SymbolStructures(NamedTuple):
    """`Structures` of a chain of symbols: paths."""

    model: SymbolChain

    def free_rows(self, counts: HMMCounts, prior: ChainPrior) -> FreeRows:
        """Rows of start, transitions and emissions."""
        return free_rows(counts, prior, self.model.cells)

    def weights_at(self, theta: np.ndarray, counts: Any = None, rng: Any = None) -> ChainWeights:
        """Weights with these probabilities."""
        return weights_at(theta, self.model.cells)

    def draw_structures(self, weights: ChainWeights, rng: np.random.Generator) -> StructureSample:
        """The states of all ambiguous tokens."""
        problem = self.model.problem
        levels, slots = rng.random(sampling.n_levels(problem.runs)), problem.lattice.first
        slots = sampling.draw_path(weights, problem, levels, slots.astype(np.int32))
        return StructureSample(sampling.counts_of_path(problem, slots), slots)

    def draw_parameters(
        self, counts: HMMCounts, prior: ChainPrior, rng: np.random.Generator
    ) -> ChainWeights:
        """All rows given the states of all tokens."""
        return sampling.draw_parameters(counts, prior, self.model.cells, rng)

    def counts_by_unit(self, sample: np.ndarray) -> csr_array:
        """Starts, steps and emissions of the ambiguous tokens of each sequence."""
        lattice, starts = self.model.problem.lattice, self.model.problem.corpus.starts
        used = lattice.state[sample], lattice.cell[sample]
        return counts_by_unit(*used, lattice.count > 1, starts, self.model.cells)

    @property
    def are_named(self) -> bool:
        """Whether states differ beforehand: by known ones, a dictionary, or where a path begins."""
        problem, topology = self.model.problem, self.model.cells.chain.topology
        begins_anywhere = topology is None or bool(topology.start.all())
        return problem.any_certain or not (problem.cells.is_full and begins_anywhere)


@dataclass(frozen=True)
class SymbolPosterior(ChainPosterior):
    """The posterior of start, transitions and emissions."""

    structures = SymbolStructures

    def counts(self) -> HMMCounts:
        """The counts that the fit left, laid out as its model has them."""
        return prediction.running_counts(self.learned)

    def mean_field(self) -> tuple[HMMCounts, ChainPrior]:
        """Counts, with those of unknown words, and prior."""
        return prediction.chain_counts(self.learned), self.learned.prior

    def draw(self, counts: HMMCounts, prior: ChainPrior, rng: np.random.Generator) -> ChainWeights:
        """All rows given the states of all tokens."""
        return sampling.draw_parameters(counts, prior, self.learned.layout, rng)
