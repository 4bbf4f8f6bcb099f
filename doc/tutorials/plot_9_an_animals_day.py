"""
An animal's day
===============

A collar sends an animal's position every hour. You want to know when it feeds, when it travels, and
how it goes from one to the other. Ecologists fit hidden Markov models to step lengths and turning
angles (Morales et al. 2004); in R packages such as momentuHMM do, by maximum likelihood.
"""

# %%
# From positions to steps
# -----------------------
#
# The track is generated, so that the truth is known: short steps in all directions while the animal
# feeds, long ones straight on while it travels. Some positions were not received.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n_hours, stay = 600, [0.9, 0.85]
truth = [0]
while len(truth) < n_hours:
    truth.append(truth[-1] if rng.random() < stay[truth[-1]] else 1 - truth[-1])
truth = np.array(truth)
length = rng.gamma(np.array([1.5, 6.0])[truth], np.array([0.1, 0.15])[truth])
turn = rng.vonmises(np.array([np.pi, 0.0])[truth], np.array([0.5, 6.0])[truth])
bearing = np.cumsum(turn)
track = np.cumsum(length[:, None] * np.column_stack([np.cos(bearing), np.sin(bearing)]), axis=0)
track[rng.random(n_hours) < 0.02] = np.nan

# %%
# A step needs two positions, a turn three. What cannot be computed stays NaN, and is left out
# exactly.

east, north = np.diff(track, axis=0).T
heading = np.arctan2(north, east)
change = np.append(np.nan, np.diff(heading))
steps = pd.DataFrame({"km": np.hypot(east, north), "turn": np.angle(np.exp(1j * change))})
print(steps.describe().loc[["count", "mean", "max"]].round(2))

# %%
# Two kinds of behaviour
# ----------------------
#
# Lengths are positive: a Gamma distribution, whose shape EM learns. Turns are angles: a von Mises
# distribution, which knows that a little more than half a turn is near a little less.

from sklearn_cvb import EMHMM
from sklearn_cvb.emissions import Columns, Gamma, VonMises

emission = Columns([(Gamma(shape=None), ["km"]), (VonMises(), ["turn"])])
model = EMHMM(2, emission=emission, n_init=5, random_state=0).fit([steps])
lengths, angles = model.parts_
travels = int(np.argmax(angles["concentrations_"]))
for state, name in ((1 - travels, "feeding"), (travels, "travelling")):
    mean = (lengths["shapes_"] / lengths["rates_"])[state, 0]
    concentration = angles["concentrations_"][state, 0]
    hours = 1 / (1 - model.transmat_[state, state])
    print(
        f"{name}: {mean:.2f} km an hour, concentration of turns {concentration:.1f}, "
        f"{hours:.0f} hours at a time"
    )

# %%
# The track, with each hour in the colour of its behaviour:

from sklearn_cvb.metrics import one_to_one_accuracy

states = model.predict([steps])[0]
fig, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
for state, name in ((1 - travels, "feeding"), (travels, "travelling")):
    own = states == state
    ax.scatter(*track[1:][own].T, s=8, label=name)
ax.set(xlabel="east (km)", ylabel="north (km)", aspect="equal")
legend = ax.legend()
print(f"{one_to_one_accuracy([truth[1:]], [states]):.1%} of the hours are right")

# %%
# Does it fit?
# ------------
#
# Pseudo-residuals are standard normal where the model is right. Given the past alone they are also
# independent. A wrong family bends the second picture, behaviour that lasts in another way than a
# chain's leaves autocorrelation in the third.

from sklearn_cvb.plotting import plot_residuals

residuals = model.pseudo_residuals([steps], given="past")[0]
axes = plot_residuals(residuals, names=list(steps.columns))

# %%
# How sure is it?
# ---------------
#
# A shape has no conjugate prior, so that variational Bayes asks for a number: one near EM's does.
# Calibrated intervals then say how well 600 hours tell the parameters.

from sklearn_cvb import CVBHMM

known = Columns([(Gamma(shape=2.0), ["km"]), (VonMises(), ["turn"])])
bayes = CVBHMM(2, emission=known, n_init=5, random_state=0).fit([steps])
found = bayes.credible_intervals([steps], level=0.9, random_state=0)
for state in range(2):
    low, high = found.transition[:, state, state]
    print(f"state {state} stays with probability {low:.2f} to {high:.2f}")
