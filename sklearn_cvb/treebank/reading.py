"""Gold trees of a treebank: read from X or y, checked, cleaned of traces and function tags."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.messages import how_many_alike
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Sequences, Table
from sklearn_cvb.reading.trees import refuse_deep_tree, refuse_other_leaves

_FORM = "y holds a tree for each sentence, an nltk.Tree or a tree in brackets: '(S (X a) (X b))'"

# The label of what only holds a trace.
TRACE = "-NONE-"
# Function tags of the English and Chinese Penn treebanks (Bies et al. 1995; Xue et al. 2005).
_FUNCTIONS = (
    "ADV|APP|BNF|CLF|CLR|CND|DIR|DTV|ETC|EXT|FOC|HLN|IJ|IMP|IO|LGS|LOC|MNR|NOM|OBJ|PN|PRD|PRP|PUT|"
    "Q|SBJ|SEZ|SHORT|TMP|TPC|TTL|UNF|VOC|WH"
)
# What Penn treebanks write: a label, function tags and indices, and another label it could be.
# Other treebanks have labels of their own with these marks.
_PENN = re.compile(rf"([^-=|]+)(?:[-=](?:{_FUNCTIONS}|\d+))*(?:\|[A-Z]+)?")


class GoldTrees(NamedTuple):
    """Sentences and their trees, cleaned."""

    trees: list[Any]  # leaves are words as the sentences have them
    top_label: Any  # a label that stood above each of them, and nowhere else


def bare_label(label: str) -> str:
    """A label without what Penn treebanks add to it: NP-SBJ-1 becomes NP; -LRB-, v-fin stay."""
    found = _PENN.fullmatch(label)
    return found[1] if found else label


def is_tree(value: Any) -> bool:
    """Whether a value is an nltk.Tree, or a text in brackets."""
    return hasattr(value, "label") or (isinstance(value, str) and value.lstrip().startswith("("))


def are_trees(X: Any) -> bool:
    """Whether X is a collection of trees; the first sample tells."""
    if is_tree(X) or isinstance(X, Table) or reading.is_table(X):
        return False
    items = reading.as_list(X)
    return items is not None and len(items) > 0 and is_tree(items[0])


def trees_in(samples: Any, name: str) -> list[Any]:
    """A collection of trees, cleaned; `name` is what messages call it."""
    return _for_each_sample(
        reading.samples_of(samples), lambda i, tree: clean_tree(tree, f"{name}[{i}]")
    )


def _for_each_sample(samples: list[Any], make: Callable[[int, Any], Any]) -> list[Any]:
    """Results of all samples; ValueError for the first that is wrong, which counts the others."""
    results, errors = [], {}
    for i, sample in enumerate(samples):
        try:
            results.append(make(i, sample))
        except ValueError as error:
            errors[i] = error
    if errors:
        first = next(iter(errors.values()))
        raise ValueError(
            f"{first}{how_many_alike(list(errors), len(samples), 'trees are wrong')}"
        ) from None
    return results


def sentences_in(trees: list[Any]) -> Sequences:
    """The leaves of trees."""
    return reading.read_ragged([tree.leaves() for tree in trees])


def tags_in(trees: list[Any]) -> list[Any]:
    """The label above each leaf of trees."""
    return [tag for tree in trees for _, tag in tree.pos()]


def clean_tree(given: Any, name: str) -> Any:
    """A tree without traces, function tags and indices, and without nltk's unlabelled top node.

    Raises TypeError if it is no tree, and ValueError if it has no words, a node without children,
    or brackets that do not match.
    """
    from nltk import Tree

    if isinstance(given, str):
        try:
            given = Tree.fromstring(given)
        except ValueError as error:
            raise ValueError(f"{name} is no tree in brackets: {error}") from None
    if not isinstance(given, Tree):
        raise TypeError(f"{name} is {reading.short_repr(given)}: {_FORM}")
    refuse_deep_tree(given, name)
    tree = _without_traces(given, name)
    if tree is None:
        raise ValueError(f"{name} has no words but traces: leave it out")
    while tree.label() == "" and len(tree) == 1 and isinstance(tree[0], Tree):
        tree = tree[0]
    return tree


def _without_traces(tree: Any, name: str) -> Any:
    """A cleaned copy, None if nothing is left."""
    label = tree.label()
    if not len(tree):
        raise ValueError(f"{name} has a node {label!r} without children: give it a word, or none")
    if label == TRACE:
        return None
    children = []
    for child in tree:
        if hasattr(child, "label"):
            child = _without_traces(child, name)
            if child is None:
                continue
        elif reading.is_missing(child):
            raise ValueError(f"{name} has no word but NaN or None below {label!r}: put a word")
        children.append(child)
    bare = bare_label(label) if isinstance(label, str) else label
    return type(tree)(bare, children) if children else None


def gold_trees_from(y: Any, sequences: Sequences) -> GoldTrees:
    """The tree of each sentence, or for a 2-D X of each row its label, which is a flat tree."""
    lengths = np.diff(sequences.starts)
    given = reading.known_of(y, lengths, sequences.width, _FORM)
    of_rows = sequences.width is not None and not any(map(is_tree, given))

    def tree_of(i: int, known: Any) -> Any:
        words = sequences.tokens[sequences.starts[i] : sequences.starts[i + 1]]
        tree = _flat_tree(known, i, words) if of_rows else clean_tree(known, f"y[{i}]")
        return _with_leaves(tree, i, words)

    return without_top(_for_each_sample(given, tree_of))


def _flat_tree(label: Any, i: int, words: list[Any]) -> Any:
    """A class label as a tree: the root of a row's flat tree."""
    from nltk import Tree

    if reading.is_missing(label) or not np.isscalar(label):
        raise ValueError(
            f"Input y contains NaN or no label: y[{i}] is {reading.short_repr(label)}; {_FORM}"
        )
    if isinstance(label, float | np.floating) and not np.isfinite(label):
        raise ValueError(f"Input y contains infinity: y[{i}] is {label}; {_FORM}")
    return Tree(label.item() if isinstance(label, np.generic) else label, words)


def _with_leaves(tree: Any, i: int, words: list[Any]) -> Any:
    """The tree with the words of its sentence for leaves, which must be the same."""
    leaves = tree.leaves()
    refuse_other_leaves(leaves, words, i, "; traces (-NONE-) are no tokens")
    replaced = iter(words)

    def visit(node: Any) -> Any:
        children = [visit(c) if hasattr(c, "label") else next(replaced) for c in node]
        return type(node)(node.label(), children)

    return tree if leaves == words else visit(tree)


def without_top(trees: list[Any]) -> GoldTrees:
    """Take off a label that stands above every tree's only child, and nowhere else: TOP, ROOT."""
    top = trees[0].label()
    for tree in trees:
        if tree.label() != top or len(tree) > 1 or not hasattr(tree[0], "label"):
            return GoldTrees(trees, None)
        if any(node.label() == top for node in tree[0].subtrees()):
            return GoldTrees(trees, None)
    return GoldTrees([tree[0] for tree in trees], top)
