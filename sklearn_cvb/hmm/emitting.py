"""Which emission: symbols, as everywhere else, or numbers, for which the chain is another.

The hooks of a fit here go to `sklearn_cvb.hmm.numeric` where `emission` says that observations are
numbers, and else on to the next class. Nothing of numbers is loaded before that.
"""

import pickle
from typing import Any

import numpy as np

from sklearn_cvb.hmm.measurements import MeasurementsMixin
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.learning.loop import Fit, threads_for_each
from sklearn_cvb.learning.model import Model


class EmissionMixin(MeasurementsMixin):
    """The parameter `emission` of hidden Markov models."""

    # Hooks of a fit

    def _numeric_problem(self, X: Any, y: Any) -> Any:
        """Read numbers; `BaseHMM._problem` calls it, so that warnings name the caller's line."""
        from sklearn_cvb.hmm.ending import cells_with_end
        from sklearn_cvb.hmm.known_states import refuse_impossible
        from sklearn_cvb.hmm.numeric.model import emission_of, refuse_settings_of_symbols
        from sklearn_cvb.hmm.numeric.problem import NumericProblem, cells_of_chain
        from sklearn_cvb.hmm.numeric.reading import observations_of, read_to_fit
        from sklearn_cvb.hmm.numeric.start import model_posterior
        from sklearn_cvb.topology import topology_of

        emission = emission_of(self.emission)
        self._check_parameters()
        refuse_settings_of_symbols(self)
        series, n_states = read_to_fit(X, y, self), self.n_components
        topology = topology_of(self.topology, n_states)
        self._check_topology(topology)
        cells = cells_of_chain(n_states, topology)
        self._cells, self._n_states = cells_with_end(cells) if self.end_state else cells, n_states
        family, corpus = emission.bind(series.table, n_states), series.corpus
        start = None
        if hasattr(self.init, "predict_proba"):
            start = model_posterior(self.init, X, corpus, n_states)
        known = self._known_states(y, series.corpus)
        if known is not None and topology is not None:
            refuse_impossible(known, corpus, topology)
        if topology is not None and topology.tied:
            corpus = corpus._replace(starts=np.arange(len(corpus.tokens) + 1), width=None)
        return NumericProblem(
            corpus,
            series.corpus,
            observations_of(series, family),
            family,
            self._cells,
            series.names,
            series.is_table,
            start,
            pickle.dumps(emission),
            known,
        )

    def _model(self, problem: Any) -> Model:
        if not self._is_numeric:
            return super()._model(problem)
        from sklearn_cvb.hmm.numeric.chain import NumberChain

        n_restarts = 1 if self._fixed_start() else self.n_init
        return NumberChain(
            problem,
            self._prior_settings(),
            self.init,
            getattr(self, "block_length", None),
            threads_for_each(n_restarts, self.n_jobs),
        )

    def _why_one_restart(self, problem: Any) -> str:
        if not self._is_numeric:
            return super()._why_one_restart(problem)
        return self._fixed_start()

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        return problem.identity() if self._is_numeric else super()._identity(problem)

    def _learns_from_the_same(self, before: Any, problem: Any) -> bool:
        return type(before) is type(problem) and super()._learns_from_the_same(before, problem)

    # What a fit leaves

    def _fitted(self, fits: list[Fit], problem: Any) -> dict[str, Any]:
        if not self._is_numeric:
            return super()._fitted(fits, problem)
        best, record = self._fit_record(fits)
        model: Any = self._model(problem)
        state, algorithm = best.state, self._algorithm()
        counts, n = algorithm.final_counts(state), problem.cells.n_emitting
        numeric, posterior = model.emissions(state, counts), model.posterior(state)
        if posterior is None:
            path = self._path_of_training(state, counts, problem, numeric.predicting)
        else:
            path = posterior.argmax(axis=1)
        return {
            "counts_": HMMCounts(counts.start[:n], counts.transition[:n, :n], counts.emission.T),
            "end_counts_": counts.transition[:n, n] if self.end_state else None,
            "labels_": self._arranged_states(problem.given, path),
            **record,
            "unexplained_": problem.of_given(state.unexplained),
            "alpha_": state.hyper.alpha,
            **self._shared_weights(state.hyper, path),
            "n_columns_": problem.family.n_columns,
            "_prior": state.prior,
            "_kept": None if state.weights is None else state.weights.chain,
            "_n_features_out": n,
            "_numeric": numeric,
            "_resume": (problem, best) if self.warm_start else None,
            **problem.family.attributes(numeric.point),
            **algorithm.attributes(best, model),
            **model.sampled(fits, state, algorithm),
        }

    def _keep(self, fitted: dict[str, Any], why: str) -> None:
        # Another emission leaves other attributes.
        for name in self.__dict__.get("_fitted_names", frozenset()) - fitted.keys():
            self.__dict__.pop(name, None)
        if self._is_numeric:
            for name in ("vocabulary_", "_index"):
                self.__dict__.pop(name, None)
        super()._keep(fitted | {"_fitted_names": frozenset(fitted)}, why)

    def _path_of_training(
        self, state: Any, counts: HMMCounts, problem: Any, scores: Any
    ) -> np.ndarray:
        """Viterbi paths of the training sequences under the final weights."""
        from sklearn_cvb.hmm.numeric.model import log_weights_of
        from sklearn_cvb.hmm.numeric.problem import lattice_of_steps, without_emission

        chain, cells = without_emission(counts), problem.cells
        weights = self._weights(chain, state.prior, cells, state.weights.chain)
        logs = self._log_weights(weights, chain, state.prior, cells)
        shape = len(problem.given.tokens), cells.n_emitting
        emission, _ = log_weights_of(problem.observations, shape, scores, problem.known)
        logs = logs._replace(emission=emission.ravel())
        return self._best_path(problem.given, lattice_of_steps(*shape), logs)[0]
