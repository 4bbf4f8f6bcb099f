"""
Regimes without looking ahead
=============================

Bull or bear, calm or wild: the posterior of a regime on a day of last year, from a model that was
fitted to all days, knows how the year went on. Whoever tests a rule with it tests nothing. In this
tutorial you walk forward through a series: each day is told by a model that was fitted to earlier
days, states keep their names from refit to refit, and you see what looking ahead was worth.

.. index::
   ! single: bull bear
   ! single: label switching
   ! single: causal
   single: look-ahead
"""

# %%
# The series
# ----------
#
# Daily returns whose spread changes: generated, so that the truth is known.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 0, 1, 0, 1, 0], [180, 60, 150, 90, 140, 60, 120])
returns = np.where(truth, -0.1, 0.08) + np.where(truth, 1.8, 0.6) * rng.normal(size=len(truth))

# %%
# Walk forward
# ------------
#
# The first fit is to 200 days, and every 20 days there is another one, to all days so far. It
# begins where the last one ended, so that states keep their names. What comes back is a
# :class:`~sklearn_cvb.selection.WalkForward`.

from sklearn_cvb import EMHMM
from sklearn_cvb.selection import walk_forward

model = EMHMM(2, emission="gaussian", n_init=5, random_state=0)
walked = walk_forward(model, returns, first=200, refit_every=20)
print(walked.proba.shape, len(walked.models), "models")

# %%
# Which state is the wild one? Names are arbitrary in the first fit; ``relabel`` sorts states by
# what they emit.

from sklearn_cvb.metrics import relabel

wild = int(walked.models[0].covariances_.ravel().argmax())
causal = walked.proba[:, wild]
hindsight = relabel(model.fit([returns]), by="variances").predict_proba([returns])[0][200:, 1]

fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
days = np.arange(200, len(returns))
top.plot(days, returns[200:], lw=0.6)
top.set_ylabel("return")
bottom.fill_between(days, truth[200:], step="mid", color="0.88", label="truth")
bottom.plot(days, causal, label="at its time")
bottom.plot(days, hindsight, "--", lw=1, label="in hindsight")
bottom.set(xlabel="day", ylabel="probability of the wild regime")
bottom.legend(loc="center left")

# %%
# What looking ahead was worth
# ----------------------------

for name, chance in (("at its time", causal), ("in hindsight", hindsight)):
    print(f"{name}: {((chance > 0.5) == truth[200:]).mean():.1%} of days in the right regime")

# %%
# Is it any good?
# ---------------
#
# ``log_density`` tells how probable each return was, before it was seen: a score of forecasts one
# day ahead, to compare with others, such as one normal distribution of all returns so far.

plain = [
    -0.5 * np.log(2 * np.pi * past.var()) - (now - past.mean()) ** 2 / (2 * past.var())
    for past, now in ((returns[:t], returns[t]) for t in range(200, len(returns)))
]
print(f"regimes {walked.log_density.mean():.3f}, one normal {np.mean(plain):.3f} nats a day")

# %%
# A scaler or a filter that was fitted to the whole series looks ahead, too: put it in the walk.
# ``window`` forgets what was long ago. Where to go from here: :doc:`/forecasts`, and
# :doc:`/auto_tutorials/plot_3_regimes_in_a_series`.
