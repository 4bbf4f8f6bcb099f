"""Fits in which sequences have weights: how often each counts."""

from typing import Any, Self

from numpy.typing import ArrayLike

from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.methods import with_callbacks
from sklearn_cvb.scikit_learn import fit_context


class SampleWeights(BaseHMM):
    """A hidden Markov model that is fitted to sequences of which each may have a weight."""

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the model from sequences.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Each sample is a sequence of hashable tokens. None or NaN marks a missing observation;
            missing values at the end of a 2-D array's row are padding. Corpora larger than memory,
            too: a `CorpusStore` or `NumberStore`, paths of files, a function that returns batches
            of sequences, or what is on the workers of Dask: a bag, a column of lists, or a list of
            delayed partitions.
        y : list of sequences, default=None
            What is known of states, tags (taggers); see `supervision`.
        sample_weight : array-like of shape (n_samples,), default=None
            What the log-likelihood of each sequence is multiplied by: 2 is as good as having it
            twice, and one of weight 0 is left out (fitted attributes such as `labels_` are those of
            the others). None: 1 each. For sequences in memory. A first start is that of repeated
            sequences, too, but where states are mixtures or lines, or follow each other in an
            order; what is drawn for further restarts is not.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is not one weight for each sequence, one is negative or no number, or all
            are 0.
        """
        self._learn(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return self
