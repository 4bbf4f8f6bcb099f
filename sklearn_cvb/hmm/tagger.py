"""Taggers: hidden Markov models whose states are tags, told by a dictionary and by labels."""

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.containers import is_store
from sklearn_cvb.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.hmm.growing import Growth
from sklearn_cvb.hmm.priors import PriorSettings
from sklearn_cvb.hmm.streaming_tags import grown
from sklearn_cvb.hmm.tags import (
    CorpusTags,
    TagKnowledge,
    TagSettings,
    attributes_of,
    encode_labels,
    labels_of,
    lattice_of,
    read_tags,
    tag_sources,
    tags_of_path,
    training_lattice,
    weight_of_dictionary,
    with_expectations,
    with_unknown,
    words_to_check,
)
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem
from sklearn_cvb.validation import Interval, StrOptions, without_lengths
from sklearn_cvb.word_table import WordTable

if TYPE_CHECKING:
    from sklearn_cvb.hmm.streaming import StreamingHMM as _Model
else:
    _Model = object


class TaggerMixin(_Model):
    """What a dictionary and labels add to a hidden Markov model: tags, and legal ones per token."""

    _knowledge: TagKnowledge
    # What the corpus at hand tells, while it is read.
    _told: CorpusTags

    # With a cleaned dictionary: without labels, with some.
    _starts_when_clean = ("context", "unambiguous")

    _parameter_constraints: dict = {  # noqa: RUF012
        "tag_dictionary": [dict, None],
        "dictionary_weight": [Interval(Real, 0, None, closed="left")],
        "denoise": [StrOptions({"auto", "none"})],
        "unknown_tags": ["array-like", set, None],
        "handle_unknown": [StrOptions({"error", "smooth", "rare", "form"})],
        "supervision": [StrOptions({"y", "none"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    @without_lengths
    def score(self, X: Any, y: Any = None) -> float:
        """Token accuracy with `y`, mean log-likelihood per token without.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : list of tag sequences, default=None
            Tokens whose tag is None are left out.

        Returns
        -------
        float
            The share of labelled tokens whose predicted tag is right, or nats per token.
        """
        if y is None:
            return super().score(X)
        if is_store(X):
            from sklearn_cvb.hmm.stored.prediction import accuracy_on_store

            return accuracy_on_store(self, X, y)
        read = self._observed.read(self, X)
        knowledge = self._knowledge
        labels = encode_labels(knowledge, labels_of(y, read.corpus, knowledge.vocabulary))
        path, _ = read.best_path()
        known = labels != -1
        if not known.any():
            raise ValueError("y holds no known tag to score against")
        return float(np.mean(path[known] == labels[known]))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: the tags, behind the name of the class.

        scikit-learn's picture of a fitted tagger lists them as its features.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of shape (n_components,), object
        """
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}_{tag}" for tag in self.classes_.tolist()], dtype=object)

    def words_to_check(self, X: Any, n: int = 50) -> WordTable:
        """The words whose tags are worth a look: those with the most uses times tags.

        A wrong tag of a frequent word costs more than all else in a dictionary, and what is wrong
        is seen at a glance. Save the table, correct `tags`, name the `usual` tag where you can,
        and fit again with ``{**dictionary, **tag_dictionary_from(table)}``.

        Parameters
        ----------
        X : list, object array or Series of sequences
            Raw sentences, such as those of `fit`.
        n : int, default=50
            How many words.

        Returns
        -------
        WordTable
            Without words whose entry already says how often tags were seen.
        """
        check_is_fitted(self)
        return words_to_check(self._knowledge, self.counts_.emission, X, n)

    def tag_sources(self, X: Any) -> np.ndarray:
        """What tells the tags that each token may take.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of str
            Arranged as by `predict`, None where a row is padded. "dictionary": the word's entry,
            with one tag; "ambiguous": its entry, with several; "seen": it has no entry, but labels
            in `fit`; "form": neither, so that its form suggests tags (see `handle_unknown`);
            "open": nothing, so that it may take any of `open_tags_`. Tags that were dropped
            (`dropped_tags_`) are not counted.

        Examples
        --------
        >>> from sklearn_cvb import EMHMMTagger
        >>> legal = {"the": ["DT"], "duck": ["NN", "VB"], "dog": ["NN"], "swims": ["VB"]}
        >>> tagger = EMHMMTagger(legal).fit([["the", "duck", "swims"], ["the", "dog", "swims"]])
        >>> tagger.tag_sources([["the", "duck", "snores"]])[0].tolist()
        ['dictionary', 'ambiguous', 'form']
        """
        corpus = self._encoded(X)
        return tag_sources(self._knowledge, corpus)

    @property
    def _tag_settings(self) -> TagSettings:
        return TagSettings(
            self.tag_dictionary or {},
            self.dictionary_weight,
            self.denoise,
            self.unknown_tags,
            self.supervision,
            self.n_components,
            self.handle_unknown,
            isinstance(self.beta, str) and self.beta == "auto",
            getattr(self, "total_samples", None),
            self._streams,
        )

    def _know(self, knowledge: TagKnowledge) -> None:
        """Set what is known, and the attributes that tell of it."""
        self._knowledge = knowledge
        self.__dict__.update(attributes_of(knowledge))

    def _word_states(self, corpus: Corpus, y: Any) -> list[np.ndarray] | None:
        """Set the tags, and return the legal ones of each word (None: all of them)."""
        vocabulary = Vocabulary(self.vocabulary_, self._index)
        knowledge, self._told, rows, messages = read_tags(self._tag_settings, vocabulary, corpus, y)
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=7)
        self._know(knowledge)
        self._n_states = len(knowledge.classes)
        return rows

    def _laid_out(self, cells: Cells, corpus: Corpus) -> Cells:
        return with_expectations(cells, self._knowledge, self._told, corpus, self._tag_settings)

    def _training_lattice(self, corpus: Corpus, sequences: Sequences, y: Any) -> Lattice:
        lattice, self._knowledge, messages = training_lattice(
            self._knowledge, self._told, self._cells, corpus, sequences.tokens, self._tag_settings
        )
        del self._told
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=7)
        return lattice

    def _grown(self, new: list, corpus: Corpus, y: Any) -> Growth:
        vocabulary = Vocabulary(self.vocabulary_, self._index)
        growth, knowledge, self._told = grown(
            self._knowledge, vocabulary, corpus, y, self._cells, self._seen, self._tag_settings
        )
        self._know(knowledge)
        return growth

    def _lattice_of(self, corpus: Corpus) -> Lattice:
        return lattice_of(self._knowledge, self._cells, corpus)

    def _with_unknown(
        self, corpus: Corpus, weights: Weights, logs: Weights
    ) -> tuple[Lattice, Weights, Weights]:
        posterior = self._complete_counts(), self._prior
        return with_unknown(self._knowledge, self._cells, corpus, (weights, logs), posterior)

    def _arranged_states(self, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        return tags_of_path(self._knowledge, corpus, path)

    def _prior_settings(self) -> PriorSettings:
        weight = weight_of_dictionary(self._knowledge, self._tag_settings)
        return super()._prior_settings()._replace(dictionary_weight=weight)

    def _usual_start(self, problem: Problem) -> str:
        if self._knowledge.is_clean and problem.cells.topology is None:
            return self._starts_when_clean[self._knowledge.is_told]
        return super()._usual_start(problem)

    def _why_one_restart(self, problem: Problem) -> str:
        why = super()._why_one_restart(problem)
        usual = self._usual_start(problem)
        if not why and self.init is None and usual in ("context", "unambiguous"):
            return (
                f"with a cleaned dictionary (see denoise) init=None is {usual!r}, always the same"
            )
        return why
