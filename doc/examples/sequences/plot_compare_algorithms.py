"""
EM, VB, CVB or sampling: which predicts new sequences best?
===========================================================

Four algorithms learn the same model of hidden states. Sequences are drawn from a known model
(:func:`~sklearn_cvb.datasets.make_hmm_sequences`) with 5 states and 20 symbols. The score is the
perplexity of sequences that were held out: how many symbols the model hesitates between, on
average.
"""

import matplotlib.pyplot as plt

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Symbols
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.metrics import bits_per_token, perplexity
from sklearn_cvb.plotting import algorithm_colours

X, _ = make_hmm_sequences(400, n_components=5, n_symbols=20, random_state=0)
X_test = X[200:]
settings = {
    "n_components": 5,
    "n_init": 5,
    "emission": Symbols(vocabulary=range(20)),
    "random_state": 0,
}
models = {
    "EM": EMHMM(**settings),
    "VB": VBHMM(**settings),
    "CVB": CVBHMM(**settings),
    "Gibbs": GibbsHMM(**settings | {"n_init": 1, "max_iter": 300}),
}

# %%
# All learn from 5 to 80 sequences of 20 symbols each. ``score_samples`` gives the log-likelihood of
# each held-out sequence.

sizes = [5, 10, 20, 40, 80]
lengths = [len(x) for x in X_test]
curves = {
    name: [perplexity(model.fit(X[:n]).score_samples(X_test), lengths) for n in sizes]
    for name, model in models.items()
}
bits = bits_per_token(models["CVB"].score_samples(X_test), lengths)
print(f"CVB after {sizes[-1]} sequences: {bits:.2f} bits per symbol")

# %%
# With little data EM is sure of what it has seen by chance, and pays for it: a hollow marker on the
# upper edge is an infinite value, of a model that holds some new sequences for impossible. The
# others average over parameters. With much data all are alike.

fig, ax = plt.subplots(layout="constrained")
highest = 1000
for (name, values), colour, marker in zip(
    curves.items(), algorithm_colours(curves), "os^D", strict=True
):
    ax.plot(sizes, values, marker=marker, color=colour, label=name)
    infinite = [n for n, value in zip(sizes, values, strict=True) if value == float("inf")]
    at = [highest] * len(infinite)
    ax.plot(infinite, at, marker, color=colour, mfc="none", ms=10, clip_on=False)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="sequences to learn from",
    ylabel="perplexity of new sequences",
    ylim=(None, highest),
)
ax.set_xticks(sizes, labels=[str(n) for n in sizes])
ax.minorticks_off()
ax.set_yticks([10, 20, 50, 100, 1000], labels=["10", "20", "50", "100", "1,000"])
ax.grid(alpha=0.3)
legend = ax.legend()
