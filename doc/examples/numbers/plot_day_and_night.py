"""
Do states change otherwise by night?
====================================

An animal rests or moves about, and a collar measures how much it moves. Nobody sees its states, but
what the clock says is known: by day it goes on with what it does, by night it starts often and soon
rests again. One table of transitions mixes the two; ``Transitions(contexts=...)`` learns one for
each. The series are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM, Transitions
from sklearn_cvb.metrics import one_to_one_accuracy
from sklearn_cvb.plotting import plot_transitions

rng = np.random.default_rng(0)
truth = np.array([[[0.95, 0.05], [0.05, 0.95]], [[0.2, 0.8], [0.9, 0.1]]])
night = np.arange(24 * 7) // 12 % 2
series, states = [], []
for _ in range(20):
    state = np.zeros(len(night), int)
    for t in range(1, len(night)):
        state[t] = rng.random() < truth[night[t], state[t - 1], 1]
    series.append(np.column_stack([2.0 * state + rng.normal(size=len(night)), night]))
    states.append(state)
train, new = series[:15], series[15:]

# %%
# The clock is the second column of each series. It tells which table a step is taken by, and is not
# among the columns that states emit.

model = VBHMM(2, emission="gaussian", transitions=Transitions(contexts=1), random_state=0)
model.fit(train)
plain = VBHMM(2, emission="gaussian", random_state=0).fit([x[:, :1] for x in train])
for name, one, X in (("by the clock", model, new), ("one table", plain, [x[:, :1] for x in new])):
    right = one_to_one_accuracy(states[15:], one.predict(X))
    print(f"{name}: {one.score(X):.3f} nats per step, {right:.1%} of the states right")

# %%
# Both tables, with states from little to much movement.

order = np.argsort(model.means_[:, 0])
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), layout="constrained")
for ax, name, table in zip(axes, ("by day", "by night"), model.transmat_, strict=True):
    plot_transitions(table[np.ix_(order, order)], labels=["rests", "moves"], ax=ax)
    ax.set_title(name)
