"""
How long do states last?
========================

A machine takes turns: it heats for about twelve steps, and cools for about five. A hidden Markov
model believes that each step may be the last of its state, always with the same probability.
``Transitions(durations=...)`` learns how long visits last. The series are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM, Durations, Transitions
from sklearn_cvb.metrics import one_to_one_accuracy

rng = np.random.default_rng(0)
series, states = [], []
for _ in range(20):
    lasted = 1 + rng.poisson([11, 4] * 8)
    path = np.repeat([0, 1] * 8, lasted)[:100]
    series.append(1.5 * path + rng.normal(size=len(path)))
    states.append(path)
train, new = series[:15], series[15:]

# %%
# The values of the two states overlap widely. Who knows how long a visit lasts is not misled by a
# few odd ones. A histogram learns thirty numbers for each state from a hundred visits, and where
# states are as hard to see as here its durations fit noise; a Poisson distribution learns one.

models = {
    "a plain chain": CVBHMM(2, emission="gaussian", random_state=0),
    **{
        f"{law} durations": CVBHMM(
            2,
            emission="gaussian",
            transitions=Transitions(durations=Durations(law, longest=30)),
            random_state=0,
        )
        for law in ("histogram", "poisson")
    },
}
for name, model in models.items():
    model.fit(train)
    right = one_to_one_accuracy(states[15:], model.predict(new))
    print(f"{name}: {model.score(new):.3f} nats per step, {right:.1%} of the states right")

# %%
# What was learned of durations, beside the geometric ones of the plain chain.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), sharey=True, layout="constrained")
steps = np.arange(1, 31)
for ax, name, which in zip(axes, ("heats", "cools"), (0, -1), strict=True):
    for title, model in models.items():
        state = np.argsort(model.means_[:, 0])[which]
        stays = model.transmat_[state, state]
        lasts = (1 - stays) * stays ** (steps - 1) if stays else model.durations_[state]
        ax.plot(steps, lasts, label=title)
    ax.set(title=name, xlabel="steps")
axes[0].set_ylabel("probability")
axes[1].legend()
