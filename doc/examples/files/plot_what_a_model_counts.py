"""
What is inside a fitted model?
==============================

Every algorithm ends in expected counts: how often each step, rule or link was used. ``counts_``
holds them, and all that a model says is read from them. Their form depends on the family, not on
the algorithm.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    AlignmentCounts,
    CVBAlignmentHMM,
    CVBLatentPCFG,
    DMVCounts,
    HMMCounts,
    LatentPCFGCounts,
    PCFGCounts,
)
from sklearn_cvb.plotting import hinton

sentences = [
    text.split() for text in ("the cat sleeps", "the dog sleeps", "a dog sees the cat")
] * 5
trees = ["(S (NP (D the) (N cat)) (V sleeps))", "(S (NP (D a) (N dog)) (V sleeps))"] * 5
grammar = """
S -> NP VP
NP -> D N
VP -> 'sleeps' | V NP
D -> 'the' | 'a'
N -> 'cat' | 'dog'
V -> 'sees'
"""
pairs = [(["the", "cat"], ["el", "gato"]), (["the", "dog"], ["el", "perro"])]
fitted = {
    HMMCounts: CVBHMM(3, random_state=0).fit(sentences),
    PCFGCounts: CVBPCFG(grammar, random_state=0).fit(sentences),
    DMVCounts: CVBDMV().fit(sentences),
    LatentPCFGCounts: CVBLatentPCFG(rare_threshold=0, random_state=0).fit(trees),
    AlignmentCounts: CVBAlignmentHMM().fit(pairs),
}
for kind, model in fitted.items():
    assert isinstance(model.counts_, kind)
    print(f"{type(model).__name__:16} {kind.__name__:17} {', '.join(kind._fields)}")

# %%
# Those of the chain: rows are states; columns are the states that follow, and the words. They add
# up to the number of steps and of words, one share of each token here, one there.

model = fitted[HMMCounts]
counts = model.counts_
fig, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
hinton(counts.transition, row_labels=range(3), column_labels=range(3), ax=axes[0])
axes[0].set_title("steps from state to state")
words = [str(word) for word in model.vocabulary_]
emission = np.asarray(counts.emission).T[:, : len(words)]
hinton(emission, row_labels=range(3), column_labels=words, ax=axes[1])
axes[1].set_title("words in states")

# %%
# What follows from the counts, in words. A notebook shows the same below a fitted model.

print(model.summary())
print(fitted[PCFGCounts].summary())
