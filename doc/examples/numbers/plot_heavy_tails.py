"""
What if a few values are far off?
=================================

A sensor that fails now and then, a typing error: a few values lie far from all others. Normal
emissions take them for a regime of their own, and lose one of the true ones. Student's t emissions
expect such values in every state. The series is generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import EMHMM, VBHMM
from sklearn_cvb.emissions import StudentT
from sklearn_cvb.metrics import one_to_one_accuracy
from sklearn_cvb.plotting import plot_states

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 0, 1, 0], [60, 40, 80, 50, 70])
series = 4.0 * truth + rng.normal(size=len(truth))
far = rng.choice(len(truth), 8, replace=False)
series[far] += rng.choice([-30.0, 30.0], 8)

# %%
# Both have two states.

fig, axes = plt.subplots(2, figsize=(6.4, 4.6), sharex=True, layout="constrained")
names = {"gaussian": "normal", "student": "Student's t"}
for ax, (emission, name) in zip(axes, names.items(), strict=True):
    model = VBHMM(2, emission=emission, random_state=0).fit([series])
    states = model.predict([series])[0]
    right = one_to_one_accuracy([truth], [states])
    print(
        f"{name}: {right:.1%} of the steps in the right regime, score {model.score([series]):.3f}"
    )
    ax = plot_states(series, states, ax=ax)
    ax.set(title=name, ylim=(-12, 16))

# %%
# How heavy the tails are is a setting, ``degrees_of_freedom``, which EM can learn:

model = EMHMM(2, emission=StudentT(None), random_state=0).fit([series])
for name in ("locations_", "scales_", "degrees_of_freedom_"):
    print(name, getattr(model, name).ravel().round(1))
