"""Reading a fitted model: trees, likelihoods, probabilities of annotated rules."""

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.corpus import Corpus, Sequences, object_array
from sklearn_cvb.kernels.latent.arrays import Parses, Rules, rules_of
from sklearn_cvb.latent.output import to_charts, to_nltk
from sklearn_cvb.latent.parameters import lists_of, posterior_mean
from sklearn_cvb.latent.parsing import log_likelihoods, parse
from sklearn_cvb.latent.sampling import sample_parses
from sklearn_cvb.latent.treebank import are_trees, sentences_in, trees_in

if TYPE_CHECKING:
    from sklearn_cvb.base import BaseModel as _Model
else:
    _Model = object


class PredictionMixin(_Model):
    """Prediction, scoring and sampling from expected counts, whichever algorithm left them."""

    # A pseudo-count that only some models add.
    smoothing = 0.0

    @property
    def rules_(self) -> list[tuple]:
        """The rules before annotation, as pairs (parent, children) of names; None is the root.

        Names of helper symbols begin with ``@``. The word of a rule is as in `vocabulary_`, or a
        class of rare words.
        """
        check_is_fitted(self)
        rules, words = self._layout.rules, self._word_names
        names = list(map(str, self._output.symbols))
        rows = zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist(), strict=True)
        found: list[tuple] = []
        for number, (parent, left, right) in enumerate(rows):
            first = words[left] if number >= rules.begin[3] else names[left]
            children = (first,) if right < 0 else (first, names[right])
            found.append((None if parent < 0 else names[parent], children))
        return found

    @property
    def rule_probabilities_(self) -> np.ndarray:
        """Posterior means of all annotated rules, shape (n_cells,), in the order of ``counts_``."""
        check_is_fitted(self)
        return self._mean_weights()

    @property
    def n_subtypes_(self) -> dict:
        """The number of subtypes of each symbol of ``rules_``."""
        check_is_fitted(self)
        names = map(str, self._output.symbols)
        return dict(zip(names, self._layout.rules.n_subtypes.tolist(), strict=True))

    def predict(self, X: Any) -> np.ndarray:
        """The best tree of each sentence, as `decoding` says.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Trees stand for their words.

        Returns
        -------
        ndarray
            An object array of nltk.Tree, labelled and branching as in the treebank; for a 2-D X
            charts of shape (n_samples, length, length + 1), int: cell [i, begin, end] is one more
            than the index in `symbols_` of the label of X[i, begin:end] (the highest, where
            several), 0 where there is none. A sentence that cannot be derived gets a flat tree.
        """
        corpus, words = self._encoded_words(X)
        trees = self._trees(corpus, words)
        if corpus.width is not None:
            return to_charts(trees, self.symbols_, corpus)
        return object_array(trees)

    def parse(self, X: Any) -> np.ndarray:
        """The best tree of each sentence as nltk.Tree, whatever the form of X.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Trees stand for their words.

        Returns
        -------
        ndarray of shape (n_samples,), object
            As `predict` gives them for sentences.
        """
        return object_array(self._trees(*self._encoded_words(X)))

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and parse the training sentences.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray
            Trees or charts as `predict` gives them.
        """
        return self.fit(X, y).predict(X)

    def sample(
        self, n_samples: int = 1, longest: int = 100, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their trees from the model with posterior-mean probabilities.

        Parameters
        ----------
        n_samples : int, default=1
        longest : int, default=100
            Derivations of more words are drawn again.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples,), object
            Lists of words. For a rare word stands the name of its class, such as "<word small>";
            the model reads it as that.
        trees : ndarray of shape (n_samples,), object
            Their nltk.Tree, as `predict` gives them.
        """
        weights, rng = self._mean_weights(), check_random_state(random_state)
        numbers, parses = sample_parses(self._layout, weights, n_samples, longest, rng)
        n_words = self._lexicon.n_words
        names = [name if i < n_words else str(name) for i, name in enumerate(self._word_names)]
        sentences = [[names[word] for word in words] for words in numbers]
        return object_array(sentences), object_array(to_nltk(self._output, parses, sentences))

    # Reading X

    def _sequences(self, X: Any, reset: bool) -> Sequences:
        if are_trees(X):
            return sentences_in(trees_in(X, "X"))
        return super()._sequences(X, reset)

    def _encoded_words(self, X: Any) -> tuple[Corpus, list]:
        """The corpus, whose numbers are those that rules have for words, and its words."""
        check_is_fitted(self)
        sequences = self._sequences(X, reset=False)
        corpus = reading.encode(sequences, self._index)
        reading.refuse_missing(corpus)
        numbers = self._lexicon.numbers(sequences.tokens, corpus.starts[:-1].tolist())
        return corpus._replace(tokens=np.array(numbers, np.int32)), sequences.tokens

    # Weights

    def _prior_of_now(self) -> float:
        """Pseudo-count of each annotated rule."""
        return self.alpha_ + float(self.smoothing)

    def _mean_weights(self) -> np.ndarray:
        """Posterior-mean weights."""
        check_is_fitted(self)
        return posterior_mean(self._layout, self.counts_.cells, self._prior_of_now(), self._kept)

    def _predicting_weights(self) -> np.ndarray:
        """Weights of `predict`."""
        arguments = self._layout, self.counts_.cells, self._prior_of_now(), self._kept
        return self._weights(*arguments).whole(self._layout)

    # Running the kernels

    def _grammar(self, weights: np.ndarray) -> tuple[Rules, np.ndarray]:
        """Rules and weights of all words, also of those of no known class."""
        lexicon = self._lexicon
        return with_any_word(self._layout.rules, weights, lexicon.n_words, len(lexicon.codes))

    def _parses(self, corpus: Corpus) -> Parses:
        """The best binarised trees."""
        rules, weights = self._grammar(self._predicting_weights())
        decoding, n_jobs = self.decoding, self.n_jobs
        return parse(rules, weights, *corpus[:2], decoding=decoding, n_jobs=n_jobs)

    def _trees(self, corpus: Corpus, words: list) -> list:
        """The best trees of a user's labels; a warning tells of sentences without any."""
        parses = self._parses(corpus)
        without = np.flatnonzero(np.diff(parses.starts) == 0)
        if len(without):
            warnings.warn(
                f"no tree derives sentences {without[:5].tolist()} ({len(without)} in all): each "
                "gets a flat tree",
                UserWarning,
                stacklevel=3,
            )
        sentences = [words[a:b] for a, b in pairwise(corpus.starts.tolist())]
        return to_nltk(self._output, parses, sentences)

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        corpus, _ = self._encoded_words(X)
        grammar = self._grammar(self._mean_weights())
        logs = log_likelihoods(*grammar, *corpus[:2], n_jobs=self.n_jobs)
        return logs, len(corpus.tokens)


def with_any_word(
    rules: Rules, weights: np.ndarray, n_known: int, any_word: int
) -> tuple[Rules, np.ndarray]:
    """Rules and weights with those of one more word: that of no known class.

    A tag has it as often as it has rare words of all classes; without any, all tags have it alike.

    Parameters
    ----------
    rules : Rules
    weights : ndarray of shape (n_cells,)
    n_known : int
        From this number on words are classes of rare words.
    any_word : int
        The number of the new word.

    Returns
    -------
    rules : Rules
    weights : ndarray of shape (n_cells + n_new_cells,)
    """
    lists, n = lists_of(rules), rules.n_subtypes
    begins = rules.first[rules.begin[3] : -1].tolist()
    sums: dict[int, np.ndarray] = {}
    for (tag, word), begin in zip(lists[3], begins, strict=True):
        if word >= n_known:
            sums[tag] = sums.get(tag, 0.0) + weights[begin : begin + n[tag]]
    sums = sums or {tag: np.ones(n[tag]) for tag, _ in lists[3]}
    lists[3] = lists[3] + [(tag, any_word) for tag in sums]
    return rules_of(n, *lists), np.concatenate([weights, *sums.values()])
