"""Credible intervals of a dependency model: its rows, and the cells that sampled trees use."""

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, vstack

from sklearn_cvb.certainty.structures import RowStructures
from sklearn_cvb.certainty.trees import TreeUncertainty
from sklearn_cvb.dependency.inference import HeadTrees, cell_uses
from sklearn_cvb.dependency.parameters import DMVCounts, cells_from, counts_from
from sklearn_cvb.learning.learned import Learned


class DependencyStructures(RowStructures):
    """Trees of sentences, and the cells that each uses."""

    def counts_by_unit(self, sample: HeadTrees) -> csr_array:
        """How often each sentence uses each cell."""
        sentences = self.model.problem.sentences
        each = []
        for begin, end in pairwise(sentences.starts.tolist()):
            sentence = sentences._replace(
                token=sentences.token[begin:end], starts=np.array([0, end - begin])
            )
            parts = (None if part is None else part[begin:end] for part in sample)
            each.append(csr_array(cell_uses(sentence, *parts)[None]))
        return csr_array(vstack(each))


class DependencyUncertainty(TreeUncertainty):
    """Intervals of the probabilities of heads and stops."""

    _structures = DependencyStructures

    def _flat_counts(self, learned: Learned) -> np.ndarray:
        """The counts of all cells."""
        return cells_from(learned.counts)

    def _in_tables(self, learned: Learned, cells: np.ndarray) -> DMVCounts:
        """Values of all cells as tables."""
        return counts_from(cells, learned.layout)
