"""What all dependency models share: reading sentences and heads, what a fit leaves, predictions."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.dependency.inference import (
    Problem,
    Trees,
    log_likelihoods,
    sentences_of,
)
from sklearn_cvb.dependency.known import heads_from, rule_prior, rules_from
from sklearn_cvb.dependency.model import DependencyModel, first_concentrations, harmonic_counts
from sklearn_cvb.dependency.parameters import (
    DMVCounts,
    Layout,
    counts_from,
    rare_counts,
    seen_once,
    tables_of,
)
from sklearn_cvb.dependency.prediction import (
    best_heads,
    mean_weights,
    posteriors_of_heads,
    probabilities_of,
    sample_sentences,
)
from sklearn_cvb.estimators.base import BaseModel, learned_of
from sklearn_cvb.kernels.dependency.arrays import STOP, UNKNOWN_HEAD
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.gibbs import mean_means
from sklearn_cvb.learning.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import record_of
from sklearn_cvb.learning.model import NOBODY, Fit
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, object_array
from sklearn_cvb.reading.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    Seed,
    StrOptions,
)

# A fit holds so many tables of all cells at a time; from so many gigabytes on a warning says so.
_TABLES, _MANY_GIGABYTES = 10, 1.0

# Starts that the seed decides.
_RANDOM_STARTS = ("uniform", "random")


class BaseDMV(BaseModel):
    """What is read, what a fit leaves, and predictions; counts, prior and weights are flat cells.

    See `sklearn_cvb.kernels.dependency.arrays`. An estimator adds its algorithm.
    """

    # What to use where leaving out one giant sentence leaves little; empty: none is left out.
    _in_place_of_leaving_out = ""
    # Models that learn no concentration have no such parameter.
    alpha_prior = (1.0, 1.0)
    # Algorithms that do not harden their E-step have no such parameter.
    temperature = 1.0

    # Set by the constructors.
    alpha: float | str
    alpha_stop: float | str | None
    extended_valence: bool
    backoff: str | None
    alpha_backoff: float
    rule_weights: dict | None

    _unexplained_words = "sentences have no tree with any weight"

    _parameter_constraints: dict = {  # noqa: RUF012
        "alpha": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})],
        "alpha_stop": [
            Interval(Real, SMALLEST, LARGEST, closed="both"),
            StrOptions({"auto"}),
            None,
        ],
        "alpha_prior": [tuple],
        "extended_valence": ["boolean"],
        "backoff": [StrOptions({"head", "direction"}), None],
        "rule_weights": [dict, None],
        "alpha_backoff": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"harmonic", *_RANDOM_STARTS}), HasMethods("score_samples")],
        "handle_unknown": [StrOptions({"error", "smooth", "rare"})],
        "vocabulary": ["array-like", set, None],
        "supervision": [StrOptions({"y", "none"})],
        "warm_start": ["boolean"],
        **CHECKPOINT_PARAMETERS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # Reading X and y

    def _read(self, X: Any, y: Any) -> Reading:
        sequences, attributes, messages = reading.sequences_to_fit(self, X, y)
        remedy = self._in_place_of_leaving_out
        of_giant = reading.caution_of_giant(sequences, remedy) if remedy else ()
        words = reading.vocabulary_of(reading.types_to_learn(self, sequences))
        self._check_parameters()
        corpus, n_types = reading.encode(sequences, words.index), len(words.index)
        reading.refuse_missing(corpus)
        corpus = reading.checked(self, corpus, sequences, n_types)
        heads = heads_from(y if self.supervision == "y" else None, corpus)
        n_types += self.handle_unknown != "error"
        layout = Layout(n_types, 1 + self.extended_valence, self.backoff)
        rules = rules_from(self.rule_weights, words.index, layout)
        sentences = sentences_of(corpus, layout, heads)
        # What the prior of each cell has beside `alpha` and `alpha_stop`.
        prior = np.zeros(layout.n_cells)
        if rules:
            prior += rule_prior(rules, harmonic_counts(sentences, layout), layout)
        for mixture in tables_of(prior, layout)[2:3]:
            mixture += self.alpha_backoff
        problem = Problem(corpus, list(words.index), sentences, layout, prior, rules)
        _refuse_impossible(problem)
        gigabytes = _TABLES * 8 * len(prior) / 1e9
        if gigabytes > _MANY_GIGABYTES:
            messages += (
                f"{layout.n_types} tags have {len(prior):,} parameters, two for each pair: a fit "
                f"needs about {gigabytes:.1f} GB; put one tag for all rare words, or use "
                "part-of-speech tags",
            )
        attributes = attributes | {"vocabulary_": words.types}
        return Reading(problem, words, attributes, messages + of_giant)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        if self.backoff == "head" and not self.extended_valence:
            raise InvalidParameterError(
                "backoff='head' needs extended_valence=True: without it attachments depend on head "
                "and side alone, and there is nothing to leave out; or take backoff='direction'"
            )
        if self.rule_weights is not None and self.alpha == "auto":
            raise InvalidParameterError(
                "alpha='auto' learns one value for all attachments, and rule_weights give some of "
                "them more: give alpha a number"
            )

    # What is learned from, and what a fit leaves

    def _model(self, read: Reading) -> DependencyModel:
        problem = read.problem
        asked = first_concentrations(self.alpha, self.alpha_stop, self.alpha_prior)
        rare = seen_once(problem.corpus) if self.handle_unknown == "rare" else NOBODY
        return DependencyModel(problem, asked, self.init, rare, self.temperature)

    def _fixed_start(self, read: Reading) -> str:
        if isinstance(self.init, str):
            return (
                "" if self.init in _RANDOM_STARTS else "the harmonic start leaves nothing to chance"
            )
        return "init says where to start"

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        """Sentences, tags and known heads."""
        problem, sentences = read.problem, read.problem.sentences
        return problem.types, problem.layout, sentences.token, sentences.starts, sentences.head

    def _left(self, fits: list[Fit], read: Reading) -> Left:
        best, record = record_of(fits)
        state, layout = best.state, read.problem.layout
        algorithm, model = self._algorithm(), self._model(read)
        cells, own = algorithm.final_counts(state), algorithm.attributes(best, model)
        counts, rare = counts_from(cells, layout), rare_counts(cells, model.rare, layout)
        heads = model.heads(state, averages=algorithm.averages)
        means = mean_means(state, model) if isinstance(state.shares, Trees) else None
        averages, kept = algorithm.averages, state.weights
        learned = Learned(read.words, layout, state.prior, counts, kept, rare, averages, means)
        attributes = {
            "counts_": counts,
            "labels_": reading.arrange(read.problem.corpus, heads, UNKNOWN_HEAD),
            **record,
            "alpha_": float(state.hyper.values[0]),
            "alpha_stop_": float(state.hyper.values[1]),
            **own,
        }
        return Left(learned, attributes)

    # Predictions

    @property
    def rootprob_(self) -> np.ndarray:
        """p(tag of the root), shape (n_types,); the unknown tag, if any, is last."""
        return probabilities_of(learned_of(self), mixed=True).root

    @property
    def attachprob_(self) -> np.ndarray:
        """p(child | head, side), shape (n_types, 2, n_types): head, side (0 left, 1 right).

        With `extended_valence` p(child | head, side, valence), shape (n_types, 2, 2, n_types). With
        `backoff` mixtures are worked out.
        """
        return probabilities_of(learned_of(self), mixed=True).attach

    @property
    def stopprob_(self) -> np.ndarray:
        """p(stop | head, side, valence), shape (n_types, 2, 2); valence 1 means it has a child."""
        return probabilities_of(learned_of(self), mixed=True).stop[..., STOP]

    @property
    def mixtureprob_(self) -> np.ndarray:
        """With `backoff`: p(own table), p(coarse table), shape (n_types, 2[, 2], 2)."""
        return self._part("mixture")

    @property
    def ownprob_(self) -> np.ndarray:
        """With `backoff`: p(child | head, side[, valence]) in the own tables alone."""
        return self._part("attach")

    @property
    def coarseprob_(self) -> np.ndarray:
        """With `backoff`: p(child | head, side), or p(child | side), shape (2, n_types)."""
        return self._part("coarse")

    def predict(self, X: Any) -> np.ndarray:
        """The heads in the most probable tree of each sentence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            For each sentence an array with the position of each token's head, from 1; 0 for the
            root. For a 2-D X an array of the same shape, -1 where a row is padded. A sentence none
            of whose trees has any weight gets one that has least of what was never seen.
        """
        learned = learned_of(self)
        corpus = self._encoded(learned, X)
        return reading.arrange(corpus, best_heads(learned, corpus), UNKNOWN_HEAD)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of each head of each token.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            For each sentence a table of shape (length, length + 1) whose cell [i, h] is the
            probability that the head of token i + 1 is token h, or that it is the root (h = 0);
            stacked for a 2-D X, else in an object array. NaN where a row is padded, or no tree of
            the sentence has any weight.
        """
        learned = learned_of(self)
        return posteriors_of_heads(learned, self._encoded(learned, X))

    def sample(
        self, n_samples: int = 1, longest: int = 100, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their heads from the model with posterior-mean probabilities.

        Parameters
        ----------
        n_samples : int, default=1
        longest : int, default=100
            Trees of more tokens are drawn again.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples,), object
            Lists of tags. The unknown one is never drawn.
        heads : ndarray of shape (n_samples,), object
            Arrays of heads, as `predict` gives them.
        """
        learned, rng = learned_of(self), check_random_state(random_state)
        tables, names = probabilities_of(learned, mixed=True), learned.words.types.tolist()
        n = len(names)
        known = DMVCounts(tables.root[:n], tables.attach[:n, ..., :n], tables.stop[:n])
        tags, heads = sample_sentences(known, n_samples, longest, rng)
        return object_array([[names[tag] for tag in row] for row in tags]), object_array(heads)

    def _encoded(self, learned: Learned, X: Any) -> Corpus:
        corpus = reading.encoded_again(self, learned, X)
        reading.refuse_missing(corpus)
        return corpus

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, int]:
        corpus = self._encoded(learned, X)
        sentences = sentences_of(corpus, learned.layout.mixed)
        return log_likelihoods(mean_weights(learned, mixed=True), sentences), corpus.n_observed

    def _part(self, name: str) -> np.ndarray:
        """A table that only models that back off have."""
        learned = learned_of(self)
        if learned.layout.backoff is None:
            raise AttributeError(f"{type(self).__name__} was fitted without backoff")
        table: np.ndarray = getattr(probabilities_of(learned, mixed=False), name)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _refuse_impossible(problem: Problem) -> None:
    """Raise where no projective tree with one root has the known heads."""
    sentences = problem.sentences
    if (sentences.head == UNKNOWN_HEAD).all():
        return
    layout, free = problem.layout.mixed, sentences._replace(coarse=None)
    uniform = 1.0 / layout.widths[layout.row]
    impossible = np.flatnonzero(np.isneginf(log_likelihoods(uniform, free)))
    if len(impossible):
        i = int(impossible[0])
        heads = sentences.head[sentences.starts[i] : sentences.starts[i + 1]]
        raise ValueError(
            f"y[{i}]: no projective tree with one root has the heads "
            f"{[None if head == UNKNOWN_HEAD else head for head in heads.tolist()]}; put None for "
            "some of them"
        )
