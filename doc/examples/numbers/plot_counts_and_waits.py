"""
Which distribution for counts and waiting times?
================================================

An animal forages or rests. Observed are how many items it finds in an hour, how long it waits
between two of them, and on how many of ten visits it takes each of three foods. Held-out sequences
say which family of emissions fits. The data are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM
from sklearn_cvb.emissions import Exponential, Gamma, Multinomial, NegativeBinomial, Poisson

rng = np.random.default_rng(0)
state = np.cumsum(rng.random((20, 150)) < 0.1, axis=1) % 2
items = rng.negative_binomial(3, np.where(state, 0.2, 0.6)).astype(float)
waits = rng.gamma(4.0, np.where(state, 0.5, 2.0))
foods = rng.multinomial(10, np.array([[0.7, 0.2, 0.1], [0.2, 0.4, 0.4]])[state]).astype(float)

# %%
# Counts vary more than Poisson's: where it forages their mean is 12 and their variance 60. Waiting
# times are more even than exponential ones, most of which are short.

candidates = {
    "items: Poisson": (Poisson(), items),
    "items: NegativeBinomial(size=3)": (NegativeBinomial(size=3), items),
    "waits: Exponential": (Exponential(), waits),
    "waits: Gamma(shape=4)": (Gamma(shape=4), waits),
    "foods: three Poisson columns": (Poisson(), foods),
    "foods: Multinomial": (Multinomial(), foods),
}
scores, right = {}, {}
for name, (emission, values) in candidates.items():
    X = list(values)
    model = VBHMM(2, emission=emission, n_init=3, random_state=0).fit(X[:15])
    scores[name] = model.score(X[15:])
    found = np.concatenate(model.predict(X[15:])) == state[15:].ravel()
    right[name] = 100 * max(found.mean(), 1 - found.mean())

# %%
# The family that the data came from predicts best. Three Poisson columns lose, since they do not
# know that ten visits are ten; the states they find are the same.

fig, (left, middle) = plt.subplots(1, 2, figsize=(6.4, 3.2), sharey=True, layout="constrained")
rows = np.arange(len(scores))[::-1]
left.plot(list(scores.values()), rows, "o")
left.set(yticks=rows, yticklabels=list(scores), xlabel="held-out nats per step")
middle.plot(list(right.values()), rows, "o", color="tab:orange")
middle.set(xlabel="steps in the right state (%)")
for ax in (left, middle):
    ax.grid(alpha=0.3)
for name, score in scores.items():
    print(f"{name}: {score:.3f} nats per step, {right[name]:.1f} % right")
