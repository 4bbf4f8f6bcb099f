"""
Can the number of states be learned?
====================================

With ``Transitions(prior="hdp")`` a model gets more states than it needs, and leaves most of them
empty: a hierarchical Dirichlet process. The data are 40 sequences that circle through four states;
each state has two symbols of its own.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import GibbsHMM, Transitions

rng = np.random.default_rng(0)
states = np.cumsum(rng.random((40, 50)) < 0.3, axis=1) % 4
X = 2 * states + (rng.random((40, 50)) < 0.5)

# %%
# The same sampler with twelve states, once with the usual prior and once with the process. How
# readily the process takes another state says ``gamma`` of :class:`~sklearn_cvb.HDP`: "hdp" is
# short for ``HDP(gamma=1.0)``, and "auto" learns it.

settings = {"alpha": 1.0, "max_iter": 600, "n_init": 2, "random_state": 0}
usual = GibbsHMM(12, **settings).fit(X)
process = GibbsHMM(12, transitions=Transitions(prior="hdp"), **settings).fit(X)
print("states that hold tokens:", process.n_effective_components_)

# %%
# Each bar is the share of tokens in a state. The usual prior has no reason to empty a state; the
# process leaves four.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3), sharey=True, layout="constrained")
for ax, name, model in zip(axes, ['"dirichlet" (default)', '"hdp"'], [usual, process], strict=True):
    shares = np.bincount(np.concatenate(list(model.labels_)), minlength=12) / X.size
    ax.bar(range(12), np.sort(shares)[::-1])
    ax.set(title=f"prior={name}", xlabel="state, largest first")
axes[0].set_ylabel("share of tokens")
axes[0].set_xticks(range(0, 12, 2))
ticks = axes[1].set_xticks(range(0, 12, 2))
