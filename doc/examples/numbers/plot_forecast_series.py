"""
What comes next in a series?
============================

``predict_next`` says what may follow, and how sure that is: it draws continuations from the fitted
model. The series switches between three levels, as the load of a machine does. It is generated.
"""

import numpy as np

from sklearn_cvb import VBHMM
from sklearn_cvb.plotting import plot_forecast

rng = np.random.default_rng(1)
levels = np.array([10.0, 40.0, 70.0])
state = np.cumsum(rng.random(400) < 0.08) % 3
load = rng.normal(levels[state], 4.0)
model = VBHMM(3, emission="gaussian", n_init=5, random_state=0).fit([load])
forecast = model.predict_next([load], n_steps=40, level=0.9, random_state=0)

# %%
# ``mean``, ``lower`` and ``upper`` have shape (series, steps, columns); ``proba`` holds the
# probability of each state.

print("next step:", forecast.mean[0, 0].round(1))
print("between  :", forecast.lower[0, 0].round(1), forecast.upper[0, 0].round(1))
print("states   :", forecast.proba[0, 0].round(2))

# %%
# At first the load is likely to stay. Later it may have gone up to the next level, so that the
# bands become wide.

ax = plot_forecast(load, forecast, n_last=80)
