"""
How far can I trust an interval?
================================

``credible_intervals`` gives lower and upper ends for every probability
(:class:`~sklearn_cvb.certainty.intervals.CredibleIntervals`). Those of VB and CVB by themselves are
too narrow; given the data they are calibrated, and as right as those of a sampler. To see it, draw
many data sets from known parameters and count how often the intervals hold the truth.
"""

# %%
# Twenty data sets of 30 sequences, two states, four symbols. Some states are known, so that states
# keep their names.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM, VBHMM, GibbsHMM, Samples, Symbols
from sklearn_cvb.plotting import algorithm_colours

settings = {
    "alpha": 1.0,
    "beta": 1.0,
    "supervision": "y",
    "emission": Symbols(vocabulary=range(4)),
    "random_state": 0,
}
models = {
    "VB": VBHMM(2, **settings),
    "CVB": CVBHMM(2, **settings),
    "CVB, calibrated": CVBHMM(2, **settings),
    "Gibbs": GibbsHMM(2, max_iter=200, samples=Samples(thin=2), **settings),
}
levels = [0.5, 0.8, 0.95]
inside = {name: np.zeros((20, 3)) for name in models}
for replication in range(20):
    rng = np.random.default_rng(replication)
    transitions, emissions = rng.dirichlet([1, 1], size=2), rng.dirichlet([1] * 4, size=2)
    states = np.zeros((30, 12), dtype=int)
    for t in range(1, 12):
        states[:, t] = rng.random(30) < transitions[states[:, t - 1], 1]
    X = np.array([[rng.choice(4, p=emissions[z]) for z in row] for row in states])
    y = [[int(z) if rng.random() < 0.3 else None for z in row] for row in states]
    for name, model in models.items():
        model.fit(X, y)
        for i, level in enumerate(levels):
            given = {} if name == "Gibbs" else {"method": "mean field"}
            if "calibrated" in name:
                given = {"X": X, "y": y, "random_state": 0}
            lower, upper = model.credible_intervals(level=level, **given).transition
            inside[name][replication, i] = ((lower < transitions) & (transitions < upper)).mean()

# %%
# A well-made interval lies on the dashed line, but for the chance of twenty data sets: bars are two
# standard errors. VB and CVB
# take states and parameters to be independent, which makes them too sure. Calibrated intervals put
# back what is missing (:doc:`/uncertainty`); :doc:`/published/coverage` has many more data sets.

fig, ax = plt.subplots(layout="constrained")
ax.plot([45, 100], [45, 100], "k--", lw=0.8)
colours = algorithm_colours(inside)
for i, (name, found) in enumerate(inside.items()):
    style = {"marker": "s^oD"[i], "capsize": 3, "color": colours[i], "label": name}
    error = 200 * found.std(axis=0, ddof=1) / np.sqrt(len(found))
    at = 100 * np.array(levels) + 0.4 * i
    ax.errorbar(at, 100 * found.mean(axis=0), error, **style)
ax.set(xlabel="level of the interval (%)", ylabel="true probabilities inside (%)")
ax.grid(alpha=0.3)
legend = ax.legend()
