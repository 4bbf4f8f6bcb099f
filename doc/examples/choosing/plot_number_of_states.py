"""
How many states do my data have?
================================

:func:`~sklearn_cvb.selection.select_components` fits models with several numbers of states and puts
criteria side by side: the evidence that the algorithm reports, the perplexity of sequences held
out, AIC, BIC and ICL. The data come from four states
(:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

from sklearn_cvb import VBHMM
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.plotting import plot_components
from sklearn_cvb.selection import integrated_likelihood, select_components

X, _ = make_hmm_sequences(200, n_components=4, n_symbols=8, concentration=0.2, random_state=0)
model = VBHMM(n_init=5, random_state=0)
selection = select_components(model, X, range(1, 8), random_state=0)

# %%
# Stars mark the best values. The evidence and BIC name four states. Perplexity is nearly flat from
# four on: it says which numbers are too small.

axes = plot_components(selection)

# %%
# The result is a :class:`~sklearn_cvb.selection.ComponentSelection`; each of its criteria is a
# :class:`~sklearn_cvb.selection.Criterion`. BIC of any fitted model comes from its method ``bic``,
# ICL from :func:`~sklearn_cvb.selection.integrated_likelihood`.

for criterion in selection.criteria:
    print(f"{criterion.name:20} {criterion.unit:24} best: {selection.best(criterion.name)}")
best = model.set_params(n_components=selection.best("evidence")).fit(X)
print(f"BIC of the chosen model: {best.bic(X):.0f}, ICL: {integrated_likelihood(best, X):.0f}")
