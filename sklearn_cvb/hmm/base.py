"""What all hidden Markov models share: reading X, the template of a fit, and what it leaves."""

from collections.abc import Hashable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

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
from sklearn_cvb.hmm.model import ChainSettings, SymbolChain
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
)
from sklearn_cvb.hmm.prediction import PredictionMixin
from sklearn_cvb.hmm.priors import PriorSettings, prior_of
from sklearn_cvb.hmm.summaries import SummariesMixin
from sklearn_cvb.hmm.symbols import SYMBOLS, Symbols
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import (
    Cells,
    Problem,
    lattice_for,
    restrict,
)
from sklearn_cvb.learning.loop import Fit, threads_for_each
from sklearn_cvb.topology import NAMES, Topology
from sklearn_cvb.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_gamma_prior,
)

if TYPE_CHECKING:
    from sklearn_cvb.hmm.numeric.numbers import Numbers

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

    # What reading X sets; numbers have no vocabulary.
    vocabulary_: np.ndarray
    _index: dict[Hashable, int]
    _cells: Cells
    _n_states: int

    # Models that learn no concentration have no such parameters.
    alpha_prior = beta_prior = gamma_prior = (1.0, 1.0)
    # Whether a first batch of `partial_fit` is read: then the words of the text are not all known.
    _streams: bool = False
    # Nor have EM and taggers these.
    transition_prior: str = "dirichlet"
    gamma: float | str = 1.0
    sticky: float = 0.0
    # Nor have taggers this.
    emission: Any = "categorical"

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

    _takes_bulk = _takes_dask = True

    def _fit_in_bulk(self, X: Any, y: Any) -> Self:
        from sklearn_cvb.hmm.stored.fitting import fit_in_bulk

        return fit_in_bulk(self, X, y)

    @property
    def _observed(self) -> "Symbols | Numbers":
        """What is observed; that of numbers is loaded when it is asked for."""
        if isinstance(self.emission, str) and self.emission == "categorical":
            return SYMBOLS
        from sklearn_cvb.hmm.numeric.numbers import NUMBERS

        return NUMBERS

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or of an emission as ``emission__<parameter>``.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is unknown, or the emission is a name and has none.
        """
        nested = [name for name in params if name.startswith("emission__")]
        nested = nested if "emission" in self._get_param_names() else []
        emission = params.get("emission", self.emission)
        if nested and isinstance(emission, str):
            kind = emission.capitalize()
            raise InvalidParameterError(
                f"{nested[0]} is a parameter of an emission, but emission={emission!r} is its name "
                f"alone: give the object, emission={kind}() of sklearn_cvb.emissions"
            )
        return super().set_params(**params)

    def _problem(self, X: Any, y: Any) -> Any:
        """Read X (and y): sets the vocabulary and the states, and lays out the parameters."""
        self._check_parameters()
        # Warnings of all steps name the caller's line: each is as many calls away.
        observed: Any = self._observed
        read = observed.sequences(self, X, y)
        return observed.problem(self, observed.lay_out(self, read, y), read, y)

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
        return self._observed.model(self, problem)

    def _chain_settings(self, problem: Any) -> ChainSettings:
        """How a chain begins, and what is inferred at a time."""
        n_restarts = 1 if self._fixed_start() else self.n_init
        return ChainSettings(
            self._prior_settings(),
            self._init(problem),
            self.vocabulary_,
            counts_rare=self._counts_rare,
            n_threads=threads_for_each(n_restarts, self.n_jobs),
        )

    @property
    def _counts_rare(self) -> bool:
        """Whether unknown words take the mean count of words seen once."""
        return self.handle_unknown in ("rare", "form")

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

    def _why_one_restart(self, problem: Any) -> str:
        return self._observed.why_one_restart(self, problem)

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

    def _fitted(self, fits: list[Fit], problem: Any) -> dict[str, Any]:
        """All fitted attributes, from the best restart."""
        best, record = self._fit_record(fits)
        algorithm, model, state = self._algorithm(), self._model(problem), best.state
        counts, n_states = algorithm.final_counts(state), problem.cells.n_emitting
        return {
            **record,
            "end_counts_": counts.transition[:n_states, n_states] if self.end_state else None,
            "alpha_": state.hyper.alpha,
            **self._fitted_paths(state, problem),
            "unexplained_": self._observed.unexplained(state, problem),
            "_prior": state.prior,
            "_n_features_out": n_states,
            "_resume": (problem, best) if self.warm_start else None,
            **self._observed.fitted(state, counts, model),
            **algorithm.attributes(best, model),
            **self._fitted_by_algorithm(best, problem),
        }

    def _fitted_paths(self, state: Any, problem: Any) -> dict[str, Any]:
        """The states of the training tokens, and what follows from them."""
        path = self._observed.path(self, state, problem)
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

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {}

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        return self._observed.identity(problem)

    def _learns_from_the_same(self, before: Any, problem: Any) -> bool:
        return type(before) is type(problem) and super()._learns_from_the_same(before, problem)

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
        table = self._observed.posteriors(self, best.state, problem)
        return reading.arrange(problem.given, table, np.nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        self._observed.tag(tags.input_tags)
        return tags
