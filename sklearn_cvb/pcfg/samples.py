"""Trees that were sampled: how often each rule is used, and how often each tree was drawn."""

import numpy as np

from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.pcfg.layout import Layout

# For each sentence: rules of a tree as bytes -> how often it was drawn, and its nodes.
SeenTrees = tuple[dict[bytes, tuple[int, tuple]], ...]


def used_rules(trees: Trees, layout: Layout) -> np.ndarray:
    """How often each rule is used."""
    cells = trees.rule[trees.rule >= 0]
    return np.bincount(cells, minlength=len(layout.lhs)).astype(np.float64)


def with_trees(seen: SeenTrees | None, trees: Trees) -> SeenTrees:
    """The trees seen so far, and those of a sample; rules in pre-order tell them apart."""
    starts = trees.starts.tolist()
    if seen is None:
        seen = ({},) * (len(starts) - 1)
    after = []
    for i, trees_seen in enumerate(seen):
        here = slice(starts[i], starts[i + 1])
        key = trees.rule[here].tobytes()
        if key in trees_seen:
            times, nodes = trees_seen[key]
        else:
            times, nodes = 0, tuple(field[here].copy() for field in trees[1:])
        after.append({**trees_seen, key: (times + 1, nodes)})
    return tuple(after)


def most_frequent(seen: SeenTrees) -> Trees:
    """The tree of each sentence that was seen most often, the first among equals."""
    best = [max(trees_seen.values(), key=lambda entry: entry[0])[1] for trees_seen in seen]
    starts = np.cumsum([0] + [len(nodes[0]) for nodes in best])
    return Trees(starts, *(np.concatenate(field) for field in zip(*best, strict=True)))
