"""How likely each tag is for a word by its form alone: shape and ending (Brants 2000, section 2.3).

Learned from the rarer words whose tags are known, one vote a word type: frequent words have tags
and forms of their own, and say little about words that are seldom seen.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.dictionary import is_weighted, tags_of
from sklearn_cvb.word_forms import shape_of

# Words with more uses than this have no vote.
_MOST_USES = 10
# A tag is open if at least this share of the voting words take it.
_LEAST_OPEN = 1e-3
# What the shares of a shorter ending count for at a longer one, in words.
_STRENGTH = 4.0
_LONGEST_ENDING = 4

# The states that a word may take, ascending, and the share of each.
Row = tuple[np.ndarray, np.ndarray]


class Told(NamedTuple):
    """What a dictionary and labels tell of words.

    Attributes
    ----------
    tallies : dict
        Maps a word to a dict of its states, which says how often each was seen; the states of an
        entry without counts are seen once each. All numbers are positive.
    voting : list
        The words whose tags say something about those of other words: strings that are not used
        often, and may not take every tag.
    """

    tallies: dict
    voting: list


class TagShares(NamedTuple):
    """The shares of open tags by the forms of words.

    Forms are the nodes of a trie: all words, then words of one shape, then those of them with one
    last letter, and so on up to four. Two shapes differ, too, if one is of words that are also
    known in lower case.

    Attributes
    ----------
    children : dict
        Node below a node for a shape or a letter: ``children[node, symbol]``.
    table : ndarray of shape (n_nodes, n_open)
        Shares at each node, drawn to those of the node above.
    states : ndarray of shape (n_open,), int32
        States of the open tags, ascending.
    lower : dict
        What is told of the words that are written in lower case (see `Told`).
    """

    children: dict
    table: np.ndarray
    states: np.ndarray
    lower: dict

    def rows(self, words: Iterable[str]) -> list[Row]:
        """States and shares of words that nothing else is known of.

        A word known in lower case takes half of its shares from there.
        """
        rows = []
        for word in words:
            written = _written_lower(word, self.lower)
            node = 0
            for symbol in _symbols(word, written is not None):
                below = self.children.get((node, symbol))
                if below is None:
                    break
                node = below
            row = self.states, self.table[node]
            rows.append(row if written is None else _mean(row, _row(self.lower[written])))
        return rows


def told_by(dictionary: Mapping, states: Mapping, labels: Mapping, uses: Mapping) -> Told:
    """What is told of words.

    Parameters
    ----------
    dictionary : dict
        Maps a word to its tags, or to how often each was seen.
    states : dict
        The state of each tag.
    labels : dict
        Maps a word to how often each state was its label.
    uses : dict
        How often words occur in the text; rarer ones may be left out.
    """
    tallies, voting = {}, []
    for word in dict.fromkeys(chain(dictionary, labels)):
        entry = dictionary.get(word, {})
        total = 0
        if is_weighted(entry):
            tally = {states[tag]: seen for tag, seen in entry.items() if seen > 0}
            total = sum(tally.values())
        else:
            tally = dict.fromkeys(map(states.__getitem__, tags_of(entry)), 1)
        if word in labels:
            tally = Counter(tally) + labels[word]
        tallies[word] = tally
        says_nothing = len(tally) == len(states) > 1 and not total
        rare = max(total, uses.get(word, 0)) <= _MOST_USES
        if rare and not says_nothing and isinstance(word, str):
            voting.append(word)
    return Told(tallies, voting)


def tag_shares(told: Told, n_states: int, only: np.ndarray | None = None) -> TagShares | None:
    """Learn shares from what is told of words; None if no word has a vote.

    Parameters
    ----------
    told : Told
    n_states : int
    only : ndarray or None
        The states that words may take of which nothing is told; None for those of open tags: the
        ones that at least one in a thousand of the voting words takes.

    Returns
    -------
    TagShares or None
    """
    if not told.voting:
        return None
    votes = _votes([told.tallies[word] for word in told.voting], n_states)
    states = only
    if states is None:
        types = np.bincount(votes.indices, minlength=n_states)
        states = np.flatnonzero((types > 0) & (types >= _LEAST_OPEN * len(told.voting)))
    states = np.asarray(states, dtype=np.int32)
    votes = votes[:, states]
    heard = votes.sum(axis=1) > 0
    if not heard.any():
        return None
    lower = {word: tally for word, tally in told.tallies.items() if _is_lower(word)}
    if only is not None:
        lower = {word: _among(tally, only) for word, tally in lower.items()}
        lower = {word: tally for word, tally in lower.items() if tally}
    voting = [told.voting[i] for i in np.flatnonzero(heard).tolist()]
    trie = _Trie.of(voting, lower)
    return TagShares(trie.children, _smoothed(trie, votes[heard]), states, lower)


class _Trie(NamedTuple):
    """Forms of words: nodes by their parent and symbol; a parent comes before its children.

    Word i belongs to the nodes ``nodes[starts[i] : starts[i + 1]]``.
    """

    children: dict
    parents: np.ndarray
    depths: np.ndarray
    nodes: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: list[str], lower: Mapping) -> "_Trie":
        """The trie of some words."""
        children: dict = {}
        parents, depths, nodes, starts = [0], [0], [], [0]
        for word in words:
            node = 0
            nodes.append(node)
            symbols = _symbols(word, _written_lower(word, lower) is not None)
            for depth, symbol in enumerate(symbols):
                below = children.setdefault((node, symbol), len(parents))
                if below == len(parents):
                    parents.append(node)
                    depths.append(depth + 1)
                node = below
                nodes.append(node)
            starts.append(len(nodes))
        return cls(children, *map(np.array, (parents, depths, nodes, starts)))


def _smoothed(trie: _Trie, votes: csr_array) -> np.ndarray:
    """Shares at every node: counts there, and so many words in the shares of the node above."""
    shape = len(trie.starts) - 1, len(trie.depths)
    belongs = csr_array((np.ones(len(trie.nodes)), trie.nodes, trie.starts), shape)
    table = (belongs.T @ votes).toarray()
    totals = table.sum(axis=1, keepdims=True) + _STRENGTH
    table[0] = (table[0] + _STRENGTH / table.shape[1]) / totals[0]
    for depth in range(1, int(trie.depths.max()) + 1):
        here = trie.depths == depth
        above = table[trie.parents[here]]
        table[here] = (table[here] + _STRENGTH * above) / totals[here]
    return table


def _symbols(word: str, in_lower_case: bool) -> Iterable[tuple | str]:
    """The steps from the root of a trie to the form of a word."""
    ending = word.lower()[-_LONGEST_ENDING:]
    return chain([(*(shape_of(word) or ()), in_lower_case)], reversed(ending))


def _is_lower(word: Hashable) -> bool:
    return isinstance(word, str) and word == word.lower()


def _written_lower(word: str, lower: Mapping) -> str | None:
    """The word in lower case, if that is another word and known."""
    written = word.lower()
    return written if written != word and written in lower else None


def _among(tally: Mapping, states: np.ndarray) -> dict:
    """The part of a tally that is of some states."""
    allowed = set(states.tolist())
    return {state: seen for state, seen in tally.items() if state in allowed}


def _votes(tallies: list[Mapping], n_states: int) -> csr_array:
    """Shares of each word's states, shape (n_words, n_states)."""
    lengths = np.array([len(tally) for tally in tallies], dtype=np.int64)
    states = np.array([state for tally in tallies for state in tally], dtype=np.int64)
    seen = np.array([n for tally in tallies for n in tally.values()], dtype=np.float64)
    words = np.repeat(np.arange(len(tallies)), lengths)
    shares = seen / np.bincount(words, seen, len(tallies))[words]
    return csr_array((shares, (words, states)), shape=(len(tallies), n_states))


def _row(tally: Mapping) -> Row:
    """States and shares of one word."""
    states = np.array(sorted(tally), dtype=np.int32)
    seen = np.array([tally[state] for state in states.tolist()], dtype=np.float64)
    return states, seen / seen.sum()


def _mean(first: Row, second: Row) -> Row:
    """The mean of two rows."""
    states = np.union1d(first[0], second[0])
    shares = np.zeros(len(states))
    for some, values in (first, second):
        shares[np.searchsorted(states, some)] += 0.5 * values
    return states, shares
