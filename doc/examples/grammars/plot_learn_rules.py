"""
How likely is each rule of a grammar?
=====================================

You write the rules, the probabilities are learned from raw sentences. Here sentences are drawn from
a small grammar with known probabilities (:func:`~sklearn_cvb.datasets.make_pcfg_corpus`); five
algorithms see the rules and the sentences, never a tree.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, GibbsPCFG, Grammar, HastingsPCFG
from sklearn_cvb.datasets import make_pcfg_corpus
from sklearn_cvb.metrics import bracket_scores, tree_perplexity
from sklearn_cvb.plotting import algorithm_colours

truth = Grammar.from_text(
    """
    S -> NP VP [1.0]
    NP -> Det N [0.5] | NP PP [0.2] | 'they' [0.3]
    VP -> V NP [0.6] | VP PP [0.3] | 'slept' [0.1]
    PP -> P NP [1.0]
    Det -> 'the' [0.7] | 'a' [0.3]
    N -> 'duck' [0.4] | 'man' [0.4] | 'telescope' [0.2]
    V -> 'saw' [0.6] | 'fed' [0.4]
    P -> 'with' [0.6] | 'near' [0.4]
    """
)
X, trees = make_pcfg_corpus(truth, 300, longest=15, random_state=0)
rules = Grammar(truth.symbols, truth.start, truth.rules)  # without probabilities

# %%
# Is it the man or the seeing that is "with a telescope"? A sentence like this has several trees.
# The scores compare the trees that each model finds with those that the sentences were drawn with.
# EM can also learn after every few sentences: ``update=``:class:`~sklearn_cvb.MiniBatches`, in
# steps that :class:`~sklearn_cvb.StepSizes` describes.

settings = {"random_state": 0}
models = {
    "EM": EMPCFG(rules, **settings),
    "VB": VBPCFG(rules, **settings),
    "CVB": CVBPCFG(rules, **settings),
    "Hastings": HastingsPCFG(rules, max_iter=200, **settings),
    "Gibbs": GibbsPCFG(rules, max_iter=200, **settings),
}
for name, model in models.items():
    model.fit(X)
    scores = bracket_scores(trees, model.labels_)
    fitted = tree_perplexity(model.grammar_, trees)
    print(f"{name:9} F1 {scores.f1:.3f}, exact {scores.exact:.3f}, perplexity {fitted:.3f}")

# %%
# All agree, and come close to the truth, which is marked by bars: these sentences leave little
# doubt about the rules. (The markers of a rule stand one below the other.) Where there is less
# text, the prior matters.

shown = [i for i, p in enumerate(truth.probabilities) if p < 1]
names = [str(production) for production in truth.to_nltk().productions()]
fig, ax = plt.subplots(figsize=(6.4, 6.4), layout="constrained")
ax.barh(range(len(shown)), truth.probabilities[shown], color="0.85", label="truth")
colours = algorithm_colours(models)
for i, (name, marker) in enumerate(zip(models, "os^Dv", strict=True)):
    found, places = models[name].rule_probabilities_[shown], np.arange(len(shown)) + 0.16 * (i - 2)
    ax.plot(found, places, marker, ms=3.5, color=colours[i], label=name)
ax.set_yticks(range(len(shown)), labels=[names[i].split(" [")[0] for i in shown])
ax.invert_yaxis()
ax.set_xlabel("probability of the rule")
legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
