"""Observations of taggers: words with tags by dictionary and labels (see `knowledge`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.chain.paths.lattice import Cells, WordLayout, lattice_for, overrule, restrict
from sklearn_cvb.chain.predictions.prediction import chain_counts
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.chain.tags import word_forms
from sklearn_cvb.chain.tags.knowledge import (
    LegalStates,
    TagKnowledge,
    are_labelled,
    attributes_of,
    encode_labels,
    read_tags,
    settings_of,
)
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.reading.dictionary import OverruledLabels, is_weighted, tags_in

# The shares of a word with one tag.
_ALL = np.ones(1)
# States, and the share of each; None where nothing is known of them.
_MaybeShares = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class TagObservation(SymbolObservation):
    """Words whose states are tags, which a dictionary and labels tell."""

    # Reading

    def read_words(
        self, vocabulary: Vocabulary, corpus: Corpus | None, y: Any, streams: bool
    ) -> WordLayout:
        """Knowledge from a dictionary, a corpus and labels, and the layout of emissions."""
        assert corpus is not None, "no tagger is made of parameters"
        return read_tags(settings_of(self.options, streams), vocabulary, corpus, y)

    def attributes_of(self, words: Any) -> dict[str, Any]:
        """Fitted attributes that show what the tagger knows."""
        return attributes_of(words)

    def training_lattice(
        self, words: Any, tags: Any, cells: Cells, corpus: Corpus, sequences: Sequences, y: Any
    ) -> tuple[Lattice, Any, tuple[str, ...]]:
        """Allowed states of each token, knowledge with the labelled words, and messages."""
        dictionary, knowledge = self.options.dictionary, words
        assert dictionary is not None, "taggers have one"
        rows = knowledge.legal.rows(corpus.unknown)
        for i, word in enumerate(corpus.unknown):
            if word in tags.outside:
                rows[i] = tags.outside[word][0]
        lattice = lattice_for(corpus, cells, rows)
        if not tags.labels:
            return lattice, knowledge, ()
        states = encode_labels(knowledge.legal.states, tags.labels)
        labelled = corpus.tokens[are_labelled(corpus, states, cells.n_words)]
        knowledge = knowledge._replace(labelled=np.union1d(knowledge.labelled, labelled))
        lattice, forbidden = restrict(lattice, states)
        if not len(forbidden):
            return lattice, knowledge, ()
        unknown_tags = () if dictionary.unknown_tags is None else dictionary.unknown_tags
        known = set(tags_in(dictionary.entries or {}, (), unknown_tags))
        overruled = OverruledLabels(forbidden, corpus, sequences.tokens, tags.labels, known)
        lattice = overrule(lattice, forbidden, corpus, states, cells)
        return lattice, knowledge, (str(overruled),)

    # Prediction

    def lattice_of(self, learned: Learned, corpus: Corpus) -> Lattice:
        """The states that the tokens of a new corpus may take."""
        return _lattice_and_unknown(learned.words, learned.layout, corpus)[0]

    def with_unknown(
        self, learned: Learned, corpus: Corpus, weights: ChainWeights, logs: ChainWeights
    ) -> tuple[Lattice, ChainWeights, ChainWeights]:
        """Weights with emissions of unknown words, and the lattice that reads them."""
        lattice, rows = _lattice_and_unknown(learned.words, learned.layout, corpus)
        if not rows:
            return lattice, weights, logs
        counts, prior, cells = chain_counts(learned), learned.prior, learned.layout
        totals = cells.row_totals(counts.emission) + prior.emission_total
        of_unknown = counts.emission[cells.unknown] + prior.emission[cells.unknown]
        # As many uses as an unknown word is taken to have; any number where that is none.
        uses = of_unknown.sum() or 1.0
        scale = np.divide(uses, totals, out=np.zeros_like(totals), where=totals > 0)
        return _with_unknown_words(lattice, (weights, logs), rows, scale)

    def arrange(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """The tags of all tokens, arranged as the corpus was given."""
        tags = words.classes[path]
        return reading.arrange(corpus, tags, -1 if tags.dtype.kind in "iu" else None)


# Unknown words


def _lattice_and_unknown(
    knowledge: TagKnowledge, cells: Cells, corpus: Corpus
) -> tuple[Lattice, list[_MaybeShares]]:
    """Allowed states of a corpus; states and shares of its unknown words, none without shares."""
    if knowledge.shares is None:
        return lattice_for(corpus, cells, knowledge.legal.rows(corpus.unknown)), []
    rows: list[_MaybeShares] = []
    if corpus.unknown:
        corpus, begins = _split_by_beginning(corpus, list(knowledge.index))
        rows = _unknown_rows(knowledge.shares, corpus.unknown, knowledge.legal, begins)
    any_shares = any(shares is not None for _, shares in rows)
    lattice = lattice_for(corpus, cells, [states for states, _ in rows])
    return lattice, rows if any_shares else []


def _split_by_beginning(corpus: Corpus, words: Sequence[Any]) -> tuple[Corpus, list[bool]]:
    """Unknown words as types of their own where they begin a sentence, and which these are."""
    # What is predicted of a sentence does not depend on the others, so here each token counts.
    unknown = np.flatnonzero(corpus.tokens >= len(words))
    begins = np.zeros(len(corpus.tokens), bool)
    begins[word_forms.beginnings(corpus, [*words, *corpus.unknown])] = True
    codes = 2 * (corpus.tokens[unknown].astype(np.int64) - len(words)) + begins[unknown]
    codes, places = np.unique(codes, return_inverse=True)
    tokens = corpus.tokens.copy()
    tokens[unknown] = len(words) + places
    types = [corpus.unknown[i] for i in (codes // 2).tolist()]
    return corpus._replace(tokens=tokens, unknown=types), (codes % 2 > 0).tolist()


def _unknown_rows(
    shares: word_forms.TagShares, words: Sequence[Any], legal: LegalStates, begins: Sequence[bool]
) -> list[_MaybeShares]:
    """States and shares of words outside the vocabulary, by their entry or their form."""
    rows: list[_MaybeShares] = []
    listed = legal.tag_dictionary
    for word, states, is_first in zip(words, legal.rows(words), begins, strict=True):
        if word not in listed:
            is_formed = isinstance(word, str)
            rows.append(shares.row(word, is_first) if is_formed else (states, None))
        elif len(states) == 1:
            rows.append((states, _ALL))
        elif is_weighted(listed[word]):
            rows.append((states, legal.shares([word])[0]))
        elif isinstance(word, str):
            # An entry without counts says half of the shares, the form of the word the rest.
            open_states, theirs = shares.row(word, is_first)
            dense = np.zeros(max(states[-1], open_states[-1]) + 1)
            dense[open_states] = theirs
            equal, formed = np.full(len(states), 1 / len(states)), dense[states]
            mixed = 0.5 * (equal + formed / formed.sum()) if formed.any() else equal
            rows.append((states, mixed))
        else:
            rows.append((states, None))
    return rows


def _with_unknown_words(
    lattice: Lattice,
    weights: tuple[ChainWeights, ChainWeights],
    rows: list[_MaybeShares],
    scale: np.ndarray,
) -> tuple[Lattice, ChainWeights, ChainWeights]:
    """Give unknown words, whose slots are the last, emissions of their own behind all others."""
    # p(word | tag) is p(tag | word) / p(tag) times what is the same for all tags.
    lengths = [len(states) for states, _ in rows]
    slots = np.arange(len(lattice.cell) - sum(lengths), len(lattice.cell))
    known = np.repeat([row is not None for _, row in rows], lengths)
    slots = slots[known]
    emission = np.concatenate([row for _, row in rows if row is not None])
    emission = emission * scale[lattice.state[slots]]
    cell = lattice.cell.copy()
    cell[slots] = len(weights[0].emission) + np.arange(len(slots))
    plain, logs = weights
    with np.errstate(divide="ignore"):
        in_logs = np.log(emission)
    return (
        lattice._replace(cell=cell),
        plain._replace(emission=np.append(plain.emission, emission)),
        logs._replace(emission=np.append(logs.emission, in_logs)),
    )
