"""
How much do a few tagged sentences help?
========================================

Labels may be given for some sentences, or for some words of them: ``None`` stands where a tag is
not known. Everything else is learned around them. The text is generated
(:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

import matplotlib.pyplot as plt

from sklearn_cvb import CVBHMMTagger, EMHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary

corpus = make_pocket_english(500, random_state=0)
X, y = corpus.data[:300], corpus.target[:300]
X_test, y_test = corpus.data[300:], corpus.target[300:]
dictionary = pocket_english_dictionary()

# %%
# Three taggers get the same labelled sentences. The first has nothing else. The second reads raw
# sentences as well. The third has a dictionary besides.

numbers = [5, 10, 20, 50, 100]
curves = {"labels": [], "labels and raw text": [], "labels, raw text and a dictionary": []}
for n in numbers:
    partly = [*y[:n], *[None] * (len(X) - n)]
    for name, tagger in {
        "labels": EMHMMTagger(alpha=0.1, beta=0.03).fit(X[:n], y[:n]),
        "labels and raw text": CVBHMMTagger(max_iter=20, random_state=0).fit(X, partly),
        "labels, raw text and a dictionary": CVBHMMTagger(dictionary).fit(X, partly),
    }.items():
        curves[name].append(100 * tagger.score(X_test, y_test))

# %%
# With a dictionary, five labelled sentences reach more than a hundred do without one. Without a
# dictionary, raw text is no help beside labels: states drift away from the tags. Then learn from
# the labels alone, or find a dictionary.

fig, ax = plt.subplots(layout="constrained")
for (name, values), marker in zip(curves.items(), "s^o", strict=True):
    ax.plot(numbers, values, marker=marker, label=name)
ax.set(xlabel="labelled sentences", ylabel="tokens of new text tagged right (%)", xscale="log")
ax.set_title("Raw text needs a dictionary: without one, states drift off the tags")
ax.set_xticks(numbers, labels=[str(n) for n in numbers])
ax.minorticks_off()
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# Single words can be labelled, too. Here only those of one kind are: every "to".

some = [
    [tag if word == "to" else None for word, tag in zip(words, tags, strict=True)]
    for words, tags in zip(X, y, strict=True)
]
for name, labels in {"nothing": None, "every 'to'": some}.items():
    tagger = CVBHMMTagger(dictionary, random_state=0).fit(X, labels)
    print(f"{name:10} labelled: {tagger.score(X_test, y_test):.1%} right")
