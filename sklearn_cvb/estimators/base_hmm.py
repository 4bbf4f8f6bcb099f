"""What all hidden Markov models share: classes of constructor parameters (`...Fields`, from which
estimators inherit), the observation (how symbols or numbers are read), predictions, forecasts.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sklearn_cvb.chain.observation import Observation, log_likelihoods
from sklearn_cvb.chain.options import (
    ChainOptions,
    EstimatorKind,
    emits_symbols,
    options_to_fit,
    options_to_read,
)
from sklearn_cvb.chain.parameters.free_parameters import n_free
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.collections import checked_weights, counted_sequences
from sklearn_cvb.estimators.door import (
    chain_start_of,
    checked_input,
    checked_rows,
    learned_of,
    posterior_means_of,
)
from sklearn_cvb.estimators.methods import without_lengths
from sklearn_cvb.estimators.parameters import (
    Count,
    OptionalPriorCells,
    Parameters,
    PriorCells,
    PseudoCounts,
    Supervision,
)
from sklearn_cvb.kernels.chain import decoding as kernels
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.corpus import Corpus, arrange, holds_names, holds_states, refuse_lengths
from sklearn_cvb.reading.events import refuse_bare_frame
from sklearn_cvb.reading.validation import HasMethods, Seed, StrOptions, check_choice
from sklearn_cvb.scikit_learn import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn_cvb.settings import HMMParameters, Symbols, Transitions

if TYPE_CHECKING:
    from sklearn_cvb.certainty.draws import Draws
    from sklearn_cvb.chain.predictions.filtering import Filter
    from sklearn_cvb.chain.predictions.forecasting import Forecast


class StateFields(Parameters):
    """How many states there are.

    Parameters
    ----------
    n_components : int
        Number of hidden states.

    Attributes
    ----------
    counts_ : HMMCounts
        Expected counts after the last E-step, one E-step newer than the bound.
    startprob_, transmat_, emissionprob_ : ndarray
        Posterior means, shapes (n_components,), (n_components, n_components) and
        (n_components, n_symbols); rows sum to 1; the unknown item is the last symbol. With contexts
        (see `Transitions`) `transmat_` has a table for each, on its first axis.
    endprob_ : ndarray of shape (n_components,)
        Probability that a sequence ends after each state. Only where ends are events (see
        `Transitions`): the rows of `transmat_` then sum to 1 minus it.
    end_counts_ : ndarray of shape (n_components,) or None
        Count of the sequences that end in each state, as in `counts_`; None where ends are no
        events.
    labels_ : ndarray
        States of the training sequences: Viterbi paths under the exp E[log] weights of the final
        counts.
    vocabulary_ : ndarray of shape (n_words,)
        The known symbols.
    """

    n_components: Count = field(default=2, kw_only=False)


class EmissionFields(Parameters):
    """What states emit.

    Parameters
    ----------
    emission : str or object of `sklearn_cvb.emissions`
        What a state emits: symbols ("categorical", or ``Symbols(vocabulary=...)``), or numbers:
        "gaussian", "student", "bernoulli", "poisson", "exponential", or an object that says more,
        such as ``Gaussian(covariance_type="diag")``. With numbers a sequence is an array of shape
        (length, n_columns), or (length,) for a single column, with NaN where values are missing;
        `init` is "kmeans" (the default), "token", arrays or a fitted model; `beta` is for symbols
        alone. CVB leaves out sequences, or windows where one series holds most steps; Gibbs
        sampling draws by "parameter".

    Attributes
    ----------
    n_columns_ : int
        Number of columns, where observations are numbers.
    means_, covariances_, precisions_, precisions_cholesky_ : ndarray
        Of normal emissions, in the shapes of scikit-learn's mixtures: means (n_components,
        n_columns), the others by `covariance_type`. In a posterior, expected means and precisions.
    rates_, probabilities_ : ndarray of shape (n_components, n_columns)
        Of Poisson, exponential and Gamma, and of Bernoulli, negative binomial and multinomial
        emissions.
    directions_, concentrations_ : ndarray of shape (n_components, n_columns)
        Of von Mises emissions.
    locations_, scales_, degrees_of_freedom_ : ndarray of shape (n_components, n_columns)
        Of Student's t emissions.
    weights_ : ndarray of shape (n_components, number of components of a state)
        Of `Mixture` and `ZeroInflated` emissions.
    mixture_ : list of dict
        What each of their components leaves, by these names.
    intercepts_ : ndarray of shape (n_components, n_outputs)
        Of `Regression` and `AutoRegressive` emissions, as the next.
    coefficients_ : ndarray of shape (n_components, n_inputs, n_outputs)
        `covariances_` then are those of residuals: (n_components, n_outputs, n_outputs), or
        (n_outputs, n_outputs) where they are tied.
    category_probabilities_ : list of ndarray of shape (n_components, n_categories)
        Of `Categorical` emissions, for each column.
    parts_ : list of dict
        What each part of `Columns` leaves, by the names above; of categories
        `category_probabilities_`, an array of shape (n_components, n_categories) for each column.
    categories_ : dict of ndarray
        Of columns of text, by name or number: the label of each category. Only where there are
        some.
    durations_ : ndarray of shape (n_components, longest)
        Probabilities that a visit lasts for 1 to `longest` steps, where durations have laws (see
        `Durations`), at the parameters that the others of these attributes show. Where no state
        follows the last number is 1.
    """

    # Which words there are `emissions.NAMED` says, which is loaded where numbers are learned from.
    emission: Annotated[Any, str, Symbols, HasMethods("bind")] = "categorical"


class PathFields(Parameters):
    """Which paths there are, what is known of them, and priors of transitions and emissions.

    Parameters
    ----------
    transitions : {"full", "independent", "constant", "left-right"}, array or Transitions
        Which state may follow which: any; none depends on the one before; a sequence stays in one
        state; or it starts in state 0 and never goes back. Or a boolean table of shape
        (n_components, n_components) whose rows say what may follow. `Transitions` says more: ends
        of sequences, priors of starts and of staying, weights of states that rows share, contexts,
        and how long visits to states last.
    supervision : {"none", "y"}
        Whether `fit` learns from the states in `y` where they are known: for each sequence its
        states 0 to n_components - 1, -1 or None where unknown. With "none" `y` is ignored, with a
        warning where it holds states: choosing
        among models by what `y` says must not train on it.
    alpha : float, "auto", GammaPrior, array or None
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10; or
        an array of prior cells, (n_components, n_components), with one more column for the end
        where that is an event, beside which starts have `start_alpha` or 0.1. "auto", or the prior
        of the concentration, learns it while fitting (one step of eq. 29 per sweep, after a random
        start from sweep 20 on). None is 0.1, or 1 of a whole row under an HDP (`transitions`).
    beta : float, "auto", GammaPrior or array
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10; or
        an array of prior cells, (n_components, n_symbols), whose columns are `vocabulary_` and, if
        given, unknown words (else 0.1).
    """

    transitions: Annotated[
        Any,
        StrOptions({"full", "independent", "constant", "left-right"}),
        "array-like",
        Transitions,
    ] = "full"
    supervision: Supervision = "none"
    alpha: OptionalPriorCells = None
    beta: PriorCells = 0.1


class PointEstimateFields(StateFields, EmissionFields, PathFields):
    """Groups of a hidden Markov model without a posterior.

    Parameters
    ----------
    alpha : float or array
        Pseudo-count of every transition, or an array of them as of `VBHMM`; 0 is maximum
        likelihood, 1e-10 to 1e10 maximum a posteriori in the softmax basis (adds alpha, not
        alpha - 1).
    beta : float or array
        Pseudo-count of every emission, 0 or 1e-10 to 1e10, or an array of them as of `VBHMM`.

    Attributes
    ----------
    shapes_ : ndarray of shape (n_components, n_columns)
        Of Gamma emissions whose shapes are learned.
    estimators_ : list of n_components fitted estimators
        Of `Estimator` emissions.
    dispersions_ : ndarray of shape (n_components, n_outputs)
        Of their regressors, but of counts: variances of outputs, of Gamma outputs as a share of the
        squared mean.
    transition_estimators_ : list of n_components fitted classifiers
        Of `Transitions` with inputs: from each state the probabilities of the next one.
    """

    alpha: PseudoCounts = 0.0
    beta: PseudoCounts = 0.0

    _kind_of_chain: ClassVar[EstimatorKind] = EstimatorKind(
        by_em=True, why_no_weights="EM learns no prior that rows share"
    )


class PosteriorFields(StateFields, EmissionFields, PathFields):
    """Groups of a hidden Markov model with a posterior.

    Attributes
    ----------
    state_weights_ : ndarray of shape (n_components,)
        Under an HDP: the learned weights of the states, which sum to 1.
    gamma_ : float
        Under an HDP: concentration of the weights in the last sweep.
    n_effective_components_ : int
        Under an HDP: the number of states that hold at least one in a hundred training tokens, by
        `labels_`.
    pooled_transmat_ : ndarray of shape (n_components, n_components)
        Under ``Transitions(contexts=..., prior="pooled")``: the table that those of all contexts
        are drawn around.
    """


class DrawingFields(Parameters):
    """What a sampler draws at a time.

    Parameters
    ----------
    update : {"token", "sequence", "parameter"} or None
        What is drawn at a time (Gao and Johnson 2008 compare all three); None for "token", and for
        "parameter" where states emit numbers. "token": each token's state given those of all
        others, parameters integrated out. "sequence": a path of each sequence from the weights of
        all others' counts, accepted or not (Metropolis), parameters integrated out. "parameter":
        all parameters given the states, then all states given the parameters. All three sample the
        same posterior.
    """

    update: Annotated[str | None, StrOptions({"token", "sequence", "parameter"}), None] = None


class StartFields(Parameters):
    """Where a fit starts.

    Parameters
    ----------
    init : str, HMMParameters, list of arrays, fitted model or None
        Where to start: None for what suits the data, else "token", "word", "parameter", "context",
        "unambiguous" or "kmeans"; parameters that are known (`HMMParameters`); the
        posteriors of each training sequence, arrays of shape (length, n_components); or a fitted
        model of this family over the same vocabulary and states. :ref:`starts` has what each costs,
        and when only one restart is run.
    fixed : dict or None
        What stays as `init` gives it, `HMMParameters` or a fitted model (its means): maps "start",
        "transitions" and "emissions" to True or a boolean array that says which states' rows. These
        have no prior then. Emissions of numbers are fixed for all states or for none.
    """

    init: Annotated[
        Any,
        StrOptions({"token", "word", "parameter", "unambiguous", "context", "kmeans"}),
        HMMParameters,
        HasMethods("predict_proba"),
        "array-like",
        None,
    ] = None
    fixed: Annotated[dict[str, Any] | None, dict, None] = None


class BaseHMM(TransformerMixin, ClassNamePrefixFeaturesOutMixin, BaseModel):
    """What is read, what a fit leaves, and what it predicts; an estimator adds its algorithm.

    Attributes
    ----------
    alpha_, beta_ : float
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sequences that no path explains; they are left out of the counts.
    """

    # What a class says for all its instances, and what it observes where that are symbols.
    _kind_of_chain: ClassVar[EstimatorKind] = EstimatorKind()
    _of_symbols: ClassVar[type[SymbolObservation]] = SymbolObservation
    # Why an algorithm's counts are no posterior, where they are not.
    _no_posterior = ""

    # The door: what is asked for becomes a value, and X is checked; below nobody knows an estimator

    @property
    def _emits_symbols(self) -> bool:
        return emits_symbols(self.emission)

    def _options(self, to_fit: bool = True) -> ChainOptions:
        """The parameters as options, checked; fewer of them where X is read again."""
        who, init = (type(self).__name__, self._kind_of_chain), getattr(self, "init", None)
        if not to_fit:
            known = init if isinstance(init, HMMParameters) else None
            return options_to_read(*who, self.emission, self.transitions, known)
        given = {name: getattr(self, name) for name in self._every_name}
        options = options_to_fit(*who, given | {"init": chain_start_of(init, self)})
        if "beta" in self._fields:
            usual: Any = self._fields["beta"].default
            options = options._replace(is_beta_given=not np.array_equal(self.beta, usual))
        if (options.fixed or self._emits_symbols) and hasattr(init, "startprob_"):
            options = options._replace(init_means=posterior_means_of(init))
        return options

    def _observation(self, to_fit: bool = False) -> Observation:
        """The observation of symbols or numbers under these options."""
        if self._emits_symbols:
            return self._of_symbols(self._options(to_fit))
        from sklearn_cvb.chain.numbers.observed import NumberObservation

        return NumberObservation(self._options(to_fit))

    def _observation_of(self, reading: Reading) -> Observation:
        """The observation of a reading; that of an earlier fit has the parameters of now."""
        observation = super()._observation_of(reading)
        assert isinstance(observation, Observation), "of chains"
        return observation

    def _checked_input(self, X: Any, to_fit: bool = False, learned: Learned | None = None) -> Any:
        """X, checked as a table of a fit or against the columns of a fitted model."""
        if self._emits_symbols:
            return checked_input(self, X, to_fit=to_fit)
        if not to_fit:
            # Columns of a table are steps: those of other sequences are no features of its.
            before = learned_of(self) if learned is None else learned
            refuse_bare_frame(X, before.extra.numeric.columns.names)
            to_fit = not before.extra.numeric.rows_are_sequences
        return checked_rows(self, X, to_fit=to_fit)

    # Reading

    def _read(self, X: Any, y: Any, streams: bool = False, sample_weight: Any = None) -> Reading:
        observation = self._observation(to_fit=True)
        if sample_weight is not None:
            X, y, weights = counted_sequences(X, y, sample_weight)
            if (weights != 1.0).any():
                observation = replace(observation, sample_weight=weights)
        observation.check()
        reading = observation.read(self._checked_input(X, to_fit=True), y, streams=streams)
        if self.supervision == "none" == self._fields["supervision"].default and (
            y is not None and (holds_names(y) or holds_states(y))
        ):
            why = (
                "y is ignored: set supervision='y' to learn from states of steps; what learns from "
                "a label for each sequence is HMMClassifier"
            )
            reading = reading._replace(messages=(*reading.messages, why))
        return reading

    def _training_input(self, learned: Learned, X: Any) -> Any:
        """The training sequences once more, as `_read` takes them."""
        return self._observation().training_input(learned, self._checked_input(X, learned=learned))

    def _n_restarts(self, reading: Reading) -> int:
        return self._observation_of(reading).n_restarts(reading)

    @property
    def _n_features_out(self) -> int:
        return learned_of(self).layout.n_emitting

    # Reading a fitted model

    def _read_weighted(
        self, learned: Learned, X: Any, means: bool = False
    ) -> prediction.WeightedSequences:
        """X under the weights of a fitted model."""
        return self._observation().read_to_predict(
            learned, self._checked_input(X, learned=learned), means
        )

    def _samples(self, learned: Learned) -> Iterable[tuple[HMMCounts, ChainPrior]] | None:
        """Counts and priors of kept samples; None where an algorithm has none."""
        return None

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        samples = self._samples(learned)
        X = self._checked_input(X, learned=learned)
        return log_likelihoods(self._observation(), learned, X, samples)

    @without_lengths
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log-likelihood (nats) per observed token; `score_samples` is per sequence.

        Under posterior-mean parameters. What VB predicts is under others, the exponentials of
        expected logs.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sequence counts.

        Returns
        -------
        float
        """
        if sample_weight is None:
            return super().score(X, y)
        log_z, observed = self._log_likelihoods(learned_of(self), X)
        weights = checked_weights(sample_weight, len(log_z))
        refuse_lengths(y, len(log_z), int(observed.sum()))
        counted = weights > 0
        return float(weights[counted] @ log_z[counted] / (weights @ observed))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion: low is good.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        float
            -2 log p(X) + 2 d in nats, with d free parameters: cells of start, transitions and
            symbols that the fit may move, minus one for each row, and what emissions of numbers
            have. What is `fixed`, a topology or a dictionary rules out, or only stands for unknown
            symbols is none.
        """
        learned = learned_of(self)
        log_z, _ = self._log_likelihoods(learned, X)
        return float(2 * n_free(learned) - 2 * log_z.sum())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion: low is good (Schwarz 1978).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        float
            -2 log p(X) + d log N in nats, with the d of `aic` and N observed tokens.

        Examples
        --------
        >>> from sklearn_cvb import EMHMM
        >>> X = [["a", "b"], ["b", "a"]]
        >>> round(EMHMM(1).fit(X).bic(X), 4)
        6.9315
        """
        learned = learned_of(self)
        log_z, observed = self._log_likelihoods(learned, X)
        return float(n_free(learned) * np.log(max(1, observed.sum())) - 2 * log_z.sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = has_vocabulary = self._emits_symbols
        tags.input_tags.three_d_array = not has_vocabulary
        return tags

    def _object_of(self, name: str, value: Any) -> Any:
        if name == "emission" and isinstance(value, str) and value != "categorical":
            from sklearn_cvb.chain.numbers.series import emission_of

            return emission_of(value)
        return super()._object_of(name, value)

    # What it has learned

    @property
    def startprob_(self) -> np.ndarray:
        """Posterior mean of the start probabilities, shape (n_components,)."""
        learned = learned_of(self)
        return prediction.mean_weights(learned).start[: learned.layout.n_emitting]

    @property
    def transmat_(self) -> np.ndarray:
        """Posterior mean of the transition probabilities, shape (n_components, n_components).

        Of models with contexts a table for each, shape (n_contexts, n_components, n_components).
        Where ends are events each row sums to 1 minus `endprob_`.
        """
        return prediction.mean_transitions(learned_of(self))

    @property
    def endprob_(self) -> np.ndarray:
        """Posterior mean of the probability that a sequence ends after each state.

        Shape (n_components,); only where ends are events.
        """
        learned = learned_of(self)
        if not learned.layout.chain.has_end:
            raise AttributeError(
                "endprob_ needs a fit with transitions=Transitions(end_state=True)"
            )
        return prediction.mean_weights(learned).transition[:-1, -1]

    @property
    def emissionprob_(self) -> np.ndarray:
        """Posterior mean of the emission probabilities, shape (n_components, n_symbols).

        Symbols are in the order of `vocabulary_`; the unknown item, where there is one, is last.
        Only for symbols: see `means_`, `rates_` or `probabilities_` of models of numbers.
        """
        if not self._emits_symbols:
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
        return self._states(X, decoding)

    def _states(self, X: Any, decoding: str) -> np.ndarray:
        """The states of `predict`."""
        learned = learned_of(self)
        weighted = self._read_weighted(learned, X)
        path, log_p = prediction.decode(weighted, decoding)
        prediction.warn_of_unexplained(log_p)
        return self._observation().arrange(learned.words, weighted.corpus, path)

    @without_lengths
    def predict_proba(self, X: Any) -> np.ndarray:
        """p(z_t | x_1..T) of every token.

        Of VB under the exponentials of expected logs, of all others under means, as `score`.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            Shape (n_samples, length, n_components) for a 2-D X (NaN where padded), else an object
            array of arrays of shape (length, n_components).
        """
        return self._probabilities(X)

    def _probabilities(self, X: Any) -> np.ndarray:
        """The posteriors of `predict_proba`."""
        weighted = self._read_weighted(learned_of(self), X)
        return arrange(weighted.corpus, prediction.posterior_table(weighted), np.nan)

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
        weighted = self._read_weighted(learned_of(self), X)
        table = prediction.posterior_table(weighted, kernels.filtered)
        return arrange(weighted.corpus, table, np.nan)

    def start_filter(self) -> "Filter":
        """Follow a sequence whose observations arrive one after the other.

        Returns
        -------
        Filter
            ``filter.update(observation)`` is p(z_t | x_1..t), as `filter_proba` of all so far.

        Examples
        --------
        >>> from sklearn_cvb import EMHMM
        >>> X = [["dry", "dry", "wet", "wet"], ["wet", "wet", "dry"], ["dry", "dry", "dry"]]
        >>> rain = EMHMM(2, random_state=0).fit(X).start_filter()
        >>> for weather in ["wet", None, "dry"]:
        ...     proba = rain.update(weather)
        >>> rain.n_observations, proba.shape
        (3, (2,))
        """
        from sklearn_cvb.chain.predictions.filtering import Filter

        learned = learned_of(self)
        return Filter(self._observation(), learned)

    def predict_next_proba(self, X: Any) -> np.ndarray:
        """Probability of each symbol to come next after each sequence; only for symbols.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_symbols)
            In the order of `vocabulary_`; the unknown item, where there is one, is last. Where
            ends are events a row sums to 1 minus the probability that its sequence has ended.
        """
        if not self._emits_symbols:
            raise AttributeError("predict_next_proba is for symbols: use predict_next for numbers")
        learned = learned_of(self)
        weighted = self._read_weighted(learned, X, means=True)
        table = prediction.posterior_table(weighted, kernels.filtered)[
            weighted.corpus.starts[1:] - 1
        ]
        return table @ prediction.mean_transitions(learned) @ prediction.emission_table(learned)

    def predict_next(
        self,
        X: Any,
        n_steps: int = 1,
        *,
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: Seed = None,
        draws: "Draws | None" = None,
        inputs: Any = None,
    ) -> "Forecast":
        """Forecast the next observations after each sequence, where they are numbers.

        States go on from their probabilities after the last step; where ends are events, given that
        no sequence ends before the last step asked for. Parameters are the fitted ones, whose
        uncertainty intervals leave out, unless there are `draws`.

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
        draws : Draws or None, default=None
            Of `credible_intervals(X)`: each continuation goes on under drawn parameters. Intervals
            then hold on short series, too.
        inputs : array-like of shape (n_samples, n_steps, n_inputs) or None, default=None
            Of `Regression`: those of the next steps, in the order of its `inputs`; of `Columns`
            those of one part after the other. They stand in the columns that they have in `X`.

        Returns
        -------
        Forecast
            `mean`, `lower`, `upper`, `proba` and `samples`, `names` of columns, and `times`.

        Raises
        ------
        ValueError
            If a sequence surely ends before that; if it lacks values among the last steps that
            `AutoRegressive` emissions go on from, or inputs of the next ones.

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
        if self._emits_symbols:
            raise AttributeError("predict_next is for numbers: use predict_next_proba for symbols")
        from sklearn_cvb.chain.predictions.forecasting import (
            check_forecast,
            forecast,
            known_steps,
            state_forecaster,
            with_times,
        )

        learned = learned_of(self)
        check_forecast(learned, n_steps, n_draws, level)
        family = learned.extra.numeric.family
        reads, transitions, points = self._forecast_parameters(learned, X, draws)
        going_on, n_samples = [], 0
        for weighted, transition in zip(reads, transitions, strict=True):
            going_on.append(state_forecaster(weighted, transition))
            n_samples = weighted.corpus.n_sequences
        before = np.empty((n_samples, 0, family.n_columns))
        if family.order:
            before = self._observation().last_steps(
                learned, self._checked_input(X, learned=learned)
            )
        numeric = learned.extra.numeric
        known = known_steps(numeric, before, n_steps, inputs)
        forecasts = forecast(family, known, going_on, points, level, n_draws, random_state)
        return with_times(
            forecasts._replace(names=numeric.columns.names), X, weighted.corpus.starts
        )

    def _forecast_parameters(
        self, learned: Learned, X: Any, draws: "Draws | None"
    ) -> tuple[Any, Any, Any]:
        """Sequences under the fitted parameters, transitions, and what states emit."""
        weighted = self._read_weighted(learned, X, means=True)
        return [weighted], [prediction.mean_transitions(learned)], [learned.extra.numeric.point]

    @without_lengths
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return what `transform` gives.

        Parameters
        ----------
        X, y
            As in `fit`; labels of whole sequences are for later steps of a pipeline.
        **fit_params
            Of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return super().fit_transform(X, None if holds_names(y) else y, **fit_params)

    def transform(self, X: Any) -> np.ndarray:
        """Mean state posterior of each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        weighted = self._read_weighted(learned_of(self), X)
        sums = np.add.reduceat(
            prediction.posterior_table(weighted), weighted.corpus.starts[:-1], axis=0
        )
        return sums / np.diff(weighted.corpus.starts)[:, None]

    def sample(
        self,
        n_samples: int = 1,
        length: int | ArrayLike | None = 10,
        random_state: Seed = None,
        contexts: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sequences from the model with posterior-mean parameters.

        Parameters
        ----------
        n_samples : int, default=1
        length : int, array-like of shape (n_samples,) or None, default=10
            Length of the sequences. Where ends are events they are drawn given that they end there,
            or for None until they end.
        random_state : int, RandomState or None, default=None
        contexts : list of arrays of shape (length,) or None, default=None
            Of models with contexts (see `Transitions`): those of all steps, whole numbers, which
            tell how many sequences there are and how long they are; X has them in their column.

        Returns
        -------
        X : ndarray
            Symbols, shape (n_samples, length); for several lengths an object array of arrays. The
            unknown item is never emitted: where a state emits nothing else stands None, a missing
            observation. Numbers have one more axis, n_columns, unless a 2-D array was fitted; where
            `categories_` has labels of columns these stand there, in an array of objects.
        Z : ndarray
            States (taggers: tags), shape (n_samples, length) or an object array.
        """
        learned, observed = learned_of(self), self._observation()
        if observed.sample_hint and np.ndim(n_samples):
            raise TypeError(f"n_samples must be an integer, got a sequence: {observed.sample_hint}")
        rng = check_random_state(random_state)
        asked = n_samples, length, contexts
        states, lengths, known = prediction.draw_states(learned, *asked, rng)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        values, nothing = observed.draw_emissions(learned, states, starts, rng, known)
        is_even = length is not None and np.ndim(length) == 0 and len(set(lengths.tolist())) == 1
        width = int(lengths[0]) if is_even else None
        drawn = Corpus(np.zeros(len(states), np.int32), starts, width, [])
        shown = observed.arrange(learned.words, drawn, states)
        return arrange(drawn, values, nothing), shown

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
        weighted = self._read_weighted(learned, X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        path, log_z = weighted.draw_path(rng)
        prediction.warn_of_unexplained(log_z)
        return self._observation().arrange(learned.words, weighted.corpus, path)

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
        if learned is None or learned.warm_start is None:
            raise AttributeError("training_posteriors needs a fit with warm_start=True")
        reading, best = learned.warm_start
        table = self._training_table(reading, best.state)
        return arrange(reading.problem.original, table, np.nan)

    def _training_table(self, reading: Reading, state: Any) -> Any:
        """The posteriors of all training tokens."""
        averages = self._algorithm().averages
        return self._observation_of(reading).posteriors(state, reading, averages)
