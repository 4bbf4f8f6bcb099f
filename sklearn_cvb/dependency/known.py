"""What is known beforehand: heads of tokens, and rules of heads and children as a prior."""

from collections.abc import Mapping
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.dependency.parameters import DependencyLayout, tables_of
from sklearn_cvb.kernels.dependency.arrays import UNKNOWN_HEAD
from sklearn_cvb.reading.corpus import Corpus, as_list, is_missing, short_repr
from sklearn_cvb.settings import ArcWeights

_HEADS_FORM = (
    "y holds a list of heads for each sentence: for each token the position of its head, from 1, 0 "
    "for the root of the sentence, None or -1 where it is not known"
)


def heads_from(y: Any, corpus: Corpus) -> np.ndarray:
    """What `y` tells of heads: from 1, 0 for the root, `UNKNOWN_HEAD` where not known.

    TypeError or ValueError where it tells nothing of that kind, or no projective tree has them.
    """
    heads = np.full(len(corpus.tokens), UNKNOWN_HEAD, np.int64)
    if y is None:
        return heads
    of_sentences = as_list(y)
    if of_sentences is None:
        raise TypeError(f"y is {short_repr(y)}: {_HEADS_FORM}")
    if len(of_sentences) != corpus.n_sequences:
        raise ValueError(
            f"X holds {corpus.n_sequences} sequences but y {len(of_sentences)}: give one list of "
            "heads for each sentence, None where nothing is known"
        )
    # Labels of a 2-D X that tell of its rows, as classifiers are given, say nothing of heads.
    if corpus.width is not None and all(isinstance(part, Real | str) for part in of_sentences):
        return heads
    for i, (begin, end) in enumerate(pairwise(corpus.starts.tolist())):
        if of_sentences[i] is not None:
            heads[begin:end] = _heads_of(of_sentences[i], i, end - begin, corpus.width)
            _check_tree(heads[begin:end], i)
    return heads


def _heads_of(given: Any, i: int, n: int, width: int | None) -> list[int]:
    """The heads of one sentence as integers."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(f"y[{i}] is {given!r}: {_HEADS_FORM}")
    given = list(given)
    if width is not None and len(given) == width and all(map(_is_open, given[n:])):
        given = given[:n]
    if len(given) != n:
        raise ValueError(f"sentence {i} has {n} tokens but y[{i}] has {len(given)} heads")
    found = []
    for t, head in enumerate(given):
        if _is_open(head):
            found.append(UNKNOWN_HEAD)
            continue
        if not isinstance(head, int | float | np.number) or head != int(head):
            raise TypeError(f"y[{i}][{t}] is {head!r}: {_HEADS_FORM}")
        if not 0 <= head <= n:
            raise ValueError(
                f"y[{i}][{t}] is {head}: the sentence has {n} tokens, so a head is at most {n}; "
                "heads count from 1, and 0 is the root"
            )
        if head == t + 1:
            raise ValueError(f"y[{i}][{t}] is {head}: the token would be its own head")
        found.append(int(head))
    return found


def _is_open(head: Any) -> bool:
    return is_missing(head) or (isinstance(head, Integral) and head == UNKNOWN_HEAD)


def _check_tree(heads: np.ndarray, i: int) -> None:
    """Raise if no projective tree with one root has the known heads of a sentence."""
    roots = np.flatnonzero(heads == 0)
    if len(roots) > 1:
        raise ValueError(
            f"y[{i}] has two roots, tokens {roots[0] + 1} and {roots[1] + 1}: a sentence has one; "
            "put None for the others"
        )
    for t in range(len(heads)):
        _refuse_cycle(heads, t, i)
    arcs = [(min(t + 1, h), max(t + 1, h)) for t, h in enumerate(heads.tolist()) if h > 0]
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_arcs: list[tuple[int, int]] = []
    for arc in arcs:
        while open_arcs and open_arcs[-1][1] <= arc[0]:
            open_arcs.pop()
        if open_arcs and open_arcs[-1][1] < arc[1]:
            raise ValueError(
                f"y[{i}]: the arc between tokens {arc[0]} and {arc[1]} crosses that between "
                f"{open_arcs[-1][0]} and {open_arcs[-1][1]}: trees must be projective; put None "
                "for one of the heads"
            )
        open_arcs.append(arc)
        for root in roots + 1:
            if arc[0] < root < arc[1]:
                raise ValueError(
                    f"y[{i}]: the arc between tokens {arc[0]} and {arc[1]} covers the root, token "
                    f"{root}: trees must be projective; put None for one of the heads"
                )


def _refuse_cycle(heads: np.ndarray, t: int, i: int) -> None:
    """Raise if the heads from a token on come back to it."""
    path = [t + 1]
    while heads[path[-1] - 1] > 0:
        path.append(int(heads[path[-1] - 1]))
        if path[-1] == t + 1:
            raise ValueError(
                f"y[{i}] has a cycle: {' <- '.join(map(str, path))}; put None for one of the heads"
            )
        if len(path) > len(heads):
            return  # a cycle that another token is told of


# Rules of heads and children


_RULES_FORM = (
    "arc_weights is 'ud', 'penn' or a dict such as {('VERB', 'NOUN'): 100.0, (None, 'VERB'): "
    "100.0}: a pair of head (None for the root) and child, each a tag or a tuple of tags, and a "
    "weight of at least 0"
)


class NamedRules(NamedTuple):
    """Which class of tags takes which, None for the root, and the tags of each class."""

    pairs: tuple[tuple[str | None, str], ...]
    classes: dict[str, tuple[str, ...]]


# Rules of both sets of tags.
_PAIRS = (
    (None, "verb"),
    ("verb", "noun"),
    ("verb", "pronoun"),
    ("verb", "adverb"),
    ("verb", "verb"),
    ("noun", "adjective"),
    ("noun", "determiner"),
    ("noun", "noun"),
    ("noun", "number"),
    ("adjective", "adverb"),
)
# After Naseem et al. (2010), in whose annotation function words are heads. In that of Universal
# Dependencies they depend on content words.
NAMED_RULES = {
    "ud": NamedRules(
        (*_PAIRS, ("verb", "auxiliary"), ("noun", "preposition")),
        {
            "verb": ("VERB",),
            "auxiliary": ("AUX",),
            "noun": ("NOUN", "PROPN"),
            "pronoun": ("PRON",),
            "adverb": ("ADV",),
            "adjective": ("ADJ",),
            "determiner": ("DET",),
            "number": ("NUM",),
            "preposition": ("ADP",),
        },
    ),
    "penn": NamedRules(
        (*_PAIRS, (None, "auxiliary"), ("auxiliary", "verb"), ("preposition", "noun")),
        {
            "verb": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
            "auxiliary": ("MD",),
            "noun": ("NN", "NNS", "NNP", "NNPS"),
            "pronoun": ("PRP", "WP", "EX"),
            "adverb": ("RB", "RBR", "RBS", "WRB"),
            "adjective": ("JJ", "JJR", "JJS"),
            "determiner": ("DT", "PDT", "WDT", "PRP$", "WP$"),
            "number": ("CD",),
            "preposition": ("IN",),
        },
    ),
}
# Attachments that each rule of these counts as.
NAMED_WEIGHT = 100.0


class Rule(NamedTuple):
    """A rule in numbers."""

    heads: np.ndarray  # numbers of the heads' tags; that after the last tag for the root
    tags: np.ndarray  # numbers of the children's tags
    cells: np.ndarray  # of all attachments that it covers
    weight: float


def rules_from(known: ArcWeights, index: Mapping[Any, Any], layout: DependencyLayout) -> list[Rule]:
    """Weights of arcs in numbers; TypeError or ValueError where they are nothing of that kind."""
    weights, rules = known.weights or {}, []
    classes = {name: tuple(tags) for name, tags in (known.tag_classes or {}).items()}
    if isinstance(weights, str):
        weights = _spelled_out(weights, classes, index)
    for pair, weight in weights.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(f"arc_weights has the key {pair!r}: {_RULES_FORM}")
        if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
            raise ValueError(f"arc_weights[{pair!r}] is {weight!r}: {_RULES_FORM}")
        head, child = (classes.get(tag, tag) for tag in pair)
        tags = _places(child, pair, index)
        if head is None:
            heads = np.array([layout.n_types])
            rows = np.array([layout.n_own])
        else:
            heads, by_head = _places(head, pair, index), 2 * layout.n_valences
            rows = (by_head * heads[:, None] + np.arange(by_head)).ravel()
        cells = rows[:, None] * layout.n_types + tags
        rules.append(Rule(heads, tags, cells.ravel(), float(weight)))
    return rules


def _spelled_out(
    name: str, classes: dict[Any, tuple[Any, ...]], index: Mapping[Any, Any]
) -> dict[tuple[Any, Any], float]:
    """Weights of named rules by tags that occur; `classes` win over those of the name."""
    pairs, usual = NAMED_RULES[name]
    tags: dict[Any, tuple[Any, ...] | None] = {
        key: tuple(filter(index.__contains__, found)) for key, found in (usual | classes).items()
    }
    tags[None] = None
    weights = {
        (tags[head], tags[child]): NAMED_WEIGHT
        for head, child in pairs
        if tags[head] != () and tags[child]
    }
    if not weights:
        raise ValueError(
            f"arc_weights={name!r}: the sentences have no tags such as {', '.join(usual['verb'])}, "
            f"{', '.join(usual['noun'])}: say in ArcWeights({name!r}, tag_classes=...) which tags "
            'are "verb", "noun" ..., or give a dict'
        )
    return weights


def _places(tags: Any, pair: tuple[Any, ...], index: Mapping[Any, Any]) -> np.ndarray:
    """Numbers of a tag, or of a tuple of tags."""
    several = isinstance(tags, tuple) and tags not in index
    listed = list(dict.fromkeys(tags)) if several else [tags]
    missing = [tag for tag in listed if tag not in index]
    if missing or not listed:
        raise ValueError(
            f"arc_weights[{pair!r}]: the tags {missing} are not in the vocabulary: take tags of "
            "the sentences, and a tuple for several"
        )
    return np.array([index[tag] for tag in listed])


def rule_prior(rules: list[Rule], harmonic: np.ndarray, layout: DependencyLayout) -> np.ndarray:
    """The weight of each rule spread over its cells in proportion to harmonic counts.

    Naseem et al. (2010) for the idea of rules. Equal shares would make what the sentences hardly
    have as likely as what they are full of. Coarse rows that are of heads, too, get one half.
    """
    prior = np.zeros(layout.n_cells)
    for _, _, cells, weight in rules:
        counts = harmonic[cells]
        total = counts.sum()
        shares = counts / total if total > 0 else np.full(len(cells), 1 / len(cells))
        prior[cells] += weight * shares
    if layout.backoff == "head" and layout.coarse is not None:
        attach, _, _, coarse = tables_of(prior, layout)
        attach[:-1] /= 2
        np.add.at(coarse, layout.coarse, attach[:-1])
    return prior


def tilt_of(rules: list[Rule], n_types: int) -> np.ndarray:
    """What multiplies the chance of a head (the last is the root) in the harmonic start, by child.

    It is 1 + the largest weight of the rules.
    """
    tilt = np.ones((n_types + 1, n_types))
    for heads, tags, _, weight in rules:
        cells = np.ix_(heads, tags)
        tilt[cells] = np.maximum(tilt[cells], 1.0 + weight)
    return tilt
