"""
What if some states are known?
==============================

Hidden states need not all be hidden. With ``supervision="y"`` a model without dictionary keeps to
the states that ``y`` tells, and learns the others around them. The data are generated
(:func:`~sklearn_cvb.datasets.make_hmm_sequences`).
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMM, HMMParameters
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.metrics import match_states, one_to_one_accuracy, relabel, token_accuracy

X, Z = make_hmm_sequences(100, n_components=4, n_symbols=8, random_state=3)

# %%
# A growing share of the steps has its state in ``y``; None stands for the others.

rng = np.random.default_rng(0)
shares = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4]
accuracies = []
for share in shares:
    y = [[int(z) if rng.random() < share else None for z in states] for states in Z]
    known = "y" if share else "none"
    model = CVBHMM(4, supervision=known, n_init=10, random_state=0).fit(X, y)
    accuracies.append(100 * token_accuracy(Z, model.predict(X)))

# %%
# States that nothing tells have names by chance, so the first point says little. A few known steps
# give each state its name; more of them help where symbols are shared.

fig, ax = plt.subplots(layout="constrained")
ax.plot([100 * share for share in shares], accuracies, marker="o")
ax.set(xlabel="steps whose state is known (%)", ylabel="steps with the right state (%)")
ax.grid(alpha=0.3)

# %%
# A model that was learned without known states can be given names afterwards:
# :func:`~sklearn_cvb.metrics.match_states` finds the pairs that agree most,
# :func:`~sklearn_cvb.metrics.relabel` gives a model with these names.

model = CVBHMM(4, n_init=5, random_state=0).fit(X)
names = match_states(Z, model.labels_)
named = relabel(model, names)
print("one to one:", round(one_to_one_accuracy(Z, model.labels_), 3))
print("after naming:", round(token_accuracy(Z, named.predict(X)), 3))

# %%
# Or the parameters are known, and not the states: a fit begins under the
# :class:`~sklearn_cvb.HMMParameters` it is given, and what they leave open is drawn.

stays = HMMParameters(transmat=np.full((4, 4), 0.1) + 0.6 * np.eye(4))
model = CVBHMM(4, init=stays, n_init=5, random_state=0).fit(X)
print("one to one:", round(one_to_one_accuracy(Z, model.labels_), 3))
