"""
What if the series are larger than memory?
==========================================

Sensors write a series a day. A store keeps them on the disk, and a fit reads some steps at a time,
with the numbers of a fit in memory; ``partial_fit`` learns one batch of days after the other. The
data are generated.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM, NumberStore, write_numbers

rng = np.random.default_rng(0)
means = np.array([[0.0, 1.0], [3.0, 0.0], [6.0, 4.0]])


def day(n_steps=288):
    """Temperature and load every five minutes; some values are missing."""
    state = rng.integers(0, 3, n_steps // 12).repeat(12)
    series = rng.normal(means[state], 1.0)
    series[rng.random(series.shape) < 0.02] = np.nan
    return series


# %%
# A function that gives one series after the other is written as it comes; in memory is one batch.

folder = TemporaryDirectory()
store = write_numbers(lambda: (day() for _ in range(120)), Path(folder.name) / "days")
assert isinstance(store, NumberStore)
print(store.n_tokens, "steps,", store.n_columns, "columns")
model = VBHMM(3, emission="gaussian", random_state=0).fit(store)
in_memory = VBHMM(3, emission="gaussian", random_state=0).fit(list(store))
print("the same to the last bit:", np.array_equal(model.means_, in_memory.means_))

# %%
# Days as they arrive, six at a time: each batch moves the statistics less than the one before.

online, scores = VBHMM(3, emission="gaussian", random_state=0), []
for first in range(0, 100, 6):
    online.partial_fit(store[first : first + 6])
    scores.append(online.score(store[100:]))

fig, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(6 * np.arange(1, len(scores) + 1), scores, label="partial_fit")
axes.axhline(model.score(store[100:]), color="black", ls=":", label="fit")
axes.set(xlabel="days", ylabel="nats per step, last 20 days")
axes.legend()
folder.cleanup()
