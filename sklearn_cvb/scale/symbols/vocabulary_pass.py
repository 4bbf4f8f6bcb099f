"""The first pass over a corpus in parts: word counts, from which the parameters are laid out.

Every part is read and encoded once, by its own types. Its word counts are small; merged over all
parts they become a *type corpus*, whose tokens each stand for many. It has the vocabulary, the
uses, the labels and the beginnings of sentences of the whole, so that a model lays out its
parameters from it as it would from all sequences. It has no sequences to learn from.
"""

from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.paths.lattice import Cells, Problem, partial_problem
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.chain.tags.knowledge import read_labels
from sklearn_cvb.chain.tags.word_forms import only_beginning
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences
from sklearn_cvb.scale.parts import LocalShards, part_indices, tree_sum


class SymbolPart(NamedTuple):
    """Some sequences, encoded by their own types, and their labels."""

    types: list[Any]
    corpus: Corpus
    y: Any

    @property
    def content(self) -> tuple[Any, ...]:
        """Its data, by which it is recognised."""
        return self.types, self.corpus.tokens, self.corpus.starts

    def encode(self, index: Mapping[Any, Any]) -> Corpus:
        """The corpus by the codes of a vocabulary; other types follow it."""
        unknown = [word for word in self.types if word not in index]
        others = {word: len(index) + i for i, word in enumerate(unknown)}
        codes = [index[word] if word in index else others[word] for word in self.types]
        # A missing observation has code -1, and takes the last value.
        table = np.array([*codes, -1], np.int32)
        return self.corpus._replace(tokens=table[self.corpus.tokens], unknown=unknown)


class WordCounts(NamedTuple):
    """Counts of the words of some sequences, with and without labels."""

    uses: dict[Hashable, int]  # how often each type is seen without a label
    # How often each pair of a type and a label is; None as the type of missing observations.
    labelled: dict[tuple[Hashable, Hashable], int]
    not_initial: set[Any]  # types seen elsewhere than where a sentence begins
    any_missing: bool
    n_sequences: int


class LazyWords(list[Any]):
    """The words of a part, one for each token, looked up when a message asks for one."""

    def __init__(self, types: list[Any], tokens: np.ndarray) -> None:
        super().__init__()
        self._types, self._tokens = types, tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, place: Any) -> Any:
        code = int(self._tokens[place])
        return None if code < 0 else self._types[code]


def read_part(X: Any, y: Any = None) -> SymbolPart:
    """Read a part; messages name sequences by their place in it."""
    sequences = reading.read_ragged(X)
    types = reading.types_of(sequences.tokens, sequences.starts)
    index = {token: i for i, token in enumerate(types)}
    return SymbolPart(types, reading.encode(sequences, index), y)


def _labels_of(options: ChainOptions, part: SymbolPart) -> list[Any]:
    """The labels that a tagger learns from, one for each token; empty for none."""
    if part.y is None or options.dictionary is None or options.supervision != "y":
        return []
    return read_labels(part.y, part.corpus)


def word_counts_of(observation: SymbolObservation, part: SymbolPart) -> WordCounts:
    """Counts of the words of a part, as a model's settings need them."""
    options = observation.options
    return counts_of_words(part, _labels_of(options, part), options.words.handle_unknown == "form")


def counts_of_words(part: SymbolPart, labels: list[Any], by_form: bool) -> WordCounts:
    """Counts of the words of a part, some of which have labels; `by_form`: beginnings, too."""
    types, corpus = part.types, part.corpus
    tokens = corpus.tokens
    labelled: dict[tuple[Hashable, Hashable], int] = {}
    is_labelled = np.zeros(len(tokens), bool)
    for place, label in enumerate(labels):
        if label is not None:
            key = None if tokens[place] < 0 else types[tokens[place]], label
            labelled[key] = labelled.get(key, 0) + 1
            is_labelled[place] = True
    seen = np.bincount(tokens[~is_labelled & (tokens >= 0)], minlength=len(types))
    inside = set()
    if by_form:
        first = only_beginning(corpus, types)
        inside = {types[i] for i in np.flatnonzero(~first).tolist()}
    return WordCounts(
        dict(zip(types, seen.tolist(), strict=True)),
        labelled,
        inside,
        bool((tokens < 0).any()),
        corpus.n_sequences,
    )


def merge_surveys(one: WordCounts, other: WordCounts) -> WordCounts:
    """Counts of two parts together."""
    return WordCounts(
        add_by_key(one.uses, other.uses),
        add_by_key(one.labelled, other.labelled),
        one.not_initial | other.not_initial,
        one.any_missing or other.any_missing,
        one.n_sequences + other.n_sequences,
    )


def add_by_key(one: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    """Two tables added up; what only one of them has counts as 0 in the other."""
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


def type_corpus_of(words: WordCounts) -> tuple[Sequences, list[Any] | None]:
    """A corpus whose tokens stand for those of all parts, and its labels."""
    rows_of_types: list[tuple[Hashable, Hashable | None, int]] = []
    rows_of_types += [(word, None, seen) for word, seen in words.uses.items() if seen]
    rows_of_types += [(word, label, seen) for (word, label), seen in words.labelled.items()]
    nothing = (None, None, 0)
    # The only token of a sequence begins it; the last sequence begins with what stands for none.
    rows = [row for row in rows_of_types if row[0] not in words.not_initial]
    if words.any_missing or not rows_of_types:
        rows.append(nothing)
    ends = list(range(1, len(rows) + 1))
    inside = [row for row in rows_of_types if row[0] in words.not_initial]
    if inside:
        rows += [nothing, *inside]
        ends.append(len(rows))
    starts = np.array([0, *ends])
    tokens, labels, times = map(list, zip(*rows, strict=True))
    y = [labels[begin:end] for begin, end in pairwise(starts.tolist())]
    sequences = Sequences(tokens, starts, None, np.array(times, np.int64))
    return sequences, y if words.labelled else None


class SymbolPartLayout(NamedTuple):
    """The layout of parts, which is sent to where these are."""

    observation: SymbolObservation
    words: Any  # as `told`, see `sklearn_cvb.chain.symbols.observed.WordLayout`
    told: Any
    cells: Cells  # without ends


class SymbolPlan(NamedTuple):
    """A layout made from the type corpus, before any sequence is read."""

    layout: SymbolPartLayout
    corpus: Corpus  # the type corpus, encoded
    sequences: Sequences  # and as it was read, as `y`
    y: list[Any] | None
    messages: tuple[str, ...]

    @property
    def part_layout(self) -> SymbolPartLayout:
        """The layout without labels of single tokens of the type corpus."""
        told = self.layout.told
        if told is None:
            return self.layout
        return self.layout._replace(told=told._replace(labels=[], formed={}))


def lay_out(
    observation: SymbolObservation, counts: WordCounts, types: list[Any] | None = None
) -> SymbolPlan:
    """Lay out the parameters of a model over given words, or over those that its parts hold."""
    observation.check()
    known = observation.options.words
    sequences, y = type_corpus_of(counts)
    if types is None:
        types = reading.types_to_learn(known, sequences)
    else:
        reading.refuse_no_types(known, types)
    vocabulary, corpus = reading.encoded_by(known, types, sequences)
    words, cells, told, messages = observation.word_layout(vocabulary, corpus, y)
    layout = SymbolPartLayout(observation, words, told, cells)
    return SymbolPlan(layout, corpus, sequences, y, messages)


def words_and_cells(plan: SymbolPlan) -> tuple[Any, Cells]:
    """Words with the labels of all parts, and the layout of cells."""
    (observation, words, told, cells), corpus, sequences, y, _ = plan
    _, words, _ = observation.training_lattice(words, told, cells, corpus, sequences, y)
    return words, cells


def problem_of_part(layout: SymbolPartLayout, part: SymbolPart) -> tuple[Problem, tuple[str, ...]]:
    """The problem of a part under a layout that was sent here, and what it warns of."""
    observation, words, told, cells = layout
    corpus = part.encode(words.index)
    sequences = Sequences(LazyWords(part.types, part.corpus.tokens), corpus.starts, None)
    reading.checked(observation.options.words, corpus, sequences, len(words.index))
    if told is not None:
        told = told._replace(labels=_labels_of(observation.options, part), formed={})
    lattice, _, messages = observation.training_lattice(
        words, told, cells, corpus, sequences, part.y
    )
    return partial_problem(corpus, lattice, cells), messages


# A corpus in parts, whatever is learned from it


def read_local_parts(module: str, asked: Any, parts: Sequence[tuple[Any, Any]]) -> Reading:
    """Parts ``(X, y)`` of a corpus, each a shard of this process.

    The module is that which lays out models of a family, and learns them, in shards.
    """
    family: Any = import_module(module)
    parts_read = [family.read_part(X, y) for X, y in parts]
    surveys = [family.survey_of(asked, part) for part in parts_read]
    plan = family.lay_out(asked, tree_sum(surveys, family.merge_surveys))
    indices = part_indices([part.corpus.n_sequences for part in parts_read])
    shards = [
        family.shard_of(plan.part_layout, *given) for given in zip(parts_read, indices, strict=True)
    ]
    return family.read_in_shards(plan, [shard.summary() for shard in shards], LocalShards(shards))
