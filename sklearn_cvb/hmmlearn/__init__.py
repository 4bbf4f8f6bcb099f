"""hmmlearn's classes over the engines of this library: change the import, then discover the rest.

``from sklearn_cvb.hmmlearn import hmm, vhmm`` stands for ``from hmmlearn import hmm, vhmm``. Names,
attributes, priors, starts (also those of a seed) and steps of EM and variational Bayes are
hmmlearn's. All inference is that of `EMHMM` and `VBHMM`: this is an adapter and adds none. What
differs: nothing underflows (`implementation` is ignored); rows of probabilities that nothing was
counted for stay as they are; NaN is a missing number, where EM learns numbers; rates are at least a
millionth of their column's mean; priors of normal emissions are the same for all states; `sample`
draws other numbers of the same distributions; in signatures `algorithm` and what follows it need
their names. `MultinomialHMM` and `GMMHMM` are missing: ``EMHMM(emission=Multinomial())`` and
``EMHMM(emission=Mixture(...))`` are their models.

These classes are no estimators in scikit-learn's sense, and not all of its `check_estimator` holds:
`lengths` stands where `y` does, so that searches, cross-validation and pipelines cannot use them.
Those take `VBHMM` and `CVBHMM`, which also give restarts, posteriors instead of point estimates,
credible intervals, forecasts, filtering, topologies, learned concentrations, the number of states
that is needed, batches and Dask.
"""

from sklearn_cvb.hmmlearn.base import ConvergenceMonitor
from sklearn_cvb.hmmlearn.hmm import CategoricalHMM, GaussianHMM, PoissonHMM
from sklearn_cvb.hmmlearn.vhmm import VariationalCategoricalHMM, VariationalGaussianHMM

__all__ = [
    "CategoricalHMM",
    "ConvergenceMonitor",
    "GaussianHMM",
    "PoissonHMM",
    "VariationalCategoricalHMM",
    "VariationalGaussianHMM",
]
