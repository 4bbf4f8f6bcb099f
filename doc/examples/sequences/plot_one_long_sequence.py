"""
What if there is only one, long sequence?
=========================================

Collapsed inference leaves a sequence out and reads it by what all the others say. With one sequence
there are no others. So the default leaves out windows of it instead, ``update="token"`` a token at
a time. The sequence is drawn from a known model (:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

import matplotlib.pyplot as plt

from sklearn_cvb import CVBHMM, Windows, split_by_lengths
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.metrics import one_to_one_accuracy

X, Z = make_hmm_sequences(1, n_components=3, n_symbols=12, length=5000, random_state=2)

# %%
# A third way is to cut the sequence. :func:`~sklearn_cvb.split_by_lengths` cuts by a list of
# lengths, as hmmlearn has them.

pieces = split_by_lengths(X[0], [50] * 100)
gold = split_by_lengths(Z[0], [50] * 100)
settings = {"n_init": 5, "random_state": 0}
models = {
    "windows of 100": CVBHMM(3, update=Windows(100), **settings).fit(X),
    'update="token"': CVBHMM(3, update="token", **settings).fit(X),
    "cut into 100 pieces": CVBHMM(3, **settings).fit(pieces),
}
found = [
    100 * one_to_one_accuracy(gold if "cut" in name else Z, model.labels_)
    for name, model in models.items()
]

# %%
# With ``update="sequence"`` the model warns. Windows and
# pieces find the states; the token update ends in a poorer optimum here, from all of five starts.

fig, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
bars = ax.barh(list(models), found)
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.set(xlabel="steps in the right state (%)", xlim=(0, 110))
