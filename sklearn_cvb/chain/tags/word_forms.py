"""Forms of words: their shapes, endings and beginnings in any script, and the shares
(probabilities) of tags that these tell, from tries of word forms.

The shares of tags by shape and ending (Brants 2000, section 2.3) are learned from the rarer words
whose tags are known, one vote per word type: frequent words have tags and forms of their own, and
say little about words that are seldom seen. How a word begins counts half, beside what its shape
tells: the shares are p(tag | ending) times the root of p(tag | beginning) / p(tag | shape). So
prefixes tell tags apart in languages that have them, and cost little elsewhere.

A dictionary that lists tags without saying how often each was seen lists wrong tags beside
the right ones. Two things distinguish them without any tagged text. The forms of a word in other
case mostly have its tags, but seldom its wrong ones. And a tag of words that look otherwise, such
as proper nouns and list markers for words in small letters, is less likely.

Tokens that are no strings have no form.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.dictionary import is_weighted, tags_of
from sklearn_cvb.reading.unknown_tokens import without_capital

_HYPHENS = frozenset("-\u2010\u2011\u2012\u2013")
# No tag of a word gets less than this beside 1 for a tag all of whose words have its shape.
_LEAST = 0.01
# What a shape tells of a tag counts so much less than how often it was seen.
SHAPE_WEIGHT = 0.15
# Words with more uses than this have no vote.
_MOST_USES = 10
# A tag is open if at least this share of the voting words take it.
_LEAST_OPEN = 1e-3
# What the shares of a shorter ending count for at a longer one, in words.
_STRENGTH = 4.0
_LONGEST_ENDING, _LONGEST_BEGINNING = 4, 3
# The power of what a beginning tells beside an ending: both tell much of the same.
_OF_BEGINNINGS = 0.5
# What a word with a capital takes from its lower case: if that is known or the word only begins
# sentences, and if both is so.
_ONE_SIGN, _BOTH_SIGNS = 0.5, 0.95

# This many tokens without a letter may come before the word that begins a sentence.
_MOST_MARKS = 2

# The states that a word may take, ascending, and the share of each.
StateRow = tuple[np.ndarray, np.ndarray]
# Nodes of a trie by symbol, each with those below it.
Branches = dict[str, tuple[int, "Branches"]]


# Shapes and endings


class Shape(NamedTuple):
    """The shape of a word."""

    # How its letters are written; "Capitalised" also for a single capital letter, "caseless" in
    # scripts without capitals, "none" without letters.
    letters: str
    digit: bool  # whether it has a digit
    hyphen: bool  # whether it has a hyphen between other characters


def shape_of(token: Hashable) -> Shape | None:
    """The shape of a token; None if it is no string.

    Examples
    --------
    >>> from sklearn_cvb.chain.tags.word_forms import shape_of
    >>> shape_of("Forty-niner")
    Shape(letters='Capitalised', digit=False, hyphen=True)
    """
    if not isinstance(token, str):
        return None
    if token.isalpha():
        # Most words have nothing but letters of these two kinds, and need no look at each.
        if token.islower():
            return _LOWER
        if token[0].isupper() and token[1:].islower():
            return _CAPITALISED
    digit = any(map(str.isdigit, token))
    return Shape(_case_of(token), digit, not _HYPHENS.isdisjoint(token[1:-1]))


_LOWER = Shape("lower", False, False)
_CAPITALISED = Shape("Capitalised", False, False)


def _case_of(word: str) -> str:
    letters = "".join(filter(str.isalpha, word))
    if not letters:
        return "none"
    if letters.islower():
        return "lower"
    upper = [letter.isupper() or letter.istitle() for letter in letters]
    if not any(upper):
        return "caseless"
    if upper[0] and not any(upper[1:]):
        return "Capitalised"
    return "UPPER" if all(upper) else "mixed"


# Slips in a plain tag dictionary


def can_be_cleaned(tag_dictionary: Mapping[Any, Any], words: Collection[Hashable]) -> bool:
    """Whether a dictionary is plain for the most part, of a text that is not all in one case.

    It is of strings in both cases, or in a script without any.
    """
    n_weighted = sum(map(is_weighted, tag_dictionary.values()))
    text = [word for word in words if isinstance(word, str)]
    if 2 * n_weighted >= len(tag_dictionary) or len(text) < len(words):
        return False
    has_capitals, has_small = (
        any(word != other(word) for word in text) for other in (str.lower, str.upper)
    )
    if has_capitals or has_small:
        return has_capitals and has_small
    return any(letter.isalpha() for word in text for letter in word)


def disagreeing_tags(
    tag_dictionary: Mapping[Any, Any], words: Iterable[str]
) -> dict[str, tuple[Any, ...]]:
    """The tags to drop, by word: those that its forms in other case lack.

    Of each word the lower, Capitalised and UPPER form count, one after the other, if they are in
    the text and in the dictionary, and share a tag with what is left of it.

    Examples
    --------
    >>> from sklearn_cvb.chain.tags.word_forms import disagreeing_tags
    >>> disagreeing_tags({"of": ["IN", "RP"], "Of": ["IN", "NNP"]}, ["of", "Of"])
    {'Of': ('NNP',), 'of': ('RP',)}
    """
    present = {word for word in words if word in tag_dictionary}
    dropped = {}
    for word in sorted(present):
        listed = agreed = tags_of(tag_dictionary[word])
        if len(listed) == 1 or is_weighted(tag_dictionary[word]):
            continue
        for form in (word.lower(), word.capitalize(), word.upper()):
            if form != word and form in present:
                theirs = tags_of(tag_dictionary[form])
                agreed = tuple(tag for tag in agreed if tag in theirs) or agreed
        if len(agreed) < len(listed):
            dropped[word] = tuple(tag for tag in listed if tag not in agreed)
    return dropped


def drop_tags(tag_dictionary: Mapping[Any, Any], dropped: Mapping[Any, Any]) -> dict[Any, Any]:
    """The dictionary without the tags to drop."""
    return dict(tag_dictionary) | {
        word: tuple(tag for tag in tags_of(tag_dictionary[word]) if tag not in tags)
        for word, tags in dropped.items()
    }


class ShapeShares:
    """How well a word's tags go with its shape."""

    def __init__(self, tag_dictionary: Mapping[Any, Any]) -> None:
        self._by_shape: dict[Any, dict[Any, Any]] = defaultdict(partial(defaultdict, float))
        self._totals: dict[Any, float] = defaultdict(float)
        kinds = Counter((shape_of(word), tags_of(entry)) for word, entry in tag_dictionary.items())
        for (shape, tags), number in kinds.items():
            for tag in tags:
                self._by_shape[shape][tag] += number / len(tags)
                self._totals[tag] += number / len(tags)

    def shares_of(self, word: Hashable, tags: Sequence[Any]) -> np.ndarray:
        """The shares of a word's tags, which sum to 1."""
        of_shape: dict[Any, Any] = self._by_shape.get(shape_of(word), {})
        weights = [_LEAST + of_shape.get(tag, 0.0) / self._totals.get(tag, 1.0) for tag in tags]
        return np.array(weights) / sum(weights)


# Where sentences begin


def beginnings(corpus: Corpus, words: Sequence[Any]) -> np.ndarray:
    """Places of the tokens that begin sentences: the first with a letter, behind a few marks."""
    places, last = corpus.starts[:-1], corpus.starts[1:] - 1
    for _ in range(_MOST_MARKS):
        types, which = np.unique(corpus.tokens[places], return_inverse=True)
        first_words = [words[code] if code >= 0 else None for code in types.tolist()]
        are_marks = [isinstance(w, str) and not any(map(str.isalpha, w)) for w in first_words]
        places = np.minimum(places + np.array(are_marks)[which], last)
    return places


def only_beginning(corpus: Corpus, words: Sequence[Any]) -> np.ndarray:
    """Which of the types (see `beginnings`) are seen, but only where a sentence begins."""
    begins = np.zeros(len(corpus.tokens), bool)
    begins[beginnings(corpus, words)] = True
    result = np.zeros(len(words) + 1, bool)
    result[corpus.tokens[begins]] = True
    # The last value is of missing observations.
    result[corpus.tokens[~begins]] = False
    return result[:-1]


# The shares of open tags


class KnownTags(NamedTuple):
    """Tags of words by a dictionary and labels, and the words that say something of others."""

    tallies: dict[Any, Any]  # of a word: how often each state was seen, or once each; all above 0
    voting: list[Any]  # rarer strings that may not take every tag: theirs tell those of other words


class FormTable(NamedTuple):
    """A value for each open tag at each form of words, the nodes of a trie.

    All words, then words of one shape, then those of them with one last letter (or first one), and
    so on. Two shapes differ, too, if one is of words that are also known in lower case.
    """

    # Node of a shape, or of a letter below it, and the same for the letters next to that one:
    # ``branches[shape] = node, {letter: (node, {...})}``.
    branches: Branches
    table: np.ndarray  # (n_nodes, n_open) What each node tells of the tags

    def row(self, symbols: list[str]) -> np.ndarray:
        """Values of the longest known form of a word (see `_symbols`)."""
        node, below = 0, self.branches
        for symbol in symbols:
            branch = below.get(symbol)
            if branch is None:
                break
            node, below = branch
        return self.table[node]


class TagShares(NamedTuple):
    """The shares of open tags by the forms of words."""

    endings: FormTable  # shares at each ending, drawn to those of the shorter one
    beginnings: FormTable  # what these are multiplied by
    states: np.ndarray  # (n_open,) States of the open tags, ascending
    places: dict[Any, Any]  # where each of these is in it
    lower: dict[
        Any, Any
    ]  # what is told of the words that are written in lower case (see `KnownTags`)

    def row(self, word: str, begins: bool = False) -> StateRow:
        """States and shares of a word that nothing else is known of.

        A word known in lower case takes half of its shares from there. One that has its capital
        perhaps for no other reason than that it begins a sentence takes half of what it would have
        without, and nearly all if that is known.
        """
        lower = word.lower()
        if lower == word:
            return self.states, self._by_form(word, word, False)
        tally = self.lower.get(lower)
        shares = self._by_form(word, lower, tally is not None)
        begins = begins and without_capital(word) is not None
        if tally is not None:
            return self._with_tally(shares, tally, _BOTH_SIGNS if begins else _ONE_SIGN)
        if begins:
            other = self._by_form(lower, lower, False)
            shares = (1 - _ONE_SIGN) * shares + _ONE_SIGN * other
        return self.states, shares

    def _by_form(self, word: str, lower: str, is_known: bool) -> np.ndarray:
        """Shares of a word by its ending and its beginning, of those of its shape."""
        last, first = (_symbols(word, lower, is_known, ends) for ends in (True, False))
        shares = self.endings.row(last) * self.beginnings.row(first)
        return shares / shares.sum()

    def _with_tally(self, plain: np.ndarray, tally: Mapping[Any, Any], weight: float) -> StateRow:
        """Shares of the open tags, and of those that are known with a part of `weight`."""
        part = weight / sum(tally.values())
        states = self.states
        if not tally.keys() <= self.places.keys():
            states = np.union1d(states, np.array([*tally], dtype=np.int32))
            plain, narrow = np.zeros(len(states)), plain
            plain[np.searchsorted(states, self.states)] = narrow
        places = self.places
        if len(states) > len(places):
            places = {state: i for i, state in enumerate(states.tolist())}
        shares = (1 - weight) * plain
        for state, n_seen in tally.items():
            shares[places[state]] += part * n_seen
        return states, shares


def known_tags(
    dictionary: Mapping[Any, Any],
    states: Mapping[Any, Any],
    labels: Mapping[Any, Any],
    uses: Mapping[Any, Any],
) -> KnownTags:
    """What is known of words: by entries, and by how often each state was the label of a word.

    `uses` is how often words occur in the text; rarer ones may be left out.
    """
    tallies, voting = {}, []
    # Most words share their tally with others.
    shared: dict[Any, Any] = {}
    for word in dict.fromkeys(chain(dictionary, labels)):
        entry = dictionary.get(word, {})
        total = 0
        if is_weighted(entry):
            tally = {states[tag]: n_seen for tag, n_seen in entry.items() if n_seen > 0}
            total = sum(tally.values())
        else:
            tally = dict.fromkeys(map(states.__getitem__, tags_of(entry)), 1)
        if word in labels:
            tally = Counter(tally) + labels[word]
        tallies[word] = shared.setdefault(tuple(tally.items()), tally)
        says_nothing = len(tally) == len(states) > 1 and not total
        rare = max(total, uses.get(word, 0)) <= _MOST_USES
        if rare and not says_nothing and isinstance(word, str):
            voting.append(word)
    return KnownTags(tallies, voting)


def tag_shares(tags: KnownTags, n_states: int, legal: np.ndarray | None = None) -> TagShares | None:
    """Learn shares from what is known of words; None if no word has a vote.

    Words of which nothing is known may take the states `legal`; None for those of open tags, which
    at least one in a thousand of the voting words takes.
    """
    if not tags.voting:
        return None
    # Shares of the states of each word, (n_words, n_states).
    tallies = [tags.tallies[word] for word in tags.voting]
    row = np.repeat(np.arange(len(tallies)), list(map(len, tallies)))
    column = np.array([state for tally in tallies for state in tally], dtype=np.int64)
    times = np.array([n for tally in tallies for n in tally.values()], dtype=np.float64)
    share = times / np.bincount(row, times, len(tallies))[row]
    votes = csr_array((share, (row, column)), shape=(len(tallies), n_states))
    states = legal
    if states is None:
        types = np.bincount(votes.indices, minlength=n_states)
        states = np.flatnonzero((types > 0) & (types >= _LEAST_OPEN * len(tags.voting)))
    states = np.asarray(states, dtype=np.int32)
    votes = votes[:, states]
    has_vote = votes.sum(axis=1) > 0
    if not has_vote.any():
        return None
    lower, allowed = {}, None if legal is None else set(legal.tolist())
    for word, tally in tags.tallies.items():
        if isinstance(word, str) and word == word.lower():
            if allowed is not None:
                tally = {state: n for state, n in tally.items() if state in allowed}
            if tally:
                lower[word] = tally
    places = dict(zip(states.tolist(), range(len(states)), strict=True))
    voting = [tags.voting[i] for i in np.flatnonzero(has_vote).tolist()]
    last, first = (_Trie.of(voting, lower, ends) for ends in (True, False))
    endings = FormTable(last.branches, _smoothed(last, votes[has_vote]))
    beginnings = FormTable(first.branches, _beside_shapes(first, _smoothed(first, votes[has_vote])))
    return TagShares(endings, beginnings, states, places, lower)


class _Trie(NamedTuple):
    """Forms of words: nodes by their parent and symbol; a parent comes before its children.

    Word i belongs to the nodes ``nodes[starts[i] : starts[i + 1]]``.
    """

    branches: Branches
    parents: np.ndarray
    depths: np.ndarray
    nodes: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: list[str], lower: Mapping[Any, Any], ends: bool) -> "_Trie":
        """The trie of how some words end, or begin."""
        branches: Branches = {}
        parents, depths, nodes, starts = [0], [0], [], [0]
        for word in words:
            node, below = 0, branches
            nodes.append(node)
            written = word.lower()
            symbols = _symbols(word, written, written != word and written in lower, ends)
            for depth, symbol in enumerate(symbols):
                if symbol not in below:
                    below[symbol] = len(parents), {}
                    parents.append(node)
                    depths.append(depth + 1)
                node, below = below[symbol]
                nodes.append(node)
            starts.append(len(nodes))
        return cls(branches, *map(np.array, (parents, depths, nodes, starts)))


def _smoothed(trie: _Trie, votes: csr_array) -> np.ndarray:
    """Shares at every node: counts there, and this many words in the shares of the node above."""
    shape = len(trie.starts) - 1, len(trie.depths)
    belongs = csr_array((np.ones(len(trie.nodes)), trie.nodes, trie.starts), shape)
    table = (belongs.T @ votes).toarray()
    totals = table.sum(axis=1, keepdims=True) + _STRENGTH
    table[0] = (table[0] + _STRENGTH / table.shape[1]) / totals[0]
    for depth in range(1, int(trie.depths.max()) + 1):
        at_depth = trie.depths == depth
        above = table[trie.parents[at_depth]]
        table[at_depth] = (table[at_depth] + _STRENGTH * above) / totals[at_depth]
    return table


def _beside_shapes(trie: _Trie, shares: np.ndarray) -> np.ndarray:
    """The power of how much likelier each tag is at a node than at the shape above it."""
    # Of all words, and of a shape, nothing is told beside it.
    shape = np.arange(len(trie.depths))
    for depth in range(2, int(trie.depths.max()) + 1):
        at_depth = trie.depths == depth
        shape[at_depth] = shape[trie.parents[at_depth]]
    return (shares / shares[shape]) ** _OF_BEGINNINGS


def _symbols(word: str, lower: str, is_known: bool, ends: bool) -> list[str]:
    """The steps from the root of a trie to the form of a word: its last letters or first ones.

    A word is no beginning of its own.
    """
    shape = shape_of(word)
    # Strings all through, so that a fitted tagger can be written as text (skops).
    first = f"{shape.letters} {shape.digit:d} {shape.hyphen:d} {is_known:d}" if shape else ""
    if ends:
        return [first, *lower[: -_LONGEST_ENDING - 1 : -1]]
    return [first, *lower[: min(_LONGEST_BEGINNING, len(lower) - 1)]]


# The words of a corpus that are known by their form alone


def by_form(
    shares: TagShares, words: Sequence[Any], known: Container[Any], begins: Sequence[bool]
) -> dict[int, StateRow]:
    """States and shares of the words, by their place, of which nothing else is known."""
    return {
        i: shares.row(word, begins[i])
        for i, word in enumerate(words)
        if isinstance(word, str) and word not in known
    }
