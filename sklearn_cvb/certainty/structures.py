"""What calibrated intervals ask of models: draws of hidden structures, and of parameters.

A structure is a path of states or a tree; parameters are rows of Dirichlet posteriors.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.learning.dirichlet import draw_rows
from sklearn_cvb.learning.model import Learnable, StructureSample

# A rest of a row's mass below this share of it is rounding.
_ROUNDING = 1e-12


class FreeRows(NamedTuple):
    """Dirichlet parameters of all rows of a model, cell after cell as counts have them."""

    alpha: np.ndarray  # (n_cells,), 0 where a cell is ruled out
    row: np.ndarray  # (n_cells,) Row of each cell
    totals: np.ndarray  # (n_rows,) With cells that are not listed

    @property
    def mean(self) -> np.ndarray:
        """Posterior means of the cells; 0 in a row without count and prior."""
        return self.alpha / np.where(self.totals > 0, self.totals, 1.0)[self.row]

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Probabilities from the Dirichlet of each row; what is not listed is left out of them."""
        whole = self.with_unlisted()
        probabilities = draw_rows(whole.alpha, whole.row, np.zeros(len(self.totals)), 1.0, rng)
        return probabilities[: len(self.alpha)]

    def with_unlisted(self) -> "FreeRows":
        """With one more cell of each row for what it does not list, at the end."""
        rest = self.totals - np.bincount(self.row, self.alpha, len(self.totals))
        rest = np.where(rest > _ROUNDING * self.totals, rest, 0.0)
        row = np.concatenate([self.row, np.arange(len(rest))])
        return FreeRows(np.concatenate([self.alpha, rest]), row, self.totals)


class Structures(Protocol):
    """What calibration asks of a family: Dirichlet rows, and draws of structures and parameters.

    A family's own holds its model, which knows nothing of it.
    """

    @property
    def model(self) -> Learnable:
        """The model, which infers expected counts."""

    def free_rows(self, counts: Any, prior: Any) -> FreeRows:
        """The Dirichlet posteriors of all rows, cell after cell as flat counts have them."""

    def weights_at(
        self, theta: np.ndarray, counts: Any = None, rng: np.random.Generator | None = None
    ) -> Any:
        """Weights with these probabilities; what is no probability is its mean, or drawn."""

    def draw_structures(self, weights: Any, rng: np.random.Generator) -> StructureSample:
        """The hidden structure of all units anew, given weights."""

    def draw_parameters(self, counts: Any, prior: Any, rng: np.random.Generator) -> Any:
        """Weights given the counts of whole structures."""

    def counts_by_unit(self, sample: Any) -> csr_array:
        """How often each unit of a sample uses each cell that it may leave: a sparse table."""


@dataclass(frozen=True)
class RowStructures:
    """`Structures` of trees, whose parameters are rows of one layout, but for their counts."""

    model: Any

    def free_rows(self, counts: np.ndarray, prior: np.ndarray) -> FreeRows:
        """The rows of the layout."""
        rows = self.model.problem.layout.rows(counts, prior)
        cells, totals = rows.posterior
        return FreeRows(cells, rows.row, totals)

    def weights_at(self, theta: np.ndarray, counts: Any = None, rng: Any = None) -> np.ndarray:
        """The probabilities themselves."""
        return theta

    def draw_structures(self, weights: np.ndarray, rng: np.random.Generator) -> StructureSample:
        """A tree of each sentence under these weights."""
        drawn: StructureSample = self.model.draw_structures(weights, rng)
        return drawn

    def draw_parameters(
        self, counts: np.ndarray, prior: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """All rows given the trees of all sentences."""
        return self.free_rows(counts, prior).draw(rng)
