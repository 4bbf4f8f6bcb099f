"""
Kinds of visitors
=================

You have visits to a shop, and nobody said what kinds of visitors there are. In this tutorial
:class:`~sklearn_cvb.HMMMixture` finds them. You choose their number, look at what each kind does,
judge new visits while they go on, and see what a single model of all visits is better at.
"""

# %%
# Visits
# ------
#
# A sample is a visit: its clicks, in order. These are drawn at random, from four kinds of visitors
# that see the same pages. ``moves`` has what each does next; how long visits are says nothing.

import numpy as np

rng = np.random.default_rng(0)
pages = ["home", "search", "product", "reviews", "basket", "orders", "help"]
moves = {
    "buys": ["1600000", "0170010", "0210600", "0031500", "1110600", "1110201", "1110100"],
    "compares": ["0530000", "0161000", "0217000", "0270000", "0441000", "1110000", "1110000"],
    "browses": ["1340000", "2231000", "3240000", "3230000", "3120000", "2110000", "2110000"],
    "sends back": ["0000062", "1000043", "1000043", "1000043", "1000043", "1100216", "0100072"],
}
follows = {kind: np.array([list(map(float, row)) for row in rows]) for kind, rows in moves.items()}
X, kinds = [], rng.choice(list(moves), 600, p=[0.3, 0.3, 0.25, 0.15])
for kind in kinds:
    clicks = [0]
    for _ in range(rng.integers(5, 20)):
        weights = follows[kind][clicks[-1]]
        clicks.append(rng.choice(len(pages), p=weights / weights.sum()))
    X.append([pages[page] for page in clicks])
train, test = X[:400], X[400:]
print(len(train), "visits; the first one:", " ".join(train[0]))

# %%
# How many kinds?
# ---------------
#
# Each kind gets a hidden Markov model of three states, and all of them are learned together. The
# right number predicts visits that were held out: more kinds than there are find nothing that is
# in new visits, too. ``bic`` asks the same of the training visits alone (lower is better). Held-out
# visits hardly gain from a fifth kind, and BIC is lowest at four.

import matplotlib.pyplot as plt

from sklearn_cvb import VBHMM, HMMMixture

numbers = range(1, 7)
models = {
    n: HMMMixture(VBHMM(3, tol=0.01), n_components=n, random_state=0).fit(train) for n in numbers
}
held_out = [models[n].score(test) for n in numbers]
fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
left.plot(numbers, held_out, "o-")
left.set(xlabel="kinds", ylabel="held out (nats per click)")
right.plot(numbers, [models[n].bic(train) for n in numbers], "o-")
axes_labels = right.set(xlabel="kinds", ylabel="BIC")

# %%
# What each kind does
# -------------------
#
# A table of the pages that each kind opens, and of how often a click on one is followed by a click
# on another, says more than the states of its model. ``labels_`` has the kind of each visit.

model = models[4]
print("shares of the kinds:", model.weights_.round(2))
fig, axes = plt.subplots(2, 2, figsize=(6.4, 6.4), layout="constrained", sharex=True, sharey=True)
for kind, ax in enumerate(axes.flat):
    table = np.zeros((len(pages), len(pages)))
    for visit, label in zip(train, model.labels_, strict=True):
        if label == kind:
            clicks = [pages.index(page) for page in visit]
            np.add.at(table, (clicks[:-1], clicks[1:]), 1.0)
    ax.imshow(table / table.sum(), cmap="Blues", vmin=0, vmax=0.25)
    ax.set_title(f"kind {kind}: {np.mean(model.labels_ == kind):.0%} of the visits")
    ax.set_xticks(range(len(pages)), pages, rotation=90)
    ax.set_yticks(range(len(pages)), pages)
fig.supxlabel("... the next one")
label = fig.supylabel("from this page to ...")

# %%
# The visits that are surest to be of a kind are examples to show to others:

proba = model.predict_proba(train)
for kind in range(4):
    print(f"kind {kind}:", " ".join(train[proba[:, kind].argmax()][:8]))

# %%
# Here the truth is known. The adjusted Rand index is 1 where clusters are the true kinds, and 0 by
# chance.

from sklearn.metrics import adjusted_rand_score

print(f"training visits: {adjusted_rand_score(kinds[:400], model.labels_):.2f}")
print(f"new visits:      {adjusted_rand_score(kinds[400:], model.predict(test)):.2f}")

# %%
# New visits, click by click
# --------------------------
#
# ``predict_proba`` takes visits that have only begun. Its answer gets surer with every click: how
# many are needed before you may act on it?

true_kind = {kind: model.predict(train)[kinds[:400] == kind] for kind in moves}
named = {kind: np.bincount(found).argmax() for kind, found in true_kind.items()}
seen = [1, 2, 3, 4, 6, 8, 12]
begun = {n: model.predict_proba([visit[:n] for visit in test]) for n in seen}
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for kind, marker in zip(moves, "osv^", strict=True):
    of_kind = kinds[400:] == kind
    ax.plot(seen, [begun[n][of_kind, named[kind]].mean() for n in seen], marker + "-", label=kind)
ax.set(xlabel="clicks seen", ylabel="probability of the right kind", ylim=(0, 1))
legend = ax.legend(title="who really")

# %%
# Beside one model of all visits
# ------------------------------
#
# A single model with as many states may go from any of them to any other. It has no kinds to tell,
# but it predicts the next click as well or better: take a mixture to know who is there, and one
# model to know what comes next.

from sklearn_cvb import CVBHMM

for name, one in {
    "four kinds of three states": model,
    "one model of three states": models[1],
    "one model of twelve states": VBHMM(12, n_init=5, random_state=0).fit(train),
    "the same by CVB": CVBHMM(12, n_init=5, random_state=0).fit(train),
}.items():
    print(f"{name:27} {one.score(test):.4f} nats per click")

# %%
# Where to go from here: :doc:`/published/clusters` has spoken vowels and five languages,
# :ref:`classify-sequences` is for kinds that are known for some visits, and ``HMMMixture`` takes
# series of numbers as well: ``VBHMM(3, emission="gaussian")``.
