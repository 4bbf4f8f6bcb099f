"""
What happens to words that the dictionary lacks?
================================================

New words are judged by their form: capitals, digits, hyphens, and the last letters. Here the
dictionary knows a part of the words of a generated English
(:func:`~sklearn_cvb.datasets.make_pocket_english`), and the tagger reads text with all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb import CVBHMMTagger, Symbols
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.display import TaggedSentence

corpus = make_pocket_english(600, random_state=0)
train, test = corpus.data[:500], corpus.data[500:]
gold = np.concatenate([np.array(tags) for tags in corpus.target[500:]])
everything = pocket_english_dictionary()

# %%
# ``tag_sources`` says for each token where its tag comes from: the dictionary, or the form of the
# word. So the accuracy of guesses can be separated from that of known words.

rng = np.random.default_rng(0)
order = rng.permutation(sorted(everything))
shares = [0.05, 0.1, 0.2, 0.4, 0.8]
accuracies = {"form": {"in the dictionary": [], "guessed": []}, "smooth": {"guessed": []}}
for share in shares:
    known = {str(word): everything[word] for word in order[: int(share * len(order))]}
    known |= {word: everything[word] for word in ("the", "a", "of", "to", "in", "and", "that")}
    for handle, rows in accuracies.items():
        tagger = CVBHMMTagger(known, emission=Symbols(handle_unknown=handle), random_state=0).fit(
            train
        )
        right = np.concatenate([np.array(tags) for tags in tagger.predict(test)]) == gold
        is_known = np.array([word in known for words in test for word in words])
        rows["guessed"].append(100 * right[~is_known].mean())
        if "in the dictionary" in rows:
            rows["in the dictionary"].append(100 * right[is_known].mean())

# %%
# Guesses by form (the default) are better than guesses by context alone, most of all where the
# dictionary is small. Words of the dictionary gain as well: they have neighbours that are right.

fig, ax = plt.subplots(layout="constrained")
for (handle, name), style in {
    ("form", "in the dictionary"): "o-",
    ("form", "guessed"): "s-",
    ("smooth", "guessed"): "^--",
}.items():
    values = accuracies[handle][name]
    ax.plot(
        [100 * share for share in shares],
        values,
        style,
        label=f'{name}, handle_unknown="{handle}"' if name == "guessed" else name,
    )
ax.set(xlabel="words that the dictionary has (%)", ylabel="tokens tagged right (%)")
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# A sentence to look at, with marks that say where each tag comes from:

tagger = CVBHMMTagger(known, random_state=0).fit(train)
words = ["the", "blorking", "of", "Mr.", "Smith", "quickly", "unsettled", "the", "snarfness"]
TaggedSentence.from_estimator(tagger, words)
