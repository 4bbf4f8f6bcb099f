"""
From one machine to a cluster
=============================

A corpus grows. In this tutorial the same tagger learns with all cores, from a corpus that does not
fit in memory, and on the workers of a cluster. The numbers stay those of one machine.
"""

# %%
# One core
# --------
#
# The corpus is generated (:func:`~sklearn_cvb.datasets.make_pocket_english`), and small enough to
# wait for.

from sklearn_cvb import EMHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary

corpus = make_pocket_english(1000, random_state=0)
X, dictionary = corpus.data, pocket_english_dictionary()
settings = {"alpha": 0.1, "beta": 0.01, "max_iter": 10, "tol": 0, "random_state": 0}
plain = EMHMMTagger(dictionary, **settings).fit(X)
print(f"objective {plain.objective_:.6f}")

# %%
# All cores
# ---------
#
# ``n_jobs=-1`` uses all of them: for restarts, and within a sweep of EM and VB. It changes no
# number.

threads = EMHMMTagger(dictionary, n_jobs=-1, **settings).fit(X)
print("the same:", threads.objective_ == plain.objective_)

# %%
# Many fits that have nothing to do with each other, as of a search, run side by side by
# scikit-learn's own ``n_jobs``: ``GridSearchCV(tagger, grid, n_jobs=-1)``. Set one of the two.

# %%
# More than memory
# ----------------
#
# :func:`~sklearn_cvb.write_store` reads batches of sentences, encodes one at a time, and keeps four
# bytes per word on disk. :func:`~sklearn_cvb.open_store` opens what it wrote, as a
# :class:`~sklearn_cvb.CorpusStore`; ``batch_size`` is the number of words in memory at a time.

from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn_cvb import CorpusStore, open_store, write_store

folder = TemporaryDirectory()


def batches():
    """Batches of 100 sentences; yours would read one file after the other."""
    for begin in range(0, len(X), 100):
        yield X[begin : begin + 100]


written = write_store(batches, Path(folder.name, "store"))
store = open_store(Path(folder.name, "store"), batch_size=5000)
assert isinstance(store, CorpusStore)
print(len(store), "sentences,", store.n_tokens, "words")
pieces = EMHMMTagger(dictionary, **settings).fit(store)
print(f"objective {pieces.objective_:.6f}")
print("tags of a sentence:", pieces.predict(store[:1])[0].tolist()[:6])

# %%
# States and tags of a store stay on disk, too, and are read when asked for
# (:class:`~sklearn_cvb.store.StoredStates`, :class:`~sklearn_cvb.store.StoredTags`). A damaged
# file is refused by name (:class:`~sklearn_cvb.store.StoreError`).

# %%
# A cluster
# ---------
#
# With Dask (``python -m pip install ".[dask]"``) sentences lie in partitions, on many
# machines, and the same taggers learn from them where they are. Here the "cluster" is one process
# with two threads; on a real one it is ``Client("tcp://scheduler:8786")``.

import dask.bag
from distributed import Client

client = Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
partitions = dask.bag.from_sequence(X, npartitions=4)
remote = EMHMMTagger(dictionary, **settings).fit(partitions)
print(f"objective {remote.objective_:.6f}")

# %%
# ``predict`` takes partitions and gives partitions; nothing is computed before it is asked for.
# What was fitted needs no Dask: sentences in one piece are tagged here.

tags = remote.predict(partitions)
print(tags.take(1)[0][:6])
print(remote.predict(X[:1])[0].tolist()[:6])

# %%
# CVB on partitions
# -----------------
#
# EM and VB sum counts over partitions, so that the cut changes nothing. CVB infers each sentence
# from the counts of all others as they are now. On partitions it knows its own changes at once, and
# those of the others a round later. How much does that cost?

import matplotlib.pyplot as plt

from sklearn_cvb import CVBHMMTagger
from sklearn_cvb.metrics import token_accuracy

settings = {"max_iter": 20, "tol": 0, "random_state": 0}
accuracies = {
    "one machine": token_accuracy(
        corpus.target, CVBHMMTagger(dictionary, **settings).fit(X).predict(X)
    )
}
for n in (1, 2, 4, 8):
    cut = dask.bag.from_sequence(X, npartitions=n)
    tagger = CVBHMMTagger(dictionary, **settings).fit(cut)
    found = tagger.predict(X)
    accuracies[f"{cut.npartitions} partitions"] = token_accuracy(corpus.target, found)
client.close()
folder.cleanup()
fig, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
ax.plot([100 * value for value in accuracies.values()], list(accuracies), "o")
ax.set(xlabel="tokens tagged right (%)", xlim=(80, 100))
ax.grid(alpha=0.3)
ax.invert_yaxis()

# %%
# Nothing: the cut changes less than another start would.
#
# Grammars learn on the workers, too: :class:`~sklearn_cvb.EMPCFG`, :class:`~sklearn_cvb.VBPCFG` and
# :class:`~sklearn_cvb.CVBPCFG`.
#
# Where to go from here: :doc:`/distributed` has the rest, :doc:`/bulk` is the guide to large
# corpora, :doc:`/performance` has the time of each algorithm by the size of the corpus.
