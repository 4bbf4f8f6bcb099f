"""
Does the model draw data like mine?
===================================

A likelihood says which of two models is better, not whether either is any good.
:func:`~sklearn_cvb.metrics.simulated_check` draws many data sets from a fitted model and asks how
far out the real ones are among them, by any statistic that matters.
"""

import numpy as np

from sklearn_cvb import EMHMM
from sklearn_cvb.metrics import simulated_check
from sklearn_cvb.plotting import plot_simulated_check

# %%
# A machine that is idle or busy, for times that are all about as long (generated). States of a
# hidden Markov model last for geometric times: many are short, some are very long.

rng = np.random.default_rng(0)
durations = 20 + rng.poisson(5, size=40)
busy = np.repeat(np.arange(40) % 2, durations)
load = rng.normal(np.where(busy, 50.0, 10.0), 5.0)
model = EMHMM(2, emission="gaussian", random_state=0).fit([load])

# %%
# Two statistics: how many per cent of the steps are busy, and how much the lengths of busy times
# vary, as a share of their mean.


def statistics(X):
    is_busy = X[0] > 30
    changes = np.flatnonzero(np.diff(is_busy))
    lengths = np.diff(changes)
    return 100 * is_busy.mean(), lengths.std() / lengths.mean()


found = simulated_check(model, [load], statistics, n_simulations=300, random_state=0)
print("observed:", found.observed.round(2))
print("p-value :", found.p_value.round(3))

# %%
# The model draws the right share of busy steps. But its busy times vary far too much: these states
# are not left by chance.

axes = plot_simulated_check(found, names=["busy steps (%)", "spread of durations"])
