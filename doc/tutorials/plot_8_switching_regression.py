"""
Switching regression
====================

What a building uses depends on the weather, and how it depends changes with what the building does:
it heats, or cools, or stands empty. In this tutorial you find such regimes, each with a regression
of its own, say how sure their slopes are, choose their number, and forecast under tomorrow's
weather.
"""

# %%
# The series
# ----------
#
# An hour a row: outside temperature, and energy in kilowatts. The data are generated, so that the
# truth is known: a heated building uses less where it is warm, a cooled one more, an empty one
# the same in any weather. Some values got lost.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
hours = np.array([90, 60, 100, 80, 40, 120, 70, 90, 50, 100])
truth = np.repeat([0, 2, 0, 1, 2, 0, 1, 2, 1, 0], hours)
temperature = 17 + 6 * np.sin(np.arange(len(truth)) * 2 * np.pi / 24)
temperature += rng.normal(0, 3, len(truth))
level, slope = np.array([75.0, 5.0, 40.0]), np.array([-1.5, 2.0, 0.0])
energy = level[truth] + slope[truth] * temperature + rng.normal(0, 3, len(truth))
series = np.column_stack([temperature, energy])
series[rng.random(series.shape) < 0.02] = np.nan

fig, (left, right) = plt.subplots(
    1, 2, figsize=(6.4, 2.8), width_ratios=[2, 1], layout="constrained"
)
left.plot(energy, lw=0.7)
left.set(xlabel="hour", ylabel="kW")
right.plot(temperature, energy, ".", ms=3)
right.set(xlabel="°C", ylabel="kW")

# %%
# A line for each regime
# ----------------------
#
# ``inputs`` names the columns that are given; all others are outputs, which follow them by a line
# in each state. An hour that lacks a value tells nothing of its state, and its state is inferred
# from its neighbours.

from sklearn_cvb import VBHMM
from sklearn_cvb.emissions import Gaussian, Regression
from sklearn_cvb.metrics import one_to_one_accuracy

settings = {"n_init": 3, "random_state": 0}
model = VBHMM(3, emission=Regression(inputs=[0]), **settings).fit([series])
states = model.predict([series])[0]
print(f"hours in the right regime: {one_to_one_accuracy([truth], [states]):.1%}")

# %%
# Slopes are in the units of the data, with intervals.

found = model.credible_intervals(level=0.95).emission
for state in np.argsort(model.coefficients_[:, 0, 0]):
    middle = model.coefficients_[state, 0, 0]
    low, high = (end[state, 0, 0] for end in found["coefficients"])
    noise = np.sqrt(model.covariances_[state, 0, 0])
    print(f"{middle:5.2f} kW a degree, between {low:5.2f} and {high:5.2f}; noise {noise:.1f} kW")

fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ends = np.array([temperature.min(), temperature.max()])
for state in range(3):
    own = states == state
    ax.plot(temperature[own], energy[own], ".", ms=3, color=f"C{state}")
    ax.plot(ends, model.intercepts_[state] + model.coefficients_[state, 0] * ends, f"C{state}")
ax.set(xlabel="°C", ylabel="kW")

# %%
# Normal emissions of both columns find regions of temperature and energy, and not lines: they mix
# the regimes where these cross.

plain = VBHMM(3, emission=Gaussian(), **settings).fit([series])
print(f"by normal emissions: {one_to_one_accuracy([truth], plain.predict([series])):.1%}")

# %%
# How many regimes?
# -----------------
#
# As for any series: by pieces that are held out. A score is the log density of outputs given
# inputs.

from sklearn.model_selection import cross_val_score

pieces, numbers = np.array_split(series, 16), range(1, 5)
scores = [
    cross_val_score(VBHMM(k, emission=Regression([0]), **settings), pieces, cv=4).mean()
    for k in numbers
]
for k, score in zip(numbers, scores, strict=True):
    print(f"{k} states: {score:.2f} nats per hour held out")

# %%
# What comes next?
# ----------------
#
# The model says what follows from the weather, and not what the weather will be: a forecast takes
# that. Here tomorrow's is known.

from sklearn_cvb.plotting import plot_forecast

tomorrow = 17 + 6 * np.sin(np.arange(len(truth), len(truth) + 24) * 2 * np.pi / 24)
inputs = tomorrow[None, :, None]
forecast = model.predict_next([series], 24, inputs=inputs, level=0.9, random_state=0)
ax = plot_forecast(series, forecast, column=1, n_last=72)
ax.set_ylabel("kW")

# %%
# Where to go from here: where a series depends on its own last values, as prices and speeds do,
# take :class:`~sklearn_cvb.emissions.AutoRegressive` emissions
# (:doc:`/auto_examples/numbers/plot_autoregression`). :doc:`/numbers` is the guide to all kinds.
