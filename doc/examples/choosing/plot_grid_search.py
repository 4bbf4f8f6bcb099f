"""
How do I choose parameters by accuracy?
=======================================

scikit-learn's ``GridSearchCV`` searches over the parameters of any model here. A tagger learns from
raw sentences and is scored on tagged ones (:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

# %%
# ``supervision="none"`` matters: the search hands the tags to ``fit`` as well, and a tagger that
# has learned from them says nothing about learning without.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_cvb import VBHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.metrics import TaggingScorer, perplexity_scorer, token_accuracy_scorer

corpus = make_pocket_english(200, random_state=0)
tagger = VBHMMTagger(pocket_english_dictionary(), supervision="none", max_iter=20, random_state=0)
grid = {"alpha": [0.01, 0.1, 1.0], "beta": [0.001, 0.01, 0.1]}
search = GridSearchCV(
    tagger,
    grid,
    scoring={"accuracy": token_accuracy_scorer, "perplexity": perplexity_scorer},
    refit="accuracy",
    cv=2,
).fit(corpus.data, corpus.target)
print(search.best_params_, f"{search.best_score_:.1%}")

# %%
# Accuracy and perplexity need not agree on what is best; dark cells are good. scikit-learn's scores
# are better when higher, so that of perplexity is negative; its sign is turned back here.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), layout="constrained")
for ax, name in zip(axes, ["accuracy", "perplexity"], strict=True):
    scores = search.cv_results_[f"mean_test_{name}"].reshape(3, 3)
    ax.imshow(scores, cmap="Blues")
    middle = (scores.min() + scores.max()) / 2
    for (i, j), value in np.ndenumerate(scores):
        colour = "white" if value > middle else "black"
        ax.text(j, i, f"{abs(value):.3g}", ha="center", va="center", color=colour)
    ax.set(title=name, xlabel="beta", ylabel="alpha")
    ax.set_xticks(range(3), labels=grid["beta"])
    ax.set_yticks(range(3), labels=grid["alpha"])

# %%
# :class:`~sklearn_cvb.metrics.TaggingScorer` makes a scorer of any function of two lists of tag
# sequences:


def macro_f1(y_true, y_pred):
    return f1_score(np.concatenate(y_true), np.concatenate(y_pred), average="macro")


scorer = TaggingScorer(macro_f1, "macro_f1")
print(cross_val_score(search.best_estimator_, corpus.data, corpus.target, cv=2, scoring=scorer))

# %%
# Other scorers: :obj:`~sklearn_cvb.metrics.many_to_one_scorer`,
# :obj:`~sklearn_cvb.metrics.one_to_one_scorer` and :obj:`~sklearn_cvb.metrics.v_measure_scorer`
# for states without names, :obj:`~sklearn_cvb.metrics.bracket_f1_scorer` and
# :obj:`~sklearn_cvb.metrics.segmentation_f1_scorer` for grammars,
# :obj:`~sklearn_cvb.metrics.directed_accuracy_scorer`,
# :obj:`~sklearn_cvb.metrics.undirected_accuracy_scorer` and
# :obj:`~sklearn_cvb.metrics.neutral_accuracy_scorer` for dependencies,
# :obj:`~sklearn_cvb.metrics.alignment_f1_scorer` for word alignment.
