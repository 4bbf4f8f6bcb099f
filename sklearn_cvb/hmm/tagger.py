"""Taggers: hidden Markov models whose states are tags, told by a dictionary and by labels."""

import warnings
from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.containers import as_list, is_store, known_of, shown
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.dictionary import (
    Legal,
    Overruled,
    check_dictionary,
    check_unknown_tags,
    is_weighted,
    look_up,
    tags_in,
    tags_of,
)
from sklearn_cvb.hmm.by_form import (
    apart,
    by_form,
    centred,
    label_tallies,
    only_beginning,
    unknown_rows,
    uses_of,
    with_unknown_words,
)
from sklearn_cvb.hmm.priors import PriorSettings
from sklearn_cvb.hmm.streaming_tags import StreamingTags, are_labelled
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem, expect, lattice_for, overrule, restrict
from sklearn_cvb.slips import ShapeShares, can_be_cleaned, disagreeing, keeping, without
from sklearn_cvb.tag_shares import Row, TagShares, tag_shares, told_by
from sklearn_cvb.validation import Interval, InvalidParameterError, StrOptions, without_lengths
from sklearn_cvb.word_table import WordTable, WordToCheck, words_at_stake

_LABEL_FORM = 'y holds one tag sequence per sentence, such as [["DET", "NOUN"], ["PRON", "VERB"]]'


def read_labels(y: Any, corpus: Corpus, numeric: bool = False) -> list:
    """Flatten tag sequences to one label per token, None where unknown.

    Parameters
    ----------
    y : sequence or array
        One tag sequence per sentence, None for a sentence without labels; for a 2-D X also an
        array of its shape, or one label per row that holds for the whole row.
    corpus : Corpus
    numeric : bool, default=False
        Whether the tokens are numbers: lists of equally many numbers are a 2-D array too.

    Returns
    -------
    list

    Raises
    ------
    TypeError
        If an element of y is a single tag although X is ragged, or no tag at all.
    ValueError
        If lengths differ.
    """
    lengths = np.diff(corpus.starts)
    known = known_of(y, lengths, corpus.width, _LABEL_FORM)
    as_table = numeric and len(set(lengths.tolist())) == 1
    labels: list = []
    for i, (tags, length) in enumerate(zip(known, lengths.tolist(), strict=True)):
        items = as_list(tags)
        if items is not None:
            if corpus.width is not None and len(items) == corpus.width:
                items = items[:length]
            if len(items) != length:
                raise ValueError(
                    f"sentence {i} has {length} tokens but y[{i}] has {len(items)} tags"
                )
            labels.extend(items)
        elif reading.is_missing(tags) or (
            np.isscalar(tags)
            and (corpus.width is not None or (as_table and isinstance(tags, Real)))
        ):
            labels.extend([tags] * length)
        else:
            raise TypeError(f"y[{i}] is the single value {shown(tags)}: {_LABEL_FORM}")
    if not all(map(reading.is_hashable, labels)):
        raise reading.unhashable(labels, corpus.starts, "tag")
    return [None if reading.is_missing(tag) else tag for tag in labels]


class TaggerMixin(StreamingTags):
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
        if is_store(X):
            from sklearn_cvb.hmm.stored.prediction import accuracy_on_store

            return accuracy_on_store(self, X, y)
        read = self._observed.read(self, X)
        labels = self._encode_labels(self._read_labels(y, read.corpus))
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
        dictionary = self._legal.tag_dictionary
        checked = {word for word, entry in dictionary.items() if is_weighted(entry)}
        words = words_at_stake(X, self._legal.row, checked, n)
        return WordTable(
            WordToCheck(word, "", *self._fitted_shares(word), uses, example)
            for word, uses, example in words
        )

    def _fitted_shares(self, word: Any) -> tuple[tuple, tuple]:
        """The tags of a word, and the share of its uses that the fit gives each; equal if new."""
        states = self._legal.row(word)
        shares = np.full(len(states), 1 / len(states))
        if word in self._index:
            row = self.counts_.emission[[self._index[word]]]
            counts = np.asarray(row.todense() if hasattr(row, "todense") else row).ravel()[states]
            shares = counts / counts.sum() if counts.sum() > 0 else shares
        order = np.argsort(-shares, kind="stable")
        return tuple(self.classes_[states[order]].tolist()), tuple(shares[order].tolist())

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
        words = [*self.vocabulary_.tolist(), *corpus.unknown]
        types, places = np.unique(corpus.tokens, return_inverse=True)
        labelled = set(self._labelled.tolist())
        found = [
            "open" if i < 0 else self._source_of(words[i], i in labelled) for i in types.tolist()
        ]
        return reading.arrange(corpus, np.array(found, dtype=object)[places], None)

    def _source_of(self, word: Hashable, is_labelled: bool) -> str:
        entry = self._legal.tag_dictionary.get(word)
        if entry is not None:
            return "dictionary" if len(set(tags_of(entry))) == 1 else "ambiguous"
        if is_labelled:
            return "seen"
        return "form" if self._shares is not None and isinstance(word, str) else "open"

    def _word_states(self, corpus: Corpus, y: Any) -> list[np.ndarray] | None:
        """Set the tags, and return the legal ones of each word (None: all of them)."""
        dictionary = self.tag_dictionary or {}
        check_dictionary(dictionary)
        lookup = look_up(dictionary, self.vocabulary_.tolist(), corpus)
        self.coverage_ = lookup.coverage
        if mismatch := lookup.mismatch():
            warnings.warn(mismatch, UserWarning, stacklevel=7)
        labels = []
        if y is not None and self.supervision == "y":
            labels = self._read_labels(y, corpus)
        self._labels, self._word_shares = labels, None
        unknown_tags = () if self.unknown_tags is None else check_unknown_tags(self.unknown_tags)
        tags = tags_in(dictionary, set(labels), unknown_tags)
        if not tags:
            tags = list(range(self.n_components or 2))
        elif self.n_components is not None and self.n_components != len(tags):
            warnings.warn(
                f"n_components={self.n_components} is ignored: the dictionary and y have "
                f"{len(tags)} tags",
                UserWarning,
                stacklevel=7,
            )
        self.classes_ = reading.as_array(tags)
        self._n_states = len(tags)
        states = {tag: state for state, tag in enumerate(tags)}
        open_tags = (
            range(len(tags)) if self.unknown_tags is None else map(states.__getitem__, unknown_tags)
        )
        dictionary = self._cleaned(dictionary, lookup.words, corpus)
        self._legal = Legal(dictionary, states, np.array(sorted(set(open_tags)), dtype=np.int32))
        self._learn_forms(corpus)
        if not dictionary and self.unknown_tags is None and not self._formed:
            return None
        rows = self._legal.rows(self.vocabulary_.tolist())
        for i, (row, _) in self._formed.items():
            rows[i] = row
        return rows

    def _learn_forms(self, corpus: Corpus) -> None:
        """Set the tag shares of forms, and the words of the vocabulary that have nothing else."""
        self._shares: TagShares | None = None
        self._formed: dict[int, Row] = {}
        self._formed_outside: dict[Hashable, Row] = {}
        self.open_tags_ = self.classes_[self._legal.missing]
        if self.handle_unknown != "form":
            return
        words, labelled = self.vocabulary_.tolist(), {}
        if self._labels:
            labelled = label_tallies(corpus, words, self._encode_labels(self._labels))
        dictionary, states, missing = self._legal
        told = told_by(dictionary, states, labelled, uses_of(corpus, words))
        only = None if self.unknown_tags is None else missing
        self._shares = tag_shares(told, self._n_states, only)
        if self._shares is not None:
            self.open_tags_ = self.classes_[self._shares.states]
            every = [*words, *corpus.unknown]
            begins = only_beginning(corpus, every).tolist()
            formed = by_form(self._shares, every, told.tallies, begins)
            self._formed = {i: row for i, row in formed.items() if i < len(words)}
            self._formed_outside = {every[i]: row for i, row in formed.items() if i >= len(words)}

    def _cleaned(self, dictionary: dict, words: list, corpus: Corpus) -> dict:
        """The dictionary without the tags that `denoise` drops, which this sets."""
        if self._streams:
            words = list(dictionary)
        self._is_clean = self.denoise == "auto" and can_be_cleaned(dictionary, words)
        self._is_told = any(tag is not None for tag in self._labels)
        self.dropped_tags_ = disagreeing(dictionary, words) if self._is_clean else {}
        if not self.dropped_tags_:
            return dictionary
        if self._labels:
            known = [*self.vocabulary_.tolist(), *corpus.unknown]
            told = zip(corpus.tokens.tolist(), self._labels, strict=True)
            labelled = {(known[token], tag) for token, tag in told if token >= 0}
            self.dropped_tags_ = keeping(self.dropped_tags_, labelled)
        return without(dictionary, self.dropped_tags_)

    def _laid_out(self, cells: Cells, corpus: Corpus) -> Cells:
        # One concentration for all emissions can be learned only where all are equal.
        formed = {} if self.beta == "auto" else self._formed
        if self._legal.any_weights and self.beta == "auto":
            raise InvalidParameterError(
                "beta='auto' learns one concentration for all emissions, which a tag_dictionary "
                "with weights makes unequal: give beta a number, or the dictionary no weights"
            )
        if self._is_clean or self._legal.any_weights or formed:
            words, tokens, times = self.vocabulary_.tolist(), corpus.tokens, corpus.times
            shares = self._legal.shares(words)
            if self._is_clean:
                shares = ShapeShares(self._legal.tag_dictionary).rows(words, self._legal)
                if self._labels:
                    # Labels say themselves how often their tokens have a tag.
                    untold = np.array([tag is None for tag in self._labels], bool)
                    tokens, times = tokens[untold], None if times is None else times[untold]
            for i, (_, some) in formed.items():
                shares[i] = some
            cells = expect(cells, shares, tokens, times)
        if formed:
            cells = centred(cells, formed)
        if not self._labels or cells.is_full:
            return cells
        states = self._encode_labels(self._labels)
        told = are_labelled(corpus, states, cells.n_words)
        return cells.with_labels(corpus.tokens[told], states[told])

    def _prior_settings(self) -> PriorSettings:
        # One concentration for all emissions can be learned only where all are equal.
        equal = self._is_clean and self.beta == "auto"
        weight = 0.0 if equal else self.dictionary_weight
        return super()._prior_settings()._replace(dictionary_weight=weight)

    def _usual_start(self, problem: Problem) -> str:
        if self._is_clean and problem.cells.topology is None:
            return self._starts_when_clean[self._is_told]
        return super()._usual_start(problem)

    def _why_one_restart(self, problem: Problem) -> str:
        why = super()._why_one_restart(problem)
        usual = self._usual_start(problem)
        if not why and self.init is None and usual in ("context", "unambiguous"):
            return (
                f"with a cleaned dictionary (see denoise) init=None is {usual!r}, always the same"
            )
        return why

    def _read_labels(self, y: Any, corpus: Corpus) -> list:
        return read_labels(y, corpus, numeric=self.vocabulary_.dtype.kind in "iuf")

    def _training_lattice(self, corpus: Corpus, sequences: Sequences, y: Any) -> Lattice:
        rows = self._legal.rows(corpus.unknown)
        for i, word in enumerate(corpus.unknown):
            if word in self._formed_outside:
                rows[i] = self._formed_outside[word][0]
        lattice = lattice_for(corpus, self._cells, rows)
        labels = self._labels
        del self._labels, self._formed, self._formed_outside
        self._labelled = np.empty(0, dtype=np.int32)
        if not labels:
            return lattice
        states = self._encode_labels(labels)
        self._labelled = np.unique(corpus.tokens[are_labelled(corpus, states, self._cells.n_words)])
        lattice, forbidden = restrict(lattice, states)
        if not len(forbidden):
            return lattice
        overruled = Overruled(forbidden, corpus, sequences.tokens, labels)
        unknown_tags = () if self.unknown_tags is None else self.unknown_tags
        overruled.check(set(tags_in(self.tag_dictionary or {}, (), unknown_tags)))
        warnings.warn(str(overruled), UserWarning, stacklevel=7)
        return overrule(lattice, forbidden, corpus, states, self._cells)

    def _lattice_of(self, corpus: Corpus) -> Lattice:
        return self._lattice_and_unknown(corpus)[0]

    def _lattice_and_unknown(
        self, corpus: Corpus
    ) -> tuple[Lattice, list[tuple[np.ndarray, np.ndarray | None]]]:
        """Allowed states of a corpus; states and shares of its unknown words."""
        rows: list = []
        if self._shares is None:
            rows = [(states, None) for states in self._legal.rows(corpus.unknown)]
        elif corpus.unknown:
            corpus, begins = apart(corpus, list(self._index))
            rows = unknown_rows(self._shares, corpus.unknown, self._legal, begins)
        return lattice_for(corpus, self._cells, [states for states, _ in rows]), rows

    def _with_unknown(
        self, corpus: Corpus, weights: Weights, logs: Weights
    ) -> tuple[Lattice, Weights, Weights]:
        lattice, rows = self._lattice_and_unknown(corpus)
        if all(shares is None for _, shares in rows):
            return lattice, weights, logs
        counts, cells = self._complete_counts(), self._cells
        totals = cells.row_totals(counts.emission) + self._prior.emission_total
        here = counts.emission[cells.unknown] + self._prior.emission[cells.unknown]
        # As many uses as an unknown word is taken to have; any number where that is none.
        uses = here.sum() or 1.0
        scale = np.divide(uses, totals, out=np.zeros_like(totals), where=totals > 0)
        return with_unknown_words(lattice, (weights, logs), rows, scale)

    def _encode_labels(self, labels: list) -> np.ndarray:
        """States of labels: -1 where unknown, -2 for tags that are no class."""
        states = self._legal.states
        return np.fromiter(
            (-1 if tag is None else states.get(tag, -2) for tag in labels), np.int32, len(labels)
        )

    def _arranged_states(self, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        tags = self.classes_[path]
        return reading.arrange(corpus, tags, -1 if tags.dtype.kind in "iu" else None)
