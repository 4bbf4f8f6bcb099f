"""
How do I look at a dependency tree?
===================================

:class:`~sklearn_cvb.display.DependencyTree` draws arcs from each head to what depends on it, in a
notebook, on a terminal, and as a file. The tree comes from a model that has learned from tags, with
the heads of some sentences known.
"""

# sphinx_gallery_thumbnail_path = "images/dependency_tree.svg"

from sklearn_cvb import VBDMV
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.display import DependencyTree
from sklearn_cvb.metrics import directed_accuracy

corpus = make_pocket_english(600, with_trees=True, random_state=0)
short = [i for i, words in enumerate(corpus.data) if 5 <= len(words) <= 10]
# Without the full stop at the end.
X, gold = [corpus.target[i][:-1] for i in short], [corpus.heads[i][:-1] for i in short]

# %%
# The heads of ten sentences are given, those of the others are None. So few sentences settle most
# questions of convention.

partly = [heads if i < 10 else None for i, heads in enumerate(gold)]
without, partly_known = VBDMV().fit(X), VBDMV().fit(X, partly)
for name, model in {"no heads known": without, "heads of ten known": partly_known}.items():
    print(
        f"{name:19} {directed_accuracy(gold[10:], model.labels_[10:]):.1%} of the heads are right"
    )

# %%
# Arcs that differ from the gold tree are red and dashed; the true ones stand below the words.

i = 12
words, tags = corpus.data[short[i]][:-1], X[i]
DependencyTree(words, partly_known.labels_[i], tags=tags, gold=gold[i])

# %%
# As text, of the model that knew no heads:

print(DependencyTree(words, without.labels_[i], tags=tags, gold=gold[i]))
