"""What a tagger knows of words grows with each batch: their legal tags, labels, and word forms."""

from typing import Any

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.paths.lattice import Cells, TagPrior
from sklearn_cvb.chain.tags.knowledge import (
    FORM_USES,
    FORM_WEIGHT,
    CorpusTags,
    TagKnowledge,
    WordShares,
    are_labelled,
    encode_labels,
    labels_of,
)
from sklearn_cvb.chain.tags.word_forms import ShapeShares, StateRow, by_form, only_beginning
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, Vocabulary, place_text
from sklearn_cvb.reading.dictionary import Coverage
from sklearn_cvb.streams.vocabulary_growth import LayoutGrowth, with_labels, with_words


def grow_tags(
    asked: ChainOptions,
    learned: Learned,
    batch: tuple[Vocabulary, Corpus, Any],
    total_samples: int | None,
) -> tuple[LayoutGrowth, TagKnowledge, CorpusTags]:
    """The layout and what is known with the new words of a batch, which end the vocabulary."""
    (vocabulary, corpus, y), knowledge = batch, learned.words
    cells, seen, known = learned.layout, learned.seen_so_far, knowledge.word_shares
    assert seen is not None, "a fit or a batch came before"
    if known is None:
        known = _shares_of_fit(knowledge, cells, seen.uses)
    labels: list[Any] = []
    if y is not None and asked.supervision == "y":
        labels = labels_of(y, corpus, vocabulary)
    states = encode_labels(knowledge.legal.states, labels)
    other = np.flatnonzero(states == -2).tolist()
    if other:
        rows = [(labels[t], place_text(t, corpus.starts)) for t in other[:5]]
        raise ValueError(
            f"partial_fit keeps to the tags of the first call, but {len(other)} labels are "
            f"others: {rows}; give all tags in tag_dictionary, TagDictionary(unknown_tags=) or the "
            "first call"
        )
    words = vocabulary.types.tolist()
    n_old = len(knowledge.types)
    formed = _forms_of_new_words(knowledge, [*words, *corpus.unknown], n_old, corpus, states)
    formed = {i: row for i, row in formed.items() if i < len(words) - n_old}
    added, some = _rows_of(knowledge, words[n_old:], formed)
    growth = with_words(cells, added)
    if labels and not growth.cells.is_full:
        told = are_labelled(corpus, states, growth.cells.n_words)
        growth = with_labels(growth, corpus.tokens[told], states[told])
    tokens = corpus.tokens
    if knowledge.is_clean and labels:
        # Labels say themselves how often their tokens have a tag.
        tokens = tokens[[tag is None for tag in labels]]
    known = _with_batch(known, growth, some, tokens)
    uses, listed = corpus.uses(len(words))[: len(words)], known.is_listed
    uses[: len(seen.uses)] += seen.uses
    types = listed[uses > 0]
    coverage = Coverage(
        float(uses[listed].sum() / max(1, uses.sum())), float(types.mean()) if len(types) else 0.0
    )
    knowledge = knowledge._replace(vocabulary=vocabulary, word_shares=known, coverage=coverage)
    scale = 1.0
    if total_samples is not None:
        scale = total_samples / (seen.n_sequences + corpus.n_sequences)
    growth = growth._replace(cells=_with_expected_counts(growth.cells, known, scale))
    return growth, knowledge, CorpusTags(labels, {}, {})


def _with_expected_counts(cells: Cells, known: WordShares, scale: float) -> Cells:
    """Cells that know how often words are expected, `scale` tokens for each that was seen."""
    if np.isnan(known.shares).all():
        return cells
    lengths = np.diff(cells.indptr)[: cells.n_words]
    rest = np.zeros(len(cells.state) - lengths.sum())
    uses = np.append(np.repeat(scale * known.uses, lengths), rest)
    formed = np.append(np.repeat(known.is_formed, lengths), rest > 0)
    shares, expected = known.shares, known.shares * uses
    expected[formed] = FORM_WEIGHT * (expected[formed] + FORM_USES * shares[formed])
    if not formed.any():
        return cells._replace(tag_prior=TagPrior(expected))
    # A cell that only a label needs has no share.
    told = formed & ~np.isnan(shares)
    row = np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))
    sizes = np.bincount(row[told], minlength=cells.n_rows)
    return cells._replace(tag_prior=TagPrior(expected, np.where(told, sizes[row] * shares, 1.0)))


def _forms_of_new_words(
    knowledge: TagKnowledge, words: list[Any], n_old: int, corpus: Corpus, states: np.ndarray
) -> dict[int, StateRow]:
    """States and shares of the words behind the old ones that are known by their form, by place."""
    if knowledge.shares is None:
        return {}
    new = words[n_old:]
    told = {word for word in new if word in knowledge.legal.tag_dictionary}
    if len(states):
        told |= {words[i] for i in corpus.tokens[(states >= 0) & (corpus.tokens >= 0)].tolist()}
    begins = only_beginning(corpus, words)[n_old:].tolist()
    return by_form(knowledge.shares, new, told, begins)


def _rows_of(
    knowledge: TagKnowledge, new: list[Any], formed: dict[int, StateRow]
) -> tuple[list[np.ndarray], WordShares]:
    """States of new words, and what is kept of them."""
    legal, shapes = knowledge.legal, None
    if knowledge.word_shares is not None:
        shapes = knowledge.word_shares.shapes
    elif knowledge.is_clean:
        shapes = ShapeShares(legal.tag_dictionary)
    rows = legal.rows(new)
    shares = legal.shares(new, shapes)
    for i, row in formed.items():
        rows[i], shares[i] = row
    is_formed = np.zeros(len(new), bool)
    is_formed[np.array([*formed], np.int64)] = True
    listed = np.array([word in legal.tag_dictionary for word in new], bool)
    flat = np.concatenate([np.empty(0), *shares])
    return rows, WordShares(flat, is_formed, listed, np.zeros(len(new)), shapes)


def _with_batch(
    known: WordShares, growth: LayoutGrowth, new: WordShares, tokens: np.ndarray
) -> WordShares:
    """What is kept of all words, with the new ones and the uses in a batch."""
    cells = growth.cells
    shares = growth.carried(known.shares, np.nan)
    others = np.ones(len(shares), bool)
    others[growth.places] = False
    if cells.by_label is not None:
        others[cells.by_label] = False
    shares[others] = new.shares
    here = np.bincount(tokens[(tokens >= 0) & (tokens < cells.n_words)], minlength=cells.n_words)
    return WordShares(
        shares,
        np.append(known.is_formed, new.is_formed),
        np.append(known.is_listed, new.is_listed),
        np.append(known.uses, new.uses) + here,
        new.shapes,
    )


def _shares_of_fit(knowledge: TagKnowledge, cells: Cells, seen: np.ndarray) -> WordShares:
    """What a fit, or a first batch, has left of its words."""
    legal, words = knowledge.legal, knowledge.types.tolist()
    lengths = np.diff(cells.indptr)[: len(words)]
    word = np.repeat(np.arange(len(words)), lengths)
    own = np.ones(len(word), bool)
    if cells.by_label is not None:
        own[cells.by_label[cells.by_label < len(own)]] = False
    listed = np.array([w in legal.tag_dictionary for w in words], bool)
    formed = np.zeros(len(words), bool)
    expected_counts, prior_scale = cells.tag_prior
    if prior_scale is not None:
        formed = ~listed & np.array([isinstance(w, str) for w in words], bool)
        formed[knowledge.labelled] = False
    shapes = ShapeShares(legal.tag_dictionary) if knowledge.is_clean else None
    some = [w for w, is_there in zip(words, listed.tolist(), strict=True) if is_there]
    found = legal.shares(some, shapes)
    shares = np.full(len(cells.state), np.nan)
    shares[: len(word)][own & listed[word]] = np.concatenate([np.empty(0), *found])
    uses = seen.astype(np.float64)
    if expected_counts is None or prior_scale is None:
        prior_scale = np.ones(len(cells.state))
    drawn = own & formed[word]
    size = np.bincount(word[own], minlength=len(words))
    shares[: len(word)][drawn] = (prior_scale[: len(word)] / size[word])[drawn]
    if expected_counts is not None:
        here = shares[: len(word)]
        # Rows tell how often their words were used without a label.
        with np.errstate(divide="ignore", invalid="ignore"):
            told = expected_counts[: len(word)] / here
        told = np.where(formed[word], told / FORM_WEIGHT - FORM_USES, told)
        is_told = own & (here > 0)
        uses[word[is_told]] = np.rint(told[is_told])
    return WordShares(shares, formed, listed, uses, shapes)
