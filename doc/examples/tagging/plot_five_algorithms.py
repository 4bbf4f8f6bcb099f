"""
Which algorithm tags best from a dictionary?
============================================

A tagger may learn from raw sentences and a dictionary that lists the tags of each word. Nobody tags
a sentence by hand. Here five algorithms read the same 500 sentences of a small generated English
(:func:`~sklearn_cvb.datasets.make_pocket_english`). 44 % of its tokens have more than one tag in
the dictionary. The gold tags are used to score, never to learn.
"""

# %%
# A callback of scikit-learn scores each model after every sweep. ``supervision="none"`` keeps the
# gold tags, which ``fit`` needs for the score, out of the learning.

from sklearn.callback import ScoringMonitor

from sklearn_cvb import CVBHMMTagger, EMHMMTagger, GibbsHMMTagger, TagDictionary, VBHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.metrics import token_accuracy_scorer
from sklearn_cvb.plotting import plot_accuracy

corpus = make_pocket_english(500, random_state=0)
dictionary = pocket_english_dictionary()
settings = {
    "supervision": "none",
    "tag_dictionary": TagDictionary(dictionary, denoise="none"),
    "max_iter": 50,
    "random_state": 0,
}
all_sweeps = {**settings, "tol": 0}
taggers = {
    "EM": EMHMMTagger(**all_sweeps),
    "VB": VBHMMTagger(**all_sweeps),
    "CVB, token": CVBHMMTagger(update="token", **all_sweeps),
    "CVB, sequence": CVBHMMTagger(**all_sweeps),
    "Gibbs": GibbsHMMTagger(**settings),
}
curves = {}
for name, tagger in taggers.items():
    monitor = ScoringMonitor(scoring={"accuracy": token_accuracy_scorer})
    tagger.set_callbacks(monitor).fit(corpus.data, corpus.target)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"]
    curves[name] = range(1, len(rows) + 1), [row["accuracy"] for row in rows]
    print(f"{name:14} {rows[-1]['accuracy']:.3f}")

# %%
# Both kinds of collapsed variational Bayes (CVB) are ahead of EM and VB after a few sweeps, and
# stay there. The sampler cools down over its sweeps. Fifty are few for it; with some hundreds it
# comes close to CVB.

ax = plot_accuracy(curves)
