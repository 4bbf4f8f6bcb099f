"""Trees as users have them, of nltk: how deep they may be, and the spans of their nodes."""

import sys
from collections.abc import Sequence
from typing import Any

# Functions that call themselves for each level of a tree have fewer frames of it.
_FRAMES = 3


def refuse_deep_tree(tree: Any, name: str) -> None:
    """Raise ValueError where a tree has more levels than Python goes down."""
    n_levels, nodes, most = 0, [tree], sys.getrecursionlimit() // _FRAMES
    while nodes:
        n_levels += 1
        nodes = [child for node in nodes for child in node if hasattr(child, "label")]
    if n_levels > most:
        raise ValueError(
            f"{name} has {n_levels:,} levels, and trees are read to {most:,}: take away chains of "
            "nodes with a single child, leave it out, or raise the limit with "
            "sys.setrecursionlimit"
        )


def refuse_other_leaves(leaves: list[Any], words: Sequence[Any], i: int, hint: str = "") -> None:
    """Raise ValueError where the leaves of the tree ``y[i]`` are not the words of the sentence."""
    n, m = len(words), len(leaves)
    if n != m:
        raise ValueError(f"sentence {i} has {n} tokens but y[{i}] has {m} leaves{hint}")
    for leaf, word in zip(leaves, words, strict=True):
        if leaf != word and str(leaf) != str(word):
            raise ValueError(f"y[{i}] has the leaf {leaf!r} where sentence {i} has {word!r}")


def spans_of(tree: Any) -> list[tuple[Any, ...]]:
    """Spans (begin, end, label) of all nodes of an nltk.Tree, in pre-order."""
    spans: list[tuple[Any, ...]] = []

    def visit(node: Any, begin: int) -> int:
        if not hasattr(node, "label"):
            return begin + 1
        place = len(spans)
        spans.append(())
        end = begin
        for child in node:
            end = visit(child, end)
        spans[place] = (begin, end, node.label())
        return end

    visit(tree, 0)
    return spans
