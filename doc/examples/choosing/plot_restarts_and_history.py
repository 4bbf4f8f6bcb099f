"""
How many restarts, and how many sweeps?
=======================================

All algorithms but sampling climb to a nearby optimum, and the start decides which one. ``n_init``
tries several starts and keeps the best. The data are generated
(:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

import matplotlib.pyplot as plt

from sklearn_cvb import VBHMM
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.metrics import one_to_one_accuracy
from sklearn_cvb.plotting import plot_history, plot_restarts

X, Z = make_hmm_sequences(80, n_components=6, n_symbols=12, random_state=0)
model = VBHMM(6, n_init=20, max_iter=300, random_state=0).fit(X)
print("sweeps of the best restart:", model.n_iter_, "converged:", model.converged_)
print(f"in the right state: {one_to_one_accuracy(Z, model.labels_):.1%}")

# %%
# Each line is a restart, the dot its end. Several plateaus are optima that a restart may be caught
# in; some wait long before they climb on, so that a few sweeps more may be worth more than another
# restart.

ax = plot_restarts(model)

# %%
# ``warm_start=True`` goes on where the last fit has ended, random numbers included. Two fits of 20
# sweeps are one of 40.

settings = {"n_components": 6, "tol": 0, "random_state": 0}
whole = VBHMM(max_iter=40, **settings).fit(X)
parts = VBHMM(max_iter=20, warm_start=True, **settings)
fig, ax = plt.subplots(layout="constrained")
plot_history(whole, ax=ax)
begin = 0
for name in ("first fit", "second fit"):
    history = parts.fit(X).history_
    ax.plot(range(begin + 1, begin + 21), history[-20:], "o", ms=4, label=name)
    begin += 20
legend = ax.legend()
