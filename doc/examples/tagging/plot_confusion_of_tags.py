"""
Which tags are mixed up?
========================

One number says how good a tagger is, a table of confusions says what to repair. The tagger is
learned from raw sentences of a generated English and their dictionary
(:func:`~sklearn_cvb.datasets.make_pocket_english`).
"""

from sklearn_cvb import VBHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.metrics import tag_confusion, token_accuracy
from sklearn_cvb.plotting import plot_confusion

corpus = make_pocket_english(400, random_state=1)
tagger = VBHMMTagger(pocket_english_dictionary(), random_state=0).fit(corpus.data)
print(f"{token_accuracy(corpus.target, tagger.labels_):.1%} of the tokens are right")

# %%
# Each row is a true tag, each column what the tagger made of it. Frequent confusions stand off the
# diagonal.

ax = plot_confusion(corpus.target, tagger.labels_, max_labels=15)

# %%
# :func:`~sklearn_cvb.metrics.tag_confusion` gives the counts. The five most frequent mistakes:

counts, true_tags, found_tags = tag_confusion(corpus.target, tagger.labels_)
mistakes = [
    (int(counts[i, j]), true_tag, found_tag)
    for i, true_tag in enumerate(true_tags)
    for j, found_tag in enumerate(found_tags)
    if true_tag != found_tag
]
for count, true_tag, found_tag in sorted(mistakes, reverse=True)[:5]:
    print(f"{count:4} times {true_tag} was tagged {found_tag}")
