"""
Which concentration should the prior have?
==========================================

``alpha`` says how even the transitions of a state are, ``beta`` how even its emissions. With "auto"
both are learned while fitting. The data are generated
(:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM, Symbols
from sklearn_cvb.datasets import make_hmm_sequences

X, _ = make_hmm_sequences(140, n_components=5, n_symbols=30, concentration=0.2, random_state=1)
train, test = X[:40], X[40:]
settings = {
    "n_components": 5,
    "n_init": 3,
    "emission": Symbols(vocabulary=range(30)),
    "random_state": 0,
}

# %%
# Held-out perplexity for a range of ``beta``, with ``alpha=0.1``; and with both learned.

betas = np.geomspace(0.001, 3, 6)
curve = [CVBHMM(beta=beta, **settings).fit(train).perplexity(test) for beta in betas]
auto = CVBHMM(alpha="auto", beta="auto", **settings).fit(train)
print(f"learned: alpha {auto.alpha_:.2f}, beta {auto.beta_:.2f}")

# %%
# The learned value lies in the flat bottom of the curve, without a search. "auto" is short for
# ``GammaPrior(1, 1)``: who knows more of a concentration gives another
# :class:`~sklearn_cvb.GammaPrior`.

fig, ax = plt.subplots(layout="constrained")
ax.plot(betas, curve, marker="o", label="alpha=0.1, beta as given")
ax.plot([auto.beta_], [auto.perplexity(test)], "*", ms=14, label='both "auto"')
ax.set(xscale="log", xlabel="beta", ylabel="perplexity of new sequences")
ax.grid(alpha=0.3)
legend = ax.legend()
