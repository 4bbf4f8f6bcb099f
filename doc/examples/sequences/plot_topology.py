"""
How do I rule out steps between states?
=======================================

``transitions`` says which state may follow which: "left-right" for processes that never go back,
"independent" for a mixture whose states follow nothing, or any table of True and False. The data
are the clicks of visits to a shop: looking around, then choosing, then paying.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM, Symbols
from sklearn_cvb.plotting import hinton, plot_state_sequences, plot_transitions

stages = [
    ["search", "list", "product"],
    ["product", "reviews", "basket"],
    ["basket", "address", "payment"],
]
rng = np.random.default_rng(0)
X = [
    [str(rng.choice(stage)) for stage in stages for _ in range(1 + rng.poisson(4))]
    for _ in range(100)
]
print(" ".join(X[0]))

# %%
# Four models of the same clicks. A table has True in row i and column j where state j may follow
# state i: here a state stays, or moves to the next one.

table = np.eye(3, dtype=bool) | np.eye(3, k=1, dtype=bool)
settings = {"n_init": 5, "emission": Symbols(handle_unknown="error"), "random_state": 1}
models = {
    "full": CVBHMM(3, **settings).fit(X),
    "independent": CVBHMM(3, transitions="independent", **settings).fit(X),
    "left-right": CVBHMM(3, transitions="left-right", **settings).fit(X),
    "a table": CVBHMM(3, transitions=table, **settings).fit(X),
}

# %%
# Squares are transition probabilities from a row's state to a column's. Only what is ruled out is
# exactly zero. The score says how well each explains the clicks: the mixture, which knows no order,
# is worse than the others.

fig, axes = plt.subplots(2, 2, figsize=(6.4, 5.6), layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    hinton(model.transmat_, row_labels=range(3), column_labels=range(3), largest=1.0, ax=ax)
    ax.set_title(f"{name}\n{model.score(X):.3f} nats a click", fontsize=10)

# %%
# As a graph, with the most frequent click of each state:

model = models["left-right"]
names = model.vocabulary_[model.emissionprob_.argmax(axis=1)]
ax = plot_transitions(model, threshold=0.02, labels=names)

# %%
# What it makes of the first visits, from left to right:

ax = plot_state_sequences(model.predict(X[:30]), labels=names)
