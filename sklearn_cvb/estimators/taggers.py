"""Taggers: hidden Markov models whose states are tags, told by a dictionary and by labels."""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.chain.priors import PriorSettings
from sklearn_cvb.chain.symbols.vocabulary_growth import Growth
from sklearn_cvb.chain.tags import knowledge as tags
from sklearn_cvb.chain.tags.knowledge import CorpusTags, TagKnowledge
from sklearn_cvb.chain.tags.word_review import WordTable
from sklearn_cvb.estimators.base import learned_of
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.corpus import Corpus, Vocabulary, encoded_again, is_store
from sklearn_cvb.reading.validation import Interval, StrOptions, without_lengths

if TYPE_CHECKING:
    from sklearn_cvb.estimators.hmm import BaseHMM as _Model
else:
    _Model = object


class TaggerMixin(_Model):
    """What a dictionary and labels add to a hidden Markov model: tags, and legal ones per token."""

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
        learned = learned_of(self)
        if is_store(X):
            from sklearn_cvb.chain.symbols.stored_sequences import accuracy_on_store

            return accuracy_on_store(self, learned, X, y)
        read, knowledge = self._observed.read_again(self, learned, X), learned.words
        labels = tags.encode_labels(knowledge, tags.labels_of(y, read.corpus, knowledge.vocabulary))
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
        classes, prefix = learned_of(self).words.classes, type(self).__name__.lower()
        return np.array([f"{prefix}_{tag}" for tag in classes.tolist()], dtype=object)

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
        learned = learned_of(self)
        return tags.words_to_check(learned.words, learned.counts.emission, X, n)

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
        learned = learned_of(self)
        return tags.tag_sources(learned.words, encoded_again(self, learned, X))

    # What the template of a hidden Markov model asks

    _words_read = tags.words_read
    _attributes_of_words = tags.attributes_of
    _training_lattice = tags.training_lattice
    _lattice_of = tags.lattice_of
    _with_unknown = tags.with_unknown
    _arranged_states = tags.tags_of_path

    def _grown(
        self, learned: Learned, vocabulary: Vocabulary, corpus: Corpus, y: Any
    ) -> tuple[Growth, TagKnowledge, CorpusTags]:
        from sklearn_cvb.chain.tags.online import grown

        return grown(learned, vocabulary, corpus, y, tags.settings_of(self))

    def _prior_settings(self, words: TagKnowledge) -> PriorSettings:
        # One concentration for all emissions can be learned only where all are equal.
        equal = words.is_clean and tags.settings_of(self).beta_is_learned
        weight = 0.0 if equal else self.dictionary_weight
        return super()._prior_settings(words)._replace(dictionary_weight=weight)

    def _usual_start(self, read: Reading) -> str:
        if read.words.is_clean and read.problem.cells.topology is None:
            return self._starts_when_clean[read.words.is_told]
        return super()._usual_start(read)

    def _why_one_restart(self, read: Reading) -> str:
        why, usual = super()._why_one_restart(read), self._usual_start(read)
        if not why and self.init is None and usual in ("context", "unambiguous"):
            return (
                f"with a cleaned dictionary (see denoise) init=None is {usual!r}, always the same"
            )
        return why
