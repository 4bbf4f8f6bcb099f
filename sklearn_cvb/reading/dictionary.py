"""Tag dictionaries: checked, looked up, how often each tag was seen, and where to get them."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from itertools import chain, compress, filterfalse
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sklearn_cvb.messages import did_you_mean
from sklearn_cvb.reading.corpus import (
    Corpus,
    as_list,
    is_hashable,
    is_missing,
    place_text,
    samples_of,
    short_repr,
    sorted_types,
    tokens_of,
)
from sklearn_cvb.reading.unknown_tokens import (
    UNLIKE,
    nearest_cause,
    other_readings,
    unknown_beside_known,
)

if TYPE_CHECKING:
    from sklearn_cvb.display.word_table import WordTable

# A dictionary covers nothing to speak of below this share of the tokens.
_HARDLY = 0.01

# What entries may have wrong.
_NO_TAG = (
    "lists no tag for {}: leave a word out to allow any tag, or build the dictionary with "
    "tag_dictionary_from"
)
_MISSING = (
    "lists None or NaN as a tag of {}, which stand for unknown tags: leave a word out to allow any "
    "tag"
)
_NO_WEIGHTS = (
    "gives weights that are negative, not finite, not numbers or all zero to {}: a weight says how "
    "often a tag was seen"
)

# What stands between tags where several are written as one text.
_BETWEEN_TAGS = re.compile(r"[\s,;|/+&]+")


def tags_of(entry: Any) -> tuple[Any, ...]:
    """The tags of one dictionary entry; a single tag may stand without a list."""
    if isinstance(entry, list | tuple):
        return tuple(entry)
    if isinstance(entry, str | bytes) or not hasattr(entry, "__iter__"):
        return (entry,)
    return tuple(entry if isinstance(entry, Mapping | Set) else as_list(entry) or ())


def is_weighted(entry: Any) -> bool:
    """Whether a dictionary entry says how often each tag was seen."""
    return isinstance(entry, Mapping)


def check_dictionary(tag_dictionary: Mapping[Any, Any]) -> None:
    """Raise where an entry of the dictionary holds no tags, or has impossible weights."""
    wrong: dict[str, list[Any]] = {fault: [] for fault in (_NO_TAG, _MISSING, _NO_WEIGHTS)}
    # Many words have the same tags, which are looked at once.
    lack: dict[tuple[Any, ...], bool] = {}
    for word, entry in tag_dictionary.items():
        tags = _tags_checked(word, entry)
        if entry is None or not tags:
            wrong[_NO_TAG].append(word)
        if tags not in lack:
            lack[tags] = any(map(is_missing, tags))
        if lack[tags]:
            wrong[_MISSING].append(word)
        if is_weighted(entry) and not _can_be_shared(entry.values()):
            wrong[_NO_WEIGHTS].append(word)
    for fault, words in wrong.items():
        if words:
            some = f"{words[:5]!r} ({len(words)} words)"
            raise ValueError(f"tag_dictionary {fault.format(some)}")


def cautions_of_entries(tag_dictionary: Mapping[Any, Any], tags: Collection[Any]) -> list[str]:
    """What is to be said of texts that look like several tags, and of tags that are nearly equal.

    Blanks separate tags, and other marks where all that they separate are tags of other words.
    """
    texts = {entry for entry in tag_dictionary.values() if isinstance(entry, str)}
    parts = {text: list(filter(None, _BETWEEN_TAGS.split(text))) for text in texts}
    odd = {
        text
        for text, own in parts.items()
        if len(text.split()) > 1 or (len(set(own)) > 1 and set(own) <= set(tags))
    }
    told = []
    if odd:
        words = {w: e for w, e in tag_dictionary.items() if isinstance(e, str) and e in odd}
        word, entry = next(iter(words.items()))
        told.append(
            f"tag_dictionary gives {len(words)} words a text that is read as one tag, but looks "
            f"like several: {word!r} has {entry!r}; for several tags write {parts[entry]!r}"
        )
    alike: dict[str, list[Any]] = {}
    for tag in tags:
        if isinstance(tag, str):
            alike.setdefault(tag.strip().casefold(), []).append(tag)
    some = [repr(tag) for same in alike.values() if len(same) > 1 for tag in same]
    if some:
        names = ", ".join(some[:10])
        told.append(f"tags of tag_dictionary differ by case or blanks alone: {names}")
    return told


def in_form_of(
    tag_dictionary: Mapping[Any, Any], words: Iterable[Any]
) -> tuple[Mapping[Any, Any], str]:
    """The dictionary in the Unicode forms that words of a text have, and what is to be said of it.

    Only where it lists words in another form, as NFD has for "é" two characters, of which NFC makes
    one. An entry in the form of the text stays as it is.
    """
    missing = {word for word in words if _has_forms(word)} - tag_dictionary.keys()
    listed = {word for word in tag_dictionary if missing and _has_forms(word)}
    composed = {_as_nfc(word) for word in listed}
    odd = [word for word in missing if _as_nfc(word) in composed]
    if not odd:
        return tag_dictionary, ""
    forms: set[Literal["NFC", "NFD"]] = {
        "NFC" if unicodedata.is_normalized("NFC", word) else "NFD" for word in odd
    }
    in_form = {
        unicodedata.normalize(form, word): tag_dictionary[word] for word in listed for form in forms
    }
    rest = {w: t for w, t in tag_dictionary.items() if w not in listed or w in in_form}
    return in_form | rest, (
        f"{len(odd)} words of tag_dictionary are written in another Unicode form than in X: they "
        f"are compared in that of X, {' and '.join(sorted(forms))}"
    )


def _as_nfc(word: str) -> str:
    """A word in the Unicode form that composes letters and their marks."""
    return unicodedata.normalize("NFC", word)


def _has_forms(word: Any) -> bool:
    """Whether a word may be written in several Unicode forms."""
    return isinstance(word, str) and not word.isascii()


def _tags_checked(word: Hashable, entry: Any) -> tuple[Any, ...]:
    """The tags of an entry; TypeError unless it is a tag, or an ordered collection, set or dict."""
    is_known = isinstance(entry, list | tuple | str | bytes | Mapping | Set)
    can_be = is_known or not hasattr(entry, "__iter__") or as_list(entry) is not None
    tags = tags_of(entry)
    try:
        hash(tags)
    except TypeError:
        can_be = False
    if not can_be:
        raise TypeError(
            f"tag_dictionary[{word!r}] is {short_repr(entry)}: an entry is a tag, a list of tags, "
            'or a dict that says how often each tag was seen, such as {"NOUN": 3, "VERB": 1}'
        )
    return tags


def check_unknown_tags(unknown_tags: Any) -> list[Any]:
    """The tags that words outside a dictionary may take, as a list."""
    tags = list(unknown_tags) if isinstance(unknown_tags, Set) else as_list(unknown_tags)
    if tags is None or not all(map(is_hashable, tags)):
        raise TypeError(f"unknown_tags is {short_repr(unknown_tags)}: pass a list of tags")
    if not tags:
        raise ValueError("unknown_tags lists no tag: use None to allow any tag")
    if any(map(is_missing, tags)):
        raise ValueError("unknown_tags holds None or NaN, which stand for unknown tags")
    return tags


def _can_be_shared(weights: Collection[Any]) -> bool:
    """Whether weights are finite numbers, none negative and not all zero."""
    if not all(isinstance(weight, Real) for weight in weights):
        return False
    try:
        numbers = list(map(float, weights))
    except OverflowError:
        return False
    return min(numbers, default=0.0) >= 0 and 0 < sum(numbers) < math.inf


class Coverage(NamedTuple):
    """The shares of a corpus's tokens and of its distinct words that have a dictionary entry."""

    tokens: float
    types: float


class Lookup(NamedTuple):
    """The distinct words of a corpus, looked up in a dictionary."""

    tag_dictionary: Mapping[Any, Any]
    words: list[Any]  # the distinct words that occur
    uses: np.ndarray  # (n_words,) How often each occurs
    found: np.ndarray  # (n_words,) Which of them have an entry

    @property
    def coverage(self) -> Coverage:
        """What has an entry."""
        return Coverage(self._share(self.found), float(np.mean(self.found)) if self.words else 0.0)

    def _share(self, chosen: np.ndarray) -> float:
        """The share of the tokens whose words are chosen."""
        return float(self.uses[chosen].sum() / max(1, self.uses.sum()))

    def mismatch(self) -> str:
        """What is wrong with a dictionary that is not of these words; empty if nothing is.

        A dictionary of few words covers little, too: nothing is wrong while half of them occur.
        Nor is anything where 1 in 100 tokens has an entry, unless most of the tokens, and twice as
        many, would have one if the dictionary or the tokens were read in another way.
        """
        covered = self.coverage.tokens
        of_use = 2 * self.found.sum() >= len(self.tag_dictionary) or covered >= 0.5
        if of_use or not self.tag_dictionary or not self.words:
            return ""
        most, advice = nearest_cause(self.words, self.uses, _other_readings(self.tag_dictionary))
        if most <= 2 * covered:
            most, advice = 0.0, ""
        if covered >= _HARDLY and most < 0.5:
            return ""
        missing = [
            word for word, is_there in zip(self.words, self.found, strict=True) if not is_there
        ]
        words = unknown_beside_known(missing, self.uses[~self.found], self.tag_dictionary)
        share = f"{100 * covered:.1f} % of the tokens of X"
        return f"tag_dictionary covers {share} {words}: {advice or UNLIKE}"


def look_up(tag_dictionary: Mapping[Any, Any], words: Sequence[Any], uses: np.ndarray) -> Lookup:
    """Look up the words that are used."""
    some = list(compress(words, uses > 0))
    found = np.fromiter(map(tag_dictionary.__contains__, some), bool, len(some))
    return Lookup(tag_dictionary, some, uses[uses > 0], found)


def _other_readings(tag_dictionary: Mapping[Any, Any]) -> list[tuple[Callable[[Any], bool], str]]:
    """Ways to misread a dictionary or a text: whether a word is there then, and what to do."""
    tags = {tag for entry in tag_dictionary.values() for tag in tags_of(entry)}
    turned = "it lists words for each tag; turn it round, to list each word's tags"
    return [(tags.__contains__, turned), *other_readings(tag_dictionary)]


def tags_in(
    tag_dictionary: Mapping[Any, Any], labels: Iterable[Any] = (), unknown_tags: Iterable[Any] = ()
) -> list[Any]:
    """All tags of a dictionary, of labels and of `unknown_tags`, sorted."""
    tags = set(chain.from_iterable(set(map(tags_of, tag_dictionary.values()))))
    tags.update(filterfalse(is_missing, labels))
    tags.update(unknown_tags)
    return sorted_types(tags)


class OverruledLabels(NamedTuple):
    """Labels that a dictionary forbids: their tokens, and what stands there."""

    tokens: np.ndarray
    corpus: Corpus
    words: Sequence[Any]
    labels: Sequence[Any]
    known: Collection[Any]  # the tags that some entry has

    def __str__(self) -> str:
        """What a warning says."""
        return (
            f"{len(self.tokens)} labels are not in tag_dictionary: "
            f"{self._some(self.tokens[:2].tolist())}; a label holds at its own token, and where "
            "its word has none the dictionary holds: add the tags if they are right there, too"
            f"{self._of_other_tags()}"
        )

    def _of_other_tags(self) -> str:
        """What is to be said of labels that may be slips, or of another set of tags."""
        labels = [self.labels[t] for t in self.tokens.tolist()]
        others = Counter(label for label in labels if label not in self.known)
        if not others:
            return ""
        some = [f"{tag!r}{did_you_mean(tag, self.known)}" for tag, _ in others.most_common(5)]
        return f"; {others.total()} of them are tags that no entry has: {', '.join(some)}"

    def _some(self, tokens: Iterable[int]) -> str:
        places = (place_text(t, self.corpus.starts) for t in tokens)
        rows = zip(tokens, places, strict=True)
        return ", ".join(f"({self.words[t]!r}, {self.labels[t]!r}, {where})" for t, where in rows)


def tag_dictionary_from(
    sentences: "Iterable[Sequence[Any]] | WordTable",
    tags: Sequence[Sequence[Any]] | None = None,
    *,
    min_count: int = 1,
    min_share: float = 0.0,
    count_in: Iterable[Sequence[Any]] | None = None,
    weights: bool = True,
) -> dict[Any, Any]:
    """Collect the tags seen with each word, as in section 5.2 of Wang and Blunsom (2013).

    Parameters
    ----------
    sentences : list of list or WordTable
        Tagged sentences: lists of ``(word, tag)`` pairs, or lists of words with `tags` given. Or a
        corrected table of `words_to_check`, whose entries replace those of a dictionary,
        ``{**dictionary, **tag_dictionary_from(table)}``; a usual tag that it names gets a weight.
    tags : list of list, default=None
        Tags of the words in `sentences`. None (or NaN) marks an unknown tag.
    min_count : int, default=1
        Words seen fewer than this many times in `count_in` may take any tag.
    min_share : float, default=0.0
        Drop the tags that make up less than this share of a word's tagged occurrences. Annotation
        slips are legal tags otherwise, and learners move whole words to them; 0.005 to 0.02 helps
        on noisy text. The most frequent tag always stays.
    count_in : list of list, default=None
        Raw sentences in which occurrences are counted; None for `sentences` themselves.
    weights : bool, default=True
        Say how often each tag was seen: a tagger then starts from these shares and holds on to
        them (`TagDictionary`, its `weight`), so that a slip does not win a whole word. If False,
        tags alone are listed, as word lists have them.

    Returns
    -------
    dict
        Maps each word to a dict from its tags to how often each was seen; without `weights` to the
        sorted tuple of its tags, and so words that may take any tag.

    Raises
    ------
    ValueError
        If a sentence and its tags differ in length, or nothing says the tags; if `min_share` is no
        share.
    TypeError
        If a sentence is text or has no order, or a word or tag is not hashable.

    References
    ----------
    Wang and Blunsom (2013), section 5.2; Smith and Eisner (2005).

    Examples
    --------
    >>> from sklearn_cvb import tag_dictionary_from
    >>> tag_dictionary_from([["the", "duck"], ["we", "duck"]], [["DT", "NN"], ["PRP", "VB"]])
    {'the': {'DT': 1}, 'duck': {'NN': 1, 'VB': 1}, 'we': {'PRP': 1}}
    >>> tag_dictionary_from([["a", "b", "b"]], [["X", "Y", "Y"]], min_count=2)
    {'a': ('X', 'Y'), 'b': {'Y': 2}}
    >>> tag_dictionary_from([["a"] * 10], [["X"] * 9 + ["Y"]], min_share=0.2)
    {'a': {'X': 9}}
    >>> tag_dictionary_from([["a"] * 10], [["X"] * 9 + ["Y"]], weights=False)
    {'a': ('X', 'Y')}
    """
    # A table says itself what its entries are.
    entries_of = getattr(sentences, "entries", None)
    if callable(entries_of):
        entries: dict[Any, Any] = entries_of()
        return entries
    if not 0.0 <= min_share <= 1.0:
        raise ValueError(f"min_share must be a number from 0 to 1, got {min_share!r}")
    # Pairs first, in one go: there are far more tokens than pairs.
    pairs: Counter[Any] = Counter()
    for i, items in enumerate(tagged_pairs(sentences, tags)):
        try:
            pairs.update(map(tuple, items))
        except TypeError:
            raise TypeError(
                f"sentence {i} has a word or tag that is not hashable: {short_repr(items)}"
            ) from None
    seen: dict[Hashable, Counter[Any]] = {}
    counts: Counter[Any] = Counter()
    for (word, tag), number in pairs.items():
        counts[word] += number
        if not is_missing(tag):
            seen.setdefault(word, Counter())[tag] += number
    if count_in is not None:
        counts = Counter(word for sentence in count_in for word in sentence)
    every = tuple(sorted_types({tag for tallies in seen.values() for tag in tallies}))
    dictionary: dict[Hashable, Any] = {}
    for word, tallies in seen.items():
        frequent = _frequent(tallies, min_share)
        if counts[word] < min_count:
            dictionary[word] = every
        else:
            dictionary[word] = {tag: tallies[tag] for tag in frequent} if weights else frequent
    return dictionary


def tagged_pairs(
    sentences: Iterable[Sequence[Any]], tags: Iterable[Sequence[Any]] | None
) -> Iterator[list[Any]]:
    """The (word, tag) pairs of each sentence."""
    known = None if tags is None else samples_of(tags)
    given = samples_of(sentences)
    if known is not None and len(known) != len(given):
        raise ValueError(f"there are {len(given)} sentences but {len(known)} tag sequences")
    for i, sentence in enumerate(given):
        items = tokens_of(sentence, f"sentences[{i}]")
        if known is None:
            if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in items):
                raise ValueError(
                    f"sentence {i} holds something else than pairs (word, tag): give `tags`, or "
                    f"pairs; it is {short_repr(items)}"
                )
        else:
            labels = tokens_of(known[i], f"tags[{i}]")
            if len(items) != len(labels):
                raise ValueError(f"sentence {i} has {len(items)} words but {len(labels)} tags")
            items = list(zip(items, labels, strict=True))
        yield items


def _frequent(tallies: Counter[Any], min_share: float) -> tuple[Any, ...]:
    """The tags with at least this share of a word's occurrences, or the most frequent one."""
    least = min(min_share * tallies.total(), max(tallies.values()))
    return tuple(sorted_types(tag for tag, count in tallies.items() if count >= least))
