"""What all hidden Markov models share: reading X, the template of a fit, and what it leaves."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from sklearn_cvb import corpus as reading
from sklearn_cvb.base import BaseModel
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.hmm.concentrations import (
    Concentrations,
    first_concentrations,
    with_equal_weights,
)
from sklearn_cvb.hmm.ending import cells_with_end, problem_with_end
from sklearn_cvb.hmm.model import ChainSettings, SymbolChain
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
    public_counts,
)
from sklearn_cvb.hmm.prediction import PredictionMixin, smoothed_entries
from sklearn_cvb.hmm.priors import PriorSettings, prior_of
from sklearn_cvb.hmm.restricted import restricted_problem
from sklearn_cvb.hmm.summaries import SummariesMixin
from sklearn_cvb.kernels.chain.decoding import best_states, smoothed, viterbi
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import (
    Cells,
    Problem,
    cells_for,
    dense_posterior,
    lattice_for,
    n_entries,
    problem_of,
    restrict,
)
from sklearn_cvb.learning.loop import Fit, even_pieces, on_threads, threads_for_each
from sklearn_cvb.topology import NAMES, Topology, topology_of
from sklearn_cvb.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_gamma_prior,
)

# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000
# A state that holds so large a share of the tokens counts as one that the data ask for.
LEAST_SHARE = 0.01


class BaseHMM(SummariesMixin, PredictionMixin, ClassNamePrefixFeaturesOutMixin, BaseModel):
    """What is read, and what a fit leaves; an estimator adds its algorithm."""

    _read_names = (
        *BaseModel._read_names,
        *("classes_", "coverage_", "dropped_tags_", "open_tags_"),
        *("_cells", "_n_states", "_legal", "_labels", "_labelled"),
        *("_is_clean", "_is_told", "_shares", "_formed", "_formed_outside", "_word_shares"),
    )

    # Models that learn no concentration have no such parameters.
    alpha_prior = beta_prior = gamma_prior = (1.0, 1.0)
    # Whether a first batch of `partial_fit` is read: then the words of the text are not all known.
    _streams: bool = False
    # Nor have EM and taggers these.
    transition_prior: str = "dirichlet"
    gamma: float | str = 1.0
    sticky: float = 0.0

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "emission": [
            StrOptions({"categorical", "gaussian", "bernoulli", "poisson"}),
            HasMethods("bind"),
        ],
        "topology": [StrOptions(set(NAMES)), "array-like"],
        "supervision": [StrOptions({"none", "y"})],
        "transition_prior": [StrOptions({"dirichlet", "hdp"})],
        "gamma": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})],
        "sticky": [Interval(Real, 0, LARGEST, closed="both")],
        "end_state": ["boolean"],
        "alpha": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})],
        "beta": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})],
        "start_alpha": [Interval(Real, SMALLEST, LARGEST, closed="both"), None],
        "alpha_prior": [tuple],
        "beta_prior": [tuple],
        "gamma_prior": [tuple],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [
            StrOptions(
                {"token", "word", "parameter", "unambiguous", "context", "merged", "kmeans"}
            ),
            HasMethods("predict_proba"),
            "array-like",
            None,
        ],
        "handle_unknown": [StrOptions({"error", "smooth", "rare"})],
        "vocabulary": ["array-like", set, None],
        "warm_start": ["boolean"],
        **CHECKPOINT_PARAMETERS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _takes_bulk = True

    def _fit_in_bulk(self, X: Any, y: Any) -> Self:
        from sklearn_cvb.hmm.stored.fitting import fit_in_bulk

        return fit_in_bulk(self, X, y)

    @property
    def _is_numeric(self) -> bool:
        """Whether observations are numbers (see `sklearn_cvb.hmm.emitting`)."""
        return False

    def _numeric_problem(self, X: Any, y: Any) -> Any:
        """What `_problem` gives for numbers."""
        raise NotImplementedError

    def _problem(self, X: Any, y: Any) -> Problem:
        """Read X (and y): sets the vocabulary and the states, and lays out the parameters."""
        if self._is_numeric:
            return self._numeric_problem(X, y)
        self._check_parameters()
        sequences = self._sequences_to_fit(X, y)
        return self._laid_out_problem(self._lay_out(sequences, y), sequences, y)

    def _lay_out(self, sequences: Sequences, y: Any) -> Corpus:
        """Set the vocabulary, the states and the layout of parameters; returns the corpus."""
        types = self._vocabulary_types(sequences)
        self.vocabulary_ = reading.as_array(types)
        self._index = {token: i for i, token in enumerate(types)}
        corpus = reading.encode(sequences, self._index)
        self._check_unknown(corpus, sequences)
        rows = self._word_states(corpus, y)
        cells = cells_for(
            rows, self._n_states, len(types), with_unknown=self.handle_unknown != "error"
        )
        cells = cells._replace(topology=topology_of(self.topology, self._n_states))
        self._check_topology(cells.topology)
        self._cells = self._laid_out(cells, corpus)
        return corpus

    def _laid_out_problem(self, corpus: Corpus, sequences: Sequences, y: Any) -> Problem:
        """A problem of these sequences under the layout of parameters."""
        lattice = self._training_lattice(corpus, sequences, y)
        if self.end_state:
            self._cells = cells_with_end(self._cells)
        return self._problem_of(corpus, lattice)

    def _problem_of(self, corpus: Corpus, lattice: Lattice) -> Problem:
        """A corpus with the layout of now."""
        cells = self._cells
        if cells.has_end:
            return problem_with_end(corpus, lattice, cells)
        if cells.topology is None:
            return problem_of(corpus, lattice, cells)
        return restricted_problem(corpus, lattice, cells, cells.topology)

    def _word_states(self, corpus: Corpus, y: Any) -> list[np.ndarray] | None:
        """Set the number of states; return the states of each word (None: all of them)."""
        self._n_states = self.n_components
        return None

    def _check_topology(self, topology: Topology | None) -> None:
        """Raise where an algorithm cannot keep to a topology."""

    def _laid_out(self, cells: Cells, corpus: Corpus) -> Cells:
        """The layout of parameters with what a dictionary's weights and labels add to it."""
        return cells

    def _training_lattice(self, corpus: Corpus, sequences: Sequences, y: Any) -> Lattice:
        lattice = lattice_for(corpus, self._cells)
        known = self._known_states(y, corpus)
        return lattice if known is None else restrict(lattice, known)[0]

    def _known_states(self, y: Any, corpus: Corpus) -> np.ndarray | None:
        """States that `y` tells, -1 where unknown; None where it is not asked."""
        if y is None or self.supervision != "y":
            return None
        from sklearn_cvb.hmm.known_states import known_states

        return known_states(y, corpus, self.n_components)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        for name in ("alpha_prior", "beta_prior", "gamma_prior"):
            check_gamma_prior(name, getattr(self, name))
        is_full = isinstance(self.topology, str) and self.topology == "full"
        if self.transition_prior == "hdp" and not is_full:
            raise InvalidParameterError(
                "transition_prior='hdp' gives every state a weight wherever it is entered from: it "
                "needs topology='full'"
            )

    def _prior_settings(self) -> PriorSettings:
        """What priors are made from."""
        return PriorSettings(self._first_concentrations(), self.start_alpha)

    def _priors(self, cells: Cells, concentrations: Concentrations) -> Prior:
        """The Dirichlet prior of a sweep."""
        return prior_of(self._prior_settings(), cells, concentrations)

    def _first_concentrations(self) -> Concentrations:
        first = first_concentrations(
            self.alpha, self.beta, self.alpha_prior, self.beta_prior, self.start_alpha
        )
        if self.transition_prior == "hdp":
            first = with_equal_weights(first, self.n_components, self.gamma, self.gamma_prior)
        return first._replace(sticky=float(self.sticky))

    @property
    def _chain(self) -> type[SymbolChain]:
        """The model of a problem."""
        return SymbolChain

    def _model(self, problem: Any) -> Any:
        return self._chain(problem, self._chain_settings(problem))

    def _chain_settings(self, problem: Any) -> ChainSettings:
        """How a chain begins, and what is inferred at a time."""
        n_restarts = 1 if self._fixed_start() else self.n_init
        return ChainSettings(
            self._prior_settings(),
            self._init(problem),
            self.vocabulary_,
            counts_rare=self.handle_unknown in ("rare", "form"),
            n_threads=threads_for_each(n_restarts, self.n_jobs),
        )

    def _init(self, problem: Problem) -> Any:
        """`init`, or where to start if it does not say."""
        init = self._usual_start(problem) if self.init is None else self.init
        if isinstance(init, str) and init == "kmeans":
            raise InvalidParameterError(
                f"The 'init' parameter of {type(self).__name__} must be a str among 'context', "
                "'merged', 'parameter', 'token', 'unambiguous' and 'word': 'kmeans' is for numbers "
                "(see `emission`)"
            )
        return init

    def _usual_start(self, problem: Problem) -> str:
        """Where to start if `init` does not say."""
        free = problem.cells.is_full and not problem.any_told
        return self._default_start if free else "token"

    @property
    def _default_start(self) -> str:
        """Where to start without a dictionary."""
        return "parameter"

    def _why_one_restart(self, problem: Problem) -> str:
        # With one state there is nothing to tell: searches for the number of states begin there.
        if self._any_choice(problem) or problem.cells.n_states == 1:
            return self._fixed_start()
        return "no token has a choice of states"

    def _any_choice(self, problem: Problem) -> bool:
        """Whether any token may take several states."""
        return bool(len(problem.runs.begin))

    def _fixed_start(self) -> str:
        if isinstance(self.init, str):
            is_fixed = self.init in ("unambiguous", "context")
            return f"init={self.init!r} is always the same" if is_fixed else ""
        return "" if self.init is None else "init says where to start"

    def _weights(
        self, counts: HMMCounts, prior: Prior, cells: Cells, kept: Weights | None = None
    ) -> Weights:
        """Weights for sweeps and prediction: posterior means, unless an algorithm differs."""
        return posterior_mean(counts, prior, cells, kept)

    def _log_weights(
        self, weights: Weights, counts: HMMCounts, prior: Prior, cells: Cells
    ) -> Weights:
        """Logs of `_weights`, safe from underflow."""
        return log_weights(weights)

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        """All fitted attributes, from the best restart."""
        best, record = self._fit_record(fits)
        state = best.state
        counts, n_states = self._algorithm().final_counts(state), problem.cells.n_emitting
        ends = counts.transition[:n_states, n_states] if self.end_state else None
        return {
            "counts_": public_counts(counts, problem.cells),
            "end_counts_": ends,
            **record,
            "alpha_": state.hyper.alpha,
            "beta_": state.hyper.beta,
            **self._fitted_paths(state, problem),
            "unexplained_": self._unexplained(state, problem),
            "_prior": state.prior,
            "_kept": state.weights,
            "_rare": self._rare_counts(counts, problem),
            "_n_features_out": n_states,
            "_resume": (problem, best) if self.warm_start else None,
            **self._algorithm().attributes(best, self._model(problem)),
            **self._fitted_by_algorithm(best, problem),
        }

    def _fitted_paths(self, state: Any, problem: Problem) -> dict[str, Any]:
        """The states of the training tokens, and what follows from them."""
        path = self._given_path(state, problem)
        labels = self._arranged_states(problem.given, path)
        return {"labels_": labels, **self._shared_weights(state.hyper, path)}

    def _shared_weights(self, concentrations: Concentrations, path: np.ndarray) -> dict[str, Any]:
        """The weights of the states, where the prior has them, and how many hold many tokens."""
        if concentrations.shared is None:
            return {}
        held = np.bincount(path, minlength=self.n_components)
        return {
            "state_weights_": np.array(concentrations.shared),
            "gamma_": concentrations.gamma,
            "n_effective_components_": int(np.count_nonzero(held >= LEAST_SHARE * len(path))),
        }

    def _given_path(self, state: Any, problem: Problem) -> np.ndarray:
        """States of all given tokens, also of sequences left out."""
        table = self._of_left_out(state, problem)
        rest = None if table is None else table.argmax(axis=1)
        return problem.among_given(self._label_path(state, problem), rest)

    def _of_left_out(self, state: Any, problem: Problem) -> np.ndarray | None:
        """Posteriors of the sequences left out: the most probable legal state by emission."""
        rest = problem.left_out
        if rest is None:
            return None
        weights = self._weights(state.counts, state.prior, rest.cells, state.weights)
        logs = self._log_weights(weights, state.counts, state.prior, rest.cells)
        entries, _ = smoothed_entries(weights, logs, rest.lattice, rest.corpus.starts)
        return dense_posterior(rest.lattice, entries, rest.cells.n_states)

    def _unexplained(self, state: Any, problem: Problem) -> np.ndarray:
        """Given sequences that no path explains, be it from the start or under the weights."""
        found = state.unexplained
        if problem.sequences is not None:
            found = np.unique(problem.sequences[found])
        if problem.left_out is not None:
            found = np.sort(np.concatenate([found, problem.left_out.sequences]))
        return found

    def _final_weights(self, state: Any, problem: Problem) -> tuple[Weights, Weights]:
        """Weights of the final counts, and their logs."""
        weights = self._weights(state.counts, state.prior, problem.cells, state.weights)
        return weights, self._log_weights(weights, state.counts, state.prior, problem.cells)

    def _posterior(self, state: Any, problem: Problem) -> np.ndarray:
        """Posterior of every (token, state) entry: the last one, or under the final weights."""
        posterior = self._model(problem).posterior(state)
        if posterior is None:
            weights, logs = self._final_weights(state, problem)
            posterior = np.empty(n_entries(problem.lattice))
            log_z = np.empty(problem.corpus.n_sequences)
            smoothed(weights, logs, problem.lattice, problem.corpus.starts, posterior, log_z)
        return posterior

    def _label_path(self, state: Any, problem: Problem) -> np.ndarray:
        """States of the training tokens: by the last posterior, or Viterbi by the final weights."""
        path = np.empty(len(problem.corpus.tokens), np.int32)
        posterior = self._model(problem).posterior(state)
        if posterior is not None:
            best_states(problem.lattice, posterior, 0, len(path), path)
            return path
        _, logs = self._final_weights(state, problem)
        starts, log_p = problem.corpus.starts, np.empty(problem.corpus.n_sequences)

        def label(begin: int, end: int) -> None:
            viterbi(logs, problem.lattice, starts[begin : end + 1], path, log_p[begin:end])

        on_threads(label, even_pieces(starts, _SHORTEST_PIECE), self.n_jobs)
        return path

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {}

    def _identity(self, problem: Problem) -> tuple[Any, ...]:
        """Sequences, cells and allowed states."""
        corpus, cells = problem.corpus, problem.cells
        return (
            *(corpus.tokens, corpus.starts, problem.lattice),
            *(cells.state, cells.n_states, cells.topology),
        )

    def training_posteriors(self) -> np.ndarray:
        """Posterior state probabilities of the training tokens after the last sweep.

        Needs ``warm_start=True``, which keeps the state of the fit. EM and VB report p(z_t | x)
        under their final weights, CVB its last q(z_t), Gibbs how often each state was sampled.

        Returns
        -------
        ndarray
            Arrays of shape (length, n_components), arranged like the output of `predict_proba`.

        Raises
        ------
        AttributeError
            If the model was not fitted with ``warm_start=True``, or on a store or in shards.
        """
        if getattr(self, "_resume", None) is None:
            raise AttributeError("training_posteriors needs a fit with warm_start=True")
        problem, best = self._resume
        if not isinstance(problem, Problem):
            raise AttributeError(
                "a fit on a store or in shards keeps no posteriors in memory: use predict_proba"
            )
        entries = self._posterior(best.state, problem)
        table = dense_posterior(problem.lattice, entries, problem.cells.n_states)
        table = problem.among_given(table, self._of_left_out(best.state, problem))
        table = table[:, : problem.cells.n_emitting]
        return reading.arrange(problem.given, table, np.nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags
