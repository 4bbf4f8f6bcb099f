"""
Which sequences belong together?
================================

:class:`~sklearn_cvb.HMMMixture` learns several hidden Markov models at once, and which of them each
sequence comes from. Here these are visits to a shop, of three kinds, which nobody labelled.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import VBHMM, HMMMixture, Transitions
from sklearn_cvb.metrics import tag_confusion

# %%
# Visits of 5 to 15 clicks (generated). All kinds see the same pages: some look for one thing and
# buy it, some compare, some read and leave. What differs is mostly the order.

rng = np.random.default_rng(0)
pages = ["home", "search", "product", "reviews", "basket"]
moves = {
    "buys": [[1, 5, 2, 0, 0], [0, 1, 6, 0, 1], [0, 1, 1, 1, 6], [0, 0, 4, 1, 2], [1, 0, 1, 0, 6]],
    "compares": [
        [1, 2, 4, 0, 0],
        [0, 1, 6, 1, 0],
        [0, 4, 1, 4, 1],
        [0, 1, 7, 1, 0],
        [1, 2, 4, 1, 1],
    ],
    "reads": [[4, 1, 1, 3, 0], [3, 1, 1, 3, 0], [2, 0, 1, 6, 0], [3, 0, 2, 5, 0], [4, 0, 1, 2, 1]],
}
visits, kinds = [], []
for kind in rng.choice(list(moves), 300):
    table = np.array(moves[kind]) / np.sum(moves[kind], axis=1, keepdims=True)
    page, clicks = 0, []
    for _ in range(rng.integers(5, 16)):
        clicks.append(pages[page])
        page = rng.choice(5, p=table[page])
    visits.append(clicks)
    kinds.append(str(kind))

# %%
# How many kinds? Up to three clusters predict held-out visits much better, and a fourth adds hardly
# anything.

phases = VBHMM(3, transitions=Transitions(end_state=True), tol=0.01)
numbers = [1, 2, 3, 4]
models = [HMMMixture(phases, n_components=n, random_state=0).fit(visits[:200]) for n in numbers]
for n, model in zip(numbers, models, strict=True):
    print(n, "clusters:", round(model.score(visits[200:]), 4), "nats per click")

# %%
# The clusters of the held-out visits beside their true kinds. A visit of five clicks does not say
# for sure what it is: ``predict_proba`` says how sure.

model = models[2]
clusters = model.predict(visits[200:])
table, rows, columns = tag_confusion([[k] for k in kinds[200:]], [[int(c)] for c in clusters])
print("cluster   ", *columns)
for kind, row in zip(rows, table, strict=True):
    print(f"{kind:10}", *row)
sure = model.predict_proba(visits[200:]).max(axis=1)
lengths = [len(visit) for visit in visits[200:]]
fig, ax = plt.subplots(layout="constrained")
ax.scatter(lengths, sure, s=12, alpha=0.6)
ax.set(
    xlabel="clicks of a visit", ylabel="probability of its most probable cluster", ylim=(0, 1.02)
)
