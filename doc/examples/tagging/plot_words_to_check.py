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

from sklearn_cvb import CVBHMMTagger, WordTable, tag_dictionary_from
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.metrics import token_accuracy

corpus = make_pocket_english(500, random_state=0)
dictionary = pocket_english_dictionary()
tagger = CVBHMMTagger(dictionary, random_state=0).fit(corpus.data)
for row in list(tagger.words_to_check(corpus.data, 8)):
    print(f"{row.word:8} {row.uses:4} uses   {' '.join(row.tags)}")

# %%
# To work on the list in a spreadsheet: ``table.to_csv("words.csv")``, then
# ``WordTable.read_csv("words.csv")``. Below, the usual tag of each word is filled in by code.

uses = Counter(
    pair
    for words, tags in zip(corpus.data, corpus.target, strict=True)
    for pair in zip(words, tags, strict=True)
)


def looked_at(table):
    """The table with the usual tag of each word named."""
    return WordTable(
        row._replace(usual=max(row.tags, key=lambda tag: uses[row.word, tag])) for row in table
    )


numbers = [0, 5, 10, 20, 50, 100]
accuracies = []
for n in numbers:
    table = looked_at(tagger.words_to_check(corpus.data, n)) if n else WordTable([])
    corrected = {**dictionary, **tag_dictionary_from(table)} if n else dictionary
    found = CVBHMMTagger(corrected, random_state=0).fit(corpus.data).labels_
    accuracies.append(100 * token_accuracy(corpus.target, found))

# %%
# The first words on the list bring most. The usual tag is a prior, not an order: a word may still
# take its other tags.

fig, ax = plt.subplots(layout="constrained")
ax.plot(numbers, accuracies, marker="o")
ax.set(xlabel="words looked at", ylabel="tokens tagged right (%)")
ax.grid(alpha=0.3)
