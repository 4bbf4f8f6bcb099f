"""What `partial_fit` adds to taggers: entries of the dictionary for words that come later."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus, place
from sklearn_cvb.dictionary import Coverage
from sklearn_cvb.hmm.by_form import FORM_USES, FORM_WEIGHT, by_form, only_beginning
from sklearn_cvb.hmm.growing import Growth, with_labels, with_words
from sklearn_cvb.lattice import Cells, Problem
from sklearn_cvb.slips import ShapeShares
from sklearn_cvb.streaming import Running

if TYPE_CHECKING:
    from sklearn_cvb.hmm.streaming import StreamingHMM as _Model
    from sklearn_cvb.tag_shares import Row
else:
    _Model = object


class WordShares(NamedTuple):
    """What dictionary and forms say of the words of the vocabulary, kept from batch to batch.

    Attributes
    ----------
    shares : ndarray of shape (n_cells,)
        Of the states of each word; NaN where nothing says them, and behind the vocabulary.
    is_formed : ndarray of shape (n_words,), bool
        Words known by their form alone.
    is_listed : ndarray of shape (n_words,), bool
        Words with an entry in the dictionary.
    uses : ndarray of shape (n_words,)
        How often each was seen without a label that makes the shares idle.
    shapes : ShapeShares or None
        Where the dictionary is cleaned.
    """

    shares: np.ndarray
    is_formed: np.ndarray
    is_listed: np.ndarray
    uses: np.ndarray
    shapes: ShapeShares | None


def are_labelled(corpus: Corpus, states: np.ndarray, n_words: int) -> np.ndarray:
    """Which tokens have a label (`states`: -1 where unknown) and a word of the vocabulary."""
    return (states >= 0) & (corpus.tokens >= 0) & (corpus.tokens < n_words)


def expecting(cells: Cells, known: WordShares, scale: float) -> Cells:
    """Cells that know how often dictionary and forms expect each of them.

    Parameters
    ----------
    cells : Cells
    known : WordShares
    scale : float
        How many tokens stand for each that was seen.
    """
    if np.isnan(known.shares).all():
        return cells
    lengths = np.diff(cells.indptr)[: cells.n_words]
    rest = np.zeros(len(cells.state) - lengths.sum())
    uses = np.append(np.repeat(scale * known.uses, lengths), rest)
    formed = np.append(np.repeat(known.is_formed, lengths), rest > 0)
    shares, expected = known.shares, known.shares * uses
    expected[formed] = FORM_WEIGHT * (expected[formed] + FORM_USES * shares[formed])
    if not formed.any():
        return cells._replace(expected=expected)
    # A cell that only a label needs has no share.
    told = formed & ~np.isnan(shares)
    row = np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))
    sizes = np.bincount(row[told], minlength=cells.n_rows)
    centre = np.where(told, sizes[row] * shares, 1.0)
    return cells._replace(expected=expected, centre=centre)


class StreamingTags(_Model):
    """Taggers that learn from batches: entries, labels and forms of words that come later."""

    # What is kept of words; None after a fit, where it can be found again.
    _word_shares: WordShares | None = None
    _labelled: np.ndarray
    _formed: "dict[int, Row]"
    _formed_outside: "dict[int, Row]"

    def _following_problem(self, X: Any, y: Any) -> tuple[Problem, Running]:
        labelled = self._labelled
        found = super()._following_problem(X, y)
        self._labelled = np.union1d(labelled, self._labelled)
        return found

    def _grown(self, new: list, corpus: Corpus, y: Any) -> Growth:
        """The layout with new words, in the states that they may take, and with labels."""
        known = self._shares_of_fit() if self._word_shares is None else self._word_shares
        labels = [] if y is None or self.supervision != "y" else self._read_labels(y, corpus)
        states = self._encode_labels(labels)
        self._refuse_other_tags(labels, states, corpus)
        rows, some = self._rows_of(new, self._forms_of(new, corpus, states))
        growth = with_words(self._cells, rows)
        if labels and not growth.cells.is_full:
            told = are_labelled(corpus, states, growth.cells.n_words)
            growth = with_labels(growth, corpus.tokens[told], states[told])
        self._labels = labels
        self._word_shares = self._known_with(known, growth, some, corpus)
        self.coverage_ = self._coverage_with(corpus)
        scale = 1.0
        if self.total_samples is not None:
            scale = self.total_samples / (self._seen.n_sequences + corpus.n_sequences)
        return growth._replace(cells=expecting(growth.cells, self._word_shares, scale))

    def _refuse_other_tags(self, labels: list, states: np.ndarray, corpus: Corpus) -> None:
        other = np.flatnonzero(states == -2).tolist()
        if other:
            rows = [(labels[t], place(t, corpus.starts)) for t in other[:5]]
            raise ValueError(
                f"partial_fit keeps to the tags of the first call, but {len(other)} labels are "
                f"others: {rows}; give all tags in tag_dictionary, unknown_tags or the first call"
            )

    def _forms_of(self, new: list, corpus: Corpus, states: np.ndarray) -> dict[int, "Row"]:
        """States and shares of the new words that are known by their form, by their place."""
        self._formed, self._formed_outside = {}, {}
        if self._shares is None:
            return {}
        n_words = len(self._index)
        every = [*self.vocabulary_.tolist(), *corpus.unknown]
        first, words = n_words - len(new), every[n_words - len(new) :]
        told = {word for word in words if word in self._legal.tag_dictionary}
        if len(states):
            told |= {every[i] for i in corpus.tokens[(states >= 0) & (corpus.tokens >= 0)].tolist()}
        begins = only_beginning(corpus, every)[first:].tolist()
        formed = by_form(self._shares, words, told, begins)
        self._formed_outside = {i - len(new): row for i, row in formed.items() if i >= len(new)}
        return {i: row for i, row in formed.items() if i < len(new)}

    def _rows_of(self, new: list, formed: dict[int, "Row"]) -> tuple[list[np.ndarray], WordShares]:
        """States of new words, and what is kept of them."""
        rows, legal, shapes = self._legal.rows(new), self._legal, None
        if self._word_shares is not None:
            shapes = self._word_shares.shapes
        elif self._is_clean:
            shapes = ShapeShares(legal.tag_dictionary)
        shares = legal.shares(new) if shapes is None else shapes.rows(new, legal)
        for i, row in formed.items():
            rows[i], shares[i] = row
        places = np.array([*formed], np.int64)
        listed = np.array([word in legal.tag_dictionary for word in new], bool)
        is_formed = np.zeros(len(new), bool)
        is_formed[places] = True
        flat = np.concatenate([np.empty(0), *shares])
        return rows, WordShares(flat, is_formed, listed, np.zeros(len(new)), shapes)

    def _known_with(
        self, known: WordShares, growth: Growth, new: WordShares, corpus: Corpus
    ) -> WordShares:
        """What is kept of all words, with the new ones and the uses in a batch."""
        cells = growth.cells
        shares = growth.carried(known.shares, np.nan)
        others = np.ones(len(shares), bool)
        others[growth.places] = False
        if cells.by_label is not None:
            others[cells.by_label] = False
        shares[others] = new.shares
        tokens = corpus.tokens
        if self._is_clean and self._labels:
            # Labels say themselves how often their tokens have a tag.
            tokens = tokens[[tag is None for tag in self._labels]]
        here = np.bincount(
            tokens[(tokens >= 0) & (tokens < cells.n_words)], minlength=cells.n_words
        )
        return WordShares(
            shares,
            np.append(known.is_formed, new.is_formed),
            np.append(known.is_listed, new.is_listed),
            np.append(known.uses, new.uses) + here,
            new.shapes,
        )

    def _coverage_with(self, corpus: Corpus) -> Coverage:
        """The shares of tokens and words of all batches that have an entry."""
        assert self._word_shares is not None, "a batch was read"
        listed = self._word_shares.is_listed
        known = corpus.tokens[(corpus.tokens >= 0) & (corpus.tokens < len(listed))]
        uses = np.bincount(known, minlength=len(listed))
        uses[: len(self._seen.uses)] += self._seen.uses
        types = listed[uses > 0]
        return Coverage(
            float(uses[listed].sum() / max(1, uses.sum())),
            float(types.mean()) if len(types) else 0.0,
        )

    def _shares_of_fit(self) -> WordShares:
        """What a fit, or a first batch, has left of its words."""
        cells, legal = self._cells, self._legal
        words = self.vocabulary_[: cells.n_words].tolist()
        lengths = np.diff(cells.indptr)[: len(words)]
        word = np.repeat(np.arange(len(words)), lengths)
        own = np.ones(len(word), bool)
        if cells.by_label is not None:
            own[cells.by_label[cells.by_label < len(own)]] = False
        listed = np.array([w in legal.tag_dictionary for w in words], bool)
        formed = np.zeros(len(words), bool)
        if cells.centre is not None:
            formed = ~listed & np.array([isinstance(w, str) for w in words], bool)
            formed[self._labelled] = False
        shapes = ShapeShares(legal.tag_dictionary) if self._is_clean else None
        some = [w for w, is_there in zip(words, listed.tolist(), strict=True) if is_there]
        found = legal.shares(some) if shapes is None else shapes.rows(some, legal)
        shares = np.full(len(cells.state), np.nan)
        shares[: len(word)][own & listed[word]] = np.concatenate([np.empty(0), *found])
        uses = self._seen.uses.astype(np.float64)
        if cells.expected is None or cells.centre is None:
            centre = np.ones(len(cells.state))
        else:
            centre = cells.centre
        drawn = own & formed[word]
        size = np.bincount(word[own], minlength=len(words))
        shares[: len(word)][drawn] = (centre[: len(word)] / size[word])[drawn]
        if cells.expected is not None:
            here = shares[: len(word)]
            # Rows tell how often their words were used without a label.
            with np.errstate(divide="ignore", invalid="ignore"):
                told = cells.expected[: len(word)] / here
            told = np.where(formed[word], told / FORM_WEIGHT - FORM_USES, told)
            is_told = own & (here > 0)
            uses[word[is_told]] = np.rint(told[is_told])
        return WordShares(shares, formed, listed, uses, shapes)
