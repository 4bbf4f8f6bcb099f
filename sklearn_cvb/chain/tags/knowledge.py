"""Knowledge of a tagger besides counts: legal tags of words by a dictionary and labels, and shares
of tags by the forms of words.

`read_tags` makes it, with the layout of emissions; `TagObservation` says what follows for a corpus,
and prediction reads it. `sklearn_cvb.streams.tag_growth` makes the next from the last for
`partial_fit`.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.paths.lattice import Cells, TagPrior, WordLayout, cells_for, with_expected
from sklearn_cvb.chain.tags import word_forms
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Vocabulary, as_list, known_of, short_repr
from sklearn_cvb.reading.dictionary import (
    Coverage,
    cautions_of_entries,
    check_dictionary,
    check_unknown_tags,
    in_form_of,
    is_weighted,
    look_up,
    tags_in,
    tags_of,
)
from sklearn_cvb.reading.unknown_tokens import UnknownTokens, caution_of_unknown
from sklearn_cvb.reading.validation import InvalidParameterError

_LABEL_FORM = 'y holds one label for each token, such as [["DET", "NOUN"], ["PRON", "VERB"]]'

# The least share of a word that a tag of its entry can have.
_SMALLEST_SHARE = 1e-6
# What the form of a word is worth beside its uses.
FORM_USES = 5.0
# What a form tells of a tag counts so much less than how often it was seen.
FORM_WEIGHT = 0.5


class TagSettings(NamedTuple):
    """The parameters of a tagger that say how dictionary and labels are read."""

    tag_dictionary: dict[Any, Any]
    denoise: str
    unknown_tags: Collection[Any] | None
    supervision: str
    n_components: int | None
    handle_unknown: str
    beta_is_learned: bool  # one concentration for all emissions
    streams: bool = False  # a first batch of `partial_fit`: not all words are known


class LegalStates(NamedTuple):
    """The states a word may take: a dictionary, the states of words missing from it."""

    tag_dictionary: dict[Any, Any]
    states: dict[Any, Any]
    missing: np.ndarray

    def row(self, word: Hashable) -> np.ndarray:
        """States of one word, ascending."""
        entry = self.tag_dictionary.get(word)
        if entry is None:
            return self.missing
        return np.array(sorted({self.states[tag] for tag in tags_of(entry)}), dtype=np.int32)

    def rows(self, words: Iterable[Hashable]) -> list[np.ndarray]:
        """States of each word; words with the same entry share one array."""
        shared = {}
        rows = []
        for word in words:
            entry = self.tag_dictionary.get(word)
            key = None if entry is None else tags_of(entry)
            if key not in shared:
                shared[key] = self.row(word)
            rows.append(shared[key])
        return rows

    @property
    def any_weights(self) -> bool:
        """Whether any entry has weights."""
        return any(map(is_weighted, self.tag_dictionary.values()))

    def shares(
        self, words: Iterable[Hashable], shapes: word_forms.ShapeShares | None = None
    ) -> list[np.ndarray]:
        """Each word's weights over their sum, in the order of its row; NaN without weights.

        A weight of 0 gets a very small share: learners never come back from none at all. Where
        there are `shapes` entries without weights have `SHAPE_WEIGHT` times the shares by these.
        """
        shares = []
        for word in words:
            entry = self.tag_dictionary.get(word)
            if isinstance(entry, Mapping):
                tags = sorted(entry, key=self.states.__getitem__)
                weights = np.array([entry[tag] for tag in tags], dtype=np.float64)
                shares.append(np.maximum(weights / weights.sum(), _SMALLEST_SHARE))
            elif entry is not None and shapes is not None:
                tags = sorted(set(tags_of(entry)), key=self.states.__getitem__)
                shares.append(word_forms.SHAPE_WEIGHT * shapes.shares_of(word, tags))
            else:
                shares.append(np.full(len(self.row(word)), np.nan))
        return shares

    def counted(self, tallies: dict[Any, Any], shapes: word_forms.ShapeShares) -> "LegalStates":
        """The same, with weights for words of which labels are among the tags of their entry.

        How often labels have each of these, and beside them `SHAPE_WEIGHT` uses by shape.
        """
        entries = dict(self.tag_dictionary)
        for word in tallies.keys() & entries.keys():
            tags = tags_of(entries[word])
            seen = [tallies[word][self.states[tag]] for tag in tags]
            if any(seen) and not is_weighted(entries[word]):
                uses = seen + word_forms.SHAPE_WEIGHT * shapes.shares_of(word, tags)
                entries[word] = dict(zip(tags, uses.tolist(), strict=True))
        return self._replace(tag_dictionary=entries)


class WordShares(NamedTuple):
    """What dictionary and forms say of the words of the vocabulary, kept from batch to batch."""

    # (n_cells,) Of the states of each word; NaN where nothing says them, and behind the vocabulary.
    shares: np.ndarray
    is_formed: np.ndarray  # (n_words,) Words known by their form alone
    is_listed: np.ndarray  # (n_words,) Words with an entry in the dictionary
    # (n_words,) How often each was seen without a label that makes the shares idle.
    uses: np.ndarray
    shapes: word_forms.ShapeShares | None  # where the dictionary is cleaned


class TagKnowledge(NamedTuple):
    """Legal tags of words, and what a fit has read from dictionary, labels and forms."""

    vocabulary: Vocabulary
    classes: np.ndarray  # (n_states,) The tags
    legal: LegalStates  # of words with an entry in the cleaned dictionary, and of all others
    # Of open tags by the forms of words; None where forms tell nothing.
    shares: word_forms.TagShares | None
    dropped: dict[Any, Any]  # the tags that were dropped from the dictionary, by word
    coverage: Coverage
    labelled: np.ndarray  # the words of the vocabulary that had a label, ascending
    is_clean: bool  # whether the dictionary was cleaned
    has_labels: bool  # whether there were labels
    # None after a fit or a first batch, from which it can be found again.
    word_shares: WordShares | None = None

    @property
    def index(self) -> dict[Hashable, int]:  # type: ignore[override]
        """The number of each word of the vocabulary."""
        return self.vocabulary.index

    @property
    def types(self) -> np.ndarray:
        """The words of the vocabulary."""
        return self.vocabulary.types

    @property
    def listed(self) -> dict[Any, Any]:
        """The words of the dictionary, of which some may be outside of the vocabulary."""
        return self.legal.tag_dictionary


class CorpusTags(NamedTuple):
    """Labels of one corpus, and its words that are known by form alone: none of it is kept."""

    labels: list[Any]  # one for each token, None where unknown; empty for none at all
    # States and shares of the words of the vocabulary that are known by their form alone.
    formed: dict[int, word_forms.StateRow]
    outside: dict[Hashable, word_forms.StateRow]  # the same of other words


# Reading


def settings_of(options: ChainOptions, streams: bool = False) -> TagSettings:
    """The parameters of a tagger that say how dictionary and labels are read."""
    dictionary = options.dictionary
    assert dictionary is not None, "taggers have one"
    return TagSettings(
        dictionary.entries,
        dictionary.denoise,
        dictionary.unknown_tags,
        options.supervision,
        options.n_components,
        options.words.handle_unknown,
        options.beta_prior is not None,
        streams,
    )


def read_labels(y: Any, corpus: Corpus, numeric: bool = False) -> list[Any]:
    """One label for each token, None where unknown; of a table, y may hold one for each row."""
    lengths = np.diff(corpus.starts)
    known = known_of(y, lengths, corpus.width, _LABEL_FORM)
    as_table = numeric and len(set(lengths.tolist())) == 1
    labels: list[Any] = []
    for i, (tags, length) in enumerate(zip(known, lengths.tolist(), strict=True)):
        items = as_list(tags)
        if items is not None:
            if corpus.width is not None and len(items) == corpus.width:
                items = items[:length]
            if len(items) != length:
                raise ValueError(
                    f"sequence {i} has {length} tokens but y[{i}] has {len(items)} labels"
                )
            labels.extend(items)
        elif reading.is_missing(tags) or (
            np.isscalar(tags)
            and (corpus.width is not None or (as_table and isinstance(tags, Real)))
        ):
            labels.extend([tags] * length)
        else:
            raise TypeError(f"y[{i}] is the single value {short_repr(tags)}: {_LABEL_FORM}")
    if not all(map(reading.is_hashable, labels)):
        raise reading.unhashable_error(labels, corpus.starts, "tag")
    return [None if reading.is_missing(tag) else tag for tag in labels]


def labels_of(y: Any, corpus: Corpus, vocabulary: Vocabulary) -> list[Any]:
    """The labels of a corpus, whose tokens may be numbers."""
    return read_labels(y, corpus, numeric=vocabulary.types.dtype.kind in "iuf")


def read_tags(settings: TagSettings, vocabulary: Vocabulary, corpus: Corpus, y: Any) -> WordLayout:
    """Knowledge from a dictionary, a corpus and its labels, and the layout of emissions."""
    dictionary, declared = settings.tag_dictionary, settings.unknown_tags
    types = vocabulary.types.tolist()
    every = [*types, *corpus.unknown]
    uses = corpus.uses(len(every))
    check_dictionary(dictionary)
    dictionary, forms = in_form_of(dictionary, every)
    lookup = look_up(dictionary, every, uses)
    coverage, listed = lookup.coverage, tags_in(dictionary)
    odd = (forms, lookup.mismatch(), *cautions_of_entries(dictionary, listed))
    labels: list[Any] = []
    if y is not None and settings.supervision == "y":
        labels = labels_of(y, corpus, vocabulary)
    unknown_tags = [] if declared is None else check_unknown_tags(declared)
    tags, n = list({*listed, *labels, *unknown_tags} - {None}), settings.n_components
    ignored = ""
    if tags and n not in (None, len(tags)):
        ignored = f"n_components={n} is ignored: the dictionary and y have {len(tags)} tags"
    # Numbers of states where there is no tag.
    tags = reading.sorted_types(tags) if tags else list(range(n or 2))
    states = dict(zip(tags, range(len(tags)), strict=True))
    open_states = set(map(states.__getitem__, tags if declared is None else unknown_tags))
    missing = np.array(sorted(open_states), dtype=np.int32)
    words = list(dictionary) if settings.streams else lookup.words
    is_clean = settings.denoise == "auto" and word_forms.can_be_cleaned(dictionary, words)
    # Labels tell what forms in other case can but suggest.
    has_labels = labels.count(None) < len(labels)
    drops = is_clean and not has_labels
    dropped = word_forms.disagreeing_tags(dictionary, words) if drops else {}
    cleaned = word_forms.drop_tags(dictionary, dropped) if dropped else dictionary
    shapes = word_forms.ShapeShares(cleaned) if is_clean else None
    tallies = _label_tallies(corpus, every, labels, states) if has_labels else {}
    shares: word_forms.TagShares | None = None
    by_code: dict[int, word_forms.StateRow] = {}
    if settings.handle_unknown == "form":
        use_counts = dict(zip(types, uses.tolist(), strict=False))
        known = word_forms.known_tags(cleaned, states, tallies, use_counts)
        only = None if declared is None else missing
        shares = word_forms.tag_shares(known, len(states), only)
        if shares is not None:
            begins = word_forms.only_beginning(corpus, every).tolist()
            by_code = word_forms.by_form(shares, every, known.tallies, begins)
    legal = LegalStates(cleaned, states, missing)
    # One concentration for all emissions can be learned only where all are equal.
    if shapes is not None and not settings.beta_is_learned:
        legal = legal.counted(tallies, shapes)
    classes, none = reading.as_array(tags), np.empty(0, dtype=np.int32)
    knowledge = TagKnowledge(
        vocabulary, classes, legal, shares, dropped, coverage, none, is_clean, has_labels
    )
    of_corpus = CorpusTags(
        labels,
        {code: row for code, row in by_code.items() if code < len(types)},
        {every[code]: row for code, row in by_code.items() if code >= len(types)},
    )
    cells = _emission_layout(knowledge, of_corpus, corpus, settings, shapes)
    return WordLayout(knowledge, cells, of_corpus, tuple(filter(None, (*odd, ignored))))


def _label_tallies(
    corpus: Corpus, words: Sequence[Any], labels: list[Any], states: Mapping[Any, Any]
) -> dict[Any, Any]:
    """How often each state is the label of each word."""
    of_labels = encode_labels(states, labels)
    known = (of_labels >= 0) & (corpus.tokens >= 0)
    pairs = np.stack([corpus.tokens[known], of_labels[known]], axis=1)
    tallies: dict[Any, Any] = {}
    pairs, places = np.unique(pairs, axis=0, return_inverse=True)
    times = None if corpus.times is None else corpus.times[known]
    for (word, state), times_seen in zip(pairs, np.bincount(places.ravel(), times), strict=True):
        tallies.setdefault(words[word], Counter())[int(state)] = int(times_seen)
    return tallies


def encode_labels(states: Mapping[Any, Any], labels: list[Any]) -> np.ndarray:
    """States of labels: -1 where unknown, -2 for tags that have none."""
    codes = {None: -1} | {tag: states.get(tag, -2) for tag in set(labels) - {None}}
    return np.fromiter(map(codes.__getitem__, labels), np.int32, len(labels))


def cautions_of_tags(knowledge: TagKnowledge, labels: Iterable[Any]) -> list[str]:
    """What is to be said of labels, None where unknown, that hardly ever are a tagger's tags."""
    known, uses = knowledge.legal.states, Counter(label for label in labels if label is not None)
    new = {tag: n for tag, n in uses.items() if tag not in known}
    unknown = UnknownTokens(list(new), np.array(list(new.values()), np.int64), uses.total())
    return caution_of_unknown(unknown, known, "tags of y", fewest=1)


def are_labelled(corpus: Corpus, states: np.ndarray, n_words: int) -> np.ndarray:
    """Which tokens have a label (`states`: -1 where unknown) and a word of the vocabulary."""
    return (states >= 0) & (corpus.tokens >= 0) & (corpus.tokens < n_words)


def attributes_of(knowledge: TagKnowledge) -> dict[str, Any]:
    """Fitted attributes that show this knowledge."""
    return {
        "vocabulary_": knowledge.types,
        "classes_": knowledge.classes,
        "coverage_": knowledge.coverage,
        "dropped_tags_": knowledge.dropped,
        # Of words of which nothing is told.
        "open_tags_": knowledge.classes[
            knowledge.legal.missing if knowledge.shares is None else knowledge.shares.states
        ],
    }


# What follows for a layout and for the corpus of a fit


def _emission_layout(
    knowledge: TagKnowledge,
    tags: CorpusTags,
    corpus: Corpus,
    settings: TagSettings,
    shapes: word_forms.ShapeShares | None,
) -> Cells:
    """The layout of emissions, and what weights, shapes, forms and labels expect of each."""
    legal, types = knowledge.legal, knowledge.vocabulary.types.tolist()
    # One concentration for all emissions can be learned only where all are equal.
    formed = {} if settings.beta_is_learned else tags.formed
    any_weights = legal.any_weights
    if any_weights and settings.beta_is_learned:
        raise InvalidParameterError(
            "beta='auto' learns one concentration for all emissions, which a tag_dictionary "
            "with weights makes unequal: give beta a number, or the dictionary no weights "
            "(tag_dictionary_from(..., weights=False))"
        )
    rows, with_unknown = None, settings.handle_unknown != "error"
    if settings.tag_dictionary or settings.unknown_tags is not None or tags.formed:
        rows = legal.rows(types)
        for i, (states, _) in tags.formed.items():
            rows[i] = states
    cells = cells_for(rows, len(knowledge.classes), len(types), with_unknown)
    if shapes is not None or any_weights or formed:
        tokens, times = corpus.tokens, corpus.times
        shares = legal.shares(types, shapes)
        if shapes is not None and tags.labels:
            # Labels say themselves how often their tokens have a tag.
            no_label = np.array([tag is None for tag in tags.labels], bool)
            tokens, times = tokens[no_label], None if times is None else times[no_label]
        for i, (_, row) in formed.items():
            shares[i] = row
        cells = with_expected(cells, shares, tokens, times)
    if formed:
        # The prior is drawn to the shares of words known by their form alone. A form is worth half
        # of the word's uses and a few more: rare words need it most.
        weighted = cells.tag_prior.expected_counts
        assert weighted is not None, "forms add to what is expected"
        expected_counts, scale = weighted.copy(), np.ones(len(cells.state))
        for word, (_, row) in formed.items():
            here = slice(cells.indptr[word], cells.indptr[word + 1])
            scale[here] = len(row) * row
            expected_counts[here] = FORM_WEIGHT * (expected_counts[here] + FORM_USES * row)
        cells = cells._replace(tag_prior=TagPrior(expected_counts, scale))
    if not tags.labels or cells.is_full:
        return cells
    of_labels = encode_labels(legal.states, tags.labels)
    is_labelled = are_labelled(corpus, of_labels, cells.n_words)
    return cells.with_labels(corpus.tokens[is_labelled], of_labels[is_labelled])


# Questions


def tag_sources(knowledge: TagKnowledge, corpus: Corpus) -> np.ndarray:
    """What tells the tags of each token, arranged as the corpus was given."""
    words = [*knowledge.types.tolist(), *corpus.unknown]
    types, places = np.unique(corpus.tokens, return_inverse=True)
    labelled, sources = set(knowledge.labelled.tolist()), []
    for i in types.tolist():
        entry = None if i < 0 else knowledge.legal.tag_dictionary.get(words[i])
        if entry is not None:
            sources.append("dictionary" if len(set(tags_of(entry))) == 1 else "ambiguous")
        elif i in labelled:
            sources.append("seen")
        else:
            is_formed = i >= 0 and knowledge.shares is not None and isinstance(words[i], str)
            sources.append("form" if is_formed else "open")
    return reading.arrange(corpus, np.array(sources, dtype=object)[places], None)
