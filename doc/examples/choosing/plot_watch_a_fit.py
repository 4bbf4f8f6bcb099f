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
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for name, tagger in taggers.items():
    monitor = ScoringMonitor(scoring={"accuracy": token_accuracy_scorer})
    tagger.set_callbacks(monitor).fit(corpus.data, corpus.target)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"]
    sweeps = range(1, len(rows) + 1)
    axes[0].plot(sweeps, [100 * row["accuracy"] for row in rows], label=name)
    axes[1].plot(sweeps, tagger.history_, label=name)
    print(f"{name}: {tagger.n_iter_} sweeps, converged: {tagger.converged_}")
axes[0].set(xlabel="sweeps", ylabel="tokens tagged right (%)", title="accuracy")
axes[1].set(xlabel="sweeps", ylabel="nats", title="what each algorithm reports: history_")
legend = axes[0].legend()

# %%
# The objective rises with each sweep, the accuracy need not. Objectives of two algorithms cannot be
# compared. ``sklearn.callback.ProgressBar`` shows a bar, ``verbose=2`` prints a line a sweep, and
# Ctrl-C keeps the last finished sweep. A long fit saves itself with ``checkpoint=folder``;
# :class:`~sklearn_cvb.Checkpoint` says how often, too.
