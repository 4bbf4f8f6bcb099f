"""Reading a fitted grammar: trees, span posteriors, likelihoods, samples."""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.containers import is_dask, over_partitions
from sklearn_cvb.corpus import Corpus, Sequences, object_array
from sklearn_cvb.kernels.tree.arrays import Trees, brackets_of
from sklearn_cvb.pcfg.forms import Problem, expectation, forms_of, heaviest_trees
from sklearn_cvb.pcfg.independent import written_out
from sklearn_cvb.pcfg.layout import Layout, lexicon_for
from sklearn_cvb.pcfg.parameters import posterior_mean
from sklearn_cvb.pcfg.sampling import sample_trees, without_unknown
from sklearn_cvb.pcfg.spans import k_best, span_tables
from sklearn_cvb.pcfg.trees import sentences_of, to_charts, to_nltk
from sklearn_cvb.validation import check_counts

if TYPE_CHECKING:
    from sklearn_cvb.base import BaseModel as _Model
else:
    _Model = object


class PredictionMixin(_Model):
    """Prediction, scoring and sampling from posterior counts, whichever algorithm left them."""

    @property
    def rule_probabilities_(self) -> np.ndarray:
        """Posterior mean of each rule's probability, shape (n_rules,), ordered as ``rules_``."""
        check_is_fitted(self)
        return self._mean_weights()

    @property
    def grammar_(self) -> Any:
        """The learned grammar as an nltk.PCFG: posterior means."""
        probabilities = self.rule_probabilities_
        if self._layout.is_factored:
            return written_out(self.rules_, probabilities, self._layout.n_shown)
        return self.rules_.to_nltk(probabilities)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable tree of each sentence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            An object array of nltk.Tree; for a 2-D X charts of shape (n_samples, length,
            length + 1), int: cell [i, begin, end] is one more than the index in `symbols_` of the
            label of X[i, begin:end] (the highest, where several), 0 where there is none. A
            sentence that cannot be derived gets the flat tree below the start symbol.
        """
        if is_dask(X):
            return over_partitions(self, "predict", X)
        corpus, words = self._encoded_words(X)
        return self._arranged_trees(corpus, words, self._parsed(corpus))

    def parse(self, X: Any, n_best: int | None = None) -> np.ndarray:
        """The most probable trees of each sentence as nltk.Tree, whatever the form of X.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        n_best : int or None, default=None
            How many derivations to give for each sentence; None for the best one alone.

        Returns
        -------
        ndarray of shape (n_samples,), object
            Trees in the symbols of the grammar as it was given. A sentence that cannot be derived
            gets the flat tree below the start symbol. With `n_best`: lists of pairs (tree, log
            weight in nats), the heaviest first, empty for a sentence that cannot be derived.
        """
        corpus, words = self._encoded_words(X)
        corpus = corpus._replace(width=None)
        if n_best is None:
            return self._arranged_trees(corpus, words, self._parsed(corpus))
        check_counts(n_best=n_best)
        problem, logs = _as_lists(self._layout, corpus, words), self._predicting_weights()[1]
        return object_array(k_best(problem, logs, n_best))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Expected number of constituents of each label over each span.

        Without cycles of unary rules this is the probability that the span has the label.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            For each sentence a table of shape (length, length + 1, n_symbols) whose cell
            [begin, end, a] belongs to the words [begin:end] and ``symbols_[a]``; stacked for a 2-D
            X, else in an object array. NaN where a sentence cannot be derived.
        """
        if is_dask(X):
            return over_partitions(self, "predict_proba", X)
        corpus, words = self._encoded_words(X)
        layout, problem = self._layout, _as_lists(self._layout, corpus, words)
        tables = span_tables(problem, self._predicting_weights()[0])
        unexplained = [i for i, table in enumerate(tables) if np.isnan(table).any()]
        _warn_unexplained(layout, corpus, unexplained, "their posteriors are NaN")
        if corpus.width is None:
            return object_array(tables)
        width = corpus.width
        stacked = np.full((len(tables), width, width + 1, layout.n_shown), 0.0)
        for whole, table in zip(stacked, tables, strict=True):
            whole[: len(table), : len(table) + 1] = table
        return stacked

    def sample(
        self, n_samples: int = 1, longest: int = 100, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their trees from the grammar with posterior-mean probabilities.

        Parameters
        ----------
        n_samples : int, default=1
        longest : int, default=100
            Derivations of more words are drawn again.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples,), object
            Lists of words. ``<unk>``, the terminal of unknown words, is drawn only from symbols
            that derive nothing without it.
        trees : ndarray of shape (n_samples,), object
            Their nltk.Tree.
        """
        theta = self.rule_probabilities_
        if self.handle_unknown != "error":
            theta = without_unknown(self.rules_, theta, self._layout.unknown_cells)
        rng = check_random_state(random_state)
        n_shown = self._layout.n_shown
        return sample_trees(self.rules_, theta, n_samples, longest, rng, n_shown)

    # Reading X

    def _encode(self, sequences: Sequences) -> Corpus:
        """Encode sentences; missing tokens are refused."""
        return self._checked(reading.encode(sequences, self._index), sequences)

    def _checked(self, corpus: Corpus, sequences: Sequences) -> Corpus:
        """Encoded sentences, if nothing is missing and unknown words are handled."""
        reading.refuse_missing(corpus)
        self._check_unknown(corpus, sequences)
        return corpus

    def _encoded_words(self, X: Any) -> tuple[Corpus, list]:
        """The corpus and its tokens."""
        check_is_fitted(self)
        sequences = self._sequences(X, reset=False)
        return self._encode(sequences), sequences.tokens

    # Weights

    def _complete_counts(self) -> np.ndarray:
        """Counts; unknown words get the mean count of words seen once ("rare")."""
        check_is_fitted(self)
        counts = self.counts_.rule
        if self._rare is not None:
            counts = counts.copy()
            np.add.at(counts, self._layout.unknown_cells, self._rare)
        return counts

    def _mean_weights(self) -> np.ndarray:
        """Posterior-mean weights of rules."""
        return posterior_mean(self._layout, self._complete_counts(), self._prior, self._kept)

    def _predicting_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of `predict` and `predict_proba` and their logs.

        Unknown words that no rule gives weight are derived by all rules for unknown words alike.
        """
        counts = self._complete_counts()
        arguments = (self._layout, counts, self._prior, self._kept)
        weights, logs = self._weights(*arguments), self._log_weights(*arguments)
        cells = self._layout.unknown_cells
        if self.grammar is None and np.isneginf(logs[cells]).all():
            weights, logs = weights.copy(), logs.copy()
            weights[cells], logs[cells] = 1.0, 0.0
        return weights, logs

    # Running the kernels

    def _parsed(self, corpus: Corpus) -> Trees:
        """The heaviest derivations."""
        trees = heaviest_trees(self._predicting_weights()[1], _unseen(self._layout, corpus))
        unexplained = np.flatnonzero(np.diff(trees.starts) == 0)
        instead = "each gets the flat tree below the start symbol"
        _warn_unexplained(self._layout, corpus, unexplained, instead)
        return trees

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        corpus, _ = self._encoded_words(X)
        log_z = expectation(self._mean_weights(), _unseen(self._layout, corpus), with_counts=False)[
            1
        ]
        return log_z, corpus.n_observed

    def _arranged_trees(self, corpus: Corpus, words: list, trees: Trees) -> np.ndarray:
        """Derivations in the form that `predict` gives."""
        if corpus.width is not None:
            return to_charts(self._layout, trees, corpus)
        return object_array(to_nltk(self._layout, trees, sentences_of(corpus, words)))


def _as_lists(layout: Layout, corpus: Corpus, words: list) -> Problem:
    """Sentences to be inferred by lists of rules."""
    lexicon, brackets = lexicon_for(layout, corpus), brackets_of(corpus.n_sequences)
    return Problem(corpus, words, layout, lexicon, brackets, None, None, False)


def _unseen(layout: Layout, corpus: Corpus) -> Problem:
    """Sentences to be inferred by the form that suits them."""
    problem = _as_lists(layout, corpus, [])
    dense, forest, factored = forms_of(layout, problem.lexicon, problem.brackets, once=True)
    return problem._replace(dense=dense, forest=forest, factored=factored)


def words_without_rule(layout: Layout, corpus: Corpus, sentences: Iterable) -> str:
    """What a message says of words in these sentences that no rule derives; empty without any."""
    if len(layout.unknown_cells) or not corpus.unknown:
        return ""
    codes = [corpus.tokens[corpus.starts[i] : corpus.starts[i + 1]] for i in sentences]
    used = np.unique(np.concatenate([*codes, np.empty(0, np.intp)])).tolist()
    n = layout.n_words
    words = [corpus.unknown[code - n] for code in used if code >= n]
    if not words:
        return ""
    return f"; no rule has the words {words[:5]} ({len(words)} in all)"


def _warn_unexplained(
    layout: Layout, corpus: Corpus, unexplained: Sequence | np.ndarray, instead: str
) -> None:
    if len(unexplained):
        warnings.warn(
            f"no tree derives sentences {list(map(int, unexplained[:5]))} ({len(unexplained)} in "
            f"all){words_without_rule(layout, corpus, unexplained)}: {instead}",
            UserWarning,
            stacklevel=4,
        )
