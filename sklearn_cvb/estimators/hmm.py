"""What all hidden Markov models share: what a fit reads and leaves, predictions and scores."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from sklearn_cvb.chain import prediction
from sklearn_cvb.chain.concentrations import prior_settings
from sklearn_cvb.chain.intervals import CredibleIntervals
from sklearn_cvb.chain.parameters import HMMCounts, Prior
from sklearn_cvb.chain.prediction import BesideCounts
from sklearn_cvb.chain.symbols import observed as symbols
from sklearn_cvb.chain.topology import NAMES
from sklearn_cvb.estimators.base import BaseModel, learned_of, over_partitions
from sklearn_cvb.kernels.chain import decoding as kernels
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import record_of
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.learning.online import seen_by_fit
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, is_dask, is_store, place_of
from sklearn_cvb.reading.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    Seed,
    StrOptions,
    check_choice,
    without_lengths,
)

if TYPE_CHECKING:
    from sklearn_cvb.chain.forecasting import Forecast


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
    # Why an algorithm's counts are no posterior, where they are not.
    _no_posterior = ""
    _takes_dask = _takes_bulk = True
    _module_of_parts = "sklearn_cvb.chain.symbols.parts"

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
        from sklearn_cvb.chain.numbers import observed as numbers

        return numbers

    # Reading

    def _read(self, X: Any, y: Any, streams: bool = False) -> Reading:
        observed = self._observed
        self._check_parameters()
        read: Reading = observed.read_to_fit(self, X, y, streams)
        return read

    def _read_in_bulk(self, X: Any, y: Any) -> Reading:
        from sklearn_cvb.chain.symbols.stored_fits import read_in_bulk

        return read_in_bulk(self, X, y)

    def _cautions(self, problem: Any) -> tuple[str, ...]:
        """What is to be said of sequences that an algorithm can do little with."""
        return ()

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        is_full = isinstance(self.topology, str) and self.topology == "full"
        if self.transition_prior == "hdp" and not is_full:
            raise InvalidParameterError(
                "transition_prior='hdp' gives every state a weight wherever it is entered from: it "
                "needs topology='full'"
            )

    # What words tell, and how a chain begins: of symbols, where a tagger knows more

    _words_read = symbols.words_read
    _attributes_of_words = symbols.attributes_of_words
    _training_lattice = symbols.training_lattice
    _grown = symbols.grown
    _prior_settings = prior_settings
    _chain_settings = symbols.chain_settings
    _usual_start = symbols.usual_start
    _fixed_start = symbols.fixed_start
    _lattice_of = symbols.lattice_of
    _with_unknown = symbols.with_unknown
    _arranged_states = symbols.arranged_states

    def _model(self, read: Reading) -> Any:
        return self._observed.model(self, read)

    # What an algorithm infers at a time: fields of `ChainSettings`.
    _at_a_time: dict = {}  # noqa: RUF012
    # Why steps that a topology rules out cannot be kept from paths; empty where they can.
    _why_all_steps = ""

    def _why_one_restart(self, read: Reading) -> str:
        # With one state there is nothing to tell: searches for the number of states begin there.
        if read.problem.any_choice or read.problem.cells.n_states == 1:
            return self._fixed_start(read)
        return "no token has a choice of states"

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        identity: tuple[Any, ...] = read.problem.identity
        return identity

    # What a fit leaves

    def _left(self, fits: list[Fit], read: Reading) -> Left:
        learns_in_batches, algorithm = self._learns_in_batches, self._algorithm()
        best, record = record_of(fits)
        model, state = self._model(read), best.state
        counts, n = algorithm.final_counts(state), model.cells.n_emitting
        paths = self._observed.left_paths(self, state, read)
        attributes, kept, rare, numeric = self._observed.left_of(state, counts, model)
        end = counts.transition[:n, n] if self.end_state else None
        learned = Learned(
            read.words,
            model.cells,
            state.prior,
            attributes["counts_"],
            kept=kept,
            rare=rare,
            averages=algorithm.averages,
            more=BesideCounts(end, numeric),
        )
        if learns_in_batches:
            learned = learned._replace(seen=seen_by_fit(self, self._batch_of(read, state)))
            record["n_batches_seen_"] = 0
        attributes = {
            **record,
            "end_counts_": end,
            "alpha_": state.hyper.alpha,
            **paths,
            "unexplained_": read.problem.of_given(state.unexplained),
            **attributes,
            **algorithm.attributes(best, model),
        }
        return Left(learned, attributes)

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

    _read_batch = symbols.read_batch
    _batch_of = symbols.batch_of

    def _with_running_counts(self, state: Any, counts: HMMCounts, model: Any) -> Any:
        """The state of a batch with the counts of all, under the prior without them."""
        return state._replace(counts=counts, prior=model.prior(state.hyper))

    _rare_of_all = symbols.rare_of_all

    # Reading a fitted model

    def _samples(self, learned: Learned) -> Iterable[tuple[HMMCounts, Prior]] | None:
        """Counts and priors of kept samples; None where an algorithm has none."""
        return None

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, int]:
        samples = self._samples(learned)
        if samples is None and is_store(X) and self._observed.has_vocabulary:
            from sklearn_cvb.chain.symbols.stored_sequences import log_likelihoods_of_store

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
        observed = self._observed
        check_choice("decoding", decoding, ("viterbi", "marginal"))
        learned, where = learned_of(self), place_of(X)
        if where == "workers":
            return over_partitions(self, "predict", X, decoding=decoding)
        if where == "disk" and is_store(X):
            from sklearn_cvb.chain.symbols.stored_sequences import states_of_store

            found: Any = states_of_store(self, learned, X, decoding)
            return found
        read = observed.read_again(self, learned, X)
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
        from sklearn_cvb.chain.forecasting import check_forecast, forecast

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
