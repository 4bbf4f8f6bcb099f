"""Tokens to integers: sequences of hashable tokens become one flat array and its offsets.

A sample is a sequence. Sequences come as a list, an object array or a pandas Series of sequences,
or as a 2-D array whose rows are sequences of equal length.
"""

import math
import numbers
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import accumulate, chain, compress, filterfalse, pairwise, repeat
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.reading.unknown_tokens import NEARLY_NONE, UnknownTokens, caution_of_unknown
from sklearn_cvb.reading.validation import LENGTHS, warn

_TOKENISE = (
    "a sample must be a sequence of tokens, not a string: split it into words with str.split "
    "or into characters with list"
)
_COLUMN = 'or a column of a frame, such as frame["event"]'
_OF_NUMBERS = '; set emission="gaussian" where its columns are measurements'

# Text, and what has no order or can be read but once.
_NO_SEQUENCE = (str, bytes, bytearray, Mapping, Set, Iterator)

TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)

# Methods that give values as Python's own, of Arrow and others.
_TO_LIST = ("to_pylist", "to_list", "tolist")


class Corpus(NamedTuple):
    """Encoded sequences."""

    # (n_tokens,) Index of each token's type in the vocabulary; ``len(vocabulary) + u`` for the u-th
    # type in `unknown`; -1 for a missing observation.
    tokens: np.ndarray
    starts: np.ndarray  # (n_sequences + 1,) Sequence i is ``tokens[starts[i] : starts[i + 1]]``
    width: int | None  # number of columns of a 2-D input, None for ragged input
    unknown: list[Any]  # the types of this corpus that are not in the vocabulary
    # (n_tokens,) How many tokens each stands for, in a digest of many sequences, or by weights of
    # sequences; None for one.
    times: np.ndarray | None = None

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.starts) - 1

    @property
    def n_observed(self) -> float:
        """Number of tokens that are not missing, 1 where all are (a divisor for averages)."""
        if self.times is not None:
            return float(self.times[self.tokens >= 0].sum()) or 1.0
        return max(1, int(np.count_nonzero(self.tokens >= 0)))

    @property
    def times_of_sequences(self) -> np.ndarray:
        """How often each sequence counts."""
        return np.ones(self.n_sequences) if self.times is None else self.times[self.starts[:-1]]

    def weighted(self, sample_weight: np.ndarray) -> Self:
        """The same, of which each sequence counts as often as its weight says."""
        return self._replace(times=np.repeat(sample_weight, np.diff(self.starts)))

    @property
    def observed_lengths(self) -> np.ndarray:
        """How many tokens of each sequence are not missing, ndarray of shape (n_sequences,)."""
        ends = np.append(0, np.cumsum(self.tokens >= 0))
        return np.diff(ends[self.starts])

    def uses(self, n_types: int = 0) -> np.ndarray:
        """How often each type is observed, ndarray of shape (n_types,) or longer."""
        is_observed = self.tokens >= 0
        if self.times is None:
            return np.bincount(self.tokens[is_observed], minlength=n_types)
        times = self.times[is_observed]
        uses = np.bincount(self.tokens[is_observed], times, n_types)
        return np.ceil(np.round(uses, 9)).astype(np.int64)


class Sequences(NamedTuple):
    """Sequences as read: all tokens in one list, the offsets, and the width of a 2-D input.

    `times` says how many tokens each stands for; None for one.
    """

    tokens: list[Any]
    starts: np.ndarray
    width: int | None
    times: np.ndarray | None = None


def is_missing(token: object) -> bool:
    """Whether a token stands for a missing observation: None, any NaN, pandas' NA or NaT."""
    if token is None or (isinstance(token, float | np.floating) and math.isnan(token)):
        return True
    if isinstance(token, Decimal):
        return token.is_nan()
    return type(token).__name__ in ("NAType", "NaTType")


def _is_infinite(token: object) -> bool:
    # Unlike math.isinf this takes integers beyond float64.
    return isinstance(token, numbers.Number) and token in (math.inf, -math.inf)


def read_table(table: np.ndarray) -> Sequences:
    """Read a validated 2-D array: rows are sequences, missing values at a row's end are padding."""
    width = table.shape[1]
    if table.dtype.kind == "f":
        observed = ~np.isnan(table)
    elif table.dtype == object:
        observed = ~np.frompyfunc(is_missing, 1, 1)(table).astype(bool)
    else:
        observed = np.ones(table.shape, bool)
    lengths, inside = without_padding(observed)
    return _sequences(table[inside].tolist(), lengths, width)


def without_padding(observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of rows up to the last step that is observed, and which steps these have."""
    steps = np.arange(1, observed.shape[1] + 1)
    lengths = np.where(observed, steps, 0).max(axis=1)
    return lengths, steps <= lengths[:, None]


# What measurements are, how many tell them from symbols, and what share of them differs.
_MEASURED, _MEASUREMENTS, _DIFFERENT = (numbers.Number, *TIMES), 20, 0.9


def are_measurements(tokens: list[Any]) -> bool:
    """Whether these are numbers or times that nearly all differ, and so no symbols."""
    seen = list(filterfalse(is_missing, tokens))
    are_measured = len(seen) >= _MEASUREMENTS and all(isinstance(one, _MEASURED) for one in seen)
    return are_measured and len(set(seen)) > _DIFFERENT * len(seen)


def read_ragged(X: Any) -> Sequences:
    """Read a collection of sequences."""
    X = samples_of(X)
    if not X:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    # Arrays of several dtypes would be cast to a common one: 1 would become "1".
    kind = getattr(X[0], "dtype", None)
    if kind is not None and all(
        type(x) is np.ndarray and x.ndim == 1 and x.dtype == kind for x in X
    ):
        return _sequences(np.concatenate(X).tolist(), list(map(len, X)), None)
    X = [
        sequence if type(sequence) in (list, tuple) else tokens_of(sequence, f"X[{i}]")
        for i, sequence in enumerate(X)
    ]
    return _sequences(list(chain.from_iterable(X)), list(map(len, X)), None)


def _sequences(tokens: list[Any], lengths: ArrayLike, width: int | None) -> Sequences:
    """All tokens, with the offsets of sequences, of which none may be empty."""
    lengths = np.asarray(lengths, np.int64)
    if not lengths.all():
        empty = np.flatnonzero(lengths == 0)
        is_column = width == 1 and len(lengths) > 1
        hint = f"; if X is one series of {len(lengths)} steps, pass [numpy.ravel(X)]" * is_column
        raise ValueError(
            f"sequence {empty[0]} is empty ({len(empty)} empty of {len(lengths)} sequences): "
            f"leave empty sequences out{hint}"
        )
    starts = np.zeros(len(lengths) + 1, np.int64)
    lengths.cumsum(out=starts[1:])
    return Sequences(tokens, starts, width)


def types_of(tokens: list[Any], starts: np.ndarray) -> list[Any]:
    """The distinct observed tokens, sorted (mixed types by type name, then text)."""
    try:
        types = set(filterfalse(is_missing, set(tokens)))
    except TypeError:
        raise unhashable_error(tokens, starts) from None
    for token in types:
        if _is_infinite(token):
            raise ValueError(f"infinity is not a symbol: got the token {token!r}")
    return sorted_types(types)


def sorted_types(types: Iterable[Any]) -> list[Any]:
    """Sort values of any kind: naturally where they compare, else by type name and text."""
    try:
        return sorted(types)
    except TypeError:
        return sorted(types, key=lambda value: (type(value).__name__, repr(value)))


def unhashable_error(values: list[Any], starts: np.ndarray, kind: str = "token") -> TypeError:
    """The error that names the first of the flat values that has no hash."""
    for position, value in enumerate(values):
        if not is_hashable(value):
            deeper = ""
            if kind == "token" and isinstance(value, list):
                deeper = " (X is a list of sequences, not of batches)"
            if hasattr(value, "to_list"):
                deeper = "; if X is what groupby gives, pass X.agg(list)"
            return TypeError(
                f"{kind} {short_repr(value)} ({place_text(position, starts)}) is not hashable: the "
                "argument must be a hashable value such as a string or a number" + deeper
            )
    return TypeError(f"every {kind} must be hashable")


def is_hashable(value: object) -> bool:
    """Whether a value has a hash; a tuple that holds a list has none."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def place_text(position: int, starts: np.ndarray) -> str:
    """Words for where the flat `position` lies: its sequence and position there."""
    sequence = int(np.searchsorted(starts, position, side="right")) - 1
    return f"sequence {sequence}, position {position - int(starts[sequence])}"


def refuse_missing(corpus: Corpus, whose: str) -> None:
    """Raise ValueError if an observation is missing: trees are over tokens that are known."""
    missing = np.flatnonzero(corpus.tokens == -1)
    if len(missing):
        where = place_text(int(missing[0]), corpus.starts)
        raise ValueError(f"X contains NaN or None ({where}): {whose} needs every token")


def caution_of_giant(corpus: "Corpus | Sequences", remedy: str) -> tuple[str, ...]:
    """What is to be said where leaving out one sentence leaves little to learn from."""
    lengths = np.diff(corpus.starts)
    longest = int(lengths.argmax())
    if 2 * lengths[longest] <= lengths.sum():
        return ()
    return (
        f"sentence {longest} holds more than half of all tokens: its own counts are left out "
        f"and it is inferred from little more than the prior; {remedy}, or cut it",
    )


def object_array(values: Sequence[Any]) -> np.ndarray:
    """A 1-D object array of any values, lists and trees included."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def as_array(types: Sequence[Any]) -> np.ndarray:
    """A 1-D array of the given values; numbers keep their dtype, all else is object."""
    types = list(types)
    if types and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in types):
        numeric = _as_numbers(types)
        if numeric is not None:
            return numeric
    return object_array(types)


def _as_numbers(values: list[Any]) -> np.ndarray | None:
    """Numbers as an array of numbers, None where that would change one of them."""
    try:
        array = np.asarray(values)
    except OverflowError:
        return None
    return array if array.dtype.kind in "iuf" and array.tolist() == values else None


class Vocabulary(NamedTuple):
    """Words and their numbers."""

    types: np.ndarray  # (n_words,)
    index: dict[Hashable, int]  # type: ignore[assignment]

    @property
    def listed(self) -> Mapping[Any, Any]:
        """Other words of which something is known: none."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Half as large, and the numbers are soon made again.
        is_plain = self.types.dtype != object
        return _numbered, (self.types if is_plain else self.types.tolist(),)


def _numbered(words: np.ndarray | list[Any]) -> Vocabulary:
    """Words that were loaded, numbered in their order."""
    types = words if isinstance(words, np.ndarray) else object_array(words)
    return Vocabulary(types, {word: i for i, word in enumerate(types.tolist())})


def vocabulary_of(types: list[Any]) -> Vocabulary:
    """These words, numbered in their order."""
    return Vocabulary(as_array(types), dict(zip(types, range(len(types)), strict=True)))


def encode(sequences: Sequences, index: Mapping[Any, Any]) -> Corpus:
    """Encode tokens by a vocabulary."""
    tokens, starts, width, times = sequences
    try:
        codes = np.fromiter(map(index.get, tokens, repeat(-2)), np.int32, len(tokens))
    except TypeError:
        raise unhashable_error(tokens, starts) from None
    unknown: dict[Hashable, int] = {}
    for position in (codes == -2).nonzero()[0].tolist():
        token = tokens[position]
        # Most tokens are strings, which are neither missing nor infinite.
        if not isinstance(token, str):
            if is_missing(token):
                codes[position] = -1
                continue
            if _is_infinite(token):
                where = place_text(position, starts)
                raise ValueError(f"infinity is not a symbol: got the token {token!r} ({where})")
        codes[position] = len(index) + unknown.setdefault(token, len(unknown))
    return Corpus(codes, starts, width, list(unknown), times)


# What estimators read


class KnownWords(NamedTuple):
    """Which words an estimator knows, and what becomes of others."""

    vocabulary: Any  # None: those of the sequences
    handle_unknown: str
    in_emission: bool = False  # whether the parameter `emission` says it
    is_ordered: bool = False  # whether what follows what is learned


class Table(NamedTuple):
    """A 2-D X that has passed scikit-learn's checks, which know the estimator: at the door."""

    values: np.ndarray
    # ``n_features_in_`` and ``feature_names_in_``; empty where it is not fitted to.
    attributes: dict[str, Any]
    is_first: bool  # whether the model has not been fitted to a table
    given: Any  # X itself
    cautions: tuple[str, ...] = ()  # of what its rows may be instead


class RawSequences(NamedTuple):
    """Sequences of X as they were taken to be fitted to."""

    sequences: Sequences
    # ``n_features_in_`` and ``feature_names_in_`` of a table; empty for ragged sequences.
    attributes: dict[str, Any]
    messages: tuple[str, ...] = ()


def types_to_learn(known: KnownWords, sequences: Sequences) -> list[Any]:
    """The words of a model: those that are known, or those of the sequences."""
    vocabulary = known.vocabulary
    if vocabulary is None:
        return refuse_no_types(known, types_of(sequences.tokens, sequences.starts))
    given = list(vocabulary) if isinstance(vocabulary, Set | Mapping) else as_list(vocabulary)
    if given is None:
        raise TypeError(f"vocabulary is {short_repr(vocabulary)}: pass a list of symbols")
    types = types_of(given, np.array([0, len(given)]))
    if any(map(is_missing, given)):
        raise ValueError("vocabulary holds None or NaN, which stand for missing observations")
    if isinstance(vocabulary, set | frozenset):
        return types
    return list(dict.fromkeys(given))


def refuse_no_types(known: KnownWords, types: list[Any]) -> list[Any]:
    """The same types; raises where there are none, and none are added."""
    if not types and known.handle_unknown == "error":
        raise ValueError("X holds no observed token: give a vocabulary")
    return types


def sequences_to_fit(known: KnownWords, X: Any, y: Any) -> RawSequences:
    """X as taken to be fitted to; lengths in `y` are refused, also where `y` is ignored."""
    attributes: dict[str, Any] = {}
    messages: list[str] = []
    if isinstance(X, Table):
        attributes = X.attributes
        messages += [*_cautions_of_column(known, X), *X.cautions]
    sequences = read_table(X.values) if isinstance(X, Table) else read_ragged(X)
    # The first thousand tell of most corpora.
    few = sequences.tokens[:1000]
    if known.vocabulary is None and are_measurements(few) and are_measurements(sequences.tokens):
        of_numbers = 'set emission="gaussian" if they are measurements, or '
        messages.append(
            "nearly all numbers or times in X differ: each is a symbol of its own here, so that "
            f"nothing will be recognised again; {of_numbers * known.in_emission}sort "
            "numbers into bins, as sklearn.preprocessing.KBinsDiscretizer(encode='ordinal') does"
        )
    if all(map(is_missing, sequences.tokens)):
        messages.append("X has no observed token: nothing can be learned from it")
    refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
    return RawSequences(sequences, attributes, tuple(messages))


def _cautions_of_column(known: KnownWords, X: Table) -> list[str]:
    """What is to be said of a column of symbols, hmmlearn's shape of one series."""
    n_rows, width = X.values.shape
    if n_rows == 1 or width > 1 or not known.is_ordered:
        return []
    one = "[X.ravel()]" if isinstance(X.given, np.ndarray) else "[numpy.ravel(X)]"
    return [caution_of_single_steps(n_rows, one)]


def is_of_order(transitions: Any) -> bool:
    """Whether transitions are of what follows what: in a mixture nothing follows anything."""
    topology = getattr(transitions, "topology", transitions)
    return not (isinstance(topology, str) and topology == "independent")


def caution_of_single_steps(n_steps: int, one: str) -> str:
    """What is to be said of sequences of a single step each; `one` is how to pass one sequence."""
    return (
        f"each of the {n_steps} sequences of X has a single step: nothing can be learned of what "
        f"follows what. If X is one series of {n_steps} steps, pass {one}; if it is several, "
        f"{LENGTHS}; for a mixture set transitions='independent'"
    )


def sequences_again(known: KnownWords, X: Any) -> Sequences:
    """X as a fitted model reads it."""
    if not isinstance(X, Table):
        return read_ragged(X)
    if X.is_first:
        warn(_cautions_of_column(known, X))
    return read_table(X.values)


def encoded_by(
    known: KnownWords, types: list[Any], sequences: Sequences
) -> tuple[Vocabulary, Corpus]:
    """A vocabulary of these words, and sequences in its numbers."""
    vocabulary = vocabulary_of(types)
    corpus = encode(sequences, vocabulary.index)
    return vocabulary, checked(known, corpus, sequences, len(types))


def encoded_again(
    known: KnownWords,
    index: Mapping[Any, Any],
    X: Any,
    listed: Mapping[Any, Any] = MappingProxyType({}),
) -> Corpus:
    """X in numbers of the words that a fit has seen; of others some may be `listed` elsewhere."""
    if isinstance(X, Corpus):
        # A piece of a store, in codes of this vocabulary.
        return X
    sequences = sequences_again(known, X)
    corpus = encode(sequences, index)
    unknown = unknown_in(corpus, index, listed)
    checked(known, corpus, sequences, len(index))
    if unknown.tokens:
        warn(caution_of_unknown(unknown, index))
    return corpus


def unknown_in(
    corpus: Corpus, index: Mapping[Any, Any], listed: Mapping[Any, Any] = MappingProxyType({})
) -> UnknownTokens:
    """What is neither in a vocabulary nor listed elsewhere, if that is nearly all of a corpus."""
    n_tokens = int(corpus.n_observed)
    if corpus.unknown:
        uses = corpus.uses(len(index))[len(index) :]
        new = [word not in listed for word in corpus.unknown]
        if n_tokens - uses[new].sum() < NEARLY_NONE * n_tokens:
            return UnknownTokens(list(compress(corpus.unknown, new)), uses[new], n_tokens)
    return UnknownTokens([], np.empty(0, np.int64), n_tokens)


def checked(known: KnownWords, corpus: Corpus, sequences: Sequences, n_known: int) -> Corpus:
    """Encoded sequences; raises on words outside the vocabulary where they are not handled."""
    if corpus.unknown and known.handle_unknown == "error":
        # Unknown words are numbered behind all others.
        position = int(np.flatnonzero(corpus.tokens >= n_known)[0])
        within = " in emission=Symbols(...)" if known.in_emission else ""
        raise ValueError(
            f"unknown word {sequences.tokens[position]!r} "
            f"({place_text(position, corpus.starts)}; {len(corpus.unknown)} unknown types): "
            f"give vocabulary, or handle_unknown='smooth' or 'rare'{within}"
        )
    return corpus


def arrange(corpus: Corpus, values: np.ndarray, fill: Any) -> np.ndarray:
    """Give flat values the shape of the input."""
    starts = corpus.starts
    if corpus.width is not None:
        if len(values) == corpus.n_sequences * corpus.width:
            return values.reshape(corpus.n_sequences, corpus.width, *values.shape[1:])
        inside = np.arange(corpus.width) < np.diff(starts)[:, None]
        shape = (corpus.n_sequences, corpus.width, *values.shape[1:])
        table = np.full(shape, fill, dtype=np.result_type(values, np.asarray(fill)))
        table[inside] = values
        return table
    ragged = np.empty(corpus.n_sequences, dtype=object)
    ragged[:] = [values[a:b] for a, b in pairwise(starts)]
    return ragged


def split_words(line: str) -> list[str]:
    """Split text at blanks, and marks from the words before and behind which they stand.

    Parameters
    ----------
    line : str
        Text of any script that has blanks between words.

    Returns
    -------
    list of str
        Words and marks. What is within a word stays there: ``don't``, ``3.5``.

    Examples
    --------
    >>> from sklearn_cvb import split_words
    >>> split_words("The well-known dog (it's 3.5 years old) barks!")
    ['The', 'well-known', 'dog', '(', "it's", '3.5', 'years', 'old', ')', 'barks', '!']
    """
    words: list[str] = []
    for chunk in line.split():
        is_mark = [unicodedata.category(character)[0] in "PS" for character in chunk]
        begin = is_mark.index(False) if False in is_mark else len(chunk)
        end = len(chunk) - is_mark[::-1].index(False) if False in is_mark else begin
        words += [*chunk[:begin], *filter(None, [chunk[begin:end]]), *chunk[end:]]
    return words


def split_by_lengths(X: Any, lengths: ArrayLike) -> list[Any]:
    """Cut one long array into sequences: hmmlearn's ``(X, lengths)`` becomes a list of sequences.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_tokens,), (n_tokens, 1) or (n_tokens, n_columns)
        All tokens, or steps of several numbers, one sequence after the other.
    lengths : array-like of shape (n_sequences,), int
        Length of each sequence; they sum to n_tokens.

    Returns
    -------
    list of ndarray
        One 1-D array per sequence; of several columns one array of shape (length, n_columns). Of a
        DataFrame they are frames, of a Series or a single column Series, with names and dates, also
        of polars and pyarrow.

    Raises
    ------
    ValueError
        If the lengths are not positive or do not sum to the number of tokens; if several columns
        hold something else than numbers.
    TypeError
        If the lengths are no integers.

    Examples
    --------
    >>> from sklearn_cvb import split_by_lengths
    >>> split_by_lengths([[0], [1], [1], [0], [2]], [2, 3])
    [array([0, 1]), array([1, 0, 2])]
    >>> [part.shape for part in split_by_lengths([[0.1, 7], [0.3, 8], [0.2, 9]], [2, 1])]
    [(2, 2), (1, 2)]
    """
    refuse_lazy(X, "X")
    if _is_frame(X) and X.shape[1] == 1:
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[names_of_columns(X)[0]]
    # Of libraries of frames: they keep names.
    rows: Any = getattr(X, "iloc", X)
    if not hasattr(X, "to_numpy") and not _is_frame(X):
        rows = _symbols_or_columns(X)
    cuts = as_list(lengths)
    if cuts is None or not all(isinstance(length, numbers.Integral) for length in cuts):
        raise TypeError(f"lengths must be a list of integers, got {short_repr(lengths)}")
    ends, n_steps = [0, *accumulate(map(int, cuts))], len(X)
    if any(length <= 0 for length in cuts) or ends[-1] != n_steps:
        raise ValueError(
            f"lengths must be positive and sum to the number of steps ({n_steps}), "
            f"got {short_repr(cuts[:10])} with sum {short_repr(ends[-1])}"
        )
    return [rows[begin:end] for begin, end in pairwise(ends)]


def _symbols_or_columns(X: Any) -> np.ndarray:
    """Tokens, or steps of several numbers, as an array that has them as they are."""
    try:
        tokens: np.ndarray = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        # Else numpy writes numbers as text where there is some.
        if tokens.dtype.kind in "US" and not isinstance(X, np.ndarray):
            tokens = np.asarray(X, dtype=object)
    except ValueError:
        raise ValueError("X must have one column of symbols, got rows of several lengths") from None
    if tokens.ndim == 2 and tokens.shape[1] == 1:
        tokens = tokens[:, 0]
    if tokens.ndim == 1 or (tokens.ndim == 2 and tokens.dtype.kind in "biuf"):
        return tokens
    raise ValueError(
        f"X must have one column of symbols, or several of numbers, got shape {tokens.shape}"
    )


# What sequences come in: lists, arrays, columns of frames, also of other libraries, read as lists.
# Lengths are those of what was read: ``len`` of a frame counts rows, but reading it yields names of
# columns. Other libraries are known by their methods, and none is imported.


def as_list(values: Any) -> list[Any] | None:
    """The items of an ordered collection, None for anything else: frames, sets, text, numbers."""
    if isinstance(values, list | tuple):
        return list(values)
    if isinstance(values, _NO_SEQUENCE) or _is_frame(values):
        return None
    for name in _TO_LIST:
        if hasattr(values, name):
            found = getattr(values, name)()
            return found if isinstance(found, list) else None
    if hasattr(values, "__len__") and hasattr(values, "__iter__"):
        return list(values)
    return None


def holds_states(y: Any) -> bool:
    """Whether `y` has states of steps, and not a label for each sequence."""
    return any(as_list(states) is not None for states in as_list(y) or ())


def holds_names(y: Any) -> bool:
    """Whether `y` has names of classes; numbers may be targets, which scikit-learn hands on."""
    return any(isinstance(label, str) for label in as_list(y) or ())


def is_table(X: Any) -> bool:
    """Whether X is a 2-D array or table rather than a collection of sequences."""
    if isinstance(X, list | tuple):
        return False
    shape = getattr(X, "shape", None)
    if shape is None:
        return hasattr(X, "__array__") and not any(hasattr(X, name) for name in _TO_LIST)
    if len(shape) == 1:
        return getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
    return _sequences_in_column(X) is None


def samples_of(X: Any, such_as: str = "lists of words") -> list[Any]:
    """The samples of X, as they were given; a message says what sequences are, `such_as`."""
    column = _sequences_in_column(X)
    if column is not None:
        return column
    if isinstance(X, str | bytes | bytearray):
        raise TypeError(f"X is the string {X!r}: {_TOKENISE}, and pass a list of samples")
    if isinstance(X, Mapping | Set) or not hasattr(X, "__iter__"):
        refuse_lazy(X, "X")
        here = ", here list(X.values())" if isinstance(X, Mapping) else ""
        raise TypeError(f"X is {short_repr(X)}: pass a list of sequences, such as {such_as}{here}")
    if isinstance(X, list):
        return X
    items = as_list(X)
    return list(X) if items is None else items


def refuse_lazy(frame: Any, name: str) -> None:
    """Raise TypeError for a frame whose rows have not been computed, as polars has some."""
    if hasattr(frame, "collect") and hasattr(frame, "collect_schema"):
        raise TypeError(f"{name} is a {type(frame).__name__}: pass {name}.collect()")


def tokens_of(sample: Any, name: str) -> list[Any]:
    """The items of one sample, called `name` where it has none."""
    if isinstance(sample, str | bytes | bytearray):
        is_word = isinstance(sample, str) and len(sample.split()) == 1 and name.endswith("[0]")
        cure = (
            f"; where {name[:-3]} is one sequence of words, pass [{name[:-3]}]" if is_word else ""
        )
        raise TypeError(f"{name} is the string {sample!r}: {_TOKENISE}{cure}")
    if not _is_frame(sample) and len(getattr(sample, "shape", (0,))) > 1:
        flat = max(sample.shape) == sample.size
        cure = f"pass {name}.ravel()" if flat else 'for columns of numbers set emission="gaussian"'
        raise ValueError(f"{name} has {len(sample.shape)} dimensions: a sequence has one; {cure}")
    items = as_list(sample)
    if items is None:
        refuse_lazy(sample, name)
        raise TypeError(
            f"{name} is {short_repr(sample)} of type {type(sample).__name__}: each sample must be "
            f"a sequence of tokens, such as a list, {_COLUMN}{_OF_NUMBERS * _is_frame(sample)}"
        )
    return items


def known_of(y: Any, lengths: np.ndarray, width: int | None, form: str) -> list[Any]:
    """What `y` knows of each sequence, one item for each; `form` says what y holds."""
    known = _sequences_in_column(y)
    if known is None:
        if _is_frame(y):
            y = y.to_numpy()
        elif not hasattr(y, "__len__") and hasattr(y, "__array__"):
            y = np.asarray(y)
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 and width != 1:
            y = y[:, 0]
        known = as_list(y)
    if known is None:
        raise TypeError(f"y is {short_repr(y)} of type {type(y).__name__}: {form}")
    refuse_lengths(known, len(lengths), int(lengths.sum()))
    if len(known) != len(lengths):
        raise ValueError(
            f"X holds {len(lengths)} sequences but y {len(known)}: inconsistent numbers of samples"
        )
    return known


def refuse_lengths(y: Any, n_sequences: int, n_tokens: int) -> None:
    """Raise ValueError where `y` holds lengths of sequences that X has end to end.

    X is then one sequence, or a column whose every row is one.
    """
    if n_sequences not in (1, n_tokens):
        return
    known = as_list(y)
    if (
        known
        and len(known) != n_sequences
        and all(isinstance(item, Integral) and not isinstance(item, bool) for item in known)
        and sum(known) == n_tokens
    ):
        raise ValueError(f"y holds {short_repr(known)}, the lengths of sequences: {LENGTHS}")


def short_repr(value: Any) -> str:
    """How a message shows a value: its text, not all of it where that is long."""
    if _is_frame(value):
        return f"a frame with columns {names_of_columns(value)[:5]!r}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _is_frame(values: Any) -> bool:
    return len(getattr(values, "shape", ())) == 2 and hasattr(values, "columns")


def names_of_columns(frame: Any) -> list[Any]:
    """Names of the columns of a frame."""
    return list(getattr(frame, "column_names", frame.columns))


def unique_names_of_columns(frame: Any, what: str) -> list[Any]:
    """Names of the columns of a frame, of which no two may be equal."""
    names = names_of_columns(frame)
    if len(set(names)) < len(names):
        raise ValueError(f"{what} has two columns of the same name: {short_repr(names)}")
    return names


def _sequences_in_column(frame: Any) -> list[Any] | None:
    """The only column of a frame if it holds lists or arrays."""
    if not _is_frame(frame) or frame.shape[1] != 1:
        return None
    values = as_list(frame[names_of_columns(frame)[0]])
    return values if values and isinstance(values[0], list | np.ndarray) else None
