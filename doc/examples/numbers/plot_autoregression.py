"""
Does a series go on, or turn back?
==================================

Whether a value follows the one before it, or swings to the other side, is no matter of its level:
both regimes of this series have the mean 0 and the same noise. States that depend on the last
values tell them apart, and forecast each as it goes on. The series is generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM
from sklearn_cvb.emissions import AutoRegressive
from sklearn_cvb.metrics import one_to_one_accuracy
from sklearn_cvb.plotting import plot_forecast, plot_states

rng = np.random.default_rng(1)
truth = np.repeat([0, 1, 0, 1, 0], [150, 100, 200, 120, 180])
series = np.zeros(len(truth))
for t in range(1, len(truth)):
    series[t] = [0.95, -0.7][truth[t]] * series[t - 1] + rng.normal()

# %%
# ``AutoRegressive(order)`` looks this many steps back. Normal emissions see levels alone.

right = {}
for name, emission in (("normal", "gaussian"), ("autoregressive", AutoRegressive(1))):
    model = CVBHMM(2, emission=emission, n_init=5, random_state=0).fit([series])
    states = model.predict([series])[0]
    right[name] = one_to_one_accuracy([truth], [states])
    print(f"{name}: {right[name]:.1%} of the steps in the right regime")
print("slopes:", model.coefficients_.ravel().round(2))

# %%
# A forecast begins at the last value, and goes back to the mean as fast as its regime does.

fig, axes = plt.subplots(2, figsize=(6.4, 4.6), layout="constrained")
plot_states(series, states, ax=axes[0])
ahead = model.predict_next([series], n_steps=25, level=0.8, random_state=0)
ax = plot_forecast(series, ahead, n_last=60, ax=axes[1])
