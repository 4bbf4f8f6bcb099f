"""What all dependency models share: groups of parameters, reading, what a fit leaves, heads."""

from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.dependency import prediction
from sklearn_cvb.dependency.inference import log_likelihoods, sentences_of
from sklearn_cvb.dependency.observation import (
    RANDOM_STARTS,
    DependencyObservation,
    DependencyOptions,
)
from sklearn_cvb.dependency.parameters import DependencyLayout, DMVCounts
from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import known_words, learned_of
from sklearn_cvb.estimators.parameters import (
    LearnedConcentration,
    OptionalVocabulary,
    Parameters,
    Supervision,
    UnknownWords,
)
from sklearn_cvb.kernels.dependency.arrays import STOP, UNKNOWN_HEAD
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, arrange, object_array
from sklearn_cvb.reading.validation import HasMethods, InvalidParameterError, Seed, StrOptions
from sklearn_cvb.settings import ArcWeights, Valence


class DependencyFields(Parameters):
    """What a dependency model with valence is.

    Parameters
    ----------
    alpha : float, "auto" or GammaPrior
        Concentration of the Dirichlet priors of attachments: of what each tag takes on either side,
        and of the root, 1e-10 to 1e10. "auto", or the prior of the concentration, learns it while
        fitting (one step of Wang and Blunsom 2013, HMM, eq. 29, per sweep, from sweep 20 on).
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


class TaggedSentenceFields(Parameters):
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

    init: Annotated[Any, StrOptions({"harmonic", *RANDOM_STARTS}), HasMethods("score_samples")] = (
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

    # Algorithms that do not harden their E-step have no such parameter.
    temperature = 1.0

    _unexplained_words = "sentences have no tree with any weight"
    _still_changed = "words still changed head"

    # What is asked for becomes a value

    def _observation(self, to_fit: bool = False) -> DependencyObservation:
        return DependencyObservation(self._options(to_fit))

    def _options(self, to_fit: bool) -> DependencyOptions:
        options = DependencyOptions(known_words(self))
        if not to_fit:
            return options
        self._check_parameters()
        return options._replace(
            alpha=self.alpha,
            valence=Valence.of(self.valence),
            arc_weights=ArcWeights.of(self.arc_weights),
            init=self.init if isinstance(self.init, str) else self._learned_of_init(),
            supervision=self.supervision,
            temperature=self.temperature,
            alternative=self._in_place_of_leaving_out,
        )

    def _learned_of_init(self) -> Learned:
        """What the model that `init` is has learned, also where a `FrozenEstimator` holds it."""
        check_is_fitted(self.init)
        found: Learned | None = getattr(self.init, "_learned", None)
        if found is None or not isinstance(found.layout, DependencyLayout):
            raise InvalidParameterError(
                f"init names a start or is a fitted dependency model, got {self.init!r}"
            )
        return found

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express: none but those of algorithms."""

    # Predictions

    @property
    def rootprob_(self) -> np.ndarray:
        """p(tag of the root), shape (n_types,); the unknown tag, if any, is last."""
        return prediction.probabilities_of(learned_of(self), mixed=True).root

    @property
    def attachprob_(self) -> np.ndarray:
        """p(child | head, side), shape (n_types, 2, n_types): head, side (0 left, 1 right).

        With an extended `valence` p(child | head, side, valence), shape (n_types, 2, 2, n_types).
        With back-off mixtures are worked out.
        """
        return prediction.probabilities_of(learned_of(self), mixed=True).attach

    @property
    def stopprob_(self) -> np.ndarray:
        """p(stop | head, side, valence), shape (n_types, 2, 2); valence 1 means it has a child."""
        return prediction.probabilities_of(learned_of(self), mixed=True).stop[..., STOP]

    @property
    def mixtureprob_(self) -> np.ndarray:
        """With back-off: p(own table), p(coarse table), shape (n_types, 2[, 2], 2)."""
        return self._backoff_table("mixture")

    @property
    def ownprob_(self) -> np.ndarray:
        """With back-off: p(child | head, side[, valence]) in the own tables alone."""
        return self._backoff_table("attach")

    @property
    def coarseprob_(self) -> np.ndarray:
        """With back-off: p(child | head, side), or p(child | side), shape (2, n_types)."""
        return self._backoff_table("coarse")

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
        return arrange(corpus, prediction.best_heads(learned, corpus), UNKNOWN_HEAD)

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
        return prediction.posteriors_of_heads(learned, self._encoded(learned, X))

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
        tables, names = (
            prediction.probabilities_of(learned, mixed=True),
            learned.words.types.tolist(),
        )
        n = len(names)
        known = DMVCounts(tables.root[:n], tables.attach[:n, ..., :n], tables.stop[:n])
        tags, heads = prediction.sample_sentences(known, n_samples, longest, rng)
        return object_array([[names[tag] for tag in row] for row in tags]), object_array(heads)

    def _encoded(self, learned: Learned, X: Any) -> Corpus:
        return self._observation().encoded(learned, self._checked_input(X))

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        corpus = self._encoded(learned, X)
        sentences = sentences_of(corpus, learned.layout.mixed)
        log_z = log_likelihoods(prediction.mean_weights(learned, mixed=True), sentences)
        return log_z, corpus.observed_lengths

    def _backoff_table(self, name: str) -> np.ndarray:
        """A table that only models that back off have."""
        learned = learned_of(self)
        if learned.layout.backoff is None:
            raise AttributeError(f"{type(self).__name__} was fitted without backoff")
        return getattr(prediction.probabilities_of(learned, mixed=False), name)
