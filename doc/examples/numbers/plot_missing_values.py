"""
How many values may be missing?
===============================

NaN stands for a value that is missing, in one column of a step or in all. Nothing is filled in:
what is missing is summed out, exactly. Two sensors watch a machine with three states; a growing
share of their values is lost. The data are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM
from sklearn_cvb.metrics import one_to_one_accuracy

rng = np.random.default_rng(0)
state = np.cumsum(rng.random((5, 200)) < 0.05, axis=1) % 3
centres = np.array([[0.0, 0.0], [2.5, 0.5], [0.5, 2.5]])
complete = rng.normal(centres[state])

# %%
# For comparison the gaps are filled with the mean of their column, as is often done.

shares = [0, 0.2, 0.4, 0.6, 0.8]
accuracies = {"NaN": [], "filled with the mean": []}
for share in shares:
    gappy = np.where(rng.random(complete.shape) < share, np.nan, complete)
    filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=(0, 1)), gappy)
    for name, values in (("NaN", gappy), ("filled with the mean", filled)):
        X = list(values)
        model = VBHMM(3, emission="gaussian", n_init=5, random_state=0).fit(X)
        accuracies[name].append(100 * one_to_one_accuracy(state, model.predict(X)))

# %%
# With two values of five missing the states are found nearly as well as with all. Means in their
# place look like a state of their own.

fig, ax = plt.subplots(layout="constrained")
for (name, values), marker in zip(accuracies.items(), "os", strict=True):
    ax.plot([100 * share for share in shares], values, marker=marker, label=name)
ax.set(xlabel="values that are missing (%)", ylabel="steps in the right state (%)", ylim=(0, 102))
ax.grid(alpha=0.3)
legend = ax.legend()
