"""A first pass over a corpus in parts: what its words tell, so that the whole can be laid out.

Every part is read and encoded once, by its own types. What it tells of words is small; merged over
all parts it becomes a *digest*, a little corpus whose tokens each stand for many. A digest has the
vocabulary, the uses, the labels and the beginnings of sentences of the whole, so that a model lays
out its parameters from it as it would from all sequences. It has no sequences to learn from.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.lattice import Cells, Problem, problem_of
from sklearn_cvb.chain.symbols.observed import words_and_cells
from sklearn_cvb.chain.tags.knowledge import read_labels
from sklearn_cvb.chain.tags.word_forms import only_beginning
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences


class Part(NamedTuple):
    """Some sequences, encoded by their own types, and what is known of them.

    Attributes
    ----------
    types : list
    corpus : Corpus
    y : object
    """

    types: list
    corpus: Corpus
    y: Any

    def by(self, index: Mapping) -> Corpus:
        """The corpus by the codes of a vocabulary; other types follow it."""
        unknown = [word for word in self.types if word not in index]
        others = {word: len(index) + i for i, word in enumerate(unknown)}
        codes = [index[word] if word in index else others[word] for word in self.types]
        # A missing observation has code -1, and takes the last value.
        table = np.array([*codes, -1], np.int32)
        return self.corpus._replace(tokens=table[self.corpus.tokens], unknown=unknown)


class Survey(NamedTuple):
    """What some sequences tell of their words.

    Attributes
    ----------
    uses : dict
        How often each type is seen without a label.
    labelled : dict
        How often each pair of a type and a label is seen.
    inside : set
        Types seen elsewhere than where a sentence begins.
    any_missing : bool
        Whether an observation is missing.
    n_sequences : int
    """

    uses: dict[Hashable, int]
    labelled: dict[tuple[Hashable, Hashable], int]
    inside: set
    any_missing: bool
    n_sequences: int


class Words(list):
    """The words of a part, one for each token; made when asked for, as messages do."""

    def __init__(self, types: list, tokens: np.ndarray) -> None:
        super().__init__()
        self._types, self._tokens = types, tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, place: Any) -> Any:
        code = int(self._tokens[place])
        return None if code < 0 else self._types[code]


def read_part(X: Any, y: Any = None) -> Part:
    """Read a part; messages name sequences by their place in it."""
    sequences = reading.read_ragged(X)
    types = reading.types_of(sequences.tokens, sequences.starts)
    index = {token: i for i, token in enumerate(types)}
    return Part(types, reading.encode(sequences, index), y)


def _labels_of(model: Any, part: Part) -> list:
    """The labels that a tagger learns from, one for each token; empty for none."""
    if part.y is None or not hasattr(model, "tag_dictionary") or model.supervision != "y":
        return []
    return read_labels(part.y, part.corpus)


def survey_of(model: Any, part: Part) -> Survey:
    """What a part tells of its words."""
    types, corpus = part.types, part.corpus
    tokens, labels = corpus.tokens, _labels_of(model, part)
    labelled: dict[tuple[Hashable, Hashable], int] = {}
    is_told = np.zeros(len(tokens), bool)
    for place, label in enumerate(labels):
        if label is not None and tokens[place] >= 0:
            key = types[tokens[place]], label
            labelled[key] = labelled.get(key, 0) + 1
            is_told[place] = True
    seen = np.bincount(tokens[~is_told & (tokens >= 0)], minlength=len(types))
    inside = set()
    if model.handle_unknown == "form":
        first = only_beginning(corpus, types)
        inside = {types[i] for i in np.flatnonzero(~first).tolist()}
    return Survey(
        dict(zip(types, seen.tolist(), strict=True)),
        labelled,
        inside,
        bool((tokens < 0).any()),
        corpus.n_sequences,
    )


def merged(one: Survey, other: Survey) -> Survey:
    """What two parts tell together."""
    uses, labelled = dict(one.uses), dict(one.labelled)
    for word, times in other.uses.items():
        uses[word] = uses.get(word, 0) + times
    for key, times in other.labelled.items():
        labelled[key] = labelled.get(key, 0) + times
    return Survey(
        uses,
        labelled,
        one.inside | other.inside,
        one.any_missing or other.any_missing,
        one.n_sequences + other.n_sequences,
    )


def digest_of(survey: Survey) -> tuple[Sequences, list | None]:
    """A corpus whose tokens stand for those of all parts, and its labels."""
    tokens: list = []
    labels: list = []
    times: list[int] = []

    def add(word: Hashable, label: Hashable | None, seen: int) -> None:
        tokens.append(word)
        labels.append(label)
        times.append(seen)

    found: list[tuple[Hashable, Hashable | None, int]] = []
    found += [(word, None, seen) for word, seen in survey.uses.items() if seen]
    found += [(word, label, seen) for (word, label), seen in survey.labelled.items()]
    begin = [row for row in found if row[0] not in survey.inside]
    inside = [row for row in found if row[0] in survey.inside]
    # The only token of a sequence begins it; the last sequence begins with what stands for none.
    for row in begin:
        add(*row)
    n_alone = len(tokens)
    if survey.any_missing or not found:
        add(None, None, 0)
        n_alone += 1
    if inside:
        add(None, None, 0)
    for row in inside:
        add(*row)
    starts = np.arange(n_alone + 1)
    if inside:
        starts = np.append(starts, len(tokens))
    y = [labels[i : i + 1] for i in range(n_alone)] + ([labels[n_alone:]] if inside else [])
    sequences = Sequences(tokens, starts, None, np.array(times, np.int64))
    return sequences, y if survey.labelled else None


class Layout(NamedTuple):
    """How parts are laid out: what is sent to where they are.

    Attributes
    ----------
    estimator : BaseHMM
        Its parameters alone.
    words, told
        See `sklearn_cvb.chain.symbols.observed.WordsRead`.
    cells : Cells
        Without ends.
    """

    estimator: Any
    words: Any
    told: Any
    cells: Cells


class LaidOut(NamedTuple):
    """What a digest tells, before any sequence is read.

    Attributes
    ----------
    layout : Layout
    corpus : Corpus
        The digest.
    sequences, y
        The digest, as it was read.
    messages : tuple of str
    """

    layout: Layout
    corpus: Corpus
    sequences: Sequences
    y: list | None
    messages: tuple[str, ...]

    @property
    def as_sent(self) -> Layout:
        """The layout without what is known of single tokens of the digest."""
        told = self.layout.told
        return self.layout if told is None else self.layout._replace(told=_told_of(told, []))


def _told_of(told: Any, labels: list) -> Any:
    """What is known of the tokens of another corpus with these labels."""
    return told._replace(labels=labels, formed={})


def lay_out(hmm: Any, survey: Survey, types: list | None = None) -> LaidOut:
    """Lay out the parameters of a model over given words, or over those that its parts hold."""
    hmm._check_parameters()
    sequences, y = digest_of(survey)
    types = reading.types_to_learn(hmm, sequences) if types is None else types
    vocabulary, corpus = reading.encoded_by(hmm, types, sequences)
    words, cells, told, messages = words_and_cells(hmm, vocabulary, corpus, y)
    layout = Layout(parameters_of(hmm), words, told, cells)
    return LaidOut(layout, corpus, sequences, y, messages)


def parameters_of(estimator: Any) -> Any:
    """The same estimator without a fit."""
    return type(estimator)(**estimator.get_params(deep=False))


def finished(laid_out: LaidOut) -> tuple[Any, Cells]:
    """Words with what labels tell, of which parts have told before; the layout."""
    (hmm, words, told, cells), corpus, sequences, y, _ = laid_out
    _, words, _ = hmm._training_lattice(words, told, cells, corpus, sequences, y)
    return words, cells


def problem_of_part(layout: Layout, part: Part) -> tuple[Problem, tuple[str, ...]]:
    """The problem of a part under a layout that was sent here, and what it warns of."""
    hmm, words, told, cells = layout
    corpus = part.by(words.index)
    sequences = Sequences(Words(part.types, part.corpus.tokens), corpus.starts, None)
    reading.checked(hmm, corpus, sequences, len(words.index))
    if told is not None:
        told = _told_of(told, _labels_of(hmm, part))
    lattice, _, messages = hmm._training_lattice(words, told, cells, corpus, sequences, part.y)
    return problem_of(corpus, lattice, cells), messages
