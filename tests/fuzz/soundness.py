"""What holds of every fitted dependency model, word alignment and treebank grammar."""

import nltk
import numpy as np
from fuzz.arcs_links_trees import ALIGNMENTS, DEPENDENCIES
from fuzz.looks import check_drawn
from nltk import Tree

from sklearn_cvb.display import AlignedSentences, DependencyTree, PhraseTree


def check_fitted(model, call):
    """Probabilities sum to 1, and what was known is kept."""
    if call.name in DEPENDENCIES:
        _check_sums(model.rootprob_.sum(), model.attachprob_.sum(axis=-1))
        assert (model.stopprob_ >= 0).all()
        assert (model.stopprob_ <= 1).all()
        _check_heads(model.labels_, call.X, call.y if model.supervision == "y" else None)
    elif call.name in ALIGNMENTS:
        _check_sums(model.jumpprob_.sum())
        assert 0 <= model.p_null_ <= 1
        for table in model.link_proba_:
            values = np.asarray(table)[~np.isnan(table).all(axis=-1)]
            assert ((np.abs(values.sum(axis=-1) - 1) < 1e-5) | (values.sum(axis=-1) == 0)).all()
        _check_links(model.labels_, call.X, call.y if model.supervision == "y" else None, model)


def check_prediction(model, call, X, found):
    """Trees are trees over the words, links are positions of the source sentence."""
    if call.name in DEPENDENCIES:
        _check_heads(found, X, None)
    elif call.name in ALIGNMENTS:
        _check_links(found, X, None, model)
    else:
        samples = _rows_of(X) if hasattr(X, "columns") else X
        for tree, sample in zip(found, samples, strict=True):
            assert tree is None or tree.leaves() == _words_of(sample)
            if tree is not None:
                check_drawn(PhraseTree(tree))


def _check_sums(*sums):
    for total in sums:
        assert np.abs(np.asarray(total) - 1.0).max() < 1e-6, f"probabilities sum to {total}"


def _rows_of(X):
    """Sentences, whatever holds them, without padding."""
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    if getattr(values, "ndim", 1) == 2 and isinstance(values[0, 0], list):
        values = values[:, 0]
    rows = [list(row) for row in values]
    if getattr(values, "ndim", 1) == 2:
        for row in rows:
            while row and (row[-1] is None or row[-1] != row[-1]):
                row.pop()
    return rows


def _check_heads(found, X, y):
    """Projective trees with one root that hold the heads of y."""
    rows = _rows_of(X)
    for i, (heads, row) in enumerate(zip(found, rows, strict=True)):
        heads = [int(head) for head in heads][: len(row)]
        assert len(heads) == len(row)
        assert heads.count(0) == 1, f"{heads} has not one root"
        check_drawn(DependencyTree(row, heads))
        arcs = [sorted((child, head)) for child, head in enumerate(heads, 1)]
        for a, b in arcs:
            assert not any(a < c < b < d for c, d in arcs), f"{heads} is not projective"
        for child in range(1, len(heads) + 1):
            seen = set()
            while child and child not in seen:
                seen.add(child)
                child = heads[child - 1]
            assert child == 0, f"{heads} has a cycle"
        known = None if y is None else list(y)[i]
        if known is None:
            continue
        for head, given in zip(heads, known, strict=False):
            assert given is None or given != given or given == -1 or given == head


def _check_links(found, X, y, model):
    """Positions of source words, those of y among them."""
    pairs = [tuple(pair) for pair in (X.to_numpy() if hasattr(X, "to_numpy") else X)]
    unexplained = set(model.unexplained_.tolist()) if found is model.labels_ else set()
    for i, ((source, target), positions) in enumerate(zip(pairs, found, strict=True)):
        positions = [int(k) for k in positions][: len(target)]
        assert len(positions) == len(target)
        assert all(-1 <= k < len(source) for k in positions)
        check_drawn(AlignedSentences(source, target, positions))
        links = {}
        for k, j in (list(y)[i] or []) if y is not None else []:
            links.setdefault(j, set()).add(-1 if k is None else k)
        for j, sources in links.items():
            assert i in unexplained or positions[j] in sources, f"{positions} lacks {links}"


def _words_of(sample):
    """Words of a tree, of brackets, or of a sentence."""
    if isinstance(sample, str):
        sample = Tree.fromstring(sample)
    return sample.leaves() if isinstance(sample, nltk.Tree) else list(sample)
