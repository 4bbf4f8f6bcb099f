"""
Have the chains converged?
==========================

A sampler never stops by itself. Several chains from different starts tell whether they have come to
the same posterior: R-hat compares the spread between them with that within them. The data are
generated (:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

import matplotlib.pyplot as plt

from sklearn_cvb import GibbsHMM, Samples
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.metrics import effective_sample_size, r_hat

X, _ = make_hmm_sequences(40, n_components=3, n_symbols=9, random_state=0)
model = GibbsHMM(3, n_init=4, max_iter=1000, samples=Samples(0), random_state=0).fit(X)
traces = model.chains_.log_joint
print("traces:", traces.shape)

# %%
# Above 1.01 the chains do not agree yet. The effective sample size is the number of independent
# draws with the same information.

checked = [50, 100, 200, 400, 1000]
for n in checked:
    part = traces[:, n // 2 : n]
    size = effective_sample_size(part)
    print(f"{n:5} sweeps: R-hat {r_hat(part):.3f}, effective sample size {size:.0f}")

# %%
# ``convergence()`` says the same of a fitted model, for all that does not depend on the names of
# states.

for name, found in model.convergence().items():
    print(name, found)

# %%
# The chains come from far below, and then mix. A chain may leave the others for a while, as one
# does here: only long traces show it.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.0), layout="constrained")
for trace in traces:
    axes[0].plot(range(1, 101), trace[:100], lw=1)
    axes[1].plot(range(500, 1000), trace[500:], lw=0.6)
axes[0].set(title="the first sweeps", xlabel="sweep", ylabel="log joint probability")
title = axes[1].set(title="the second half", xlabel="sweep")
