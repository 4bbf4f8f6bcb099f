"""
What trees does a sentence have?
================================

A fitted grammar gives the most probable tree of a sentence, the next best ones, and the probability
of each constituent. The grammar knows nothing but rules; their probabilities come from a handful of
raw sentences.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBPCFG
from sklearn_cvb.display import ModelSummary, PhraseTree

grammar = """
S -> NP VP
NP -> Det N | NP PP | 'they'
VP -> V NP | VP PP
PP -> P NP
Det -> 'the' | 'a'
N -> 'duck' | 'man' | 'telescope' | 'hat'
V -> 'saw' | 'fed'
P -> 'with'
"""
text = """they saw the duck with a telescope . they fed a man with a hat .
the man with the hat fed a duck . the duck saw a hat .
they saw a man with a telescope . the man with a telescope saw the duck"""
X = [sentence.split() for sentence in text.split(".")]
model = CVBPCFG(grammar, random_state=0).fit(X)

# %%
# The two trees of a sentence, the more probable one first, with their log-probabilities:

sentence = ["they", "saw", "a", "man", "with", "a", "telescope"]
for tree, log_probability in model.parse([sentence], n_best=2)[0]:
    print(round(log_probability, 2), tree)

# %%
# The first as a picture, as :class:`~sklearn_cvb.display.PhraseTree` shows it in a notebook:

PhraseTree(model.predict([sentence])[0])

# %%
# What the model has learned, as a notebook shows it below the model, here as text:

print(ModelSummary(model))

# %%
# ``predict_proba`` has the posterior of each symbol over each span. The picture shows those of
# phrases: a cell is the span from the word of its row to that of its column.

proba = model.predict_proba([sentence])[0]
symbols = list(model.symbols_)
fig, axes = plt.subplots(1, 3, figsize=(6.4, 2.8), sharey=True, layout="constrained")
for ax, symbol in zip(axes, ["NP", "VP", "PP"], strict=True):
    # Spans end after their last word.
    table = np.asarray(proba[:, 1:, symbols.index(symbol)])
    ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
    for i, j in np.argwhere(table > 0.005):
        colour = "white" if table[i, j] > 0.5 else "black"
        ax.text(j, i, f"{table[i, j]:.2f}", ha="center", va="center", fontsize=6, color=colour)
    ax.set_title(symbol)
    ax.set_xticks(range(len(sentence)), labels=sentence, rotation=90)
    ax.set_yticks(range(len(sentence)), labels=sentence)
axes[0].set_ylabel("first word")
label = fig.supxlabel("last word")
