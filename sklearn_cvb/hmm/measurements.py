"""Reading a fitted model of numbers: its part of prediction, scores, samples and forecasts."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, log_weights, posterior_mean, with_end
from sklearn_cvb.hmm.summaries import CredibleIntervals, mixture_intervals
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.validation import InvalidParameterError, check_counts

if TYPE_CHECKING:
    from sklearn_cvb.corpus import Corpus
    from sklearn_cvb.emissions.emission import Scores
    from sklearn_cvb.hmm.base import BaseHMM as _Model
    from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
else:
    _Model = object


class Forecast(NamedTuple):
    """What comes next after each sequence.

    Attributes
    ----------
    mean : ndarray of shape (n_samples, n_steps, n_columns)
    lower, upper : ndarray of shape (n_samples, n_steps, n_columns)
        Ends of equal-tailed intervals for each step and column.
    proba : ndarray of shape (n_samples, n_steps, n_components)
        Probabilities of the states.
    samples : ndarray of shape (n_samples, n_draws, n_steps, n_columns)
        Drawn continuations, which the intervals are quantiles of.
    """

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    proba: np.ndarray
    samples: np.ndarray


class MeasurementsMixin(_Model):
    """What predictions do where observations are numbers; else they go on to the next class."""

    # Taggers have no such parameter.
    emission: Any = "categorical"
    # Counts and prior of each kept sample of a sampler.
    _kept_samples: list[tuple[HMMCounts, Prior]] | None = None

    @property
    def _is_numeric(self) -> bool:
        """Whether observations are numbers."""
        return not (isinstance(self.emission, str) and self.emission == "categorical")

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or of its emission as ``emission__<parameter>``.

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

    # Reading X

    def _read_numbers(
        self, X: Any, scores: "Scores"
    ) -> "tuple[Corpus, Lattice, np.ndarray, np.ndarray]":
        """Corpus, lattice, log weights of the entries, and what was taken off each step."""
        from sklearn_cvb.hmm.numeric.model import read_again, scored

        return scored(read_again(X, self, self._numeric), self._numeric, scores)

    def _read(self, X: Any, means: bool = False) -> "tuple[Corpus, Lattice, Weights, Weights]":
        if not self._is_numeric:
            return super()._read(X, means)
        check_is_fitted(self)
        scores = self._numeric.scoring if means else self._numeric.predicting
        corpus, lattice, emission, _ = self._read_numbers(X, scores)
        weights, logs = self._mean_and_log() if means else self._predicting_weights()
        weights = weights._replace(emission=np.exp(emission))
        return corpus, lattice, weights, logs._replace(emission=emission)

    def _complete_counts(self) -> HMMCounts:
        if not self._is_numeric:
            return super()._complete_counts()
        check_is_fitted(self)
        counts = self.counts_._replace(emission=np.empty(0))
        return with_end(counts, self.end_counts_) if self._cells.has_end else counts

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        if not self._is_numeric:
            return super()._log_likelihoods(X)
        check_is_fitted(self)
        samples = self._kept_samples
        if not samples:
            weights, logs = self._mean_and_log()
            return self._log_z_of_numbers(X, weights, logs, self._numeric.scoring)
        # A sampler averages over its samples, each with its own statistics (paper eq. 28).
        each = []
        for counts, prior in samples:
            chain = counts._replace(emission=np.empty(0))
            weights = posterior_mean(chain, prior, self._cells)
            scores = self._numeric.family.predictive(counts.emission)
            log_z, n = self._log_z_of_numbers(X, weights, log_weights(weights), scores)
            each.append(log_z)
        return logsumexp(each, axis=0) - np.log(len(each)), n

    def _log_z_of_numbers(
        self, X: Any, weights: "Weights", logs: "Weights", scores: "Scores"
    ) -> tuple[np.ndarray, int]:
        """Log weight of each sequence, and the number of observed steps."""
        corpus, lattice, emission, largest = self._read_numbers(X, scores)
        weights = weights._replace(emission=np.exp(emission))
        log_z = self._log_z(weights, logs._replace(emission=emission), corpus, lattice)
        return log_z + np.add.reduceat(largest, corpus.starts[:-1]), corpus.n_observed

    def _log_z(
        self, weights: "Weights", logs: "Weights", corpus: "Corpus", lattice: "Lattice"
    ) -> np.ndarray:
        if not self._is_numeric:
            return super()._log_z(weights, logs, corpus, lattice)
        return self._entries(corpus, lattice, weights, logs)[1]

    def _entries(
        self,
        corpus: "Corpus",
        lattice: "Lattice",
        weights: "Weights",
        logs: "Weights",
        kernel: Callable = decoding.smoothed,
    ) -> tuple[np.ndarray, np.ndarray]:
        if not self._is_numeric:
            return super()._entries(corpus, lattice, weights, logs, kernel)
        from sklearn_cvb.hmm.numeric.model import posteriors_of

        smooth = kernel is decoding.smoothed
        return posteriors_of(corpus, weights, logs.emission, self._cells.n_emitting, smooth)

    # Public

    @property
    def emissionprob_(self) -> np.ndarray:
        """Posterior mean of the emission probabilities, shape (n_components, n_symbols).

        Symbols are in the order of `vocabulary_`; the unknown item, where there is one, is last.
        Only for symbols: see `means_`, `rates_` or `probabilities_` of models of numbers.
        """
        if self._is_numeric:
            raise AttributeError("emissionprob_ is for symbols; this model's emissions are numbers")
        return super().emissionprob_

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
        if not self._is_numeric or self._no_posterior:
            return super().credible_intervals(level)
        from sklearn_cvb.hmm.numeric.intervals import intervals_of
        from sklearn_cvb.hmm.numeric.problem import without_emission

        check_is_fitted(self)
        posteriors = self._posteriors_of_numbers()
        chains = [(without_emission(counts), prior) for counts, prior in posteriors]
        found = mixture_intervals(chains, self._cells, level)
        statistics = [counts.emission for counts, _ in posteriors]
        return found._replace(emission=intervals_of(self._numeric.family, statistics, level))

    def _posteriors_of_numbers(self) -> list[tuple[HMMCounts, Prior]]:
        """Counts, statistics and priors that the posterior is made of: a sampler has several."""
        if self._kept_samples is None:
            counts = self._complete_counts()._replace(emission=self.counts_.emission.T)
            return [(counts, self._prior)]
        if not self._kept_samples:
            raise ValueError("no sample was kept: the fit ended before n_burn_in sweeps")
        return self._kept_samples

    def predict_next_proba(self, X: Any) -> np.ndarray:
        """Probability of each symbol to come next after each sequence; see `predict_next`.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_symbols)
            In the order of `vocabulary_`; the unknown item, where there is one, is last. With
            `end_state` a row sums to 1 minus the probability that its sequence has ended.
        """
        if self._is_numeric:
            raise AttributeError("predict_next_proba is for symbols: use predict_next for numbers")
        return super().predict_next_proba(X)

    def predict_next(
        self,
        X: Any,
        n_steps: int = 1,
        *,
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: Seed = None,
    ) -> Forecast:
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
        if not self._is_numeric:
            raise AttributeError("predict_next is for numbers: use predict_next_proba for symbols")
        check_counts(n_steps=n_steps, n_draws=n_draws)
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
        corpus, table = self._posterior_table(X, decoding.filtered, means=True)
        first, *moves = moves_ahead(self.transmat_, n_steps)
        ahead = [table[corpus.starts[1:] - 1] @ first]
        goes_on = ahead[0].sum(axis=1, keepdims=True)
        if not goes_on.all():
            raise ValueError(
                f"sequence {int(goes_on.argmin())} cannot go on for {n_steps} steps: by this model "
                "it surely ends before"
            )
        ahead[0] /= goes_on
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        family, point = self._numeric.family, self._numeric.point
        states = _drawn(np.repeat(ahead[0][:, None], n_draws, axis=1), rng)
        paths = [states]
        for transition in moves:
            ahead.append(ahead[-1] @ transition)
            paths.append(_drawn(transition[paths[-1]], rng))
        proba, drawn = np.stack(ahead, axis=1), np.stack(paths, axis=2)
        samples = family.sample(point, drawn.ravel(), rng).reshape(*drawn.shape, -1)
        tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
        lower, upper = np.quantile(samples, tails, axis=1)
        return Forecast(proba @ family.moments(point)[0], lower, upper, proba, samples)

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
        if not self._is_numeric:
            return super().sample(n_samples, length, random_state)
        check_is_fitted(self)
        if np.ndim(n_samples):
            raise TypeError(
                "n_samples must be an integer, got a sequence: predict_next(X, n_steps).samples "
                "are drawn to follow given sequences"
            )
        rng = check_random_state(random_state)
        states, lengths = self._drawn_states(n_samples, length, rng)
        numbers = np.random.default_rng(rng.randint(2**31 - 1))
        values = self._numeric.family.sample(self._numeric.point, states, numbers)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        width = int(lengths[0]) if length is not None and np.ndim(length) == 0 else None
        drawn = reading.Corpus(np.zeros(len(states), np.int32), starts, width, [])
        if self._numeric.is_table:
            values = values[:, 0]
        return reading.arrange(drawn, values, np.nan), self._arranged_states(drawn, states)

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
            If the model was not fitted with ``warm_start=True``.
        """
        if not self._is_numeric or getattr(self, "_resume", None) is None:
            return super().training_posteriors()
        problem, best = self._resume
        table = self._model(problem).posterior(best.state)
        if table is None:
            from sklearn_cvb.hmm.numeric.model import log_weights_of
            from sklearn_cvb.hmm.numeric.problem import lattice_of_steps

            shape = len(problem.given.tokens), problem.cells.n_emitting
            emission, _ = log_weights_of(
                problem.observations, shape, self._numeric.predicting, problem.known
            )
            weights, logs = self._predicting_weights()
            weights = weights._replace(emission=np.exp(emission).ravel())
            logs = logs._replace(emission=emission.ravel())
            lattice = lattice_of_steps(*shape)
            table, _ = self._entries(problem.given, lattice, weights, logs)
            table = table.reshape(shape)
        return reading.arrange(problem.given, table, np.nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._is_numeric:
            tags.input_tags.categorical = False
            tags.input_tags.three_d_array = True
        return tags


def moves_ahead(transition: np.ndarray, n_steps: int) -> list[np.ndarray]:
    """Transitions (K, K) of each step ahead, given that no sequence ends before the last.

    Rows sum to 1 (to 0 where nothing goes on), but for those of the first step: these are in
    proportion to how probable it is to go on from each state.
    """
    goes_on, tables = np.ones(len(transition)), []
    for _ in range(n_steps):
        table = transition * goes_on
        goes_on = table.sum(axis=1)
        tables.append(table / np.where(goes_on > 0, goes_on, 1.0)[:, None])
        # A common factor of no matter, so that long forecasts stay in the range of float64.
        goes_on = goes_on / max(goes_on.max(), 1e-300)
    return [tables[-1] * goes_on[:, None], *tables[-2::-1]]


def _drawn(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state for each row of probabilities, the last axis."""
    levels = np.cumsum(probabilities, axis=-1)
    drawn = rng.random((*levels.shape[:-1], 1)) * levels[..., -1:]
    return np.minimum((levels <= drawn).sum(axis=-1), levels.shape[-1] - 1)
