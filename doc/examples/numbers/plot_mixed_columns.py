"""
What if columns are of different kinds?
=======================================

A record of a night: heart rate (a number), movements in a minute (a count), lights on or off, and
which side one lies on (a category). :class:`~sklearn_cvb.emissions.Columns` gives each column its
own kind of emission. The night is generated.
"""

import numpy as np
import pandas as pd

from sklearn_cvb import GibbsHMM
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson
from sklearn_cvb.metrics import one_to_one_accuracy
from sklearn_cvb.plotting import plot_states

rng = np.random.default_rng(0)
stage = np.repeat([0, 1, 2, 1, 2, 1, 0], [40, 60, 50, 70, 40, 50, 30])  # awake, light, deep
night = np.column_stack(
    [
        rng.normal(np.array([72.0, 62.0, 54.0])[stage], 4.0),
        rng.poisson(np.array([6.0, 1.5, 0.2])[stage]),
        rng.random(len(stage)) < np.array([0.6, 0.05, 0.01])[stage],
        [
            rng.choice(4, p=p)
            for p in np.array([[0.25] * 4, [0.1, 0.4, 0.4, 0.1], [0.7, 0.1, 0.1, 0.1]])[stage]
        ],
    ]
)
emission = Columns([(Gaussian(), [0]), (Poisson(), [1]), (Bernoulli(), [2]), (Categorical(), [3])])
model = GibbsHMM(3, emission=emission, max_iter=300, random_state=0).fit([night])
found = model.predict([night])
print(f"minutes in the right stage: {one_to_one_accuracy([stage], found):.1%}")

# %%
# ``parts_`` holds what each kind of column has learned, in the order above.

print("heart rates:", model.parts_[0]["means_"].ravel().round(1))
print("movements  :", model.parts_[1]["rates_"].ravel().round(1))

# %%
# The columns, and the stages as the model sees them, in the background.

frame = pd.DataFrame(night, columns=["heart rate", "movements", "lights", "side"])
axes = plot_states(frame, found[0])
label = axes[-1].set_xlabel("minute")
