"""
Which shape should normal states have?
======================================

``covariance_type`` says what shapes states may have: any ellipse ("full"), one ellipse for all
("tied"), ellipses along the axes ("diag"), or circles ("spherical"). The data are measurements of
flowers, the iris data of scikit-learn, in a walk that stays with a species for ten flowers or so.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from sklearn_cvb import VBHMM
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.metrics import match_states, one_to_one_accuracy, relabel
from sklearn_cvb.plotting import plot_ellipses

iris = load_iris()
rng = np.random.default_rng(0)
species = np.cumsum(rng.random((20, 30)) < 0.1, axis=1) % 3
picked = [[rng.choice(np.flatnonzero(iris.target == kind)) for kind in row] for row in species]
X = [iris.data[row][:, [0, 1]] for row in picked]

# %%
# Four models of the two columns that hold the sepals.

models = {
    shape: VBHMM(3, emission=Gaussian(shape), n_init=5, random_state=0).fit(X)
    for shape in ("full", "tied", "diag", "spherical")
}

# %%
# Ellipses are states at one and two standard deviations. ``match_states`` and ``relabel`` give each
# species one number and colour in all panels. ``lower_bound_`` is the evidence: the
# highest one is best supported by the data. It agrees with the species here: two of them overlap,
# and what tells them apart is the order of the steps.

fig, axes = plt.subplots(2, 2, figsize=(6.4, 5.6), sharex=True, sharey=True, layout="constrained")
for ax, (shape, model) in zip(axes.ravel(), models.items(), strict=True):
    plot_ellipses(relabel(model, match_states(species, model.predict(X))), X, ax=ax)
    right = one_to_one_accuracy(species, model.predict(X))
    ax.set_title(f"{shape}: bound {model.lower_bound_:.0f}, {right:.0%} right", fontsize=10)
    ax.set(xlabel="sepal length (cm)", ylabel="sepal width (cm)")
    ax.label_outer()
