"""What all dependency models share: groups of parameters, reading, what a fit leaves, heads."""

from numbers import Real
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.dependency.arc_weights import advice_on, arc_weights_from
from sklearn_cvb.dependency.inference import (
    DependencyProblem,
    Trees,
    log_likelihoods,
    refuse_impossible,
    sentences_of,
)
from sklearn_cvb.dependency.known import heads_from
from sklearn_cvb.dependency.model import DependencyModel, first_concentrations
from sklearn_cvb.dependency.parameters import (
    DependencyLayout,
    DMVCounts,
    counts_from,
    rare_counts,
    seen_once,
)
from sklearn_cvb.dependency.prediction import (
    Beside,
    best_heads,
    mean_weights,
    posteriors_of_heads,
    probabilities_of,
    sample_sentences,
)
from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import known_words, sequences_to_fit, taken
from sklearn_cvb.estimators.parameters import (
    LearnedConcentration,
    OptionalVocabulary,
    Parameters,
    Supervision,
    UnknownWords,
)
from sklearn_cvb.kernels.dependency.arrays import STOP, UNKNOWN_HEAD
from sklearn_cvb.learning.gibbs import mean_means
from sklearn_cvb.learning.learned import FitResult, Learned, Left, Reading, learned_of
from sklearn_cvb.learning.model import NOBODY
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, object_array
from sklearn_cvb.reading.validation import HasMethods, Interval, Seed, StrOptions
from sklearn_cvb.settings import ArcWeights, Valence, setting_of

# A fit holds so many tables of all cells at a time; from so many gigabytes on a warning says so.
_TABLES, _MANY_GIGABYTES = 10, 1.0
# Starts that the seed decides.
_RANDOM_STARTS = ("uniform", "random")


class Dependencies(Parameters):
    """What a dependency model with valence is.

    Parameters
    ----------
    alpha : float, "auto" or GammaPrior
        Concentration of the Dirichlet priors of attachments: of what each tag takes on either side,
        and of the root, 1e-10 to 1e10. "auto", or the prior of the concentration, learns it while
        fitting (one step of Wang and Blunsom 2013, HMM, eq. 29, a sweep, from sweep 20 on).
    valence : Valence or None
        What attachments and stops depend on, coarser tables to share what is seen, and a
        concentration of stops of their own; None for the plain model.
    arc_weights : {"ud", "penn"}, dict, ArcWeights or None
        What is known of the language multiplies the weights of trees, in `fit` and in
        predictions, not in scores: ``{(head, child): 5.0, (None, child): 0.1}``, None for the root.
        "ud" is for the tags and heads of Universal Dependencies, "penn" for those of Penn
        treebanks. Learn from sentences of up to 20 words, and parse all. See `ArcWeights` for more,
        and :ref:`arc-weights` for what it is worth.

    Attributes
    ----------
    counts_ : DMVCounts
        Expected counts after the last E-step.
    rootprob_ : ndarray of shape (n_types,)
        p(tag of the root). Here and below the unknown tag, if there is one, is the last.
    attachprob_ : ndarray of shape (n_types, 2, n_types)
        p(child | head, side): by head, side of the child (0 left, 1 right), child. With an
        extended `valence` p(child | head, side, valence), of shape (n_types, 2, 2, n_types). With
        back-off own and coarse tables together.
    stopprob_ : ndarray of shape (n_types, 2, 2)
        p(stop | head, side, valence): valence 0 without and 1 with a child on that side.
    mixtureprob_, ownprob_, coarseprob_ : ndarray
        With back-off alone: how likely own and coarse tables are, by head, side, valence if any,
        and which; and p(child | ...) in either.
    labels_ : ndarray
        Heads of the training sentences, in the form that `predict` gives: those of
        the Viterbi trees under the final weights.
    vocabulary_ : ndarray of shape (n_known,)
        The known tags.
    """

    alpha: LearnedConcentration = 0.1
    valence: Annotated[Valence | None, Valence, None] = None
    arc_weights: Annotated[
        str | dict[Any, Any] | ArcWeights | None, StrOptions({"ud", "penn"}), dict, ArcWeights, None
    ] = None


class Hardening(Parameters):
    """How hard the E-step of EM is.

    Parameters
    ----------
    temperature : float
        Hardens the E-step: trees have their posterior to the power 1 / temperature, 0.1 to 1, and
        `arc_weights` are a part of it. 0 is Viterbi EM (Spitkovsky et al. 2010), which learns from
        the heaviest tree of each sentence; there `alpha` above 0 keeps what these trees lack alive.
    """

    temperature: Annotated[float, Interval(Real, 0, 1, closed="both")] = 1.0


class TaggedSentences(Parameters):
    """Where a fit starts, and how tags and heads are read.

    Parameters
    ----------
    init : {"harmonic", "uniform", "random"} or model
        The weights of the first E-step, under which samplers draw their first trees: near heads
        are likelier ("harmonic"), all alike, random, or those of a fitted model.
        :ref:`dependency-starts` has what each is for, and when only one restart is run.
    handle_unknown : {"error", "smooth", "rare"}
        Tags outside the vocabulary: refuse them; let one more tag stand for them, with prior mass;
        or give that tag the mean expected counts of the tags seen once as well.
        :ref:`unknown-words` compares the ways.
    vocabulary : collection or None
        The known tags; None for those seen in `fit`.
    supervision : {"y", "none"}
        Whether `fit` learns from the heads in `y` where they are known. With "none" `y` is ignored:
        choosing `alpha` by accuracy must not train on the gold heads.
    """

    init: Annotated[Any, StrOptions({"harmonic", *_RANDOM_STARTS}), HasMethods("score_samples")] = (
        "harmonic"
    )
    handle_unknown: UnknownWords = "smooth"
    vocabulary: OptionalVocabulary = None
    supervision: Supervision = "y"


class BaseDMV(BaseModel):
    """What is read, what a fit leaves, and predictions; counts, prior and weights are flat cells.

    See `sklearn_cvb.kernels.dependency.arrays`. An estimator adds its algorithm.

    Attributes
    ----------
    alpha_, alpha_stop_ : float
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sentences without a tree; they are left out of the counts.
    """

    # What to use where leaving out one giant sentence leaves little; empty: none is left out.
    _in_place_of_leaving_out = ""
    # Algorithms that do not harden their E-step have no such parameter.
    temperature = 1.0

    _unexplained_words = "sentences have no tree with any weight"
    _still_changed = "words still changed head"

    # Reading X and y

    def _read(self, X: Any, y: Any) -> Reading:
        self._check_parameters()
        valence, known = setting_of(self, "valence"), setting_of(self, "arc_weights")
        sequences, attributes, messages = sequences_to_fit(self, X, y)
        remedy = self._in_place_of_leaving_out
        of_giant = reading.caution_of_giant(sequences, remedy) if remedy else ()
        words = reading.vocabulary_of(reading.types_to_learn(known_words(self), sequences))
        corpus, n_types = reading.encode(sequences, words.index), len(words.index)
        reading.refuse_missing(corpus)
        corpus = reading.checked(known_words(self), corpus, sequences, n_types)
        heads = heads_from(y if self.supervision == "y" else None, corpus)
        n_types += self.handle_unknown != "error"
        layout = DependencyLayout(n_types, 1 + valence.extended, valence.backoff)
        arc_weights = arc_weights_from(known, words.index, n_types)
        is_raw = bool((heads == UNKNOWN_HEAD).all())
        if is_raw and arc_weights is None:
            messages += advice_on(words.index)
        sentences = sentences_of(corpus, layout, heads, arc_weights)
        if not is_raw:
            refuse_impossible(sentences, layout)
        alpha_backoff = float(valence.alpha_backoff)
        problem = DependencyProblem(corpus, list(words.index), sentences, layout, alpha_backoff)
        gigabytes = _TABLES * 8 * layout.n_cells / 1e9
        if gigabytes > _MANY_GIGABYTES:
            messages += (
                f"{layout.n_types} tags have {layout.n_cells:,} parameters, two for each pair: a "
                f"fit needs about {gigabytes:.1f} GB; put one tag for all rare words, or use "
                "part-of-speech tags",
            )
        attributes = attributes | {"vocabulary_": words.types}
        return Reading(problem, words, attributes, messages + of_giant)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express: none but those of algorithms."""

    # What is learned from, and what a fit leaves

    def _model(self, read: Reading) -> DependencyModel:
        problem = read.problem
        asked = first_concentrations(self.alpha, self.valence)
        rare = seen_once(problem.corpus) if self.handle_unknown == "rare" else NOBODY
        return DependencyModel(problem, asked, self.init, rare, self.temperature)

    def _fixed_start(self, read: Reading) -> str:
        if isinstance(self.init, str):
            return (
                "" if self.init in _RANDOM_STARTS else "the harmonic start leaves nothing to chance"
            )
        return "init says where to start"

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        """Sentences, tags, and what is known of heads and arcs."""
        return read.problem.types, read.problem.layout, read.problem.sentences

    def _left(self, result: FitResult) -> Left:
        best, _, read, algorithm, model, cells = result
        state, layout = best.state, read.problem.layout
        counts, rare = counts_from(cells, layout), rare_counts(cells, model.rare, layout)
        heads = model.heads(state, averages=algorithm.averages)
        means = mean_means(state, model) if isinstance(state.shares, Trees) else None
        averages, kept = algorithm.averages, state.weights
        more = Beside(read.problem.sentences.arc_weights, means)
        learned = Learned(read.words, layout, state.prior, counts, kept, rare, averages, more)
        attributes = {
            "counts_": counts,
            "labels_": reading.arrange(read.problem.corpus, heads, UNKNOWN_HEAD),
            "alpha_": float(state.hyper.values[0]),
            "alpha_stop_": float(state.hyper.values[1]),
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

        With an extended `valence` p(child | head, side, valence), shape (n_types, 2, 2, n_types).
        With back-off mixtures are worked out.
        """
        return probabilities_of(learned_of(self), mixed=True).attach

    @property
    def stopprob_(self) -> np.ndarray:
        """p(stop | head, side, valence), shape (n_types, 2, 2); valence 1 means it has a child."""
        return probabilities_of(learned_of(self), mixed=True).stop[..., STOP]

    @property
    def mixtureprob_(self) -> np.ndarray:
        """With back-off: p(own table), p(coarse table), shape (n_types, 2[, 2], 2)."""
        return self._part("mixture")

    @property
    def ownprob_(self) -> np.ndarray:
        """With back-off: p(child | head, side[, valence]) in the own tables alone."""
        return self._part("attach")

    @property
    def coarseprob_(self) -> np.ndarray:
        """With back-off: p(child | head, side), or p(child | side), shape (2, n_types)."""
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

        What is known of arcs has no part in it.

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
        corpus = reading.encoded_again(known_words(self), learned.words.index, taken(self, X))
        reading.refuse_missing(corpus)
        return corpus

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        corpus = self._encoded(learned, X)
        sentences = sentences_of(corpus, learned.layout.mixed)
        log_z = log_likelihoods(mean_weights(learned, mixed=True), sentences)
        return log_z, corpus.observed_lengths

    def _part(self, name: str) -> np.ndarray:
        """A table that only models that back off have."""
        learned = learned_of(self)
        if learned.layout.backoff is None:
            raise AttributeError(f"{type(self).__name__} was fitted without backoff")
        return getattr(probabilities_of(learned, mixed=False), name)
