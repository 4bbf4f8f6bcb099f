"""
How do I get a parser from a treebank?
======================================

The labels of a treebank are coarse: a noun phrase before the verb is not like one behind it. Models
with latent annotations split each label into hidden subtypes while they learn. Trees come from a
small generated English (:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG, VBLatentPCFG
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.metrics import bracket_f1, bracket_scores
from sklearn_cvb.plotting import algorithm_colours

corpus = make_pocket_english(1200, with_trees=True, random_state=0)
short = [i for i, words in enumerate(corpus.data) if len(words) <= 14]
trees = [corpus.trees[i] for i in short]
train, test = trees[:300], trees[300:500]
sentences = [tree.leaves() for tree in test]

# Some new sentences need rules that the training trees lack. They get flat trees, and a warning.
warnings.filterwarnings("ignore", message="no tree derives")

# %%
# One subtype is the treebank's own grammar. The number of subtypes is the same for all labels here;
# ``schedule="split-merge"`` finds one for each, in rounds that :class:`~sklearn_cvb.SplitAndMerge`
# describes.

numbers = [1, 2, 4]
kinds = {"EM": EMLatentPCFG, "VB": VBLatentPCFG, "CVB": CVBLatentPCFG}
parses = {
    name: [
        kind(n_subtypes=n, max_iter=20, random_state=0).fit(train).predict(sentences)
        for n in numbers
    ]
    for name, kind in kinds.items()
}

# %%
# 300 trees are few, and so are 200 to judge by: bars are two standard errors.
# :doc:`/published/latent` has the same on a treebank of real text.

rng = np.random.default_rng(0)
picks = rng.integers(len(test), size=(30, len(test)))
fig, ax = plt.subplots(layout="constrained")
colours = algorithm_colours(parses)
for shift, (name, found) in enumerate(parses.items()):
    style = {"fmt": "o-", "capsize": 3, "color": colours[shift], "label": name}
    drawn = [
        [100 * bracket_f1([test[i] for i in pick], [trees[i] for i in pick]) for pick in picks]
        for trees in found
    ]
    values = [100 * bracket_f1(test, trees) for trees in found]
    places = np.array(numbers) + 0.05 * shift
    ax.errorbar(places, values, 2 * np.std(drawn, axis=1), **style)
ax.set(xlabel="subtypes of each label", ylabel="F1 of brackets, new sentences (%)")
ax.set_xticks(numbers)
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# A parse, in the treebank's labels:

model = CVBLatentPCFG(n_subtypes=2, max_iter=20, random_state=0).fit(train)
print(model.predict(sentences[:1])[0])
print(bracket_scores(test, model.predict(sentences)))
