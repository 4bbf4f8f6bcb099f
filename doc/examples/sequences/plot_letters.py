"""
Do two states find the vowels?
==============================

A famous first experiment: a hidden Markov model with two states reads letters, and knows nothing of
language. The letters are those of words of a generated English
(:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM, Symbols
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.plotting import hinton

corpus = make_pocket_english(300, random_state=0)
words = sorted({word.lower() for words in corpus.data for word in words if word.isalpha()})
X = [list(word) for word in words]
model = VBHMM(2, n_init=5, emission=Symbols(handle_unknown="error"), random_state=0).fit(X)

# %%
# Each square is the probability of a letter in a state. The letters are sorted by the state that
# they are in more often.

letters = model.vocabulary_
order = np.argsort(model.emissionprob_[0] - model.emissionprob_[1])
fig, ax = plt.subplots(figsize=(6.4, 1.6), layout="constrained")
ax = hinton(
    model.emissionprob_[:, order],
    row_labels=["state 0", "state 1"],
    column_labels=letters[order],
    ax=ax,
)

# %%
# One state has the vowels and "y", the other one the consonants. The steps between them alternate:

print(model.transmat_.round(2))
for word, states in zip(
    ["strawberry", "syllable"], model.predict([list("strawberry"), list("syllable")]), strict=True
):
    print(word, states)
