"""
How long will a sequence be?
============================

A hidden Markov model says nothing about where a sequence ends, unless
``Transitions(end_state=True)`` makes the end an event with a probability after each state. The data
are visits to a shop: short ones that end at once, long ones that end in a purchase.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import EMHMM, Symbols, Transitions

rng = np.random.default_rng(0)
short = [["home", *["search"] * int(rng.integers(0, 2))] for _ in range(150)]
long = [["home", *["product"] * int(rng.integers(4, 9)), "pay"] for _ in range(100)]
X = short + long
settings = {
    "transitions": Transitions(end_state=True),
    "emission": Symbols(handle_unknown="error"),
    "n_init": 10,
    "random_state": 0,
}
model = EMHMM(5, **settings).fit(X)
for state in np.argsort(-model.endprob_):
    word = model.vocabulary_[model.emissionprob_[state].argmax()]
    print(f"state {state}, mostly {word!r}: ends with probability {model.endprob_[state]:.2f}")

# %%
# ``sample(length=None)`` draws sequences that end by themselves. The model has found both kinds of
# visits. The time that is spent in one state falls off evenly, so that five states spread the long
# visits too far. With more states their lengths come out better.

larger = EMHMM(14, **settings).fit(X)
fig, ax = plt.subplots(layout="constrained")
bins = np.arange(0.5, 20)
ax.hist([len(x) for x in X], bins=bins, density=True, alpha=0.4, label="data")
for drawn_from in (model, larger):
    drawn = drawn_from.sample(2000, length=None, random_state=0)[0]
    label = f"drawn, {drawn_from.n_components} states"
    ax.hist([len(x) for x in drawn], bins=bins, density=True, histtype="step", lw=2, label=label)
ax.set(xlabel="clicks in a visit", ylabel="share of visits")
legend = ax.legend()
