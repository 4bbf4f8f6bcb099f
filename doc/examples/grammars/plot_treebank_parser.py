"""
How do I get a parser from a treebank?
======================================

The labels of a treebank are coarse: a noun phrase before the verb is not like one behind it. Models
with latent annotations split each label into hidden subtypes while they learn. Trees come from a
small generated English (:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

import warnings

import matplotlib.pyplot as plt

from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG, VBLatentPCFG
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.metrics import bracket_f1, bracket_scores

corpus = make_pocket_english(1200, with_trees=True, random_state=0)
short = [i for i, words in enumerate(corpus.data) if len(words) <= 14]
trees = [corpus.trees[i] for i in short]
train, test = trees[:300], trees[300:350]
sentences = [tree.leaves() for tree in test]

# Some new sentences need rules that the training trees lack. They get flat trees, and a warning.
warnings.filterwarnings("ignore", message="no tree derives")

# %%
# One subtype is the treebank's own grammar. The number of subtypes is the same for all labels here;
# ``schedule="split-merge"`` finds one for each, in rounds that :class:`~sklearn_cvb.SplitAndMerge`
# describes.

numbers = [1, 2, 4]
kinds = {"EM": EMLatentPCFG, "VB": VBLatentPCFG, "CVB": CVBLatentPCFG}
curves = {
    name: [
        100
        * bracket_f1(
            test, kind(n_subtypes=n, max_iter=20, random_state=0).fit(train).predict(sentences)
        )
        for n in numbers
    ]
    for name, kind in kinds.items()
}

# %%
# 300 trees are few. CVB gains from subtypes even so; EM and VB learn them by heart.
# :doc:`/published/latent` has the same on a treebank of real text.

fig, ax = plt.subplots(layout="constrained")
for (name, values), marker in zip(curves.items(), "os^", strict=True):
    ax.plot(numbers, values, marker=marker, label=name)
ax.set(xlabel="subtypes of each label", ylabel="F1 of brackets, new sentences (%)")
ax.set_xticks(numbers)
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# A parse, in the treebank's labels:

model = CVBLatentPCFG(n_subtypes=2, max_iter=20, random_state=0).fit(train)
print(model.predict(sentences[:1])[0])
print(bracket_scores(test, model.predict(sentences)))
