"""
Which word depends on which?
============================

A dependency model learns heads from tags alone: no tree is given. The tags are those of short
sentences of a generated English (:func:`~sklearn_cvb.datasets.make_pocket_english`), whose true
heads are known.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.metrics import directed_accuracy, neutral_accuracy, undirected_accuracy

corpus = make_pocket_english(600, with_trees=True, random_state=0)
short = [i for i, words in enumerate(corpus.data) if len(words) <= 10]
# Without the full stop at the end.
X, gold = [corpus.target[i][:-1] for i in short], [corpus.heads[i][:-1] for i in short]
print(len(X), "sentences, such as", " ".join(corpus.data[short[0]]))

# %%
# Directed accuracy is the share of tokens with the right head. Undirected accuracy forgives an arc
# that points the other way. Neutral accuracy forgives what is a matter of convention, such as
# whether the auxiliary or the verb is the head. Thin lines are two standard errors.

models = {
    "EM": EMDMV(),
    "VB": VBDMV(),
    "CVB": CVBDMV(),
    "Gibbs": GibbsDMV(max_iter=200, random_state=0),
}
metrics = {
    "directed": directed_accuracy,
    "undirected": undirected_accuracy,
    "neutral": neutral_accuracy,
}
picks = np.random.default_rng(0).integers(len(X), size=(30, len(X)))
fig, ax = plt.subplots(layout="constrained")
for place, model in enumerate(models.values()):
    found = model.fit(X).labels_
    for shift, (kind, metric) in enumerate(metrics.items()):
        label = kind if place == 0 else None
        drawn = [100 * metric([gold[i] for i in p], [found[i] for i in p]) for p in picks]
        ax.bar(
            place + 0.27 * (shift - 1),
            100 * metric(gold, found),
            0.25,
            yerr=2 * np.std(drawn),
            capsize=2,
            color=f"C{shift}",
            label=label,
        )
ax.set_xticks(range(len(models)), labels=list(models))
ax.set(ylabel="accuracy (%)", ylim=(0, 100))
ax.grid(axis="y", alpha=0.3)
legend = ax.legend(ncols=3, loc="upper center")

# %%
# Chance gets few arcs right, and no model has seen one. What they make of verbs and their subjects
# differs most.
#
# Richer models, and what is known of a language, are parameters: :class:`~sklearn_cvb.Valence` says
# what attachments and stops depend on, :class:`~sklearn_cvb.ArcWeights` which tags are likely heads
# of which others.
