"""Fitting with every prior cell different, which the public parameters do not offer."""

import numpy as np
from estimators import make_estimator

from sklearn_cvb.chain.parameters.rows import ChainPrior


def prior_cells(problem, cells):
    """The problem's prior cells, laid out as the kernels hold them: emissions word by word."""
    words = np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))
    transition, start = problem.alpha[:-1], problem.alpha[-1]
    return ChainPrior(
        start,
        float(start.sum()),
        transition,
        transition.sum(axis=1),
        problem.beta[cells.state, words],
        problem.beta.sum(axis=1),
    )


def with_unequal_priors(prefix, problem, **keywords):
    """An unfitted estimator whose models have the problem's cells for a prior."""
    estimator = make_estimator(prefix, problem, **keywords)
    kind = type(estimator)

    class Unequal(kind):
        def _model(self, read):
            plain = super()._model(read)

            class UnequalChain(type(plain)):
                def prior(self, hyper):
                    return prior_cells(problem, self.cells)

            return UnequalChain(plain.problem, plain.settings)

    Unequal.__name__ = kind.__name__
    return Unequal(**estimator.get_params(deep=False))


def fit_with_unequal_priors(prefix, problem, **keywords):
    """Fit an estimator whose models have the problem's cells for a prior."""
    return with_unequal_priors(prefix, problem, **keywords).fit(problem.sequences)
