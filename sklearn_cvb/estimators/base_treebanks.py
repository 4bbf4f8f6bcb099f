"""What all treebank grammars share: groups of parameters, reading, what a fit leaves, parses."""

from dataclasses import field
from itertools import pairwise
from numbers import Integral
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.estimators.parameters import Concentration, Parameters
from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.learning.split_merge import SplitMerge
from sklearn_cvb.reading.corpus import Corpus, object_array
from sklearn_cvb.reading.validation import Interval, Seed, StrOptions, warn
from sklearn_cvb.settings import SplitAndMerge
from sklearn_cvb.treebank.binarise import to_charts, to_nltk
from sklearn_cvb.treebank.observation import TreebankObservation, TreebankOptions
from sklearn_cvb.treebank.parameters import mean_weights, predicting_weights, with_any_word
from sklearn_cvb.treebank.prediction import log_likelihoods, parse, sample_parses


class SubtypeFields(Parameters):
    """What a treebank grammar is.

    Parameters
    ----------
    n_subtypes : int
        Number of subtypes of each symbol; with schedule="split-merge" the most that it can get.
    schedule : {"fixed", "split-merge"} or SplitAndMerge
        "fixed": all subtypes from the start. "split-merge" (Petrov et al. 2006) or `SplitAndMerge`:
        begin with one subtype, and in as many rounds as it takes to double it to `n_subtypes` split
        each in two, and undo the splits that gain least.
    alpha : float
        Concentration of the Dirichlet priors, 1e-10 to 1e10: of every annotated rule, so that the
        prior of a symbol outweighs more counts the more subtypes there are.

    Attributes
    ----------
    counts_ : LatentPCFGCounts
        Expected counts after the last E-step.
    rules_ : list of tuple
        The rules before annotation, as pairs (parent, children).
    rule_probabilities_ : ndarray of shape (n_cells,)
        Posterior means of all annotated rules, in the order of `counts_`.
    n_subtypes_ : dict
        Number of subtypes of each symbol.
    symbols_ : ndarray of shape (n_symbols,)
        Labels of the treebank.
    vocabulary_ : ndarray of shape (n_words,)
        Words that are not replaced by a class.
    """

    n_subtypes: Annotated[int, Interval(Integral, 1, 1024, closed="both")] = field(
        default=2, kw_only=False
    )
    schedule: Annotated[Any, StrOptions({"fixed", "split-merge"}), SplitAndMerge] = "fixed"
    alpha: Concentration = 0.1


class TreeFields(Parameters):
    """Where a fit starts, how trees are read, and which are predicted.

    Parameters
    ----------
    init : {"treebank", "random"}
        The weights of the first E-step: relative frequencies of the treebank's rules, alike for all
        subtypes but for 1 % of noise, or random ones. :ref:`treebank-starts` has what each is for.
    rare_threshold : int
        Words seen so often or less are replaced by classes of words: how they begin, which marks
        they hold, and which of the endings they have that tell tags apart in the trees. Words that
        `fit` has not seen are read as the same classes: :ref:`treebank-unknown-words`.
    horizontal_markovisation : int or None
        Nodes with more than two children become binary by helper symbols, which stand for the rest
        of a node's children. How many of the children before the helper remembers; None for all.
    decoding : {"max-rule", "viterbi"}
        What `predict` looks for: the tree with the largest product of posteriors of its rules
        (Petrov and Klein 2007), or the one below the heaviest annotated tree.
    n_jobs : int or None
        Threads that run restarts and parse sentences; the result does not depend on it.
    """

    init: Annotated[str, StrOptions({"treebank", "random"})] = "treebank"
    rare_threshold: Annotated[int, Interval(Integral, 0, None, closed="left")] = 1
    horizontal_markovisation: Annotated[
        int | None, Interval(Integral, 0, None, closed="left"), None
    ] = 0
    decoding: Annotated[str, StrOptions({"max-rule", "viterbi"})] = "max-rule"


class BaseLatentPCFG(BaseModel):
    """What is read, what a fit leaves, and what is predicted; an estimator adds its algorithm.

    Attributes
    ----------
    alpha_ : float
        The concentration.
    unexplained_ : ndarray
        Indices of training trees without weight; they are left out of the counts.
    """

    _unexplained_words = "trees have no weight"
    _still_changed = "words still changed the subtypes above them"

    # How subtypes are learned between splits and merges.
    _sweeps: ClassVar[type[Algorithm[Any]]]
    # A pseudo-count that only some models add, and a way to leave out.
    smoothing = 0.0
    update = "sequence"

    # What is asked for becomes a value

    def _observation(self, to_fit: bool = False) -> TreebankObservation:
        return TreebankObservation(self._options() if to_fit else TreebankOptions())

    def _options(self) -> TreebankOptions:
        self._check_parameters()
        is_fixed = isinstance(self.schedule, str) and self.schedule == "fixed"
        horizontal = self.horizontal_markovisation
        return TreebankOptions(
            name=type(self).__name__,
            n_subtypes=int(self.n_subtypes),
            rounds=None if is_fixed else SplitAndMerge.of(self.schedule),
            alpha=float(self.alpha),
            init=self.init,
            update=self.update,
            rare_threshold=int(self.rare_threshold),
            horizontal=None if horizontal is None else int(horizontal),
            alternative=self._in_place_of_leaving_out,
        )

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""

    def _algorithm(self) -> SplitMerge:
        """One between whose sweeps subtypes are split and merged as `schedule` says."""
        return SplitMerge(self._sweeps(), self._observation(to_fit=True).plan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    # What a fit has learned, whichever algorithm left it

    @property
    def rules_(self) -> list[tuple[Any, ...]]:
        """The rules before annotation, as pairs (parent, children) of names; None is the root.

        Names of helper symbols begin with ``@``. The word of a rule is as in `vocabulary_`, or a
        class of rare words.
        """
        learned = learned_of(self)
        rules, words = learned.layout.rules, list(learned.words.codes)
        names = list(map(str, learned.extra.symbols))
        rows = zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist(), strict=True)
        found: list[tuple[Any, ...]] = []
        for number, (parent, left, right) in enumerate(rows):
            first = words[left] if number >= rules.begin[3] else names[left]
            children = (first,) if right < 0 else (first, names[right])
            found.append((None if parent < 0 else names[parent], children))
        return found

    @property
    def rule_probabilities_(self) -> np.ndarray:
        """Posterior means of all annotated rules, shape (n_cells,), in the order of ``counts_``."""
        return mean_weights(learned_of(self), self.smoothing)

    @property
    def n_subtypes_(self) -> dict[Any, Any]:
        """The number of subtypes of each symbol of ``rules_``."""
        learned = learned_of(self)
        names = map(str, learned.extra.symbols)
        return dict(zip(names, learned.layout.rules.n_subtypes.tolist(), strict=True))

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
        learned = learned_of(self)
        trees, corpus = self._trees(learned, X)
        return (
            object_array(trees) if corpus.width is None else to_charts(trees, learned.extra, corpus)
        )

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
        return object_array(self._trees(learned_of(self), X)[0])

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
        learned = learned_of(self)
        lexicon, rng = learned.words, check_random_state(random_state)
        weights = mean_weights(learned, self.smoothing)
        numbers, parses = sample_parses(learned.layout, weights, n_samples, longest, rng)
        n_words = lexicon.n_words
        names = [name if i < n_words else str(name) for i, name in enumerate(lexicon.codes)]
        sentences = [[names[word] for word in words] for words in numbers]
        return object_array(sentences), object_array(to_nltk(learned.extra, parses, sentences))

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        corpus, _ = self._observation().encoded(learned, self._checked_input(X))
        rules, weights = with_any_word(learned, mean_weights(learned, self.smoothing))
        logs = log_likelihoods(rules, weights, *corpus[:2], n_jobs=self.n_jobs)
        return logs, np.diff(corpus.starts)

    def _trees(self, learned: Learned, X: Any) -> tuple[list[Any], Corpus]:
        """The best trees in a user's labels; a warning tells of sentences without any."""
        corpus, words = self._observation().encoded(learned, self._checked_input(X))
        rules, weights = with_any_word(learned, predicting_weights(learned, self.smoothing))
        parses = parse(rules, weights, *corpus[:2], decoding=self.decoding, n_jobs=self.n_jobs)
        without = np.flatnonzero(np.diff(parses.starts) == 0)
        if len(without):
            warn(
                [
                    f"no tree derives sentences {without[:5].tolist()} ({len(without)} in all): "
                    "each gets a flat tree"
                ]
            )
        sentences = [words[a:b] for a, b in pairwise(corpus.starts.tolist())]
        return to_nltk(learned.extra, parses, sentences), corpus
