"""
Learn a grammar and look at its trees
=====================================

You have sentences, and an idea of what phrases there are. In this tutorial you write rules without
probabilities, learn the probabilities from raw sentences, look at trees, repair the grammar where
it fails, and compare algorithms.
"""

# %%
# Rules
# -----
#
# A grammar is text: a symbol, an arrow, and what it may become. Words are in quotes. Right-hand
# sides may have any length.

grammar = """
S -> NP VP
NP -> Det N | NP PP | 'they'
VP -> V NP | V NP PP
PP -> P NP
Det -> 'the' | 'a'
N -> 'duck' | 'man' | 'telescope' | 'hat' | 'bread'
V -> 'saw' | 'fed'
P -> 'with'
"""
text = """they saw the duck with a telescope . they fed a man with a hat .
the man with the hat fed a duck . the duck saw a hat .
they saw a man with a telescope . the man with a telescope saw the duck .
they fed the duck with the bread . a man fed the duck with bread"""
X = [sentence.split() for sentence in text.split(".")]

# %%
# Learn
# -----
#
# ``fit`` needs sentences alone. One of them has no tree, and the model says which.

import warnings

from sklearn_cvb import CVBPCFG

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    CVBPCFG(grammar, random_state=0).fit(X)
print(caught[0].message)
print(" ".join(X[7]))

# %%
# "bread" stands without a determiner there. A rule is missing: a noun alone may be a noun phrase.

grammar = grammar.replace("NP -> Det N", "NP -> Det N | N")
model = CVBPCFG(grammar, random_state=0).fit(X)
print("sentences without a tree:", model.unexplained_)

# %%
# What it learned are the probabilities of the rules. ``grammar_`` is an ``nltk.PCFG``, so that
# NLTK's tools can read it.

for rule in model.grammar_.productions()[:7]:
    print(rule)

# %%
# Trees
# -----
#
# ``predict`` gives the most probable tree of each sentence, as ``nltk.Tree``.

sentence = ["the", "man", "with", "a", "hat", "saw", "a", "duck", "with", "a", "telescope"]
tree = model.predict([sentence])[0]
tree.pretty_print()

# %%
# Who has the telescope? The sentence has other trees; here are the two best, with their
# log-probabilities.

for other, log_probability in model.parse([sentence], n_best=2)[0]:
    print(round(log_probability, 2), " ".join(str(other).split()))

# %%
# If you know better, say so. ``y`` holds a tree, a string of brackets, a list of spans, or None for
# each sentence. Here someone says that the telescope of the first sentence is for seeing:

y = ["(S (NP they) (VP (V saw) (NP (Det the) (N duck)) (PP with a telescope)))"] + [None] * 7
bracketed = CVBPCFG(grammar, random_state=0).fit(X, y)
print(bracketed.labels_[0])

# %%
# Is it any good?
# ---------------
#
# For that we need more sentences, and trees to compare with.
# :func:`~sklearn_cvb.datasets.make_pcfg_corpus` draws both from a grammar with probabilities. The
# learner gets the rules and the sentences.

from sklearn_cvb import EMPCFG, VBPCFG, Grammar
from sklearn_cvb.datasets import make_pcfg_corpus
from sklearn_cvb.metrics import bracket_f1

truth = Grammar.from_text(
    """
    S -> NP VP [1.0]
    NP -> Det N [0.5] | N [0.1] | NP PP [0.1] | 'they' [0.3]
    VP -> V NP [0.3] | V NP PP [0.7]
    PP -> P NP [1.0]
    Det -> 'the' [0.6] | 'a' [0.4]
    N -> 'duck' [0.3] | 'man' [0.3] | 'telescope' [0.2] | 'hat' [0.1] | 'bread' [0.1]
    V -> 'saw' [0.6] | 'fed' [0.4]
    P -> 'with' [1.0]
    """
)
sentences, trees = make_pcfg_corpus(truth, 300, longest=20, random_state=0)
for n in (10, 50, 200):
    scores = [
        bracket_f1(trees[200:], model.fit(sentences[:n]).predict(sentences[200:]))
        for model in (EMPCFG(grammar), VBPCFG(grammar), CVBPCFG(grammar))
    ]
    print(f"{n:3} sentences   EM {scores[0]:.3f}   VB {scores[1]:.3f}   CVB {scores[2]:.3f}")

# %%
# What has been learned
# ---------------------
#
# The probabilities that were learned beside those that the sentences were drawn with:

import matplotlib.pyplot as plt

model = CVBPCFG(grammar, random_state=0).fit(sentences)
learned = {(str(r.lhs()), tuple(map(str, r.rhs()))): r.prob() for r in model.grammar_.productions()}
true = {(str(r.lhs()), tuple(map(str, r.rhs()))): r.prob() for r in truth.to_nltk().productions()}
rules = [rule for rule in true if true[rule] < 1]
fig, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
ax.barh(range(len(rules)), [true[rule] for rule in rules], color="0.85", label="truth")
ax.plot([learned[rule] for rule in rules], range(len(rules)), "o", label="CVB, 300 raw sentences")
ax.set_yticks(range(len(rules)), labels=[f"{left} → {' '.join(right)}" for left, right in rules])
ax.invert_yaxis()
ax.set_xlabel("probability of the rule")
legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))

# %%
# A fitted grammar draws new sentences, too:

drawn, their_trees = model.sample(3, random_state=0)
for words in drawn:
    print(" ".join(words))

# %%
# Where to go from here: :doc:`/pcfg` is the guide to grammars. Without any rules, see
# :ref:`sphx_glr_auto_examples_grammars_plot_induce_grammar.py`; with a treebank, :doc:`/latent`;
# with dependencies instead of phrases, :doc:`/dmv`.
