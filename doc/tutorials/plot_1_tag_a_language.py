"""
Tag a language nobody has annotated
===================================

You have raw text, and a word list that says which tags a word may have. Nobody has tagged a
sentence. In this tutorial you make a tagger from that, look at the words that matter, check how
good it is, and save it.
"""

# %%
# The text and the word list
# --------------------------
#
# A sample is a sentence, a sentence a list of words. To have something to check against, the text
# is generated (:func:`~sklearn_cvb.datasets.make_pocket_english`): a small English with a large
# vocabulary. With your own text, a sentence a line, it would be ``X = [split_words(line) for line
# in open("text.txt", encoding="utf-8")]``.

from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary

corpus = make_pocket_english(1100, random_state=0)
X, X_new = corpus.data[:1000], corpus.data[1000:]
print(len(X), "sentences,", sum(map(len, X)), "words")
print(" ".join(X[0]))

# %%
# The word list is a dictionary from each word to its tags. Yours may come from a printed
# dictionary, from Wiktionary, UniMorph or a spreadsheet, or from a friend:
# :func:`~sklearn_cvb.datasets.read_dictionary` makes one of a file or a table.
# :func:`~sklearn_cvb.split_words` takes marks off the words: put them into the list, as ``PUNCT``.
# It need not be complete: here a third of the longer words is left out.

word_list = pocket_english_dictionary()
word_list = {
    word: tags for i, (word, tags) in enumerate(word_list.items()) if i % 3 or len(word) < 6
}
for word in ("the", "can", "her", "walking", "strongly"):
    print(word, word_list.get(word, "is not in the list"))

# %%
# A first tagger
# --------------
#
# Collapsed variational Bayes (CVB) is the algorithm to begin with.

from sklearn_cvb import CVBHMMTagger

tagger = CVBHMMTagger(word_list, random_state=0).fit(X)
share = tagger.coverage_
print(f"the list has {share.types:.0%} of the words, {share.tokens:.0%} of their uses")

# %%
# ``labels_`` holds the tags of the text, ``predict`` tags new sentences. Words that are not in the
# list are judged by their form: their last letters, capitals, digits.
# :class:`~sklearn_cvb.display.TaggedSentence` says what told each tag.

from sklearn_cvb.display import TaggedSentence

TaggedSentence.from_estimator(tagger, X_new[0])

# %%
# The words that matter
# ---------------------
#
# Most errors come from some dozens of frequent words: their lists are too long, or hold a slip.
# ``words_to_check`` finds them.

table = tagger.words_to_check(X, 20)
print(table)

# %%
# Save the table, open it in a spreadsheet, delete tags that are wrong, and name the usual one where
# you can::
#
#     table.to_csv("words.csv")
#     table = WordTable.read_csv("words.csv")
#
# Here is what someone who speaks the language would fill in for a few of them. The rest is left as
# it was.

from sklearn_cvb import WordTable, tag_dictionary_from

usual = {
    "the": "DT",
    "a": "DT",
    "of": "IN",
    "in": "IN",
    "to": "TO",
    "and": "CC",
    "that": "IN",
    "'s": "POS",
}
table = WordTable(row._replace(usual=usual.get(row.word, "")) for row in table)
corrected = {**word_list, **tag_dictionary_from(table)}
better = CVBHMMTagger(corrected, random_state=0).fit(X)

# %%
# Is it any good?
# ---------------
#
# Tag some sentences by hand: thirty are enough to see a difference of a few points. Take sentences
# that the tagger has not read. ``score`` gives the share of tokens that are right. Put None where
# you are not sure; such tokens are left out.

gold = corpus.target[1000:]
for name, model in {"word list": tagger, "word list, some words looked at": better}.items():
    print(f"{name:32} {model.score(X_new[:30], gold[:30]):.1%} of 30 sentences")
    print(f"{'':32} {model.score(X_new, gold):.1%} of 100 sentences")

# %%
# How sure is a number from thirty sentences? Draw them again and again:

import numpy as np

from sklearn_cvb.metrics import token_accuracy

found = better.predict(X_new[:30])
rng = np.random.default_rng(0)
draws = [rng.integers(0, 30, 30) for _ in range(500)]
scores = [token_accuracy([gold[i] for i in draw], [found[i] for i in draw]) for draw in draws]
low, high = np.percentile(scores, [5, 95])
print(f"between {low:.1%} and {high:.1%}")

# %%
# Where is it wrong? The table of confusions says which tags are mixed up. Rows are true tags.

from sklearn_cvb.plotting import plot_confusion

ax = plot_confusion(gold, better.predict(X_new), max_labels=14)

# %%
# Words in the list, and words that are judged by their form:

sources = np.concatenate(list(better.tag_sources(X_new)))
right = np.concatenate([np.array(tags) for tags in better.predict(X_new)]) == np.concatenate(
    [np.array(tags) for tags in gold]
)
for source in ("dictionary", "ambiguous", "form"):
    chosen = sources == source
    print(f"{source:11} {chosen.mean():5.1%} of the words, {right[chosen].mean():.1%} right")

# %%
# Use what you have tagged
# ------------------------
#
# Sentences that were tagged by hand are too good to be used for checking alone. Hand them to
# ``fit`` as labels, and check on others.

labelled = CVBHMMTagger(corrected, random_state=0).fit(X + X_new[:30], [None] * len(X) + gold[:30])
for name, model in {"before": better, "after": labelled}.items():
    print(f"{name}: {model.score(X_new[30:], gold[30:]):.1%}")

# %%
# Save it
# -------

import pickle

stored = pickle.dumps(labelled)
print(pickle.loads(stored).predict([["she", "can", "fish"]])[0].tolist())

# %%
# Where to go from here: :doc:`/taggers` is the guide to taggers, :doc:`/published/noise` shows what
# slips in a word list cost on real text, and the examples of :doc:`/auto_examples/index` show one
# thing each.
