"""Which emission: symbols, as everywhere else, or numbers, for which the chain is another.

The hooks of a fit here go to `sklearn_cvb.hmm.numeric` where `emission` says that observations are
numbers, and else on to the next class. Nothing of numbers is loaded before that.
"""

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.hmm.concentrations import Concentrations, going_on, learn
from sklearn_cvb.hmm.measurements import MeasurementsMixin
from sklearn_cvb.hmm.parameters import HMMCounts, Prior
from sklearn_cvb.learning.loop import Fit

if TYPE_CHECKING:
    from sklearn_cvb.hmm.numeric.model import Algorithm, Fitted
    from sklearn_cvb.lattice import Cells


class EmissionMixin(MeasurementsMixin):
    """The parameter `emission` of hidden Markov models."""

    # Which of `sklearn_cvb.hmm.numeric` sweeps: "likelihood", "variational", "collapsed", "gibbs".
    _numeric_algorithm: str

    @property
    def _numeric_sweeps(self) -> "Algorithm":
        from sklearn_cvb.hmm.numeric.model import algorithm_of

        return algorithm_of(self)

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

    def _start(self, problem: Any, rng: np.random.Generator) -> Any:
        if not self._is_numeric:
            return super()._start(problem, rng)
        from sklearn_cvb.hmm.numeric.start import starting_posterior

        posterior = starting_posterior(problem, self.init, rng)
        return self._numeric_sweeps.start(problem, posterior, rng)

    def _sweep(self, state: Any, problem: Any, rng: np.random.Generator) -> tuple[Any, float]:
        if not self._is_numeric:
            return super()._sweep(state, problem, rng)
        return self._numeric_sweeps.sweep(state, problem, rng)

    def _ranked(self, fit: Fit, problem: Any) -> Fit:
        if not self._is_numeric:
            return super()._ranked(fit, problem)
        fit = fit._replace(
            objective=self._numeric_sweeps.objective(fit.state, problem, fit.history[-1])
        )
        if self.verbose:
            print(f"{len(fit.history)} sweeps, objective {fit.objective:.6f}")
        return fit

    def _why_one_restart(self, problem: Any) -> str:
        if not self._is_numeric:
            return super()._why_one_restart(problem)
        return self._fixed_start()

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        return problem.identity() if self._is_numeric else super()._identity(problem)

    def _learns_from_the_same(self, before: Any, problem: Any) -> bool:
        return type(before) is type(problem) and super()._learns_from_the_same(before, problem)

    # Checkpoints

    def _stripped(self, state: Any) -> Any:
        return state if self._is_numeric else super()._stripped(state)

    def _completed(self, state: Any, problem: Any) -> Any:
        return state if self._is_numeric else super()._completed(state, problem)

    def _with_parameters_of_now(self, state: Any, problem: Any) -> Any:
        if not self._is_numeric:
            return super()._with_parameters_of_now(state, problem)
        first, _ = self._chain_prior(problem.cells)
        concentrations = going_on(first, state.concentrations)
        prior = self._prior_of_chain(problem.cells, concentrations)
        return self._numeric_sweeps.resumed(state, problem, concentrations, prior)

    # Priors of the chain

    def _chain_prior(self, cells: "Cells") -> tuple[Concentrations, Prior]:
        """First concentrations of the chain, and its prior; emissions have their own."""
        concentrations = self._first_concentrations()._replace(learn_beta=False)
        return concentrations, self._prior_of_chain(cells, concentrations)

    def _prior_of_chain(self, cells: "Cells", concentrations: Concentrations) -> Prior:
        # No emission has a cell: totals of 1 keep functions of them away from 0.
        ones = np.ones(cells.n_states)
        return self._priors(cells, concentrations)._replace(emission_total=ones)

    def _chain_learned(self, state: Any, cells: "Cells", step: Any) -> tuple[Concentrations, Prior]:
        """Concentrations and prior of the next sweep."""
        from sklearn_cvb.hmm.numeric.problem import without_emission

        chain = without_emission(state.counts)
        concentrations = learn(state.concentrations, chain, cells, state.n_sweeps, step)
        if concentrations is state.concentrations:
            return concentrations, state.prior
        return concentrations, self._prior_of_chain(cells, concentrations)

    # What a fit leaves

    def _fitted(self, fits: list[Fit], problem: Any) -> dict[str, Any]:
        if not self._is_numeric:
            return super()._fitted(fits, problem)
        from sklearn_cvb.hmm.numeric.model import Fitted

        best, record = self._fit_record(fits)
        state, algorithm, n = best.state, self._numeric_sweeps, problem.cells.n_emitting
        counts, point = algorithm.final_counts(state), algorithm.point(state, problem)
        numeric = Fitted(
            problem.family,
            point,
            algorithm.predicting(state, problem),
            algorithm.scoring(state, problem),
            problem.names,
            problem.is_table,
        )
        posterior = algorithm.posterior(state, problem)
        if posterior is None:
            path = self._path_of_training(state, counts, problem, numeric)
        else:
            path = posterior.argmax(axis=1)
        chains = {"chains_": algorithm.chains(fits)} if hasattr(algorithm, "chains") else {}
        return {
            "counts_": HMMCounts(counts.start[:n], counts.transition[:n, :n], counts.emission.T),
            "end_counts_": counts.transition[:n, n] if self.end_state else None,
            "labels_": self._arranged_states(problem.given, path),
            **record,
            "unexplained_": problem.of_given(state.unexplained),
            "alpha_": state.concentrations.alpha,
            **self._shared_weights(state.concentrations, path),
            "n_columns_": problem.family.n_columns,
            "_prior": state.prior,
            "_kept": state.weights,
            "_n_features_out": n,
            "_numeric": numeric,
            "_resume": (problem, best) if self.warm_start else None,
            **problem.family.attributes(point),
            **algorithm.fitted(state, problem, record["objective_"]),
            **chains,
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
        self, state: Any, counts: HMMCounts, problem: Any, numeric: "Fitted"
    ) -> np.ndarray:
        """Viterbi paths of the training sequences under the final weights."""
        from sklearn_cvb.hmm.numeric.model import log_weights_of
        from sklearn_cvb.hmm.numeric.problem import lattice_of_steps, without_emission

        chain, cells = without_emission(counts), problem.cells
        weights = self._weights(chain, state.prior, cells, state.weights)
        logs = self._log_weights(weights, chain, state.prior, cells)
        shape = len(problem.given.tokens), cells.n_emitting
        emission, _ = log_weights_of(problem.observations, shape, numeric.predicting, problem.known)
        logs = logs._replace(emission=emission.ravel())
        return self._best_path(problem.given, lattice_of_steps(*shape), logs)[0]
