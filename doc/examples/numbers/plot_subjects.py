"""
How much do subjects differ?
============================

Twelve people, forty steps of each. A table of transitions of each person alone is mostly noise; one
table for all hides what they do differently. ``Transitions(contexts=..., prior="pooled")`` draws
the tables around one that all share, and learns from the data how far they lie from it. The series
are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM, Transitions

rng = np.random.default_rng(3)
shared = np.array([[0.8, 0.2], [0.3, 0.7]])
series, truth = [], []
for person in range(12):
    own = np.array([rng.dirichlet(15.0 * row) for row in shared])
    state = np.zeros(440, int)
    for t in range(1, 440):
        state[t] = rng.random() < own[state[t - 1], 1]
    series.append(np.column_stack([3.0 * state + rng.normal(size=440), np.full(440, person)]))
    truth.append(own)
train, later = [x[:40] for x in series], [x[40:] for x in series]

# %%
# The second column says whose step it is. All three models see the same forty steps of each person,
# and are asked for the next four hundred.

settings = {"emission": "gaussian", "random_state": 0}
models = {
    "each alone": VBHMM(2, transitions=Transitions(contexts=1), **settings).fit(train),
    "pooled": VBHMM(2, transitions=Transitions(contexts=1, prior="pooled"), **settings).fit(train),
}
one = VBHMM(2, **settings).fit([x[:, :1] for x in train])
print(f"one table: {one.score([x[:, :1] for x in later]):.4f} nats per step")
for name, model in models.items():
    print(f"{name}: {model.score(later):.4f} nats per step")

# %%
# How often each person stays in the first state: pooled tables lie between what the person's own
# forty steps say and what all have in common.

fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
order = np.argsort([own[0, 0] for own in truth])
ax.plot(np.array(truth)[order, 0, 0], "_", color="black", markersize=18, label="truth")
for (name, model), marker in zip(models.items(), "xo", strict=True):
    low = int(np.argmin(model.means_[:, 0]))
    ax.plot(model.transmat_[order, low, low], marker, label=name)
ax.axhline(model.pooled_transmat_[low, low], color="0.7", zorder=0, label="shared")
ax.set(xlabel="person", ylabel="p(stay in the first state)", xticks=range(12), ylim=(0, 1))
ax.set_xticklabels(order + 1)
ax.legend(ncols=4, loc="lower center")
