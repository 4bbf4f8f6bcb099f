"""
Is the leave-one-out score of CVB a good guide?
===============================================

CVB reports ``loo_score_``: the mean log-probability of each training token given what is counted on
all the others. It costs nothing, and needs no sequences held out. It is optimistic, since the
others have been read with the token in mind. How well does it rank models? The data come from five
states (:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

import matplotlib.pyplot as plt

from sklearn_cvb import CVBHMM, Symbols
from sklearn_cvb.datasets import make_hmm_sequences

X, _ = make_hmm_sequences(500, n_components=5, n_symbols=20, random_state=4)
train, test = X[:150], X[150:]
numbers = range(1, 10)
loo, held_out, seen = [], [], []
for k in numbers:
    model = CVBHMM(k, n_init=5, emission=Symbols(vocabulary=range(20)), random_state=0).fit(train)
    loo.append(model.loo_score_)
    held_out.append(model.score(test))
    seen.append(model.score(train))

# %%
# The score of the training sequences rises with every state. The leave-one-out score lies below it,
# and nearer to that of new sequences, but it rises on as well, where that of new sequences falls.
# So it says which numbers are too small: look for its bend. It does not say which are too large;
# for that hold sequences out.

fig, ax = plt.subplots(layout="constrained")
for values, name, marker in (
    (seen, "training sequences", "s"),
    (loo, "leave-one-out score", "o"),
    (held_out, "new sequences", "^"),
):
    ax.plot(numbers, values, marker=marker, label=name)
ax.set(xlabel="number of states", ylabel="mean log-probability of a token (nats)")
ax.grid(alpha=0.3)
legend = ax.legend()
