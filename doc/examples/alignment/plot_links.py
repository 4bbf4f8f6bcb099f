"""
Which word translates which?
============================

Word alignment is learned from pairs of sentences, with no dictionary. Ten short pairs of English
and Spanish are enough to see how it works.
"""

# sphinx_gallery_thumbnail_path = "images/alignment_example.svg"

from sklearn_cvb import CVBAlignmentHMM, fit_agreeing, read_pharaoh, symmetrize, to_pharaoh
from sklearn_cvb.display import AlignedSentences
from sklearn_cvb.metrics import alignment_error_rate

pairs = [
    ("the house", "la casa"),
    ("a house", "una casa"),
    ("the book", "el libro"),
    ("a book", "un libro"),
    ("the green house", "la casa verde"),
    ("the green book", "el libro verde"),
    ("a big house", "una casa grande"),
    ("the book is big", "el libro es grande"),
    ("the house is green", "la casa es verde"),
    ("a big green house is a book", "una casa grande y verde es un libro"),
]
X = [(source.split(), target.split()) for source, target in pairs]

# %%
# A model of one direction gives each target word at most one source. Two models, of both
# directions, that agree with each other are better than either; :func:`~sklearn_cvb.symmetrize`
# joins their links.

forward, backward = fit_agreeing(CVBAlignmentHMM(max_iter=5), X)
links = symmetrize(forward.link_proba_, backward.link_proba_, "product")

# %%
# Areas of circles are posteriors, squares the links that are right.

gold = read_pharaoh(["0-0 1-2 2-1", "0-0 1-2 2-4 3-1 4-5 5-6 6-7"])
AlignedSentences(*X[4], forward.link_proba_[4], gold=gold[0])

# %%
# What the model has learned of single words is in its lexicon
# (:class:`~sklearn_cvb.alignment.parameters.Lexicon`):

print(forward.lexicon_.translations("green", 2))

# %%
# Links in the format that other programs read, and the share of errors in these two sentences:

print(to_pharaoh(links)[9])
print("alignment error rate:", alignment_error_rate(gold, [links[4], links[9]]))

# %%
# The longer one as text:

print(AlignedSentences(*X[9], forward.link_proba_[9], gold=gold[1]))
