"""What all hidden Markov models share: what a fit reads and leaves, predictions and scores."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.base import BaseModel, learned_of, over_partitions
from sklearn_cvb.containers import is_dask, is_in_bulk, is_store
from sklearn_cvb.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.hmm import prediction, symbols
from sklearn_cvb.hmm.chains import Sampled
from sklearn_cvb.hmm.concentrations import (
    Concentrations,
    first_concentrations,
    with_equal_weights,
)
from sklearn_cvb.hmm.growing import Growth, with_words
from sklearn_cvb.hmm.model import ChainSettings, SymbolChain
from sklearn_cvb.hmm.parameters import HMMCounts, Prior
from sklearn_cvb.hmm.prediction import BesideCounts
from sklearn_cvb.hmm.priors import PriorSettings
from sklearn_cvb.hmm.summaries import CredibleIntervals
from sklearn_cvb.hmm.symbols import WordsRead
from sklearn_cvb.kernels.chain import decoding as kernels
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, cells_for, lattice_for, restrict
from sklearn_cvb.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import Fit, threads_for_each
from sklearn_cvb.restarts import record_of
from sklearn_cvb.streaming import Batch, Running, Seen, seen_by_fit
from sklearn_cvb.topology import NAMES, Topology
from sklearn_cvb.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_choice,
    check_gamma_prior,
    without_lengths,
)

if TYPE_CHECKING:
    from sklearn_cvb.hmm.forecasts import Forecast

# A state that holds so large a share of the tokens counts as one that the data ask for.
LEAST_SHARE = 0.01
# What scikit-learn knows of the columns of a table.
_OF_TABLES = ("n_features_in_", "feature_names_in_")


class BaseHMM(TransformerMixin, ClassNamePrefixFeaturesOutMixin, BaseModel):
    """What is read, what a fit leaves, and what it predicts; an estimator adds its algorithm."""

    # Models that learn no concentration have no such parameters.
    alpha_prior = beta_prior = gamma_prior = (1.0, 1.0)
    # Nor have EM and taggers these.
    transition_prior: str = "dirichlet"
    gamma: float | str = 1.0
    sticky: float = 0.0
    # Nor have taggers this.
    emission: Any = "categorical"
    # The model of a problem of symbols.
    _chain: type[SymbolChain] = SymbolChain
    # Why an algorithm's counts are no posterior, where they are not.
    _no_posterior = ""
    _takes_dask = True

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

    @property
    def _observed(self) -> Any:
        """What is observed: a module of functions; that of numbers is loaded when asked for."""
        if isinstance(self.emission, str) and self.emission == "categorical":
            return symbols
        from sklearn_cvb.hmm.numeric import numbers

        return numbers

    # Reading

    def _read(self, X: Any, y: Any, streams: bool = False) -> Reading:
        if is_in_bulk(X) and not streams:
            from sklearn_cvb.hmm.stored.fitting import read_in_bulk

            return read_in_bulk(self, X, y)
        self._check_parameters()
        read: Reading = self._observed.read_to_fit(self, X, y, streams)
        return read

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, Running]:
        """A later batch, and the counts so far."""
        self._check_parameters()
        read, running = symbols.read_batch(self, X, y, learned)
        # Of a first batch that was a table.
        kept = {name: vars(self)[name] for name in _OF_TABLES if name in vars(self)}
        return read._replace(attributes=kept | read.attributes), running

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

    def _check_topology(self, topology: Topology | None) -> None:
        """Raise where an algorithm cannot keep to a topology."""

    def _words_read(
        self, vocabulary: Vocabulary, corpus: Corpus, y: Any, streams: bool
    ) -> WordsRead:
        """What words tell: that any state may emit them."""
        with_unknown = self.handle_unknown != "error"
        n_words = len(vocabulary.types)
        return WordsRead(vocabulary, cells_for(None, self.n_components, n_words, with_unknown))

    def _attributes_of_words(self, words: Any) -> dict[str, Any]:
        """The fitted attributes that tell them."""
        return {"vocabulary_": words.types}

    def _training_lattice(
        self, words: Any, told: Any, cells: Cells, corpus: Corpus, sequences: Sequences, y: Any
    ) -> tuple[Lattice, Any, tuple[str, ...]]:
        """Allowed states of each token, the words with what `y` tells, and messages."""
        lattice, known = lattice_for(corpus, cells), self._known_states(y, corpus)
        return lattice if known is None else restrict(lattice, known)[0], words, ()

    def _known_states(self, y: Any, corpus: Corpus) -> np.ndarray | None:
        """States that `y` tells, -1 where unknown; None where it is not asked."""
        if y is None or self.supervision != "y":
            return None
        from sklearn_cvb.hmm.known_states import known_states

        return known_states(y, corpus, self.n_components)

    def _grown(
        self, learned: Learned, vocabulary: Vocabulary, corpus: Corpus, y: Any
    ) -> tuple[Growth, Any, Any]:
        """The layout, words and what is told, with the new words of a batch."""
        cells = learned.layout
        every = np.arange(cells.n_emitting, dtype=np.int32)
        rows = [every] * (len(vocabulary.types) - cells.n_words)
        return with_words(cells, rows), vocabulary, None

    # Learning

    def _prior_settings(self, words: Any) -> PriorSettings:
        """What priors are made from."""
        return PriorSettings(self._first_concentrations(), self.start_alpha)

    def _first_concentrations(self) -> Concentrations:
        first = first_concentrations(
            self.alpha, self.beta, self.alpha_prior, self.beta_prior, self.start_alpha
        )
        if self.transition_prior == "hdp":
            first = with_equal_weights(first, self.n_components, self.gamma, self.gamma_prior)
        return first._replace(sticky=float(self.sticky))

    def _model(self, read: Reading) -> Any:
        return self._observed.model(self, read)

    def _n_threads(self, read: Reading) -> int:
        """Threads of one restart."""
        return threads_for_each(1 if self._fixed_start(read) else self.n_init, self.n_jobs)

    def _chain_settings(self, read: Reading) -> ChainSettings:
        """How a chain begins, and what is inferred at a time."""
        return ChainSettings(
            self._prior_settings(read.words),
            self._init(read),
            read.words.types,
            counts_rare=self._counts_rare,
            n_threads=self._n_threads(read),
        )

    @property
    def _counts_rare(self) -> bool:
        """Whether unknown words take the mean count of words seen once."""
        return self.handle_unknown in ("rare", "form")

    def _init(self, read: Reading) -> Any:
        """`init`, or where to start if it does not say."""
        init = self._usual_start(read) if self.init is None else self.init
        if isinstance(init, str) and init == "kmeans":
            raise InvalidParameterError(
                f"The 'init' parameter of {type(self).__name__} must be a str among 'context', "
                "'merged', 'parameter', 'token', 'unambiguous' and 'word': 'kmeans' is for numbers "
                "(see `emission`)"
            )
        return init

    def _usual_start(self, read: Reading) -> str:
        """Where to start if `init` does not say."""
        free = read.problem.cells.is_full and not read.problem.any_told
        return self._default_start if free else "token"

    @property
    def _default_start(self) -> str:
        """Where to start without a dictionary."""
        return "parameter"

    def _why_one_restart(self, read: Reading) -> str:
        # With one state there is nothing to tell: searches for the number of states begin there.
        if read.problem.any_choice or read.problem.cells.n_states == 1:
            return self._fixed_start(read)
        return "no token has a choice of states"

    def _fixed_start(self, read: Reading) -> str:
        if isinstance(self.init, str):
            is_fixed = self.init in ("unambiguous", "context")
            return f"init={self.init!r} is always the same" if is_fixed else ""
        return "" if self.init is None else "init says where to start"

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        identity: tuple[Any, ...] = read.problem.identity
        return identity

    # What a fit leaves

    def _left(self, fits: list[Fit], read: Reading) -> Left:
        best, record = record_of(fits)
        algorithm, model, state = self._algorithm(), self._model(read), best.state
        counts, n = algorithm.final_counts(state), model.cells.n_emitting
        attributes, kept, rare, numeric = self._observed.left_of(state, counts, model)
        sampled, of_chain, messages = self._of_chain(fits, state, counts, model)
        end = counts.transition[:n, n] if self.end_state else None
        more, seen = BesideCounts(end, numeric, sampled), None
        if self._learns_in_batches:
            seen, of_chain = seen_by_fit(self, self._batch_of(read, state)), {"n_batches_seen_": 0}
        learned = Learned(
            read.words,
            model.cells,
            state.prior,
            attributes["counts_"],
            kept=kept,
            rare=rare,
            averages=algorithm.averages,
            more=more,
            seen=seen,
        )
        attributes = {
            **record,
            "end_counts_": end,
            "alpha_": state.hyper.alpha,
            **self._left_paths(state, read),
            "unexplained_": read.problem.of_given(state.unexplained),
            **attributes,
            **algorithm.attributes(best, model),
            **of_chain,
        }
        return Left(learned, attributes, messages)

    def _left_paths(self, state: Any, read: Reading) -> dict[str, Any]:
        """The states of the training tokens, and what follows from them."""
        if getattr(read.problem, "is_in_parts", False):
            return read.problem.left_paths(self, state, read)
        path = self._observed.path(self, state, read)
        labels = self._arranged_states(read.words, read.problem.given, path)
        held = np.bincount(path, minlength=1)
        return {"labels_": labels, **self._shared_weights(state.hyper, held)}

    def _shared_weights(
        self, concentrations: Concentrations, held: np.ndarray | None
    ) -> dict[str, Any]:
        """The weights of the states, where the prior has them, and how many hold many tokens."""
        if concentrations.shared is None:
            return {}
        found = {
            "state_weights_": np.array(concentrations.shared),
            "gamma_": concentrations.gamma,
        }
        if held is not None:
            many = held >= LEAST_SHARE * held.sum()
            found["n_effective_components_"] = int(np.count_nonzero(many))
        return found

    def _of_chain(
        self, fits: list[Fit], state: Any, counts: HMMCounts, model: Any
    ) -> tuple[Sampled | None, dict[str, Any], tuple[str, ...]]:
        """What only samplers leave: their chains, attributes and messages."""
        return None, {}, ()

    @property
    def _n_features_out(self) -> int:
        return learned_of(self).layout.n_emitting

    # One batch after another, where an estimator has `partial_fit`

    @property
    def _learns_in_batches(self) -> bool:
        return hasattr(type(self), "partial_fit") and not self._why_no_batches

    @property
    def _why_no_batches(self) -> str:
        if self._observed.has_vocabulary:
            return ""
        return (
            f"partial_fit is for symbols: {type(self).__name__} learns numbers "
            f"(emission={self.emission!r}) by fit"
        )

    def _algorithm_of_batches(self) -> Any:
        return self._algorithm()

    def _batch_of(self, read: Reading, state: Any) -> Batch:
        """How much there is in a batch."""
        if getattr(read.problem, "is_in_parts", False):
            return read.problem.batch_of(state.unexplained)
        given, n_words = read.problem.given, read.problem.cells.n_words
        lengths = np.delete(np.diff(given.starts), read.problem.of_given(state.unexplained))
        tokens = given.tokens[(given.tokens >= 0) & (given.tokens < n_words)]
        return Batch(int(lengths.sum()), len(lengths), np.bincount(tokens, minlength=n_words))

    def _with_running_counts(self, state: Any, counts: HMMCounts, model: Any) -> Any:
        """The state of a batch with the counts of all, under the prior without them."""
        return state._replace(counts=counts, prior=model.prior(state.hyper))

    def _rare_of_all(self, counts: HMMCounts, seen: Seen, read: Reading) -> np.ndarray | None:
        if not self._counts_rare:
            return None
        return symbols.rare_of_all(counts, read.problem.cells, seen)

    # Reading a fitted model

    def _lattice_of(self, learned: Learned, corpus: Corpus) -> Lattice:
        """Allowed states of a new corpus."""
        return lattice_for(corpus, learned.layout)

    def _with_unknown(
        self, learned: Learned, corpus: Corpus, weights: Weights, logs: Weights
    ) -> tuple[Lattice, Weights, Weights]:
        """Weights with what else is known of unknown words, and the lattice that reads them."""
        return self._lattice_of(learned, corpus), weights, logs

    def _arranged_states(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """States in the shape of the input."""
        return reading.arrange(corpus, path.astype(np.int64), -1)

    def _samples(self, learned: Learned) -> Iterable[tuple[HMMCounts, Prior]] | None:
        """Counts and priors of kept samples; None where an algorithm has none."""
        return None

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, int]:
        samples = self._samples(learned)
        if samples is None and is_store(X) and self._observed.has_vocabulary:
            from sklearn_cvb.hmm.stored.prediction import log_likelihoods_of_store

            return log_likelihoods_of_store(self, learned, X)
        found, n_observed = self._observed.log_likelihoods(self, learned, X, samples)
        return prediction.mean_likelihoods(found), n_observed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        self._observed.tag(tags.input_tags)
        return tags

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

    # What it has learned

    @property
    def startprob_(self) -> np.ndarray:
        """Posterior mean of the start probabilities, shape (n_components,)."""
        learned = learned_of(self)
        return prediction.mean_weights(learned).start[: learned.layout.n_emitting]

    @property
    def transmat_(self) -> np.ndarray:
        """Posterior mean of the transition probabilities, shape (n_components, n_components).

        With `end_state` each row sums to 1 minus `endprob_`.
        """
        return prediction.steps_of(learned_of(self))

    @property
    def endprob_(self) -> np.ndarray:
        """Posterior mean of the probability that a sequence ends after each state.

        Shape (n_components,); only with `end_state`.
        """
        learned = learned_of(self)
        if not learned.layout.has_end:
            raise AttributeError("endprob_ needs a fit with end_state=True")
        return prediction.mean_weights(learned).transition[:-1, -1]

    @property
    def emissionprob_(self) -> np.ndarray:
        """Posterior mean of the emission probabilities, shape (n_components, n_symbols).

        Symbols are in the order of `vocabulary_`; the unknown item, where there is one, is last.
        Only for symbols: see `means_`, `rates_` or `probabilities_` of models of numbers.
        """
        if not self._observed.has_vocabulary:
            raise AttributeError("emissionprob_ is for symbols; this model's emissions are numbers")
        return prediction.emission_table(learned_of(self))

    @without_lengths
    def predict(self, X: Any, decoding: str = "viterbi") -> np.ndarray:
        """States (taggers: tags) of new sequences.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        decoding : {"viterbi", "marginal"}, default="viterbi"
            The most probable path, or the most probable state of each token.

        Returns
        -------
        ndarray
            Shape (n_samples, length) for a 2-D X (-1, or None for tags that are not integers,
            where a row is padded), else an object array of one array per sequence.
        """
        check_choice("decoding", decoding, ("viterbi", "marginal"))
        if is_dask(X):
            return over_partitions(self, "predict", X, decoding=decoding)
        learned = learned_of(self)
        if is_store(X):
            from sklearn_cvb.hmm.stored.prediction import states_of_store

            found: Any = states_of_store(self, learned, X, decoding)
            return found
        read = self._observed.read_again(self, learned, X)
        path, log_p = prediction.paths(read, decoding)
        prediction.tell_unexplained(log_p)
        return self._arranged_states(learned.words, read.corpus, path)

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(z_t | x_1..T) of every token.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            Shape (n_samples, length, n_components) for a 2-D X (NaN where padded), else an object
            array of arrays of shape (length, n_components).
        """
        if is_dask(X):
            return over_partitions(self, "predict_proba", X)
        read = self._observed.read_again(self, learned_of(self), X)
        return reading.arrange(read.corpus, prediction.posterior_table(read), np.nan)

    def filter_proba(self, X: Any) -> np.ndarray:
        """p(z_t | x_1..t) of every token: what is known as the sequence unfolds.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            As `predict_proba`.
        """
        read = self._observed.read_again(self, learned_of(self), X)
        table = prediction.posterior_table(read, kernels.filtered)
        return reading.arrange(read.corpus, table, np.nan)

    def predict_next_proba(self, X: Any) -> np.ndarray:
        """Probability of each symbol to come next after each sequence; only for symbols.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_symbols)
            In the order of `vocabulary_`; the unknown item, where there is one, is last. With
            `end_state` a row sums to 1 minus the probability that its sequence has ended.
        """
        if not self._observed.has_vocabulary:
            raise AttributeError("predict_next_proba is for symbols: use predict_next for numbers")
        learned = learned_of(self)
        read = self._observed.read_again(self, learned, X, means=True)
        table = prediction.posterior_table(read, kernels.filtered)[read.corpus.starts[1:] - 1]
        return table @ prediction.steps_of(learned) @ prediction.emission_table(learned)

    def predict_next(
        self,
        X: Any,
        n_steps: int = 1,
        *,
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: Seed = None,
    ) -> "Forecast":
        """Forecast the next observations after each sequence, where they are numbers.

        States go on from their probabilities after the last step; with `end_state`, given that no
        sequence ends before the last step asked for. Parameters are the fitted ones: that they are
        uncertain is left out of the intervals.

        Parameters
        ----------
        X : list of arrays of shape (length, n_columns), or as in `fit`
        n_steps : int, default=1
            How many steps ahead.
        level : float, default=0.95
            Probability inside each interval.
        n_draws : int, default=1000
            How many continuations are drawn for the intervals.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        Forecast
            `mean`, `lower`, `upper`, `proba` and `samples`.

        Raises
        ------
        ValueError
            If a sequence surely ends before that.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_cvb import EMHMM
        >>> rng = np.random.default_rng(0)
        >>> series = np.tile(np.repeat([0.0, 9.0], 20), 5) + rng.normal(size=200)
        >>> model = EMHMM(2, emission="gaussian", random_state=0).fit([series])
        >>> model.predict_next([series], n_steps=3, random_state=0).mean.shape
        (1, 3, 1)
        """
        if self._observed.has_vocabulary:
            raise AttributeError("predict_next is for numbers: use predict_next_proba for symbols")
        from sklearn_cvb.hmm.forecasts import check_forecast, forecast

        check_forecast(n_steps, n_draws, level)
        learned = learned_of(self)
        read = self._observed.read_again(self, learned, X, means=True)
        table = prediction.posterior_table(read, kernels.filtered)[read.corpus.starts[1:] - 1]
        return forecast(learned, table, n_steps, level, n_draws, random_state)

    def transform(self, X: Any) -> np.ndarray:
        """Mean state posterior of each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        read = self._observed.read_again(self, learned_of(self), X)
        sums = np.add.reduceat(prediction.posterior_table(read), read.corpus.starts[:-1], axis=0)
        return sums / np.diff(read.corpus.starts)[:, None]

    def sample(
        self, n_samples: int = 1, length: int | ArrayLike | None = 10, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sequences from the model with posterior-mean parameters.

        Parameters
        ----------
        n_samples : int, default=1
        length : int, array-like of shape (n_samples,) or None, default=10
            Length of the sequences. With `end_state` they are drawn given that they end there, or
            for None until they end.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray
            Symbols, shape (n_samples, length); for several lengths an object array of arrays. The
            unknown item is never emitted: where a state emits nothing else stands None, a missing
            observation. Numbers have one more axis, n_columns, unless a 2-D array was fitted.
        Z : ndarray
            States (taggers: tags), shape (n_samples, length) or an object array.
        """
        learned, observed = learned_of(self), self._observed
        if observed.draws_ahead and np.ndim(n_samples):
            raise TypeError(f"n_samples must be an integer, got a sequence: {observed.draws_ahead}")
        rng = check_random_state(random_state)
        states, lengths = prediction.drawn_states(learned, n_samples, length, rng)
        values, nothing = observed.drawn(learned, states, rng)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        width = int(lengths[0]) if length is not None and np.ndim(length) == 0 else None
        drawn = Corpus(np.zeros(len(states), np.int32), starts, width, [])
        shown = self._arranged_states(learned.words, drawn, states)
        return reading.arrange(drawn, values, nothing), shown

    def sample_paths(self, X: Any, random_state: Seed = None) -> np.ndarray:
        """Draw a state path from p(z | x) for every sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ndarray
            States (taggers: tags), arranged as by `predict`.
        """
        learned = learned_of(self)
        read = self._observed.read_again(self, learned, X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        path, log_z = read.drawn_path(rng)
        prediction.tell_unexplained(log_z)
        return self._arranged_states(learned.words, read.corpus, path)

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
        learned = vars(self).get("_learned")
        if learned is None or learned.resume is None:
            raise AttributeError("training_posteriors needs a fit with warm_start=True")
        read, best = learned.resume
        table = self._observed.posteriors(self, best.state, read)
        return reading.arrange(read.problem.given, table, np.nan)

    def credible_intervals(self, level: float = 0.95) -> CredibleIntervals:
        """Equal-tailed credible intervals of all probabilities, and of what states emit.

        Rows of probabilities have the Dirichlet distributions with parameters counts + prior; means
        of numbers have Student's t distributions, variances inverse Gamma, rates Gamma and
        probabilities of ones Beta distributions. These are q(theta) of variational Bayes; collapsed
        variational Bayes treats expected counts as if they had been observed. Both leave out how
        far the parameters and the states depend on each other, and are too narrow where the states
        are uncertain: `GibbsHMM` gives wider ones, from the mixture over its kept samples. States
        may change their names during its chain (label switching): the intervals then cover all of a
        state's roles.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability inside each interval.

        Returns
        -------
        CredibleIntervals
            `start`, `transition` and `emission`: arrays of shape (2, n_components),
            (2, n_components, n_components) and (2, n_components, n_symbols), lower ends first. Of
            numbers `emission` is a dict of arrays of shape (2, n_components, n_columns): "means"
            and "variances", "rates" or "probabilities"; for `Columns` a list of such dicts.

        Raises
        ------
        AttributeError
            For models learned by expectation-maximisation, which have no posterior.
        ValueError
            If a sampler has kept no sample, or was annealed.

        References
        ----------
        Beal (2003), "Variational algorithms for approximate Bayesian inference", chapter 3.

        Examples
        --------
        >>> from sklearn_cvb import VBHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = VBHMM(n_components=2, random_state=0).fit(X)
        >>> lower, upper = model.credible_intervals(level=0.9).transition
        >>> bool((lower < model.transmat_).all() and (model.transmat_ < upper).all())
        True
        >>> model = VBHMM(2, emission="poisson", random_state=0).fit([[1, 0, 2, 9, 8, 11, 1, 0]])
        >>> lower, upper = model.credible_intervals().emission["rates"]
        >>> bool((lower < model.rates_).all() and (model.rates_ < upper).all())
        True
        """
        if self._no_posterior:
            raise AttributeError(f"credible_intervals: {self._no_posterior}")
        learned = learned_of(self)
        return self._observed.intervals(learned, self._posteriors(learned), level)

    def _posteriors(self, learned: Learned) -> Iterable[tuple[HMMCounts, Prior]]:
        """Counts and priors of the posteriors whose mixture stands for the posterior."""
        return [self._observed.posterior(learned)]
