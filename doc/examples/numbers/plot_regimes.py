"""
When does a series change its regime?
=====================================

Returns of a share are calm for weeks, then wild. A hidden Markov model with normal emissions finds
the two regimes and says when they change. The series is drawn here, so that the true regimes are
known: both have the mean 0, and differ in variance alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM, Transitions
from sklearn_cvb.metrics import one_to_one_accuracy
from sklearn_cvb.plotting import plot_states

rng = np.random.default_rng(0)
regimes = np.repeat([0, 1, 0, 1, 0], [120, 40, 150, 60, 130])
returns = rng.normal(0, np.array([0.5, 2.0])[regimes])

# %%
# One series is a list of one array. ``sticky`` adds prior mass for staying in a state.

model = CVBHMM(
    2, emission="gaussian", n_init=5, transitions=Transitions(sticky=20), random_state=0
).fit([returns])
states = model.predict([returns])
print("standard deviations:", np.sqrt(model.covariances_).ravel().round(2))
print(f"steps in the right regime: {one_to_one_accuracy([regimes], states):.1%}")

# %%
# Bands show the regimes that the model found; the line below, how sure it is at each step.

fig, axes = plt.subplots(
    2, figsize=(6.4, 4.4), height_ratios=[2, 1], sharex=True, layout="constrained"
)
plot_states(returns, states[0], ax=axes[0])
wild = int(model.covariances_.ravel().argmax())
axes[1].plot(model.predict_proba([returns])[0][:, wild], color=f"C{wild}", label="p(wild)")
axes[1].plot(regimes, color="black", lw=0.8, ls=":", label="truth")
axes[1].set(xlabel="step", ylabel="probability")
legend = axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
