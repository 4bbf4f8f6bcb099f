"""
How good are the algorithms on real text?
=========================================

Real corpora are larger than these examples may be, and must be fetched first. So the figures below
are not computed here. They are those of :doc:`/published/table1`, which ``python -m
benchmarks.published table1`` computes: tags of the Wall Street Journal, from raw sentences and a
dictionary.
"""

import matplotlib.pyplot as plt

from sklearn_cvb.plotting import algorithm_colours

sentences = [1000, 2000, 3000, 5000, 10000, 14862]
accuracies = {
    "EM": [89.00, 88.55, 88.52, 88.40, 88.32, 88.34],
    "VB": [92.25, 92.01, 92.98, 91.42, 91.50, 91.40],
    "CVB token": [93.05, 92.34, 93.24, 91.63, 91.81, 91.86],
    "CVB sequence": [93.52, 92.91, 93.73, 91.74, 91.65, 91.62],
    "Gibbs": [92.89, 92.20, 91.99, 91.51, 91.64, 91.53],
}

# %%
# One of the two updates of CVB is ahead at every size. A thousand sentences are enough: more raw
# text does not make better tags here, as each wrong tag of the dictionary then has more uses.

fig, ax = plt.subplots(layout="constrained")
for (name, values), colour in zip(accuracies.items(), algorithm_colours(accuracies), strict=True):
    ax.plot(sentences, values, marker="o", color=colour, label=name)
ax.set(
    xscale="log",
    xlabel="raw sentences",
    ylabel="tokens tagged right (%)",
    title="A thousand raw sentences are enough",
)
ax.set_xticks(sentences, labels=[f"{n:,}" for n in sentences])
ax.minorticks_off()
ax.grid(alpha=0.3)
legend = ax.legend()

# %%
# The corpora come by these functions. Each looks in the folder that ``SKLEARN_CVB_DATA`` names,
# then in scikit-learn's data home, and downloads what is not there; the last three do not download,
# as their texts must be asked for elsewhere.
#
# .. list-table::
#
#    * - :func:`~sklearn_cvb.datasets.fetch_wsj`
#      - tags of English newspaper text, Penn Treebank
#    * - :func:`~sklearn_cvb.datasets.fetch_treebank_tagged`
#      - the same in the order of the trees
#    * - :func:`~sklearn_cvb.datasets.fetch_treebank_trees`
#      - its trees
#    * - :func:`~sklearn_cvb.datasets.fetch_dependency_treebank`
#      - its heads
#    * - :func:`~sklearn_cvb.datasets.fetch_brown`
#      - tags of English of many kinds
#    * - :func:`~sklearn_cvb.datasets.fetch_conll2000`
#      - tags of more newspaper text
#    * - :func:`~sklearn_cvb.datasets.fetch_mac_morpho`
#      - tags of Portuguese newspaper text
#    * - :func:`~sklearn_cvb.datasets.fetch_conll2007`
#      - heads, Basque and Spanish
#    * - :func:`~sklearn_cvb.datasets.fetch_alice`
#      - "Alice in Wonderland", characters
#    * - :func:`~sklearn_cvb.datasets.fetch_japanese_vowels`
#      - spoken vowels, series of numbers
#    * - :func:`~sklearn_cvb.datasets.fetch_xl_wa`
#      - sentence pairs with links
#    * - :func:`~sklearn_cvb.datasets.fetch_zulu_verbs`
#      - verbs cut into pieces
#
# .. code-block:: python
#
#     from sklearn_cvb import CVBHMMTagger, tag_dictionary_from
#     from sklearn_cvb.datasets import fetch_wsj
#
#     corpus = fetch_wsj()
#     dictionary = tag_dictionary_from(corpus.data, corpus.target)
#     tagger = CVBHMMTagger(dictionary, random_state=0).fit(corpus.data[:1000])
