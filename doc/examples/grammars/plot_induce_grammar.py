"""
Can a grammar be learned without rules?
=======================================

Without ``grammar`` a model has all rules over ``n_components`` symbols, and finds out which of them
are of use. The sentences are brackets that open and close, drawn from a grammar that the models do
not see.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from sklearn_cvb import CVBHMM, CVBPCFG, Transitions
from sklearn_cvb.datasets import make_pcfg_corpus

grammar = "S -> '(' ')' [0.4] | '(' S ')' [0.3] | S S [0.3]"
X, _ = make_pcfg_corpus(grammar, 200, longest=10, random_state=0)
X_train, X_test = train_test_split(X, test_size=50, random_state=0)
print("".join(X[4]), "".join(X[7]))

# %%
# Grammars with two to four symbols, each the best of several restarts; ``rules="independent"`` is
# the form that is fast enough for hundreds of symbols. A chain of hidden states, which cannot count
# brackets, stands beside them.

numbers = [2, 3, 4]
settings = {"n_init": 3, "random_state": 0}
curves = {
    "grammar, all rules": [CVBPCFG(n_components=k, **settings) for k in numbers],
    "grammar, independent children": [
        CVBPCFG(n_components=k, rules="independent", **settings) for k in numbers
    ],
    "hidden Markov model": [
        CVBHMM(k, transitions=Transitions(end_state=True), **settings) for k in numbers
    ],
}
fig, ax = plt.subplots(layout="constrained")
for (name, models), marker in zip(curves.items(), "os^", strict=True):
    scores = [model.fit(X_train).score_samples(X_test).mean() for model in models]
    ax.plot(numbers, scores, marker=marker, label=name)
ax.set(xlabel="symbols or states", ylabel="log-likelihood of a new sentence (nats)")
ax.set_xticks(numbers)
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# Three symbols are enough. These are the rules they use most, and a sentence drawn from them:

model = curves["grammar, all rules"][1]
rules = sorted(model.grammar_.productions(), key=lambda rule: -rule.prob())
print("\n".join(map(str, rules[:7])))
print("".join(model.sample(1, random_state=3)[0][0]))
