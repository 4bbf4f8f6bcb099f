"""
Which words are worth a look?
=============================

Most of what a tagger gets wrong is due to some dozens of frequent words. ``words_to_check`` lists
them: the words with the most uses and the most tags to choose from. You look at the list, say what
tag is usual, and fit again. Here the gold tags of a generated corpus
(:func:`~sklearn_cvb.datasets.make_pocket_english`) play the part of you.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMMTagger, WordTable, tag_dictionary_from
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.metrics import token_accuracy
from sklearn_cvb.plotting import plot_tag_accuracies

corpus = make_pocket_english(500, random_state=0)
dictionary = pocket_english_dictionary()
tagger = CVBHMMTagger(dictionary, random_state=0).fit(corpus.data)
for row in list(tagger.words_to_check(corpus.data, 8)):
    print(f"{row.word:8} {row.uses:4} uses   {' '.join(row.tags)}")

# %%
# To work on the list in a spreadsheet: ``table.to_csv("words.csv")``, then
# ``WordTable.read_csv("words.csv")``. Below, the usual tag of each word is filled in by code.


def looked_at(table, corpus):
    """The table with the usual tag of each word named."""
    uses = Counter(
        pair
        for words, tags in zip(corpus.data, corpus.target, strict=True)
        for pair in zip(words, tags, strict=True)
    )
    return WordTable(
        row._replace(usual=max(row.tags, key=lambda tag: uses[row.word, tag])) for row in table
    )


def corrected(tagger, corpus, n):
    """A tagger that knows the usual tags of n words."""
    table = looked_at(tagger.words_to_check(corpus.data, n), corpus)
    known = {**dictionary, **tag_dictionary_from(table)}
    return CVBHMMTagger(known, random_state=0).fit(corpus.data)


# %%
# Before and after the first hundred words were looked at:

after = corrected(tagger, corpus, 100)
ax = plot_tag_accuracies(corpus.target, {"before": tagger.labels_, "after": after.labels_})

# %%
# What each word brings, over four texts; bars are two standard errors. The first words on the list
# bring most, word for word. The usual tag is a prior, not an order: a word may still take its other
# tags.

numbers = [5, 10, 20, 50, 100]
gains = []
for seed in range(4):
    corpus = make_pocket_english(500, random_state=seed)
    tagger = CVBHMMTagger(dictionary, random_state=0).fit(corpus.data)
    found = [tagger, *(corrected(tagger, corpus, n) for n in numbers)]
    right = [100 * token_accuracy(corpus.target, one.labels_) for one in found]
    gains.append(np.subtract(right, right[0]))
error = 2 * np.std(gains, axis=0, ddof=1) / np.sqrt(len(gains))
fig, ax = plt.subplots(layout="constrained")
ax.errorbar([0, *numbers], np.mean(gains, axis=0), error, fmt="o-", capsize=3)
ax.set(xlabel="words looked at", ylabel="tokens put right (% of all)", ylim=(0, None))
ax.grid(alpha=0.3)
