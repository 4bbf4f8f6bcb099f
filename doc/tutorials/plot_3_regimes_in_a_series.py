"""
Regimes in a series
===================

You have measurements over time, and suspect that what produces them switches between a few regimes.
In this tutorial you find the regimes of a machine, choose their number, deal with missing values,
and say what comes next.
"""

# %%
# The series
# ----------
#
# Two sensors, a value a minute: temperature and vibration. The machine rests, works, or overheats.
# The series is generated, so that the truth is known; some values got lost.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
order = [0, 1, 0, 1, 2, 1, 0, 1, 2, 0]
minutes = [60, 90, 40, 80, 25, 70, 50, 90, 30, 45]
truth = np.repeat(order, minutes)
centres = np.array([[30.0, 0.2], [55.0, 1.0], [75.0, 1.8]])
spread = np.array([[2.0, 0.05], [4.0, 0.25], [6.0, 0.3]])
series = rng.normal(centres[truth], spread[truth])
series[rng.random(series.shape) < 0.05] = np.nan

fig, axes = plt.subplots(2, figsize=(6.4, 3.4), sharex=True, layout="constrained")
for ax, column, name in zip(axes, series.T, ["temperature", "vibration"], strict=True):
    ax.plot(column, lw=0.8)
    ax.set_ylabel(name)
label = axes[1].set_xlabel("minute")

# %%
# A first model
# -------------
#
# One series is a list of one array of shape (length, columns). Missing values are NaN; nothing
# needs to be filled in, and columns need no scaling. ``n_init`` restarts keep it from a bad
# optimum. A panel of series, as sktime and aeon hold them, is cut into such a list by
# :func:`~sklearn_cvb.split_panel`.

from sklearn_cvb import CVBHMM

model = CVBHMM(3, emission="gaussian", n_init=5, random_state=0).fit([series])
print("means of temperature and vibration")
print(model.means_.round(2))

# %%
# Bands under the series are the regimes that were found.

from sklearn_cvb.plotting import plot_states

states = model.predict([series])[0]
ax = plot_states(series[:, 0], states)
labels = ax.set(xlabel="minute", ylabel="temperature")

# %%
# Here the truth is known, so that the share of minutes in the right regime can be said:

from sklearn_cvb.metrics import one_to_one_accuracy

print(f"{one_to_one_accuracy([truth], [states]):.1%}")

# %%
# How many regimes?
# -----------------
#
# With your own data nobody tells the number. Cut the series into pieces, hold some out, and see
# which number predicts them best. VB reports a bound on the evidence besides.

from sklearn.model_selection import cross_val_score

from sklearn_cvb import VBHMM

pieces = np.array_split(series, 12)
numbers = range(1, 7)
settings = {"emission": "gaussian", "n_init": 5, "random_state": 0}
held_out = [cross_val_score(VBHMM(k, **settings), pieces, cv=4).mean() for k in numbers]
bounds = [VBHMM(k, **settings).fit([series]).lower_bound_ for k in numbers]
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
axes[0].plot(numbers, held_out, "o-")
axes[0].set(xlabel="states", ylabel="nats a minute", title="pieces held out")
axes[1].plot(numbers, bounds, "o-")
axes[1].set(xlabel="states", ylabel="nats", title="lower bound on the evidence")

# %%
# Both rise steeply up to three, and are nearly flat from there. Take the smallest number that is
# nearly best.

for k, score, bound in zip(numbers, held_out, bounds, strict=True):
    print(f"{k} states: {score:.2f} nats a minute held out, bound {bound:.0f}")

# %%
# What do the regimes look like?
# ------------------------------
#
# Ellipses hold the states at one and two standard deviations. Intervals say how sure the means are.
# ``relabel`` gives the states the numbers, and so the colours, that they had above.

from sklearn_cvb.metrics import match_states, relabel
from sklearn_cvb.plotting import plot_ellipses

model = VBHMM(3, **settings).fit([series])
model = relabel(model, match_states([states], model.predict([series])))
ax = plot_ellipses(model, [series])
labels = ax.set(xlabel="temperature", ylabel="vibration")
lower, upper = model.credible_intervals([series], level=0.95, random_state=0).emission["means"]
for state in np.argsort(model.means_[:, 0]):
    low, high = lower[state, 0], upper[state, 0]
    stay = 1 / (1 - model.transmat_[state, state])
    print(
        f"state {state}: temperature between {low:.1f} and {high:.1f}, {stay:.0f} minutes at a time"
    )

# %%
# What comes next?
# ----------------

from sklearn_cvb.plotting import plot_forecast

forecast = model.predict_next([series], n_steps=60, level=0.9, random_state=0)
ax = plot_forecast(series, forecast, n_last=120)
labels = ax.set(xlabel="minute", ylabel="temperature")
hot = int(np.argmax(model.means_[:, 0]))
print(f"probability to be hot an hour from now: {forecast.proba[0, -1, hot]:.1%}")

# %%
# Watch it as it runs
# -------------------
#
# ``filter_proba`` says what is known at each minute from the minutes before it, and no later one:
# what an alarm can use.

alarm = model.filter_proba([series])[0][:, hot]
begins = int(np.flatnonzero(truth == 2)[0])
raised = begins + int(np.flatnonzero(alarm[begins:] > 0.9)[0])
print(f"overheating begins at minute {begins}, the alarm is raised at minute {raised}")
print(f"false alarms: {np.mean(alarm[truth != 2] > 0.9):.2%} of the other minutes")

# %%
# Where to go from here: :doc:`/numbers` is the guide to series, with counts, zeros and ones, and
# mixed columns. Who knows hmmlearn finds both codes side by side in :doc:`/coming_from_hmmlearn`.
