"""
How do I read my own files?
===========================

Tagged text, dependencies, aligned sentences and segmented words have readers. Each gives ``data``,
what a model learns from, and ``target``, what is to be found. Files may be compressed: ``.gz``,
``.bz2`` or ``.xz``. Here small files are written first, to show their formats.
"""

# sphinx_gallery_thumbnail_path = "images/dependency_tree.svg"

from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.datasets import (
    read_aligned,
    read_dependencies,
    read_dictionary,
    read_segmented,
    read_word_tag,
    write_conllu,
)
from sklearn_cvb.display import AlignedSentences, DependencyTree

folder = TemporaryDirectory()
path = Path(folder.name)

# %%
# Words with tags, one sentence per line. :func:`~sklearn_cvb.datasets.read_conllu` reads the
# columns of Universal Dependencies.

_ = (path / "tagged.txt").write_text("the/DT can/NN leaks/VBZ\nthey/PRP can/MD swim/VB\n", "utf-8")
tagged = read_word_tag(path / "tagged.txt")
print(tagged.data, tagged.target)
print(tag_dictionary_from(tagged.data, tagged.target))

# %%
# A word list: a word, a tab, and its tags. What was tagged is written as CoNLL-U, or as above by
# :func:`~sklearn_cvb.datasets.write_word_tag`.

_ = (path / "words.tsv").write_text("the\tDT\ncan\tMD NN\nswim\tVB\n", "utf-8")
print(read_dictionary(path / "words.tsv"))
write_conllu(path / "tagged.conllu", tagged.data, tagged.target, column="xpos")
print((path / "tagged.conllu").read_text("utf-8").splitlines()[1])

# %%
# Words, tags and heads in columns, parted by tabs, with an empty line after each sentence:

rows = ["She PRP 2", "sees VBZ 0", "the DT 4", "cat NN 2", ". . 2"]
_ = (path / "heads.dp").write_text("\n".join(rows).replace(" ", "\t") + "\n", "utf-8")
treebank = read_dependencies(path / "heads.dp", remove=["."])
print(treebank.data, treebank.target)
DependencyTree(treebank.words[0], treebank.target[0], tags=treebank.data[0])

# %%
# Words cut into pieces:

_ = (path / "verbs.tsv").write_text("word\tsegments\ttags\nngiyadla\tngi-ya-dla\tS-T-M\n", "utf-8")
verbs = read_segmented(path / "verbs.tsv")
print(verbs.data, verbs.target)

# %%
# Pairs of sentences, with links where they are known:

_ = (path / "pairs.tsv").write_text("the house\tla casa\t0-0 1-1\n", "utf-8")
pairs = read_aligned(path / "pairs.tsv")
print(pairs.data, pairs.target)
folder.cleanup()

# %%
# What was read can be looked at as it is:

AlignedSentences(*pairs.data[0], pairs.target[0])
