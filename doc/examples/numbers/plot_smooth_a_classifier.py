"""
Must a classifier's predictions jump?
=====================================

A watch measures how an arm moves, and a classifier tells from each second by itself what its wearer
does. Whoever walks goes on walking: :class:`~sklearn_cvb.HMMSmoother` counts in the labels what
follows what, and smooths the probabilities of the classifier by it. The recordings are generated.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from sklearn_cvb import HMMSmoother

rng = np.random.default_rng(0)
names = np.array(["sit", "walk", "climb", "wash"])
means = rng.normal(size=(4, 6))
X, y = [], []
for _ in range(16):
    lengths = rng.geometric(0.03, size=12) + 5
    doing = np.repeat(rng.integers(4, size=12), lengths)
    X.append(means[doing] + 1.5 * rng.normal(size=(len(doing), 6)))
    y.append(names[doing])

# %%
# Half of the recordings are fitted to. Cross-validation over them has chosen how much a step counts
# beside its neighbours.

forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
smoother = HMMSmoother(forest, cv=4).fit(X[:8], y[:8])
print("weight", smoother.weight_, "prior weight", smoother.prior_weight_)

# %%
# In the others each step by itself, the steps so far, and all steps of the recording.

single = [smoother.estimator_.predict(x) for x in X[8:]]
causal = [smoother.classes_[table.argmax(axis=1)] for table in smoother.filter_proba(X[8:])]
smooth = smoother.predict(X[8:])
for name, found in (("single steps", single), ("so far", causal), ("all steps", smooth)):
    right = np.mean(np.concatenate(found) == np.concatenate(y[8:]))
    jumps = sum((row[1:] != row[:-1]).sum() for row in found)
    print(f"{name}: {right:.1%} right, {jumps} changes of activity")

# %%
# The first of these recordings.

rows = {"truth": y[8], "single steps": single[0], "so far": causal[0], "all steps": smooth[0]}
codes = [np.searchsorted(smoother.classes_, row) for row in rows.values()]
fig, ax = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
picture = ax.imshow(codes, aspect="auto", interpolation="nearest", cmap=plt.get_cmap("Set2", 4))
ax.set_yticks(range(4), rows)
ax.set_xlabel("second")
bar = fig.colorbar(picture, ticks=(np.arange(4) + 0.5) * 3 / 4)
bar.ax.set_yticklabels(smoother.classes_)
