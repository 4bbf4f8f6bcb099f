"""
How do I watch and stop a fit?
==============================

Models take scikit-learn's callbacks: every restart and every sweep is a task. ``ScoringMonitor``
scores the model after each sweep. The sentences come from a generated English
(:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

import matplotlib.pyplot as plt
from sklearn.callback import ScoringMonitor

from sklearn_cvb import EMHMMTagger, TagDictionary, VBHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.metrics import token_accuracy_scorer
from sklearn_cvb.plotting import algorithm_colours

corpus = make_pocket_english(300, random_state=0)
dictionary = pocket_english_dictionary()

# %%
# ``max_iter`` and ``tol`` say when a fit stops: when a sweep brings less than ``tol``. The first
# tagger stops by itself, the second does all its sweeps.

settings = {
    "supervision": "none",
    "tag_dictionary": TagDictionary(dictionary, denoise="none"),
    "random_state": 0,
}
taggers = {
    "VB, stops by itself": VBHMMTagger(**settings),
    "EM, 60 sweeps": EMHMMTagger(max_iter=60, tol=0, **settings),
}
fig, axes = plt.subplot_mosaic("AA;01", figsize=(6.4, 5.0), layout="constrained")
colours = algorithm_colours(taggers)
for i, (name, tagger) in enumerate(taggers.items()):
    monitor = ScoringMonitor(scoring={"accuracy": token_accuracy_scorer})
    tagger.set_callbacks(monitor).fit(corpus.data, corpus.target)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"]
    sweeps = range(1, len(rows) + 1)
    axes["A"].plot(sweeps, [100 * row["accuracy"] for row in rows], color=colours[i], label=name)
    axes[str(i)].plot(sweeps, tagger.history_, color=colours[i])
    axes[str(i)].set(xlabel="sweeps", ylabel="history_ (nats)", title=name[:2])
    print(f"{name}: {tagger.n_iter_} sweeps, converged: {tagger.converged_}")
axes["A"].set(ylabel="tokens tagged right (%)", title="accuracy")
legend = axes["A"].legend()

# %%
# The objective rises with each sweep, the accuracy need not. Objectives of two algorithms cannot be
# compared, so that each has an axis of its own. ``sklearn.callback.ProgressBar`` shows a bar,
# ``verbose=2`` prints a line per sweep, and Ctrl-C keeps the last finished sweep. A long fit saves
# itself with ``checkpoint=folder``; :class:`~sklearn_cvb.Checkpoint` says how often, too.
