"""
Does a state hold more than one kind of value?
==============================================

A state may hold more than one kind of value. ``Mixture`` gives each state several components, and
``ZeroInflated`` adds zeros that come from elsewhere, such as hours in which a counter was off.
Held-out sequences say whether that is needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM
from sklearn_cvb.emissions import Gaussian, Mixture, Poisson, ZeroInflated

rng = np.random.default_rng(0)


def two_shapes(length):
    state = np.arange(length) // 20 % 2
    centre = np.where(state, rng.choice([4.0, 7.0], length), rng.choice([-1.0, 2.0], length))
    return centre + 0.5 * rng.normal(size=length)


def broken_counter(length):
    state = np.arange(length) // 20 % 2
    return rng.poisson(np.where(state, 25, 4)) * (rng.random(length) < 0.8)


# %%
# Both kinds of data are fitted with and without, and scored on new sequences (nats per step).

cases = {
    "two shapes": (two_shapes, Gaussian("diag"), Mixture(Gaussian("diag"), 2)),
    "broken counter": (broken_counter, Poisson(), ZeroInflated(Poisson())),
}
fitted = {}
for name, (draw, plain, richer) in cases.items():
    training, new = [draw(300) for _ in range(3)], [draw(300) for _ in range(3)]
    for emission in (plain, richer):
        model = CVBHMM(2, emission=emission, n_init=3, random_state=0).fit(training)
        fitted[name] = model, training
        print(f"{name}, {type(emission).__name__}: {model.score(new):.3f}")

# %%
# ``weights_`` has the probability of each component in each state, ``mixture_`` their parameters.

for name, (model, _) in fitted.items():
    print(name, model.weights_.round(2).tolist())

# %%
# The density of each state over a histogram of the data:

model, training = fitted["two shapes"]
grid = np.linspace(-3.0, 9.0, 400)
fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.hist(np.concatenate(training), bins=60, density=True, color="0.8", label="data")
shares = np.concatenate(list(model.predict_proba(training))).mean(axis=0)
for state in range(2):
    density = np.zeros_like(grid)
    for weight, part in zip(model.weights_[state], model.mixture_, strict=True):
        mean, variance = part["means_"][state, 0], part["covariances_"][state, 0]
        normal = np.exp(-0.5 * (grid - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
        density += weight * normal
    ax.plot(grid, shares[state] * density, label=f"state {state}")
ax.set(xlabel="value", ylabel="density")
legend = ax.legend()
