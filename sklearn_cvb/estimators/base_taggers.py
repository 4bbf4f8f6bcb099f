"""What all taggers share: groups of parameters and the observation, which add a dictionary of tags
and labels to a hidden Markov model; accuracy, and what tells the tags of each token.
"""

from dataclasses import field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.chain.options import EstimatorKind
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.chain.tags import knowledge as tags
from sklearn_cvb.chain.tags.observed import TagObservation
from sklearn_cvb.estimators.base_hmm import (
    BaseHMM,
    EmissionFields,
    PointEstimateFields,
    PosteriorFields,
    StateFields,
)
from sklearn_cvb.estimators.collections import checked_weights
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.estimators.methods import without_lengths
from sklearn_cvb.estimators.parameters import OptionalCount, Supervision
from sklearn_cvb.reading.unknown_tokens import NEARLY_NONE
from sklearn_cvb.reading.validation import StrOptions, warn
from sklearn_cvb.reading.word_lists import WORD_LISTS
from sklearn_cvb.settings import Symbols, TagDictionary


class TagFields(StateFields):
    """What is known of tags.

    Parameters
    ----------
    tag_dictionary : dict, path, Series, DataFrame, TagDictionary or None
        Maps a word to its legal tags, or to a dict that says how often each was seen, such as
        ``{"a": {"DT": 980, "LS": 1}}`` (see `tag_dictionary_from`). Words missing from it may take
        any tag, or those that their form suggests (see `Symbols`). Looked up by the word itself,
        also outside the vocabulary. A file, a Series or a table is read as by
        `sklearn_cvb.datasets.read_dictionary`. `TagDictionary` says more: how far it is trusted.
    supervision : {"y", "none"}
        Whether `fit` learns from the tags in `y` where they are known. With "none" only `score`
        uses `y`: choosing `alpha` and `beta` by accuracy must not train on the gold tags.
    n_components : int or None
        Number of tags, 0 to n_components - 1, if there is neither a dictionary nor a label. Else
        the dictionary and the labels say which tags there are.

    Attributes
    ----------
    classes_ : ndarray of shape (n_components,)
        The tags, sorted.
    open_tags_ : ndarray
        The tags of words that neither dictionary nor labels tell of: `unknown_tags`, else with
        ``handle_unknown="form"`` those that at least one in a thousand of the rarer words takes,
        else all. A word known in lower case may take its tags there, too.
    dropped_tags_ : dict
        The tags that `denoise` dropped, by word: look at the frequent ones.
    coverage_ : tuple (tokens, types)
        The shares of the tokens and of the distinct words of the training sequences that have an
        entry in `tag_dictionary`, from 0 to 1.
    """

    tag_dictionary: Annotated[Any, *WORD_LISTS, TagDictionary, None] = field(
        default=None, kw_only=False
    )
    supervision: Supervision = "y"
    n_components: OptionalCount = None


def tagger_kind(kind: EstimatorKind, **more: Any) -> EstimatorKind:
    """What a class of taggers says, beside what that of its algorithm does."""
    usual: dict[str, Any] = {"usual_starts": ("context", "unambiguous"), **more}
    return replace(kind, usual_unknown="form", why_no_weights="tags are given", **usual)


class BaseHMMTagger(TagFields, BaseHMM):
    """What a dictionary and labels add to a hidden Markov model: tags, and legal ones per token.

    Parameters
    ----------
    emission : "categorical" or Symbols
        Words: which are known, and what becomes of unknown ones. "categorical" is `Symbols`, with
        unknown words known by their form (``Symbols(handle_unknown="form")``).
    transitions : {"full", "independent", "constant", "left-right"}, array or Transitions
        Which tag may follow which: any; none depends on the one before; a sentence keeps one tag;
        or it starts with the first and never goes back. Or a boolean table of shape (n_components,
        n_components) whose rows say what may follow. `Transitions` says more: ends of sentences,
        priors of starts and of staying.
    """

    emission: Annotated[Any, StrOptions({"categorical"}), Symbols] = "categorical"

    _of_symbols = TagObservation
    _kind_of_chain = tagger_kind(EstimatorKind())
    _still_changed = "tokens still changed tag"
    _if_unfinished = "; more sweeps rarely make tags better"
    # Numbers, and weights of states that rows share.
    _not_left = (EmissionFields, PosteriorFields, PointEstimateFields)

    @without_lengths
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Token accuracy with `y`, mean log-likelihood per token without.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : list of tag sequences, default=None
            Tokens whose tag is None are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sequence counts.

        Returns
        -------
        float
            The share of labelled tokens whose predicted tag is right, or nats per token.
        """
        if y is None:
            return super().score(X, None, sample_weight)
        return self._accuracy(X, y, sample_weight)

    def _accuracy(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of labelled tokens whose predicted tag is right."""
        learned = learned_of(self)
        weighted, knowledge = self._read_weighted(learned, X), learned.words
        given = tags.labels_of(y, weighted.corpus, knowledge.vocabulary)
        labels = tags.encode_labels(knowledge.legal.states, given)
        path, _ = weighted.best_path()
        known, lost = labels != -1, np.flatnonzero(labels == -2)
        cautions = tags.cautions_of_tags(knowledge, given)
        if not cautions and len(lost) > NEARLY_NONE * known.sum():
            names = sorted({str(given[i]) for i in lost.tolist()})
            cautions = [
                f"{len(lost)} of {known.sum()} tags of y are none of classes_, and count as wrong: "
                f"{', '.join(map(repr, names[:5]))}"
            ]
        warn(cautions)
        if not known.any():
            raise ValueError("y holds no known tag to score against")
        is_right = path[known] == labels[known]
        if sample_weight is None:
            return float(np.mean(is_right))
        weights = checked_weights(sample_weight, weighted.corpus.n_sequences)
        lengths = np.diff(weighted.corpus.starts)
        return float(np.average(is_right, weights=np.repeat(weights, lengths)[known]))

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
            in `fit`; "form": neither, so that its form suggests tags (see `Symbols`);
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
        corpus = self._tagger_observation().encoded(learned, self._checked_input(X))
        return tags.tag_sources(learned.words, corpus)

    def _tagger_observation(self) -> SymbolObservation:
        """The observation of words and tags."""
        return self._of_symbols(self._options(to_fit=False))
