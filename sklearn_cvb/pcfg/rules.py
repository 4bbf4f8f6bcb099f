"""Rules as symbols and words, trees as rules, and what makes a grammar useless."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sklearn_cvb.containers import samples_of, tokens_of

# The terminal that stands for every word outside the vocabulary.
UNKNOWN = "<unk>"


class Words(tuple):
    """A run of terminals on the right-hand side of a rule."""

    __slots__ = ()


class Rule(NamedTuple):
    """parent -> right: symbols by their number, runs of terminals as `Words`."""

    parent: int
    right: tuple


def as_tree(tree: Any, i: int = 0) -> Any:
    """An nltk.Tree, also from brackets; ValueError where a node has no children."""
    from nltk import Tree

    if isinstance(tree, str):
        tree = Tree.fromstring(tree)
    if not isinstance(tree, Tree):
        raise TypeError(f"tree {i} is {tree!r} of type {type(tree).__name__}: pass an nltk.Tree")
    for node in tree.subtrees():
        if not len(node):
            raise ValueError(f"tree {i} has a node {node.label()!r} without children")
    return tree


def counted_rules(trees: Iterable, start: Any) -> dict[tuple, int]:
    """How often trees use each rule (label, ((is_symbol, item), ...)); roots hang below `start`."""
    counts: dict[tuple, int] = {}
    for tree in trees:
        if tree.label() != start:
            key = (start, ((True, tree.label()),))
            counts[key] = counts.get(key, 0) + 1
        for node in tree.subtrees():
            right = tuple(
                (True, child.label()) if hasattr(child, "label") else (False, child)
                for child in node
            )
            counts[node.label(), right] = counts.get((node.label(), right), 0) + 1
    return counts


def pieces_of(X: Iterable, longest: int | None) -> dict[Words, None]:
    """All distinct runs of at most `longest` words (None: any number), in order of appearance."""
    pieces: dict[Words, None] = {}
    for i, sample in enumerate(samples_of(X)):
        # The characters of a word are its tokens here.
        sequence = sample if isinstance(sample, str) else tuple(tokens_of(sample, f"X[{i}]"))
        for begin in range(len(sequence)):
            stop = len(sequence) if longest is None else min(len(sequence), begin + longest)
            for end in range(begin + 1, stop + 1):
                pieces[Words(sequence[begin:end])] = None
    return pieces


def items_of(right: tuple, symbols: Sequence) -> tuple:
    """A right-hand side with its symbols looked up and its words one by one."""
    items: list = []
    for item in right:
        if isinstance(item, Words):
            items.extend(item)
        else:
            items.append(symbols[item])
    return tuple(items)


def number(productions: list, start: Any) -> tuple[list, int, list[Rule]]:
    """Symbols, start and rules of (label, [(is_symbol, item), ...]) pairs; start comes first."""
    numbers = {start: 0}
    for left, _ in productions:
        numbers.setdefault(left, len(numbers))
    for _, right in productions:
        for is_symbol, item in right:
            if is_symbol:
                numbers.setdefault(item, len(numbers))
    rules = []
    for left, right in productions:
        items: list[int | Words] = []
        for is_symbol, item in right:
            if is_symbol:
                items.append(numbers[item])
            elif items and isinstance(items[-1], Words):
                items[-1] = Words((*items[-1], item))
            else:
                items.append(Words((item,)))
        rules.append(Rule(numbers[left], tuple(items)))
    return list(numbers), 0, rules


def refuse(symbols: set[int], labels: Sequence, words: str) -> None:
    """Raise if there are such symbols."""
    if symbols:
        names = [labels[symbol] for symbol in sorted(symbols)]
        raise ValueError(f"symbols {names[:5]} ({len(names)} in all) {words}")


def reachable(start: int, rules: Iterable[Rule]) -> set[int]:
    """The symbols that occur in derivations from `start`."""
    below: dict[int, set[int]] = {}
    for rule in rules:
        symbols = [item for item in rule.right if not isinstance(item, Words)]
        if symbols:
            below.setdefault(rule.parent, set()).update(symbols)
    found, agenda = {start}, [start]
    while agenda:
        new = below.get(agenda.pop(), set()) - found
        found |= new
        agenda.extend(new)
    return found


def productive(rules: Iterable[Rule]) -> set[int]:
    """The symbols that derive at least one sequence of words."""
    needs: dict[int, set[frozenset[int]]] = {}
    for rule in rules:
        symbols = frozenset(item for item in rule.right if not isinstance(item, Words))
        needs.setdefault(rule.parent, set()).add(symbols)
    found: set[int] = set()
    before = -1
    while before < len(found):
        before = len(found)
        found |= {parent for parent, sides in needs.items() if any(side <= found for side in sides)}
    return found
