"""Credible intervals of models of trees: the method that grammars and dependency models share."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import checked_input, learned_of
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.validation import Seed, check_level
from sklearn_cvb.scale.places import place_of

if TYPE_CHECKING:
    from sklearn_cvb.certainty.calibrated import RowIntervals


class TreeUncertainty(BaseModel):
    """Intervals of the probabilities of a grammar with a posterior."""

    # What holds a model, to draw trees by: `Structures`.
    _structures: ClassVar[Any]

    def _flat_counts(self, learned: Learned) -> np.ndarray:
        """The counts of all cells."""
        counts: np.ndarray = learned.counts
        return counts

    def _in_tables(self, learned: Learned, cells: np.ndarray) -> Any:
        """Values of all cells as the family shows them."""
        return cells

    def credible_intervals(
        self,
        X: Any = None,
        y: Any = None,
        level: float = 0.95,
        *,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> "RowIntervals":
        """Equal-tailed credible intervals of all probabilities.

        Trees are drawn at the mean parameters; the covariance of their counts is the information
        that is missing as long as trees are not seen (Louis 1982). Parameters are drawn with the
        inverse of the information that is left as covariance, and from each of 40 such draws 3
        sweeps of Gibbs sampling are made, the last of which stays: 140 sweeps in all.

        Parameters
        ----------
        X, y : as in `fit`, default=None
            What the model was fitted to, in memory; X must be given.
        level : float, default=0.95
            Posterior probability inside each interval.
        n_jobs : int or None, default=None
            Threads that make the short runs; the result does not depend on it.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        RowIntervals
            `lower`, `upper` and `draws`.

        Raises
        ------
        ValueError
            If X is missing, or not what the model was fitted to.

        References
        ----------
        Louis (1982), "Finding the observed information matrix when using the EM algorithm",
        Journal of the Royal Statistical Society B 44.
        """
        from sklearn_cvb.certainty.calibrated import N_RUNS, row_intervals, short_runs
        from sklearn_cvb.learning.generators import spawn_generators

        check_level(level)
        learned = learned_of(self)
        if X is None or place_of(X) != "memory":
            raise ValueError(
                "intervals draw the trees of the training sentences: give them as X, in memory"
            )
        reading = self._read(checked_input(self, X), y)
        structures, counts = self._structures(self._model(reading)), self._flat_counts(learned)
        n_before = len(vars(self)["labels_"])
        if (
            not are_same(reading.words, learned.words)
            or n_before != reading.problem.corpus.n_sequences
        ):
            raise ValueError("X must hold the sentences that the model was fitted to")

        def told(number: int) -> None:
            if self.verbose:
                print(f"short run {number + 1} of {N_RUNS}")

        generators = spawn_generators(check_random_state(random_state), 1 + N_RUNS)
        kept = short_runs(structures, counts, learned.prior, generators, n_jobs, told)
        found = row_intervals(structures, learned.prior, level, kept)
        return found._replace(
            lower=self._in_tables(learned, found.lower), upper=self._in_tables(learned, found.upper)
        )
