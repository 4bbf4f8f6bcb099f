"""
Can it read digits?
===================

:class:`~sklearn_cvb.HMMClassifier` learns one model for each class of sequences. A handwritten
digit of scikit-learn is read here as a sequence of its eight rows, from top to bottom, with eight
black or white pixels each.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from sklearn_cvb import VBHMM, HMMClassifier

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.images > 7, digits.target, train_size=1000, random_state=0
)

# %%
# Each digit is a chain of states that stay or move on, from left to right.

n_states = 8
chain = np.eye(n_states, dtype=bool) | np.eye(n_states, k=1, dtype=bool)
model = VBHMM(n_states, emission="bernoulli", transitions=chain, n_init=3, random_state=0)
classifier = HMMClassifier(model).fit(X_train, y_train)
print(f"new digits read right: {classifier.score(X_test, y_test):.1%}")

# %%
# What the models have learned: the probability of ink in each state of each digit, states from top
# to bottom. Grey rows are states that a digit had no need of.

fig, axes = plt.subplots(1, 10, figsize=(6.4, 1.4), layout="constrained")
for ax, digit, learned in zip(axes, classifier.classes_, classifier.estimators_, strict=True):
    ax.imshow(learned.probabilities_, cmap="gray_r", vmin=0, vmax=1)
    ax.set(title=digit, xticks=[], yticks=[])
axes[0].set_ylabel("state")
label = fig.supxlabel("pixel of a row")

# %%
# Rows are true digits, columns what was read.

fig, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
shown = ConfusionMatrixDisplay.from_predictions(
    y_test, classifier.predict(X_test), ax=ax, colorbar=False, cmap="Blues"
)

# %%
# ``predict_proba`` says how sure each reading is. The least sure ones:

proba = classifier.predict_proba(X_test)
fig, axes = plt.subplots(1, 8, figsize=(6.4, 1.6), layout="constrained")
for ax, i in zip(axes, np.argsort(proba.max(axis=1))[:8], strict=True):
    first, second = classifier.classes_[np.argsort(-proba[i])[:2]]
    ax.imshow(X_test[i], cmap="gray_r")
    ax.set_title(f"{y_test[i]}: read\n{first} or {second}", fontsize=8)
    ax.axis("off")
