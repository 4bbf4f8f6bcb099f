"""Credible intervals of a context-free grammar: its rows, and the rules that sampled trees use."""

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.certainty.structures import RowStructures
from sklearn_cvb.certainty.trees import TreeUncertainty
from sklearn_cvb.kernels.tree.arrays import Derivations


class GrammarStructures(RowStructures):
    """Trees of sentences, and the rules that each uses."""

    def counts_by_unit(self, sample: Derivations) -> csr_array:
        """How often each sentence uses each rule."""
        used, n = sample.rule >= 0, len(sample.starts) - 1
        sentence = np.repeat(np.arange(n), np.diff(sample.starts))[used]
        entries = np.ones(len(sentence)), (sentence, sample.rule[used])
        return csr_array(entries, shape=(n, len(self.model.problem.layout.lhs)))


class GrammarUncertainty(TreeUncertainty):
    """Intervals of the probabilities of rules."""

    _structures = GrammarStructures
