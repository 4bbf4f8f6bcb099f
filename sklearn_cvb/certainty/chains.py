"""Intervals of a hidden Markov model's parameters, draws, paths, residuals: its methods."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.estimators.methods import without_lengths
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.corpus import Corpus, arrange
from sklearn_cvb.reading.validation import Seed, check_choice, check_counts, check_level, warn
from sklearn_cvb.scale.places import place_of
from sklearn_cvb.settings import Symbols

if TYPE_CHECKING:
    from sklearn_cvb.certainty.confidence import ConfidenceIntervals, RefitPlan
    from sklearn_cvb.certainty.draws import Draws
    from sklearn_cvb.certainty.intervals import CredibleIntervals

_NO_DATA = (
    "without X these are mean-field intervals, too narrow where states are uncertain (95 % ones "
    "have held 30 to 75 % of transitions): give X, and y, as in fit, or ask for method='mean field'"
)
_UNNAMED = (
    "nothing names the states (no label, no dictionary): other namings and other solutions of the "
    "states are left out, and 95 % intervals have held 67 to 75 % of transitions"
)


class TrainingSequences(BaseHMM):
    """Reads the training sequences once more."""

    def _training(self, learned: Learned, X: Any, y: Any) -> Reading:
        """The training sequences, read once more; ValueError where these are others."""
        if learned.extra.is_weighted:
            raise ValueError(
                "intervals count each sequence once, but the fit was given sample_weight: fit "
                "without weights"
            )
        if X is None and learned.warm_start is not None:
            return learned.warm_start[0]
        if X is None or place_of(X) != "memory":
            raise ValueError(
                "calibrated intervals draw the states of the training sequences: give them as X, "
                "in memory (and y as in fit), or fit with warm_start=True"
            )
        from sklearn_cvb.certainty.draws import check_training

        reading = self._read(self._training_input(learned, X), y)
        check_training(reading, learned)
        return reading


class PosteriorIntervals(TrainingSequences):
    """Credible intervals, and predictions under draws, of models with a posterior."""

    # How intervals are found; the second way needs no data, and is that without them.
    _interval_methods: tuple[str, ...] = ("calibrated", "mean field")

    def credible_intervals(
        self,
        X: Any = None,
        y: Any = None,
        level: float = 0.95,
        *,
        method: str | None = None,
        n_draws: int = 40,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> "CredibleIntervals":
        """Equal-tailed credible intervals of all probabilities, and of what states emit.

        Given the states, rows of probabilities have the Dirichlet distributions with parameters
        counts + prior; means of numbers have Student's t distributions, variances inverse Gamma,
        rates Gamma and probabilities of ones Beta distributions. Variational Bayes (plain or
        collapsed) takes expected counts as if they had been observed: these "mean field"
        intervals leave out how far parameters and states depend on each other, and are too narrow
        where the states are uncertain.

        "calibrated" ones put it back. States are drawn at the mean parameters; the covariance of
        their counts is the information that is missing (Louis 1982). Parameters are drawn with the
        inverse of the information that is left as covariance, and from each of `n_draws` such draws
        3 sweeps of Gibbs sampling are made, the last of which stays: 140 sweeps in all.

        `GibbsHMM` has "samples": the mixture over those that its chain kept. States may change
        their names during a chain (label switching): intervals then cover all of a state's roles.

        Parameters
        ----------
        X, y : as in `fit`, default=None
            What the model was fitted to, which "calibrated" needs unless it was fitted with
            ``warm_start=True``.
        level : float, default=0.95
            Posterior probability inside each interval.
        method : {"calibrated", "mean field", "samples"} or None, default=None
            None is "samples" for samplers, "calibrated" where the data are at hand, else "mean
            field" with a warning.
        n_draws : int, default=40
            How many `draws` there are: this many short runs of "calibrated", this many independent
            ones of "mean field", at most this many of the samples. ArviZ's criteria want hundreds.
        n_jobs : int or None, default=None
            Threads that make the short runs; the result does not depend on it.
        random_state : int, RandomState or None, default=None
            Of `draws`.

        Returns
        -------
        CredibleIntervals
            `start`, `transition` and `emission`: arrays of shape (2, n_components),
            (2, n_components, n_components) and (2, n_components, n_symbols), lower ends first. Of
            numbers `emission` is a dict of arrays of shape (2, n_components, n_columns): "means"
            and "variances", "rates" or "probabilities"; of regressions "intercepts",
            "coefficients" and "variances" of residuals; for `Columns` a list of such dicts.
            `draws` are for `predict_next`, `predict_proba`, scores and ArviZ. Those of "mean field"
            change nothing of the intervals; averaged over them `score_samples` is the predictive
            likelihood of Beal (2003), eq. 3.81.

        Raises
        ------
        AttributeError
            For models learned by expectation-maximisation, which have no posterior.
        ValueError
            If X is not what the model was fitted to; if a sampler has kept no sample, or was
            annealed.

        Warns
        -----
        UserWarning
            If there are no data and no `method` is given; if nothing names the states: calibrated
            intervals of symbols then are of one naming and one solution alone.

        References
        ----------
        Beal (2003), "Variational algorithms for approximate Bayesian inference", chapter 3.

        Louis (1982), "Finding the observed information matrix when using the EM algorithm",
        Journal of the Royal Statistical Society B 44.

        Examples
        --------
        >>> from sklearn_cvb import CVBHMM, VBHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]] * 5
        >>> y = [[0, -1, -1, -1], [-1, -1, 1], [-1, -1, -1]] * 5
        >>> model = CVBHMM(2, supervision="y", random_state=0).fit(X, y)
        >>> found = model.credible_intervals(X, y, level=0.9, random_state=0)
        >>> lower, upper = found.transition
        >>> bool((lower < upper).all())
        True
        >>> found.draws.transmat.shape
        (40, 2, 2)
        >>> X = [[1, 0, 2, 9, 8, 11, 1, 0]]
        >>> model = VBHMM(2, emission="poisson", random_state=0).fit(X)
        >>> lower, upper = model.credible_intervals(X, random_state=0).emission["rates"]
        >>> bool((lower < model.rates_).all() and (model.rates_ < upper).all())
        True
        >>> found = model.credible_intervals(method="mean field", n_draws=500, random_state=0)
        >>> found.draws.emission["rates"].shape
        (500, 2, 1)
        """
        if self._no_posterior:
            raise AttributeError(f"credible_intervals: {self._no_posterior}")
        learned, methods = learned_of(self), self._interval_methods
        if method is None:
            can_draw = X is not None or learned.warm_start is not None
            method = methods[0 if can_draw else -1]
            if method == "mean field":
                warn([_NO_DATA])
        check_choice("method", method, methods)
        from sklearn_cvb.certainty.draws import (
            calibrated_draws,
            draws_of_mean_field,
            draws_of_samples,
            posterior_of,
        )
        from sklearn_cvb.learning.generators import spawn_generators

        intervals = posterior_of(learned).intervals
        if method != "calibrated" and X is not None and place_of(X) == "memory":
            # Nothing is drawn given X, which may be of something else all the same.
            self._training(learned, X, y)
        check_level(level)
        check_counts(n_draws=n_draws)
        generators = spawn_generators(check_random_state(random_state), 1 + n_draws)
        if method != "calibrated":
            found = intervals(self._posteriors(learned), level)
            draw = draws_of_samples if method == "samples" else draws_of_mean_field
            draws = draw(learned, self._posteriors(learned), n_draws, generators[0])
            return found._replace(draws=draws)
        model = self._model(self._training(learned, X, y))
        draws, named = calibrated_draws(model, learned, n_jobs, generators, self.verbose)
        if not named and self._emits_symbols:
            warn([_UNNAMED])
        return intervals(draws.posteriors, level)._replace(draws=draws)

    @without_lengths
    def score_samples(
        self, X: Any, per: str = "sequence", draws: "Draws | None" = None
    ) -> np.ndarray:
        """Log-likelihood (nats) of each whole sequence, or per token of it; `score` is per token.

        Under posterior-mean parameters, or averaged over draws from their posterior; of samplers
        averaged over their samples (Wang and Blunsom 2013, eq. 28), unless these were annealed.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        per : {"sequence", "token"}, default="sequence"
            "token" divides by the observed tokens of each sequence. The mean of these counts all
            sequences alike, `score` all tokens.
        draws : Draws or None, default=None
            Of `credible_intervals`: log of the mean likelihood over them (eq. 28).

        Returns
        -------
        ndarray of shape (n_samples,)
            log p(x) in nats; -inf where nothing explains a sequence. All unknown words share one
            cell: values under different vocabularies cannot be compared.
        """
        if draws is None:
            return super().score_samples(X, per)
        check_choice("per", per, ("sequence", "token"))
        reads, observed = self._reads_under(draws, X)
        log_z = prediction.mean_likelihoods([read.log_z() for read in reads])
        return log_z if per == "sequence" else log_z / np.maximum(observed, 1)

    @without_lengths
    def predict_proba(self, X: Any, draws: "Draws | None" = None) -> np.ndarray:
        """p(z_t | x_1..T) of every token.

        Of VB under the exponentials of expected logs, of all others under means, as `score`.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        draws : Draws or None, default=None
            Of `credible_intervals`: the mean over what each of them says.

        Returns
        -------
        ndarray
            Shape (n_samples, length, n_components) for a 2-D X (NaN where padded), else an object
            array of arrays of shape (length, n_components).
        """
        if draws is None:
            return super().predict_proba(X)
        reads = list(self._reads_under(draws, X)[0])
        table = np.mean([prediction.posterior_table(read) for read in reads], axis=0)
        return arrange(reads[0].corpus, table, np.nan)

    def _forecast_parameters(
        self, learned: Learned, X: Any, draws: "Draws | None"
    ) -> tuple[Any, Any, Any]:
        if draws is None:
            return super()._forecast_parameters(learned, X, draws)
        self._learned_of_draws(draws)
        reads, _ = self._observation().read_under_each(
            learned, self._checked_input(X, learned=learned), draws.weights
        )
        return reads, draws.transmat, [one.point for one in draws.weights]

    def log_likelihoods(self, X: Any, draws: "Draws", per: str = "sequence") -> np.ndarray:
        """Log-likelihood (nats) of each sequence, or each step, under each draw of the parameters.

        What criteria that leave out one observation are made of: with
        ``draws.to_inference_data(log_likelihood=...)`` ArviZ has them as ``arviz.loo``.

        Parameters
        ----------
        X : as in `fit`
            What the model was fitted to, for such criteria.
        draws : Draws
            Of `credible_intervals`.
        per : {"sequence", "step"}, default="sequence"
            "sequence": log p(x_i | draw), where a model sees many sequences. "step": log p(x_t |
            all other steps of the sequence, draw), for one or a few long ones.

        Returns
        -------
        ndarray of shape (n_draws, n_sequences) or (n_draws, n_observed_steps)
            Steps in the order of X, without those where nothing was observed; -inf where nothing
            explains an observation.

        Raises
        ------
        TypeError, ValueError
            If `draws` are none, or of another model.

        References
        ----------
        Vehtari, Gelman and Gabry (2017), "Practical Bayesian model evaluation using leave-one-out
        cross-validation and WAIC", Statistics and Computing 27.

        Bürkner, Gabry and Vehtari (2021), "Efficient leave-one-out cross-validation for Bayesian
        non-factorized normal and Student-t models", Computational Statistics 36.

        Examples
        --------
        >>> from sklearn_cvb import CVBHMM
        >>> X = [[1, 0, 2, 9, 8, 11, 1, 0], [0, 1, 8, 9]]
        >>> model = CVBHMM(2, emission="poisson", random_state=0).fit(X)
        >>> draws = model.credible_intervals(X, n_draws=100, random_state=0).draws
        >>> model.log_likelihoods(X, draws).shape
        (100, 2)
        >>> model.log_likelihoods(X, draws, per="step").shape
        (100, 12)
        """
        from sklearn_cvb.certainty.pointwise import sequence_log_likelihoods, step_log_likelihoods

        check_choice("per", per, ("sequence", "step"))
        learned = self._learned_of_draws(draws)
        reads, _ = self._observation().read_under_each(
            learned, self._checked_input(X, learned=learned), draws.weights
        )
        return sequence_log_likelihoods(reads) if per == "sequence" else step_log_likelihoods(reads)

    def _reads_under(self, draws: "Draws", X: Any) -> tuple[Iterable[Any], np.ndarray]:
        """Sequences given the counts of each draw, or under the parameters where it has none."""
        learned, observation = self._learned_of_draws(draws), self._observation()
        X = self._checked_input(X, learned=learned)
        if draws.posteriors:
            return observation.read_under_samples(learned, X, draws.posteriors)
        return observation.read_under_each(learned, X, draws.weights)

    def _learned_of_draws(self, draws: Any) -> Learned:
        """The fitted values, where these draws are of their posterior."""
        from sklearn_cvb.certainty.draws import check_draws

        learned = learned_of(self)
        check_draws(draws, learned)
        return learned

    def _posteriors(self, learned: Learned) -> Iterable[tuple[HMMCounts, ChainPrior]]:
        """Counts and priors of the posteriors whose mixture stands for the posterior."""
        from sklearn_cvb.certainty.draws import posterior_of

        return [posterior_of(learned).mean_field()]


class PathProbabilities(BaseHMM):
    """What a model says of neighbouring states, and of whole paths."""

    @without_lengths
    def predict_pair_proba(self, X: Any) -> np.ndarray:
        """p(z_t, z_t+1 | x_1..T) of every two neighbouring tokens.

        Under the weights of `predict_proba`: sums over either state are what that gives. Where
        visits have durations they are pairs of steps, of which most stay in a state.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            Shape (n_samples, length - 1, n_components, n_components) for a 2-D X (NaN where
            padded), else an object array of arrays of shape (length - 1, n_components,
            n_components), empty for a single token. The state at t is a row. Tables are dense, also
            those of taggers, in the order of `classes_`: many sequences need much memory.

        Warns
        -----
        UserWarning
            If no path explains a sequence: each of its tokens is told by its emission alone.

        References
        ----------
        Rabiner (1989), "A tutorial on hidden Markov models and selected applications in speech
        recognition", eq. 37.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_cvb import VBHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = VBHMM(2, random_state=0).fit(X)
        >>> pairs, single = model.predict_pair_proba(X)[0], model.predict_proba(X)[0]
        >>> pairs.shape
        (3, 2, 2)
        >>> np.allclose(pairs.sum(axis=2), single[:-1]), np.allclose(pairs.sum(axis=1), single[1:])
        (True, True)
        """
        from sklearn_cvb.certainty.paths import pair_posteriors

        steps, pairs = pair_posteriors(self._read_weighted(learned_of(self), X))
        return arrange(steps, pairs, np.nan)

    @without_lengths
    def score_paths(self, X: Any, states: Any) -> np.ndarray:
        """Log p(x, z) (nats) of each sequence and a path of states.

        Under the weights of `predict`, whose Viterbi path has the most. The sum over all paths of a
        sequence is its likelihood under these weights: exp of `score_samples`, but of VB, where
        they are exponentials of expected logs, exp of `lower_bound_samples`, and of samplers, whose
        likelihoods are averaged over samples. Ends that are events, and durations, are counted.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        states : list of sequences, or array of shape (n_samples, length)
            A path for each sequence, as `predict` gives it (taggers: tags).

        Returns
        -------
        ndarray of shape (n_samples,)
            -inf where a path cannot be: what topology, dictionary, durations or the support of what
            states emit rule out.

        Raises
        ------
        ValueError
            If there are not as many paths as sequences, a path has another length than its
            sequence, or holds what is no state.

        Examples
        --------
        >>> from sklearn_cvb import CVBHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = CVBHMM(2, random_state=0).fit(X)
        >>> best = model.score_paths(X, model.predict(X))
        >>> bool((best <= model.score_samples(X)).all())
        True
        >>> bool((best >= model.score_paths(X, [[0, 0, 0, 0], [1, 1, 1], [0, 1, 1]])).all())
        True
        """
        from sklearn_cvb.certainty.paths import path_log_likelihoods, states_of_paths

        learned = learned_of(self)
        read, observation = self._read_weighted(learned, X), self._observation()
        n = learned.layout.n_emitting
        every = Corpus(np.zeros(n, np.int32), np.array([0, n]), None, [])
        names = observation.arrange(learned.words, every, np.arange(n))[0].tolist()
        return path_log_likelihoods(read, states_of_paths(states, read.corpus, names))


class Residuals(BaseHMM):
    """How far numbers are from what a model says of them."""

    def pseudo_residuals(
        self, X: Any, given: str = "others", random_state: Seed = None
    ) -> np.ndarray:
        """Where each number stands in its distribution: standard normal where the model is right.

        The normal quantile of P(X_t <= x_t), each column alone, under the fitted parameters. Large
        ones are outliers; many of them, or a pattern over time, say what the model misses:
        `plotting.plot_residuals` shows both.

        Parameters
        ----------
        X : list of arrays of shape (length, n_columns), or as in `fit`
        given : {"others", "past"}, default="others"
            What else of its sequence is known: all other steps ("ordinary" pseudo-residuals), or
            those before ("forecast" ones, which are also independent of each other).
        random_state : int, RandomState or None, default=None
            Of counts, zeros and ones, each of which covers a range of quantiles: one is drawn.

        Returns
        -------
        ndarray
            Shape (n_samples, length, n_columns) for an X with one length, else an object array of
            arrays of shape (length, n_columns); without the last axis for a 2-D X. NaN where values
            are missing or have no order (categories), and in sequences that nothing explains.

        References
        ----------
        Zucchini, MacDonald and Langrock (2016), "Hidden Markov models for time series", chapter 6.

        Dunn and Smyth (1996), "Randomized quantile residuals", Journal of Computational and
        Graphical Statistics 5.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_cvb import EMHMM
        >>> rng = np.random.default_rng(0)
        >>> series = np.tile(np.repeat([0.0, 9.0], 20), 5) + rng.normal(size=200)
        >>> model = EMHMM(2, emission="gaussian", random_state=0).fit([series])
        >>> found = model.pseudo_residuals([series])[0]
        >>> found.shape, bool(abs(found.std() - 1) < 0.1)
        ((200, 1), True)
        """
        if self._emits_symbols:
            raise AttributeError("pseudo_residuals are for numbers: symbols have no order")
        check_choice("given", given, ("others", "past"))
        from sklearn_cvb.certainty.residuals import pseudo_residuals
        from sklearn_cvb.chain.numbers.observed import NumberObservation

        observation = NumberObservation(self._options(to_fit=False))
        learned, seed = learned_of(self), check_random_state(random_state).randint(2**31 - 1)
        rng, all_others = np.random.default_rng(seed), given == "others"
        taken = self._checked_input(X, learned=learned)
        corpus, found = pseudo_residuals(observation, learned, taken, all_others, rng)
        values = found[:, 0] if learned.extra.numeric.rows_are_sequences else found
        return arrange(corpus, values, np.nan)


class Uncertainty(PosteriorIntervals, PathProbabilities, Residuals):
    """What all hidden Markov models say of how sure they are."""


class Confidence(TrainingSequences):
    """Confidence intervals of estimates that have no posterior."""

    def confidence_intervals(
        self,
        X: Any = None,
        y: Any = None,
        level: float = 0.95,
        *,
        method: str | None = None,
        n_bootstrap: int = 200,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> "ConfidenceIntervals":
        """Confidence intervals and standard errors of all parameters.

        "louis": the inverse of the observed information, which is that of complete data minus what
        is missing as long as states are not seen: the covariance of counts over the paths (Louis
        1982). Exact with up to 300 cells, and from 40 drawn paths of each sequence with more.
        Normal intervals of log odds; what is estimated as 0 or 1 has none, and its interval has no
        width.

        "bootstrap": data are drawn from the model, as many and as long and with labels where `y`
        has some, and it is fitted to them from where it is; the intervals are quantiles of these
        fits (Efron and Tibshirani 1993, chapter 6).

        Parameters
        ----------
        X, y : as in `fit`, default=None
            What the model was fitted to, unless it was fitted with ``warm_start=True``.
        level : float, default=0.95
            How often such intervals hold the truth.
        method : {"louis", "bootstrap"} or None, default=None
            None is "louis" for symbols, "bootstrap" for numbers and with ``update="viterbi"``,
            which have no other.
        n_bootstrap : int, default=200
            How many fits.
        n_jobs : int or None, default=None
            Threads that fit; the result does not depend on it.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ConfidenceIntervals
            `start`, `transition`, `emission`, and `standard_errors`.

        Raises
        ------
        ValueError
            If X is not what the model was fitted to, or for "louis" of numbers.

        References
        ----------
        Louis (1982), "Finding the observed information matrix when using the EM algorithm",
        Journal of the Royal Statistical Society B 44.

        Examples
        --------
        >>> from sklearn_cvb import EMHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "a", "b"], ["b", "b", "a"]] * 5
        >>> y = [[0, 1, -1, -1], [1, -1, 1], [0, 1, -1], [1, -1, 0]] * 5
        >>> model = EMHMM(2, supervision="y", random_state=0).fit(X, y)
        >>> found = model.confidence_intervals(X, y)
        >>> lower, upper = found.transition
        >>> bool(((lower <= model.transmat_) & (model.transmat_ <= upper)).all())
        True
        >>> found.standard_errors["emission"].shape
        (2, 3)
        """
        from sklearn_cvb.certainty.confidence import (
            bootstrap_intervals,
            information_intervals,
            refit_plan,
        )

        methods: tuple[str, ...] = ("louis", "bootstrap")
        # Rows that the start row hangs on, and numbers, have other information; no likelihood has
        # its maximum where Viterbi training ends.
        learned = learned_of(self)
        is_hard = getattr(self, "update", "batch") == "viterbi"
        if not self._emits_symbols or learned.layout.chain.is_stationary or is_hard:
            methods = ("bootstrap",)
        method = methods[0] if method is None else method
        check_choice("method", method, methods)
        check_level(level)
        check_counts(n_bootstrap=n_bootstrap)
        reading = self._training(learned, X, y)
        if method == "louis":
            chain: Any = self._model(reading)
            return information_intervals(chain, learned, level, random_state)
        plan = refit_plan(reading, y if self.supervision == "y" else None)
        refitted = partial(self._refit_to_draw, self._copy_to_refit(), plan)
        return bootstrap_intervals(refitted, level, n_bootstrap, n_jobs, random_state)

    def _copy_to_refit(self) -> Self:
        """Who is fitted to drawn data, from where this model is."""
        again = clone(self).set_params(
            init=self, n_init=1, warm_start=False, checkpoint=None, verbose=0, n_jobs=1
        )
        if self._emits_symbols:
            known = self._options(to_fit=False).words
            symbols = Symbols(self.vocabulary_.tolist(), handle_unknown=known.handle_unknown)
            again.set_params(emission=symbols)
        return again

    def _refit_to_draw(self, again: Self, plan: "RefitPlan", seed: int) -> list[Any]:
        """Tables of start, transitions and emissions, fitted to drawn data as long and as known."""
        n_sequences = len(plan.lengths)
        X, states = self.sample(
            n_sequences, plan.lengths, random_state=seed, contexts=plan.contexts
        )
        again = clone(again).set_params(init=self, random_state=seed)
        again.fit(plan.as_training_data(X), plan.known_states(states))
        return [again.startprob_, again.transmat_, again._emission_tables()]

    def _emission_tables(self) -> Any:
        """What states emit: a table of symbols, or a dict of what numbers have."""
        if self._emits_symbols:
            return self.emissionprob_
        numeric = learned_of(self).extra.numeric
        return numeric.family.attributes(numeric.point)
