"""
Where do words end?
===================

A grammar over characters cuts words into pieces that come back. Here verbs are made of a subject, a
tense and a stem, and written without gaps, in an invented language. The grammar knows that there
are three parts, and nothing of what they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from nltk import Tree

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, Grammar
from sklearn_cvb.metrics import boundary_scores, segmentation_f1, segmentation_scores
from sklearn_cvb.plotting import algorithm_colours

rng = np.random.default_rng(0)
subjects, tenses = ["ngi", "u", "si", "ba"], ["ya", "zo", "be"]
stems = ["hamba", "bone", "dlu", "thandi", "fundo", "lalek", "sebenz", "khali"]
verbs = [(s, t, m) for s in subjects for t in tenses for m in stems]
verbs = [verbs[i] for i in rng.permutation(len(verbs))]
X = [list("".join(verb)) for verb in verbs]
gold = [
    Tree("Verb", [Tree(symbol, list(part)) for symbol, part in zip("STM", verb, strict=True)])
    for verb in verbs
]
print("".join(X[0]), "is", "-".join(verbs[0]))

# %%
# ``with_substrings`` gives each of the three parts a rule for any piece of any verb.

sizes = [6, 12, 24, 48]
f1 = {"EM": [], "VB": [], "CVB": []}
for n in sizes:
    grammar = Grammar.from_text("Verb -> S T M").with_substrings("STM", X[:n])
    for model, name in ((EMPCFG, "EM"), (VBPCFG, "VB"), (CVBPCFG, "CVB")):
        prior = {} if name == "EM" else {"alpha": 1e-3}
        found = model(grammar, handle_unknown="error", random_state=0, **prior).fit(X[:n]).labels_
        f1[name].append(100 * segmentation_f1(gold[:n], found))
pieces = ["".join(child.leaves()) for child in found[0]]
print("CVB, all verbs:", "-".join(pieces))
print("pieces    ", segmentation_scores(gold[:n], found))
print("boundaries", boundary_scores(gold[:n], found))

# %%
# The pieces that come back are found in the end.

fig, ax = plt.subplots(layout="constrained")
for (name, values), colour, marker in zip(f1.items(), algorithm_colours(f1), "os^", strict=True):
    ax.plot(sizes, values, marker=marker, color=colour, label=name)
ax.set(xscale="log", xlabel="verbs", ylabel="F1 of pieces (%)", ylim=(0, 105))
ax.set_xticks(sizes, labels=[str(n) for n in sizes])
ax.minorticks_off()
ax.grid(alpha=0.3)
legend = ax.legend()
