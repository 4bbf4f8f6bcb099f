"""
Sequences of clicks
===================

You have visits to a shop: who clicked what, in order. In this tutorial you cut a table of events
into sequences, find the phases of a visit, see how visits end, predict the next click, and tell
buyers from others.
"""

# %%
# From events to sequences
# ------------------------
#
# A log has a row for each click. Here it is drawn at random, from visitors of two kinds: some look
# around and leave, some choose and buy.

import numpy as np

rng = np.random.default_rng(0)
phases = {
    "look": ["home", "search", "list", "product"],
    "choose": ["product", "reviews", "photos", "compare"],
    "pay": ["basket", "address", "payment"],
}
log, is_buyer = [], []
for visit in range(400):
    buyer = bool(rng.random() < 0.4)
    plan = [("look", 3), ("choose", 4), ("pay", 3)] if buyer else [("look", 5), ("choose", 1)]
    for phase, mean in plan:
        log += [(visit, str(rng.choice(phases[phase]))) for _ in range(1 + rng.poisson(mean))]
    is_buyer.append(buyer)
print(log[:5])

# %%
# A sample is a sequence: the clicks of one visit. With a frame it would be
# ``split_by(frame, by="visit", columns="page")`` (:func:`~sklearn_cvb.split_by`). Without,
# lengths will do:

from sklearn_cvb import Transitions, split_by_lengths

lengths = np.bincount([visit for visit, _ in log])
X = split_by_lengths(np.array([page for _, page in log]), lengths)
print(len(X), "visits; the first one:", " ".join(X[0]))

# %%
# Phases of a visit
# -----------------
#
# Hidden states that stand for phases. The end of a visit is an event here (``end_state``), as
# it says much.

from sklearn_cvb import CVBHMM

train, test = X[:300], X[300:]
model = CVBHMM(3, transitions=Transitions(end_state=True), n_init=10, random_state=0).fit(train)
for state in range(3):
    top = np.argsort(-model.emissionprob_[state])[:4]
    pages = ", ".join(f"{model.vocabulary_[i]} {model.emissionprob_[state, i]:.2f}" for i in top)
    print(f"state {state}: {pages}; the visit ends with probability {model.endprob_[state]:.2f}")

# %%
# As a picture: the larger the square, the more probable.

import matplotlib.pyplot as plt

from sklearn_cvb.plotting import hinton, plot_transitions

pages = model.vocabulary_.tolist()
fig, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
hinton(model.emissionprob_[:, : len(pages)], row_labels=range(3), column_labels=pages, ax=ax)

# %%
# And from which phase to which:

names = model.vocabulary_[model.emissionprob_[:, : len(pages)].argmax(axis=1)]
ax = plot_transitions(model, labels=names)

# %%
# One visit, click by click:

states = model.predict(test[:1])[0]
print(" ".join(f"{page}/{state}" for page, state in zip(test[0], states, strict=True)))

# %%
# The next click
# --------------
#
# ``predict_next_proba`` has a column for each page. What is missing to 1 is the probability that
# the visit ends.

begun = [["home", "search", "product"], ["product", "photos", "basket"]]
for clicks, proba in zip(begun, model.predict_next_proba(begun), strict=True):
    best = np.argsort(-proba)[:3]
    shown = ", ".join(f"{model.vocabulary_[i]} {proba[i]:.2f}" for i in best if i < len(pages))
    print(f"{' '.join(clicks)}: {shown}; ends {1 - proba.sum():.2f}")

# %%
# Buyers and others
# -----------------
#
# :class:`~sklearn_cvb.HMMClassifier` learns a model of each kind of visit. To be of use it has to
# know early: here it sees the first clicks alone.

from sklearn_cvb import HMMClassifier

classifier = HMMClassifier(CVBHMM(3, n_init=3, random_state=0)).fit(train, is_buyer[:300])
numbers = [1, 2, 4, 6, 8, 12]
scores = [classifier.score([visit[:n] for visit in test], is_buyer[300:]) for n in numbers]
fig, ax = plt.subplots(layout="constrained")
ax.plot(numbers, [100 * score for score in scores], "o-", label="HMMClassifier")
ax.axhline(100 * (1 - np.mean(is_buyer[300:])), color="grey", ls=":", label="nobody buys")
ax.set(xlabel="clicks seen", ylabel="visits judged right (%)")
legend = ax.legend()

# %%
# ``transform`` turns visits into a table, the share of each phase in a visit, which any other
# classifier of scikit-learn can read:

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

pipeline = make_pipeline(CVBHMM(4, n_init=3, random_state=0), LogisticRegression())
print(f"{pipeline.fit(train, is_buyer[:300]).score(test, is_buyer[300:]):.0%} of whole visits")

# %%
# Where to go from here: find kinds of visitors (next tutorial), choose the number of states
# (:doc:`plot_5_choose_the_number_of_states`), rule out steps
# (:ref:`sphx_glr_auto_examples_sequences_plot_topology.py`), and read :doc:`/hmm`.
