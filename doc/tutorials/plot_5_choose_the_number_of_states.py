"""
Choose the number of states
===========================

Nobody tells how many hidden states there are. In this tutorial you compare four ways to find out:
sequences held out, the evidence that an algorithm reports, a criterion, and a prior that learns the
number. And you see when they disagree.
"""

# %%
# Data with a known answer
# ------------------------
#
# The sequences come from five states with twenty symbols.

from sklearn_cvb.datasets import make_hmm_sequences

X, Z = make_hmm_sequences(200, n_components=5, n_symbols=20, random_state=1)
print(len(X), "sequences of", len(X[0]), "symbols, such as", X[0][:10].tolist())

# %%
# What does not work
# ------------------
#
# The likelihood of the sequences that were learned from always rises with the number of states. It
# says nothing.

from sklearn_cvb import CVBHMM, Symbols, Transitions

settings = {"n_init": 3, "emission": Symbols(vocabulary=range(20)), "random_state": 0}
numbers = list(range(2, 10))
models = [CVBHMM(k, **settings).fit(X) for k in numbers]
print([round(model.score(X), 3) for model in models])

# %%
# Sequences held out
# ------------------
#
# ``cross_val_score`` of scikit-learn fits several times, and scores each fit on sequences that it
# has not read. This works for every algorithm, and asks what one mostly wants to know: does the
# model predict?

import numpy as np
from sklearn.model_selection import cross_val_score

held_out = np.array([cross_val_score(CVBHMM(k, **settings), X, cv=4) for k in numbers])

# %%
# Without any held out
# --------------------
#
# CVB leaves each sequence out while it reads it. Its ``loo_score_`` comes with the fit, at no cost.

leave_one_out = [model.loo_score_ for model in models]

# %%
# The error bars are standard errors over the four parts. New sequences gain nothing from more than
# five states. The leave-one-out score is optimistic, and goes on rising a little: look for its
# bend.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(layout="constrained")
error = held_out.std(axis=1, ddof=1) / 2
ax.errorbar(numbers, held_out.mean(axis=1), error, fmt="o-", capsize=3, label="held out")
ax.plot(numbers, leave_one_out, "s-", label="loo_score_")
ax.plot(numbers, [model.score(X) for model in models], "^:", label="training sequences")
ax.set(xlabel="states", ylabel="mean log-probability of a symbol (nats)")
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# The rule of one standard error takes the smallest number that is within one error of the best:

best = held_out.mean(axis=1).argmax()
within = held_out.mean(axis=1) >= held_out.mean(axis=1)[best] - error[best]
print("states:", numbers[int(np.flatnonzero(within)[0])])

# %%
# Evidence and criteria
# ---------------------
#
# VB reports a lower bound on the evidence, which charges for every state. BIC does so by a formula.
# :func:`~sklearn_cvb.selection.select_components` puts them beside held-out perplexity.

from sklearn_cvb import VBHMM
from sklearn_cvb.plotting import plot_components
from sklearn_cvb.selection import select_components

selection = select_components(VBHMM(n_init=3, random_state=0), X, numbers, random_state=0)
axes = plot_components(selection)

# %%
# They need not agree: BIC is careful, and held-out perplexity is not. Where they differ, ask what
# the states are for. To predict, a few too many do no harm. To be read by people, take the smaller
# number.

for name in ("evidence", "held-out perplexity", "BIC"):
    print(f"{name:20} {selection.best(name)}")

# %%
# Learn the number
# ----------------
#
# With ``Transitions(prior="hdp")`` the model gets more states than it needs, and leaves some empty.
# A sampler does this best: it can empty a state, which the other algorithms hardly ever do.

from sklearn_cvb import GibbsHMM

sampler = GibbsHMM(
    12, transitions=Transitions(prior="hdp"), alpha=1.0, max_iter=400, n_init=2, random_state=0
).fit(X)
print("states that hold tokens:", sampler.n_effective_components_)
print("their weights:", np.sort(sampler.state_weights_)[::-1].round(2))

# %%
# A second look
# -------------
#
# Whatever number you take, look at the states. Here the truth is known; with your own data, look at
# the most probable symbols.

from sklearn_cvb.metrics import one_to_one_accuracy

for k, model in zip(numbers, models, strict=True):
    print(
        f"{k} states: {one_to_one_accuracy(Z, model.labels_):.1%} of the steps in the right state"
    )

# %%
# Where to go from here: ``GridSearchCV`` searches over the number of states and other parameters at
# once (:ref:`sphx_glr_auto_examples_choosing_plot_grid_search.py`). :doc:`/published/wrong_models`
# has all criteria on a hundred data sets.
